# SPDX-License-Identifier: MIT
"""What is kept of a cell's measures, how much of a difference counts, and what the issue of it all demands."""
import json

import grid


class Measure:
    """A number that is kept: its unit, which way is better (+1: more, -1: less), and the difference that is let
    pass: an absolute one and a part of the value."""

    def __init__(self, name, unit, better, absolute, relative, title):
        self.name, self.unit, self.better, self.title = name, unit, better, title
        self.absolute, self.relative = absolute, relative

    def differs(self, was, now):
        return abs(now - was) > self.absolute + self.relative * abs(was)


MEASURES = {m.name: m for m in (
    Measure("share_late", "", +1, 0.02, 0.02, "goodput, second half"),
    Measure("share", "", +1, 0.02, 0.02, "goodput, whole"),
    Measure("again_pct", "%", -1, 0.1, 0.1, "retransmitted"),
    Measure("rtos", "", -1, 0, 0.1, "retransmission timeouts"),
    Measure("queue_ms", "ms", -1, 0.05, 0.1, "queue"),
    Measure("jain", "", +1, 0.03, 0, "Jain's index"),
    Measure("mean_ms", "ms", -1, 0.1, 0.03, "completion, mean"),
    Measure("p95_ms", "ms", -1, 0.1, 0.1, "completion, 95th percentile"),
    Measure("repair_rtt", "RTT", -1, 0.1, 0.1, "repaired after"),
    Measure("full_rtt", "RTT", -1, 1, 0.2, "full rate again after"),
    Measure("probe_ms", "ms", -1, 0.5, 0.02, "probe after"),
    Measure("extra_ms", "ms", -1, 0.5, 0.02, "later than without loss"),
)}


def kept(result):
    """The measures of a result that go into the reference."""
    return {name: float(f"{result[name]:.4g}") for name in MEASURES if name in result}


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def store(path, cells):
    """One line per cell, in order, so that a change is a line of a diff."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(cells[key])}" for key in sorted(cells))
    with open(path, "w", encoding="utf-8") as f:
        f.write("{\n" + lines + "\n}\n")


def differences(reference, results):
    """(key, measure, was, now) for all beyond the tolerance; was None: the cell is new."""
    out = []
    for key in sorted(results):
        now = kept(results[key])
        was = reference.get(key)
        if was is None:
            out.append((key, None, None, None))
            continue
        for name, measure in MEASURES.items():
            if (name in was) != (name in now) or name in now and measure.differs(was[name], now[name]):
                out.append((key, measure, was.get(name), now.get(name)))
    return out


def describe(difference):
    key, measure, was, now = difference
    if measure is None:
        return f"  {key}: not in the reference"
    if was is None or now is None:
        return f"  {key}: {measure.name} {was} -> {now}"
    word = "better" if (now - was) * measure.better > 0 else "worse"
    return f"  {key}: {measure.name} {was:g} -> {now:g} {measure.unit}".rstrip() + f"  ({word})"


# ---- demands ----------------------------------------------------------------------------------------

def is_clean(cell):
    return cell["kind"] == "bulk" and not (cell["loss"] or cell["reorder"] or cell["mark"]) and cell["flows"] == 1


class Demand:
    """A rule for some of the cells."""

    def __init__(self, text, applies, holds):
        self.text, self.applies, self.holds = text, applies, holds


DEMANDS = (
    Demand("clean path, buffer of 1 BDP and more: at least 97 % of what the bottleneck allows, 20 RTTs and more after "
           "the start", lambda c: is_clean(c) and c["buffer"] >= 1, lambda c, r: r["share_late"] >= 0.97),
    Demand("reordering alone: at most 1 % of the segments retransmitted that the queue has not dropped",
           lambda c: c["kind"] == "bulk" and c["reorder"] > 0 and c["loss"] == 0,
           lambda c, r: r["again_pct"] - 100 * r["overflowed"] / r["frames"] <= 1),
    Demand("a single lost tail: retransmitted within 2 RTTs and the delayed ACK, without a timeout",
           lambda c: c["kind"] == "tail" and c["drop"] == 1,
           lambda c, r: r["rtos"] == 0 and r["probe_ms"] <= 2.02 * c["rtt"] + grid.DELAYED_ACK_MS + 1),
    Demand("10 Mbit/s, 50 ms, 1 % loss: BBR at least 90 % of the link",
           lambda c: c["cc"] == "bbr" and c["kind"] == "bulk" and c["flows"] == 1 and not c["reorder"]
           and (c["rtt"], c["rate"], c["loss"], c["buffer"]) == (50, 10, 1, 1), lambda c, r: r["share_late"] >= 0.9),
    Demand("everything arrives, and as it was sent", lambda c: True, lambda c, r: r["bad"] == 0),
)
