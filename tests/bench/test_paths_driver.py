# SPDX-License-Identifier: MIT
"""bench/paths/run: which cells, what is compared, what is drawn. The program is a stand-in that answers at once."""
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

PATHS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "paths"
sys.path.insert(0, str(PATHS))

import compare    # noqa: E402
import grid    # noqa: E402
import report    # noqa: E402

CONTROLS = ["newreno", "cubic", "highspeed", "bbr", "dctcp"]

# Answers as tenon-paths does; SHARE is what it "measures", BROKEN a congestion control that makes it fail.
STAND_IN = """#!/usr/bin/env python3
import json, os, sys
if sys.argv[1:] == ["--controls"]:
    print("newreno\\ncubic")
    sys.exit(0)
cell = {"kind": "bulk", "cc": "cubic", "flows": "1"}
cell.update(word.split("=") for word in sys.argv[1:])
if cell["cc"] == os.environ.get("BROKEN"):
    print("no memory", file=sys.stderr)
    sys.exit(3)
share = float(os.environ.get("SHARE", "0.98"))
bad = int(cell["cc"] == os.environ.get("DAMAGED"))
out = {"kind": cell["kind"], "cc": cell["cc"], "bad": bad, "cpu_s": 0.01, "rtos": 1}
if cell["kind"] == "bulk" or cell["kind"] == "burst":
    out.update(share=share, share_late=share, again_pct=0.5, queue_ms=3, frames=1000, overflowed=0)
if int(cell["flows"]) > 1:
    out.update(jain=0.9, shares=[share / int(cell["flows"])] * int(cell["flows"]))
if cell["kind"] == "burst":
    out.update(repair_rtt=1.5, full_rtt=4)
if cell["kind"] == "short":
    out.update(mean_ms=120, p95_ms=150, best_ms=100)
if cell["kind"] == "tail":
    out.update(probe_ms=100, extra_ms=150)
print(json.dumps(out))
sys.exit(bad)
"""


@pytest.fixture
def drive(tmp_path):
    build = tmp_path / "build"
    build.mkdir()
    program = build / "tenon-paths"
    program.write_text(STAND_IN)
    program.chmod(0o755)

    def run(*more, **environ):
        return subprocess.run([sys.executable, PATHS / "run", "--build", build, "--out", tmp_path / "out", "-j", "2",
                               "--reference", tmp_path / "reference.json", *more], capture_output=True, text=True,
                              check=False, env={**os.environ, **environ})
    return run


ONLY = ["--only", "kind=bulk cc=cubic rtt=50 rate=10 "]


# ---- the grid ---------------------------------------------------------------------------------------

def test_every_axis_of_the_map_is_in_the_everyday_cells():
    cells = grid.everyday(CONTROLS)
    for name, values in (("rtt", grid.RTTS), ("rate", grid.RATES), ("loss", grid.LOSSES), ("reorder", grid.REORDERS),
                         ("buffer", grid.BUFFERS), ("kind", ("bulk", "short", "burst", "tail")),
                         ("cc", CONTROLS), ("flows", (1, 2, grid.MANY))):
        assert set(values) <= {cell[name] for cell in cells}, name
    assert {cell["size"] for cell in cells if cell["kind"] == "short"} == set(grid.SIZES)
    assert any(cell["cc"] == "cubic,bbr" for cell in cells)


def test_everything_is_the_whole_product_too():
    keys = {grid.key_of(cell) for cell in grid.everything(["cubic"])}
    assert {grid.key_of(cell) for cell in grid.everyday(["cubic"])} < keys
    for cell in grid.product({"kind": "bulk", "cc": "cubic"}, rtt=grid.RTTS, rate=grid.RATES, loss=grid.LOSSES,
                             reorder=grid.REORDERS, buffer=grid.BUFFERS):
        assert grid.key_of(cell) in keys


def test_huge_windows_are_not_everyday():
    cells = grid.everyday(CONTROLS)
    assert max(map(grid.frames_of, cells)) <= grid.EVERYDAY_FRAMES
    assert not any(cell["rtt"] == 600 and cell["rate"] == 10000 for cell in cells)
    assert any(cell["rtt"] == 600 and cell["rate"] == 10000 for cell in grid.everything(CONTROLS))


def test_dctcp_stays_where_queues_mark():
    assert all(cell["mark"] > 0 and cell["rtt"] <= 10 for cell in grid.everyday(CONTROLS) if "dctcp" in cell["cc"])


def test_key_and_cell_are_the_same_thing():
    for cell in grid.everyday(CONTROLS):
        assert grid.cell_of(grid.key_of(cell)) == cell
    assert grid.key_of(grid.cell_of("rtt=0.1 loss=1")) == "kind=bulk cc=cubic rtt=0.1 rate=10 loss=1"


@pytest.mark.parametrize("wrong", ["rtt", "colour=1", "rtt=fast"])
def test_key_that_is_none(wrong):
    with pytest.raises(ValueError):
        grid.cell_of(wrong)


@pytest.mark.parametrize("key", ["rtt=10 rate=10", "rtt=100 rate=100 buffer=4", "rtt=1 rate=1000 flows=8",
                                 "rate=1 rtt=50"])
def test_frames_are_guessed_well(cell, key):
    result = cell("cc=newreno " + key)
    frames = result["seconds"] * grid.cell_of(key)["rate"] * 1e6 / 8 / 1514
    assert grid.frames_of(grid.cell_of(key)) == pytest.approx(frames, rel=0.01)


# ---- comparing --------------------------------------------------------------------------------------

def result(**measures):
    return {"key": "k", "bad": 0, "cc": "cubic", "kind": "bulk", **measures}


@pytest.mark.parametrize("name,was,now,word", [
    ("share_late", 0.98, 0.975, None), ("share_late", 0.98, 0.90, "worse"), ("share_late", 0.50, 0.60, "better"),
    ("again_pct", 1.0, 1.15, None), ("again_pct", 1.0, 1.5, "worse"), ("rtos", 0, 1, "worse"), ("rtos", 3, 2, "better"),
    ("queue_ms", 100, 105, None), ("queue_ms", 100, 150, "worse"), ("mean_ms", 100, 102, None),
    ("mean_ms", 100, 120, "worse"), ("probe_ms", 140, 200, "worse")])
def test_difference_beyond_the_tolerance(name, was, now, word):
    found = compare.differences({"k": {name: was}}, {"k": result(**{name: now})})
    assert [compare.describe(d).split()[-1] for d in found] == ([f"({word})"] if word else [])


def test_measure_that_comes_or_goes_differs():
    assert len(compare.differences({"k": {"rtos": 1}}, {"k": result(rtos=1, jain=1)})) == 1
    assert len(compare.differences({"k": {"rtos": 1, "jain": 1}}, {"k": result(rtos=1)})) == 1


def test_check_says_what_is_different(drive):
    assert drive("--update", *ONLY).returncode == 0
    same = drive("--check", *ONLY)
    assert same.returncode == 0, same.stdout
    assert " 0 differ from the reference" in same.stdout
    worse = drive("--check", *ONLY, SHARE="0.5")
    assert worse.returncode == 1
    assert re.search(r"kind=bulk cc=cubic rtt=50 rate=10: share_late 0.98 -> 0.5 +\(worse\)", worse.stdout)
    better = drive("--check", *ONLY, SHARE="1.1")
    assert better.returncode == 1 and "(better)" in better.stdout and "(0 of them for the worse)" in better.stdout


def test_check_sees_what_came_damaged(drive):
    """With the same measures as before: there are cells that have none of what was damaged."""
    drive("--update", *ONLY)
    done = drive("--check", *ONLY, DAMAGED="cubic")
    assert done.returncode == 1 and " 0 differ from the reference" in done.stdout
    assert "kind=bulk cc=cubic rtt=50 rate=10: data came damaged, or never" in done.stdout


def test_update_keeps_the_cells_that_were_not_run(drive, tmp_path):
    drive("--update", "--only", "kind=bulk cc=newreno rtt=10 rate=10 ")
    drive("--update", *ONLY)
    reference = json.loads((tmp_path / "reference.json").read_text())
    assert "kind=bulk cc=newreno rtt=10 rate=10" in reference and "kind=bulk cc=cubic rtt=50 rate=10" in reference
    assert "cpu_s" not in reference["kind=bulk cc=cubic rtt=50 rate=10"]    # only what does not depend on the machine
    lines = (tmp_path / "reference.json").read_text().splitlines()
    keys = [line.split('"')[1] for line in lines[1:-1]]    # a cell is a line
    assert keys == sorted(reference)


def test_cells_that_the_reference_lacks_are_counted(drive):
    drive("--update", "--only", "kind=bulk cc=cubic rtt=50 rate=10 loss=1")
    done = drive("--check", *ONLY)
    assert done.returncode == 0
    assert re.search(r"[1-9]\d* are not in it", done.stdout)


# ---- running and drawing ----------------------------------------------------------------------------

def test_controls_come_from_the_program(drive):
    listed = drive("--list").stdout
    assert "cc=newreno" in listed and "cc=cubic,newreno" in listed
    assert "bbr" not in listed


def test_cells_are_chosen_by_their_text(drive):
    only = drive("--list", "--only", "kind=bulk", "--only", "rtt=50 rate=10 ").stdout.splitlines()
    assert only and all("kind=bulk" in key and "rtt=50 rate=10" in key and "rate=100" not in key for key in only)
    less = drive("--list", "--only", "kind=bulk", "--only", "rtt=50 rate=10 ", "--skip", "loss=", "--skip", "flows")
    assert less.stdout.splitlines() == [key for key in only if "loss=" not in key and "flows" not in key]
    assert len(less.stdout.splitlines()) < len(only)


def test_run_writes_results_and_report(drive, tmp_path):
    some = ["--only", "rtt=50 rate=100"]
    done = drive(*some)
    assert done.returncode == 0, done.stderr
    cells = len(drive("--list", *some).stdout.splitlines())
    assert len((tmp_path / "out" / "results.jsonl").read_text().splitlines()) == cells
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.count("<svg") == page.count("</svg>") > 50
    for section in report.sections(["newreno", "cubic", "cubic,newreno"]):
        assert section.title in page
    assert "kind=bulk cc=cubic rtt=50 rate=100 loss=1\n" in page
    assert "src=" not in page and "href=" not in page    # needs nothing else
    assert f"{cells} of {cells} cells" in done.stderr


def test_report_draws_every_cell_that_was_run():
    cells = grid.everyday(CONTROLS)
    measures = {"share": .5, "share_late": .5, "again_pct": 1, "frames": 1000, "overflowed": 0, "rtos": 0,
                "queue_ms": 1, "jain": .9, "shares": [.5, .5],
                "mean_ms": 2, "p95_ms": 3, "best_ms": 1, "repair_rtt": 1, "full_rtt": 2, "probe_ms": 1, "extra_ms": 1}
    results = {grid.key_of(c): {"key": grid.key_of(c), "cc": c["cc"], "kind": c["kind"], "bad": 0, **measures}
               for c in cells}
    page = report.draw(results, {})
    missing = [key for key in results if f"<title>{key}\n" not in page]
    assert missing == []


def test_report_frames_what_differs(drive, tmp_path):
    drive("--update", *ONLY)
    assert 'stroke="var(--ink)"' not in (tmp_path / "out" / "report.html").read_text()
    drive(*ONLY, SHARE="0.4")
    page = (tmp_path / "out" / "report.html").read_text()
    assert 'stroke="var(--ink)"' in page and "(reference 0.98)" in page


def test_report_from_stored_results(drive, tmp_path):
    drive(*ONLY)
    os.remove(tmp_path / "out" / "report.html")
    done = drive("--from", tmp_path / "out" / "results.jsonl", "--build", tmp_path / "nowhere")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "report.html").exists()


def test_one_cell_is_printed(drive):
    done = drive("--cell", "rtt=50 loss=1")
    assert done.returncode == 0
    assert json.loads(done.stdout)["key"] == "kind=bulk cc=cubic rtt=50 rate=10 loss=1"


def test_failing_program_is_told(drive, tmp_path):
    done = drive("--only", "kind=bulk cc=newreno rtt=50 rate=10 ", BROKEN="newreno")
    assert done.returncode != 0 and "no memory" in done.stderr and "Traceback" not in done.stderr
    assert not (tmp_path / "out" / "report.html").exists()


def test_stopped_run_goes_on(drive, tmp_path):
    cells = ["--only", "kind=bulk cc=", "--only", "rtt=50 rate=10 buffer=4", "-j", "1"]
    drive(*cells, BROKEN="newreno", SHARE="0.5")
    done = drive(*cells, "--resume", SHARE="0.9")
    assert done.returncode == 0, done.stderr
    kept = {(line["cc"], line["share"]) for line in map(json.loads, (tmp_path / "out" / "results.jsonl").open())}
    assert any(share == 0.5 for _, share in kept)    # what was there is not run again
    assert ("newreno", 0.9) in kept and ("newreno", 0.5) not in kept


def test_results_are_kept_one_by_one(drive, tmp_path):
    done = drive("--only", "kind=bulk cc=", "--only", "rtt=50 rate=10 buffer=4", "-j", "1", BROKEN="newreno")
    assert done.returncode != 0
    kept = [json.loads(line)["cc"] for line in (tmp_path / "out" / "results.jsonl").read_text().splitlines()]
    assert kept and "newreno" not in kept


@pytest.mark.parametrize("arguments,words", [(["--cell", "colour=blue"], "colour=blue"),
                                             (["--only", "kind=blue", "--check"], "there is no such cell"),
                                             (["-j", "0"], "not a number from 1 on"),
                                             (["--build", "/nowhere"], "is not there")])
def test_wrong_arguments(drive, arguments, words):
    done = drive(*arguments)
    assert done.returncode == 2 and words in done.stderr


def test_results_that_are_not_there(drive, tmp_path):
    done = drive("--from", tmp_path / "nothing")
    assert done.returncode == 1 and "nothing" in done.stderr and "Traceback" not in done.stderr


def test_demands_are_about_cells_of_the_map():
    cells = grid.everyday(CONTROLS)
    for demand in compare.DEMANDS:
        assert any(demand.applies(cell) for cell in cells), demand.text


def test_demand_sees_a_cell_that_breaks_it():
    clean = grid.cell_of("rtt=50 rate=10")
    assert compare.DEMANDS[0].holds(clean, result(share_late=0.98))
    assert not compare.DEMANDS[0].holds(clean, result(share_late=0.96))
    tail = grid.cell_of("kind=tail rtt=50 drop=1")
    assert compare.DEMANDS[2].applies(tail)
    assert compare.DEMANDS[2].holds(tail, result(rtos=0, probe_ms=140))
    assert not compare.DEMANDS[2].holds(tail, result(rtos=1, probe_ms=140))
    assert not compare.DEMANDS[2].holds(tail, result(rtos=0, probe_ms=145))


# ---- colours ----------------------------------------------------------------------------------------

def test_colours_go_from_bad_to_good():
    assert report.colour(-1) == report.colour(0) != report.colour(0.5) != report.colour(1) == report.colour(2)


@pytest.mark.parametrize("value,text", [(1, "100"), (0.9999, "100"), (0.9712, "97.1"), (0.96999, "96.9"), (0.5, "50")])
def test_share_is_not_rounded_up_to_what_is_demanded(value, text):
    assert report.percent(value) == text
