/* SPDX-License-Identifier: MIT */
/* The floor: not a stack. It does what no stack can avoid on the path that a segment takes when nothing is lost, and
 * nothing else: it looks at the headers that came, finds the connection in a hash table, compares sequence numbers,
 * sums where there is no offload, keeps what was sent until it is acknowledged, and sends from a header template. The
 * applications are those of the stacks, on the same wire. What is not as predicted ends the program.
 *
 * floor4.c and floor6.c compile it, each for its version of IP (FLOOR_IP6): lengths of headers are constants. */
#include "harness.h"
#include "wire.h"

#include "ports/common/hostsum.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

enum {
    ETH = 14,
    IP = FLOOR_IP6 ? 40 : 20,
    L4 = ETH + IP,
    ADDRESSES = FLOOR_IP6 ? 32 : 8,        /* bytes of both; they stand right before the transport header */
    PROTOCOL_AT = ETH + (FLOOR_IP6 ? 6 : 9),
    ETHER_TYPE = FLOOR_IP6 ? 0x86DD : 0x0800,
    VERSION = FLOOR_IP6 ? 0x60 : 0x45,     /* the first byte, without options */
    TCP = 20,
    TS = 12,
    UDP = 8,
    HEAD_MAX = L4 + TCP + TS,
    DATA_AT = 96,
    KEPT = 4096,
    BY_REFERENCE = 512,
    PIECES = SPEED_SPANS - 2,              /* of payload in a frame: beside the headers, and one that wraps around */
    BY_HOSTSUM = 64                        /* what is shorter is not worth a call */
};
enum { FIN = 1, SYN = 2, PSH = 8, ACK = 16, PORT = 7, FIRST_PORT = 10000, PORTS = 50000, BUCKETS_MIN = 64 };

struct flow {
    struct flow *next;                     /* in its bucket, or in the free list */
    uint32_t ports;                        /* as in what it receives: source, destination */
    uint32_t snd_nxt, snd_una, rcv_nxt;
    uint32_t queued, off, got, unacked;
    uint32_t ts_recent;
    uint32_t first, last;                  /* of kept, modulo 2^32 */
    struct speed_packet *one;              /* kept: a single one */
    struct speed_packet **kept;            /* ... or a ring of them (bulk) */
    struct flow *ready;
    uint16_t ip_sum, l4_sum;               /* of the template's IP header; of its transport and pseudo header */
    uint8_t is_ready, flags;
    uint8_t head[HEAD_MAX];
};

struct half {
    struct flow **buckets;
    struct speed_pool pool;
    struct speed_wire *in, *out;
    struct flow *ready, *spare;
    int server;
};

static struct floor_world {
    struct speed_conf conf;
    struct speed_count *count;
    struct half client, server;
    struct speed_wire wires[2];
    struct tenon_buf data;
    hostsum_function *hostsum;             /* or NULL */
    struct flow *flows;
    uint32_t now, mask, shift, head_bytes, mss, data_bytes;
    unsigned next_port;
    int udp, cuts;                    /* cuts: the wire makes sums and segments, as a card does it */
} f;

/* ---- bytes ---------------------------------------------------------------------------------------- */

static inline uint16_t load16(const uint8_t *p)
{
    uint16_t v;

    memcpy(&v, p, 2);
    return be16toh(v);
}

static inline uint32_t load32(const uint8_t *p)
{
    uint32_t v;

    memcpy(&v, p, 4);
    return be32toh(v);
}

static inline void store16(uint8_t *p, uint32_t value)
{
    const uint16_t v = htobe16((uint16_t)value);

    memcpy(p, &v, 2);
}

static inline void store32(uint8_t *p, uint32_t value)
{
    const uint32_t v = htobe32(value);

    memcpy(p, &v, 4);
}

enum { SUM_WORDS = 64 };    /* of 32 bits, at once: a loop of known length is made of vectors by all compilers */

/* The halves of 32 bits are summed apart, so that nothing is carried. */
static inline uint64_t sum_run(const uint8_t *p, size_t words)
{
    uint32_t low = 0, high = 0, word;
    size_t i;

    for (i = 0; i < words; i++) {
        memcpy(&word, p + 4 * i, 4);
        low += word & 0xFFFF;
        high += word >> 16;
    }
    return (uint64_t)low + high;
}

/* What is short, such as headers. */
static inline uint64_t sum_short(const uint8_t *p, size_t n)
{
    uint64_t sum = 0;
    uint32_t word;

    for (; n >= 4; n -= 4, p += 4) {
        memcpy(&word, p, 4);
        sum += word;
    }
    if (n > 0) {
        word = 0;
        memcpy(&word, p, n);
        sum += word;
    }
    return sum;
}

/* Sum of the 16-bit words of the machine's byte order (RFC 1071 2 (B)); an odd byte is the first of a word. */
static uint64_t sum_words(const uint8_t *p, size_t n)
{
    uint64_t sum = 0;

    if (n < BY_HOSTSUM)
        return sum_short(p, n);
    if (f.hostsum != NULL)
        return htobe16(f.hostsum(p, n));
    for (; n >= 4 * SUM_WORDS; n -= 4 * SUM_WORDS, p += 4 * SUM_WORDS)
        sum += sum_run(p, SUM_WORDS);
    return sum + sum_run(p, n / 4) + sum_short(p + n / 4 * 4, n % 4);
}

static uint16_t fold(uint64_t sum)
{
    sum = (sum >> 32) + (sum & 0xFFFFFFFFU);
    sum = (sum >> 32) + (sum & 0xFFFFFFFFU);
    sum = (sum >> 16) + (sum & 0xFFFF);
    sum = (sum >> 16) + (sum & 0xFFFF);
    sum = (sum >> 16) + (sum & 0xFFFF);
    return (uint16_t)sum;
}

/* Sum of the transport part and the pseudo header of a packet whose header says `bytes` of payload. */
static uint16_t packet_sum(const struct speed_packet *packet, uint32_t bytes)
{
    const uint32_t length = f.head_bytes - L4 + bytes;
    uint64_t sum = (uint64_t)htobe16((uint16_t)length) + htobe16(packet->bytes[PROTOCOL_AT]);
    unsigned i;

    sum += sum_words(packet->bytes + L4 - ADDRESSES, ADDRESSES + packet->spans[0].len - L4);
    for (i = 1; i < packet->frame.nspans; i++)    /* all but the last have an even length */
        sum += sum_words(tenon_span_data(&packet->spans[i]), packet->spans[i].len);
    return fold(sum);
}

/* ---- flows ---------------------------------------------------------------------------------------- */

static inline struct flow **bucket_of(struct half *half, uint32_t ports)
{
    return &half->buckets[ports * 2654435761U >> f.shift];
}

static struct flow *flow_find(struct half *half, uint32_t ports)
{
    struct flow *flow = *bucket_of(half, ports);

    while (flow != NULL && flow->ports != ports)
        flow = flow->next;
    return flow;
}

static void template4(uint8_t *ip, uint8_t from, uint8_t to)
{
    ip[0] = 0x45;
    ip[6] = 0x40;
    ip[8] = 64;
    ip[9] = f.udp ? 17 : 6;
    ip[12] = ip[16] = 10;
    ip[15] = from;
    ip[19] = to;
}

static void template6(uint8_t *ip, uint8_t from, uint8_t to)
{
    ip[0] = 0x60;
    ip[6] = f.udp ? 17 : 6;
    ip[7] = 64;
    ip[8] = ip[24] = 0xFD;
    ip[23] = from;
    ip[39] = to;
}

static void template(struct flow *flow, int server)
{
    uint8_t *ip = flow->head + ETH, *l4 = flow->head + L4;

    flow->head[0] = flow->head[6] = 2;
    flow->head[5] = server ? 1 : 2;
    flow->head[11] = server ? 2 : 1;
    store16(flow->head + 12, ETHER_TYPE);
    if (FLOOR_IP6)
        template6(ip, server ? 2 : 1, server ? 1 : 2);
    else
        template4(ip, server ? 2 : 1, server ? 1 : 2);
    store32(l4, flow->ports << 16 | flow->ports >> 16);
    if (!f.udp) {
        l4[12] = (uint8_t)((f.head_bytes - L4) / 4 << 4);
        l4[14] = l4[15] = 0xFF;
        if (f.conf.timestamps)
            store32(l4 + TCP, 0x0101080A);
    }
    flow->ip_sum = FLOOR_IP6 ? 0 : fold(sum_words(ip, IP));
    flow->l4_sum = fold(sum_words(l4 - ADDRESSES, ADDRESSES + f.head_bytes - L4) +
                        htobe16(flow->head[PROTOCOL_AT]));
}

static struct flow *flow_new(struct half *half, uint32_t ports)
{
    struct flow *flow = half->spare;

    if (flow == NULL) {
        flow = aligned_alloc(64, (sizeof *flow + 63) / 64 * 64);
        if (flow == NULL)
            abort();
    } else {
        half->spare = flow->next;
    }
    memset(flow, 0, sizeof *flow);
    flow->ports = ports;
    flow->next = *bucket_of(half, ports);
    *bucket_of(half, ports) = flow;
    template(flow, half->server);
    if (f.conf.app == SPEED_BULK)
        flow->kept = calloc(KEPT, sizeof *flow->kept);
    return flow;
}

static void flow_end(struct half *half, struct flow *flow)
{
    struct flow **at = bucket_of(half, flow->ports);

    while (*at != flow)
        at = &(*at)->next;
    *at = flow->next;
    if (flow->one != NULL)
        tenon_buf_put(&flow->one->buf);
    flow->next = half->spare;
    half->spare = flow;
}

/* ---- sending -------------------------------------------------------------------------------------- */

/* Sum of the payload, wherever it lies; the headers have an even length. */
static uint64_t payload_sum(const struct speed_packet *packet)
{
    uint64_t sum = sum_words(packet->bytes + f.head_bytes, packet->spans[0].len - f.head_bytes);
    unsigned i;

    for (i = 1; i < packet->frame.nspans; i++)    /* all but the last have an even length */
        sum += sum_words(tenon_span_data(&packet->spans[i]), packet->spans[i].len);
    return sum;
}

/* What changes from packet to packet in a TCP header. @return its sum */
static inline uint64_t tcp_fields(const struct flow *flow, uint8_t *l4)
{
    const uint32_t seq = htobe32(flow->snd_nxt), ack = htobe32(flow->rcv_nxt);
    uint64_t sum = (uint64_t)seq + ack + htobe16(flow->flags);
    uint32_t stamps[2];

    memcpy(l4 + 4, &seq, 4);
    memcpy(l4 + 8, &ack, 4);
    l4[13] = flow->flags;
    if (!f.conf.timestamps)
        return sum;
    stamps[0] = htobe32(f.now);
    stamps[1] = htobe32(flow->ts_recent);
    memcpy(l4 + TCP + 4, stamps, 8);
    return sum + stamps[0] + stamps[1];
}

static void packet_done(struct speed_packet *packet)
{
    unsigned i;

    for (i = packet->frame.nspans; i-- > 0;)    /* the packet itself is the first span's */
        tenon_buf_put(packet->spans[i].buf);
}

static void send_cut(struct half *half, struct speed_packet *packet)
{
    packet->frame.seg_kind = FLOOR_IP6 ? TENON_SEG_TCP6 : TENON_SEG_TCP4;
    packet->frame.seg_bytes = (uint16_t)(f.conf.mtu + ETH - f.head_bytes);
    packet->frame.header_bytes = (uint16_t)f.head_bytes;
    packet->frame.csum_start = (uint16_t)L4;
    if (speed_wire_send_cut(half->out, &half->pool, &packet->frame, 1) != 1)
        abort();
    packet_done(packet);
}

/* What changes from packet to packet in an IP header; l4_length is in network order. */
static inline void ip_fields(const struct flow *flow, uint8_t *ip, uint32_t bytes, uint16_t l4_length)
{
    const uint16_t length = htobe16((uint16_t)(f.head_bytes - ETH + bytes));
    uint16_t sum;

    if (FLOOR_IP6) {
        memcpy(ip + 4, &l4_length, 2);
        return;
    }
    memcpy(ip + 2, &length, 2);
    sum = (uint16_t)~fold((uint64_t)flow->ip_sum + length);
    memcpy(ip + 10, &sum, 2);
}

/* The packet's headers, from the template, which has the sums of what does not change. Payload is there already. */
static void send_packet(struct half *half, struct flow *flow, struct speed_packet *packet, uint32_t bytes)
{
    uint8_t *head = packet->bytes, *l4 = head + L4;
    const uint16_t l4_length = htobe16((uint16_t)(f.head_bytes - L4 + bytes));
    uint64_t sum;
    uint16_t field;

    memcpy(head, flow->head, f.head_bytes);
    ip_fields(flow, head + ETH, bytes, l4_length);
    packet->spans[0].buf = &packet->buf;
    packet->spans[0].off = 0;
    packet->frame.spans = packet->spans;
    if (f.udp) {
        memcpy(l4 + 4, &l4_length, 2);
        sum = l4_length;
    } else {
        sum = tcp_fields(flow, l4);
    }
    if (!f.conf.tx_csum || (f.cuts && bytes == 0)) {
        field = (uint16_t)~fold(sum + flow->l4_sum + l4_length + payload_sum(packet));
        memcpy(l4 + (f.udp ? 6 : 16), &field, 2);
    }
    if (f.cuts && bytes > 0)
        send_cut(half, packet);
    else
        speed_wire_put(half->out, packet);
}

/* Payload from there on: referred to, or copied behind what the packet has, which stays one piece. */
static void span_to(struct speed_packet *packet, uint32_t off, uint32_t bytes)
{
    struct tenon_span *span = &packet->spans[packet->frame.nspans];

    if (f.conf.copy) {
        memcpy(packet->bytes + packet->spans[0].len, f.data.data + off, bytes);
        packet->spans[0].len += bytes;
        return;
    }
    packet->frame.nspans++;
    span->buf = &f.data;
    span->off = off;
    span->len = bytes;
    tenon_buf_ref(span->buf);
}

/* A packet with a whole message, or with none; a small one lies behind the headers. */
static void send_whole(struct half *half, struct flow *flow, uint32_t bytes, unsigned flags)
{
    struct speed_packet *packet = speed_packet_get(&half->pool);

    if (packet == NULL)
        abort();
    packet->frame.nspans = 1;
    packet->spans[0].len = f.head_bytes;
    if (bytes >= BY_REFERENCE) {
        span_to(packet, 0, bytes);
    } else {
        memcpy(packet->bytes + f.head_bytes, f.data.data, bytes);
        packet->spans[0].len += bytes;
    }
    flow->flags = (uint8_t)flags;
    send_packet(half, flow, packet, bytes);
    flow->snd_nxt += bytes + ((flags & (SYN | FIN)) != 0);
    if (f.udp || (bytes == 0 && (flags & (SYN | FIN)) == 0))
        return;
    packet->buf.refs++;
    flow->one = packet;
}

/* A segment of the bulk flow: of one message or two where they are large, of copies where they are small. */
static void send_segment(struct half *half, struct flow *flow, uint32_t bytes)
{
    struct speed_packet *packet = speed_packet_get(&half->pool);
    uint32_t left = bytes, n;

    if (packet == NULL)
        abort();
    packet->frame.nspans = 1;
    packet->spans[0].len = f.head_bytes;
    for (; left > 0; left -= n) {
        n = f.data_bytes - flow->off < left ? f.data_bytes - flow->off : left;
        if (f.conf.message < BY_REFERENCE) {
            n = f.conf.message < left ? f.conf.message : left;
            memcpy(packet->bytes + packet->spans[0].len, f.data.data, n);
            packet->spans[0].len += n;
            continue;
        }
        span_to(packet, flow->off, n);
        flow->off = flow->off + n == f.data_bytes ? 0 : flow->off + n;
    }
    flow->flags = PSH | ACK;
    packet->buf.refs++;    /* kept */
    send_packet(half, flow, packet, bytes);
    flow->snd_nxt += bytes;
    flow->kept[flow->last++ % KEPT] = packet;
}

static void fill(struct half *half, struct flow *flow)
{
    while (flow->snd_nxt - flow->snd_una + f.mss <= f.conf.window)
        send_segment(half, flow, f.mss);
}

/* ---- receiving ------------------------------------------------------------------------------------ */

static void make_ready(struct half *half, struct flow *flow)
{
    if (flow->is_ready)
        return;
    flow->is_ready = 1;
    flow->ready = half->ready;
    half->ready = flow;
}

static void client_text(struct half *half, struct flow *flow, uint32_t bytes)
{
    flow->got += bytes;
    if (flow->got < f.conf.message)
        return;
    flow->got = 0;
    f.count->rounds++;
    if (f.conf.app == SPEED_LOAD)
        speed_answered((unsigned)(flow - f.flows));
    else
        send_whole(half, flow, f.conf.message, PSH | ACK);
}

static void server_text(struct half *half, struct flow *flow, uint32_t bytes)
{
    if (f.conf.app == SPEED_BULK || f.conf.app == SPEED_UDP_BULK) {
        f.count->bytes += bytes;
        f.count->messages++;
        if (!f.udp)
            make_ready(half, flow);
        return;
    }
    flow->got += bytes;
    if (flow->got < f.conf.message)
        return;
    flow->got = 0;
    send_whole(half, flow, f.conf.message, PSH | ACK);
}

/* What is acknowledged is let go. */
static void take_ack(struct half *half, struct flow *flow, uint32_t ack)
{
    flow->snd_una = ack;
    if (flow->one != NULL) {
        tenon_buf_put(&flow->one->buf);
        flow->one = NULL;
    }
    if (flow->kept == NULL || flow->first == flow->last)
        return;
    while (flow->first != flow->last) {
        struct speed_packet *packet = flow->kept[flow->first % KEPT];

        if ((int32_t)(load32(packet->bytes + L4 + 4) - ack) >= 0)
            break;
        flow->first++;
        tenon_buf_put(&packet->buf);
    }
    make_ready(half, flow);
}

/* The segments of a short connection that carry no text in the middle of it. */
static void take_short(struct half *half, uint32_t ports, struct flow *flow, unsigned flags)
{
    if (flags & SYN) {
        if (flow == NULL) {
            flow = flow_new(half, ports);
            flow->rcv_nxt = 1;
            send_whole(half, flow, 0, SYN | ACK);
            return;
        }
        flow->rcv_nxt = 1;
        take_ack(half, flow, 1);
        f.count->opened++;
        send_whole(half, flow, f.conf.message, PSH | ACK);
        return;
    }
    flow->rcv_nxt++;
    take_ack(half, flow, flow->snd_nxt);
    if (half->server) {
        send_whole(half, flow, 0, FIN | ACK);
        return;
    }
    send_whole(half, flow, 0, ACK);
    f.count->closed++;
    flow_end(half, flow);
}

static void short_text(struct half *half, struct flow *flow)
{
    if (half->server) {
        send_whole(half, flow, f.conf.message, PSH | ACK);
        return;
    }
    f.count->rounds++;
    send_whole(half, flow, 0, FIN | ACK);
}

static void unexpected(int yes)
{
    if (__builtin_expect(yes, 0))
        abort();
}

static inline int is_of(const uint8_t *head, unsigned protocol)
{
    return load16(head + 12) == ETHER_TYPE && head[ETH] == VERSION && head[PROTOCOL_AT] == protocol;
}

static void receive_udp(struct half *half, struct speed_packet *packet)
{
    const uint8_t *l4 = packet->bytes + L4;
    const uint32_t bytes = load16(l4 + 4) - UDP;
    struct flow *flow = flow_find(half, load32(l4));

    unexpected(flow == NULL || !is_of(packet->bytes, 17));
    if (!f.conf.rx_csum)
        unexpected(packet_sum(packet, bytes) != 0xFFFF);
    if (half->server)
        server_text(half, flow, bytes);
    else
        client_text(half, flow, bytes);
}

static void receive_tcp(struct half *half, struct speed_packet *packet)
{
    const uint8_t *ip = packet->bytes + ETH, *l4 = packet->bytes + L4;
    const uint32_t whole = FLOOR_IP6 ? load16(ip + 4) + IP : load16(ip + 2);
    const uint32_t bytes = whole + ETH - f.head_bytes, ports = load32(l4);
    struct flow *flow = flow_find(half, ports);
    const uint32_t ack = load32(l4 + 8);

    unexpected(!is_of(packet->bytes, 6));
    if (!f.conf.rx_csum)
        unexpected(packet_sum(packet, bytes) != 0xFFFF);
    if (l4[13] & (SYN | FIN)) {
        take_short(half, ports, flow, l4[13]);
        return;
    }
    unexpected(flow == NULL || load32(l4 + 4) != flow->rcv_nxt);
    if (f.conf.timestamps)
        flow->ts_recent = load32(l4 + TCP + 4);
    if (ack != flow->snd_una)
        take_ack(half, flow, ack);
    flow->rcv_nxt += bytes;
    if (f.conf.app == SPEED_CONNECT) {
        if (bytes > 0)
            short_text(half, flow);
        else
            flow_end(half, flow);
    } else if (bytes > 0) {
        if (half->server)
            server_text(half, flow, bytes);
        else
            client_text(half, flow, bytes);
    }
}

static void half_turn(struct half *half)
{
    struct speed_packet *packets[SPEED_BATCH_MAX];
    const unsigned n = speed_wire_waiting(half->in, f.conf.batch);
    unsigned i;

    for (i = 0; i < n; i++) {
        packets[i] = speed_wire_get(half->in);
        if (f.udp)
            receive_udp(half, packets[i]);
        else
            receive_tcp(half, packets[i]);
    }
    for (i = 0; i < n; i++)
        packet_done(packets[i]);
    while (half->ready != NULL) {
        struct flow *flow = half->ready;

        half->ready = flow->ready;
        flow->is_ready = 0;
        if (half->server)
            send_whole(half, flow, 0, ACK);
        else
            fill(half, flow);
    }
}

static void floor_run(unsigned long turns)
{
    unsigned i;

    for (; turns > 0; turns--) {
        f.now++;
        for (i = 0; f.conf.app == SPEED_UDP_BULK && i < f.conf.batch; i++) {
            send_whole(&f.client, &f.flows[f.next_port], f.conf.message, 0);
            f.next_port = f.next_port + 1 < f.conf.connections ? f.next_port + 1 : 0;
        }
        half_turn(&f.client);
        half_turn(&f.server);
    }
    f.count->frames = speed_wire_frames(&f.wires[0]) + speed_wire_frames(&f.wires[1]);
}

/* ---- the driver ----------------------------------------------------------------------------------- */

static uint32_t ports_of(unsigned i, int server)
{
    const uint32_t client = FIRST_PORT + i % PORTS, other = PORT + i / PORTS;

    return server ? client << 16 | other : other << 16 | client;
}

static int half_open(struct half *half, struct speed_wire *in, struct speed_wire *out)
{
    half->in = in;
    half->out = out;
    half->server = half == &f.server;
    half->pool.buf_bytes = f.conf.copy || f.conf.message < BY_REFERENCE ? f.mss + 2 * DATA_AT : BY_REFERENCE + HEAD_MAX;
    half->buckets = calloc((size_t)f.mask + 1, sizeof(*half->buckets));
    return half->buckets ? 0 : -1;
}

/* Flows one behind the other in memory, without a request for each. */
static const char *open_flows(void)
{
    unsigned i;

    f.flows = aligned_alloc(64, ((size_t)f.conf.connections + 1) * 2 * ((sizeof *f.flows + 63) / 64 * 64));
    if (!f.flows)
        return "not enough memory";
    for (i = 0; i < 2 * f.conf.connections; i++) {
        struct flow *flow = &f.flows[i];
        struct half *half = i < f.conf.connections ? &f.client : &f.server;

        flow->next = half->spare;
        half->spare = flow;
        flow_new(half, ports_of(i % f.conf.connections, half->server));
    }
    f.count->opened = f.conf.connections;
    return NULL;
}

static int is_udp(const struct speed_conf *conf)
{
    return conf->app == SPEED_UDP_PING || conf->app == SPEED_UDP_BULK;
}

/* What the receiver's port does not take, the sender's has to do. */
static int is_cut(const struct speed_conf *conf)
{
    return (conf->tso && !conf->lro) || (conf->tx_csum && !conf->rx_csum);
}

static const char *cannot(const struct speed_conf *conf)
{
    if (conf->app == SPEED_IDLE)
        return "the floor has no such workload";
    if (is_cut(conf) && (conf->app != SPEED_BULK || !conf->tx_csum))
        return "the floor has no such port";
    if (conf->app != SPEED_CONNECT && conf->connections > SPEED_RING)
        return "the floor's wire holds no more than 131072 frames";
    return NULL;
}

static const char *floor_open(const struct speed_conf *conf, struct speed_count *count)
{
    const char *why = cannot(conf);
    uint32_t buckets = BUCKETS_MIN;

    memset(&f, 0, sizeof f);
    f.conf = *conf;
    f.count = count;
    f.now = 1000000;
    if (why != NULL)
        return why;
    f.udp = is_udp(conf);
    f.cuts = is_cut(conf);
    f.wires[0].whole = f.wires[1].whole = conf->lro != 0;
    f.hostsum = conf->own_sum ? NULL : hostsum_best();
    f.head_bytes = L4 + (uint32_t)(f.udp ? UDP : TCP + (conf->timestamps ? TS : 0));
    f.mss = (conf->tso ? 65535 : conf->mtu) + ETH - f.head_bytes;
    f.data_bytes = conf->data > conf->message ? conf->data : conf->message;
    if (conf->app != SPEED_BULK && conf->message > f.mss)
        return "the floor has no message of several segments";
    if (conf->app == SPEED_BULK && conf->message >= BY_REFERENCE && !conf->copy && f.mss / f.data_bytes >= PIECES)
        f.mss = PIECES * f.data_bytes;    /* no more pieces than a frame has; Tenon has that limit, too */
    if (f.conf.window == 0)
        f.conf.window = 65536;
    if (f.conf.window < 2 * f.mss)
        f.conf.window = 2 * f.mss;
    if (conf->app == SPEED_BULK && f.conf.window / f.mss > KEPT)
        return "the floor keeps no more than 4096 segments of a connection";
    if (conf->app == SPEED_BULK && f.conf.window / f.mss > SPEED_RING / conf->connections)
        return "the floor's wire holds no more than 131072 frames";
    for (f.shift = 32 - 6; buckets < 2 * (conf->connections + conf->idle); f.shift--)
        buckets *= 2;
    f.mask = buckets - 1;
    f.data.data = malloc(f.data_bytes);
    f.data.size = f.data_bytes;
    f.data.refs = 1;
    if (!f.data.data || half_open(&f.client, &f.wires[1], &f.wires[0]) != 0
        || half_open(&f.server, &f.wires[0], &f.wires[1]) != 0)
        return "not enough memory";
    memset(f.data.data, f.cuts ? 0 : 1, f.data_bytes);    /* a wire that sums knows zeros only: see wire.c */
    return conf->app == SPEED_CONNECT ? NULL : open_flows();
}

static void floor_begin(void)
{
    unsigned i;

    for (i = 0; i < f.conf.connections; i++) {
        struct flow *flow = flow_find(&f.client, ports_of(i, 0));

        if (f.conf.app == SPEED_PING || f.conf.app == SPEED_UDP_PING)
            send_whole(&f.client, flow, f.conf.message, PSH | ACK);
        if (f.conf.app == SPEED_BULK)
            fill(&f.client, flow);
    }
}

static void floor_connect(unsigned long connections)
{
    unsigned long begun = 0, over;
    const uint64_t closed = f.count->closed;

    for (;;) {
        over = (unsigned long)(f.count->closed - closed);
        if (over == connections)
            return;
        for (; begun < connections && begun - over < f.conf.connections; begun++) {
            struct flow *flow = flow_new(&f.client, ports_of(f.next_port, 0));

            f.next_port = f.next_port + 1 < PORTS ? f.next_port + 1 : 0;
            send_whole(&f.client, flow, 0, SYN);
        }
        floor_run(1);
    }
}

/* The client's flows are the first of all: open_flows(). */
static void floor_request(unsigned connection)
{
    send_whole(&f.client, &f.flows[connection], f.conf.message, PSH | ACK);
}

static void floor_rest(void)
{
    floor_run(10);
}

static void half_close(struct half *half)
{
    uint32_t i;

    for (i = 0; half->buckets && i <= f.mask; i++)
        while (half->buckets[i] != NULL) {
            struct flow *flow = half->buckets[i];

            half->buckets[i] = flow->next;
            flow->next = half->spare;
            half->spare = flow;
        }
    while (half->spare != NULL) {
        struct flow *flow = half->spare;

        half->spare = flow->next;
        free(flow->kept);
        if (f.flows == NULL)    /* otherwise they are all one piece */
            free(flow);
    }
    free(half->buckets);
}

static void floor_close(void)
{
    half_close(&f.client);
    half_close(&f.server);
    speed_pool_end(&f.client.pool);
    speed_pool_end(&f.server.pool);
    free(f.flows);
    free(f.data.data);
    memset(&f, 0, sizeof f);
}

#if FLOOR_IP6
extern const struct speed_driver speed_floor6;
const struct speed_driver speed_floor6 = {
#else
extern const struct speed_driver speed_floor6, speed_floor;
const struct speed_driver speed_floor = {
#endif
    "floor", floor_open, floor_begin, floor_run, floor_connect, floor_rest, floor_request, floor_close,
    0, FLOOR_IP6 ? NULL : &speed_floor6
};
