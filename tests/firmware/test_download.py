# SPDX-License-Identifier: MIT
"""ports/boards/apps/download.c, and Tenon as the server: at the other end of a cable, without privileges."""
import os
import struct
import subprocess
import zlib

import pytest

from conftest import BOARDS, DMA, udp_pair
from test_frames import THEIRS

every_board = pytest.mark.parametrize("board", BOARDS)


class Server:
    """tenon serve at 10.0.2.2."""

    def __init__(self, tenon, folder, here, there):
        self.process = subprocess.Popen(
            [tenon, "serve", "--port", f"dgram:127.0.0.1:{here},peer=127.0.0.1:{there}", "--address", "10.0.2.2/24",
             str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def end(self):
        self.process.terminate()
        self.process.wait(10)


def captured(path):
    """The frames of a capture file."""
    octets, at, frames = path.read_bytes(), 24, []
    while at < len(octets):
        count = struct.unpack("<I", octets[at + 8:at + 12])[0]
        frames.append(octets[at + 16:at + 16 + count])
        at += 16 + count
    return frames


def at_rest(running, cable):
    """The status, and the frames that went over the cable, when it has them all: two looks in a row saw the same."""
    before = None
    while True:
        now = running.status(), captured(cable)
        if before is not None and (now[0]["moved"], now[1]) == (before[0]["moved"], before[1]):
            return now
        before = now


@every_board
def test_image(firmware, tenon, tmp_path, board):
    """The image is fetched whole; the first attempts meet a server without it, and one that is not there. Its octets
    were moved as often as they have to be: with DMA never, else once, with the frames that went over the cable."""
    its, ours, socket_ = udp_pair()
    socket_.close()
    cable = tmp_path / "cable.pcap"
    running = firmware(board, "download", "--network", f"dgram:{its},{ours}", "--pcap", cable).ready()
    server = Server(tenon, tmp_path, ours, its)
    try:
        running.wait_for("no image: status 404")
        server.end()
        image = os.urandom(200003)
        (tmp_path / "image.bin").write_bytes(image)
        server = Server(tenon, tmp_path, ours, its)
        line = running.wait_for("image ", 90)
    finally:
        server.end()
    assert line == f"image {len(image)} bytes, CRC-32 {zlib.crc32(image):08x}"
    status, frames = at_rest(running, cable)
    sent = [frame for frame in frames if frame[6:12] == THEIRS]
    assert status["copied"] == 300 * sum(frame[36:38] == b"\0\x43" for frame in sent)    # what DHCP asks
    if board in DMA:    # nothing but headers
        assert 0 < status["moved"] <= sum(map(len, sent)) < len(image) / 10
    else:               # short frames were filled up to 60 on the cable
        assert -18 * sum(len(frame) <= 60 for frame in sent) <= status["moved"] - sum(map(len, frames)) <= 0
    running.quit()


@pytest.mark.parametrize("board", BOARDS[:1])
def test_another_url(firmware, tenon, tmp_path, board):
    """Enter behind the u, as the other keys want it from a terminal, is not the end of the URL. Where nobody answers,
    that is said; a status is what a server has said."""
    its, ours, socket_ = udp_pair()
    socket_.close()
    running = firmware(board, "download", "--network", f"dgram:{its},{ours}").ready()
    assert running.wait_for("no image") == "no image: the peer does not answer, bytes 0"
    (tmp_path / "quest.bin").write_bytes(b"quest")
    server = Server(tenon, tmp_path, ours, its)
    try:
        running.key("u\n")
        running.key("\nhttp://10.0.2.2/quest.bin\n")
        running.wait_for("image 5 bytes", 90)
    finally:
        server.end()
    running.quit()
