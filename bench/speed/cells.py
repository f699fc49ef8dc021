# SPDX-License-Identifier: MIT
"""What is measured: tables of cells. A cell is a workload and its settings; stacks may have settings of their own,
where they are at their best with them."""
import dataclasses
import os
import re

OWN = "tenon"
OURS = (OWN, "floor")    # what the others do not have, or would not hear of
PEERS = ("lwip", "smoltcp", "gvisor")
KERNEL = ("linux-veth", "tenon-tap")

# Bytes that the sender keeps queued, by the size of its segments: each stack's best, found by trying powers of two.
WINDOWS = {
    "tenon": {1500: 65536, 9000: 262144, 65535: 2097152},
    "floor": {1500: 65536, 9000: 131072, 65535: 262144},
    "lwip": {1500: 65536, 9000: 131072, 65535: 524288},
    "smoltcp": {1500: 65536, 9000: 131072, 65535: 262144},
    "gvisor": {1500: 1048576, 9000: 1048576, 65535: 1048576},
}

# Other settings with which a stack is better: (stack, message, MTU). Small messages are written, not referred to: many
# small pieces in one segment are slower than copies. With 32 KB queued, messages of some sizes are cut at the same
# places in each flight.
BEST = {
    ("tenon", 64, 1500): {"write": 1, "window": 32768},
    ("tenon", 16384, 1500): {"window": 32768},
    ("tenon", 65536, 1500): {"window": 32768},
    ("tenon", 1048576, 1500): {"window": 32768},
    ("floor", 64, 1500): {"window": 32768},
    ("smoltcp", 64, 1500): {"window": 32768},
    ("tenon", 64, 9000): {"write": 1},
    ("lwip", 64, 1500): {"write": 1},
    ("lwip", 64, 9000): {"write": 1},
}


@dataclasses.dataclass
class Cell:
    table: str
    row: str
    workload: str
    settings: dict
    quick: bool = False
    only: tuple = ()          # stacks; empty: all but the kernel
    memory_gib: float = 0.5   # that a run may need
    value: str = "ns"         # of the line: what is told
    unit: str = "ns"          # how it is shown: ns, Gbit/s, k/s, %, bytes

    @property
    def name(self):
        return re.sub(r"[^a-z0-9]+", "-", f"{self.table} {self.row}".lower()).strip("-")

    def words(self, stack):
        settings = dict(self.settings)
        if self.workload == "bulk" and "window" not in settings and stack in WINDOWS:
            size = 65535 if settings.get("tso") else int(settings.get("mtu", 1500))
            nearest = max((s for s in WINDOWS[stack] if s <= size), default=1500)
            settings["window"] = WINDOWS[stack][nearest]
        settings.update(BEST.get((stack, settings.get("message"), self.mtu()), {}))
        return [f"{key}={value}" for key, value in settings.items()]

    def mtu(self):
        """Of a stream alone, cut by its sender; of several where a cell asks for it."""
        alone = not ({"connections", "tso"} & set(self.settings)) and self.workload == "bulk"
        return self.settings.get("mtu", 1500 if alone else None)

    def shown(self, value):
        """A value of the program's line in the unit of the table."""
        if self.unit == "Gbit/s":
            return 8 / value
        if self.unit == "k/s":
            return 1e6 / value
        if self.unit == "%":
            return 100 * value
        return value

    @property
    def more_is_better(self):
        return self.unit in ("Gbit/s", "k/s", "%")


def connections(n):
    return f"{n} connection{'s' * (n > 1)}"


def pingpong():
    table = "Ping-pong"
    for n in (1, 32, 1024, 10000, 100000):
        yield Cell(table, connections(n), "ping-pong", {"connections": n}, quick=n in (1, 32, 10000),
                   memory_gib=2 if n > 10000 else .5)
    for n in (1, 32, 1024, 10000, 100000):
        yield Cell(table, f"{connections(n)}, checksums in software", "ping-pong", {"connections": n, "csum": 0},
                   quick=n == 32, memory_gib=2 if n > 10000 else .5)
    for csum in (1, 0):
        yield Cell(table, f"32 connections, IPv6{'' if csum else ', checksums in software'}", "ping-pong",
                   {"connections": 32, "ip6": 1, **({} if csum else {"csum": 0})}, only=OURS)
    for csum in (1, 0):
        yield Cell(table, f"32 connections, without timestamps{'' if csum else ', checksums in software'}", "ping-pong",
                   {"connections": 32, "timestamps": 0, **({} if csum else {"csum": 0})})
    yield Cell(table, "32 connections, copied", "ping-pong", {"connections": 32, "copy": 1}, only=OURS)
    yield Cell(table, "32 connections, without pacing", "ping-pong", {"connections": 32, "pacing": 0}, only=OURS)
    yield Cell(table, "32 connections, BBR", "ping-pong", {"connections": 32, "bbr": 1}, only=OURS)
    yield Cell(table, "10000 connections, bursts of 1024", "ping-pong", {"connections": 10000, "batch": 1024})
    for idle in (10000, 1000000):
        yield Cell(table, f"32 connections among {idle} idle", "ping-pong", {"connections": 32, "idle": idle},
                   quick=idle == 10000, memory_gib=4 if idle > 10000 else .5)


def numbers_of_processors():
    """All numbers up to 4, then powers of two, and all that there are."""
    most = os.cpu_count() or 1
    return sorted({n for n in (1, 2, 3, 4, 8, 16, 32, 64, 128) if n <= most} | {min(most, 256)})


# Parts of the port's work taken away, one at a time.
WITHOUT = ((", copied", {"copy": 1}), (", checksums in software", {"csum": 0}))
LOOPS = (OWN, "floor", "lwip", "smoltcp")    # all but gVisor, which has no loop of its own


def cores():
    table = "Ping-pong on several processors, 32 connections on each"
    for more, settings in (("", {}), *WITHOUT):
        for n in numbers_of_processors():
            yield Cell(table + more, f"{n} processor{'s' * (n > 1)}", "cores",
                       {"connections": 32, "cores": n, **settings}, unit="k/s", only=OURS if more else LOOPS)
    for n in numbers_of_processors():
        yield Cell("Scaling over processors, of N times one", f"{n} processor{'s' * (n > 1)}", "cores",
                   {"connections": 32, "cores": n}, value="efficiency", unit="%", only=LOOPS)


def bulk():
    for mtu in (1500, 9000):
        for csum in (1, 0):
            table = f"Bulk, MTU {mtu}, checksums {'by the port' if csum else 'in software'}"
            for size, text in SIZES:
                settings = {"message": size, "mtu": mtu, **({} if csum else {"csum": 0})}
                yield Cell(table, text, "bulk", settings, unit="Gbit/s",
                           quick=mtu == 1500 and size in (64, 16384) or size == 65536 and csum == 1)
    for csum in (1, 0):
        yield Cell("Bulk, MTU 1500, without pacing", f"16 KB, checksums {'by the port' if csum else 'in software'}",
                   "bulk", {"message": 16384, "pacing": 0, **({} if csum else {"csum": 0})}, unit="Gbit/s", only=OURS)
    for csum in (1, 0):
        yield Cell("Bulk, MTU 1500, BBR", f"16 KB, checksums {'by the port' if csum else 'in software'}", "bulk",
                   {"message": 16384, "mtu": 1500, "bbr": 1, **({} if csum else {"csum": 0})}, unit="Gbit/s",
                   only=OURS)
    yield Cell("Bulk, MTU 1500, checksums by portable C", "16 KB", "bulk",
               {"message": 16384, "mtu": 1500, "csum": 0, "own_sum": 1}, unit="Gbit/s", only=OURS)
    for csum in (1, 0):
        yield Cell("Bulk, MTU 1500, IPv6", f"16 KB, checksums {'by the port' if csum else 'in software'}", "bulk",
                   {"message": 16384, "mtu": 1500, "ip6": 1, **({} if csum else {"csum": 0})}, unit="Gbit/s",
                   only=OURS)
    table = "Bulk, segments of 64 KB"
    for size, text in SIZES:
        yield Cell(table, text, "bulk", {"message": size, "tso": 1, "lro": 1}, unit="Gbit/s", quick=size == 65536)
    yield from bulk_of_many()
    yield from offloads()


def bulk_of_many():
    """32 streams at once. Messages of 64 bytes take each stack's best settings, as they do alone."""
    for csum in (1, 0):
        how, sums = ("by the port", {}) if csum else ("in software", {"csum": 0})
        for size, text in SIZES:
            mtu = {"mtu": 1500} if size == 64 else {}
            yield Cell("Bulk, MTU 1500, 32 connections", f"{text}, checksums {how}", "bulk",
                       {"message": size, "connections": 32, **mtu, **sums}, unit="Gbit/s")
        for size, text in SIZES[2:]:
            yield Cell("Bulk, MTU 9000, 32 connections", f"{text}, checksums {how}", "bulk",
                       {"message": size, "mtu": 9000, "connections": 32, **sums}, unit="Gbit/s")
    for size, text in SIZES[2:]:
        yield Cell("Bulk, segments of 64 KB, 32 connections", text, "bulk",
                   {"message": size, "connections": 32, "tso": 1, "lro": 1}, unit="Gbit/s")


MATRIX = (
    ("all", {"tso": 1, "lro": 1}),
    ("no gathering: copied", {"tso": 1, "lro": 1, "copy": 1}),
    ("no TSO", {}),
    ("no TSO, no checksums at the sender", {"tx_csum": 0}),
    ("receiver without checksums", {"tso": 1, "lro": 1, "rx_csum": 0}),
    ("receiver without LRO", {"tso": 1}),
    ("receiver without LRO and checksums", {"tso": 1, "rx_csum": 0}),
    ("none: copied, cut and summed in software", {"copy": 1, "csum": 0}),
)
PERCENTILES = (("p50_ns", "median"), ("p99_ns", "99th percentile"), ("p999_ns", "99.9th percentile"))
LOADS = (10, 30, 50, 70, 80, 90)
SIZES = ((64, "64 B"), (1460, "1460 B"), (16384, "16 KB"), (65536, "64 KB"), (1048576, "1 MB"))


def offloads():
    """The same with parts of the port's work taken away; and with more data than a cache holds."""
    for size, text in SIZES:
        for row, settings in MATRIX:
            yield Cell(f"Bulk, {text}, offloads of the port", row, "bulk", {"message": size, **settings},
                       unit="Gbit/s", only=OURS)
    for size, text in SIZES[1:]:
        for row, settings in MATRIX if size == 65536 else (MATRIX[0], MATRIX[1], MATRIX[-1]):
            yield Cell(f"Bulk, {text} of 256 MB of data, offloads of the port", row, "bulk",
                       {"message": size, **settings, "data": 268435456}, unit="Gbit/s", only=OURS, memory_gib=1)


def rest():
    for unit, table in (("ns", "Connect, 1 byte, close"), ("k/s", "Connect, 1 byte, close: connections per second")):
        for csum in (1, 0):
            yield Cell(table, f"32 at a time, checksums {'by the port' if csum else 'in software'}", "connect",
                       {"connections": 32, **({} if csum else {"csum": 0})}, quick=csum == 1, unit=unit)
        yield Cell(table, "1 at a time", "connect", {"connections": 1}, unit=unit)
    for csum in (1, 0):
        for value, text in PERCENTILES:
            yield Cell(f"Time of a connection alone, checksums {'by the port' if csum else 'in software'}", text,
                       "connect-time", {} if csum else {"csum": 0}, value=value,
                       only=LOOPS)
    for value, unit, text in (("ns", "ns", "time to open"), ("bytes", "bytes", "bytes of one end"),
                              ("resident_bytes", "bytes", "bytes of one end, as the system sees it")):
        for n in (10000, 100000, 1000000):
            yield Cell(f"Open connections: {text}", f"{n}", "idle", {"connections": n}, quick=n == 10000, value=value,
                       unit=unit, memory_gib=4 if n == 1000000 else 1, only=(OWN, *PEERS))
    for csum in (1, 0):
        how = "by the port" if csum else "in software"
        for workload, table in (("udp-ping", "UDP, request and response"), ("udp-bulk", "UDP, one way")):
            for size in (1, 1400):
                yield Cell(table, f"{size} B, 32 sockets, checksums {how}", workload,
                           {"connections": 32, "message": size, **({} if csum else {"csum": 0})}, quick=size == 1)
    for more, settings in (("", {}), *WITHOUT):
        for value, text in PERCENTILES:
            for load in LOADS:
                yield Cell(f"Latency at a load{more}, {text}", f"{load} % of what the stack can", "load",
                           {"connections": 128, "load": load, **settings}, value=value, only=OURS if more else LOOPS)


def cycles():
    """Of the time stamp counter, where there is one: a second look at some cells, which are not measured again."""
    for row, workload, settings in (
            ("round trip, 32 connections", "ping-pong", {"connections": 32}),
            ("round trip, 32 connections, checksums in software", "ping-pong", {"connections": 32, "csum": 0}),
            ("round trip, 10000 connections", "ping-pong", {"connections": 10000}),
            ("byte, MTU 1500, messages of 16 KB", "bulk", {"message": 16384, "mtu": 1500}),
            ("byte, MTU 1500, messages of 16 KB, checksums in software", "bulk",
             {"message": 16384, "mtu": 1500, "csum": 0}),
            ("connection, 32 at a time", "connect", {"connections": 32}),
            ("datagrams of 1 B there and back, 32 sockets", "udp-ping", {"connections": 32, "message": 1})):
        yield Cell("Cycles of the time stamp counter for one", row, workload, settings, value="cycles", unit="cycles",
                   only=LOOPS)


def through_the_kernel():
    """Linux and Linux over a pair of interfaces, Linux and Tenon over TAP. Real time on two processors."""
    times = (("ns", "CPU of both ends"), ("wall_ns", "time"))
    latencies = (("p50_ns", "median of the latency"), ("p99_ns", "99th percentile of the latency"))

    def of(table, row, workload, settings, values=(*times, *latencies), only=KERNEL, **more):
        for value, text in values:
            yield Cell(f"{table} through the kernel, {text}", row, workload, settings, only=only, value=value, **more)

    for n in (1, 32, 128, 512):
        yield from of("Ping-pong", connections(n), "ping-pong", {"connections": n})
    yield from of("Ping-pong", "32 connections among 10000 idle", "ping-pong", {"connections": 32, "idle": 10000})
    for size in (1, 1400):
        yield from of("UDP, request and response", f"{size} B, 32 sockets", "udp-ping",
                      {"connections": 32, "message": size})
    for n in (1, 32):
        yield from of("Connect, 1 byte, close", f"{n} at a time", "connect", {"connections": n})
    for size, text in SIZES:
        only = KERNEL if size == 65536 else KERNEL[:1]    # Tenon's program reads a pipe, 64 KB at a time
        yield from of("Bulk", text, "bulk", {"message": size, "tso": 1, "lro": 1}, times, only, unit="Gbit/s")
    for value, text in PERCENTILES:
        for load in LOADS:
            yield Cell(f"Latency at a load through the kernel, {text}", f"{load} % of what both can", "load",
                       {"connections": 128, "load": load}, value=value, only=KERNEL)
    yield from queues()


def queues():
    """`tenon echo` on several cores, each with a queue of a TAP interface, and as many clients of the kernel's."""
    for table, value, unit in (("Ping-pong over TAP, a queue for each core", "wall_ns", "k/s"),
                               ("Ping-pong over TAP, a queue for each core: CPU of Tenon", "server_ns", "ns"),
                               ("Scaling over TAP, of N times one", "efficiency", "%")):
        for n in numbers_of_processors():
            yield Cell(table, f"{n} core{'s' * (n > 1)}", "cores", {"connections": 32, "cores": n},
                       only=("tenon-tap",), value=value, unit=unit)


def everything():
    mine = [*pingpong(), *cores(), *bulk(), *rest(), *cycles()]
    for cell in mine:
        cell.only = cell.only or (OWN, "floor", *PEERS)
    return [*mine, *through_the_kernel()]
