# SPDX-License-Identifier: MIT
"""What is aimed at, and what a run has: ratios of cells of one run, by the medians and by the fastest rounds of each,
which have the least of what else the machine did in them."""
import statistics

OWN, FLOOR = "tenon", "floor"
PEERS = ("lwip", "smoltcp", "gvisor")
BULK_ROWS = ("16 KB", "64 KB", "1 MB")


def cost(cell, stack, pick):
    """More is worse. None: not measured."""
    values = cell["values"].get(stack) if cell else None
    if not values:
        return None
    values = [1 / v for v in values] if cell["more_is_better"] else values
    return pick(values)


def times(own, other):
    """How many times as long as the other takes; None: one of them is not known."""
    return own / other if own and other else None


class Run:
    """The cells of a report, by name."""

    def __init__(self, cells, pick):
        self.cells, self.pick = {(cell["table"], cell["row"]): cell for cell in cells}, pick

    def cost(self, table, row, stack=OWN):
        return cost(self.cells.get((table, row)), stack, self.pick)

    def best(self, table, row, stacks=PEERS):
        return min(filter(None, (self.cost(table, row, stack) for stack in stacks)), default=None)

    def beside(self, table, row, stacks=PEERS):
        """Of the time of the best of these."""
        return [times(self.cost(table, row), self.best(table, row, stacks))]

    def faster(self, table, rows, stacks=PEERS):
        """How many times as good as the best of these, in each row."""
        return [times(self.best(table, row, stacks), self.cost(table, row)) for row in rows]

    def within(self, of, against):
        return [times(self.cost(*of), self.cost(*against))]

    def value(self, table, row):
        """As it is shown."""
        cell, found = self.cells.get((table, row)), self.cost(table, row)
        return [1 / found if found and cell["more_is_better"] else found]


# (workload, aim, what is compared with it: the least that is wanted, or the most; and where it comes from)
PING, CONNECT = "Ping-pong", "Connect, 1 byte, close"
AIMS = (
    ("ping-pong, 32 connections, of the best peer's time", "most", 1 / 3,
     lambda run: run.beside(PING, "32 connections")),
    ("... of the floor's", "most", 4, lambda run: run.beside(PING, "32 connections", (FLOOR,))),
    ("... checksums in software, of the best peer's", "most", .4,
     lambda run: run.beside(PING, "32 connections, checksums in software")),
    ("10,000 active connections, of 32 active ones' time", "most", 3,
     lambda run: run.within((PING, "10000 connections"), (PING, "32 connections"))),
    ("32 active among 1,000,000 idle, of the time among none", "most", 1.1,
     lambda run: run.within((PING, "32 connections among 1000000 idle"), (PING, "32 connections"))),
    ("bulk, MTU 1500, messages of 16 KB and more, times the best peer", "least", 2.5,
     lambda run: run.faster("Bulk, MTU 1500, checksums by the port", BULK_ROWS)),
    ("... checksums in software, times smoltcp", "least", 2.5,
     lambda run: run.faster("Bulk, MTU 1500, checksums in software", BULK_ROWS, ("smoltcp",))),
    ("... in Gbit/s (15 times iip's 7.4 on another machine)", "least", 111,
     lambda run: [v for row in BULK_ROWS for v in run.value("Bulk, MTU 1500, checksums in software", row)]),
    ("bulk, MTU 9000, messages of 16 KB and more, times the best peer", "least", 1,
     lambda run: run.faster("Bulk, MTU 9000, checksums by the port", BULK_ROWS)),
    ("bulk, segments of 64 KB, likewise", "least", 1,
     lambda run: run.faster("Bulk, segments of 64 KB", BULK_ROWS)),
    ("messages of 64 bytes, times smoltcp", "least", 1.5,
     lambda run: run.faster("Bulk, MTU 1500, checksums by the port", ("64 B",), ("smoltcp",))),
    ("connect, exchange, close, 32 at a time, of the best peer's time", "most", .4,
     lambda run: run.beside(CONNECT, "32 at a time, checksums by the port")),
    ("... checksums in software", "most", .4, lambda run: run.beside(CONNECT, "32 at a time, checksums in software")),
    ("a million idle connections, bytes of one end", "most", 272,
     lambda run: run.value("Open connections: bytes of one end", "1000000")),
    ("two instances on two processors, times one", "least", 1.9,
     lambda run: [2 * v / 100 if v else v for v in run.value("Scaling over processors, of N times one",
                                                             "2 processors")]),
)


def number(value):
    return f"{value:.0f}" if value >= 20 else f"{value:.2f}"


def of(results):
    """[(workload, aim, by the medians, by the fastest, reached)], of what was measured; the last of the medians."""
    middle, fastest = (Run(results.cells, pick) for pick in (statistics.median, min))
    rows = []
    for text, way, aim, ask in AIMS:
        found = [[v for v in ask(run) if v is not None] for run in (middle, fastest)]
        if not found[0]:
            continue
        reached = [v <= aim if way == "most" else v >= aim for v in found[0]]
        shown = [number(min(v)) if number(min(v)) == number(max(v)) else f"{number(min(v))} to {number(max(v))}"
                 for v in found]
        rows.append((text, f"at {way} {number(aim)}", *shown,
                     "yes" if all(reached) else "in part" if any(reached) else "no"))
    return rows
