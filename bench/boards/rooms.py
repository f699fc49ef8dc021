# SPDX-License-Identifier: MIT
"""How little memory does the work: the echo with fewer and more blocks, and room to send, and how long it takes then
to send back what four clients send at the same time: where a peer waits before it acknowledges, or something is lost,
that is time. And whether those who do not read keep others from being served."""
import concurrent.futures
import queue
import random
import socket
import statistics
import time

from boards import echoes

BOARD = "lm3s6965evb"
BYTES, ROUNDS, LATE_ROUNDS, BESIDE_ROUNDS = 3_000_000, 5, 3, 6
BESIDE_BYTES, BESIDE_SECONDS = 20000, 10
SENDS = 8    # segments for which there is room to send elsewhere
# The echo, its blocks, and the segments for which the rings of four clients have room, or lwIP's heap.
ROWS = (("tenon4-back", 5, None), ("tenon4-back", 8, None), ("tenon4", 4, 4), ("tenon4", 4, 8), ("tenon4", 8, 8),
        ("lwip4-nocopy", 9, None), ("lwip4", 9, 8), ("lwip4-netconn", 8, 8), ("lwip4-netconn", 9, 8),
        ("lwip4-netconn", 12, 8), ("lwip4-netconn", 9, 4), ("lwip4-netconn", 9, 2))


def client(port, seed):
    with socket.create_connection(("127.0.0.1", port), timeout=echoes.SECONDS) as s:
        echoes.exchange(s, random.Random(seed).randbytes(BYTES))


def transfer(facts, image):
    """@return (seconds, RAM)"""
    with echoes.Echo(facts, BOARD, image) as echo:
        echo.wait_for("ready")
        ram = echoes.fixed_ram({"run": {"idle": echo.status()}})
        with socket.create_connection(("127.0.0.1", echo.tcp), timeout=echoes.SECONDS) as s:
            echoes.exchange(s, b"known to each other")    # nobody waits for a neighbour's address later
        begin = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(echoes.CLIENTS) as pool:
            list(pool.map(client, [echo.tcp] * echoes.CLIENTS, range(echoes.CLIENTS)))
        return time.monotonic() - begin, ram


def answers_late(facts, image):
    for _ in range(LATE_ROUNDS):
        with echoes.Echo(facts, BOARD, image) as echo:
            echo.wait_for("ready")
            if not echoes.answers_late(echo):
                return 0
    return 1


def serves_beside(facts, image):
    """Three clients send as much as is taken, and read nothing. @return 1: a fourth is served meanwhile"""
    with echoes.Echo(facts, BOARD, image) as echo:
        echo.wait_for("ready")
        deaf = [socket.socket() for _ in range(echoes.CLIENTS - 1)]
        try:
            for s in deaf:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                s.connect(("127.0.0.1", echo.tcp))
                s.setblocking(False)
            echoes.fill(deaf)
            with socket.create_connection(("127.0.0.1", echo.tcp), timeout=BESIDE_SECONDS) as s:
                echoes.exchange(s, random.Random(1).randbytes(BESIDE_BYTES))
            return 1
        except (RuntimeError, OSError):
            return 0
        finally:
            for s in deaf:
                s.close()


def measure(facts, build, has_lwip):
    """build: of (definitions of CMake, name of the echo) makes its image."""
    found = []
    for name, blocks, heap in ROWS:
        if name.startswith("lwip") and not has_lwip:
            continue
        image = build({"ECHO_BLOCKS": blocks, "ECHO_HEAP": heap or SENDS}, name)
        one = {"name": name, "blocks": blocks, "heap": heap, "seconds": None}
        try:
            runs = [transfer(facts, image) for _ in range(ROUNDS)]
            one["seconds"] = round(statistics.median(seconds for seconds, _ in runs), 2)
            one["ram"] = runs[0][1]
            one["late"] = answers_late(facts, image)
        except (RuntimeError, OSError, queue.Empty):    # not all has come back
            with echoes.Echo(facts, BOARD, image) as echo:
                echo.wait_for("ready")
                one["ram"], one["late"] = echoes.fixed_ram({"run": {"idle": echo.status()}}), 0
        one["beside"] = sum(serves_beside(facts, image) for _ in range(BESIDE_ROUNDS))
        found.append(one)
    return found
