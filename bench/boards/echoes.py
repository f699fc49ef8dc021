# SPDX-License-Identifier: MIT
"""The echo over Tenon and others on one board: flash and RAM of the images, and what is used of them while clients
are served in QEMU's own network."""
import concurrent.futures
import queue
import random
import re
import select
import socket
import subprocess
import sys
import threading
import time

NAMES = ("tenon4-core", "tenon4-back", "tenon4", "tenon4-all", "lwip4-nocopy", "lwip4", "lwip4-netconn",
         "lwip4-sockets", "smoltcp4", "tenon46-core", "tenon46-back", "tenon46", "tenon46-all", "lwip46")
CLIENTS, ROUNDS, SECONDS = 4, 5, 60
STILL_SECONDS, LATE_SECONDS = 2, 20    # nothing moves for so long: all is full, or it will stay so
OTHERS_TRIES = 3    # lwIP was seen to reset a client, in one run of some; of ours none may be reset
TCP_BYTES, UDP_BYTES = (1, 100, 1460, 5000, 20000), (1, 100, 1400)
TCP, UDP, IP, LINK = "TCP", "UDP", "IP, ICMP, groups", "Ethernet, ARP, neighbours"
REST, SOCK = "instance, buffers, timers, checksums", "the application's calls"
APP, BOARD, OTHER = "the program", "board, driver", "strings, compiler"
PARTS = (TCP, IP, LINK, UDP, REST, SOCK, APP, BOARD, OTHER)
OF_TENON = {"tcp": TCP, "udp": UDP, "ip": IP, "link": LINK}
OF_LWIP = {TCP: "tcp tcp_in tcp_out", UDP: "udp", LINK: "etharp nd6 ethernet ethip6 acd",
           SOCK: "api_lib api_msg err netbuf sockets tcpip",
           IP: "ip ip4 ip4_addr ip4_frag icmp igmp ip6 ip6_addr ip6_frag icmp6 mld6"}


def part_of(source):
    """What the table calls the file that something in an image is from."""
    match = re.search(r"/bench/boards/|/(src|embedded|include/tenon|ports/boards)/(?:([\w-]+)/)?", source)
    if match is None:
        return OTHER
    if match.group(1) is None:    # and so is the operating system below lwIP's netconns and sockets, lwip_os.c
        return APP
    if match.group(1) == "src":
        return OF_TENON.get(match.group(2), REST)
    return {"embedded": SOCK, "ports/boards": BOARD}.get(match.group(1), REST)


def lwip_symbols(tools, archive):
    """{symbol: part}: where something is declared is told of a symbol in an image, not where it is defined."""
    found = {}
    parts = {name: part for part, names in OF_LWIP.items() for name in names.split()}
    for line in subprocess.run([tools + "nm", "-A", "--defined-only", archive], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        match = re.search(r":(\w+)\.c\.\w+:\w* +\w (\S+)$", line)
        if match:
            found[match.group(2)] = parts.get(match.group(1), REST)
    return found


def sizes(tool, tools, folder, name):
    """{part: bytes of flash}, and what board and driver have of RAM besides the stack"""
    archive = folder / f"libstack-{name}.a"
    known = lwip_symbols(tools, archive) if name.startswith("lwip") else {}
    (_, flash), (_, ram) = tool.modules(tools, folder / f"echo-{name}.elf",
                                        lambda source, symbol: known.get(symbol) or part_of(source))
    flash[OTHER] = flash.get(OTHER, 0) + flash.pop("strings and constants without a name")
    if name.startswith("smoltcp"):    # functions of several files are one there, and tell of none
        flash[REST] = flash.pop(OTHER) + flash.get(REST, 0)
    return flash, ram[BOARD]


def fixed_ram(found):
    """RAM of an echo without the stack, and without what is left of its arena, which could be as much smaller."""
    idle = found["run"]["idle"]
    return idle["static"] - idle["stack_bytes"] - idle["spare"]


# ---- in QEMU -------------------------------------------------------------------------------------------------


def free_port(kind):
    with socket.socket(socket.AF_INET, kind) as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Echo:
    """A board with an echo in it, until the block is left. network: another than QEMU's own, with the id n."""

    def __init__(self, facts, board, image, network=None):
        if network is None:
            self.tcp, self.udp = free_port(socket.SOCK_STREAM), free_port(socket.SOCK_DGRAM)
            network = (f"user,id=n,ipv6=off,hostfwd=tcp:127.0.0.1:{self.tcp}-10.0.2.15:7,"
                       f"hostfwd=udp:127.0.0.1:{self.udp}-10.0.2.15:7")
        self.process = subprocess.Popen(
            [facts["qemu"], "-M", board, "-kernel", str(image), "-display", "none", "-monitor", "none", "-serial",
             "stdio", "-semihosting-config", "enable=on,target=native", "-netdev", network, "-net",
             f"nic,model={facts['nic']},netdev=n"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def wait_for(self, begin):
        end = time.monotonic() + SECONDS
        while True:
            line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            if line.startswith(begin):
                return line

    def status(self):
        self.process.stdin.write("s")
        self.process.stdin.flush()
        return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", self.wait_for("status"))}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


def exchange(s, data):
    """Send all of it, and get it back."""
    sender = threading.Thread(target=s.sendall, args=(data,))
    sender.start()
    got = b""
    while len(got) < len(data):
        more = s.recv(65536)
        if not more:
            break
        got += more
    sender.join()
    if got != data:
        raise RuntimeError(f"echo: {len(data)} bytes went there, {len(got)} came back, or others")


def one_client(port, seed):
    dice = random.Random(seed)
    for _ in range(ROUNDS):
        for n in TCP_BYTES:
            with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as s:
                exchange(s, dice.randbytes(n))


def datagrams(port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.settimeout(1)
        s.connect(("127.0.0.1", port))
        came = 0
        for n in UDP_BYTES * ROUNDS:
            data = bytes(range(256)) * 6
            s.send(data[:n])
            try:
                came += s.recv(65536) == data[:n]
            except TimeoutError:
                pass
        if came < len(UDP_BYTES) * ROUNDS // 2:
            raise RuntimeError(f"echo: {came} datagrams have come back")


def fill(clients):
    """Send to all, and read nothing, until nobody takes any more. @return how many bytes each has sent"""
    sent, moved = dict.fromkeys(clients, 0), time.monotonic()
    while time.monotonic() - moved < STILL_SECONDS:
        for s in select.select([], clients, [], STILL_SECONDS)[1]:
            sent[s] += s.send(bytes(65536))
            moved = time.monotonic()
    return sent


def answers_late(echo, ahead=0):
    """Four clients who send as much as is taken before they read. Then the echo holds what it has no room to send, in
    all blocks that it has; whether it hears that there is room again. So many long datagrams come ahead of that:
    there is no block for them, and it must not wait behind them. @return 1: all has come back"""
    clients = [socket.socket() for _ in range(CLIENTS)]
    try:
        for s in clients:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(SECONDS)
            s.connect(("127.0.0.1", echo.tcp))
            s.setblocking(False)
        missing = fill(clients)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for _ in range(ahead):
                s.sendto(bytes(max(UDP_BYTES)), ("127.0.0.1", echo.udp))
        while any(missing.values()):
            for s in select.select(clients, [], [], LATE_SECONDS)[0] or [None]:
                more = len(s.recv(1 << 20)) if s is not None else 0
                if more == 0:
                    return 0
                missing[s] -= more
        return 1
    finally:
        for s in clients:
            s.close()


def at_rest(echo):
    """Its words when nothing happens any more: a connection gives back what it needs only while it works."""
    before, same = None, 0
    for _ in range(SECONDS * 2):
        now = echo.status()
        same = same + 1 if now.get("memory") == before else 0
        if same == 4:
            break
        before = now.get("memory")
        time.sleep(0.5)
    return now


def drive(facts, board, image, with_clients):
    """What the program says of itself: at the start, with all clients connected, and after all of it; and whether it
    answers who reads late."""
    with Echo(facts, board, image) as echo:
        echo.wait_for("ready")
        found = {"idle": echo.status()}
        if not with_clients:
            return found
        clients = [socket.create_connection(("127.0.0.1", echo.tcp), timeout=SECONDS) for _ in range(CLIENTS)]
        for s in clients:
            exchange(s, b"x")
        found["open"] = at_rest(echo)
        for s in clients:
            s.close()
        with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(one_client, [echo.tcp] * CLIENTS, range(CLIENTS)))
        datagrams(echo.udp)
        found["done"] = echo.status()
    with Echo(facts, board, image) as echo:    # it may be of no use after it
        echo.wait_for("ready")
        found["late"] = answers_late(echo)
    return found


def measure(tool, board, folder, names, with_clients):
    """{name: {"flash": {part: bytes}, "board_ram": bytes, "run": {moment: {name: value}}}}"""
    facts, found = tool.BOARDS[board], {}
    for name in names:
        flash, board_ram = sizes(tool, facts["tools"], folder, name)
        run, tries = None, 0
        while run is None:
            tries += 1
            try:
                run = drive(facts, board, folder / f"echo-{name}.elf", with_clients)
            except (RuntimeError, OSError, queue.Empty) as why:
                words = f"{board}, echo-{name}: {why or 'it says nothing any more'}"
                if name.startswith("tenon") or tries == OTHERS_TRIES:
                    raise RuntimeError(words) from why
                print(f"boards: {words}; once more", file=sys.stderr, flush=True)
        found[name] = {"flash": flash, "board_ram": board_ram, "run": run}
    return found
