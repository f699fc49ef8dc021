# SPDX-License-Identifier: MIT
"""ports/boards/apps/download.c, and Tenon as the server: at the other end of a cable, without privileges."""
import os
import socket
import struct
import subprocess
import threading
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


class Answers:
    """A server of this machine, at 10.0.2.2 in QEMU's own network: what it says to each question, octet for octet. It
    keeps the connection for a while, or not."""

    def __init__(self, *answers, keeps=0):
        self.asked = []
        self.keeps = keeps
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._serve, args=[answers], daemon=True).start()

    def _serve(self, answers):
        for number in range(10**6):
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            with client, client.makefile("rb") as lines:
                self.asked.append(lines.readline().decode().split())
                while lines.readline() not in (b"\r\n", b""):
                    pass
                client.sendall(answers[min(number, len(answers) - 1)])
                if self.keeps:
                    client.settimeout(self.keeps)
                    client.recv(1)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def in_network(firmware):
    """The program in QEMU's own network."""
    running = firmware("lm3s6965evb", "download")
    running.wait_for("address 10.0.2.15 by DHCP")
    return running


def answer(*fields, content=b"abc", status="1.0 200 OK"):
    return "\r\n".join([f"HTTP/{status}", *fields, "", ""]).encode() + content


NO_LENGTH = "no image: no length that could be believed, bytes 0"
WHOLE = f"image 3 bytes, CRC-32 {zlib.crc32(b'abc'):08x}"
LENGTHS = [    # RFC 9112 6.3
    (answer("Content-Length: 3"), WHOLE),
    (answer("content-length:\t3 "), WHOLE),
    (answer("Content-Length:3", "Content-Length: 03"), WHOLE),
    (answer(), NO_LENGTH),
    (answer(content=b""), NO_LENGTH),
    (answer("Content-Length: 5", "Content-Length: 3"), NO_LENGTH),
    (answer("Content-Length: 5", "Content-Length: 3", "Content-Length: 3"), NO_LENGTH),
    (answer("Content-Length: 3, 3"), NO_LENGTH),
    (answer("Content-Length: 3abc"), NO_LENGTH),
    (answer("Content-Length: -3"), NO_LENGTH),
    (answer("Content-Length:"), NO_LENGTH),
    (answer("Content-Length: 4294967299"), NO_LENGTH),
    (answer("Content-Length: " + 23 * "0" + "35"), NO_LENGTH),
    (answer("Transfer-Encoding: chunked", "Content-Length: 13", content=b"3\r\nabc\r\n0\r\n\r\n"), NO_LENGTH),
    (answer("Content-Length: 13", "Transfer-Encoding: chunked", content=b"3\r\nabc\r\n0\r\n\r\n"), NO_LENGTH),
    (answer("Content-Length: 4"), "no image: status 200, bytes 3"),
    (answer("Content-Length: 2"), "no image: status 200, bytes 3"),
    (answer("Content-Length: 0", status="1.0 404 Not Found", content=b""), "no image: status 404, bytes 0"),
    (answer("Content-Length: 3", status="1.1 206 Partial Content"), "no image: status 206, bytes 0"),
]


@pytest.mark.parametrize("keeps", [0, 30])
def test_lengths(firmware, keeps):
    """What is believed to be whole, and that it is over when it is there, whether the server keeps the connection."""
    running = in_network(firmware)
    for octets, said in LENGTHS:
        if keeps and said == "no image: status 200, bytes 3" and b": 4" in octets:
            continue    # more could come
        with Answers(octets, keeps=keeps) as server:
            running.key(f"uhttp://10.0.2.2:{server.port}/image.bin\n")
            line = running.wait_for(("image", "no image: no length", "no image: status"), 8)
            assert line == said, octets
    running.quit()


def test_long_url(firmware):
    """Nothing else than what was typed is asked for: a host and a path of 79 characters each, with all around them, or
    none."""
    running = in_network(firmware)
    path = "/" + 78 * "p"
    with Answers(answer("Content-Length: 3")) as server:
        running.key(f"uhttp://10.0.2.2:{server.port:073d}{path}\n")    # as long as [79]:65535 in front of the path
        assert running.wait_for("image", 20) == WHOLE
        assert server.asked[0][1] == path
        for url in (f"http://10.0.2.2:{server.port}{path}p", f"http://10.0.2.2:{server.port:0180d}/p",
                    f"http://{80 * 'h'}/"):
            running.key(f"u{url}\n")
            running.wait_for("no URL", 20)
    running.quit()
