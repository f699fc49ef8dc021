/* SPDX-License-Identifier: MIT */
/* Servers for names from router advertisements (RFC 8106): what is kept, for how long, in which order. */
#include "link/link_test.h"
#include "services/rdnss.h"

enum { ROUTER = 9, DAY_S = 86400 };
#define FOR_EVER 0xFFFFFFFFU

static struct {
    struct hn hn;
    struct tenon_rdnss rdnss;
    struct tenon_rdnss_domain domains[3];
    tenon_u32 wait;      /* of the last poll */
    unsigned changes;
} t;

static void changed(struct tenon_rdnss *rdnss, void *app)
{
    HN_CHECK(rdnss == &t.rdnss && app == &t);
    t.changes++;
}

static void open(void)
{
    memset(&t, 0, sizeof t);
    hn_open(&t.hn, NULL);
    hn_netif(&t.hn, TENON_NETIF_NO_DAD);
    hn_netif(&t.hn, TENON_NETIF_NO_DAD);
    HN_EQUAL(tenon_rdnss_start(&t.rdnss, t.hn.stack, changed, &t, t.hn.now_us), TENON_OK);
}

static void open_with_names(void)
{
    open();
    tenon_rdnss_domains(&t.rdnss, t.domains, TENON_ARRAY_LEN(t.domains));
}

static void end(void)
{
    tenon_rdnss_stop(&t.rdnss);
    hn_close(&t.hn);
}

static void poll(void)
{
    t.wait = tenon_rdnss_poll(&t.rdnss, t.hn.now_us);
}

/* As a program does it: whenever the core or the service wants to be called. */
static void run_s(tenon_u32 s)
{
    for (; s > 0; s -= s < 900 ? s : 900) {
        hn_run(&t.hn, (s < 900 ? s : 900) * 1000000);
        poll();
    }
}

/* An option of these servers, with blanks between them. */
static void add_option(struct lt_ra *ra, tenon_u32 lifetime_s, const char *servers)
{
    tenon_u8 *p = ra->p + ra->len;
    char text[50];
    int n = 0;

    memset(p, 0, 8);
    p[0] = 25;
    hn_put32(p + 4, lifetime_s);
    ra->len += 8;
    while (sscanf(servers, "%49s%n", text, &n) == 1) {
        const struct tenon_ip ip = hn_ip(text);

        hn_put_ip(ra->p + ra->len, &ip);
        ra->len += 16;
        servers += n;
    }
    p[1] = (tenon_u8)((size_t)(ra->p + ra->len - p) / 8);
}

static void tell_on(unsigned netif, tenon_u32 lifetime_s, const char *servers)
{
    struct lt_ra ra;

    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    add_option(&ra, lifetime_s, servers);
    lt_ra_send(&t.hn, netif, ROUTER, &ra);
}

static void tell(tenon_u32 lifetime_s, const char *servers)
{
    tell_on(1, lifetime_s, servers);
}

/* A search list of these names, which is filled up with zeros to `bytes`, or as far as it must be. */
static void add_names(struct lt_ra *ra, tenon_u32 lifetime_s, const char *names, size_t bytes)
{
    tenon_u8 *p = ra->p + ra->len, *q = p + 8, *label = q;

    memset(p, 0, 8);
    p[0] = 31;
    hn_put32(p + 4, lifetime_s);
    for (q++; *names != '\0'; names++) {
        if (*names != '.' && *names != ' ') {
            *q++ = (tenon_u8)*names;
            continue;
        }
        *label = (tenon_u8)(q - label - 1);
        if (*names == ' ')
            *q++ = 0;
        label = q++;
    }
    *label = (tenon_u8)(q - label - 1);
    *q++ = 0;
    while ((q - p) % 8 != 0 || (size_t)(q - p) < bytes)
        *q++ = 0;
    p[1] = (tenon_u8)((q - p) / 8);
    ra->len += (size_t)(q - p);
}

static void tell_names(tenon_u32 lifetime_s, const char *names)
{
    struct lt_ra ra;

    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    add_names(&ra, lifetime_s, names, 0);
    lt_ra_send(&t.hn, 1, ROUTER, &ra);
}

static const char *names(void)
{
    static char all[800];
    const char *name;
    size_t at = 0;

    all[0] = '\0';
    for (unsigned i = 0; (name = tenon_rdnss_domain_name(&t.rdnss, i)) != NULL; i++)
        at += (size_t)snprintf(all + at, sizeof all - at, " %s", name);
    return all;
}

#define NAMES(text) HN_CHECK(strcmp(names(), text) == 0)

/* What there is to ask, with a blank before each, and the interface of those that need one. */
static const char *list_with(const struct tenon_ip *others, unsigned nothers)
{
    static char all[400];
    struct tenon_addr servers[TENON_DNS_SERVERS_MAX];
    const unsigned n = tenon_rdnss_servers(&t.rdnss, servers, others, nothers);
    size_t at = 0;

    for (unsigned i = 0; i < n; i++) {
        char text[TENON_IP_TEXT_MAX];

        tenon_ip_format(text, &servers[i].ip);
        HN_EQUAL(servers[i].port, 0);
        at += (size_t)snprintf(all + at, sizeof all - at, servers[i].netif ? " %s%%%u" : " %s", text, servers[i].netif);
    }
    all[at] = '\0';
    return all;
}

#define LIST(text) HN_CHECK(strcmp(list_with(NULL, 0), text) == 0)

static unsigned stat(enum tenon_rdnss_stat which)
{
    return (unsigned)t.rdnss.stats[which];
}

/* ---- lifetimes ----------------------------------------------------------------------------------- */


static void told_until_its_end(void)
{
    open();
    poll();
    HN_EQUAL(t.wait, TENON_SVC_WAIT_MAX_US);
    tell(600, "2001:db8::53");
    LIST(" 2001:db8::53");
    HN_EQUAL(t.changes, 0);    /* not within tenon_input() */
    poll();
    HN_EQUAL(t.changes, 1);
    HN_EQUAL(t.wait, 600000000);
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 0), 600);
    run_s(599);
    LIST(" 2001:db8::53");
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 0), 1);
    HN_EQUAL(t.wait, 1000000);
    run_s(1);
    LIST("");
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 0), 0);
    HN_EQUAL(t.changes, 2);
    HN_EQUAL(stat(TENON_RDNSS_STAT_LEARNT), 1);
    HN_EQUAL(stat(TENON_RDNSS_STAT_EXPIRED), 1);
    end();
}

/* RFC 8106 6.2 (c), (b). */
static void told_again_and_withdrawn(void)
{
    open();
    tell(600, "2001:db8::53 2001:db8::54");
    run_s(500);
    tell(600, "2001:db8::54");
    run_s(200);
    LIST(" 2001:db8::54");
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 0), 400);
    HN_EQUAL(stat(TENON_RDNSS_STAT_RENEWED), 1);
    HN_EQUAL(t.changes, 2);
    tell(10, "2001:db8::54");    /* shorter, too */
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 0), 10);
    tell(0, "2001:db8::54 2001:db8::55");
    LIST("");
    poll();
    HN_EQUAL(t.changes, 3);
    HN_EQUAL(stat(TENON_RDNSS_STAT_WITHDRAWN), 1);
    HN_EQUAL(stat(TENON_RDNSS_STAT_LEARNT), 2);
    HN_EQUAL(stat(TENON_RDNSS_STAT_EXPIRED), 1);
    end();
}

/* The core's clock wraps every 71 minutes. */
static void lifetimes_beyond_the_clock(void)
{
    open();
    tell(FOR_EVER, "2001:db8::1");
    tell(0xFFFFFFFE, "2001:db8::2");
    tell(3 * DAY_S, "2001:db8::3");
    LIST(" 2001:db8::3 2001:db8::2 2001:db8::1");
    run_s(3 * DAY_S - 1);
    LIST(" 2001:db8::3 2001:db8::2 2001:db8::1");
    run_s(1);
    LIST(" 2001:db8::2 2001:db8::1");
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 0), 0x7FFFFFFF - 3 * DAY_S);
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 1), FOR_EVER);
    tell(5, "2001:db8::1");    /* not for ever any more */
    run_s(5);
    LIST(" 2001:db8::2");
    end();
}

/* The time of a lifetime begins when it is heard, not with the poll before or after. */
static void heard_long_after_the_poll(void)
{
    open();
    poll();
    t.hn.now_us += 1000000000;
    tell(600, "2001:db8::53");
    t.hn.now_us += 100000000;
    tell(600, "2001:db8::54");
    poll();
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 0), 600);
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 1), 500);
    t.hn.now_us -= 5;    /* what a port read a moment ago */
    tell(600, "2001:db8::54");
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 0), 600);
    HN_EQUAL(tenon_rdnss_left(&t.rdnss, 1), 500);
    t.hn.now_us += 5;
    end();
}

/* A router that goes, and a link that does, leave the servers where they are. */
static void kept_without_router_or_link(void)
{
    struct lt_ra ra;

    open();
    tell(600, "2001:db8::53");
    lt_ra_begin(&ra, 64, 0, 0, 0, 0);
    lt_ra_send(&t.hn, 1, ROUTER, &ra);
    HN_EQUAL(tenon_netif_link(t.hn.stack, 1, 0), TENON_OK);
    run_s(599);
    LIST(" 2001:db8::53");
    run_s(1);
    LIST("");
    end();
}

/* ---- order and room ------------------------------------------------------------------------------ */

/* RFC 8106 6.2 (d): new ones first, in their order. */
static void latest_first(void)
{
    open();
    tell(600, "2001:db8::1");
    tell(600, "2001:db8::2 2001:db8::1 2001:db8::3");
    LIST(" 2001:db8::2 2001:db8::3 2001:db8::1");
    HN_EQUAL(stat(TENON_RDNSS_STAT_RENEWED), 1);
    tell(600, "2001:db8::1 2001:db8::2");    /* nobody moves */
    LIST(" 2001:db8::2 2001:db8::3 2001:db8::1");
    end();
}

/* RFC 8106 6.2 (d). */
static void full_first_to_end_goes(void)
{
    open();
    tell(600, "2001:db8::1");
    tell(300, "2001:db8::2");
    tell(FOR_EVER, "2001:db8::3");
    tell(400, "2001:db8::4");
    LIST(" 2001:db8::4 2001:db8::3 2001:db8::1");
    HN_EQUAL(stat(TENON_RDNSS_STAT_DISPLACED), 1);
    tell(399, "2001:db8::5");    /* it would be the first to end itself */
    LIST(" 2001:db8::4 2001:db8::3 2001:db8::1");
    HN_EQUAL(stat(TENON_RDNSS_STAT_NO_ROOM), 1);
    run_s(2);
    tell(399, "2001:db8::5");
    LIST(" 2001:db8::5 2001:db8::3 2001:db8::1");
    end();
    open();
    tell(300, "2001:db8::1");
    tell(600, "2001:db8::2");
    tell(100, "2001:db8::3");
    tell(400, "2001:db8::4");    /* two would end before it */
    LIST(" 2001:db8::4 2001:db8::2 2001:db8::1");
    end();
}

/* Those that are over make room, polled or not. */
static void full_and_over(void)
{
    open();
    tell(10, "2001:db8::1 2001:db8::2 2001:db8::3");
    poll();
    t.hn.now_us += 10000000;
    tell(5, "2001:db8::4");
    LIST(" 2001:db8::4");
    HN_EQUAL(stat(TENON_RDNSS_STAT_EXPIRED), 3);
    HN_EQUAL(stat(TENON_RDNSS_STAT_DISPLACED), 0);
    end();
}

/* More than we keep, time and again: the first ones stay. */
static void more_than_room(void)
{
    static const tenon_u32 lifetimes[] = { 600, 0xFFFFFFF0, FOR_EVER };

    for (size_t i = 0; i < TENON_ARRAY_LEN(lifetimes); i++) {
        open();
        for (unsigned k = 0; k < 3; k++) {
            struct lt_ra ra;

            lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
            add_option(&ra, lifetimes[i], "2001:db8::1 2001:db8::2 2001:db8::3 2001:db8::4");
            add_option(&ra, lifetimes[i], "2001:db8::5 2001:db8::1");
            lt_ra_send(&t.hn, 1, ROUTER, &ra);
            run_s(100);
            LIST(" 2001:db8::1 2001:db8::2 2001:db8::3");
            HN_EQUAL(t.changes, 1);
        }
        HN_EQUAL(stat(TENON_RDNSS_STAT_NO_ROOM), 6);
        end();
    }
}

/* RFC 8106 5.3.1: DHCP's first, and some of both. */
static void after_those_of_dhcp(void)
{
    const struct tenon_ip others[] = { hn_ip("192.0.2.1"), hn_ip("192.0.2.2"), hn_ip("192.0.2.3"), hn_ip("192.0.2.4") };
    static const char *const with_one[] = { " 2001:db8::53", " 192.0.2.1 2001:db8::53",
                                            " 192.0.2.1 192.0.2.2 2001:db8::53",
                                            " 192.0.2.1 192.0.2.2 2001:db8::53",
                                            " 192.0.2.1 192.0.2.2 2001:db8::53" };
    static const char *const alone[] = { "", " 192.0.2.1", " 192.0.2.1 192.0.2.2", " 192.0.2.1 192.0.2.2 192.0.2.3",
                                         " 192.0.2.1 192.0.2.2 192.0.2.3" };

    open();
    for (unsigned n = 0; n <= 4; n++)
        HN_CHECK(strcmp(list_with(others, n), alone[n]) == 0);
    tell(600, "2001:db8::53");
    for (unsigned n = 0; n <= 4; n++)
        HN_CHECK(strcmp(list_with(others, n), with_one[n]) == 0);
    tell(600, "2001:db8::51 2001:db8::52");
    HN_CHECK(strcmp(list_with(others, 1), " 192.0.2.1 2001:db8::51 2001:db8::52") == 0);
    end();
}

/* ---- what is refused ----------------------------------------------------------------------------- */

static void option_of_another_length(void)
{
    static const struct {
        unsigned eights, addresses;    /* what the length says; what it comes to, or 0: it is refused */
    } rows[] = { { 1, 0 }, { 2, 0 }, { 3, 1 }, { 4, 0 }, { 5, 2 }, { 6, 0 }, { 7, 3 } };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        struct lt_ra ra;

        open();
        lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
        add_option(&ra, 600, "2001:db8::1 2001:db8::2 2001:db8::3");
        ra.p[17] = (tenon_u8)rows[i].eights;
        ra.len = 16 + rows[i].eights * 8;
        lt_ra_send(&t.hn, 1, ROUTER, &ra);
        HN_EQUAL(t.rdnss.servers.n, rows[i].addresses);
        HN_EQUAL(stat(TENON_RDNSS_STAT_BAD_LENGTH), rows[i].addresses == 0);
        HN_EQUAL(hn_stat(&t.hn, TENON_STAT_ND_BAD), 0);
        end();
    }
}

static void address_of_no_server(void)
{
    static const char *const bad[] = { "::", "::1", "ff02::fb", "ff0e::53", "192.0.2.53" };
    static const char *const good[] = { "::2", "::1:0:0:1", "fec0::53", "fd00::53", "64:ff9b::c000:235" };

    open();
    for (size_t i = 0; i < TENON_ARRAY_LEN(bad); i++) {
        tell(600, bad[i]);
        LIST("");
        HN_EQUAL(stat(TENON_RDNSS_STAT_BAD_ADDRESS), i + 1);
    }
    for (size_t i = 0; i < TENON_ARRAY_LEN(good); i++) {
        tell(600, good[i]);
        HN_EQUAL(t.rdnss.servers.n, 1);
        HN_EQUAL(t.rdnss.room[0].at.netif, 0);
        tell(0, good[i]);
    }
    tell(600, "ff02::fb 2001:db8::1 :: 2001:db8::2");
    LIST(" 2001:db8::1 2001:db8::2");
    end();
}

static void option_of_another_type(void)
{
    struct lt_ra ra;

    open();
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    add_option(&ra, 600, "2001:db8::1");
    ra.p[16] = 24;
    lt_ra_send(&t.hn, 1, ROUTER, &ra);
    LIST("");
    end();
}

/* ---- search lists: RFC 8106 5.2 ------------------------------------------------------------------ */

static void names_until_their_end(void)
{
    struct lt_ra ra;

    open_with_names();
    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    add_names(&ra, 600, "Example.COM a-1.b_2.test", 0);
    add_option(&ra, 900, "2001:db8::53");
    add_names(&ra, FOR_EVER, "x", 40);    /* zeros that fill it up are no names */
    lt_ra_send(&t.hn, 1, ROUTER, &ra);
    NAMES(" x example.com a-1.b_2.test");
    LIST(" 2001:db8::53");
    poll();
    HN_EQUAL(t.changes, 1);
    HN_EQUAL(t.wait, 600000000);
    run_s(599);
    NAMES(" x example.com a-1.b_2.test");
    run_s(1);
    NAMES(" x");
    HN_EQUAL(t.changes, 2);
    HN_EQUAL(stat(TENON_RDNSS_STAT_EXPIRED), 2);
    HN_EQUAL(stat(TENON_RDNSS_STAT_BAD_NAME), 0);
    tell_names(0, "x");
    NAMES("");
    LIST(" 2001:db8::53");
    end();
}

static void names_in_order(void)
{
    open_with_names();
    tell_names(600, "a.test b.test");
    tell_names(700, "c.test b.test");
    NAMES(" c.test a.test b.test");
    HN_EQUAL(stat(TENON_RDNSS_STAT_RENEWED), 1);
    tell_names(650, "d.test");    /* that of a.test ends first */
    NAMES(" d.test c.test b.test");
    tell_names(650, "e.test");
    NAMES(" d.test c.test b.test");
    HN_EQUAL(stat(TENON_RDNSS_STAT_NO_ROOM), 1);
    tell_names(600, "d.test.a");    /* none of those */
    tell_names(0, "d.test c.test");
    NAMES(" b.test");
    end();
}

/* Who has no use for them has none; and not any more. */
static void names_for_nobody(void)
{
    open();
    tell_names(600, "a.test");
    NAMES("");
    HN_EQUAL(stat(TENON_RDNSS_STAT_LEARNT), 0);
    tenon_rdnss_domains(&t.rdnss, t.domains, 1);
    tell_names(600, "a.test b.test");
    NAMES(" a.test");
    tenon_rdnss_domains(&t.rdnss, NULL, 0);
    NAMES("");
    tell_names(600, "a.test");
    tenon_rdnss_domains(&t.rdnss, t.domains, 1);
    tell_names(600, "a.test");
    tenon_rdnss_stop(&t.rdnss);
    NAMES("");
    end();
}

/* Bytes behind the head of an option. */
static void tell_bytes(const char *bytes, size_t n)
{
    struct lt_ra ra;
    tenon_u8 *p;

    lt_ra_begin(&ra, 64, 0, 1800, 0, 0);
    p = ra.p + ra.len;
    memset(p, 0, 8);
    p[0] = 31;
    p[1] = (tenon_u8)((8 + n) / 8);
    hn_put32(p + 4, 600);
    memcpy(p + 8, bytes, n);
    ra.len += 8 + n;
    lt_ra_send(&t.hn, 1, ROUTER, &ra);
}

/* One name that does not end spoils its list, for nobody knows what it should have been; one that cannot be
 * is left out. */
static void names_that_cannot_be(void)
{
    static const struct {
        const char *name, *bytes;
        unsigned n, length, wrong;
        const char *names;
    } rows[] = {
        { "a head alone", "", 0, 1, 0, "" },
        { "eight bytes", "\1a\4test\0", 8, 0, 0, " a.test" },
        { "zeros alone", "\0\0\0\0\0\0\0\0", 8, 0, 0, "" },
        { "no end", "\1a\5testy", 8, 0, 1, "" },
        { "a label beyond the end", "\1a\6test\0", 8, 0, 1, "" },
        { "the next one has no end", "\1a\4test\0\1b\4testx", 16, 0, 1, "" },
        { "compressed", "\1a\4test\0\1b\300\10\0\0\0\0", 16, 0, 1, "" },
        { "another letter", "\1a\4te t\0\1b\0\0\0\0\0\0", 16, 0, 1, " b" },
        { "a dot in a label", "\6a.test\0\1b\0\0\0\0\0\0", 16, 0, 1, " b" },
        { "a zero in a label", "\6a\0test\0\1b\0\0\0\0\0\0", 16, 0, 1, " b" },
        { "behind zeros nothing is read", "\1a\0\0\0\0\0\0\1b\300\10\0\0\0\0", 16, 0, 0, " a" },
    };

    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        hn_row = rows[i].name;
        open_with_names();
        tell_bytes(rows[i].bytes, rows[i].n);
        NAMES(rows[i].names);
        HN_EQUAL(stat(TENON_RDNSS_STAT_BAD_LENGTH), rows[i].length);
        HN_EQUAL(stat(TENON_RDNSS_STAT_BAD_NAME), rows[i].wrong);
        end();
    }
    hn_row = "";
}

/* RFC 1035 2.3.4: 63 characters in a label, 253 in a name; 64 look like the beginning of something else. */
static void long_names(void)
{
    char bytes[272], text[1 + 253 + 1];

    for (unsigned last = 61; last <= 64; last++) {
        size_t n = 0;

        memset(bytes, 0, sizeof bytes);
        for (unsigned label = 0; label < 4; label++) {
            const unsigned length = label < 3 ? 63 : last;

            bytes[n++] = (char)length;
            memset(bytes + n, 'a', length);
            n += length;
        }
        memset(text, 'a', sizeof text - 1);
        text[0] = ' ';
        text[64] = text[128] = text[192] = '.';
        text[sizeof text - 1] = '\0';
        open_with_names();
        tell_bytes(bytes, sizeof bytes - 8);
        NAMES(last == 61 ? text : "");
        HN_EQUAL(stat(TENON_RDNSS_STAT_BAD_NAME), last > 61);
        end();
    }
    memset(bytes, 0, sizeof bytes);
    bytes[0] = 64;
    memset(bytes + 1, 'a', 64);
    open_with_names();
    tell_bytes(bytes, 72);
    NAMES("");
    end();
}

/* ---- link-local servers -------------------------------------------------------------------------- */

/* RFC 8106 5.1: the same address on two links is two servers; a global one is one. */
static void link_local_has_its_link(void)
{
    open();
    tell_on(1, 600, "fe80::53");
    tell_on(2, 600, "fe80::53 2001:db8::53");
    tell_on(1, 600, "2001:db8::53");
    LIST(" fe80::53%2 2001:db8::53 fe80::53%1");
    tell_on(2, 0, "fe80::53");
    LIST(" 2001:db8::53 fe80::53%1");
    tell_on(2, 0, "febf::53");
    tell_on(2, 600, "febf::53");
    LIST(" febf::53%2 2001:db8::53 fe80::53%1");
    end();
}

static void nobody(void *app, const char *name, const struct tenon_dns_answer *answer)
{
    (void)app;
    (void)name;
    (void)answer;
}

/* The question leaves by the interface on which the server was told of. */
static void link_local_asked_on(unsigned netif)
{
    const struct tenon_dns_conf given = { NULL, 1, NULL, 0, 0, 0, 0, NULL, NULL, 0 };
    const struct tenon_ip router = tenon_ip6(0xFE800000U, 0, 0, ROUTER);
    struct tenon_addr servers[TENON_DNS_SERVERS_MAX];
    struct tenon_dns_conf conf = given;
    struct tenon_dns_query query;
    const struct hn_sent *sent;
    struct tenon_dns dns;
    struct lt_ra ra;
    unsigned asked = 0;

    open();
    lt_ra_begin(&ra, 64, 0, 0, 0, 0);    /* no way to anywhere else */
    lt_ra_slla(&ra, ROUTER);
    add_option(&ra, 600, "fe80::9");
    lt_ra_send(&t.hn, netif, ROUTER, &ra);
    hn_run_ms(&t.hn, 100);
    hn_forget(&t.hn);
    conf.queries = &query;
    HN_EQUAL(tenon_dns_open(&dns, t.hn.stack, &conf, t.hn.now_us), TENON_OK);
    tenon_dns_servers(&dns, servers, tenon_rdnss_servers(&t.rdnss, servers, NULL, 0));
    HN_EQUAL(tenon_dns_ask(&dns, "a.example", TENON_DNS_AAAA, nobody, NULL), TENON_OK);
    (void)tenon_dns_poll(&dns, t.hn.now_us);
    while ((sent = hn_next(&t.hn)) != NULL) {
        const struct tenon_ip to = hn_get_ip(sent->bytes + 38);

        if (hn_get16(sent->bytes + 12) != 0x86DD || sent->bytes[20] != 17)
            continue;
        asked++;
        HN_EQUAL(sent->netif, netif);
        HN_EQUAL(hn_get16(sent->bytes + 56), 53);
        HN_CHECK(tenon_ip_equal(&to, &router));
    }
    HN_EQUAL(asked, 1);
    tenon_dns_close(&dns);
    end();
}

static void link_local_is_asked(void)
{
    link_local_asked_on(1);
    link_local_asked_on(2);
}

/* ---- beginning and end --------------------------------------------------------------------------- */

static void started_twice_and_stopped(void)
{
    open();
    HN_EQUAL(tenon_rdnss_start(&t.rdnss, t.hn.stack, NULL, NULL, t.hn.now_us), TENON_EINVAL);
    tell(600, "2001:db8::1");
    tenon_rdnss_stop(&t.rdnss);
    tenon_rdnss_stop(&t.rdnss);
    tell(600, "2001:db8::2");
    LIST("");
    poll();
    HN_EQUAL(t.wait, TENON_SVC_WAIT_MAX_US);
    HN_EQUAL(t.changes, 0);
    HN_EQUAL(tenon_rdnss_start(&t.rdnss, t.hn.stack, NULL, NULL, t.hn.now_us), TENON_OK);
    tell(600, "2001:db8::2");
    poll();
    LIST(" 2001:db8::2");
    HN_EQUAL(t.changes, 0);    /* nobody wants to know */
    end();
}

static void names_of_counters(void)
{
    HN_CHECK(strcmp(tenon_rdnss_stat_name(TENON_RDNSS_STAT_LEARNT), "learnt") == 0);
    HN_CHECK(strcmp(tenon_rdnss_stat_name(TENON_RDNSS_STAT_BAD_NAME), "bad_name") == 0);
    HN_CHECK(tenon_rdnss_stat_name(TENON_RDNSS_STAT_COUNT) == NULL);
}

static const struct hn_test tests[] = {
    { "told_until_its_end", "ND-23", told_until_its_end },
    { "told_again_and_withdrawn", "ND-23", told_again_and_withdrawn },
    { "lifetimes_beyond_the_clock", "ND-23", lifetimes_beyond_the_clock },
    { "heard_long_after_the_poll", "ND-23", heard_long_after_the_poll },
    { "kept_without_router_or_link", "ND-23", kept_without_router_or_link },
    { "latest_first", "ND-23", latest_first },
    { "full_first_to_end_goes", "ND-23", full_first_to_end_goes },
    { "full_and_over", "ND-23", full_and_over },
    { "more_than_room", "ND-23", more_than_room },
    { "after_those_of_dhcp", "ND-23", after_those_of_dhcp },
    { "option_of_another_length", "ND-23", option_of_another_length },
    { "address_of_no_server", "ND-23", address_of_no_server },
    { "option_of_another_type", "ND-23", option_of_another_type },
    { "names_until_their_end", "ND-24", names_until_their_end },
    { "names_in_order", "ND-24", names_in_order },
    { "names_for_nobody", "ND-24", names_for_nobody },
    { "names_that_cannot_be", "ND-24", names_that_cannot_be },
    { "long_names", "ND-24", long_names },
    { "link_local_has_its_link", "ND-23", link_local_has_its_link },
    { "link_local_is_asked", "ND-23", link_local_is_asked },
    { "started_twice_and_stopped", "", started_twice_and_stopped },
    { "names_of_counters", "", names_of_counters },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
