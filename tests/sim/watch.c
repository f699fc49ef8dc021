/* SPDX-License-Identifier: MIT */
/* Watching TCP from outside: for every flow of every host, what it has been told and what it does. It looks at
 * frames only, as a monitor on the wire would, and knows what the RFCs allow. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum { FLOWS = 4096, FIN = 1, SYN = 2, RST = 4, ACK = 16 };

struct tcp_view {
    uint16_t sport, dport;
    uint8_t peer, v6;
    uint32_t seq, ack, wnd, end;    /* end: seq + what the segment takes */
    uint32_t payload, one;          /* one: payload of each piece */
    unsigned flags, header;
    int has_mss, has_scale, has_ts;
    unsigned mss, scale;
    uint32_t ts_val;
    unsigned nsacks;
    uint32_t sack[4][2];
};

/* What our SYN has said. */
struct own_syn {
    uint32_t isn;
    uint8_t scales, scale, ts;
};

/* One side of a connection, as its own host's interface shows it. Sequence numbers of both directions. */
struct flow {
    uint16_t sport, dport;
    uint8_t host, peer, v6, used;
    uint8_t begun, acked_any, peer_fin, told;
    uint8_t cookies, first_again;   /* SYN cookies; what may bring one has come (again) */
    struct {
        uint8_t seen, scales, scale, ts;
        uint32_t isn, end, mss, wnd;
    } peer_syn, heard,
        earlier; /* the one that the connection is made of; the last that has arrived; the one before */
    struct own_syn own;
    struct own_syn promised[4];     /* with cookies: our SYNs before this one, any of which may be taken up */
    unsigned promises;
    uint32_t sent_end;              /* our highest end */
    uint32_t own_edge;              /* right edge of the window that we have announced */
    uint32_t own_ack;
    uint32_t peer_edge;             /* that the peer has announced, the farthest */
    uint32_t peer_end;              /* highest sequence number that has arrived */
    uint32_t mss;                   /* what the peer takes */
    uint32_t ts_val;
};

static uint32_t get16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
    return get16(p) << 16 | get16(p + 2);
}

static int after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void read_options(struct tcp_view *view, const uint8_t *l4)
{
    unsigned at = 20;

    while (at + 1 < view->header && l4[at] != 0) {
        const uint8_t *option = l4 + at;

        if (option[0] == 1) {
            at++;
            continue;
        }
        if (option[1] < 2)
            return;
        if (option[0] == 2) {
            view->has_mss = 1;
            view->mss = get16(option + 2);
        }
        if (option[0] == 3) {
            view->has_scale = 1;
            view->scale = option[2] > 14 ? 14 : option[2];
        }
        if (option[0] == 8) {
            view->has_ts = 1;
            view->ts_val = get32(option + 2);
        }
        for (; option[0] == 5 && view->nsacks < (option[1] - 2U) / 8; view->nsacks++) {
            view->sack[view->nsacks][0] = get32(option + 2 + 8 * view->nsacks);
            view->sack[view->nsacks][1] = get32(option + 6 + 8 * view->nsacks);
        }
        at += option[1];
    }
}

/* @return 0: no TCP segment, or not a whole one */
static int read_segment(struct tcp_view *view, const uint8_t *bytes, unsigned n, const struct tenon_frame *frame,
                        int sent)
{
    const uint8_t *ip = bytes + SIM_LINK_BYTES, *l4;
    unsigned l4_off, end;

    memset(view, 0, sizeof(*view));
    if (n < SIM_LINK_BYTES + 40)
        return 0;
    view->v6 = ip[0] >> 4 == 6;
    if (frames_type(bytes, n) != (view->v6 ? 0x86DDU : 0x0800U))
        return 0;
    l4_off = SIM_LINK_BYTES + (view->v6 ? 40U : (ip[0] & 15U) * 4);
    end = SIM_LINK_BYTES + (view->v6 ? 40U + get16(ip + 4) : get16(ip + 2));
    if (ip[view->v6 ? 6 : 9] != 6 || (!view->v6 && (get16(ip + 6) & 0x3FFF)) || end < l4_off + 20 || end > n)
        return 0;
    l4 = bytes + l4_off;
    view->peer = sent ? ip[view->v6 ? 39 : 19] : ip[view->v6 ? 23 : 15];
    view->sport = (uint16_t)get16(sent ? l4 : l4 + 2);
    view->dport = (uint16_t)get16(sent ? l4 + 2 : l4);
    view->seq = get32(l4 + 4);
    view->ack = get32(l4 + 8);
    view->header = (l4[12] >> 4) * 4U;
    view->flags = l4[13];
    view->wnd = get16(l4 + 14);
    view->payload = end - l4_off - view->header;
    view->one = frame->seg_kind ? frame->seg_bytes : view->payload;
    view->end = view->seq + view->payload + (view->flags & SYN ? 1U : 0U) + (view->flags & FIN ? 1U : 0U);
    read_options(view, l4);
    return 1;
}

static struct flow *find_flow(struct flow *flows, const struct tcp_view *view, unsigned host)
{
    unsigned at = (view->sport * 31U + view->dport * 17U + view->peer * 7U + host + view->v6 * 1009U) % FLOWS;
    unsigned i;

    for (i = 0; i < FLOWS; i++, at = (at + 1) % FLOWS) {
        struct flow *flow = &flows[at];

        if (!flow->used) {
            memset(flow, 0, sizeof(*flow));
            flow->used = 1;
            flow->host = (uint8_t)host;
            flow->peer = view->peer;
            flow->v6 = view->v6;
            flow->sport = view->sport;
            flow->dport = view->dport;
            return flow;
        }
        if (flow->host == host && flow->peer == view->peer && flow->v6 == view->v6 && flow->sport == view->sport
            && flow->dport == view->dport)
            return flow;
    }
    return NULL;
}

/* ---- what has arrived ------------------------------------------------------------------------ */

/* The peer's half of the connection begins with this SYN. */
static void take_syn(struct flow *flow)
{
    flow->peer_syn = flow->heard;
    flow->mss = flow->heard.mss;
    flow->peer_end = flow->heard.end;
    flow->peer_edge = flow->own.isn + 1 + flow->heard.wnd;
    flow->peer_fin = 0;
    flow->told = 1;
}

/* Of two SYN-ACKs (a listener with cookies does not know what it has said) the first counts that the host has taken. */
static void note_choice(struct flow *flow, const struct tcp_view *view)
{
    if (flow->acked_any || !flow->earlier.seen || flow->peer_syn.isn == flow->earlier.isn ||
        view->ack != flow->earlier.isn + 1)
        return;
    flow->heard = flow->earlier;
    take_syn(flow);
}

static void note_received(struct flow *flow, const struct tcp_view *view)
{
    unsigned shift = 0;
    uint32_t edge;

    if (view->flags & RST)
        return;
    if (view->flags & SYN) {
        if (flow->heard.seen && flow->heard.isn != view->seq)
            flow->earlier = flow->heard;
        if (!flow->heard.seen || flow->heard.isn != view->seq || after(view->end, flow->heard.end))
            flow->heard.end = view->end;    /* repeated, it brings no data any more (RFC 7413 4.1.3.1) */
        flow->heard.seen = 1;
        flow->heard.scales = (uint8_t)view->has_scale;
        flow->heard.scale = (uint8_t)view->scale;
        flow->heard.ts = (uint8_t)view->has_ts;
        flow->heard.isn = view->seq;
        flow->heard.wnd = view->wnd;
        flow->heard.mss = view->has_mss ? view->mss : view->v6 ? 1220 : 536;
        if (flow->heard.mss < 88)
            flow->heard.mss = 88;
        /* A late SYN says nothing about a connection that exists; nor does one that is repeated, behind which
         * data may have come already (RFC 7413 4.2.2). */
        if (flow->begun && !flow->acked_any && (!flow->peer_syn.seen || flow->peer_syn.isn != view->seq))
            take_syn(flow);
    }
    if (!flow->peer_syn.seen || !(view->flags & ACK) || ((view->flags & SYN) && view->seq != flow->peer_syn.isn))
        return;
    if (flow->own.scales && flow->peer_syn.scales && !(view->flags & SYN))
        shift = flow->peer_syn.scale;
    edge = view->ack + (view->wnd << shift);
    if (after(view->end, flow->peer_end))
        flow->peer_end = view->end;
    if (flow->cookies && view->seq == flow->peer_syn.isn + 1)
        flow->first_again = 1;
    if (view->flags & FIN)
        flow->peer_fin = 1;
    if (after(edge, flow->peer_edge))
        flow->peer_edge = edge;
}

/* ---- what is sent ---------------------------------------------------------------------------- */

/* A new connection begins with its SYN. Where SYN cookies are made, a SYN that comes again is answered anew, and what
 * has come behind it answers an older one. */
static void note_syn(struct flow *flow, const struct tcp_view *view)
{
    const int again = flow->cookies && flow->peer_syn.seen && flow->heard.isn == flow->peer_syn.isn;
    const uint32_t end = flow->peer_end;
    const uint8_t fin = flow->peer_fin;

    if (!flow->begun || flow->own.isn != view->seq) {
        if (flow->begun && flow->cookies)
            flow->promised[flow->promises++ % 4] = flow->own;
        flow->acked_any = flow->told = 0;
        flow->peer_syn.seen = 0;
        flow->own.isn = view->seq;
        flow->sent_end = view->end;
    }
    flow->begun = 1;
    flow->own.scales = (uint8_t)view->has_scale;
    flow->own.scale = (uint8_t)view->scale;
    flow->own.ts = (uint8_t)view->has_ts;
    if (view->has_ts)
        flow->ts_val = view->ts_val;
    if ((view->flags & ACK) && !flow->peer_syn.seen && flow->heard.seen)
        take_syn(flow);
    if (again && after(end, flow->peer_end)) {
        flow->peer_end = end;
        flow->peer_fin = fin;
    }
}

/* The peer has taken up an older SYN-ACK of ours: its cookie is good whatever was said since (RFC 4987 3.6), and so are
 * the options that went with it. */
static void note_promise(struct flow *flow, const struct tcp_view *view)
{
    const unsigned known = flow->promises < 4 ? flow->promises : 4;
    const struct own_syn last = flow->own;
    unsigned i;

    if (view->seq == last.isn + 1)
        return;
    for (i = 0; i < known; i++)
        if (view->seq == flow->promised[i].isn + 1) {
            flow->own = flow->promised[i];
            flow->promised[i] = last;
            flow->sent_end = view->seq;
            flow->acked_any = 0;
            flow->told = 0;    /* of its window nothing is known: what was said counted from another number */
            return;
        }
}

static const char *check_ack(struct flow *flow, const struct tcp_view *view)
{
    const unsigned shift = flow->own.scales && flow->peer_syn.scales && !(view->flags & SYN) ? flow->own.scale : 0;
    const uint32_t edge = view->ack + (view->wnd << shift);

    if (after(view->ack, flow->peer_end))
        return "acknowledges what has not come";
    if (flow->acked_any && after(flow->own_ack, view->ack) && flow->first_again) {
        flow->acked_any = flow->first_again = 0;    /* without a SYN: a cookie that came again (RFC 4987 3.6) */
        flow->sent_end = flow->own.isn + 1;
    }
    if (flow->acked_any && after(flow->own_ack, view->ack))
        return "acknowledges less than before";
    /* RFC 9293 3.8.6 (SHLD-14): the window does not shrink, but for less than a unit of its scale (RFC 7323
     * 2.4). After the FIN there is nothing to shrink, and a SYN cannot say all (RFC 7323 2.2). */
    if (flow->acked_any && after(flow->own_edge, edge + (1U << shift) - 1) && !flow->peer_fin && !(view->flags & SYN))
        return "shrinks its window";
    flow->own_ack = view->ack;
    if (!flow->acked_any || after(edge, flow->own_edge))
        flow->own_edge = edge;
    flow->acked_any = 1;
    return NULL;
}

/* RFC 2883 4: the first block names what has come twice, below the acknowledgement or within the second block. */
static int tells_duplicate(const struct tcp_view *view)
{
    if (view->nsacks > 0 && !after(view->sack[0][1], view->ack))
        return 1;
    return view->nsacks > 1 && !after(view->sack[1][0], view->sack[0][0]) && !after(view->sack[0][1], view->sack[1][1]);
}

static const char *check_sacks(const struct flow *flow, const struct tcp_view *view)
{
    const unsigned first = (unsigned)tells_duplicate(view);
    unsigned i, k;

    if (first == 1 && !after(view->sack[0][1], view->sack[0][0]))
        return "sends an empty D-SACK block";
    for (i = first; i < view->nsacks; i++) {
        if (!after(view->sack[i][1], view->sack[i][0]))
            return "sends an empty SACK block";
        if (!after(view->sack[i][0], view->ack) || after(view->sack[i][1], flow->peer_end))
            return "sends a SACK block out of range";
        for (k = first; k < i; k++)
            if (after(view->sack[k][1], view->sack[i][0]) && after(view->sack[i][1], view->sack[k][0]))
                return "sends SACK blocks that overlap";
    }
    return NULL;
}

static const char *check_data(struct flow *flow, const struct tcp_view *view, int lossless)
{
    if (lossless && after(view->seq, flow->sent_end))
        return "leaves a gap in its sequence";
    if (view->one > 0 && view->one + (view->header - 20) > flow->mss)
        return "sends more than the peer's MSS";
    /* One byte, or a FIN, may probe a closed window. */
    if (flow->told && after(view->end, flow->peer_edge + 1) && after(view->end, flow->sent_end))
        return "sends beyond the window";
    if (after(view->end, flow->sent_end))
        flow->sent_end = view->end;
    return NULL;
}

static const char *check_timestamp(struct flow *flow, const struct tcp_view *view)
{
    if (!flow->own.ts || !flow->peer_syn.ts)
        return view->has_ts && !(view->flags & SYN) ? "sends a timestamp that was not agreed on" : NULL;
    if (!view->has_ts)
        return "leaves out the timestamp (RFC 7323 3.2)";
    if (after(flow->ts_val, view->ts_val))
        return "lets its timestamps go backwards";
    flow->ts_val = view->ts_val;
    return NULL;
}

static const char *check_sent(struct flow *flow, const struct tcp_view *view, int lossless)
{
    const char *wrong = NULL;

    if (view->flags & RST)
        return NULL;
    if (view->flags & SYN)
        note_syn(flow, view);
    if (!flow->begun || !flow->peer_syn.seen)
        return NULL;    /* an answer without a connection */
    if (flow->cookies && !(view->flags & SYN))
        note_promise(flow, view);
    if (view->flags & ACK)
        note_choice(flow, view);
    if (view->flags & ACK)
        wrong = check_ack(flow, view);
    if (!wrong)
        wrong = check_sacks(flow, view);
    if (!wrong && !(view->flags & SYN))
        wrong = check_data(flow, view, lossless);
    if (!wrong && !(view->flags & SYN))
        wrong = check_timestamp(flow, view);
    return wrong;
}

static struct flow flows[FLOWS];
static const struct plan *watched;

void watch_begin(const struct plan *plan)
{
    memset(flows, 0, sizeof(flows));
    watched = plan;
}

/* lossless: nothing was lost inside of the host, for want of memory or of room, so that no segment is missing.
 * @return NULL, or what the host does that it must not do */
const char *watch_frame(unsigned host, int sent, int lossless, const uint8_t *bytes, unsigned n,
                        const struct tenon_frame *frame)
{
    struct tcp_view view;
    struct flow *flow;

    if (!read_segment(&view, bytes, n, frame, sent))
        return NULL;
    flow = find_flow(flows, &view, host);
    if (!flow)
        return NULL;
    flow->cookies = watched->host[host].stack.tcp_syncookies;
    if (sent)
        return check_sent(flow, &view, lossless);
    note_received(flow, &view);
    return NULL;
}
