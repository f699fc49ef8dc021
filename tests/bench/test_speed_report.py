# SPDX-License-Identifier: MIT
"""bench/speed/run, its report, and bench/compare: what is run, what is told, what counts as slower."""
import json
import os
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import pytest

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from speed import aims, cells, plots, report, stacks    # noqa: E402

MACHINE = {"made": "2026-01-01 00:00 UTC", "kernel": "6.1", "machine": "x86_64", "processor": "one",
           "processors": 2, "load": 0.5, "rounds": 3}


def cell(row="32 connections", unit="ns", **values):
    return {"name": f"ping-pong-{row}", "table": "Ping-pong", "row": row, "workload": "ping-pong",
            "settings": {"connections": int(row.split()[0])}, "unit": unit, "more_is_better": unit == "Gbit/s",
            "values": {name: list(v) for name, v in values.items()}, "more": {}, "missing": {}}


def results(*rows):
    return report.Results({"machine": MACHINE, "stacks": ["tenon", "floor", "lwip"], "cells": list(rows)})


# ---- cells ------------------------------------------------------------------------------------------

def test_no_two_cells_have_one_name():
    names = [c.name for c in cells.everything()]
    assert len(names) == len(set(names)) > 80


def test_the_settings_of_all_cells_are_known_to_the_harness():
    text = (BENCH / "speed" / "harness.c").read_text()
    known = set(re.findall(r'\{ "(\w+)", &', text))
    workloads = set(re.findall(r'^    \{ "([\w-]+)", SPEED_', text, re.M))
    for c in cells.everything():
        assert c.workload in workloads
        for stack in stacks.MAKERS:
            assert {word.split("=")[0] for word in c.words(stack)} <= known


def test_a_stack_has_its_best_window():
    bulk = next(c for c in cells.everything() if c.workload == "bulk" and c.settings["mtu"] == 9000)
    assert f"window={cells.WINDOWS['lwip'][9000]}" in bulk.words("lwip")
    assert f"window={cells.WINDOWS['tenon'][9000]}" in bulk.words("tenon")


def test_gbit_are_of_ns_per_byte():
    c = cells.Cell("t", "r", "bulk", {"message": 1}, unit="Gbit/s")
    assert c.shown(0.08) == pytest.approx(100) and c.more_is_better


# ---- the driver, with programs that answer at once -----------------------------------------------------

STAND_IN = """#!/usr/bin/env python3
import json, os, sys
workload, stack, words = sys.argv[1], sys.argv[2], sys.argv[3:]
line = {"stack": stack, "workload": workload, "what": " ".join(words), "unit": "x", "units": 1, "segments": [100]}
with open(os.environ["CALLS"], "a+") as f:
    f.write(" ".join(sys.argv[1:]) + "\\n")
    f.seek(0)
    rounds = sum(call.split()[:2] == [workload, stack] for call in f)
if f"{stack} {rounds}" == os.environ.get("FAILS"):
    print(json.dumps({**line, "ns": 1, "failed": "it fell over"}))
    sys.exit(1)
if f"{stack} {rounds}" == os.environ.get("STOPS"):
    import signal
    os.kill(os.getppid(), signal.SIGINT)
    signal.pause()
if stack == "floor" and workload == "connect":
    print(json.dumps({**line, "missing": "not here"}))
    sys.exit(3)
print(json.dumps({**line, "ns": 100 if stack == "tenon" else 20, "bytes": 300, "cycles": 7}))
"""


@pytest.fixture
def drive(tmp_path):
    program = tmp_path / "speed"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    os.utime(program, (4e9, 4e9))    # newer than all sources: it is not built
    calls = tmp_path / "calls"

    def run(*words, status=0, **environ):
        done = subprocess.run([sys.executable, BENCH / "speed" / "run", "--out", tmp_path, "--stacks", "tenon,floor",
                               *words], capture_output=True, text=True, check=False, timeout=60,
                              env={**os.environ, "CALLS": str(calls), **environ})
        assert done.returncode == status, done.stderr
        return done, calls.read_text().splitlines() if calls.exists() else []
    run.folder = tmp_path
    return run


def test_stacks_take_turns_and_medians_are_told(drive):
    done, calls = drive("--only", "ping-pong-32-connections-without-pacing", "--rounds", "2")
    assert calls == [f"ping-pong {s} connections=32 pacing=0" for s in ("tenon", "floor", "floor", "tenon")]
    data = json.loads((drive.folder / "speed.json").read_text())
    assert data["cells"][0]["values"] == {"tenon": [100, 100], "floor": [20, 20]}
    assert data["machine"]["rounds"] == 2
    assert re.search(r"32 connections, without pacing +100.0 +20 +0.20", done.stdout)


def test_what_is_missing_is_asked_once_and_told(drive):
    done, calls = drive("--only", "connect-1-byte-close-1-at-a-time", "--rounds", "3")
    assert sum("floor" in call for call in calls) == 1
    assert "floor, not here: Connect, 1 byte, close: 1 at a time" in done.stdout


ONE = ("--only", "ping-pong-32-connections-without-pacing")


def test_a_round_that_fails_is_told_beside_those_that_did_not(drive):
    done, calls = drive(*ONE, "--rounds", "3", FAILS="floor 2")
    assert sum("floor" in call for call in calls) == 2
    assert "floor, it fell over: Ping-pong: 32 connections, without pacing" in done.stdout
    assert json.loads((drive.folder / "speed.json").read_text())["cells"][0]["values"]["floor"] == [20]


def test_a_run_that_is_stopped_has_the_rounds_that_are_over(drive):
    """Before the first one is over there is nothing to tell: not what an earlier run has left."""
    drive(*ONE, "--rounds", "1")
    (drive.folder / "calls").unlink()
    done, _ = drive(*ONE, "--rounds", "3", status=1, STOPS="floor 1")
    assert "stopped in the first round" in done.stderr and not done.stdout
    (drive.folder / "calls").unlink()
    done, _ = drive(*ONE, "--rounds", "3", STOPS="floor 2")
    assert "rounds that are over" in done.stderr and "medians of 1 rounds" in done.stdout


@pytest.mark.parametrize("words, status, said", [(["--only", "pong-ping"], 1, "there is no such cell"),
                                                 (["--rounds", "0"], 2, "not a number from 1 on")])
def test_a_run_of_nothing_has_no_report(drive, words, status, said):
    done, calls = drive(*words, status=status)
    assert said in done.stderr and not done.stdout and not calls


def test_a_run_serves_all_tables_that_need_it(drive):
    _, calls = drive("--only", "open-connections", "--only", "nothing", "--rounds", "1", "--memory", "100")
    assert calls == [f"idle tenon connections={n}" for n in (10000, 100000, 1000000)]


def test_cells_that_need_too_much_memory_are_left_out_and_told(drive):
    done, calls = drive("--only", "ping-pong-32-connections", "--rounds", "1", "--memory", "1")
    assert not any("1000000" in call for call in calls)
    assert "4 GiB of memory are not to be had: Ping-pong, 32 connections among 1000000 idle" in done.stderr


# ---- the report ---------------------------------------------------------------------------------------

def test_a_ratio_above_1_says_that_tenon_is_better():
    r = results(cell(tenon=(10, 20, 30), lwip=(40, 40, 40), floor=(5, 5, 5)),
                cell("1 connection", "Gbit/s", tenon=(80,), lwip=(40,)))
    assert r.ratio(r.cells[0], "lwip") == 2 and r.ratio(r.cells[0], "floor") == 0.25
    assert r.ratio(r.cells[1], "lwip") == 2 and r.ratio(r.cells[1], "floor") is None
    assert "20 (10-30)" in r.text()


def test_columns_stay_apart_whatever_is_in_them():
    r = results(cell("32 connections, and then some more words, so that the row is longer than others",
                     tenon=(123456789, 223456789, 323456789), lwip=(1234567890, 2234567890, 3234567890)))
    lines = r.text().splitlines()[:2]
    fields = [re.split(r"\s{2,}", line) for line in lines]
    assert fields == [["Ping-pong, ns", "tenon", "lwip", "x lwip"],
                      [r.cells[0]["row"], "223456789 (123456789-323456789)", "2234567890 (1234567890-3234567890)",
                       "10.00"]]
    assert len(lines[0]) == len(lines[1])


def test_every_drawing_is_well_formed():
    r = results(cell(tenon=(10, 20, 30), lwip=(40, 41, 44), floor=(5, 5, 5)),
                cell("1 connections", tenon=(80, 81), lwip=(4000, 4001), floor=(2, 2)))
    page = report.page(r)
    drawings = re.findall(r"<svg.*?</svg>", page, re.S)
    assert len(drawings) == 2    # the curve over connections, and the bars of the table
    for drawing in drawings:
        ElementTree.fromstring(drawing)
    assert drawings[0].count("<circle") == 6


class AllOfThem:
    """As run.Runs, when every stack has measured every cell: some of its own, which has the same words."""

    @staticmethod
    def of(cell, stack):
        offered = 1000.0 * cell.settings.get("load", 1)
        line = {cell.value: 100.0, "offered_per_s": offered, "cycles": 272}
        return [line]

    @staticmethod
    def why_not(cell, stack):
        return None


@pytest.fixture(scope="module")
def everything():
    names = ["tenon", "floor", "lwip", "smoltcp", "gvisor", "linux-veth", "tenon-tap"]
    return report.Results.of(MACHINE, cells.everything(), names, AllOfThem)


def curves_of(drawn):
    """(title, curves, points) of each drawing."""
    return [(re.search('aria-label="(.*?)"', svg)[1], svg.count("<polyline"), svg.count("<circle"))
            for svg in re.findall(r"<svg.*?</svg>", drawn, re.S)]


def test_the_drawing_of_offloads_has_all_rows_of_the_matrix(everything):
    """Tables and drawings know each other by their titles: who renames one sees it here."""
    rows, sizes = len(cells.MATRIX), len(cells.SIZES)
    large = [c for c in cells.everything() if "data" in c.settings]
    several = {c.row for c in large if sum(c.row == other.row for other in large) > 1}
    assert len(several) == 3    # all on, copied, nothing
    assert curves_of(report.draw_offloads(everything)) \
        == [("Bulk over the size of messages: Tenon", rows, rows * sizes),
            ("Bulk over the size of messages: 256 MB of data, Tenon", 3, 3 * (sizes - 1))]


def test_the_drawings_of_latency_have_all_loads(everything):
    drawn = curves_of(report.draw_latency(everything))
    percentiles = ["Median latency over load", "99th percentile of latency over load",
                   "99.9th percentile of latency over load"]
    assert [title for title, _, _ in drawn] == [*percentiles, *(f"{title} through the kernel" for title in percentiles),
                                                "99th percentile of latency over load: Tenon"]
    assert all((curves, points) == (4, 4 * 6) for _, curves, points in drawn[:3])
    assert all((curves, points) == (2, 2 * 6) for _, curves, points in drawn[3:6])
    assert drawn[6][1:] == (3, 3 * 6)


def test_the_drawing_of_processors_has_all_numbers_of_them(everything):
    numbers = len(cells.numbers_of_processors())
    assert curves_of(report.draw_cores(everything)) == [("Ping-pong over processors", 4, 4 * numbers),
                                                        ("Ping-pong over processors: Tenon", 3, 3 * numbers)]


def test_what_is_aimed_at_is_told_of_all_cells(everything):
    """Whoever renames a table or a row sees it here: no aim is without its cells, and each is what it says."""
    rows = aims.of(everything)
    assert [row[0] for row in rows] == [aim[0] for aim in aims.AIMS]
    told = {row[0]: row[1:] for row in rows}
    assert told["ping-pong, 32 connections, of the best peer's time"] == ("at most 0.33", "1.00", "1.00", "no")
    assert told["... of the floor's"] == ("at most 4.00", "1.00", "1.00", "yes")
    assert told["a million idle connections, bytes of one end"][3] == "yes"
    assert "What is aimed at" in everything.text() and "<th>fastest rounds</th>" in report.page(everything)


def test_an_aim_is_reached_in_part():
    """In the row of 16 KB three times as good as the best of the others, in the row of 64 KB twice."""
    rows = [cell("16 KB", "Gbit/s", tenon=(300, 310, 320), lwip=(100,), smoltcp=(50,), floor=(900,)),
            cell("64 KB", "Gbit/s", tenon=(200, 220, 240), lwip=(50,), smoltcp=(100,), floor=(900,))]
    for made in rows:
        made["table"] = "Bulk, MTU 1500, checksums by the port"
    assert aims.of(results(*rows)) == [("bulk, MTU 1500, messages of 16 KB and more, times the best peer",
                                        "at least 2.50", "2.20 to 3.10", "2.40 to 3.20", "in part")]


def test_the_drawing_of_connections_has_all_numbers_of_them(everything):
    [(_, curves, points)] = curves_of(report.draw_connections(everything))
    assert (curves, points) == (5, 5 * 5)


def test_the_page_has_cycles(everything):
    assert 'title="272 cycles of the time stamp counter">100.0<' in report.page(everything)


def test_through_the_kernel_nobody_else_is_told(everything):
    """A ping-pong of so many connections has the same words there, and means another thing."""
    for title, rows in everything.tables():
        columns = everything.columns(rows)
        if "through the kernel" in title:
            assert columns == ["linux-veth", "tenon-tap"]
        elif "TAP" in title:
            assert columns == ["tenon-tap"]
        else:
            assert columns[0] == "tenon" and not {"linux-veth", "tenon-tap"} & set(columns)


@pytest.mark.parametrize("top", [0.03, 1, 7, 99, 123456])
def test_axes_have_a_few_ticks(top):
    ticks = plots.ticks_linear(top)
    assert 2 <= len(ticks) <= 8 and ticks[0] == 0 and ticks[-1] <= top


# ---- compare ------------------------------------------------------------------------------------------

# ---- pages ---------------------------------------------------------------------------------------------

def fill(tmp_path, page, *runs, words=()):
    (tmp_path / "page.md").write_text(page)
    for i, run in enumerate(runs):
        (tmp_path / f"{i}.json").write_text(json.dumps(run.data))
    done = subprocess.run([sys.executable, BENCH / "speed" / "fill", *words, tmp_path / "page.md",
                           *(tmp_path / f"{i}.json" for i in range(len(runs)))], capture_output=True, text=True,
                          check=False, timeout=60)
    return done.returncode, (tmp_path / "page.md").read_text(), done.stderr


def test_a_page_gets_the_tables_of_a_run(tmp_path):
    page = "before\n<!-- speed: Ping-pong$ -->\n```\nold\n```\nafter\n```\nno table\n```\n"
    status, text, _ = fill(tmp_path, page, results(cell(tenon=(100,), floor=(10,))))
    assert status == 0 and "old" not in text and text.startswith("before\n") and text.endswith("```\nno table\n```\n")
    assert re.search(r"```\nPing-pong, ns +tenon +floor +x floor\n32 connections +100.0 +10 +0.10\n```\nafter", text)


def test_cells_of_a_later_run_win(tmp_path):
    page = "<!-- speed: Ping -->\n```\n```\n"
    _, text, _ = fill(tmp_path, page, results(cell(tenon=(100,)), cell("1 connection", tenon=(70,))),
                      results(cell(tenon=(200,))))
    assert re.search(r"32 connections +200.0\n1 connection +70\n```", text)


def test_a_mark_without_a_table_changes_nothing(tmp_path):
    page = "<!-- speed: Pong -->\n```\nold\n```\n"
    status, text, error = fill(tmp_path, page, results(cell(tenon=(100,))))
    assert status != 0 and text == page and 'no table for "Pong"' in error
    assert fill(tmp_path, "nothing\n", results(cell(tenon=(100,))))[0] != 0


def test_a_run_of_another_machine_has_marks_of_its_own(tmp_path):
    page = "<!-- speed: Ping -->\n```\none\n```\n<!-- speed many: Ping -->\n```\ntwo\n```\n"
    r = results(cell(tenon=(100,)))
    status, text, _ = fill(tmp_path, page, r)
    assert status == 0 and "one" not in text and "two" in text
    status, text, _ = fill(tmp_path, page, r, words=("--mark", "many"))
    assert status == 0 and "one" in text and "two" not in text
    status, text, error = fill(tmp_path, page, r, words=("--mark", "few"))
    assert status != 0 and text == page and "no mark <!-- speed few: ... -->" in error


def test_the_drawing_of_processors_can_be_a_file(tmp_path, everything):
    """For each stack its curve, and the straight line from its first point."""
    def draw(r):
        (tmp_path / "run.json").write_text(json.dumps(r.data))
        return subprocess.run([sys.executable, BENCH / "speed" / "draw", tmp_path / "run.json", "-o",
                               tmp_path / "out.svg"], capture_output=True, text=True, check=False, timeout=60)

    assert draw(everything).returncode == 0
    svg = (tmp_path / "out.svg").read_text()
    ElementTree.fromstring(svg)
    assert svg.count("<polyline") == 2 * 4 and svg.count("stroke-dasharray") == 4
    assert svg.count("<circle") == 4 * len(cells.numbers_of_processors())
    done = draw(results(cell(tenon=(100,))))
    assert done.returncode == 1 and "the run has no table" in done.stderr


def compare(tmp_path, before, after, *words):
    for name, r in (("before", before), ("after", after)):
        (tmp_path / f"{name}.json").write_text(json.dumps(r.data))
    done = subprocess.run([sys.executable, BENCH / "compare", *words, tmp_path / "before.json",
                           tmp_path / "after.json"], capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_slower_is_told_and_is_the_status(tmp_path):
    status, text = compare(tmp_path, results(cell(tenon=(100, 100), floor=(10, 10))),
                           results(cell(tenon=(120, 120), floor=(10, 10))))
    assert status == 1 and "slower by  20.0 %  Ping-pong, 32 connections: 100.0 -> 120.0 ns" in text


def test_more_gbit_are_faster(tmp_path):
    status, text = compare(tmp_path, results(cell(unit="Gbit/s", tenon=(100, 100), floor=(10, 10))),
                           results(cell(unit="Gbit/s", tenon=(125, 125), floor=(10, 10))))
    assert status == 0 and "faster by  20.0 %" in text


def test_a_slower_machine_is_not_our_fault(tmp_path):
    before = results(cell(tenon=(100, 100), floor=(10, 10)))
    after = results(cell(tenon=(150, 150), floor=(15, 15)))
    assert compare(tmp_path, before, after)[0] == 0
    assert compare(tmp_path, before, after, "--absolute")[0] == 1


def test_what_is_not_measured_any_more_is_told(tmp_path):
    before = results(cell(tenon=(100, 100), floor=(10, 10)), cell("1 connection", tenon=(100, 100), floor=(10, 10)))
    after = results(cell(tenon=(100, 100), floor=(10, 10)), cell("1 connection", floor=(10, 10)))
    status, text = compare(tmp_path, before, after)
    assert status == 1 and "not measured any more  Ping-pong, 1 connection" in text
    assert compare(tmp_path, before, after, "--fewer")[0] == 0


def test_the_spread_of_the_rounds_is_allowed(tmp_path):
    after = results(cell(tenon=(110, 112), floor=(10, 10)))
    assert compare(tmp_path, results(cell(tenon=(80, 120), floor=(10, 10))), after)[0] == 0
    assert compare(tmp_path, results(cell(tenon=(99, 101), floor=(10, 10))), after)[0] == 1


def test_a_file_that_is_none(tmp_path):
    (tmp_path / "bad.json").write_text("{}")
    done = subprocess.run([sys.executable, BENCH / "compare", tmp_path / "bad.json", tmp_path / "bad.json"],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("compare: ")
