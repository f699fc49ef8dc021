/* SPDX-License-Identifier: MIT */
/* What holds for every congestion control, whatever else it does: it has an answer to a loss and to a timeout, its
 * window stays between one segment and 2^30 bytes, and nothing of what it is told can make it divide by 0. */
#include "harness.h"

static const char *const names[] = { "newreno", "cubic", "highspeed", "dctcp", "bbr" };
enum { NAMES_REQUIRED = 3, CWND_MAX_SHIFT = 30 };

struct flow {
    struct tenon_cc cc;
    struct tenon_cc_event event;
    tenon_u32 words[TENON_CC_WORDS + 256];
};

/* A flow of the table `name`. @return 0: there is none of that name */
static int flow_begin(struct flow *flow, const char *name, unsigned mss)
{
    memset(flow, 0, sizeof *flow);
    flow->cc.ops = tenon_cc_find(name);
    if (flow->cc.ops == NULL)
        return 0;
    HN_CHECK(TENON_CC_WORDS + flow->cc.ops->more_words <= TENON_ARRAY_LEN(flow->words));
    hn_row = name;
    flow->cc.words = flow->words;
    flow->event.mss = (tenon_u16)mss;
    flow->event.min_rtt_us = 0xFFFFFFFFU;
    flow->cc.ops->init(&flow->cc, &flow->event);
    return 1;
}

static int flow_sane(const struct flow *flow)
{
    return flow->cc.cwnd >= flow->event.mss && flow->cc.cwnd <= 1UL << CWND_MAX_SHIFT;
}

/* Data in flight for a second, at a round-trip time of 50 ms. */
static void flow_run(struct flow *flow)
{
    struct tenon_cc_event *event = &flow->event;

    event->srtt_us = event->min_rtt_us = event->rtt_us = 50000;
    for (unsigned n = 0; n < 200; n++) {
        event->now_us += 5000;
        event->in_flight = event->pipe = flow->cc.cwnd;
        event->acked = event->delivered = flow->cc.cwnd / 10;
        event->snd_una += event->acked;
        event->snd_nxt = event->snd_una + event->in_flight;
        event->total_delivered += event->acked;
        flow->cc.ops->acked(&flow->cc, event);
        if (flow->cc.ops->delivered != NULL)
            flow->cc.ops->delivered(&flow->cc, event);
    }
}

/* RFC 5033, RFC 8961 4: a loss takes something away, a timeout more. */
static void every_table_answers_loss(void)
{
    for (size_t i = 0; i < TENON_ARRAY_LEN(names); i++) {
        struct flow flow;
        tenon_u32 before;

        if (!flow_begin(&flow, names[i], 1000)) {
            HN_CHECK(i >= NAMES_REQUIRED);
            continue;
        }
        if (flow.cc.ops->flags & TENON_CC_OWN_RECOVERY)
            continue;    /* it decides by rate and volume: tests of its own */
        flow_run(&flow);
        before = flow.cc.cwnd;
        flow.event.in_flight = before;
        flow.cc.ops->lost(&flow.cc, &flow.event);
        HN_CHECK(flow.cc.ssthresh < before && flow.cc.ssthresh >= 2000);
        flow.cc.ops->recovered(&flow.cc, &flow.event);
        HN_CHECK(flow.cc.cwnd < before && flow_sane(&flow));
        before = flow.cc.cwnd;
        flow.event.in_flight = before;
        flow.cc.ops->rto(&flow.cc, &flow.event);
        HN_EQUAL(flow.cc.cwnd, 1000);
        HN_CHECK(flow.cc.ssthresh < before);
    }
}

/* Every event with every field 0, or as large as it can be, in an order made by chance. */
static void every_table_any_event(void)
{
    static const tenon_u32 values[] = { 0, 1, 1000, 1U << 20, 1U << CWND_MAX_SHIFT };

    for (size_t i = 0; i < TENON_ARRAY_LEN(names); i++) {
        struct flow flow;
        tenon_u32 seed = 1;

        if (!flow_begin(&flow, names[i], 536))
            continue;
        for (unsigned n = 0; n < 50000 && flow_sane(&flow); n++) {
            struct tenon_cc_event *event = &flow.event;

            seed = seed * 1664525U + 1013904223U;
            event->now_us += values[seed >> 8 & 3];
            event->acked = values[(seed >> 10) % 5];
            event->in_flight = values[(seed >> 13) % 5];
            event->delivered = values[(seed >> 16) % 5];
            event->pipe = values[(seed >> 19) % 5];
            event->srtt_us = values[(seed >> 22) % 5];
            event->rtt_us = values[(seed >> 25) % 5];
            event->limited = seed >> 28 & 1;
            event->repeated = seed >> 29 & 1;
            switch ((seed >> 5) % 6) {
            case 0: flow.cc.ops->lost(&flow.cc, event); break;
            case 1: flow.cc.ops->recovered(&flow.cc, event); break;
            case 2: flow.cc.ops->rto(&flow.cc, event); break;
            case 3: flow.cc.ops->idle(&flow.cc, event); break;
            default: flow.cc.ops->acked(&flow.cc, event); break;
            }
        }
        HN_CHECK(flow_sane(&flow));
    }
}

/* RFC 9438 4.2: however far ahead the curve is, a window of ACKs opens the window by half at most. */
static void cubic_target_is_bounded(void)
{
    struct flow flow;
    tenon_u32 before;

    flow_begin(&flow, "cubic", 1000);
    flow_run(&flow);
    flow.event.in_flight = flow.cc.cwnd;
    flow.cc.ops->lost(&flow.cc, &flow.event);
    flow.cc.ops->recovered(&flow.cc, &flow.event);
    flow.event.srtt_us = 100000000;    /* so that 200 s count as time in which the window was used */
    flow.event.now_us += 200000000;
    before = flow.event.acked = flow.event.in_flight = flow.cc.cwnd;
    flow.cc.ops->acked(&flow.cc, &flow.event);
    HN_CHECK(flow.cc.cwnd <= before + before / 2 && flow.cc.cwnd >= before + before / 2 - 1000);
}

/* RFC 8257 1: DCTCP beside other traffic takes more than its share; it runs only where somebody asks for it. */
static void dctcp_is_asked_for(void)
{
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    HN_CHECK(conf.tcp_cc != NULL && !(conf.tcp_cc->flags & TENON_CC_DCTCP));
    HN_CHECK(tenon_cc_find("dctcp") == NULL || (tenon_cc_find("dctcp")->flags & TENON_CC_DCTCP));
}

static const struct hn_test tests[] = {
    { "every_table_answers_loss", "CC-GEN-4", every_table_answers_loss },
    { "every_table_any_event", "CC-GEN-2 CC-GEN-6", every_table_any_event },
    { "cubic_target_is_bounded", "CUBIC-2", cubic_target_is_bounded },
    { "dctcp_is_asked_for", "DC-1", dctcp_is_asked_for },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
