/* SPDX-License-Identifier: MIT */
/* A sender and a path in one: a model that drives a congestion control through its table, packet by packet, in
 * virtual time. It is no TCP: packets have numbers of their own and are never sent again, every packet is acknowledged
 * by its number, and what is passed by three others is lost. So nothing but the control decides what happens.
 *
 *     struct path path = { .rate = 1250000, .rtt_us = 50000, .queue_bytes = 62500 };
 *     path_begin(&path, &tenon_cc_bbr);
 *     path_run(&path, 10.0);    ... look at path.cc, path.received ...
 *     path_end(&path);
 *
 * Fields may be changed between two calls of path_run(): then the path changes. */
#ifndef TENON_TESTS_TCP_PATH_H
#define TENON_TESTS_TCP_PATH_H

#include <tenon/tenon.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum path_fate { PATH_FLIES, PATH_ARRIVED, PATH_LOST };

struct path_packet {
    uint64_t sent_us, first_sent_us, delivered, delivered_us, lost, ack_us, in_flight;
    int fate, dropped, app_limited, marked;
};

struct path {
    /* the path */
    uint64_t rate;              /* bytes per second */
    uint64_t rtt_us;            /* without a queue */
    uint64_t queue_bytes;       /* 0: no limit */
    uint64_t mark_bytes;        /* a queue longer than this marks (ECN); 0: never */
    uint64_t lump_us;           /* ACKs arrive in lumps, at multiples of this */
    uint64_t policer, burst;    /* token bucket: bytes per second, depth; 0: none */
    double loss;                /* 0 to 1 */
    double late;                /* so many packets are overtaken by others, 0 to 1 ... */
    uint64_t late_us;           /* ... and come later by this */
    unsigned no_timeouts;
    /* the application */
    double app_rate;            /* bytes per second that it writes; 0: always enough */
    int app_silent;             /* it writes nothing */
    /* called after every ACK; may set `stop`: path_run() returns */
    void (*look)(struct path *path);
    int stop;

    /* what comes of it */
    struct tenon_cc cc;
    unsigned mss;
    uint64_t now_us;
    uint64_t received, delivered, lost, sent;    /* bytes; received: without what was late */
    unsigned recoveries, timeouts, undone;
    uint64_t queue_top;                          /* the longest queue */
    struct tenon_cc_event event;                 /* the last */

    /* inner state */
    tenon_u32 words[TENON_CC_WORDS + 128];
    struct path_packet *packets;
    size_t n, room, lowest;      /* packets below `lowest` have met their fate */
    size_t *acks, nacks, first_ack;    /* numbers of packets in the order of their ACKs */
    double link_free_us;
    uint64_t next_send_us, delivered_us, first_sent_us, pipe, app_limited_until, tokens_us;
    uint64_t min_rtt_us, srtt_us, progress_us;
    double tokens, app_bytes;
    uint64_t app_us, recover, episode_lost, episode_late, rto_pipe;
    tenon_u32 prior_cwnd, prior_ssthresh;
    int in_recovery, ran_dry;
    uint64_t random;
};

static const uint64_t path_clock = 0xFFFFFFFFU - 3000000U;    /* what its now_us shows at 0: it wraps after 3 s */
static const uint64_t path_count = 0xFFFFFFFFU - 1000000U;    /* likewise, for total_delivered */

static uint32_t path_random(struct path *p)
{
    p->random = p->random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(p->random >> 32);
}

static int path_chance(struct path *p, double of_one)
{
    return of_one > 0 && path_random(p) < of_one * 4294967296.0;
}

static struct tenon_cc_event *path_event(struct path *p)
{
    struct tenon_cc_event *e = &p->event;

    memset(e, 0, sizeof *e);
    e->now_us = (tenon_u32)(path_clock + p->now_us);
    e->in_flight = e->pipe = (tenon_u32)p->pipe;
    e->srtt_us = (tenon_u32)p->srtt_us;
    e->min_rtt_us = p->min_rtt_us ? (tenon_u32)p->min_rtt_us : 0xFFFFFFFFU;
    e->total_delivered = (tenon_u32)(path_count + p->delivered);
    e->total_lost = (tenon_u32)p->lost;
    e->snd_nxt = (tenon_u32)p->sent;
    e->snd_una = (tenon_u32)(p->sent - p->pipe);
    e->random = path_random(p);
    e->mss = (tenon_u16)p->mss;
    e->paced = p->cc.pacing != 0;
    e->in_recovery = (tenon_u8)p->in_recovery;
    e->sack = 1;
    return e;
}

static void path_begin(struct path *p, const struct tenon_cc_ops *ops)
{
    if (p->mss == 0)
        p->mss = 1460;
    p->random = p->random ? p->random : 1;
    p->cc.ops = ops;
    p->cc.ssthresh = 0xFFFFFFFFU;
    p->cc.words = p->words;
    if (TENON_CC_WORDS + ops->more_words > TENON_ARRAY_LEN(p->words))
        abort();
    p->srtt_us = p->min_rtt_us = p->rtt_us;    /* the handshake */
    p->tokens = (double)p->burst;
    p->cc.ops->init(&p->cc, path_event(p));
}

static void path_end(struct path *p)
{
    free(p->packets);
    free(p->acks);
}

/* ---- sending --------------------------------------------------------------------------------------------------- */

static int path_policer_drops(struct path *p)
{
    if (p->policer == 0)
        return 0;
    p->tokens += (double)(p->now_us - p->tokens_us) * (double)p->policer / 1e6;
    p->tokens = p->tokens < (double)p->burst ? p->tokens : (double)p->burst;
    p->tokens_us = p->now_us;
    if (p->tokens < p->mss)
        return 1;
    p->tokens -= p->mss;
    return 0;
}

/* When the ACK of a packet comes that leaves now. */
static void path_travel(struct path *p, struct path_packet *packet)
{
    const double now = (double)p->now_us, start = p->link_free_us > now ? p->link_free_us : now;
    const uint64_t queue = (uint64_t)((start - now) * (double)p->rate / 1e6);

    packet->dropped = path_chance(p, p->loss) || path_policer_drops(p)
                      || (p->queue_bytes != 0 && queue != 0 && queue + p->mss > p->queue_bytes);
    if (packet->dropped)
        return;
    p->queue_top = queue > p->queue_top ? queue : p->queue_top;
    packet->marked = p->mark_bytes != 0 && queue > p->mark_bytes;
    p->link_free_us = start + p->mss * 1e6 / (double)p->rate;
    packet->ack_us = (uint64_t)p->link_free_us + p->rtt_us;
    if (p->lump_us != 0)
        packet->ack_us = (packet->ack_us / p->lump_us + 1) * p->lump_us;
    if (path_chance(p, p->late))
        packet->ack_us += p->late_us;
}

static void path_expect_ack(struct path *p, size_t number)
{
    size_t i = p->nacks++;

    for (; i > p->first_ack && p->packets[p->acks[i - 1]].ack_us > p->packets[number].ack_us; i--)
        p->acks[i] = p->acks[i - 1];
    p->acks[i] = number;
}

static void path_send(struct path *p)
{
    struct path_packet *packet;

    if (p->n == p->room) {
        p->room = p->room ? 2 * p->room : 4096;
        p->packets = realloc(p->packets, p->room * sizeof *p->packets);
        p->acks = realloc(p->acks, p->room * sizeof *p->acks);
        if (p->packets == NULL || p->acks == NULL)
            abort();
    }
    if (p->pipe == 0) {
        p->first_sent_us = p->delivered_us = p->progress_us = p->now_us;
        if (p->cc.ops->restart != NULL && p->ran_dry)
            p->cc.ops->restart(&p->cc, path_event(p));
    }
    p->ran_dry = 0;
    packet = &p->packets[p->n];
    memset(packet, 0, sizeof *packet);
    p->pipe += p->mss;
    p->sent += p->mss;
    packet->sent_us = p->now_us;
    packet->first_sent_us = p->first_sent_us;
    packet->delivered = p->delivered;
    packet->delivered_us = p->delivered_us;
    packet->lost = p->lost;
    packet->in_flight = p->pipe;
    packet->app_limited = p->app_limited_until != 0;
    path_travel(p, packet);
    if (!packet->dropped)
        path_expect_ack(p, p->n);
    p->n++;
    if (p->app_rate > 0)
        p->app_bytes -= p->mss;
    if (p->cc.pacing == 0)
        return;
    p->next_send_us = p->next_send_us > p->now_us ? p->next_send_us : p->now_us;
    p->next_send_us += (uint64_t)(p->mss * 65536.0 / p->cc.pacing) + 1;
}

static int path_has_data(struct path *p)
{
    if (p->app_silent || p->app_rate <= 0) {
        p->app_us = p->now_us;
        p->app_bytes = 0;
        return !p->app_silent;
    }
    p->app_bytes += (double)(p->now_us - p->app_us) * p->app_rate / 1e6;
    p->app_us = p->now_us;
    return p->app_bytes >= p->mss;
}

/* ---- ACKs ------------------------------------------------------------------------------------------------------ */

static void path_lose(struct path *p, size_t from, size_t to)
{
    struct tenon_cc_event *e;
    uint64_t bytes = 0;
    size_t i;

    for (i = from; i < to; i++) {
        p->packets[i].fate = PATH_LOST;
        bytes += p->mss;
    }
    p->pipe -= bytes;
    p->lost += bytes;
    p->episode_lost += bytes;
    e = path_event(p);
    e->lost = (tenon_u32)bytes;
    e->sample.tx_in_flight = (tenon_u32)p->packets[to - 1].in_flight;
    e->sample.lost = (tenon_u32)(p->lost - p->packets[to - 1].lost);
    e->sample.app_limited = (tenon_u8)p->packets[to - 1].app_limited;
    if (p->cc.ops->lost_bytes != NULL)
        p->cc.ops->lost_bytes(&p->cc, e);
}

/* All stretches of packets below `end` that still fly. @return bytes */
static uint64_t path_lose_below(struct path *p, size_t end)
{
    const uint64_t before = p->lost;
    size_t i, k;

    for (i = p->lowest; i < end; i = k) {
        for (k = i; k < end && p->packets[k].fate == PATH_FLIES; k++)
            ;
        if (k > i)
            path_lose(p, i, k);
        else
            k++;
    }
    return p->lost - before;
}

static void path_episode(struct path *p, int kind)
{
    if (!p->in_recovery) {
        p->prior_cwnd = p->cc.cwnd;
        p->prior_ssthresh = p->cc.ssthresh;
    }
    p->in_recovery = kind;
    p->recover = p->n;
}

static void path_sample(struct path *p, struct tenon_cc_event *e, const struct path_packet *newest)
{
    const uint64_t by_send = newest->sent_us - newest->first_sent_us, by_ack = p->now_us - newest->delivered_us;
    const uint64_t interval = by_send > by_ack ? by_send : by_ack;
    double rate;

    e->sample.prior_delivered = (tenon_u32)(path_count + newest->delivered);
    e->sample.delivered = (tenon_u32)(p->delivered - newest->delivered);
    e->sample.tx_in_flight = (tenon_u32)newest->in_flight;
    e->sample.lost = (tenon_u32)(p->lost - newest->lost);
    e->sample.app_limited = (tenon_u8)newest->app_limited;
    e->rtt_us = (tenon_u32)(p->now_us - newest->sent_us);
    if (interval < p->min_rtt_us || interval == 0)
        return;
    rate = (double)e->sample.delivered * 65536.0 / (double)interval;
    e->sample.interval_us = (tenon_u32)interval;
    e->sample.rate = rate < 4294967295.0 ? (tenon_rate)rate : 0xFFFFFFFFU;
}

/* The packets whose ACKs come now. @return the number of the newest, or SIZE_MAX */
static size_t path_take_acks(struct path *p, uint64_t *bytes, uint64_t *marked)
{
    size_t newest = SIZE_MAX;

    while (p->first_ack < p->nacks && p->packets[p->acks[p->first_ack]].ack_us <= p->now_us) {
        const size_t i = p->acks[p->first_ack++];
        struct path_packet *packet = &p->packets[i];

        if (packet->fate == PATH_LOST) {    /* it was only late */
            p->episode_late += p->mss;
        } else {
            packet->fate = PATH_ARRIVED;
            p->pipe -= p->mss;
        }
        *bytes += p->mss;
        *marked += packet->marked ? p->mss : 0;
        if (newest == SIZE_MAX || i > newest)
            newest = i;
    }
    return newest;
}

static void path_maybe_undo(struct path *p)
{
    if (p->episode_lost == 0 || p->episode_late < p->episode_lost)
        return;
    p->episode_lost = p->episode_late = 0;
    p->undone++;
    p->cc.cwnd = p->prior_cwnd;
    p->cc.ssthresh = p->prior_ssthresh;
    if (p->cc.ops->undo != NULL)
        p->cc.ops->undo(&p->cc, path_event(p));
}

static void path_on_acks(struct path *p)
{
    const uint64_t flight = p->pipe;
    uint64_t bytes = 0, marked = 0, lost = 0;
    const size_t newest = path_take_acks(p, &bytes, &marked);
    struct path_packet packet;
    struct tenon_cc_event *e;

    if (newest == SIZE_MAX)
        return;
    packet = p->packets[newest];
    p->delivered += bytes;
    p->received += bytes;
    p->delivered_us = p->progress_us = p->now_us;
    p->first_sent_us = packet.sent_us > p->first_sent_us ? packet.sent_us : p->first_sent_us;
    if (p->app_limited_until != 0 && p->delivered > p->app_limited_until)
        p->app_limited_until = 0;
    path_maybe_undo(p);
    if (newest >= 3) {
        lost = path_lose_below(p, newest - 2);
        if (lost != 0 && !p->in_recovery) {
            p->episode_lost = lost;
            p->episode_late = 0;
            p->recoveries++;
            path_episode(p, 1);
            e = path_event(p);
            e->in_flight = (tenon_u32)flight;
            p->cc.ops->lost(&p->cc, e);
        }
    }
    while (p->lowest < p->n && p->packets[p->lowest].fate != PATH_FLIES)
        p->lowest++;
    p->min_rtt_us = p->min_rtt_us < p->now_us - packet.sent_us ? p->min_rtt_us : p->now_us - packet.sent_us;
    p->srtt_us = (7 * p->srtt_us + p->now_us - packet.sent_us) / 8;
    if (p->in_recovery && p->lowest >= p->recover) {
        const int kind = p->in_recovery;

        p->in_recovery = 0;
        if (kind == 1)
            p->cc.ops->recovered(&p->cc, path_event(p));
    }
    e = path_event(p);
    e->acked = e->delivered = (tenon_u32)bytes;
    e->lost = (tenon_u32)lost;
    e->ce = (tenon_u32)marked;
    e->in_flight = (tenon_u32)flight;
    e->limited = (tenon_u8)(flight + p->mss <= p->cc.cwnd);
    path_sample(p, e, &packet);
    if (p->in_recovery != 1)
        p->cc.ops->acked(&p->cc, e);
    if (p->cc.ops->delivered != NULL)
        p->cc.ops->delivered(&p->cc, e);
    if (p->look != NULL)
        p->look(p);
}

static void path_on_timeout(struct path *p)
{
    struct tenon_cc_event *e;
    const uint64_t flight = p->pipe;

    p->timeouts++;
    p->episode_lost = p->episode_late = 0;
    path_lose_below(p, p->n);
    p->lowest = p->n;
    path_episode(p, 2);
    e = path_event(p);
    e->in_flight = (tenon_u32)flight;
    p->cc.ops->rto(&p->cc, e);
    p->progress_us = p->now_us;
    p->recover = p->n + 1;    /* until one that leaves now has arrived */
}

/* ---- time ------------------------------------------------------------------------------------------------------ */

static uint64_t path_rto_us(const struct path *p)
{
    return 2 * p->srtt_us > 200000 ? 2 * p->srtt_us : 200000;
}

static void path_fill(struct path *p)
{
    while (p->pipe + p->mss <= p->cc.cwnd) {
        if (!path_has_data(p)) {
            p->app_limited_until = p->delivered + p->pipe ? p->delivered + p->pipe : 1;
            p->ran_dry = p->ran_dry || p->pipe == 0;
            return;
        }
        if (p->cc.pacing != 0 && p->next_send_us > p->now_us)
            return;
        path_send(p);
    }
}

/* The next instant at which something may happen. */
static uint64_t path_next(const struct path *p, uint64_t end)
{
    uint64_t at = end;

    if (p->first_ack < p->nacks && p->packets[p->acks[p->first_ack]].ack_us < at)
        at = p->packets[p->acks[p->first_ack]].ack_us;
    if (p->pipe > 0 && !p->no_timeouts && p->progress_us + path_rto_us(p) < at)
        at = p->progress_us + path_rto_us(p);
    if (p->pipe + p->mss > p->cc.cwnd || p->app_silent)
        return at;
    if (p->next_send_us > p->now_us && p->next_send_us < at)
        at = p->next_send_us;
    if (p->app_rate > 0 && p->app_bytes < p->mss) {
        const uint64_t wait = (uint64_t)((p->mss - p->app_bytes) * 1e6 / p->app_rate) + 1;

        if (p->now_us + wait < at)
            at = p->now_us + wait;
    }
    return at;
}

static void path_run(struct path *p, double seconds)
{
    const uint64_t end = p->now_us + (uint64_t)(seconds * 1e6);

    for (p->stop = 0;;) {
        path_fill(p);
        if (p->now_us >= end || p->stop)
            return;
        p->now_us = path_next(p, end);
        path_on_acks(p);
        if (p->pipe > 0 && !p->no_timeouts && p->now_us >= p->progress_us + path_rto_us(p))
            path_on_timeout(p);
    }
}

/* @return of the rate, in percent, over the next seconds */
static double path_percent(struct path *p, double seconds)
{
    const uint64_t before = p->received;

    path_run(p, seconds);
    return (double)(p->received - before) * 100 / ((double)p->rate * seconds);
}

#endif
