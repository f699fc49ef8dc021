# SPDX-License-Identifier: MIT
"""The kernel in the benchmark's tables: every workload between real sockets, in namespaces that are gone afterwards."""
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from speed import cells, kernel, stacks    # noqa: E402

ROWS = {(cell.workload, *cell.words("linux-veth")): cell for cell in cells.through_the_kernel()
        if cell.settings.get("cores", 1) == 1}


@pytest.fixture(scope="module", params=cells.KERNEL)
def stack(request, tmp_path_factory):
    """(name, function)"""
    if os.geteuid() != 0:
        pytest.skip("only root can make the interfaces")
    try:
        return request.param, stacks.MAKERS[request.param](tmp_path_factory.mktemp("kernel"))
    except stacks.Missing as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("row", ROWS.values(), ids=lambda cell: cell.name)
def test_a_row_is_measured(stack, row, monkeypatch):
    name, run = stack
    monkeypatch.setattr(kernel, "MS", "200")
    line = run(row.workload, row.words(name))
    if name not in row.only:
        assert line["missing"] in ("a pair of interfaces has one queue",
                                   "what a program reads from a pipe it sends in pieces of 64 KB")
        return
    assert "missing" not in line, line["missing"]
    assert line["units"] > 0 and 0 < line["wall_ns"] and 0 < line["ns"]
    if row.workload in ("ping-pong", "udp-ping", "connect"):
        concurrent = int(row.settings["connections"])
        assert 0 < line["p50_ns"] <= line["p99_ns"]
        # Little's law, with room for what other programs do meanwhile: so many at a time, each as long as this.
        assert line["p50_ns"] < 20 * concurrent * line["wall_ns"]
    if row.workload == "cores":
        assert 0 < line["server_ns"] < line["ns"] and line["efficiency"] > 0.1


@pytest.mark.parametrize("percent", (20, 300))
def test_a_load_is_offered_whether_or_not_it_is_served(stack, monkeypatch, percent):
    """With room to spare as much is answered as is asked; with more than both can, requests wait for longer and longer,
    which is told as their latency."""
    _, run = stack
    monkeypatch.setattr(kernel, "MS", "400")
    line = run("load", ["connections=16", f"load={percent}"])
    assert line["offered_per_s"] == pytest.approx(percent / 100 * line["most_per_s"], rel=0.01)
    assert 0 < line["p50_ns"] <= line["p99_ns"] <= line["p999_ns"]
    served = 1e9 / line["wall_ns"]
    if percent < 100:
        assert served == pytest.approx(line["offered_per_s"], rel=0.3)
    else:
        assert served < 0.8 * line["offered_per_s"] and line["p50_ns"] > 40e6


def test_idle_connections_are_there(stack, monkeypatch):
    """More of them than ports or files: the program says so, and does not measure without them."""
    _, run = stack
    monkeypatch.setattr(kernel, "MS", "50")
    assert "ns" in run("ping-pong", ["connections=1", "idle=2000"])
    assert "kernel: 20000: " in run("ping-pong", ["connections=1", "idle=20000"])["missing"]


def test_a_connection_costs_more_than_a_round_trip(stack, monkeypatch):
    """Or else one of the two is not what it is called."""
    name, run = stack
    monkeypatch.setattr(kernel, "MS", "200")
    opened, asked = (run(workload, ["connections=32"]) for workload in ("connect", "ping-pong"))
    assert opened["ns"] > 1.5 * asked["ns"], name


def test_what_is_not_made_is_told(stack):
    _, run = stack
    assert run("ping-pong", ["connections=1", "csum=0"]) == {"missing": "not made for the kernel"}
    assert run("idle", ["connections=1"]) == {"missing": "not made for the kernel"}


def test_nothing_is_left(stack, monkeypatch):
    """Neither after a measurement nor after one that fails: each namespace lives as long as a process that holds it."""
    made = []

    class Remembered(kernel.Namespace):
        def __init__(self):
            super().__init__()
            made.append(self.pid)

    _, run = stack
    monkeypatch.setattr(kernel, "MS", "50")
    monkeypatch.setattr(kernel, "Namespace", Remembered)
    assert "ns" in run("ping-pong", ["connections=1"])
    assert "missing" in run("ping-pong", ["connections=1", "message=2000000"])    # the program has no such messages
    assert len(made) == 4 and not any(os.path.exists(f"/proc/{pid}") for pid in made)


def test_a_client_that_ends_in_the_middle_says_why(stack, monkeypatch):
    """The server has gone when the measurement has begun: no number, and what the client has said of it."""
    def warm(client):
        before(client)
        servers[-1].kill()

    def start(pair, *words, **more):
        process = begin(pair, *words, **more)
        servers.append(process) if words[2] in ("echo", "sink") else None
        return process

    name, run = stack
    servers, before, begin = [], kernel.warm, kernel.Pair.start
    monkeypatch.setattr(kernel, "warm", warm)
    monkeypatch.setattr(kernel.Pair, "start", start)
    monkeypatch.setattr(kernel, "MS", "3000")
    assert run("ping-pong", ["connections=1"])["missing"].startswith("kernel: "), name


def test_the_program_says_how_it_is_used(stack, tmp_path):
    program = stacks.programs.own(tmp_path, "kernel", pathlib.Path(kernel.HERE) / "kernel.c")
    for words in ([], ["pong", "127.0.0.1", "1", "1", "1", "1"], ["echo"], ["ping", "127.0.0.1", "1"],
                  ["load", "127.0.0.1", "1", "1", "1", "1"]):
        done = subprocess.run([program, *words], capture_output=True, text=True, check=False, timeout=20)
        assert done.returncode == 2 and "Usage: kernel echo|sink ADDRESS PORT" in done.stderr
