# SPDX-License-Identifier: MIT
"""The summary: one table of all stacks and cells as text, as JSON, and as a page with a drawing per cell."""
import html
import json
import statistics

COLOURS = {"linux": "#b26a00", "tenon": "#0b6bcb", "lwip": "#7a4fa3", "smoltcp": "#4d7c0f"}
NAME_WIDTH, CELL_WIDTH = 18, 21


def family(stack):
    return stack.split("-")[0]


class Table:
    def __init__(self, machine, cells, names, results, planned):
        self.machine, self.cells, self.names = machine, cells, names
        self.not_made = planned - len(results)
        self.results = sorted(results, key=lambda r: (r["cell"], r["stack"], r["seed"]))

    def runs(self, cell, stack):
        return [r for r in self.results if r["cell"] == cell.name and r["stack"] == stack and "failed" not in r]

    def values(self, cell, stack, what):
        return [r[what] for r in self.runs(cell, stack)]

    def median(self, cell, stack, what):
        values = self.values(cell, stack, what)
        return statistics.median(values) if values else None

    def cell_named(self, name):
        return next((cell for cell in self.cells if cell.name == name), None)

    # ---- the demands ------------------------------------------------------------------------------

    def demands(self):
        """What Tenon has to reach: (what, has, needs, met)."""
        rows = []
        self.demand_lossy(rows)
        for name in ("clean", "large-buffer", "satellite", "quick"):
            for stack in ("tenon-cubic", "tenon-bbr"):
                self.demand(rows, name, stack, "steady_share", 0.97, "of the link after 20 round trips")
        self.demand(rows, "lossy", "tenon-bbr", "share", 0.90, "of the link")
        for stack in self.names:
            if family(stack) == "tenon":
                self.demand(rows, "reordered", stack, "resent_share", 0.01, "of its segments sent again", most=True)
        return rows

    def demand_lossy(self, rows):
        cell = self.cell_named("lossy")
        if cell is None:
            return
        ours, theirs = (self.median(cell, s, "share") for s in ("tenon-cubic", "linux-cubic"))
        if ours is not None and theirs is not None:
            rows.append((f"{cell.title()}: tenon-cubic at least what linux-cubic reaches", ours, theirs,
                         ours >= theirs))

    def demand(self, rows, name, stack, what, limit, words, most=False):
        cell = self.cell_named(name)
        has = self.median(cell, stack, what) if cell is not None else None
        if has is not None:
            rows.append((f"{cell.title()}: {stack}, {words}, at {'most' if most else 'least'}", has, limit,
                         has <= limit if most else has >= limit))

    def demands_met(self):
        return all(row[3] for row in self.demands())

    # ---- text -------------------------------------------------------------------------------------

    def text_value(self, cell, stack, what):
        values = self.values(cell, stack, what)
        if not values:
            return "-"
        low, middle, high = (100 * f(values) for f in (min, statistics.median, max))
        return f"{middle:.1f} ({low:.1f}-{high:.1f})"

    def text_table(self, title, what):
        lines = [title, "".ljust(NAME_WIDTH) + "".join(cell.name.rjust(CELL_WIDTH) for cell in self.cells)]
        for stack in self.names:
            lines.append(stack.ljust(NAME_WIDTH) +
                         "".join(self.text_value(cell, stack, what).rjust(CELL_WIDTH) for cell in self.cells))
        return lines + [""]

    def text_demands(self):
        rows = self.demands()
        return ["What Tenon has to reach:"] + [
            f"  {'met    ' if met else 'NOT met'} {100 * has:6.1f} % ({100 * needs:.1f} %)  {what}"
            for what, has, needs, met in rows] + [""] if rows else []

    def text_notes(self):
        m = self.machine
        lines = [f"Made {m['made']} on {m['processors']} processors ({m['machine']}), Linux {m['kernel']}, "
                 f"load {m['load']:.1f}, {'with' if m['real_time'] else 'WITHOUT'} real-time priority."]
        good = [r for r in self.results if "failed" not in r]
        if good:
            worst, again, late = (f(r[key] for r in good) for f, key in
                                  ((max, "late_ms"), (lambda x: sum(n > 1 for n in x), "attempts"), (sum, "disturbed")))
            lines.append(f"{len(good)} runs, each byte looked at; the relay was never later than {worst:.1f} ms. "
                         f"{again} runs were made again because it was late too often or for too long, {late} were so "
                         "to the end.")
        if self.not_made:
            lines.append(f"NOT MADE: {self.not_made} runs of {self.not_made + len(self.results)}")
        lines += [f"FAILED: {r['cell']}, {r['stack']}, seed {r['seed']}: {r['failed']}"
                  for r in self.results if "failed" in r]
        lines += [f"DAMAGED: {r['cell']}, {r['stack']}, seed {r['seed']}: bytes arrived that were not sent"
                  for r in good if not r["intact"]]
        return lines

    def text(self):
        lines = ["Cells:"] + [f"  {cell.name:<17} {cell.title()}, {cell.seconds:g} s" for cell in self.cells] + [""]
        lines += self.text_table("Goodput, percent of what the link can carry: median (least-most)", "share")
        lines += self.text_table("The same without the first 20 round trips", "steady_share")
        lines += self.text_table("Segments sent again, percent of all segments sent", "resent_share")
        return "\n".join(lines + self.text_demands() + self.text_notes())

    # ---- JSON -------------------------------------------------------------------------------------

    def as_json(self):
        return {
            "machine": self.machine,
            "cells": [{**vars(cell), "queue": cell.queue, "most_mbit": cell.most_mbit, "title": cell.title()}
                      for cell in self.cells],
            "stacks": self.names,
            "demands": [{"what": w, "has": h, "needs": n, "met": m} for w, h, n, m in self.demands()],
            "runs": self.results,
        }


# ---- the page -------------------------------------------------------------------------------------

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #1c1c1c;
       background: #fff }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; margin-top: 2em }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px }
th, td { padding: .35em .6em; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap }
th:first-child, td:first-child { text-align: left } thead th { vertical-align: bottom; white-space: normal;
min-width: 6.5em }
thead small { font-weight: normal }
td small { color: #555; display: block } .met { color: #146c2e } .not { color: #b3261e; font-weight: 600 }
.scroll { overflow-x: auto } .cells { display: flex; flex-wrap: wrap; gap: 1.5em } svg text { font: 11px system-ui }
"""


def shade(share):
    """Of a good value the background is green, of a bad one red; the text stays readable on both."""
    return f"hsl({max(0, min(1, share)) * 125:.0f} 60% 86%)"


def heat_table(table, what, coloured):
    head = "".join(f"<th>{html.escape(c.name)}<br><small>{html.escape(c.title())}</small></th>" for c in table.cells)
    rows = []
    for stack in table.names:
        row = [f"<td>{html.escape(stack)}</td>"]
        for cell in table.cells:
            values = table.values(cell, stack, what)
            if not values:
                row.append("<td>-</td>")
                continue
            middle = statistics.median(values)
            style = f' style="background:{shade(middle)}"' if coloured else ""
            row.append(f"<td{style}>{100 * middle:.1f}<small>{100 * min(values):.1f}&ndash;{100 * max(values):.1f}"
                       "</small></td>")
        rows.append("<tr>" + "".join(row) + "</tr>")
    return f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead>' \
           f'<tbody>{"".join(rows)}</tbody></table></div>'


def drawing(table, cell):
    """A line per stack: every run a dot, the median a bar."""
    left, width, step = 120, 240, 18
    height = step * len(table.names) + 26
    parts = [f'<svg width="{left + width + 20}" height="{height}" role="img" aria-label="{html.escape(cell.title())}">']
    for percent in (0, 25, 50, 75, 100):
        x = left + width * percent / 100
        parts.append(f'<line x1="{x}" x2="{x}" y1="4" y2="{height - 20}" stroke="#ddd"/>'
                     f'<text x="{x}" y="{height - 6}" text-anchor="middle" fill="#555">{percent}</text>')
    for i, stack in enumerate(table.names):
        y, colour = 4 + step * i + step / 2, COLOURS.get(family(stack), "#444")
        parts.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end" fill="{colour}">{html.escape(stack)}</text>')
        values = table.values(cell, stack, "share")
        parts += [f'<circle cx="{left + width * v:.1f}" cy="{y}" r="3" fill="{colour}" fill-opacity=".45"/>'
                  for v in values]
        if values:
            x = left + width * statistics.median(values)
            parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y - 7}" y2="{y + 7}" stroke="{colour}" '
                         'stroke-width="2"/>')
    return "".join(parts) + "</svg>"


def demands_list(table):
    rows = [f'<li><span class="{"met" if met else "not"}">{"met" if met else "not met"}</span>: {html.escape(what)}: '
            f"{100 * has:.1f} % ({100 * needs:.1f} %)</li>" for what, has, needs, met in table.demands()]
    return f"<h2>What Tenon has to reach</h2><ul>{''.join(rows)}</ul>" if rows else ""


def page(table):
    drawings = "".join(f"<figure><figcaption>{html.escape(c.name)}: {html.escape(c.title())}</figcaption>"
                       f"{drawing(table, c)}</figure>" for c in table.cells)
    notes = "".join(f"<p>{html.escape(line)}</p>" for line in table.text_notes())
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Tenon beside its peers</title><style>{STYLE}</style>
<h1>Tenon beside its peers</h1>
<p>Goodput of one connection through the same bottleneck, in percent of what the link can carry: the median, and the
least and most of all runs. The receiver is always the Linux kernel.</p>
{heat_table(table, "share", True)}
<div class="cells">{drawings}</div>
<h2>Without the first 20 round trips</h2>
{heat_table(table, "steady_share", True)}
<h2>Segments sent again, percent of all segments sent</h2>
{heat_table(table, "resent_share", False)}
{demands_list(table)}
{notes}
</html>
"""


def write(folder, table):
    (folder / "peers.txt").write_text(table.text() + "\n")
    (folder / "peers.json").write_text(json.dumps(table.as_json(), indent=1) + "\n")
    (folder / "peers.html").write_text(page(table))
