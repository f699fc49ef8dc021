/* SPDX-License-Identifier: MIT */
/* A DHCP server (RFC 2131 4.3), and how it errs until all is well. Each server has a part of the network's addresses,
 * and says no to what is in no network that it knows. */
#include "history.h"

#include <string.h>

enum type { DISCOVER = 1, OFFER, REQUEST, DECLINE, ACK, NAK, RELEASE };
enum { SERVER_PORT = 67, CLIENT_PORT = 68, BYTES_MAX = 576, HELD_S = 60, SPOILED_S = 3600, PREFIX = 24, FIRST = 10 };
#define FOR_EVER UINT64_MAX
#define ALL 0xFFFFFFFFUL
#define COOKIE 0x63825363UL

static tenon_u32 get32(const tenon_u8 *p)
{
    return (tenon_u32)p[0] << 24 | (tenon_u32)p[1] << 16 | (tenon_u32)p[2] << 8 | p[3];
}

static void put32(tenon_u8 *p, tenon_u32 v)
{
    p[0] = (tenon_u8)(v >> 24);
    p[1] = (tenon_u8)(v >> 16);
    p[2] = (tenon_u8)(v >> 8);
    p[3] = (tenon_u8)v;
}

/* What a client says. */
struct call {
    enum type type;
    tenon_u32 xid, ciaddr, wanted, server;
    tenon_u8 mac[6];
    unsigned machine;
    tenon_u8 id[64];
    unsigned id_bytes;
};

static int read_call(struct call *call, const tenon_u8 *bytes, uint32_t n)
{
    const tenon_u8 *p = bytes + 240;

    memset(call, 0, sizeof(*call));
    if (n < 244 || bytes[0] != 1 || get32(bytes + 236) != COOKIE)
        return 0;
    call->xid = get32(bytes + 4);
    call->ciaddr = get32(bytes + 12);
    memcpy(call->mac, bytes + 28, 6);
    call->machine = call->mac[5] - 1U;
    while (p + 2 <= bytes + n && *p != 255 && p + 2 + p[1] <= bytes + n) {
        if (p[0] == 53)
            call->type = (enum type)p[2];
        else if (p[0] == 50)
            call->wanted = get32(p + 2);
        else if (p[0] == 54)
            call->server = get32(p + 2);
        else if (p[0] == 61) {
            call->id_bytes = p[1] < sizeof(call->id) ? p[1] : (unsigned)sizeof(call->id);
            memcpy(call->id, p + 2, call->id_bytes);
        }
        p += 2 + p[1];
    }
    return call->machine < MACHINES_MAX;
}

/* ---- who has what ------------------------------------------------------------------------------------ */

static tenon_u32 pool_ip(const struct server *s, unsigned i)
{
    return (tenon_u32)(history_net(s->h) + FIRST + s->index * POOL + i);
}

static int is_promised_to_another(const struct server *s, tenon_u32 ip, unsigned machine)
{
    const struct history *h = s->h;
    unsigned m, i;

    for (m = 0; m < MACHINES_MAX; m++)
        for (i = 0; i < TENON_ARRAY_LEN(h->promise[0]); i++)
            if (m != machine && h->promise[m][i].ip.w[TENON_IP4_WORD] == ip &&
                h->promise[m][i].until_us >= history_now(h))
                return 1;
    return 0;
}

static void promise(struct server *s, unsigned machine, tenon_u32 ip, uint64_t until_us)
{
    struct promise *p = s->h->promise[machine];

    while (p->until_us != 0 && p->ip.w[TENON_IP4_WORD] != ip)
        p++;
    p->ip = tenon_ip4(ip);
    if (until_us > p->until_us)
        p->until_us = until_us;
}

static int is_free(const struct server *s, unsigned i, const struct call *call)
{
    const struct binding *b = &s->pool[i];

    return (b->state == FREE || b->until_us < history_now(s->h)) &&
           !is_promised_to_another(s, pool_ip(s, i), call->machine);
}

/* @return the number in the pool of what the client has, or may have; POOL: nothing is left */
static unsigned pool_find(const struct server *s, const struct call *call)
{
    unsigned i;

    for (i = 0; i < POOL; i++)
        if (s->pool[i].state != FREE && s->pool[i].state != SPOILED && memcmp(s->pool[i].mac, call->mac, 6) == 0)
            return i;
    for (i = 0; i < POOL; i++)
        if (is_free(s, i, call))
            return i;
    return POOL;
}

/* @return the binding of an address that is that client's; NULL: it is not, or not in the pool */
static struct binding *pool_of(struct server *s, const struct call *call, tenon_u32 ip)
{
    const tenon_u32 i = ip - pool_ip(s, 0);
    struct binding *b = &s->pool[i < POOL ? i : 0];

    if (i >= POOL || b->state == FREE || b->state == SPOILED || memcmp(b->mac, call->mac, 6) != 0)
        return NULL;
    return b;
}

/* ---- answers ------------------------------------------------------------------------------------------ */

struct answer {
    tenon_u8 bytes[BYTES_MAX];
    unsigned n;
};

static void add(struct answer *a, unsigned option, const void *value, unsigned n)
{
    a->bytes[a->n] = (tenon_u8)option;
    a->bytes[a->n + 1] = (tenon_u8)n;
    memcpy(a->bytes + a->n + 2, value, n);
    a->n += 2 + n;
}

static void add32(struct answer *a, unsigned option, tenon_u32 value)
{
    tenon_u8 bytes[4];

    put32(bytes, value);
    add(a, option, bytes, 4);
}

static void add_times(const struct server *s, struct answer *a)
{
    const struct server_plan *plan = s->plan;

    add32(a, 51, plan->lease_s);
    if (plan->times == TIMES_NONE)
        return;
    add32(a, 58, plan->times == TIMES_GOOD ? plan->lease_s / 2 : plan->lease_s);
    add32(a, 59, plan->times == TIMES_GOOD ? plan->lease_s / 8 * 7 : 3);
}

static void add_network(const struct server *s, struct answer *a)
{
    const struct server_plan *plan = s->plan;
    tenon_u8 list[4 * SERVERS_MAX], mtu[2];
    unsigned n = 0, i;

    add32(a, 1, 0xFFFFFF00UL);
    if (plan->routes)
        add32(a, 3, history_net(s->h) + 254);
    for (i = 0; i < s->h->plan.nservers; i++)
        if (plan->names_all || i == s->index)
            put32(list + 4 * n++, server_ip(s->h, i).w[TENON_IP4_WORD]);
    if (!s->h->plan.names6)
        add(a, 6, list, 4 * n);
    add(a, 42, list, 4);
    mtu[0] = (tenon_u8)(plan->mtu >> 8);
    mtu[1] = (tenon_u8)plan->mtu;
    if (plan->mtu > 0)
        add(a, 26, mtu, 2);
}

static void make(const struct server *s, struct answer *a, const struct call *call, enum type type, tenon_u32 ip)
{
    const tenon_u8 kind = (tenon_u8)type;

    memset(a, 0, sizeof(*a));
    put32(a->bytes, 0x02010600UL);
    put32(a->bytes + 4, call->xid);
    put32(a->bytes + 12, type == ACK ? call->ciaddr : 0);
    put32(a->bytes + 16, ip);
    memcpy(a->bytes + 28, call->mac, 6);
    put32(a->bytes + 236, COOKIE);
    a->n = 240;
    add(a, 53, &kind, 1);
    add32(a, 54, server_ip(s->h, s->index).w[TENON_IP4_WORD]);
    if (call->id_bytes > 0)
        add(a, 61, call->id, call->id_bytes);    /* RFC 6842 */
    if (type != NAK) {
        add_times(s, a);
        add_network(s, a);
    }
    a->bytes[a->n++] = 255;
}

/* What no client may take for an answer. The options begin at 240: type, server, identifier, ... */
static void bend(struct server *s, struct answer *a)
{
    switch (history_chance(s->h, 8)) {
    case 0: a->bytes[4] ^= 0x40; break;                             /* of another transaction */
    case 1: a->bytes[33] ^= 0x40; break;                            /* for somebody else */
    case 2: a->bytes[236] = 0; break;                               /* without the cookie */
    case 3: a->n = 100 + history_chance(s->h, 139); break;          /* cut in the header */
    case 4: a->bytes[243] = 0; break;                               /* of no type: the option's length is wrong */
    case 5: a->bytes[242] = DISCOVER; break;
    case 6: put32(a->bytes + 245, 0); break;                        /* from no server */
    default: a->bytes[0] = 1; break;                                /* a request */
    }
}

static void send_later(struct server *s, const struct tenon_addr *to, const struct answer *a)
{
    struct late *late = s->h->late;
    unsigned i;

    for (i = 0; i < LATE_MAX && late->used; i++)
        late++;
    if (i == LATE_MAX)
        return;
    late->server = s;
    late->to = *to;
    late->n = a->n;
    late->at_us = history_now(s->h) + history_chance(s->h, 10 * SECOND);
    late->used = 1;
    memcpy(late->bytes, a->bytes, a->n);
}

/* RFC 2131 4.1: to all, to who has no address, and who has to hear that it is not his. */
static void answer(struct server *s, const struct call *call, enum type type, tenon_u32 ip)
{
    struct tenon_addr to;
    struct answer a;

    memset(&to, 0, sizeof(to));
    to.ip = tenon_ip4(call->ciaddr == 0 || type == NAK ? ALL : call->ciaddr);
    to.port = CLIENT_PORT;
    to.netif = 1;
    make(s, &a, call, type, ip);
    if (history_happens(s->h, s->plan->bend_ppm)) {
        bend(s, &a);
        s->h->bent++;
    }
    if (history_happens(s->h, s->plan->late_ppm))
        send_later(s, &to, &a);
    else
        (void)tenon_udp_write(s->dhcp, &to, a.bytes, a.n);
}

/* ---- what is asked for -------------------------------------------------------------------------------- */

static void offer(struct server *s, const struct call *call)
{
    const unsigned i = pool_find(s, call);

    if (i == POOL)
        return;
    if (s->pool[i].state != LEASED || s->pool[i].until_us < history_now(s->h)) {
        s->pool[i].state = OFFERED;
        s->pool[i].until_us = history_now(s->h) + HELD_S * (uint64_t)SECOND;
        memcpy(s->pool[i].mac, call->mac, 6);
    }
    answer(s, call, OFFER, pool_ip(s, i));
}

static void lease(struct server *s, const struct call *call, struct binding *b)
{
    const tenon_u32 ip = pool_ip(s, (unsigned)(b - s->pool));
    const uint64_t until = s->plan->lease_s == 0xFFFFFFFFU ? FOR_EVER
                                                           : history_now(s->h) + s->plan->lease_s * (uint64_t)SECOND;

    b->state = LEASED;
    if (until > b->until_us)
        b->until_us = until;
    promise(s, call->machine, ip, until);
    answer(s, call, ACK, ip);
}

static void refuse(struct server *s, const struct call *call)
{
    answer(s, call, NAK, 0);
}

/* RFC 2131 4.3.2 */
static void request(struct server *s, const struct call *call)
{
    const tenon_u32 ip = call->ciaddr != 0 ? call->ciaddr : call->wanted;
    struct binding *b = pool_of(s, call, ip);

    if (call->server != 0 &&
        call->server != server_ip(s->h, s->index).w[TENON_IP4_WORD]) { /* another offer is taken */
        if (b != NULL && b->state == OFFERED)
            b->state = FREE;
        return;
    }
    if (b != NULL && !history_happens(s->h, s->plan->nak_ppm)) {
        lease(s, call, b);
        return;
    }
    if (b != NULL)
        b->state = FREE;
    if (b != NULL || call->server != 0 || (ip ^ history_net(s->h)) >> (32 - PREFIX) != 0 || ip - pool_ip(s, 0) < POOL)
        refuse(s, call);
}

static void give_back(struct server *s, const struct call *call)
{
    struct binding *b = pool_of(s, call, call->type == RELEASE ? call->ciaddr : call->wanted);

    if (b == NULL || call->server != server_ip(s->h, s->index).w[TENON_IP4_WORD])
        return;
    history_note(s->h, "server %u: number %u of the pool is given back", s->index, (unsigned)(b - s->pool));
    b->state = call->type == RELEASE ? FREE : SPOILED;
    b->until_us = history_now(s->h) + SPOILED_S * (uint64_t)SECOND;
}

static void received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                     const struct tenon_span *spans, unsigned n)
{
    struct server *s = app;
    tenon_u8 bytes[1500];
    struct call call;

    (void)sock, (void)info;
    if (server_is_silent(s) || !read_call(&call, bytes, server_gather(bytes, sizeof(bytes), spans, n)))
        return;
    history_note(s->h, "server %u: machine %u says %d, xid %08x, address %08x", s->index, call.machine, call.type,
                 (unsigned)call.xid, (unsigned)(call.ciaddr != 0 ? call.ciaddr : call.wanted));
    if (call.type == DISCOVER)
        offer(s, &call);
    else if (call.type == REQUEST)
        request(s, &call);
    else if (call.type == DECLINE || call.type == RELEASE)
        give_back(s, &call);
}

static void failed(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    (void)sock, (void)app, (void)to, (void)error;
}

void dhcp_server_open(struct server *s)
{
    static const struct tenon_udp_events events = { received, failed };

    s->dhcp = server_socket(s, SERVER_PORT, &events, s);
    (void)tenon_udp_set(s->dhcp, TENON_UDP_BROADCAST, 1);
}

/* From now on it knows of all that was promised. */
void dhcp_server_heal(struct server *s)
{
    const struct history *h = s->h;
    unsigned m, i;

    for (m = 0; m < h->plan.nmachines; m++)
        for (i = 0; i < TENON_ARRAY_LEN(h->promise[0]); i++) {
            const struct promise *p = &h->promise[m][i];
            const tenon_u32 number = p->ip.w[TENON_IP4_WORD] - pool_ip(s, 0);

            if (number >= POOL || p->until_us < history_now(h) || s->pool[number].state == SPOILED)
                continue;
            s->pool[number].state = LEASED;
            s->pool[number].until_us = p->until_us;
            memcpy(s->pool[number].mac, h->plan.machine[m].conf.device.netif.mac, 6);
        }
}

void dhcp_server_tick(struct server *s)
{
    unsigned i;

    for (i = 0; i < LATE_MAX; i++) {
        struct late *late = &s->h->late[i];

        if (!late->used || late->server != s || history_now(s->h) < late->at_us)
            continue;
        late->used = 0;
        (void)tenon_udp_write(s->dhcp, &late->to, late->bytes, late->n);
    }
}
