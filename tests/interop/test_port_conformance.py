# SPDX-License-Identifier: MIT
"""What every kind of port must be able to do (tests/ports/check.c): an instance at either end of a cable, which is made
of interfaces of the kernel's or of nothing but names. A new kind needs a row in CABLES."""
import os
import pathlib
import subprocess

import pytest

from conftest import BULK_BYTES, INSIDE, find_tenon

# How the two ends are made, and how they are written, with {0} and {1} for the interfaces' names. None: there is
# nothing to make, and no link that could go down.
CABLES = {
    "wire": (None, "wire:x", "wire:x"),
    "tap": ("bridge", "tap:{0}", "tap:{1}"),
    "packet": ("veth", "packet:{0}", "packet:{1}"),
    "packet-ring": ("veth", "packet:{0},receive=ring", "packet:{1},receive=ring"),
    "xdp": ("veth", "xdp:{0},offload=off", "xdp:{1},offload=off"),
    "xdp-generic": ("veth", "xdp:{0},mode=generic,offload=off", "xdp:{1},mode=generic,offload=off"),
    "packet-xdp": ("veth", "packet:{0}", "xdp:{1},sums=trust"),
    "dpdk": (None, "dpdk:{{net_vhost0,iface={0}}}", "dpdk:{{net_virtio_user0,path={0}}}"),
    "dpdk-tso": (None, "dpdk:{{net_vhost0,iface={0},tso=1}},tso=force", "dpdk:{{net_virtio_user0,path={0}}}"),
    "dpdk-memif": (None, "dpdk:{{net_memif0,role=server,id=0,socket={0},socket-abstract=yes}}",
                   "dpdk:{{net_memif1,role=client,id=0,socket={0},socket-abstract=yes}}"),
    "dpdk-tap": ("queued bridge", "dpdk:{{net_tap0,iface={0}}}", "dpdk:{{net_tap1,iface={1}}}"),
    "dpdk-ring": (None, "dpdk", "dpdk"),
    "dpdk-af_packet": ("veth", "dpdk:{{net_af_packet0,iface={0}}}", "dpdk:{{net_af_packet1,iface={1}}}"),
    "dpdk-pcap": ("veth", "dpdk:{{net_pcap0,rx_iface_in={0},tx_iface={0}}}",
                  "dpdk:{{net_pcap1,rx_iface_in={1},tx_iface={1}}}"),
    "dgram-unix": (None, "dgram:./{0},peer=./{1}", "dgram:./{1},peer=./{0}"),
    "dgram-unix-vnet": (None, "dgram:./{0},peer=./{1},vnet=on", "dgram:./{1},peer=./{0},vnet=on"),
    "dgram-udp": (None, "dgram:127.0.0.1:5001,peer=127.0.0.1:5002", "dgram:127.0.0.1:5002,peer=127.0.0.1:5001"),
    "dgram-udp6-vnet": (None, "dgram:[::1]:5001,peer=[::1]:5002,vnet=on", "dgram:[::1]:5002,peer=[::1]:5001,vnet=on"),
}
# What is special: the largest MTU of a kind; one end cannot be opened again while the other stays; frames get lost.
MTU_MAX = {"tap": 65521, "dpdk": 9216, "dpdk-tso": 9216, "dpdk-memif": 1500, "dpdk-tap": 1500, "dpdk-ring": 9216,
           "dpdk-af_packet": 1500, "dpdk-pcap": 9000, "dgram-udp": 65477, "dgram-udp6-vnet": 65477}
ARGUMENTS = {**dict.fromkeys(["dpdk", "dpdk-tso", "dpdk-memif", "dpdk-tap"], ["--once"]),
             "dpdk-af_packet": ["--largest", "1900"],    # the kernel joins fragments, the driver cuts those
             "dgram-udp": ["--lossy"], "dgram-udp6-vnet": ["--lossy"]}
# Kinds with queues, {2} of them, and what is on the other side, with one queue if it is not of the same kind.
QUEUES = {
    "tap": ("bridge", "tap:{0}", "tap:{1}"),
    "packet": ("veth", "packet:{0}", "packet:{1}"),
    "packet-turns": ("veth", "packet:{0},fanout=lb", "packet:{1},offload=off"),
    "xdp": ("veth", "xdp:{0}", "packet:{1},offload=off"),
    "dpdk": (None, "dpdk:{{net_vhost0,iface={0},queues={2}}}", "dpdk:{{net_virtio_user0,path={0},queues={2}}}"),
    "dpdk-tso": (None, "dpdk:{{net_vhost0,iface={0},tso=1,queues={2}}},tso=force",
                 "dpdk:{{net_virtio_user0,path={0},queues={2}}}"),
    "dpdk-tap": ("queued bridge", "dpdk:{{net_tap0,iface={0}}}", "dpdk:{{net_tap1,iface={1}}}"),
    "dpdk-ring": (None, "dpdk", "dpdk"),
}
# Kinds of port, and what they can do for who sends that the instances are not told of.
PARTS = ["csum", "tso4", "tso6", "uso", "gather"]
DO_PARTS = [*((kind, part) for kind in ("wire", "tap", "packet") for part in PARTS),
            *(("dpdk-tso", part) for part in PARTS if part != "uso"), ("xdp", "gather")]
# "make ports-long" has what takes long: the gigabytes of the simulator, and all of what the slowest devices carry.
LONG = bool(os.environ.get("TENON_PORTS_LONG"))
LONG_S = 3600
PARTS_OF_LARGE = {"dpdk-tap": 4, "dpdk-pcap": 4}
KINDS = 8    # of exchanges, and one more where a link can be taken down


@pytest.fixture
def program():
    build = pathlib.Path(find_tenon()).parent
    if not (build / "tenon-port-check").exists():
        pytest.skip("tenon-port-check is not built")
    return build / "tenon-port-check"


def make_taps(net, mtu, queues, always_queued=False):
    """Two TAP interfaces, and a bridge between them."""
    net.run("ip", "link", "add", "cb", "type", "bridge", "mcast_snooping", "0")
    for name, many in (("ca", queues > 1 or always_queued), ("cz", always_queued)):
        net.run("ip", "tuntap", "add", "dev", name, "mode", "tap", *(["multi_queue"] if many else []))
    for name in ("cb", "ca", "cz"):
        net.run("ip", "link", "set", name, "mtu", mtu)
    for name in ("ca", "cz"):
        net.run("ip", "link", "set", name, "master", "cb")


def make_veths(net, mtu, queues):
    n = ("numrxqueues", queues, "numtxqueues", queues)
    net.run("ip", "link", "add", "ca", "mtu", mtu, *n, "type", "veth", "peer", "name", "cz", "mtu", mtu, *n)


@pytest.fixture
def cable(net):
    """make(how, mtu, queues): interfaces ca and cz, with nothing of the kernel's own on them."""
    def make(how, mtu=1500, queues=1):
        if how is None:
            return
        if how == "veth":
            make_veths(net, mtu, queues)
        else:
            make_taps(net, mtu, queues, how == "queued bridge")
        for name in ("ca", "cz", *(["cb"] if how != "veth" else [])):
            net.run("sysctl", "-eqw", f"net.ipv6.conf.{name}.disable_ipv6=1")
            net.run("sysctl", "-qw", f"net.ipv4.conf.{name}.arp_ignore=8")
            net.run("ip", "link", "set", name, "up")
    yield make
    for name in ("ca", "cz", "cb"):
        net.run("ip", "link", "del", name, check=False)


def check(net, program, folder, how, ports, *argv):
    if os.environ.get(INSIDE) and any(port.startswith("xdp") for port in ports):
        pytest.skip("needs root: the kernel lets nobody else attach XDP programs")
    if any(port.startswith("dpdk") for port in ports) and not has_dpdk(net, program):
        pytest.skip("was built without libdpdk")
    flap = ["--flap", "ip link set ca down; sleep 0.2; ip link set ca up"] if how else []
    done = net.run(program, *flap, *argv, *ports, timeout=280, check=False, cwd=folder)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") == (1 if "--late" in argv else KINDS + bool(how) - ("--once" in argv))


def has_dpdk(net, program):
    return "dpdk:" in net.run(program.parent / "tenon", "echo", "--port", "?").stdout


def written(ports, queues=1, **settings):
    """The ports' names, with these settings where there are none of the kind yet."""
    names = [port.format("ca", "cz", queues) for port in ports]
    for setting, value in settings.items():
        names = [name if f",{setting}=" in name else f"{name},{setting}={value}" for name in names]
    return names


def mtus(kind):
    return sorted({min(mtu, MTU_MAX.get(kind, mtu)) for mtu in (576, 1280, 1500, 9000, 65535)})


@pytest.mark.parametrize("kind, mtu", [(kind, mtu) for kind in CABLES for mtu in mtus(kind)])
def test_exchanges(net, program, cable, tmp_path, kind, mtu):
    how, *ports = CABLES[kind]
    cable(how, mtu)
    names = written(ports, **({} if how in ("veth", "bridge") and not kind.startswith("dpdk") else {"mtu": mtu}))
    check(net, program, tmp_path, how, names, *ARGUMENTS.get(kind, []))


@pytest.mark.parametrize("mtu", [576, 1280, 1500, 9000, 65535])
@pytest.mark.parametrize("loss", [0, 2000])
@pytest.mark.parametrize("channel", ["csma", "p2p", "plug"])
def test_exchanges_of_simulated_nodes(program, channel, loss, mtu):
    """Devices of ns-3, in the simulator's time. Those that are its own cannot say that their link is down: it loses
    everything then; one of the test's can."""
    program = program.parent / "tenon-port-check-ns3"
    if not program.exists():
        pytest.skip("was built without ns-3")
    port = f"ns3:{channel},mtu={mtu}" + (f",loss={loss}" if loss else "")
    argv = [*(["--lossy"] if loss else []), *(["--once"] if channel == "p2p" else [])]
    done = subprocess.run([program, "--flap", "for a moment", "--bytes", "1000000", *argv, port, port], text=True,
                          capture_output=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("ok ") == KINDS + 1 - ("--once" in argv)


@pytest.mark.parametrize("left, right", [("off", "off"), ("on", "off"), ("off", "on")])
@pytest.mark.parametrize("kind", ["wire", "tap", "packet", "packet-ring", "packet-xdp", "dpdk", "dpdk-tso", "dpdk-tap",
                                  "dgram-unix-vnet"])
def test_offloads(net, program, cable, tmp_path, kind, left, right):
    if kind == "dpdk-tso" and left == "on" and right == "off":
        pytest.skip("who forces large frames has to know that the other end takes them")
    how, *ports = CABLES[kind]
    cable(how)
    names = written(ports[:1], offload=left) + written(ports[1:], offload=right)
    more = ["--bytes", "64000000"] if kind == "dpdk" else []    # until the driver has refused what it had made sums for
    check(net, program, tmp_path, how, names, *ARGUMENTS.get(kind, []), *more)


@pytest.mark.parametrize("kind, part", DO_PARTS)
def test_offloads_one_by_one(net, program, cable, tmp_path, kind, part):
    how, *ports = CABLES[kind]
    cable(how)
    check(net, program, tmp_path, how, written(ports), "--without", part, *ARGUMENTS.get(kind, []))


@pytest.mark.parametrize("queues, mtu", [(2, 1500), (2, 9000), (3, 1500), (4, 1500)])
@pytest.mark.parametrize("kind", list(QUEUES))
def test_queues(net, program, cable, tmp_path, kind, queues, mtu):
    if mtu > MTU_MAX.get(kind, mtu):
        pytest.skip(f"takes an MTU of up to {MTU_MAX[kind]}")
    how, *ports = QUEUES[kind]
    cable(how, mtu, queues)
    names = written(ports, queues, **({} if how else {"mtu": mtu}))
    many = f"{queues},{queues}" if "{2}" in ports[1] or kind == "dpdk-ring" else str(queues)
    check(net, program, tmp_path, how, names, "--queues", many, *ARGUMENTS.get(kind, []))


@pytest.mark.parametrize("kind", [kind for kind in CABLES if kind != "wire"])    # which takes what memory it wants
def test_late_readers(net, program, cable, tmp_path, kind):
    """With frames of ordinary size: before the memory for those is at an end the one for large ones is."""
    how, *ports = CABLES[kind]
    cable(how)
    names = written(ports[:1], offload="off") + written(ports[1:], offload="off", memory=1)
    check(net, program, tmp_path, how, names, "--late")


@pytest.mark.parametrize("kind", list(CABLES))
def test_large_transfers(net, program, cable, tmp_path, kind):
    """1 GiB, if nothing else is said: over IPv4 and IPv6, from either side, and back."""
    how, *ports = CABLES[kind]
    cable(how)
    total = BULK_BYTES // (1 if LONG else PARTS_OF_LARGE.get(kind, 1))
    argv = ["--bytes", str(total // 4)]    # of four connections, each half of it there and back
    check(net, program, tmp_path, how, written(ports), *ARGUMENTS.get(kind, []), *argv)


@pytest.mark.skipif(not LONG, reason="takes minutes: make ports-long")
@pytest.mark.parametrize("channel", ["csma", "p2p", "plug"])
def test_large_transfers_of_simulated_nodes(program, channel):
    """The same, where Tenon is at both ends."""
    program = program.parent / "tenon-port-check-ns3"
    if not program.exists():
        pytest.skip("was built without ns-3")
    port = f"ns3:{channel}"
    done = subprocess.run([program, "--once", "--bytes", str(BULK_BYTES // 4), port, port], text=True,
                          capture_output=True, timeout=LONG_S)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not LONG, reason="takes minutes: make ports-long")
def test_large_transfers_with_the_tcp_of_ns3(program):
    """By the simulator's sockets: as much between Tenon and ns-3's own TCP, and as much between Tenon and Tenon."""
    program = program.parent / "tests" / "unit" / "port.ns3_test"
    if not program.exists():
        pytest.skip("was built without ns-3")
    done = subprocess.run([program], text=True, capture_output=True, timeout=LONG_S,
                          env={**os.environ, "TENON_NS3_BYTES": str(BULK_BYTES)})
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("bytes each way") == 6
