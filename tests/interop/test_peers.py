# SPDX-License-Identifier: MIT
"""The comparison with other stacks (bench/peers) measures what it says: the relay is as slow, as long and as bad
as asked for, it counts what a sender repeats, and a short run of every stack gives numbers that can be."""
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import time

import pytest

from conftest import ROOT, find_tenon

PEERS = ROOT / "bench" / "peers"
sys.path.insert(0, str(PEERS))

import cable       # noqa: E402  (they are beside the program, not in a package)
import programs    # noqa: E402
import stacks      # noqa: E402


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    folder = tmp_path_factory.mktemp("peers")
    return {"folder": folder, "kernel": programs.own(folder, "kernel", PEERS / "kernel.c"),
            "relay": programs.own(folder, "relay", pathlib.Path(__file__).parent / "relay.c"),
            "relay_prefix": cable.real_time(30), "sender_prefix": cable.real_time(20)}


def peers(folder, *arguments, timeout=200, **environment):
    env = {**os.environ, "TENON_BIN": find_tenon(), **environment}
    done = subprocess.run([sys.executable, PEERS / "peers", "--out", folder, *map(str, arguments)], env=env,
                          capture_output=True, text=True, timeout=timeout)
    return done


# ---- the relay ------------------------------------------------------------------------------------

SEND_FRAMES = """
import socket, sys, time
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind((sys.argv[1], 0))
for line in sys.stdin:
    out.send(bytes.fromhex(line))
    time.sleep(float(sys.argv[2]))
"""

COUNT_DATAGRAMS = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 9)), s.settimeout(20)    # the sender has to begin
print("ready", flush=True)
try:
    while True:
        print(int.from_bytes(s.recv(2048)[:4], "big"))
        s.settimeout(float(sys.argv[1]))
except TimeoutError:
    pass
"""

SEND_DATAGRAMS = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[2])):
    s.sendto(i.to_bytes(4, "big") + bytes(996), (sys.argv[1], 9))
    time.sleep(0.0005)
"""


def tcp_frame(seq, payload, flags=0x10):
    tcp = struct.pack("!HHIIBBHHH", 40000, 5001, seq & 0xFFFFFFFF, 1, 5 << 4, flags, 1000, 0, 0)
    ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 40 + payload, 1, 0, 64, 6, 0, bytes([10, 44, 0, 1]),
                     bytes([10, 44, 0, 2]))
    return (b"\2\0\0\0\0\1\2\0\0\0\0\2\x08\0" + ip + tcp + bytes(payload)).ljust(60, b"\0")


def test_relay_counts_what_is_sent_again(tools):
    """Across the wrap of sequence numbers; the half that is new of a segment is not counted as sent again."""
    start = 0xFFFFFC00
    frames = [tcp_frame(start - 1, 0, flags=2), tcp_frame(start, 1000), tcp_frame(start + 1000, 1000),
              tcp_frame(start, 1000), tcp_frame(start + 1500, 1000), tcp_frame(start + 2500, 1, flags=0x18),
              tcp_frame(start + 2501, 0)]
    with cable.Cable(tools, True, []) as link:
        script = link.inside(0, [sys.executable, "-c", SEND_FRAMES, stacks.TAP, 0], stdin=subprocess.PIPE)
        script.communicate("\n".join(frame.hex() for frame in frames), timeout=20)
        time.sleep(1)
        counts = link.relay_counts()
    assert counts["there"]["tcp"] == {"segments": 5, "resent": 2, "bytes": 4001, "resent_bytes": 1500}


def datagrams(tools, options, count=400):
    """Numbers of the datagrams that came through, in their order, and the relay's counts."""
    with cable.Cable(tools, True, options) as link:
        receiver = link.inside(1, [sys.executable, "-c", COUNT_DATAGRAMS, 1.0])
        assert receiver.stdout.readline() == "ready\n"
        sender = link.inside(0, [sys.executable, "-c", SEND_DATAGRAMS, stacks.RECEIVER, count])
        sender.communicate(timeout=20)
        numbers = [int(line) for line in receiver.communicate(timeout=20)[0].split()]
        return numbers, link.relay_counts()


@pytest.mark.parametrize("one, other", [("there", "back"), ("back", "there")])
def test_options_for_one_direction(tools, one, other):
    with cable.Cable(tools, True, [f"--{one}", "--dup", 100, "--both", "--delay", 1]) as link:
        ping = link.inside(0, ["ping", "-q", "-c", 20, "-i", 0.02, stacks.RECEIVER])
        ping.communicate(timeout=30)
        counts = link.relay_counts()
    assert counts[one]["duplicated"] == counts[one]["frames"] >= 20
    assert counts[other]["duplicated"] == 0
    assert counts[other]["frames"] >= 20


def test_late_frames_are_overtaken(tools):
    numbers, counts = datagrams(tools, ["--late", 10, "--late-by", 30, "--rate", 20])
    assert sorted(numbers) == list(range(400))
    assert numbers != sorted(numbers)
    on_time = sum(number == max(numbers[:i + 1]) for i, number in enumerate(numbers))
    assert 10 <= counts["there"]["reordered"] <= 80
    assert on_time >= 400 - counts["there"]["reordered"]


def test_delay_is_that_of_the_cell(tools):
    cell = cable.Cell("test", 10, 80)
    with cable.Cable(tools, True, cell.relay_options(1)) as link:
        ping = link.inside(0, ["ping", "-q", "-c", 10, "-i", 0.05, stacks.RECEIVER])
        words = ping.communicate(timeout=30)[0].split()
    least = float(words[words.index("min/avg/max/mdev") + 2].split("/")[0])
    assert 80 <= least < 90


# ---- runs -----------------------------------------------------------------------------------------

def test_rate_is_that_of_the_cell(tools):
    """What Linux gets of a clean line with a large queue is what the line carries, within 5 %: never more, and in one
    of three runs not less, for other programs may want the processors."""
    sender = stacks.make(["linux-cubic"], tools, print)[0]
    cell = cable.Cell("test", 20, 20, buffer_bdp=4, seconds=3)
    best = 0
    for seed in range(1, 4):
        run = cable.measure(tools, cell, sender, seed)
        steady, carried = run["steady_share"] * cell.most_mbit, run["relay"]["there"]["delivered_bytes"] * 8 / 3e6
        assert run["intact"]
        assert steady <= 1.05 * 20 * 1448 / 1514 and carried <= 1.05 * 20
        best = max(best, steady)
        if steady >= 0.95 * 20 * 1448 / 1514:
            assert carried >= 0.85 * 20
            return
    raise AssertionError(f"{best} Mbit/s")


def test_every_stack_sends(tmp_path):
    """All stacks that can be had here, at once, for a moment: the bytes are right, the numbers possible."""
    done = peers(tmp_path, "--cells", "clean", "--seeds", 1, "--seconds", 2, "--jobs", 12, "--carry", 200)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads((tmp_path / "peers.json").read_text())
    names = {run["stack"] for run in report["runs"]}
    assert {"tenon-newreno", "tenon-cubic"} <= names
    assert any(name.startswith("linux-") for name in names)
    for name in set(stacks.MAKERS) - names:
        assert f"{name} is left out: " in done.stderr
    for run in report["runs"]:
        assert run["intact"], run
        assert 0.02 < run["share"] < 1.02, run
        assert run["resent_share"] < 0.6, run
        assert run["steps"] == sorted(run["steps"])
    assert "<svg" in (tmp_path / "peers.html").read_text()
    assert "tenon-cubic" in (tmp_path / "peers.txt").read_text()


def test_without_cargo_the_others_run(tmp_path):
    """A peer that cannot be had is named, with the reason."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for path in os.environ["PATH"].split(os.pathsep):
        for program in pathlib.Path(path).glob("*") if os.path.isdir(path) else []:
            if program.name not in ("cargo", "rustc") and not os.path.lexists(folder / program.name):
                (folder / program.name).symlink_to(program)
    done = peers(tmp_path / "out", "--cells", "clean", "--stacks", "lwip,smoltcp-cubic,tenon-newreno", "--seeds", 1,
                 "--seconds", 1, PATH=str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lwip is left out: cargo, Rust's package manager, is not installed" in done.stderr
    assert "smoltcp-cubic is left out: cargo" in done.stderr
    report = json.loads((tmp_path / "out" / "peers.json").read_text())
    assert [run["stack"] for run in report["runs"]] == ["tenon-newreno"]


def test_runs_that_were_not_made_are_no_success(tmp_path):
    """Stopped, the program tells what it has; with --check as well, where the runs that were made meet the demands."""
    argv = [sys.executable, PEERS / "peers", "--out", tmp_path, "--cells", "quick", "--stacks", "linux-cubic",
            "--seeds", "3", "--jobs", "1", "--seconds", "1", "--check"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        said = program.stderr.readline()
        while said and "[1/3]" not in said:
            said = program.stderr.readline()
        program.send_signal(signal.SIGINT)
        out, _ = program.communicate(timeout=60)
    assert program.returncode == 1 and re.search("NOT MADE: [12] runs of 3", out), out


@pytest.mark.parametrize("words", [["--seeds", "0"], ["--seconds", "0.05"], ["--seconds", "nan"], ["--jobs", "0"]])
def test_a_comparison_of_nothing_is_refused(tmp_path, words):
    done = peers(tmp_path, *words)
    assert done.returncode == 2 and "is not a number from" in done.stderr


def test_a_sender_that_hangs_up_is_a_failure(tools):
    quitter = stacks.Stack("quitter", "linux", [sys.executable, "-c", f"import socket; s = socket.create_connection("
                           f"('{stacks.RECEIVER}', {stacks.PORT})); s.sendall(bytes(1))"], in_kernel=True)
    with pytest.raises(cable.Failed, match="has ended the connection"):
        cable.measure(tools, cable.Cell("test", 10, 10, seconds=1), quitter, 1)


def test_wrong_bytes_are_noticed(tools):
    liar = stacks.Stack("liar", "linux", [sys.executable, "-c", f"import socket\ns = socket.create_connection("
                        f"('{stacks.RECEIVER}', {stacks.PORT}))\nwhile True: s.sendall(bytes(1000))"], in_kernel=True)
    assert not cable.measure(tools, cable.Cell("test", 10, 10, seconds=1), liar, 1)["intact"]
