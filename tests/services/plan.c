/* SPDX-License-Identifier: MIT */
/* Everything that is decided before a history begins. */
#include "history.h"

#include "core.h"
#include "tests/seeds/dice.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void draw_spans(struct span_us *spans, unsigned *n, uint32_t longest_us, const struct plan *plan,
                       struct dice *dice)
{
    unsigned i;

    *n = one_in(dice, 2) ? between(dice, 1, DARKS_MAX) : 0;
    for (i = 0; i < *n; i++) {
        spans[i].from_us = roll(dice, (uint32_t)plan->heal_us);
        spans[i].to_us = spans[i].from_us + between(dice, SECOND / 2, one_in(dice, 3) ? longest_us : 5 * SECOND);
    }
}

/* ---- the machines ----------------------------------------------------------------------------------- */

static void draw_line(struct wire_line_conf *line, struct dice *dice)
{
    line->delay_us = between(dice, 1, one_in(dice, 3) ? 150000 : 2000);
    if (one_in(dice, 3))
        line->rate = between(dice, 20000, 2000000);
    if (one_in(dice, 3))
        line->jitter_us = roll(dice, 50000);
    if (!one_in(dice, 3))
        line->loss_ppm = roll(dice, one_in(dice, 3) ? 500000 : 60000);
    if (one_in(dice, 2))
        line->duplicate_ppm = roll(dice, 200000);
    if (one_in(dice, 2))
        line->corrupt_ppm = roll(dice, 100000);
    if (one_in(dice, 2)) {
        line->reorder_ppm = roll(dice, 150000);
        line->reorder_us = between(dice, 100, 100000);
    }
}

static void draw_small(const struct plan *plan, struct machine_plan *m, unsigned index, struct dice *dice)
{
    struct tenon_sock_conf *conf = &m->conf;

    conf->device.netif.mtu = (tenon_u16)(one_in(dice, 2) ? 1500 : between(dice, plan->ip6 ? IP6_MTU_MIN : 576, 1500));
    conf->device.netif.mac[0] = 2;
    conf->device.netif.mac[5] = (tenon_u8)(index + 1);
    conf->device.netif.flags = plan->ip6 ? 0 : TENON_NETIF_NO_IP6;
    if (one_in(dice, 4))
        conf->device.netif.flags |= TENON_NETIF_NO_DAD;
    conf->device.flags = TENON_SOCK_NO_DMA;
    conf->socks = 1;
    conf->conns = 2;
    conf->blocks = (tenon_u16)between(dice, 2, 8);
    conf->headers = (tenon_u16)between(dice, 6, 18);
    conf->stack.udp_sockets_max = 3 + QUERIES;    /* of the services, each one; of names, one for each question */
    conf->stack.tcp_msl_ms = between(dice, 100, 2000);
    m->clock_us = one_in(dice, 2) ? UINT64_C(0xFFFFFFFF) - roll(dice, 60 * SECOND) : 1000;
}

static void draw_client(const struct plan *plan, struct machine_plan *m, unsigned index, struct dice *dice)
{
    const unsigned heads = 8 + 4 + (plan->ip6 ? 40 : 20);    /* UDP, TFTP, IP */
    /* RFC 8201 1: who finds out nothing about paths sends no more than that. */
    const unsigned whole = plan->ip6 && !TENON_WITH_PATH_MTU ? IP6_MTU_MIN : m->conf.device.netif.mtu;
    struct tenon_dhcp_conf *dhcp = &m->dhcp;

    tenon_dhcp_conf_default(dhcp, 1);
    dhcp->fallback = (enum tenon_dhcp_source)(one_in(dice, 4) ? TENON_DHCP_NONE : TENON_DHCP_STATIC + roll(dice, 2));
    dhcp->fallback_ms = between(dice, 1000, 30000);
    dhcp->address = tenon_ip4((tenon_u32)(0xAC100001UL + index));
    dhcp->prefix = 16;
    if (one_in(dice, 2))
        dhcp->router = tenon_ip4(0xAC10FFFEUL);
    dhcp->delay_ms = one_in(dice, 2) ? 0 : 1000;
    if (one_in(dice, 3))
        dhcp->retry_ms = between(dice, 500, 4000);
    if (one_in(dice, 2))
        dhcp->hostname = "small";
    if (one_in(dice, 3)) {
        dhcp->client_id = (const tenon_u8 *)(index == 0 ? "\0one" : "\0two");
        dhcp->client_id_bytes = 4;
    }
    m->ask_us = between(dice, SECOND / 2, 20 * SECOND);
    m->tcp = m->conf.headers >= TN_BUF_RESERVE + TN_BUF_JOINS + 3;    /* what is written is kept beyond the reserve */
    m->mixed_case = (uint8_t)roll(dice, 2);
    m->plain = (uint8_t)one_in(dice, 4);
    m->block_bytes = (uint16_t)(one_in(dice, 2) ? 0 : between(dice, 8, whole - heads));
}

static void draw_accidents(const struct plan *plan, struct machine_plan *m, struct dice *dice)
{
    unsigned i;

    draw_spans(m->dark, &m->ndarks, 60 * SECOND, plan, dice);
    draw_spans(m->unplugged, &m->nunplugged, 60 * SECOND, plan, dice);
    m->nshortages = one_in(dice, 3) ? between(dice, 1, SHORTAGES_MAX) : 0;
    for (i = 0; i < m->nshortages; i++) {
        struct shortage *s = &m->shortage[i];

        s->when.from_us = roll(dice, (uint32_t)plan->heal_us);
        s->when.to_us = s->when.from_us + roll(dice, 20 * SECOND);
        s->blocks = one_in(dice, 2) ? roll(dice, m->conf.blocks + 1U) : 0;
        s->headers = one_in(dice, 2) ? roll(dice, m->conf.headers + 1U) : 0;
        s->memory = one_in(dice, 2) ? roll(dice, 257) : 0;
    }
    m->nstalls = one_in(dice, 3) ? between(dice, 1, STALLS_MAX) : 0;
    for (i = 0; i < m->nstalls; i++) {
        m->stall[i].at_us = roll(dice, (uint32_t)plan->heal_us);
        m->stall[i].us = between(dice, SECOND / 10, one_in(dice, 3) ? 60 * SECOND : 2 * SECOND);
    }
    m->nrestarts = one_in(dice, 3) ? between(dice, 1, RESTARTS_MAX) : 0;
    for (i = 0; i < m->nrestarts; i++) {
        m->restart[i].at_us = roll(dice, (uint32_t)plan->heal_us);
        m->restart[i].power = (uint8_t)roll(dice, 2);
        m->restart[i].remembers = (uint8_t)roll(dice, 2);
    }
}

/* ---- the servers ------------------------------------------------------------------------------------ */

static void draw_server(const struct plan *plan, struct server_plan *s, struct dice *dice)
{
    s->lease_s = one_in(dice, 8) ? 0xFFFFFFFFU : between(dice, one_in(dice, 3) ? 10 : 60, 900);
    s->times = (enum times)roll(dice, TIMES_KINDS);
    if (one_in(dice, 2))
        s->mtu = (uint16_t)between(dice, plan->names6 ? IP6_MTU_MIN : 500, 1600);
    s->routes = (uint8_t)roll(dice, 2);
    s->names_all = (uint8_t)roll(dice, 2);
    s->knows_options = (uint8_t)roll(dice, 2);
    s->tells_size = (uint8_t)roll(dice, 2);
    s->over_tcp = (uint8_t)!one_in(dice, 3);
    s->soa = (uint8_t)roll(dice, 2);
    draw_spans(s->silent, &s->nsilent, 300 * SECOND, plan, dice);
    if (one_in(dice, 3))
        s->forgets_us = 1 + roll(dice, (uint32_t)plan->heal_us);
    if (one_in(dice, 3))
        s->nak_ppm = roll(dice, 400000);
    if (one_in(dice, 2))
        s->bend_ppm = roll(dice, 500000);
    if (one_in(dice, 2))
        s->late_ppm = roll(dice, 500000);
    if (one_in(dice, 2))
        s->ill_ppm = roll(dice, 300000);
    if (one_in(dice, 3))
        s->kiss_ppm = roll(dice, 200000);
}

/* What is promised lasts for three advertisements and more, and where cables are moved is over soon after that. */
static uint32_t draw_lifetime(const struct plan *plan, const struct server_plan *s, struct dice *dice)
{
    return between(dice, 3 * s->advert_s + 1, plan->moved_us > 0 ? 46 : one_in(dice, 2) ? 300 : 9000);
}

static void draw_router(const struct plan *plan, struct server_plan *s, struct dice *dice)
{
    s->advert_s = between(dice, 4, plan->moved_us > 0 ? 14 : 60);
    s->router_s = draw_lifetime(plan, s, dice);
    s->prefix_s = draw_lifetime(plan, s, dice);
    s->names_s = draw_lifetime(plan, s, dice);
    s->names_link_local = (uint8_t)roll(dice, 2);
    if (one_in(dice, 2))
        s->take_back_ppm = roll(dice, 300000);
}

void plan_draw(struct plan *plan, uint64_t seed)
{
    struct dice dice = { wire_mix(seed), 0 };
    unsigned i;

    memset(plan, 0, sizeof(*plan));
    plan->seed = seed;
    plan->heal_us = between(&dice, 20, one_in(&dice, 3) ? 1800 : 200) * (uint64_t)SECOND;
    plan->nmachines = between(&dice, 1, MACHINES_MAX);
    plan->nservers = between(&dice, 1, SERVERS_MAX);
    plan->squatted = (uint8_t)one_in(&dice, 3);
    if (one_in(&dice, 4))
        plan->moved_us = 5 * SECOND + roll(&dice, (uint32_t)plan->heal_us);
    plan->ip6 = (uint8_t)(TENON_WITH_IPV6 && one_in(&dice, 2));
    plan->names6 = (uint8_t)(plan->ip6 && one_in(&dice, 3));
    for (i = 0; i < plan->nmachines; i++) {
        draw_small(plan, &plan->machine[i], i, &dice);
        draw_client(plan, &plan->machine[i], i, &dice);
        draw_line(&plan->machine[i].out, &dice);
        draw_line(&plan->machine[i].in, &dice);
        draw_accidents(plan, &plan->machine[i], &dice);
    }
    for (i = 0; i < plan->nmachines; i++)    /* who does not look whether somebody has an address takes it */
        if (plan->machine[i].conf.device.netif.flags & TENON_NETIF_NO_DAD)
            plan->squatted = 0;
    for (i = 0; i < plan->nservers; i++)
        draw_server(plan, &plan->server[i], &dice);
    for (i = 0; i < plan->nservers && plan->ip6; i++)
        if (i == 0 || one_in(&dice, 2))
            draw_router(plan, &plan->server[i], &dice);
    if (one_in(&dice, 3))
        plan->forged = (uint8_t)between(&dice, 1, 3);
    for (i = 0; i < plan->nmachines; i++)
        plan->machine[i].blinks = (uint8_t)one_in(&dice, 3);
}

/* ---- in words --------------------------------------------------------------------------------------- */

static double s_of(uint64_t us)
{
    return (double)us / 1e6;
}

static void print_spans(const char *what, const struct span_us *spans, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++)
        printf("    %s from %.1f to %.1f s\n", what, s_of(spans[i].from_us), s_of(spans[i].to_us));
}

static void print_machine(const struct machine_plan *m, unsigned index)
{
    static const char *const fallbacks[] = { "none", "?", "fixed", "link-local" };
    unsigned i;

    printf(
        "  machine %u: MTU %u, %u blocks, %u headers, fallback %s after %u ms, a name each %.1f s%s, files by %u%s%s\n",
        index, m->conf.device.netif.mtu, m->conf.blocks, m->conf.headers, fallbacks[m->dhcp.fallback],
        (unsigned)m->dhcp.fallback_ms, s_of(m->ask_us), m->tcp ? ", TCP too" : "", m->block_bytes,
        m->plain ? ", no options" : "", m->blinks ? ", hears of cables late" : "");
    print_spans("dark", m->dark, m->ndarks);
    print_spans("unplugged", m->unplugged, m->nunplugged);
    for (i = 0; i < m->nshortages; i++)
        printf("    short of %u blocks, %u headers, %u/256 of the memory from %.1f to %.1f s\n", m->shortage[i].blocks,
               m->shortage[i].headers, m->shortage[i].memory, s_of(m->shortage[i].when.from_us),
               s_of(m->shortage[i].when.to_us));
    for (i = 0; i < m->nstalls; i++)
        printf("    stands still at %.1f s for %.1f s\n", s_of(m->stall[i].at_us), s_of(m->stall[i].us));
    for (i = 0; i < m->nrestarts; i++)
        printf("    %s at %.1f s%s\n", m->restart[i].power ? "loses power" : "restarts", s_of(m->restart[i].at_us),
               m->restart[i].remembers ? ", knows its address" : "");
}

void plan_print(const struct plan *plan)
{
    unsigned i;

    printf("seed %" PRIu64 ": heals at %.1f s%s", plan->seed, s_of(plan->heal_us),
           plan->squatted ? ", somebody has an address of the first server's" : "");
    if (plan->ip6)
        printf(", IPv6 too%s", plan->names6 ? ", names by it alone" : "");
    if (plan->forged > 0)
        printf(", %u forged answers at a time", plan->forged);
    if (plan->moved_us > 0)
        printf(", another network at %.1f s", s_of(plan->moved_us));
    printf("\n");
    for (i = 0; i < plan->nmachines; i++)
        print_machine(&plan->machine[i], i);
    for (i = 0; i < plan->nservers; i++) {
        const struct server_plan *s = &plan->server[i];

        printf("  server %u: leases of %u s, times %u, MTU %u, forgets at %.1f s, refuses %u, bends %u, late %u, "
               "ill %u, kisses %u ppm\n",
               i, s->lease_s, s->times, s->mtu, s_of(s->forgets_us), s->nak_ppm,
               s->bend_ppm, s->late_ppm, s->ill_ppm, s->kiss_ppm);
        if (s->advert_s > 0)
            printf("    a router each %u s, for %u s, its network for %u s, names for %u s%s, takes back %u ppm\n",
                   s->advert_s, s->router_s, s->prefix_s, s->names_s, s->names_link_local ? " at fe80::" : "",
                   s->take_back_ppm);
        print_spans("silent", s->silent, s->nsilent);
    }
}
