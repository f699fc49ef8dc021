/* SPDX-License-Identifier: MIT */
/* The Toeplitz hash against the published vectors, and connections whose answers come to the queue of the instance that
 * has opened them. What a NIC would do with an answer is worked out here from the bytes of the frame that left, bit by
 * bit, without the core's function. */
#include "harness.h"

/* ---- the verification suite ---------------------------------------------------------------------- */

/* Microsoft, "Verifying the RSS Hash Calculation"; the same in data sheets of NICs (82599, 7.1.2.8.3). */
struct vector {
    const char *from, *to;
    tenon_u16 from_port, to_port;
    tenon_u32 addresses, ports;    /* the hash without ports, with ports */
};

static const struct vector vectors[] = {
    { "66.9.149.187", "161.142.100.80", 2794, 1766, 0x323E8FC2, 0x51CCC178 },
    { "199.92.111.2", "65.69.140.83", 14230, 4739, 0xD718262A, 0xC626B0EA },
    { "24.19.198.95", "12.22.207.184", 12898, 38024, 0xD2D0A5DE, 0x5C2B394A },
    { "38.27.205.30", "209.142.163.6", 48228, 2217, 0x82989176, 0xAFC7327F },
    { "153.39.163.191", "202.188.127.2", 44251, 1303, 0x5D1809C5, 0x10E828A2 },
    { "3ffe:2501:200:1fff::7", "3ffe:2501:200:3::1", 2794, 1766, 0x2CC18CD5, 0x40207D3D },
    { "3ffe:501:8::260:97ff:fe40:efab", "ff02::1", 14230, 4739, 0x0F0C461C, 0xDDE51BBF },
    { "3ffe:1900:4545:3:200:f8ff:fe21:67cf", "fe80::200:f8ff:fe21:67cf", 44251, 38024, 0x4B61E985, 0x02D1FEEF },
};

static struct tenon_addr addr_of(const char *text, tenon_u16 port)
{
    struct tenon_addr addr;

    memset(&addr, 0, sizeof addr);
    addr.ip = hn_ip(text);
    addr.port = port;
    return addr;
}

static void hash_verification_suite(void)
{
    for (size_t i = 0; i < TENON_ARRAY_LEN(vectors); i++) {
        const struct vector *v = &vectors[i];
        struct tenon_addr from = addr_of(v->from, v->from_port), to = addr_of(v->to, v->to_port);

        hn_row = v->from;
        HN_EQUAL(tenon_flow_hash(tenon_flow_key_microsoft, &from, &to), v->ports);
        from.port = to.port = 0;
        HN_EQUAL(tenon_flow_hash(tenon_flow_key_microsoft, &from, &to), v->addresses);
    }
}

static void hash_symmetric_key(void)
{
    unsigned differ = 0;

    for (size_t i = 0; i < TENON_ARRAY_LEN(vectors); i++) {
        const struct vector *v = &vectors[i];
        const struct tenon_addr from = addr_of(v->from, v->from_port), to = addr_of(v->to, v->to_port);

        hn_row = v->from;
        HN_EQUAL(tenon_flow_hash(tenon_flow_key_symmetric, &from, &to),
                 tenon_flow_hash(tenon_flow_key_symmetric, &to, &from));
        differ += tenon_flow_hash(tenon_flow_key_microsoft, &from, &to) !=
                  tenon_flow_hash(tenon_flow_key_microsoft, &to, &from);
        for (size_t k = 0; k < i; k++) {
            const struct tenon_addr other = addr_of(vectors[k].from, vectors[k].from_port);
            const struct tenon_addr others = addr_of(vectors[k].to, vectors[k].to_port);

            HN_CHECK(tenon_flow_hash(tenon_flow_key_symmetric, &from, &to) !=
                     tenon_flow_hash(tenon_flow_key_symmetric, &other, &others));
        }
    }
    HN_EQUAL(differ, TENON_ARRAY_LEN(vectors));
}

/* ---- the table ------------------------------------------------------------------------------------- */

static void table_what_cannot_be(void)
{
    static const struct {
        unsigned entries, queue;
        int error;
    } rows[] = {
        { 128, 0, TENON_OK }, { 128, 4, TENON_OK }, { 128, 5, TENON_EINVAL }, { 0, 0, TENON_EINVAL },
        { 100, 0, TENON_EINVAL }, { 1, 0, TENON_OK }, { 4, 4, TENON_EINVAL }, { 128, 70000, TENON_EINVAL },
    };
    struct tenon_flow flow;
    tenon_u16 table[128];

    tenon_flow_spread(table, 128, 5);
    for (unsigned i = 0; i < 128; i++)
        HN_EQUAL(table[i], i % 5);
    for (size_t i = 0; i < TENON_ARRAY_LEN(rows); i++)
        HN_EQUAL(tenon_flow_init(&flow, tenon_flow_key_microsoft, table, rows[i].entries, rows[i].queue),
                 rows[i].error);
}

/* Packets come from the remote to the local end; the lower bits are the index. */
static void queue_of_a_connection(void)
{
    const struct vector *v = &vectors[1];
    const struct tenon_addr remote = addr_of(v->from, v->from_port), local = addr_of(v->to, v->to_port);
    struct tenon_flow flow;
    tenon_u16 table[64];

    tenon_flow_spread(table, 64, 64);
    HN_EQUAL(tenon_flow_init(&flow, tenon_flow_key_microsoft, table, 64, 1), TENON_OK);
    HN_EQUAL(tenon_flow_queue(&flow, &local, &remote), v->ports & 63);
    table[v->ports & 63] = 777;
    HN_EQUAL(tenon_flow_queue(&flow, &local, &remote), 777);
}

/* ---- connections ------------------------------------------------------------------------------------ */

enum { QUEUES = 8, ENTRIES = 128, CONNECTIONS = 300, LOW = 1024 };

static unsigned key_bit(const tenon_u8 *key, unsigned i)
{
    return key[i / 8] >> (7 - i % 8) & 1;
}

/* The hash of n bytes, as it is defined. */
static tenon_u32 slow_hash(const tenon_u8 *key, const tenon_u8 *bytes, unsigned n)
{
    tenon_u32 hash = 0;

    for (unsigned i = 0; i < 8 * n; i++) {
        tenon_u32 window = 0;

        for (unsigned k = 0; k < 32; k++)
            window = window << 1 | key_bit(key, i + k);
        if (bytes[i / 8] >> (7 - i % 8) & 1)
            hash ^= window;
    }
    return hash;
}

/* The queue of the answer to a frame: its addresses and ports the other way round. */
static unsigned queue_of_answer(const tenon_u8 *key, const struct hn_sent *sent)
{
    const tenon_u8 *ip = sent->bytes + 14;
    const int v4 = ip[0] >> 4 == 4;
    const unsigned bytes = v4 ? 4 : 16;
    const tenon_u8 *src = ip + (v4 ? 12 : 8), *dst = src + bytes, *ports = dst + bytes;
    tenon_u8 tuple[36];

    memcpy(tuple, dst, bytes);
    memcpy(tuple + bytes, src, bytes);
    memcpy(tuple + 2 * bytes, ports + 2, 2);
    memcpy(tuple + 2 * bytes + 2, ports, 2);
    return (slow_hash(key, tuple, 2 * bytes + 4) & (ENTRIES - 1)) % QUEUES;
}

struct opening {
    struct hn hn;
    struct tenon_flow flow;
    tenon_u16 table[ENTRIES];
    unsigned netif;
};

static const struct tenon_tcp_events no_events;

static void opening_begin(struct opening *o, const tenon_u8 *key, unsigned queue, tenon_u32 seed)
{
    const struct tenon_ip own4 = hn_ip("10.0.0.1"), own6 = hn_ip("fd00::1");
    const struct tenon_ip router4 = hn_ip("10.0.0.2"), router6 = hn_ip("fd00::2"), any = tenon_ip4(0);
    struct tenon_ip any6 = tenon_ip_any();
    struct tenon_conf conf;
    tenon_u8 mac[6];

    tenon_conf_default(&conf);
    tenon_flow_spread(o->table, ENTRIES, QUEUES);
    HN_EQUAL(tenon_flow_init(&o->flow, key, o->table, ENTRIES, queue), TENON_OK);
    conf.tcp_ports = &o->flow.filter;
    hn_open_seed(&o->hn, &conf, seed);
    o->netif = hn_netif(&o->hn, TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA);
    hn_mac(mac, 1, 2);
    HN_EQUAL(tenon_addr_add(o->hn.stack, o->netif, &own4, 24), TENON_OK);
    HN_EQUAL(tenon_addr_add(o->hn.stack, o->netif, &own6, 64), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(o->hn.stack, o->netif, &router4, mac), TENON_OK);
    HN_EQUAL(tenon_neighbour_set(o->hn.stack, o->netif, &router6, mac), TENON_OK);
    HN_EQUAL(tenon_route_add(o->hn.stack, o->netif, &any, 0, &router4, 0), TENON_OK);
    HN_EQUAL(tenon_route_add(o->hn.stack, o->netif, &any6, 0, &router6, 0), TENON_OK);
    hn_run(&o->hn, 10000);
    hn_forget(&o->hn);
}

static struct tenon_addr peer(unsigned i, int v6)
{
    struct tenon_addr to;

    memset(&to, 0, sizeof to);
    to.ip = v6 ? tenon_ip6(0x20010DB8U, i, 0, 7 * i + 1) : tenon_ip4(0xC6120000U + i + 1);
    to.port = (tenon_u16)(80 + i % 3);
    return to;
}

/* Opens a connection. @return its local port, from the SYN; 0: there is none */
static unsigned open_one(struct opening *o, const struct tenon_addr *to, const tenon_u8 *key)
{
    const int v6 = !tenon_ip_is_v4(&to->ip);
    struct tenon_tcp *conn;
    const struct hn_sent *sent;
    unsigned port = 0;

    HN_EQUAL(tenon_tcp_connect(o->hn.stack, &conn, NULL, to, &no_events, NULL), TENON_OK);
    (void)tenon_poll(o->hn.stack, o->hn.now_us);
    while ((sent = hn_next(&o->hn)) != NULL) {
        if (hn_get16(sent->bytes + 12) != (v6 ? 0x86DD : 0x0800) || sent->bytes[14 + (v6 ? 6 : 9)] != 6)
            continue;
        port = hn_get16(sent->bytes + 14 + (v6 ? 40 : 20));
        HN_EQUAL(queue_of_answer(key, sent), o->flow.queue);
    }
    hn_forget(&o->hn);
    return port;
}

/* To many peers: the answers come to the queue, and the ports are anywhere. */
static void connect_answers_come_to_the_queue(void)
{
    static const tenon_u8 *const keys[2] = { tenon_flow_key_microsoft, tenon_flow_key_symmetric };
    static struct opening o;

    for (unsigned run = 0; run < 2 * QUEUES; run++) {
        const tenon_u8 *key = keys[run / QUEUES];
        unsigned sixteenths = 0;

        opening_begin(&o, key, run % QUEUES, run + 1);
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            const struct tenon_addr to = peer(i, i % 2);
            const unsigned port = open_one(&o, &to, key);

            HN_CHECK(port >= LOW);
            sixteenths |= 1U << (port - LOW) * 16 / (65536 - LOW);
        }
        HN_EQUAL(sixteenths, 0xFFFF);
        hn_close(&o.hn);
    }
}

/* To one peer: another port each time, near to the last (RFC 6056 3.3.4: the least reuse); and where they begin depends
 * on the instance's secret alone. */
static void connect_same_peer_other_ports(void)
{
    const struct tenon_addr to = { hn_ip("198.18.0.1"), 443, 0 };
    static tenon_u8 used[65536];
    static struct opening o;
    unsigned first[20], same = 0;

    for (unsigned run = 0; run < TENON_ARRAY_LEN(first); run++) {
        opening_begin(&o, tenon_flow_key_microsoft, 3, 100 + run);
        memset(used, 0, sizeof used);
        for (unsigned i = 0; i < 50; i++) {
            const unsigned port = open_one(&o, &to, tenon_flow_key_microsoft);

            if (i == 0)
                first[run] = port;
            HN_EQUAL(used[port], 0);
            used[port] = 1;
        }
        for (unsigned i = 0; i < run; i++)
            same += first[i] == first[run];
        hn_close(&o.hn);
    }
    HN_CHECK(same <= 1);
}

/* A port that the program names is its own affair. */
static void connect_from_a_named_port(void)
{
    const struct tenon_addr to = { hn_ip("198.18.0.1"), 443, 0 };
    struct tenon_addr from = { hn_ip("10.0.0.1"), 5000, 0 };
    static struct opening o;
    struct tenon_tcp *conn;

    opening_begin(&o, tenon_flow_key_microsoft, 0, 1);
    while (tenon_flow_queue(&o.flow, &from, &to) == 0)
        from.port++;
    HN_EQUAL(tenon_tcp_connect(o.hn.stack, &conn, &from, &to, &no_events, NULL), TENON_OK);
    hn_close(&o.hn);
}

static unsigned asked;

static int nothing_fits(const struct tenon_port_filter *filter, const struct tenon_addr *local,
                        const struct tenon_addr *remote)
{
    (void)filter;
    asked += local->port >= LOW && remote->port == 443;
    return 0;
}

static void connect_no_port_fits(void)
{
    const struct tenon_addr to = { hn_ip("198.18.0.1"), 443, 0 };
    const struct tenon_port_filter filter = { nothing_fits };
    static struct opening o;
    struct tenon_tcp *conn;

    opening_begin(&o, tenon_flow_key_microsoft, 0, 1);
    o.flow.filter = filter;
    HN_EQUAL(tenon_tcp_connect(o.hn.stack, &conn, NULL, &to, &no_events, NULL), TENON_EINUSE);
    HN_EQUAL(asked, 65536 - LOW);
    hn_close(&o.hn);
}

static const struct hn_test tests[] = {
    { "hash_verification_suite", "", hash_verification_suite },
    { "hash_symmetric_key", "", hash_symmetric_key },
    { "table_what_cannot_be", "", table_what_cannot_be },
    { "queue_of_a_connection", "", queue_of_a_connection },
    { "connect_answers_come_to_the_queue", "", connect_answers_come_to_the_queue },
    { "connect_same_peer_other_ports", "", connect_same_peer_other_ports },
    { "connect_from_a_named_port", "", connect_from_a_named_port },
    { "connect_no_port_fits", "", connect_no_port_fits },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
