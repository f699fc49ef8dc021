# SPDX-License-Identifier: MIT
"""The port `packet` on one end of a veth pair, the kernel at the other end."""
import json
import os
import re
import signal
import time

import pytest

from conftest import INSIDE, Download, counters, find_tenon, sha256
from exchanges import echo_datagrams, ends, fetch_both_ways, fetch_with_capture

SIZE = 16_000_003
WAYS = {
    "read": [],
    "ring": ["receive=ring"],
    "read-plain": ["offload=off"],
    "ring-plain": ["receive=ring", "offload=off"],
    "interfaces-mac": ["mac=interface"],
}


@pytest.fixture(params=["ip4", "ip6"])
def version(request):
    return request.param


@pytest.fixture(params=list(WAYS))
def way(request):
    return WAYS[request.param]


def test_transfers(make_link, version, way, files, tmp_path, peer):
    fetch_both_ways(make_link(kind="packet", settings=way), version, files, tmp_path, peer, SIZE)


@pytest.mark.parametrize("mtu", [576, 1280, 9000, 65535])
@pytest.mark.parametrize("receive", ["read", "ring"])
def test_transfers_with_another_mtu(make_link, mtu, receive, files, tmp_path, peer):
    link = make_link(kind="packet", settings=[f"receive={receive}"], mtu=mtu)
    fetch_both_ways(link, "ip4" if mtu < 1280 else "ip6", files, tmp_path, peer, size=4_000_003)


@pytest.mark.parametrize("receive", ["read", "ring"])
def test_transfers_to_a_kernel_without_offload(make_link, version, receive, files, tmp_path, peer):
    """It cuts its segments and makes and verifies all checksums."""
    link = make_link(kind="packet", settings=[f"receive={receive}"])
    for name in (link.kernel_side, link.tap):
        link.net.run("ethtool", "-K", name, "tx", "off", "tso", "off", "gso", "off", "gro", "off")
    fetch_both_ways(link, version, files, tmp_path, peer, SIZE)


@pytest.mark.parametrize("full", ["queue", "socket"])
def test_transfers_through_a_slow_queue(make_link, full, peer):
    """The interface takes 200 Mbit/s. Its own queue is full, or the socket's, which is short for those who may not make
    it longer: it says when it has room."""
    link = make_link(kind="packet")
    limit = 400_000 if full == "queue" else 40_000_000
    link.net.run("tc", "qdisc", "add", "dev", link.tap, "root", "tbf", "rate", "200mbit", "burst", "70000", "limit",
                 limit)
    if full == "socket":
        link.before = ["setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-all"]
    server = link.tenon("echo", "--stats")
    peer.run("many", link.t4, 7, 100, 200_000)
    assert counters(server.stop())["tx_busy"] > 10


@pytest.mark.parametrize("receive", ["read", "ring"])
def test_datagrams(make_link, version, receive, peer):
    link = make_link(kind="packet", settings=[f"receive={receive}"])
    echo_datagrams(link, version, peer)
    done = peer.run("uso", ends(link, version)[0].strip("[]"), 7, 20001, 1000)    # a super-frame
    assert json.loads(done.stdout) == {"datagrams": 21, "whole": True}


def test_capture_is_clean(make_link, files, tmp_path, tshark):
    link = make_link(kind="packet")
    fetch_with_capture(link, files, tmp_path, tshark)


# ---- several queues ---------------------------------------------------------------------------------

def members(make_link, queues, fanout, command, *arguments):
    """A link, and one program for each queue."""
    link = make_link(kind="packet")
    alone, processes = link.port, []
    for queue in range(queues):
        link.port = f"{alone},fanout={fanout},queues={queues},queue={queue}"
        processes.append(link.tenon(command, "--stats", *arguments, ready=False))
    end = time.monotonic() + 10
    while not all(link.t6 in process.text() for process in processes):
        assert time.monotonic() < end, [process.text() for process in processes]
        time.sleep(0.02)
    return link, processes


@pytest.mark.parametrize("fanout", ["hash", "flow"])
@pytest.mark.parametrize("queues", [2, 3, 4])
def test_fanout_spreads_flows(make_link, version, queues, fanout, peer):
    if fanout == "flow" and os.environ.get(INSIDE):
        pytest.skip("needs root: a program for the kernel")
    count, size = 300, 20000
    link, processes = members(make_link, queues, fanout, "echo")
    address = ends(link, version)[0].strip("[]")
    link.net.run("ping", "-c2", "-i0.2", "-W5", "-s", 9000, address)    # fragments
    peer.run("many", address, 7, count, size)
    counted = [counters(process.stop()) for process in processes]
    opened = [count["tcp_established"] for count in counted]
    print(opened)
    assert sum(opened) == count
    assert all(share > count / queues / 4 for share in opened), opened
    for count in counted:    # but for answers to what a busy machine made us, or the kernel, send again at the end
        assert count["tcp_no_connection"] <= count["tcp_retransmit"] + count["tcp_dup_data"], count


def test_fanout_by_queues(make_link, peer):
    """A veth pair has the queues that it is told to have; the kernel chooses one for each flow."""
    link = make_link(kind="packet")
    for name in (link.tap, link.kernel_side):
        link.net.run("ip", "link", "del", name, check=False)
    link.net.run("ip", "link", "add", link.tap, "numrxqueues", 2, "numtxqueues", 2, "type", "veth", "peer", "name",
                 link.kernel_side, "numrxqueues", 2, "numtxqueues", 2)
    link.silence(link.tap)
    link.net.run("ip", "address", "add", f"{link.k4}/24", "dev", link.kernel_side)
    for name in (link.tap, link.kernel_side):
        link.net.run("ip", "link", "set", name, "up")
    alone, processes = link.port, []
    for queue in range(2):
        link.port = f"{alone},fanout=queue,queues=2,queue={queue}"
        processes.append(link.tenon("echo", "--stats"))
    peer.run("many", link.t4, 7, 100, 5000)
    opened = [counters(process.stop())["tcp_established"] for process in processes]
    assert sum(opened) == 100 and min(opened) > 10, opened


def test_one_member_too_many(make_link):
    link, _ = members(make_link, 2, "hash", "echo")
    done = link.run_tenon("echo", check=False)
    assert done.returncode == 1
    assert "all queues" in done.stderr and "in use" in done.stderr, done.stderr


# ---- when something goes wrong ----------------------------------------------------------------------

@pytest.mark.parametrize("side", ["ours", "kernels"])
@pytest.mark.parametrize("receive", ["read", "ring"])
def test_link_goes_down_and_up(make_link, side, receive, files, tmp_path):
    link = make_link(kind="packet", settings=[f"receive={receive}"])
    path, got = files.get(SIZE), tmp_path / "got"
    link.tenon("serve", path.parent)
    download = Download(link, path, got)
    download.wait_bytes(SIZE // 10)
    name = link.tap if side == "ours" else link.kernel_side
    link.net.run("ip", "link", "set", name, "down")
    time.sleep(0.3)
    download.goes_on()    # else it was too early
    link.net.run("ip", "link", "set", name, "up")
    download.wait()
    assert sha256(got) == files.hash(SIZE)


def listens_to(link):
    """What the interface has been told: counts of those that want all frames and all groups, and more addresses."""
    said = link.net.run("ip", "-d", "link", "show", link.tap).stdout
    addresses = [line.split()[0] for line in link.net.run("bridge", "fdb", "show", "dev", link.tap).stdout.splitlines()]
    counts = [int(n) for n in re.findall(r"(?:promiscuity|allmulti) (\d+)", said)]
    return counts, sorted(address for address in addresses if not address.startswith(("33:33", "01:00")))


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_behind(make_link, how):
    link = make_link(kind="packet")
    before = listens_to(link)
    server = link.tenon("echo")
    during = listens_to(link)
    neighbour = link.net.run("ip", "neighbour", "show", link.t4).stdout
    assert during[0][1] == before[0][1] + 1
    assert during[1] == before[1] + [re.search("lladdr ([0-9a-f:]+)", neighbour).group(1)]
    link.net.stop(server.process, how)
    assert listens_to(link) == before


def test_interface_is_removed(make_link):
    link = make_link(kind="packet")
    server = link.tenon("echo")
    link.net.run("ip", "link", "del", link.tap)
    assert server.wait(10) == 1
    assert "is gone" in server.text()


@pytest.mark.parametrize("port, said", [
    ("packet:lo", "'lo' is the loopback interface"),
    ("packet:none9", "cannot use interface 'none9': No such device"),
    ("packet:{},mtu=9000", "ip link set {} mtu 9000"),
    ("packet:{},receive=fast", "receive=fast is none of read|ring"),
    ("packet:{},queues=2,queue=2", "there is no queue 2 of 2"),
])
def test_what_is_wrong_is_said(make_link, port, said):
    link = make_link(kind="packet")
    done = link.net.run(find_tenon(), "echo", "--port", port.format(link.tap), check=False)
    assert done.returncode != 0
    assert said.format(link.tap) in done.stderr, done.stderr


def test_missing_privilege_is_said(make_link):
    link = make_link(kind="packet")
    done = link.net.run("setpriv", "--bounding-set", "-net_raw", "--inh-caps", "-all", *link.argv("echo"), check=False)
    assert done.returncode == 1
    assert "run as root" in done.stderr and "cap_net_raw" in done.stderr, done.stderr


def test_advice(make_link):
    """What keeps frames from coming, and an address of the kernel's."""
    link = make_link(kind="packet")
    link.net.run("ip", "address", "add", "10.98.0.1/24", "dev", link.tap)
    server = link.tenon("echo")
    assert "the kernel has the address 10.98.0.1" in server.text()
    server.stop()
    link.net.run("ip", "link", "set", link.kernel_side, "down")
    server = link.tenon("echo", ready=False)
    server.wait_text("Echo at")
    assert "has no link" in server.stop()
    link.net.run("ip", "link", "set", link.tap, "down")
    server = link.tenon("echo", ready=False)
    server.wait_text("Echo at")
    assert f"ip link set {link.tap} up" in server.stop()
