/* SPDX-License-Identifier: MIT */
/* Words for a congestion control that a test keeps without a connection. */
#ifndef TESTS_UNIT_TCP_WORDS_H
#define TESTS_UNIT_TCP_WORDS_H

#include <tenon/tcp.h>

#include <string.h>

enum { WORDS_SETS = 64 };

/* A set of its own, with what it had in the one before; of those that were handed out, the oldest is used again. */
static inline void words_own(struct tenon_cc *cc)
{
    static tenon_u32 sets[WORDS_SETS][TENON_CC_WORDS];
    static unsigned n;
    tenon_u32 *words = sets[n++ % WORDS_SETS];

    memset(words, 0, sizeof(sets[0]));
    if (cc->words != NULL)
        memcpy(words, cc->words, sizeof(sets[0]));
    cc->words = words;
}

#endif
