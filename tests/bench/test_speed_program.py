# SPDX-License-Identifier: MIT
"""tenon bench: every workload of bench/speed does what it says, for Tenon and for the floor."""
import json
import os
import pathlib
import platform
import signal
import subprocess
import time

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
    "bulk message=16384 csum=0 own_sum=1", "bulk message=65536 tso=1", "bulk message=65536 tso=1 rx_csum=0",
    "bulk message=65536 tso=1 lro=1 rx_csum=0", "bulk message=64 tso=1 rx_csum=0", "bulk message=1000 tx_csum=0",
    "bulk message=1460 tso=1 lro=1", "bulk message=64 tso=1 lro=1 copy=1", "load connections=16 load=10",
    "load connections=2 load=10",
    "ping-pong connections=32 ip6=1 csum=0", "bulk message=16384 ip6=1", "bulk message=16384 ip6=1 csum=0",
    "bulk message=65536 ip6=1 tso=1", "connect connections=3 ip6=1 csum=0", "udp-ping connections=32 ip6=1 csum=0",
    "udp-bulk connections=3 ip6=1 message=1400",
]
TENON_ONLY = ["idle connections=2000"]


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
    run.program = program
    return run


@pytest.mark.parametrize("case", CASES)
def test_both_do_it(bench, case):
    status, lines, error = bench(*case.split(), *SHORT)
    assert status == 0, error
    assert [line["stack"] for line in lines] == ["tenon", "floor"]
    for line in lines:
        assert line.get("units", 1) > 0 and 0 < line["ns"] < 1e9 and "failed" not in line


@pytest.mark.parametrize("case", TENON_ONLY)
def test_tenon_does_what_the_floor_cannot(bench, case):
    status, lines, error = bench(*case.split(), *SHORT)
    assert status == 0, error
    assert lines[0]["stack"] == "tenon" and lines[0]["units"] > 0 and "missing" in lines[1]


@pytest.mark.parametrize("workload", ["ping-pong", "bulk"])    # with a stream the port holds what we send
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_behind_by_a_signal(bench, tmp_path, how, workload):
    """The files of sockets, with a measurement under way that would take a minute."""
    ends = [f"dgram:{tmp_path}/{a},peer={tmp_path}/{b}" for a, b in (("a", "b"), ("b", "a"))]
    with subprocess.Popen([bench.program, "bench", workload, "segments=60", "segment_ms=1000", "--port", ends[0],
                           "--port", ends[1]], stdout=subprocess.DEVNULL) as process:
        for _ in range(200):
            if len(list(tmp_path.iterdir())) == 2 or process.poll() is not None:
                break
            time.sleep(0.05)
        assert len(list(tmp_path.iterdir())) == 2
        process.send_signal(how)
        assert process.wait(30) == -how
    assert not list(tmp_path.iterdir())


def test_checksums_in_software_are_summed(bench):
    """A byte that is summed twice takes longer than one that nobody looks at; large frames show it best."""
    words = ["bulk", "message=65536", "mtu=9000", "window=262144", "segments=3", "segment_ms=10"]
    with_port, in_software = (bench(*words, f"csum={csum}")[1] for csum in (1, 0))
    for offloaded, summed in zip(with_port, in_software):
        assert summed["ns"] > 1.3 * offloaded["ns"]


def test_a_receiver_that_sums_large_frames_gets_large_frames(bench):
    """With LRO and without sums nothing is cut, and without LRO everything: many times as many frames."""
    words = ["bulk", "message=65536", "tso=1", "window=1048576", "rx_csum=0", *SHORT]
    large, cut = (bench(*words, f"lro={lro}")[1] for lro in (1, 0))
    for a_few, many in zip(large, cut):
        assert many["frames"] > 20 * a_few["frames"] > 0


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
    """CPU time: other work on the machine takes no part. What processors share (caches, clock) does, so that one of
    three tries has to show it: what instances shared would be seen in each."""
    tries = []
    for _ in range(3):
        _, lines, _ = bench("cores", f"cores={cores}", "connections=8", "segments=3", "segment_ms=10")
        tries.append([line["efficiency"] for line in lines])
        if all(0.5 < efficiency < 1.6 for efficiency in tries[-1]):
            return
    pytest.fail(f"efficiencies of three tries: {tries}")


def test_more_processes_than_processors_have_no_efficiency(bench):
    _, lines, _ = bench("cores", f"cores={len(os.sched_getaffinity(0)) + 1}", "connections=2", *SHORT)
    assert all(line["units"] > 0 and "efficiency" not in line for line in lines)


def runs(pid):
    """Who has ended may stand there until somebody asks for its status."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("whose", ["child", "parent"])
def test_cores_end_together(bench, whose):
    """Whoever is ended from outside: the others neither wait for it for ever nor go on without it."""
    with subprocess.Popen([bench.program, "bench", "cores", "cores=2", "segments=10", "segment_ms=200"],
                          stdout=subprocess.PIPE, text=True) as program:
        children = pathlib.Path(f"/proc/{program.pid}/task/{program.pid}/children")
        if not children.exists():
            program.kill()
            pytest.skip("this kernel does not say who has which children")
        while not children.read_text():
            time.sleep(0.01)
        time.sleep(0.2)
        child = int(children.read_text().split()[0])
        os.kill(child if whose == "child" else program.pid, signal.SIGKILL)
        out, _ = program.communicate(timeout=200)    # what it had begun it measures to the end
    if whose == "child":
        assert program.returncode == 1 and "something went wrong" in out
    end = time.monotonic() + 20
    while runs(child):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_memory_of_an_idle_connection(bench):
    _, lines, _ = bench("idle", "connections=5000")
    assert lines[0]["units"] == 5000
    assert 100 < lines[0]["bytes"] < 2000 and lines[0]["resident_bytes"] > 100


def test_a_load_is_a_part_of_the_highest_rate(bench):
    status, lines, _ = bench("load", "connections=64", "load=20")
    assert status == 0 and lines[0]["p50_ns"] <= lines[0]["p99_ns"] <= lines[0]["p999_ns"]
    assert lines[0]["offered_per_s"] == pytest.approx(0.2 * lines[0]["most_per_s"], rel=0.01)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="there is no time stamp counter")
@pytest.mark.parametrize("workload", ["ping-pong", "connect"])
def test_cycles_are_told_where_they_are_counted(bench, workload):
    """As many as that time has: the counter of any such processor has 1 to 6 ticks in a nanosecond."""
    _, lines, _ = bench(workload, "connections=32", *SHORT)
    for line in lines:
        assert 0.8 * line["ns"] < line["cycles"] < 8 * line["ns"]


def test_times_of_connections(bench):
    """One at a time, so that the median is about what a connection takes in `connect`. The floor is told too."""
    status, lines, _ = bench("connect-time")
    _, means, _ = bench("connect", *SHORT)
    assert status == 0
    for line, mean in zip(lines, means, strict=True):
        assert 0 < line["p50_ns"] <= line["p90_ns"] <= line["p99_ns"] <= line["p999_ns"]
        assert mean["ns"] / 5 < line["p50_ns"] < 5 * mean["ns"]


@pytest.mark.parametrize("words, said", [
    ("connect-time connections=2", 'with "connect-time" there is one at a time'),
    ("pingpong", '"pingpong" is no workload'), ("ping-pong connection=3", '"connection=3" is none of the settings: '),
    ("ping-pong connections", "KEY=VALUE"), ("ping-pong =3", '"=3" is none of the settings'),
    ("bulk message=many", "message is a number from 1 to 1073741824"), ("bulk message=", "message is a number"),
    ("bulk message=1e6", "message is a number"), ("bulk message=0", "message is from 1 to"),
    ("ping-pong connections=-1", "connections is a number from 1 to 10000000"),
    ("ping-pong connections=+1", "connections is a number"),
    ("ping-pong connections=0", "connections is from 1 to 10000000"),
    ("ping-pong connections=4294967297", "connections is from 1"),
    ("ping-pong connections=99999999999999999999999", "connections is from 1"),
    ("ping-pong idle=10000001", "idle is from 0 to 10000000"),
    ("bulk mtu=100000", "mtu is from 68 to 65535"), ("bulk mtu=1", "mtu is from 68 to 65535"),
    ("bulk mtu=1279 ip6=1", "mtu=1279: over IPv6 no less than 1280"), ("bulk window=511", "window is from 512 to"),
    ("ping-pong batch=1025", "batch is from 1 to 1024"), ("ping-pong batch=0", "batch is from 1"),
    ("bulk csum=2", "csum is from 0 to 1"), ("bulk tso=2", "tso is from 0 to 1"), ("bulk data=1073741825", "data is"),
    ("bulk small=65536", "small is from 0 to 65535"), ("bulk segments=65", "segments is from 1 to 64"),
    ("bulk segments=0", "segments is from 1 to 64"), ("bulk segment_ms=0", "segment_ms is from 1 to 60000"),
    ("bulk turns=0", "turns is from 1"), ("load load=0", "load is from 1 to 100"), ("load load=101", "load is from 1"),
    ("load rate=999", "rate is from 1000"), ("load connections=65537", 'with "load" no more than 65536'),
    ("cores cores=0", "cores is from 1 to 256"), ("cores cores=257", "cores is from 1 to 256"),
    ("udp-ping message=65508", "a datagram has no more than 65507")])
def test_what_cannot_be_is_told_at_once(bench, words, said):
    """Not one of these is measured, cut to fit, or waited for."""
    status, lines, error = bench(*words.split())
    assert status == 2 and not lines and said in error


@pytest.mark.parametrize("case", ["load message=1000000000", "connect turns=64 connections=1 message=1000000000"])
def test_what_fails_ends(bench, case):
    """The stack refuses such a message: no answer is waited for."""
    status, lines, error = bench(*case.split(), *SHORT)
    assert status == 1 and "failed" in lines[0], error


@pytest.mark.parametrize("case, words", [("bulk tso=1 csum=0", "a port that cuts segments makes their checksums, too"),
                                         ("ping-pong message=10000000", "something went wrong")])
def test_what_cannot_be_measured_has_a_reason_and_no_number(bench, case, words):
    """Not even that of the floor, which would be taken for Tenon's."""
    done = subprocess.run([bench.program, "bench", *case.split(), *SHORT], capture_output=True, text=True, check=False,
                          timeout=120)
    assert done.returncode == 1 and done.stdout.endswith(f" {words}\n"), done
    assert " ns" not in done.stdout and "bit/s" not in done.stdout


@pytest.mark.parametrize("case", ["bulk message=16384 window=16777216",
                                  "bulk message=16384 connections=200 window=1048576"])
def test_what_the_floor_has_no_room_for(bench, case):
    status, lines, _ = bench(*case.split(), *SHORT)
    assert status == 0 and lines[0]["units"] > 0 and "no more than" in lines[1]["missing"]
