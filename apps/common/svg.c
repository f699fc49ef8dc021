/* SPDX-License-Identifier: MIT */
/* Drawing plots. A trace has many more events than a picture has pixels; what would not be seen is left
 * out, so that the file stays small. */
#include "svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SVG_TICKS_X = 10, SVG_TICK_PIXELS_Y = 45, SVG_LEGEND_STEP = 18 };

void svg_begin(struct strbuf *out, double width, double height, const char *title)
{
    sb_printf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" ", width, height);
    sb_printf(out, "width=\"%.0f\" height=\"%.0f\" ", width, height);
    sb_text(out, "font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"#333\">\n<title>");
    sb_html(out, title);
    sb_printf(out, "</title>\n<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n", width, height);
}

void svg_end(struct strbuf *out)
{
    sb_text(out, "</svg>\n");
}

void svg_label(struct strbuf *out, double x, double y, double size, const char *anchor, const char *text)
{
    sb_printf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" text-anchor=\"%s\">", x, y, size, anchor);
    sb_html(out, text);
    sb_text(out, "</text>\n");
}

/* ---- axes ----------------------------------------------------------------------------------------- */

static double to_x(const struct svg_panel *panel, double x)
{
    return panel->left + (x - panel->x.min) / (panel->x.max - panel->x.min) * panel->width;
}

static double to_y(const struct svg_panel *panel, double y)
{
    return panel->top + panel->height - (y - panel->y.min) / (panel->y.max - panel->y.min) * panel->height;
}

/* 1, 2 or 5 times a power of ten (of two, for bytes), so that about n ticks fit. */
static double tick_step(const struct svg_axis *axis, double n)
{
    double raw = (axis->max - axis->min) / n, unit = 1, power;

    if (axis->unit == SVG_BYTES) {
        while (raw / unit >= 1000)
            unit *= 1024;
        raw /= unit;
    }
    power = pow(10, floor(log10(raw)));
    raw /= power;
    return (raw <= 1 ? 1 : raw <= 2 ? 2
                       : raw <= 5   ? 5
                                    : 10) *
           power * unit;
}

/* What a value is divided by, and what is then written after it: one choice for a whole axis. */
static double axis_scale(const struct svg_axis *axis, const char **unit)
{
    static const char *const seconds[] = { "s", "ms", "us" }, *const bytes[] = { "B", "KiB", "MiB", "GiB", "TiB" },
                             *const bits[] = { "b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s" };
    double top = fabs(axis->max - axis->min), scale = 1;
    unsigned i = 0;

    if (axis->unit == SVG_SECONDS) {
        for (; i < 2 && top < 2 * scale; i++)
            scale /= 1000;
        *unit = seconds[i];
        return scale;
    }
    for (; i < 4 && top >= 2 * scale * (axis->unit == SVG_BYTES ? 1024 : 1000); i++)
        scale *= axis->unit == SVG_BYTES ? 1024 : 1000;
    *unit = axis->unit == SVG_BYTES ? bytes[i] : bits[i];
    return scale;
}

static void tick_text(char *text, size_t size, double value, double step)
{
    int digits = step >= 1 ? 0 : (int)ceil(-log10(step) - 1e-9);

    snprintf(text, size, "%.*f", digits, fabs(value) < step / 1000 ? 0 : value);    /* not "-0" */
}

static void grid_line(struct strbuf *out, double x0, double y0, double x1, double y1)
{
    sb_printf(out, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#e4e4e4\" fill=\"none\"/>\n", x0, y0, x1, y1);
}

/* The number of a tick, and not the tick before and a step: what is far from 0 may be the same number then. */
static double tick_at(const struct svg_axis *axis, double step, unsigned i)
{
    return (ceil(axis->min / step - 1e-9) + i) * step;
}

static void draw_x_axis(struct svg_panel *panel)
{
    double step = tick_step(&panel->x, SVG_TICKS_X), value, scale, x, bottom = panel->top + panel->height;
    const char *unit;
    char text[64];
    unsigned i;

    scale = axis_scale(&panel->x, &unit);
    for (i = 0; (value = tick_at(&panel->x, step, i)) <= panel->x.max + step * 1e-6; i++) {
        x = to_x(panel, value);
        grid_line(panel->out, x, panel->top, x, bottom);
        tick_text(text, sizeof text, value / scale, step / scale);
        svg_label(panel->out, x, bottom + 14, 11, "middle", text);
    }
    snprintf(text, sizeof text, "%s%s%s", panel->x.label != NULL ? panel->x.label : "",
             panel->x.label != NULL ? ", " : "", unit);
    svg_label(panel->out, panel->left + panel->width, bottom + 28, 11, "end", text);
}

static void draw_y_axis(struct svg_panel *panel)
{
    double step = tick_step(&panel->y, fmax(2, panel->height / SVG_TICK_PIXELS_Y)), value, scale, y;
    const char *unit;
    char text[64];
    unsigned i;

    scale = axis_scale(&panel->y, &unit);
    for (i = 0; (value = tick_at(&panel->y, step, i)) <= panel->y.max + step * 1e-6; i++) {
        y = to_y(panel, value);
        grid_line(panel->out, panel->left, y, panel->left + panel->width, y);
        tick_text(text, sizeof text, value / scale, step / scale);
        svg_label(panel->out, panel->left - 6, y + 4, 11, "end", text);
    }
    snprintf(text, sizeof text, "%s%s%s", panel->y.label != NULL ? panel->y.label : "",
             panel->y.label != NULL ? ", " : "", unit);
    svg_label(panel->out, panel->left - 60, panel->top - 8, 11, "start", text);
}

/* A name for the panel's clipping rectangle. Several pictures may stand in one page: the same name means the same
 * rectangle. */
static struct text clip_name(const struct svg_panel *panel)
{
    struct text name;

    snprintf(name.s, sizeof name.s, "c%.0f-%.0f-%.0f-%.0f", panel->left, panel->top, panel->width, panel->height);
    return name;
}

void svg_panel_begin(struct svg_panel *panel, struct strbuf *out)
{
    panel->out = out;
    memset(&panel->path, 0, sizeof panel->path);
    panel->drawing = panel->column = 0;
    panel->dots = NULL;
    if (!(panel->x.max > panel->x.min))
        panel->x.max = panel->x.min + 1e-6;
    if (!(panel->y.max > panel->y.min))
        panel->y.max = panel->y.min + 1;
    sb_text(out, "<g>\n");
    draw_x_axis(panel);
    if (panel->y.unit != SVG_NONE)
        draw_y_axis(panel);
    if (panel->title != NULL) {
        sb_text(out, "<g font-weight=\"bold\">");
        svg_label(out, panel->left, panel->top - 8, 13, "start", panel->title);
        sb_text(out, "</g>");
    }
    sb_printf(out, "<clipPath id=\"%s\"><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></clipPath>\n",
              clip_name(panel).s, panel->left, panel->top, panel->width, panel->height);
    sb_printf(out, "<g clip-path=\"url(#%s)\" fill=\"none\" stroke-linejoin=\"round\">\n", clip_name(panel).s);
}

/* ---- series --------------------------------------------------------------------------------------- */

static void pen_to(struct svg_panel *panel, double px, double py)
{
    if (!panel->drawing)
        sb_printf(&panel->path, "M%.1f %.1f", panel->pen_x, panel->pen_y);
    sb_printf(&panel->path, "L%.1f %.1f", px, py);
    panel->drawing = 1;
    panel->pen_x = px;
    panel->pen_y = py;
}

/* All steps that fell into one column of pixels: one stroke from the lowest to the highest, and on from the last. */
static void flush_column(struct svg_panel *panel)
{
    if (!panel->column)
        return;
    panel->column = 0;
    if (fabs(panel->column_x - panel->pen_x) >= 0.05)
        pen_to(panel, panel->column_x, panel->pen_y);
    if (panel->column_high - panel->column_low >= 0.05) {
        pen_to(panel, panel->column_x, panel->column_low);
        pen_to(panel, panel->column_x, panel->column_high);
    }
    if (fabs(panel->column_y - panel->pen_y) >= 0.05)
        pen_to(panel, panel->column_x, panel->column_y);
}

static void flush_series(struct svg_panel *panel)
{
    flush_column(panel);
    if (panel->path.len > 0)
        sb_printf(panel->out, "<path d=\"%s\" stroke=\"%s\" stroke-width=\"%.2g\" stroke-linecap=\"round\"/>\n",
                  panel->path.s, panel->colour, panel->stroke);
    sb_free(&panel->path);
    free(panel->dots);
    panel->dots = NULL;
    panel->drawing = 0;
}

void svg_series(struct svg_panel *panel, const char *colour, double stroke)
{
    flush_series(panel);
    panel->colour = colour;
    panel->stroke = stroke;
    panel->pen_x = panel->pen_y = panel->column_x = -1e9;
}

static int outside(const struct svg_panel *panel, double px)
{
    return px < panel->left - panel->width || px > panel->left + 2 * panel->width;
}

void svg_move(struct svg_panel *panel, double x, double y)
{
    panel->pen_x = to_x(panel, x);
    panel->pen_y = to_y(panel, y);
    panel->drawing = 0;
}

void svg_line_to(struct svg_panel *panel, double x, double y)
{
    double px = to_x(panel, x), py = to_y(panel, y);

    if (panel->pen_x < -1e8) {
        svg_move(panel, x, y);
        return;
    }
    if (fabs(px - panel->pen_x) < 0.4 && fabs(py - panel->pen_y) < 0.4)
        return;
    pen_to(panel, px, py);
}

void svg_step_to(struct svg_panel *panel, double x, double y)
{
    double px = to_x(panel, x), py = to_y(panel, y);

    if (panel->pen_x < -1e8)
        svg_move(panel, x, y);
    if (!panel->column || px - panel->column_x >= 0.5) {
        flush_column(panel);
        panel->column = 1;
        panel->column_x = px;
        panel->column_low = panel->column_high = py;
    }
    panel->column_low = fmin(panel->column_low, py);
    panel->column_high = fmax(panel->column_high, py);
    panel->column_y = py;
}

void svg_segment(struct svg_panel *panel, double x0, double y0, double x1, double y1)
{
    double px = to_x(panel, x0), py = to_y(panel, y0), qx = to_x(panel, x1), qy = to_y(panel, y1);
    int tiny = fabs(py - qy) < 0.6 && fabs(px - qx) < 0.6;

    /* A tiny one beside the last tiny one would not be seen. */
    if (outside(panel, px) || (tiny && fabs(px - panel->column_x) < 0.5 && fabs(py - panel->column_y) < 0.5))
        return;
    panel->column_x = tiny ? px : -1e9;
    panel->column_y = py;
    panel->pen_x = px;
    panel->pen_y = py;
    panel->drawing = 0;
    pen_to(panel, qx, tiny ? py - 0.6 : qy);
}

void svg_dot(struct svg_panel *panel, double x, double y)
{
    double px = to_x(panel, x), py = to_y(panel, y);
    size_t columns = (size_t)(panel->width / 2) + 1, rows = (size_t)(panel->height / 2) + 1;
    char *dot;

    if (px < panel->left || px > panel->left + panel->width || py < panel->top || py > panel->top + panel->height)
        return;
    if (panel->dots == NULL) {
        panel->dots = must_alloc(columns * rows);
        memset(panel->dots, 0, columns * rows);
    }
    dot = &panel->dots[(size_t)((py - panel->top) / 2) * columns + (size_t)((px - panel->left) / 2)];
    if (!*dot)
        sb_printf(&panel->path, "M%.1f %.1fh.01", px, py);
    *dot = 1;
}

void svg_panel_end(struct svg_panel *panel)
{
    flush_series(panel);
    sb_printf(panel->out, "</g>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" ", panel->left,
              panel->top, panel->width, panel->height);
    sb_text(panel->out, "fill=\"none\" stroke=\"#999\"/>\n</g>\n");
}

void svg_legend(struct svg_panel *panel, const struct svg_key *keys, unsigned n)
{
    double x = panel->left + panel->width, y = panel->top - 8;

    flush_series(panel);
    sb_text(panel->out, "</g><g fill=\"#333\">\n");
    while (n-- > 0) {
        svg_label(panel->out, x, y, 11, "end", keys[n].name);
        x -= 6.4 * (double)strlen(keys[n].name) + SVG_LEGEND_STEP;    /* an estimate: fonts differ */
        if (keys[n].mark == SVG_LINE)
            sb_printf(panel->out, "<path d=\"M%.1f %.1fh12\" stroke=\"%s\" stroke-width=\"2.5\"/>\n", x, y - 4,
                      keys[n].colour);
        else
            sb_printf(panel->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x + 6, y - 4,
                      keys[n].colour);
        x -= 14;
    }
}
