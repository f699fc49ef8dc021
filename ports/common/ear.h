/* SPDX-License-Identifier: MIT */
/** @file
 *  What a library prints to a file that it can be given, kept for messages of ours. */
#ifndef TENON_PORTS_COMMON_EAR_H
#define TENON_PORTS_COMMON_EAR_H

#include <stdio.h>

/** All zeros at first; it lives as long as the process. */
struct ear {
    FILE *file;
    char said[200];
};

/** Forget what was said. @return where to print from now on; NULL: there is no memory */
FILE *port_ear_open(struct ear *ear);

/** @return the first line since then; empty if there was none */
const char *port_ear_line(struct ear *ear);

#endif
