# SPDX-License-Identifier: MIT
"""The count of instructions: no case takes more than 3 % more than the reference says."""
import importlib.machinery
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bench" / "speed" / "instructions"
loader = importlib.machinery.SourceFileLoader("speed_instructions", str(PROGRAM))
counting = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(counting)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_counts_have_not_grown(tmp_path):
    done = subprocess.run([sys.executable, PROGRAM, "--check", "--out", tmp_path], capture_output=True, text=True,
                          check=False, timeout=600)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(case in done.stdout for case in counting.CASES)


def test_the_reference_has_all_cases():
    reference = json.loads(counting.REFERENCE.read_text())
    assert set(reference["counts"]) == set(counting.CASES)
    assert reference["made_by"]["flags"] == " ".join(counting.FLAGS)


@pytest.mark.parametrize("now, worse", [(1029, []), (1031, ["case"]), (900, [])])
def test_three_percent_are_allowed(now, worse, capsys):
    assert counting.compare({"case": now}, {"counts": {"case": 1000}}) == worse
    assert ("MORE THAN ALLOWED" in capsys.readouterr().out) == bool(worse)


def test_inlined_code_belongs_to_the_function_that_it_is_written_in(tmp_path):
    source = tmp_path / "a.c"
    source.write_text("static int small(int x)\n{\n    return x + 1;\n}\n\n"
                      "int large(int x)\n{\n    return small(x);\n}\n")
    out = tmp_path / "callgrind"
    out.write_text(f"fl={source}\nfn=large\n8 10\n3 30\ncfn=other\ncalls=1 1\n8 1000\n8 2\n")
    written, compiled = counting.profile(out)
    assert written == {"large": 12, "small": 30} and compiled == {"large": 42}
