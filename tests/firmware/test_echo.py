# SPDX-License-Identifier: MIT
"""ports/boards/apps/echo.c, and what boards do that no program is in."""
import os
import re
import socket
import struct
import subprocess
import threading

import board_tool
import pytest

from conftest import AT_ONCE, BOARDS, BUILD, CORTEX_M, DMA, tool, udp_pair
from test_frames import IP4, IP6, checksum, introduction, ip4, ip6, over, udp

every_board = pytest.mark.parametrize("board", BOARDS)


def exchange(port, data):
    """Send all of it and receive at the same time."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as s:
        def send():
            s.sendall(data)
            s.shutdown(socket.SHUT_WR)
        sender = threading.Thread(target=send)
        sender.start()
        got = bytearray()
        while piece := s.recv(65536):
            got += piece
        sender.join()
    return bytes(got)


@every_board
def test_echo(firmware, board):
    running = firmware(board, "echo").ready()
    data = os.urandom(100000)
    assert exchange(running.port(), data) == data
    running.quit()


class Datagrams:
    """A cable with datagrams to the echo and from it."""

    def __init__(self, cable, its, ends):
        self.cable, self.to, self.ends = cable, ("127.0.0.1", its), ends
        self.wrap, self.head, self.kind = (ip4, 34, b"\x08\0") if ends is IP4 else (ip6, 54, b"\x86\xdd")
        self.cable.settimeout(15)
        self.cable.sendto(introduction(ends), self.to)

    def send(self, data, source):
        self.cable.sendto(self.wrap(17, udp(self.ends, 7, data, source)).ljust(60, b"\0"), self.to)

    def send_in_fragments(self, data, source, at=512):
        datagram = udp(self.ends, 7, data, source)
        if self.ends is IP4:
            pieces = [ip4(17, datagram[:at], 0x2000), ip4(17, datagram[at:], at // 8)]
        else:
            pieces = [ip6(44, b"\x11\0" + where.to_bytes(2, "big") + b"\0\0\0\1" + piece)
                      for where, piece in ((1, datagram[:at]), (at, datagram[at:]))]
        for piece in pieces[::-1]:
            self.cable.sendto(piece.ljust(60, b"\0"), self.to)

    def settle(self):
        """What was sent has been read when this is answered."""
        self.cable.sendto(introduction(self.ends), self.to)
        while True:
            frame = self.cable.recv(4096)
            if frame[12:14] == b"\x08\x06" and frame[20:22] == b"\0\x02":
                return
            if frame[12:14] == b"\x86\xdd" and frame[54] == 136:
                return

    def next(self):
        """@return the next datagram of the echo and the port that it is for"""
        while True:
            frame = self.cable.recv(4096)
            if frame[12:14] == self.kind and frame[self.head:self.head + 2] == b"\0\x07":
                break
        addresses = (frame[26:30], frame[30:34]) if self.ends is IP4 else (frame[22:38], frame[38:54])
        datagram = frame[self.head:self.head + int.from_bytes(frame[self.head + 4:self.head + 6], "big")]
        assert addresses == self.ends[::-1]
        assert over(self.ends[::-1], 17, datagram[:6] + b"\0\0" + datagram[8:], 6) == datagram
        assert self.ends is IP6 or checksum(frame[14:34]) == 0
        return datagram[8:], int.from_bytes(datagram[2:4], "big")


@every_board
def test_datagrams(firmware, board):
    """By UDP, over IPv4 and IPv6: all sizes that a frame has room for, to each sender his own, and a datagram that came
    in fragments together again. Another echo is not answered."""
    its, ours, cable = udp_pair()
    with cable:
        running = firmware(board, "echo", "--network", f"dgram:{its},{ours}").ready()
        for ends, most in ((IP4, 1472), (IP6, 1452)):
            peer = Datagrams(cable, its, ends)
            for port, size in enumerate((1, 2, 3, 17, 128, 129, 500, most), 5000):
                data = os.urandom(size)
                peer.send(data, port)
                assert peer.next() == (data, port)
            before, data = running.status(), [os.urandom(1000), os.urandom(1400)]
            peer.send(data[0], 7)    # or they would answer each other for ever
            peer.send(data[0], 6000)
            assert peer.next() == (data[0], 6000)
            after = running.status()
            assert after["copied"] - before["copied"] in (0, 300)    # no octet of it; DHCP may have asked again
            moved = after["moved"] - before["moved"]
            assert moved < 400 if board in DMA else 3000 < moved < 3600
            peer.send_in_fragments(data[1], 6001)
            assert peer.next() == (data[1], 6001)
            peer.send_in_fragments(os.urandom(most + 8), 6002)    # more than a packet of the ring has: it is lost
            peer.settle()
            peer.send(data[0], 6003)
            assert peer.next() == (data[0], 6003)
        running.quit()


SMALL_BLOCKS = (*AT_ONCE, "--set", "BOARD_MRU=1280")


@every_board
def test_blocks_smaller_than_frames(firmware, board):
    """TCP's peers are told how much a block holds. What others send is dropped when it is more, and counted."""
    running = firmware(board, "echo", settings=SMALL_BLOCKS).ready()
    data = os.urandom(100000)
    assert exchange(running.port(), data) == data
    assert running.status()["too_long"] == 0
    running.quit()
    its, ours, cable = udp_pair()
    with cable:
        running = firmware(board, "echo", "--network", f"dgram:{its},{ours}", settings=SMALL_BLOCKS).ready()
        peer = Datagrams(cable, its, IP4)
        for size in (1252, 1472, 1400, 1252, 1472, 1):
            data = os.urandom(size)
            peer.send(data, 5000)
            if size <= 1252:
                assert peer.next() == (data, 5000)
        status = running.status()
        assert status["too_long"] == 3
        assert status["rx_dropped"] == status["no_block"] == 0
        running.quit()


@pytest.mark.parametrize("board", CORTEX_M)
def test_strict_alignment(firmware, board):
    """Built for processors that load words from even addresses only, with the trap for others switched on."""
    running = firmware(board, "echo", "--strict").ready()
    data = os.urandom(20001)
    assert exchange(running.port(), data) == data
    running.quit()


@every_board
def test_optimised_as_one(firmware, board):
    """All files as one when they are linked, whose functions go into each other: it answers, and in less flash."""
    as_one = (*AT_ONCE, "--set", "BOARD_LTO=ON")
    running = firmware(board, "echo", settings=as_one).ready()
    data = os.urandom(100001)
    assert exchange(running.port(), data) == data
    running.quit()
    sizes = [subprocess.run(tool("size", board, "echo", *settings), capture_output=True, text=True, check=True).stdout
             for settings in (as_one, AT_ONCE)]
    flash = [int(re.search(r"^flash +([\d,]+)$", size, re.MULTILINE).group(1).replace(",", "")) for size in sizes]
    assert flash[0] < 0.98 * flash[1]


@every_board
def test_sleeps_when_idle(firmware, board):
    running = firmware(board, "echo").ready()
    exchange(running.port(), b"x")
    for _ in range(5):    # a machine that is busy stops QEMU, and the board's clock with it, now and then
        before = running.status()
        threading.Event().wait(2)
        after = running.status()
        passed = after["us"] - before["us"]
        if passed > 1500000:
            break
    assert passed > 1500000
    assert (after["asleep_ms"] - before["asleep_ms"]) * 1000 > 0.8 * passed
    assert 0 < after["interrupts"] < 1000
    running.quit()


@pytest.mark.parametrize("board", CORTEX_M)
def test_no_randomness_no_start(firmware, board):
    """Without a debugger a call of semihosting is a fault, which is survived; and without randomness nothing starts."""
    running = firmware(board, "echo", semihosting=False)
    running.wait_for("no start: a limit, or no source of randomness")


@pytest.mark.parametrize("board", CORTEX_M)
def test_stack_overflow(built, tmp_path, board):
    """An image whose stack begins 512 bytes above its end says why it ends."""
    built(board, *AT_ONCE)
    command, _ = board_tool.module.command_of(board_tool.module.arguments(
        ["run", board, "echo", "--build", BUILD, *AT_ONCE]))
    elf, image = command[command.index("-kernel") + 1], tmp_path / "image.bin"
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", elf, image], check=True)
    symbols = subprocess.run(["arm-none-eabi-nm", elf], capture_output=True, text=True, check=True).stdout
    low = int(re.search(r"^(\w+) . board_stack_low$", symbols, re.MULTILINE).group(1), 16)
    image.write_bytes(struct.pack("<I", low + 512) + image.read_bytes()[4:])
    command[command.index("-kernel") + 1] = str(image)
    done = subprocess.run(["timeout", "20", *command], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 3 and "stack overflow" in done.stdout
