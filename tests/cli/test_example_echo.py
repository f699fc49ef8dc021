# SPDX-License-Identifier: MIT
"""examples/echo.c, echo.cpp and sock_echo.c over a SOCK_SEQPACKET socket: one message is one frame. The peer is made
here, packet by packet."""
import select
import socket
import struct
import subprocess
import time

import pytest

OURS, THEIRS = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
OUR_IP, THEIR_IP = bytes([10, 9, 0, 1]), bytes([10, 9, 0, 2])
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def checksum(data):
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + bytes(len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def packet(protocol, payload):
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 1, 0, 64, protocol, 0, OUR_IP, THEIR_IP)
    head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
    return THEIRS + OURS + b"\x08\x00" + head + payload


def segment(seq, ack, flags, data=b"", port=7, options=b""):
    head = struct.pack("!HHIIBBHHH", 40000, port, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, 0x50 + 4 * len(options), flags,
                       8192, 0, 0) + options
    pseudo = OUR_IP + THEIR_IP + struct.pack("!BBH", 0, 6, len(head) + len(data))
    head = head[:16] + struct.pack("!H", checksum(pseudo + head + data)) + head[18:]
    return packet(6, head + data)


class Peer:
    def __init__(self, sock):
        self.sock = sock

    def send(self, frame):
        self.sock.send(frame)

    def next(self, wanted, seconds=5):
        """What `wanted` makes of the first frame of which it makes something."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if not select.select([self.sock], [], [], 0.1)[0]:
                continue
            frame = self.sock.recv(4096)
            if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\x00\x01" and frame[38:42] == OUR_IP:
                self.send(frame[6:12] + OURS + frame[12:20] + b"\x00\x02" + OURS + OUR_IP + frame[22:32])
            found = wanted(frame)
            if found is not None:
                return found
        pytest.fail("no such frame")

    def tcp(self, condition=lambda flags, data: True):
        def wanted(frame):
            if frame[12:14] != b"\x08\x00" or frame[23] != 6 or frame[26:30] != THEIR_IP:
                return None
            total = struct.unpack_from("!H", frame, 16)[0]
            ip, tcp = frame[14:34], frame[34:14 + total]
            assert checksum(ip) == 0
            assert checksum(ip[12:20] + struct.pack("!BBH", 0, 6, len(tcp)) + tcp) == 0
            seq, ack, offset, flags = struct.unpack_from("!IIBB", tcp, 4)
            data = tcp[(offset >> 4) * 4:]
            return (seq, ack, flags, data) if condition(flags, data) else None
        return self.next(wanted)


@pytest.fixture
def peer(echo_program):
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    program = subprocess.Popen([echo_program, str(theirs.fileno())], pass_fds=[theirs.fileno()])
    theirs.close()
    yield Peer(ours)
    ours.close()
    assert program.wait(timeout=10) == 0, "the program ends when the other side hangs up"


@pytest.fixture
def ready_peer(peer):
    """A peer to whom the address has answered."""
    request = struct.pack("!HHBBH", 1, 0x800, 6, 4, 1) + OURS + OUR_IP + bytes(6) + THEIR_IP
    peer.send(b"\xff" * 6 + OURS + b"\x08\x06" + request)
    mac = peer.next(lambda f: f[22:28] if f[12:14] == b"\x08\x06" and f[20:22] == b"\x00\x02" else None)
    assert mac == THEIRS
    return peer


def test_ping(ready_peer):
    body = b"\x08\x00\x00\x00\x12\x34\x00\x01" + b"payload!"
    body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
    ready_peer.send(packet(1, body))
    reply = ready_peer.next(lambda f: f[34:] if f[12:14] == b"\x08\x00" and f[23] == 1 and f[34] == 0 else None)
    assert checksum(reply[:16]) == 0
    assert reply[4:16] == body[4:]


def test_echo(ready_peer):
    isn = 0xFFFFFFF0    # the sequence numbers wrap in the middle of the data
    ready_peer.send(segment(isn, 0, SYN))
    seq, ack, flags, _ = ready_peer.tcp(lambda flags, data: flags & SYN)
    assert flags == SYN | ACK and ack == (isn + 1) & 0xFFFFFFFF
    seq += 1
    sent = bytes(range(256)) * 8
    mine = isn + 1
    for at in range(0, len(sent), 512):
        ready_peer.send(segment(mine + at, seq, ACK | PSH, sent[at:at + 512]))
    got = b""
    while len(got) < len(sent):
        got_seq, ack, flags, data = ready_peer.tcp(lambda flags, data: data)
        offset = (got_seq - seq) & 0xFFFFFFFF
        assert offset <= len(got) and not flags & RST
        got = got[:offset] + data
        ready_peer.send(segment(mine + len(sent), seq + len(got), ACK))
    assert got == sent
    ready_peer.send(segment(mine + len(sent), seq + len(got), ACK | FIN))
    fin_seq, ack, flags, _ = ready_peer.tcp(lambda flags, data: flags & FIN)
    assert fin_seq == (seq + len(got)) & 0xFFFFFFFF and ack == (mine + len(sent) + 1) & 0xFFFFFFFF
    ready_peer.send(segment(mine + len(sent) + 1, fin_seq + 1, ACK))


def timestamps(value, echoed):
    return struct.pack("!BBBBII", 1, 1, 8, 10, value, echoed)


def test_time_goes_on_while_it_waits(ready_peer):
    """What comes after a silence comes then, and not when the silence began: the timestamps of RFC 7323, of
    milliseconds, say so."""
    def stamp(wanted_flags):
        def wanted(frame):
            if frame[12:14] != b"\x08\x00" or frame[47] != wanted_flags:
                return None
            return struct.unpack_from("!I", frame, 38)[0], \
                struct.unpack_from("!I", frame, frame.index(b"\x08\x0a", 54) + 2)[0]
        return ready_peer.next(wanted)
    ready_peer.send(segment(1000, 0, SYN, options=timestamps(1, 0)))
    seq, last = stamp(SYN | ACK)
    for number in range(1, 4):
        time.sleep(0.3)
        ready_peer.send(segment(1000 + number, seq + number, ACK | PSH, b"x", options=timestamps(2, last)))
        _, now = stamp(ACK | PSH)
        assert 250 <= now - last < 5000
        last = now


def test_refused(ready_peer):
    ready_peer.send(segment(1000, 0, SYN, port=8))
    _, ack, flags, _ = ready_peer.tcp()
    assert flags == RST | ACK and ack == 1001


def test_usage(echo_program):
    done = subprocess.run([echo_program], capture_output=True, text=True, timeout=10)
    assert done.returncode == 1 and "usage: " in done.stderr
