/* SPDX-License-Identifier: MIT */
/* A name server (RFC 1035 4), over datagrams and over TCP. */
#include "history.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 53, HEAD = 12, BYTES_MAX = 2000, DATAGRAM_MAX = 512, TTL_MAX = 60 };
enum { FLAG_ANSWER = 0x8180, FLAG_CUT = 0x0200, CODE_FAILED = 2, CODE_NO_NAME = 3 };
enum { TYPE_A = 1, TYPE_CNAME = 5, TYPE_SOA = 6, TYPE_AAAA = 28 };

struct message {
    tenon_u8 bytes[BYTES_MAX];
    unsigned n;
};

static void put16(struct message *m, unsigned v)
{
    m->bytes[m->n++] = (tenon_u8)(v >> 8);
    m->bytes[m->n++] = (tenon_u8)v;
}

static void put32(struct message *m, tenon_u32 v)
{
    put16(m, v >> 16);
    put16(m, v & 0xFFFF);
}

static void set16(tenon_u8 *p, unsigned v)
{
    p[0] = (tenon_u8)(v >> 8);
    p[1] = (tenon_u8)v;
}

static void record(struct message *m, unsigned name_at, unsigned type, unsigned number, unsigned bytes)
{
    put16(m, 0xC000 | name_at);
    put16(m, type);
    put16(m, 1);
    put32(m, (tenon_u32)(1 + number % TTL_MAX));
    put16(m, bytes);
}

static void put_address(struct message *m, unsigned name_at, enum tenon_dns_type type, unsigned number, unsigned i)
{
    const struct tenon_ip ip = truth_address(number, type, i);
    const unsigned first = type == TENON_DNS_A ? TENON_IP4_WORD : 0;
    unsigned k;

    record(m, name_at, type, number, 4 * (TENON_IP4_WORD + 1 - first));
    for (k = first; k <= TENON_IP4_WORD; k++)
        put32(m, ip.w[k]);
}

/* RFC 2308: for how long it is known that there is nothing. */
static void put_authority(struct message *m, unsigned number)
{
    record(m, HEAD, TYPE_SOA, number, 22);
    put16(m, 0);    /* two names, of the root */
    put32(m, 1);
    put32(m, 3600);
    put32(m, 600);
    put32(m, 86400);
    put32(m, 30);
    set16(m->bytes + 8, 1);
}

/* The name that is asked for stands at HEAD; the other one behind its alias. */
static unsigned put_alias(struct message *m, unsigned number)
{
    static const tenon_u8 other[] = "\5other\4test";

    record(m, HEAD, TYPE_CNAME, number, sizeof(other));
    memcpy(m->bytes + m->n, other, sizeof(other));
    m->n += (unsigned)sizeof(other);
    return m->n - (unsigned)sizeof(other);
}

static void put_answers(struct message *m, enum tenon_dns_type type, unsigned number, unsigned most)
{
    const int alias = truth_kind(number) == NAME_ALIAS;
    const unsigned at = alias ? put_alias(m, number) : (unsigned)HEAD;
    unsigned all = truth_addresses(number), i;

    for (i = 0; i < all && m->n + 28 <= most; i++)
        put_address(m, at, type, number, i);
    set16(m->bytes + 6, i + (unsigned)alias);
    if (i < all)
        m->bytes[2] |= FLAG_CUT >> 8;
}

/* @return 0: it is no question */
static int answer(struct server *s, struct message *m, const tenon_u8 *call, uint32_t n, unsigned most)
{
    const tenon_u8 *label = call + HEAD;
    unsigned number, type, code = 0, question;

    if (n < HEAD + 9 || (call[2] & 0x80) || label[0] < 2 || tolower(label[1]) != 'n')
        return 0;
    number = (unsigned)strtoul((const char *)label + 2, NULL, 10);
    question = 1U + label[0] + 5 + 1 + 4;
    if (HEAD + question > n || number >= NAMES)
        return 0;
    type = (unsigned)(call[HEAD + question - 4] << 8 | call[HEAD + question - 3]);
    m->n = HEAD + question;
    memcpy(m->bytes, call, m->n);
    memset(m->bytes + 6, 0, 6);
    if (truth_kind(number) == NAME_FAILS || history_happens(s->h, s->plan->ill_ppm))
        code = CODE_FAILED;
    else if (truth_kind(number) == NAME_NONE)
        code = CODE_NO_NAME;
    set16(m->bytes + 2, FLAG_ANSWER | code);
    if (code == CODE_NO_NAME || (code == 0 && truth_kind(number) == NAME_EMPTY)) {
        if (s->plan->soa)
            put_authority(m, number);
    } else if (code == 0) {
        put_answers(m, (enum tenon_dns_type)type, number, most);
    }
    return 1;
}

/* ---- over datagrams ----------------------------------------------------------------------------------- */

static void received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                     const struct tenon_span *spans, unsigned n)
{
    struct server *s = app;
    tenon_u8 call[DATAGRAM_MAX];
    struct message m;

    if (server_is_silent(s) || !answer(s, &m, call, server_gather(call, sizeof(call), spans, n), DATAGRAM_MAX))
        return;
    if (history_happens(s->h, s->plan->ill_ppm))
        m.bytes[history_chance(s->h, 2)] ^= 1;    /* another question's */
    (void)tenon_udp_write(sock, &info->from, m.bytes, m.n);
}

static void failed(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    (void)sock, (void)app, (void)to, (void)error;
}

/* ---- over TCP (RFC 7766): one question, and it ends ----------------------------------------------------- */

static void tcp_opened(struct tenon_tcp *conn, void *app)
{
    struct server *s = app;

    if (!s->plan->over_tcp)
        tenon_tcp_abort(conn);
}

static void tcp_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct server *s = app;
    tenon_u8 call[DATAGRAM_MAX + 2];
    const uint32_t bytes = server_gather(call, sizeof(call), spans, n);
    struct message m, framed;

    tenon_tcp_consumed(conn, bytes);
    if (bytes < 2 || server_is_silent(s) || !answer(s, &m, call + 2, bytes - 2, BYTES_MAX))
        return;
    framed.n = 0;
    put16(&framed, m.n);
    (void)tenon_tcp_write(conn, framed.bytes, framed.n);
    (void)tenon_tcp_write(conn, m.bytes, m.n);
    (void)tenon_tcp_finish(conn);
}

static void tcp_finished(struct tenon_tcp *conn, void *app)
{
    (void)app;
    (void)tenon_tcp_finish(conn);
}

static void tcp_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)conn, (void)app, (void)why;
}

void names_open(struct server *s)
{
    static const struct tenon_udp_events events = { received, failed };
    static const struct tenon_tcp_events tcp = { .opened = tcp_opened, .received = tcp_received,
                                                 .finished = tcp_finished, .closed = tcp_closed };
    struct tenon_addr at;

    s->dns = server_socket(s, PORT, &events, s);
    memset(&at, 0, sizeof(at));
    at.port = PORT;
    if (tenon_tcp_listen(s->stack, &s->listener, &at, &tcp, s, 0) != TENON_OK)
        history_fail(s->h, "server %u does not listen", s->index);
}

void names_close(struct server *s)
{
    tenon_tcp_listener_close(s->listener);
}
