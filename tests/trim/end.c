/* SPDX-License-Identifier: MIT */
/* See end.h. Compiled once for each build: -DEND=name, -DTENON_WITH_...=0. */
#include "tenon_all.c"
#include "base/flow.c"
#include "base/panic.c"

#include <stdlib.h>

#include "end.h"

enum { HOST_FRAMES = 64, HOST_PORT = 7, HOST_PIECE = 700 };

struct host {
    struct tenon *stack;
    void *mem;
    unsigned char frames[HOST_FRAMES][END_FRAME_BYTES];
    unsigned bytes[HOST_FRAMES], first, nframes;
    unsigned long blocks, bufs, to_send;
    unsigned long owed;                  /* who sends back: received, and not sent yet */
    int peer_finished;
    struct end_result result;
};

struct packet {
    struct tenon_buf buf;
    struct host *host;
    tenon_u8 bytes[END_FRAME_BYTES + 64];
};

static tenon_u8 host_byte(unsigned long at)
{
    return (tenon_u8)((at * 2654435761UL) >> 13 & 0xFF);
}

/* ---- the five functions ------------------------------------------------------------------------------------ */

static void *host_get(void *arg, size_t bytes)
{
    struct host *host = (struct host *)arg;

    host->blocks += bytes;
    if (host->result.blocks_most < host->blocks)
        host->result.blocks_most = host->blocks;
    return malloc(bytes);
}

static void host_put(void *arg, void *mem, size_t bytes)
{
    ((struct host *)arg)->blocks -= bytes;
    free(mem);
}

static void packet_end(struct tenon_buf *buf)
{
    struct packet *packet = TENON_CONTAINER(buf, struct packet, buf);

    packet->host->bufs--;
    free(packet);
}

static unsigned host_bufs(void *arg, struct tenon_buf **bufs, unsigned n)
{
    struct host *host = (struct host *)arg;
    unsigned i;

    for (i = 0; i < n; i++) {
        struct packet *packet = (struct packet *)malloc(sizeof(*packet));

        packet->host = host;
        packet->buf.data = packet->bytes;
        packet->buf.size = sizeof(packet->bytes);
        packet->buf.refs = 1;
        packet->buf.release = packet_end;
        bufs[i] = &packet->buf;
        host->bufs++;
    }
    if (host->result.bufs_most < host->bufs)
        host->result.bufs_most = host->bufs;
    return n;
}

/* Whether routers may not cut it, and the build would not hear what they say to that. */
static int host_is_stiff(const unsigned char *frame)
{
    const unsigned char *const ip = TENON_WITH_ETHERNET ? frame + 14 : frame;

    return !TENON_WITH_PATH_MTU && ip[0] >> 4 == 4 && (ip[6] & 0x40) != 0;
}

static unsigned host_transmit(void *arg, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct host *host = (struct host *)arg;
    unsigned i, k;

    (void)netif;
    for (i = 0; i < n && host->nframes < HOST_FRAMES; i++) {
        const unsigned at = (host->first + host->nframes) % HOST_FRAMES;

        host->bytes[at] = 0;
        for (k = 0; k < frames[i].nspans; k++) {
            memcpy(host->frames[at] + host->bytes[at], tenon_span_data(&frames[i].spans[k]), frames[i].spans[k].len);
            host->bytes[at] += (unsigned)frames[i].spans[k].len;
        }
        host->result.wrong += (unsigned long)host_is_stiff(host->frames[at]);
        host->nframes++;
    }
    return i;
}

/* Numbers that anybody can guess: good for this program and for no other. */
static int host_entropy(void *arg, void *bytes, size_t n)
{
    (void)arg;
    memset(bytes, 0x5A, n);
    return 0;
}

static const struct tenon_host host_ops = { TENON_HOST_VERSION, host_get, host_put, host_bufs, host_transmit,
                                            host_entropy };

/* ---- the program: one side sends, the other sends it back ---------------------------------------------------- */

static void app_send(struct tenon_tcp *conn, struct host *host)
{
    tenon_u8 bytes[HOST_PIECE];
    tenon_i32 taken = 1;
    unsigned i;

    while (taken > 0 && host->result.sent < host->to_send) {
        const unsigned long left = host->to_send - host->result.sent;
        const tenon_u32 n = (tenon_u32)(left < HOST_PIECE ? left : HOST_PIECE);

        for (i = 0; i < n; i++)
            bytes[i] = host_byte(host->result.sent + i);
        taken = tenon_tcp_write(conn, bytes, n);
        if (taken > 0)
            host->result.sent += (unsigned long)taken;
    }
    if (host->result.sent == host->to_send)
        (void)tenon_tcp_finish(conn);
}

/* What was not taken when it came. */
static void app_send_owed(struct tenon_tcp *conn, struct host *host)
{
    tenon_u8 bytes[HOST_PIECE];
    tenon_i32 taken = 1;
    unsigned i;

    while (taken > 0 && host->owed > 0) {
        const tenon_u32 n = (tenon_u32)(host->owed < HOST_PIECE ? host->owed : HOST_PIECE);

        for (i = 0; i < n; i++)
            bytes[i] = host_byte(host->result.received - host->owed + i);
        taken = tenon_tcp_write(conn, bytes, n);
        if (taken > 0)
            host->owed -= (unsigned long)taken;
    }
    if (host->owed == 0 && host->peer_finished)
        (void)tenon_tcp_finish(conn);
}

static void app_opened(struct tenon_tcp *conn, void *app)
{
    ((struct host *)app)->result.opened = 1;
    if (((struct host *)app)->to_send > 0)
        app_send(conn, (struct host *)app);
}

static void app_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)bytes;
    if (((struct host *)app)->to_send > 0)
        app_send(conn, (struct host *)app);
    else
        app_send_owed(conn, (struct host *)app);
}

/* There is as much room as the window lets come, unless pieces are counted. */
static void app_send_back(struct tenon_tcp *conn, struct host *host, const struct tenon_span *span)
{
    if (host->owed == 0 && tenon_tcp_send(conn, span) == TENON_OK)
        return;
    host->owed += span->len;
    if (TENON_WITH_QUEUE)
        host->result.wrong++;
}

static void app_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct host *host = (struct host *)app;
    unsigned i, k;

    for (i = 0; i < n; i++) {
        for (k = 0; k < spans[i].len; k++)
            host->result.wrong += tenon_span_data(&spans[i])[k] != host_byte(host->result.received++);
        if (host->to_send == 0)
            app_send_back(conn, host, &spans[i]);
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void app_finished(struct tenon_tcp *conn, void *app)
{
    struct host *host = (struct host *)app;

    host->peer_finished = 1;
    if (host->to_send == 0)
        app_send_owed(conn, host);
}

static void app_closed(struct tenon_tcp *conn, void *app, int why)
{
    (void)conn;
    ((struct host *)app)->result.closed = 1;
    ((struct host *)app)->result.why = why;
}

static const struct tenon_tcp_events app_events = { NULL, app_opened, app_received, app_acked, app_finished, app_closed,
                                                    NULL, NULL };

/* ---- end.h ----------------------------------------------------------------------------------------------------- */

/* What a machine with little memory and one connection asks for. */
static void end_small(struct tenon_conf *conf, unsigned long room)
{
    conf->netifs_max = conf->addrs_max = 1;
    conf->routes_max = 2;
    conf->groups_max = 1;
    conf->tx_burst_max = 4;
    conf->tx_gather_max = 3;
    conf->neighbours_max = 4;
    conf->neighbour_queue_max = 1;
    conf->neighbour_asks_max = 8;
    conf->paths_max = 2;
    conf->reass_datagrams_max = 1;
    conf->reass_pieces_max = 4;
    conf->udp_sockets_max = 1;
    conf->tcp_conns_max = 1;
    conf->tcp_time_wait_max = 1;
    conf->tcp_resting_max = 1;
    conf->tcp_port_counters = 8;
    conf->tcp_ooo_ranges_max = 4;
    conf->tcp_rcv_buf = conf->tcp_snd_buf = (tenon_u32)room;
}

/* A host without an interface. host->stack: NULL where its configuration does not suit the build */
static struct host *host_new(unsigned long room)
{
    struct host *host = (struct host *)calloc(1, sizeof(*host));
    struct tenon_conf conf;

    tenon_conf_default(&conf);
    if (room != 0)
        end_small(&conf, room);
    host->result.instance = tenon_mem_size(&conf);
    host->mem = malloc(host->result.instance);
    host->stack = tenon_init(host->mem, &conf, &host_ops, host);
    return host;
}

static void host_netif(struct tenon_netif_conf *netif, unsigned number, int bare)
{
    memset(netif, 0, sizeof(*netif));
    netif->mac[0] = 2;
    netif->mac[5] = (tenon_u8)number;
    netif->mtu = 1500;
    netif->flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_IP6;
    netif->caps = bare ? TENON_CAP_NO_LINK : 0;
}

static void end_close(void *end, struct end_result *result)
{
    struct host *host = (struct host *)end;

    if (host->stack != NULL)
        tenon_fini(host->stack);
    free(host->mem);
    *result = host->result;
    result->leaks = host->blocks != 0 || host->bufs != 0;
    free(host);
}

/* Whether a build refuses an interface without a link header, or with one, if it cannot do with it. */
static int end_knows_links(struct tenon *stack, const struct tenon_netif_conf *netif)
{
    struct tenon_netif_conf other = *netif;

    other.caps ^= TENON_CAP_NO_LINK;
    return (TENON_WITH_LINKS && TENON_WITH_ETHERNET) || tenon_netif_add(stack, &other) == TENON_EINVAL;
}

/* Whether a build with one home takes one router, and no other; without Ethernet none can be named. */
static int end_knows_routers(struct tenon *stack)
{
    const struct tenon_ip any = tenon_ip4(0), gateway = tenon_ip4_bytes(10, 0, 0, 254);
    const struct tenon_ip second = tenon_ip4_bytes(10, 0, 0, 253);

    if (!TENON_WITH_ETHERNET)
        return tenon_route_add(stack, 1, &any, 0, &gateway, 0) == TENON_EINVAL;
    return tenon_route_add(stack, 1, &any, 0, NULL, 0) == TENON_EINVAL &&
           tenon_route_add(stack, 1, &any, 0, &gateway, 0) == TENON_OK &&
           tenon_route_add(stack, 1, &any, 0, &gateway, 0) == TENON_EINUSE &&
           tenon_route_add(stack, 1, &any, 0, &second, 0) == TENON_ELIMIT &&
           tenon_route_remove(stack, 1, &any, 0, &gateway) == TENON_OK;
}

/* Whether a build without IGMP refuses groups of IPv4: asked on an instance of its own whose interface has IPv6, for
 * without it joining is refused in any case. */
static int end_knows_groups(void)
{
    const struct tenon_ip group = tenon_ip4_bytes(224, 0, 0, 251);
    struct tenon_netif_conf netif;
    struct end_result result;
    struct host *host;
    int good;

    if (!TENON_WITH_IPV6)
        return 1;
    host = host_new(0);
    host_netif(&netif, 1, !TENON_WITH_ETHERNET);
    netif.flags = TENON_NETIF_NO_DAD;
    good = host->stack != NULL && tenon_netif_add(host->stack, &netif) == 1 &&
           tenon_group_join(host->stack, 1, &group) == (TENON_WITH_IGMP ? TENON_OK : TENON_EINVAL);
    end_close(host, &result);
    return good && !result.leaks;
}

/* Whether a build with one interface refuses another. */
static int end_knows_netifs(struct tenon *stack, const struct tenon_netif_conf *netif)
{
    return (TENON_WITH_NETIFS || tenon_netif_add(stack, netif) == TENON_ELIMIT) && end_knows_groups();
}

/* An interface that stands in an address: one that there is not, where nobody looks at it. */
static tenon_u16 end_scope(void)
{
    return TENON_WITH_NETIFS ? 0 : 9;
}

/* Whether a build with one home refuses another; a host has its address. */
static int end_refuses(struct tenon *stack, unsigned number)
{
    const struct tenon_ip other = tenon_ip4_bytes(10, 1, 0, number), net = tenon_ip4_bytes(192, 168, 0, 0);
    const struct tenon_ip gateway = tenon_ip4_bytes(10, 0, 0, 254);

    return tenon_addr_add(stack, 1, &other, 24) == TENON_ELIMIT &&
           tenon_route_add(stack, 1, &net, 16, &gateway, 0) == TENON_EINVAL &&
           end_knows_routers(stack);
}

/* Whether UDP has peers where TCP connects, and else refuses them. */
static int end_knows_peers(struct tenon *stack)
{
    static const struct tenon_udp_events events = { NULL, NULL };
    struct tenon_udp *sock;
    struct tenon_addr to;
    int good;

    if (!TENON_WITH_UDP)
        return 1;
    to.ip = tenon_ip4_bytes(10, 0, 0, 9);
    to.port = HOST_PORT;
    to.netif = end_scope();
    if (tenon_udp_open(stack, &sock, &events, NULL) != TENON_OK)
        return 0;
    good = tenon_udp_connect(sock, &to) == (TENON_WITH_CONNECT ? TENON_OK : TENON_EINVAL);
    tenon_udp_close(sock);
    return good;
}

static void end_input(void *end, const unsigned char *bytes, unsigned n, unsigned long now_us);

/* Whether a build without UDP says so to who sends a datagram over IPv6, alone or behind options (RFC 8200 4: parameter
 * problem, code 1, at the byte that names it). Asked on an instance of its own. */
static int end_knows_no_udp(void)
{
    static const tenon_u8 header[40] = { 0x60, 0, 0, 0, 0, 0, 17, 64, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                         0, 0, 0, 2, 0xFD, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };
    static const tenon_u8 behind[16] = { 17, 0, 1, 4, 0, 0, 0, 0, 0, 9, 0, 9, 0, 8, 0xFE, 0xFE };
    const struct tenon_ip ip = tenon_ip6(0xFD000000UL, 0, 0, 1);
    struct tenon_netif_conf netif;
    struct end_result result;
    tenon_u8 packet[56];
    struct host *host;
    unsigned options;
    int good;

    if (TENON_WITH_UDP || !TENON_WITH_IPV6 || !TENON_WITH_ICMP || !TENON_WITH_LINKS)
        return 1;
    host = host_new(0);
    host_netif(&netif, 1, 1);
    netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    good = host->stack != NULL && tenon_netif_add(host->stack, &netif) == 1 &&
           tenon_addr_add(host->stack, 1, &ip, 64) == TENON_OK;
    for (options = 0; good && options <= 8; options += 8) {
        const tenon_u8 *const frame = host->frames[host->first];

        memcpy(packet, header, 40);
        memcpy(packet + 40, behind + 8 - options, 8 + options);
        packet[5] = (tenon_u8)(8 + options);
        packet[6] = options != 0 ? 60 : 17;
        host->nframes = 0;
        end_input(host, packet, 48 + options, 0);
        good = host->nframes == 1 && frame[40] == 4 && frame[41] == 1 && frame[47] == (options != 0 ? 40 : 6);
    }
    end_close(host, &result);
    return good && !result.leaks;
}

/* Whether a host that has no address yet tells what it calls out apart (RFC 6864 4.2): two datagrams in a row have not
 * the same identification. Asked on an instance of its own. */
static int end_knows_calls(void)
{
    static const struct tenon_udp_events events = { NULL, NULL };
    const struct tenon_ip nobody = tenon_ip4(0);
    struct tenon_netif_conf netif;
    struct end_result result;
    struct tenon_udp *sock;
    struct tenon_addr to;
    struct host *host;
    int good;

    if (!TENON_WITH_UDP || !TENON_WITH_ETHERNET)
        return 1;
    host = host_new(0);
    host_netif(&netif, 1, 0);
    to.ip = tenon_ip4(0xFFFFFFFFUL);
    to.port = HOST_PORT;
    to.netif = 1;
    good = host->stack != NULL && tenon_netif_add(host->stack, &netif) == 1 &&
           tenon_udp_open(host->stack, &sock, &events, NULL) == TENON_OK &&
           tenon_udp_set(sock, TENON_UDP_BROADCAST, 1) == TENON_OK &&
           tenon_udp_write_from(sock, &nobody, &to, "1", 1) == TENON_OK &&
           tenon_udp_write_from(sock, &nobody, &to, "2", 1) == TENON_OK;
    if (good)
        (void)tenon_poll(host->stack, 0);
    good = good && host->nframes == 2 && memcmp(host->frames[0] + 14 + 4, host->frames[1] + 14 + 4, 2) != 0;
    end_close(host, &result);
    return good && !result.leaks;
}

static void *end_open(unsigned number, unsigned long room, int bare)
{
    const struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, number);
    struct host *host = host_new(room);
    struct tenon_netif_conf netif;
    struct end_result nothing;

    host_netif(&netif, number, bare);
    if (host->stack != NULL && end_knows_links(host->stack, &netif) && tenon_netif_add(host->stack, &netif) == 1 &&
        tenon_addr_add(host->stack, 1, &ip, 24) == TENON_OK &&
        end_knows_netifs(host->stack, &netif) && (TENON_WITH_HOMES || end_refuses(host->stack, number)) &&
        (room != 0 || (end_knows_peers(host->stack) && end_knows_no_udp() && end_knows_calls())))
        return host;
    end_close(host, &nothing);
    return NULL;
}

static int end_listen(void *end)
{
    struct host *host = (struct host *)end;
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;

    memset(&at, 0, sizeof(at));
    at.port = HOST_PORT;
    return tenon_tcp_listen(host->stack, &listener, &at, &app_events, host, 0) == TENON_OK;
}

static int end_connect(void *end, unsigned peer, unsigned long bytes)
{
    struct host *host = (struct host *)end;
    struct tenon_tcp *conn;
    struct tenon_addr to;

    to.ip = tenon_ip4_bytes(10, 0, 0, peer);
    to.port = HOST_PORT;
    to.netif = end_scope();
    host->to_send = bytes;
    return tenon_tcp_connect(host->stack, &conn, NULL, &to, &app_events, host) == TENON_OK;
}

static void end_input(void *end, const unsigned char *bytes, unsigned n, unsigned long now_us)
{
    struct host *host = (struct host *)end;
    struct tenon_frame frame;
    struct tenon_span span;

    (void)host_bufs(host, &span.buf, 1);
    memcpy(span.buf->data, bytes, n);
    span.off = 0;
    span.len = n;
    memset(&frame, 0, sizeof(frame));
    frame.spans = &span;
    frame.nspans = 1;
    (void)tenon_input(host->stack, 1, &frame, 1, (tenon_u32)now_us);
    tenon_buf_put(span.buf);
}

static void end_poll(void *end, unsigned long now_us)
{
    (void)tenon_poll(((struct host *)end)->stack, (tenon_u32)now_us);
}

static unsigned end_take(void *end, unsigned char *bytes)
{
    struct host *host = (struct host *)end;
    unsigned n;

    if (host->nframes == 0)
        return 0;
    n = host->bytes[host->first];
    memcpy(bytes, host->frames[host->first], n);
    host->first = (host->first + 1) % HOST_FRAMES;
    host->nframes--;
    return n;
}

static int end_done(const void *end)
{
    return ((const struct host *)end)->result.closed;
}

static unsigned long end_flow(unsigned number, unsigned peer)
{
    struct tenon_addr ends[2];    /* in one array, so that words of the next are other ones */

    memset(ends, 0x5A, sizeof(ends));
    ends[0].ip = tenon_ip4_bytes(10, 0, 0, number);
    ends[1].ip = tenon_ip4_bytes(10, 0, 0, peer);
    ends[0].port = ends[1].port = HOST_PORT;
    return tenon_flow_hash(tenon_flow_key_microsoft, &ends[0], &ends[1]);
}

extern const struct end END;
const struct end END = { end_open, end_listen, end_connect, end_input, end_poll, end_take, end_done,
                         end_close, end_flow, TENON_WITH_ETHERNET, TENON_WITH_LISTEN, TENON_WITH_CONNECT };
