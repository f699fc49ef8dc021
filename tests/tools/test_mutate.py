# SPDX-License-Identifier: MIT
"""tools/mutate itself, on a project of two files: what it says of a mutation that is killed, that survives, that does
not apply, does not build, or whose test fails anyway; and that it leaves the tree as it was."""
import os
import shutil
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "mutate")

SOURCE = """/* About. */
int a_add(int x, int y);
int a_add(int x, int y)
{
    if (x < 0)
        return 0;
    return x + y;
}
"""
TEST = """#include <string.h>
int a_add(int x, int y);
static int sum(void) { return a_add(1, 2) != 3; }
static int broken(void) { return 1; }
static const struct { const char *name, *ids; int (*run)(void); } tests[] = {
    { "a_sum", "9293-MUST-1", sum },
    { "a_broken", "9293-MUST-2", broken },
};
int main(int argc, char **argv)
{
    for (unsigned i = 0; i < 2; i++)
        if (argc > 1 && strcmp(tests[i].name, argv[1]) == 0)
            return tests[i].run();
    return 1;
}
"""
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(a C)
add_executable(unit.a.a tests/unit/a/a.c src/a/a.c)
set_target_properties(unit.a.a PROPERTIES OUTPUT_NAME a.a RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests/unit)
"""
ROWS = "id\tsection\tlevel\tstatus\twhere\trequirement\treason\n" + "".join(
    f"9293-MUST-{n}\tRFC 9293 3.1\tMUST\timplemented\ta/a.c:a_add\tAdd\n" for n in (1, 2, 3))
KILLED = "@ 9293-MUST-1 a/a.c:a_add\n= takes away\n- x + y\n+ x - y\n"
SURVIVES = "@ 9293-MUST-1 a/a.c:a_add\n= negative numbers\n- x < 0\n+ x < -5\n"


def tree(path, mutations):
    files = {"src/a/a.c": SOURCE, "tests/unit/a/a.c": TEST, "CMakeLists.txt": CMAKE,
             "docs/conformance/tcp-rfc9293.tsv": ROWS, "tests/mutations/a.mut": mutations}
    for name, text in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)


def run(path, mutations, *options):
    tree(path, mutations)
    result = subprocess.run([sys.executable, TOOL, *options], env=dict(os.environ, TENON_ROOT=str(path)),
                            capture_output=True, text=True, check=False)
    assert (path / "src/a/a.c").read_text() == SOURCE
    assert not (path / "build").exists()
    return result


needs_ninja = pytest.mark.skipif(shutil.which("ninja") is None, reason="ninja is missing")


@needs_ninja
def test_killed(tmp_path):
    result = run(tmp_path, "# A comment.\n" + KILLED + "\n" + KILLED.replace("x - y", "x * y"), "-j", "2")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "killed by a.a:a_sum" in result.stdout
    assert "mutate: 2 mutations of 1 rules, 2 killed, 0 not" in result.stdout


@needs_ninja
def test_survivor_is_reported(tmp_path):
    result = run(tmp_path, KILLED + "\n" + SURVIVES, "-j", "1")
    assert result.returncode == 1
    assert "tests/mutations/a.mut:6: 9293-MUST-1: survives a.a:a_sum" in result.stdout
    assert "2 mutations of 1 rules, 1 killed, 1 not" in result.stdout


@needs_ninja
@pytest.mark.parametrize("old,new,message", [
    ("x * y", "0", "does not apply: the old text is 0 times in a_add"),
    ("return", "return 1 +", "does not apply: the old text is 2 times in a_add"),
    ("x + y", "z", "does not build"),
])
def test_what_cannot_be_tried_is_reported(tmp_path, old, new, message):
    result = run(tmp_path, f"@ 9293-MUST-1 a/a.c:a_add\n- {old}\n+ {new}\n")
    assert result.returncode == 1
    assert message in result.stdout


@needs_ninja
def test_one_that_fails_anyway_is_reported(tmp_path):
    result = run(tmp_path, KILLED.replace("MUST-1", "MUST-2"))
    assert result.returncode == 2
    assert "fail without a mutation" in result.stdout


@needs_ninja
def test_named_tests_must_all_fail(tmp_path):
    result = run(tmp_path, KILLED.replace("MUST-1", "MUST-3") + "? unit a.a:a_sum\n", "--only", "takes away")
    assert result.returncode == 0
    assert "killed by a.a:a_sum" in result.stdout


@pytest.mark.parametrize("text,message", [
    (KILLED.replace("MUST-1", "MUST-3"), "no test names 9293-MUST-3"),
    ("@ 9293-MUST-1 a/a.c:a_add\n- x\n", "incomplete"),
    (KILLED + "! what\n", "what is"),
    (KILLED + "? a.a\n", "a test is a script or a unit"),
])
def test_a_wrong_list_is_told(tmp_path, text, message):
    result = run(tmp_path, text)
    assert result.returncode == 2
    assert message in result.stdout


def test_list(tmp_path):
    result = run(tmp_path, KILLED + "\n" + SURVIVES, "--list")
    assert result.returncode == 0
    assert "9293-MUST-1      a/a.c:a_add  [unit a.a:a_sum]  takes away" in result.stdout
    result = run(tmp_path, KILLED + "\n" + SURVIVES.replace("x < 0", "x < 7"), "--list")
    assert result.returncode == 1
    assert "1 do not apply" in result.stdout
    assert run(tmp_path, KILLED, "--only", "none such").returncode == 2
