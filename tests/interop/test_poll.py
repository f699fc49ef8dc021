# SPDX-License-Identifier: MIT
"""Sleeping until there is a packet, and looking all the time (--poll), on each kind of port."""
import os
import subprocess

import pytest

from conftest import INSIDE, find_tenon, life_of, sha256

pytestmark = pytest.mark.alone

# The kind of port, its settings, and options of the program.
SLEEPERS = {
    "tap": ("tap", [], []),
    "packet": ("packet", [], []),
    "packet-ring": ("packet", ["receive=ring"], []),
    "packet-cores": ("packet", [], ["--cores", "2"]),
    "xdp": ("xdp", [], []),
    "dpdk-tap": ("dpdk", [], []),
}


@pytest.fixture
def make(make_link, net):
    """make(kind): a link with such a port."""
    def maker(kind, settings=()):
        if kind == "xdp" and os.environ.get(INSIDE):
            pytest.skip("needs root: the kernel lets nobody else attach XDP programs")
        if kind == "dpdk" and "dpdk:" not in net.run(find_tenon(), "echo", "--port", "?").stdout:
            pytest.skip("this tenon was built without DPDK (libdpdk-dev)")
        return make_link(kind=kind, settings=settings)
    return maker


def assert_asleep(process):
    """It wakes now and then, for its counters and timers. One that never waits does not sleep either."""
    life = life_of(process, 2.5)
    assert life.sleeps < 50 and life.runs < 0.2, life


@pytest.mark.parametrize("sleeper", list(SLEEPERS))
def test_a_sleeping_server_takes_nothing(make, sleeper):
    kind, settings, options = SLEEPERS[sleeper]
    link = make(kind, settings)
    server = link.tenon("serve", *options, link.folder)
    assert_asleep(server.process)


def test_a_sleeping_server_without_an_interface_takes_nothing(net, tmp_path):
    server = net.start(find_tenon(), "serve", "--port", "dgram:./a,peer=./b", "--address", "10.1.2.3/24", ".",
                       cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while "Serving" not in (line := server.stdout.readline()):
        assert line, "it has ended"
    assert_asleep(server)
    net.stop(server)


@pytest.mark.parametrize("kind", ["tap", "packet", "xdp"])
def test_a_polling_server_looks_all_the_time(make, kind, files, tmp_path):
    link = make(kind)
    path = files.get(3_000_003)
    server = link.tenon("serve", "--poll", path.parent)
    assert life_of(server.process, 0.5).awake > 0.5    # of a processor that others want too
    link.net.run("ping", "-c3", "-i0.2", "-W5", link.t4)
    link.net.run("curl", "-sS", "-m", "60", "-o", tmp_path / "got", f"http://{link.t4}/{path.name}")
    assert sha256(tmp_path / "got") == files.hash(3_000_003)
    server.stop()
