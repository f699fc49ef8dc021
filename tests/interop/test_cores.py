# SPDX-License-Identifier: MIT
"""tenon serve and tenon echo on several cores (--cores): one address, a queue of a port for each core. Many connections
of the kernel meet all of them; what only one core hears, and all have to know, goes to all."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from conftest import INSIDE, find_tenon, sha256

SIZE = 3_000_003
CONNECTIONS = 60
OURS = "10.98.0.2"
OURS6 = "fd00:98::2"

# How the port is made, what it is called, and how cores share it.
KINDS = {
    "tap": ("tap:ts0", "nic"),
    "tap-software": ("tap:ts0", "software"),
    "packet": ("packet:ts0", "nic"),
    "packet-flow": ("packet:ts0,fanout=flow", "nic"),
    "packet-turns": ("packet:ts0,fanout=lb", "software"),
    "xdp": ("xdp:ts0,sums=trust", "software"),
    "dpdk-tap": ("dpdk:{net_tap0,iface=ts0}", "nic"),
    "dpdk-tap-software": ("dpdk:{net_tap0,iface=ts0}", "software"),
}


def make_interface(net, kind, queues, kernels_queues=None):
    kernels = "ts0" if kind in ("tap", "dpdk") else "ts1"
    if kernels == "ts0":
        many = ["multi_queue"] if queues > 1 or kind == "dpdk" else []
        net.run("ip", "tuntap", "add", "dev", "ts0", "mode", "tap", *many)
    else:
        n, m = (("numrxqueues", queues, "numtxqueues", sent) for sent in (queues, kernels_queues or queues))
        net.run("ip", "link", "add", "ts0", *n, "type", "veth", "peer", "name", "ts1", *m)
        net.run("sysctl", "-qw", "net.ipv4.conf.ts0.arp_ignore=8", "net.ipv6.conf.ts0.disable_ipv6=1")
        net.run("ip", "link", "set", "ts0", "up")
    net.run("ip", "address", "add", "10.98.0.1/24", "dev", kernels)
    net.run("ip", "address", "add", "fd00:98::1/64", "dev", kernels, "nodad")
    net.run("ip", "link", "set", kernels, "up")


class Server:
    """A tenon that runs on several cores."""

    def __init__(self, net, queues, port, steer, folder, *argv):
        self.net = net
        env = {**os.environ, "XDG_RUNTIME_DIR": str(folder)}
        self.process = net.start(find_tenon(), argv[0], "--port", port, "--cores", queues, "--steer", steer, "--stats",
                                 "--address", f"{OURS}/24", "--address", f"{OURS6}/64", *argv[1:],
                                 stderr=subprocess.PIPE, text=True, env=env)
        self.env = env
        self.net.run("ping", "-c1", "-w10", OURS)
        self.wait_for_cores(queues)

    def top(self, *argv):
        done = subprocess.run([find_tenon(), "top", *argv, str(self.process.pid)], env=self.env, capture_output=True,
                              text=True, timeout=20)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def wait_for_cores(self, queues):
        """The last thread may begin after the first has answered a ping."""
        for _ in range(100):
            snapshot = json.loads(self.top("--json"))
            assert len(snapshot["cores"]) == queues
            threads = [path.read_text() for path in pathlib.Path(f"/proc/{snapshot['pid']}/task").glob("*/comm")]
            if threads.count("tenon\n") == queues:    # libraries have some of their own
                time.sleep(0.1)
                return
            time.sleep(0.05)
        raise AssertionError(f"threads: {threads}")

    def stop(self, how=signal.SIGINT):
        """@return (what it said, counters by name)"""
        assert self.net.stop(self.process, how) == 0
        said = self.process.stderr.read()
        return said, {name: int(n.replace(",", "")) for name, n in re.findall(r"^  (\w+) +([\d,]+)  ", said, re.M)}


@pytest.fixture(params=list(KINDS))
def start(net, request, tmp_path):
    port, steer = KINDS[request.param]
    kind = port.split(":")[0]
    if os.environ.get(INSIDE) and (kind == "xdp" or "flow" in port):
        pytest.skip("needs root: a program for the kernel")
    if kind == "dpdk" and "dpdk:" not in net.run(find_tenon(), "echo", "--port", "?").stdout:
        pytest.skip("this tenon was built without DPDK (libdpdk-dev)")

    def starter(queues, *argv):
        make_interface(net, kind, queues)
        return Server(net, queues, port, steer, tmp_path, *argv)
    yield starter
    net.run("ip", "link", "del", "ts0", check=False)


@pytest.mark.parametrize("queues", [2, 3])
def test_files_come_whole_from_all_cores(net, start, queues, files, tmp_path):
    path = files.get(SIZE)
    server = start(queues, "serve", path.parent)
    urls = [f"http://{host}/{path.name}" for host in (OURS, f"[{OURS6}]") for _ in range(CONNECTIONS // 2)]
    argv = ["curl", "-sS", "-m", "60", "-g", "--parallel", "--parallel-immediate", "--parallel-max", "20"]
    for i, url in enumerate(urls):
        argv += ["-H", "Connection: close", "-o", str(tmp_path / f"got{i}"), url]
    net.run(*argv, timeout=90)
    assert {sha256(tmp_path / f"got{i}") for i in range(len(urls))} == {files.hash(SIZE)}
    snapshot = json.loads(server.top("--json"))
    said, counters = server.stop()
    shares = [core["tx_frames"] for core in snapshot["cores"]]
    assert all(shares), shares
    assert snapshot["interfaces"][0]["tx_frames"] == sum(shares)
    assert counters["tcp_established"] == CONNECTIONS, said
    assert counters.get("tcp_no_connection", 0) <= CONNECTIONS    # a FIN that was sent again
    assert f"{CONNECTIONS} requests" in said


def test_connections_that_last(net, start, peer):
    """Both ways, on connections that stay open: top sees those of all cores."""
    server = start(2, "echo")
    kernel = net.start("nc", OURS, "7", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    kernel.stdin.write("early\n")
    kernel.stdin.flush()
    assert kernel.stdout.readline() == "early\n"
    peer.run("many", OURS, 7, 200, 20_000)
    peer.run("udp", OURS6, 7, 20, 16, 1400, 4000, 9000)
    listed = [conn for conn in json.loads(server.top("--json"))["tcp"]["list"] if conn["state"] == "ESTABLISHED"]
    assert len(listed) == 1 and listed[0]["core"] in (0, 1)
    assert " core 1 " in server.top("--once")
    kernel.stdin.write("late\n")
    kernel.stdin.flush()
    assert kernel.stdout.readline() == "late\n"
    net.stop(kernel)
    _, counters = server.stop(signal.SIGTERM)
    assert counters["tcp_established"] == 201


def test_all_cores_hear_of_the_path_and_the_neighbour(net, start, files, tmp_path):
    """Behind the kernel's end there is a link with a small MTU: the ICMP errors reach the core whose segment was too
    large, at whatever queue they come. All cores ask by ARP for the way there."""
    if os.environ.get(INSIDE):
        pytest.skip("needs root: another network namespace")
    path = files.get(SIZE)
    server = start(3, "serve", "--gateway", "10.98.0.1", path.parent)
    far = net.name + "f"
    subprocess.run(["ip", "netns", "add", far], check=True)
    try:
        net.run("ip", "link", "add", "tf0", "mtu", "1300", "type", "veth", "peer", "name", "tf1", "netns", far)
        net.run("ip", "address", "add", "10.97.0.1/24", "dev", "tf0")
        net.run("ip", "link", "set", "tf0", "up")
        net.run("sysctl", "-qw", "net.ipv4.ip_forward=1")
        inside = ["ip", "netns", "exec", far]
        for command in ("address add 10.97.0.2/24 dev tf1", "link set tf1 up", "route add default via 10.97.0.1"):
            subprocess.run([*inside, "ip", *command.split()], check=True)
        for i in range(12):
            subprocess.run([*inside, "curl", "-sS", "-m", "20", "-o", tmp_path / "got", f"http://{OURS}/{path.name}"],
                           check=True, timeout=30)
            assert sha256(tmp_path / "got") == files.hash(SIZE)
        snapshot = json.loads(server.top("--json"))
    finally:
        net.run("ip", "link", "del", "tf0", check=False)
        subprocess.run(["ip", "netns", "del", far], check=False)
    said, counters = server.stop()
    assert counters["pmtu_lowered"] == sum(core["tx_bytes"] > SIZE for core in snapshot["cores"]) > 1, said


# ---- what cannot be ------------------------------------------------------------------------------------

def wrong(net, *argv):
    done = net.run(find_tenon(), "echo", *argv, check=False, timeout=20)
    assert done.returncode in (1, 2)
    return done.stderr


def test_an_interface_with_one_queue(net):
    net.run("ip", "tuntap", "add", "dev", "ts0", "mode", "tap")
    try:
        said = wrong(net, "--port", "tap:ts0", "--cores", "2")
        assert "multi_queue" in said and said.count("\n") == 1, said
    finally:
        net.run("ip", "link", "del", "ts0")


def test_queues_are_chosen_once(net):
    said = wrong(net, "--port", "packet:lo,queues=2,queue=1", "--cores", "2")
    assert "--cores chooses the queues" in said


@pytest.mark.parametrize("value", ["0", "65", "many"])
def test_numbers_of_cores(net, value):
    assert "--cores" in wrong(net, "--cores", value)


def test_ways_to_steer(net):
    assert "neither nic nor software" in wrong(net, "--steer", "luck")


def test_interface_that_goes(net, tmp_path):
    make_interface(net, "tap", 2)
    server = Server(net, 2, "tap:ts0", "nic", tmp_path, "echo")
    net.run("ip", "link", "del", "ts0")
    assert server.process.wait(timeout=10) == 1
    assert "is gone" in server.process.stderr.read()
    assert not list((tmp_path / "tenon").glob("*.sock"))


def test_each_core_has_its_files(net, peer, tmp_path, tshark):
    make_interface(net, "tap", 2)
    server = Server(net, 2, "tap:ts0", "nic", tmp_path, "echo", "--pcap", tmp_path / "p.pcapng", "--trace",
                    tmp_path / "t.trace")
    peer.run("many", OURS, 7, 40, 1000)
    server.stop()
    net.run("ip", "link", "del", "ts0")
    for name in ("p.pcapng", "p.pcapng.1"):
        assert "10.98.0.2" in net.run("tshark", "-r", tmp_path / name).stdout
    for name in ("t.trace", "t.trace.1"):
        listed = subprocess.run([find_tenon(), "trace", "--list", tmp_path / name], capture_output=True, text=True)
        assert "10.98.0.1" in listed.stdout


@pytest.mark.parametrize("option", ["--pcap", "--trace"])
def test_a_file_of_another_core_that_is_incomplete_is_a_failure(net, tmp_path, option):
    make_interface(net, "tap", 2)
    (tmp_path / "record.1").symlink_to("/dev/full")
    server = Server(net, 2, "tap:ts0", "nic", tmp_path, "echo", option, tmp_path / "record")
    net.stop(server.process, signal.SIGTERM)
    net.run("ip", "link", "del", "ts0")
    said = server.process.stderr.read()
    assert server.process.returncode == 1 and f"{tmp_path}/record.1: " in said and "No space left" in said, said
