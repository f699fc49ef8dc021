# SPDX-License-Identifier: MIT
"""bench/boards/run: it counts, and what docs/performance-embedded.md says of the boards is so."""
import json
import os
import pathlib
import subprocess
import sys

import board_tool
import pytest

from conftest import BOARDS, BUILD, DMA, ROOT, STACK_MARGIN, udp_pair
from test_exchange import ACK, FIN, PSH, RST, Peer
from test_frames import IP4

sys.path.append(str(ROOT / "bench"))
from boards import echoes  # noqa: E402


@pytest.fixture(scope="module", params=BOARDS)
def board(request):
    return request.param


@pytest.fixture(scope="module")
def measured(built, board, tmp_path_factory):
    """What it has found of Tenon there."""
    built(board)
    out = tmp_path_factory.mktemp("measured")
    subprocess.run([sys.executable, str(ROOT / "bench" / "boards" / "run"), "--boards", board, "--no-lwip",
                    "--parts", "instructions", "--build", BUILD, "--out", str(out)], check=True,
                   stdout=subprocess.DEVNULL, timeout=300)
    assert (out / "boards.svg").read_text().startswith("<svg ")
    return json.loads((out / "boards.json").read_text())[board]["stacks"]["tenon"]


def sent(measured, device, size):
    row = measured["rows"][f"{device} ring send {size}"]
    return row["ask"] + row["send"]


def test_bytes_cost_nothing(measured):
    """With DMA, and checksums by the device, 1460 bytes cost what 100 do, within 1 %; without, they do not."""
    for device in ("offload", "contiguous"):
        assert abs(sent(measured, device, 1460) / sent(measured, device, 100) - 1) < 0.01
    for device in ("checksums", "summed", "own"):
        assert sent(measured, device, 1460) > 1.2 * sent(measured, device, 100)


def test_the_board_sums_faster(measured):
    """A checksum by the carry of the processor: half an instruction a byte, where C takes more than one."""
    for device, least, most in (("checksums", 1, 3), ("summed", 0.25, 0.6)):
        assert least < (sent(measured, device, 1460) - sent(measured, device, 500)) / 960 < most


def test_share_that_is_saved(measured):
    """Of a copy and a checksum, against what a send costs: the paper has 0.59."""
    send = sent(measured, "offload", 1460)
    saved = measured["copy"]["1460"] + sent(measured, "checksums", 1460) - send
    assert saved / (saved + send) >= 0.59


def received(measured, device, size):
    return sum(measured["rows"][f"{device} ring receive {size}"].values())


def test_received_through_the_driver(measured, board):
    """What the driver adds to the same frame in memory: so many for each word of its FIFO, and for a frame; with DMA
    no more than that."""
    added = [received(measured, "driver", size) - received(measured, "summed", size)
             for size in (100, 500, 1460)]
    if board in DMA:
        # What does not lie on a word takes its checksum longer, and of the largest more are acknowledged at once.
        assert 0 < min(added) and max(added[:2]) < 500 and added[2] < 1460 / 2
        return
    assert added[0] > 154 / 4 * 2
    assert 2 < (added[1] - added[0]) / 100 < 10 and 2 < (added[2] - added[1]) / 240 < 10


def test_copy(measured):
    """A copy by words is counted as one: four bytes in more than one instruction, and in less than ten."""
    assert 1460 / 4 < measured["copy"]["1460"] < 1460 / 4 * 10
    assert measured["copy"]["1460"] > measured["copy"]["500"] > measured["copy"]["100"]


@pytest.fixture
def echo_built(built):
    """@return the folder where that echo is, of those that are compared"""
    def make(board, name):
        built(board)
        folder = pathlib.Path(BUILD) / board
        fd = board_tool.module.lock(str(folder))
        for command in (["-S", str(ROOT / "ports" / "boards"), "-B", str(folder), "-DBOARD_MEASURE=ON"],
                        ["--build", str(folder), "--target", f"echo-{name}"]):
            subprocess.run(["cmake", *command], check=True, stdout=subprocess.DEVNULL)
        os.close(fd)
        return folder
    return make


def test_echo(echo_built):
    """The echo whose flash and RAM stand beside lwIP's serves four clients, and all of it is told."""
    folder = echo_built("lm3s6965evb", "tenon4")
    found = echoes.measure(board_tool.module, "lm3s6965evb", folder, ["tenon4"], with_clients=True)["tenon4"]
    flash = found["flash"]
    assert set(flash) == set(echoes.PARTS) and min(flash.values()) > 0
    assert flash[echoes.TCP] == max(flash.values()) and flash[echoes.OTHER] < sum(flash.values()) / 50
    idle, opened, done = (found["run"][moment] for moment in ("idle", "open", "done"))
    assert idle["memory"] < opened["memory"] <= done["memory_top"] <= done["memory_bytes"]
    assert done["stack"] <= done["stack_bytes"] - STACK_MARGIN


def opened(peer):
    """The first frames may be lost: who says that he is ready has not heard anything yet. @return our next number"""
    for _ in range(20):
        peer.introduce()
        try:
            return peer.open()
        except TimeoutError:
            continue
    raise AssertionError("no connection")


@pytest.mark.parametrize("name", ["tenon4", "tenon4-back", "tenon4-core"])
def test_many_small_segments(echo_built, board, name):
    """More pieces at a time than a connection takes to send, and than there are blocks on some boards, before anything
    is acknowledged. They wait, or come again; all of them come back, and then our FIN is answered."""
    image = echo_built(board, name) / f"echo-{name}.elf"
    its, ours, cable = udp_pair()
    ends = "".join(f",{end}.type=inet,{end}.host=127.0.0.1,{end}.port={port}"
                   for end, port in (("local", its), ("remote", ours)))
    with cable, echoes.Echo(board_tool.module.BOARDS[board], board, image, f"dgram,id=n{ends}") as echo:
        echo.wait_for("ready")
        peer = Peer(cable, its, IP4)
        peer.patience = 1
        at = there = opened(peer)
        begin, got, octets = peer.ack, b"", bytes(range(250)) * 3
        for i in range(0, len(octets), 25):
            peer.send(ACK | PSH, at + i, octets[i:i + 25])
        for _ in range(200):
            try:
                segment = peer.next()
            except TimeoutError:    # nothing more comes before something is acknowledged
                peer.ack = begin + len(got)
                peer.send(ACK, there)    # by itself: for what has text there may be no block
                peer.send(ACK | PSH | (FIN if there == at + len(octets) else 0), there, octets[there - at:])
                continue
            assert not segment.flags & RST
            there, again = max(there, segment.ack), begin + len(got) - segment.seq
            got += segment.data[again:] if again >= 0 else b""
            if segment.flags & FIN:
                break
        assert got == octets and segment.flags & FIN and segment.ack == at + len(octets) + 1
