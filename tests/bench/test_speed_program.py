# SPDX-License-Identifier: MIT
"""tenon bench: every workload of bench/speed does what it says, for Tenon and for the floor."""
import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHORT = ["segments=1", "segment_ms=3"]
CASES = [
    "ping-pong connections=1", "ping-pong connections=32 csum=0", "ping-pong connections=300 message=700",
    "ping-pong connections=4 timestamps=0 pacing=0", "ping-pong connections=2 idle=1000", "bulk message=64",
    "bulk message=16384 window=65536 csum=0", "bulk message=65536 mtu=9000 window=262144",
    "bulk message=65536 tso=1 lro=1 window=1048576", "bulk message=16384 copy=1 csum=0",
    "bulk message=5000 connections=8", "bulk message=65536 data=4194304", "connect connections=32",
    "connect connections=3 csum=0", "bulk message=3000 write=1", "bulk message=65536 tso=1 lro=1 copy=1",
    "udp-ping connections=32 csum=0", "udp-bulk connections=3 message=1400", "cores cores=2 connections=8",
    "bulk message=16384 csum=0 own_sum=1",
]
TENON_ONLY = ["bulk message=65536 tso=1", "bulk message=65536 tso=1 rx_csum=0", "bulk message=1000 tx_csum=0",
              "idle connections=2000"]


@pytest.fixture(scope="module")
def bench():
    program = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release")) / "tenon"
    if not program.exists():
        pytest.skip(f"{program} is not built")

    def run(*words):
        """The lines of one call: of Tenon, then of the floor."""
        done = subprocess.run([program, "bench", "--json", *words], capture_output=True, text=True, check=False,
                              timeout=120)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr
    return run


@pytest.mark.parametrize("case", CASES)
def test_both_do_it(bench, case):
    status, lines, error = bench(*case.split(), *SHORT)
    assert status == 0, error
    assert [line["stack"] for line in lines] == ["tenon", "floor"]
    for line in lines:
        assert line["units"] > 0 and 0 < line["ns"] < 1e9 and "failed" not in line


@pytest.mark.parametrize("case", TENON_ONLY)
def test_tenon_does_what_the_floor_cannot(bench, case):
    status, lines, error = bench(*case.split(), *SHORT)
    assert status == 0, error
    assert lines[0]["stack"] == "tenon" and lines[0]["units"] > 0 and "missing" in lines[1]


def test_checksums_in_software_are_summed(bench):
    """A byte that is summed twice takes longer than one that nobody looks at; large frames show it best."""
    words = ["bulk", "message=65536", "mtu=9000", "window=262144", "segments=3", "segment_ms=10"]
    with_port, in_software = (bench(*words, f"csum={csum}")[1] for csum in (1, 0))
    for offloaded, summed in zip(with_port, in_software):
        assert summed["ns"] > 1.3 * offloaded["ns"]


def test_a_copy_is_a_copy(bench):
    words = ["bulk", "message=65536", "tso=1", "lro=1", "window=1048576", "segments=3", "segment_ms=10"]
    by_reference, copied = (bench(*words, f"copy={copy}")[1] for copy in (0, 1))
    for fast, slow in zip(by_reference, copied):
        assert slow["ns"] > 2 * fast["ns"]


@pytest.mark.parametrize("settings", ["connections=1", "connections=32", "connections=32 timestamps=0 csum=0"])
def test_a_round_trip_is_two_frames(bench, settings):
    _, lines, _ = bench("ping-pong", *settings.split(), *SHORT)
    assert [line["frames"] for line in lines] == pytest.approx([2, 2], rel=0.02)


@pytest.mark.parametrize("settings, payload, acks", [
    ("message=16384 window=65536", 1448, 1 / 32), ("message=64 window=65536", 1448, 1 / 32),
    ("message=65536 mtu=9000 window=262144", 8948, 1 / 27),
    ("message=65536 tso=1 lro=1 window=1048576", 61461, 1 / 16)])
def test_bulk_is_full_segments_and_few_acknowledgements(bench, settings, payload, acks):
    _, lines, _ = bench("bulk", *settings.split(), *SHORT)
    assert lines[0]["frames"] == pytest.approx((1 + acks) / payload, rel=0.1)


def test_what_is_sent_by_reference_is_not_copied(bench):
    for settings in (["tso=1", "lro=1"], ["csum=0"], ["mtu=9000"], ["tso=1"]):
        _, lines, _ = bench("bulk", "message=65536", "window=262144", *settings, *SHORT)
        assert lines[0]["copied"] == 0
    _, lines, _ = bench("bulk", "message=65536", "window=262144", "copy=1", *SHORT)
    assert lines[0]["copied"] == pytest.approx(1, rel=0.01)


@pytest.mark.parametrize("cores", sorted({1, min(2, len(os.sched_getaffinity(0)))}))
def test_cores_share_nothing(bench, cores):
    """CPU time: other work on the machine takes no part. What processors share (caches, clock) does."""
    _, lines, _ = bench("cores", f"cores={cores}", "connections=8", "segments=3", "segment_ms=10")
    for line in lines:
        assert 0.5 < line["efficiency"] < 1.6


def test_more_processes_than_processors_have_no_efficiency(bench):
    _, lines, _ = bench("cores", f"cores={len(os.sched_getaffinity(0)) + 1}", "connections=2", *SHORT)
    assert all(line["units"] > 0 and "efficiency" not in line for line in lines)


def test_memory_of_an_idle_connection(bench):
    _, lines, _ = bench("idle", "connections=5000")
    assert lines[0]["units"] == 5000
    assert 100 < lines[0]["bytes"] < 2000 and lines[0]["resident_bytes"] > 100


def test_latency_grows_with_the_load(bench):
    """Of the 99th percentile, and by much: other work on the machine must not make this fail."""
    status, lines, _ = bench("load", "connections=64", "load=20")
    assert status == 0 and lines[0]["p50_ns"] <= lines[0]["p99_ns"] <= lines[0]["p999_ns"]
    assert lines[0]["offered_per_s"] == pytest.approx(0.2 * lines[0]["most_per_s"], rel=0.01)


@pytest.mark.parametrize("words", [["pingpong"], ["ping-pong", "connection=3"], ["bulk", "message=many"],
                                   ["bulk", "message=0"], ["ping-pong", "batch=1000000"]])
def test_what_cannot_be(bench, words):
    status, lines, error = bench(*words)
    assert status in (1, 2)
    assert all("missing" in line for line in lines) and (error or lines)
