# SPDX-License-Identifier: MIT
"""Frames that we write, over QEMU's dgram netdev: a UDP datagram each; and Tenon as the peer."""
import json
import os
import socket
import struct
import subprocess
import time

import pytest

from conftest import BOARDS, chance_of, held, udp_pair

FRAMES = int(os.environ.get("TENON_FIRMWARE_FRAMES", 3000))
every_board = pytest.mark.parametrize("board", BOARDS)
OURS, THEIRS, ALL = b"\x02\0\0\0\0\x02", b"\x52\x54\0\x12\x34\x56", b"\xff" * 6
IP4 = (socket.inet_aton("10.0.2.2"), socket.inet_aton("10.0.2.15"))
IP6 = (socket.inet_pton(socket.AF_INET6, "fd00:10::2"), socket.inet_pton(socket.AF_INET6, "fd00:10::15"))
SILENT = (socket.inet_aton("10.0.2.50"), IP4[1])    # somebody who asks and never answers
PORTS = {"http": 80, "echo": 7, "logger": 7100, "download": 80}
DHCP_SERVER, DHCP_CLIENT, OFFER, ACK, NAK = 67, 68, 2, 5, 6


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip4(protocol, payload, fragment=0, ident=1, ends=IP4):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), ident, fragment, 64, protocol, 0, *ends)
    return THEIRS + OURS + b"\x08\0" + head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def ip6(protocol, payload):
    head = struct.pack(">IHBB", 6 << 28, len(payload), protocol, 64) + b"".join(IP6)
    return THEIRS + OURS + b"\x86\xdd" + head + payload


def over(ends, protocol, payload, at):
    """The payload with the checksum at `at` that its pseudo-header demands."""
    pseudo = b"".join(ends) + (struct.pack(">BBH", 0, protocol, len(payload)) if len(ends[0]) == 4
                               else struct.pack(">IHBB", len(payload), 0, 0, protocol))
    return payload[:at] + struct.pack(">H", checksum(pseudo + payload)) + payload[at + 2:]


def tcp(ends, port, flags, options=b"", data=b"", seq=1, ack=0, to=80, window=4096):
    head = struct.pack(">HHIIBBHHH", port, to, seq, ack, (20 + len(options)) // 4 << 4, flags, window, 0, 0)
    return over(ends, 6, head + options + data, 16)


def udp(ends, port, data, source=40000):
    return over(ends, 17, struct.pack(">HHHH", source, port, 8 + len(data), 0) + data, 6)


def dhcp(kind, xid):
    """What a server says (RFC 2131 2): the address that the board has, and options of all kinds."""
    options = (b"\x35\x01" + bytes([kind]) + b"\x36\x04" + IP4[0] + b"\x33\x04\0\0\x0e\x10"
               + b"\x01\x04\xff\xff\xff\0\x03\x04" + IP4[0] + b"\x06\x08" + 2 * IP4[0]
               + b"\x1a\x02\x05\xdc\x2a\x04" + IP4[0] + b"\x79\x05\0" + IP4[0] + b"\x0f\x04home\xff")
    head = (b"\x02\x01\x06\0" + xid + 8 * b"\0" + IP4[1] + IP4[0] + 4 * b"\0" + THEIRS + 202 * b"\0"
            + b"\x63\x82\x53\x63")
    return ip4(17, udp(IP4, DHCP_CLIENT, head + options, DHCP_SERVER))


def is_lease(frame):
    """Who is given an address by it has another one from then on, as it should."""
    return frame[36:38] == b"\0\x44" and frame[284:285] == bytes([ACK])


def arp_request(ip=IP4[0]):
    return (ALL + OURS + b"\x08\x06" + struct.pack(">HHBBH", 1, 0x800, 6, 4, 1) + OURS + ip + 6 * b"\0" + IP4[1]).ljust(
        60, b"\0")


def introduction(ends):
    """Whoever gets this knows where we are, whatever others have said: a question for its own address."""
    if ends is IP4:
        return arp_request()
    frame = ip6(58, over(IP6, 58, b"\x87\0\0\0\0\0\0\0" + IP6[1] + b"\x01\x01" + OURS, 2))
    return frame[:21] + b"\xff" + frame[22:]


def seeds(port=80):
    """Frames that are right, of every kind that Tenon knows, to a program that listens at that port: what is broken
    below."""
    options = b"\x02\x04\x05\xb4\x04\x02\x08\x0a\0\0\0\x01\0\0\0\0\x01\x03\x03\x07"
    echo6 = over(IP6, 58, b"\x80\0\0\0\0\x01\0\x01" + 40 * b"x", 2)
    echo4 = b"\x08\0\0\0\0\x01\0\x01" + 40 * b"x"
    echo4 = echo4[:2] + struct.pack(">H", checksum(echo4)) + echo4[4:]
    solicitation = over(IP6, 58, b"\x87\0\0\0\0\0\0\0" + IP6[1] + b"\x01\x01" + OURS, 2)
    advertisement = over(IP6, 58, b"\x86\0\0\0\x40\0\x07\x08" + 8 * b"\0" + b"\x03\x04\x40\xc0\0\0\x0e\x10\0\0\x0e\x10"
                         + 4 * b"\0" + IP6[0][:8] + 8 * b"\0" + b"\x19\x03\0\0\0\0\x0e\x10" + IP6[0], 2)
    return [
        arp_request(),
        ip4(1, echo4), ip4(1, echo4, 0x2000), ip4(1, echo4, 0x2003), ip4(17, udp(IP4, 7, 900 * b"u"), 0x2000),
        *(frame for to in (port, 7, 9, DHCP_CLIENT)
          for frame in (ip4(17, udp(IP4, to, b"u")), ip4(17, udp(IP4, to, 300 * b"u")), ip6(17, udp(IP6, to, b"u")))),
        ip4(6, tcp(IP4, 1234, 2, options, to=port)), ip4(6, tcp(IP4, 1234, 16, b"", b"GET / HTTP/1.1\r\n", to=port)),
        ip4(6, tcp(IP4, 1235, 4, to=port)), ip4(6, tcp(IP4, 1234, 0x29, to=port)),
        ip4(2, b"\x11\0\xee\xff\0\0\0\0"), ip4(47, 20 * b"\0"),
        ip4(1, b"\x03\x04\0\0\0\0\x02\0" + ip4(6, tcp(IP4, 80, 16))[14:54]),
        ip6(58, echo6), ip6(58, solicitation), ip6(58, advertisement), ip6(6, tcp(IP6, 1234, 2, options, to=port)),
        ip6(44, b"\x06\0\0\x01\0\0\0\x07" + 64 * b"f"),
        ip6(44, b"\x06\0\0\x40\0\0\0\x07" + 9 * b"f"),
        ip6(0, b"\x3a\0\x05\x02\0\0\x01\0" + echo6), ip6(43, b"\x3a\x02\0\x01" + 20 * b"\0"), ip6(60, 300 * b"\0"),
        ALL + OURS + b"\x81\0\0\x05\x08\0" + 60 * b"v", ALL + OURS + b"\x88\xcc" + 50 * b"l",
    ]


def mended(frame):
    """The same with right checksums, where its headers say where these are: somebody looks at the rest then."""
    if frame[12:14] == b"\x08\0" and len(frame) >= 34 and frame[14] == 0x45:
        frame = frame[:24] + b"\0\0" + frame[26:]
        frame = frame[:24] + struct.pack(">H", checksum(frame[14:34])) + frame[26:]
        at, end, protocol, ends = 34, 14 + int.from_bytes(frame[16:18], "big"), frame[23], (frame[26:30], frame[30:34])
        if frame[20] & 0x3F or frame[21]:
            return frame
    elif frame[12:14] == b"\x86\xdd" and len(frame) >= 54:
        at, end, protocol, ends = 54, 54 + int.from_bytes(frame[18:20], "big"), frame[20], (frame[22:38], frame[38:54])
    else:
        return frame
    where = {6: 16, 17: 6, 58: 2}.get(protocol)
    if where is None or not at + where + 2 <= end <= len(frame):
        return frame
    packet = frame[at:at + where] + b"\0\0" + frame[at + where + 2:end]
    return frame[:at] + over(ends, protocol, packet, where) + frame[end:]


def broken(chance, frames):
    """One of them with some octets changed, cut or prolonged, every second time with right checksums; or noise."""
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
    return mended(bytes(frame)) if chance.random() < 0.5 else bytes(frame)


def udp_answers(wrap, ends, datagram):
    """Of the servers that the board asks."""
    port, to = struct.unpack(">HH", datagram[:4])
    if to == DHCP_SERVER:
        return [dhcp(kind, datagram[12:16]) for kind in (OFFER, NAK)]
    data = []
    if to == 53:    # the question, and an address of 60 seconds (RFC 1035 4.1)
        data = [datagram[8:10] + b"\x81\x80\0\1\0\1\0\0\0\0" + datagram[20:]
                + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + IP4[0]]
    if to == 69:
        data = [b"\0\3\0\1" + 512 * b"d", b"\0\6tsize\0" + b"77\0", b"\0\5\0\1no\0"]
    return [wrap(17, udp(ends, port, what, to)) for what in data]


def tcp_answers(wrap, ends, packet):
    """A connection, and a page."""
    port, to, seq, ack = struct.unpack(">HHII", packet[:12])
    page = b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n1234567"
    if packet[13] & 2:
        return [wrap(6, tcp(ends, to, 18, b"\x02\x04\x05\xb4", b"", 9000, seq + 1, port))]
    return [wrap(6, tcp(ends, to, 24, b"", data, ack, seq, port)) for data in (page, page.replace(b"7\r", b"999\r"))]


def answers(frame):
    """What somebody would answer to a frame of the board: to be broken, too."""
    if frame[12:14] == b"\x08\0":
        wrap, ends, protocol, packet = ip4, IP4, frame[23], frame[34:]
    elif frame[12:14] == b"\x86\xdd":
        wrap, ends, protocol, packet = ip6, IP6, frame[20], frame[54:]
    else:
        return []
    make = {6: tcp_answers, 17: udp_answers}.get(protocol)
    return make(wrap, ends, packet) if make else []


class Cable:
    """Our end: frames in datagrams. Every so often we wait for an answer, so that none is lost in between. What has
    come meanwhile: `heard`."""

    def __init__(self, ours, port):
        self.socket, self.to, self.pending, self.breaths, self.heard = ours, ("127.0.0.1", port), 0, 0, []

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
                    self.heard.append(frame)
            except TimeoutError:
                continue
        raise AssertionError("it does not answer ARP any more")

    def crowd(self):
        """More come than the board remembers the way to: from now on each new one takes the place of another."""
        for number in range(60, 76):
            ends = (socket.inet_aton(f"10.0.2.{number}"), IP4[1])
            self.send(arp_request(ends[0]))
            self.send(ip4(6, tcp(ends, 1234, 16, to=9), ends=ends))    # a reset is its answer
        self.breathe()

    def garbage(self, chance, frames, count, but=is_lease):
        """So many, without those of which but(frame) is true; and what would be answers to what comes."""
        self.breathe()
        told = []
        for _ in range(count):
            for frame in self.heard:
                told = (told + answers(frame))[-40:]
            self.heard.clear()
            frame = broken(chance, told if told and chance.random() < 0.3 else frames)
            if not but(frame):
                self.send(frame)
        self.breathe()


def fetch(tenon, running_port, our_port, host, address=None, path=""):
    """By Tenon at the other end of the cable. @return what it got"""
    address = address or ("10.0.2.2/24" if "." in host else "fd00:10::2/64")
    done = subprocess.run([tenon, "get", "--port", f"dgram:127.0.0.1:{our_port},peer=127.0.0.1:{running_port}",
                           "--address", address, f"http://{host}/{path}"],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr[-800:]
    assert path or "</script>" in done.stdout
    return done.stdout


@pytest.fixture
def cabled(firmware):
    """cabled(board): a program on a cable whose other end is ours, and the two ports."""
    open_ones = []

    def start(board, *options, app="http"):
        its, ours, socket_ = udp_pair()
        open_ones.append(socket_)
        running = firmware(board, app, "--network", f"dgram:{its},{ours}", *options).ready()
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
    """It lives through frames that are broken in all ways, and serves as before. The frames are the same each time, but
    for TENON_FIRMWARE_SEED."""
    running, its, ours, socket_ = cabled(board)
    cable = Cable(socket_, its)
    before = running.status()
    cable.garbage(chance_of(6), seeds(), FRAMES)
    after = running.status()
    assert after["rx_frames"] - before["rx_frames"] >= 0.9 * FRAMES
    socket_.close()
    fetch(tenon, its, ours, "10.0.2.15")
    fetch(tenon, its, ours, "[fd00:10::15]")
    running.quit()


@every_board
def test_garbage_and_then_silence(cabled, board):
    """When the tables are as full as they get, garbage of all kinds, with fragments and connection requests, is
    forgotten to the octet when their time is over."""
    running, its, _, socket_ = cabled(board)
    cable = Cable(socket_, its)
    cable.crowd()
    cable.garbage(chance_of(8), seeds(), FRAMES // 2)
    before = running.pass_time()
    cable.garbage(chance_of(9), seeds(), FRAMES // 2)
    while_it_ran = running.status()
    assert held(while_it_ran) != held(before)    # it was remembered
    assert held(running.pass_time()) == held(before)
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
    cable.crowd()
    for _ in range(4):
        cable.garbage(chance_of(7), frames, FRAMES // 4, lambda frame: is_kept(frame) or is_lease(frame))
        seen.append(held(running.status()))
    assert seen[1:] == 3 * seen[1:2], seen    # header buffers may still wait for a neighbour's address
    socket_.close()
    fetch(tenon, its, ours, "10.0.2.15")
    running.quit()


def flood(cable, ports):
    """Connection requests of somebody who never answers. @return how many of them are answered"""
    cable.send(arp_request(SILENT[0]))
    cable.heard.clear()
    for port in ports:
        cable.send(ip4(6, tcp(SILENT, port, 2), ends=SILENT))
    cable.breathe()
    answered = {int.from_bytes(frame[36:38], "big") for frame in cable.heard
                if frame[30:34] == SILENT[0] and frame[23] == 6 and frame[47] == 18}
    return len(answered & set(ports))


# Of 50 who come at once; one for each descriptor that waits. Memory for them is at an end before on the smallest
# board, and the others get cookies there.
PROMISED = {"lm3s6965evb": 50, "mps2-an385": 16, "mcf5208evb": 16}


def flooded(running, cable, board):
    """Twice: what is kept for the next of its kind is there after the first. All are answered when those who had
    something promised have not said anything for a second. @return the state between, at rest, and how many got no
    answer"""
    cable.crowd()
    answered = flood(cable, range(500, 550))
    assert answered == PROMISED[board]
    before = running.pass_time()
    assert flood(cable, range(600, 650)) == answered
    running.pass_time(2)
    assert flood(cable, range(1000, 1100)) == 100
    first = running.status()
    assert flood(cable, range(1100, 1400)) == 300
    assert held(running.status()) == held(first) != held(before)
    return before, 2 * (50 - answered)


@every_board
def test_flood_of_requests(cabled, tenon, board):
    """Those that there is room for are kept, all others answered with a cookie and not kept; who really wants something
    is served meanwhile, and when the time is over all is as it was after the flood before."""
    running, its, ours, socket_ = cabled(board)
    socket_.close()
    fetch(tenon, its, ours, "10.0.2.15")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as socket_:
        socket_.bind(("127.0.0.1", ours))
        before, waiting = flooded(running, Cable(socket_, its), board)
    began = time.monotonic()
    fetch(tenon, its, ours, "10.0.2.15")
    numbers = json.loads(fetch(tenon, its, ours, "10.0.2.15", path="status.json"))
    assert time.monotonic() - began < 60    # half-open connections of the flood would be in the way for three minutes
    kept = numbers["tcp_syn_rcvd"] - numbers["tcp_cookie_sent"] - waiting    # of the floods, and two of the fetches
    assert 2 * 6 <= kept <= 2 * 24 + 2 and numbers["tcp_cookie_good"] == numbers["tcp_backlog_recycled"] == 1
    assert held(running.pass_time()) == held(before)
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
