# SPDX-License-Identifier: MIT
"""One application in all core assignments (examples/models.c) over interfaces of the kernel's, and over cables whose
other end is another Tenon, of datagrams and of DPDK: it answers in capital letters. With a number: so many instances,
one at each queue. `handed`: two, and the work of each is done by the other's thread."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from conftest import INSIDE, find_tenon
from test_cores import OURS, make_interface

ASSIGNMENTS = ["unified", "split", "merge", "handed", "split 2", "merge 2"]
PORTS = {"tap": "tap:ts0", "packet": "packet:ts0", "xdp": "xdp:ts0,sums=trust"}
# Written with a folder for {0}. DPDK's net_tap is not among them: it learns of frames by a signal, which comes to any
# thread of the process, and who has slept until then may look too early.
CABLES = {"dgram": ("dgram:{0}/a,peer={0}/b", "dgram:{0}/b,peer={0}/a"),
          "dpdk": ("dpdk:{{net_vhost0,iface={0}/v}}", "dpdk:{{net_virtio_user0,path={0}/v}}")}
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


def queues_of(assignment):
    return 1 if assignment in ("unified", "split", "merge") else 2


def wait_for_threads(process, n):
    """The applications' are the last to begin; a ping is answered before."""
    for _ in range(200):
        if process.poll() is not None or len(os.listdir(f"/proc/{process.pid}/task")) == n:
            return
        time.sleep(0.02)
    raise AssertionError(f"there are not {n} threads")


@pytest.fixture
def start(net, program, kind):
    """start(assignment): the program runs, and answers."""
    def starter(assignment):
        name, *number = assignment.split()
        process = net.start(program, name, PORTS[kind], f"{OURS}/24", *number, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)
        answered = net.run("ping", "-c1", "-w10", OURS, check=False).returncode == 0
        wait_for_threads(process, 1 + queues_of(assignment) * (2 if name in ("split", "merge") else 1))
        assert process.poll() is None, process.stderr.read()
        assert answered
        return process
    return starter


@pytest.fixture
def make(net, kind):
    """make(assignment): the interface."""
    def maker(assignment):
        make_interface(net, kind, queues_of(assignment))
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


def judge(assignment, said):
    counts = [tuple(map(int, line)) for line in re.findall(r"(\d+) events up, \d+ commands down, (\d+) mess", said)]
    ups, handed = zip(*counts, strict=True)
    assert len(counts) == queues_of(assignment), said
    if assignment[:5] in ("split", "merge"):
        assert sum(ups) >= COUNT * QUESTIONS and min(ups) > 0, said    # each has its share
    else:
        assert sum(ups) == 0, said
    assert (sum(handed) >= 2 * COUNT * QUESTIONS) == (assignment == "handed"), said


@pytest.mark.parametrize("assignment", ASSIGNMENTS)
def test_answers_until_it_is_interrupted(net, make, start, peer, kind, assignment):
    make(assignment)
    for _ in range(1 if " " in assignment else 2):    # the second finds everything as the first did
        server = start(assignment)
        assert has_program(net) == (kind == "xdp")
        peer.run("capitals", OURS, 7, COUNT, QUESTIONS)
        client = ask(net)
        assert net.stop(server, signal.SIGINT) == 0, server.stderr.read()
        client.wait(10)    # it has been told
        net.stop(client)
        said = server.stdout.read()
        judge(assignment, said)
        assert not has_program(net)


@pytest.mark.parametrize("kind", ["tap"], indirect=True)
@pytest.mark.parametrize("assignment", ASSIGNMENTS[:4])
def test_clients_that_do_not_listen_are_reset(net, make, start, peer, assignment):
    make(assignment)
    server = start(assignment)
    peer.run("floods", OURS, 7, 16)
    assert server.poll() is None
    client = ask(net)
    assert net.stop(server, signal.SIGINT) == 0, server.stderr.read()
    net.stop(client)


@pytest.mark.parametrize("assignment", ASSIGNMENTS[:-1])
def test_interface_that_goes_ends_the_program(net, make, start, assignment):
    make(assignment)
    server = start(assignment)
    client = ask(net)
    net.run("ip", "link", "del", "ts0")
    assert server.wait(10) == 1
    net.stop(client)
    assert "the interface is gone" in server.stderr.read()


@pytest.mark.parametrize("assignment", ["unified", "split", "merge"])
@pytest.mark.parametrize("cable", CABLES)
def test_cables(net, program, tmp_path, cable, assignment):
    """No interface, no kernel: who asks is another Tenon. Nothing is left behind."""
    if cable not in net.run(find_tenon(), "echo", "--port", "?").stdout:
        pytest.skip("this tenon was built without DPDK (libdpdk-dev)")
    ours, theirs = (end.format(tmp_path) for end in CABLES[cable])
    server = net.start(program, assignment, ours, f"{OURS}/24", stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True)
    for _ in range(20 * 10):
        if list(tmp_path.iterdir()) or server.poll() is not None:
            break
        time.sleep(0.05)
    for _ in range(2):    # the other end comes and goes
        asked = net.run(find_tenon(), "connect", "-q", "--port", theirs, "--address", "10.98.0.1/24", OURS, 7,
                        input="far away\n" * 500)
        assert asked.stdout == "FAR AWAY\n" * 500
    assert net.stop(server, signal.SIGINT) == 0, server.stderr.read()
    assert (int(re.search(r"(\d+) events up", server.stdout.read())[1]) > 0) == (assignment != "unified")
    assert not list(tmp_path.iterdir())


def test_what_is_wrong_is_said(net, program):
    for port, word in [("ts0", "does not begin with a kind of port"), ("tap:lo", "lo"), ("packet:none0", "none0")]:
        done = net.run(program, "split", port, f"{OURS}/24", check=False)
        assert done.returncode == 1 and word in done.stderr, done.stderr
    for queues, assignment in [("0", "split"), ("17", "merge"), ("3", "handed")]:
        done = net.run(program, assignment, "tap:none0", f"{OURS}/24", queues, check=False)
        assert done.returncode == 1 and "queues" in done.stderr, done.stderr
