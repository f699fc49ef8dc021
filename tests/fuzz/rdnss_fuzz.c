/* SPDX-License-Identifier: MIT */
/* Router advertisements, as anybody on the link can send them, for who keeps the servers for names of them. Records,
 * until the input ends:
 *
 *   0..3  life which...  an advertisement with such an option: a lifetime, and 1 to 4 servers of a handful
 *   4     n bytes        an advertisement with just these bytes as its options
 *   5     t              time passes, unpolled
 *   6     t              time passes
 *   7     how            the service is stopped and started, or the link goes down or up
 *
 * What holds all the time: no server is there twice, none is there that cannot be one or that nobody has told of, none
 * is kept beyond the longest lifetime that was said of it. */
#include "fuzz.h"

#include <string.h>

#include "services/rdnss.h"

enum { HANDFUL = 8, DOMAINS = 3 };

struct session {
    struct fuzz_world w;
    struct tenon_rdnss rdnss;
    struct tenon_rdnss_domain domains[DOMAINS];
    unsigned changes;          /* heard of since the last poll */
    struct tenon_addr last[TENON_DNS_SERVERS_MAX];
    unsigned nlast;            /* in the list when it was looked at last */
    int down;                  /* the link is */
    int raw;                   /* 1: there was an advertisement of any bytes: others than our handful may be there */
    uint64_t until[HANDFUL];   /* what was last said of each server, in microseconds; 0: nothing */
};

static const uint8_t handful[HANDFUL][16] = {
    { 0x20, 1, 0x0D, 0xB8, [15] = 1 }, { 0x20, 1, 0x0D, 0xB8, [15] = 2 }, { 0x20, 1, 0x0D, 0xB8, [15] = 3 },
    { 0x20, 1, 0x0D, 0xB8, [15] = 4 }, { 0xFE, 0x80, [15] = 0x53 },       { 0xFF, 2, [15] = 0xFB },
    { [15] = 1 },                      { 0xFD, [15] = 0x53 },
};

/* What the instance says is the business of others. */
static void sent(void *arg, const struct tenon_frame *frame, const uint8_t *bytes, size_t n)
{
    (void)arg, (void)frame, (void)bytes, (void)n;
}

static void must(int good, unsigned line)
{
    if (!good)
        fuzz_fail("%s:%u: this must hold", __FILE__, line);
}

static void changed(struct tenon_rdnss *rdnss, void *app)
{
    struct session *s = app;

    must(rdnss == &s->rdnss, __LINE__);
    s->changes++;
}

/* RFC 4861 4.2, from a link-local address with a hop limit of 255, to all nodes. */
static void advertise(struct session *s, const uint8_t *options, size_t n)
{
    uint8_t frame[14 + 40 + 16 + 600] = { 0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x86, 0xDD, 0x60 };
    uint8_t *ip = frame + 14;

    ip[6] = 58;
    ip[7] = 255;
    memcpy(ip + 8, "\xFE\x80", 2);
    ip[23] = 9;
    memcpy(ip + 24, "\xFF\2", 2);
    ip[39] = 1;
    ip[40] = 134;
    memcpy(ip + 56, options, n);
    fuzz_repair(ip, 56 + n, 1);
    fuzz_world_input(&s->w, frame, 14 + 56 + n, 0, 0);
}

/* Half of the lifetimes end soon: 0, for ever, and what is longer than a clock can say are among the others. */
static uint32_t lifetime(struct fuzz_bytes *in)
{
    const uint8_t byte = fuzz_u8(in);

    if (byte >= 128)
        return byte - 128U;
    if (byte == 127)
        return TENON_RDNSS_FOR_EVER;
    return byte >= 120 ? 0xFFFFFFF0U : byte * 600U;
}

static void told(struct session *s, unsigned count, struct fuzz_bytes *in)
{
    uint8_t option[8 + 4 * 16] = { 25, (uint8_t)(1 + 2 * count) };
    const uint32_t life_s = lifetime(in);

    fuzz_put32(option + 4, life_s);
    for (unsigned i = 0; i < count; i++) {
        const unsigned which = fuzz_u8(in) % HANDFUL;

        memcpy(option + 8 + 16 * i, handful[which], 16);
        if (s->down)
            continue;    /* nobody hears it */
        s->until[which] = s->w.now + (uint64_t)life_s * 1000000;
        if (life_s == TENON_RDNSS_FOR_EVER)
            s->until[which] = UINT64_MAX;
    }
    advertise(s, option, 8 + 16 * count);
}

static void any_options(struct session *s, struct fuzz_bytes *in)
{
    uint8_t bytes[256];
    size_t n = fuzz_u8(in), i;

    for (i = 0; i < n && in->left > 0; i++)
        bytes[i] = fuzz_u8(in);
    advertise(s, bytes, i);
    s->raw = 1;
}

/* Which of our handful it is; HANDFUL: none. */
static unsigned which_is(const struct tenon_ip *ip)
{
    unsigned i = 0;

    for (; i < HANDFUL; i++) {
        const uint8_t *p = handful[i];
        const struct tenon_ip other =
            tenon_ip6(fuzz_get32(p), fuzz_get32(p + 4), fuzz_get32(p + 8), fuzz_get32(p + 12));

        if (tenon_ip_equal(ip, &other))
            break;
    }
    return i;
}

static void check_server(const struct session *s, const struct tenon_addr *at)
{
    const unsigned which = which_is(&at->ip);
    const int is_local = (at->ip.w[0] & 0xFFC00000U) == 0xFE800000U;

    must(at->ip.w[0] >> 24 != 0xFF && !tenon_ip_is_any(&at->ip) && !tenon_ip_is_v4(&at->ip), __LINE__);
    must(at->netif == (is_local ? s->w.netif : 0) && at->port == 0, __LINE__);
    must(s->raw || (which < HANDFUL && s->until[which] > 0), __LINE__);
}

/* Labels of letters, with dots between them, and zeros to the end of the room. */
static void check_domains(const struct session *s)
{
    const char *name;
    unsigned i = 0;

    for (; (name = tenon_rdnss_domain_name(&s->rdnss, i)) != NULL; i++) {
        const size_t n = strlen(name);

        must(n > 0 && n <= TENON_DNS_NAME_MAX && name[0] != '.' && name[n - 1] != '.', __LINE__);
        must(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == n && strstr(name, "..") == NULL, __LINE__);
        for (size_t k = n; k < sizeof s->domains[0].name; k++)
            must(name[k] == 0, __LINE__);
        for (unsigned k = 0; k < i; k++)
            must(strcmp(tenon_rdnss_domain_name(&s->rdnss, k), name) != 0, __LINE__);
    }
    must(i <= DOMAINS, __LINE__);
}

/* Just polled: what is over is gone, and what is different has been told. */
static void check(struct session *s)
{
    const struct tenon_ip other = tenon_ip4(0x0A000035);
    struct tenon_addr servers[TENON_DNS_SERVERS_MAX], both[TENON_DNS_SERVERS_MAX];
    const unsigned n = tenon_rdnss_servers(&s->rdnss, servers, NULL, 0);

    must(n <= TENON_DNS_SERVERS_MAX, __LINE__);
    check_domains(s);
    for (unsigned i = 0; i < n; i++) {
        const unsigned which = which_is(&servers[i].ip);

        check_server(s, &servers[i]);
        must(tenon_rdnss_left(&s->rdnss, i) > 0 || !s->rdnss.room[i].life.for_ever, __LINE__);
        must(s->raw || s->until[which] > s->w.now, __LINE__);
        for (unsigned k = 0; k < i; k++)
            must(servers[k].netif != servers[i].netif || !tenon_ip_equal(&servers[k].ip, &servers[i].ip), __LINE__);
    }
    must(tenon_rdnss_left(&s->rdnss, n) == 0, __LINE__);
    must(tenon_rdnss_servers(&s->rdnss, both, &other, 1) == (n < TENON_DNS_SERVERS_MAX ? n + 1 : n), __LINE__);
    must(tenon_ip_equal(&both[0].ip, &other), __LINE__);
    must(s->changes <= 1, __LINE__);
    must(s->changes > 0 || (n == s->nlast && memcmp(servers, s->last, n * sizeof *servers) == 0), __LINE__);
    memcpy(s->last, servers, n * sizeof *servers);
    s->nlast = n;
    s->changes = 0;
}

static void advance(struct session *s, uint64_t us)
{
    const uint64_t end = s->w.now + us;
    unsigned steps = 0;

    for (;;) {
        uint32_t wait = fuzz_world_poll(&s->w);
        const uint32_t service = tenon_rdnss_poll(&s->rdnss, (tenon_u32)s->w.now);

        must(service > 0 && service <= TENON_SVC_WAIT_MAX_US, __LINE__);
        wait = service < wait ? service : wait;
        check(s);
        if (s->w.now >= end || ++steps > 3000)
            return;
        s->w.now += wait < end - s->w.now ? wait : end - s->w.now;
    }
}

static void begin(struct session *s)
{
    must(tenon_rdnss_start(&s->rdnss, s->w.stack, changed, s, (tenon_u32)s->w.now) == TENON_OK, __LINE__);
    tenon_rdnss_domains(&s->rdnss, s->domains, DOMAINS);
}

static void something(struct session *s, unsigned how)
{
    if (how % 3 == 2) {
        tenon_rdnss_stop(&s->rdnss);
        must(s->rdnss.servers.n == 0 && tenon_rdnss_domain_name(&s->rdnss, 0) == NULL, __LINE__);
        begin(s);
        s->raw = 0;
        s->nlast = 0;
        memset(s->until, 0, sizeof s->until);
    } else {
        s->down = how % 3 == 0;
        (void)tenon_netif_link(s->w.stack, s->w.netif, !s->down);
    }
}

static void one(struct session *s, struct fuzz_bytes *in)
{
    const unsigned op = fuzz_u8(in) % 8;

    if (op < 4)
        told(s, op + 1, in);
    else if (op == 4)
        any_options(s, in);
    else if (op == 5)
        s->w.now += fuzz_log(in) % 1000 * 1000000;    /* no more than a poll may be late */
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
    struct tenon_conf conf;

    memset(&s, 0, sizeof s);
    s.w.now = 5000000;
    s.w.netif_conf.mtu = 1500;
    s.w.sent = sent;
    memcpy(s.w.netif_conf.mac, "\2\0\0\0\0\1", 6);
    s.w.netif_conf.flags = TENON_NETIF_NO_DAD;
    tenon_conf_default(&conf);
    fuzz_world_open(&s.w, &conf);
    begin(&s);
    advance(&s, 0);
    while (in.left > 0)
        one(&s, &in);
    tenon_rdnss_stop(&s.rdnss);
    (void)fuzz_world_poll(&s.w);
    fuzz_world_close(&s.w, 0);
    return 0;
}
