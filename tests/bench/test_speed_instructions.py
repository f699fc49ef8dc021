# SPDX-License-Identifier: MIT
"""The count of instructions: what --check does. The counting itself is a step of `make test`."""
import importlib.machinery
import importlib.util
import json
import pathlib

import pytest

PROGRAM = pathlib.Path(__file__).resolve().parents[2] / "bench" / "speed" / "instructions"
loader = importlib.machinery.SourceFileLoader("speed_instructions", str(PROGRAM))
counting = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(counting)


def test_a_count_that_has_grown_is_an_error(monkeypatch, tmp_path, capsys):
    """As `make test` calls it, with counts that are made up, and with a compiler that the reference does not know."""
    reference = tmp_path / "reference.json"
    monkeypatch.setattr(counting.shutil, "which", lambda name: name)
    monkeypatch.setattr(counting.stacks, "tenon", lambda *arguments: "program")
    monkeypatch.setattr(counting, "count", lambda program, case, folder: (1040, "unit", None))
    made_by = {"compiler": "a"}
    monkeypatch.setattr(counting, "versions", lambda: made_by)
    for was, by, status, said in ((1000, "a", 1, "MORE THAN ALLOWED"), (1020, "a", 0, "+2.0 %"),
                                  (1000, "b", 0, "not comparable"), (1100, "a", 0, "fewer instructions")):
        reference.write_text(json.dumps({"made_by": {"compiler": by}, "counts": {c: was for c in counting.CASES}}))
        assert counting.main(["--check", "--reference", str(reference), "--out", str(tmp_path)]) == status
        assert said in capsys.readouterr().out


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
