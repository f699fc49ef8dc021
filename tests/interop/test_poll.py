# SPDX-License-Identifier: MIT
"""Sleeping until there is a packet, and looking all the time (--poll), on each kind of port."""
import os
import subprocess
import time

import pytest

from conftest import INSIDE, find_tenon, sha256

TICKS = os.sysconf("SC_CLK_TCK")
LEAST = 0.01    # of one processor: nobody takes so much for nothing
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


def processor_time(pid):
    """Seconds that a process has been running."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def share(process, seconds):
    """Of one processor, while nothing happens."""
    began, before = time.monotonic(), processor_time(process.pid)
    time.sleep(seconds)
    return (processor_time(process.pid) - before) / (time.monotonic() - began)


@pytest.mark.parametrize("sleeper", list(SLEEPERS))
def test_a_sleeping_server_takes_nothing(make, sleeper):
    kind, settings, options = SLEEPERS[sleeper]
    link = make(kind, settings)
    server = link.tenon("serve", *options, link.folder)
    assert share(server.process, 2.5) < LEAST


def test_a_sleeping_server_without_an_interface_takes_nothing(net, tmp_path):
    server = net.start(find_tenon(), "serve", "--port", "dgram:./a,peer=./b", "--address", "10.1.2.3/24", ".",
                       cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while "Serving" not in (line := server.stdout.readline()):
        assert line, "it has ended"
    assert share(server, 2.5) < LEAST
    net.stop(server)


@pytest.mark.parametrize("kind", ["tap", "packet", "xdp"])
def test_a_polling_server_looks_all_the_time(make, kind, files, tmp_path):
    link = make(kind)
    path = files.get(3_000_003)
    server = link.tenon("serve", "--poll", path.parent)
    assert share(server.process, 0.5) > 0.05    # of a processor that others want too
    link.net.run("ping", "-c3", "-i0.2", "-W5", link.t4)
    link.net.run("curl", "-sS", "-m", "60", "-o", tmp_path / "got", f"http://{link.t4}/{path.name}")
    assert sha256(tmp_path / "got") == files.hash(3_000_003)
    server.stop()
