/* SPDX-License-Identifier: MIT */
/* What the fuzz targets share: the bytes of an input, and a host whose memory is counted, whose packet buffers
 * are pieces of memory of their own (a sanitizer sees a byte too far), and whose clock is a number. A target is
 * NAME_fuzz.c with LLVMFuzzerTestOneInput(); the same input does the same thing every time: there is no clock,
 * no file, no chance besides the input. See docs/fuzzing.md. */
#ifndef TENON_FUZZ_FUZZ_H
#define TENON_FUZZ_FUZZ_H

#include <tenon/tenon.h>

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the input ------------------------------------------------------------------------------- */

/* What is left of an input. Behind its end there are zeros. */
struct fuzz_bytes {
    const uint8_t *p;
    size_t left;
};

static inline uint8_t fuzz_u8(struct fuzz_bytes *in)
{
    if (in->left == 0)
        return 0;
    in->left--;
    return *in->p++;
}

static inline uint16_t fuzz_u16(struct fuzz_bytes *in)
{
    const uint8_t high = fuzz_u8(in);

    return (uint16_t)(high << 8 | fuzz_u8(in));
}

static inline uint32_t fuzz_u32(struct fuzz_bytes *in)
{
    const uint32_t high = fuzz_u16(in);

    return high << 16 | fuzz_u16(in);
}

/* A number of any order of magnitude from one byte: 5 bits say how large, 3 bits its leading digits. */
static inline uint32_t fuzz_log(struct fuzz_bytes *in)
{
    const uint8_t byte = fuzz_u8(in);

    return (8U | (byte & 7U)) << (byte >> 3) % 29 >> 3;
}

/* Something is wrong: say it and stop. */
void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Explain what happens (the replaying program's option -v). */
extern int fuzz_verbose;
void fuzz_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- the host -------------------------------------------------------------------------------- */

enum { FUZZ_FRAME_MAX = 70000 };

struct fuzz_world {
    struct tenon *stack;
    void *mem;
    unsigned netif;
    struct tenon_netif_conf netif_conf;
    uint64_t now;                  /* microseconds; the instance sees the lower 32 bits */

    size_t mem_bytes, mem_most;    /* out of mem_get(), now and at most */
    unsigned mem_count, bufs_out, bufs_most;
    unsigned mem_fail, buf_fail;   /* so many of the next requests are refused */
    unsigned busy;                 /* so many of the next calls of transmit() take nothing */
    uint32_t entropy;
    unsigned long frames;          /* sent */

    /* A frame that the instance sends, in one piece. It must not call into the instance. */
    void (*sent)(void *arg, const struct tenon_frame *frame, const uint8_t *bytes, size_t n);
    void *arg;
};

/* An instance with one interface. `conf`, `netif_conf`, `sent` are set before; stops if that does not work. */
void fuzz_world_open(struct fuzz_world *w, const struct tenon_conf *conf);

/* tenon_fini(), and everything must have come back but `kept` packet buffers of the target. */
void fuzz_world_close(struct fuzz_world *w, unsigned kept);

/* A packet buffer; refs 1. */
struct tenon_buf *fuzz_buf(struct fuzz_world *w, size_t bytes);

/* The instance receives a frame, in pieces that end at `cut` (0: in one piece). */
void fuzz_world_input(struct fuzz_world *w, const uint8_t *bytes, size_t n, size_t cut, unsigned seg_bytes);

/* Polls once. @return what tenon_poll() says */
uint32_t fuzz_world_poll(struct fuzz_world *w);

/* Lets time pass, polling when the instance wants it; the number of polls is bounded: a long time passes in
 * leaps when there is much to do. */
void fuzz_world_advance(struct fuzz_world *w, uint64_t us);

/* Says which counters are not 0. */
void fuzz_world_note_counters(const struct fuzz_world *w);

/* tenon_tcp_check() for every connection. */
void fuzz_world_check(struct fuzz_world *w);

/* ---- frames ---------------------------------------------------------------------------------- */

/* Makes the checksums and (lengths: 1) the lengths of an IP packet right, as far as its headers can be found.
 * A packet in a fragment keeps the checksum of its transport. */
void fuzz_repair(uint8_t *ip, size_t n, int lengths);

static inline unsigned fuzz_get16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static inline uint32_t fuzz_get32(const uint8_t *p)
{
    return (uint32_t)fuzz_get16(p) << 16 | fuzz_get16(p + 2);
}

static inline void fuzz_put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static inline void fuzz_put32(uint8_t *p, uint32_t v)
{
    fuzz_put16(p, v >> 16);
    fuzz_put16(p + 2, v & 0xFFFF);
}

#endif
