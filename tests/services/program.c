/* SPDX-License-Identifier: MIT */
/* What a small machine does: it gets an address, asks for names and the time, fetches files, and looks whether what it
 * is told is true. */
#include "history.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LATE_S = 90,              /* what was sent may have waited so long for a machine that stood still */
    SETTLED_S = 120,          /* after it all is to go well: what went before has run out */
    QUESTION_S = 300,         /* no question takes longer, whatever happens */
    GOOD_NAMES = 8, GOOD_FILES = 2, GOOD_TIMES = 1,
    LEASES_S = 3              /* ... and a lease is renewed so many times, if it is short */
};
#define FOR_EVER 0xFFFFFFFFU

static int is_settled(const struct machine *m, uint64_t since_us)
{
    const uint64_t heal = m->h->plan.heal_us + SETTLED_S * (uint64_t)SECOND;

    return m->h->healed && m->source == TENON_DHCP_LEASE && since_us >= heal &&
           since_us >= m->since_us + 10 * (uint64_t)SECOND;
}

/* ---- addresses -------------------------------------------------------------------------------------- */

static struct tenon_ip address_of(const struct tenon_dhcp *dhcp)
{
    switch (dhcp->source) {
    case TENON_DHCP_LEASE: return dhcp->lease.ip;
    case TENON_DHCP_STATIC: return dhcp->conf.address;
    case TENON_DHCP_LINK_LOCAL: return dhcp->ll.ip;
    default: return tenon_ip_any();
    }
}

static void set_servers(struct machine *m)
{
    const int leased = m->source == TENON_DHCP_LEASE;
    struct tenon_addr servers[TENON_DNS_SERVERS_MAX];
    const unsigned n = tenon_rdnss_servers(&m->rdnss, servers, m->dhcp.lease.dns, leased ? m->dhcp.lease.ndns : 0);

    tenon_dns_servers(&m->dns, servers, n);
}

static int speaks_ip6(const struct machine *m)
{
    struct tenon_netif_info netif;

    return m->h->plan.ip6 && tenon_netif_get(tenon_sock_stack(m->socks), 1, &netif) == TENON_OK &&
           netif.conf.mtu >= IP6_MTU_MIN;
}

/* Who knows names knows the time and files, too. Interfaces are not said of a time server: no link-local one. */
static const struct tenon_ip *time_server(const struct machine *m)
{
    const struct tenon_ip *ip = &m->rdnss.room[0].at.ip;

    if (m->rdnss.servers.n > 0 && !is_link_local6(ip) && speaks_ip6(m) && m->index == 0)
        return ip;
    return m->source == TENON_DHCP_LEASE && m->dhcp.lease.nntp > 0 ? &m->dhcp.lease.ntp[0] : NULL;
}

static void set_time_server(struct machine *m, tenon_u32 now_us)
{
    const struct tenon_ip *const server = time_server(m);
    struct tenon_sntp_conf conf;

    tenon_sntp_stop(&m->sntp);
    if (server == NULL)
        return;
    memset(&conf, 0, sizeof(conf));
    memset(&m->sntp, 0, sizeof(m->sntp));
    conf.server = *server;
    conf.interval_s = 60;
    conf.delay_max_ms = 3000;
    m->answered = 0;
    if (tenon_sntp_start(&m->sntp, tenon_sock_stack(m->socks), &conf, now_us) != TENON_OK)
        history_fail(m->h, "machine %u: SNTP does not start", m->index);
}

static void changed(struct tenon_dhcp *dhcp, void *app)
{
    struct machine *m = app;
    const struct tenon_ip ip = address_of(dhcp);
    char text[TENON_IP_TEXT_MAX];

    if (m->source == dhcp->source && tenon_ip_equal(&m->ip, &ip))
        return;    /* renewed */
    (void)tenon_ip_format(text, &ip);
    history_note(m->h, "machine %u: address %s, source %d", m->index, text, dhcp->source);
    if (is_settled(m, history_now(m->h)) && !m->h->ending)
        history_fail(m->h, "machine %u loses its address, though all is well", m->index);
    m->source = dhcp->source;
    m->ip = ip;
    m->since_us = history_now(m->h);
    if (m->source == TENON_DHCP_LEASE) {
        m->remembered = ip;
        m->h->leases++;
    }
    set_servers(m);
    set_time_server(m, (tenon_u32)wire_host_now(m->host));
}

static void changed6(struct tenon_rdnss *rdnss, void *app)
{
    struct machine *m = app;

    history_note(m->h, "machine %u: %u servers for names by routers", m->index, rdnss->servers.n);
    set_servers(m);
    set_time_server(m, (tenon_u32)wire_host_now(m->host));
}

/* No address is used for longer than some server has said. */
static void check_promise(const struct machine *m)
{
    uint64_t until = 0;
    unsigned i;

    if (m->source != TENON_DHCP_LEASE)
        return;
    for (i = 0; i < TENON_ARRAY_LEN(m->h->promise[0]); i++)
        if (tenon_ip_equal(&m->h->promise[m->index][i].ip, &m->ip))
            until = m->h->promise[m->index][i].until_us;
    if (history_now(m->h) > until)
        history_fail(m->h, "machine %u uses an address that it had until %.6f s", m->index, (double)until / 1e6);
}

/* Of IPv4. */
static unsigned count_addresses(const struct machine *m)
{
    struct tenon_addr_info info;
    unsigned i, n = 0;

    for (i = 0; tenon_addr_get(tenon_sock_stack(m->socks), i, &info) == TENON_OK; i++)
        n += (unsigned)tenon_ip_is_v4(&info.ip);
    return n;
}

static void check_route(const struct machine *m)
{
    struct tenon_ip want = tenon_ip_any(), have = tenon_ip_any();
    struct tenon_route_info route;
    unsigned i;

    if (m->source == TENON_DHCP_LEASE && m->dhcp.lease.nrouters > 0)
        want = m->dhcp.lease.routers[0];
    for (i = 0; tenon_route_get(tenon_sock_stack(m->socks), i, &route) == TENON_OK; i++)
        if (route.prefix == 0 && tenon_ip_is_v4(&route.gateway))
            have = route.gateway;
    if (m->source <= TENON_DHCP_LEASE && !tenon_ip_equal(&want, &have) && m->dhcp.stats[TENON_DHCP_STAT_NO_ROOM] == 0 &&
        !m->dhcp.fallen)
        history_fail(m->h, "machine %u has not the default route of its lease", m->index);
}

static void check_mtu(const struct machine *m)
{
    const unsigned own = m->plan->conf.device.netif.mtu, said = m->dhcp.lease.mtu;
    const unsigned want = m->source == TENON_DHCP_LEASE && said >= 576 && said <= own ? said : own;
    struct tenon_netif_info info;

    if (tenon_netif_get(tenon_sock_stack(m->socks), 1, &info) != TENON_OK || info.conf.mtu != want)
        history_fail(m->h, "machine %u has an MTU of %u, not %u", m->index, info.conf.mtu, want);
}

static void check_addresses(const struct machine *m)
{
    const struct tenon_ip ip = address_of(&m->dhcp);
    const unsigned have = count_addresses(m);
    struct tenon_addr_info info;
    unsigned i;
    int found = 0;

    if (m->source != m->dhcp.source || !tenon_ip_equal(&m->ip, &ip))
        history_fail(m->h, "machine %u: the program was not told of its address", m->index);
    if (have > m->dhcp.leased + (m->dhcp.fallen ? 1U : 0U))
        history_fail(m->h, "machine %u has %u addresses", m->index, have);
    for (i = 0; m->source != TENON_DHCP_NONE && tenon_addr_get(tenon_sock_stack(m->socks), i, &info) == TENON_OK; i++)
        found |= tenon_ip_equal(&info.ip, &ip);
    if (m->source != TENON_DHCP_NONE && !found)
        history_fail(m->h, "machine %u has not the address of which its program was told", m->index);
    check_promise(m);
    check_route(m);
    check_mtu(m);
}

/* A PHY remembers that the link was down until it is asked (IEEE 802.3 22.2.4.2.13). Whose driver hears of both at once
 * says so between two polls of the services. */
static void look_at_cable(struct machine *m)
{
    struct tenon *stack = tenon_sock_stack(m->socks);

    if (history_now(m->h) < m->looked_us + SECOND || (m->plan->blinks && m->unplugged))
        return;
    m->looked_us = history_now(m->h);
    (void)tenon_netif_link(stack, 1, !m->was_out);
    if (m->plan->blinks)
        (void)tenon_netif_link(stack, 1, 1);
    m->was_out = m->unplugged;
}

static uint64_t promised_until(const struct history *h, const struct tenon_ip *ip)
{
    uint64_t until = 0;
    unsigned i, moved;

    for (i = 0; i < h->plan.nservers; i++)
        for (moved = 0; moved < 2; moved++) {
            const struct tenon_ip own = h->plan.server[i].names_link_local
                                            ? server_link_local(&h->server[i])
                                            : tenon_ip6(0xFD000000UL, moved + 1, 0, 0x53 + i);

            if (tenon_ip_equal(ip, &own) && h->server[i].names_until_us[moved] > until)
                until = h->server[i].names_until_us[moved];
        }
    return until;
}

static void check_servers(const struct machine *m)
{
    unsigned i;

    for (i = 0; i < m->rdnss.servers.n; i++) {
        const uint64_t until = promised_until(m->h, &m->rdnss.room[i].at.ip);

        if (until == 0)
            history_fail(m->h, "machine %u asks somebody for names of whom no router has told", m->index);
        if (history_now(m->h) > until + LATE_S * (uint64_t)SECOND)
            history_fail(m->h, "machine %u asks a server for names that was one until %.6f s", m->index,
                         (double)until / 1e6);
    }
}

/* ---- names ------------------------------------------------------------------------------------------ */

static void check_answer(const struct question *q, const struct tenon_dns_answer *answer)
{
    const unsigned all = truth_addresses(q->number);
    const unsigned most = all < TENON_DNS_ADDRESSES_MAX ? all : (unsigned)TENON_DNS_ADDRESSES_MAX;
    unsigned i;

    for (i = 0; i < answer->n && i < most; i++) {
        const struct tenon_ip want = truth_address(q->number, q->type, i);

        if (!tenon_ip_equal(&answer->ips[i], &want))
            history_fail(q->machine->h, "machine %u: name %u has another address", q->machine->index, q->number);
    }
    if (answer->n != most)
        history_fail(q->machine->h, "machine %u: name %u has %u addresses, not %u", q->machine->index, q->number,
                     answer->n, most);
}

static int is_expected(const struct machine *m, enum name_kind kind, enum tenon_dns_status status)
{
    unsigned i;

    switch (kind) {
    case NAME_NONE: return status == TENON_DNS_NO_NAME;
    case NAME_EMPTY: return status == TENON_DNS_NO_DATA;
    case NAME_FAILS: return status == TENON_DNS_FAILED;
    case NAME_ALIAS:
    case NAME_PLAIN: return status == TENON_DNS_OK;
    case NAME_LONG: break;
    }
    if (!m->plan->tcp)
        return status == TENON_DNS_TRUNCATED;
    for (i = 0; i < m->h->plan.nservers; i++)
        if (!m->h->plan.server[i].over_tcp)
            return status == TENON_DNS_OK || status == TENON_DNS_NO_TCP;
    return status == TENON_DNS_OK;
}

static void told(void *app, const char *name, const struct tenon_dns_answer *answer)
{
    struct question *q = app;
    struct machine *m = q->machine;
    const enum name_kind kind = truth_kind(q->number);
    const int good = is_expected(m, kind, answer->status);

    history_note(m->h, "machine %u: %s type %u: %s", m->index, name, (unsigned)q->type,
                 tenon_dns_status_text(answer->status));
    if (!q->open)
        history_fail(m->h, "machine %u: a question has two answers", m->index);
    q->open = 0;
    if (answer->status == TENON_DNS_OK)
        check_answer(q, answer);
    if (answer->status <= TENON_DNS_NO_DATA && !good)
        history_fail(m->h, "machine %u: of name %u it is said: %s", m->index, q->number,
                     tenon_dns_status_text(answer->status));
    if (q->strict && is_settled(m, q->asked_us) && !good)
        history_fail(m->h, "machine %u asks for name %u, and all is well: %s", m->index, q->number,
                     tenon_dns_status_text(answer->status));
    m->h->names += (uint64_t)good;
    m->good_names += (unsigned)(q->strict && good);
}

static void ask(struct machine *m)
{
    struct question *q = NULL;
    char name[32];
    unsigned i;
    int result;

    for (i = 0; i < QUERIES; i++)
        if (!m->question[i].open)
            q = &m->question[i];
    if (q == NULL)
        return;
    q->machine = m;
    q->number = history_chance(m->h, NAMES);
    q->type = history_chance(m->h, 2) || !TENON_WITH_IPV6 ? TENON_DNS_A : TENON_DNS_AAAA;
    q->asked_us = history_now(m->h);
    q->strict = (uint8_t)is_settled(m, q->asked_us);
    q->open = 1;
    (void)snprintf(name, sizeof(name), "n%u.Test", q->number);
    result = tenon_dns_ask(&m->dns, name, q->type, told, q);
    if (result != TENON_OK)
        history_fail(m->h, "machine %u cannot ask: %s", m->index, tenon_error_text(result));
}

static void ask_names(struct machine *m)
{
    unsigned i;

    if (history_now(m->h) >= m->ask_us) {
        ask(m);
        m->ask_us = history_now(m->h) + m->plan->ask_us;
    }
    for (i = 0; i < QUERIES; i++)
        if (m->question[i].open && history_now(m->h) > m->question[i].asked_us + QUESTION_S * (uint64_t)SECOND)
            history_fail(m->h, "machine %u: a question has no end", m->index);
}

/* ---- time ------------------------------------------------------------------------------------------- */

/* It is wrong by half of the time that the last exchange took, at most (RFC 4330 5). */
static void check_time(struct machine *m, tenon_u32 now_us)
{
    const uint64_t truth = truth_time_us(m->h);
    struct tenon_sntp_time time;
    int64_t off;

    if (!tenon_sntp_now(&m->sntp, &time, now_us))
        return;
    off = (int64_t)(time.s * UINT64_C(1000000) + time.us - truth);
    if (off < 0)
        off = -off;
    if (off > m->sntp.delay_us / 2 + 10)
        history_fail(m->h, "machine %u: the clock is wrong by %" PRId64 " us, after an exchange of %u", m->index, off,
                     (unsigned)m->sntp.delay_us);
    if (m->sntp.stats[TENON_SNTP_STAT_ANSWERED] == m->answered)
        return;
    m->answered = m->sntp.stats[TENON_SNTP_STAT_ANSWERED];
    m->h->times++;
    m->good_times += (unsigned)is_settled(m, history_now(m->h));
}

/* Where a name server's TCP has found less room on the way than there is (RFC 4821 7.7), files come in
 * fragments, and not each machine has blocks for these. */
static int comes_in_fragments(const struct machine *m)
{
    unsigned i;

    for (i = 0; i < m->h->plan.nservers; i++)
        if (tenon_stat(m->h->server[i].stack, TENON_STAT_TCP_BLACK_HOLE) > 0)
            return 1;
    return 0;
}

/* ---- files ------------------------------------------------------------------------------------------ */

static int file_data(struct tenon_tftp *tftp, void *app, const tenon_u8 *bytes, tenon_u32 n)
{
    struct machine *m = app;
    uint32_t i;

    (void)tftp;
    if (m->file_got + n > truth_file_bytes(m->file))
        history_fail(m->h, "machine %u: file %u is longer than it is", m->index, m->file);
    for (i = 0; i < n; i++)
        if (bytes[i] != truth_file_byte(m->file, m->file_got + i))
            history_fail(m->h, "machine %u: byte %u of file %u is another", m->index, m->file_got + i, m->file);
    m->file_got += n;
    return 0;
}

static void file_done(struct tenon_tftp *tftp, void *app, enum tenon_tftp_status status)
{
    struct machine *m = app;
    const int strict = m->file_strict && is_settled(m, history_now(m->h)) && !comes_in_fragments(m);

    (void)tftp;
    history_note(m->h, "machine %u: file %u: %s", m->index, m->file, tenon_tftp_status_text(status));
    if (!m->fetching)
        history_fail(m->h, "machine %u: a file ends twice", m->index);
    m->fetching = 0;
    m->file_us = history_now(m->h) + 10 * (uint64_t)SECOND;
    if (status == TENON_TFTP_OK && m->file_got != truth_file_bytes(m->file))
        history_fail(m->h, "machine %u: %u of %u bytes of file %u", m->index, m->file_got, truth_file_bytes(m->file),
                     m->file);
    if (strict && status != TENON_TFTP_OK)
        history_fail(m->h, "machine %u fetches file %u, and all is well: %s", m->index, m->file,
                     tenon_tftp_status_text(status));
    m->h->files += status == TENON_TFTP_OK;
    m->good_files += (unsigned)(m->file_strict && status == TENON_TFTP_OK);
}

static struct tenon_addr file_server(const struct machine *m)
{
    struct tenon_addr at;

    if (m->rdnss.servers.n > 0 && speaks_ip6(m) && history_chance(m->h, 2))
        return m->rdnss.room[0].at;
    memset(&at, 0, sizeof(at));
    at.ip = m->dhcp.lease.server;
    return at;
}

static void fetch_files(struct machine *m, tenon_u32 now_us)
{
    struct tenon_tftp_conf conf;
    int result;

    if (m->fetching || m->source != TENON_DHCP_LEASE || history_now(m->h) < m->file_us)
        return;
    memset(&conf, 0, sizeof(conf));
    m->file = history_chance(m->h, NAMES);
    m->file_got = 0;
    (void)snprintf(m->file_name, sizeof(m->file_name), "f%u", m->file);
    conf.server = file_server(m);
    conf.name = m->file_name;
    conf.block_bytes = m->plan->block_bytes;
    conf.plain = m->plan->plain;
    conf.server_s = m->plan->plain ? 0 : 2;
    conf.data = file_data;
    conf.done = file_done;
    conf.app = m;
    result = tenon_tftp_start(&m->tftp, tenon_sock_stack(m->socks), &conf, now_us);
    if (result != TENON_OK)
        history_fail(m->h, "machine %u cannot fetch: %s", m->index, tenon_error_text(result));
    m->fetching = 1;
    m->file_strict = (uint8_t)is_settled(m, history_now(m->h));
}

/* ---- all of it --------------------------------------------------------------------------------------- */

void program_start(struct machine *m)
{
    const tenon_u32 now_us = (tenon_u32)wire_host_now(m->host);
    struct tenon *stack = tenon_sock_stack(m->socks);
    struct tenon_dhcp_conf conf = m->plan->dhcp;
    struct tenon_dns_conf names;
    int result;

    conf.changed = changed;
    conf.app = m;
    conf.wanted = m->remembered;
    result = tenon_dhcp_start(&m->dhcp, stack, &conf, now_us);
    if (result == TENON_OK)
        result = tenon_rdnss_start(&m->rdnss, stack, changed6, m, now_us);
    memset(&names, 0, sizeof(names));
    names.queries = m->queries;
    names.nqueries = QUERIES;
    names.entries = m->entries;
    names.nentries = ENTRIES;
    names.mixed_case = m->plan->mixed_case;
    if (m->plan->tcp) {
        names.tcp = &tenon_dns_tcp;
        names.room = m->room;
        names.room_bytes = sizeof(m->room);
    }
    if (result == TENON_OK)
        result = tenon_dns_open(&m->dns, stack, &names, now_us);
    if (result != TENON_OK)
        history_fail(m->h, "machine %u: the services do not start: %s", m->index, tenon_error_text(result));
}

static tenon_u32 sooner(tenon_u32 a, tenon_u32 b)
{
    return a < b ? a : b;
}

tenon_u32 program_turn(struct machine *m, tenon_u32 now_us)
{
    tenon_u32 wait;

    look_at_cable(m);
    wait = tenon_dhcp_poll(&m->dhcp, now_us);
    wait = sooner(wait, tenon_rdnss_poll(&m->rdnss, now_us));
    check_addresses(m);
    check_servers(m);
    ask_names(m);
    fetch_files(m, now_us);
    wait = sooner(wait, tenon_dns_poll(&m->dns, now_us));
    wait = sooner(wait, tenon_sntp_poll(&m->sntp, now_us));
    check_time(m, now_us);
    return sooner(wait, tenon_tftp_poll(&m->tftp, now_us));
}

void program_stop(struct machine *m, tenon_u32 now_us)
{
    tenon_tftp_stop(&m->tftp);
    tenon_sntp_stop(&m->sntp);
    tenon_dns_close(&m->dns);
    tenon_rdnss_stop(&m->rdnss);
    tenon_dhcp_stop(&m->dhcp, now_us);
}

void program_lost(struct machine *m)
{
    unsigned i;

    memset(&m->dhcp, 0, sizeof(m->dhcp));
    memset(&m->rdnss, 0, sizeof(m->rdnss));
    memset(&m->dns, 0, sizeof(m->dns));
    memset(&m->sntp, 0, sizeof(m->sntp));
    memset(&m->tftp, 0, sizeof(m->tftp));
    memset(m->question, 0, sizeof(m->question));
    for (i = 0; i < QUERIES; i++)
        memset(&m->queries[i], 0xA7, sizeof(m->queries[i]));
    m->source = TENON_DHCP_NONE;
    m->ip = tenon_ip_any();
    m->fetching = 0;
}

int program_is_content(const struct machine *m)
{
    const uint64_t lease = m->dhcp.lease.lease_s == FOR_EVER ? 0 : m->dhcp.lease.lease_s;

    return m->good_names >= GOOD_NAMES && m->good_files >= GOOD_FILES && m->good_times >= GOOD_TIMES &&
           history_now(m->h) > m->since_us + LEASES_S * lease * SECOND;
}

/* All is well: who speaks IPv6 has made itself an address of the network that routers tell of, and no other. */
void program_check_end(const struct machine *m)
{
    const struct tenon_ip net = network6(m->h);
    struct tenon_addr_info info;
    unsigned i, own = 0;

    if (!speaks_ip6(m))
        return;
    for (i = 0; tenon_addr_get(tenon_sock_stack(m->socks), i, &info) == TENON_OK; i++) {
        if (tenon_ip_is_v4(&info.ip) || is_link_local6(&info.ip))
            continue;
        if (tenon_ip_word(&info.ip, 0) != net.w[0] || tenon_ip_word(&info.ip, 1) != tenon_ip_word(&net, 1))
            history_fail(m->h, "machine %u has an address of a network that it left", m->index);
        own++;
    }
    if (own != 1)
        history_fail(m->h, "machine %u has %u addresses of the network", m->index, own);
}

void program_describe(const struct machine *m)
{
    unsigned i;

    printf("  machine %u: DHCP %s, source %d; names %u, files %u, times %u since all is well\n", m->index,
           tenon_dhcp_state_name(m->dhcp.state), m->source, m->good_names, m->good_files, m->good_times);
    for (i = 0; i < TENON_RDNSS_STAT_COUNT; i++)
        if (m->rdnss.stats[i] > 0)
            printf("    rdnss %s %u\n", tenon_rdnss_stat_name((enum tenon_rdnss_stat)i), (unsigned)m->rdnss.stats[i]);
    for (i = 0; i < TENON_DHCP_STAT_COUNT; i++)
        if (m->dhcp.stats[i] > 0)
            printf("    %s %u\n", tenon_dhcp_stat_name((enum tenon_dhcp_stat)i), (unsigned)m->dhcp.stats[i]);
}
