/* SPDX-License-Identifier: MIT */
/* Bytes into and out of the FIFO of a device, which takes words, the first byte lowest. */
#ifndef TENON_BOARD_FIFO_H
#define TENON_BOARD_FIFO_H

#include "reg.h"

/* So often a driver asks for a block before it drops the frame that waits for one. */
enum { FIFO_TRIES = 8 };

struct fifo {
    tenon_u32 address;
    tenon_u32 word;    /* bytes that are no whole word yet ... */
    unsigned bits;     /* ... and how many bits of it */
};

static inline void fifo_begin(struct fifo *fifo, tenon_u32 address)
{
    fifo->address = address;
    fifo->word = 0;
    fifo->bits = 0;
}

static inline void fifo_byte(struct fifo *fifo, tenon_u8 byte)
{
    fifo->word |= (tenon_u32)byte << fifo->bits;
    fifo->bits += 8;
    if (fifo->bits == 32) {
        reg_write(fifo->address, fifo->word);
        fifo->word = 0;
        fifo->bits = 0;
    }
}

/* At a multiple of 4. */
static inline tenon_u32 fifo_word(const tenon_u8 *bytes)
{
    tenon_u32 word;

    __builtin_memcpy(&word, __builtin_assume_aligned(bytes, 4), 4);
    return word;
}

static inline void fifo_word_put(tenon_u8 *to, tenon_u32 word)
{
    __builtin_memcpy(__builtin_assume_aligned(to, 4), &word, 4);
}

/* Words whatever the address of the bytes is: the machine may load them from anywhere, or the compiler puts them
 * together. */
static inline void fifo_put(struct fifo *fifo, const tenon_u8 *bytes, tenon_u32 n)
{
    for (; n > 0 && ((size_t)bytes & 3) != 0; n--)
        fifo_byte(fifo, *bytes++);
    for (; n >= 16 && fifo->bits == 0; n -= 16, bytes += 16) {
        reg_write(fifo->address, fifo_word(bytes));
        reg_write(fifo->address, fifo_word(bytes + 4));
        reg_write(fifo->address, fifo_word(bytes + 8));
        reg_write(fifo->address, fifo_word(bytes + 12));
    }
    for (; n >= 4; n -= 4, bytes += 4) {
        const tenon_u32 word = fifo_word(bytes);

        if (fifo->bits == 0) {
            reg_write(fifo->address, word);
        } else {
            reg_write(fifo->address, fifo->word | word << fifo->bits);
            fifo->word = word >> (32 - fifo->bits);
        }
    }
    for (; n > 0; n--)
        fifo_byte(fifo, *bytes++);
}

static inline void fifo_end(struct fifo *fifo)
{
    if (fifo->bits > 0)
        reg_write(fifo->address, fifo->word);
}

/* `words` words to an address that is a multiple of 4. */
static inline void fifo_get(tenon_u32 address, tenon_u8 *to, unsigned words)
{
    for (; words >= 4; words -= 4, to += 16) {
        fifo_word_put(to, reg_read(address));
        fifo_word_put(to + 4, reg_read(address));
        fifo_word_put(to + 8, reg_read(address));
        fifo_word_put(to + 12, reg_read(address));
    }
    for (; words > 0; words--, to += 4)
        fifo_word_put(to, reg_read(address));
}

static inline void fifo_skip(tenon_u32 address, unsigned words)
{
    for (; words > 0; words--)
        (void)reg_read(address);
}

#endif
