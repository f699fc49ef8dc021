# SPDX-License-Identifier: MIT
"""The same through a cable that loses, delays, reorders, duplicates and corrupts."""
import json
import time

import pytest

from conftest import rates, sha256

pytestmark = pytest.mark.alone

BAD = ["--loss", 1, "--delay", 1, "--jitter", 0.5, "--reorder", 2, "--dup", 1, "--corrupt", 0.2, "--seed"]
SIZE = 10_000_019


@pytest.fixture(params=["ip4", "ip6"])
def version(request):
    return request.param


def addresses(link, version):
    return (link.t4, link.k4) if version == "ip4" else (f"[{link.t6}]", f"[{link.k6}]")


def report(what, size, started):
    seconds = time.monotonic() - started
    rates.append({"what": what, "mbytes": size / 1e6, "seconds": seconds, "gbits": size * 8e-9 / seconds})


@pytest.mark.parametrize("seed", [1, 2])
def test_curl_fetches_through_it(make_link, version, files, tmp_path, seed):
    link = make_link(relay=[*BAD, seed])
    path = files.get(SIZE)
    link.tenon("serve", path.parent)
    started = time.monotonic()
    url = f"http://{addresses(link, version)[0]}/{path.name}"
    link.net.run("curl", "-sS", "-o", tmp_path / "got", url, timeout=120)
    report(f"Tenon sends, {version}, bad cable, seed {seed}", SIZE, started)
    assert sha256(tmp_path / "got") == files.hash(SIZE)


@pytest.mark.parametrize("seed", [1, 2])
def test_tenon_fetches_through_it(make_link, version, files, tmp_path, peer, seed):
    link = make_link(relay=[*BAD, seed])
    path = files.get(SIZE)
    kernel = addresses(link, version)[1]
    peer.start("http", kernel.strip("[]"), 80, path.parent)
    started = time.monotonic()
    link.run_tenon("get", "-o", tmp_path / "got", f"http://{kernel}/{path.name}", timeout=120)
    report(f"Tenon receives, {version}, bad cable, seed {seed}", SIZE, started)
    assert sha256(tmp_path / "got") == files.hash(SIZE)


def test_slow_line_with_a_short_queue(make_link, version, files, tmp_path):
    """20 Mbit/s, 20 ms, a queue of 30 frames: losses come from Tenon's own sending."""
    link = make_link(relay=["--rate", 20, "--delay", 10, "--queue", 30])
    path = files.get(4_000_003)
    link.tenon("serve", path.parent)
    started = time.monotonic()
    url = f"http://{addresses(link, version)[0]}/{path.name}"
    link.net.run("curl", "-sS", "-o", tmp_path / "got", url, timeout=120)
    report(f"Tenon sends, {version}, 20 Mbit/s, 20 ms, queue 30", 4_000_003, started)
    assert sha256(tmp_path / "got") == files.hash(4_000_003)


def test_half_closed_echo(make_link, version, files, tmp_path):
    link = make_link(relay=[*BAD, 3])
    link.tenon("echo")
    with open(files.get(2_000_003), "rb") as i, open(tmp_path / "got", "wb") as o:
        nc = link.net.start("nc", "-N", addresses(link, version)[0].strip("[]"), 7, stdin=i, stdout=o)
        assert nc.wait(120) == 0
    assert sha256(tmp_path / "got") == files.hash(2_000_003)


def test_200_connections(make_link, version, peer):
    link = make_link(relay=[*BAD, 4])
    link.tenon("echo")
    peer.run("many", addresses(link, version)[0].strip("[]"), 7, 200, 3000)


def test_ping(make_link, version):
    """Fragments of a lost or damaged packet are given up, the others put together."""
    link = make_link(relay=[*BAD, 5])
    link.tenon("echo")
    done = link.net.run("ping", "-c100", "-i0.02", "-W2", "-s", 9000, addresses(link, version)[0].strip("[]"),
                        check=False)
    received = int(done.stdout.split(" received")[0].split()[-1])
    assert received >= 60, done.stdout


def test_udp(make_link, version, peer):
    link = make_link(relay=["--loss", 5, "--dup", 5, "--reorder", 5, "--delay", 1, "--seed", 6])
    link.tenon("echo")
    done = peer.run("udp", addresses(link, version)[0].strip("[]"), 7, 50, 100, 3000)
    result = json.loads(done.stdout)
    assert result["wrong"] == 0
    assert 60 <= result["echoed"] <= result["sent"] == 100


def test_the_cable_is_bad(make_link, version, peer):
    """Or the tests above would test nothing."""
    link = make_link(relay=["--loss", 10, "--dup", 10, "--reorder", 10, "--corrupt", 10, "--seed", 7])
    link.tenon("echo", ready=True)
    peer.run("udp", addresses(link, version)[0].strip("[]"), 7, 20, 5000)
    counts = link.stop_relay()
    for way in ("there", "back"):
        for what in ("lost", "duplicated", "reordered", "corrupted"):
            assert counts[way][what] > 0, counts
