# SPDX-License-Identifier: MIT
"""ports/boards/apps/echo.c, and what boards do that no program is in."""
import os
import socket
import threading

import pytest

from conftest import BOARDS, CORTEX_M

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


@pytest.mark.parametrize("board", CORTEX_M)
def test_strict_alignment(firmware, board):
    """Built for processors that load words from even addresses only, with the trap for others switched on."""
    running = firmware(board, "echo", "--strict").ready()
    data = os.urandom(20001)
    assert exchange(running.port(), data) == data
    running.quit()


@every_board
def test_sleeps_when_idle(firmware, board):
    running = firmware(board, "echo").ready()
    exchange(running.port(), b"x")
    before = running.status()
    threading.Event().wait(2)
    after = running.status()
    passed = after["us"] - before["us"]
    assert passed > 1500000
    assert (after["asleep_ms"] - before["asleep_ms"]) * 1000 > 0.8 * passed
    assert 0 < after["interrupts"] < 1000
    running.quit()


@pytest.mark.parametrize("board", CORTEX_M)
def test_no_randomness_no_start(firmware, board):
    """Without a debugger a call of semihosting is a fault, which is survived; and without randomness nothing starts."""
    running = firmware(board, "echo", semihosting=False)
    running.wait_for("no start: a limit, or no source of randomness")
