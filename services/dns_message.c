/* SPDX-License-Identifier: MIT */
/* Questions and answers (RFC 1035 4, RFC 3596). No length and no pointer of an answer is believed. */
#include "dns_message.h"

#include "internal.h"

enum {
    DNS_HEADER = 12,
    DNS_LABEL_MAX = 63,
    DNS_WIRE_MAX = 255,
    DNS_CHAIN_MAX = 8,
    DNS_JUMPS_MAX = 127,    /* a name has no more labels; one pointer to another after another only costs time */
    DNS_NS = 2,
    DNS_CNAME = 5,
    DNS_SOA = 6,
    DNS_IN = 1
};
/* RFC 1035 4.1.1 */
#define DNS_QR 0x8000UL
#define DNS_OPCODE 0x7800UL
#define DNS_TC 0x0200UL
#define DNS_RD 0x0100UL
#define DNS_RCODE 0x000FUL
enum { DNS_NO_ERROR = 0, DNS_NX_DOMAIN = 3 };
#define DNS_TTL_MAX 86400UL
#define DNS_NEGATIVE_TTL_MAX 10800UL    /* RFC 2308 5 */

/* ---- writing -------------------------------------------------------------------------------------------------- */

/* One letter in two is a capital, if that is wanted. */
static tenon_u8 dns_letter(char c, tenon_u32 mix, unsigned at)
{
    return (tenon_u8)(c >= 'a' && c <= 'z' && (mix >> at % 32 & 1) ? c - 'a' + 'A' : c);
}

/* A name as labels. @return its length */
static unsigned dns_put_name(tenon_u8 *p, const char *name, tenon_u32 mix)
{
    unsigned at = 1, label = 0, i;

    for (i = 0; name[i] != 0; i++, at++) {
        if (name[i] == '.') {
            p[label] = (tenon_u8)(at - label - 1);
            label = at;
        } else {
            p[at] = dns_letter(name[i], mix, i);
        }
    }
    p[label] = (tenon_u8)(at - label - 1);
    p[at] = 0;
    return at + 1;
}

static unsigned dns_put_question(tenon_u8 *p, const struct tenon_dns_query *query)
{
    const unsigned n = dns_put_name(p, query->name, query->mix);

    svc_put16(p + n, query->type);
    svc_put16(p + n + 2, DNS_IN);
    return n + 4;
}

unsigned tenon_dns_build(tenon_u8 bytes[DNS_BYTES_MAX], const struct tenon_dns_query *query)
{
    memset(bytes, 0, DNS_HEADER);
    svc_put16(bytes, query->id);
    svc_put16(bytes + 2, DNS_RD);
    svc_put16(bytes + 4, 1);
    return DNS_HEADER + dns_put_question(bytes + DNS_HEADER, query);
}

/* ---- names in a message --------------------------------------------------------------------------------------- */

struct dns_message {
    const tenon_u8 *bytes;
    unsigned n;
};

/* Where we are in a name. Pointers lead back only, each further than the one before: they come to an end. */
struct dns_cursor {
    unsigned at, limit, total, jumps;
};

static void dns_cursor_set(struct dns_cursor *cursor, unsigned at)
{
    cursor->at = at;
    cursor->limit = at;
    cursor->total = 1;
    cursor->jumps = 0;
}

/* Go on to the next label. @return its length, whose bytes stand before cursor->at; 0: the name ends; -1: malformed */
static int dns_next_label(const struct dns_message *msg, struct dns_cursor *cursor)
{
    unsigned len;

    for (;;) {
        if (cursor->at >= msg->n)
            return -1;
        len = msg->bytes[cursor->at];
        if (len <= DNS_LABEL_MAX)
            break;
        if (len < 0xC0 || cursor->at + 1 >= msg->n)
            return -1;
        cursor->at = (len & 0x3F) << 8 | msg->bytes[cursor->at + 1];
        if (cursor->at >= cursor->limit || ++cursor->jumps > DNS_JUMPS_MAX)
            return -1;
        cursor->limit = cursor->at;
    }
    cursor->total += 1 + len;
    if (len > msg->n - cursor->at - 1 || cursor->total > DNS_WIRE_MAX + 1)
        return -1;
    cursor->at += 1 + len;
    return (int)len;
}

/* @return what stands behind a name; 0: it is malformed */
static unsigned dns_skip_name(const struct dns_message *msg, unsigned at)
{
    struct dns_cursor cursor;
    int len;

    dns_cursor_set(&cursor, at);
    while ((len = dns_next_label(msg, &cursor)) > 0)
        continue;
    if (len < 0)
        return 0;
    while (at < msg->n && msg->bytes[at] != 0) {    /* all is well with it: to its end here, or to its pointer */
        if (msg->bytes[at] >= 0xC0)
            return at + 2;
        at += 1U + msg->bytes[at];
    }
    return at + 1;
}

static int dns_lower(int c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c;
}

/* RFC 4343: letters are the same in both cases. Both names are well formed. */
static int dns_same_name(const struct dns_message *msg, unsigned a, unsigned b)
{
    struct dns_cursor x, y;
    int len, i;

    dns_cursor_set(&x, a);
    dns_cursor_set(&y, b);
    do {
        len = dns_next_label(msg, &x);
        if (len != dns_next_label(msg, &y) || len < 0)
            return 0;
        for (i = 1; i <= len; i++) {
            if (dns_lower(msg->bytes[x.at - (unsigned)i]) != dns_lower(msg->bytes[y.at - (unsigned)i]))
                return 0;
        }
    } while (len > 0);
    return 1;
}

/* ---- records -------------------------------------------------------------------------------------------------- */

struct dns_record {
    unsigned name, type, class_, data, bytes;
    tenon_u32 ttl;
};

/* @return where the next one is; 0: it is malformed, *wrong says how */
static unsigned dns_record_at(struct dns_record *record, const struct dns_message *msg, unsigned at,
                              enum tenon_dns_stat *wrong)
{
    const unsigned fixed = dns_skip_name(msg, at);

    *wrong = TENON_DNS_STAT_BAD_NAME;
    if (fixed == 0)
        return 0;
    *wrong = TENON_DNS_STAT_BAD_RECORD;
    if (fixed > msg->n || msg->n - fixed < 10)
        return 0;
    record->name = at;
    record->type = svc_get16(msg->bytes + fixed);
    record->class_ = svc_get16(msg->bytes + fixed + 2);
    record->ttl = svc_get32(msg->bytes + fixed + 4);
    record->bytes = svc_get16(msg->bytes + fixed + 8);
    record->data = fixed + 10;
    return record->bytes > msg->n - record->data ? 0 : record->data + record->bytes;
}

/* All records are whole, and those that matter have the right form. @return 0, or what is wrong */
static enum tenon_dns_stat dns_check(const struct dns_message *msg, unsigned at, unsigned count)
{
    enum tenon_dns_stat wrong;
    struct dns_record record;
    unsigned i;

    for (i = 0; i < count; i++) {
        at = dns_record_at(&record, msg, at, &wrong);
        if (at == 0)
            return wrong;
        if (record.type == DNS_CNAME && dns_skip_name(msg, record.data) != at)
            return TENON_DNS_STAT_BAD_NAME;
        if ((record.type == TENON_DNS_A && record.bytes != 4) || (record.type == TENON_DNS_AAAA && record.bytes != 16))
            return TENON_DNS_STAT_BAD_RECORD;
    }
    return (enum tenon_dns_stat)0;
}

static void dns_take_address(struct tenon_dns_answer *answer, const struct dns_message *msg,
                             const struct dns_record *record)
{
    const tenon_u8 *p = msg->bytes + record->data;
    struct tenon_ip *ip = &answer->ips[answer->n];

    if (answer->n == TENON_DNS_ADDRESSES_MAX)
        return;
    answer->n++;
    if (record->type == TENON_DNS_A)
        *ip = tenon_ip4(svc_get32(p));
    else
        *ip = tenon_ip6(svc_get32(p), svc_get32(p + 4), svc_get32(p + 8), svc_get32(p + 12));
}

/* The records of one name. @return where the name stands for which it is another one (CNAME); 0: it is none */
static unsigned dns_collect(struct tenon_dns_answer *answer, const struct dns_message *msg, unsigned owner,
                            unsigned type)
{
    const unsigned count = svc_get16(msg->bytes + 6);
    unsigned at = dns_skip_name(msg, DNS_HEADER) + 4, alias = 0, i;
    enum tenon_dns_stat wrong;
    struct dns_record record;

    for (i = 0; i < count; i++) {
        at = dns_record_at(&record, msg, at, &wrong);
        if (at == 0)
            break;    /* never: dns_check() has seen them all */
        if (record.class_ != DNS_IN || (record.type != type && record.type != DNS_CNAME) ||
            !dns_same_name(msg, record.name, owner))
            continue;
        if (record.ttl >= 0x80000000UL)    /* RFC 2181 8 */
            record.ttl = 0;
        answer->ttl_s = svc_min(answer->ttl_s, record.ttl);
        if (record.type == DNS_CNAME)
            alias = record.data;
        else
            dns_take_address(answer, msg, &record);
    }
    return alias;
}

/* RFC 1034 3.6.2: along the aliases that are in this answer. @return where the last name stands; 0: they do not end */
static unsigned dns_follow(struct tenon_dns_answer *answer, const struct dns_message *msg, unsigned type)
{
    unsigned owner = DNS_HEADER, hops, alias;

    answer->ttl_s = DNS_TTL_MAX;
    for (hops = 0; hops <= DNS_CHAIN_MAX; hops++) {
        alias = dns_collect(answer, msg, owner, type);
        if (alias == 0 || answer->n > 0)
            return owner;
        owner = alias;
    }
    return 0;
}

/* ---- that there is nothing ------------------------------------------------------------------------------------ */

/* 1: the name is that of the zone, or ends in it. */
static int dns_is_in_zone(const struct dns_message *msg, unsigned name, unsigned zone)
{
    struct dns_cursor cursor;

    dns_cursor_set(&cursor, name);
    do {
        if (dns_same_name(msg, cursor.at, zone))
            return 1;
    } while (dns_next_label(msg, &cursor) > 0);
    return 0;
}

/* RFC 2308 5: the time of the record, and its last field. @return 0 if it is malformed */
static tenon_u32 dns_soa_ttl(const struct dns_message *msg, const struct dns_record *soa)
{
    const unsigned end = soa->data + soa->bytes, second = dns_skip_name(msg, soa->data);
    const unsigned fixed = second == 0 ? 0 : dns_skip_name(msg, second);

    if (fixed == 0 || fixed > end || end - fixed != 20 || soa->ttl >= 0x80000000UL)
        return 0;
    return svc_min(svc_min(soa->ttl, svc_get32(msg->bytes + end - 4)), DNS_NEGATIVE_TTL_MAX);
}

/* How long it may be kept that a name has nothing: what the zone says that it is in, among the records behind the
 * answers. @return 0: not at all */
static tenon_u32 dns_negative_ttl(const struct dns_message *msg, unsigned name)
{
    const tenon_u32 answers = svc_get16(msg->bytes + 6), all = answers + svc_get16(msg->bytes + 8);
    unsigned at = dns_skip_name(msg, DNS_HEADER) + 4;
    enum tenon_dns_stat wrong;
    struct dns_record record;
    tenon_u32 i;

    for (i = 0; i < all && name != 0; i++) {
        at = dns_record_at(&record, msg, at, &wrong);
        if (at == 0)
            return 0;
        if (i >= answers && record.type == DNS_SOA && record.class_ == DNS_IN &&
            dns_is_in_zone(msg, name, record.name))
            return dns_soa_ttl(msg, &record);
    }
    return 0;
}

/* RFC 2308 2.2: the names of other servers, without an SOA record: this one does not know, and does not ask for us. */
static int dns_is_referral(const struct dns_message *msg)
{
    const tenon_u32 answers = svc_get16(msg->bytes + 6), all = answers + svc_get16(msg->bytes + 8);
    unsigned at = dns_skip_name(msg, DNS_HEADER) + 4;
    enum tenon_dns_stat wrong;
    struct dns_record record;
    int servers = 0;
    tenon_u32 i;

    for (i = 0; i < all; i++) {
        at = dns_record_at(&record, msg, at, &wrong);
        if (at == 0 || (i >= answers && record.type == DNS_SOA))
            return 0;
        servers |= i >= answers && record.type == DNS_NS;
    }
    return servers;
}

/* What the records say, which have the right form; rcode: DNS_NO_ERROR or DNS_NX_DOMAIN. */
static void dns_conclude(struct tenon_dns_answer *answer, const struct dns_message *msg, unsigned type, tenon_u32 rcode)
{
    const unsigned name = dns_follow(answer, msg, type);

    answer->status = rcode == DNS_NX_DOMAIN ? TENON_DNS_NO_NAME : answer->n > 0 ? TENON_DNS_OK : TENON_DNS_NO_DATA;
    if (answer->status == TENON_DNS_OK)
        return;
    answer->n = 0;
    answer->ttl_s = svc_min(answer->ttl_s, dns_negative_ttl(msg, name));
    if (answer->status == TENON_DNS_NO_DATA && dns_is_referral(msg))
        answer->status = TENON_DNS_FAILED;
}

enum tenon_dns_stat tenon_dns_parse(struct tenon_dns_answer *answer, const struct tenon_dns_query *query,
                                    const tenon_u8 *bytes, tenon_u32 n)
{
    tenon_u8 question[DNS_WIRE_MAX + 5];
    struct dns_message msg;
    enum tenon_dns_stat wrong;
    unsigned asked;
    tenon_u32 flags, rcode;

    if (n < DNS_HEADER)
        return TENON_DNS_STAT_BAD_LENGTH;
    flags = svc_get16(bytes + 2);
    if (svc_get16(bytes) != query->id || (flags & (DNS_QR | DNS_OPCODE)) != DNS_QR)
        return TENON_DNS_STAT_OTHER_ID;
    asked = dns_put_question(question, query);    /* RFC 5452 4.2; capitals as we wrote them */
    if (svc_get16(bytes + 4) != 1 || n - DNS_HEADER < asked || memcmp(bytes + DNS_HEADER, question, asked) != 0)
        return TENON_DNS_STAT_OTHER_QUESTION;
    memset(answer, 0, sizeof(*answer));
    answer->status = TENON_DNS_TRUNCATED;
    if (flags & DNS_TC)
        return (enum tenon_dns_stat)0;
    rcode = flags & DNS_RCODE;
    answer->status = TENON_DNS_FAILED;
    if (rcode != DNS_NO_ERROR && rcode != DNS_NX_DOMAIN)
        return (enum tenon_dns_stat)0;
    msg.bytes = bytes;
    msg.n = (unsigned)n;
    wrong = dns_check(&msg, DNS_HEADER + asked, svc_get16(bytes + 6));
    if (wrong == 0)
        dns_conclude(answer, &msg, query->type, rcode);
    return wrong;
}
