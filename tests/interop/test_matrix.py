# SPDX-License-Identifier: MIT
"""Tenon and the Linux kernel over bad cables, in all the ways in which the two can be set up: each side opens,
sends, receives; every congestion control; IPv4 and IPv6; ECN, timestamps, SACK on and off at either side; packets
of 576 to 9000 bytes; with and without offloads.

Usually the rows are chosen such that each two values of any two columns meet in one of them: a minute. With
--all-combinations there are all combinations of what may matter: more than an hour."""
import dataclasses
import itertools
import json
import random
import re
import subprocess

import pytest

import segments
from conftest import find_tenon, sha256

SEGMENTS = 500    # of each side that sends: enough for some losses, and for an end
PORT = 5001
CABLE = ["--delay", 2, "--rate", 200, "--queue", 200, "--ce", 2]
PROFILES = {
    "loss1": ["--loss", 1],
    "loss5": ["--loss", 5],
    "reorder5": ["--reorder", 5],
    "noise": ["--dup", 3, "--corrupt", 1],
    "bursts": ["--burst", 0.4, "--burst-frames", 6],
}


def in_words(tool, pattern, *argv):
    """The words of a list that a program prints; none if there is no such program."""
    try:
        done = subprocess.run([tool, *argv], capture_output=True, text=True, check=False)
    except (OSError, TypeError):
        return []
    found = re.search(pattern, " ".join((done.stdout + done.stderr).split()))
    return re.findall(r"\w+", found.group(1)) if found else []


def columns():
    """What there is to vary. The first values are the usual ones."""
    return {
        "opener": ["kernel", "tenon"],
        "sender": ["tenon", "kernel", "both"],
        "kernel_cc": in_words("sysctl", "(.*)", "-n", "net.ipv4.tcp_available_congestion_control") or ["cubic"],
        "tenon_cc": in_words(find_tenon(), r"there are ([\w, ]*)", "listen", "--cc", "?", "1") or ["newreno"],
        "version": ["ip4", "ip6"],
        "ecn": list(ECN),
        "timestamps": ["both", "tenon", "kernel"],
        "sack": ["both", "tenon", "kernel"],
        "size": ["1500", "smallest", "4000", "9000"],
        "offload": ["offload", "plain"],
        "cable": list(PROFILES),
    }


# (net.ipv4.tcp_ecn, --ecn): the kernel's 0 refuses, 1 asks, 2 accepts
ECN = {"default": (2, "accept"), "both": (1, "ask"), "tenon": (2, "ask"), "kernel": (1, "accept"),
       "refused-by-tenon": (1, "off"), "refused-by-kernel": (0, "ask")}


@dataclasses.dataclass
class Row:
    opener: str
    sender: str
    kernel_cc: str
    tenon_cc: str
    version: str
    ecn: str
    timestamps: str    # who does them; "both": they are agreed upon
    sack: str
    size: str
    offload: str
    cable: str
    seed: int = 0

    @property
    def mtu(self):
        return {"smallest": 576 if self.version == "ip4" else 1280}.get(self.size) or int(self.size)

    @property
    def bytes(self):
        return SEGMENTS * (self.mtu - 60) + 7

    @property
    def name(self):
        values = dataclasses.astuple(self)[:-1]
        known = ["opens", "sends", "", "", "", "ecn", "ts", "sack", "", "", ""]
        return "-".join(f"{value}-{known}".strip("-") for value, known in zip(values, known, strict=True))

    @property
    def ours_ecn(self):
        return ECN[self.ecn][1]

    def tenon_options(self):
        options = ["--cc", self.tenon_cc, "--ecn", self.ours_ecn]
        return options + [f"--no-{what}" for what in ("timestamps", "sack") if getattr(self, what) == "kernel"]

    def sysctls(self):
        return {"tcp_ecn": ECN[self.ecn][0], "tcp_timestamps": int(self.timestamps != "tenon"),
                "tcp_sack": int(self.sack != "tenon")}


# ---- which rows -----------------------------------------------------------------------------------

def pairs(values):
    return set(itertools.combinations(enumerate(values), 2))


def each_pair(table):
    """Rows in which each two values of two columns meet. Greedy: every row begins with a pair that is missing
    and takes, column by column, the value that meets most of the others that are missing."""
    missing = {((i, a), (j, b)) for (i, x), (j, y) in itertools.combinations(enumerate(table), 2)
               for a in x for b in y}
    rows = []
    while missing:
        (i, a), (j, b) = min(missing, key=repr)
        row = {i: a, j: b}
        for column in sorted(set(range(len(table))) - {i, j}, key=lambda c: -len(table[c])):
            def gain(value, column=column):
                return sum(tuple(sorted(((column, value), item))) in missing for item in row.items())
            turn = len(rows) % len(table[column])    # of equals, not always the same
            row[column] = max(table[column][turn:] + table[column][:turn], key=gain)
        rows.append(tuple(row[c] for c in range(len(table))))
        missing -= pairs(rows[-1])
    return rows


def all_combinations(table):
    """Every combination of who sends, the kernel's congestion control, IP version, packet size, cable, and ECN,
    timestamps and SACK on or off. The rest, and who it is that switches something off, is drawn by lot."""
    switches = {"ecn": "both", "timestamps": "both", "sack": "both"}
    full = {name: [True, False] if name in switches else table[name]
            for name in ("sender", "kernel_cc", "version", "size", "cable", *switches)}
    for n, values in enumerate(itertools.product(*full.values())):
        row, lot = dict(zip(full, values, strict=True)), random.Random(n)
        for name, on in switches.items():
            row[name] = on if row[name] else lot.choice([v for v in table[name] if v != on])
        yield tuple(row[name] if name in row else lot.choice(table[name]) for name in table)


def pytest_generate_tests(metafunc):
    if metafunc.function is not test_transfer:
        return
    table = columns()
    if metafunc.config.getoption("--all-combinations", default=False):
        chosen = all_combinations(table)
    else:
        chosen = each_pair(list(table.values()))
    rows = [Row(*values, seed=n + 1) for n, values in enumerate(chosen)]
    metafunc.parametrize("row", rows, ids=[row.name for row in rows])


def test_each_pair_meets():
    table = list(columns().values())
    rows = each_pair(table)
    met = set().union(*map(pairs, rows))
    wanted = sum(len(x) * len(y) for x, y in itertools.combinations(table, 2))
    assert len(met) == wanted
    assert len(rows) < 2 * max(len(x) * len(y) for x, y in itertools.combinations(table, 2))


# ---- one transfer ---------------------------------------------------------------------------------

@pytest.fixture
def kernel(net, row):
    before = {name: net.run("sysctl", "-n", f"net.ipv4.{name}").stdout.strip() for name in row.sysctls()}
    for name, value in row.sysctls().items():
        net.run("sysctl", "-qw", f"net.ipv4.{name}={value}")
    yield
    for name, value in before.items():
        net.run("sysctl", "-qw", f"net.ipv4.{name}={value}")


def connect(link, options, address, stdin, stdout):
    """With patience: on a busy machine seconds pass until the kernel sends through an interface that has just been
    opened, and nobody answers for its neighbours until then."""
    for _ in range(5):
        tenon = link.tenon("connect", *options, "--timeout", 60, address, PORT, stdin=stdin, stdout=stdout, ready=False)
        if tenon.wait(120) == 0 or "destination unreachable" not in tenon.text():
            break
    return tenon


def transfer(row, link, peer, files, got, options):
    """@return what the peer says. What Tenon received is in `got`."""
    tenon_file = files.get(row.bytes if row.sender != "kernel" else 0)
    kernel_file = files.get(row.bytes if row.sender != "tenon" else 0)
    address = (link.t4, link.k4) if row.version == "ip4" else (link.t6, link.k6)
    with open(tenon_file, "rb") as stdin, open(got, "wb") as stdout:
        if row.opener == "kernel":
            tenon = link.tenon("listen", *options, PORT, stdin=stdin, stdout=stdout)
            said = peer.run("open", address[0], PORT, row.kernel_cc, kernel_file).stdout
        else:
            other = peer.start("await", address[1], PORT, row.kernel_cc, kernel_file)
            tenon = connect(link, options, address[1], stdin, stdout)
            assert tenon.wait() == 0, tenon.text()
            said = other.communicate(timeout=120)[0]
        assert tenon.wait(120) == 0, tenon.text()
    return json.loads(said)


def judge(row, connection, said):
    """The rules, and that the row was what its name says."""
    ours, theirs = connection.syns()
    agreed = {"timestamps": ours.timestamps and theirs.timestamps,
              "sack": ours.sack_permitted and theirs.sack_permitted}
    for what, really in agreed.items():
        assert really == said["info"][what] == (getattr(row, what) == "both"), what
    assert not bool(ours.flags & segments.ACK) == (row.opener == "tenon")
    broken = [sentence for rule in segments.RULES for sentence in rule(connection, row)]
    assert not broken, f"{len(broken)} of {len(connection.segments)} segments:\n" + "\n".join(broken[:20])


def test_transfer(row, kernel, make_link, peer, files, tmp_path, tshark):
    capture, got = tmp_path / "capture.pcapng", tmp_path / "got"
    link = make_link(relay=[*CABLE, *PROFILES[row.cable], "--seed", row.seed], mtu=row.mtu,
                     offload=row.offload == "offload")
    said = transfer(row, link, peer, files, got, [*row.tenon_options(), "--pcap", capture])
    connection = segments.Connection(tshark, capture, PORT)
    assert said["sha256"] == files.hash(row.bytes if row.sender != "kernel" else 0)
    assert sha256(got) == files.hash(row.bytes if row.sender != "tenon" else 0)
    judge(row, connection, said)
    counts = link.stop_relay()
    ours, theirs = segments.repeated(connection), segments.repeated(connection, sent=False)
    print(json.dumps({"row": row.name, "us": ours, "them": theirs, **said["info"], "cable": counts}))
    lost = sum(counts["back"][why] for why in ("lost", "corrupted", "overflowed"))
    assert not segments.beyond_reason(connection, lost)


# ---- the rules themselves -------------------------------------------------------------------------

def pick(connection, sent, wanted):
    """The place of a segment in the middle."""
    places = [n for n, s in enumerate(connection.segments) if s.sent == sent and wanted(s)]
    return places[len(places) // 2]


def change(connection, wanted, sent=True, **fields):
    n = pick(connection, sent, wanted)
    values = {name: new(connection.segments[n]) for name, new in fields.items()}
    connection.segments[n] = dataclasses.replace(connection.segments[n], **values)


def text(s):
    return s.length > 0


def bare(s):
    return s.length == 0 and not s.flags & (segments.SYN | segments.FIN)


BREAKS = {
    segments.damaged: lambda c: c.wrong.append({"frame.number": 1}),
    segments.remarked: lambda c: change(c, text, remarks=lambda s: ["something is wrong"]),
    segments.too_large: lambda c: change(c, text, ip_bytes=lambda s: 1501),
    segments.options: lambda c: change(c, bare, timestamps=lambda s: False),
    segments.acknowledgements: lambda c: c.segments.pop(pick(c, False, text)),
    segments.window: lambda c: change(c, text, seq=lambda s: s.seq + (8 << 20)),
    segments.ecn_handshake: lambda c: change(c, lambda s: s.flags & segments.SYN,
                                             flags=lambda s: s.flags ^ segments.ECE),
    segments.ecn_codepoints: lambda c: change(c, bare, ecn=lambda s: segments.ECT0),
    segments.ecn_echo: lambda c: change(c, bare, flags=lambda s: s.flags ^ segments.ECE),
    segments.ecn_reduced: lambda c: change(c, bare, flags=lambda s: s.flags | segments.CWR),
}


EXAMPLE = Row("kernel", "both", "cubic", "cubic", "ip4", "both", "both", "both", "1500", "plain", "loss5", seed=1)


@pytest.mark.parametrize("row", [EXAMPLE], ids=["example"])
def test_the_rules_can_fail(row, kernel, make_link, peer, files, tmp_path, tshark):
    capture = tmp_path / "capture.pcapng"
    link = make_link(relay=[*CABLE, *PROFILES[row.cable], "--ce", 5, "--seed", row.seed], mtu=row.mtu)
    transfer(row, link, peer, files, tmp_path / "got", [*row.tenon_options(), "--pcap", capture])
    connection = segments.Connection(tshark, capture, PORT)
    whole = list(connection.segments)
    assert set(BREAKS) == set(segments.RULES)
    for rule, spoil in BREAKS.items():
        assert not rule(connection, row)
        spoil(connection)
        assert rule(connection, row), rule.__name__
        connection.segments, connection.wrong = list(whole), []
    assert not segments.beyond_reason(connection, 0)
    connection.segments += [s for s in whole if s.sent and text(s)] * 3
    assert segments.beyond_reason(connection, 0)
