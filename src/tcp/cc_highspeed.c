/* SPDX-License-Identifier: MIT */
/* HighSpeed TCP (RFC 3649), with HyStart++ (RFC 9406) in the first slow start. RFC 3649 6 wants limited slow start (RFC
 * 3742) there, which takes hundreds of round trips to fill the paths that HighSpeed TCP is made for. The words, after
 * those of HyStart++:
 * [0] the rest of what was acknowledged or divided: increments of less than a byte add up. */
#include "tcp/cc.h"
#include "tcp/tcp_internal.h"

struct highspeed_row {
    tenon_u32 segments;    /* a window of so many and more ... */
    tenon_u8 decrease;     /* ... loses so many 256ths of itself, and grows by the row's number, from 1, in segments */
};

/* RFC 3649 appendix B: the windows at which a(w) reaches the next whole number. b(w) by RFC 3649 5 in 256ths; the
 * appendix has it with two digits. */
static const struct highspeed_row highspeed_rows[] = {
    {38UL, 128}, {118UL, 113}, {221UL, 105}, {347UL, 99}, {495UL, 94}, {663UL, 90}, {851UL, 87},
    {1058UL, 84}, {1284UL, 81}, {1529UL, 79}, {1793UL, 77}, {2076UL, 75}, {2378UL, 73}, {2699UL, 71},
    {3039UL, 70}, {3399UL, 68}, {3778UL, 67}, {4177UL, 65}, {4596UL, 64}, {5036UL, 63}, {5497UL, 62},
    {5979UL, 61}, {6483UL, 60}, {7009UL, 59}, {7558UL, 58}, {8130UL, 57}, {8726UL, 56}, {9346UL, 55},
    {9991UL, 54}, {10661UL, 53}, {11358UL, 52}, {12082UL, 51}, {12834UL, 50}, {13614UL, 50}, {14424UL, 49},
    {15265UL, 48}, {16137UL, 47}, {17042UL, 47}, {17981UL, 46}, {18955UL, 45}, {19965UL, 45}, {21013UL, 44},
    {22101UL, 43}, {23230UL, 43}, {24402UL, 42}, {25618UL, 41}, {26881UL, 41}, {28193UL, 40}, {29557UL, 39},
    {30975UL, 39}, {32450UL, 38}, {33986UL, 37}, {35586UL, 37}, {37253UL, 36}, {38992UL, 36}, {40808UL, 35},
    {42707UL, 34}, {44694UL, 34}, {46776UL, 33}, {48961UL, 33}, {51258UL, 32}, {53677UL, 31}, {56230UL, 31},
    {58932UL, 30}, {61799UL, 30}, {64851UL, 29}, {68113UL, 28}, {71617UL, 28}, {75401UL, 27}, {79517UL, 26},
    {84035UL, 25}, {89053UL, 25}, {94717UL, 24}
};

/* The row of a window; below 38 segments the first one, which is Reno. */
static tenon_u32 highspeed_row_of(tenon_u32 bytes, tenon_u32 mss)
{
    const tenon_u32 segments = bytes / mss;
    tenon_u32 low = 0, high = TENON_ARRAY_LEN(highspeed_rows);

    while (high - low > 1) {
        const tenon_u32 middle = (low + high) / 2;

        if (highspeed_rows[middle].segments <= segments)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void highspeed_init(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_cc_newreno.init(cc, event);
    cc->words[0] = 0;
    if (cc->ssthresh == TN_CC_NO_SSTHRESH)
        tn_hystart_begin(cc);
}

/* RFC 3649 5: a(w) segments per window. */
static void highspeed_acked(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_u32 per_window;

    if (cc->ssthresh == TN_CC_NO_SSTHRESH) {
        if (tn_hystart_acked(cc, event))
            cc->words[0] = 0;
        return;
    }
    if (cc->cwnd < cc->ssthresh) {
        tenon_cc_newreno.acked(cc, event);
        return;
    }
    if (event->limited)
        return;
    per_window = (highspeed_row_of(cc->cwnd, event->mss) + 1) * event->mss;
    tn_cc_grow(cc, tn_cc_share(&cc->words[0], per_window, tn_min(event->acked, cc->cwnd), cc->cwnd));
}

/* RFC 3649 5: (1 - b(w)) w of what was in flight. */
static tenon_u32 highspeed_left(const struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 flight = tn_cc_flight(cc, event);
    const tenon_u32 keep = 256UL - highspeed_rows[highspeed_row_of(flight, event->mss)].decrease;

    return (flight >> 8) * keep + ((flight & 255) * keep >> 8);
}

static void highspeed_lost(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    cc->ssthresh = tn_max(highspeed_left(cc, event), 2UL * event->mss);
    cc->cwnd = cc->ssthresh;
    cc->words[0] = 0;
}

/* RFC 3168 6.1.2: the same, down to one segment. */
static void highspeed_ecn(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    const tenon_u32 left = highspeed_left(cc, event);

    highspeed_lost(cc, event);
    cc->cwnd = tn_max(left, event->mss);
}

static void highspeed_recovered(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_cc_newreno.recovered(cc, event);
}

/* A timeout is Reno's: RFC 3649 changes congestion avoidance and fast recovery only. */
static void highspeed_rto(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_cc_newreno.rto(cc, event);
    cc->words[0] = 0;
}

static void highspeed_idle(struct tenon_cc *cc, const struct tenon_cc_event *event)
{
    tenon_cc_newreno.idle(cc, event);
    if (cc->ssthresh == TN_CC_NO_SSTHRESH)
        tn_hystart_begin(cc);
}

static const char highspeed_name[] = "highspeed";

const struct tenon_cc_ops tenon_cc_highspeed = {
    highspeed_name,
    highspeed_init,
    highspeed_acked,
    highspeed_lost,
    highspeed_recovered,
    highspeed_rto,
    highspeed_idle,
    TENON_CC_HYSTART,
    0,
    NULL,
    NULL,
    NULL,
    highspeed_ecn,
    NULL,
};
