# SPDX-License-Identifier: MIT
"""A connection segment by segment, as a packet script has it: what the boards' drivers and the echo make of it."""
import collections
import struct
import time

import pytest

from conftest import BOARDS, udp_pair
from test_frames import IP4, IP6, OURS, THEIRS, arp_request, introduction, ip4, ip6, over, tcp

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
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

    def __init__(self, cable, its, ends, port=PORT, to=ECHO):
        self.cable, self.to, self.ends, self.ports = cable, ("127.0.0.1", its), ends, (port, to)
        self.ack, self.clock, self.echoed, self.patience = 0, 100, 0, 15

    def send(self, flags, seq, data=b"", options=b"", window=4096):
        """With a timestamp of its own, which the answer is to show."""
        self.clock += 1
        options += b"\x01\x01\x08\x0a" + struct.pack(">II", self.clock, self.echoed)
        segment = tcp(self.ends, self.ports[0], flags, options, data, seq, self.ack, self.ports[1], window)
        frame = ip4(6, segment) if self.ends is IP4 else ip6(6, segment)
        self.cable.sendto(frame.ljust(60, b"\0"), self.to)

    def introduce(self):
        self.cable.sendto(introduction(self.ends), self.to)

    def answer_neighbour(self, frame):
        if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\x01" and frame[38:42] == IP4[0]:
            reply = arp_request()[6:]    # the same words, as an answer to it alone
            self.cable.sendto(THEIRS + reply[:14] + b"\0\x02" + reply[16:26] + THEIRS + reply[32:], self.to)
        if frame[12:14] == b"\x86\xdd" and frame[54:55] == b"\x87" and frame[62:78] == IP6[0]:
            advertisement = over(IP6, 58, b"\x88\0\0\0\x60\0\0\0" + IP6[0] + b"\x02\x01" + OURS, 2)
            self.cable.sendto(ip6(58, advertisement)[:21] + b"\xff" + ip6(58, advertisement)[22:], self.to)

    def next(self):
        """The next segment of this connection."""
        end = time.monotonic() + self.patience
        while True:
            self.cable.settimeout(max(0.01, end - time.monotonic()))
            frame, packet, between = self.cable.recv(4096), b"", None
            if frame[:6] == OURS and frame[12:14] == b"\x08\0" and frame[23] == 6:
                packet, between = frame[34:14 + int.from_bytes(frame[16:18], "big")], (frame[30:34], frame[26:30])
            elif frame[:6] == OURS and frame[12:14] == b"\x86\xdd" and frame[20] == 6:
                packet, between = frame[54:54 + int.from_bytes(frame[18:20], "big")], (frame[38:54], frame[22:38])
            else:
                self.answer_neighbour(frame)
            if between == self.ends and packet[:4] == struct.pack(">HH", *self.ports[::-1]):
                break
        assert over(self.ends[::-1], 6, packet[:16] + b"\0\0" + packet[18:], 16) == packet
        seq, ack, head, flags = struct.unpack(">IIBB", packet[4:14])
        segment = Segment(seq, ack, flags, options_of(packet[20:head >> 2]), packet[head >> 2:])
        if TIMESTAMPS in segment.options:    # not in every reset
            self.echoed, theirs = words(segment.options[TIMESTAMPS])
            assert theirs <= self.clock
        return segment

    def open(self, seq=1000, mss=1460):
        """@return our next number"""
        self.send(SYN, seq, options=b"\x02\x04" + struct.pack(">H", mss) + b"\x04\x02\x03\x03\x07\x01\x01\x01")
        answer = self.next()
        assert (answer.flags, answer.ack) == (SYN | ACK, seq + 1)
        self.ack = answer.seq + 1
        self.send(ACK, seq + 1)
        return seq + 1

    def exchange(self, seq, octets):
        """Their echo, acknowledged. @return our next number"""
        self.send(ACK | PSH, seq, octets)
        assert self.data(octets).ack == seq + len(octets)
        self.ack += len(octets)
        self.send(ACK, seq + len(octets))
        return seq + len(octets)

    def end(self, seq):
        """Both ways."""
        self.send(ACK | FIN, seq)
        answer = self.until(lambda segment: segment.flags & FIN)
        assert (answer.seq, answer.ack, answer.data) == (self.ack, seq + 1, b"")
        self.ack += 1
        self.send(ACK, seq + 1)

    def data(self, octets):
        """These come, from where we have acknowledged, and nothing besides; some of it again, if we were slow to say
        that it is there. @return the last segment"""
        got, seq = b"", self.ack
        while len(got) < len(octets):
            segment = self.next()
            again = seq + len(got) - segment.seq
            assert not segment.data or again >= 0
            got += segment.data[again:]
            assert not segment.data or again > len(got) or got[segment.seq - seq:].startswith(segment.data)
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

    def start(board, app="echo"):
        its, ours, cable = udp_pair()
        sockets.append(cable)
        return firmware(board, app, "--network", f"dgram:{its},{ours}").ready(), its, cable
    yield start
    for one in sockets:
        one.close()


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("ends", [IP4, IP6], ids=["ip4", "ip6"])
def test_exchange(cabled_echo, board, ends):
    running, its, cable = cabled_echo(board)
    peer = Peer(cable, its, ends)

    # Opened with everything: RFC 9293 3.7.1, RFC 7323 2.2 and 3.2, RFC 2018 2.
    peer.send(SYN, 1000, options=b"\x02\x04\x05\xb4\x04\x02\x03\x03\x07\x01\x01\x01")
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
    peer.end(1031)
    running.quit()


def reset_in_the_middle(running, peer):
    """At another number than the next it is no end, but a question whether it was meant (RFC 5961 3.2); at the next it
    is: nobody is there any more, and the descriptor is free for others."""
    at = peer.exchange(peer.open(), b"before")
    peer.send(RST, at + 100)
    answer = peer.next()
    assert (answer.flags, answer.seq, answer.ack) == (ACK, peer.ack, at)
    at = peer.exchange(at, b"goes on")
    peer.send(ACK | PSH, at, b"unanswered")
    peer.send(RST, at + 10)
    peer.send(ACK, at + 10)
    answer = peer.until(lambda segment: segment.flags & RST)
    assert answer.seq == peer.ack


def closed_window(running, peer):
    """An echo that finds it closed stays where it is; probes ask for it (RFC 9293 3.8.6.1), and when it opens all
    comes."""
    at = peer.exchange(peer.open(), b"open")
    peer.send(ACK, at, window=0)
    peer.send(ACK | PSH, at, b"0123456789", window=0)
    answer = peer.next()
    assert (answer.ack, answer.data) == (at + 10, b"")
    probe = peer.next()
    assert len(probe.data) <= 1 and probe.seq - peer.ack in (-1, 0)
    peer.send(ACK, at + 10, window=0)    # still closed: one more, later
    again = peer.next()
    assert (again.seq, again.data) == (probe.seq, probe.data)
    peer.send(ACK, at + 10)
    got = b""
    while len(got) < 10:
        segment = peer.next()
        assert segment.seq - peer.ack <= len(got)
        got = got[:segment.seq - peer.ack] + segment.data
    assert got == b"0123456789"
    peer.ack += 10
    peer.end(at + 10)


def loss(running, peer):
    """Of three segments the first is lost: when the others are said to be there (RFC 2018) it comes again, alone."""
    at = peer.open(mss=536)
    at = peer.exchange(at, b"round trip")
    octets = bytes(range(200)) * 6
    for piece in range(0, 1200, 400):
        peer.send(ACK | PSH, at + piece, octets[piece:piece + 400])
    sent = {}
    while sum(map(len, sent.values())) < 1200:
        segment = peer.next()
        if segment.data:
            assert segment.seq not in sent
            sent[segment.seq] = segment.data
    assert b"".join(sent[seq] for seq in sorted(sent)) == octets and len(sent) >= 3
    second, last = sorted(sent)[1], peer.ack + 1200
    peer.send(ACK, at + 1200, options=b"\x01\x01\x05\x0a" + struct.pack(">II", second, last))
    again = peer.next()
    assert (again.seq, again.data) == (peer.ack, sent[peer.ack])
    peer.ack += 1200
    peer.send(ACK, at + 1200)
    peer.end(at + 1200)


def half_closed(running, peer):
    """Our last octets and the end together: all comes back before the end of the other side, which comes again until we
    have heard of it."""
    at, octets = peer.open(), 200 * b"last"
    peer.send(ACK | PSH | FIN, at, octets)
    segment, got = peer.next(), b""
    while not segment.flags & FIN:
        assert not segment.data or segment.seq == peer.ack + len(got)
        got += segment.data
        segment = peer.next()
    assert got + segment.data == octets and segment.ack == at + 801
    again = peer.until(lambda segment: segment.flags & FIN)
    assert again.seq + len(again.data) == peer.ack + 800
    peer.ack += 801
    peer.send(ACK, at + 801)
    peer.send(ACK | PSH, at + 801, b"late")    # nobody is there any more who would take it
    assert not peer.until(lambda segment: segment.flags & (RST | ACK)).data


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("history", [reset_in_the_middle, closed_window, loss, half_closed])
def test_history(cabled_echo, board, history):
    """Over IPv4, then over IPv6."""
    running, its, cable = cabled_echo(board)
    for ends in (IP4, IP6):
        history(running, Peer(cable, its, ends))
    running.quit()


@pytest.mark.parametrize("board", BOARDS)
def test_both_end_at_once(cabled_echo, board):
    """The end of the web server and ours cross each other (RFC 9293 3.6, case 3); who has not heard that ours was heard
    says it again, and is answered."""
    running, its, cable = cabled_echo(board, "http")
    for ends in (IP4, IP6):
        peer = Peer(cable, its, ends, to=80)
        at, ask = peer.open(), b"HEAD /nothing HTTP/1.0\r\n\r\n"
        peer.send(ACK | PSH, at, ask)
        answer = b""
        while not (segment := peer.next()).flags & FIN:
            answer += segment.data
        answer += segment.data
        assert answer.startswith(b"HTTP/1.1 404 ") and segment.ack == at + len(ask)
        peer.ack += len(answer)    # and not of their end
        peer.send(ACK | FIN, at + len(ask))
        heard = peer.until(lambda segment: segment.ack == at + len(ask) + 1)
        assert not heard.data and heard.seq - peer.ack in (0, 1)
        peer.ack += 1
        peer.send(ACK, at + len(ask) + 1)
        peer.send(ACK | FIN, at + len(ask))
        segment = peer.until(lambda segment: not segment.flags & FIN)
        assert (segment.flags, segment.seq, segment.ack) == (ACK, peer.ack, at + len(ask) + 1)
    running.quit()
