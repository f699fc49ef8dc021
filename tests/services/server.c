/* SPDX-License-Identifier: MIT */
/* A server: an instance of the core on the same link, which is silent at times. */
#include "history.h"

#include <string.h>

struct tenon_ip server_ip(const struct history *h, unsigned index)
{
    return tenon_ip4((tenon_u32)(history_net(h) + 1 + index));
}

int server_is_silent(const struct server *s)
{
    return !s->h->healed && is_within(s->plan->silent, s->plan->nsilent, history_now(s->h));
}

struct tenon_udp *server_socket(struct server *s, unsigned port, const struct tenon_udp_events *events, void *app)
{
    struct tenon_addr at;
    struct tenon_udp *sock;

    memset(&at, 0, sizeof(at));
    at.port = (tenon_u16)port;
    if (tenon_udp_open(s->stack, &sock, events, app) != TENON_OK || tenon_udp_bind(sock, &at) != TENON_OK)
        history_fail(s->h, "server %u gets no port %u", s->index, port);
    return sock;
}

uint32_t server_gather(tenon_u8 *to, uint32_t room, const struct tenon_span *spans, unsigned n)
{
    uint32_t at = 0;
    unsigned i;

    for (i = 0; i < n && at + spans[i].len <= room; i++) {
        memcpy(to + at, tenon_span_data(&spans[i]), spans[i].len);
        at += spans[i].len;
    }
    return at;
}

static void add_addresses(struct server *s)
{
    const struct tenon_ip ip = server_ip(s->h, s->index), ip6 = server_ip6(s->h, s->index);

    if (tenon_addr_add(s->stack, 1, &ip, 24) != TENON_OK ||
        (s->h->plan.ip6 && tenon_addr_add(s->stack, 1, &ip6, NETWORK6_BITS) != TENON_OK))
        history_fail(s->h, "server %u gets no address", s->index);
}

void server_open(struct history *h, unsigned index)
{
    struct server *s = &h->server[index];
    const struct wire_host_conf host_conf = { .seed = h->plan.seed * 8 + 4 + index, .clock_us = 1000 };
    struct tenon_conf conf;
    struct wire_end_conf end;

    s->h = h;
    s->plan = &h->plan.server[index];
    s->index = index;
    tenon_conf_default(&conf);
    s->host = wire_host_open(h->wire, &host_conf, &conf);
    memset(&end, 0, sizeof(end));
    end.netif.mac[0] = 2;
    end.netif.mac[5] = (tenon_u8)(0x10 + index);
    end.netif.mtu = 1500;
    end.netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA | (h->plan.ip6 ? 0 : TENON_NETIF_NO_IP6);
    end.copy = end.complete_checksums = 1;
    s->end = s->host != NULL ? wire_end_open(s->host, &end) : NULL;
    if (s->end == NULL)
        history_fail(h, "no server %u", index);
    s->stack = wire_host_stack(s->host);
    add_addresses(s);
    dhcp_server_open(s);
    names_open(s);
    time_open(s);
    files_open(s);
}

void server_tick(struct server *s)
{
    if (s->plan->forgets_us > 0 && !s->forgot && !s->h->healed && history_now(s->h) >= s->plan->forgets_us) {
        history_note(s->h, "server %u forgets all leases", s->index);
        s->forgot = 1;
        memset(s->pool, 0, sizeof(s->pool));
    }
    dhcp_server_tick(s);
    advert_tick(s);
    files_tick(s);
    wire_wake(s->host);
}

/* It has other addresses from now on, and others to give away. */
void server_move(struct server *s)
{
    struct tenon_addr_info info;
    unsigned i = 0;

    while (tenon_addr_get(s->stack, i, &info) == TENON_OK)
        if (is_link_local6(&info.ip))
            i++;
        else if (tenon_addr_remove(s->stack, 1, &info.ip) != TENON_OK)
            history_fail(s->h, "server %u keeps its address", s->index);
    files_close(s);
    memset(s->pool, 0, sizeof(s->pool));
    add_addresses(s);
}

void server_close(struct server *s)
{
    files_close(s);
    names_close(s);
    tenon_udp_close(s->dhcp);
    tenon_udp_close(s->dns);
    tenon_udp_close(s->ntp);
    tenon_udp_close(s->tftp);
    wire_host_close(s->host);
}
