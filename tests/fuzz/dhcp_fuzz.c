/* SPDX-License-Identifier: MIT */
/* A DHCP client that hears what the input says. Records, until the input ends:
 *
 *   0..3  N n bytes     options (type included) in a message that is right in all else
 *   4     field value   the next message has this byte changed: 16 bits of place, 8 of value
 *   5     n bytes       a datagram of just these bytes
 *   6     t             time passes
 *   7     how           the link goes down or up, a conflict, our address is taken away, a refused buffer
 *
 * What holds all the time: the address of a lease is on the interface, that of none is not, and times are in order. */
#include "fuzz.h"

#include <string.h>

#include "services/dhcp.h"
#include "services/dhcp_message.h"

struct session {
    struct fuzz_world w;
    struct tenon_dhcp dhcp;
    uint32_t bend_at;
    uint8_t bend;
};

static const uint8_t our_mac[6] = { 2, 0, 0, 0, 0, 1 };

/* What the client says is the business of the unit tests. */
static void sent(void *arg, const struct tenon_frame *frame, const uint8_t *bytes, size_t n)
{
    (void)arg, (void)frame, (void)bytes, (void)n;
}

static void must(int good, unsigned line)
{
    if (!good)
        fuzz_fail("%s:%u: this must hold", __FILE__, line);
}

static void datagram(struct session *s, const uint8_t *bytes, size_t n)
{
    uint8_t frame[14 + 28 + 1500];

    memset(frame, 0, 42);
    memset(frame, 0xFF, 6);
    memcpy(frame + 6, "\2\0\0\0\0\2\10\0", 8);
    frame[14] = 0x45;
    fuzz_put16(frame + 16, (unsigned)(28 + n));
    frame[22] = 64;
    frame[23] = 17;
    fuzz_put32(frame + 26, 0x0A000001);
    fuzz_put32(frame + 30, 0xFFFFFFFFU);
    fuzz_put16(frame + 34, 67);
    fuzz_put16(frame + 36, 68);
    fuzz_put16(frame + 38, (unsigned)(8 + n));
    memcpy(frame + 42, bytes, n);
    fuzz_repair(frame + 14, 28 + n, 1);
    fuzz_world_input(&s->w, frame, 42 + n, 0, 0);
}

static void message(struct session *s, unsigned type, struct fuzz_bytes *in)
{
    static const uint8_t types[] = { 2, 5, 6, 5 };
    uint8_t bytes[1024];
    size_t n = fuzz_u8(in), at = 240;

    memset(bytes, 0, sizeof bytes);
    fuzz_put32(bytes, 0x02010600);
    fuzz_put32(bytes + 4, s->dhcp.xid);
    fuzz_put32(bytes + 16, 0x0A000040U + (n & 1));
    memcpy(bytes + 28, our_mac, 6);
    fuzz_put32(bytes + 236, 0x63825363);
    memcpy(bytes + at, "\65\1\0\66\4\12\0\0\1\63\4\0\0\16\20\1\4\377\377\0\0", 21);
    bytes[at + 2] = types[type];
    at += type == 3 ? 3 : 21;
    for (; n > 0 && in->left > 0; n--)
        bytes[at++] = fuzz_u8(in);
    if (s->bend_at < at && s->bend_at > 0)
        bytes[s->bend_at] = s->bend;
    s->bend_at = 0;
    datagram(s, bytes, at);
}

static void something(struct session *s, unsigned how)
{
    uint8_t arp[42] = { 255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 9, 8, 6,
                        0,   1,   8,   0,   6,   4,   0, 1, 2, 0, 0, 0, 0, 9 };

    switch (how % 5) {
    case 0: (void)tenon_netif_link(s->w.stack, s->w.netif, 0); break;
    case 1: (void)tenon_netif_link(s->w.stack, s->w.netif, 1); break;
    case 2:
        fuzz_put32(arp + 28, s->dhcp.lease.ip.w[TENON_IP4_WORD]);
        fuzz_put32(arp + 38, s->dhcp.lease.ip.w[TENON_IP4_WORD]);
        fuzz_world_input(&s->w, arp, sizeof arp, 0, 0);
        break;
    case 3: (void)tenon_addr_remove(s->w.stack, s->w.netif, &s->dhcp.lease.ip); break;
    default: s->w.buf_fail = how / 5; break;
    }
}

static void check(const struct session *s)
{
    const struct tenon_dhcp *dhcp = &s->dhcp;
    struct tenon_addr_info info;
    unsigned i, ours = 0, v4 = 0;

    for (i = 0; tenon_addr_get(s->w.stack, i, &info) == TENON_OK; i++) {
        v4 += (unsigned)tenon_ip_is_v4(&info.ip);
        ours += dhcp->leased && tenon_ip_equal(&info.ip, &dhcp->lease.ip);
    }
    must(ours == dhcp->leased, __LINE__);
    must(v4 <= 2U, __LINE__);
    if (dhcp->source == TENON_DHCP_LEASE)
        must(dhcp->leased && v4 == 1, __LINE__);
    if (dhcp->leased) {
        must(dhcp->lease.lease_s >= 10 && dhcp->lease.t1_s >= 5, __LINE__);
        must(dhcp->lease.t1_s <= dhcp->lease.t2_s && dhcp->lease.t2_s < dhcp->lease.lease_s, __LINE__);
        must(dhcp->lease.prefix <= 32, __LINE__);
    }
    must(dhcp->lease.ndns <= TENON_DHCP_LIST_MAX && dhcp->lease.nrouters <= TENON_DHCP_LIST_MAX, __LINE__);
}

/* A poll of the service polls the core too. Each leads somewhere: none asks to be called again at once for ever. */
static void advance(struct session *s, uint64_t us)
{
    const uint64_t end = s->w.now + us;
    unsigned steps = 0;

    for (;;) {
        uint32_t wait = fuzz_world_poll(&s->w);
        const uint32_t service = tenon_dhcp_poll(&s->dhcp, (tenon_u32)s->w.now);

        wait = service < wait ? service : wait;
        check(s);
        if (s->w.now >= end || ++steps > 3000)
            return;
        must(wait > 0 || steps < 3000, __LINE__);
        s->w.now += wait < end - s->w.now ? wait : end - s->w.now;
    }
}

static void raw(struct session *s, struct fuzz_bytes *in)
{
    uint8_t bytes[256];
    size_t n = fuzz_u8(in), i;

    for (i = 0; i < n && in->left > 0; i++)
        bytes[i] = fuzz_u8(in);
    datagram(s, bytes, i);
}

static void one(struct session *s, struct fuzz_bytes *in)
{
    const unsigned op = fuzz_u8(in) % 8;

    if (op < 4)
        message(s, op, in);
    else if (op == 4) {
        s->bend_at = fuzz_u16(in) % 512;
        s->bend = fuzz_u8(in);
    } else if (op == 5)
        raw(s, in);
    else if (op == 6)
        advance(s, (uint64_t)fuzz_log(in) * 1000);
    else
        something(s, fuzz_u8(in));
    advance(s, 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct session s;
    struct fuzz_bytes in = { data, size };
    struct tenon_dhcp_conf dhcp;
    struct tenon_conf conf;
    unsigned how = fuzz_u8(&in);

    memset(&s, 0, sizeof s);
    s.w.now = 5000000;
    s.w.netif_conf.mtu = 1500;
    s.w.sent = sent;
    memcpy(s.w.netif_conf.mac, our_mac, 6);
    s.w.netif_conf.flags = (tenon_u16)(TENON_NETIF_NO_IP6 | (how & 1 ? 0 : TENON_NETIF_NO_DAD));
    tenon_conf_default(&conf);
    fuzz_world_open(&s.w, &conf);
    tenon_dhcp_conf_default(&dhcp, s.w.netif);
    dhcp.delay_ms = 0;
    if (how & 2)
        dhcp.wanted = tenon_ip4(0x0A000040);
    must(tenon_dhcp_start(&s.dhcp, s.w.stack, &dhcp, (tenon_u32)s.w.now) == TENON_OK, __LINE__);
    advance(&s, 0);
    while (in.left > 0)
        one(&s, &in);
    tenon_dhcp_stop(&s.dhcp, (tenon_u32)s.w.now);
    (void)fuzz_world_poll(&s.w);
    fuzz_world_close(&s.w, 0);
    return 0;
}
