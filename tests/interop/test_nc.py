# SPDX-License-Identifier: MIT
"""nc as client and as server, and transfers of which one direction is closed long before the other."""
import hashlib
import subprocess
import time

import pytest

from conftest import sha256

SIZE = 20_000_003


@pytest.fixture(params=["ip4", "ip6"])
def ends(request, link):
    """(Tenon's address, the kernel's)."""
    return (link.t4, link.k4) if request.param == "ip4" else (link.t6, link.k6)


def nc_client(link, address, port, source, sink):
    """nc sends a file, closes its half, and writes down what comes."""
    with open(source, "rb") as i, open(sink, "wb") as o:
        process = link.net.start("nc", "-N", address, port, stdin=i, stdout=o)
        assert process.wait(60) == 0


def test_nc_sends_to_tenon(link, ends, files, tmp_path):
    with open(tmp_path / "got", "wb") as out:
        tenon = link.tenon("listen", 5001, stdout=out)
        nc_client(link, ends[0], 5001, files.get(SIZE), tmp_path / "nothing")
        assert tenon.wait() == 0
    assert sha256(tmp_path / "got") == files.hash(SIZE)


def test_tenon_sends_to_nc(link, ends, files, tmp_path):
    with open(tmp_path / "got", "wb") as out, open(files.get(SIZE), "rb") as source:
        nc = link.net.start("nc", "-l", "-N", "-s", ends[1], "-p", 5001, stdin=subprocess.DEVNULL, stdout=out)
        wait_listening(link, 5001)
        link.run_tenon("connect", ends[1], 5001, stdin=source)
        assert nc.wait(60) == 0
    assert sha256(tmp_path / "got") == files.hash(SIZE)


def test_nc_serves_tenon(link, ends, files, tmp_path):
    with open(tmp_path / "got", "wb") as out, open(files.get(SIZE), "rb") as source:
        nc = link.net.start("nc", "-l", "-N", "-s", ends[1], "-p", 5001, stdin=source, stdout=subprocess.DEVNULL)
        wait_listening(link, 5001)
        tenon = link.tenon("connect", ends[1], 5001, stdin=subprocess.PIPE, stdout=out, ready=False)
        wait_until(lambda: (tmp_path / "got").stat().st_size == SIZE)
        tenon.process.stdin.close()    # not before: nc ends when its peer has finished
        assert tenon.wait() == 0, tenon.text()
        assert nc.wait(60) == 0
    assert sha256(tmp_path / "got") == files.hash(SIZE)


def test_tenon_serves_nc(link, ends, files, tmp_path):
    with open(files.get(SIZE), "rb") as source:
        tenon = link.tenon("listen", 5001, stdin=source)
        nc_client(link, ends[0], 5001, "/dev/null", tmp_path / "got")
        assert tenon.wait() == 0, tenon.text()
    assert sha256(tmp_path / "got") == files.hash(SIZE)


def test_both_ways_at_once(link, ends, files, tmp_path):
    with open(files.get(SIZE), "rb") as source, open(tmp_path / "tenon-got", "wb") as out:
        tenon = link.tenon("listen", 5001, stdin=source, stdout=out)
        nc_client(link, ends[0], 5001, files.get(SIZE + 1), tmp_path / "nc-got")
        assert tenon.wait() == 0, tenon.text()
    assert sha256(tmp_path / "nc-got") == files.hash(SIZE)
    assert sha256(tmp_path / "tenon-got") == files.hash(SIZE + 1)


def test_nc_closes_its_half_first(link, ends, files, tmp_path):
    """nc's half is closed after 10 bytes; 20 MB come back after that."""
    short = tmp_path / "short"
    short.write_bytes(b"ten bytes\n")
    with open(files.get(SIZE), "rb") as source, open(tmp_path / "tenon-got", "wb") as out:
        tenon = link.tenon("listen", 5001, stdin=source, stdout=out)
        nc_client(link, ends[0], 5001, short, tmp_path / "nc-got")
        assert tenon.wait() == 0, tenon.text()
    assert sha256(tmp_path / "nc-got") == files.hash(SIZE)
    assert (tmp_path / "tenon-got").read_bytes() == b"ten bytes\n"


def test_tenon_closes_its_half_first(link, ends, files, tmp_path, peer):
    """The server answers only when Tenon's half is closed: with the hash of what it got, and a file."""
    peer.start("answer", ends[1], 5001, files.get(SIZE))
    with open(files.get(SIZE + 1), "rb") as source, open(tmp_path / "got", "wb") as out:
        tenon = link.tenon("connect", ends[1], 5001, stdin=source, stdout=out, ready=False)
        assert tenon.wait() == 0, tenon.text()
    got = (tmp_path / "got").read_bytes()
    assert got[:64].decode() == files.hash(SIZE + 1)
    assert hashlib.sha256(got[64:]).hexdigest() == files.hash(SIZE)


def test_echo_of_a_half_closed_stream(link, ends, files, tmp_path):
    link.tenon("echo")
    nc_client(link, ends[0], 7, files.get(SIZE), tmp_path / "got")
    assert sha256(tmp_path / "got") == files.hash(SIZE)


def wait_until(true, seconds=30):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def wait_listening(link, port):
    """Until the kernel listens: a program needs a moment to start."""
    wait_until(lambda: f":{port} " in link.net.run("ss", "-Hltn").stdout)
