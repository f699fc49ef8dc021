# SPDX-License-Identifier: MIT
"""Beyond a router. The kernel forwards between Tenon's cable and a second namespace over a veth pair
without offloads: so it must cut Tenon's super-frames and complete its partial checksums for real,
and a peer that trusts nothing checks them."""
import os
import subprocess
import sys

import pytest

from conftest import HERE, INSIDE, Net, sha256

SIZE = 20_000_003


@pytest.fixture
def far(net, link):
    """(namespace, its IPv4 address, its IPv6 address), with the route to it through the kernel."""
    if os.environ.get(INSIDE):
        pytest.skip("needs root: a second namespace")
    other = Net(f"tenon-test-{os.getpid()}-far")
    try:
        net.run("ip", "link", "add", "vnear", "type", "veth", "peer", "name", "vfar", "netns", other.name)
        for space, name, n in ((net, "vnear", 1), (other, "vfar", 2)):
            space.run("ip", "address", "add", f"10.78.0.{n}/24", "dev", name)
            space.run("ip", "address", "add", f"fd78::{n}/64", "dev", name, "nodad")
            space.run("ip", "link", "set", name, "up")
            space.run("ethtool", "-K", name, "tx", "off", "tso", "off", "gso", "off", "gro", "off", check=False)
        other.run("ip", "route", "add", "default", "via", "10.78.0.1")
        other.run("ip", "-6", "route", "add", "default", "via", "fd78::1")
        net.run("sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        link.options = ["--gateway", link.k4, "--gateway", link.k6]
        for address in ("10.78.0.2", "fd78::2"):    # until the veth pair has settled
            settle(net, address)
        yield other, "10.78.0.2", "fd78::2"
    finally:
        net.run("sysctl", "-qw", "net.ipv4.ip_forward=0", "net.ipv6.conf.all.forwarding=0", check=False)
        net.run("ip", "link", "del", "vnear", check=False)
        other.close()


def settle(net, address):
    for _ in range(10):
        if net.run("ping", "-c1", "-W1", address, check=False).returncode == 0:
            return
    raise AssertionError(f"{address} does not answer")


@pytest.mark.parametrize("version", ["ip4", "ip6"])
def test_tenon_sends_beyond_a_router(far, link, files, tmp_path, version):
    other = far[0]
    path = files.get(SIZE)
    address = link.t4 if version == "ip4" else f"[{link.t6}]"
    link.tenon("serve", path.parent)
    before = bad_checksums(other)
    other.run("curl", "-sS", "-m", 60, "-o", tmp_path / "got", f"http://{address}/{path.name}")
    assert sha256(tmp_path / "got") == files.hash(SIZE)
    assert bad_checksums(other) == before


@pytest.mark.parametrize("version", ["ip4", "ip6"])
def test_tenon_fetches_from_beyond_a_router(far, link, files, tmp_path, version):
    other, far4, far6 = far
    path = files.get(SIZE)
    address = far4 if version == "ip4" else far6
    server = other.start(sys.executable, HERE / "peer.py", "http", address, 80, path.parent, stdout=subprocess.PIPE,
                         text=True)
    assert server.stdout.readline() == "ready\n"
    url = f"http://{address}" if version == "ip4" else f"http://[{address}]"
    link.run_tenon("get", "-o", tmp_path / "got", f"{url}/{path.name}")
    assert sha256(tmp_path / "got") == files.hash(SIZE)


def test_a_router_says_unreachable(far, link):
    """The error finds its connection. It may pass (RFC 1122 4.2.3.9), so it alone ends nothing."""
    done = link.run_tenon("get", "--timeout", 2, "--stats", "http://10.79.0.1/", check=False, timeout=20)
    assert done.returncode == 1
    assert "icmp_error_rcvd" in done.stderr


def bad_checksums(space):
    counters = {}
    for path in ("/proc/net/snmp", "/proc/net/netstat"):
        rows = space.run("cat", path).stdout.splitlines()
        for names, values in zip(rows[::2], rows[1::2]):
            counters.update({f"{names.split(':')[0]}.{n}": v for n, v in zip(names.split()[1:], values.split()[1:])})
    return counters["Tcp.InCsumErrors"]
