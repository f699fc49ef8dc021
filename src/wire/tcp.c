/* SPDX-License-Identifier: MIT */
/* The TCP header (RFC 9293 3.1) without its options. Offsets in bytes:
 *   0 source port   2 destination port   4 sequence number   8 acknowledgement number
 *  12 data offset, reserved bits         13 flags           14 window   16 checksum   18 urgent pointer */
#include "wire/wire.h"
#include "base/bytes.h"

/* The reserved bits are ignored: RFC 9293 3.1. */
TENON_INTERNAL int tn_tcp_parse(struct tn_tcp *tcp, const tenon_u8 *p, tenon_u32 head, tenon_u32 len)
{
    if (head < TN_TCP_BYTES || len < TN_TCP_BYTES)
        return -1;
    tcp->header_bytes = (tenon_u8)((p[12] >> 4) * 4);
    if (tcp->header_bytes < TN_TCP_BYTES || tcp->header_bytes > head || tcp->header_bytes > len)
        return -1;
    tcp->ports = get32be(p);
    tcp->seq = get32be(p + 4);
    tcp->ack = get32be(p + 8);
    tcp->flags = p[13];
    tcp->wnd = get16be(p + 14);
    tcp->urgent = get16be(p + 18);
    return 0;
}

TENON_INTERNAL unsigned tn_tcp_build(tenon_u8 *p, const struct tn_tcp *tcp)
{
    TENON_ASSERT(tcp->header_bytes >= TN_TCP_BYTES);
    TENON_ASSERT(tcp->header_bytes <= TN_TCP_BYTES + TN_TCP_OPTIONS_MAX && tcp->header_bytes % 4 == 0);
    put32be(p, tcp->ports);
    put32be(p + 4, tcp->seq);
    put32be(p + 8, tcp->ack);
    put32be(p + 12, (tenon_u32)tcp->header_bytes << 26 | (tenon_u32)tcp->flags << 16 | tcp->wnd);
    put32be(p + 16, tcp->urgent);
    return TN_TCP_BYTES;
}
