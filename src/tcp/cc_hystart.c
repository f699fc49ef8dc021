/* SPDX-License-Identifier: MIT */
/* HyStart++ (RFC 9406), for congestion controls whose first slow start is to end before the queue overflows. */
#include "tcp/cc.h"
#include "tcp/tcp_internal.h"

/* The words, as long as ssthresh is not set. */
enum {
    HYSTART_LEFT,        /* bytes to be acknowledged until the round is over */
    HYSTART_LAST,        /* lowest round-trip time of the last round, microseconds */
    HYSTART_CURRENT,     /* and of this one */
    HYSTART_BASELINE,    /* when conservative slow start began; HYSTART_NO_RTT: it did not */
    HYSTART_SAMPLES,     /* in this round */
    HYSTART_CSS_ROUNDS,  /* of conservative slow start */
    HYSTART_PHASE = TENON_CC_PHASE_WORD
};

enum { HYSTART_THRESH_MIN_US = 4000, HYSTART_THRESH_MAX_US = 16000, HYSTART_DIVISOR = 8, HYSTART_SAMPLES_MIN = 8 };
enum { HYSTART_CSS_GROWTH_DIVISOR = 4, HYSTART_CSS_ROUNDS_MAX = 5, HYSTART_LIMIT = 8 };

#define HYSTART_NO_RTT 0xFFFFFFFFUL

TENON_INTERNAL void tn_hystart_begin(struct tenon_cc *cc)
{
    cc->words[HYSTART_LEFT] = 0;
    cc->words[HYSTART_LAST] = HYSTART_NO_RTT;
    cc->words[HYSTART_CURRENT] = HYSTART_NO_RTT;
    cc->words[HYSTART_BASELINE] = HYSTART_NO_RTT;
    cc->words[HYSTART_SAMPLES] = 0;
    cc->words[HYSTART_CSS_ROUNDS] = 0;
    cc->words[HYSTART_PHASE] = TENON_TRACE_PHASE_SLOW_START;
}

/* RFC 9406 4.2: the round-trip time rose against the last round: conservative slow start. It fell again: back. */
static void hystart_look(struct tenon_cc *cc)
{
    const tenon_u32 last = cc->words[HYSTART_LAST], current = cc->words[HYSTART_CURRENT];
    tenon_u32 thresh;

    if (cc->words[HYSTART_SAMPLES] < HYSTART_SAMPLES_MIN || last == HYSTART_NO_RTT)
        return;
    if (cc->words[HYSTART_BASELINE] != HYSTART_NO_RTT) {
        if (current >= cc->words[HYSTART_BASELINE])
            return;
        cc->words[HYSTART_BASELINE] = HYSTART_NO_RTT;
        cc->words[HYSTART_PHASE] = TENON_TRACE_PHASE_SLOW_START;
        return;
    }
    thresh = tn_max(HYSTART_THRESH_MIN_US, tn_min(last / HYSTART_DIVISOR, HYSTART_THRESH_MAX_US));
    if (current < last || current - last < thresh)
        return;
    cc->words[HYSTART_BASELINE] = current;
    cc->words[HYSTART_CSS_ROUNDS] = 0;
    cc->words[HYSTART_PHASE] = TENON_TRACE_PHASE_CONSERVATIVE;
}

/* A round ends when all that was in flight at its begin is acknowledged.
 * @return 1: it was the last one of conservative slow start */
static int hystart_round(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    cc->words[HYSTART_LEFT] -= tn_min(cc->words[HYSTART_LEFT], event->acked);
    if (cc->words[HYSTART_LEFT] > 0)
        return 0;
    cc->words[HYSTART_LEFT] = event->in_flight - tn_min(event->in_flight, event->acked);
    cc->words[HYSTART_LAST] = cc->words[HYSTART_CURRENT];
    cc->words[HYSTART_CURRENT] = HYSTART_NO_RTT;
    cc->words[HYSTART_SAMPLES] = 0;
    if (cc->words[HYSTART_BASELINE] == HYSTART_NO_RTT)
        return 0;
    return ++cc->words[HYSTART_CSS_ROUNDS] >= HYSTART_CSS_ROUNDS_MAX;
}

TENON_INTERNAL int tn_hystart_acked(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 limit = (tenon_u32)HYSTART_LIMIT * event->mss;
    tenon_u32 growth = event->paced ? event->acked : tn_min(event->acked, limit);    /* RFC 9406 4.3: L */

    if (event->rtt_us != 0) {
        cc->words[HYSTART_CURRENT] = tn_min(cc->words[HYSTART_CURRENT], event->rtt_us);
        cc->words[HYSTART_SAMPLES]++;
        hystart_look(cc);
    }
    if (cc->words[HYSTART_BASELINE] != HYSTART_NO_RTT)
        growth /= HYSTART_CSS_GROWTH_DIVISOR;
    if (!event->limited)
        tn_cc_grow(cc, growth);
    if (!hystart_round(cc, event))
        return 0;
    cc->ssthresh = cc->cwnd;
    return 1;
}
