/* SPDX-License-Identifier: MIT */
/* A program that runs histories, each from a seed, in as many processes as there are processors. */
#ifndef TENON_TEST_SEEDS_H
#define TENON_TEST_SEEDS_H

#include <stdint.h>

enum { SEEDS_COUNTS = 8, SEEDS_EXIT_FAILED = 3 };

/* What such a program does. */
struct seeds {
    const char *name;    /* of the program */
    const char *text;    /* what it does, for --help; lines */

    /* A history. Something is wrong: the process ends, by SEEDS_EXIT_FAILED. */
    void (*run)(uint64_t seed, int verbose, uint64_t counts[SEEDS_COUNTS]);
    void (*print_plan)(uint64_t seed);
    void (*print_counts)(const uint64_t counts[SEEDS_COUNTS]);    /* of all histories together: a line */
};

/* What the command line says; @return the exit status */
int seeds_main(const struct seeds *program, int argc, char **argv);

#endif
