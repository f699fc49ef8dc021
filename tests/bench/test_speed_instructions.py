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


@pytest.fixture
def made_up(monkeypatch):
    """Programs that are their names, and counts[program or stack]: what each of their cases takes."""
    counts = {}
    monkeypatch.setattr(counting.shutil, "which", lambda name: name)
    for name in ("tenon", "amalgamated", "separate", "lwip", "smoltcp"):
        monkeypatch.setattr(counting.stacks, name, lambda folder, *rest, maker=name: maker)
    monkeypatch.setattr(counting, "versions", lambda: {"compiler": "a"})

    def count(program, case, folder, stack="tenon"):
        value = counts.get(program if stack == "tenon" else stack, 1040)
        if isinstance(value, str):
            raise counting.NotHere(value)
        return value, "unit", folder
    monkeypatch.setattr(counting, "count", count)
    return counts


def test_a_count_that_has_grown_is_an_error(made_up, tmp_path, capsys):
    """As `make test` calls it, with counts that are made up, and with a compiler that the reference does not know."""
    reference = tmp_path / "reference.json"
    for was, by, status, said in ((1000, "a", 1, "MORE THAN ALLOWED"), (1020, "a", 0, "+2.0 %"),
                                  (1000, "b", 0, "not comparable"), (1100, "a", 0, "fewer instructions")):
        reference.write_text(json.dumps({"made_by": {"compiler": by}, "counts": {c: was for c in counting.CASES}}))
        assert counting.main(["--check", "--reference", str(reference), "--out", str(tmp_path)]) == status
        out = capsys.readouterr().out
        assert said in out
        if status:    # what to do about it
            assert "--update" in out and "--profile ping-pong-32" in out


@pytest.mark.parametrize("other, status", [(1040, 0), (1045, 0), (1055, 1), (1025, 1)])
def test_the_amalgamated_file_is_held_to_the_librarys(made_up, tmp_path, capsys, other, status):
    made_up["amalgamated"] = other
    assert counting.main(["--check", "--reference", str(tmp_path / "none.json"), "--out", str(tmp_path)]) == status
    assert ("the amalgamated file differs" in capsys.readouterr().out) == bool(status)


def test_other_stacks_stand_beside(made_up, tmp_path, capsys):
    made_up.update(lwip=2080, smoltcp="no such thing", floor=520)
    assert counting.main(["--stack", "floor,lwip,smoltcp", "--out", str(tmp_path)]) == 0
    head, first, *_ = lines = capsys.readouterr().out.splitlines()
    assert head.split()[-4:] == ["tenon", "floor", "lwip", "smoltcp"]
    assert first.split() == ["unit:", "ping-pong-32", "1040", "(1.00)", "520", "(0.50)", "2080", "(2.00)", "-"]
    assert any(line.startswith("smoltcp: no such thing: ping-pong-32, ") for line in lines)


def test_a_stack_that_nobody_knows_is_told(made_up, tmp_path):
    with pytest.raises(SystemExit, match="there is no stack linux; there are: floor, lwip, smoltcp"):
        counting.main(["--stack", "linux", "--out", str(tmp_path)])


def test_a_stack_that_cannot_be_had_is_left_out(made_up, monkeypatch, tmp_path, capsys):
    def missing(*_):
        raise counting.stacks.Missing("no cargo")
    monkeypatch.setattr(counting.stacks, "lwip", missing)
    counting.print_stacks(["lwip", "floor"], tmp_path)
    out = capsys.readouterr().out
    assert "lwip is left out: no cargo" in out and "tenon" in out and "floor" in out


def test_builds_stand_beside_the_usual_one(made_up, tmp_path, capsys):
    made_up["separate"] = 1144
    assert counting.main(["--builds", "--out", str(tmp_path)]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert "amalgamated, -O3" in head and "one unit, -O2" in head and first.endswith("1144 (+10.0 %)")


def test_peers_have_cases_that_say_the_same_to_all():
    """What a stack would not even hear of is no comparison."""
    for case in counting.PEER_CASES + counting.BUILD_CASES:
        assert not {"own_sum=1", "bbr=1", "ip6=1"} & set(counting.CASES[case].split()) or "checksums" in case


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
