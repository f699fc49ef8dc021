# SPDX-License-Identifier: MIT
"""TCP Fast Open (RFC 7413) with the kernel, both ways: a cookie, then data in the SYN; and what happens with a cookie
that is good no more. Both sides' counters say whether the data really came with the SYN."""
import json
import re

import pytest

from conftest import sha256

SMALL, LARGE = 100, 3_000_003


@pytest.fixture(params=["ip4", "ip6"])
def ends(request, link):
    """(Tenon's address, the kernel's), as they stand in a URL."""
    return (link.t4, link.k4) if request.param == "ip4" else (f"[{link.t6}]", f"[{link.k6}]")


@pytest.fixture(autouse=True)
def kernel_fastopen(net):
    net.run("sysctl", "-qw", "net.ipv4.tcp_fastopen=3")    # client and server
    net.run("sysctl", "-qw", "net.ipv4.tcp_fastopen_blackhole_timeout_sec=0")    # no pause after three timeouts
    yield
    net.run("sysctl", "-qw", "net.ipv4.tcp_fastopen=1")


class Kernel:
    """What the kernel has counted since this was made."""

    def __init__(self, net):
        self.net = net
        self.before = self.counters()

    def counters(self):
        return json.loads(self.net.run("nstat", "-a", "-z", "-s", "--json").stdout)["kernel"]

    def __getitem__(self, name):
        name = "TcpExtTCPFastOpen" + name
        return self.counters()[name] - self.before[name]


def counted(text, name):
    """A counter in what --stats prints; those that are 0 are not there."""
    found = re.search(rf"^  tcp_fastopen_{name} +([0-9']+) ", text, re.M)
    return int(found[1].replace("'", "")) if found else 0


@pytest.mark.parametrize("how", ["sendto", "connect"])
def test_kernel_is_client(link, ends, files, peer, how):
    """The first connection asks for a cookie, the others bring it with their request. MSG_FASTOPEN and
    TCP_FASTOPEN_CONNECT."""
    path = files.get(LARGE)
    tenon = link.tenon("serve", "--fastopen", "--stats", path.parent)
    kernel = Kernel(link.net)
    got = json.loads(peer.run("fastopen", how, ends[0], 80, 4, f"/{path.name}").stdout)
    assert [one["sha256"] for one in got] == 4 * [files.hash(LARGE)]
    assert [one["syn_data"] for one in got] == [False, True, True, True]
    assert kernel["Active"] == 3 and kernel["ActiveFail"] == 0
    said = tenon.stop()
    assert counted(said, "cookie_sent") == 1 and counted(said, "delivered") == 3 and counted(said, "cookie_bad") == 0


def test_kernel_is_client_with_an_old_cookie(link, ends, files, peer):
    """A server that has started anew has other keys. It does not take the data, but gives a cookie."""
    path = files.get(LARGE)
    link.tenon("serve", "--fastopen", path.parent).stop()
    first = link.tenon("serve", "--fastopen", path.parent)
    peer.run("fastopen", "sendto", ends[0], 80, 1, f"/{path.name}")
    first.stop()
    tenon = link.tenon("serve", "--fastopen", "--stats", path.parent)
    kernel = Kernel(link.net)
    got = json.loads(peer.run("fastopen", "sendto", ends[0], 80, 2, f"/{path.name}").stdout)
    assert [one["sha256"] for one in got] == 2 * [files.hash(LARGE)]
    assert [one["syn_data"] for one in got] == [False, True]
    assert kernel["Active"] == 1 and kernel["ActiveFail"] == 1
    said = tenon.stop()
    assert counted(said, "cookie_bad") == 1 and counted(said, "cookie_sent") == 1 and counted(said, "delivered") == 1


def test_kernel_is_client_of_a_server_without(link, ends, files, peer):
    path = files.get(LARGE)
    tenon = link.tenon("serve", "--stats", path.parent)
    kernel = Kernel(link.net)
    got = json.loads(peer.run("fastopen", "sendto", ends[0], 80, 2, f"/{path.name}").stdout)
    assert [one["sha256"] for one in got] == 2 * [files.hash(LARGE)]
    assert kernel["Active"] == 0
    said = tenon.stop()
    assert counted(said, "cookie_sent") == 0 and counted(said, "delivered") == 0


def get(link, *urls):
    """@return what tenon get --stats says"""
    return link.run_tenon("get", "--fastopen", "--stats", *urls)


def test_kernel_is_server(link, ends, files, tmp_path, peer):
    path = files.get(LARGE)
    peer.start("http-fastopen", ends[1], 80, path.parent)
    kernel = Kernel(link.net)
    said = get(link, "-o", tmp_path / "got", *[f"http://{ends[1]}/{path.name}"] * 3).stderr
    assert (tmp_path / "got").stat().st_size == 3 * LARGE
    assert (tmp_path / "got").read_bytes() == 3 * path.read_bytes()
    assert kernel["CookieReqd"] == 1 and kernel["Passive"] == 2 and kernel["PassiveFail"] == 0
    assert counted(said, "asked") == 1 and counted(said, "sent") == 2 and counted(said, "taken") == 2
    assert counted(said, "failed") == 0


def test_kernel_is_server_with_a_new_key(link, ends, files, tmp_path, peer):
    """The cookie is good no more: the data is sent again, with the handshake comes another cookie, and the next
    request goes with the SYN again."""
    path = files.get(SMALL)
    peer.start("http-fastopen", ends[1], 80, path.parent)
    kernel = Kernel(link.net)
    url = f"http://{ends[1]}/{path.name}"
    said = get(link, "-o", tmp_path / "got", url, url, f"{url}?new-key", url, url).stderr
    assert (tmp_path / "got").read_bytes() == 5 * path.read_bytes()
    assert kernel["CookieReqd"] == 1 and kernel["PassiveFail"] == 1
    assert kernel["Passive"] == 3
    assert counted(said, "sent") == 4 and counted(said, "taken") == 3 and counted(said, "failed") == 1


def test_kernel_is_server_without(link, ends, files, tmp_path, peer):
    """The first SYN asks in vain; then it is not asked again."""
    path = files.get(LARGE)
    peer.start("http", ends[1].strip("[]"), 80, path.parent)
    kernel = Kernel(link.net)
    said = get(link, "-o", tmp_path / "got", *[f"http://{ends[1]}/{path.name}"] * 2).stderr
    assert (tmp_path / "got").read_bytes() == 2 * path.read_bytes()
    assert kernel["Passive"] == 0
    assert counted(said, "asked") == 1 and counted(said, "failed") == 1 and counted(said, "sent") == 0


def test_through_a_bad_cable(make_link, files, tmp_path, peer):
    """SYNs, cookies and early answers get lost, doubled, and late: what arrives is right.

    A program of Tenon's leaves Fast Open alone for ten minutes when two SYNs in a row stayed unanswered, and one in ten
    does here: programs are started until forty SYNs brought data."""
    link = make_link(relay=["--loss", 5, "--dup", 2, "--reorder", 2, "--delay", 2, "--seed", 7])
    path = files.get(20_003)
    tenon = link.tenon("serve", "--fastopen", "--stats", path.parent)
    got = json.loads(peer.run("fastopen", "sendto", link.t4, 80, 40, f"/{path.name}").stdout)
    assert [one["sha256"] for one in got] == 40 * [files.hash(20_003)]
    assert sum(one["syn_data"] for one in got) > 20
    assert counted(tenon.stop(), "delivered") > 20
    peer.start("http-fastopen", link.k4, 80, path.parent)
    programs = sent = taken = 0
    while sent < 40 and programs < 20:
        said = get(link, "-o", tmp_path / "got", *[f"http://{link.k4}/{path.name}"] * 10).stderr
        assert (tmp_path / "got").read_bytes() == 10 * path.read_bytes()
        programs += 1
        sent += counted(said, "sent")
        taken += counted(said, "taken")
    assert sent >= 40 and taken > 20
