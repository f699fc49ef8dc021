/* SPDX-License-Identifier: MIT */
#include "spread.h"

#include <stdlib.h>
#include <string.h>

#include <tenon/flow.h>

#include "ports/common/port.h"

enum {
    TABLE = 128,    /* as most NICs have */
    ETHERNET_BYTES = 14,
    ALL = -1,
    OWN = -2
};

struct member {
    struct model_spread *spread;
    struct model_mailbox *box;
    atomic_uint waiting;    /* in the box */
    unsigned number;
    struct port *port;      /* NULL: it is not there */
    struct tenon *stack;
    unsigned netif;
    tenon_u32 (*now_us)(void);
    struct model_spread_stats stats;
};

struct model_spread {
    struct tenon_flow flow;
    tenon_u16 table[TABLE];
    int by_hash;
    unsigned count;
    struct member members[];
};

/* A frame on its way to another thread, and then a buffer of that. */
struct handed {
    struct model_mail mail;
    struct member *to;
    struct tenon_frame frame;
    struct tenon_span span;
    struct tenon_buf buf;
    tenon_u8 bytes[];
};

/* ---- where it belongs -------------------------------------------------------------------------------- */

static tenon_u32 word16(const tenon_u8 *at)
{
    return (tenon_u32)at[0] << 8 | at[1];
}

static struct tenon_addr address4(const tenon_u8 *at)
{
    return (struct tenon_addr){ .ip = tenon_ip4_bytes(at[0], at[1], at[2], at[3]) };
}

static struct tenon_addr address6(const tenon_u8 *at)
{
    return (struct tenon_addr){
        .ip = tenon_ip6(word16(at) << 16 | word16(at + 2), word16(at + 4) << 16 | word16(at + 6),
                        word16(at + 8) << 16 | word16(at + 10), word16(at + 12) << 16 | word16(at + 14))
    };
}

/* @param ports  behind the IP header; NULL: the addresses alone decide */
static int by_flow(const struct model_spread *spread, struct tenon_addr from, struct tenon_addr to,
                   const tenon_u8 *ports)
{
    if (ports != NULL) {
        from.port = (tenon_u16)word16(ports);
        to.port = (tenon_u16)word16(ports + 2);
    }
    return (int)tenon_flow_queue(&spread->flow, &to, &from);
}

static int of_arp(const tenon_u8 *at, const tenon_u8 *end)
{
    if (end - at < 28)
        return OWN;
    /* A reply, or an announcement: RFC 826, RFC 5227 3. */
    return word16(at + 6) == 2 || memcmp(at + 14, at + 24, 4) == 0 ? ALL : OWN;
}

/* RFC 792: unreachable, source quench, redirect, time exceeded, parameter problem. */
static int is_icmp4_error(unsigned type)
{
    return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

static int of_ip4(const struct model_spread *spread, const tenon_u8 *at, const tenon_u8 *end)
{
    const tenon_u8 *payload;

    if (end - at < 20)
        return OWN;
    if ((word16(at + 6) & 0x3FFF) != 0) /* a fragment, however short */
        return by_flow(spread, address4(at + 12), address4(at + 16), NULL);
    payload = at + (at[0] & 15) * 4;
    if (end - payload < 4)
        return OWN;
    if (at[9] == 1)
        return is_icmp4_error(payload[0]) ? ALL : OWN;
    if (spread->by_hash && (at[9] == 6 || at[9] == 17))
        return by_flow(spread, address4(at + 12), address4(at + 16), payload);
    return OWN;
}

/* RFC 4443: errors are below 128; RFC 4861: router and neighbour advertisements, redirects. */
static int is_for_all6(unsigned type)
{
    return type < 128 || type == 134 || type == 136 || type == 137;
}

static int of_ip6(const struct model_spread *spread, const tenon_u8 *at, const tenon_u8 *end)
{
    const tenon_u8 *payload = at + 40;

    if (end - payload < 4)
        return OWN;
    if (at[6] == 44)
        return by_flow(spread, address6(at + 8), address6(at + 24), NULL);
    if (at[6] == 58)
        return is_for_all6(payload[0]) ? ALL : OWN;
    if (spread->by_hash && (at[6] == 6 || at[6] == 17))
        return by_flow(spread, address6(at + 8), address6(at + 24), payload);
    return OWN;
}

/* Only what lies in the first span is looked at: ports put all headers there. */
static int where_to(const struct model_spread *spread, const struct tenon_frame *frame)
{
    const tenon_u8 *at = tenon_span_data(&frame->spans[0]), *end = at + frame->spans[0].len;

    if (end - at < ETHERNET_BYTES)
        return OWN;
    at += ETHERNET_BYTES;
    switch (word16(at - 2)) {
    case 0x0800:
        return of_ip4(spread, at, end);
    case 0x0806:
        return of_arp(at, end);
    case 0x86DD:
        return of_ip6(spread, at, end);
    default:
        return OWN;
    }
}

/* ---- on the way -------------------------------------------------------------------------------------- */

static void handed_release(struct tenon_buf *buf)
{
    free(TENON_CONTAINER(buf, struct handed, buf));
}

/* In the thread of the member to whom it was handed. */
static void handed_open(struct model_mail *mail, void *owner)
{
    struct handed *handed = TENON_CONTAINER(mail, struct handed, mail);
    struct member *to = handed->to;

    atomic_fetch_sub_explicit(&to->waiting, 1, memory_order_relaxed);
    if (owner != NULL && to->port != NULL)
        tenon_input(to->stack, to->netif, &handed->frame, 1, to->now_us());
    else if (owner != NULL)
        to->stats.lost++;
    tenon_buf_put(&handed->buf);
}

static struct handed *handed_new(const struct tenon_frame *frame)
{
    struct handed *handed;
    tenon_u32 bytes = 0;

    for (unsigned i = 0; i < frame->nspans; i++)
        bytes += frame->spans[i].len;
    handed = malloc(sizeof *handed + bytes);
    if (handed == NULL)
        return NULL;
    handed->frame = *frame;
    handed->frame.spans = &handed->span;
    handed->frame.nspans = 1;
    handed->buf = (struct tenon_buf){ .data = handed->bytes, .size = bytes, .refs = 1, .release = handed_release };
    handed->span = (struct tenon_span){ &handed->buf, 0, bytes };
    bytes = 0;
    for (unsigned i = 0; i < frame->nspans; i++) {
        memcpy(handed->bytes + bytes, tenon_span_data(&frame->spans[i]), frame->spans[i].len);
        bytes += frame->spans[i].len;
    }
    return handed;
}

static void hand_over(struct member *from, struct member *to, const struct tenon_frame *frame)
{
    struct handed *handed = NULL;

    if (atomic_fetch_add_explicit(&to->waiting, 1, memory_order_relaxed) < MODEL_SPREAD_WAITING_MAX)
        handed = handed_new(frame);
    if (handed == NULL) {
        atomic_fetch_sub_explicit(&to->waiting, 1, memory_order_relaxed);
        from->stats.lost++;
        return;
    }
    handed->to = to;
    handed->mail.open = handed_open;
    from->stats.handed++;
    model_mailbox_post(to->box, &handed->mail);
}

/* What the port has received; see struct port. */
static void spread_input(void *arg, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    struct member *member = arg;
    struct model_spread *spread = member->spread;
    struct tenon_frame own[PORT_BURST];
    unsigned i, other, kept = 0;

    for (i = 0; i < n; i++) {
        const int where = where_to(spread, &frames[i]);

        for (other = 0; where != OWN && other < spread->count; other++) {
            if (other != member->number && (where == ALL || where == (int)other))
                hand_over(member, &spread->members[other], &frames[i]);
        }
        if (where < 0 || where == (int)member->number)
            own[kept++] = frames[i];
        if (kept == PORT_BURST || (i + 1 == n && kept > 0)) {
            port_give(member->port, member->stack, member->netif, own, kept, now_us);
            member->stats.own += kept;
            kept = 0;
        }
    }
}

/* ---- members ----------------------------------------------------------------------------------------- */

struct model_spread *model_spread_open(struct model_mailbox *const *boxes, unsigned members, int by_hash)
{
    struct model_spread *spread = calloc(1, sizeof *spread + members * sizeof spread->members[0]);

    if (spread == NULL)
        return NULL;
    spread->by_hash = by_hash;
    spread->count = members;
    tenon_flow_spread(spread->table, TABLE, members);
    (void)tenon_flow_init(&spread->flow, tenon_flow_key_microsoft, spread->table, TABLE, 0);
    for (unsigned i = 0; i < members; i++) {
        spread->members[i].spread = spread;
        spread->members[i].number = i;
        spread->members[i].box = boxes[i];
        atomic_init(&spread->members[i].waiting, 0);
    }
    return spread;
}

void model_spread_close(struct model_spread *spread)
{
    free(spread);
}

void model_spread_join(struct model_spread *spread, unsigned number, struct port *port, struct tenon *stack,
                       unsigned netif)
{
    struct member *member = &spread->members[number];

    member->port = port;
    member->stack = stack;
    member->netif = netif;
    member->now_us = port_now_us;
    port->input = spread_input;
    port->input_arg = member;
}

void model_spread_clock(struct model_spread *spread, unsigned number, tenon_u32 (*now_us)(void))
{
    spread->members[number].now_us = now_us;
}

void model_spread_leave(struct model_spread *spread, unsigned number)
{
    struct member *member = &spread->members[number];

    if (member->port == NULL)
        return;
    member->port->input = NULL;
    member->port = NULL;
    member->stack = NULL;
}

struct model_mailbox *model_spread_box(const struct model_spread *spread, unsigned number)
{
    return number < spread->count ? spread->members[number].box : NULL;
}

void model_spread_stats(const struct model_spread *spread, unsigned number, struct model_spread_stats *stats)
{
    *stats = spread->members[number].stats;
}
