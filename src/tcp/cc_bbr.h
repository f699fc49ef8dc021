/* SPDX-License-Identifier: MIT */
/* What BBR keeps of a connection: the words behind the first TENON_CC_WORDS. The names are those of
 * draft-ietf-ccwg-bbr 2. */
#ifndef TN_TCP_CC_BBR_H
#define TN_TCP_CC_BBR_H

#include <tenon/tcp.h>

enum tn_bbr_state {
    TN_BBR_STARTUP,
    TN_BBR_DRAIN,
    TN_BBR_DOWN,
    TN_BBR_CRUISE,
    TN_BBR_REFILL,
    TN_BBR_UP,
    TN_BBR_PROBE_RTT,
    TN_BBR_NO_STATE
};

/* What the ACKs that arrive now tell about (2.13). */
enum tn_bbr_acks {
    TN_BBR_ACKS_INIT,
    TN_BBR_ACKS_REFILLING,
    TN_BBR_ACKS_STARTING,
    TN_BBR_ACKS_FEEDBACK,
    TN_BBR_ACKS_STOPPING
};

#define TN_BBR_INFINITE 0xFFFFFFFFUL
enum { TN_BBR_EXTRA_ROUNDS = 10 };

struct tn_bbr {
    tenon_rate max_bw[2];              /* the largest sample of this cycle of ProbeBW, and of the one before */
    tenon_rate bw;                     /* what the model allows now */
    tenon_rate bw_shortterm, bw_latest, full_bw;
    tenon_u32 min_rtt_us, min_rtt_stamp_us;
    tenon_u32 inflight_longterm, inflight_shortterm, inflight_latest;
    tenon_u32 round_count, next_round_delivered, loss_round_delivered, rounds_since_probe_up, drain_start_round;
    tenon_u32 recent_lost, recent_delivered;    /* of the last rounds, the older the less */
    tenon_u32 cycle_stamp_us, bw_probe_wait_us;
    tenon_u32 probe_up_acked, probe_up_acked_per_inc;
    tenon_u32 probe_rtt_cwnd, probe_rtt_begin_us;
    tenon_u32 initial_cwnd, prior_cwnd;
    tenon_rate undo_bw_shortterm;
    tenon_u32 undo_inflight_shortterm, undo_inflight_longterm;
    tenon_u32 limited_until;           /* samples of before this much was delivered were limited by ProbeRTT */
    tenon_u32 extra_start_us, extra_delivered, extra_others;
    tenon_u32 extra[TN_BBR_EXTRA_ROUNDS]; /* the largest excess of each round; extra_others: of all but the
                                             present one */
    tenon_u8 state, acks, undo_state;
    tenon_u8 full_bw_count, probe_up_rounds, losses_in_round;
    tenon_u8 full_bw_reached, full_bw_now;
    tenon_u8 round_start, loss_round_start, is_loss_in_round;
    tenon_u8 is_bw_probe_sample, prev_probe_too_high, prev_probe_precautionary;
    tenon_u8 probe_rtt_waits, probe_rtt_round_done, min_rtt_expired;
    tenon_u8 idle_restart, is_limited, in_loss_episode, in_fast_recovery;
    tenon_u8 window_used, window_was_used;    /* the window was full in this round, and in the last one */
    tenon_u8 has_rtt;
};

#endif
