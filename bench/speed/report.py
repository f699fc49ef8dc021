# SPDX-License-Identifier: MIT
"""The report: a table per workload as text, all of it as JSON, and a page with plots."""
import html
import json
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from peers import report as shared  # noqa: E402

COLOURS = {**shared.COLOURS, "floor": "#8a8f98", "gvisor": "#c2410c"}
OWN, FLOOR = "tenon", "floor"
ROW_WIDTH, COLUMN_WIDTH, RATIO_WIDTH = 52, 22, 9


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
    def of(cls, machine, cells, names, runs):
        out = []
        for cell in cells:
            values, why, more = {}, {}, {}
            for stack in names:
                lines = [line for line in runs.of(cell, stack) if cell.value in line]
                if lines:
                    values[stack] = [float(f"{cell.shown(line[cell.value]):.5g}") for line in lines]
                    more[stack] = {key: statistics.median(line[key] for line in lines)
                                   for key in ("cycles", "offered_per_s") if all(key in line for line in lines)}
                elif runs.why_not(cell, stack):
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

    # ---- text ---------------------------------------------------------------------------------------

    def text_value(self, cell, stack):
        values = cell["values"].get(stack)
        if not values:
            return "-"
        low, middle, high = (text_number(f(values)) for f in (min, statistics.median, max))
        return middle if low == high else f"{middle} ({low}-{high})"

    def text_table(self, title, rows):
        others = [name for name in self.names if name != OWN] if OWN in self.names else []
        units = {cell["unit"] for cell in rows}
        lines = [f"{title}, {'/'.join(sorted(units))}".ljust(ROW_WIDTH)
                 + "".join(name.rjust(COLUMN_WIDTH) for name in self.names)
                 + "".join(f"x {name}"[:RATIO_WIDTH - 1].rjust(RATIO_WIDTH) for name in others)]
        for cell in rows:
            ratios = [self.ratio(cell, name) for name in others]
            lines.append(cell["row"][:ROW_WIDTH - 1].ljust(ROW_WIDTH)
                         + "".join(self.text_value(cell, name).rjust(COLUMN_WIDTH) for name in self.names)
                         + "".join((f"{r:.2f}" if r else "-").rjust(RATIO_WIDTH) for r in ratios))
        return lines + [""]

    def text_notes(self):
        m = self.machine
        lines = [f"Made {m['made']}, {m['processor']}, {m['processors']} processors, Linux {m['kernel']}, load "
                 f"{m['load']:.1f}; medians of {m['rounds']} rounds, in brackets the least and the most.",
                 '"x": how many times as good as that stack Tenon is.']
        for cell in self.cells:
            lines += [f"{cell['table']}, {cell['row']}: {stack}: {why}" for stack, why in cell["missing"].items()]
        return lines

    def text(self):
        lines = []
        for title, rows in self.tables():
            lines += self.text_table(title, rows)
        return "\n".join(lines + self.text_notes())


def load(path):
    with open(path, encoding="utf-8") as f:
        return Results(json.load(f))


# ---- the page ---------------------------------------------------------------------------------------

def html_table(results, rows):
    others = [name for name in results.names if name != OWN]
    head = "".join(f"<th>{html.escape(name)}</th>" for name in results.names) \
        + "".join(f"<th>x {html.escape(name)}</th>" for name in others)
    body = []
    for cell in rows:
        row = [f"<td>{html.escape(cell['row'])}</td>"]
        for name in results.names:
            values = cell["values"].get(name)
            if not values:
                row.append(f'<td title="{html.escape(cell["missing"].get(name, "not measured"))}">-</td>')
                continue
            row.append(f"<td>{text_number(statistics.median(values))}<small>{text_number(min(values))}&ndash;"
                       f"{text_number(max(values))}</small></td>")
        for name in others:
            ratio = results.ratio(cell, name)
            shown = ratio if ratio is None or name != FLOOR else ratio * 4
            style = f' style="background:{shared.shade((shown - .5) / 2)}"' if ratio else ""
            row.append(f"<td{style}>{f'{ratio:.2f}' if ratio else '-'}</td>")
        body.append("<tr>" + "".join(row) + "</tr>")
    return f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead>' \
           f'<tbody>{"".join(body)}</tbody></table></div>'


def write(folder, results):
    (folder / "speed.txt").write_text(results.text() + "\n")
    (folder / "speed.json").write_text(json.dumps(results.data, indent=1) + "\n")
    (folder / "speed.html").write_text(page(results))


def page(results):
    tables = "".join(f"<h2>{html.escape(title)}, {html.escape(rows[0]['unit'])}</h2>{html_table(results, rows)}"
                     for title, rows in results.tables())
    notes = "".join(f"<p>{html.escape(line)}</p>" for line in results.text_notes())
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>How fast Tenon is</title><style>{shared.STYLE}</style>
<h1>How fast Tenon is</h1>
{notes}
{tables}
</html>
"""
