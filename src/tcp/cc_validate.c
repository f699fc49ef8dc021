/* SPDX-License-Identifier: MIT */
/* Congestion window validation (RFC 7661). */
#include "tcp/cc_validate.h"

#include "core.h"

enum { CWV_PERIOD_MS = 1000, CWV_ROUNDS = 3 };
#define CWV_PHASE_MS 300000UL    /* 4.4.3: five minutes */

TENON_INTERNAL void tn_cwv_init(struct tn_cwv *cwv)
{
    if (!TENON_WITH_RECOVERY)
        return;
    memset(cwv, 0, sizeof(*cwv));
}

/* A third of the sampling period, max(3 RTT, 1 s). With the present one four of them are kept: a sample counts for a
 * period at least, and for four thirds of it at most. */
static tenon_u32 cwv_slot_ms(const struct tn_cwv_now *now)
{
    return tn_max(now->srtt_us / 1000, CWV_PERIOD_MS / CWV_ROUNDS);
}

/* Samples move on with time. @return 1: they have */
static int cwv_turn(struct tn_cwv *cwv, const struct tn_cwv_now *now)
{
    const tenon_u32 slot = cwv_slot_ms(now);
    tenon_u32 turns;

    if (now->ms - cwv->slot_ms < slot)
        return 0;
    turns = (now->ms - cwv->slot_ms) / slot;
    if (turns >= TN_CWV_SLOTS) {
        memset(cwv->acked, 0, sizeof(cwv->acked));
        cwv->slot_ms = now->ms;
        return 1;
    }
    for (; turns > 0; turns--) {
        memmove(&cwv->acked[1], &cwv->acked[0], (TN_CWV_SLOTS - 1) * sizeof(cwv->acked[0]));
        cwv->acked[0] = 0;
        cwv->slot_ms += slot;
    }
    return 1;
}

static tenon_u32 cwv_pipe_ack(struct tn_cwv *cwv, const struct tn_cwv_now *now)
{
    tenon_u32 most = 0;
    unsigned i;

    (void)cwv_turn(cwv, now);
    for (i = 0; i < TN_CWV_SLOTS; i++)
        most = tn_max(most, cwv->acked[i]);
    return most;
}

static void cwv_begin_round(struct tn_cwv *cwv, tenon_u32 cwnd, const struct tn_cwv_now *now)
{
    cwv->round_us = now->us;
    cwv->round_acked = 0;
    cwv->round_cwnd = cwnd;
}

/* 4.2. A sample is what arrives within a round trip of the first ACK that counts for it: the ACKs of a burst belong
 * together, however long the silence before it was. */
TENON_INTERNAL int tn_cwv_acked(struct tn_cwv *cwv, tenon_u32 bytes, tenon_u32 cwnd, const struct tn_cwv_now *now)
{
    int turned;

    if (!TENON_WITH_RECOVERY)
        return 0;
    if (!cwv->known) {
        cwv->known = 1;
        cwv->slot_ms = now->ms;
        cwv_begin_round(cwv, cwnd, now);
    } else if (now->us - cwv->round_us >= now->srtt_us) {
        cwv_begin_round(cwv, cwnd, now);
    }
    cwv->round_acked += tn_min(bytes, 0xFFFFFFFFUL - cwv->round_acked);
    turned = cwv_turn(cwv, now);
    cwv->acked[0] = tn_max(cwv->acked[0], cwv->round_acked);
    return turned;
}

/* A phase that nobody has looked at since began when the newest sample expired, which may be long ago. */
static tenon_u32 cwv_idle_since(const struct tn_cwv *cwv, const struct tn_cwv_now *now)
{
    const tenon_u32 quiet = now->ms - cwv->slot_ms, kept = TN_CWV_SLOTS * cwv_slot_ms(now);

    return quiet > kept ? cwv->slot_ms + kept : now->ms;
}

/* 4.3: half of the window, because one that doubles is twice of what was acknowledged. The window of the round's begin
 * counts: what it has grown by since cannot have been acknowledged yet. */
TENON_INTERNAL int tn_cwv_is_validated(struct tn_cwv *cwv, tenon_u32 cwnd, const struct tn_cwv_now *now)
{
    const tenon_u32 since = cwv_idle_since(cwv, now);

    if (!cwv->known || cwv_pipe_ack(cwv, now) >= tn_min(cwnd, cwv->round_cwnd) / 2) {
        cwv->is_idle = 0;
        return 1;
    }
    if (!cwv->is_idle) {
        cwv->is_idle = 1;
        cwv->idle_ms = since;
    }
    return 0;
}

TENON_INTERNAL int tn_cwv_age(struct tn_cwv *cwv, struct tenon_cc *cc, tenon_u32 initial, const struct tn_cwv_now *now)
{
    int changed = 0;

    while (!tn_cwv_is_validated(cwv, cc->cwnd, now) && now->ms - cwv->idle_ms >= CWV_PHASE_MS) {
        cwv->idle_ms += CWV_PHASE_MS;
        if (cc->cwnd <= initial)
            continue;
        cc->ssthresh = tn_max(cc->ssthresh, cc->cwnd / 4 * 3);
        cc->cwnd = tn_max(cc->cwnd / 2, initial);
        changed = 1;
    }
    return changed;
}

/* 4.4.1: what was in flight is the better measure where it is more than pipeACK. */
TENON_INTERNAL tenon_u32 tn_cwv_lost(struct tn_cwv *cwv, tenon_u32 cwnd, tenon_u32 in_flight,
                                     const struct tn_cwv_now *now)
{
    if (!TENON_WITH_RECOVERY)
        return 0xFFFFFFFFUL;
    cwv->loss_flight = 0;
    if (tn_cwv_is_validated(cwv, cwnd, now))
        return 0xFFFFFFFFUL;
    cwv->loss_flight = tn_max(tn_max(cwv_pipe_ack(cwv, now), in_flight), 1);
    return cwv->loss_flight / 2;
}

TENON_INTERNAL tenon_u32 tn_cwv_recovered(struct tn_cwv *cwv, tenon_u32 resent)
{
    const tenon_u32 flight = cwv->loss_flight;

    if (!TENON_WITH_RECOVERY)
        return 0xFFFFFFFFUL;
    tn_cwv_init(cwv);
    return flight == 0 ? 0xFFFFFFFFUL : (flight - tn_min(flight, resent)) / 2;
}
