/* SPDX-License-Identifier: MIT */
/* A broken invariant of the core stops a fuzz target. */
#include "fuzz.h"

void tenon_panic(const char *file, unsigned line)
{
    fuzz_fail("%s:%u: TENON_ASSERT", file, line);
}
