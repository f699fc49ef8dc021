# SPDX-License-Identifier: MIT
"""tools/conformance itself: silent on a small clean tree, and every kind of mistake is found."""
import os
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "conformance")

HEAD = "id\tsection\tlevel\tstatus\twhere\trequirement\treason\n"
ROW = "9293-MUST-1\tRFC 9293 3.1\tMUST\timplemented\ttcp/a.c:a_input\tThe window is unsigned\n"
SHOULD = "9293-SHLD-1\tRFC 9293 3.4.1\tSHOULD\tmissing\t\tA clock\n"
SOURCE = """/* About. */
static int a_input(struct a *a,
                   int x)
{
    return call(x);
}

int a_declared(int x);
"""
CLEAN = {
    "docs/conformance/tcp-rfc9293.tsv": HEAD + ROW + SHOULD,
    "src/tcp/a.c": SOURCE,
    "tests/script/open/a.pkt": "# About.\n# covers: 9293-MUST-1 RLY-1\n",
    "tests/unit/tcp/a.c": 'static const struct hn_test tests[] = { { "a_one", "RLY-1 "\n  "9293-SHLD-1", a_one } };\n',
    "tests/tools/test_x.py": "covers: NO-SUCH-1\n",
}


def run(tree, files, *options):
    for name, text in files.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    env = dict(os.environ, TENON_ROOT=str(tree))
    return subprocess.run([sys.executable, TOOL, *options], env=env, capture_output=True, text=True, check=False)


def test_clean_tree_passes(tmp_path):
    assert run(tmp_path, CLEAN).returncode == 0
    page = (tmp_path / "docs/conformance.md").read_text()
    assert "| 9293-MUST-1 | RFC 9293 3.1 | MUST | implemented | The window is unsigned |" in page
    assert "[`a_input`](../src/tcp/a.c) | [open/a](../tests/script/open/a.pkt) |" in page
    assert "[tcp/a.c: a_one](../tests/unit/tcp/a.c)" in page
    assert "| 2 | 1 | 0 | 1 | 0 | 2 | 1 | 1 of 1 |" in page
    result = run(tmp_path, {}, "--check")
    assert (result.returncode, result.stdout) == (0, "conformance: 2 rows, clean\n")


def test_function_of_a_service(tmp_path):
    row = ROW.replace("9293-MUST-1", "9293-MUST-2").replace("tcp/a.c", "services/a.c")
    more = {TABLE: HEAD + ROW + SHOULD + row, "services/a.c": SOURCE, SCRIPT: "# covers: 9293-MUST-1 9293-MUST-2\n"}
    assert run(tmp_path, CLEAN | more).returncode == 0
    assert "[`a_input`](../services/a.c)" in (tmp_path / "docs/conformance.md").read_text()
    (tmp_path / "services/a.c").unlink()
    assert "there is no services/a.c" in run(tmp_path, {}, "--check").stdout


TABLE = "docs/conformance/tcp-rfc9293.tsv"
SCRIPT = "tests/script/open/a.pkt"
BAD = [
    ("stale", {SCRIPT: "# covers: 9293-MUST-1 9293-SHLD-1\n"}, "out of date", False),
    ("unknown in a script", {SCRIPT: "# covers: 9293-MUST-1 9293-MUST-99\n"}, "9293-MUST-99 is in no table", True),
    ("unknown in a unit test", {"tests/unit/b.c": '{ "b_one", "CC-99", b_one }'}, "b_one: CC-99 is in no table", True),
    ("unknown in a comment", {"tests/sim/b.c": "/* covers: CC-99 */"}, "CC-99 is in no table", True),
    ("unknown in python", {"tests/interop/test_b.py": "# covers: CC-98\n"}, "CC-98 is in no table", True),
    ("MUST without a test", {SCRIPT: "# covers: 9293-SHLD-1\n"}, "a MUST that is implemented, and no test", True),
    ("no such function", {TABLE: HEAD + ROW.replace("a_input", "a_output")}, "has no function a_output", True),
    ("only declared", {TABLE: HEAD + ROW.replace("a_input", "a_declared")}, "has no function a_declared", True),
    ("only called", {TABLE: HEAD + ROW.replace("a_input", "call")}, "has no function call", True),
    ("no such file", {TABLE: HEAD + ROW.replace("tcp/a.c", "tcp/b.c")}, "there is no src/tcp/b.c", True),
    ("nowhere", {TABLE: HEAD + ROW.replace("tcp/a.c:a_input", "")}, "it is not said where", True),
    ("twice", {TABLE: HEAD + ROW + ROW}, "9293-MUST-1 is also", True),
    ("no such status", {TABLE: HEAD + ROW.replace("implemented", "perhaps")}, "the status is", True),
    ("no such level", {TABLE: HEAD + ROW.replace("MUST\t", "OUGHT\t")}, "the level is", True),
    ("no reason", {TABLE: HEAD + ROW.replace("implemented", "different")}, "different without a reason", True),
    ("no decision", {TABLE: HEAD + ROW.replace("implemented", "different")[:-1] + "\tbecause\n"}, "decision 7", True),
    ("columns", {TABLE: HEAD + ROW[:-1] + "\ta\tb\n"}, "8 columns", True),
    ("head", {TABLE: "id\tsection\n" + ROW}, "the columns are not", True),
]


@pytest.mark.parametrize("files,message,make", [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_mistake_is_found(tmp_path, files, message, make):
    run(tmp_path, CLEAN)
    if make:
        run(tmp_path, files)
    result = run(tmp_path, files, "--check")
    assert result.returncode == 1, result.stdout
    assert message in result.stdout


def test_gaps_are_listed(tmp_path):
    run(tmp_path, CLEAN)
    assert run(tmp_path, {}, "--gaps").stdout == ""
    assert run(tmp_path, {SCRIPT: "# About.\n"}, "--gaps").stdout.startswith("9293-MUST-1 ")


def test_every_row_of_the_project_is_sound():
    result = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout
