# SPDX-License-Identifier: MIT
"""The report: a table per workload as text, all of it as JSON, and a page with plots."""
import html
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import summary as shared  # noqa: E402
from speed import aims, plots  # noqa: E402

COLOURS = {**shared.COLOURS, "floor": "#8a8f98", "gvisor": "#c2410c", "linux-veth": "#b26a00", "tenon-tap": "#0b6bcb"}
OWN, FLOOR = "tenon", "floor"
AIMS_HEAD = ("What is aimed at", "aim", "medians", "fastest rounds", "reached")


def text_number(value):
    if value >= 1000:
        return f"{value:.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.1f}"


class Results:
    """What speed.json holds: `cells`, each with the values of the stacks, already in the unit that is shown."""

    def __init__(self, data):
        self.data = data
        self.machine, self.names, self.cells = data["machine"], data["stacks"], data["cells"]

    @classmethod
    def of(cls, machine, chosen, names, runs):
        out = []
        for cell in chosen:
            values, why, more = {}, {}, {}
            for stack in names:
                if cell.only and stack not in cell.only:
                    continue    # the same words may mean another thing there
                lines = [line for line in runs.of(cell, stack) if cell.value in line]
                if lines:
                    values[stack] = [float(f"{cell.shown(line[cell.value]):.5g}") for line in lines]
                    more[stack] = {key: statistics.median(line[key] for line in lines)
                                   for key in ("cycles", "offered_per_s") if all(key in line for line in lines)}
                if runs.why_not(cell, stack):    # also after rounds that went well
                    why[stack] = runs.why_not(cell, stack)
            out.append({"name": cell.name, "table": cell.table, "row": cell.row, "workload": cell.workload,
                        "settings": cell.settings, "unit": cell.unit, "more_is_better": cell.more_is_better,
                        "values": values, "more": more, "missing": why})
        return cls({"machine": machine, "stacks": names, "cells": out})

    def tables(self):
        seen = {}
        for cell in self.cells:
            seen.setdefault(cell["table"], []).append(cell)
        return seen.items()

    @staticmethod
    def median(cell, stack):
        values = cell["values"].get(stack)
        return statistics.median(values) if values else None

    def ratio(self, cell, stack):
        """How many times as good as this stack Tenon is: above 1, Tenon is faster or smaller."""
        own, other = self.median(cell, OWN), self.median(cell, stack)
        if not own or not other or stack == OWN:
            return None
        return own / other if cell["more_is_better"] else other / own

    def columns(self, rows):
        """The stacks that have a value in one of these rows."""
        return [name for name in self.names if any(cell["values"].get(name) for cell in rows)]

    # ---- text ---------------------------------------------------------------------------------------

    def text_value(self, cell, stack):
        values = cell["values"].get(stack)
        if not values:
            return "-"
        low, middle, high = (text_number(f(values)) for f in (min, statistics.median, max))
        return middle if low == high else f"{middle} ({low}-{high})"

    def text_table(self, title, rows):
        names = self.columns(rows)
        others = [name for name in names if name != OWN] if OWN in names else []
        units = {cell["unit"] for cell in rows}
        table = [[f"{title}, {'/'.join(sorted(units))}", *names, *(f"x {name}" for name in others)]]
        for cell in rows:
            ratios = [self.ratio(cell, name) for name in others]
            table.append([cell["row"], *(self.text_value(cell, name) for name in names),
                          *(f"{r:.2f}" if r else "-" for r in ratios)])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return ["  ".join([line[0].ljust(widths[0]), *(text.rjust(width) for text, width in
                                                       zip(line[1:], widths[1:], strict=True))])
                for line in table] + [""]

    def text_notes(self):
        m = self.machine
        lines = [f"Made {m['made']}, {m['processor']}, {m['processors']} processors, Linux {m['kernel']}, load "
                 f"{m['load']:.1f}; medians of {m['rounds']} rounds, in brackets the least and the most.",
                 '"x": how many times as good as that stack Tenon is.']
        missing = {}
        for cell in self.cells:
            for stack, why in cell["missing"].items():
                missing.setdefault((stack, why), []).append(f"{cell['table']}: {cell['row']}")
        for (stack, why), where in missing.items():
            lines.append(f"{stack}, {why}: {'; '.join(where[:4])}{f'; and {len(where) - 4} more' * (len(where) > 4)}")
        return lines

    def text_aims(self):
        """What is aimed at; nothing if nothing of it was measured."""
        rows = [AIMS_HEAD, *aims.of(self)]
        if len(rows) == 1:
            return []
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return ["  ".join([row[0].ljust(widths[0]), *(text.rjust(width) for text, width in
                                                      zip(row[1:], widths[1:], strict=True))])
                for row in rows] + [""]

    def text(self):
        lines = []
        for title, rows in self.tables():
            lines += self.text_table(title, rows)
        return "\n".join(lines + self.text_aims() + self.text_notes())


def load(path):
    with open(path, encoding="utf-8") as f:
        return Results(json.load(f))


# ---- the page ---------------------------------------------------------------------------------------

def html_table(results, rows):
    names = results.columns(rows)
    others = [name for name in names if name != OWN] if OWN in names else []
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names) \
        + "".join(f"<th>x {html.escape(name)}</th>" for name in others)
    body = []
    for cell in rows:
        row = [f"<td>{html.escape(cell['row'])}</td>"]
        for name in names:
            values = cell["values"].get(name)
            if not values:
                row.append(f'<td title="{html.escape(cell["missing"].get(name, "not measured"))}">-</td>')
                continue
            cycles = cell["more"].get(name, {}).get("cycles")
            hover = f' title="{cycles:.0f} cycles of the time stamp counter"' if cycles else ""
            row.append(f"<td{hover}>{text_number(statistics.median(values))}<small>{text_number(min(values))}&ndash;"
                       f"{text_number(max(values))}</small></td>")
        for name in others:
            ratio = results.ratio(cell, name)
            shown = ratio if ratio is None or name != FLOOR else ratio * 4
            style = f' style="background:{shared.shade((shown - .5) / 2)}"' if ratio else ""
            row.append(f"<td{style}>{f'{ratio:.2f}' if ratio else '-'}</td>")
        body.append("<tr>" + "".join(row) + "</tr>")
    return f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead>' \
           f'<tbody>{"".join(body)}</tbody></table></div>'


def html_aims(results):
    rows = aims.of(results)
    if not rows:
        return ""
    head, body = ("".join("<tr>" + "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in row) + "</tr>"
                          for row in some) for tag, some in (("th", [AIMS_HEAD]), ("td", rows)))
    return f'<div class="scroll"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def write(folder, results):
    (folder / "speed.txt").write_text(results.text() + "\n")
    (folder / "speed.json").write_text(json.dumps(results.data, indent=1) + "\n")
    (folder / "speed.html").write_text(page(results))


# ---- drawings -----------------------------------------------------------------------------------------

def spread_of(cell, stack):
    values = cell["values"][stack]
    return statistics.median(values), min(values), max(values)


def draw_bars(results, rows):
    """A table's rows as groups, if they are few."""
    groups = [(cell["row"].split(",")[0].split(" connection")[0].split(" at")[0],
               {name: spread_of(cell, name) for name in results.names if cell["values"].get(name)}) for cell in rows]
    largest = max((v[0] for _, g in groups for v in g.values()), default=0)
    smallest = min((v[0] for _, g in groups for v in g.values()), default=0)
    return plots.bars(rows[0]["table"], rows[0]["unit"], groups, COLOURS, smallest > 0 and largest / smallest > 20)


def draw_connections(results):
    """Ping-pong over the number of active connections."""
    series = {name: [] for name in results.names}
    for cell in results.cells:
        if cell["table"] == "Ping-pong" and set(cell["settings"]) == {"connections"}:
            for name in cell["values"]:
                series[name].append((cell["settings"]["connections"], results.median(cell, name)))
    return plots.curves("Ping-pong over active connections", ("connections", "ns per round trip"), series, COLOURS)


def draw_offloads(results):
    """Bulk over the message size, a curve for each setting of the port: Tenon. With data that the caches hold, and with
    more."""
    drawn = []
    for large, text in ((False, "Tenon"), (True, "256 MB of data, Tenon")):
        series = {}
        for cell in results.cells:
            if "offloads of the port" in cell["table"] and ("data" in cell["settings"]) == large \
                    and cell["values"].get(OWN):
                series.setdefault(cell["row"], []).append((cell["settings"]["message"], results.median(cell, OWN)))
        series = {row: points for row, points in series.items() if len(points) > 1 or not large}
        drawn.append(plots.curves(f"Bulk over the size of messages: {text}", ("bytes per message", "Gbit/s"), series,
                                  plots.colours_for(series)) if series else "")
    return "".join(drawn)


WITHOUT = ("", ", copied", ", checksums in software")    # cells.WITHOUT, as tables are called


def draw_without(results, title, axes, point, straight):
    """One curve of Tenon's for all that the port does, and for each part of it that is taken away. point: of a cell
    and of the end of its table's name, or None."""
    series = {}
    for without in WITHOUT:
        points = [point(cell, without) for cell in results.cells if cell["values"].get(OWN)]
        series[without[2:] or "all on"] = [p for p in points if p]
    series = {name: points for name, points in series.items() if points}
    return plots.curves(title, axes, series, plots.colours_for(series), straight) if len(series) > 1 else ""


THROUGH_THE_KERNEL = " through the kernel"


def draw_percentiles(results, where):
    """Latency over the offered load, in requests per second; where: the end of the tables' first words."""
    drawn = []
    for value, text in (("median", "Median latency"), ("99th percentile", "99th percentile of latency"),
                        ("99.9th percentile", "99.9th percentile of latency")):
        series = {name: [] for name in results.names}
        for cell in results.cells:
            if cell["table"] == f"Latency at a load{where}, {value}":
                for name in cell["values"]:
                    offered = cell["more"].get(name, {}).get("offered_per_s")
                    series[name] += [(offered, results.median(cell, name))] if offered else []
        drawn.append(plots.curves(f"{text} over load{where}", ("requests per second", "ns"), series, COLOURS,
                                  (False, True)))
    return drawn


def draw_latency(results):
    """Of the stacks in one thread, of the kernel and beside it, and of Tenon with less and less done by the port."""
    drawn = [*draw_percentiles(results, ""), *draw_percentiles(results, THROUGH_THE_KERNEL)]

    def point(cell, without):
        offered = cell["more"].get(OWN, {}).get("offered_per_s")
        return (offered, results.median(cell, OWN)) \
            if offered and cell["table"] == f"Latency at a load{without}, 99th percentile" else None

    drawn.append(draw_without(results, "99th percentile of latency over load: Tenon", ("requests per second", "ns"),
                              point, (False, True)))
    return "".join(drawn)


CORES_TABLE = "Ping-pong on several processors, 32 connections on each"


def cores_series(results):
    """{stack: [(processors, thousand round trips per second)]} of all stacks that were run on several."""
    series = {name: [] for name in results.names}
    for cell in results.cells:
        if cell["table"] == CORES_TABLE:
            for name in cell["values"]:
                series[name].append((int(cell["row"].split()[0]), results.median(cell, name)))
    return {name: sorted(points) for name, points in series.items() if points}


def draw_cores(results):
    """Ping-pong over processors, all stacks that were run on several."""
    axes = ("processors", "thousand round trips per second")

    def point(cell, without):
        return (int(cell["row"].split()[0]), results.median(cell, OWN)) if cell["table"] == CORES_TABLE + without \
            else None

    return plots.curves("Ping-pong over processors", axes, cores_series(results), COLOURS, (False, False)) \
        + draw_without(results, "Ping-pong over processors: Tenon", axes, point, (False, False))


STYLE = shared.STYLE + """
figure { margin: 0 1em 1em 0; display: inline-block; vertical-align: top } .key { font-size: 12px; margin-left: 58px }
"""


def page(results):
    curves = "".join(draw(results) for draw in (draw_connections, draw_cores, draw_offloads, draw_latency))
    tables = "".join(f"<h2>{html.escape(title)}, {html.escape(rows[0]['unit'])}</h2>{html_table(results, rows)}"
                     f"{draw_bars(results, rows) if 1 < len(rows) < 9 else ''}"
                     for title, rows in results.tables())
    notes = "".join(f"<p>{html.escape(line)}</p>" for line in results.text_notes())
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>How fast Tenon is</title><style>{STYLE}</style>
<h1>How fast Tenon is</h1>
{html_aims(results)}
{curves}
{tables}
{notes}
</html>
"""
