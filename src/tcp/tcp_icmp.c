/* SPDX-License-Identifier: MIT */
/* ICMP errors about our segments (RFC 9293 3.9.2.2, RFC 5927): believed only when they quote a sequence
 * number that is in flight; hard ones end an attempt to connect, and never a connection. Reports of what did not fit
 * are judged in tcp_mtu.c. */
#include "base/bytes.h"
#include "tcp/tcp_internal.h"

/* RFC 5927 4.1 */
static int icmp_quotes_our_flight(const struct tenon_tcp *conn, tenon_u32 seq)
{
    return tn_seq_le(conn->snd_una, seq) && tn_seq_lt(seq, conn->snd_nxt);
}

static void icmp_too_big(struct tenon_tcp *conn, const struct tn_err *err)
{
    struct tn_mtu_news report;

    report.mtu = tn_min(err->mtu, 65535UL);
    report.seq = get32be(err->l4 + 4);
    tn_mtu_report(conn, &report);
}

static void icmp_report(struct tenon_tcp *conn, const struct tn_err *err)
{
    if (err->hard && tn_tcp_is_calling(conn)) {
        tn_tcp_end(conn, err->kind == TN_ERR_PORT ? TENON_EREFUSED : err->error);
        return;
    }
    tn_tcp_soft_error(conn, err->error);
}

TENON_INTERNAL void tn_tcp_error(struct tenon *stack, const struct tn_err *err)
{
    struct tn_tcp_ends *ends = tn_tcp_find(stack, &err->local, &err->remote);
    struct tenon_tcp *conn;

    if (ends == NULL || tn_tcp_is_record(ends)) {
        tn_count(stack, TENON_STAT_ICMP_ERROR_STRAY);
        return;
    }
    conn = tn_tcp_of(ends);
    if (!icmp_quotes_our_flight(conn, get32be(err->l4 + 4))) {
        tn_count(stack, TENON_STAT_ICMP_ERROR_STRAY);
        return;
    }
    tn_count(stack, TENON_STAT_ICMP_ERROR_RCVD);
    tn_fast_end(conn);
    if (tn_err_is_too_big(err))
        icmp_too_big(conn, err);
    else
        icmp_report(conn, err);
}
