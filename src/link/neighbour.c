/* SPDX-License-Identifier: MIT */
/* Neighbours on Ethernet links: one cache for ARP and ND, with the states of RFC 4861 7.3.2, bounded in
 * everything: entries, unresolved ones among them, packets that wait for one.
 *
 *   INCOMPLETE --answer--> REACHABLE --time--> STALE --packet--> DELAY --5 s--> PROBE --3 times--> forgotten
 *       |                      ^-------- confirmed by an answer, or by what TCP sees -------'
 *       '--3 times--> failed: refused for a second, then forgotten
 *
 * REACHABLE and STALE need no timer: age is looked at when a packet is sent. */
#include "link/link_internal.h"
#include "wire/wire.h"

/* RFC 4861 10. ARP asks as often, and once a second (RFC 1122 2.3.2.1). */
enum { NEIGHBOUR_SOLICITS = 3, NEIGHBOUR_ARP_RETRANS_MS = 1000, NEIGHBOUR_DELAY_MS = 5000 };
enum { NEIGHBOUR_FAILED_MS = 1000 };
enum { NEIGHBOUR_SEARCH = 16 };    /* entries that are looked at to find one to evict */

/* A packet that waits: its spans, referenced, follow the struct. */
struct link_queued {
    struct link_queued *next;
    struct tn_out out;
};

/* ---- the table ------------------------------------------------------------------------------- */

TENON_INTERNAL void tn_neighbours_init(struct tenon *stack)
{
    struct tn_link *link = &stack->link;
    unsigned i;

    if (!TENON_WITH_MANY)
        return;
    for (i = 0; i + 1 < tn_neighbours_max(&stack->conf); i++)
        link->neighbours[i].next = (tenon_u16)(i + 2);
    link->neighbour_free = 1;
}

TENON_INTERNAL tenon_u32 tn_neighbour_hash(const struct tenon *stack, unsigned netif, const struct tenon_ip *ip)
{
    tenon_u32 words[TENON_IP_WORDS + 1];
    unsigned i;

    for (i = 0; i < TENON_IP_WORDS; i++)
        words[i] = ip->w[i];
    words[TENON_IP_WORDS] = netif;
    return tn_hash_words(&stack->table_key, words, TENON_IP_WORDS + 1);
}

static tenon_u16 *neighbour_head(const struct tenon *stack, unsigned netif, const struct tenon_ip *ip)
{
    return &stack->link.neighbour_heads[tn_neighbour_hash(stack, netif, ip) % tn_neighbours_max(&stack->conf)];
}

TENON_INTERNAL struct tn_neighbour *tn_neighbour_find(const struct tenon *stack, unsigned netif,
                                                      const struct tenon_ip *ip)
{
    unsigned number;

    if (!TENON_WITH_ETHERNET)
        return NULL;
    number = TENON_WITH_MANY ? *neighbour_head(stack, netif, ip) : tn_neighbours_max(&stack->conf);
    while (number != 0) {
        struct tn_neighbour *neighbour = &stack->link.neighbours[number - 1];

        if (tn_netif_is(neighbour->netif, netif) && tenon_ip_equal(&neighbour->ip, ip))
            return neighbour;
        number = TENON_WITH_MANY ? neighbour->next : number - 1;
    }
    return NULL;
}

/* A slot that is free: all 0, and so INCOMPLETE. NULL: there is none; where there are not many, neighbour_evict() looks
 * for one. */
static struct tn_neighbour *neighbour_unused(const struct tenon *stack)
{
    const struct tn_link *link = &stack->link;

    return !TENON_WITH_MANY || link->neighbour_free == 0 ? NULL : &link->neighbours[link->neighbour_free - 1];
}

static void queued_free(struct tenon *stack, struct link_queued *queued)
{
    const size_t bytes = sizeof(*queued) + tn_out_nspans(&queued->out) * sizeof(struct tenon_span);

    if (TENON_WITH_PIECES)
        tn_spans_put(queued->out.spans, queued->out.nspans);
    tn_mem_put(stack, queued, bytes);
}

static TENON_ONCE void neighbour_drop_first(struct tenon *stack, struct tn_neighbour *neighbour)
{
    struct link_queued *queued = neighbour->queue_first;

    neighbour->queue_first = queued->next;
    neighbour->queued--;
    tenon_buf_put(queued->out.hdr);
    queued_free(stack, queued);
    tn_count(stack, TENON_STAT_NEIGH_QUEUE_DROP);
}

static void neighbour_set_state(struct tenon *stack, struct tn_neighbour *neighbour, enum tenon_neighbour_state state)
{
    if (neighbour->state == TENON_NEIGHBOUR_INCOMPLETE && state != TENON_NEIGHBOUR_INCOMPLETE)
        stack->link.nincomplete--;
    tn_link_changed(stack);
    neighbour->state = (tenon_u8)state;
    neighbour->failed = 0;
    neighbour->solicits = 0;
    tn_timer_stop(&stack->wheel, &neighbour->timer);
}

static void neighbour_unlink(struct tenon *stack, const struct tn_neighbour *neighbour)
{
    struct tn_link *link = &stack->link;
    const tenon_u16 number = (tenon_u16)(neighbour - link->neighbours + 1);
    tenon_u16 *at = neighbour_head(stack, neighbour->netif, &neighbour->ip);

    while (*at != number)
        at = &link->neighbours[*at - 1].next;
    *at = neighbour->next;
}

static void neighbour_free(struct tenon *stack, struct tn_neighbour *neighbour)
{
    struct tn_link *link = &stack->link;

    neighbour_set_state(stack, neighbour, TENON_NEIGHBOUR_STALE);
    while (neighbour->queue_first != NULL)
        neighbour_drop_first(stack, neighbour);
    if (TENON_WITH_MANY)
        neighbour_unlink(stack, neighbour);
    memset(neighbour, 0, sizeof(*neighbour));
    if (!TENON_WITH_MANY)
        return;
    neighbour->next = link->neighbour_free;
    link->neighbour_free = (tenon_u16)(neighbour - link->neighbours + 1);
}

enum { NEIGHBOUR_USELESS = 3 };    /* and above */

/* Which is missed least: one that never answered, then one that may be out of date, of the same rank the one
 * not used for longest. That a gateway does not answer has to be found out, or all would wait for it, again and
 * again (RFC 1122 3.3.1.4). */
static int neighbour_rank(const struct tenon *stack, const struct tn_neighbour *neighbour)
{
    switch (neighbour->state) {
    case TENON_NEIGHBOUR_INCOMPLETE:
        if (TN_ROUTERS && !neighbour->failed && tn_route_has_gateway(stack, neighbour->netif, &neighbour->ip))
            return 1;
        return neighbour->failed ? NEIGHBOUR_USELESS + 1 : NEIGHBOUR_USELESS;
    case TENON_NEIGHBOUR_STALE: return 2;
    case TENON_NEIGHBOUR_REACHABLE: return 0;
    default: return 1;
    }
}

static int neighbour_is_missed_less(const struct tenon *stack, const struct tn_neighbour *a,
                                    const struct tn_neighbour *b)
{
    const int rank_a = TENON_WITH_MANY ? neighbour_rank(stack, a) : 0;
    const int rank_b = TENON_WITH_MANY ? neighbour_rank(stack, b) : 0;

    if (rank_a != rank_b)
        return rank_a > rank_b;
    return stack->now_ms - a->used_ms > stack->now_ms - b->used_ms;
}

/* Evict one of the entries that follow the last one evicted: a scan of a /64 pays for itself, entry by entry
 * (RFC 6583 7.1). incomplete: only an unresolved one, and however long it takes to find it; there are then
 * as many of them as of others. @return it, free; NULL: there was none to evict */
static struct tn_neighbour *neighbour_evict(struct tenon *stack, int incomplete)
{
    const unsigned max = tn_neighbours_max(&stack->conf);
    const unsigned search = incomplete || !TENON_WITH_MANY ? max : (unsigned)tn_min(max, NEIGHBOUR_SEARCH);
    struct tn_neighbour *victim = NULL;
    unsigned i;

    TENON_ASSERT(stack->link.neighbours != NULL);
    for (i = 0; i < search; i++) {
        struct tn_neighbour *neighbour = &stack->link.neighbours[TENON_WITH_MANY ? stack->link.neighbour_cursor : i];

        if (TENON_WITH_MANY)
            stack->link.neighbour_cursor = (tenon_u16)((stack->link.neighbour_cursor + 1U) % max);
        if (!TENON_WITH_MANY && neighbour->netif == 0)
            return neighbour;
        if (neighbour->netif == 0 || neighbour->state == TENON_NEIGHBOUR_PERMANENT)
            continue;
        if (!TENON_WITH_MANY && tn_ask_holds(stack, neighbour))
            continue;
        if (incomplete && neighbour->state != TENON_NEIGHBOUR_INCOMPLETE)
            continue;
        if (victim == NULL || neighbour_is_missed_less(stack, neighbour, victim))
            victim = neighbour;
        if (incomplete && neighbour_rank(stack, victim) >= NEIGHBOUR_USELESS)
            break;
    }
    tn_count(stack, TENON_STAT_NEIGH_FULL);
    if (victim != NULL)
        neighbour_free(stack, victim);
    return victim;
}

/* Whether another one may be unresolved: no more than half of them, so that those who answer keep their places. */
static int neighbour_may_be_new(struct tenon *stack)
{
    if (stack->link.nincomplete < (tn_neighbours_max(&stack->conf) + 1U) / 2)
        return 1;
    return TENON_WITH_MANY && neighbour_evict(stack, 1) != NULL;
}

/* It leaves the free ones. */
static void neighbour_link(struct tenon *stack, struct tn_neighbour *neighbour, unsigned netif,
                           const struct tenon_ip *ip)
{
    struct tn_link *link = &stack->link;
    tenon_u16 *head = neighbour_head(stack, netif, ip);

    link->neighbour_free = neighbour->next;
    neighbour->next = *head;
    *head = (tenon_u16)(neighbour - link->neighbours + 1);
    link->neighbour_serial++;
    if (link->neighbour_serial == 0)
        link->neighbour_serial = 1;
    neighbour->serial = link->neighbour_serial;
}

TENON_INTERNAL struct tn_neighbour *tn_neighbour_need(struct tenon *stack, unsigned netif, const struct tenon_ip *ip)
{
    struct tn_neighbour *neighbour = tn_neighbour_find(stack, netif, ip);

    if (neighbour != NULL)
        return neighbour;
    if (!TENON_WITH_ETHERNET || !neighbour_may_be_new(stack))
        return NULL;
    neighbour = neighbour_unused(stack);
    if (neighbour == NULL)
        neighbour = neighbour_evict(stack, 0);
    if (neighbour == NULL)
        return NULL;
    if (TENON_WITH_MANY)
        neighbour_link(stack, neighbour, netif, ip);
    else
        neighbour->asked_until = stack->now_tick;
    neighbour->ip = *ip;
    neighbour->netif = (tenon_u8)netif;
    neighbour->used_ms = stack->now_ms;
    neighbour->timer.kind = TN_TIMER_NEIGHBOUR;
    stack->link.nincomplete++;
    return neighbour;
}

TENON_INTERNAL struct tn_neighbour *tn_neighbour_asked(struct tenon *stack, unsigned netif, const struct tenon_ip *ip)
{
    return TENON_WITH_ETHERNET && tn_ask_remembers(stack, netif, ip) ? tn_neighbour_need(stack, netif, ip) : NULL;
}

TENON_INTERNAL void tn_neighbours_forget(struct tenon *stack, unsigned netif)
{
    unsigned i;

    for (i = 0; i < tn_neighbours_max(&stack->conf); i++) {
        struct tn_neighbour *neighbour = &stack->link.neighbours[i];

        if (neighbour->netif == 0 || (netif != 0 && neighbour->netif != netif))
            continue;
        if (netif == 0 || neighbour->state != TENON_NEIGHBOUR_PERMANENT)
            neighbour_free(stack, neighbour);
    }
}

/* ---- reachability ---------------------------------------------------------------------------- */

TENON_INTERNAL int tn_neighbour_expired(const struct tenon *stack, const struct tn_neighbour *neighbour)
{
    const tenon_u32 reachable_ms = TENON_WITH_IPV6 ? neighbour->reachable_ms : (tenon_u32)TN_REACHABLE_MS;

    return neighbour->state == TENON_NEIGHBOUR_REACHABLE && stack->now_ms - neighbour->confirmed_ms > reachable_ms;
}

/* Twice a day, before a clock could have gone round. */
TENON_INTERNAL void tn_neighbours_age(struct tenon *stack)
{
    unsigned i;

    for (i = 0; i < tn_neighbours_max(&stack->conf); i++) {
        struct tn_neighbour *neighbour = &stack->link.neighbours[i];

        if (tn_neighbour_expired(stack, neighbour))
            neighbour->state = TENON_NEIGHBOUR_STALE;
        if (!TENON_WITH_MANY && !tn_ask_holds(stack, neighbour))
            neighbour->asked_until = stack->now_tick;    /* it stays over, also when the ticks have gone round */
    }
}

static void neighbour_reached(struct tenon *stack, struct tn_neighbour *neighbour)
{
    tenon_u32 base;

    neighbour->confirmed_ms = stack->now_ms;
    if (TENON_WITH_IPV6) {
        base = tn_netif_of(&stack->link, neighbour->netif)->reachable_ms;
        /* RFC 4861 6.3.2: 0.5 to 1.5 times as long */
        neighbour->reachable_ms = base / 2 + tn_random_below(&stack->random, base + 1);
    }
    tn_route_gateway_works(stack, neighbour->netif, &neighbour->ip);
}

TENON_INTERNAL void tn_neighbour_confirm(struct tenon *stack, struct tn_neighbour *neighbour)
{
    if (TENON_LIKELY(neighbour->state == TENON_NEIGHBOUR_REACHABLE)) {
        neighbour->confirmed_ms = stack->now_ms;
        return;
    }
    if (neighbour->state != TENON_NEIGHBOUR_INCOMPLETE && neighbour->state != TENON_NEIGHBOUR_PERMANENT)
        tn_neighbour_resolve(stack, neighbour, neighbour->mac, TENON_NEIGHBOUR_REACHABLE);
}

/* The question is worth more than what waits for its answer: a packet that was copied together may have all buffers,
 * and would have them again when it comes again. */
static void neighbour_spare_buffer(struct tenon *stack, struct tn_neighbour *neighbour)
{
    while (TENON_WITH_LINEAR && neighbour->queue_first != NULL && tn_buf_next(stack) == NULL)
        neighbour_drop_first(stack, neighbour);
}

/* From which address to ask: that of the packet which waits if it is one of this link's (RFC 4861 7.2.2), else the best
 * one. NULL: from none. */
static const struct tn_address *neighbour_source(const struct tenon *stack, const struct tn_neighbour *neighbour)
{
    const struct link_queued *queued = neighbour->queue_first;
    const struct tn_address *address = NULL;

    if (TENON_WITH_HOMES && queued != NULL)
        address = tn_address_find(stack, neighbour->netif, &queued->out.src);
    if (address != NULL && tn_address_usable(address))
        return address;
    return tn_source_select(stack, &neighbour->ip, neighbour->netif, &neighbour->ip);
}

/* Who was asked for just now, before its entry was evicted or confirmed, is asked for when it is time. */
static void neighbour_solicit(struct tenon *stack, struct tn_neighbour *neighbour)
{
    const int is_v4 = tenon_ip_is_v4(&neighbour->ip);
    tenon_u32 ms = NEIGHBOUR_ARP_RETRANS_MS, tick;
    const struct tn_address *source;
    int now;

    if (!is_v4)
        ms = tn_netif_of(&stack->link, neighbour->netif)->retrans_ms;
    tick = tn_tick_after_ms(stack, ms);
    now = tn_ask(stack, neighbour, &tick);
    tn_timer_start(&stack->wheel, &neighbour->timer, tick);
    if (!now) {
        tn_count(stack, TENON_STAT_NEIGH_ASK_LIMITED);
        return;
    }
    neighbour->solicits++;
    neighbour_spare_buffer(stack, neighbour);
    source = neighbour_source(stack, neighbour);
    if (source == NULL)
        return;
    if (is_v4)
        tn_arp_solicit(stack, neighbour, &source->ip);
    else
        tn_nd_solicit(stack, neighbour, &source->ip);
}

static void neighbour_probe(struct tenon *stack, struct tn_neighbour *neighbour)
{
    neighbour_set_state(stack, neighbour, TENON_NEIGHBOUR_PROBE);
    neighbour_solicit(stack, neighbour);
}

/* Upper layers send in vain: ask at once instead of waiting for the entry to age. */
TENON_INTERNAL void tn_neighbour_doubt(struct tenon *stack, struct tn_neighbour *neighbour)
{
    if (neighbour->state == TENON_NEIGHBOUR_REACHABLE || neighbour->state == TENON_NEIGHBOUR_STALE ||
        neighbour->state == TENON_NEIGHBOUR_DELAY)
        neighbour_probe(stack, neighbour);
}

/* RFC 4861 7.3.3: five seconds from the first packet on. If that came from outside of tenon_input() and
 * tenon_poll(), where the time is not known, from the next poll on. */
static void neighbour_delay(struct tenon *stack, struct tn_neighbour *neighbour)
{
    tenon_u32 tick = tn_tick_after_ms(stack, NEIGHBOUR_DELAY_MS);

    if (TENON_WITH_IPV6 && stack->depth == 0)
        tick = stack->wheel.now;
    else
        neighbour->state = TENON_NEIGHBOUR_DELAY;
    tn_timer_start(&stack->wheel, &neighbour->timer, tick);
}

/* ---- packets --------------------------------------------------------------------------------- */

static int neighbour_transmit(struct tenon *stack, struct tn_neighbour *neighbour, struct tn_out *out)
{
    neighbour->used_ms = stack->now_ms;
    if (tn_neighbour_expired(stack, neighbour))
        neighbour->state = TENON_NEIGHBOUR_STALE;
    if (neighbour->state == TENON_NEIGHBOUR_STALE)
        neighbour_delay(stack, neighbour);
    return tn_link_frame(stack, tn_netif_of(&stack->link, neighbour->netif), neighbour->mac, out);
}

/* Whether a packet may wait: the oldest one makes room (RFC 4861 7.2.2). An answer of ICMP lies in what it answers, of
 * which nothing is kept where a host hears with its last buffers. And its last buffer for headers does not wait for
 * somebody who may never be heard of: it is to ask with, and to answer others. */
static int neighbour_has_place(struct tenon *stack, struct tn_neighbour *neighbour, const struct tn_out *out)
{
    if (tn_out_nspans(out) > 0 && stack->keeps != TENON_KEEP_ALL &&
        (out->proto == TN_PROTO_ICMP || (TENON_WITH_IPV6 && out->proto == TN_PROTO_ICMP6)))
        return 0;
    if (neighbour->queued == stack->conf.neighbour_queue_max)
        neighbour_drop_first(stack, neighbour);
    if (!TENON_WITH_PIECES)
        return 1;
    if (tn_buf_get(stack) == NULL)
        return 0;
    stack->nbufs++;    /* it is there: nobody takes it now */
    return 1;
}

static int neighbour_queue(struct tenon *stack, struct tn_neighbour *neighbour, const struct tn_out *out)
{
    struct link_queued **at = &neighbour->queue_first, *queued;
    const size_t bytes = sizeof(*queued) + tn_out_nspans(out) * sizeof(struct tenon_span);
    struct tenon_span *spans;
    unsigned i;

    queued = neighbour_has_place(stack, neighbour, out) ? (struct link_queued *)tn_mem_get(stack, bytes) : NULL;
    if (queued == NULL) {
        tn_count(stack, TENON_STAT_NEIGH_QUEUE_DROP);
        tenon_buf_put(out->hdr);
        return TENON_ENOMEM;
    }
    spans = (struct tenon_span *)(void *)(queued + 1);
    for (i = 0; i < tn_out_nspans(out); i++) {
        spans[i] = out->spans[i];
        tenon_buf_ref(spans[i].buf);
    }
    queued->next = NULL;
    memcpy(&queued->out, out, sizeof(*out));
    queued->out.spans = spans;
    while (*at != NULL)    /* they are few */
        at = &(*at)->next;
    *at = queued;
    neighbour->queued++;
    return TENON_OK;
}

/* A call from outside of tenon_input() and tenon_poll() does not know the time: the first question is put off
 * to the next poll, or the second would follow it too early. */
static void neighbour_ask(struct tenon *stack, struct tn_neighbour *neighbour)
{
    if (stack->depth > 0)
        neighbour_solicit(stack, neighbour);
    else
        tn_timer_start(&stack->wheel, &neighbour->timer, stack->wheel.now);
}

TENON_INTERNAL int tn_neighbour_send(struct tenon *stack, struct tn_neighbour *neighbour, struct tn_out *out)
{
    int error;

    if (TENON_LIKELY(neighbour->state != TENON_NEIGHBOUR_INCOMPLETE))
        return neighbour_transmit(stack, neighbour, out);
    if (neighbour->failed) {
        tn_count(stack, TENON_STAT_NEIGH_QUEUE_DROP);
        tenon_buf_put(out->hdr);
        return TENON_EUNREACH;
    }
    neighbour->used_ms = stack->now_ms;
    error = neighbour_queue(stack, neighbour, out);
    if (neighbour->solicits == 0 && !tn_timer_runs(&neighbour->timer))
        neighbour_ask(stack, neighbour);
    return error;
}

/* ---- what is heard --------------------------------------------------------------------------- */

/* While it has waited its address may have been lost (RFC 4862 5.5.4). Proxies speak for others. */
static int neighbour_may_leave(const struct tenon *stack, const struct tn_out *out)
{
    return !TENON_WITH_HOMES || tn_addr_is_ours(stack, &out->src, 0) ||
           (TENON_WITH_ROUTES && tn_tcp_wants_foreign(stack));
}

TENON_INTERNAL void tn_neighbour_resolve(struct tenon *stack, struct tn_neighbour *neighbour, const tenon_u8 *mac,
                                         enum tenon_neighbour_state state)
{
    struct link_queued *queued = neighbour->queue_first;

    if (mac != neighbour->mac)
        memcpy(neighbour->mac, mac, 6);
    neighbour_set_state(stack, neighbour, state);
    if (state == TENON_NEIGHBOUR_REACHABLE)
        neighbour_reached(stack, neighbour);
    neighbour->queue_first = NULL;
    neighbour->queued = 0;
    while (queued != NULL) {
        struct link_queued *next = queued->next;
        struct tn_out changing, *out;

        if (TENON_WITH_LINEAR || TENON_WITH_SPEED) {    /* it may lose its spans on its way; they are freed here */
            changing = queued->out;
            out = &changing;
        } else {
            out = &queued->out;
        }
        if (neighbour_may_leave(stack, out)) {
            (void)neighbour_transmit(stack, neighbour, out);
        } else {
            tn_count(stack, TENON_STAT_NEIGH_QUEUE_DROP);
            tenon_buf_put(out->hdr);
        }
        queued_free(stack, queued);
        queued = next;
    }
}

TENON_INTERNAL struct tn_neighbour *tn_neighbour_learn(struct tenon *stack, unsigned netif, const struct tenon_ip *ip,
                                                       const tenon_u8 *mac)
{
    struct tn_neighbour *neighbour;

    if (mac == NULL)
        return tn_neighbour_find(stack, netif, ip);
    neighbour = tn_neighbour_need(stack, netif, ip);
    if (neighbour == NULL || neighbour->state == TENON_NEIGHBOUR_PERMANENT)
        return neighbour;
    if (memcmp(neighbour->mac, mac, 6) != 0)
        tn_neighbour_resolve(stack, neighbour, mac, TENON_NEIGHBOUR_STALE);
    return neighbour;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Nobody is there any more, or nobody was. Then the entry stays for a moment so that the next packets do not ask again
 * at once (RFC 1122 2.3.2.1); those that waited are reported to their senders (RFC 4861 7.2.2), who may do anything in
 * answer: nothing of the entry is touched after that. */
static void neighbour_fail(struct tenon *stack, struct tn_neighbour *neighbour)
{
    struct link_queued *queued = neighbour->queue_first;
    const unsigned netif = neighbour->netif;

    tn_count(stack, TENON_STAT_NEIGH_FAILED);
    tn_route_gateway_failed(stack, netif, &neighbour->ip);
    if (neighbour->state == TENON_NEIGHBOUR_PROBE) {
        neighbour_free(stack, neighbour);
        return;
    }
    neighbour->failed = 1;
    neighbour->queue_first = NULL;
    neighbour->queued = 0;
    tn_timer_start(&stack->wheel, &neighbour->timer, tn_tick_after_ms(stack, NEIGHBOUR_FAILED_MS));
    while (queued != NULL) {
        struct link_queued *next = queued->next;
        struct tn_out *out = &queued->out;

        tn_count(stack, TENON_STAT_NEIGH_QUEUE_DROP);
        tn_icmp_local_error(stack, out->hdr->data + out->off, out->len, TN_ERR_HOST, netif);
        tenon_buf_put(out->hdr);
        queued_free(stack, queued);
        queued = next;
    }
}

static void neighbour_timer_asked(struct tenon *stack, struct tn_neighbour *neighbour)
{
    TENON_ASSERT(neighbour->state == TENON_NEIGHBOUR_INCOMPLETE || neighbour->state == TENON_NEIGHBOUR_PROBE);
    if (neighbour->failed)
        neighbour_free(stack, neighbour);
    else if (neighbour->solicits < NEIGHBOUR_SOLICITS)
        neighbour_solicit(stack, neighbour);
    else
        neighbour_fail(stack, neighbour);
}

TENON_INTERNAL void tn_neighbour_timer(struct tenon *stack, struct tn_timer *timer)
{
    struct tn_neighbour *neighbour = TENON_CONTAINER(timer, struct tn_neighbour, timer);

    if (neighbour->state == TENON_NEIGHBOUR_DELAY)
        neighbour_probe(stack, neighbour);
    else if (TENON_WITH_IPV6 && neighbour->state == TENON_NEIGHBOUR_STALE)
        neighbour_delay(stack, neighbour);
    else
        neighbour_timer_asked(stack, neighbour);
}

/* ---- the interface --------------------------------------------------------------------------- */

TENON_API int tenon_neighbour_set(struct tenon *stack, unsigned index, const struct tenon_ip *ip,
                                  const tenon_u8 mac[6])
{
    const struct tn_netif *netif = tn_netif_at(stack, index);
    struct tn_neighbour *neighbour;

    if (netif == NULL || tn_netif_is_bare(netif) || !tn_ip_is_host(ip) || !tn_mac_is_host(mac))
        return TENON_EINVAL;
    neighbour = tn_neighbour_need(stack, index, ip);
    if (neighbour == NULL)
        return TENON_ELIMIT;
    tn_neighbour_resolve(stack, neighbour, mac, TENON_NEIGHBOUR_PERMANENT);
    return TENON_OK;
}

TENON_API int tenon_neighbour_get(const struct tenon *stack, unsigned index, struct tenon_neighbour_info *info)
{
    unsigned i;

    for (i = 0; i < tn_neighbours_max(&stack->conf); i++) {
        const struct tn_neighbour *neighbour = &stack->link.neighbours[i];

        if (neighbour->netif == 0 || index-- > 0)
            continue;
        info->ip = neighbour->ip;
        memcpy(info->mac, neighbour->mac, 6);
        info->netif = neighbour->netif;
        info->state = (enum tenon_neighbour_state)neighbour->state;
        if (tn_neighbour_expired(stack, neighbour))
            info->state = TENON_NEIGHBOUR_STALE;
        info->router = neighbour->router;
        return TENON_OK;
    }
    return TENON_EINVAL;
}
