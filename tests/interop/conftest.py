# SPDX-License-Identifier: MIT
"""Tenon against the Linux kernel, over TAP interfaces in a network namespace of their own.

As root the namespace is made with `ip netns` and removed at the end. Otherwise the whole run starts
again inside `unshare -Urn`, which needs no privilege; where that is not possible either, the tests
are skipped and say why.

Environment:
  TENON_BIN            the program under test; or
  TENON_BUILD          a build folder that has it somewhere (default: build/release)
  TENON_INTEROP_BYTES  size of the large transfers (default 1 GiB)
"""
import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BULK_BYTES = int(os.environ.get("TENON_INTEROP_BYTES", 1 << 30))
INSIDE = "TENON_INTEROP_INSIDE"
rates = []


# ---- where the tests can run ----------------------------------------------------------------------

def pytest_addoption(parser):
    parser.addoption("--all-combinations", action="store_true", help="tests/interop/test_matrix.py: all, not each pair")


def concerned(config):
    """Whether tests of this folder are asked for."""
    paths = [pathlib.Path(str(a).split("::")[0]).resolve() for a in config.args]
    return any(p == HERE or HERE in p.parents or p in HERE.parents for p in paths)


def unshare_works():
    if shutil.which("unshare") is None or not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return False
    probe = ["unshare", "-Urn", "ip", "tuntap", "add", "dev", "probe0", "mode", "tap"]
    return subprocess.run(probe, capture_output=True).returncode == 0


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    config.addinivalue_line("markers", "alone: it measures, or takes what there is once: with nothing beside it")
    if os.geteuid() == 0 or os.environ.get(INSIDE) or not concerned(config) or not unshare_works():
        return
    capture = config.pluginmanager.getplugin("capturemanager")
    if capture is not None:
        capture.stop_global_capturing()    # or the new run would write into our capture
    sys.stdout.flush()
    os.environ[INSIDE] = "1"
    os.execvp("unshare", ["unshare", "-Urn", sys.executable, "-m", "pytest", *config.invocation_params.args])


def why_not():
    """The reason for which nothing here can run; None: it can."""
    if sys.platform != "linux":
        return "needs Linux"
    if shutil.which("ip") is None:
        return "needs iproute2 (the program ip)"
    if os.geteuid() != 0:
        return "needs root, or unprivileged user namespaces and a /dev/net/tun that everybody may open"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun"
    if not find_tenon():
        return "the program tenon is not built (set TENON_BIN or TENON_BUILD)"
    return None


def pytest_collection_modifyitems(items):
    mine = [item for item in items if HERE in pathlib.Path(str(item.path)).parents]
    reason = why_not() if mine else None
    for item in mine:
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


def find_tenon():
    if os.environ.get("TENON_BIN"):
        return os.path.abspath(os.environ["TENON_BIN"])
    build = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release"))
    for path in sorted(build.rglob("tenon")):
        if path.is_file() and os.access(path, os.X_OK):
            return str(path.resolve())
    return None


def pytest_terminal_summary(terminalreporter):
    if not rates:
        return
    terminalreporter.section("bulk rates (reported, not judged)")
    for row in rates:
        line = "{what:<46} {mbytes:>7.0f} MB {seconds:>7.2f} s {gbits:>7.2f} Gbit/s".format(**row)
        terminalreporter.write_line(line)


# ---- the namespace --------------------------------------------------------------------------------

class Net:
    """A network namespace, and the processes that the tests start in it."""

    def __init__(self, name):
        self.name = name
        self.prefix = []
        self.processes = []
        if not os.environ.get(INSIDE):
            subprocess.run(["ip", "netns", "add", name], check=True)
            self.prefix = ["ip", "netns", "exec", name]
        self.run("ip", "link", "set", "lo", "up")
        self.run("sysctl", "-qw", "net.ipv6.conf.default.dad_transmits=0")    # seconds, at every interface

    def run(self, *argv, timeout=60, check=True, **more):
        """Run a command to its end; returns what subprocess.run() does, with text output."""
        argv = self.prefix + [str(a) for a in argv]
        more.setdefault("text", True)
        done = subprocess.run(argv, capture_output=True, timeout=timeout, **more)
        if check and done.returncode != 0:
            out = done.stdout if isinstance(done.stdout, str) else ""
            raise AssertionError(f"{' '.join(argv)}: status {done.returncode}\n{out[-1500:]}\n{done.stderr[-3000:]}")
        return done

    def start(self, *argv, **more):
        process = subprocess.Popen(self.prefix + [str(a) for a in argv], **more)
        self.processes.append(process)
        return process

    def stop(self, process, how=signal.SIGTERM):
        """End a process that start() made; returns its status."""
        if process.poll() is None:
            process.send_signal(how)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process in self.processes:
            self.processes.remove(process)
        return process.returncode

    def close(self):
        for process in list(self.processes):
            self.stop(process, signal.SIGKILL)
        if self.prefix:
            subprocess.run(["ip", "netns", "del", self.name], check=False)


@pytest.fixture(scope="session")
def net():
    space = Net(f"tenon-test-{os.getpid()}")
    yield space
    space.close()


@pytest.fixture(scope="session")
def scratch():
    """A folder for large files: in memory where there is enough."""
    base = None
    if os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 4 * BULK_BYTES:
        base = "/dev/shm"
    folder = tempfile.mkdtemp(prefix="tenon-interop-", dir=base)
    yield pathlib.Path(folder)
    shutil.rmtree(folder, ignore_errors=True)


class Files:
    """Files of random bytes, made once per size."""

    def __init__(self, folder):
        self.folder = folder / "files"
        self.folder.mkdir()
        self.hashes = {}

    def get(self, size):
        path = self.folder / f"random-{size}"
        if path not in self.hashes:
            digest, left = hashlib.sha256(), size
            with open(path, "wb") as out:
                while left > 0:
                    block = os.urandom(min(left, 1 << 22))
                    digest.update(block)
                    out.write(block)
                    left -= len(block)
            self.hashes[path] = digest.hexdigest()
        return path

    def hash(self, size):
        return self.hashes[self.get(size)]


@pytest.fixture(scope="session")
def files(scratch):
    return Files(scratch)


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 22):
            digest.update(block)
    return digest.hexdigest()


# ---- a cable, with the kernel at one end and Tenon at the other -------------------------------------

Life = collections.namedtuple("Life", "sleeps runs awake")


def life_of(process, seconds):
    """What the threads of a program do while nothing happens: how often a second they go to sleep, and the shares of
    the time in which they run, and in which they run or would if the processor were theirs. That one does not depend on
    what else there is to run."""
    def now():
        tasks = list(pathlib.Path(f"/proc/{process.pid}/task").iterdir())
        ran, waited = (sum(times) for times in zip(*(map(int, (task / "schedstat").read_text().split()[:2])
                                                     for task in tasks)))
        texts = [(task / "status").read_text() for task in tasks]
        slept = sum(int(re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)", text)[1]) for text in texts)
        return slept, ran / 1e9, (ran + waited) / 1e9

    began, before = time.monotonic(), now()
    time.sleep(seconds)
    return Life(*((is_ - was) / (time.monotonic() - began) for is_, was in zip(now(), before)))


class Link:
    """A TAP interface with addresses on the kernel's side; or, for another `kind` of port, what add_KIND() makes.
    With `relay` (a list of options; TAP only) a bad cable
    lies between the kernel's interface and the one that Tenon opens. That cable carries frames no larger
    than the MTU; with `offload` the kernel stands between it and Tenon as a NIC would: it cuts Tenon's
    super-frames, completes checksums, and joins what arrives (GRO)."""
    count = 0

    def __init__(self, net, folder, relay_program=None, relay=None, mtu=None, offload=False, kind="tap", settings=()):
        Link.count += 1
        n = Link.count
        self.net = net
        self.folder = folder
        self.tap = f"tt{n}"
        self.kernel_side = self.tap if relay is None and kind == "tap" else f"tk{n}"
        self.k4, self.t4 = (f"10.{100 + n // 250}.{n % 250}.{host}" for host in (1, 2))
        self.k6, self.t6 = f"fd77:{n:x}::1", f"fd77:{n:x}::2"
        self.options = []
        self.before = []    # what goes before Tenon on its command line
        self.tenons = []
        self.relay = None
        self.mtu = mtu
        self.names = []
        self.port = ",".join([f"{kind}:{self.tap}", *settings])
        getattr(self, f"add_{kind}")()
        if relay is not None:
            self.add(self.kernel_side, "tap")
            self.silence(self.tap)
        cable = self.add_nic(n) if offload else self.tap
        net.run("ip", "address", "add", f"{self.k4}/24", "dev", self.kernel_side)
        if mtu is None or mtu >= 1280:
            net.run("ip", "address", "add", f"{self.k6}/64", "dev", self.kernel_side, "nodad")
        for name in self.names:
            net.run("ip", "link", "set", name, "up")
        if relay is not None:
            self.options = [] if offload else ["--no-offload"]
            self.relay = net.start(relay_program, *relay, f"tap:{self.kernel_side}", f"dev:{cable}",
                                   stdout=subprocess.PIPE, text=True)
            assert self.relay.stdout.readline() == "ready\n"

    def add(self, name, *kind):
        if kind == ("tap",):
            self.net.run("ip", "tuntap", "add", "dev", name, "mode", "tap")
        else:
            self.net.run("ip", "link", "add", name, "type", *kind)
        self.names.append(name)
        if self.mtu:
            self.net.run("ip", "link", "set", name, "mtu", self.mtu)

    def add_tap(self):
        self.add(self.tap, "tap")

    def add_packet(self):
        """A veth pair: one end is the kernel's, the other Tenon's."""
        self.add(self.tap, "veth", "peer", "name", self.kernel_side)
        if self.mtu:
            self.net.run("ip", "link", "set", self.kernel_side, "mtu", self.mtu)
        self.names.append(self.kernel_side)
        self.silence(self.tap)

    def add_xdp(self):
        """The same; a frame in AF_XDP cannot say that its checksum is still to be made."""
        self.add_packet()
        self.net.run("ethtool", "-K", self.kernel_side, "tx", "off")

    def add_dpdk(self):
        """An interface that stays when DPDK's net_tap closes it, which sets it down."""
        self.net.run("ip", "tuntap", "add", "dev", self.tap, "mode", "tap", "multi_queue")
        self.net.run("sysctl", "-qw", f"net.ipv6.conf.{self.tap}.keep_addr_on_down=1")
        self.names.append(self.tap)
        self.kernel_side = self.tap
        self.port = self.port.replace(f"dpdk:{self.tap}", f"dpdk:{{net_tap0,iface={self.tap}}}")
        if self.mtu:
            self.net.run("ip", "link", "set", self.tap, "mtu", self.mtu)

    def silence(self, *names):
        """The kernel has no part in what these interfaces carry. Otherwise it answers ARP for all of its addresses
        at any of them, and takes the packets: past the cable."""
        for name in names:    # with a small MTU there is no such entry for IPv6
            self.net.run("sysctl", "-eqw", f"net.ipv6.conf.{name}.disable_ipv6=1")
            self.net.run("sysctl", "-qw", f"net.ipv4.conf.{name}.arp_ignore=8", f"net.ipv4.conf.{name}.rp_filter=1")

    def add_nic(self, n):
        """A bridge from Tenon's interface to one that has no offloads but GRO. @return the far end of that one"""
        bridge, near, far = f"tb{n}", f"tv{n}", f"tw{n}"
        self.add(bridge, "bridge", "mcast_snooping", "0")
        self.add(near, "veth", "peer", "name", far)
        self.names.append(far)
        if self.mtu:
            self.net.run("ip", "link", "set", far, "mtu", self.mtu)
        self.net.run("ethtool", "-K", near, "tx", "off", "sg", "off", "tso", "off", "gso", "off", "gro", "on")
        self.silence(bridge, near, far)
        for name in (near, self.tap):
            self.net.run("ip", "link", "set", name, "master", bridge)
        return far

    def stop_relay(self):
        """End the bad cable. @return what it counted"""
        relay, self.relay = self.relay, None
        self.net.stop(relay)
        return json.loads(relay.stdout.read())

    def argv(self, command, *arguments):
        argv = [*self.before, find_tenon(), command, "--port", self.port, "--address", f"{self.t4}/24"]
        if self.mtu is None or self.mtu >= 1280:
            argv += ["--address", f"{self.t6}/64"]
        return argv + [*self.options, *arguments]

    def tenon(self, command, *arguments, ready=True, stdin=subprocess.DEVNULL, stdout=None):
        """Start Tenon; `ready`: wait until it answers a ping."""
        process = Tenon(self, command, arguments, stdin, stdout)
        self.tenons.append(process)
        if ready:
            process.wait_ready()
        return process

    def run_tenon(self, command, *arguments, timeout=60, check=True, **more):
        """Run Tenon to its end."""
        return self.net.run(*self.argv(command, *arguments), timeout=timeout, check=check, **more)

    def close(self):
        for process in self.tenons:
            process.stop(check=False)
        if self.relay is not None:
            self.net.stop(self.relay)
        for name in self.names:
            self.net.run("ip", "link", "del", name, check=False)


class Tenon:
    """A running program. What it says goes to a file that a failing test prints."""
    count = 0

    def __init__(self, link, command, arguments, stdin, stdout):
        Tenon.count += 1
        self.link = link
        self.command = command
        self.log = link.folder / f"{Tenon.count}-{command}.log"
        self.stdin = stdin
        with open(self.log, "wb") as log:
            self.process = link.net.start(*link.argv(command, *arguments), stdin=stdin,
                                          stdout=stdout or log, stderr=log)

    def text(self):
        return self.log.read_text(errors="replace")

    def wait_ready(self, seconds=10):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                raise AssertionError(f"tenon {self.command} has ended ({self.process.returncode}):\n{self.text()}")
            if self.link.net.run("ping", "-c1", "-W1", self.link.t4, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise AssertionError(f"tenon {self.command} does not answer a ping to {self.link.t4}:\n{self.text()}")

    def wait_text(self, words, seconds=20):
        """Wait until it has said this."""
        end = time.monotonic() + seconds
        while words not in self.text():
            assert time.monotonic() < end and self.process.poll() is None, self.text()
            time.sleep(0.02)

    def wait(self, timeout=60):
        """Wait for its own end; returns the status."""
        self.process.wait(timeout)
        return self.process.returncode

    def stop(self, check=True):
        """Interrupt it, and see that it ends as it should. Returns what it said."""
        ended = self.process.poll()
        status = self.link.net.stop(self.process, signal.SIGINT)
        if check and ended is None:
            assert status in (0, 130), f"tenon {self.command} ended with status {status}:\n{self.text()}"
        return self.text()


class Download:
    """curl gets a file, so slowly that a machine which is late by seconds still finds it in the midst of it."""

    def __init__(self, link, path, got, rate=4_000_000):
        self.got = got
        self.curl = link.net.start("curl", "-sS", "-m", "60", "--limit-rate", rate, "-o", got,
                                   f"http://{link.t4}/{path.name}")

    def wait_bytes(self, n, seconds=20):
        """Wait until so many have come, and it goes on."""
        end = time.monotonic() + seconds
        while not self.got.exists() or self.got.stat().st_size < n:
            assert time.monotonic() < end, f"{n} bytes have not come"
            time.sleep(0.02)
        self.goes_on()

    def goes_on(self):
        assert self.curl.poll() is None, "this machine is too late: all has come"

    def wait(self):
        assert self.curl.wait(60) == 0


@pytest.fixture
def link(net, tmp_path, request):
    made = Link(net, tmp_path)
    yield made
    finish(made, request)


@pytest.fixture
def make_link(net, tmp_path, request, relay_program):
    """A function that makes links: make_link(relay=["--loss", "1"], mtu=9000)."""
    made = []

    def make(relay=None, mtu=None, offload=False, **more):
        made.append(Link(net, tmp_path, relay_program, relay, mtu, offload, **more))
        return made[-1]

    yield make
    for one in made:
        finish(one, request)


def finish(link, request):
    link.close()
    report = getattr(request.node, "report_call", None)
    if report is not None and report.failed:
        for process in link.tenons:
            print(f"---- tenon {process.command} said:\n{process.text()[-4000:]}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    if call.when == "call":
        item.report_call = outcome.get_result()


def compiled(name, folder):
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    out = folder / name
    subprocess.run([cc, "-O2", "-std=c11", "-D_GNU_SOURCE", "-o", str(out), str(HERE / f"{name}.c")], check=True)
    return out


@pytest.fixture(scope="session")
def relay_program(scratch):
    return compiled("relay", scratch)


@pytest.fixture(scope="session")
def flood_program(scratch):
    return compiled("flood", scratch)


@pytest.fixture
def peer(net):
    """Run tests/interop/peer.py in the namespace: peer.run("many", ...) or peer.start(...)."""
    class Peer:
        def run(self, *arguments, timeout=120, **more):
            return net.run(sys.executable, HERE / "peer.py", *arguments, timeout=timeout, **more)

        def start(self, *arguments, **more):
            process = net.start(sys.executable, HERE / "peer.py", *arguments, stdout=subprocess.PIPE, text=True, **more)
            assert process.stdout.readline() == "ready\n"
            self.started.append(process)
            return process

        started = []

    made = Peer()
    yield made
    for process in made.started:
        net.stop(process)


# ---- what a capture says --------------------------------------------------------------------------

# Linux writes a TCP checksum of 0 as 0xFFFF, which adds up to the same and which tshark does not like.
WRONG = ["_ws.malformed", "ip.checksum.status == 0", "udp.checksum.status == 0",
         "tcp.checksum.status == 0 && !(tcp.checksum == 0xffff && frame.packet_flags_direction == 1)",
         "icmp.checksum.status == 0", "icmpv6.checksum.status == 0", "arp.duplicate-address-detected"]
REPEATED = ["tcp.analysis.retransmission", "tcp.analysis.fast_retransmission", "tcp.analysis.spurious_retransmission",
            "tcp.analysis.out_of_order"]
UNCLEAN = [*REPEATED, "tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment",
           "tcp.analysis.window_full && tcp.analysis.zero_window_probe"]
OURS = "frame.packet_flags_direction == 2"


def any_of(filters):
    return " || ".join(f"({f})" for f in filters)


def counters(said):
    """What a Tenon with --stats has said: {"tcp_tlp": 3}; those that are missing are 0."""
    rows = re.findall(r"^  ([a-z0-9_]+) +([0-9,]+)  ", said.partition("Counters that are not 0\n")[2], re.MULTILINE)
    return collections.Counter({name: int(number.replace(",", "")) for name, number in rows})


class Tshark:
    def __init__(self):
        if shutil.which("tshark") is None:
            pytest.skip("needs tshark")

    def run(self, capture, *arguments):
        argv = ["tshark", "-n", "-r", str(capture), "-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
                "-o", "udp.check_checksum:TRUE"]
        for port in (80, 5001, 7):    # random payload is not to be taken for some protocol
            argv += ["-d", f"tcp.port=={port},data", "-d", f"udp.port=={port},data"]
        return subprocess.run(argv + [str(a) for a in arguments], capture_output=True, text=True, check=True).stdout

    def count(self, capture, what):
        return len(self.run(capture, "-Y", what).splitlines())

    def judge(self, capture, clean=True):
        """No malformed packet, no wrong checksum; `clean`: nothing was sent in vain either."""
        self.judge_none(capture, any_of(WRONG + (UNCLEAN if clean else [])))

    def judge_clean(self, capture, said):
        """As judge(), but tail loss probes of ours are let pass. They go by the clock, after 10 ms, and the kernel of a
        busy machine may need longer for its answer. `said`: with --stats; what was sent again has to be as many
        packets as were probes, none of them of use, and nothing else was repeated."""
        again = f"({OURS}) && ({any_of(REPEATED)})"
        self.judge_none(capture, any_of([*WRONG, f"({any_of(UNCLEAN)}) && !({again})"]))
        count = counters(said)
        assert count["tcp_sent"] > 0, said    # it has been asked for its counters
        assert self.count(capture, again) == count["tcp_retransmit"] <= count["tcp_tlp"], count
        assert count["tcp_rto"] == count["tcp_fast_retransmit"] == count["tcp_tlp_repaired"] == 0, count

    def judge_none(self, capture, wrong):
        lines = self.run(capture, "-Y", wrong).splitlines()
        assert not lines, f"{len(lines)} packets of {capture}:\n" + "\n".join(lines[:20])


@pytest.fixture
def tshark():
    return Tshark()
