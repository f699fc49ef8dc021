# SPDX-License-Identifier: MIT
"""bench/boards/run: the tables in docs/ are those of its reference, and the reference is what is measured now, as far
as that takes a minute: sizes and RAM of the echo, and instructions, of Tenon alone; and whether it answers who reads
late."""
import copy
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

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
@pytest.mark.parametrize("part", ["instructions", "flash", "optimised as one", "RAM"])
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
    elif part == "optimised as one":
        found["echo"]["tenon4"]["flash_as_one"] *= change
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
    missing = run.TOOL.lacks(board, ["gcc", "qemu"])
    if missing or shutil.which("ninja") is None:
        pytest.skip(f"{missing or 'ninja'} is not there")
    # Folders of its own: tests/firmware may be building in the usual ones.
    status = run.main(["--check", "--no-lwip", "--boards", board, "--parts", "instructions,sizes,linked", "--out",
                       str(tmp_path), "--build", str(ROOT / "build" / "boards-checked")])
    assert status == 0, capsys.readouterr().err


@pytest.mark.parametrize("name", ["echo-tenon4", "echo-tenon4-back", "echo-tenon4-core"])
@pytest.mark.parametrize("board", list(run.TICK_NS))
def test_who_reads_late_is_answered(board, name):
    """Four clients send as much as is taken before they read. Then the echo holds all blocks that it may, and waits for
    room to send: the acknowledgements that make it have to come in all the same, and not to wait behind datagrams for
    which there is no block."""
    missing = run.TOOL.lacks(board, ["gcc", "qemu"])
    if missing or shutil.which("ninja") is None:
        pytest.skip(f"{missing or 'ninja'} is not there")
    args = run.arguments(["--boards", board, "--build", str(ROOT / "build" / "boards-checked")])
    image = run.build(args, board, None, name) / f"{name}.elf"
    with run.echoes.Echo(run.TOOL.BOARDS[board], board, image) as echo:
        echo.wait_for("ready")
        assert run.echoes.answers_late(echo, ahead=4) == 1


@pytest.mark.parametrize("name, blocks, room", [one for one in run.rooms.ROWS if one[0].startswith("tenon")])
def test_who_does_not_read_keeps_nobody_out(name, blocks, room):
    """As docs/performance-embedded.md has it: three send as much as is taken, and read nothing; a fourth is served."""
    board = run.rooms.BOARD
    missing = run.TOOL.lacks(board, ["gcc", "qemu"])
    if missing or shutil.which("ninja") is None:
        pytest.skip(f"{missing or 'ninja'} is not there")
    args = run.arguments(["--boards", board, "--build", str(ROOT / "build" / "boards-checked")])
    more = {"ECHO_BLOCKS": blocks, "ECHO_HEAP": room or run.rooms.SENDS}
    image = run.build(args, board, None, f"echo-{name}", more=more) / f"echo-{name}.elf"
    assert run.rooms.serves_beside(run.TOOL.BOARDS[board], image) == 1


def test_interrupted(tmp_path):
    """By Ctrl-C, while it builds: in a line, and not with a table."""
    board = "lm3s6965evb"
    if run.TOOL.lacks(board, ["gcc", "qemu", "cmake", "ninja"]) is not None:
        pytest.skip("a compiler, QEMU, cmake or ninja is not there")
    command = [sys.executable, str(run.HERE / "run"), "--boards", board, "--no-lwip", "--parts", "instructions",
               "--build", str(tmp_path), "--out", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as bench:
        while not (tmp_path / board / "CMakeCache.txt").exists():
            assert bench.poll() is None
            time.sleep(0.05)
        os.killpg(bench.pid, signal.SIGINT)
        assert bench.communicate(timeout=60) == ("", "boards: interrupted\n")
    assert bench.returncode == 1
