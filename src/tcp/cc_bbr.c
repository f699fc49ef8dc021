/* SPDX-License-Identifier: MIT */
/* BBR version 3 (draft-ietf-ccwg-bbr): it measures what the path delivers and how long it takes, sends at that rate,
 * and keeps about that much in flight. Section numbers are the draft's; its names of variables are kept.
 *
 * Rates are bytes per 65536 us (tenon_rate), volumes bytes, gains thousandths. Everything happens in
 * bbr_delivered(), once per ACK: first the model of the path, then the state machine, then pacing and window. */
#include "tcp/cc_bbr.h"

#include "tcp/cc.h"
#include "tcp/tcp_internal.h"

enum {
    BBR_LOSS_PER = 50,
    BBR_LOSS_FORGIVEN = 2,
    BBR_FORGIVEN_PER = 25,
    BBR_LONG_QUEUE = 1500,
    BBR_BETA = 700,
    BBR_HEADROOM = 150,
    BBR_MARGIN = 990
}; /* 2 % is one in 50, 4 % one in 25 */
enum {
    BBR_FULL_ROUNDS = 3,
    BBR_FULL_GROWTH = 1250,
    BBR_STARTUP_LOSSES = 6,
    BBR_DRAIN_ROUNDS = 3,
    BBR_RECENT_ROUNDS = 8
};
enum { BBR_MIN_PIPE = 4, BBR_RENO_ROUNDS = 63, BBR_UP_ROUNDS_MAX = 30 };    /* segments; rounds */
#define BBR_MIN_RTT_US 10000000UL
#define BBR_PROBE_RTT_US 200000UL
#define BBR_PROBE_WAIT_US 2000000UL
#define BBR_PROBE_WAIT_MORE_US 1000000UL
#define BBR_QUANTUM_MAX 65536UL
#define BBR_LEAST_US 1000000UL

/* 5.6.1: pacing and window of each state. */
static const struct {
    tenon_u16 pacing, cwnd;
} bbr_gains[] = {{2770, 2000}, {500, 2000}, {900, 2000}, {1000, 2000}, {1000, 2000}, {1250, 2250}, {1000, 500}};

/* One event: what all steps of it look at. */
struct bbr_step {
    struct tenon_cc *cc;
    struct tn_bbr *b;
    const struct tenon_cc_event *event;
    struct tenon_rate_sample rs;
};

static void bbr_step_begin(struct bbr_step *s, struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    s->cc = cc;
    s->b = (struct tn_bbr *)(cc->words + TENON_CC_WORDS);
    s->event = event;
    s->rs = event->sample;
}

/* ---- volumes (5.6.4.2) ----------------------------------------------------------------------------------------- */

static tenon_u32 bbr_sum(tenon_u32 a, tenon_u32 b)
{
    return a > TN_BBR_INFINITE - b ? TN_BBR_INFINITE : a + b;
}

static tenon_rate bbr_max_bw(const struct tn_bbr *b)
{
    return tn_max(b->max_bw[0], b->max_bw[1]);
}

static tenon_u32 bbr_bdp(const struct tn_bbr *b, tenon_rate bw, tenon_u32 gain)
{
    if (b->min_rtt_us == TN_BBR_INFINITE)
        return b->initial_cwnd;
    return tn_cc_scale(tn_cc_volume(bw, b->min_rtt_us), gain);
}

static tenon_u32 bbr_min_pipe(const struct bbr_step *s)
{
    return (tenon_u32)BBR_MIN_PIPE * s->event->mss;
}

/* 5.6.3, 5.5.7: three times what leaves in a millisecond, but no less than what makes a pipeline. */
static tenon_u32 bbr_quantized(const struct bbr_step *s, tenon_u32 volume)
{
    const tenon_u32 quantum = tn_min(tn_cc_volume(s->cc->pacing, 1000), BBR_QUANTUM_MAX);

    volume = tn_max(volume, 3 * tn_max(quantum, 2UL * s->event->mss));
    volume = tn_max(volume, bbr_min_pipe(s));
    return s->b->state == TN_BBR_UP ? bbr_sum(volume, 2UL * s->event->mss) : volume;
}

static tenon_u32 bbr_inflight(const struct bbr_step *s, tenon_rate bw)
{
    return bbr_quantized(s, bbr_bdp(s->b, bw, 1000));
}

/* 5.3.3.6: room for others in the queue. */
static tenon_u32 bbr_inflight_with_headroom(const struct bbr_step *s)
{
    const tenon_u32 longterm = s->b->inflight_longterm;
    tenon_u32 headroom;

    if (longterm == TN_BBR_INFINITE)
        return TN_BBR_INFINITE;
    headroom = tn_max(tn_cc_scale(longterm, BBR_HEADROOM), s->event->mss);
    return tn_max(longterm - tn_min(longterm, headroom), bbr_min_pipe(s));
}

static tenon_u32 bbr_target_inflight(const struct bbr_step *s)
{
    return tn_min(bbr_bdp(s->b, s->b->bw, 1000), s->cc->cwnd);
}

/* What was in flight before this ACK: a window is full with less than a segment of room. */
static tenon_u32 bbr_prior_inflight(const struct bbr_step *s)
{
    const tenon_u32 most = 1UL << TN_CC_CWND_MAX_SHIFT;

    return tn_min(s->event->pipe, most) + tn_min(s->event->delivered, most) + tn_min(s->event->lost, most);
}

static int bbr_window_is_used(const struct tn_bbr *b)
{
    return b->window_used || b->window_was_used;
}

/* ---- states (5.3) ---------------------------------------------------------------------------------------------- */

/* For the trace, whose phases have the order of our states. */
static void bbr_tell_phase(struct bbr_step *s)
{
    s->cc->words[TENON_CC_PHASE_WORD] = (tenon_u32)TENON_TRACE_PHASE_STARTUP + s->b->state;
}

static int bbr_probes_bw(const struct tn_bbr *b)
{
    return b->state == TN_BBR_STARTUP || b->state == TN_BBR_REFILL || b->state == TN_BBR_UP;
}

static int bbr_in_probe_bw(const struct tn_bbr *b)
{
    return b->state >= TN_BBR_DOWN && b->state <= TN_BBR_UP;
}

static void bbr_start_round(struct bbr_step *s)
{
    s->b->next_round_delivered = s->event->total_delivered;
}

static void bbr_reset_full_bw(struct tn_bbr *b, tenon_rate full_bw)
{
    b->full_bw = full_bw;
    b->full_bw_count = 0;
    b->full_bw_now = 0;
}

static void bbr_reset_short_term(struct tn_bbr *b)
{
    b->bw_shortterm = TN_BBR_INFINITE;
    b->inflight_shortterm = TN_BBR_INFINITE;
}

static void bbr_enter_drain(struct tn_bbr *b)
{
    b->state = TN_BBR_DRAIN;
    b->drain_start_round = b->round_count;
}

/* 5.3.3.5: the time to the next probe, by clock and, where Reno would be as fast, by rounds. */
static void bbr_pick_probe_wait(struct bbr_step *s)
{
    s->b->rounds_since_probe_up = s->event->random & 1;
    s->b->bw_probe_wait_us = BBR_PROBE_WAIT_US + tn_cc_mul_high(s->event->random, BBR_PROBE_WAIT_MORE_US);
}

static void bbr_start_down(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    b->is_loss_in_round = 0;
    b->recent_lost = 0;
    b->bw_latest = 0;
    b->inflight_latest = 0;
    b->probe_up_acked_per_inc = TN_BBR_INFINITE;
    bbr_pick_probe_wait(s);
    b->cycle_stamp_us = s->event->now_us;
    b->acks = TN_BBR_ACKS_STOPPING;
    bbr_start_round(s);
    b->state = TN_BBR_DOWN;
}

static void bbr_start_refill(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    bbr_reset_short_term(b);
    b->probe_up_rounds = 0;
    b->probe_up_acked = 0;
    b->prev_probe_precautionary = 0;
    b->acks = TN_BBR_ACKS_REFILLING;
    bbr_start_round(s);
    b->state = TN_BBR_REFILL;
}

/* The bound grows by 1, 2, 4, ... segments per round. */
static void bbr_raise_slope(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    b->probe_up_acked_per_inc = tn_max(s->cc->cwnd >> b->probe_up_rounds, s->event->mss);
    if (b->probe_up_rounds < BBR_UP_ROUNDS_MAX)
        b->probe_up_rounds++;
}

static void bbr_start_up(struct bbr_step *s)
{
    s->b->acks = TN_BBR_ACKS_STARTING;
    bbr_start_round(s);
    bbr_reset_full_bw(s->b, s->rs.rate);
    s->b->state = TN_BBR_UP;
    bbr_raise_slope(s);
}

/* ---- loss (5.5.10) --------------------------------------------------------------------------------------------- */

/* 5.6.4.4: the last window that neither recovery nor ProbeRTT has touched. */
static void bbr_save_cwnd(struct bbr_step *s)
{
    if (s->b->in_loss_episode || s->b->state == TN_BBR_PROBE_RTT)
        s->b->prior_cwnd = tn_max(s->b->prior_cwnd, s->cc->cwnd);
    else
        s->b->prior_cwnd = s->cc->cwnd;
}

static void bbr_restore_cwnd(struct bbr_step *s)
{
    s->cc->cwnd = tn_max(s->cc->cwnd, s->b->prior_cwnd);
}

/* 5.5.11.1: at the first loss of an episode, whichever call tells of it. */
static void bbr_save_upon_loss(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    bbr_save_cwnd(s);
    if (b->in_loss_episode)
        return;
    b->in_loss_episode = 1;
    b->undo_state = TN_BBR_NO_STATE;
    b->undo_bw_shortterm = b->bw_shortterm;
    b->undo_inflight_shortterm = b->inflight_shortterm;
    b->undo_inflight_longterm = b->inflight_longterm;
}

static void bbr_note_loss(struct bbr_step *s)
{
    if (!s->b->is_loss_in_round)
        s->b->loss_round_delivered = s->event->total_delivered;
    bbr_save_upon_loss(s);
    s->b->is_loss_in_round = 1;
}

/* The queue is longer than half of the pipe: it is about to be full, and others wait in it. */
static int bbr_is_queue_long(const struct bbr_step *s)
{
    return s->event->srtt_us > tn_cc_scale(s->b->min_rtt_us, BBR_LONG_QUEUE);
}

/* More than 2 % of what was sent, or without SACK, which shows one loss of a round trip, any. The draft
 * judges each window by itself, and in one of 50 segments a second loss is too much: with 1 % of losses by
 * chance, which it means to bear, most probes would end so. Two segments are forgiven, but no more than 4 %,
 * because in a window of ten a loss is the queue's answer to the probe; and none where the queue is long. */
static int bbr_is_loss_high(const struct bbr_step *s, tenon_u32 lost, tenon_u32 sent)
{
    tenon_u32 forgiven = tn_min(sent / BBR_FORGIVEN_PER, BBR_LOSS_FORGIVEN * (tenon_u32)s->event->mss);

    if (!s->event->sack)
        return lost > 0;
    if (bbr_is_queue_long(s))
        forgiven = 0;
    return lost > bbr_sum(sent / BBR_LOSS_PER, forgiven);
}

static int bbr_is_inflight_too_high(const struct bbr_step *s)
{
    return bbr_is_loss_high(s, s->rs.lost, s->rs.tx_in_flight);
}

static void bbr_handle_inflight_too_high(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    b->prev_probe_too_high = 1;
    b->is_bw_probe_sample = 0;    /* one answer per probe */
    if (!s->rs.app_limited)
        b->inflight_longterm = tn_max(s->rs.tx_in_flight, tn_cc_scale(bbr_target_inflight(s), BBR_BETA));
    if (b->state == TN_BBR_UP) {
        b->undo_state = TN_BBR_UP;
        bbr_start_down(s);
    }
}

/* What was in flight when the losses came to 2 % of it, within a stretch of `size` bytes:
 * lost_prev + x = (inflight_prev + x) / 50, and so x = (inflight_prev - 50 lost_prev) / 49. */
static tenon_u32 bbr_inflight_at_loss(const struct tenon_rate_sample *rs, tenon_u32 size)
{
    const tenon_u32 inflight_prev = rs->tx_in_flight - tn_min(size, rs->tx_in_flight);
    const tenon_u32 lost_prev = rs->lost - tn_min(size, rs->lost);

    if (lost_prev >= inflight_prev / BBR_LOSS_PER)
        return inflight_prev;
    return inflight_prev + tn_min((inflight_prev - BBR_LOSS_PER * lost_prev) / (BBR_LOSS_PER - 1), size);
}

static void bbr_take_loss(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;
    const tenon_u32 in_flight = s->rs.tx_in_flight;

    bbr_note_loss(s);
    b->recent_lost = bbr_sum(b->recent_lost, s->event->lost);
    if (b->losses_in_round < 255)
        b->losses_in_round++;
    if (!b->is_bw_probe_sample || !bbr_is_inflight_too_high(s))
        return;
    s->rs.tx_in_flight = bbr_inflight_at_loss(&s->rs, s->event->lost);
    bbr_handle_inflight_too_high(s);
    s->rs.tx_in_flight = in_flight;
}

static void bbr_lost_bytes(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    struct bbr_step s;

    bbr_step_begin(&s, cc, event);
    bbr_take_loss(&s);
}

/* 5.3.1.3: the queue is full, whatever the rate says. */
static void bbr_leave_startup_by_loss(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    b->undo_state = TN_BBR_STARTUP;
    b->full_bw_reached = 1;
    b->full_bw_now = 1;
    b->inflight_longterm = tn_max(bbr_bdp(b, b->bw, 1000), b->inflight_latest);
    bbr_enter_drain(b);
}

static void bbr_check_startup_high_loss(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;
    const int losses = b->losses_in_round;

    if (!b->loss_round_start)
        return;
    b->losses_in_round = 0;
    if (b->state != TN_BBR_STARTUP || b->full_bw_reached || !b->in_fast_recovery)
        return;
    if (losses >= (s->event->sack ? BBR_STARTUP_LOSSES : 1) && bbr_is_inflight_too_high(s))
        bbr_leave_startup_by_loss(s);
}

/* ---- the model, ACK by ACK (5.2.3) ----------------------------------------------------------------------------- */

static void bbr_update_latest(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    b->loss_round_start = 0;
    b->bw_latest = tn_max(b->bw_latest, s->rs.rate);
    b->inflight_latest = tn_max(b->inflight_latest, s->rs.delivered);
    if (s->rs.delivered == 0 || tn_seq_lt(s->rs.prior_delivered, b->loss_round_delivered))
        return;
    b->loss_round_delivered = s->event->total_delivered;
    b->loss_round_start = 1;
}

/* The excess of the round that begins counts for itself; of those before it the largest is kept. */
static void bbr_extra_round(struct tn_bbr *b)
{
    unsigned i;

    b->extra[b->round_count % TN_BBR_EXTRA_ROUNDS] = 0;
    b->extra_others = 0;
    if (!b->full_bw_reached) {    /* 5.5.9: one round */
        b->extra_others = b->extra[(b->round_count + TN_BBR_EXTRA_ROUNDS - 1) % TN_BBR_EXTRA_ROUNDS];
        return;
    }
    for (i = 0; i < TN_BBR_EXTRA_ROUNDS; i++)
        b->extra_others = tn_max(b->extra_others, b->extra[i]);
}

/* 5.5.1. A round is over when something is delivered that left after its begin. */
static void bbr_update_round(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    b->round_start = 0;
    if (s->rs.delivered == 0 || tn_seq_lt(s->rs.prior_delivered, b->next_round_delivered))
        return;
    bbr_start_round(s);
    b->round_count++;
    b->rounds_since_probe_up++;
    b->round_start = 1;
    b->window_was_used = b->window_used;
    b->window_used = 0;
    b->recent_lost -= b->recent_lost / BBR_RECENT_ROUNDS;
    b->recent_delivered -= b->recent_delivered / BBR_RECENT_ROUNDS;
    bbr_extra_round(b);
}

/* 5.5.5 */
static void bbr_update_max_bw(struct bbr_step *s)
{
    if (s->rs.rate >= bbr_max_bw(s->b) || !s->rs.app_limited)
        s->b->max_bw[0] = tn_max(s->b->max_bw[0], s->rs.rate);
}

/* Once per round: outside of probing, losses mean that there is less room than before. Not so, where the queue is
 * short, the few that a probe would bear: each round with one would take its share off the rate, until the next
 * probe finds that nothing has changed. */
static void bbr_adapt_lower_bounds(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    if (bbr_probes_bw(b) || !b->is_loss_in_round)
        return;
    if (!bbr_is_queue_long(s) && !bbr_is_loss_high(s, b->recent_lost, b->recent_delivered))
        return;
    if (b->bw_shortterm == TN_BBR_INFINITE)
        b->bw_shortterm = bbr_max_bw(b);
    if (b->inflight_shortterm == TN_BBR_INFINITE)
        b->inflight_shortterm = s->cc->cwnd;
    b->bw_shortterm = tn_max(b->bw_latest, tn_cc_scale(b->bw_shortterm, BBR_BETA));
    b->inflight_shortterm = tn_max(b->inflight_latest, tn_cc_scale(b->inflight_shortterm, BBR_BETA));
}

static void bbr_update_congestion(struct bbr_step *s)
{
    bbr_update_round(s);
    bbr_update_max_bw(s);
    if (!s->b->loss_round_start)
        return;
    bbr_adapt_lower_bounds(s);
    s->b->is_loss_in_round = 0;
}

/* 5.5.9: what is acknowledged beyond what the rate explains came in a lump; the window must bridge the gaps. */
static void bbr_update_extra_acked(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;
    tenon_u32 *round = &b->extra[b->round_count % TN_BBR_EXTRA_ROUNDS];
    tenon_u32 expected = tn_cc_volume(b->bw, s->event->now_us - b->extra_start_us);

    if (b->extra_delivered <= expected) {
        b->extra_delivered = 0;
        b->extra_start_us = s->event->now_us;
        expected = 0;
    }
    b->extra_delivered = bbr_sum(b->extra_delivered, s->event->delivered);
    *round = tn_max(*round, tn_min(b->extra_delivered - expected, s->cc->cwnd));
}

/* 5.3.1.2: three rounds in which sending faster did not help by a quarter. */
static void bbr_check_full_bw(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    if (b->full_bw_now || !b->round_start || s->rs.app_limited || s->rs.rate == 0)
        return;
    if (s->rs.rate >= tn_cc_scale(b->full_bw, BBR_FULL_GROWTH)) {
        bbr_reset_full_bw(b, s->rs.rate);
        return;
    }
    if (++b->full_bw_count < BBR_FULL_ROUNDS)
        return;
    b->full_bw_now = 1;
    b->full_bw_reached = 1;
}

static void bbr_check_startup_done(struct bbr_step *s)
{
    bbr_check_startup_high_loss(s);
    if (s->b->state == TN_BBR_STARTUP && s->b->full_bw_reached)
        bbr_enter_drain(s->b);
}

/* 5.3.2: the queue is gone, or the estimate too high. */
static void bbr_check_drain_done(struct bbr_step *s)
{
    const struct tn_bbr *b = s->b;

    if (b->state != TN_BBR_DRAIN)
        return;
    if (s->event->pipe <= bbr_inflight(s, b->bw) || b->round_count - b->drain_start_round > BBR_DRAIN_ROUNDS)
        bbr_start_down(s);
}

/* ---- ProbeBW (5.3.3.6) ----------------------------------------------------------------------------------------- */

static int bbr_is_time_to_probe(const struct bbr_step *s)
{
    const struct tn_bbr *b = s->b;
    const tenon_u32 reno_rounds = tn_max(bbr_target_inflight(s) / s->event->mss, BBR_MIN_PIPE);

    return s->event->now_us - b->cycle_stamp_us > b->bw_probe_wait_us
           || b->rounds_since_probe_up >= tn_min(reno_rounds, BBR_RENO_ROUNDS);
}

static int bbr_is_time_to_cruise(const struct bbr_step *s)
{
    return s->event->pipe <= bbr_inflight_with_headroom(s) && s->event->pipe <= bbr_inflight(s, bbr_max_bw(s->b));
}

static int bbr_is_time_to_go_down(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    if (b->prev_probe_too_high && bbr_prior_inflight(s) + s->event->mss > b->inflight_longterm) {
        b->prev_probe_precautionary = 1;
        return 1;
    }
    if (bbr_window_is_used(b) && s->cc->cwnd >= b->inflight_longterm) {
        bbr_reset_full_bw(b, s->rs.rate);    /* it is the bound that limits, not the path */
        return 0;
    }
    return b->full_bw_now;
}

static void bbr_raise_longterm(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    if (!bbr_window_is_used(b) || s->cc->cwnd < b->inflight_longterm)
        return;
    b->probe_up_acked = bbr_sum(b->probe_up_acked, s->event->delivered);
    b->inflight_longterm =
        bbr_sum(b->inflight_longterm, b->probe_up_acked / b->probe_up_acked_per_inc * s->event->mss);
    b->probe_up_acked %= b->probe_up_acked_per_inc;
    if (b->round_start)
        bbr_raise_slope(s);
}

/* One round after a probe its last samples are in: the cycle of max_bw is over.
 * @return 1: probe again at once, because the last probe stopped only to be careful (5.3.3.4.2) */
static int bbr_end_of_probe_acks(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    b->is_bw_probe_sample = 0;
    b->acks = TN_BBR_ACKS_INIT;
    if (!bbr_in_probe_bw(b))
        return 0;
    if (!s->rs.app_limited && b->max_bw[0] != 0) {
        b->max_bw[1] = b->max_bw[0];
        b->max_bw[0] = 0;
    }
    return b->prev_probe_precautionary && !b->prev_probe_too_high;
}

/* @return 1: the state has changed */
static int bbr_adapt_long_term(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    if (b->acks == TN_BBR_ACKS_STARTING && b->round_start)
        b->acks = TN_BBR_ACKS_FEEDBACK;
    if (b->acks == TN_BBR_ACKS_STOPPING && b->round_start && bbr_end_of_probe_acks(s)) {
        bbr_start_refill(s);
        return 1;
    }
    if (s->rs.delivered == 0 || bbr_is_inflight_too_high(s) || b->inflight_longterm == TN_BBR_INFINITE)
        return 0;
    b->inflight_longterm = tn_max(b->inflight_longterm, s->rs.tx_in_flight);
    if (b->state == TN_BBR_UP)
        bbr_raise_longterm(s);
    return 0;
}

static void bbr_update_probe_bw(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    if (!b->full_bw_reached || bbr_adapt_long_term(s))
        return;
    if (b->state == TN_BBR_DOWN || b->state == TN_BBR_CRUISE) {
        if (bbr_is_time_to_probe(s))
            bbr_start_refill(s);
        else if (b->state == TN_BBR_DOWN && bbr_is_time_to_cruise(s))
            b->state = TN_BBR_CRUISE;
    } else if (b->state == TN_BBR_REFILL && b->round_start) {
        b->is_bw_probe_sample = 1;
        bbr_start_up(s);
    } else if (b->state == TN_BBR_UP && bbr_is_time_to_go_down(s)) {
        b->prev_probe_too_high = 0;
        bbr_start_down(s);
    }
}

/* ---- the round-trip time (5.3.4.3) ----------------------------------------------------------------------------- */

/* What ProbeRTT keeps in flight is computed before a sample with the queue in it replaces the old one. */
static void bbr_update_min_rtt(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    b->min_rtt_expired = s->event->now_us - b->min_rtt_stamp_us > BBR_MIN_RTT_US;
    if (b->min_rtt_expired && b->state != TN_BBR_PROBE_RTT)
        b->probe_rtt_cwnd = tn_max(bbr_bdp(b, b->bw, bbr_gains[TN_BBR_PROBE_RTT].cwnd), bbr_min_pipe(s));
    if (s->event->rtt_us == 0 || (s->event->rtt_us >= b->min_rtt_us && !b->min_rtt_expired))
        return;
    b->min_rtt_us = s->event->rtt_us;
    b->min_rtt_stamp_us = s->event->now_us;
}

static void bbr_check_probe_rtt_done(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    /* Since its begin, not until its end: that lies ahead again after a silence of 36 minutes. */
    if (!b->probe_rtt_waits || s->event->now_us - b->probe_rtt_begin_us <= BBR_PROBE_RTT_US)
        return;
    b->min_rtt_stamp_us = s->event->now_us;
    bbr_restore_cwnd(s);
    bbr_reset_short_term(b);
    if (!b->full_bw_reached) {
        b->state = TN_BBR_STARTUP;
        return;
    }
    bbr_start_down(s);
    b->state = TN_BBR_CRUISE;    /* there is no queue to be drained */
}

static void bbr_handle_probe_rtt(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    b->is_limited = 1;
    b->limited_until = s->event->total_delivered + s->event->pipe;
    if (!b->probe_rtt_waits) {
        if (s->event->pipe > b->probe_rtt_cwnd)
            return;
        b->probe_rtt_waits = 1;
        b->probe_rtt_begin_us = s->event->now_us;
        b->probe_rtt_round_done = 0;
        bbr_start_round(s);
        return;
    }
    if (b->round_start)
        b->probe_rtt_round_done = 1;
    if (b->probe_rtt_round_done)
        bbr_check_probe_rtt_done(s);
}

static void bbr_check_probe_rtt(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    if (b->state != TN_BBR_PROBE_RTT && b->min_rtt_expired && !b->idle_restart) {
        bbr_save_cwnd(s);
        b->state = TN_BBR_PROBE_RTT;
        b->probe_rtt_waits = 0;
        b->acks = TN_BBR_ACKS_STOPPING;
        bbr_start_round(s);
    }
    if (b->state == TN_BBR_PROBE_RTT)
        bbr_handle_probe_rtt(s);
    if (s->event->delivered > 0)
        b->idle_restart = 0;
}

/* ---- pacing and window (5.6) ----------------------------------------------------------------------------------- */

/* The smallest window in a second, or in a round trip if that is longer: no more than the window lets leave anyway. Who
 * sends single bytes measures next to nothing, and would wait for minutes once there is more to send. */
static tenon_rate bbr_least_pacing(const struct bbr_step *s)
{
    return tn_max(tn_cc_rate(bbr_min_pipe(s), tn_max(s->event->srtt_us, BBR_LEAST_US)), 1);
}

static void bbr_set_pacing(struct bbr_step *s, tenon_u32 gain)
{
    const tenon_rate rate = tn_cc_scale(tn_cc_scale(s->b->bw, gain), BBR_MARGIN);

    if (s->b->full_bw_reached || rate > s->cc->pacing)
        s->cc->pacing = tn_max(rate, bbr_least_pacing(s));
}

/* 5.6.2: before anything is measured. Once more when the first round trip is known, if the handshake had none. */
static void bbr_init_pacing(struct bbr_step *s)
{
    s->b->has_rtt = s->event->srtt_us != 0;
    s->cc->pacing = tn_cc_rate(s->b->initial_cwnd, s->b->has_rtt ? s->event->srtt_us : 1000);
    s->cc->pacing = tn_max(tn_cc_scale(s->cc->pacing, bbr_gains[TN_BBR_STARTUP].pacing), 1);
}

static tenon_u32 bbr_cap(const struct bbr_step *s)
{
    const struct tn_bbr *b = s->b;
    tenon_u32 cap = TN_BBR_INFINITE;

    if (b->state == TN_BBR_CRUISE || b->state == TN_BBR_PROBE_RTT)
        cap = bbr_inflight_with_headroom(s);
    else if (bbr_in_probe_bw(b))
        cap = b->inflight_longterm;
    if (b->state == TN_BBR_PROBE_RTT)
        cap = tn_min(cap, b->probe_rtt_cwnd);
    return tn_max(tn_min(cap, b->inflight_shortterm), bbr_min_pipe(s));
}

/* 5.6.4.6, 5.6.4.7: towards what the model says, by no more than what was delivered. */
static void bbr_set_cwnd(struct bbr_step *s)
{
    const struct tn_bbr *b = s->b;
    const tenon_u32 extra = tn_max(b->extra_others, b->extra[b->round_count % TN_BBR_EXTRA_ROUNDS]);
    const tenon_u32 most = bbr_quantized(s, bbr_sum(bbr_bdp(b, b->bw, bbr_gains[b->state].cwnd), extra));
    tenon_u32 cwnd = s->cc->cwnd;

    if (b->full_bw_reached)
        cwnd = tn_min(bbr_sum(cwnd, s->event->delivered), most);
    else if (cwnd < most || s->event->total_delivered < b->initial_cwnd)
        cwnd = bbr_sum(cwnd, s->event->delivered);
    cwnd = tn_min(tn_max(cwnd, bbr_min_pipe(s)), bbr_cap(s));
    s->cc->cwnd = tn_min(cwnd, 1UL << TN_CC_CWND_MAX_SHIFT);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* A sample is one of an application that had no more to send, or of our own silence in ProbeRTT. */
static void bbr_judge_sample(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;
    const struct tenon_cc_event *event = s->event;

    if (bbr_prior_inflight(s) + event->mss > s->cc->cwnd)
        b->window_used = 1;
    if (!b->is_limited || s->rs.delivered == 0)
        return;
    if (tn_seq_gt(s->rs.prior_delivered, b->limited_until))
        b->is_limited = 0;
    else
        s->rs.app_limited = 1;
}

static void bbr_update_model(struct bbr_step *s)
{
    struct tn_bbr *b = s->b;

    b->recent_delivered = bbr_sum(b->recent_delivered, s->event->delivered);
    bbr_update_latest(s);
    bbr_update_congestion(s);
    bbr_update_extra_acked(s);
    bbr_check_full_bw(s);
    bbr_check_startup_done(s);
    bbr_check_drain_done(s);
    bbr_update_probe_bw(s);
    bbr_update_min_rtt(s);
    bbr_check_probe_rtt(s);
    if (b->loss_round_start) {
        b->bw_latest = s->rs.rate;
        b->inflight_latest = s->rs.delivered;
    }
    b->bw = tn_min(bbr_max_bw(b), b->bw_shortterm);
}

static void bbr_delivered(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    struct bbr_step s;

    bbr_step_begin(&s, cc, event);
    if (s.b->in_loss_episode && event->in_recovery == 0) {
        s.b->in_loss_episode = 0;
        bbr_restore_cwnd(&s);
    }
    if (!s.b->has_rtt && event->srtt_us != 0)
        bbr_init_pacing(&s);
    bbr_judge_sample(&s);
    if (!event->sack && event->lost > 0)
        bbr_take_loss(&s);    /* nobody knows of which sending: this ACK's has to do */
    bbr_update_model(&s);
    s.b->in_fast_recovery = event->in_recovery == 1;    /* the ACK that ends it still belongs to it */
    bbr_set_pacing(&s, bbr_gains[s.b->state].pacing);
    bbr_set_cwnd(&s);
    bbr_tell_phase(&s);
}

/* 5.2.1 */
static void bbr_init(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    struct bbr_step s;
    struct tn_bbr *b;

    tenon_cc_newreno.init(cc, event);
    bbr_step_begin(&s, cc, event);
    b = s.b;
    memset(b, 0, sizeof(*b));
    b->min_rtt_us = event->srtt_us != 0 ? event->srtt_us : TN_BBR_INFINITE;
    b->min_rtt_stamp_us = event->now_us;
    b->initial_cwnd = cc->cwnd;
    b->probe_rtt_cwnd = cc->cwnd;
    b->inflight_longterm = TN_BBR_INFINITE;
    b->probe_up_acked_per_inc = TN_BBR_INFINITE;
    b->extra_start_us = event->now_us;
    b->next_round_delivered = event->total_delivered;
    b->loss_round_delivered = event->total_delivered;
    b->state = TN_BBR_STARTUP;
    b->undo_state = TN_BBR_NO_STATE;
    bbr_reset_short_term(b);
    bbr_init_pacing(&s);
    bbr_tell_phase(&s);
}

static void bbr_acked(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    (void)cc;    /* bbr_delivered() comes with the same ACK */
    (void)event;
}

static void bbr_lost(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    struct bbr_step s;

    bbr_step_begin(&s, cc, event);
    bbr_save_upon_loss(&s);
    s.b->in_fast_recovery = 1;
}

static void bbr_recovered(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    struct bbr_step s;

    bbr_step_begin(&s, cc, event);
    s.b->in_loss_episode = 0;
    bbr_restore_cwnd(&s);
}

/* 5.6.4.4 */
static void bbr_rto(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    struct bbr_step s;

    bbr_step_begin(&s, cc, event);
    bbr_save_upon_loss(&s);
    cc->cwnd = tn_min(event->pipe, 1UL << (TN_CC_CWND_MAX_SHIFT - 1)) + event->mss;
}

static void bbr_idle(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    (void)cc;    /* 5.4: the window stays, because what is sent is paced */
    (void)event;
}

/* 5.4.1 */
static void bbr_restart(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    struct bbr_step s;

    if (event->in_recovery)
        return;
    bbr_step_begin(&s, cc, event);
    s.b->idle_restart = 1;
    s.b->extra_start_us = event->now_us;
    s.b->extra_delivered = 0;
    if (bbr_in_probe_bw(s.b))
        bbr_set_pacing(&s, 1000);
    else if (s.b->state == TN_BBR_PROBE_RTT)
        bbr_check_probe_rtt_done(&s);
}

/* The draft says nothing about marks; RFC 3168 6.1.2 asks for the answer that a loss would get. */
static void bbr_ecn(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    struct bbr_step s;

    bbr_step_begin(&s, cc, event);
    bbr_note_loss(&s);
    s.rs.tx_in_flight = event->pipe;
    s.rs.app_limited = 0;
    if (s.b->is_bw_probe_sample)
        bbr_handle_inflight_too_high(&s);
    else if (s.b->state == TN_BBR_STARTUP)
        bbr_leave_startup_by_loss(&s);
}

/* 5.5.11.2 */
static void bbr_undo(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    struct bbr_step s;
    struct tn_bbr *b;

    bbr_step_begin(&s, cc, event);
    b = s.b;
    bbr_restore_cwnd(&s);
    b->is_loss_in_round = 0;
    bbr_reset_full_bw(b, 0);
    b->bw_shortterm = tn_max(b->bw_shortterm, b->undo_bw_shortterm);
    b->inflight_shortterm = tn_max(b->inflight_shortterm, b->undo_inflight_shortterm);
    b->inflight_longterm = tn_max(b->inflight_longterm, b->undo_inflight_longterm);
    if (b->undo_state == TN_BBR_STARTUP && b->state != TN_BBR_STARTUP) {
        b->full_bw_reached = 0;
        if (b->state != TN_BBR_PROBE_RTT)
            b->state = TN_BBR_STARTUP;
    } else if (b->undo_state == TN_BBR_UP && b->state != TN_BBR_UP && b->state != TN_BBR_PROBE_RTT) {
        bbr_start_refill(&s);
    }
    b->undo_state = TN_BBR_NO_STATE;
    bbr_tell_phase(&s);
}

static const char bbr_name[] = "bbr";

const struct tenon_cc_ops tenon_cc_bbr = {
    bbr_name,
    bbr_init,
    bbr_acked,
    bbr_lost,
    bbr_recovered,
    bbr_rto,
    bbr_idle,
    TENON_CC_PACES | TENON_CC_OWN_RECOVERY,
    (sizeof(struct tn_bbr) + sizeof(tenon_u32) - 1) / sizeof(tenon_u32),
    bbr_delivered,
    bbr_lost_bytes,
    bbr_restart,
    bbr_ecn,
    bbr_undo,
};
