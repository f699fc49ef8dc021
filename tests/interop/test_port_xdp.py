# SPDX-License-Identifier: MIT
"""The port `xdp` on one end of a veth pair, the kernel at the other end."""
import json
import os
import signal
import subprocess
import time

import pytest

from conftest import Download, find_tenon, life_of, sha256
from exchanges import echo_datagrams, fetch_both_ways, fetch_with_capture

SIZE = 16_000_003
WAYS = {
    "auto": [],
    "plain": ["mode=copy", "offload=off"],
    "generic": ["mode=generic"],
    "trust": ["sums=trust"],
    "generic-trust": ["mode=generic", "sums=trust"],
    "little-memory": ["memory=1"],
}
NOBODY = 65534


@pytest.fixture(params=["ip4", "ip6"])
def version(request):
    return request.param


@pytest.fixture(autouse=True)
def possible(net):
    if os.environ.get("TENON_INTEROP_INSIDE"):
        pytest.skip("needs root: the kernel lets nobody else attach XDP programs")


def has_program(link):
    return bool(json.loads(link.net.run("ip", "-j", "link", "show", "dev", link.tap).stdout)[0].get("xdp"))


@pytest.mark.parametrize("way", list(WAYS))
def test_transfers(make_link, version, way, files, tmp_path, peer):
    link = make_link(kind="xdp", settings=WAYS[way])
    if "trust" in way:
        link.net.run("ethtool", "-K", link.kernel_side, "tx", "on", "tso", "on")
    fetch_both_ways(link, version, files, tmp_path, peer, SIZE)
    assert not has_program(link)


@pytest.mark.parametrize("mtu", [576, 1280, 3000, 9000, 65535])
@pytest.mark.parametrize("mode", ["copy", "generic"])
def test_transfers_with_another_mtu(make_link, mtu, mode, files, tmp_path, peer):
    link = make_link(kind="xdp", settings=[f"mode={mode}"], mtu=mtu)
    fetch_both_ways(link, "ip4" if mtu < 1280 else "ip6", files, tmp_path, peer, 4_000_003)
    assert not has_program(link)


@pytest.mark.parametrize("mode", ["copy", "generic"])
def test_largest_packets(make_link, mode):
    """Longer than what can be sent in one frame: it is received in one, and the answer comes in fragments."""
    link = make_link(kind="xdp", settings=[f"mode={mode}"], mtu=65535)
    link.tenon("echo")
    link.net.run("ping", "-c1", "-W5", "-s", 65500, link.t4)


@pytest.mark.parametrize("mode", ["copy", "generic"])
def test_datagrams(make_link, version, mode, peer):
    link = make_link(kind="xdp", settings=[f"mode={mode}"])
    echo_datagrams(link, version, peer)


def test_capture_is_clean(make_link, files, tmp_path, tshark):
    link = make_link(kind="xdp")
    fetch_with_capture(link, files, tmp_path, tshark)


def test_many_connections(make_link, peer):
    link = make_link(kind="xdp")
    link.tenon("echo")
    peer.run("many", link.t4, 7, 200, 50_000)


# ---- links go down, and away ------------------------------------------------------------------------

@pytest.mark.parametrize("mode", ["copy", "generic"])
def test_transfer_survives_a_link_that_goes_down(make_link, mode, files, tmp_path):
    link = make_link(kind="xdp", settings=[f"mode={mode}"])
    path, got = files.get(SIZE), tmp_path / "got"
    link.tenon("serve", path.parent)
    download = Download(link, path, got)
    for n in (SIZE // 10, SIZE // 4):
        download.wait_bytes(n)
        link.net.run("ip", "link", "set", link.tap, "down")
        time.sleep(0.2)
        download.goes_on()
        link.net.run("ip", "link", "set", link.tap, "up")
    download.wait()
    assert sha256(got) == files.hash(SIZE)


def test_interface_that_goes_ends_the_program(make_link):
    link = make_link(kind="xdp")
    server = link.tenon("echo")
    link.net.run("ip", "link", "del", link.tap)
    assert server.wait(10) == 1
    assert "is gone" in server.text()


@pytest.mark.parametrize("state", ["up", "down"])
def test_sleeps_when_there_is_nothing_to_do(make_link, state):
    link = make_link(kind="xdp")
    server = link.tenon("echo")
    link.net.run("ip", "link", "set", link.tap, state)
    life = life_of(server.process, 2)
    assert life.sleeps < 50 and life.runs < 0.2, life


# ---- what is said ---------------------------------------------------------------------------------

def refused(link, *words, before=()):
    link.before = list(before)
    done = link.run_tenon("echo", check=False, timeout=10)
    assert done.returncode != 0
    for word in words:
        assert word in done.stderr, done.stderr
    said = [line for line in done.stderr.strip().splitlines() if not line.startswith("Try `tenon")]
    assert len(said) == 1, done.stderr


def test_what_is_wrong_is_said(make_link):
    link = make_link(kind="xdp")
    port = link.port
    for settings, word in [("mode=zerocopy", "no zero-copy"), ("queues=2,queue=1", "has 1 queue,"),
                           ("mode=fast", "mode=fast is none of auto"), ("mtu=9000", "1500"), ("memory=x", "memory=x")]:
        link.port = f"{port},{settings}"
        refused(link, word)
        assert not has_program(link)
    link.port = "xdp:none0"
    refused(link, "'none0'", "ip link")
    link.port = port
    refused(link, "not permitted: run as root", before=["setpriv", f"--reuid={NOBODY}", "--clear-groups"])
    link.before = []
    server = link.tenon("echo")
    refused(link, "it has an XDP program already")
    server.stop()
    link.net.run("ip", "link", "set", "dev", link.tap, "down")
    down = link.tenon("echo", ready=False)
    end = time.monotonic() + 10
    while "is down" not in down.text():
        assert time.monotonic() < end, down.text()
        time.sleep(0.02)
    assert "copy: the kernel copies" in down.text() and "ethtool -K PEER tx off" in down.text()


def test_root_of_a_user_namespace_is_told_that_it_is_not_enough(net):
    argv = ["unshare", "-Urn", "sh", "-c", f"ip link add v0 type veth peer name v1 && exec {find_tenon()} echo "
            "--port xdp:v0"]
    if subprocess.run(["unshare", "-Urn", "true"], capture_output=True, user=NOBODY, check=False).returncode != 0:
        pytest.skip("no user namespaces")
    done = subprocess.run(argv, capture_output=True, text=True, user=NOBODY, timeout=10, check=False)
    assert done.returncode != 0
    assert "root of a user namespace is not enough" in done.stderr, done.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(make_link, how):
    link = make_link(kind="xdp")
    server = link.tenon("echo")
    assert has_program(link)
    link.net.stop(server.process, how)
    end = time.monotonic() + 10
    while has_program(link):    # after SIGKILL the kernel cleans up, in its own time
        assert time.monotonic() < end
        time.sleep(0.02)
    link.tenon("echo").stop()
