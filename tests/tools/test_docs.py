# SPDX-License-Identifier: MIT
"""tools/docs: what is wrong in a small tree is found, and the site of this one has everything."""
import os
import re
import shutil
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCS = os.path.join(ROOT, "tools", "docs")
sys.path.insert(0, os.path.join(ROOT, "docs", "site"))
import headers as reader    # noqa: E402
import links                # noqa: E402

HEADER = """/* SPDX-License-Identifier: MIT */
/** @file
 *  Numbers. */
#ifndef TENON_NUMBER_H
#define TENON_NUMBER_H
#include <tenon/config.h>
TENON_BEGIN_DECLS

struct tenon_number;    /**< opaque */
struct tenon_pair;

/** Kinds of them. */
enum tenon_kind {
    TENON_ODD,     /**< 1, 3, 5 */
    TENON_EVEN
};

/* ---- doing something ----- */

/** Add one.
 *  @param x         a number
 *  @param[out] more what it is then,
 *                   or 0
 *  @return TENON_OK      done
 *          TENON_EINVAL  too large */
TENON_API int tenon_number_next(int x, int *more);

/** Both say what it is. */
TENON_API int tenon_number_odd(int x);
TENON_API int tenon_number_even(int x);

/** Once more. */
TENON_INLINE int tenon_number_twice(int x)
{
    return x < 0 ? -2 * -x : 2 * x;
}

/** A pair. */
struct tenon_pair {
    int one, two;                               /**< its halves */
    /** Called when it changes. */
    void (*changed)(struct tenon_pair *pair, int by);
};
TENON_END_DECLS
#endif
"""
CLEAN = {
    "include/tenon/number.h": HEADER,
    "docs/README.md": "# Documentation\n\n| page | for |\n|---|---|\n| [Guide](guide/one.md) | all |\n"
                      "| [Start](../README.md) | all |\n",
    "docs/guide/one.md": "# One\n\n## A `code` heading, twice\n\n## A `code` heading, twice\n\n"
                         "[up](../../README.md#how-to) [here](#a-code-heading-twice-1) ![figure](one.svg)\n"
                         "[line](../../include/tenon/number.h#L3) [outside](https://example.org/nothing#here)\n\n"
                         "```\n[no link](missing.md)\n```\nand `[neither](missing.md)`.\n",
    "docs/guide/one.svg": "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n",
    "README.md": "# Start\n\n## How to\n\n[all](docs/README.md)\n",
}


def run(tree, *arguments):
    return subprocess.run([sys.executable, DOCS, *arguments], capture_output=True, text=True, check=False,
                          env=dict(os.environ, TENON_ROOT=str(tree)))


def plant(folder, changes=()):
    for name, text in {**CLEAN, **dict(changes)}.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
    return folder


def test_clean_tree(tmp_path):
    done = run(plant(tmp_path), "--check")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "8 links (1 external, not followed)" in done.stdout
    assert "clean" in done.stdout


ONE = CLEAN["docs/guide/one.md"]
WRONG = {
    "dead link": ("docs/guide/one.md", ONE + "\n[gone](two.md)\n", "docs/guide/one.md:15: two.md: there is no"),
    "dead link over two lines": ("docs/guide/one.md", ONE + "\n[gone\nby](two.md)\n", "two.md: there is no docs/guide"),
    "dead image": ("docs/guide/one.md", ONE + "\n![gone](two.svg)\n", "two.svg: there is no docs/guide/two.svg"),
    "link in a table": ("docs/guide/one.md", ONE + "\n| a |\n|---|\n| [`x`](x.c) |\n", "x.c: there is no"),
    "missing anchor": ("docs/guide/one.md", ONE + "\n[up](../../README.md#how)\n",
                       "README.md has no heading for #how (there is #how-to)"),
    "missing anchor of the page itself": ("README.md", CLEAN["README.md"] + "[x](#nowhere)\n",
                                          "README.md:6: #nowhere: README.md has no heading"),
    "missing line": ("docs/guide/one.md", ONE.replace("#L3", "#L300"), "include/tenon/number.h has 45 lines"),
    "out of the repository": ("README.md", CLEAN["README.md"] + "[x](../other.md)\n", "leads out of the repository"),
    "guide without a row": ("docs/guide/two.md", "# Two\n", "docs/README.md:1: docs/guide/two.md has no row"),
    "page that nothing leads to": ("ports/x/README.md", "# X\n", "ports/x/README.md:1: no link leads here"),
    "function without a comment": ("include/tenon/number.h", HEADER.replace("/** Add one.", "/* Add one."),
                                   "include/tenon/number.h:26: tenon_number_next() has no comment"),
    "function of a service without a comment": (
        "services/count.h", HEADER.replace("/** Add one.", "/* Add one."),
        "services/count.h:26: tenon_number_next() has no comment"),
    "function apart from the comment": (
        "include/tenon/number.h", HEADER.replace("(int x);\nTENON_API", "(int x);\n\nTENON_API"),
        "include/tenon/number.h:31: tenon_number_even() has no comment"),
    "struct without a comment": ("include/tenon/number.h", HEADER.replace("/** A pair. */\n", ""),
                                 "struct tenon_pair has no comment"),
    "enum without a comment": ("include/tenon/number.h", HEADER.replace("/** Kinds of them. */\n", ""),
                               "include/tenon/number.h:12: enum tenon_kind has no comment"),
    "type that nobody explains": ("include/tenon/number.h", HEADER.replace("    /**< opaque */", ""),
                                  "struct tenon_number has no comment"),
}


@pytest.mark.parametrize("case", sorted(WRONG))
def test_is_found(tmp_path, case):
    name, text, message = WRONG[case]
    done = run(plant(tmp_path, {name: text}), "--check")
    assert message in done.stdout
    assert "1 findings" in done.stdout
    assert done.returncode == 1


def test_external_links_are_listed(tmp_path):
    done = run(plant(tmp_path), "--external")
    assert done.stdout == "docs/guide/one.md:8: https://example.org/nothing#here\n"


def test_usage(tmp_path):
    assert run(tmp_path, "--chekc").returncode == 2
    assert run(tmp_path, "one", "two").returncode == 2


def test_reader_of_headers():
    header = reader.Header("include/tenon/number.h", HEADER)
    assert header.comment == "Numbers."
    assert [(d.kind, d.name) for d in header.declarations()] == [
        ("struct", "tenon_number"), ("struct", "tenon_pair"), ("enum", "tenon_kind"), ("function", "tenon_number_next"),
        ("function", "tenon_number_odd"), ("function", "tenon_number_even"), ("function", "tenon_number_twice"),
        ("struct", "tenon_pair")]
    assert [e.section for e in header.entries] == ["", "", "", *["doing something"] * 4]
    assert [len(e.declarations) for e in header.entries] == [1, 1, 1, 1, 2, 1, 1]
    assert [reader.is_announcement(e) for e in header.entries] == [False, True, *[False] * 5]
    text, parameters, returns = reader.contract(header.entries[3].comment)
    assert (text, parameters) == ("Add one.", [("x", "a number"), ("more (out)", "what it is then, or 0")])
    assert [line.split() for line in returns.splitlines()] == [["TENON_OK", "done"], ["TENON_EINVAL", "too", "large"]]
    assert [(m.names, m.comment) for m in header.entries[2].declarations[0].members] == [
        (["TENON_ODD"], "1, 3, 5"), (["TENON_EVEN"], "")]
    assert [(m.names, m.comment) for m in header.entries[6].declarations[0].members] == [
        (["one", "two"], "its halves"), (["changed"], "Called when it changes.")]
    assert header.entries[5].declarations[0].code == "int tenon_number_twice(int x)"


@pytest.mark.parametrize("heading, anchor", [
    ("Two commands", "two-commands"), ("`struct tenon_host`: five functions", "struct-tenon_host-five-functions"),
    ("What [Linux](x.md) does, and why", "what-linux-does-and-why"), ("A - b", "a---b")])
def test_anchors(heading, anchor):
    assert links.slug(heading) == anchor


def test_page_that_loads_from_elsewhere(tmp_path):
    (tmp_path / "a.html").write_text(
        "<a id=\"x\" href=\"https://example.org\">fine</a><a href=\"#x\">fine</a>"
        "<img src=\"//example.org/i.png\"><a href=\"a.html#y\"></a><a href=\"b.html\"></a>")
    found, count, total = links.check_site(tmp_path)
    assert [problem for _, _, problem in found] == [
        "a.html#y: a.html has no #y", "b.html: there is no b.html", "<img> loads //example.org/i.png from elsewhere"]
    assert (count, total) == (1, 5)


# ---- the site of this repository ------------------------------------------------------------------------

def can_build():
    system = [p for p in (sys.executable, "/usr/bin/python3") if os.path.exists(p) and subprocess.run(
        [p, "-c", "import markdown_it, pygments"], capture_output=True, check=False).returncode == 0]
    return system and shutil.which("mandoc")


@pytest.fixture(scope="module", name="site")
def fixture_site(tmp_path_factory):
    if not can_build():
        pytest.skip("markdown-it, Pygments or mandoc is missing: tools/setup docs")
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = run(ROOT, str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no dead link" in done.stdout
    return folder


def page_of(path):
    if path.endswith("README.md"):
        return path[:-len("README.md")] + "index.html"
    return path[:-len(".md")] + ".html" if path.endswith(".md") else path + ".html"


def test_site_has_every_page_of_the_contents(site):
    with open(os.path.join(ROOT, "docs/README.md"), encoding="utf-8") as f:
        targets = [links.resolve("docs/README.md", t)[0] for t in re.findall(r"\]\(([^)]+)\)", f.read())]
    assert len(targets) > 30
    front = (site / "index.html").read_text()
    for path in targets:
        page = "include/tenon/index.html" if path == "include/tenon" else page_of(path)
        assert (site / page).is_file(), path
        assert f"href=\"{page}\"" in front, f"{page} is not in the contents of the front page"


def test_site_has_everything_public(site):
    """By another way than the one that made the pages: names as they stand in the headers."""
    folder = os.path.join(ROOT, "include/tenon")
    total = 0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        page = (site / "include/tenon" / (name[:-2] + ".html")).read_text()
        wanted = set(re.findall(r"^TENON_(?:API|INLINE)[^;{(]*?\b(tenon_\w+)\s*\(", text, re.M))
        wanted |= set(re.findall(r"^(?:struct|enum) (tenon_\w+) \{", text, re.M))
        wanted |= {"TENON_STAT_" + n for n in re.findall(r"^ +X\((\w+),", text, re.M)}
        total += len(wanted)
        assert not {n for n in wanted if f"id=\"{n}\"" not in page}, name
    assert total > 200


def test_site_explains(site):
    page = (site / "include/tenon/tcp.html").read_text()
    assert "Queue a span for sending, without a copy" in page
    assert re.search(r"<dt><a[^>]*><code>TENON_EAGAIN</code></a></dt><dd>the queue is full", page)
    assert "tcp.html#tenon_tcp_send" in (site / "index.html").read_text()
    assert "id=\"9293-MUST-1\"" in (site / "docs/conformance.html").read_text()
    assert "tenon serve" in re.sub(r"<[^>]+>", "", (site / "docs/man/tenon.1.html").read_text()).replace("\n", " ")
    index = (site / "site/search-index.js").read_text()
    for title in ("tenon_tcp_send()", "9293-MUST-1: ", "TENON_STAT_RX_FRAMES", "The rooms"):
        assert f"[\"{title}" in index


def test_what_is_no_site_stays(tmp_path):
    if not can_build():
        pytest.skip("markdown-it, Pygments or mandoc is missing: tools/setup docs")
    (tmp_path / "letter.txt").write_text("Dear")
    done = run(ROOT, str(tmp_path))
    assert done.returncode == 2
    assert "no earlier site" in done.stderr
    assert os.listdir(tmp_path) == ["letter.txt"]
