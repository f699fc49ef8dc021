# SPDX-License-Identifier: MIT
"""One application in all core assignments (examples/models.c) over interfaces of the kernel's: it answers in
capital letters. `handed`: two instances, one at each queue, the work of each is done by the other's thread."""
import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from conftest import INSIDE, find_tenon
from test_cores import OURS, make_interface

ASSIGNMENTS = ["unified", "split", "merge", "handed"]
PORTS = {"tap": "tap:ts0", "packet": "packet:ts0", "xdp": "xdp:ts0,sums=trust"}
COUNT, QUESTIONS = 20, 30


@pytest.fixture
def program():
    path = pathlib.Path(find_tenon()).parent / "examples" / "models"
    if not path.exists():
        pytest.skip("examples/models is not built")
    return path


@pytest.fixture(params=list(PORTS))
def kind(net, request):
    if os.environ.get(INSIDE) and request.param == "xdp":
        pytest.skip("needs root: the kernel lets nobody else attach XDP programs")
    yield request.param
    net.run("ip", "link", "del", "ts0", check=False)


@pytest.fixture
def start(net, program, kind):
    """start(assignment): the program runs, and answers."""
    def starter(assignment):
        process = net.start(program, assignment, PORTS[kind], f"{OURS}/24", stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
        answered = net.run("ping", "-c1", "-w10", OURS, check=False).returncode == 0
        assert process.poll() is None, process.stderr.read()
        assert answered
        return process
    return starter


@pytest.fixture
def make(net, kind):
    """make(assignment): the interface. AF_XDP tells one queue what both want to know, ARP: the kernel sends by one."""
    def maker(assignment):
        make_interface(net, kind, 2 if assignment == "handed" else 1, 1)
    return maker


def ask(net):
    """A connection that stays open."""
    client = net.start("nc", OURS, "7", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    client.stdin.write("early\n")
    client.stdin.flush()
    assert client.stdout.readline() == "EARLY\n"
    return client


def has_program(net):
    return bool(json.loads(net.run("ip", "-j", "link", "show", "dev", "ts0").stdout)[0].get("xdp"))


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_answers_until_it_is_interrupted(net, make, start, peer, kind, assignment):
    make(assignment)
    for _ in range(2):    # the second finds everything as the first did
        server = start(assignment)
        assert has_program(net) == (kind == "xdp")
        peer.run("capitals", OURS, 7, COUNT, QUESTIONS)
        client = ask(net)
        assert net.stop(server, signal.SIGINT) == 0, server.stderr.read()
        client.wait(10)    # it has been told
        net.stop(client)
        said = server.stdout.read()
        counts = [tuple(map(int, line)) for line in re.findall(r"(\d+) events up, \d+ commands down, (\d+) mess", said)]
        assert len(counts) == 1 + (assignment == "handed"), said
        assert (sum(up for up, _ in counts) >= COUNT * QUESTIONS) == (assignment in ("split", "merge")), said
        assert (sum(handed for _, handed in counts) >= 2 * COUNT * QUESTIONS) == (assignment == "handed"), said
        assert not has_program(net)


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_interface_that_goes_ends_the_program(net, make, start, assignment):
    make(assignment)
    server = start(assignment)
    client = ask(net)
    net.run("ip", "link", "del", "ts0")
    assert server.wait(10) == 1
    net.stop(client)
    assert "the interface is gone" in server.stderr.read()


def test_what_is_wrong_is_said(net, program):
    for port, word in [("ts0", "does not begin with a kind of port"), ("tap:lo", "lo"), ("packet:none0", "none0")]:
        done = net.run(program, "split", port, f"{OURS}/24", check=False)
        assert done.returncode == 1 and word in done.stderr, done.stderr
