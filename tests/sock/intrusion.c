/* SPDX-License-Identifier: MIT */
/* Somebody else on the line: what he sends arrives among the rest, until the network is well. */
#include "history.h"

#include "core.h"
#include "tcp/tcp_internal.h"
#include "tests/intruder/intruder.h"

#include <stdlib.h>
#include <string.h>

enum { PORT = 80, LINK_BYTES = 14 };

static uint32_t chance(void *arg, uint32_t below)
{
    return history_chance(arg, below);
}

/* A session's connection, here or at the other machine; NULL: it has none. */
static const struct tenon_tcp *connection(const struct session *s, int of_peer)
{
    const struct sock *sock;
    const struct tenon_tcp *conn;

    if (s->plan->kind >= UDP_SERVER)
        return NULL;
    sock = s->end != NULL && s->end->sk != 0 ? tn_sock_find(s->h->socks, s->end->sk) : NULL;
    conn = of_peer ? s->conn : sock != NULL ? sock->conn : NULL;
    return conn != NULL && conn->state != TENON_TCP_CLOSED && conn->path != NULL ? conn : NULL;
}

static void intrude(struct history *h, int of_peer)
{
    const struct tenon_addr small = history_addr(h, 0, 0), peer = history_addr(h, 1, 0);
    const unsigned port = 3000 + history_chance(h, h->plan.nsessions);
    const struct session *s = &h->session[history_chance(h, h->plan.nsessions)];
    const struct tenon_tcp *conn = history_chance(h, 3) > 0 ? connection(s, of_peer) : NULL;
    struct wire_end *end = of_peer ? h->peer_end : h->small_end;
    uint8_t frame[INTRUDER_FRAME_MAX];
    struct intruder who;
    unsigned n;

    memset(&who, 0, sizeof(who));
    who.chance = chance;
    who.arg = h;
    who.link = h->plan.conf.device.netif.caps & TENON_CAP_NO_LINK ? 0 : LINK_BYTES;
    memcpy(who.mac, wire_end_conf(end)->netif.mac, 6);
    memcpy(who.friend_mac, wire_end_conf(of_peer ? h->small_end : h->peer_end)->netif.mac, 6);
    who.ip = of_peer ? peer.ip : small.ip;
    who.friend_ip = of_peer ? small.ip : peer.ip;
    who.port = (uint16_t)(of_peer ? port : PORT);
    n = intruder_frame(&who, conn, connection(s, !of_peer), frame);
    if (wire_inject(end, frame, n, 1) != 0)
        abort();
}

void intrusions(struct history *h)
{
    const uint64_t now = history_now(h);
    unsigned i, k;

    for (i = 0; i < h->plan.nintrusions; i++) {
        const struct intrusion *in = &h->plan.intrusion[i];

        for (k = 0; k < in->each && now >= in->from_us && now < in->to_us; k++)
            intrude(h, in->of_peer);
    }
}
