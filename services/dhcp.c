/* SPDX-License-Identifier: MIT */
/* The DHCP client: the state machine of RFC 2131 figure 5.
 *
 *      start                                        NAK, lease over, conflict
 *        |                +---------------------------------------------------------------+
 *        v                v                                                               |
 *    REBOOTING --NAK--> INIT --DISCOVER--> SELECTING --offer--> REQUESTING --ACK--> CHECKING
 *        |                                  ^                    |    |               | nobody else
 *        |                                  +---- no answer -----+   NAK: INIT        v has it
 *        +--ACK--> CHECKING                                                         BOUND <----+
 *                                                            T1: RENEWING -----ACK----|--------+
 *                                                            T2: REBINDING ----ACK----+
 *
 * Handlers only check and keep what has come; all steps are made in tenon_dhcp_poll(), which knows the time. */
#include "dhcp.h"

#include "dhcp_message.h"
#include "internal.h"

enum {
    DHCP_REQUESTS = 4,               /* RFC 2131 3.1.5: 4 + 8 + 16 + 32 seconds */
    DHCP_REBOOTS = 2,                /* messages before the server is taken to be gone */
    DHCP_DECLINE_WAIT_S = 10,        /* RFC 2131 3.1.5 */
    DHCP_RENEW_MIN_S = 60,           /* RFC 2131 4.4.5: between two messages */
    DHCP_LEASE_MIN_S = 10,
    DHCP_T1_MIN_S = 5,               /* a server that says less would have us ask it all the time */
    DHCP_REFUSED_MAX = 6,            /* the pause after refusals doubles so often: to a minute */
    DHCP_PAUSE_MAX_MS = 1000,
    DHCP_MTU_MIN = 576
};
/* The clock compares moments that are less than 68 years apart: a longer lease is renewed after 34. */
#define DHCP_LEASE_MAX_S 0x3FFFFFFFUL
#define DHCP_FOR_EVER 0xFFFFFFFFUL

static void dhcp_count(struct tenon_dhcp *dhcp, enum tenon_dhcp_stat stat)
{
    dhcp->stats[stat]++;
}

/* ---- sending ------------------------------------------------------------------------------------------- */

/* From whom and to whom. */
enum dhcp_way {
    DHCP_TO_ALL,                     /* 0.0.0.0 to 255.255.255.255 */
    DHCP_TO_ALL_BY_NAME,             /* our address to 255.255.255.255 */
    DHCP_TO_SERVER                   /* our address to the server */
};

static int dhcp_send_call(struct tenon_dhcp *dhcp, struct dhcp_call *call, enum dhcp_way way)
{
    const struct tenon_ip nobody = tenon_ip4(0);
    tenon_u8 bytes[DHCP_BYTES_MAX];
    struct tenon_addr to;
    unsigned n;
    int error;

    call->xid = dhcp->xid;
    call->mac = dhcp->mac;
    call->client_id = dhcp->conf.client_id;
    call->client_id_bytes = dhcp->conf.client_id_bytes;
    call->hostname = dhcp->conf.hostname;
    n = tenon_dhcp_build(bytes, call);
    dhcp->touched = 1;
    to.ip = way == DHCP_TO_SERVER ? dhcp->lease.server : tenon_ip4(0xFFFFFFFFUL);
    to.port = DHCP_SERVER_PORT;
    to.netif = (tenon_u16)dhcp->conf.netif;
    error = tenon_udp_write_from(dhcp->sock, way == DHCP_TO_ALL ? &nobody : &dhcp->lease.ip, &to, bytes, n);
    dhcp_count(dhcp, error == TENON_OK ? TENON_DHCP_STAT_SENT : TENON_DHCP_STAT_NOT_SENT);
    return error;
}

/* RFC 2131 4.4.1: seconds since we began to look; some relays act on large values only. */
static tenon_u16 dhcp_secs(const struct tenon_dhcp *dhcp)
{
    return (tenon_u16)svc_min(dhcp->clock.now.s - dhcp->began.s, 0xFFFFUL);
}

/* RFC 2131 4.4.1: a lease counts from when the request went out that is acknowledged. Which one that was its xid tells:
 * each has one of its own (4.1), but for those that take an offer, of which the first one counts. */
static void dhcp_date(struct tenon_dhcp *dhcp)
{
    if (dhcp->state != TENON_DHCP_REQUESTING)
        dhcp->xid = tenon_random(dhcp->stack);
    else if (dhcp->sends > 1)
        return;
    dhcp->asked = dhcp->clock.now;
}

static void dhcp_send(struct tenon_dhcp *dhcp, enum dhcp_type type)
{
    struct dhcp_call call;
    enum dhcp_way way = DHCP_TO_ALL;

    memset(&call, 0, sizeof(call));
    call.type = type;
    if (dhcp->sends < 255)
        dhcp->sends++;
    if (type == DHCP_REQUEST)
        dhcp_date(dhcp);
    if (dhcp->state == TENON_DHCP_RENEWING || dhcp->state == TENON_DHCP_REBINDING) {
        call.ciaddr = dhcp->lease.ip.w[TENON_IP4_WORD];    /* RFC 2131 table 5: and neither of options 50 and 54 */
        way = dhcp->state == TENON_DHCP_RENEWING ? DHCP_TO_SERVER : DHCP_TO_ALL_BY_NAME;
    } else {
        if (dhcp->state != TENON_DHCP_REQUESTING)    /* RFC 2131 3.1 (3): a request has that of its discover */
            dhcp->secs = dhcp_secs(dhcp);
        call.secs = dhcp->secs;
        if (type == DHCP_REQUEST)
            call.wanted = dhcp->lease.ip.w[TENON_IP4_WORD];
        if (dhcp->state == TENON_DHCP_REQUESTING)
            call.server = dhcp->lease.server.w[TENON_IP4_WORD];
    }
    dhcp->unsent = (tenon_u8)svc_is_short(dhcp_send_call(dhcp, &call, way));
    if (dhcp->unsent)
        dhcp->sends--;
    else
        dhcp->held_ms = 0;
}

/* What ends our use of an address. */
static void dhcp_send_end(struct tenon_dhcp *dhcp, enum dhcp_type type)
{
    struct dhcp_call call;

    memset(&call, 0, sizeof(call));
    call.type = type;
    call.server = dhcp->lease.server.w[TENON_IP4_WORD];
    dhcp->xid = tenon_random(dhcp->stack);
    if (type == DHCP_RELEASE) {
        call.ciaddr = dhcp->lease.ip.w[TENON_IP4_WORD];
        (void)dhcp_send_call(dhcp, &call, DHCP_TO_SERVER);
        return;
    }
    call.wanted = dhcp->lease.ip.w[TENON_IP4_WORD];
    (void)dhcp_send_call(dhcp, &call, DHCP_TO_ALL);
}

/* ---- times --------------------------------------------------------------------------------------------- */

/* RFC 2131 4.1: 4 seconds, doubled each time up to 64, one second more or less. */
static void dhcp_back_off(struct tenon_dhcp *dhcp)
{
    tenon_u32 ms = dhcp->conf.retry_ms, jitter;
    unsigned i;

    for (i = 1; i < dhcp->sends && ms < dhcp->conf.retry_max_ms; i++)
        ms = ms * 2;
    ms = svc_min(ms, dhcp->conf.retry_max_ms);
    jitter = svc_min(ms / 2, 1000);
    ms = ms - jitter + svc_random_below(dhcp->stack, 2 * jitter + 1);
    dhcp->due = tenon_svc_later(dhcp->clock.now, 0, ms);
}

/* Nobody has heard of what could not leave: it is not for the server's sake that it waits. */
static void dhcp_hold(struct tenon_dhcp *dhcp)
{
    if (!dhcp->unsent)
        return;
    dhcp->unsent = 0;
    dhcp->due = tenon_svc_later(dhcp->clock.now, 0, svc_pause(&dhcp->held_ms, DHCP_PAUSE_MAX_MS));
}

/* Half of what is left, but a minute at least (RFC 2131 4.4.5), and no later than the next state. */
static void dhcp_renew_again(struct tenon_dhcp *dhcp, const struct tenon_svc_time *end)
{
    const tenon_u32 left = tenon_svc_seconds_left(&dhcp->clock, end);
    tenon_u32 wait = left / 2;

    if (wait < DHCP_RENEW_MIN_S)
        wait = DHCP_RENEW_MIN_S;
    dhcp->due = wait < left ? tenon_svc_later(dhcp->clock.now, wait, 0) : *end;
}

/* RFC 2131 4.4.5: T1 is before T2, and T2 before the end; else both are a half and seven eighths, with some fuzz. So is
 * the one that is not said. */
static void dhcp_set_times(struct tenon_dhcp *dhcp)
{
    struct tenon_dhcp_offer *lease = &dhcp->lease;
    const tenon_u32 end = svc_min(lease->lease_s, DHCP_LEASE_MAX_S);
    const tenon_u32 fuzz = svc_random_below(dhcp->stack, end / 32 + 1);
    const tenon_u32 t1_s = end / 2 - fuzz / 2, t2_s = end / 2 + end / 4 + end / 8 - fuzz;

    if (lease->t1_s == 0)
        lease->t1_s = t1_s;
    if (lease->t2_s == 0)
        lease->t2_s = t2_s;
    if (lease->t1_s < DHCP_T1_MIN_S || lease->t1_s >= lease->t2_s || lease->t2_s >= end) {
        lease->t1_s = t1_s;
        lease->t2_s = t2_s;
    }
    dhcp->t1 = tenon_svc_later(dhcp->asked, lease->t1_s, 0);
    dhcp->t2 = tenon_svc_later(dhcp->asked, lease->t2_s, 0);
    dhcp->expiry = tenon_svc_later(dhcp->asked, end, 0);
}

/* ---- what the interface gets --------------------------------------------------------------------------- */

static void dhcp_route(struct tenon_dhcp *dhcp, const struct tenon_ip *router)
{
    const struct tenon_ip all = tenon_ip4(0);
    int error;

    if (dhcp->routed && tenon_ip_equal(router, &dhcp->gateway))
        return;
    if (dhcp->routed)
        (void)tenon_route_remove(dhcp->stack, dhcp->conf.netif, &all, 0, &dhcp->gateway);
    dhcp->routed = 0;
    if (tenon_ip_is_any(router))
        return;
    error = tenon_route_add(dhcp->stack, dhcp->conf.netif, &all, 0, router, dhcp->conf.metric);
    dhcp->routed = error == TENON_OK;
    dhcp->gateway = *router;
    if (error != TENON_OK && error != TENON_EINUSE)
        dhcp_count(dhcp, TENON_DHCP_STAT_NO_ROOM);
}

/* RFC 2132 5.1; never more than the interface could before. 0: that again. */
static void dhcp_mtu(struct tenon_dhcp *dhcp, tenon_u16 mtu)
{
    if (mtu < DHCP_MTU_MIN || mtu > dhcp->own_mtu)
        mtu = dhcp->own_mtu;
    (void)tenon_netif_mtu(dhcp->stack, dhcp->conf.netif, mtu);
}

static void dhcp_drop_fallback(struct tenon_dhcp *dhcp)
{
    const struct tenon_ip none = tenon_ip_any();

    if (!dhcp->fallen)
        return;
    dhcp->fallen = 0;
    tenon_linklocal_stop(&dhcp->ll);
    if (dhcp->conf.fallback == TENON_DHCP_STATIC) {
        (void)tenon_addr_remove(dhcp->stack, dhcp->conf.netif, &dhcp->conf.address);
        dhcp_route(dhcp, &none);
    }
    dhcp->source = TENON_DHCP_NONE;
}

/* The address is not ours any more. The search begins now. */
static void dhcp_unlease(struct tenon_dhcp *dhcp)
{
    const struct tenon_ip none = tenon_ip_any();

    if (!dhcp->leased)
        return;
    dhcp->leased = 0;
    dhcp->touched = 1;
    (void)tenon_addr_remove(dhcp->stack, dhcp->conf.netif, &dhcp->lease.ip);
    if (dhcp->source != TENON_DHCP_LEASE)
        return;
    dhcp->began = dhcp->clock.now;
    dhcp->source = TENON_DHCP_NONE;
    dhcp->news = 1;
    dhcp_route(dhcp, &none);
    dhcp_mtu(dhcp, 0);
}

/* ---- steps --------------------------------------------------------------------------------------------- */

static void dhcp_enter(struct tenon_dhcp *dhcp, enum tenon_dhcp_state state)
{
    dhcp->state = state;
    dhcp->sends = 0;
    dhcp->unsent = 0;
    dhcp->replied = 0;
}

static void dhcp_init(struct tenon_dhcp *dhcp, tenon_u32 wait_s)
{
    dhcp_unlease(dhcp);
    dhcp_enter(dhcp, TENON_DHCP_INIT);
    dhcp->conf.wanted = tenon_ip_any();    /* asked for in vain, or had and lost */
    dhcp->due = tenon_svc_later(dhcp->clock.now, wait_s, svc_random_below(dhcp->stack, dhcp->conf.delay_ms + 1));
}

/* There is a link, and no lease: an address from before a restart is asked for first (RFC 2131 3.2), as long as nothing
 * is known of it. */
static void dhcp_begin(struct tenon_dhcp *dhcp)
{
    const struct tenon_ip wanted = dhcp->conf.wanted;

    dhcp->began = dhcp->clock.now;
    dhcp_init(dhcp, 0);
    if (tenon_ip_is_any(&wanted))
        return;
    dhcp->conf.wanted = wanted;
    dhcp->lease.ip = wanted;
    dhcp->state = TENON_DHCP_REBOOTING;    /* with the delay of INIT; nothing is sent yet */
}

/* A server that gives and takes the same thing is not asked ever faster. */
static void dhcp_refused(struct tenon_dhcp *dhcp)
{
    dhcp_init(dhcp, dhcp->refused == 0 ? 0 : (tenon_u32)1 << dhcp->refused);
    if (dhcp->refused < DHCP_REFUSED_MAX)
        dhcp->refused++;
}

/* RFC 2131 3.1.5, 4.4.4; RFC 5227 2.4 for one that was in use. */
static void dhcp_decline(struct tenon_dhcp *dhcp)
{
    dhcp_count(dhcp, TENON_DHCP_STAT_DECLINED);
    dhcp_unlease(dhcp);
    dhcp_send_end(dhcp, DHCP_DECLINE);
    dhcp_init(dhcp, DHCP_DECLINE_WAIT_S);
}

/* The address may be used: nobody else has it. */
static void dhcp_use(struct tenon_dhcp *dhcp)
{
    const struct tenon_ip none = tenon_ip_any();

    dhcp_drop_fallback(dhcp);
    dhcp->source = TENON_DHCP_LEASE;
    dhcp->news = 1;
    dhcp->refused = 0;
    dhcp_route(dhcp, dhcp->lease.nrouters > 0 ? &dhcp->lease.routers[0] : &none);
    dhcp_mtu(dhcp, dhcp->lease.mtu);
}

static void dhcp_bound(struct tenon_dhcp *dhcp)
{
    dhcp_use(dhcp);
    dhcp_enter(dhcp, TENON_DHCP_BOUND);
    dhcp->due = dhcp->t1;
}

static void dhcp_request(struct tenon_dhcp *dhcp, enum tenon_dhcp_state state)
{
    dhcp_enter(dhcp, state);
    dhcp_send(dhcp, DHCP_REQUEST);
    if (state == TENON_DHCP_RENEWING)
        dhcp_renew_again(dhcp, &dhcp->t2);
    else if (state == TENON_DHCP_REBINDING)
        dhcp_renew_again(dhcp, &dhcp->expiry);
    else
        dhcp_back_off(dhcp);
}

/* A lease that nobody has confirmed since the link came back is used on (RFC 2131 3.2.4), and asked for on: this may be
 * another network, whose server was silent for a moment, and T1 may be days away. */
static void dhcp_request_again(struct tenon_dhcp *dhcp, unsigned limit)
{
    if (dhcp->sends < limit || dhcp->leased) {
        dhcp_send(dhcp, DHCP_REQUEST);
        dhcp_back_off(dhcp);
        return;
    }
    dhcp_init(dhcp, 0);
}

static void dhcp_renew(struct tenon_dhcp *dhcp)
{
    dhcp_request(dhcp, tenon_svc_is_over(&dhcp->clock, &dhcp->t2) ? TENON_DHCP_REBINDING : TENON_DHCP_RENEWING);
}

/* `due` is over. */
static void dhcp_step(struct tenon_dhcp *dhcp)
{
    switch (dhcp->state) {
    case TENON_DHCP_INIT:
        dhcp_enter(dhcp, TENON_DHCP_SELECTING);
        dhcp->xid = tenon_random(dhcp->stack);
        dhcp_send(dhcp, DHCP_DISCOVER);
        dhcp_back_off(dhcp);
        break;
    case TENON_DHCP_SELECTING:
        dhcp_send(dhcp, DHCP_DISCOVER);
        dhcp_back_off(dhcp);
        break;
    case TENON_DHCP_REQUESTING: dhcp_request_again(dhcp, DHCP_REQUESTS); break;
    case TENON_DHCP_REBOOTING: dhcp_request_again(dhcp, DHCP_REBOOTS); break;
    case TENON_DHCP_BOUND:
    case TENON_DHCP_RENEWING:
    case TENON_DHCP_REBINDING: dhcp_renew(dhcp); break;
    case TENON_DHCP_CHECKING:
    case TENON_DHCP_DOWN:
    case TENON_DHCP_STOPPED: break;
    }
}

/* ---- replies ------------------------------------------------------------------------------------------- */

/* RFC 6842: the identifier that we sent, if there is one at all. */
static int dhcp_is_for_us(const struct tenon_dhcp *dhcp, const struct dhcp_reply *reply)
{
    if (memcmp(reply->chaddr, dhcp->mac, sizeof(dhcp->mac)) != 0)
        return 0;
    if (!reply->has_client_id)
        return 1;
    if (dhcp->conf.client_id == NULL)
        return reply->client_id_bytes == 7 && reply->client_id[0] == 1 &&
               memcmp(reply->client_id + 1, dhcp->mac, 6) == 0;
    return reply->client_id_bytes == dhcp->conf.client_id_bytes &&
           memcmp(reply->client_id, dhcp->conf.client_id, reply->client_id_bytes) == 0;
}

static int dhcp_is_awaited(const struct tenon_dhcp *dhcp, unsigned type)
{
    if (dhcp->replied != 0)
        return 0;
    switch (dhcp->state) {
    case TENON_DHCP_SELECTING: return type == DHCP_OFFER;
    case TENON_DHCP_REQUESTING:
    case TENON_DHCP_REBOOTING:
    case TENON_DHCP_RENEWING:
    case TENON_DHCP_REBINDING: return type == DHCP_ACK || type == DHCP_NAK;
    default: return 0;
    }
}

/* A host of class A, B or C. */
static int dhcp_is_host(tenon_u32 ip)
{
    return ip >> 24 != 0 && ip >> 24 != 127 && ip < 0xE0000000UL;
}

/* RFC 2131 4.4.1, table 3: a server names itself in all that it says. */
static int dhcp_server_good(const struct tenon_dhcp *dhcp, const struct tenon_ip *server)
{
    if (!tenon_ip_is_v4(server) || !dhcp_is_host(server->w[TENON_IP4_WORD]))
        return 0;
    if (dhcp->state != TENON_DHCP_REQUESTING && dhcp->state != TENON_DHCP_RENEWING)
        return 1;
    return tenon_ip_equal(server, &dhcp->lease.server);
}

/* @return bits of the mask, or 33: it has holes. Without one: by class (RFC 791 3.2). */
static unsigned dhcp_prefix(const struct dhcp_reply *reply)
{
    tenon_u32 mask = reply->mask;
    unsigned bits = 0;

    if (mask == 0)
        return reply->yiaddr < 0x80000000UL ? 8 : reply->yiaddr < 0xC0000000UL ? 16 : 24;
    while (mask & 0x80000000UL) {
        mask = mask << 1 & 0xFFFFFFFFUL;
        bits++;
    }
    return mask == 0 ? bits : 33;
}

static int dhcp_address_good(const struct tenon_dhcp *dhcp, const struct dhcp_reply *reply)
{
    const tenon_u32 host = reply->offer.prefix >= 31 ? 0 : (tenon_u32)(0xFFFFFFFFUL >> reply->offer.prefix);

    if (!dhcp_is_host(reply->yiaddr) || reply->offer.prefix > 32)
        return 0;
    if (host != 0 && ((reply->yiaddr & host) == 0 || (reply->yiaddr & host) == host))
        return 0;
    return dhcp->state == TENON_DHCP_SELECTING || reply->yiaddr == dhcp->lease.ip.w[TENON_IP4_WORD];
}

/* @return 0, or the counter of what is wrong with it */
static enum tenon_dhcp_stat dhcp_judge(const struct tenon_dhcp *dhcp, struct dhcp_reply *reply)
{
    if (reply->xid != dhcp->xid)
        return TENON_DHCP_STAT_OTHER_XID;
    if (!dhcp_is_for_us(dhcp, reply))
        return TENON_DHCP_STAT_OTHER_CLIENT;
    if (!dhcp_is_awaited(dhcp, reply->type))
        return TENON_DHCP_STAT_UNEXPECTED;
    if (!dhcp_server_good(dhcp, &reply->offer.server))
        return TENON_DHCP_STAT_OTHER_SERVER;
    if (reply->type == DHCP_NAK)
        return (enum tenon_dhcp_stat)0;
    reply->offer.ip = tenon_ip4(reply->yiaddr);
    reply->offer.prefix = dhcp_prefix(reply);
    if (!dhcp_address_good(dhcp, reply))
        return TENON_DHCP_STAT_BAD_ADDRESS;
    if (!reply->has_lease || reply->offer.lease_s < DHCP_LEASE_MIN_S)
        return TENON_DHCP_STAT_BAD_LEASE;
    return (enum tenon_dhcp_stat)0;
}

static void dhcp_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                          const struct tenon_span *spans, unsigned n)
{
    struct tenon_dhcp *dhcp = (struct tenon_dhcp *)app;
    enum tenon_dhcp_stat wrong = TENON_DHCP_STAT_OTHER_SOURCE;
    tenon_u8 bytes[DHCP_BYTES_MAX];
    struct dhcp_reply reply;
    tenon_u32 len;

    (void)sock;
    if (info->from.netif == dhcp->conf.netif && info->from.port == DHCP_SERVER_PORT) {
        len = svc_gather(bytes, sizeof(bytes), spans, n);
        wrong = len > sizeof(bytes) ? TENON_DHCP_STAT_BAD_LENGTH : tenon_dhcp_parse(&reply, bytes, len);
        if (wrong == 0)
            wrong = dhcp_judge(dhcp, &reply);
    }
    if (wrong != 0) {
        dhcp_count(dhcp, wrong);
        return;
    }
    dhcp->replied = (tenon_u8)reply.type;
    dhcp->reply = reply.offer;
}

static const struct tenon_udp_events dhcp_events = { dhcp_received, NULL };

/* It ends before there is anything else. */
static void dhcp_end_fallback(struct tenon_dhcp *dhcp)
{
    if (dhcp->source != TENON_DHCP_NONE)
        dhcp->news = 1;
    dhcp_drop_fallback(dhcp);
}

static int dhcp_is_fallback(const struct tenon_dhcp *dhcp)
{
    return dhcp->fallen && dhcp->conf.fallback == TENON_DHCP_STATIC &&
           tenon_ip_equal(&dhcp->conf.address, &dhcp->lease.ip);
}

/* The address is the interface's from now on, but for the probing. Where there is room for one alone
 * (TENON_WITH_HOMES 0, or addrs_max 1) that of the fallback gives way. */
static void dhcp_install(struct tenon_dhcp *dhcp)
{
    int error;

    if (dhcp_is_fallback(dhcp))
        dhcp_end_fallback(dhcp);
    error = tenon_addr_add(dhcp->stack, dhcp->conf.netif, &dhcp->lease.ip, dhcp->lease.prefix);
    if (error == TENON_ELIMIT && dhcp->fallen) {
        dhcp_end_fallback(dhcp);
        error = tenon_addr_add(dhcp->stack, dhcp->conf.netif, &dhcp->lease.ip, dhcp->lease.prefix);
    }
    if (error != TENON_OK && error != TENON_EINUSE) {
        dhcp_count(dhcp, TENON_DHCP_STAT_NO_ROOM);
        dhcp_refused(dhcp);
        return;
    }
    dhcp->leased = 1;
    dhcp->touched = 1;
    dhcp_enter(dhcp, TENON_DHCP_CHECKING);
}

static void dhcp_take_ack(struct tenon_dhcp *dhcp)
{
    const int same = dhcp->leased && dhcp->reply.prefix == dhcp->lease.prefix;

    dhcp_count(dhcp, TENON_DHCP_STAT_ACKS);
    if (dhcp->leased && !same)
        dhcp_unlease(dhcp);
    dhcp->lease = dhcp->reply;
    dhcp_set_times(dhcp);
    if (!same)
        dhcp_install(dhcp);
    else if (dhcp->source == TENON_DHCP_LEASE)
        dhcp_bound(dhcp);
    else
        dhcp_enter(dhcp, TENON_DHCP_CHECKING);
}

static void dhcp_take_reply(struct tenon_dhcp *dhcp)
{
    const unsigned type = dhcp->replied;

    dhcp->replied = 0;
    if (type == DHCP_OFFER) {    /* RFC 2131 4.4.1: the first one will do */
        dhcp_count(dhcp, TENON_DHCP_STAT_OFFERS);
        dhcp->lease = dhcp->reply;
        dhcp_request(dhcp, TENON_DHCP_REQUESTING);
    } else if (type == DHCP_ACK) {
        dhcp_take_ack(dhcp);
    } else if (type == DHCP_NAK) {
        dhcp_count(dhcp, TENON_DHCP_STAT_NAKS);
        dhcp_refused(dhcp);
    }
}

/* ---- what happens to the interface --------------------------------------------------------------------- */

/* RFC 2131 3.7, 4.4.2: after the link was away it may be another network, also if it came back before this poll. */
static void dhcp_watch_link(struct tenon_dhcp *dhcp)
{
    struct tenon_netif_info info;
    const int up = tenon_netif_get(dhcp->stack, dhcp->conf.netif, &info) == TENON_OK && info.up;

    if (!up || info.ups != dhcp->ups)
        dhcp_enter(dhcp, TENON_DHCP_DOWN);
    if (!up || dhcp->state != TENON_DHCP_DOWN)
        return;
    dhcp->ups = info.ups;
    if (!dhcp->leased) {
        dhcp_begin(dhcp);
        return;
    }
    dhcp->began = dhcp->clock.now;
    dhcp_request(dhcp, TENON_DHCP_REBOOTING);
}

/* Its address was not probed to the end before the link was away, and no server says anything. */
static int dhcp_is_alone(const struct tenon_dhcp *dhcp)
{
    return dhcp->state == TENON_DHCP_REBOOTING && dhcp->source != TENON_DHCP_LEASE && dhcp->sends > DHCP_REBOOTS;
}

static void dhcp_watch_lease(struct tenon_dhcp *dhcp)
{
    struct tenon_addr_info info;

    if (!dhcp->leased)
        return;
    if (tenon_svc_is_over(&dhcp->clock, &dhcp->expiry)) {    /* RFC 2131 4.4.5: stop at once */
        dhcp_count(dhcp, TENON_DHCP_STAT_EXPIRED);
        dhcp_unlease(dhcp);
        if (dhcp->state != TENON_DHCP_DOWN)
            dhcp_init(dhcp, 0);
        return;
    }
    if (!svc_address(dhcp->stack, dhcp->conf.netif, &dhcp->lease.ip, &info)) {
        dhcp_unlease(dhcp);    /* somebody else has taken it away */
        if (dhcp->state != TENON_DHCP_DOWN)
            dhcp_refused(dhcp);
        return;
    }
    if (dhcp->state == TENON_DHCP_DOWN)
        return;
    if (info.state == TENON_ADDR_DUPLICATE)
        dhcp_decline(dhcp);
    else if (dhcp->state == TENON_DHCP_CHECKING && info.state != TENON_ADDR_TENTATIVE)
        dhcp_bound(dhcp);
    else if (dhcp_is_alone(dhcp) && info.state != TENON_ADDR_TENTATIVE)
        dhcp_use(dhcp);
}

static int dhcp_wants_fallback(const struct tenon_dhcp *dhcp)
{
    return dhcp->conf.fallback != TENON_DHCP_NONE && !dhcp->fallen && !dhcp->leased &&
           dhcp->state != TENON_DHCP_DOWN;
}

static void dhcp_fall_back(struct tenon_dhcp *dhcp)
{
    int error;

    dhcp_count(dhcp, TENON_DHCP_STAT_FALLBACKS);
    dhcp->fallen = 1;
    dhcp->touched = 1;
    if (dhcp->conf.fallback == TENON_DHCP_LINK_LOCAL) {
        error = tenon_linklocal_start(&dhcp->ll, dhcp->stack, dhcp->conf.netif);
    } else {
        error = tenon_addr_add(dhcp->stack, dhcp->conf.netif, &dhcp->conf.address, dhcp->conf.prefix);
        dhcp_route(dhcp, &dhcp->conf.router);
    }
    if (error != TENON_OK && error != TENON_EINUSE)
        dhcp_count(dhcp, TENON_DHCP_STAT_NO_ROOM);
}

static int dhcp_fallback_works(struct tenon_dhcp *dhcp)
{
    struct tenon_addr_info info;

    if (dhcp->conf.fallback == TENON_DHCP_LINK_LOCAL) {
        if (tenon_linklocal_poll(&dhcp->ll))
            dhcp->touched = 1;
        return dhcp->ll.state == TENON_LINKLOCAL_USED;
    }
    return svc_address(dhcp->stack, dhcp->conf.netif, &dhcp->conf.address, &info) &&
           info.state == TENON_ADDR_PREFERRED;
}

static void dhcp_watch_fallback(struct tenon_dhcp *dhcp)
{
    const struct tenon_svc_time limit = tenon_svc_later(dhcp->began, 0, dhcp->conf.fallback_ms);
    enum tenon_dhcp_source source;

    if (dhcp_wants_fallback(dhcp) && tenon_svc_is_over(&dhcp->clock, &limit))
        dhcp_fall_back(dhcp);
    if (!dhcp->fallen)
        return;
    source = dhcp_fallback_works(dhcp) ? dhcp->conf.fallback : TENON_DHCP_NONE;
    if (source != dhcp->source)
        dhcp->news = 1;
    dhcp->source = source;
}

/* ---- the interface of the service ---------------------------------------------------------------------- */

void tenon_dhcp_conf_default(struct tenon_dhcp_conf *conf, unsigned netif)
{
    memset(conf, 0, sizeof(*conf));
    conf->netif = netif;
    conf->delay_ms = 1000;
    conf->retry_ms = 4000;
    conf->retry_max_ms = 64000UL;
    conf->fallback = TENON_DHCP_LINK_LOCAL;
    conf->fallback_ms = 15000;
}

static int dhcp_conf_good(const struct tenon_dhcp_conf *conf)
{
    unsigned n = 0;

    while (conf->hostname != NULL && conf->hostname[n] != 0 && n <= TENON_DHCP_HOSTNAME_MAX)
        n++;
    if (n > TENON_DHCP_HOSTNAME_MAX || conf->retry_ms < 100 || conf->retry_max_ms < conf->retry_ms)
        return 0;
    if (conf->retry_max_ms > 0xFFFFFFUL || conf->delay_ms > 0xFFFFFFUL || conf->netif > 0xFFFFU)
        return 0;
    if (conf->client_id != NULL &&
        (conf->client_id_bytes < 2 || conf->client_id_bytes > TENON_DHCP_CLIENT_ID_MAX))
        return 0;
    if (!tenon_ip_is_any(&conf->wanted) &&
        (!tenon_ip_is_v4(&conf->wanted) || !dhcp_is_host(conf->wanted.w[TENON_IP4_WORD])))
        return 0;
    if (conf->fallback == TENON_DHCP_STATIC)
        return tenon_ip_is_v4(&conf->address) && dhcp_is_host(conf->address.w[TENON_IP4_WORD]) && conf->prefix <= 32;
    return conf->fallback == TENON_DHCP_NONE || conf->fallback == TENON_DHCP_LINK_LOCAL;
}

static int dhcp_open(struct tenon_dhcp *dhcp)
{
    struct tenon_addr at;
    int error = tenon_udp_open(dhcp->stack, &dhcp->sock, &dhcp_events, dhcp);

    if (error != TENON_OK)
        return error;
    at.ip = tenon_ip_any();
    at.port = DHCP_CLIENT_PORT;
    at.netif = 0;
    error = tenon_udp_bind(dhcp->sock, &at);
    if (error != TENON_OK)
        tenon_udp_close(dhcp->sock);
    else
        (void)tenon_udp_set(dhcp->sock, TENON_UDP_BROADCAST, 1);
    return error;
}

int tenon_dhcp_start(struct tenon_dhcp *dhcp, struct tenon *stack, const struct tenon_dhcp_conf *conf,
                     tenon_u32 now_us)
{
    struct tenon_netif_info info;
    int error;

    if (dhcp->state != TENON_DHCP_STOPPED || !dhcp_conf_good(conf) ||
        tenon_netif_get(stack, conf->netif, &info) != TENON_OK || (info.conf.caps & TENON_CAP_NO_LINK))
        return TENON_EINVAL;
    memset(dhcp, 0, sizeof(*dhcp));
    dhcp->stack = stack;
    dhcp->conf = *conf;
    memcpy(dhcp->mac, info.conf.mac, sizeof(dhcp->mac));
    dhcp->own_mtu = info.conf.mtu;
    dhcp->ups = info.ups;
    tenon_svc_clock_start(&dhcp->clock, now_us);
    error = dhcp_open(dhcp);
    if (error == TENON_OK)
        dhcp_begin(dhcp);
    return error;
}

static tenon_u32 dhcp_wait(const struct tenon_dhcp *dhcp)
{
    const struct tenon_svc_time limit = tenon_svc_later(dhcp->began, 0, dhcp->conf.fallback_ms);
    tenon_u32 wait = TENON_SVC_WAIT_MAX_US;

    if (dhcp->state != TENON_DHCP_CHECKING && dhcp->state != TENON_DHCP_DOWN)
        wait = tenon_svc_wait(&dhcp->clock, &dhcp->due);
    if (dhcp->leased)
        wait = svc_min(wait, tenon_svc_wait(&dhcp->clock, &dhcp->expiry));
    if (dhcp_wants_fallback(dhcp))
        wait = svc_min(wait, tenon_svc_wait(&dhcp->clock, &limit));
    return wait;
}

/* changed() is called at the end, when all fits together. */
static void dhcp_report(struct tenon_dhcp *dhcp)
{
    const int news = dhcp->news;

    dhcp->news = 0;
    if (news && dhcp->conf.changed != NULL)
        dhcp->conf.changed(dhcp, dhcp->conf.app);
}

tenon_u32 tenon_dhcp_poll(struct tenon_dhcp *dhcp, tenon_u32 now_us)
{
    tenon_u32 wait;

    if (dhcp->state == TENON_DHCP_STOPPED)
        return TENON_SVC_WAIT_MAX_US;
    tenon_svc_clock_move(&dhcp->clock, now_us);
    dhcp_watch_link(dhcp);
    dhcp_watch_lease(dhcp);
    if (dhcp->replied != 0)
        dhcp_take_reply(dhcp);
    if (tenon_svc_is_over(&dhcp->clock, &dhcp->due))
        dhcp_step(dhcp);
    dhcp_hold(dhcp);
    dhcp_watch_lease(dhcp);    /* without probing a new address is ready at once */
    dhcp_watch_fallback(dhcp);
    dhcp->touched |= dhcp->news;
    dhcp_report(dhcp);
    wait = dhcp_wait(dhcp);
    if (dhcp->touched) {
        dhcp->touched = 0;
        wait = svc_min(wait, tenon_poll(dhcp->stack, now_us));
    }
    return wait;
}

void tenon_dhcp_stop(struct tenon_dhcp *dhcp, tenon_u32 now_us)
{
    if (dhcp->state == TENON_DHCP_STOPPED)
        return;
    tenon_svc_clock_move(&dhcp->clock, now_us);
    if (dhcp->source == TENON_DHCP_LEASE && dhcp->state != TENON_DHCP_DOWN)
        dhcp_send_end(dhcp, DHCP_RELEASE);
    if (dhcp->source != TENON_DHCP_NONE)
        dhcp->news = 1;
    dhcp_unlease(dhcp);
    dhcp_drop_fallback(dhcp);
    dhcp->state = TENON_DHCP_STOPPED;
    tenon_udp_close(dhcp->sock);
    dhcp_report(dhcp);
}

tenon_u32 tenon_dhcp_lease_left(const struct tenon_dhcp *dhcp)
{
    if (!dhcp->leased)
        return 0;
    if (dhcp->lease.lease_s == DHCP_FOR_EVER)
        return DHCP_FOR_EVER;
    return tenon_svc_seconds_left(&dhcp->clock, &dhcp->expiry);
}

const char *tenon_dhcp_state_name(enum tenon_dhcp_state state)
{
    static const char *const names[] = { "stopped",   "down",     "init",  "selecting", "requesting",
                                         "rebooting", "checking", "bound", "renewing",  "rebinding" };

    return (unsigned)state < TENON_ARRAY_LEN(names) ? names[(unsigned)state] : "?";
}

#define DHCP_STAT_NAME(id, name, text) name,
const char *tenon_dhcp_stat_name(enum tenon_dhcp_stat stat)
{
    static const char *const names[] = { TENON_DHCP_STATS(DHCP_STAT_NAME) };

    return (unsigned)stat < TENON_ARRAY_LEN(names) ? names[(unsigned)stat] : NULL;
}
#undef DHCP_STAT_NAME
