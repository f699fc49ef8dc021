# SPDX-License-Identifier: MIT
"""Drawings as SVG text, for the page and as files: bars side by side, and curves over a logarithmic or linear axis."""
import html
import math

LEFT, TOP, BOTTOM, RIGHT = 58, 26, 46, 12
PLAIN = ("#0b6bcb", "#b26a00", "#4d7c0f", "#7a4fa3", "#c2410c", "#0f766e", "#be185d", "#8a8f98")


def short(value):
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:.3g}{letter}"
    return f"{value:.3g}"


def ticks_linear(top):
    step = 10 ** math.floor(math.log10(top / 2))
    while top / step > 6:
        step *= 2 if str(step)[0] in "15" or top / step < 13 else 5
    return [i * step for i in range(int(top / step) + 1)]


def ticks_log(low, high):
    return [10.0 ** n for n in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


class Axis:
    """Values to pixels."""

    def __init__(self, values, start, length, logarithmic):
        self.start, self.length, self.logarithmic = start, length, logarithmic
        if logarithmic:
            self.ticks = ticks_log(min(values), max(values))
            if len(self.ticks) == 1:
                self.ticks.append(self.ticks[0] * 10)
            self.low, self.high = math.log10(self.ticks[0]), math.log10(self.ticks[-1])
        else:
            self.ticks = ticks_linear(max(values))
            self.low, self.high = 0, max(max(values) * 1.04, self.ticks[-1])

    def at(self, value):
        place = math.log10(value) if self.logarithmic else value
        return self.start + self.length * (place - self.low) / (self.high - self.low)


def frame(title, width, height, label):
    return [f'<svg width="{width}" height="{height}" role="img" aria-label="{html.escape(title)}">',
            f'<text x="{LEFT}" y="15" font-weight="600">{html.escape(title)}</text>',
            f'<text transform="translate(11 {height / 2}) rotate(-90)" text-anchor="middle" fill="#555">'
            f"{html.escape(label)}</text>"]


def grid_y(axis, width):
    return [f'<line x1="{LEFT}" x2="{width - RIGHT}" y1="{axis.at(t):.1f}" y2="{axis.at(t):.1f}" stroke="#ddd"/>'
            f'<text x="{LEFT - 5}" y="{axis.at(t) + 4:.1f}" text-anchor="end" fill="#555">{short(t)}</text>'
            for t in axis.ticks]


# ---- drawings that are files ------------------------------------------------------------------------------

FILE_WIDTH, FILE_PANEL, FILE_LEGEND = 520, 340, 24


def file_axes(xs, ys, top, logarithmic):
    """Both axes of the panel that begins at `top`."""
    return (Axis(xs, LEFT, FILE_WIDTH - LEFT - RIGHT, logarithmic),
            Axis(ys, top + FILE_PANEL - BOTTOM, -(FILE_PANEL - TOP - BOTTOM), logarithmic))


def file_frame(title, labels, y_axis, ticks, top):
    """What stands around the curves of a panel; labels: of both axes; ticks: [(pixel, text)] of the lower one."""
    bottom = top + FILE_PANEL - BOTTOM
    return [f'<text x="{LEFT}" y="{top + 15}" font-weight="600">{html.escape(title)}</text>',
            f'<text transform="translate(11 {top + FILE_PANEL / 2}) rotate(-90)" text-anchor="middle" fill="#555">'
            f"{html.escape(labels[1])}</text>", *grid_y(y_axis, FILE_WIDTH),
            *(f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="middle" fill="#555">{text}</text>'
              for x, text in ticks),
            f'<text x="{(LEFT + FILE_WIDTH) / 2}" y="{bottom + 30}" text-anchor="middle" fill="#555">'
            f"{html.escape(labels[0])}</text>"]


def file_line(at, colour, style):
    """at: [(x, y)] in pixels"""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" {style}/>'


def file_curve(at, colour):
    return [file_line(at, colour, 'stroke-width="1.8"'),
            *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in at)]


def file_text(panels, names, colours):
    """panels: what each consists of, one below the other; under all of them stand the names."""
    height = FILE_PANEL * len(panels) + FILE_LEGEND
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{FILE_WIDTH}" height="{height}" font-family="sans-serif" '
           'font-size="11">', f'<rect width="{FILE_WIDTH}" height="{height}" fill="#fff"/>']
    for panel in panels:
        out += panel
    for number, name in enumerate(names):
        left = LEFT + 90 * number
        out.append(f'<rect x="{left}" y="{height - 18}" width="10" height="10" fill="{colours[name]}"/>'
                   f'<text x="{left + 14}" y="{height - 9}">{name}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


# ---- drawings of the page -----------------------------------------------------------------------------------


def legend(names, colours):
    items = "".join(f'<span style="color:{colours[name]}">&#9632;</span> {html.escape(name)} &ensp;' for name in names)
    return f'<div class="key">{items}</div>'


def bars(title, label, groups, colours, logarithmic=False):
    """groups: [(name, {series: (value, low, high)})]. Each value a bar, each spread a line on it."""
    values = [v for _, group in groups for value in group.values() for v in value if v > 0]
    if not values:
        return ""
    names = list(dict.fromkeys(name for _, group in groups for name in group))
    step = 13 * len(names) + 16
    width, height = LEFT + max(step * len(groups), 160) + RIGHT, 240
    axis = Axis(values, height - BOTTOM, -(height - TOP - BOTTOM), logarithmic)
    parts = frame(title, width, height, label) + grid_y(axis, width)
    for g, (group_name, group) in enumerate(groups):
        left = LEFT + 8 + g * step
        for i, name in enumerate(names):
            if name not in group:
                continue
            value, low, high = group[name]
            x, y = left + 13 * i, axis.at(value)
            told = html.escape(f"{group_name}: {name}: {value:.4g} ({low:.4g} to {high:.4g})")
            parts.append(f'<g><title>{told}</title>'
                         f'<rect x="{x}" y="{y:.1f}" width="11" height="{max(height - BOTTOM - y, 1):.1f}" '
                         f'fill="{colours[name]}"/><line x1="{x + 5.5}" x2="{x + 5.5}" y1="{axis.at(low):.1f}" '
                         f'y2="{axis.at(high):.1f}" stroke="#222"/></g>')
        parts.append(f'<text x="{left + step / 2 - 10}" y="{height - BOTTOM + 14}" text-anchor="middle" fill="#555">'
                     f"{html.escape(group_name)}</text>")
    return f'<figure>{"".join(parts)}</svg>{legend(names, colours)}</figure>'


def curves(title, labels, series, colours, logarithmic=(True, True)):
    """series: {name: [(x, y)]}; labels: of both axes; logarithmic: likewise."""
    series = {name: sorted(points) for name, points in series.items() if points}
    if not series:
        return ""
    width, height = 460, 300
    points = [point for all_points in series.values() for point in all_points]
    x_axis = Axis([x for x, _ in points], LEFT, width - LEFT - RIGHT, logarithmic[0])
    y_axis = Axis([y for _, y in points], height - BOTTOM, -(height - TOP - BOTTOM), logarithmic[1])
    parts = frame(title, width, height, labels[1]) + grid_y(y_axis, width)
    parts += [f'<text x="{x_axis.at(t):.1f}" y="{height - BOTTOM + 14}" text-anchor="middle" fill="#555">'
              f"{short(t)}</text>" for t in x_axis.ticks]
    parts.append(f'<text x="{(LEFT + width) / 2}" y="{height - 12}" text-anchor="middle" fill="#555">'
                 f"{html.escape(labels[0])}</text>")
    for name, line in series.items():
        path = " ".join(f"{x_axis.at(x):.1f},{y_axis.at(y):.1f}" for x, y in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="1.8"/>')
        parts += [f'<circle cx="{x_axis.at(x):.1f}" cy="{y_axis.at(y):.1f}" r="3" fill="{colours[name]}"><title>'
                  f'{html.escape(f"{name}: {short(x)}: {y:.4g}")}</title></circle>' for x, y in line]
    return f'<figure>{"".join(parts)}</svg>{legend(series, colours)}</figure>'


def colours_for(names):
    return {name: PLAIN[i % len(PLAIN)] for i, name in enumerate(names)}
