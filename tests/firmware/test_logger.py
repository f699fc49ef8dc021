# SPDX-License-Identifier: MIT
"""ports/boards/apps/logger.c: samples that are written where they are sent from."""
import socket
import struct
import time

import pytest

from conftest import BOARDS, DMA

every_board = pytest.mark.parametrize("board", BOARDS)
SAMPLE = struct.Struct(">IIIhhhH")


def samples(s, count):
    data = b""
    while len(data) < count * SAMPLE.size:
        piece = s.recv(65536)
        assert piece, "it has ended"
        data += piece
    return list(SAMPLE.iter_unpack(data[:count * SAMPLE.size]))


def microseconds(row):
    return row[1] * 1_000_000 + row[2]


def check(rows):
    """Numbers go up by one and by what was lost, times with them, and what turns turns."""
    for before, row in zip(rows, rows[1:]):
        assert row[0] == before[0] + 1 + row[6]
        assert microseconds(before) < microseconds(row) < microseconds(before) + 10_000_000
        assert row[5] == row[0] % 10000 - 5000
    assert all(100_000_000 < x * x + y * y < 200_000_000 for _, _, _, x, y, _, _ in rows)


@every_board
def test_one_turn_a_sample(firmware, board):
    """What wakes the board each millisecond wakes it once."""
    running = firmware(board, "logger").ready()
    before = running.status()
    time.sleep(2)
    after = running.status()
    assert after["sleeps"] - before["sleeps"] < 1.3 * (after["us"] - before["us"]) / 1000
    running.quit()


@every_board
def test_stream(firmware, board):
    running = firmware(board, "logger").ready()
    with socket.create_connection(("127.0.0.1", running.port()), timeout=60) as s:
        before = running.status()
        rows = samples(s, 3000)
        check(rows)
        assert all(row[1] == 0 for row in rows)    # nobody has told the time
        after = running.status()
    if board in DMA:    # 3000 samples are 60,000 bytes, in packets with headers of 54
        assert after["moved"] - before["moved"] < 16000
    assert after["copied"] == before["copied"]
    running.quit()


@every_board
def test_two_clients_and_a_slow_one(firmware, board):
    """Who does not read loses samples, and is told how many; the other one notices nothing."""
    running = firmware(board, "logger").ready()
    at = ("127.0.0.1", running.port())
    with socket.socket() as slow, socket.create_connection(at, timeout=60) as quick:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        slow.settimeout(60)
        slow.connect(at)
        check(samples(slow, 10))
        check(samples(quick, 4000))
        time.sleep(0.1)
        check(samples(slow, 2000))
    running.quit()
