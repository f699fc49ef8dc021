/* SPDX-License-Identifier: MIT */
/** @file
 *  Plots as SVG: panels with axes, ticks, lines, segments, points and a legend. */
#ifndef APPS_COMMON_SVG_H
#define APPS_COMMON_SVG_H

#include "text.h"

enum svg_unit { SVG_SECONDS, SVG_BYTES, SVG_BITS_PER_SECOND, SVG_NONE /* no scale at all */ };

struct svg_axis {
    double min, max;
    enum svg_unit unit;
    const char *label;    /**< NULL: none */
};

enum svg_mark { SVG_LINE, SVG_DOT };

/** A series of the legend. */
struct svg_key {
    const char *name, *colour;
    enum svg_mark mark;
};

/** A rectangle of the picture with its two axes. Fill in the first part; svg_panel_begin() does the rest. */
struct svg_panel {
    double left, top, width, height;    /**< of the plotting area, in pixels */
    struct svg_axis x, y;
    const char *title;

    struct strbuf *out;
    struct strbuf path;                 /**< the path being drawn */
    const char *colour;
    double stroke;
    double pen_x, pen_y;                /**< where the pen stands, in pixels */
    int drawing;
    double column_x, column_low, column_high, column_y;    /**< steps within one pixel's width; the last tiny segment */
    int column;                         /**< there are some */
    char *dots;                         /**< which cells of two by two pixels have a dot */
};

void svg_begin(struct strbuf *out, double width, double height, const char *title);
void svg_end(struct strbuf *out);

/** Text at a place; `size` in pixels; anchor "start", "middle" or "end". */
void svg_label(struct strbuf *out, double x, double y, double size, const char *anchor, const char *text);

void svg_panel_begin(struct svg_panel *panel, struct strbuf *out);
void svg_panel_end(struct svg_panel *panel);

/** Begin a series; points that fall on the pixel of the one before are left out. */
void svg_series(struct svg_panel *panel, const char *colour, double stroke);
void svg_move(struct svg_panel *panel, double x, double y);
void svg_line_to(struct svg_panel *panel, double x, double y);
void svg_step_to(struct svg_panel *panel, double x, double y);    /**< across, then up or down; not mixed with others */
void svg_segment(struct svg_panel *panel, double x0, double y0, double x1, double y1);
void svg_dot(struct svg_panel *panel, double x, double y);        /**< as wide as the series' stroke */

/** The legend, in the panel's top line. */
void svg_legend(struct svg_panel *panel, const struct svg_key *keys, unsigned n);

#endif
