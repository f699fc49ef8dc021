# SPDX-License-Identifier: MIT
"""The kernel in the same table, as the context that users know: its sockets over a pair of virtual Ethernet interfaces,
and Tenon behind a TAP interface with the kernel on the other side. Real time, system calls, copies, wake-ups: another
thing than two instances in one thread."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

from peers import programs

sys.path.append(str(programs.HERE))    # cable imports its neighbours by their names

from cable import Failed, Namespace  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
OURS, THEIRS, PORT, MS = "10.45.0.1", "10.45.0.2", "5001", "1000"
# What the kernel's program calls a workload.
CLIENTS = {"ping-pong": "ping", "bulk": "bulk", "connect": "connect", "udp-ping": "datagrams", "load": "load"}
SETTINGS = {"connections", "message", "window", "tso", "lro", "cores", "idle", "load"}
# A thousand connections in a few milliseconds need more ports than there are by default, and each one again soon.
MANY_PORTS = "echo 1024 65535 > /proc/sys/net/ipv4/ip_local_port_range; echo 1 > /proc/sys/net/ipv4/tcp_tw_reuse"


def settings_of(words):
    return dict(word.split("=") for word in words)


def cpu_ns(process):
    """CPU time of a process, in the kernel and out of it, of all its threads."""
    total = 0
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total


def ready(process):
    if process.stdout.readline().strip() != "ready":
        raise Failed("the server does not begin")


def warm(client):
    if client.stdout.readline().strip() != "warm":
        raise Failed(client.communicate()[1].strip() or "the client does not begin")


def result_of(client):
    line = client.stdout.readline()
    if not line:
        raise Failed(client.communicate()[1].strip() or "the client has ended without a word")
    said = json.loads(line)
    if said["units"] == 0:
        raise Failed("nothing was done")
    return said


def measure(client, server):
    """The client's line, with the CPU time of both in nanoseconds per unit, and the time that passes."""
    warm(client)
    before = cpu_ns(server)
    said = result_of(client)
    used = cpu_ns(server) - before
    return {"ns": (said["cpu"] + used) / said["units"], "wall_ns": said["wall"] / said["units"],
            **{name: said[name] for name in said if name not in ("cpu", "wall")}}


class Pair:
    """Two namespaces. In each a way to begin programs; all of it ends with it."""

    def __init__(self):
        self.spaces, self.processes = [], []

    def __enter__(self):
        try:
            self.spaces = [Namespace(), Namespace()]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()
        for space in self.spaces:
            space.close()

    def shell(self, which, text):
        done = subprocess.run([*self.spaces[which].prefix(), "sh", "-e", "-c", text], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            raise Failed(done.stderr.strip())
        return done.stdout

    def start(self, which, *argv, stdin=None):
        process = subprocess.Popen([*self.spaces[which].prefix(), *[str(a) for a in argv]], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, stdin=stdin)
        self.processes.append(process)
        return process


def missing(workload, words):
    if os.geteuid() != 0:
        return "only root can make the interfaces"
    for program in ("ip", "nsenter", "unshare"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    given = settings_of(words)
    if workload not in {*CLIENTS, "cores"} or set(given) - SETTINGS:
        return "not made for the kernel"
    return None


def client_of(workload, words, pair, which, program, to):
    given = settings_of(words)
    if workload == "connect":
        pair.shell(which, MANY_PORTS)
    last = given["load"] if workload == "load" else given.get("idle", 0)
    return pair.start(which, program, CLIENTS[workload], to, PORT, given.get("connections", 1),
                      given.get("message", 1), MS, last)


def veth(program):
    def run(workload, words):
        if workload == "cores":
            raise Failed("a pair of interfaces has one queue")
        with Pair() as pair:
            pair.shell(0, f"ip link add name left type veth peer name right netns {pair.spaces[1].pid}; "
                          f"ip address add {OURS}/24 dev left; ip link set left up")
            pair.shell(1, f"ip address add {THEIRS}/24 dev right; ip link set right up")
            pair.spaces[0].wait_up("left")
            server = pair.start(1, program, "sink" if workload == "bulk" else "echo", THEIRS, PORT)
            ready(server)
            return measure(client_of(workload, words, pair, 0, program, THEIRS), server)
    return run


HEADERS = 14 + 20 + 32    # Ethernet, IPv4, TCP with timestamps


def measure_sender(pair, sender, server):
    """Tenon sends what it reads from a file of zeros, in pieces of its own choice; the interface counts."""
    def now():
        about = json.loads(pair.shell(0, "ip -json -statistics link show dev tap0"))[0]["stats64"]["rx"]
        return time.monotonic_ns(), about["bytes"] - HEADERS * about["packets"], cpu_ns(sender) + cpu_ns(server)

    time.sleep(0.5)
    before = now()
    time.sleep(int(MS) / 1000)
    wall, units, used = (after - b for after, b in zip(now(), before))
    if units == 0:
        raise Failed("nothing was sent")
    return {"ns": used / units, "wall_ns": wall / units, "units": units}


def make_interface(pair, queues=1):
    pair.shell(0, f"ip tuntap add dev tap0 mode tap vnet_hdr {'multi_queue' if queues > 1 else ''}; "
                  f"ip address add {OURS}/24 dev tap0; ip link set tap0 up")


def start_echo(pair, tenon, *words):
    server = pair.start(0, tenon, "echo", "--quiet", f"--listen={PORT}", "--port", "tap:tap0", "--address",
                        f"{THEIRS}/24", *words)
    pair.spaces[0].wait_up("tap0")
    return server


def on_cores(program, tenon, connections, cores):
    """Each core of `tenon echo` has a queue and a client of its own. What they do together, and take for it."""
    with Pair() as pair:
        make_interface(pair, cores)
        server = start_echo(pair, tenon, f"--cores={cores}")
        clients = [pair.start(0, program, "ping", THEIRS, PORT, connections, 1, MS) for _ in range(cores)]
        for client in clients:
            warm(client)
        before = cpu_ns(server)
        said = [result_of(client) for client in clients]
        used = cpu_ns(server) - before
        units = sum(line["units"] for line in said)
        return {"ns": (used + sum(line["cpu"] for line in said)) / units, "server_ns": used / units, "units": units,
                "wall_ns": 1 / sum(line["units"] / line["wall"] for line in said)}


def tap(program, tenon):
    """The kernel asks and Tenon answers; bulk: Tenon sends."""
    def cores(words):
        given = settings_of(words)
        connections, n = given.get("connections", 1), int(given.get("cores", 1))
        alone, together = (on_cores(program, tenon, connections, number) for number in (1, n))
        return {**together, "efficiency": alone["wall_ns"] / together["wall_ns"] / n}

    def run(workload, words):
        if workload == "cores":
            return cores(words)
        with Pair() as pair:
            make_interface(pair)
            if workload == "bulk":
                if settings_of(words).get("message") != "65536":
                    raise Failed("what a program reads from a pipe it sends in pieces of 64 KB")
                server = pair.start(0, program, "sink", OURS, PORT)
                ready(server)
                with open("/dev/zero", "rb") as zeros:
                    sender = pair.start(0, tenon, "connect", "--quiet", "--port", "tap:tap0", "--address",
                                        f"{THEIRS}/24", OURS, PORT, stdin=zeros)
                return measure_sender(pair, sender, server)
            server = start_echo(pair, tenon)
            return measure(client_of(workload, words, pair, 0, program, THEIRS), server)
    return run


def careful(run):
    """The same with a reason instead of an exception."""
    def safe(workload, words):
        why = missing(workload, words)
        if why:
            return {"missing": why}
        try:
            return run(workload, words)
        except (Failed, OSError, ValueError, subprocess.SubprocessError) as error:
            return {"missing": str(error)}
    return safe


def make_veth(folder):
    return careful(veth(programs.own(folder, "kernel", HERE / "kernel.c")))


def make_tap(folder):
    return careful(tap(programs.own(folder, "kernel", HERE / "kernel.c"), programs.tenon()))
