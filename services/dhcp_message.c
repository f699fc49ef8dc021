/* SPDX-License-Identifier: MIT */
/* DHCP messages (RFC 2131 2, RFC 2132, RFC 6842). */
#include "dhcp_message.h"

#include "internal.h"

/* RFC 2131 figure 1 */
enum {
    DHCP_AT_OP = 0,
    DHCP_AT_HTYPE = 1,
    DHCP_AT_HLEN = 2,
    DHCP_AT_XID = 4,
    DHCP_AT_SECS = 8,
    DHCP_AT_FLAGS = 10,
    DHCP_AT_CIADDR = 12,
    DHCP_AT_YIADDR = 16,
    DHCP_AT_CHADDR = 28,
    DHCP_AT_SNAME = 44,
    DHCP_AT_FILE = 108,
    DHCP_AT_COOKIE = 236,
    DHCP_AT_OPTIONS = 240
};
enum {
    DHCP_BOOT_REQUEST = 1,
    DHCP_BOOT_REPLY = 2,
    DHCP_HTYPE_ETHERNET = 1,
    DHCP_MAC_BYTES = 6,
    DHCP_SNAME_BYTES = 64,
    DHCP_FILE_BYTES = 128
};
#define DHCP_COOKIE 0x63825363UL
#define DHCP_BROADCAST 0x8000UL

/* RFC 2132 */
enum dhcp_option {
    DHCP_OPT_PAD = 0,
    DHCP_OPT_MASK = 1,
    DHCP_OPT_ROUTER = 3,
    DHCP_OPT_DNS = 6,
    DHCP_OPT_HOSTNAME = 12,
    DHCP_OPT_MTU = 26,
    DHCP_OPT_NTP = 42,
    DHCP_OPT_REQUESTED = 50,
    DHCP_OPT_LEASE = 51,
    DHCP_OPT_OVERLOAD = 52,
    DHCP_OPT_TYPE = 53,
    DHCP_OPT_SERVER = 54,
    DHCP_OPT_PARAMETERS = 55,
    DHCP_OPT_MAX_BYTES = 57,
    DHCP_OPT_T1 = 58,
    DHCP_OPT_T2 = 59,
    DHCP_OPT_CLIENT_ID = 61,
    DHCP_OPT_END = 255
};

/* ---- writing ------------------------------------------------------------------------------------------- */

static tenon_u8 *dhcp_put_option(tenon_u8 *p, enum dhcp_option option, const void *value, unsigned n)
{
    p[0] = (tenon_u8)option;
    p[1] = (tenon_u8)n;
    memcpy(p + 2, value, n);
    return p + 2 + n;
}

static tenon_u8 *dhcp_put_option32(tenon_u8 *p, enum dhcp_option option, tenon_u32 value)
{
    tenon_u8 bytes[4];

    if (value == 0)
        return p;
    svc_put32(bytes, value);
    return dhcp_put_option(p, option, bytes, 4);
}

/* RFC 2131 4.4.1: the same in all messages of a client. */
static tenon_u8 *dhcp_put_client_id(tenon_u8 *p, const struct dhcp_call *call)
{
    tenon_u8 id[1 + DHCP_MAC_BYTES];

    if (call->client_id != NULL)
        return dhcp_put_option(p, DHCP_OPT_CLIENT_ID, call->client_id, call->client_id_bytes);
    id[0] = DHCP_HTYPE_ETHERNET;
    memcpy(id + 1, call->mac, DHCP_MAC_BYTES);
    return dhcp_put_option(p, DHCP_OPT_CLIENT_ID, id, sizeof(id));
}

/* What we want to know, how long an answer may be, and our name: not in a decline or release (RFC 2131 table 5). */
static tenon_u8 *dhcp_put_wishes(tenon_u8 *p, const struct dhcp_call *call)
{
    static const tenon_u8 wishes[] = { DHCP_OPT_MASK, DHCP_OPT_ROUTER, DHCP_OPT_DNS, DHCP_OPT_MTU,
                                       DHCP_OPT_NTP,  DHCP_OPT_LEASE,  DHCP_OPT_T1,  DHCP_OPT_T2 };
    tenon_u8 max[2];
    unsigned n = 0;

    if (call->type != DHCP_DISCOVER && call->type != DHCP_REQUEST)
        return p;
    svc_put16(max, 576);
    p = dhcp_put_option(p, DHCP_OPT_MAX_BYTES, max, 2);
    p = dhcp_put_option(p, DHCP_OPT_PARAMETERS, wishes, sizeof(wishes));
    while (call->hostname != NULL && call->hostname[n] != 0)
        n++;
    return n > 0 ? dhcp_put_option(p, DHCP_OPT_HOSTNAME, call->hostname, n) : p;
}

unsigned tenon_dhcp_build(tenon_u8 bytes[DHCP_BYTES_MAX], const struct dhcp_call *call)
{
    const int asks = call->type == DHCP_DISCOVER || call->type == DHCP_REQUEST;
    tenon_u8 *p = bytes + DHCP_AT_OPTIONS;
    tenon_u8 type[1];

    memset(bytes, 0, DHCP_BYTES_MAX);
    bytes[DHCP_AT_OP] = DHCP_BOOT_REQUEST;
    bytes[DHCP_AT_HTYPE] = DHCP_HTYPE_ETHERNET;
    bytes[DHCP_AT_HLEN] = DHCP_MAC_BYTES;
    svc_put32(bytes + DHCP_AT_XID, call->xid);
    svc_put16(bytes + DHCP_AT_SECS, call->secs);
    if (asks && call->ciaddr == 0)
        svc_put16(bytes + DHCP_AT_FLAGS, DHCP_BROADCAST);    /* the core takes nothing to an address that it has not */
    svc_put32(bytes + DHCP_AT_CIADDR, call->ciaddr);
    memcpy(bytes + DHCP_AT_CHADDR, call->mac, DHCP_MAC_BYTES);
    svc_put32(bytes + DHCP_AT_COOKIE, DHCP_COOKIE);
    type[0] = (tenon_u8)call->type;
    p = dhcp_put_option(p, DHCP_OPT_TYPE, type, 1);
    p = dhcp_put_client_id(p, call);
    p = dhcp_put_option32(p, DHCP_OPT_REQUESTED, call->wanted);
    p = dhcp_put_option32(p, DHCP_OPT_SERVER, call->server);
    p = dhcp_put_wishes(p, call);
    *p++ = DHCP_OPT_END;
    return p - bytes < DHCP_BYTES_MIN ? (unsigned)DHCP_BYTES_MIN : (unsigned)(p - bytes);
}

/* ---- reading ------------------------------------------------------------------------------------------- */

/* What is read of one message. */
struct dhcp_reading {
    struct dhcp_reply *reply;
    tenon_u8 overload;
};

/* A list of addresses; another option of the same number goes on with it (RFC 3396). */
static int dhcp_read_list(struct tenon_ip *list, unsigned *count, const tenon_u8 *value, unsigned n)
{
    unsigned i;

    if (n == 0 || n % 4 != 0)
        return 0;
    for (i = 0; i < n && *count < TENON_DHCP_LIST_MAX; i += 4) {
        const tenon_u32 ip = svc_get32(value + i);

        if (ip >> 24 != 0 && ip >> 24 != 127 && ip >> 29 != 7)
            list[(*count)++] = tenon_ip4(ip);
    }
    return 1;
}

static int dhcp_read_u32(tenon_u32 *to, const tenon_u8 *value, unsigned n)
{
    if (n != 4)
        return 0;
    *to = svc_get32(value);
    return 1;
}

static int dhcp_read_server(struct tenon_ip *to, const tenon_u8 *value, unsigned n)
{
    tenon_u32 ip = 0;

    if (!dhcp_read_u32(&ip, value, n))
        return 0;
    *to = tenon_ip4(ip);
    return 1;
}

/* Lists and the numbers of one or two bytes. @return 0: its length is wrong */
static int dhcp_read_other(struct dhcp_reading *reading, unsigned option, const tenon_u8 *value, unsigned n)
{
    struct tenon_dhcp_offer *offer = &reading->reply->offer;

    switch (option) {
    case DHCP_OPT_ROUTER: return dhcp_read_list(offer->routers, &offer->nrouters, value, n);
    case DHCP_OPT_DNS: return dhcp_read_list(offer->dns, &offer->ndns, value, n);
    case DHCP_OPT_NTP: return dhcp_read_list(offer->ntp, &offer->nntp, value, n);
    case DHCP_OPT_MTU:
        if (n == 2)
            offer->mtu = svc_get16(value);
        return n == 2;
    case DHCP_OPT_OVERLOAD:
        if (n == 1)
            reading->overload = value[0];
        return n == 1;
    case DHCP_OPT_CLIENT_ID:
        reading->reply->has_client_id = 1;
        reading->reply->client_id = value;
        reading->reply->client_id_bytes = n;
        return 1;
    default: return 1;
    }
}

/* @return 0: its length is wrong */
static int dhcp_read_option(struct dhcp_reading *reading, unsigned option, const tenon_u8 *value, unsigned n)
{
    struct dhcp_reply *reply = reading->reply;

    switch (option) {
    case DHCP_OPT_MASK: return dhcp_read_u32(&reply->mask, value, n);
    case DHCP_OPT_SERVER: return dhcp_read_server(&reply->offer.server, value, n);
    case DHCP_OPT_LEASE: reply->has_lease = 1; return dhcp_read_u32(&reply->offer.lease_s, value, n);
    case DHCP_OPT_T1: return dhcp_read_u32(&reply->offer.t1_s, value, n);
    case DHCP_OPT_T2: return dhcp_read_u32(&reply->offer.t2_s, value, n);
    case DHCP_OPT_TYPE:
        if (n == 1)
            reply->type = value[0];
        return n == 1;
    default: return dhcp_read_other(reading, option, value, n);
    }
}

/* The options in a field. RFC 2132 3.2: it should end with option 255; here its end will do. @return 0: malformed */
static int dhcp_read_options(struct dhcp_reading *reading, const tenon_u8 *p, tenon_u32 n)
{
    tenon_u32 at = 0;

    while (at < n && p[at] != DHCP_OPT_END) {
        tenon_u32 bytes = 0;

        if (p[at] == DHCP_OPT_PAD) {
            at++;
            continue;
        }
        if (n - at < 2)
            return 0;
        bytes = p[at + 1];
        if (bytes > n - at - 2 || !dhcp_read_option(reading, p[at], p + at + 2, (unsigned)bytes))
            return 0;
        at += 2 + bytes;
    }
    return 1;
}

enum tenon_dhcp_stat tenon_dhcp_parse(struct dhcp_reply *reply, const tenon_u8 *bytes, tenon_u32 n)
{
    struct dhcp_reading reading;
    unsigned overload;

    memset(reply, 0, sizeof(*reply));
    reading.reply = reply;
    reading.overload = 0;
    if (n < DHCP_AT_OPTIONS)
        return TENON_DHCP_STAT_BAD_LENGTH;
    if (bytes[DHCP_AT_OP] != DHCP_BOOT_REPLY || bytes[DHCP_AT_HTYPE] != DHCP_HTYPE_ETHERNET ||
        bytes[DHCP_AT_HLEN] != DHCP_MAC_BYTES || svc_get32(bytes + DHCP_AT_COOKIE) != DHCP_COOKIE)
        return TENON_DHCP_STAT_BAD_HEADER;
    reply->xid = svc_get32(bytes + DHCP_AT_XID);
    reply->yiaddr = svc_get32(bytes + DHCP_AT_YIADDR);
    reply->chaddr = bytes + DHCP_AT_CHADDR;
    if (!dhcp_read_options(&reading, bytes + DHCP_AT_OPTIONS, n - DHCP_AT_OPTIONS))
        return TENON_DHCP_STAT_BAD_OPTION;
    overload = reading.overload;    /* RFC 2131 4.1: file first, then sname */
    if ((overload & 1) && !dhcp_read_options(&reading, bytes + DHCP_AT_FILE, DHCP_FILE_BYTES))
        return TENON_DHCP_STAT_BAD_OPTION;
    if ((overload & 2) && !dhcp_read_options(&reading, bytes + DHCP_AT_SNAME, DHCP_SNAME_BYTES))
        return TENON_DHCP_STAT_BAD_OPTION;
    return (enum tenon_dhcp_stat)0;
}
