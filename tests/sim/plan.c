/* SPDX-License-Identifier: MIT */
/* Drawing plans, and taking things away from them. */
#include "plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- chance ---------------------------------------------------------------------------------- */

struct dice {
    uint64_t state;
    struct plan_bytes *given;    /* loaded dice; NULL: none */
};

/* A number of chance; from `bytes` given bytes if there are so many. */
static uint64_t dice_roll(struct dice *dice, unsigned bytes)
{
    uint64_t n = 0;

    dice->state += UINT64_C(0xD1B54A32D192ED03);
    if (!dice->given || dice->given->left < bytes)
        return wire_mix(dice->state);
    while (bytes-- > 0)
        n = n << 8 | plan_byte(dice->given);
    return n;
}

static uint64_t dice_next(struct dice *dice)
{
    return dice_roll(dice, 6);
}

static uint32_t dice_below(struct dice *dice, uint32_t n)
{
    return (uint32_t)(dice_roll(dice, n <= 256 ? 1 : n <= 65536 ? 2 : 4) % n);
}

static uint32_t dice_range(struct dice *dice, uint32_t low, uint32_t high)
{
    return low + dice_below(dice, high - low + 1);
}

static int dice_percent(struct dice *dice, unsigned percent)
{
    return dice_below(dice, 100) < percent;
}

/* A number between low and high, of any order of magnitude. */
static uint32_t dice_log(struct dice *dice, uint32_t low, uint32_t high)
{
    uint32_t top = high;

    while (top / 2 > low && dice_percent(dice, 70))
        top /= 2;
    return dice_range(dice, low, top);
}

/* Each part of a plan has dice of its own: to draw one more number in one leaves the others as they were. */
static struct dice dice_of(const struct plan *plan, unsigned part, unsigned index)
{
    struct dice dice = { wire_mix(plan->seed * 1000003 + part * 1009 + index), plan->given };

    return dice;
}

enum {
    PART_WORLD,
    PART_HOST,
    PART_LINE,
    PART_EVENT,
    PART_SESSION,
    PART_DGRAM,
    PART_STACK,
    PART_OPENING,
    PART_NARROW,
    PART_OUTAGE,
    PART_INTRUDER,
    PART_WAY,
    PART_NAP
};

#define PICK(dice, ...) \
    ((const uint32_t[]){ __VA_ARGS__ }[dice_below(dice, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)])

enum { SECOND = 1000000 };

/* ---- the world ------------------------------------------------------------------------------- */

/* What sets the character of a history. */
struct mood {
    unsigned faults;      /* percent of lines with faults of a kind */
    uint32_t ppm_max;
    int crowd, bulk;
    uint32_t mtu;
    uint64_t rate;
    uint32_t delay_us;
    int small_limits, offloads, split, pool, clean, no_damage;
};

static void draw_mood(struct plan *plan, struct mood *mood, struct dice *dice)
{
    const unsigned kind = dice_below(dice, 100);

    memset(mood, 0, sizeof(*mood));
    mood->clean = dice_percent(dice, 10);
    mood->faults = mood->clean ? 0 : PICK(dice, 20, 50, 80);
    mood->ppm_max = PICK(dice, 3000, 30000, 100000, 250000);
    mood->crowd = kind < 6 ? 2 : kind < 25;
    mood->bulk = kind >= 85;
    mood->mtu = PICK(dice, 576, 600, 1280, 1400, 1500, 1500, 1500, 1500, 4000, 9000, 65535);
    mood->rate = PICK(dice, 0, 0, 20000, 125000, 1250000, 12500000, 125000000);
    if (mood->rate && mood->rate < 1000000 && mood->bulk)
        mood->rate *= 20;
    mood->delay_us = PICK(dice, 0, 10, 200, 5000, 20000, 50000, 150000, 400000);
    mood->small_limits = dice_percent(dice, 25);
    mood->offloads = dice_percent(dice, 50);
    mood->split = dice_percent(dice, 30);
    mood->pool = dice_percent(dice, 20);
    plan->nhosts = mood->crowd || dice_percent(dice, 50) ? 2 : dice_range(dice, 2, PLAN_HOSTS_MAX);
    plan->flood = dice_percent(dice, 20);
    plan->v4 = dice_percent(dice, 80);
    plan->v6 = mood->mtu >= 1280 && (!plan->v4 || dice_percent(dice, 60)) && TENON_WITH_IPV6;
    if (!plan->v6)
        plan->v4 = 1;
    plan->near_wrap = (uint8_t)dice_percent(dice, 40);
    plan->watch = (uint8_t)dice_percent(dice, 50);
    mood->no_damage = plan->watch;    /* who looks on must see what the receivers believe */
    plan->start_us = dice_percent(dice, 30) ? UINT32_MAX - (uint64_t)dice_below(dice, 60 * SECOND)
                                            : dice_next(dice) >> 24;
    plan->heal_us = (uint64_t)dice_range(dice, 20, 70) * SECOND;
}

static uint32_t draw_ppm(struct dice *dice, const struct mood *mood, unsigned divide)
{
    return dice_percent(dice, mood->faults) ? dice_log(dice, 1, mood->ppm_max / divide + 1) : 0;
}

static void draw_line(struct wire_line_conf *line, const struct mood *mood, struct dice *dice, int out)
{
    const unsigned kind = dice_below(dice, 3);    /* faults fall on the way out, in, or both */

    memset(line, 0, sizeof(*line));
    if (out || dice_percent(dice, 20)) {
        line->rate = mood->rate;
        line->delay_us = out ? mood->delay_us : mood->delay_us / 4;
    }
    if (line->rate && dice_percent(dice, 60))
        line->queue_frames = dice_log(dice, 3, 300);
    if (line->rate && dice_percent(dice, 30))
        line->queue_bytes = dice_log(dice, 3 * mood->mtu, 40 * mood->mtu);
    if (out && line->rate && dice_percent(dice, 40))
        line->queue_refuses = 1;
    if (out && dice_percent(dice, 10))
        line->refuse_ppm = dice_log(dice, 1000, 300000);
    if (kind != 2 && out == (int)kind)
        return;
    line->loss_ppm = draw_ppm(dice, mood, 1);
    line->duplicate_ppm = draw_ppm(dice, mood, 2);
    line->reorder_ppm = draw_ppm(dice, mood, 1);
    line->reorder_us = dice_log(dice, 10, 2 * mood->delay_us + 20000);
    line->corrupt_ppm = dice_percent(dice, 60) ? draw_ppm(dice, mood, 3) : 0;
    if (mood->no_damage)
        line->corrupt_ppm = 0;
    if (dice_percent(dice, mood->faults / 2))
        line->jitter_us = dice_log(dice, 10, mood->delay_us / 2 + 1000);
}

static void draw_end(struct plan *plan, struct wire_end_conf *end, const struct mood *mood, struct dice *dice,
                     unsigned i)
{
    static const tenon_u32 caps[] = {
        0,
        TENON_CAP_TX_CSUM,
        TENON_CAP_TX_CSUM | TENON_CAP_TSO4,
        TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6,
        TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 | TENON_CAP_USO,
    };

    memset(end, 0, sizeof(*end));
    end->netif.mac[0] = 2;
    end->netif.mac[5] = (tenon_u8)(i + 1);
    end->netif.mtu = (tenon_u16)mood->mtu;
    end->netif.flags = TENON_NETIF_NO_RA | TENON_NETIF_NO_DAD;
    if (plan->open_us > 0)
        end->netif.flags = TENON_NETIF_NO_RA;
    if (!plan->v6)
        end->netif.flags |= TENON_NETIF_NO_IP6;
    if (mood->offloads) {
        end->netif.caps = caps[dice_below(dice, 5)];
        end->netif.gather_max = (tenon_u16)PICK(dice, 0, 0, 1, 2, 3, 5, 18);
        if (TENON_WITH_PIECES && !TENON_WITH_LINEAR)
            end->netif.gather_max = 0;
        end->netif.tso_bytes_max = PICK(dice, 0, 0, 4000, 16000);
        if (end->netif.tso_bytes_max && end->netif.tso_bytes_max < mood->mtu + 100)
            end->netif.tso_bytes_max = 0;
        end->cut = (uint8_t)dice_percent(dice, 50);
        end->complete_checksums = (uint8_t)dice_percent(dice, 50);
        end->trust = (uint8_t)dice_percent(dice, 20);
    }
    if (mood->split && TENON_WITH_SPLIT) {
        end->copy = (uint8_t)dice_percent(dice, 30);
        end->split = (uint8_t)PICK(dice, 0, 0, 2, 3, 8);
        end->pad = (uint8_t)dice_percent(dice, 50);
        end->coalesce_us = PICK(dice, 0, 0, 50, 1000);
    }
    if (!TENON_WITH_SPLIT)
        end->copy = 1;
    if (!TENON_WITH_ETHERNET)
        end->netif.caps |= TENON_CAP_NO_LINK;
    end->burst = (uint16_t)PICK(dice, 0, 0, 1, 2, 8, 64);
    end->ring = PICK(dice, 0, 0, 0, 64, 256);
}

static void draw_limits(struct tenon_conf *conf, const struct mood *mood, struct dice *dice)
{
    conf->tcp_rcv_buf = dice_log(dice, 1024, 65536);
    conf->tcp_snd_buf = dice_log(dice, 1024, 65536);
    conf->tcp_ooo_ranges_max = (tenon_u16)PICK(dice, 0, 1, 2, 4, 8);
    conf->tcp_ooo_bytes_max = dice_percent(dice, 30) ? conf->tcp_rcv_buf : 0;
    conf->tcp_time_wait_max = PICK(dice, 0, 1, 4, 16);
    conf->tx_burst_max = (tenon_u16)PICK(dice, 0, 2, 4, 8, 64);
    conf->tx_gather_max = (tenon_u16)PICK(dice, 0, 2, 3, 8, 33);
    if (TENON_WITH_PIECES && !TENON_WITH_LINEAR && conf->tx_gather_max < 8)
        conf->tx_gather_max = 0;    /* what an application sends in three pieces is not put together */
    conf->reass_datagrams_max = (tenon_u16)PICK(dice, 0, 1, 4);
    conf->reass_bytes_max = PICK(dice, 0, 70000, 200000);
    conf->neighbour_queue_max = (tenon_u16)PICK(dice, 0, 1, 2);
    if (mood->crowd)
        conf->tcp_conns_max = PICK(dice, 0, 0, 16, 64);
}

static void draw_stack(struct tenon_conf *conf, const struct mood *mood, struct dice *dice)
{
    tenon_conf_default(conf);
    conf->tcp_ooo_bytes_max = 0;
    conf->neighbours_max = 16;
    conf->paths_max = 32;
    conf->tcp_rcv_buf = dice_log(dice, 8192, 1048576);
    conf->tcp_snd_buf = dice_log(dice, 8192, 1048576);
    conf->tcp_resting_max = conf->tcp_snd_buf % 3;    /* no dice: the seeds stay what they were */
    conf->tcp_rto_min_us = PICK(dice, 0, 200000, 1000000, 50000);
    conf->tcp_rto_max_us = PICK(dice, 2000000, 5000000, 10000000, 20000000);
    conf->tcp_delack_us = PICK(dice, 0, 0, 1000, 200000, 499999);
    conf->tcp_msl_ms = PICK(dice, 100, 1000, 5000, 30000);
    conf->tcp_syncookies = 0;    /* draw_opening() */
    if (mood->small_limits)
        draw_limits(conf, mood, dice);
}

static void draw_host(struct plan *plan, const struct mood *mood, unsigned i)
{
    struct dice dice = dice_of(plan, PART_HOST, i), stack = dice_of(plan, PART_STACK, i);
    struct plan_host *host = &plan->host[i];
    struct dice line = dice_of(plan, PART_LINE, i);

    draw_end(plan, &host->end, mood, &dice, i);
    draw_line(&host->end.out, mood, &line, 1);
    draw_line(&host->end.in, mood, &line, 0);
    draw_stack(&host->stack, mood, &stack);
    host->wire.seed = dice_next(&dice);
    host->wire.clock_us = plan->start_us + (dice_percent(&dice, 50) ? dice_next(&dice) >> 30 : 0);
    host->wire.poison = 1;
    if (mood->pool) {
        host->wire.buf_bytes = PICK(&dice, 0, TENON_BUF_BYTES_MIN, 300, 512, 4096);
        host->wire.bufs_max = PICK(&dice, 0, 300, 1000, 3000);
    }
    /* A port that cannot gather needs buffers for a whole packet. */
    if ((host->end.netif.gather_max > 0 || (TENON_WITH_PIECES && !TENON_WITH_LINEAR && host->wire.buf_bytes > 0)) &&
        host->wire.buf_bytes < mood->mtu + 200)
        host->wire.buf_bytes = mood->mtu + 200;
    if (host->stack.tx_gather_max > 0 && host->stack.tx_gather_max < 9 && host->wire.buf_bytes < mood->mtu + 200)
        host->wire.buf_bytes = mood->mtu + 200;
    if (mood->mtu > 9000 && host->wire.buf_bytes < mood->mtu + 200)
        host->wire.buf_bytes = mood->mtu + 200;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void draw_events(struct plan *plan, const struct mood *mood)
{
    struct dice dice = dice_of(plan, PART_EVENT, 0);
    uint64_t budget = 100 * (uint64_t)SECOND;    /* jumps and blackouts together: below every R2 */
    unsigned i;

    if (mood->clean)
        return;
    plan->nevents = dice_below(&dice, 10);
    for (i = 0; i < plan->nevents; i++) {
        struct plan_event *event = &plan->event[i];

        event->kind = (enum plan_event_kind)dice_below(&dice, 6);
        event->host = dice_below(&dice, plan->nhosts);
        event->direction = dice_below(&dice, 2);
        event->port = dice_below(&dice, PLAN_PORTS);
        event->at_us = plan->open_us + dice_next(&dice) % ((plan->heal_us - plan->open_us) * 3 / 4);
        event->lasts_us = dice_log(&dice, 100, 20 * SECOND);
        event->ppm = PICK(&dice, 10000, 100000, 500000, 1000000);
        if (event->kind == EVENT_JUMP)
            event->lasts_us = dice_log(&dice, 1000, 60 * SECOND);
        if (event->kind == EVENT_MEMORY || event->kind == EVENT_BUFFERS)
            event->lasts_us = dice_log(&dice, 1000, 5 * SECOND);
        if (event->kind != EVENT_MEMORY && event->kind != EVENT_BUFFERS && event->kind != EVENT_LISTENER) {
            if (event->lasts_us > budget)
                event->lasts_us = budget;
            budget -= event->lasts_us;
        }
    }
}

/* Another host; there are two at least. */
static unsigned draw_other(const struct plan *plan, unsigned host, struct dice *dice)
{
    const unsigned others = plan->nhosts > 2 ? plan->nhosts - 1 : 1;

    return (host + 1 + dice_below(dice, others)) % plan->nhosts;
}

/* ---- sessions -------------------------------------------------------------------------------- */

static uint32_t draw_bytes(struct dice *dice, const struct mood *mood)
{
    if (dice_percent(dice, 15))
        return 0;
    if (mood->crowd)
        return dice_log(dice, 1, mood->crowd == 2 ? 400 : 4000);
    if (mood->bulk)
        return dice_log(dice, 1000, mood->mtu < 1000 ? 300000 : 1200000);
    return dice_log(dice, 1, 150000);
}

static void draw_side_options(struct plan_side *side, const struct mood *mood, struct dice *dice)
{
    side->nodelay = (uint8_t)dice_percent(dice, 30);
    side->cork = (uint8_t)dice_percent(dice, 5);
    side->no_delack = (uint8_t)dice_percent(dice, 15);
    side->no_timestamps = (uint8_t)dice_percent(dice, 30);
    side->no_sack = (uint8_t)dice_percent(dice, 30);
    side->no_scaling = (uint8_t)dice_percent(dice, 20);
    if (dice_percent(dice, 10))
        side->rcv_buf = dice_log(dice, 512, 40000);
    if (dice_percent(dice, 10))
        side->snd_buf = dice_log(dice, 512, 40000);
    if (dice_percent(dice, 8) && side->bytes < 20000 && !mood->bulk)
        side->mss_max = dice_log(dice, 88, 1400);
    if (dice_percent(dice, 5))
        side->keepalive_s = dice_range(dice, 1, 30);
    if (dice_percent(dice, 10))
        side->msl_ms = dice_log(dice, 10, 3000);
    side->urgent = (uint8_t)dice_percent(dice, 3);
}

static void draw_side(struct plan_side *side, const struct mood *mood, struct dice *dice)
{
    memset(side, 0, sizeof(*side));
    side->bytes = draw_bytes(dice, mood);
    side->chunk_max = dice_log(dice, 1, 20000);
    if (side->chunk_max < side->bytes / 400)
        side->chunk_max = side->bytes / 400 + 1;
    if (dice_percent(dice, 20)) {
        side->gap_us = dice_log(dice, 100, 200000);
        if (side->chunk_max < side->bytes / 50)
            side->chunk_max = side->bytes / 50 + 1;
    }
    side->zero_copy = (uint8_t)dice_percent(dice, 50);
    if (dice_percent(dice, 15)) {
        side->pause_at = dice_log(dice, 1, side->bytes + 20000);
        side->pause_us = dice_log(dice, 1000, 20 * SECOND);
    }
    if (dice_percent(dice, 15))
        side->consume_us = dice_log(dice, 10, 300000);
    side->pieces = (uint8_t)dice_percent(dice, 20);
    if (dice_percent(dice, 8)) {
        side->by_hand = TENON_WITH_HOLD;
        side->ack_us = dice_log(dice, 1, 100000);
    }
    if (dice_percent(dice, 8)) {
        side->hold_fin = TENON_WITH_HOLD;
        side->hold_fin_us = dice_log(dice, 1, 2 * SECOND);
    }
    side->finish = (uint8_t)PICK(dice, FINISH_AFTER_SEND, FINISH_AFTER_SEND, FINISH_AFTER_SEND, FINISH_AFTER_PEER);
    if (dice_percent(dice, 6)) {
        side->finish = dice_percent(dice, 50) ? FINISH_CLOSE : FINISH_ABORT;
        side->finish_at = dice_below(dice, 2 * side->bytes + 10);
    }
    draw_side_options(side, mood, dice);
}

/* With a small buffer on either side there is one buffer of bytes per round trip, or per second (RFC 9293
 * 3.8.6.2.1): not a million bytes in a history that shall end. */
static void fit_to_buffers(const struct plan *plan, struct plan_session *session, unsigned which)
{
    struct plan_side *sender = &session->side[which];
    const struct plan_side *receiver = &session->side[!which];
    const struct tenon_conf *from = &plan->host[which ? session->server : session->client].stack;
    const struct tenon_conf *to = &plan->host[which ? session->client : session->server].stack;
    const uint32_t window = receiver->rcv_buf ? receiver->rcv_buf : to->tcp_rcv_buf;
    const uint32_t queue = sender->snd_buf ? sender->snd_buf : from->tcp_snd_buf;
    const uint32_t least = window < queue ? window : queue;

    if (sender->bytes > 150 * least)
        sender->bytes = 150 * least;
}

static void draw_session(struct plan *plan, const struct mood *mood, unsigned i)
{
    struct dice dice = dice_of(plan, PART_SESSION, i);
    struct plan_session *session = &plan->session[i];

    memset(session, 0, sizeof(*session));
    session->client = dice_below(&dice, plan->nhosts);
    session->server = draw_other(plan, session->client, &dice);
    session->port = dice_below(&dice, PLAN_PORTS);
    session->v6 = (uint8_t)(plan->v6 && (!plan->v4 || dice_percent(&dice, 50)));
    session->at_us =
        plan->open_us +
        (dice_percent(&dice, 30) ? 0 : dice_next(&dice) % ((plan->heal_us - plan->open_us) * 2 / 3));
    session->ephemeral = (uint8_t)dice_percent(&dice, 40);
    session->verdict = TENON_ACCEPT;
    session->then = TENON_ACCEPT;
    if (dice_percent(&dice, 8))
        session->verdict = (uint8_t)PICK(&dice, TENON_REFUSE, TENON_IGNORE, TENON_HOLD, TENON_HOLD, TENON_HOLD);
    if (!TENON_WITH_HOLD && session->verdict == TENON_HOLD)
        session->verdict = TENON_ACCEPT;
    if (dice_percent(&dice, 30))
        session->then = (uint8_t)PICK(&dice, TENON_REFUSE, TENON_IGNORE, TENON_HOLD);    /* HOLD: never decided */
    session->hold_us = dice_log(&dice, 1, 3 * SECOND);
    session->kind = SESSION_NORMAL;
    if (dice_percent(&dice, 25))
        session->kind = (uint8_t)PICK(&dice, SESSION_ECHO, SESSION_ECHO, SESSION_ECHO, SESSION_BOTH_OPEN,
                                      SESSION_BOTH_OPEN, SESSION_CLOSED_PORT, SESSION_NOBODY);
    if (!TENON_WITH_CROSSING && session->kind == SESSION_BOTH_OPEN)
        session->kind = SESSION_NORMAL;
    draw_side(&session->side[0], mood, &dice);
    draw_side(&session->side[1], mood, &dice);
    fit_to_buffers(plan, session, 0);
    fit_to_buffers(plan, session, 1);
    if (session->side[0].finish == FINISH_AFTER_PEER && session->side[1].finish == FINISH_AFTER_PEER)
        session->side[0].finish = FINISH_AFTER_SEND;
    if (session->kind == SESSION_ECHO) {
        session->side[0].finish = FINISH_AFTER_SEND;
        session->side[1].finish = FINISH_AFTER_PEER;
        session->side[1].bytes = session->side[0].bytes;
        fit_to_buffers(plan, session, 1);
        session->side[0].bytes = session->side[1].bytes;
    }
}

static void draw_dgrams(struct plan *plan, const struct mood *mood)
{
    struct dice dice = dice_of(plan, PART_DGRAM, 0);
    unsigned i;

    plan->ndgrams = dice_percent(&dice, 50) ? dice_below(&dice, PLAN_DGRAMS_MAX / 2) : 0;
    if (!TENON_WITH_UDP && !TENON_WITH_PING)
        plan->ndgrams = 0;
    for (i = 0; i < plan->ndgrams; i++) {
        struct plan_dgram *dgram = &plan->dgram[i];

        dgram->from = dice_below(&dice, plan->nhosts);
        dgram->to = draw_other(plan, dgram->from, &dice);
        dgram->at_us = plan->open_us + dice_next(&dice) % (plan->heal_us - plan->open_us);
        dgram->bytes = dice_percent(&dice, 20) ? dice_log(&dice, 1, 60000) : dice_log(&dice, 1, mood->mtu - 60);
        dgram->v6 = (uint8_t)(plan->v6 && (!plan->v4 || dice_percent(&dice, 50)));
        dgram->ping = (dice_percent(&dice, 40) || !TENON_WITH_UDP) && TENON_WITH_PING;
        if (!TENON_WITH_FRAGMENTS && dgram->bytes > mood->mtu - 60)
            dgram->bytes = mood->mtu - 60;
    }
}

/* Servers whose connections begin in another way. */
static void draw_opening(struct plan *plan)
{
    struct dice dice = dice_of(plan, PART_OPENING, 0);
    const int fastopen = dice_percent(&dice, 30), cookies = dice_percent(&dice, 20);
    unsigned i;

    for (i = 0; i < plan->nhosts && (fastopen || cookies); i++) {
        struct plan_host *host = &plan->host[i];

        host->fastopen = (uint8_t)(fastopen && dice_percent(&dice, 80));
        host->stack.tcp_fastopen_pending_max = PICK(&dice, 0, 0, 1, 3);
        host->stack.tcp_fastopen_cache_max = (tenon_u16)PICK(&dice, 0, 0, 1, 2);
        if (!cookies || dice_percent(&dice, 30))
            continue;
        host->stack.tcp_syncookies = (tenon_u8)PICK(&dice, 2, 2, 1);
        host->backlog = host->stack.tcp_syncookies == 1 ? PICK(&dice, 1, 2, 5) : 0;
    }
    for (i = 0; i < plan->nsessions && fastopen; i++) {
        plan->session[i].side[0].fastopen = (uint8_t)dice_percent(&dice, 80);
        plan->session[i].side[1].fastopen = (uint8_t)dice_percent(&dice, 80);    /* of a simultaneous open */
    }
}

/* Lines that take less than the interfaces, from the beginning or from some time on: the way has changed. Below 552
 * routers cut what TCP sends; who looks on (watch.c) would have to put that together, as receivers do. */
static void draw_narrow(struct plan *plan, const struct mood *mood)
{
    const int cut = TENON_WITH_FRAGMENTS && !plan->watch;
    const uint32_t least = plan->v6 ? 1280 : cut ? 296 : 576;
    struct dice dice = dice_of(plan, PART_NARROW, 0);
    unsigned i;

    if (!dice_percent(&dice, 25) || mood->mtu <= least || !(TENON_WITH_PATH_MTU || cut))
        return;
    for (i = 0; i < 2 * plan->nhosts; i++) {
        struct plan_narrow *narrow = &plan->host[i / 2].narrow[i % 2];

        if (dice_percent(&dice, 60))
            continue;
        narrow->mtu = (uint16_t)dice_log(&dice, least, mood->mtu - 1);
        narrow->silent = (uint8_t)dice_percent(&dice, 30);
        if (dice_percent(&dice, 60))
            narrow->at_us = plan->open_us + dice_next(&dice) % (plan->heal_us - plan->open_us);
    }
}

static int event_is_silence(const struct plan_event *event)
{
    return event->kind == EVENT_BLACKOUT || event->kind == EVENT_JUMP || event->kind == EVENT_PAUSE;
}

/* Links that go down, and addresses that a host loses for a time. All is well again ten seconds before the network is:
 * an address that is back may have to be probed. */
static void draw_outages(struct plan *plan, const struct mood *mood)
{
    struct dice dice = dice_of(plan, PART_OUTAGE, 0);
    uint64_t budget = 100 * (uint64_t)SECOND;    /* see draw_events() */
    unsigned i, n;

    if (mood->clean || !dice_percent(&dice, 25))
        return;
    for (i = 0; i < plan->nevents; i++)
        if (event_is_silence(&plan->event[i]))
            budget -= plan->event[i].lasts_us;
    for (n = dice_range(&dice, 1, 4); n > 0; n--) {
        struct plan_event *event = &plan->event[plan->nevents++];

        event->kind = dice_percent(&dice, 60) ? EVENT_LINK : EVENT_ADDRESS;
        event->host = dice_below(&dice, plan->nhosts);
        event->direction = dice_below(&dice, 2);
        event->at_us = plan->open_us + dice_next(&dice) % ((plan->heal_us - plan->open_us) / 2);
        event->lasts_us = dice_log(&dice, 1, (uint32_t)((plan->heal_us - plan->open_us) / 2 - 10 * SECOND + 1));
        if (event->lasts_us > budget)
            event->lasts_us = budget;
        budget -= event->lasts_us;
    }
}

static void draw_intruders(struct plan *plan, const struct mood *mood)
{
    struct dice dice = dice_of(plan, PART_INTRUDER, 0);
    unsigned n;

    if (mood->clean || !dice_percent(&dice, 20))
        return;
    for (n = dice_range(&dice, 1, 3); n > 0; n--) {
        struct plan_event *event = &plan->event[plan->nevents++];

        event->kind = EVENT_INTRUDER;
        event->host = dice_below(&dice, plan->nhosts);
        event->port = dice_below(&dice, PLAN_PORTS);
        event->at_us = plan->open_us + dice_next(&dice) % ((plan->heal_us - plan->open_us) / 2);
        event->lasts_us = dice_log(&dice, 1000, (uint32_t)(plan->heal_us - plan->open_us) / 2);
        event->gap_us = (uint32_t)event->lasts_us / dice_log(&dice, 20, 1000);
    }
}

static void draw_way(struct plan *plan, unsigned i, int one_link, int troubled)
{
    struct dice dice = dice_of(plan, PART_WAY, 1 + i);
    const uint32_t time = (uint32_t)(plan->heal_us - plan->open_us);
    struct plan_way *way = &plan->way[i];
    struct router_conf *conf = &way->conf;
    unsigned arm;

    conf->seed = dice_next(&dice);
    conf->number = i;
    conf->others = plan->nways > 1 ? 2 - i : 0;
    conf->hub[1] = !one_link;
    for (arm = 0; arm < ROUTER_ARMS; arm++) {
        if (plan->v4)
            conf->net[arm][0] = tenon_ip4((tenon_u32)(0x0A000000UL + 256 * arm));
        if (plan->v6)
            conf->net[arm][1] = tenon_ip6(0xFD000000UL, arm, 0, 0);
    }
    if (dice_percent(&dice, 30))
        conf->redirects = dice_range(&dice, 1, 60);
    if (!troubled)
        return;
    if (dice_percent(&dice, 40)) {
        way->dark_at_us = plan->open_us + dice_next(&dice) % (time / 2);
        way->dark_us = dice_log(&dice, 1000, 8 * SECOND);
        way->for_good = (uint8_t)(plan->nways > 1 && i == 0 && dice_percent(&dice, 40));
    }
    if (dice_percent(&dice, 30))
        way->replaced_at_us = plan->open_us + dice_next(&dice) % (time / 2);
}

/* Somebody writes nothing, or reads nothing, for so long that a clock of 32 bits of microseconds comes round once, or
 * half. The last to be drawn. */
static void draw_nap(struct plan *plan)
{
    struct dice dice = dice_of(plan, PART_NAP, 0);
    struct plan_session *session = &plan->session[dice_below(&dice, plan->nsessions)];
    struct plan_side *side = &session->side[dice_below(&dice, 2)];
    const uint32_t us = dice_range(&dice, 2000, 4290) * UINT32_C(1000000);

    if (!dice_percent(&dice, 15) || session->side[0].finish >= FINISH_CLOSE || session->side[1].finish >= FINISH_CLOSE)
        return;
    if (dice_percent(&dice, 30)) {
        side->pause_at = dice_log(&dice, 1, side->bytes + 20000);
        side->pause_us = us;
    } else {
        side->nap_at = dice_percent(&dice, 40) ? side->bytes : dice_below(&dice, side->bytes + 1);
        side->nap_us = us;
    }
}

/* What a line has damaged a router passes on as if it had not been: nobody takes its word. */
static void draw_ways(struct plan *plan, const struct mood *mood)
{
    struct dice dice = dice_of(plan, PART_WAY, 0);
    const int one_link = dice_percent(&dice, 30);
    unsigned i;

    if (!TENON_WITH_ETHERNET || mood->mtu > 1500 || !dice_percent(&dice, 25))
        return;
    plan->nways = TENON_WITH_ROUTES ? dice_range(&dice, 1, PLAN_WAYS_MAX) : 1;
    for (i = 0; i < plan->nways; i++)
        draw_way(plan, i, one_link, !mood->clean);
    for (i = 0; i < plan->nhosts; i++) {
        struct wire_end_conf *end = &plan->host[i].end;

        end->hub = plan->way[0].conf.hub[i % ROUTER_ARMS];
        end->cut = end->complete_checksums = 1;
        end->trust = 0;
    }
}

/* As plan_draw(), but chance is asked only when the given bytes are used up. */
void plan_draw_given(struct plan *plan, uint64_t seed, struct plan_bytes *given)
{
    struct dice dice;
    struct mood mood;
    unsigned i;

    memset(plan, 0, sizeof(*plan));
    plan->seed = seed;
    plan->given = given;
    dice = dice_of(plan, PART_WORLD, 0);
    draw_mood(plan, &mood, &dice);
    if (dice_percent(&dice, 10))
        plan->open_us = 15 * SECOND;    /* probing for duplicate addresses comes first */
    plan->heal_us += plan->open_us;
    if (dice_percent(&dice, 8))
        plan->abrupt_us = plan->open_us + 1 + dice_next(&dice) % (plan->heal_us - plan->open_us);
    for (i = 0; i < plan->nhosts; i++)
        draw_host(plan, &mood, i);
    draw_events(plan, &mood);
    plan->nsessions = mood.crowd == 2 ? dice_range(&dice, 100, PLAN_SESSIONS_MAX)
                      : mood.crowd    ? dice_range(&dice, 10, 120)
                      : mood.bulk     ? dice_range(&dice, 1, 4)
                                      : dice_range(&dice, 1, 16);
    for (i = 0; i < plan->nsessions; i++)
        draw_session(plan, &mood, i);
    draw_dgrams(plan, &mood);
    draw_opening(plan);
    draw_narrow(plan, &mood);
    draw_outages(plan, &mood);
    draw_intruders(plan, &mood);
    draw_ways(plan, &mood);
    draw_nap(plan);
    plan->given = NULL;
}

void plan_draw(struct plan *plan, uint64_t seed)
{
    plan_draw_given(plan, seed, NULL);
}

/* ---- taking away ----------------------------------------------------------------------------- */

static const char *const class_names[CLASS_COUNT] = {
    "loss",    "duplicate", "corrupt", "reorder", "jitter",  "rate",     "refuse", "blackout", "jump",
    "memory",  "pool",      "offload", "pieces",  "windows", "options",  "by-hand", "hold",    "readers",
    "writers", "abort",     "listener", "dgrams", "wrap",    "mtu",      "dad",    "v6",
    "fast-open", "cookies",   "narrow", "outage",  "intruder", "routers",
};

const char *plan_class_name(unsigned class)
{
    return class < CLASS_COUNT ? class_names[class] : "?";
}

static void line_without(struct wire_line_conf *line, unsigned class)
{
    switch (class) {
    case CLASS_LOSS: line->loss_ppm = 0; break;
    case CLASS_DUPLICATE: line->duplicate_ppm = 0; break;
    case CLASS_CORRUPT: line->corrupt_ppm = 0; break;
    case CLASS_REORDER: line->reorder_ppm = 0; break;
    case CLASS_JITTER: line->jitter_us = 0; break;
    case CLASS_REFUSE:
        line->refuse_ppm = 0;
        line->queue_refuses = 0;
        break;
    case CLASS_RATE:
        line->rate = 0;
        line->queue_bytes = line->queue_frames = 0;
        line->delay_us = line->delay_us ? 1000 : 0;
        break;
    default: break;
    }
}

static void host_without(struct plan_host *host, unsigned class)
{
    struct tenon_conf plain;

    line_without(&host->end.out, class);
    line_without(&host->end.in, class);
    switch (class) {
    case CLASS_POOL:
        host->wire.bufs_max = 0;
        if (host->wire.buf_bytes < 2048)
            host->wire.buf_bytes = 0;
        break;
    case CLASS_OFFLOAD:
        host->end.netif.caps = 0;
        host->end.netif.gather_max = 0;
        host->end.netif.tso_bytes_max = 0;
        host->end.trust = host->end.cut = 0;
        break;
    case CLASS_PIECES:
        host->end.split = host->end.pad = 0;
        host->end.copy = !TENON_WITH_SPLIT;
        host->end.coalesce_us = host->end.ring = 0;
        host->end.burst = 0;
        break;
    case CLASS_WINDOWS:
        tenon_conf_default(&plain);
        plain.neighbours_max = host->stack.neighbours_max;
        plain.paths_max = host->stack.paths_max;
        plain.tcp_rto_max_us = host->stack.tcp_rto_max_us;
        plain.tcp_msl_ms = host->stack.tcp_msl_ms;
        plain.tcp_syncookies = host->stack.tcp_syncookies;
        host->stack = plain;
        break;
    case CLASS_WRAP: host->wire.clock_us = 0; break;
    case CLASS_DAD: host->end.netif.flags |= TENON_NETIF_NO_DAD; break;
    case CLASS_FASTOPEN: host->fastopen = 0; break;
    case CLASS_COOKIES: host->stack.tcp_syncookies = 0; break;
    case CLASS_V6: host->end.netif.flags |= TENON_NETIF_NO_IP6; break;
    case CLASS_ROUTERS: host->end.hub = 0; break;
    case CLASS_NARROW: host->narrow[WIRE_OUT].mtu = host->narrow[WIRE_IN].mtu = 0; break;
    case CLASS_MTU:
        host->end.netif.mtu = 1500;
        host->end.netif.tso_bytes_max = 0;
        break;
    default: break;
    }
}

static void side_without(struct plan_side *side, unsigned class)
{
    switch (class) {
    case CLASS_WINDOWS: side->rcv_buf = side->snd_buf = 0; break;
    case CLASS_MTU: side->mss_max = 0; break;
    case CLASS_OPTIONS:
        side->nodelay = side->cork = side->no_delack = side->no_timestamps = side->no_sack = 0;
        side->no_scaling = side->urgent = 0;
        side->keepalive_s = side->msl_ms = 0;
        break;
    case CLASS_FASTOPEN: side->fastopen = 0; break;
    case CLASS_BY_HAND: side->by_hand = side->hold_fin = 0; break;
    case CLASS_READERS:
        side->pause_us = side->consume_us = 0;
        side->pieces = 0;
        break;
    case CLASS_WRITERS:
        side->chunk_max = side->bytes + 1;
        side->gap_us = side->nap_us = 0;
        side->zero_copy = 0;
        break;
    case CLASS_ABORT:
        if (side->finish == FINISH_ABORT || side->finish == FINISH_CLOSE)
            side->finish = FINISH_AFTER_SEND;
        break;
    default: break;
    }
}

static void session_without(struct plan_session *session, unsigned class)
{
    side_without(&session->side[0], class);
    side_without(&session->side[1], class);
    if (class == CLASS_HOLD)
        session->verdict = TENON_ACCEPT;
    if (class == CLASS_V6)
        session->v6 = 0;
}

static void events_without(struct plan *plan, unsigned class)
{
    unsigned i;

    for (i = 0; i < plan->nevents; i++) {
        const enum plan_event_kind kind = plan->event[i].kind;

        if ((class == CLASS_BLACKOUT && kind == EVENT_BLACKOUT)
            || (class == CLASS_JUMP && (kind == EVENT_JUMP || kind == EVENT_PAUSE))
            || (class == CLASS_MEMORY && (kind == EVENT_MEMORY || kind == EVENT_BUFFERS))
            || (class == CLASS_LISTENER && kind == EVENT_LISTENER)
            || (class == CLASS_OUTAGE && (kind == EVENT_LINK || kind == EVENT_ADDRESS))
            || (class == CLASS_INTRUDER && kind == EVENT_INTRUDER))
            plan->event_off[i] = 1;
    }
}

static void plan_without(struct plan *plan, unsigned class)
{
    unsigned i;

    for (i = 0; i < plan->nhosts; i++)
        host_without(&plan->host[i], class);
    for (i = 0; i < plan->nsessions; i++)
        session_without(&plan->session[i], class);
    events_without(plan, class);
    if (class == CLASS_DGRAMS)
        plan->ndgrams = 0;
    if (class == CLASS_ABORT)
        plan->abrupt_us = 0;
    if (class == CLASS_ROUTERS)
        plan->nways = 0;
    for (i = 0; i < plan->ndgrams && class == CLASS_V6; i++)
        plan->dgram[i].v6 = 0;
    if (class == CLASS_V6) {
        plan->v6 = 0;
        plan->v4 = 1;
    }
    if (class == CLASS_WRAP) {
        plan->start_us = 0;
        plan->near_wrap = 0;
    }
}

void plan_apply(struct plan *plan, const struct plan_mods *mods)
{
    unsigned i, k;

    for (i = 0; i < CLASS_COUNT; i++)
        if (mods->class_off[i])
            plan_without(plan, i);
    for (i = 0; i < PLAN_EVENTS_MAX; i++)
        plan->event_off[i] |= mods->event_off[i];
    for (i = 0; i < plan->ndgrams; i++)
        plan->dgram[i].off = mods->dgram_off[i];
    for (i = 0; i < plan->nsessions; i++) {
        struct plan_session *session = &plan->session[i];

        session->off = mods->session_off[i];
        for (k = 0; k < 2; k++)
            if (mods->bytes_max > 0 && session->side[k].bytes > mods->bytes_max)
                session->side[k].bytes = mods->bytes_max;
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write_list(FILE *file, const char *word, const uint8_t *off, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++)
        if (off[i])
            fprintf(file, "%s %u\n", word, i);
}

int plan_mods_write(const struct plan_mods *mods, uint64_t seed, const char *path)
{
    FILE *file = fopen(path, "w");
    unsigned i;

    if (!file)
        return -1;
    fprintf(file, "seed %" PRIu64 "\n", seed);
    for (i = 0; i < CLASS_COUNT; i++)
        if (mods->class_off[i])
            fprintf(file, "without %s\n", class_names[i]);
    write_list(file, "event", mods->event_off, PLAN_EVENTS_MAX);
    write_list(file, "session", mods->session_off, PLAN_SESSIONS_MAX);
    write_list(file, "dgram", mods->dgram_off, PLAN_DGRAMS_MAX);
    if (mods->bytes_max > 0)
        fprintf(file, "bytes %u\n", mods->bytes_max);
    if (mods->fates_only)
        fprintf(file, "fates only\n");
    for (i = 0; i < mods->nfates; i++)
        fprintf(file, "fate %" PRIx64 "\n", mods->fate[i]);
    return fclose(file);
}

static int read_line(struct plan_mods *mods, uint64_t *seed, const char *word, const char *value)
{
    const unsigned long n = strtoul(value, NULL, 10);
    unsigned i;

    if (strcmp(word, "seed") == 0) {
        *seed = strtoull(value, NULL, 10);
    } else if (strcmp(word, "without") == 0) {
        for (i = 0; i < CLASS_COUNT && strcmp(value, class_names[i]) != 0; i++)
            ;
        if (i == CLASS_COUNT)
            return -1;
        mods->class_off[i] = 1;
    } else if (strcmp(word, "event") == 0 && n < PLAN_EVENTS_MAX) {
        mods->event_off[n] = 1;
    } else if (strcmp(word, "session") == 0 && n < PLAN_SESSIONS_MAX) {
        mods->session_off[n] = 1;
    } else if (strcmp(word, "dgram") == 0 && n < PLAN_DGRAMS_MAX) {
        mods->dgram_off[n] = 1;
    } else if (strcmp(word, "bytes") == 0) {
        mods->bytes_max = (uint32_t)n;
    } else if (strcmp(word, "fates") == 0) {
        mods->fates_only = 1;
    } else if (strcmp(word, "fate") == 0 && mods->nfates < PLAN_FATES_MAX) {
        mods->fate[mods->nfates++] = strtoull(value, NULL, 16);
    } else {
        return -1;
    }
    return 0;
}

int plan_mods_read(struct plan_mods *mods, uint64_t *seed, const char *path)
{
    FILE *file = fopen(path, "r");
    char word[32], value[64];
    int result = 0, fields;

    memset(mods, 0, sizeof(*mods));
    if (!file)
        return -1;
    while (result == 0 && (fields = fscanf(file, "%31s %63s", word, value)) == 2)
        result = read_line(mods, seed, word, value);
    if (ferror(file))
        result = -1;
    fclose(file);
    return result;
}

/* ---- printing -------------------------------------------------------------------------------- */

static void print_line(const char *name, const struct wire_line_conf *line, const struct plan_narrow *narrow)
{
    printf("    %s: %" PRIu64 " B/s, %u us + %u, queue %u B %u frames%s", name, line->rate, line->delay_us,
           line->jitter_us, line->queue_bytes, line->queue_frames, line->queue_refuses ? " (refuses)" : "");
    printf("; ppm: loss %u duplicate %u corrupt %u reorder %u (%u us) refuse %u\n", line->loss_ppm,
           line->duplicate_ppm, line->corrupt_ppm, line->reorder_ppm, line->reorder_us, line->refuse_ppm);
    if (narrow->mtu > 0)
        printf("         packets of %u bytes at most, from %.6f s on%s\n", narrow->mtu, (double)narrow->at_us / 1e6,
               narrow->silent ? ", and nobody is told" : "");
}

static void print_host(const struct plan *plan, unsigned i)
{
    const struct plan_host *host = &plan->host[i];
    const struct tenon_conf *conf = &host->stack;

    printf("  host %u: mtu %u, caps %u, gather %u, tso %u, flags %u, cut %u, complete %u, trust %u\n", i,
           host->end.netif.mtu, host->end.netif.caps, host->end.netif.gather_max, host->end.netif.tso_bytes_max,
           host->end.netif.flags, host->end.cut, host->end.complete_checksums, host->end.trust);
    printf("    copy %u, split %u, pad %u, burst %u, coalesce %u us, ring %u; "
           "buffers of %u, at most %u; clock %" PRIu64 "\n",
           host->end.copy, host->end.split, host->end.pad, host->end.burst, host->end.coalesce_us, host->end.ring,
           host->wire.buf_bytes, host->wire.bufs_max, host->wire.clock_us);
    printf("    rcv_buf %u, snd_buf %u, ooo %u B %u ranges, rto %u..%u, delack %u, msl %u ms, conns %u, "
           "time-waits %u, resting %u, burst %u, gather %u\n",
           conf->tcp_rcv_buf, conf->tcp_snd_buf, conf->tcp_ooo_bytes_max, conf->tcp_ooo_ranges_max,
           conf->tcp_rto_min_us, conf->tcp_rto_max_us, conf->tcp_delack_us, conf->tcp_msl_ms, conf->tcp_conns_max,
           conf->tcp_time_wait_max, conf->tcp_resting_max, conf->tx_burst_max, conf->tx_gather_max);
    if (host->fastopen || conf->tcp_syncookies)
        printf("    fast open %u (pending %u, cache %u), cookies %u, backlog %u\n", host->fastopen,
               conf->tcp_fastopen_pending_max, conf->tcp_fastopen_cache_max, conf->tcp_syncookies, host->backlog);
    print_line("out", &host->end.out, &host->narrow[WIRE_OUT]);
    print_line("in ", &host->end.in, &host->narrow[WIRE_IN]);
}

static void print_side(const struct plan_side *side, const char *name)
{
    static const char *const finish[] = {"after send", "after peer", "close", "abort"};

    printf("    %s: %u bytes, chunks to %u, gap %u us%s; finish %s", name, side->bytes, side->chunk_max, side->gap_us,
           side->zero_copy ? ", zero copy" : "", finish[side->finish]);
    if (side->finish == FINISH_ABORT)
        printf(" at %u", side->finish_at);
    if (side->pause_us)
        printf("; reader pauses at %u for %u us", side->pause_at, side->pause_us);
    if (side->nap_us)
        printf("; writer naps at %u for %u us", side->nap_at, side->nap_us);
    if (side->consume_us)
        printf("; consumes %u us later", side->consume_us);
    printf("%s%s", side->pieces ? "; in pieces" : "", side->urgent ? "; urgent" : "");
    if (side->by_hand)
        printf("; acknowledges by hand %u us later", side->ack_us);
    if (side->hold_fin)
        printf("; holds FIN %u us", side->hold_fin_us);
    printf("%s%s%s%s%s%s%s", side->fastopen ? "; fast open" : "", side->nodelay ? "; nodelay" : "",
           side->cork ? "; cork" : "", side->no_delack ? "; no delack" : "",
           side->no_timestamps ? "; no timestamps" : "", side->no_sack ? "; no sack" : "",
           side->no_scaling ? "; no scaling" : "");
    if (side->rcv_buf || side->snd_buf || side->mss_max || side->keepalive_s || side->msl_ms)
        printf("; rcv_buf %u snd_buf %u mss %u keepalive %u msl %u", side->rcv_buf, side->snd_buf, side->mss_max,
               side->keepalive_s, side->msl_ms);
    printf("\n");
}

static void print_session(const struct plan_session *session, unsigned i)
{
    static const char *const kinds[] = {"normal", "echo", "both open", "closed port", "nobody there"};
    static const char *const verdicts[] = {"accept", "refuse", "hold", "ignore"};

    printf("  session %u: %s, host %u -> host %u port %u, IPv%d, at %.6f s, %s", i, kinds[session->kind],
           session->client, session->server, session->port, session->v6 ? 6 : 4, (double)session->at_us / 1e6,
           verdicts[session->verdict]);
    if (session->verdict == TENON_HOLD)
        printf(" for %u us, then %s", session->hold_us, verdicts[session->then]);
    printf("\n");
    print_side(&session->side[0], "client");
    print_side(&session->side[1], "server");
}

void plan_print(const struct plan *plan)
{
    static const char *const kinds[] = {"blackout", "jump",     "pause", "memory",
                                        "buffers",  "listener", "link",  "address",
                                        "intruder"};
    unsigned i;

    printf("seed %" PRIu64 ": %u hosts, %s, start %" PRIu64 " us, heals after %.3f s%s\n", plan->seed, plan->nhosts,
           plan->flood ? "flooding hub" : "switch", plan->start_us, (double)plan->heal_us / 1e6,
           plan->near_wrap ? ", sequence numbers near their wrap" : "");
    if (plan->abrupt_us)
        printf("  all instances end after %.6f s\n", (double)plan->abrupt_us / 1e6);
    for (i = 0; i < plan->nhosts; i++)
        print_host(plan, i);
    for (i = 0; i < plan->nways; i++) {
        const struct plan_way *way = &plan->way[i];

        printf("  router %u%s: dark at %.6f s for %.6f s%s, replaced at %.6f s, a redirect for %u packets\n", i,
               way->conf.hub[1] == 0 ? " on one link" : "", (double)way->dark_at_us / 1e6, (double)way->dark_us / 1e6,
               way->for_good ? " and for ever" : "", (double)way->replaced_at_us / 1e6, way->conf.redirects);
    }
    for (i = 0; i < plan->nevents; i++) {
        const struct plan_event *event = &plan->event[i];

        if (!plan->event_off[i])
            printf("  event %u: %s, host %u, at %.6f s for %.6f s (direction %u, port %u, %u ppm, gap %u us)\n", i,
                   kinds[event->kind], event->host, (double)event->at_us / 1e6, (double)event->lasts_us / 1e6,
                   event->direction, event->port, event->ppm, event->gap_us);
    }
    for (i = 0; i < plan->nsessions; i++)
        if (!plan->session[i].off)
            print_session(&plan->session[i], i);
    for (i = 0; i < plan->ndgrams; i++)
        if (!plan->dgram[i].off)
            printf("  dgram %u: %s, host %u -> host %u, IPv%d, %u bytes, at %.6f s\n", i,
                   plan->dgram[i].ping ? "ping" : "udp", plan->dgram[i].from, plan->dgram[i].to,
                   plan->dgram[i].v6 ? 6 : 4, plan->dgram[i].bytes, (double)plan->dgram[i].at_us / 1e6);
}
