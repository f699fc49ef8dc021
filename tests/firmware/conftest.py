# SPDX-License-Identifier: MIT
"""Firmware in QEMU: each test starts a board, talks to it, and ends it; at the end everything must have come back to
the arena, and the stack must not have been full.

Environment:
  TENON_BUILD              a build folder with the program tenon, the peer of some tests (default: build/release)
  TENON_BOARDS             where firmware is built (default: build/boards)
  TENON_FIRMWARE_REQUESTS  requests of the test that asks again and again (default 100)
  TENON_FIRMWARE_FRAMES    frames of garbage (default 3000)
  TENON_FIRMWARE_SEED      another garbage than the usual one; random: any. A test that fails says which it had
"""
import os
import pathlib
import queue
import random
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BOARDS = ("lm3s6965evb", "mps2-an385", "mcf5208evb")
DMA = ("mcf5208evb",)
CORTEX_M = ("lm3s6965evb", "mps2-an385")
BUILD = os.environ.get("TENON_BOARDS", str(ROOT / "build" / "boards"))
AT_ONCE = ("--set", "BOARD_DAD=OFF")    # addresses are used at once: what probing takes would come to each test
STACK_MARGIN = 512
REQUESTS = int(os.environ.get("TENON_FIRMWARE_REQUESTS", 100))
SEED = os.environ.get("TENON_FIRMWARE_SEED", "")
if SEED == "random":
    SEED = str(random.SystemRandom().randrange(2 ** 32))
SECONDS = 1200 + REQUESTS // 2    # of a run, before QEMU is ended: a loaded machine answers some five requests a second


def tool(*arguments):
    return [sys.executable, str(ROOT / "tools" / "board"), *map(str, arguments), "--build", BUILD]


def chance_of(number):
    """Chance that is the same each time, unless TENON_FIRMWARE_SEED says otherwise."""
    print(f"TENON_FIRMWARE_SEED={SEED}")    # seen when the test fails
    return random.Random(f"{SEED} {number}" if SEED else number)


def held(status):
    """Not the header buffers: the core has some ready for what it sends next. That all come back is seen by quit()."""
    return {name: status[name] for name in ("memory", "blocks")}


@pytest.fixture(scope="session")
def built():
    """built(board): its firmware is there, or the test is skipped."""
    done = {}

    def make(board, *options):
        for program in ("cmake", "ninja"):
            if shutil.which(program) is None:
                pytest.skip(f"needs {program}")
        if (board, options) not in done:
            lines = subprocess.run(tool("list"), capture_output=True, text=True, check=True).stdout.splitlines()
            missing = re.search(r"\((.*) is not there\)", next(line for line in lines if line.startswith(board)))
            done[board, options] = missing.group(1) if missing else None
            if missing is None:
                subprocess.run(tool("build", board, *options), check=True, stdout=subprocess.DEVNULL)
        if done[board, options]:
            pytest.skip(f"needs {done[board, options]}")
    return make


class Firmware:
    """A board in QEMU with a program."""

    def __init__(self, board, app, *options, prefix=(), semihosting=True, monitor=None):
        # QEMU itself, not tools/board around it: so that nothing is left when it is ended.
        sys.path.insert(0, str(ROOT / "tests" / "firmware"))
        import board_tool
        args = board_tool.module.arguments(["run", board, app, "--build", BUILD, *map(str, options)])
        command, self.where = board_tool.module.command_of(args)
        if not semihosting:
            at = command.index("-semihosting-config")
            del command[at:at + 2]
        self.monitor = monitor
        if monitor:
            command[command.index("-monitor") + 1] = f"unix:{monitor},server=on,wait=off"
        self.process = subprocess.Popen([*prefix, "timeout", str(SECONDS), *command], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = queue.Queue()
        self.seen = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def wait_for(self, begin, seconds=30):
        """The next line that begins so, or in one of several ways (a tuple)."""
        end = time.monotonic() + seconds
        while True:
            try:
                line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no line {begin!r} in {seconds} s; seen: {self.seen}") from None
            if line is None:
                raise AssertionError(f"QEMU has ended ({self.process.wait()}); seen: {self.seen}")
            self.seen.append(line)
            if line.startswith(begin):
                return line

    def ready(self):
        """It has an IPv4 address: by DHCP from QEMU's own network, elsewhere the fixed one."""
        self.wait_for("ready")
        line = self.wait_for("address")
        assert line == ("address 10.0.2.77 by DHCP" if "127.0.0.1:" in self.where else "address 10.0.2.15 fixed")
        return self

    def key(self, key):
        self.process.stdin.write(key)
        self.process.stdin.flush()

    def ask_qemu(self, command):
        """A line for its monitor, a socket (monitor=PATH)."""
        with socket.socket(socket.AF_UNIX) as monitor:
            monitor.settimeout(10)
            monitor.connect(str(self.monitor))
            for line in (None, command):
                if line:
                    monitor.sendall(line.encode() + b"\n")
                said = b""
                while not said.endswith(b"(qemu) "):
                    said += monitor.recv(4096)

    @staticmethod
    def numbers(line):
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}

    def status(self):
        self.key("s")
        return self.numbers(self.wait_for("status"))

    def pass_time(self, seconds=300):
        """The board's clock goes on by so much at once, second by second: reassembly, half-open connections and
        TIME-WAIT are over. @return its state"""
        self.key(seconds * "t")
        return self.status()

    def quit(self):
        """Stop it. What it says at the end, after a look at it."""
        self.key("q")
        numbers = self.numbers(self.wait_for("stopped"))
        assert self.wait_for("exit") == "exit 0"
        assert self.process.wait(20) == 0, self.seen
        assert numbers["memory"] == 0
        assert numbers["stack"] <= numbers["stack_bytes"] - STACK_MARGIN
        assert not [line for line in self.seen if "fault" in line or "panic" in line]
        return numbers

    def port(self):
        """Of this machine, with --network user."""
        return int(re.search(r"127\.0\.0\.1:(\d+)", self.where).group(1))

    def end(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdin.close()


@pytest.fixture
def firmware(built):
    """firmware(board, app, OPTION...) is one that has been started."""
    started = []

    def start(board, app, *options, settings=AT_ONCE, **more):
        built(board, *(["--strict"] if "--strict" in options else []), *settings)
        started.append(Firmware(board, app, *options, *settings, **more))
        return started[-1]
    yield start
    for one in started:
        one.end()


@pytest.fixture
def curl():
    """curl("http://..."): its output."""
    if shutil.which("curl") is None:
        pytest.skip("needs curl")

    def run(*arguments, prefix=(), timeout=60):
        done = subprocess.run([*prefix, "curl", "-sS", "--max-time", str(timeout), *map(str, arguments)],
                              capture_output=True, text=True, check=False, timeout=timeout + 10)
        assert done.returncode == 0, (arguments, done.stdout[-500:], done.stderr[-500:])
        return done.stdout
    return run


@pytest.fixture(scope="session")
def tenon():
    """The program tenon, a peer that needs no privileges."""
    path = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release")) / "tenon"
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return str(path)


@pytest.fixture
def space():
    """A network namespace with a TAP interface t0; a prefix of commands that are to run in it."""
    for program in ("unshare", "nsenter", "ip", "ping"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        pytest.skip("needs a /dev/net/tun that may be opened")
    holder = subprocess.Popen(["unshare", "-Urn", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        holder.stdin.write(b"x\n")
        holder.stdin.flush()
        if holder.stdout.readline() != b"x\n":    # cat runs: the namespace is there
            pytest.skip("needs user namespaces (unshare -Urn)")
        prefix = ["nsenter", "-t", str(holder.pid), "-U", "-n", "--preserve-credentials"]
        for words in ("link set lo up", "tuntap add dev t0 mode tap", "link set t0 addrgenmode none",
                      "link set t0 up", "addr add 10.0.2.2/24 dev t0", "addr add fd00:10::2/64 dev t0 nodad",
                      "addr add fe80::2/64 dev t0 nodad"):
            done = subprocess.run([*prefix, "ip", *words.split()], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                pytest.skip(f"ip {words}: {done.stderr.strip()}")
        yield prefix
    finally:
        holder.stdin.close()
        holder.wait(10)


def udp_pair():
    """Two free ports of UDP, and a socket on the second."""
    first, second = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    first.bind(("127.0.0.1", 0))
    second.bind(("127.0.0.1", 0))
    port = first.getsockname()[1]
    first.close()
    return port, second.getsockname()[1], second
