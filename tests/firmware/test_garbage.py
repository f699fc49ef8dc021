# SPDX-License-Identifier: MIT
"""Garbage (test_frames.py) while something goes on: connections that are open, an image that is fetched, samples."""
import os
import zlib

import pytest

from conftest import BOARDS, chance_of
from test_download import Server
from test_exchange import ACK, ECHO, FIN, PORT, PSH, RST, SYN, Peer, cabled_echo  # noqa: F401
from test_frames import FRAMES, IP4, IP6, PORTS, Cable, cabled, ip4, ip6, is_lease, seeds, tcp  # noqa: F401
from test_logger import SAMPLE, check

NEAR = 1 << 20


def strays(peer, at):
    """Of the ends that a connection has, and far from its numbers."""
    wrap = ip4 if peer.ends is IP4 else lambda protocol, payload: ip6(protocol, payload)
    ours, theirs = (at + (1 << 31)) % 2 ** 32, (peer.ack + (1 << 31)) % 2 ** 32
    return [wrap(6, tcp(peer.ends, PORT, flags, b"", data, ours, ack, ECHO))
            for flags, data, ack in ((RST, b"", 0), (SYN, b"", 0), (ACK | PSH, b"stray", peer.ack), (ACK, b"", theirs),
                                     (ACK | FIN, b"", peer.ack), (RST | ACK, b"", theirs), (SYN | ACK, b"", theirs))]


def is_near(frame, at):
    """Who knows the ends and the numbers of a connection is its peer."""
    packet = frame[34:] if frame[12:14] == b"\x08\0" else frame[54:]
    return (packet[:4] == PORT.to_bytes(2, "big") + ECHO.to_bytes(2, "big")
            and (int.from_bytes(packet[4:8], "big") - at + NEAR) % 2 ** 32 < 2 * NEAR)


def is_request(frame):
    """For a connection."""
    return (frame[12:14] == b"\x08\0" and frame[23:24] == b"\x06" and len(frame) > 47 and frame[47] & 2 > 0
            or frame[12:14] == b"\x86\xdd" and frame[20:21] == b"\x06" and len(frame) > 67 and frame[67] & 2 > 0)


def exchange(peer, at, octets):
    """Sent until they are all back: what is kept of garbage may be in the way of a segment, or of an acknowledgement,
    and then the window lets in less than all of them. @return our next number"""
    peer.patience, begin, got, there = 1, peer.ack, b"", at
    for _ in range(30):
        peer.introduce()
        peer.send(ACK | PSH, there, octets[there - at:])
        try:
            while len(got) < len(octets):
                segment = peer.next()
                there = max(there, segment.ack)
                again = begin + len(got) - segment.seq
                if segment.data and again >= 0:
                    got += segment.data[again:]
                    peer.ack = begin + len(got)
                    peer.send(ACK, there)
            assert got == octets
            return at + len(octets)
        except TimeoutError:
            continue
    raise AssertionError("no answer any more")


@pytest.mark.parametrize("board", BOARDS)
def test_connections_in_the_middle_of_it(cabled_echo, board):    # noqa: F811
    """Strays that name their ends too: all octets come back, before it, between it, and after it. On the board with
    64 KB without requests for more connections: half-open ones may take the memory that others need to go on with, for
    as long as they are there."""
    running, its, socket_ = cabled_echo(board)
    cable, chance, rounds = Cable(socket_, its), chance_of(10), 12
    peers = [Peer(socket_, its, ends) for ends in (IP4, IP6)]
    at = [peer.open() for peer in peers]
    for _ in range(rounds):
        for i, peer in enumerate(peers):
            own = strays(peer, at[i])
            cable.garbage(chance, seeds(ECHO) + 3 * own, FRAMES // (2 * rounds),
                          lambda frame: is_lease(frame) or any(is_near(frame, number) for number in at)
                          or (board == "lm3s6965evb" and is_request(frame) and frame not in own))
            at[i] = exchange(peer, at[i], chance.randbytes(chance.randrange(1, 1000)))
    for peer, number in zip(peers, at):
        peer.introduce()
        peer.patience = 15
        peer.end(number)
    running.quit()


def open_as_clients_do(peer):
    """The SYN once a second: requests among the garbage may have all places for that long. @return our next number"""
    for _ in range(30):
        peer.introduce()
        peer.patience = 1
        try:
            return peer.open()
        except TimeoutError:
            continue
        finally:
            peer.patience = 15
    raise AssertionError("no answer any more")


def test_logger(cabled):    # noqa: F811
    """Its samples come as before."""
    running, its, _, socket_ = cabled("lm3s6965evb", app="logger")
    cable = Cable(socket_, its)
    cable.garbage(chance_of(11), seeds(PORTS["logger"]), FRAMES // 2)
    peer = Peer(socket_, its, IP4, to=PORTS["logger"])
    at, got = open_as_clients_do(peer), b""
    while len(got) < 50 * SAMPLE.size:
        segment = peer.next()
        if segment.data and segment.seq == peer.ack:
            got += segment.data
            peer.ack += len(segment.data)
            peer.send(ACK, at)
    check(list(SAMPLE.iter_unpack(got[:50 * SAMPLE.size])))
    peer.send(RST, at)
    running.quit()


def test_download(cabled, tenon, tmp_path):    # noqa: F811
    """Answers of servers that are broken, over HTTP, TFTP and DNS; then the image comes whole from one that is not."""
    running, its, ours, socket_ = cabled("lm3s6965evb", app="download")
    cable, chance = Cable(socket_, its), chance_of(12)
    for url in ("http://10.0.2.2/image.bin", "tftp://10.0.2.2/image.bin", "http://name.test/image.bin"):
        for _ in range(6):
            running.key(f"u{url}\n")
            cable.garbage(chance, seeds(PORTS["download"]), FRAMES // 36)
            running.pass_time(5)
    socket_.close()
    image = os.urandom(50001)
    (tmp_path / "image.bin").write_bytes(image)
    server = Server(tenon, tmp_path, ours, its)
    try:
        running.key("uhttp://10.0.2.2/image.bin\n")
        running.wait_for(f"image {len(image)} bytes, CRC-32 {zlib.crc32(image):08x}")
    finally:
        server.end()
    running.quit()
