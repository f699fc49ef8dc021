# SPDX-License-Identifier: MIT
"""The report: heat maps of the cells as one HTML file that needs nothing else."""
import html
import math

import compare
import grid

CELL_W, CELL_H, LEFT, TOP, BOTTOM = 38, 22, 62, 24, 34

# From bad (0) to good (1): blue and red are told apart by everybody, and by their lightness towards the ends.
STOPS = ((0.0, (165, 15, 38)), (0.3, (239, 138, 98)), (0.55, (253, 219, 199)), (0.75, (209, 229, 240)),
         (1.0, (103, 169, 207)))


def colour(goodness):
    goodness = min(max(goodness, 0.0), 1.0)
    for (low, a), (high, b) in zip(STOPS, STOPS[1:]):
        if goodness <= high:
            part = (goodness - low) / (high - low)
            return "#" + "".join(f"{round(x + (y - x) * part):02x}" for x, y in zip(a, b))
    return "#000000"


def short_number(value):
    if value >= 99.5:
        return f"{value:.0f}"
    if value >= 9.95:
        return f"{value:.0f}" if abs(value - round(value)) < 0.05 else f"{value:.1f}"
    return f"{value:.2g}" if value >= 0.095 else f"{value:.1g}"


class Scale:
    """How a measure is written into a square, and how good it is."""

    def __init__(self, title, legend, value, text, goodness):
        self.title, self.legend, self.value, self.text, self.goodness = title, legend, value, text, goodness


def percent(value):
    return f"{math.floor(value * 1000) / 10:.1f}" if 0.9 <= value < 0.9995 else f"{value * 100:.0f}"


def log_down(low, high):
    """1 at `low` and below, 0 at `high`, by orders of magnitude."""
    return lambda v: 1 - math.log(max(v, low) / low) / math.log(high / low)


SHARE = Scale("Goodput, second half of the transfer",
              "percent of what the bottleneck allows after the headers, at the receiver, from half of the time on",
              lambda c, r: r.get("share_late"), percent, lambda v: 1 - math.sqrt(max(1 - v, 0)))
SHARE_WHOLE = Scale("Goodput, with the start",
                    "percent of what the bottleneck allows after the headers, from the SYN on",
                    lambda c, r: r.get("share"), percent, lambda v: 1 - math.sqrt(max(1 - v, 0)))
AGAIN = Scale("Retransmitted segments", "percent of the segments with data, seen at the bottleneck",
              lambda c, r: r.get("again_pct"), lambda v: short_number(v) if v else "0", log_down(0.02, 30))
RTOS = Scale("Timeouts", "retransmission timeouts in the whole transfer", lambda c, r: r.get("rtos"), str,
             log_down(0.5, 50))
QUEUE = Scale("Queue", "milliseconds that the bottleneck's queue takes, mean over the second half",
              lambda c, r: r.get("queue_ms"), short_number,
              lambda v: 1 - math.log10(max(v, 0.1) / 0.1) / 4)
JAIN = Scale("Jain's index", "1: all flows have the same, 1 / number of flows: one has all", lambda c, r: r.get("jain"),
             lambda v: f"{v:.2f}", lambda v: 1 - math.sqrt(max(1 - v, 0)))
FIRST = Scale("Share of the first flow", "percent of what both get; 50 is fair, cubic is the first",
              lambda c, r: r["shares"][0] / max(sum(r["shares"]), 1e-9) if "shares" in r else None,
              lambda v: f"{v * 100:.0f}", lambda v: 1 - math.sqrt(abs(v - 0.5) * 2))
SLOWER = Scale("Completion time", "mean, as a multiple of 1.5 RTT and the time of the bytes on the line",
               lambda c, r: r["mean_ms"] / r["best_ms"] if r.get("best_ms") else None, short_number, log_down(1, 20))
P95 = Scale("Completion time, 95th percentile", "as a multiple of 1.5 RTT and the time of the bytes on the line",
            lambda c, r: r["p95_ms"] / r["best_ms"] if r.get("best_ms") else None, short_number, log_down(1, 20))
REPAIR = Scale("Time to repair", "round trips from the last lost frame to its arrival; 1 is the least",
               lambda c, r: r.get("repair_rtt"), lambda v: short_number(v) if v >= 0 else "never",
               lambda v: log_down(1, 10)(v) if v >= 0 else 0)
FULL = Scale("Time to the full rate", "round trips from the first lost frame until 95 % arrive again in a round trip",
             lambda c, r: r.get("full_rtt"), lambda v: short_number(v) if v >= 0 else "never",
             lambda v: log_down(1, 100)(v) if v >= 0 else 0)
PROBE = Scale("Probe after", "milliseconds from the last acknowledgement (or the sending) to the retransmission, as a "
              "multiple of 2 RTT and the delayed ACK; 1 is allowed",
              lambda c, r: r["probe_ms"] / (2 * c["rtt"] + grid.DELAYED_ACK_MS) if "probe_ms" in r else None,
              short_number, log_down(0.5, 4))


class Panel:
    """Cells that differ in two settings only, as squares."""

    def __init__(self, title, where, columns=("rtt", grid.RTTS, "RTT, ms"), rows=("rate", grid.RATES, "Mbit/s")):
        self.title, self.where, self.columns, self.rows = title, where, columns, rows


class Section:
    """A heading, the measures that are drawn, and the panels of each congestion control."""

    def __init__(self, title, text, scales, panels):
        self.title, self.text, self.scales, self.panels = title, text, scales, panels


def sections(names):
    """`names` are the values of cc that the results have."""
    wide = [name for name in names if "," not in name and name != "dctcp"]
    pairs = [name for name in names if "," in name]
    out = [
        Section("Clean paths", "One flow, nothing is lost but by the queue.", (SHARE, SHARE_WHOLE, AGAIN, RTOS, QUEUE),
                [(cc, [Panel(f"buffer {b:g} BDP", {"kind": "bulk", "cc": cc, "buffer": b}) for b in grid.BUFFERS])
                 for cc in wide]),
        Section("Random loss", "One flow, a buffer of 1 BDP.", (SHARE, AGAIN, RTOS, QUEUE),
                [(cc, [Panel(f"{p:g} % lost", {"kind": "bulk", "cc": cc, "loss": p}) for p in grid.LOSSES[1:]])
                 for cc in wide]),
        Section("Reordering", "One flow, a buffer of 1 BDP; a part of the frames is late by up to half an RTT.",
                (SHARE, AGAIN, RTOS),
                [(cc, [Panel(f"{p:g} % late", {"kind": "bulk", "cc": cc, "reorder": p}) for p in grid.REORDERS[1:]]
                  + [Panel("1 % late, 1 % lost", {"kind": "bulk", "cc": cc, "reorder": 1, "loss": 1})])
                 for cc in wide]),
        Section("Many flows", f"{grid.MANY} flows of one kind share a clean path.", (JAIN, SHARE, AGAIN, RTOS, QUEUE),
                [(cc, [Panel(f"buffer {b:g} BDP", {"kind": "bulk", "cc": cc, "flows": grid.MANY, "buffer": b})
                       for b in grid.BUFFERS[:2]]) for cc in wide]),
        Section("CUBIC against others", "Two flows share a clean path.", (FIRST, SHARE, QUEUE),
                [(cc, [Panel(f"buffer {b:g} BDP", {"kind": "bulk", "cc": cc, "flows": 2, "buffer": b})
                       for b in grid.BUFFERS[1:]]) for cc in pairs]),
        Section("Queues that mark", "Congestion is marked above 0.2 BDP, not less than four frames.",
                (SHARE, JAIN, AGAIN, QUEUE),
                [(cc, [Panel(f"{n} flow{'s' * (n > 1)}", {"kind": "bulk", "cc": cc, "mark": 0.2, "flows": n})
                       for n in (1, grid.MANY)]) for cc in names if "," not in cc]),
    ]
    rows = ("rate", grid.RATES[1:4], "Mbit/s")
    out.append(Section(
        "Short flows", "Alone on the path; at 1 % loss fifty of them, one after the other.", (SLOWER, P95, RTOS),
        [(cc, [Panel(f"{size // 1000:g} KB, {loss:g} % lost",
                     {"kind": "short", "cc": cc, "size": size, "loss": loss, "n": 50 if loss else 1}, rows=rows)
               for loss in (0, 1) for size in grid.SIZES]) for cc in wide]))
    out.append(Section(
        "A burst of losses", "Frames in a row are lost in the middle of a transfer over a clean path with a buffer of "
        "1 BDP.", (REPAIR, FULL, RTOS),
        [(cc, [Panel(f"{n} lost", {"kind": "burst", "cc": cc, "drop": n}, rows=rows) for n in (1, 10)])
         for cc in wide]))
    row = ("rate", (1000,), "Mbit/s")
    out.append(Section(
        "Lost tails", "The end of a short flow is lost once; the worst of five.", (PROBE, RTOS),
        [(cc, [Panel(f"{n} of the last of {size // 1000} KB",
                     {"kind": "tail", "cc": cc, "drop": n, "size": size, "n": 5}, rows=row)
               for n, size in ((1, 1000), (1, 100000), (3, 100000))]) for cc in wide]))
    return out


# ---- drawing ---------------------------------------------------------------------------------------

def tooltip(key, result, reference):
    lines = [key]
    was = reference.get(key, {})
    for name, measure in compare.MEASURES.items():
        if name not in result:
            continue
        before = f"  (reference {was[name]:g})" if name in was and measure.differs(was[name], result[name]) else ""
        lines.append(f"{measure.title}: {result[name]:.4g} {measure.unit}".rstrip() + before)
    if "shares" in result:
        lines.append("shares: " + ", ".join(f"{share:.3f}" for share in result["shares"]))
    return html.escape("\n".join(lines))


def square(x, y, drawn):
    """One cell: (goodness, text, tooltip, changed), or None: not run."""
    if drawn is None:
        return f'<rect class="none" x="{x}" y="{y}" width="{CELL_W - 1}" height="{CELL_H - 1}"/>'
    goodness, text, title, changed = drawn
    ink = "#fff" if goodness < 0.16 else "#111"
    mark = ' stroke="var(--ink)" stroke-width="1.6"' if changed else ""
    return (f'<g><title>{title}</title><rect x="{x}" y="{y}" width="{CELL_W - 1}" height="{CELL_H - 1}" '
            f'fill="{colour(goodness)}"{mark}/><text class="v" x="{x + CELL_W / 2 - .5:g}" y="{y + 15}" fill="{ink}">'
            f"{html.escape(text)}</text></g>")


def draw_panel(panel, scale, results, reference):
    (column, columns, column_title), (row, rows, row_title) = panel.columns, panel.rows
    squares, any_cell = [], False
    for i, r in enumerate(reversed(rows)):
        squares.append(f'<text class="l" x="{LEFT - 6}" y="{TOP + i * CELL_H + 15}">{r:g}</text>')
        for k, c in enumerate(columns):
            cell = {**grid.DEFAULTS, **panel.where, column: c, row: r}
            key = grid.key_of(cell)
            result = results.get(key)
            value = scale.value(cell, result) if result else None
            drawn = None
            if value is not None:
                any_cell = True
                changed = key in reference and any(
                    d[1] for d in compare.differences({key: reference[key]}, {key: result}))
                drawn = (scale.goodness(value), scale.text(value), tooltip(key, result, reference), changed)
            squares.append(square(LEFT + k * CELL_W, TOP + i * CELL_H, drawn))
    if not any_cell:
        return ""
    bottom = TOP + len(rows) * CELL_H
    for k, c in enumerate(columns):
        squares.append(f'<text class="c" x="{LEFT + k * CELL_W + CELL_W / 2:g}" y="{bottom + 13}">{c:g}</text>')
    width = LEFT + len(columns) * CELL_W + 8
    return (f'<svg width="{width}" height="{bottom + BOTTOM}" role="img" aria-label="{html.escape(panel.title)}">'
            f'<text class="t" x="{LEFT}" y="15">{html.escape(panel.title)}</text>{"".join(squares)}'
            f'<text class="c" x="{LEFT + len(columns) * CELL_W / 2:g}" y="{bottom + 28}">{column_title}</text>'
            f'<text class="c" transform="translate(12 {TOP + len(rows) * CELL_H / 2:g}) rotate(-90)">{row_title}</text>'
            "</svg>")


def draw_scale(section, scale, first, data):
    results, reference = data
    rows = []
    for name, panels in section.panels:
        drawn = "".join(draw_panel(panel, scale, results, reference) for panel in panels)
        if drawn:
            rows.append(f'<div class="row"><h4>{html.escape(name)}</h4>{drawn}</div>')
    if not rows:
        return ""
    legend = "".join(f'<i style="background:{colour(i / 11)}"></i>' for i in range(12))
    return (f'<details{" open" if first else ""}><summary>{html.escape(scale.title)} '
            f'<small>{html.escape(scale.legend)}</small></summary>'
            f'<div class="legend">worse {legend} better</div>{"".join(rows)}</details>')


def draw_section(section, data):
    drawn = [draw_scale(section, scale, i == 0, data) for i, scale in enumerate(section.scales)]
    if not any(drawn):
        return ""
    return f"<section><h2>{html.escape(section.title)}</h2><p>{html.escape(section.text)}</p>{''.join(drawn)}</section>"


def draw_demands(results):
    lines = []
    for demand in compare.DEMANDS:
        cells = [(grid.cell_of(key), result) for key, result in sorted(results.items())]
        about = [(cell, result) for cell, result in cells if demand.applies(cell)]
        failed = [result for cell, result in about if not demand.holds(cell, result)]
        if not about:
            continue
        listed = "".join(f"<li><code>{html.escape(result['key'])}</code></li>" for result in failed)
        more = f"<details><summary>which do not</summary><ul>{listed}</ul></details>" if failed else ""
        lines.append(f'<tr class="{"bad" if failed else "good"}"><td>{len(about) - len(failed)} of {len(about)}</td>'
                     f"<td>{html.escape(demand.text)}{more}</td></tr>")
    return f"<table><tr><th>cells</th><th>that meet</th></tr>{''.join(lines)}</table>"


def draw_changes(results, reference):
    if not reference:
        return "<p>There is no reference to compare with.</p>"
    found = [d for d in compare.differences(reference, results) if d[1] is not None]
    if not found:
        return "<p>Nothing differs from the reference.</p>"
    lines = "\n".join(html.escape(compare.describe(d).strip()) for d in found)
    return (f"<details><summary>{len({d[0] for d in found})} cells differ from the reference (framed below)</summary>"
            f"<pre>{lines}</pre></details>")


STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --dim: #5c6670; --line: #d5dae0; --none: #eceff2; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15191e; --ink: #e6e9ec; --dim: #98a2ad; --line: #343c46; --none: #222931; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 2em auto;
  max-width: 1700px; padding: 0 1.5em; }
h1 { font-size: 1.7em; margin-bottom: .2em; } h2 { font-size: 1.25em; margin: 2em 0 0; }
h4 { margin: .8em 0 0; font-size: 1em; flex: 0 0 100%; } p { margin: .3em 0; max-width: 60em; }
section { border-top: 1px solid var(--line); margin-top: 2em; }
summary { cursor: pointer; font-weight: 600; margin: .5em 0; }
summary small { font-weight: 400; color: var(--dim); margin-left: .6em; }
.row { display: flex; flex-wrap: wrap; gap: .3em 1em; }
.legend { color: var(--dim); font-size: .85em; } .legend i { display: inline-block; width: 16px; height: 11px; }
table { border-collapse: collapse; margin: 1em 0; } td, th { padding: .25em .9em .25em 0; text-align: left;
  vertical-align: top; border-bottom: 1px solid var(--line); } td:first-child { white-space: nowrap; }
tr.good td:first-child::before { content: "\\2713  "; color: #2b7bba; }
tr.bad td:first-child::before { content: "\\2717  "; color: #d6453d; }
td details summary { font-weight: 400; color: var(--dim); margin: 0; } td ul { max-height: 20em; overflow: auto; }
pre { overflow: auto; max-height: 30em; font-size: .85em; }
svg { overflow: visible; } svg text { font: 11px system-ui, sans-serif; fill: var(--dim); }
svg text.v[fill="#111"] { fill: #111; }
svg text.v[fill="#fff"] { fill: #fff; }
svg text.v { text-anchor: middle; } svg text.l { text-anchor: end; }
svg text.c { text-anchor: middle; } svg text.t { fill: var(--ink); font-weight: 600; font-size: 12px; }
svg rect.none { fill: var(--none); }
"""


def draw(results, reference):
    """The whole report as text."""
    names = sorted({result["cc"] for result in results.values()},
                   key=lambda name: ("," in name, name != "cubic", name))
    data = (results, reference)
    cpu = sum(result.get("cpu_s", 0) for result in results.values())
    body = "".join(draw_section(section, data) for section in sections(names))
    return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            '<meta name="viewport" content="width=device-width"><title>Tenon: the map of behaviour</title>'
            f"<style>{STYLE}</style></head><body><h1>The map of behaviour</h1>"
            f"<p>{len(results)} cells in virtual time, {cpu:.0f} s of one processor. Each square is a transfer over "
            "one path; it tells more when pointed at. Grey: not run. docs/guide/paths.md says what is measured, and "
            "how.</p>"
            f"{draw_demands(results)}{draw_changes(results, reference)}{body}</body></html>\n")
