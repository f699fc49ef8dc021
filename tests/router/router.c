/* SPDX-License-Identifier: MIT */
/* A router, as far as hosts notice. It learns who is where from whatever it hears, and asks for who was not
 * heard yet. */
#include "router.h"

#include "base/bytes.h"
#include "tests/seeds/emit.h"
#include "wire/checksum.h"
#include "wire/wire.h"

#include <stdlib.h>
#include <string.h>

enum {
    ETH = 14, ARP_BYTES = 28, PLACES = 32,
    OPTION_SLLA = 1, OPTION_TLLA = 2, OPTION_PREFIX = 3, OPTION_REDIRECTED = 4, OPTION_MTU = 5,
    QUOTE_MAX = 512    /* bytes of a packet in a redirect */
};

/* Somebody who was heard. */
struct place {
    struct tenon_ip ip;
    uint8_t mac[6];
    uint8_t arm, used;
};

struct router {
    struct router_conf conf;
    struct wire *wire;
    struct wire_host *host;
    struct place places[PLACES];
    unsigned next_place, life;
    uint64_t asked_to_pass;
    uint8_t dark;
    uint8_t passes_damage;    /* 1: what is sent now was damaged before it was heard */
};

/* A frame that is heard. */
struct heard {
    struct router *router;
    unsigned arm, n;      /* bytes of the frame */
    uint8_t damaged;
    uint8_t *frame, *ip;
    struct tenon_ip src, dst;
};

/* ---- who it is --------------------------------------------------------------------------------------- */

/* Those of routers begin with 02:EE; the next byte tells the wire what the router itself does not look at. */
static void own_mac(const struct router *router, unsigned arm, uint8_t *mac)
{
    memset(mac, 0, 6);
    mac[0] = 2;
    mac[1] = 0xEE;
    mac[2] = router->passes_damage;
    mac[3] = (uint8_t)router->life;
    mac[4] = (uint8_t)router->conf.number;
    mac[5] = (uint8_t)arm;
}

int router_has(const uint8_t *mac)
{
    return mac[0] == 2 && mac[1] == 0xEE;
}

int router_passes_damage(const uint8_t *mac)
{
    return router_has(mac) && mac[2] != 0;
}

struct tenon_ip router_gateway(const struct router_conf *conf, unsigned arm, int v6)
{
    if (v6)
        return tenon_ip6(0xFE800000UL, 0, arm + 1, 0xFE00 + conf->number);
    return tenon_ip4(conf->net[arm][0].w[TENON_IP4_WORD] + 254 - conf->number);
}

static int is_own(const struct router *router, unsigned arm, const struct tenon_ip *ip)
{
    const int v6 = !tenon_ip_is_v4(ip);
    const struct tenon_ip own = router_gateway(&router->conf, arm, v6);

    return !tenon_ip_is_any(&router->conf.net[arm][v6]) && tenon_ip_equal(&own, ip);
}

static int is_here(const struct router *router, unsigned arm, const struct tenon_ip *ip)
{
    const struct tenon_ip *net = &router->conf.net[arm][!tenon_ip_is_v4(ip)];

    if (tenon_ip_is_any(net) || tenon_ip_is_v4(net) != tenon_ip_is_v4(ip))
        return 0;
    if (tenon_ip_is_v4(ip))
        return (net->w[TENON_IP4_WORD] ^ ip->w[TENON_IP4_WORD]) < 256;
    return net->w[0] == ip->w[0] && tenon_ip_word(net, 1) == tenon_ip_word(ip, 1);
}

static int is_link_local(const struct tenon_ip *ip)
{
    if (tenon_ip_is_v4(ip))
        return ip->w[TENON_IP4_WORD] >> 16 == 0xA9FE;
    return ip->w[0] >> 22 == 0x3FA;
}

/* ---- who is where ------------------------------------------------------------------------------------- */

static struct place *place_find(struct router *router, const struct tenon_ip *ip)
{
    unsigned i;

    for (i = 0; i < PLACES; i++)
        if (router->places[i].used && tenon_ip_equal(&router->places[i].ip, ip))
            return &router->places[i];
    return NULL;
}

/* What other routers have passed on says nothing of where its sender is. */
static void place_learn(const struct heard *h)
{
    const uint8_t *mac = h->frame + 6;
    struct place *place;

    if (router_has(mac) || !is_here(h->router, h->arm, &h->src))
        return;
    place = place_find(h->router, &h->src);
    if (place == NULL)
        place = &h->router->places[h->router->next_place++ % PLACES];
    place->ip = h->src;
    place->arm = (uint8_t)h->arm;
    place->used = 1;
    memcpy(place->mac, mac, 6);
}

/* ---- what it sends ------------------------------------------------------------------------------------- */

/* Its bytes, whose Ethernet header is written here. */
static void emit(struct router *router, unsigned arm, const uint8_t *to, unsigned type, const uint8_t *bytes,
                 unsigned n)
{
    uint8_t frame[EMIT_BYTES_MAX];

    if (ETH + n > EMIT_BYTES_MAX)
        abort();
    memcpy(frame, to, 6);
    own_mac(router, arm, frame + 6);
    put16be(frame + 12, type);
    memcpy(frame + ETH, bytes, n);
    emit_frame(router->host, arm + 1, NULL, frame, ETH + n);
}

static uint16_t sum_of(const struct tenon_ip *src, const struct tenon_ip *dst, const uint8_t *icmp, unsigned n)
{
    return tn_csum_join(tn_csum_pseudo(src, dst, TN_PROTO_ICMP6, n), tn_csum_sum(icmp, n));
}

/* A message whose n bytes stand behind 40 for the header. */
static void emit_icmp6(struct router *router, unsigned arm, const uint8_t *mac, const struct tenon_ip *dst,
                       uint8_t *packet, unsigned n)
{
    const struct tenon_ip src = router_gateway(&router->conf, arm, 1);

    memset(packet, 0, 40);
    packet[0] = 0x60;
    put16be(packet + 4, n);
    packet[6] = TN_PROTO_ICMP6;
    packet[7] = 255;
    put_ip6(packet + 8, &src);
    put_ip6(packet + 24, dst);
    put16be(packet + 42, 0);
    put16be(packet + 42, ~(unsigned)sum_of(&src, dst, packet + 40, n) & 0xFFFF);
    emit(router, arm, mac, 0x86DD, packet, 40 + n);
}

/* ---- neighbours ask where it is, and it asks where they are (RFC 826, RFC 4861 7.2) ------------------------ */

static void hear_arp(struct heard *h)
{
    const uint8_t *asked = h->frame + ETH;
    const struct tenon_ip target = tenon_ip4(get32be(asked + 24));
    uint8_t answer[ARP_BYTES];

    h->src = tenon_ip4(get32be(asked + 14));
    if (h->n < ETH + ARP_BYTES)
        return;
    place_learn(h);
    if (get16be(asked + 6) != 1 || !is_own(h->router, h->arm, &target))
        return;
    memcpy(answer, asked, 6);
    put16be(answer + 6, 2);
    own_mac(h->router, h->arm, answer + 8);
    memcpy(answer + 14, asked + 24, 4);
    memcpy(answer + 18, asked + 8, 10);
    emit(h->router, h->arm, h->frame + 6, 0x0806, answer, ARP_BYTES);
}

static void answer_neighbour(const struct heard *h, const struct tenon_ip *target)
{
    static const uint8_t all_mac[6] = { 0x33, 0x33, 0, 0, 0, 1 };
    const struct tenon_ip all = tenon_ip6(0xFF020000UL, 0, 0, 1);
    const int nobody = tenon_ip_is_any(&h->src);
    uint8_t packet[40 + 32];

    memset(packet, 0, sizeof(packet));
    packet[40] = TN_ICMP6_NA;
    packet[44] = nobody ? 0xA0 : 0xE0;
    put_ip6(packet + 48, target);
    packet[64] = OPTION_TLLA;
    packet[65] = 1;
    own_mac(h->router, h->arm, packet + 66);
    emit_icmp6(h->router, h->arm, nobody ? all_mac : h->frame + 6, nobody ? &all : &h->src, packet, 32);
}

/* Where somebody is of whom nothing was heard yet. What was to be passed on to him is lost. */
static void ask4(struct router *router, unsigned arm, const struct tenon_ip *ip)
{
    static const uint8_t all_mac[6] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
    const struct tenon_ip own = router_gateway(&router->conf, arm, 0);
    uint8_t p[ARP_BYTES];

    memset(p, 0, sizeof(p));
    put32be(p, 0x00010800U);
    put32be(p + 4, 0x06040001U);
    own_mac(router, arm, p + 8);
    put32be(p + 14, own.w[TENON_IP4_WORD]);
    put32be(p + 24, ip->w[TENON_IP4_WORD]);
    emit(router, arm, all_mac, 0x0806, p, ARP_BYTES);
}

static void ask6(struct router *router, unsigned arm, const struct tenon_ip *ip)
{
    const tenon_u32 low = ip->w[TENON_IP4_WORD] & 0xFFFFFF;
    const struct tenon_ip group = tenon_ip6(0xFF020000UL, 0, 1, 0xFF000000UL | low);
    uint8_t packet[40 + 32], mac[6] = { 0x33, 0x33, 0xFF, 0, 0, 0 };

    put16be(mac + 4, low);
    mac[3] = (uint8_t)(low >> 16);
    memset(packet, 0, sizeof(packet));
    packet[40] = TN_ICMP6_NS;
    put_ip6(packet + 48, ip);
    packet[64] = OPTION_SLLA;
    packet[65] = 1;
    own_mac(router, arm, packet + 66);
    emit_icmp6(router, arm, mac, &group, packet, 32);
}

static void ask(struct router *router, const struct tenon_ip *ip)
{
    unsigned arm;

    for (arm = 0; arm < ROUTER_ARMS; arm++) {
        if (!is_here(router, arm, ip))
            continue;
        if (tenon_ip_is_v4(ip))
            ask4(router, arm, ip);
        else
            ask6(router, arm, ip);
    }
}

/* ---- what it says of itself (RFC 4861 6.2.3) ------------------------------------------------------------- */

static unsigned put_prefix(const struct router *router, unsigned arm, uint8_t *p)
{
    const struct router_advert *advert = &router->conf.advert;

    if (advert->valid_s == 0)
        return 0;
    p[0] = OPTION_PREFIX;
    p[1] = 4;
    p[2] = 64;
    p[3] = (uint8_t)((advert->on_link ? 0x80 : 0) | (advert->autonomous ? 0x40 : 0));
    put32be(p + 4, advert->valid_s);
    put32be(p + 8, advert->valid_s / 2);
    put_ip6(p + 16, &router->conf.net[arm][1]);
    return 32;
}

static void advertise(struct router *router, unsigned arm)
{
    static const uint8_t all_mac[6] = { 0x33, 0x33, 0, 0, 0, 1 };
    const struct router_advert *advert = &router->conf.advert;
    const struct tenon_ip all = tenon_ip6(0xFF020000UL, 0, 0, 1);
    uint8_t packet[40 + 16 + 8 + 8 + 32], *p = packet + 40;
    unsigned n = 24;

    if (router->dark || tenon_ip_is_any(&router->conf.net[arm][1]))
        return;
    memset(packet, 0, sizeof(packet));
    p[0] = TN_ICMP6_RA;
    p[4] = advert->hop_limit;
    p[5] = (uint8_t)(advert->preference << 3);
    put16be(p + 6, advert->lifetime_s);
    put32be(p + 8, advert->reachable_ms);
    put32be(p + 12, advert->retrans_ms);
    p[16] = OPTION_SLLA;
    p[17] = 1;
    own_mac(router, arm, p + 18);
    if (advert->mtu > 0) {
        p[n] = OPTION_MTU;
        p[n + 1] = 1;
        put32be(p + n + 4, advert->mtu);
        n += 8;
    }
    n += put_prefix(router, arm, p + n);
    emit_icmp6(router, arm, all_mac, &all, packet, n);
}

static void advertises(void *arg)
{
    struct router *router = arg;
    unsigned arm;

    for (arm = 0; arm < ROUTER_ARMS; arm++)
        advertise(router, arm);
    if (wire_at(router->wire, wire_now(router->wire) + router->conf.advert.every_us, advertises, router) != 0)
        abort();
}

/* @return 1: it was for the router, or for nobody */
static int hear_icmp6(const struct heard *h)
{
    const uint8_t *icmp = h->ip + 40;
    const unsigned n = get16be(h->ip + 4);
    struct tenon_ip target;

    if (h->ip[6] != TN_PROTO_ICMP6 || h->ip[7] != 255 || n < 8 || sum_of(&h->src, &h->dst, icmp, n) != 0xFFFF)
        return 0;
    if (icmp[0] == TN_ICMP6_RS)
        advertise(h->router, h->arm);
    if (icmp[0] != TN_ICMP6_NS || n < 24)
        return icmp[0] >= TN_ICMP6_RS && icmp[0] <= TN_ICMP6_REDIRECT;
    target = get_ip6(icmp + 8);
    if (is_own(h->router, h->arm, &target))
        answer_neighbour(h, &target);
    return 1;
}

/* ---- redirects (RFC 1812 4.3.3.2, RFC 4861 8.2) ---------------------------------------------------------- */

static void redirect4(const struct heard *h, const struct tenon_ip *target)
{
    const struct tenon_ip own = router_gateway(&h->router->conf, h->arm, 0);
    uint8_t p[20 + 8 + 28];

    memset(p, 0, sizeof(p));
    p[0] = 0x45;
    put16be(p + 2, sizeof(p));
    p[8] = 64;
    p[9] = TN_PROTO_ICMP;
    put32be(p + 12, own.w[TENON_IP4_WORD]);
    put32be(p + 16, h->src.w[TENON_IP4_WORD]);
    put16be(p + 10, ~(unsigned)tn_csum_sum(p, 20) & 0xFFFF);
    p[20] = TN_ICMP4_REDIRECT;
    p[21] = 1;
    put32be(p + 24, target->w[TENON_IP4_WORD]);
    memcpy(p + 28, h->ip, 28);
    put16be(p + 22, ~(unsigned)tn_csum_sum(p + 20, 36) & 0xFFFF);
    emit(h->router, h->arm, h->frame + 6, 0x0800, p, sizeof(p));
}

static void redirect6(const struct heard *h, const struct tenon_ip *target)
{
    const unsigned all = 40U + get16be(h->ip + 4), quoted = (all < QUOTE_MAX ? all : QUOTE_MAX) & ~7U;
    uint8_t p[40 + 40 + 8 + QUOTE_MAX];

    memset(p, 0, sizeof(p));
    p[40] = TN_ICMP6_REDIRECT;
    put_ip6(p + 48, target);
    put_ip6(p + 64, &h->dst);
    p[80] = OPTION_REDIRECTED;
    p[81] = (uint8_t)(quoted / 8 + 1);
    memcpy(p + 88, h->ip, quoted);
    emit_icmp6(h->router, h->arm, h->frame + 6, &h->src, p, 48 + quoted);
}

/* Who sent this had better go to the other router; or, with both networks on one link, where the packet goes. */
static void redirect(const struct heard *h, const struct place *to)
{
    struct router *router = h->router;
    const struct router_conf *conf = &router->conf;
    struct router_conf other = *conf;
    struct tenon_ip target;
    const int v6 = !tenon_ip_is_v4(&h->src);

    if (conf->redirects == 0 || router->asked_to_pass++ % conf->redirects != 0 || !is_here(router, h->arm, &h->src))
        return;
    if (v6 && conf->hub[0] == conf->hub[1]) {
        target = to->ip;
    } else if (conf->others > 0) {
        other.number = conf->others - 1;
        target = router_gateway(&other, h->arm, v6);
    } else {
        return;
    }
    if (v6)
        redirect6(h, &target);
    else
        redirect4(h, &target);
}

/* ---- what it passes on ----------------------------------------------------------------------------------- */

static void pass_on(const struct heard *h, unsigned n)
{
    struct place *to = place_find(h->router, &h->dst);
    uint8_t *hops = h->ip + (tenon_ip_is_v4(&h->dst) ? 8 : 7);

    if (is_link_local(&h->src) || is_link_local(&h->dst))    /* RFC 4291 2.5.6, RFC 3927 2.7 */
        return;
    if (to == NULL)
        ask(h->router, &h->dst);
    if (to == NULL || *hops <= 1)
        return;
    redirect(h, to);
    --*hops;
    if (tenon_ip_is_v4(&h->dst)) {
        put16be(h->ip + 10, 0);
        put16be(h->ip + 10, ~(unsigned)tn_csum_sum(h->ip, 4U * (h->ip[0] & 15)) & 0xFFFF);
    }
    h->router->passes_damage = h->damaged;
    emit(h->router, to->arm, to->mac, tenon_ip_is_v4(&h->dst) ? 0x0800 : 0x86DD, h->ip, n);
    h->router->passes_damage = 0;
}

static void hear_ip4(struct heard *h)
{
    const unsigned header = 4U * (h->ip[0] & 15), n = get16be(h->ip + 2);

    if (h->n < ETH + 20 || h->ip[0] >> 4 != 4 || header < 20 || n < header || n > h->n - ETH ||
        tn_csum_sum(h->ip, header) != 0xFFFF)
        return;
    h->src = tenon_ip4(get32be(h->ip + 12));
    h->dst = tenon_ip4(get32be(h->ip + 16));
    place_learn(h);
    if (!(h->frame[0] & 1) && !is_own(h->router, h->arm, &h->dst))
        pass_on(h, n);
}

static void hear_ip6(struct heard *h)
{
    const unsigned n = 40U + get16be(h->ip + 4);

    if (h->n < ETH + 40 || h->ip[0] >> 4 != 6 || n > h->n - ETH)
        return;
    h->src = get_ip6(h->ip + 8);
    h->dst = get_ip6(h->ip + 24);
    place_learn(h);
    if (!hear_icmp6(h) && !(h->frame[0] & 1) && !is_own(h->router, h->arm, &h->dst))
        pass_on(h, n);
}

static void hear(struct router *router, unsigned arm, uint8_t *frame, unsigned n, int damaged)
{
    uint8_t own[6];
    struct heard h;

    own_mac(router, arm, own);
    if (!(frame[0] & 1) && memcmp(frame, own, 6) != 0)
        return;
    memset(&h, 0, sizeof(h));
    h.router = router;
    h.arm = arm;
    h.frame = frame;
    h.ip = frame + ETH;
    h.n = n;
    h.damaged = (uint8_t)damaged;
    switch (get16be(frame + 12)) {
    case 0x0806: hear_arp(&h); break;
    case 0x0800: hear_ip4(&h); break;
    case 0x86DD: hear_ip6(&h); break;
    default: break;
    }
}

static void guest_input(void *guest, unsigned netif, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    struct router *router = guest;
    uint8_t bytes[EMIT_BYTES_MAX];
    unsigned i, k, all;

    (void)now_us;
    for (i = 0; i < n && !router->dark; i++) {
        memset(bytes, 0, ETH + ARP_BYTES);
        for (k = 0, all = 0; k < frames[i].nspans && all + frames[i].spans[k].len <= EMIT_BYTES_MAX; k++) {
            memcpy(bytes + all, tenon_span_data(&frames[i].spans[k]), frames[i].spans[k].len);
            all += frames[i].spans[k].len;
        }
        if (k == frames[i].nspans && all >= ETH)
            hear(router, netif - 1, bytes, all, frames[i].csum != TENON_CSUM_GOOD);
    }
}

static tenon_u32 guest_poll(void *guest, tenon_u32 now_us)
{
    (void)guest, (void)now_us;
    return 1000000;
}

/* ---- its life -------------------------------------------------------------------------------------------- */

static void plug_in(struct router *router)
{
    const struct wire_guest guest = { guest_input, guest_poll, router };
    const struct wire_host_conf host = { .seed = router->conf.seed };
    struct wire_end_conf end;
    unsigned arm;

    router->host = wire_host_open_guest(router->wire, &host, &guest);
    for (arm = 0; arm < ROUTER_ARMS; arm++) {
        memset(&end, 0, sizeof(end));
        end.netif.mtu = 1500;
        end.copy = 1;
        end.trust = 1;    /* so it is told what no line has damaged */
        end.hub = router->conf.hub[arm];
        own_mac(router, arm, end.netif.mac);
        if (router->host == NULL || wire_end_open_at(router->host, &end, arm + 1) == NULL)
            abort();
    }
}

struct router *router_open(struct wire *wire, const struct router_conf *conf)
{
    struct router *router = calloc(1, sizeof(*router));

    if (router == NULL)
        abort();
    router->conf = *conf;
    router->wire = wire;
    plug_in(router);
    if (conf->advert.every_us > 0 &&
        wire_at(wire, wire_now(wire) + 1 + conf->seed % conf->advert.every_us, advertises, router) != 0)
        abort();
    return router;
}

void router_close(struct router *router)
{
    wire_host_close(router->host);
    free(router);
}

void router_dark(struct router *router, int dark)
{
    router->dark = (uint8_t)dark;
}

/* It knows who is where, as one that has stood by. */
void router_replace(struct router *router)
{
    wire_host_close(router->host);
    router->life++;
    plug_in(router);
}
