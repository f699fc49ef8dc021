/* SPDX-License-Identifier: MIT */
/* What happens on a broken invariant when the program does not say otherwise. A file of its own: a program
 * that defines tenon_panic() itself never pulls this one out of the library. */
#include <tenon/config.h>

/* Stops here for ever, with the place in two variables that a debugger finds. It neither prints nor resets:
 * the core does not know how on this machine. */
void tenon_panic(const char *file, unsigned line)
{
    const char *volatile where_file = file;
    volatile unsigned where_line = line;

    for (;;) {
        where_file = file;
        where_line = line;
    }
    (void)where_file;
    (void)where_line;
}
