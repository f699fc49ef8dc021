# SPDX-License-Identifier: MIT
"""Where addresses come from, as the firmware is built when nothing is said: looked for before they are used. (The other
tests use a build that takes them at once.)"""
import re
import socket
import struct
import time

import pytest

from conftest import BOARDS, held, udp_pair
from test_frames import ALL, IP4, IP6, OURS, fetch

NOBODY = 4 * b"\0"


def arp(operation, sender_mac, sender, target):
    return (ALL + sender_mac + b"\x08\x06" + struct.pack(">HHBBH", 1, 0x800, 6, 4, operation) + sender_mac + sender
            + 6 * b"\0" + target).ljust(60, b"\0")


def next_frame(cable, seconds=20):
    cable.settimeout(seconds)
    return cable.recv(4096)


def frames_for(cable, seconds):
    """All that have come by then."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        try:
            yield next_frame(cable, left)
        except TimeoutError:
            return


def arps_of(frame):
    """(who, whom) of a request, or None."""
    if frame[12:14] != b"\x08\x06" or frame[20:22] != b"\0\x01":
        return None
    return frame[28:32], frame[38:42]


@pytest.fixture
def on_cable(firmware):
    """on_cable(board, SETTING...): a web server on a cable, its port, ours, our socket."""
    sockets = []

    def start(board, *settings):
        its, ours, socket_ = udp_pair()
        sockets.append(socket_)
        running = firmware(board, "http", "--network", f"dgram:{its},{ours}", settings=settings)
        return running, its, ours, socket_
    yield start
    for one in sockets:
        one.close()


@pytest.mark.parametrize("board", BOARDS)
def test_looked_for_before_it_is_used(on_cable, tenon, board):
    """IPv4: three probes, then an announcement (RFC 5227 2.1). IPv6: a solicitation from nobody (RFC 4862 5.4.2)."""
    running, its, ours, cable = on_cable(board)
    seen, solicited = [], set()
    while len(seen) < 4:
        frame = next_frame(cable)
        if arps_of(frame):
            seen.append(arps_of(frame))
        if frame[12:14] == b"\x86\xdd" and frame[54:55] == b"\x87":
            assert frame[22:38] == 16 * b"\0" or seen
            solicited.add(frame[62:78])
    assert seen == 3 * [(NOBODY, IP4[1])] + [(IP4[1], IP4[1])]
    assert IP6[1] in solicited and any(address[:2] == b"\xfe\x80" for address in solicited)
    running.wait_for("address 10.0.2.15 fixed")
    cable.close()
    fetch(tenon, its, ours, "10.0.2.15")
    fetch(tenon, its, ours, "[fd00:10::15]")
    running.quit()


def test_somebody_has_it(on_cable):
    """Who answers a probe keeps the address: the board neither says that it is its own, nor uses it."""
    running, its, _, cable = on_cable("lm3s6965evb")
    while arps_of(next_frame(cable)) != (NOBODY, IP4[1]):
        pass
    cable.sendto(arp(2, OURS, IP4[1], NOBODY), ("127.0.0.1", its))
    for frame in frames_for(cable, 9):    # longer than the other two probes and the announcement take
        assert frame[12:14] != b"\x08\x06" or frame[28:32] == NOBODY
        assert frame[12:14] != b"\x08\0" or frame[26:30] == NOBODY
    running.quit()
    assert not any(line.startswith("address") for line in running.seen)


def test_link_local(on_cable, tenon):
    """Built with BOARD_FALLBACK=link-local: an address of its own choice (RFC 3927), at which it serves."""
    running, its, ours, cable = on_cable("lm3s6965evb", "--set", "BOARD_FALLBACK=link-local")
    line = running.wait_for("address")
    host = re.fullmatch(r"address (169\.254\.\d+\.\d+) link-local", line)[1]
    assert 1 <= int(host.split(".")[2]) <= 254    # RFC 3927 2.1: the first and last 256 are reserved
    probes = [frame for frame in frames_for(cable, 0.5) if arps_of(frame) == (NOBODY, socket.inet_aton(host))]
    assert len(probes) == 3
    cable.close()
    fetch(tenon, its, ours, host, "169.254.0.99/16")
    running.quit()


# QEMU's PHYs of the other two do not know of cables: one does not answer, one says that there always is one.
def test_cable_is_pulled_out(firmware, curl, tmp_path):
    """It is noticed within a second or two; put in again the lease is confirmed, and pages come again."""
    running = firmware("mps2-an385", "http", monitor=tmp_path / "monitor").ready()
    url = f"http://127.0.0.1:{running.port()}/status.json"
    curl(url)
    before = held(running.status())
    for _ in range(2):
        running.ask_qemu("set_link n off")
        running.wait_for("link down")
        sent = running.status()["tx_frames"]
        time.sleep(2)
        assert running.status()["tx_frames"] == sent
        running.ask_qemu("set_link n on")
        running.wait_for("link up")
        running.wait_for("address 10.0.2.77 by DHCP")
        curl(url)
    running.pass_time()
    assert held(running.status()) == before
    running.quit()


@pytest.mark.parametrize("board", BOARDS)
def test_cable_stays_in(firmware, board):
    """Nobody sees one pulled out that is not."""
    running = firmware(board, "http").ready()
    running.pass_time(20)
    running.quit()
    assert not any(line.startswith("link") for line in running.seen)
