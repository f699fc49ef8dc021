# SPDX-License-Identifier: MIT
"""The summary of bench/peers, from results that are written here; and its command line."""
import argparse
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import pytest

PEERS = pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"
sys.path.insert(0, str(PEERS))

import cable     # noqa: E402  (they are beside the program, not in a package)
import summary    # noqa: E402

MACHINE = {"made": "2026-01-01 00:00 UTC", "kernel": "6.1", "machine": "x86_64", "processors": 2, "load": 0.5,
           "real_time": True}


def run(cell, stack, seed, share, **more):
    return {"cell": cell, "stack": stack, "seed": seed, "share": share, "steady_share": share, "resent_share": 0.01,
            "intact": True, "late_ms": 0.4, "attempts": 1, "disturbed": False, **more}


def table(*results, planned=None):
    cells = [cable.Cell("lossy", 10, 50, loss=1), cable.Cell("clean", 10, 50), cable.Cell("reordered", 10, 50, late=5)]
    names = list(dict.fromkeys(r["stack"] for r in results))
    return summary.Table(MACHINE, cells, names, list(results), len(results) if planned is None else planned)


def test_the_table_has_median_least_and_most():
    t = table(*(run("lossy", "tenon-cubic", seed, share) for seed, share in enumerate((0.5, 0.3, 0.9))))
    assert "50.0 (30.0-90.0)" in t.text()
    assert "50.0<small>30.0&ndash;90.0" in summary.page(t)


def test_failed_runs_are_named_and_not_counted():
    t = table(run("clean", "lwip", 1, 0.4), {"cell": "clean", "stack": "lwip", "seed": 2, "failed": "nobody came",
                                             "attempts": 3, "disturbed": False})
    assert "40.0 (40.0-40.0)" in t.text()
    assert "FAILED: clean, lwip, seed 2: nobody came" in t.text()


def test_runs_that_were_not_made_are_told():
    assert "NOT MADE: 2 runs of 3" in table(run("clean", "lwip", 1, 0.4), planned=3).text()
    assert "NOT MADE" not in table(run("clean", "lwip", 1, 0.4)).text()


def test_damage_is_named():
    assert "DAMAGED: clean, lwip, seed 1" in table(run("clean", "lwip", 1, 0.4, intact=False)).text()


@pytest.mark.parametrize("ours, theirs, met", [(0.30, 0.29, True), (0.30, 0.30, True), (0.29, 0.30, False)])
def test_demand_that_cubic_is_no_worse_than_linux(ours, theirs, met):
    t = table(run("lossy", "tenon-cubic", 1, ours), run("lossy", "linux-cubic", 1, theirs))
    assert t.demands_met() is met
    assert len(t.demands()) == 1


@pytest.mark.parametrize("cell, stack, values, met", [
    ("clean", "tenon-cubic", {"steady_share": 0.97}, True),
    ("clean", "tenon-cubic", {"steady_share": 0.96}, False),
    ("clean", "tenon-bbr", {"steady_share": 0.96}, False),
    ("lossy", "tenon-bbr", {"share": 0.91}, True),
    ("lossy", "tenon-bbr", {"share": 0.89}, False),
    ("reordered", "tenon-newreno", {"resent_share": 0.01}, True),
    ("reordered", "tenon-newreno", {"resent_share": 0.011}, False),
])
def test_the_other_demands(cell, stack, values, met):
    t = table({**run(cell, stack, 1, 0.98), **values})
    assert [row[3] for row in t.demands()] == [met]


def test_nothing_is_demanded_of_others():
    assert not table(run("reordered", "linux-cubic", 1, 0.1, resent_share=0.2), run("clean", "lwip", 1, 0.1)).demands()


def test_files(tmp_path):
    t = table(run("clean", "tenon-cubic", 1, 0.98))
    summary.write(tmp_path, t)
    data = json.loads((tmp_path / "peers.json").read_text())
    assert data["runs"][0]["share"] == 0.98
    assert data["cells"][1]["queue"] == 41
    assert (tmp_path / "peers.html").read_text().count("<svg") == 3


@pytest.mark.parametrize("bdp, frames", [(0.1, 4), (1, 41), (4, 165), (0.001, 1)])
def test_frames_of_a_queue(bdp, frames):
    assert cable.Cell("test", 10, 50, buffer_bdp=bdp).queue == frames


@pytest.mark.parametrize("arguments, words", [
    (["--cells", "nowhere"], "there is no cell \"nowhere\""),
    (["--stacks", "picotcp"], "there is no stack \"picotcp\""),
])
def test_command_line(arguments, words):
    done = subprocess.run([sys.executable, PEERS / "peers", *arguments], capture_output=True, text=True,
                          env={**os.environ, "TENON_BIN": "/bin/true"})
    assert done.returncode != 0
    assert words in done.stderr


def load_command():
    loader = importlib.machinery.SourceFileLoader("peers_command", str(PEERS / "peers"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("peers_command", loader))
    loader.exec_module(module)
    return module


def crew_of(monkeypatch, lateness):
    """A crew whose measurements come from a list of (late_ms, late_share), or of failures."""
    command = load_command()
    given = iter(lateness)

    def measured(_tools, cell, stack, seed):
        late = next(given)
        if late is None:
            raise cable.Failed("nothing came")
        return run(cell.name, stack.name, seed, 0.5, mbit=5.0, late_ms=late[0], late_share=late[1])

    monkeypatch.setattr(command.cable, "measure", measured)
    return command.Crew({}, argparse.Namespace(jobs=1, carry=100), 1)


@pytest.mark.parametrize("lateness, attempts, disturbed", [
    ([(3, 0.001)], 1, False),
    ([(3, 0.006), (3, 0.001)], 2, False),             # too many frames
    ([(26, 0), (3, 0)], 2, False),                    # one by more than half of the round-trip time
    ([None, (3, 0)], 2, False),                       # a failure
    ([(3, 0.2), (30, 0.2), (3, 0.1)], 3, True),       # and in the end it is said
])
def test_a_spoilt_run_is_made_again(monkeypatch, lateness, attempts, disturbed):
    crew = crew_of(monkeypatch, lateness)
    stack = argparse.Namespace(name="tenon-cubic")
    result = crew.try_often(cable.Cell("clean", 10, 50), stack, 1)
    assert (result["attempts"], result["disturbed"]) == (attempts, disturbed)
    assert "failed" not in result


def test_runs_at_a_time_share_the_machine(monkeypatch):
    """At most so many runs, at most so many Mbit/s together; one that is too large for that runs alone."""
    command = load_command()
    lock, now, top = threading.Lock(), [], []

    def measured(_tools, cell, stack, seed):
        with lock:
            now.append(cell.rate_mbit)
            top.append((len(now), sum(now)))
        time.sleep(0.02)
        with lock:
            now.remove(cell.rate_mbit)
        return run(cell.name, stack.name, seed, 0.5, mbit=5.0, late_share=0)

    monkeypatch.setattr(command.cable, "measure", measured)
    slow, fast = cable.Cell("slow", 10, 50), cable.Cell("fast", 200, 50)
    stack = argparse.Namespace(name="tenon-cubic")
    work = [(cell, stack, seed) for cell in (slow, fast, slow) for seed in range(6)]
    results = command.Crew({}, argparse.Namespace(jobs=4, carry=30), len(work)).run_all(work)
    assert len(results) == 18
    assert max(n for n, _ in top) == 3
    assert all(rate <= 30 or n == 1 for n, rate in top)


def test_a_signal_ends_it_with_what_there_is(monkeypatch):
    command = load_command()

    def measured(_tools, cell, stack, seed):
        if seed == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(0.1)
        return run(cell.name, stack.name, seed, 0.5, mbit=5.0, late_share=0)

    monkeypatch.setattr(command.cable, "measure", measured)
    work = [(cable.Cell("clean", 10, 50), argparse.Namespace(name="tenon-cubic"), seed) for seed in range(9)]
    before = signal.getsignal(signal.SIGTERM)
    results = command.Crew({}, argparse.Namespace(jobs=1, carry=100), len(work)).run_all(work)
    assert [r["seed"] for r in results] == [0, 1, 2]
    assert signal.getsignal(signal.SIGTERM) is before
