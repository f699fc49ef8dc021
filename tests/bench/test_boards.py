# SPDX-License-Identifier: MIT
"""bench/boards/run: the tables in docs/ are those of its reference, and the reference is what is measured now, as far
as that takes a minute: sizes and RAM of the echo, and instructions, of Tenon alone."""
import copy
import importlib.machinery
import importlib.util
import json
import pathlib
import shutil

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("boards_run", str(ROOT / "bench" / "boards" / "run"))
run = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(run)
REFERENCE = json.loads(run.REFERENCE.read_text(encoding="utf-8"))


def test_docs_have_the_tables_of_the_reference():
    page = (ROOT / "docs" / "performance-embedded.md").read_text(encoding="utf-8")
    made = page.split(run.report.BEGIN)[1].split(run.report.END)[0]
    assert made.strip() == run.report.tables(REFERENCE).strip(), "bench/boards/run --update --docs"
    drawing = (ROOT / "docs" / "performance-embedded.svg").read_text(encoding="utf-8")
    assert drawing == run.report.drawing(REFERENCE)


@pytest.mark.parametrize("change, said", [(1.0, None), (1.02, None), (1.04, "before"), (0.96, "before")])
@pytest.mark.parametrize("part", ["instructions", "flash", "RAM"])
def test_a_number_that_has_changed_is_an_error(change, said, part, capsys):
    """More, or less than the figures in docs/ say."""
    now = copy.deepcopy(REFERENCE)
    found = now["mps2-an385"]
    if part == "instructions":
        row = found["stacks"]["tenon"]["rows"]["offload ring send 1460"]
        found["stacks"]["tenon"]["rows"]["offload ring send 1460"] = {name: n * change for name, n in row.items()}
    elif part == "flash":
        flash = found["echo"]["tenon4"]["flash"]
        found["echo"]["tenon4"]["flash"] = {name: n * change for name, n in flash.items()}
    else:
        idle = found["echo"]["tenon4"]["run"]["idle"]
        idle["static"] += round((change - 1) * run.echoes.fixed_ram(found["echo"]["tenon4"]))
    assert run.compare(now) == (said is not None)
    words = capsys.readouterr().err
    assert said is None or said in words and part in words and "--update --docs" in words


def test_another_compiler_is_not_compared(capsys):
    now = {"mps2-an385": {**copy.deepcopy(REFERENCE["mps2-an385"]), "compiler": "another", "stacks": {}}}
    assert run.compare(now) == 0
    assert "nothing to compare" in capsys.readouterr().err


@pytest.mark.parametrize("board", list(run.TICK_NS))
def test_what_is_measured_is_the_reference(board, tmp_path, capsys):
    missing = run.TOOL.lacks(board, ["compiler", "qemu"])
    if missing or shutil.which("ninja") is None:
        pytest.skip(f"{missing or 'ninja'} is not there")
    # Folders of its own: tests/firmware may be building in the usual ones.
    status = run.main(["--check", "--no-lwip", "--boards", board, "--parts", "instructions,sizes", "--out",
                       str(tmp_path), "--build", str(ROOT / "build" / "boards-checked")])
    assert status == 0, capsys.readouterr().err
