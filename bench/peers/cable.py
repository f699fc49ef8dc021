# SPDX-License-Identifier: MIT
"""One measurement: two network namespaces, the relay between them, a sender in one, the kernel's receiver
in the other. Namespaces belong to processes of ours and end with them."""
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import tempfile

import stacks

FRAME = 1514      # bytes of a full frame on the line
PAYLOAD = 1460    # of them, at most, for the application
RECEIVER_TAP = "receiver0"
SETTLE_S = 45     # for a connection to come about, beyond the time that is measured


@dataclasses.dataclass(frozen=True)
class Cell:
    """A path. Loss, reordering and the bottleneck are on the sender's way; delay is on both."""
    name: str
    rate_mbit: float
    rtt_ms: float
    loss: float = 0        # percent
    late: float = 0        # percent of the frames come up to half a round trip later than those behind them
    buffer_bdp: float = 1  # of the bottleneck's queue
    seconds: float = 15

    @property
    def queue(self):
        """Frames that may wait."""
        return max(1, round(self.buffer_bdp * self.rate_mbit * 1e6 * self.rtt_ms / 1e3 / 8 / FRAME))

    @property
    def most_mbit(self):
        """What an application can get of the line at most."""
        return self.rate_mbit * PAYLOAD / FRAME

    def title(self):
        parts = [f"{self.rate_mbit:g} Mbit/s", f"{self.rtt_ms:g} ms"]
        if self.loss:
            parts.append(f"{self.loss:g} % loss")
        if self.late:
            parts.append(f"{self.late:g} % late")
        return ", ".join(parts) + f", buffer {self.buffer_bdp:g} BDP"

    def relay_options(self, seed):
        there = ["--rate", self.rate_mbit, "--queue", self.queue]
        if self.loss:
            there += ["--loss", self.loss]
        if self.late:
            there += ["--late", self.late, "--late-by", self.rtt_ms / 2]
        return ["--delay", self.rtt_ms / 2, "--seed", seed, "--there", *there]


class Failed(Exception):
    """A measurement that came to nothing."""


def real_time(priority):
    """The prefix that makes a command run before the machine's other work, or []."""
    prefix = ["chrt", "-f", str(priority)]
    if shutil.which("chrt") and subprocess.run([*prefix, "true"], capture_output=True).returncode == 0:
        return prefix
    return []


class Namespace:
    """A network namespace, held by a process that ends when our end of its stdin is closed."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec cat"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, start_new_session=True)
        if self.holder.stdout.readline() != b"\n":
            self.close()
            raise Failed("no network namespace can be made here")
        self.pid = self.holder.pid

    def prefix(self):
        return ["nsenter", f"--net=/proc/{self.pid}/ns/net"]

    def add_tap(self, name, address):
        lines = ["echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6",
                 "echo 1 > /proc/sys/net/ipv4/tcp_no_metrics_save", "ip link set lo up",
                 f"ip tuntap add dev {name} mode tap",
                 f"ip address add {address}/24 dev {name}" if address else "true",
                 f"ip link set {name} up"]
        done = subprocess.run([*self.prefix(), "sh", "-e", "-c", "\n".join(lines)], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"no TAP interface: {done.stderr.strip()}")

    def wait_up(self, name):
        """The kernel drops what is sent in the moment between an interface's carrier and its queue coming up."""
        loop = f"until ip -o link show dev {name} | grep -q 'state UP'; do sleep 0.02; done"
        if subprocess.run([*self.prefix(), "timeout", "10", "sh", "-c", loop]).returncode != 0:
            raise Failed(f"the interface {name} does not come up")

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()
        self.holder.stdout.close()


class Cable:
    """Context manager: what one measurement needs, and its end."""

    def __init__(self, tools, in_kernel, options):
        self.tools = tools
        self.in_kernel = in_kernel
        self.options = [str(o) for o in options]
        self.spaces, self.processes = [], []
        self.said = tempfile.TemporaryFile("a+")

    def __enter__(self):
        try:
            self.spaces.append(Namespace())
            self.spaces.append(Namespace())
            self.spaces[0].add_tap(stacks.TAP, stacks.SENDER if self.in_kernel else None)
            self.spaces[1].add_tap(RECEIVER_TAP, stacks.RECEIVER)
            near = f"{'tap' if self.in_kernel else 'dev'}:{stacks.TAP}@{self.spaces[0].pid}"
            far = f"tap:{RECEIVER_TAP}@{self.spaces[1].pid}"
            self.relay = self.start([*self.tools["relay_prefix"], self.tools["relay"], *self.options, near, far])
            self.expect_ready(self.relay, "the relay")
            self.spaces[1].wait_up(RECEIVER_TAP)
            if self.in_kernel:    # the others bring theirs up when they open it
                self.spaces[0].wait_up(stacks.TAP)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout:
                process.stdout.close()
        for space in self.spaces:
            space.close()
        self.said.close()

    def start(self, argv, **more):
        more.setdefault("stdout", subprocess.PIPE)
        more.setdefault("stdin", subprocess.DEVNULL)
        # What we have started does not outlive us, whatever ends us; but a signal at the terminal is for us alone.
        argv = ["setpriv", "--pdeathsig", "KILL", *(str(a) for a in argv)]
        process = subprocess.Popen(argv, stderr=self.said, text=True, start_new_session=True, **more)
        self.processes.append(process)
        return process

    def inside(self, which, argv, **more):
        return self.start([*self.spaces[which].prefix(), *self.tools["sender_prefix"], *argv], **more)

    def expect_ready(self, process, who):
        if process.stdout.readline() != "ready\n":
            raise Failed(f"{who} has not started: {self.last_words()}")

    def last_words(self):
        self.said.seek(0)
        lines = [line.strip() for line in self.said if line.strip()]
        return lines[-1] if lines else "without a word"

    def begin(self, stack):
        stdin = subprocess.DEVNULL
        if stack.feed:
            stdin = self.start([*self.tools["sender_prefix"], self.tools["kernel"], "pattern"]).stdout
        return self.inside(0, stack.argv, stdin=stdin, stdout=subprocess.DEVNULL)

    def relay_counts(self):
        self.relay.send_signal(signal.SIGTERM)
        return json.loads(self.relay.communicate(timeout=10)[0])


def measure(tools, cell, stack, seed):
    """Let the stack send for the cell's time; returns what came of it, for the report."""
    with Cable(tools, stack.in_kernel, cell.relay_options(seed)) as cable:
        receiver = cable.inside(1, [tools["kernel"], "receive", stacks.PORT, cell.seconds])
        cable.expect_ready(receiver, "the receiver")
        sender = cable.begin(stack)
        try:
            out = receiver.communicate(timeout=cell.seconds + SETTLE_S)[0]
        except subprocess.TimeoutExpired as hung:
            raise Failed("the receiver has not come to its end") from hung
        if receiver.returncode != 0:
            raise Failed(cable.last_words())
        reading = json.loads(out)
        if reading["ended_by"] == "sender":
            raise Failed(f"the sender has ended the connection after {reading['seconds']:.1f} s: {cable.last_words()}")
        if sender.poll() is None:
            sender.kill()
        return summary(cell, stack, seed, reading, cable.relay_counts())


def summary(cell, stack, seed, reading, relay):
    steps = reading["steps"]
    skip = min(round(20 * cell.rtt_ms / 100), len(steps) // 2)    # 20 round trips, in tenths of a second
    whole = reading["bytes"] * 8 / reading["seconds"] / 1e6
    later = (steps[-1] - (steps[skip - 1] if skip else 0)) * 8 / ((len(steps) - skip) / 10) / 1e6
    sent = relay["there"]["tcp"]
    return {
        "cell": cell.name, "stack": stack.name, "seed": seed,
        "mbit": whole, "share": whole / cell.most_mbit, "steady_share": later / cell.most_mbit,
        "resent_share": sent["resent"] / max(1, sent["segments"]),
        "intact": not reading["wrong"],
        "late_ms": max(relay[way]["late_us"]["max"] for way in ("there", "back")) / 1e3,
        "late_share": max(relay[way]["late_us"]["frames_over_1ms"] / max(1, relay[way]["delivered"])
                          for way in ("there", "back")),
        "steps": steps, "relay": relay,
    }


def why_not():
    """The reason for which nothing can be measured here; None: it can."""
    for program, package in (("ip", "iproute2"), ("unshare", "util-linux"), ("nsenter", "util-linux"),
                             ("setpriv", "util-linux")):
        if shutil.which(program) is None:
            return f"the program {program} is missing (Debian's package {package})"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "needs a /dev/net/tun that may be opened (as root: chmod 666 /dev/net/tun)"
    if os.geteuid() != 0 and subprocess.run(["unshare", "-Urn", "true"], capture_output=True).returncode != 0:
        return "needs root, or unprivileged user namespaces"
    return None
