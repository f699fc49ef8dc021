/* SPDX-License-Identifier: MIT */
/* Everything that is decided before a history begins. */
#include "history.h"

#include "tests/seeds/dice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the machines --------------------------------------------------------------------------------- */

/* Frames that are longer than a block: the other machine's datagrams, at the beginning. */
static void draw_packets_taken(struct plan *plan, struct dice *dice)
{
    struct tenon_netif_conf *netif = &plan->conf.device.netif;
    const tenon_u16 least = plan->v6 ? 1280 : 576;

    if (netif->mtu <= least || !one_in(dice, 3))
        return;
    netif->mru = (tenon_u16)between(dice, least, netif->mtu);
    if (!plan->v6)
        netif->flags = TENON_NETIF_NO_IP6;
}

static unsigned plan_frame_bytes(const struct tenon_sock_conf *conf)
{
    const struct tenon_netif_conf *netif = &conf->device.netif;

    return (netif->mru != 0 && !(conf->device.flags & TENON_SOCK_CONTIGUOUS) ? netif->mru : netif->mtu) + 18U;
}

static void draw_limits(struct plan *plan, struct dice *dice)
{
    struct tenon_sock_conf *conf = &plan->conf;
    static const tenon_u16 mtus[] = { 576, 1280, 1500, 1500 };

    conf->device.netif.mtu = mtus[roll(dice, 4)];
    plan->v6 = (uint8_t)(conf->device.netif.mtu >= 1280 && one_in(dice, 3) && TENON_WITH_IPV6);
    draw_packets_taken(plan, dice);
    conf->blocks = (tenon_u16)between(dice, 2, 12);    /* and one more: draw_device() */
    conf->headers = (tenon_u16)between(dice, 3, 10);
    if (one_in(dice, 2))
        conf->packets = (tenon_u16)between(dice, 1, 9);
    if (one_in(dice, 2))
        conf->window = (tenon_u16)between(dice, 512, 6000);
    conf->stack.tcp_msl_ms = between(dice, 100, 3000);
    conf->stack.tcp_rto_max_us = 8000000;
    if (one_in(dice, 3))
        conf->stack.tcp_syncookies = (tenon_u8)roll(dice, 3);
    if (one_in(dice, 3))
        conf->stack.tcp_ooo_ranges_max = (tenon_u16)between(dice, 1, 4);
    if (one_in(dice, 3))
        conf->stack.paths_max = between(dice, 1, 4);
}

static void draw_device(struct plan *plan, struct dice *dice)
{
    struct tenon_sock_device *device = &plan->conf.device;

    device->flags = roll(dice, 3);    /* DMA that gathers, DMA of one piece, none */
    if (!TENON_WITH_LINEAR && device->flags == TENON_SOCK_CONTIGUOUS)
        device->flags = 0;
    if (device->flags & TENON_SOCK_CONTIGUOUS)
        plan->conf.blocks++;
    if (one_in(dice, 4))
        plan->conf.block_bytes = (tenon_u16)(plan_frame_bytes(&plan->conf) + roll(dice, 600));
    plan->slots = between(dice, 1, SLOTS_MAX);
    if (plan->slots % 3 == 0) {    /* no dice: the seeds stay what they were */
        device->flags |= TENON_SOCK_LENGTHS;
        plan->conf.blocks--;
        plan->conf.headers++;
    }
    plan->tx_us = one_in(dice, 2) ? between(dice, 1, 1300) : 1;
    plan->rx_blocks = one_in(dice, 2) ? between(dice, 1, (plan->conf.blocks + 1U) / 2U) : 0;
    if (device->flags & TENON_SOCK_LENGTHS)
        plan->rx_blocks = 0;
    if (plan->conf.blocks == tn_sock_blocks_least(device->flags))
        plan->conf.window =
            0; /* what it promises it can keep: one segment. More is lost each time, and takes hours */
    plan->later = (uint8_t)roll(dice, 2);
    plan->csum = (uint8_t)roll(dice, 2);
    plan->trust = (uint8_t)roll(dice, 2);
    plan->events = (uint8_t)roll(dice, 2);
    plan->arena_shift = roll(dice, 16);
    device->netif.mac[0] = 2;
    device->netif.mac[5] = 1;
    device->netif.flags |= TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    device->netif.caps = plan->csum ? TENON_CAP_TX_CSUM : 0;
    if (!TENON_WITH_ETHERNET)
        device->netif.caps |= TENON_CAP_NO_LINK;
    plan->clock_us = one_in(dice, 2) ? UINT64_C(0xFFFFFFFF) - roll(dice, 30 * SECOND) : 1000;
}

static void draw_peer(struct plan *plan, struct dice *dice)
{
    struct tenon_conf *peer = &plan->peer;

    tenon_conf_default(peer);
    peer->tcp_conns_max = 64;
    peer->tcp_rcv_buf = between(dice, 1000, 60000);
    peer->tcp_snd_buf = between(dice, 2000, 60000);
    peer->tcp_msl_ms = between(dice, 100, 3000);
    peer->tcp_rto_max_us = 8000000;
    if (one_in(dice, 4))
        peer->tcp_delack_us = between(dice, 1000, 400000);
}

/* ---- the network ---------------------------------------------------------------------------------- */

static void draw_line(struct wire_line_conf *line, struct dice *dice)
{
    memset(line, 0, sizeof(*line));
    line->delay_us = between(dice, 1, one_in(dice, 3) ? 80000 : 2000);
    if (one_in(dice, 3))
        line->rate = between(dice, 20000, 2000000);
    if (one_in(dice, 3))
        line->queue_frames = between(dice, 2, 20);
    if (one_in(dice, 3))
        line->jitter_us = roll(dice, 20000);
    if (!one_in(dice, 3))
        line->loss_ppm = roll(dice, one_in(dice, 4) ? 300000 : 60000);
    if (one_in(dice, 2))
        line->duplicate_ppm = roll(dice, 100000);
    if (one_in(dice, 2))
        line->corrupt_ppm = roll(dice, 60000);
    if (one_in(dice, 2)) {
        line->reorder_ppm = roll(dice, 150000);
        line->reorder_us = between(dice, 100, 60000);
    }
}

/* Below 552 routers cut what TCP sends; without PATH_MTU all that is too long, but not to more than two fragments.
 * To put them together the small machine needs a block for each while another holds what came out of order, a
 * device that takes two frames at a time, and buffers for headers besides those in reserve. */
static void draw_narrow(struct plan *plan, struct dice *dice)
{
    const int can_join = TENON_WITH_FRAGMENTS && !plan->v6 && plan->rx_blocks != 1 &&
                         plan->conf.blocks >= tn_sock_blocks_least(plan->conf.device.flags) + 3;
    const uint32_t mtu = plan->conf.device.netif.mtu;
    unsigned d;

    if (!one_in(dice, 3))
        return;
    for (d = 0; d < 2; d++) {
        const int cut = TENON_WITH_FRAGMENTS && !plan->v6 && (d == WIRE_OUT || can_join);
        const uint32_t halves = d == WIRE_IN && !TENON_WITH_PATH_MTU ? mtu / 2 + 20 : 296;
        const uint32_t least = plan->v6 ? 1280 : cut ? halves : 576;
        struct narrow *narrow = &plan->narrow[d];

        if (one_in(dice, 3) || mtu <= least || !(TENON_WITH_PATH_MTU || cut))
            continue;
        narrow->mtu = (uint16_t)between(dice, least, mtu - 1);
        narrow->silent = (uint8_t)one_in(dice, 3);
        if (one_in(dice, 2))
            narrow->at_us = roll(dice, (uint32_t)plan->heal_us);
    }
    if (can_join)
        plan->conf.headers += 14;
}

static void draw_troubles(struct plan *plan, struct dice *dice)
{
    unsigned i;

    plan->heal_us = between(dice, 5, 30) * (uint64_t)SECOND;
    plan->nblackouts = one_in(dice, 3) ? between(dice, 1, BLACKOUTS_MAX) : 0;
    for (i = 0; i < plan->nblackouts; i++) {
        plan->blackout[i].from_us = roll(dice, (uint32_t)plan->heal_us);
        plan->blackout[i].to_us = plan->blackout[i].from_us + roll(dice, 4 * SECOND);
    }
    plan->nshortages = one_in(dice, 2) ? between(dice, 1, SHORTAGES_MAX) : 0;
    for (i = 0; i < plan->nshortages; i++) {
        struct shortage *shortage = &plan->shortage[i];

        shortage->from_us = roll(dice, (uint32_t)plan->heal_us);
        shortage->to_us = shortage->from_us + roll(dice, 3 * SECOND);
        if (shortage->to_us > plan->heal_us)
            shortage->to_us = plan->heal_us;
        shortage->blocks = one_in(dice, 2) ? roll(dice, plan->conf.blocks + 1U) : 0;
        shortage->headers = one_in(dice, 2) ? roll(dice, plan->conf.headers + 1U) : 0;
        shortage->memory = one_in(dice, 2) ? roll(dice, 257) : 0;
        shortage->peer_ppm = one_in(dice, 4) ? roll(dice, 500000) : 0;
    }
}

static void draw_outages(struct plan *plan, struct dice *dice)
{
    unsigned i;

    plan->noutages = one_in(dice, 3) ? between(dice, 1, OUTAGES_MAX) : 0;
    for (i = 0; i < plan->noutages; i++) {
        struct outage *outage = &plan->outage[i];

        outage->from_us = roll(dice, (uint32_t)plan->heal_us);
        outage->to_us = outage->from_us + roll(dice, one_in(dice, 4) ? 8 * SECOND : SECOND);
        if (outage->to_us > plan->heal_us)
            outage->to_us = plan->heal_us;
        outage->address = (uint8_t)one_in(dice, 3);
    }
}

static void draw_stalls(struct plan *plan, struct dice *dice)
{
    unsigned i;

    plan->nstalls = one_in(dice, 3) ? between(dice, 1, STALLS_MAX) : 0;
    for (i = 0; i < plan->nstalls; i++) {
        plan->stall[i].at_us = roll(dice, (uint32_t)plan->heal_us - 2 * SECOND);
        plan->stall[i].us = roll(dice, one_in(dice, 3) ? 2 * SECOND : SECOND / 10);
        plan->stall[i].kind = (enum stall_kind)roll(dice, STALL_KINDS);
    }
}

/* Where SYN cookies answer a flood, a client who says nothing may never be heard of (RFC 4987 3.6). */
static void let_clients_speak(struct plan *plan)
{
    unsigned i;

    for (i = 0; i < plan->nsessions; i++)
        if (plan->session[i].kind == TCP_CLIENT && plan->session[i].bytes[0] == 0)
            plan->session[i].bytes[0] = 1;
}

static void draw_intrusions(struct plan *plan, struct dice *dice)
{
    unsigned i;

    plan->nintrusions = one_in(dice, 3) ? between(dice, 1, INTRUSIONS_MAX) : 0;
    for (i = 0; i < plan->nintrusions; i++) {
        struct intrusion *in = &plan->intrusion[i];

        in->from_us = roll(dice, (uint32_t)plan->heal_us);
        in->to_us = in->from_us + roll(dice, one_in(dice, 3) ? 10 * SECOND : SECOND);
        in->each = between(dice, 1, one_in(dice, 4) ? 20 : 3);
        in->of_peer = (uint8_t)one_in(dice, 3);
        if (in->of_peer)
            let_clients_speak(plan);
    }
}

static void draw_restarts(struct plan *plan, struct dice *dice)
{
    unsigned i;

    plan->nrestarts = one_in(dice, 4) ? between(dice, 1, RESTARTS_MAX) : 0;
    for (i = 0; i < plan->nrestarts; i++) {
        plan->restart[i].at_us = roll(dice, (uint32_t)plan->heal_us - SECOND);
        plan->restart[i].power = (uint8_t)roll(dice, 2);
    }
}

/* What it says of itself. Addresses that are made of its prefix live longer than the history. */
static void draw_advert(const struct plan *plan, struct router_advert *advert, struct dice *dice)
{
    const uint32_t mtu = plan->conf.device.netif.mtu;

    advert->every_us = between(dice, SECOND, 20 * SECOND);
    advert->lifetime_s = (uint16_t)(one_in(dice, 3) ? between(dice, 20, 60) : 1800);
    advert->preference = (uint8_t)roll(dice, 4);
    advert->hop_limit = one_in(dice, 2) ? 64 : 0;
    if (one_in(dice, 3))
        advert->mtu = (uint16_t)between(dice, 1280, mtu);
    if (one_in(dice, 3))
        advert->reachable_ms = between(dice, 1000, 30000);
    if (one_in(dice, 3))
        advert->retrans_ms = between(dice, 200, 2000);
    if (one_in(dice, 2))
        advert->valid_s = between(dice, 4000, 90000);
    advert->on_link = (uint8_t)roll(dice, 2);
    advert->autonomous = (uint8_t)roll(dice, 2);
}

static void draw_way(struct plan *plan, unsigned i, struct dice *dice)
{
    struct way *way = &plan->way[i];
    struct router_conf *conf = &way->conf;
    unsigned arm;

    conf->seed = plan->seed + 2 + i;
    conf->number = i;
    conf->others = plan->nways > 1 ? 2 - i : 0;
    conf->hub[1] = !plan->one_link;
    for (arm = 0; arm < ROUTER_ARMS; arm++)
        conf->net[arm][plan->v6] =
            plan->v6 ? tenon_ip6(0xFD000000UL, arm, 0, 0) : tenon_ip4((tenon_u32)(0x0A000000UL + 256 * arm));
    if (one_in(dice, 3))
        conf->redirects = between(dice, 1, 40);
    if (one_in(dice, 3)) {
        way->dark_from_us = roll(dice, (uint32_t)plan->heal_us);
        way->dark_to_us = way->dark_from_us + roll(dice, 6 * SECOND);
        way->for_good = (uint8_t)(plan->nways > 1 && i == 0 && one_in(dice, 3));
    }
    if (one_in(dice, 3))
        way->replaced_us = 1 + roll(dice, (uint32_t)plan->heal_us);
    if (plan->told)
        draw_advert(plan, &conf->advert, dice);
}

/* The last to be drawn: two networks, and one or two routers between them. */
static void draw_ways(struct plan *plan, struct dice *dice)
{
    unsigned i;

    if (!one_in(dice, 3) || (plan->conf.device.netif.caps & TENON_CAP_NO_LINK))
        return;
    plan->nways = TENON_WITH_ROUTES ? between(dice, 1, ROUTERS_MAX) : 1;
    plan->one_link = (uint8_t)one_in(dice, 3);
    plan->told = (uint8_t)(plan->v6 && one_in(dice, 2));
    for (i = 0; i < plan->nways; i++)
        draw_way(plan, i, dice);
    if (plan->told)
        plan->conf.device.netif.flags &= (tenon_u16)~TENON_NETIF_NO_RA;
    if (plan->told && one_in(dice, 2))
        plan->conf.device.netif.flags &= (tenon_u16)~TENON_NETIF_NO_DAD;
}

/* ---- what they do --------------------------------------------------------------------------------- */

static void draw_manners(struct session_plan *s, struct dice *dice)
{
    s->hold = one_in(dice, 2) ? between(dice, 1, HELD_MAX) : 1;
    s->parts = (uint8_t)one_in(dice, 3);
    s->misuse = (uint8_t)one_in(dice, 3);
    s->no_timestamps = (uint8_t)one_in(dice, 2);
    s->peer_waits = (uint8_t)one_in(dice, 2);
    s->peer_nodelay = (uint8_t)one_in(dice, 2);
    s->peer_chunk = one_in(dice, 3) ? between(dice, 1, 60) : between(dice, 100, 9000);
    s->peer_consume_us = one_in(dice, 3) ? roll(dice, 300000) : 0;
    s->talks = s->peer_chunk % 4 == 0;    /* no dice: the seeds stay what they were */
    s->backs = s->peer_chunk % 2 == 1;
    if (one_in(dice, 4)) {
        s->pause_at = roll(dice, 20000);
        s->pause_us = roll(dice, 6 * SECOND);
        s->greedy = (uint8_t)roll(dice, 2);
    }
}

/* Small segments for one who holds all that it can. */
static void draw_crumbs(struct session_plan *s, struct dice *dice)
{
    s->hold = HELD_MAX;
    s->greedy = s->peer_nodelay = 1;
    s->pause_at = roll(dice, 500);
    s->pause_us = between(dice, SECOND, 5 * SECOND);
    s->peer_chunk = between(dice, 1, 20);
    s->bytes[1] = between(dice, 1000, 4000);
}

static void draw_session(struct plan *plan, struct session_plan *s, struct dice *dice)
{
    const uint32_t top = one_in(dice, 3) ? 60000 : 8000;
    uint32_t packets = one_in(dice, 3) ? 1 : between(dice, 2, 8);

    memset(s, 0, sizeof(*s));
    s->at_us = roll(dice, (uint32_t)plan->heal_us / 2);
    s->kind = (enum session_kind)(one_in(dice, 4) ? UDP_SERVER + roll(dice, 2) : roll(dice, 2));
    if (s->kind >= UDP_SERVER && !TENON_WITH_UDP)
        s->kind = (enum session_kind)(s->kind - UDP_SERVER);
    s->bytes[0] = one_in(dice, 5) ? 0 : roll(dice, top);
    s->bytes[1] = one_in(dice, 5) ? 0 : roll(dice, top);
    s->most = one_in(dice, 2) ? 20000 : between(dice, 1, 700);
    if (s->most < 30 && s->bytes[0] > 3000)
        s->bytes[0] = 3000;
    s->ring_bytes = packets * (between(dice, 88, 1460) + TENON_SOCK_PACKET_BYTES);
    s->ring_late_us = one_in(dice, 4) ? roll(dice, SECOND) : 0;
    draw_manners(s, dice);
    if (one_in(dice, 8))
        draw_crumbs(s, dice);
    if (s->peer_chunk < 60 && s->bytes[1] > 6000)
        s->bytes[1] = 6000;
    s->finish = (enum finish)(one_in(dice, 4) ? roll(dice, FINISHES) : roll(dice, FINISHES_IN_ORDER));
    s->finish_at = roll(dice, s->bytes[0] + s->bytes[1] + 1);
    s->peer_aborts = (uint8_t)one_in(dice, 12);
    if (s->bytes[1] == 0)
        s->peer_waits = 0;    /* a client that says nothing may not be heard of, with SYN cookies */
    if (s->kind >= UDP_SERVER) {
        s->bytes[0] = s->bytes[1] = between(dice, 5, 60);
        s->most = one_in(dice, 4) ? between(dice, 1, 3000) : between(dice, 1, 500);
        s->finish = FIN_ALONE;
        s->peer_aborts = 0;
        s->ring_bytes += 600;
    }
}

/* Peers that are not as we are: older, smaller. Where there is one block, a window of one segment would be one of
 * several small ones, of which all but the first are lost each time. */
static void draw_strangers(struct plan *plan, struct dice *dice)
{
    const int one_block = plan->conf.blocks == tn_sock_blocks_least(plan->conf.device.flags);
    unsigned i;

    if (!one_in(dice, 3))
        return;
    for (i = 0; i < plan->nsessions; i++) {
        struct session_plan *s = &plan->session[i];

        s->peer_without = (uint8_t)roll(dice, LACKS_ALL + 1);
        if (one_in(dice, 3) && !one_block)
            s->peer_mss = (uint16_t)between(dice, 88, 1460);
    }
}

void plan_draw(struct plan *plan, uint64_t seed)
{
    struct dice dice = { wire_mix(seed), 0 };
    unsigned i, all = 0;

    memset(plan, 0, sizeof(*plan));
    plan->seed = seed;
    draw_limits(plan, &dice);
    draw_device(plan, &dice);
    draw_peer(plan, &dice);
    draw_line(&plan->out, &dice);
    draw_line(&plan->in, &dice);
    draw_troubles(plan, &dice);
    plan->nsessions = between(&dice, 1, SESSIONS_MAX);
    for (i = 0; i < plan->nsessions; i++) {
        draw_session(plan, &plan->session[i], &dice);
        all += plan->session[i].kind != TCP_SERVER;
        plan->servers += plan->session[i].kind == TCP_SERVER;
    }
    if (plan->servers > 1)
        plan->servers = between(&dice, 1, plan->servers);
    plan->conf.socks = (tenon_u16)(all + plan->servers + 1);
    plan->conf.datagrams = (tenon_u16)between(&dice, 1, 4);
    plan->conf.conns = (tenon_u16)(one_in(&dice, 3) ? between(&dice, 2, 12) : 0);
    draw_narrow(plan, &dice);
    draw_outages(plan, &dice);
    draw_strangers(plan, &dice);
    draw_stalls(plan, &dice);
    draw_intrusions(plan, &dice);
    draw_restarts(plan, &dice);
    draw_ways(plan, &dice);
}

void plan_print(const struct plan *plan)
{
    static const char *const kinds[] = { "TCP server", "TCP client", "UDP server", "UDP client" };
    static const char *const stalls[] = { "program", "clock", "device" };
    static const char *const finishes[] = { "FIN with the last", "FIN alone", "delete", "delete early", "abort" };
    unsigned i;

    printf("seed %" PRIu64 ": IPv%u, MTU %u, MRU %u, %u blocks, %u headers, %u descriptors, %u connections, window %u, "
           "device flags %u, %u slots for %u us, %u blocks waiting, heals at %.1f s\n",
           plan->seed, plan->v6 ? 6U : 4U, plan->conf.device.netif.mtu, plan->conf.device.netif.mru, plan->conf.blocks,
           plan->conf.headers, plan->conf.socks, plan->conf.conns, plan->conf.window, plan->conf.device.flags,
           plan->slots, plan->tx_us, plan->rx_blocks, (double)plan->heal_us / 1e6);
    for (i = 0; i < 2; i++)
        if (plan->narrow[i].mtu > 0)
            printf("  packets %s of %u bytes at most, from %.3f s on%s\n", i == WIRE_OUT ? "out" : "in",
                   plan->narrow[i].mtu, (double)plan->narrow[i].at_us / 1e6,
                   plan->narrow[i].silent ? ", and nobody is told" : "");
    for (i = 0; i < plan->nshortages; i++) {
        const struct shortage *s = &plan->shortage[i];

        printf("  short from %.3f to %.3f s: %u blocks, %u headers, %u/256 of memory, peer %u ppm\n",
               (double)s->from_us / 1e6, (double)s->to_us / 1e6, s->blocks, s->headers, s->memory, s->peer_ppm);
    }
    for (i = 0; i < plan->noutages; i++)
        printf("  no %s from %.3f to %.3f s\n", plan->outage[i].address ? "address" : "link",
               (double)plan->outage[i].from_us / 1e6, (double)plan->outage[i].to_us / 1e6);
    for (i = 0; i < plan->nstalls; i++)
        printf("  the %s stands still at %.3f s for %u us\n", stalls[plan->stall[i].kind],
               (double)plan->stall[i].at_us / 1e6, plan->stall[i].us);
    for (i = 0; i < plan->nrestarts; i++)
        printf("  the small machine %s at %.3f s\n", plan->restart[i].power ? "is off for a moment" : "begins anew",
               (double)plan->restart[i].at_us / 1e6);
    for (i = 0; i < plan->nways; i++) {
        const struct way *way = &plan->way[i];

        printf("  router %u%s%s: dark from %.3f to %.3f s%s, replaced at %.3f s, a redirect for %u packets\n", i,
               plan->told ? " advertises itself" : "", plan->one_link ? " on one link" : "",
               (double)way->dark_from_us / 1e6, (double)way->dark_to_us / 1e6, way->for_good ? " and for ever" : "",
               (double)way->replaced_us / 1e6, way->conf.redirects);
    }
    for (i = 0; i < plan->nintrusions; i++) {
        const struct intrusion *in = &plan->intrusion[i];

        printf("  somebody else from %.3f to %.3f s: %u frames at a time for the %s machine\n",
               (double)in->from_us / 1e6, (double)in->to_us / 1e6, in->each, in->of_peer ? "other" : "small");
    }
    for (i = 0; i < plan->nsessions; i++) {
        const struct session_plan *s = &plan->session[i];

        printf("  session %u at %.3f s: %s, %u out, %u in, packets of %u, ring %u, holds %u, %s%s", i,
               (double)s->at_us / 1e6, kinds[s->kind], s->bytes[0], s->bytes[1], s->most, s->ring_bytes, s->hold,
               finishes[s->finish], s->peer_aborts ? ", peer aborts" : "");
        if (s->peer_without > 0 || s->peer_mss > 0)
            printf(", peer without %#x, MSS %u", s->peer_without, s->peer_mss);
        printf("\n");
    }
}
