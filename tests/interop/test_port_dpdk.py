# SPDX-License-Identifier: MIT
"""The port `dpdk`: the kernel at the other end (net_tap), and two programs joined by vhost or by memif."""
import fcntl
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

from conftest import INSIDE, Download, find_tenon, life_of, sha256
from exchanges import echo_datagrams, fetch_both_ways, fetch_with_capture

SIZE = 16_000_003
WAYS = {"plain": [], "offload-off": ["offload=off"], "always-looks": ["wake=never"], "little-memory": ["memory=4"]}
CABLES = {    # of the server, and of the client; S is a socket
    "vhost": ("net_vhost0,iface=S,tso=1", "net_virtio_user0,path=S"),
    "vhost-no-tso": ("net_vhost0,iface=S", "net_virtio_user0,path=S"),
    "vhost-packed": ("net_vhost0,iface=S,tso=1", "net_virtio_user0,path=S,packed_vq=1"),
    "memif": ("net_memif0,role=server,id=0,socket=S,socket-abstract=no",
              "net_memif0,role=client,id=0,socket=S,socket-abstract=no"),
}


@pytest.fixture(autouse=True)
def possible(net):
    if "dpdk:" not in net.run(find_tenon(), "echo", "--port", "?").stdout:
        pytest.skip("this tenon was built without DPDK (libdpdk-dev)")


@pytest.fixture(autouse=True)
def nothing_left(possible):
    """No file of DPDK, in whatever way a program has ended. Those of programs that run are other tests'; so may others
    be, of a test whose program has the usual prefix, but those do not stay."""
    def files():
        paths = {os.path.join(at, name) for folder in ("/var/run/dpdk", "/dev/hugepages")
                 for at, folders, names in os.walk(folder) for name in folders + names}    # some go meanwhile
        return {path for path in paths if not any(pathlib.Path(f"/proc/{pid}").exists()
                                                  for pid in re.findall(r"tenon(\d+)", path))}
    before = files()
    yield
    until = time.monotonic() + 5
    while not files() <= before and time.monotonic() < until:
        time.sleep(0.05)
    assert files() <= before


@pytest.fixture(params=["ip4", "ip6"])
def version(request):
    return request.param


# ---- the kernel at the other end ---------------------------------------------------------------------

@pytest.mark.parametrize("way", list(WAYS))
def test_transfers(make_link, version, way, files, tmp_path, peer):
    link = make_link(kind="dpdk", settings=WAYS[way])
    fetch_both_ways(link, version, files, tmp_path, peer, SIZE,
                    between=lambda: link.net.run("ip", "link", "set", link.tap, "up"))


@pytest.mark.parametrize("mtu", [576, 1280])
def test_transfers_with_a_small_mtu(make_link, mtu, files, tmp_path):
    link = make_link(kind="dpdk", settings=[f"mtu={mtu}"], mtu=mtu)
    path, got = files.get(1_000_003), tmp_path / "got"
    link.tenon("serve", path.parent)
    link.net.run("curl", "-sS", "-m", 60, "-o", got, f"http://{link.t4}/{path.name}")
    assert sha256(got) == files.hash(1_000_003)


def test_datagrams(make_link, version, peer):
    link = make_link(kind="dpdk")
    echo_datagrams(link, version, peer)


def test_capture_is_clean(make_link, files, tmp_path, tshark):
    link = make_link(kind="dpdk", settings=["offload=off"])
    fetch_with_capture(link, files, tmp_path, tshark)


def test_many_connections(make_link, peer):
    link = make_link(kind="dpdk")
    link.tenon("echo")
    peer.run("many", link.t4, 7, 100, 50_000)


def test_transfer_survives_a_link_that_goes_down(make_link, files, tmp_path):
    link = make_link(kind="dpdk")
    path, got = files.get(SIZE), tmp_path / "got"
    link.tenon("serve", path.parent)
    download = Download(link, path, got)
    download.wait_bytes(SIZE // 10)
    link.net.run("ip", "link", "set", link.tap, "down")
    time.sleep(0.2)
    download.goes_on()    # else it was too early
    link.net.run("ip", "link", "set", link.tap, "up")
    download.wait()
    assert sha256(got) == files.hash(SIZE)


# ---- two programs --------------------------------------------------------------------------------------

class Pair:
    """A server and clients on a cable between processes."""

    def __init__(self, net, folder, cable):
        self.net, self.folder, self.socket = net, folder, folder / "socket"
        self.server_device, self.client_device = (d.replace("S", str(self.socket), 1) for d in CABLES[cable])
        self.server = None
        self.has_ip6 = True

    def argv(self, command, number, device, settings):
        port = ",".join([f"dpdk:{{{device}}}", *settings])
        argv = [find_tenon(), command, "--port", port, "--address", f"10.9.0.{number}/24"]
        return argv + (["--address", f"fd00:9::{number}/64"] if self.has_ip6 else [])

    def start(self, *arguments, settings=()):
        log = open(self.folder / "server.log", "wb")
        argv = self.argv(arguments[0], 2, self.server_device, settings)
        self.server = self.net.start(*argv, *arguments[1:], stdout=log, stderr=log)
        end = time.monotonic() + 10
        while not self.socket.exists():
            assert self.server.poll() is None and time.monotonic() < end, self.said()
            time.sleep(0.02)
        return self.server

    def said(self):
        return (self.folder / "server.log").read_text()

    def run(self, *arguments, settings=(), **more):
        return self.net.run(*self.argv(arguments[0], 3, self.client_device, settings), *arguments[1:], **more)

    def stop(self):
        assert self.net.stop(self.server, signal.SIGINT) in (0, 130), self.said()
        assert not self.socket.exists()
        return self.said()


@pytest.fixture
def make_pair(net, tmp_path):
    made = []

    def make(cable):
        made.append(Pair(net, tmp_path, cable))
        return made[-1]

    yield make
    for pair in made:
        if pair.server is not None:
            net.stop(pair.server)


@pytest.mark.parametrize("settings", [[], ["offload=off"]], ids=["offload", "plain"])
@pytest.mark.parametrize("cable", list(CABLES))
def test_two_programs(make_pair, cable, version, settings, files, tmp_path):
    pair = make_pair(cable)
    path, got = files.get(SIZE), tmp_path / "got"
    pair.start("serve", path.parent, settings=settings)
    host = "10.9.0.2" if version == "ip4" else "[fd00:9::2]"
    for _ in range(2):    # a client goes, the next one comes
        pair.run("get", "-o", got, f"http://{host}/{path.name}", settings=settings)
        assert sha256(got) == files.hash(SIZE)
        got.unlink()
    pair.stop()


@pytest.mark.parametrize("mtu", [576, 1280, 9000])
def test_two_programs_with_another_mtu(make_pair, mtu, files, tmp_path):
    pair = make_pair("vhost")
    pair.has_ip6 = mtu >= 1280
    path, got = files.get(4_000_003), tmp_path / "got"
    pair.start("serve", path.parent, settings=[f"mtu={mtu}"])
    pair.run("get", "-o", got, f"http://10.9.0.2/{path.name}", settings=[f"mtu={mtu}"])
    assert sha256(got) == files.hash(4_000_003)
    pair.stop()


def test_large_frames_both_ways(make_pair, files, tmp_path):
    """Nobody cuts what the host sends, and nobody makes its checksums."""
    pair = make_pair("vhost")
    path, got = files.get(SIZE), tmp_path / "got"
    pair.start("serve", "--stats", path.parent, settings=["tso=force"])
    said = pair.run("get", "--stats", "-o", got, f"http://10.9.0.2/{path.name}").stderr
    assert sha256(got) == files.hash(SIZE)
    frames = int(said.partition("rx_frames")[2].split()[0].replace(",", ""))
    assert frames < SIZE / 10_000, said
    said = pair.stop()
    assert "tx_segmented" not in said and "tx_csum_soft" not in said


# ---- one ends without a word ---------------------------------------------------------------------------

def under_way(pair, got, url):
    """A client in the middle of a transfer."""
    client = pair.net.start(*pair.argv("get", 3, pair.client_device, []), "-o", got, url,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while not got.exists() or got.stat().st_size < 1_000_000:
        assert client.poll() is None and time.monotonic() < end, pair.said()
        time.sleep(0.005)
    return client


@pytest.mark.parametrize("cable", ["vhost", "memif"])
@pytest.mark.parametrize("who", ["client", "server"])
def test_a_killed_process_is_replaced(make_pair, cable, who, files, tmp_path):
    """A server goes on with the next client. With the next server a client begins anew."""
    pair = make_pair(cable)
    large, small = files.get(400_000_003), files.get(SIZE)
    pair.start("serve", large.parent)
    for n in range(2):
        client = under_way(pair, tmp_path / f"large{n}", f"http://10.9.0.2/{large.name}")
        pair.net.stop(client if who == "client" else pair.server, signal.SIGKILL)
        if who == "server":
            pair.net.stop(client, signal.SIGKILL)
            if cable == "memif":
                said = pair.net.run(*pair.argv("echo", 2, pair.server_device, []), check=False, timeout=20).stderr
                assert "has to be removed" in said, said
                pair.socket.unlink()
            pair.start("serve", large.parent)
            while "Serving" not in pair.said():
                assert pair.server.poll() is None, pair.said()
                time.sleep(0.02)
        pair.run("get", "-o", tmp_path / "got", f"http://10.9.0.2/{small.name}")
        assert sha256(tmp_path / "got") == files.hash(SIZE)
        (tmp_path / f"large{n}").unlink()
    pair.stop()


# ---- several queues ------------------------------------------------------------------------------------

LINE = re.compile(r"queue (\d+): (\d+) connections, (\d+) ended, (\d+) bytes, (\d+) wrong, (\d+) segments of no")


@pytest.mark.parametrize("queues, count, size", [(2, 60, 100_000), (4, 20, 300_000)])
@pytest.mark.parametrize("more", ["", ",tso=1"], ids=["plain", "tso"])
def test_a_queue_is_answered_by_an_instance_of_its_own(make_pair, net, more, queues, count, size):
    """examples/queues.c has an instance at each queue of the guest's end, and compares what comes back; the host has
    one at each of its own, which listens. Nobody hands anything over: what comes from a queue comes to its like."""
    program = pathlib.Path(find_tenon()).parent / "examples" / "queues"
    if not program.exists():
        pytest.skip("examples/queues is not built")
    pair = make_pair("vhost")
    pair.server_device = f"net_vhost0,iface={pair.socket},queues={queues}{more}"
    pair.start("echo", "--cores", queues, "--stats", settings=["tso=force"] if more else [])
    done = net.run(program, f"dpdk:{{net_virtio_user0,path={pair.socket},queues={queues}}}", "10.9.0.3/24", queues,
                   "10.9.0.2", 7, count, size, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [tuple(map(int, line)) for line in LINE.findall(done.stdout)] == [
        (queue, count, count, count * size, 0, 0) for queue in range(queues)], done.stdout
    said = pair.stop()
    assert re.search(rf"tcp_established +{queues * count:,} ", said), said


# ---- measured ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("workload", [["ping-pong", "connections=4"], ["bulk", "message=4096"], ["udp-ping"]],
                         ids=lambda words: words[0])
@pytest.mark.parametrize("cable", ["net_ring", "vhost"])
def test_bench_runs_on_it(net, tmp_path, cable, workload):
    ports = ["dpdk"] if cable == "net_ring" else [f"dpdk:{{{d.replace('S', str(tmp_path / 's'), 1)}}},wake=never"
                                                  for d in CABLES[cable]]
    argv = [word for port in ports for word in ("--port", port)]
    said = net.run(find_tenon(), "bench", *workload, "segments=1", "segment_ms=10", *argv).stdout
    assert "the ports take" in said


def test_bench_says_what_is_wrong(net):
    for ports, word in [(["tap"], "makes no cable by itself"), (["dpdk:net_ring0", "dpdk:net_bogus0"], "no device"),
                        (["x:y", "x:y"], "does not begin with a kind"), (["a"] * 3, "a cable has two ends")]:
        argv = [part for port in ports for part in ("--port", port)]
        done = net.run(find_tenon(), "bench", "ping-pong", *argv, check=False)
        assert done.returncode != 0 and word in done.stderr, done.stderr


# ---- asleep ----------------------------------------------------------------------------------------------

@pytest.mark.parametrize("device, most", [("tap", 5), ("vhost", 500), ("memif", 500)])
def test_sleeps_when_there_is_nothing_to_do(make_link, make_pair, device, most):
    """With a descriptor until something comes, and without one with pauses, after each of which the program looks. How
    much of a processor a look takes depends on the processor; one who does not sleep takes all of it."""
    process = make_link(kind="dpdk").tenon("echo").process if device == "tap" else make_pair(device).start("echo")
    time.sleep(2.5)
    life = life_of(process, 2)
    assert life.sleeps < most and life.runs < 0.2, life


# ---- what is said ------------------------------------------------------------------------------------------

def test_what_is_wrong_is_said(net, tmp_path):
    socket = tmp_path / "socket"
    for port, word in [("net_bogus0", "no device 'net_bogus0'"), ("0000:99:00.0", "no device '0000:99:00.0'"),
                       ("eth0", "dpdk-devbind.py --status"),
                       (f"{{net_virtio_user0,path={socket}}}", "No such file or directory; nobody listens there"),
                       (f"{{net_memif0,role=client,socket={socket},socket-abstract=no}}", "role=server first"),
                       ("net_null0,memory=1000000", "more than half of this machine's"),
                       ("net_null0,queues=65", "queues=65 is not a number"),
                       ("net_ring0,queues=17", "has 16 queues, and not 17"),
                       ("net_null0,eal=--nonsense", "DPDK cannot be started"),
                       ("net_null0,eal=--huge-dir /nonexistent --no-pci", "DPDK cannot be started"),
                       (f"{{net_vhost0,iface={socket}}},queues=2", "queues=2)"),
                       ("{net_memif0,role=server,socket=S,socket-abstract=yes},mtu=9000", "takes no MTU of 9000")]:
        done = net.run(find_tenon(), "echo", "--port", f"dpdk:{port}", check=False, timeout=20)
        assert done.returncode != 0, port
        assert word in done.stderr, done.stderr
        assert "Operation not permitted" not in done.stderr, done.stderr    # what strerror() makes of a -1
        assert "eal=" in port or len(done.stderr.strip().splitlines()) <= 2, done.stderr
        assert not socket.exists()


def test_a_server_of_memif_says_what_is_wrong_with_its_socket(net, tmp_path):
    """One that somebody has left behind; and one that cannot be made there at all: nothing has to be removed."""
    (tmp_path / "socket").touch()
    for path, words, removed in ((tmp_path / "socket", "Address already in use", True),
                                 ("/proc/socket", "Failed to setup socket", False)):
        port = f"dpdk:{{net_memif0,role=server,socket={path},socket-abstract=no}}"
        done = net.run(find_tenon(), "echo", "--port", port, check=False, timeout=20)
        assert done.returncode == 1 and words in done.stderr, done.stderr
        assert ("has to be removed" in done.stderr) == removed, done.stderr


@pytest.mark.skipif(os.geteuid() != 0 or bool(os.environ.get(INSIDE)), reason="needs root")
@pytest.mark.parametrize("device, word", [("net_tap0,iface=dt0", "CAP_NET_ADMIN"),
                                          ("net_af_packet0,iface=lo", "CAP_NET_RAW")], ids=["tap", "af_packet"])
def test_missing_privilege_is_said(net, device, word):
    done = net.run("setpriv", "--reuid=65534", "--clear-groups", find_tenon(), "echo", "--port", f"dpdk:{{{device}}}",
                   check=False, timeout=20)
    assert done.returncode != 0 and f"needs root, or {word}" in done.stderr, done.stderr


def test_missing_huge_pages_are_said(net):
    if free_huge_pages() > 0:
        pytest.skip("this machine has free huge pages")
    port = "dpdk:net_null0,eal=--in-memory --no-pci"
    done = net.run(find_tenon(), "echo", "--port", port, check=False, timeout=20)
    assert re.search(r"as root: sysctl vm.nr_hugepages=\d+$", done.stderr), done.stderr


def test_files_of_another_process_stay(net):
    """One that has DPDK's lock, as we would have it, under the same prefix."""
    name = f"tenon-test-{os.getpid()}"
    folder = pathlib.Path("/var/run/dpdk") / name
    folder.mkdir(parents=True)
    try:
        with open(folder / "config", "w+b") as config:
            fcntl.lockf(config, fcntl.LOCK_EX)
            (folder / "mp_socket").write_bytes(b"")
            port = f"dpdk:net_null0,eal=--file-prefix={name} --no-huge -m 128 --no-pci"
            done = net.run(find_tenon(), "echo", "--port", port, check=False, timeout=20)
            assert done.returncode != 0 and "with another name than that process's" in done.stderr, done.stderr
            assert {path.name for path in folder.iterdir()} == {"config", "mp_socket"}
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()
        if not any(folder.parent.iterdir()):
            folder.parent.rmdir()


def test_ordinary_memory_is_said_and_enough(make_pair):
    pair = make_pair("vhost")
    pair.start("echo")
    while "Echo at" not in pair.said():
        assert pair.server.poll() is None, pair.said()
        time.sleep(0.02)
    said = pair.stop()
    assert ("memory is ordinary" in said) == (free_huge_pages() * 2 < 128), said
    assert "nobody is at the other end" in said


# ---- in huge pages -----------------------------------------------------------------------------------------

HUGE_PAGES = 200    # of 2 MB


def free_huge_pages():
    path = pathlib.Path("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
    return int(path.read_text()) if path.exists() else 0


@pytest.fixture
def huge_pages():
    """Enough of them: the machine has them, or lets us have them for a while."""
    path = pathlib.Path("/proc/sys/vm/nr_hugepages")
    missing = HUGE_PAGES - free_huge_pages()
    if missing <= 0:
        yield
        return
    try:
        before = int(path.read_text())
        path.write_text(str(before + missing))
    except OSError as error:
        pytest.skip(f"needs {HUGE_PAGES} free huge pages of 2 MB, or the right to set their number: {error}")
    try:
        if free_huge_pages() < HUGE_PAGES:
            pytest.skip(f"the kernel finds no {HUGE_PAGES} huge pages of 2 MB")
        yield
    finally:
        path.write_text(str(before))


@pytest.mark.alone
@pytest.mark.parametrize("cable", list(CABLES))
def test_programs_in_huge_pages(huge_pages, make_pair, cable, files, tmp_path):
    """Pages are taken as a program starts, and are all free again when it has ended."""
    free = free_huge_pages()
    pair = make_pair(cable)
    pair.start("serve", files.get(SIZE).parent)
    for _ in range(2):
        done = pair.run("get", "-o", tmp_path / "got", f"http://10.9.0.2/{files.get(SIZE).name}")
        assert "memory is ordinary" not in done.stdout + done.stderr
        assert sha256(tmp_path / "got") == files.hash(SIZE)
    assert free_huge_pages() < free
    assert "memory is ordinary" not in pair.stop()
    assert free_huge_pages() == free


@pytest.mark.alone
@pytest.mark.parametrize("program", ["vhost", "ring", "end"])
def test_units_in_huge_pages(huge_pages, net, program):
    """Above all both ends of a vhost socket in one process, where memory that comes or goes would stop it for ever."""
    path = pathlib.Path(find_tenon()).parent / "tests" / "unit" / f"port.dpdk_{program}_test"
    if not path.exists():
        pytest.skip(f"{path.name} is not built")
    net.run(path, timeout=120)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_no_privilege_is_needed_for_memif(net, tmp_path):
    tmp_path.chmod(0o777)
    for parent in list(tmp_path.parents)[:3]:
        parent.chmod(parent.stat().st_mode | 0o055)
    argv = ["setpriv", "--reuid=65534", "--clear-groups", find_tenon(), "echo", "--port",
            "dpdk:{net_memif0,role=server,socket-abstract=yes,socket=tenon-test}"]
    server = net.start(*argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert "Echo at" in server.stdout.readline() + server.stdout.readline()
    net.stop(server)


def test_a_device_that_always_has_frames_can_be_left(net, tmp_path):
    server = net.start(find_tenon(), "serve", "--port", "dpdk:{net_null0},eal=--no-huge -m 128 --no-pci", "--address",
                       "10.9.0.2/24", tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while "Serving" not in (line := server.stdout.readline()):
        assert line, "it has ended"
    server.terminate()
    assert server.wait(20) == 0


def test_an_interface_that_is_removed_is_missed(make_link, net):
    link = make_link(kind="dpdk")
    server = link.tenon("echo")
    net.run("ip", "link", "del", link.tap)
    assert server.wait(10) != 0
    assert "is gone" in server.text()


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind(make_link, net, how):
    link = make_link(kind="dpdk")
    link.port = "dpdk:{net_tap1,iface=gone0}"
    server = link.tenon("echo", ready=False)
    end = time.monotonic() + 10
    while net.run("ip", "link", "show", "gone0", check=False).returncode != 0:
        assert time.monotonic() < end, server.text()
        time.sleep(0.02)
    net.stop(server.process, how)
    assert net.run("ip", "link", "show", "gone0", check=False).returncode != 0
