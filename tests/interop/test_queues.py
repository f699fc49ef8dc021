# SPDX-License-Identifier: MIT
"""Several instances with one address, one per queue of a port, in threads: examples/queues.c. The kernel spreads
connections over the queues, and sends what belongs to one always to the same."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from conftest import INSIDE, find_tenon

COUNT, BYTES = 400, 30000
NOT_PERMITTED = 77
LINE = re.compile(r"queue (\d+): (\d+) connections, (\d+) ended, (\d+) bytes, (\d+) wrong, (\d+) segments of no")


@pytest.fixture
def program():
    for folder in (pathlib.Path(find_tenon()).parent, pathlib.Path(find_tenon()).parent.parent):
        if (folder / "examples" / "queues").exists():
            return folder / "examples" / "queues"
    pytest.skip("examples/queues is not built")


@pytest.fixture(params=["tap", "packet"])
def port(net, request):
    """How the program is told of the port. The kernel's end has the address 10.99.0.1."""
    ours, kernels = "tq0", "tq0" if request.param == "tap" else "tq1"
    if request.param == "tap":
        net.run("ip", "tuntap", "add", "dev", ours, "mode", "tap", "multi_queue")
    else:
        if os.environ.get(INSIDE):
            pytest.skip("needs root: a program for the kernel")
        net.run("ip", "link", "add", ours, "type", "veth", "peer", "name", kernels)
        net.run("sysctl", "-qw", f"net.ipv4.conf.{ours}.arp_ignore=8")
        net.run("ip", "link", "set", ours, "up")
    net.run("ip", "address", "add", "10.99.0.1/24", "dev", kernels)
    for name in {ours, kernels}:
        net.run("sysctl", "-eqw", f"net.ipv6.conf.{name}.disable_ipv6=1")
    net.run("ip", "link", "set", kernels, "up")
    yield f"tap:{ours}" if request.param == "tap" else f"packet:{ours},fanout=flow"
    net.run("ip", "link", "del", ours, check=False)


def lines_of(text, queues, closes_last=False):
    """What the instances have said: [(connections, ended, bytes)]. Who closes last forgets the connection; when a busy
    machine has made it send its FIN again, the second answer comes too late."""
    found = [tuple(map(int, match.groups())) for match in LINE.finditer(text)]
    assert [line[0] for line in found] == list(range(queues)), text
    assert all(line[4] == 0 for line in found), text    # nothing wrong
    assert closes_last or all(line[5] == 0 for line in found), text    # nothing that went astray
    return [line[1:4] for line in found]


@pytest.mark.parametrize("queues", [2, 3])
def test_connections_of_the_kernel_are_spread(net, peer, program, port, queues):
    server = net.start(program, port, "10.99.0.2/24", queues, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True)
    net.run("ping", "-c1", "-w10", "10.99.0.2")    # asks until all queues are open
    peer.run("many", "10.99.0.2", 7, COUNT, BYTES)
    assert net.stop(server, signal.SIGINT) == 0
    said = lines_of(server.stdout.read(), queues, closes_last=True)
    print(said)
    assert sum(connections for connections, _, _ in said) == COUNT
    assert sum(received for _, _, received in said) == COUNT * BYTES
    assert all(connections > COUNT / queues / 4 for connections, _, _ in said), said


@pytest.mark.parametrize("queues, count, size", [(2, 100, 100000), (4, 30, 200000), (2, 1, 30000000)])
def test_answers_come_to_the_opening_instance(net, peer, program, port, queues, count, size):
    """The peer echoes; every instance compares what comes back with what all of them send, from the same memory."""
    peer.start("echo", "10.99.0.1", 5007)
    done = net.run(program, port, "10.99.0.2/24", queues, "10.99.0.1", 5007, count, size, timeout=120, check=False)
    if done.returncode == NOT_PERMITTED:
        pytest.skip(done.stderr.strip())    # the kernel lets only root choose how queues are chosen
    assert done.returncode == 0, done.stderr
    print(done.stdout)
    assert lines_of(done.stdout, queues) == [(count, count, count * size)] * queues
