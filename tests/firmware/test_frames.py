# SPDX-License-Identifier: MIT
"""Frames that we write, over QEMU's dgram netdev: a UDP datagram each; and Tenon as the peer."""
import os
import random
import socket
import struct
import subprocess

import pytest

from conftest import BOARDS, udp_pair

FRAMES = int(os.environ.get("TENON_FIRMWARE_FRAMES", 3000))
every_board = pytest.mark.parametrize("board", BOARDS)
OURS, THEIRS, ALL = b"\x02\0\0\0\0\x02", b"\x52\x54\0\x12\x34\x56", b"\xff" * 6
IP4 = (socket.inet_aton("10.0.2.2"), socket.inet_aton("10.0.2.15"))
IP6 = (socket.inet_pton(socket.AF_INET6, "fd00:10::2"), socket.inet_pton(socket.AF_INET6, "fd00:10::15"))


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip4(protocol, payload, fragment=0, ident=1):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), ident, fragment, 64, protocol, 0, *IP4)
    return THEIRS + OURS + b"\x08\0" + head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def ip6(protocol, payload):
    head = struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64) + b"".join(IP6)
    return THEIRS + OURS + b"\x86\xdd" + head + payload


def over(ends, protocol, payload, at):
    """The payload with the checksum at `at` that its pseudo-header demands."""
    pseudo = b"".join(ends) + (struct.pack(">BBH", 0, protocol, len(payload)) if len(ends[0]) == 4
                               else struct.pack(">IHBB", len(payload), 0, 0, protocol))
    return payload[:at] + struct.pack(">H", checksum(pseudo + payload)) + payload[at + 2:]


def tcp(ends, port, flags, options=b"", data=b"", seq=1, ack=0, to=80):
    head = struct.pack(">HHIIBBHHH", port, to, seq, ack, (20 + len(options)) // 4 << 4, flags, 4096, 0, 0)
    return over(ends, 6, head + options + data, 16)


def udp(ends, port, data):
    return over(ends, 17, struct.pack(">HHHH", 40000, port, 8 + len(data), 0) + data, 6)


def arp_request(ip=IP4[0]):
    return (ALL + OURS + b"\x08\x06" + struct.pack(">HHBBH", 1, 0x800, 6, 4, 1) + OURS + ip + 6 * b"\0" + IP4[1]).ljust(
        60, b"\0")


def seeds():
    """Frames that are right, of every kind that Tenon knows: what is broken below."""
    options = b"\x02\x04\x05\xb4\x04\x02\x08\x0a\0\0\0\x01\0\0\0\0\x01\x03\x03\x07"
    echo6 = over(IP6, 58, b"\x80\0\0\0\0\x01\0\x01" + 40 * b"x", 2)
    echo4 = b"\x08\0\0\0\0\x01\0\x01" + 40 * b"x"
    echo4 = echo4[:2] + struct.pack(">H", checksum(echo4)) + echo4[4:]
    solicitation = over(IP6, 58, b"\x87\0\0\0\0\0\0\0" + IP6[1] + b"\x01\x01" + OURS, 2)
    advertisement = over(IP6, 58, b"\x86\0\0\0\x40\0\x07\x08" + 8 * b"\0" + b"\x03\x04\x40\xc0\0\0\x0e\x10\0\0\x0e\x10"
                         + 4 * b"\0" + IP6[0][:8] + 8 * b"\0", 2)
    return [
        arp_request(),
        ip4(1, echo4), ip4(1, echo4, 0x2000), ip4(1, echo4, 0x2003), ip4(17, udp(IP4, 7, 900 * b"u"), 0x2000),
        ip4(17, udp(IP4, 9, b"u")), ip4(6, tcp(IP4, 1234, 2, options)),
        ip4(6, tcp(IP4, 1234, 16, b"", b"GET / HTTP/1.1\r\n")),
        ip4(6, tcp(IP4, 1235, 4)), ip4(6, tcp(IP4, 1234, 0x29)), ip4(2, b"\x11\0\xee\xff\0\0\0\0"), ip4(47, 20 * b"\0"),
        ip4(1, b"\x03\x04\0\0\0\0\x02\0" + ip4(6, tcp(IP4, 80, 16))[14:54]),
        ip6(58, echo6), ip6(58, solicitation), ip6(58, advertisement), ip6(6, tcp(IP6, 1234, 2, options)),
        ip6(17, udp(IP6, 9, b"u")), ip6(44, b"\x06\0\0\x01\0\0\0\x07" + 64 * b"f"),
        ip6(44, b"\x06\0\0\x40\0\0\0\x07" + 9 * b"f"),
        ip6(0, b"\x3a\0\x05\x02\0\0\x01\0" + echo6), ip6(43, b"\x3a\x02\0\x01" + 20 * b"\0"), ip6(60, 300 * b"\0"),
        ALL + OURS + b"\x81\0\0\x05\x08\0" + 60 * b"v", ALL + OURS + b"\x88\xcc" + 50 * b"l",
    ]


def broken(chance, frames):
    """One of them with some octets changed, cut or prolonged; or noise."""
    if chance.random() < 0.05:
        return chance.randbytes(chance.randrange(14, 1514))
    frame = bytearray(chance.choice(frames))
    for _ in range(chance.choice((0, 1, 1, 2, 4, 16))):
        frame[chance.randrange(len(frame)) if chance.random() < 0.2 else chance.randrange(12, min(len(frame), 90))] = \
            chance.choice((0, 255, chance.randrange(256)))
    if chance.random() < 0.2:
        del frame[chance.randrange(14, len(frame)):]
    if chance.random() < 0.1:
        frame += chance.randbytes(chance.randrange(1, 1600))
        del frame[chance.choice((1514, 2000)):]
    return bytes(frame)


class Cable:
    """Our end: frames in datagrams. Every so often we wait for an answer, so that none is lost in between."""

    def __init__(self, ours, port):
        self.socket, self.to, self.pending, self.breaths = ours, ("127.0.0.1", port), 0, 0

    def send(self, frame):
        self.socket.sendto(frame, self.to)
        self.pending += 1
        if self.pending == 16:
            self.breathe()

    def breathe(self):
        """Until it answers a request of an address that has not asked lately: it has read all that was sent before."""
        self.pending = 0
        self.breaths += 1
        ip = socket.inet_aton(f"10.0.2.{100 + self.breaths % 100}")
        for _ in range(20):
            self.socket.sendto(arp_request(ip), self.to)
            self.socket.settimeout(1)
            try:
                while True:
                    frame = self.socket.recv(4096)
                    if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\x02" and frame[38:42] == ip:
                        return
            except TimeoutError:
                continue
        raise AssertionError("it does not answer ARP any more")


def fetch(tenon, running_port, our_port, host, address=None):
    """By Tenon at the other end of the cable."""
    address = address or ("10.0.2.2/24" if "." in host else "fd00:10::2/64")
    done = subprocess.run([tenon, "get", "--port", f"dgram:127.0.0.1:{our_port},peer=127.0.0.1:{running_port}",
                           "--address", address, f"http://{host}/"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-800:]
    assert "</script>" in done.stdout


@pytest.fixture
def cabled(firmware):
    """cabled(board): a web server on a cable whose other end is ours, and the two ports."""
    open_ones = []

    def start(board, *options):
        its, ours, socket_ = udp_pair()
        open_ones.append(socket_)
        running = firmware(board, "http", "--network", f"dgram:{its},{ours}", *options).ready()
        return running, its, ours, socket_
    yield start
    for one in open_ones:
        one.close()


@every_board
@pytest.mark.parametrize("host", ["10.0.2.15", "[fd00:10::15]"])
def test_tenon_is_the_peer(cabled, tenon, board, host):
    running, its, ours, socket_ = cabled(board)
    socket_.close()
    for _ in range(3):
        fetch(tenon, its, ours, host)
    running.quit()


@every_board
def test_garbage(cabled, tenon, board):
    """It lives through frames that are broken in all ways, gives everything back, and serves as before. The frames are
    the same each time."""
    running, its, ours, socket_ = cabled(board)
    cable, chance, frames = Cable(socket_, its), random.Random(6), seeds()
    for _ in range(FRAMES):
        cable.send(broken(chance, frames))
    cable.breathe()
    after = running.status()
    assert after["rx_frames"] >= 0.9 * FRAMES
    assert after["blocks"] >= 4    # fragments may still wait for the rest of their datagram
    socket_.close()
    fetch(tenon, its, ours, "10.0.2.15")
    fetch(tenon, its, ours, "[fd00:10::15]")
    running.quit()


def is_kept(frame):
    """It may leave something behind for a minute: a fragment, the beginning of a connection."""
    if frame[12:14] == b"\x86\xdd":
        return len(frame) < 68 or frame[20] in (0, 43, 44, 60) or (frame[20] == 6 and frame[67] & 2)
    if frame[12:14] == b"\x08\0":
        return len(frame) < 48 or frame[20] & 0x3F or frame[21] or (frame[23] == 6 and frame[47] & 2)
    return False


@every_board
def test_garbage_leaves_the_arena_as_it_was(cabled, tenon, board):
    """The same garbage again: when the tables are as full as they get, used memory does not change by an octet while
    it runs; without fragments and connection requests, which are to be remembered for a while."""
    running, its, ours, socket_ = cabled(board)
    cable, frames, seen = Cable(socket_, its), [frame for frame in seeds() if not is_kept(frame)], []
    for _ in range(4):
        chance = random.Random(7)
        for frame in (broken(chance, frames) for _ in range(FRAMES // 4)):
            if not is_kept(frame):
                cable.send(frame)
        cable.breathe()
        status = running.status()
        seen.append((status["memory"], status["blocks"]))
    assert len(set(seen[1:])) == 1, seen    # header buffers may still wait for a neighbour's address
    socket_.close()
    fetch(tenon, its, ours, "10.0.2.15")
    running.quit()


@every_board
def test_flood_of_requests(cabled, tenon, board):
    """More connection requests than there is room for, from ever new ends: they are answered without being kept."""
    running, its, ours, socket_ = cabled(board)
    cable = Cable(socket_, its)
    for port in range(1000, 1400):
        cable.send(ip4(6, tcp(IP4, port, 2)))
    status = running.status()
    assert status["memory_top"] <= status["memory_bytes"]
    for port in range(1000, 1400):    # or they would have to time out
        cable.send(ip4(6, tcp(IP4, port, 4, seq=2)))
    cable.breathe()
    socket_.close()
    fetch(tenon, its, ours, "10.0.2.15")
    running.quit()


@every_board
def test_arena_at_rest(cabled, tenon, board):
    """What a page needs is given back: when the records of TIME-WAIT are as many as there may be, used memory is the
    same after each page, to the byte."""
    running, its, ours, socket_ = cabled(board)
    socket_.close()
    seen = []
    for _ in range(8):
        fetch(tenon, its, ours, "10.0.2.15")
        status = running.status()
        seen.append((status["memory"], status["blocks"]))
    assert len(set(seen[4:])) == 1, seen
    running.quit()
