/* SPDX-License-Identifier: MIT */
/* A build of the core that does without something, and one that has everything, talk to each other through a wire that
 * loses, doubles and overtakes: a stream goes there and comes back, and both close. tools/trim builds this with each
 * combination.
 *
 *     pair              every role, every wire; the exit status is 0 if all was right
 *     pair --memory N   what the lesser one needs with N bytes of room in each direction; it connects, if it can */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"

extern const struct end end_less, end_whole;

enum { WIRE_FRAMES = 256, WIRE_DELAY_MS = 10, MINUTES = 40 };

struct wire {
    unsigned char bytes[WIRE_FRAMES][END_FRAME_BYTES];
    unsigned len[WIRE_FRAMES];           /* 0: free */
    unsigned long at_ms[WIRE_FRAMES];
    unsigned long number[WIRE_FRAMES];   /* in order of arrival, where at_ms is the same */
    unsigned to[WIRE_FRAMES];
    unsigned long random, n, carried;
    unsigned lost, doubled, late;        /* percent */
};

struct path {
    const char *name;
    unsigned lost, doubled, late;
};

static const struct path paths[] = { { "good", 0, 0, 0 },       { "overtaking", 0, 0, 10 }, { "doubling", 0, 5, 0 },
                                     { "lossy", 3, 0, 0 },      { "bad", 10, 2, 5 } };

static unsigned wire_percent(struct wire *wire)
{
    wire->random ^= wire->random << 13 & 0xFFFFFFFFUL;
    wire->random ^= wire->random >> 17;
    wire->random ^= wire->random << 5 & 0xFFFFFFFFUL;
    return (unsigned)(wire->random % 100);
}

static void wire_put(struct wire *wire, unsigned to, const unsigned char *bytes, unsigned n, unsigned long at_ms)
{
    unsigned i = 0;

    while (i < WIRE_FRAMES && wire->len[i] != 0)
        i++;
    if (i == WIRE_FRAMES)
        return;
    memcpy(wire->bytes[i], bytes, n);
    wire->len[i] = n;
    wire->to[i] = to;
    wire->at_ms[i] = at_ms;
    wire->number[i] = wire->n++;
}

static void wire_send(struct wire *wire, unsigned to, const unsigned char *bytes, unsigned n, unsigned long now_ms)
{
    const unsigned long at = now_ms + WIRE_DELAY_MS;

    if (wire_percent(wire) < wire->lost)
        return;
    wire_put(wire, to, bytes, n, wire_percent(wire) < wire->late ? at + 3 : at);
    if (wire_percent(wire) < wire->doubled)
        wire_put(wire, to, bytes, n, at + 1);
}

/* The next frame that is due. @return its number, or WIRE_FRAMES */
static unsigned wire_due(const struct wire *wire, unsigned long now_ms)
{
    unsigned best = WIRE_FRAMES, i;

    for (i = 0; i < WIRE_FRAMES; i++)
        if (wire->len[i] != 0 && wire->at_ms[i] <= now_ms &&
            (best == WIRE_FRAMES || wire->number[i] < wire->number[best]))
            best = i;
    return best;
}

static void step(struct wire *wire, const struct end *const *ops, void *const *ends, unsigned long now_ms)
{
    unsigned char bytes[END_FRAME_BYTES];
    unsigned i, n;

    for (i = wire_due(wire, now_ms); i < WIRE_FRAMES; i = wire_due(wire, now_ms)) {
        ops[wire->to[i]]->input(ends[wire->to[i]], wire->bytes[i], wire->len[i], now_ms * 1000);
        wire->len[i] = 0;
        wire->carried++;
    }
    for (i = 0; i < 2; i++) {
        ops[i]->poll(ends[i], now_ms * 1000);
        while ((n = ops[i]->take(ends[i], bytes)) > 0)
            wire_send(wire, 1 - i, bytes, n, now_ms);
    }
}

/* 0 connects to 1. @return 1: all of it was right */
static int exchange(const struct end *client, const struct end *server, const struct path *path, unsigned long bytes,
                    unsigned long room, struct end_result *results)
{
    const struct end *ops[2];
    static struct wire wire;
    unsigned long now_ms;
    void *ends[2];
    unsigned i;
    int good;

    ops[0] = client;
    ops[1] = server;
    memset(results, 0, 2 * sizeof(results[0]));
    memset(&wire, 0, sizeof(wire));
    wire.random = 12345;
    wire.lost = path->lost;
    wire.doubled = path->doubled;
    wire.late = path->late;
    for (i = 0; i < 2; i++)
        ends[i] = ops[i]->open(i + 1, ops[i] == &end_less ? room : 0, !end_less.has_ethernet);
    good = ends[0] != NULL && ends[1] != NULL && ops[1]->listen(ends[1]) && ops[0]->connect(ends[0], 2, bytes);
    for (now_ms = 0; good && now_ms < MINUTES * 60000UL && !(ops[0]->done(ends[0]) && ops[1]->done(ends[1])); now_ms++)
        step(&wire, ops, ends, now_ms);
    for (i = 0; i < 2; i++)
        if (ends[i] != NULL)
            ops[i]->close(ends[i], &results[i]);
    for (i = 0; i < 2; i++)
        good = good && results[i].opened && results[i].closed && results[i].why == 0 && results[i].wrong == 0 &&
               !results[i].leaks && results[i].received == bytes;
    return good;
}

static int memory(unsigned long room)
{
    const struct end *client = end_less.can_connect ? &end_less : &end_whole;
    const struct end *server = end_less.can_connect ? &end_whole : &end_less;
    struct end_result results[2], *less = &results[server == &end_less];

    if (!exchange(client, server, &paths[0], 100000, room, results))
        return 1;
    printf("instance %lu blocks %lu bufs %lu\n", less->instance, less->blocks_most, less->bufs_most);
    return 0;
}

/* Whoever steers packets has another build perhaps. @return 1: both say the same */
static int same_flows(void)
{
    if (end_less.flow(1, 2) == end_whole.flow(1, 2) && end_less.flow(1, 2) != end_less.flow(1, 3))
        return 1;
    printf("hashes of a packet differ: %lx, %lx\n", end_less.flow(1, 2), end_whole.flow(1, 2));
    return 0;
}

int main(int argc, char **argv)
{
    struct end_result results[2];
    unsigned i, k, failed = 0, passed = 0, not_run = 0;

    if (argc == 3 && strcmp(argv[1], "--memory") == 0)
        return memory(strtoul(argv[2], NULL, 10));
    if (same_flows())
        passed++;
    else
        failed++;
    for (k = 0; k < 2; k++) {
        void *end = end_less.open(1, 0, !end_less.has_ethernet);
        const int should = k == 0 ? end_less.can_connect : end_less.can_listen;
        int can;

        if (end == NULL) {
            printf("the lesser one does not open: it takes what it has not, or refuses what it has (end.c)\n");
            return 1;
        }
        can = k == 0 ? end_less.connect(end, 2, 1) : end_less.listen(end);
        end_less.close(end, &results[0]);
        if (can != should) {
            failed++;
            printf("the lesser one %s %s\n", can ? "can" : "cannot", k == 0 ? "connect" : "listen");
        }
        for (i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
            const struct end *client = k == 0 ? &end_less : &end_whole, *server = k == 0 ? &end_whole : &end_less;

            if (!can) {
                not_run++;
                continue;
            }
            if (exchange(client, server, &paths[i], 200000, 0, results)) {
                passed++;
                continue;
            }
            failed++;
            printf("the lesser one %s, %s wire: %lu bytes out, %lu back, %lu wrong; ends %d, %d\n",
                   k == 0 ? "connects" : "listens", paths[i].name, results[1].received, results[0].received,
                   results[0].wrong + results[1].wrong, results[0].why, results[1].why);
        }
    }
    printf("%u passed, %u failed, %u not run: it does not listen, or connect\n", passed, failed, not_run);
    return failed != 0;
}
