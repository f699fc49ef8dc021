# SPDX-License-Identifier: MIT
"""One TCP connection as a capture of Tenon's shows it, and the rules that what Tenon sent must keep.

The capture has what passed between Tenon and its port: the segments that arrived, lost ones left out, and
those that left, super-frames already cut up. So it can be said of each segment what Tenon knew then."""
import dataclasses

FIN, SYN, RST, PSH, ACK, ECE, CWR = 1, 2, 4, 8, 16, 64, 128
NOT_ECT, ECT1, ECT0, CE = range(4)
FIELDS = ["frame.number", "frame.packet_flags_direction", "tcp.srcport", "tcp.seq_raw", "tcp.ack_raw", "tcp.len",
          "tcp.flags", "tcp.window_size_value", "tcp.options.wscale.shift", "tcp.options.timestamp.tsval",
          "tcp.options.sack_le", "tcp.options.sack_re", "tcp.options.sack_perm", "tcp.options.mss_val",
          "ip.dsfield.ecn", "ipv6.tclass.ecn", "ip.len", "ipv6.plen", "ip.checksum.status", "tcp.checksum.status",
          "tcp.checksum", "_ws.malformed", "_ws.expert.severity", "_ws.expert.message"]
WARNING = 0x600000
# What an expert may say of segments on a bad cable: it does not see the losses.
EXPECTED = ("Previous segment(s) not captured", "ACKed segment that wasn't captured", "D-SACK Sequence",
            "This frame is a (suspected) out-of-order segment", "Connection reset (RST)",
            "TCP window specified by the receiver is now completely full")


@dataclasses.dataclass
class Segment:
    number: int
    sent: bool          # by Tenon
    seq: int            # from the initial sequence number of its sender; the SYN has 0
    ack: int            # ... of the other
    length: int         # bytes of text
    flags: int
    window: int         # in bytes
    scale: int | None
    timestamps: bool
    sack: list          # of (left, right)
    sack_permitted: bool
    mss: int | None
    ecn: int
    ip_bytes: int
    remarks: list

    @property
    def end(self):
        return self.seq + self.length + bool(self.flags & SYN) + bool(self.flags & FIN)


def number(text, base=10):
    return int(text, base) if text else None


class Connection:
    """`segments`: those whose checksums were right, in the order of the capture. `wrong`: what Tenon sent and
    tshark finds damaged."""

    def __init__(self, tshark, capture, port):
        self.segments, self.wrong, self.start = [], [], {}
        self.port = port
        arguments = [a for field in FIELDS for a in ("-e", field)]
        rows = tshark.run(capture, "-Y", f"tcp.port == {port}", "-T", "fields", "-E", "separator=/t", "-E",
                          "occurrence=a", "-E", "aggregator=|", "-o", "tcp.relative_sequence_numbers:FALSE",
                          *arguments).splitlines()
        rows = [dict(zip(FIELDS, line.split("\t"), strict=True)) for line in rows]
        for row in rows:
            sent = row["frame.packet_flags_direction"] == "0x00000002"
            broken = row["_ws.malformed"] or not row["tcp.flags"]
            damaged = broken or "0" in (row["ip.checksum.status"], row["tcp.checksum.status"])
            if damaged and not sent:    # Linux writes a checksum of 0 as 0xFFFF, and tshark does not like it
                damaged = broken or row["ip.checksum.status"] == "0" or row["tcp.checksum"] != "0xffff"
            if not damaged:
                self.add(row, sent)
            elif sent:
                self.wrong.append(row)

    def add(self, row, sent):
        flags, seq, ack = int(row["tcp.flags"], 16), int(row["tcp.seq_raw"]), int(row["tcp.ack_raw"])
        if flags & SYN:
            self.start.setdefault(sent, seq)
        left, right = ([int(n) for n in row[f"tcp.options.sack_{end}"].split("|") if n] for end in ("le", "re"))
        mine, other = self.start.get(sent, 0), self.start.get(not sent, 0)
        self.segments.append(Segment(
            number=int(row["frame.number"]), sent=sent, seq=(seq - mine) % 2**32,
            ack=(ack - other) % 2**32 if flags & ACK else 0, length=int(row["tcp.len"]), flags=flags,
            window=int(row["tcp.window_size_value"]), scale=number(row["tcp.options.wscale.shift"]),
            timestamps=bool(row["tcp.options.timestamp.tsval"]),
            sack=[tuple((edge - other) % 2**32 for edge in pair) for pair in zip(left, right, strict=True)],
            sack_permitted=bool(row["tcp.options.sack_perm"]), mss=number(row["tcp.options.mss_val"]),
            ecn=int(row["ip.dsfield.ecn"] or row["ipv6.tclass.ecn"]),
            ip_bytes=int(row["ip.len"] or int(row["ipv6.plen"]) + 40), remarks=remarks(row)))

    def syns(self):
        """(Tenon's, the kernel's) first SYN or SYN-ACK"""
        return [next(s for s in self.segments if s.flags & SYN and s.sent == sent) for sent in (True, False)]

    def sent(self):
        return [s for s in self.segments if s.sent]

    def arrived(self):
        return [s for s in self.segments if not s.sent]


def remarks(row):
    """What tshark's experts say that is worse than a note and not to be expected."""
    said = zip(row["_ws.expert.severity"].split("|"), row["_ws.expert.message"].split("|"))
    return [text for severity, text in said if severity and int(severity) >= WARNING
            and not any(text.startswith(known) for known in EXPECTED)]


# ---- the rules: each returns a list of sentences, empty when all is well --------------------------------

def damaged(connection, _):
    """RFC 9293 3.1, MUST-2"""
    return [f"frame {row['frame.number']} is damaged" for row in connection.wrong]


def remarked(connection, _):
    return [f"frame {s.number}: {text}" for s in connection.sent() for text in s.remarks]


def too_large(connection, row):
    """No packet above the MTU, no text above what the peer's MSS option allows (RFC 6691, RFC 9293 MUST-16)."""
    mss = connection.syns()[1].mss
    found = [f"frame {s.number} has {s.ip_bytes} bytes" for s in connection.sent() if s.ip_bytes > row.mtu]
    headers = 40 if row.version == "ip4" else 60
    return found + [f"frame {s.number} passes the MSS {mss}" for s in connection.sent()
                    if s.length > 0 and s.ip_bytes - headers > mss]


def options(connection, row):
    """What was agreed upon is in every segment, what was not in none (RFC 7323 3.2, RFC 2018 2)."""
    ours, theirs = connection.syns()
    timestamps = ours.timestamps and theirs.timestamps
    sack = ours.sack_permitted and theirs.sack_permitted
    found = []
    for s in connection.sent():
        if not s.flags & (SYN | RST) and s.timestamps != timestamps:
            found.append(f"frame {s.number}: timestamps {'missing' if timestamps else 'unasked'}")
        if s.sack and not sack:
            found.append(f"frame {s.number}: SACK unasked")
    return found


class Received:
    """The sequence space that has arrived."""

    def __init__(self):
        self.next, self.runs = 0, []

    def add(self, left, right):
        runs, out = sorted([*self.runs, (left, right)]), []
        for a, b in runs:
            if out and a <= out[-1][1]:
                out[-1] = (out[-1][0], max(b, out[-1][1]))
            else:
                out.append((a, b))
        if out[0][0] <= self.next:
            self.next = max(self.next, out.pop(0)[1])
        self.runs = out

    def known(self, left, right):
        """How many bytes of this have arrived."""
        pieces = [(0, self.next), *self.runs]
        return sum(max(0, min(right, b) - max(left, a)) for a, b in pieces)

    def has(self, left, right):
        return self.known(left, right) == right - left


def acknowledgements(connection, _):
    """Nothing is acknowledged, nor SACKed, that has not arrived (RFC 9293 3.4, RFC 2018 4)."""
    received, found = Received(), []
    for s in connection.segments:
        if not s.sent:
            if s.end > s.seq:
                received.add(s.seq, s.end)
            continue
        if s.flags & ACK and s.ack > received.next:
            found.append(f"frame {s.number} acknowledges {s.ack}, the first {received.next} have arrived")
        found += [f"frame {s.number} SACKs {left} to {right}, that has not arrived"
                  for left, right in s.sack if left >= right or not received.has(left, right)]
    return found


def window(connection, _):
    """Nothing is sent beyond the offered window, but the octet of a probe (RFC 9293 3.8.6.1)."""
    ours, theirs = connection.syns()
    shift = theirs.scale if ours.scale is not None and theirs.scale is not None else 0
    edge, found = 0, []
    for s in connection.segments:
        if not s.sent:
            edge = max(edge, s.ack + (s.window if s.flags & SYN else s.window << shift))
        elif s.length > 0 and s.seq + s.length > edge + 1:
            found.append(f"frame {s.number} ends at {s.seq + s.length}, the window at {edge}")
    return found


# ---- ECN, RFC 3168 6.1 ------------------------------------------------------------------------------------

def is_setup(syn):
    """Of a SYN: it asks. Of a SYN-ACK: it agrees."""
    return syn.flags & (ECE | CWR) == (ECE if syn.flags & ACK else ECE | CWR)


class Handshake:
    """What 6.1.1 lets Tenon do after it."""

    def __init__(self, connection):
        syns = [s for s in connection.segments if s.flags & SYN]
        sent, arrived = ([is_setup(s) for s in syns if s.sent == ours] for ours in (True, False))
        self.may_set_ect = any(sent) and all(sent) and any(arrived)
        self.should_set_ect = self.may_set_ect and all(arrived)
        self.echoes = any(sent) and any(arrived)
        self.plain_syns = not all(sent) or not all(arrived)


def ecn_handshake(connection, row):
    """Only the first SYN asks; a SYN-ACK agrees if it was asked, and if it was told to."""
    syns = [s for s in connection.sent() if s.flags & SYN]
    first = syns[0].number
    found = [f"frame {s.number}: ECN {'asked for' if is_setup(s) else 'not asked for'}" for s in syns
             if not s.flags & ACK and is_setup(s) != (s.number == first and row.ours_ecn == "ask")]
    asked = any(is_setup(s) for s in connection.arrived() if s.flags & SYN)
    return found + [f"frame {s.number}: ECN {'agreed to' if is_setup(s) else 'refused'}"
                    for s in syns if s.flags & ACK and is_setup(s) != (asked and row.ours_ecn != "off")]


def ecn_codepoints(connection, _):
    """ECT(0) on new data, if it was agreed upon, and on nothing else: 6.1.4, 6.1.5, 6.1.6."""
    handshake, top, found = Handshake(connection), 0, []
    for s in connection.sent():
        new = s.length > 0 and s.seq >= top
        top = max(top, s.end)
        if s.ecn not in (NOT_ECT, ECT0):
            found.append(f"frame {s.number} leaves with {s.ecn}")
        elif s.ecn == ECT0 and not (new and handshake.may_set_ect):
            found.append(f"frame {s.number}: ECT on what is not new data, or unasked")
        elif s.ecn == NOT_ECT and new and handshake.should_set_ect:
            found.append(f"frame {s.number}: new data without ECT")
    return found


def ecn_echo(connection, row):
    """6.1.3: ECE in every ACK from CE until CWR. DCTCP echoes otherwise (RFC 8257 3.2). Text that has arrived before
    does not count; when the peer has nothing more to send it does not matter. After a handshake in which a SYN was
    repeated without ECN the two may disagree: not judged."""
    handshake, received, found, echo, ended = Handshake(connection), Received(), [], False, False
    if row.tenon_cc == "dctcp" or (handshake.echoes and handshake.plain_syns):
        return []
    for s in connection.segments:
        if ended and s.sent and s.ack == received.next:
            break
        ended |= not s.sent and bool(s.flags & FIN)
        if not s.sent:
            if s.length > 0 and s.end > received.next:
                echo = (echo and not s.flags & CWR) or s.ecn == CE
            if s.end > s.seq:
                received.add(s.seq, s.end)
        elif s.flags & ACK and not s.flags & (SYN | RST) and bool(s.flags & ECE) != (echo and handshake.echoes):
            found.append(f"frame {s.number} {'echoes no' if echo else 'without'} CE")
    return found


def ecn_reduced(connection, row):
    """6.1.2: the first new data after an echo, once per window, says CWR; and no other segment, unless there was a sign
    of loss. DCTCP says it for every echo."""
    if row.tenon_cc == "dctcp":
        return []
    handshake, found = Handshake(connection), []
    top, una, recover, reduced, asked, allowed = 0, 0, 0, 0, False, False
    for s in connection.segments:
        if not s.sent:
            if s.flags & ECE and not s.flags & SYN and top > una and handshake.may_set_ect:
                allowed |= s.ack > reduced
                if s.ack > recover:
                    asked, recover = True, top
            if s.sack or (s.ack == una and s.length == 0):
                allowed = True    # what was lost may have arrived before it could be repeated
            una = max(una, s.ack)
            continue
        new = s.length > 0 and s.seq >= top
        if s.length > 0 and not new:
            # A loss is a reason for CWR too, and the one reduction of its window: at once, or when the recovery is over
            # in which it was noticed, if it is of a later window than that. Which is not seen here: an echo then may be
            # answered, and need not be.
            allowed, recover = True, top
        said = bool(s.flags & CWR) and not s.flags & SYN
        if said and not (new and (asked or allowed)):
            found.append(f"frame {s.number}: CWR for nothing")
        if new and asked and not said:
            found.append(f"frame {s.number}: new data after ECE without CWR")
        if said:
            reduced, recover, allowed = top, max(recover, top), False
        if new:
            asked = False
        top = max(top, s.end)
    return found


# ---- figures ----------------------------------------------------------------------------------------------

def beyond_reason(connection, lost):
    """Whether Tenon has repeated much more than the `lost` frames that the cable lost or damaged."""
    text, again = repeated(connection)
    segment = max((s.length for s in connection.sent()), default=0)
    return again > text / 4 + 2 * lost * segment


def repeated(connection, sent=True):
    """(bytes of text of this side, those of them that it had sent before), as Tenon saw them leave or arrive"""
    seen, text, again = Received(), 0, 0
    for s in connection.segments:
        if s.sent == sent and s.length > 0:
            text += s.length
            again += seen.known(s.seq, s.seq + s.length)
            seen.add(s.seq, s.seq + s.length)
    return text, again


RULES = [damaged, remarked, too_large, options, acknowledgements, window, ecn_handshake, ecn_codepoints, ecn_echo,
         ecn_reduced]
