# SPDX-License-Identifier: MIT
"""tools/tidy itself: every rule trips on a small bad tree and is silent on a clean one."""
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIDY = os.path.join(ROOT, "tools", "tidy")

SPDX = "/* SPDX-License-Identifier: MIT */\n"
CONFIG = SPDX + """#ifndef TENON_CONFIG_H
#define TENON_CONFIG_H
#if !defined(TENON_UNITY)
#define TENON_UNITY 0
#endif
#if TENON_UNITY
#define TENON_INTERNAL static
#else
#define TENON_INTERNAL extern
#endif
#define TENON_API
#define TENON_MIN(a, b) ((a) < (b) ? (a) : (b))
typedef unsigned long tenon_u32;
#endif
"""
HEADER = SPDX + """#ifndef TENON_TCP_H
#define TENON_TCP_H
#include <tenon/config.h>
/** Add one. */
TENON_API int tenon_tcp_next(int x);
#endif
"""
SOURCE = SPDX + """/* What it is about. */
#include <tenon/tcp.h>

#include "base/seq.h"

/* Why. */
static int next_of(int x)
{
    return x + 1;
}

int tenon_tcp_next(int x)
{
    return next_of(x);
}
"""
SEQ = SPDX + """#ifndef TN_BASE_SEQ_H
#define TN_BASE_SEQ_H
#include <tenon/config.h>
#endif
"""
CLEAN = {
    "include/tenon/config.h": CONFIG,
    "include/tenon/tcp.h": HEADER,
    "src/base/seq.h": SEQ,
    "src/tcp/tcp.c": SOURCE,
    "README.md": "# Clean\n\nSee [the header](include/tenon/tcp.h).\n",
}


def tidy(tree, files, *options):
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    env = dict(os.environ, TENON_ROOT=str(tree))
    if (tree / "src").exists() and "src/tenon_all.c" not in files:
        subprocess.run([sys.executable, os.path.join(ROOT, "tools", "unity")], env=env, check=True)
    return subprocess.run([sys.executable, TIDY, *options], env=env, capture_output=True, text=True, check=False)


def body(lines):
    return "static int f(int x)\n{\n" + "    x++;\n" * lines + "    return x;\n}\n"


def function(text):
    return SPDX + "/* About. */\n" + text


NESTED = """static int f(int x)
{
    if (x > 0) {
        while (x > 1) {
            if (x > 2) {
                if (x > 3)
                    x--;
            }
        }
    }
    return x;
}
"""
BAD = [
    ("length", {"src/tcp/a.c": function(body(70))}, "f has 74 lines"),
    ("length", {"src/tcp/a.c": function(body(70)), "tools/tidy.ratchet": "src/tcp/a.c f 72\n"}, "grown to 74 lines"),
    ("length", {"src/tcp/a.c": function(body(70)), "tools/tidy.ratchet": "src/tcp/a.c f 90\n"}, "shrunk to 74 lines"),
    ("length", {"tools/tidy.ratchet": "src/tcp/tcp.c next_of 80\n"}, "remove it"),
    ("length", {"tools/tidy.ratchet": "src/tcp/tcp.c next_of\n"}, "FILE FUNCTION LINES"),
    ("nesting", {"src/tcp/a.c": function(NESTED)}, "f nests 4 levels"),
    ("parameters", {"src/tcp/a.c": function("static int f(int a, int b, int c, int d, int (*e)(int, int), int g)\n"
                                            "{\n    return a;\n}\n")}, "f has 6 parameters"),
    ("conditional", {"src/tcp/a.c": function("#if 1\nstatic int x;\n#endif\n")}, "config.h"),
    ("conditional", {"include/tenon/a.h": SPDX + "#ifdef __linux__\n#endif\n"}, "config.h"),
    ("macro", {"src/tcp/a.c": function("#define TWICE(x) ((x) * 2)\n")}, "TWICE()"),
    ("macro", {"src/tcp/a.c": function("#define LIMIT 12\n")}, "enum constant"),
    ("include", {"src/tcp/a.c": function("#include <string.h>\n")}, "no C library"),
    ("include", {"src/base/a.c": function('#include "tcp/tcp.h"\n')}, "base/ includes base/ only"),
    ("include", {"src/wire/a.c": function('#include "core.h"\n')}, "wire/ includes"),
    ("include", {"src/tcp/a.c": function('#include "ports/tap/tap.h"\n')}, "from src/ on"),
    ("include", {"src/tcp/a.c": function('#include "base/missing.h"\n')}, "no such file"),
    ("include", {"include/tenon/a.h": SPDX + "#include <stdint.h>\n"}, "a public header includes"),
    ("include", {"ports/tap/tap.c": function('#include "core.h"\n')}, "a port includes"),
    ("include", {"ports/tap/tap.c": function('#include "ports/wire/wire.h"\n')}, "a port includes"),
    ("include", {"apps/cli/main.c": function('#include "tcp/tcp_internal.h"\n')}, "an app includes"),
    ("include", {"examples/echo.c": function('#include "base/seq.h"\n')}, "an example includes"),
    ("sequence", {"src/tcp/a.c": function("static int f(int seq, int b)\n{\n    return seq < b;\n}\n")}, "seq wraps"),
    ("sequence", {"src/tcp/a.c": function("static int f(struct c *c, int b)\n{\n    return b >= c->snd_una;\n}\n")},
     "c->snd_una wraps"),
    ("words", {"README.md": "TO" "DO: write this.\n"}, "finish it"),
    ("words", {"src/tcp/a.c": function("/* FIX" "ME */\n")}, "finish it"),
    ("words", {"docs/a.md": "Written by an A" "I.\n"}, "who or what made it"),
    ("words", {"docs/a.md": "Our coding ag" "ent did it.\n"}, "who or what made it"),
    ("words", {"docs/a.md": "See /wo" "rk/main.\n"}, "one machine only"),
    ("licence", {"src/tcp/a.c": "/* About. */\n"}, "SPDX-License-Identifier"),
    ("licence", {"tools/x": "#!/bin/sh\necho\n"}, "SPDX-License-Identifier"),
    ("layout", {"src/tcp/a.c": function("/* " + "x" * 120 + " */\n")}, "columns"),
    ("layout", {"src/tcp/a.c": function("static int x; \n")}, "blanks at the end"),
    ("layout", {"src/tcp/a.c": function("\tstatic int x;\n")}, "a tab"),
    ("layout", {"src/tcp/a.c": function("static int x;")}, "no newline"),
    ("comment", {"src/tcp/a.c": function("static int x; // why\n")}, "C89"),
    ("documented", {"include/tenon/a.h": SPDX + "\nTENON_API int tenon_a_b(int x);\n"}, "no /** comment"),
    ("documented", {"include/tenon/a.h": SPDX + "\n/* plain */\nTENON_API int tenon_a_b(int x);\n"}, "begins with /**"),
    ("static", {"src/tcp/a.c": function("static int f(void)\n{\n    return 1;\n}\n"),
                "src/udp/b.c": function("static int f(void)\n{\n    return 1;\n}\n")}, "f is also in src/tcp/a.c"),
    ("static", {"src/tcp/a.c": function("enum { LIMIT = 1 };\n"), "src/udp/b.c": function("enum { A, LIMIT };\n")},
     "LIMIT is also in"),
    ("internal", {"src/tcp/a.c": function("int f(void)\n{\n    return 1;\n}\n")}, "neither public nor static"),
    ("internal", {"src/tcp/a.c": function("static int tn_f(void)\n{\n    return 1;\n}\n")}, "no prefix"),
    ("internal", {"src/tcp/a.c": function("TENON_INTERNAL int f(void)\n{\n    return 1;\n}\n")}, "begin with tn_"),
    ("unity", {"src/tenon_all.c": SPDX}, "run tools/unity"),
    ("header", {"include/tenon/a.h": SPDX + "struct a { tenon_u32 x; };\n"}, "alone, gcc"),
    ("header", {"include/tenon/a.h": SPDX + "struct a { int class; };\n"}, "alone, g++"),
    ("symbol", {"src/tcp/a.c": function("int shown(int x);\nint shown(int x)\n{\n    return x;\n}\n")}, "shown"),
    ("symbol", {"src/tcp/a.c": function("int printf(const char *f, ...);\nint tenon_a(void);\n"
                                        "int tenon_a(void)\n{\n    return printf(\"x\");\n}\n")}, "printf"),
    ("symbol", {"src/tcp/a.c": function("int tenon_a(void);\nint tenon_a(void)\n{\n    static int x;\n"
                                        "    return x++;\n}\n")}, "has variables"),
    ("example", {"examples/echo.c": function("/* */\n" * 100)}, "are promised"),
    ("port", {"ports/tap/tap.c": function("int x;\n" * 300), "ports/tap/more.c": function("int x; /* */\n" * 250)},
     "are promised"),
    ("link", {"docs/a.md": "[gone](gone.md)\n"}, "gone.md does not exist"),
]


@pytest.mark.parametrize("rule,files,message", BAD, ids=[f"{i}-{rule}" for i, (rule, _, _) in enumerate(BAD)])
def test_bad_tree_trips(tmp_path, rule, files, message):
    done = tidy(tmp_path, {**CLEAN, **files}, "--only", rule)
    assert done.returncode == 1, done.stdout
    assert message in done.stdout
    assert f": {rule}: " in done.stdout


def test_clean_tree_passes(tmp_path):
    done = tidy(tmp_path, CLEAN)
    assert done.stdout.endswith("clean\n"), done.stdout
    assert done.returncode == 0


def test_every_rule_has_a_bad_tree():
    listed = subprocess.run([sys.executable, TIDY, "--list"], capture_output=True, text=True, check=True).stdout
    assert {line.split()[0] for line in listed.splitlines()} == {rule for rule, _, _ in BAD}


GOOD_NESTED = """static int f(int x)
{
    if (x > 0) {
        for (; x > 1;) {
            if (x > 2)
                x--;
            else if (x > 3)
                x++;
            else
                x += 2;
        }
    }
    do {
        x--;
    } while (x > 5);
    return x;
}
"""
GOOD = [
    ("port", {"ports/tap/tap.c": function("int x;\n/* said */\n\n" * 310), "ports/tap/tap.h": function("int x;\n" * 90),
              "ports/tap/test/a.c": function("int x;\n" * 90)}),
    ("length", {"src/tcp/a.c": function(body(66))}),
    ("length", {"src/tcp/a.c": function(body(70)), "tools/tidy.ratchet": "src/tcp/a.c f 74\n"}),
    ("nesting", {"src/tcp/a.c": function(GOOD_NESTED)}),
    ("parameters", {"src/tcp/a.c": function("static int f(int a, int b, int c, int d, int (*e)(int, int))\n"
                                            "{\n    return a;\n}\n")}),
    ("sequence", {"src/tcp/a.c": function("static int f(struct c *c, int n)\n{\n    return c->ack_pending > n"
                                          " && c->seq[0].len < n && c->seq - 1 != 0;\n}\n")}),
    ("sequence", {"src/tcp/a.c": function("static int f(int ack)\n{\n    return ack > 0; /* not a sequence number */"
                                          "\n}\n")}),
    ("sequence", {"src/tcp/a.c": function("static int f(struct c *c)\n{\n    return c->rcv_adv - c->rcv_nxt < 9"
                                          " && 9 > c->snd_nxt - c->snd_una;\n}\n")}),
    ("words", {"docs/a.md": "The User-Ag" "ent header.\n"}),
    ("static", {"src/tcp/a.c": function("static int f(int x);\n" + body(1)),
                "src/udp/b.c": function("static int g(void)\n{\n    static const int f = 1;\n    return f;\n}\n")}),
    ("conditional", {"include/tenon/a.h": SPDX + "#ifndef TENON_A_H\n#define TENON_A_H\n#endif\n"}),
    ("include", {"ports/tap/tap.c": function('#include "tap.h"\n#include <stdio.h>\n'), "ports/tap/tap.h": SPDX}),
    ("macro", {"src/tcp/a.c": function("#define FOREVER 0xFFFFFFFFUL\n")}),
    ("documented", {"include/tenon/a.h": SPDX + "/** Both. */\nTENON_API int tenon_a_b(int x);\n"
                    "TENON_API int tenon_a_c(int x);\n"}),
]


@pytest.mark.parametrize("rule,files", GOOD, ids=[f"{i}-{rule}" for i, (rule, _) in enumerate(GOOD)])
def test_good_tree_passes(tmp_path, rule, files):
    done = tidy(tmp_path, {**CLEAN, **files}, "--only", rule)
    assert done.returncode == 0, done.stdout


def test_unknown_rule_is_named(tmp_path):
    done = tidy(tmp_path, {}, "--only", "beauty")
    assert done.returncode == 2
    assert "no rule beauty" in done.stderr
