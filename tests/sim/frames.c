/* SPDX-License-Identifier: MIT */
/* Looking at frames: a line of text for each, and a check of what an instance sends that shares no code
 * with the core. */
#include "sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LINK = SIM_LINK_BYTES, FRAME_MAX = 70000 };

static unsigned get16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* All bytes of a frame in one piece. @return how many */
unsigned frames_flatten(const struct tenon_frame *frame, uint8_t *to, unsigned max)
{
    unsigned n = 0, i;

    for (i = 0; i < frame->nspans; i++) {
        const struct tenon_span *span = &frame->spans[i];

        if (n + span->len > max)
            break;
        memcpy(to + n, tenon_span_data(span), span->len);
        n += span->len;
    }
    return n;
}

/* ---- where things are ------------------------------------------------------------------------ */

struct layout {
    int v6;
    unsigned ip, l4, end;     /* offsets */
    unsigned proto;
    int fragment, first;      /* a piece of a datagram; its first one */
};

/* @return NULL, or what is wrong */
static const char *find_layout(struct layout *at, const uint8_t *bytes, unsigned n)
{
    const uint8_t *ip = bytes + LINK;

    memset(at, 0, sizeof(*at));
    at->ip = LINK;
    at->first = 1;
    if (n < LINK + 20)
        return "short";
    at->v6 = ip[0] >> 4 == 6;
    if (!at->v6) {
        at->l4 = LINK + (ip[0] & 15U) * 4;
        at->end = LINK + get16(ip + 2);
        at->proto = ip[9];
        at->fragment = (get16(ip + 6) & 0x3FFF) != 0;
        at->first = (get16(ip + 6) & 0x1FFF) == 0;
        return at->end > n || at->l4 > at->end || ip[0] >> 4 != 4 ? "IPv4 header" : NULL;
    }
    if (n < LINK + 40)
        return "short";
    at->l4 = LINK + 40;
    at->end = LINK + 40 + get16(ip + 4);
    at->proto = ip[6];
    while (at->end <= n && at->l4 + 8 <= at->end && (at->proto == 0 || at->proto == 44 || at->proto == 60)) {
        const uint8_t *ext = bytes + at->l4;

        if (at->proto == 44) {
            at->fragment = 1;
            at->first = (get16(ext + 2) & 0xFFF8) == 0;
        }
        at->l4 += at->proto == 44 ? 8U : 8U * (ext[1] + 1U);
        at->proto = ext[0];
    }
    return at->end > n || at->l4 > at->end ? "IPv6 header" : NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

static int decode_tcp(char *text, size_t size, const uint8_t *l4, unsigned n)
{
    static const char names[] = "FSRPAUEC";
    const unsigned header = n >= 20 ? (l4[12] >> 4) * 4U : 0;
    char flags[9], options[120] = "";
    unsigned i, k = 0, at = 20;
    int len = 0;

    if (header < 20 || header > n)
        return snprintf(text, size, "TCP?");
    for (i = 0; i < 8; i++)
        if (l4[13] >> i & 1)
            flags[k++] = names[i];
    flags[k] = 0;
    while (at + 1 < header && l4[at] != 0 && (size_t)len < sizeof(options) - 40) {
        const uint8_t *option = l4 + at;

        if (option[0] == 1) {
            at++;
            continue;
        }
        if (option[1] < 2)
            break;
        if (option[0] == 2)
            len += snprintf(options + len, sizeof(options) - (size_t)len, " mss %u", get16(option + 2));
        if (option[0] == 3)
            len += snprintf(options + len, sizeof(options) - (size_t)len, " ws %u", option[2]);
        if (option[0] == 4)
            len += snprintf(options + len, sizeof(options) - (size_t)len, " sackok");
        if (option[0] == 8)
            len += snprintf(options + len, sizeof(options) - (size_t)len, " ts %u/%u", get32(option + 2),
                            get32(option + 6));
        if (option[0] == 5)
            len += snprintf(options + len, sizeof(options) - (size_t)len, " sack %u-%u%s", get32(option + 2),
                            get32(option + 6), option[1] > 10 ? "..." : "");
        at += option[1];
    }
    return snprintf(text, size, "TCP %u > %u %s seq %u len %u ack %u win %u%s", get16(l4), get16(l4 + 2), flags,
                    get32(l4 + 4), n - header, get32(l4 + 8), get16(l4 + 14), options);
}

/* The type of Ethernet; of a bare packet by its version. 0: too short for either */
unsigned frames_type(const uint8_t *bytes, unsigned n)
{
    if (TENON_WITH_ETHERNET)
        return n >= 14 ? get16(bytes + 12) : 0;
    return n == 0 ? 0 : bytes[0] >> 4 == 6 ? 0x86DDU : 0x0800U;
}

/* One line of text without its end. @return its length */
int frames_decode(char *text, size_t size, const uint8_t *bytes, unsigned n)
{
    const unsigned type = frames_type(bytes, n);
    struct layout at;
    const char *wrong;
    int len;

    if (type == 0x0806 && n >= LINK + 28)
        return snprintf(text, size, "ARP %s %u.%u.%u.%u for %u.%u.%u.%u", bytes[21] == 1 ? "request" : "reply",
                        bytes[28], bytes[29], bytes[30], bytes[31], bytes[38], bytes[39], bytes[40], bytes[41]);
    if (type != 0x0800 && type != 0x86DD)
        return snprintf(text, size, "ethertype %04X, %u bytes", type, n);
    wrong = find_layout(&at, bytes, n);
    if (wrong)
        return snprintf(text, size, "bad %s, %u bytes", wrong, n);
    len = snprintf(text, size, "%s .%u > .%u ", at.v6 ? "IPv6" : "IPv4", bytes[at.ip + (at.v6 ? 23U : 15U)],
                   bytes[at.ip + (at.v6 ? 39U : 19U)]);
    text += len;
    size -= (size_t)len;
    if (at.fragment)
        return len + snprintf(text, size, "fragment of %u, %u bytes%s", at.proto, at.end - at.l4,
                              at.first ? ", the first" : "");
    if (at.proto == 6)
        return len + decode_tcp(text, size, bytes + at.l4, at.end - at.l4);
    if (at.proto == 17 && at.end - at.l4 >= 8)
        return len + snprintf(text, size, "UDP %u > %u len %u", get16(bytes + at.l4), get16(bytes + at.l4 + 2),
                              get16(bytes + at.l4 + 4));
    if ((at.proto == 1 || at.proto == 58) && at.end > at.l4 + 1)
        return len + snprintf(text, size, "ICMP type %u code %u, %u bytes", bytes[at.l4], bytes[at.l4 + 1],
                              at.end - at.l4);
    return len + snprintf(text, size, "protocol %u, %u bytes", at.proto, at.end - at.l4);
}

/* ---- checking -------------------------------------------------------------------------------- */

static uint32_t sum(const uint8_t *p, unsigned n, uint32_t start)
{
    uint64_t total = start;

    for (; n >= 2; n -= 2, p += 2)
        total += get16(p);
    if (n)
        total += (uint32_t)*p << 8;
    while (total > 0xFFFF)
        total = (total >> 16) + (total & 0xFFFF);
    return (uint32_t)total;
}

static uint32_t pseudo(const uint8_t *bytes, const struct layout *at)
{
    const uint8_t *ip = bytes + at->ip;

    return sum(ip + (at->v6 ? 8 : 12), at->v6 ? 32 : 8, at->proto + at->end - at->l4);
}

/* @return NULL, or what is wrong with the checksum */
static const char *check_checksum(const uint8_t *bytes, const struct layout *at, const struct tenon_frame *frame)
{
    const unsigned field = at->proto == 6 ? 16 : at->proto == 17 ? 6 : 2;
    const int has_pseudo = at->proto != 1;

    if (at->fragment || (at->proto != 6 && at->proto != 17 && at->proto != 1 && at->proto != 58))
        return NULL;
    if (at->end < at->l4 + 8)
        return "transport header";
    if (frame->csum == TENON_CSUM_PARTIAL) {
        if (frame->csum_start != at->l4 || frame->csum_offset != field)
            return "place of the checksum";
        return get16(bytes + at->l4 + field) == pseudo(bytes, at) ? NULL : "sum of the pseudo-header";
    }
    if (at->proto == 17 && get16(bytes + at->l4 + 6) == 0)
        return at->v6 ? "UDP over IPv6 without checksum" : NULL;
    return sum(bytes + at->l4, at->end - at->l4, has_pseudo ? pseudo(bytes, at) : 0) == 0xFFFF ? NULL : "checksum";
}

static const char *check_tcp(const uint8_t *bytes, const struct layout *at)
{
    const uint8_t *l4 = bytes + at->l4;
    const unsigned header = (l4[12] >> 4) * 4U, n = at->end - at->l4;
    const unsigned flags = l4[13];

    if (n < 20 || header < 20 || header > n)
        return "TCP header length";
    if ((flags & 0x06) == 0x06 || (flags & 0x03) == 0x03 || !(flags & 0x3F))
        return "TCP flags";
    if (!(flags & 0x10) && !(flags & 0x06))
        return "TCP segment without ACK";
    if (get16(l4) == 0 || get16(l4 + 2) == 0)
        return "TCP port 0";
    return NULL;
}

static const char *check_sent(const uint8_t *bytes, unsigned n, const struct tenon_frame *frame, const uint8_t *mac)
{
    const unsigned type = frames_type(bytes, n);
    struct layout at;
    const char *wrong;

    if (n < LINK + 20)
        return "length";
    if (TENON_WITH_ETHERNET && memcmp(bytes + 6, mac, 6) != 0)
        return "source address";
    if (type == 0x0806)
        return n >= LINK + 28 ? NULL : "ARP length";
    if (type != 0x0800 && type != 0x86DD)
        return "ethertype";
    wrong = find_layout(&at, bytes, n);
    if (wrong)
        return wrong;
    if (at.end != n)
        return "length of the IP packet";
    if (!at.v6 && sum(bytes + at.ip, (bytes[at.ip] & 15U) * 4, 0) != 0xFFFF)
        return "IPv4 header checksum";
    if (!at.v6 && bytes[at.ip + 8] == 0)
        return "TTL 0";
    wrong = check_checksum(bytes, &at, frame);
    if (!wrong && at.proto == 6 && !at.fragment)
        wrong = check_tcp(bytes, &at);
    if (!wrong && at.proto == 17 && !at.fragment && get16(bytes + at.l4 + 4) != at.end - at.l4)
        wrong = "UDP length";
    return wrong;
}

/* ---- the tap --------------------------------------------------------------------------------- */

/* BUG_BAD_PAYLOAD: as a broken NIC would do it. */
static void damage(struct sim *sim, const struct tenon_frame *frame, unsigned n)
{
    const struct tenon_span *last = &frame->spans[frame->nspans - 1];

    if (sim->bug_done || n < 300 || last->len < 8)
        return;
    sim->bug_done = 1;
    tenon_span_data(last)[last->len - 1] ^= 0x10;
    ((struct tenon_frame *)(uintptr_t)frame)->csum = TENON_CSUM_GOOD;
}

static int is_lossless(const struct sim *sim, unsigned host)
{
    const struct tenon *stack = sim->host[host].stack;
    struct wire_host_stats stats;

    wire_host_stats(sim->host[host].host, &stats);
    if (!TENON_WITH_STATS)
        return 0;    /* nobody could tell */
    return stats.buf_refused == 0 && stats.mem_refused == 0 && tenon_stat(stack, TENON_STAT_TX_FULL) == 0
           && tenon_stat(stack, TENON_STAT_TX_DOWN) == 0 && tenon_stat(stack, TENON_STAT_NEIGH_QUEUE_DROP) == 0
           && tenon_stat(stack, TENON_STAT_NEIGH_FAILED) == 0;
}

/* Who looks on does not know what a host must not believe, nor that what waits for one router is overtaken by what goes
 * to another. */
static int is_understood(const struct sim *sim)
{
    unsigned i;

    for (i = 0; i < sim->plan->nways; i++)
        if (sim->plan->way[i].conf.redirects > 0)
            return 0;
    return !sim->intruded;
}

void frames_tap(void *arg, struct wire_end *end, enum wire_place place, const struct tenon_frame *frame)
{
    static const char *const places[] = {"sent    ", "travels ", "received", "LOST    "};
    static uint8_t bytes[FRAME_MAX];
    struct sim *sim = arg;
    const struct wire_end_conf *conf = wire_end_conf(end);
    const int router = router_has(conf->netif.mac);
    unsigned n;
    char text[300];

    if (place == WIRE_TRAVELS && frame->seg_kind == TENON_SEG_NONE && !conf->cut)
        return;    /* nothing has changed since it was sent */
    n = frames_flatten(frame, bytes, sizeof(bytes));
    if (sim->options.verbose) {
        frames_decode(text, sizeof(text), bytes, n);
        sim_note(sim, "%s %u %s %u: %s%s%s", router ? "arm" : "host", conf->netif.mac[5] - (router ? 0U : 1U),
                 places[place], n, text, frame->seg_kind ? " (to be cut)" : "",
                 frame->csum == TENON_CSUM_PARTIAL ? " (partial checksum)" : "");
    }
    if (router)
        return;
    if (place == WIRE_SENT && sim->plan->watch) {
        const char *wrong = check_sent(bytes, n, frame, conf->netif.mac);

        if (!wrong && is_understood(sim)) {
            wrong = watch_frame(conf->netif.mac[5] - 1U, 1, is_lossless(sim, conf->netif.mac[5] - 1U), bytes, n, frame);
            if (wrong) {
                frames_decode(text, sizeof(text), bytes, n);
                sim_fail(sim, "protocol", "host %u %s: %s", conf->netif.mac[5] - 1U, wrong, text);
            }
        } else if (wrong) {
            frames_decode(text, sizeof(text), bytes, n);
            sim_fail(sim, "bad frame sent", "host %u: %s wrong in: %s", conf->netif.mac[5] - 1U, wrong, text);
        }
    }
    if (place == WIRE_RECEIVED && sim->plan->watch && is_understood(sim) &&
        (!TENON_WITH_ETHERNET || memcmp(bytes, conf->netif.mac, 6) == 0))
        watch_frame(conf->netif.mac[5] - 1U, 0, 0, bytes, n, frame);
    if (place == WIRE_RECEIVED && sim->options.bug == BUG_BAD_PAYLOAD)
        damage(sim, frame, n);
}
