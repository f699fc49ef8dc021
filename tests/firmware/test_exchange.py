# SPDX-License-Identifier: MIT
"""A connection segment by segment, as a packet script has it: what the boards' drivers and the echo make of it."""
import collections
import struct

import pytest

from conftest import BOARDS, udp_pair
from test_frames import IP4, IP6, OURS, THEIRS, arp_request, ip4, ip6, over, tcp

FIN, SYN, PSH, ACK = 1, 2, 8, 16
PORT, ECHO = 40000, 7
MSS, SCALE, SACK_PERMITTED, SACK, TIMESTAMPS = 2, 3, 4, 5, 8
Segment = collections.namedtuple("Segment", "seq ack flags options data")


def options_of(octets):
    """{kind: value}"""
    found, at = {}, 0
    while at < len(octets) and octets[at] != 0:
        if octets[at] == 1:
            at += 1
            continue
        found[octets[at]] = octets[at + 2:at + octets[at + 1]]
        at += octets[at + 1]
    return found


def words(octets):
    return struct.unpack(f">{len(octets) // 4}I", octets)


class Peer:
    """Our end of the connection. All that comes has to have a right checksum; who asks for our address gets it."""

    def __init__(self, cable, its, ends):
        self.cable, self.to, self.ends = cable, ("127.0.0.1", its), ends
        self.ack, self.clock, self.echoed = 0, 100, 0
        cable.settimeout(15)

    def send(self, flags, seq, data=b"", syn_options=b""):
        """With a timestamp of its own, which the answer is to show."""
        self.clock += 1
        options = syn_options + b"\x01\x01\x08\x0a" + struct.pack(">II", self.clock, self.echoed)
        segment = tcp(self.ends, PORT, flags, options, data, seq, self.ack, ECHO)
        frame = ip4(6, segment) if self.ends is IP4 else ip6(6, segment)
        self.cable.sendto(frame.ljust(60, b"\0"), self.to)

    def answer_neighbour(self, frame):
        if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\x01" and frame[38:42] == IP4[0]:
            reply = arp_request()[6:]    # the same words, as an answer to it alone
            self.cable.sendto(THEIRS + reply[:14] + b"\0\x02" + reply[16:26] + THEIRS + reply[32:], self.to)
        if frame[12:14] == b"\x86\xdd" and frame[54:55] == b"\x87" and frame[62:78] == IP6[0]:
            advertisement = over(IP6, 58, b"\x88\0\0\0\x60\0\0\0" + IP6[0] + b"\x02\x01" + OURS, 2)
            self.cable.sendto(ip6(58, advertisement)[:21] + b"\xff" + ip6(58, advertisement)[22:], self.to)

    def next(self):
        """The next segment to us."""
        while True:
            frame = self.cable.recv(4096)
            if frame[:6] == OURS and frame[12:14] == b"\x08\0" and frame[23] == 6:
                packet = frame[34:14 + int.from_bytes(frame[16:18], "big")]
            elif frame[:6] == OURS and frame[12:14] == b"\x86\xdd" and frame[20] == 6:
                packet = frame[54:54 + int.from_bytes(frame[18:20], "big")]
            else:
                self.answer_neighbour(frame)
                continue
            break
        assert over(self.ends[::-1], 6, packet[:16] + b"\0\0" + packet[18:], 16) == packet
        seq, ack, head, flags = struct.unpack(">IIBB", packet[4:14])
        segment = Segment(seq, ack, flags, options_of(packet[20:head >> 2]), packet[head >> 2:])
        self.echoed, theirs = words(segment.options[TIMESTAMPS])
        assert theirs <= self.clock
        return segment

    def data(self, octets):
        """These come, from where we have acknowledged, and nothing besides. @return the last segment"""
        got, seq = b"", self.ack
        while len(got) < len(octets):
            segment = self.next()
            assert not segment.data or segment.seq == seq + len(got)
            got += segment.data
        assert got == octets
        return segment

    def until(self, wanted):
        """The next segment with which that is so."""
        while not wanted(segment := self.next()):
            pass
        return segment


@pytest.fixture
def cabled_echo(firmware):
    sockets = []

    def start(board):
        its, ours, cable = udp_pair()
        sockets.append(cable)
        return firmware(board, "echo", "--network", f"dgram:{its},{ours}").ready(), its, cable
    yield start
    for one in sockets:
        one.close()


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("ends", [IP4, IP6], ids=["ip4", "ip6"])
def test_exchange(cabled_echo, board, ends):
    running, its, cable = cabled_echo(board)
    peer = Peer(cable, its, ends)

    # Opened with everything: RFC 9293 3.7.1, RFC 7323 2.2 and 3.2, RFC 2018 2.
    peer.send(SYN, 1000, syn_options=b"\x02\x04\x05\xb4\x04\x02\x03\x03\x07\x01\x01\x01")
    answer = peer.next()
    assert answer.flags == SYN | ACK and answer.ack == 1001
    assert answer.options[MSS] == struct.pack(">H", 1460 if ends is IP4 else 1440)
    assert SCALE in answer.options and answer.options[SACK_PERMITTED] == b""
    assert words(answer.options[TIMESTAMPS])[1] == peer.clock
    peer.ack = answer.seq + 1
    peer.send(ACK, 1001)

    # Data, and their echo. It has the timestamp of what it acknowledges.
    peer.send(ACK | PSH, 1001, b"0123456789")
    answer = peer.data(b"0123456789")
    assert answer.ack == 1011 and words(answer.options[TIMESTAMPS])[1] == peer.clock
    peer.ack += 10
    peer.send(ACK, 1011)

    # An overlap: what was there before is not taken again.
    peer.send(ACK | PSH, 1006, b"56789abcde")
    assert peer.data(b"abcde").ack == 1016
    peer.ack += 5
    peer.send(ACK, 1016)

    # A gap: it says what it has (RFC 2018 4), and when the gap is closed all of it goes on.
    peer.send(ACK | PSH, 1021, b"klmno")
    answer = peer.next()
    assert (answer.ack, answer.data, words(answer.options[SACK])) == (1016, b"", (1021, 1026))
    peer.send(ACK | PSH, 1016, b"fghij")
    assert peer.data(b"fghijklmno").ack == 1026
    peer.ack += 10
    peer.send(ACK, 1026)

    # The same once more: an answer that says so (RFC 2883 4), and no echo.
    peer.send(ACK | PSH, 1016, b"fghij")
    answer = peer.until(lambda segment: SACK in segment.options)
    assert (answer.ack, answer.data, words(answer.options[SACK])) == (1026, b"", (1016, 1021))

    # Without our acknowledgement the echo comes again, as it was.
    peer.send(ACK | PSH, 1026, b"pqrst")
    first = peer.until(lambda segment: segment.data)
    again = peer.until(lambda segment: segment.data)
    assert (first.seq, first.data) == (again.seq, again.data) == (peer.ack, b"pqrst")
    peer.ack += 5

    # The end, both ways.
    peer.send(ACK | FIN, 1031)
    answer = peer.until(lambda segment: segment.flags & FIN)
    assert (answer.seq, answer.ack, answer.data) == (peer.ack, 1032, b"")
    peer.ack += 1
    peer.send(ACK, 1032)
    running.quit()
