/* SPDX-License-Identifier: MIT */
/* A question over TCP (RFC 1035 4.2.2, RFC 7766): one connection for each, closed when the answer is whole. */
#include "dns_message.h"
#include "internal.h"

enum { DNS_LENGTH = 2 };    /* bytes before a message that say how long it is */

static void dns_tcp_fail(struct tenon_dns *dns, enum tenon_dns_stat stat, enum tenon_dns_status status)
{
    dns->stats[stat]++;
    dns->talking->heard = DNS_ERROR;
    dns->talking->answer.status = status;
}

/* The answer is whole. One that is not good is the server's own: nobody else can write into the connection, so that
 * there is nothing to wait for. */
static void dns_tcp_judge(struct tenon_dns *dns)
{
    struct tenon_dns_query *query = dns->talking;
    struct tenon_dns_answer answer;
    const enum tenon_dns_stat wrong =
        tenon_dns_parse(&answer, query, dns->conf.room + DNS_LENGTH, dns->got - (tenon_u32)DNS_LENGTH);

    if (wrong != 0) {
        dns_tcp_fail(dns, wrong, TENON_DNS_FAILED);
        return;
    }
    query->answer = answer;
    query->heard = DNS_ANSWER;
}

/* As many bytes as are still missing, of the length or of the message. @return how many those are */
static tenon_u32 dns_tcp_take(struct tenon_dns *dns, const tenon_u8 *bytes, tenon_u32 n)
{
    tenon_u8 *room = dns->conf.room;
    const unsigned whole = dns->got < DNS_LENGTH ? 0 : svc_get16(room);
    const tenon_u32 some = svc_min(n, (tenon_u32)DNS_LENGTH + whole - dns->got);

    memcpy(room + dns->got, bytes, (size_t)some);
    dns->got += (unsigned)some;
    if (dns->got < DNS_LENGTH)
        return some;
    if (svc_get16(room) > dns->conf.room_bytes - DNS_LENGTH)
        dns_tcp_fail(dns, TENON_DNS_STAT_TOO_LONG, TENON_DNS_TOO_LONG);
    else if (dns->got - DNS_LENGTH == svc_get16(room))
        dns_tcp_judge(dns);
    return some;
}

static void dns_tcp_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct tenon_dns *dns = (struct tenon_dns *)app;
    tenon_u32 total = 0, at;
    unsigned i;

    for (i = 0; i < n; i++) {
        for (at = 0; at < spans[i].len && dns->talking->heard == DNS_NOTHING;)
            at += dns_tcp_take(dns, tenon_span_data(&spans[i]) + at, spans[i].len - at);
        total += spans[i].len;
    }
    tenon_tcp_consumed(conn, total);
}

static void dns_tcp_finished(struct tenon_tcp *conn, void *app)
{
    struct tenon_dns *dns = (struct tenon_dns *)app;

    (void)conn;
    if (dns->talking->heard == DNS_NOTHING)
        dns_tcp_fail(dns, TENON_DNS_STAT_TCP_CLOSED, TENON_DNS_NO_TCP);
}

static void dns_tcp_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct tenon_dns *dns = (struct tenon_dns *)app;

    (void)why;
    dns->conn = NULL;
    dns_tcp_finished(conn, app);
}

static const struct tenon_tcp_events dns_tcp_events = { NULL, NULL, dns_tcp_received, NULL, dns_tcp_finished,
                                                        dns_tcp_closed, NULL, NULL };

/* Of a connection that nobody waits for any more. */
static const struct tenon_tcp_events dns_tcp_nobody = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };

/* RFC 7766 8: length and message in one segment. */
static int dns_tcp_ask(struct tenon_dns_query *query, const struct tenon_addr *to)
{
    struct tenon_dns *dns = query->dns;
    tenon_u8 bytes[DNS_LENGTH + DNS_BYTES_MAX];
    const unsigned n = tenon_dns_build(bytes + DNS_LENGTH, query);
    struct tenon_tcp *conn;
    const int error = tenon_tcp_connect(dns->stack, &conn, NULL, to, &dns_tcp_events, dns);

    if (error != TENON_OK)
        return error;
    if (dns->talking != query) {    /* the connection that made room for this one took its owner's questions along */
        tenon_tcp_handler(conn, &dns_tcp_nobody, NULL);
        tenon_tcp_abort(conn);
        return TENON_EABORTED;
    }
    dns->conn = conn;
    dns->got = 0;
    svc_put16(bytes, n);
    return tenon_tcp_write(dns->conn, bytes, DNS_LENGTH + n) == (tenon_i32)(DNS_LENGTH + n) ? TENON_OK : TENON_ENOMEM;
}

static void dns_tcp_end(struct tenon_dns *dns, int whole)
{
    struct tenon_tcp *conn = dns->conn;

    dns->conn = NULL;
    if (conn == NULL)
        return;
    tenon_tcp_handler(conn, &dns_tcp_nobody, NULL);
    if (whole)
        tenon_tcp_close(conn);
    else
        tenon_tcp_abort(conn);
}

const struct tenon_dns_way tenon_dns_tcp = { dns_tcp_ask, dns_tcp_end };
