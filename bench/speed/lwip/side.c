/* SPDX-License-Identifier: MIT */
/* One copy of lwIP, an end of the wire, with the applications of both sides on its raw interface. Compiled once for
 * each end. */
#include "lwip.h"

#include "lwip/etharp.h"
#include "lwip/init.h"
#include "lwip/netif.h"
#include "lwip/tcp.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"
#include "netif/ethernet.h"

#include <string.h>

enum { TIMERS_US = 64, PIECE_MAX = 44 * 1460, QUEUE_ROOM = 64 };

static struct netif netif;
static int is_server;
static struct lwip_wire *in, *out;
static uint64_t timers_at;
static ip4_addr_t own, peer;
static struct udp_pcb *server_socket;

u32_t sys_now(void)
{
    return (u32_t)(lw.now_us / 1000);
}

/* ---- the interface -------------------------------------------------------------------------------- */

static struct lwip_packet *packet_get(void)
{
    struct lwip_packet *packet = lw.free;

    if (packet == NULL)
        return lwip_packet_more();
    lw.free = packet->next;
    return packet;
}

/* Headers to be copied: Ethernet, IPv4 without options, and what is behind them as far as it is not payload. */
static u16_t header_bytes(const struct pbuf *p)
{
    const u8_t *bytes = p->payload;
    u16_t n;

    if (p->len <= LWIP_HEAD || lw.conf.copy)
        return p->len;
    n = (u16_t)(bytes[23] == IP_PROTO_TCP ? SIZEOF_ETH_HDR + IP_HLEN + (bytes[46] >> 4) * 4
                                          : SIZEOF_ETH_HDR + IP_HLEN + UDP_HLEN);
    return LWIP_MIN(n, p->len);
}

static err_t wire_output(struct netif *from, struct pbuf *p)
{
    struct lwip_packet *packet = packet_get();
    u16_t head = header_bytes(p);

    (void)from;
    if (packet == NULL || out->head - out->tail == LWIP_RING)
        return ERR_MEM;
    packet->nparts = 0;
    packet->head_bytes = head;
    memcpy(packet->bytes, p->payload, head);
    if (p->len > head) {
        packet->parts[0].at = (u8_t *)p->payload + head;
        packet->parts[packet->nparts++].bytes = (u16_t)(p->len - head);
    }
    for (p = p->next; p != NULL; p = p->next) {
        if (lw.conf.copy) {
            memcpy(packet->bytes + packet->head_bytes, p->payload, p->len);
            packet->head_bytes = (u16_t)(packet->head_bytes + p->len);
            continue;
        }
        if (packet->nparts == LWIP_PARTS)
            return ERR_BUF;
        packet->parts[packet->nparts].at = p->payload;
        packet->parts[packet->nparts++].bytes = p->len;
    }
    out->ring[out->head++ % LWIP_RING] = packet;
    return ERR_OK;
}

static void piece_free(struct pbuf *p)
{
    struct lwip_packet *packet = ((struct lwip_piece *)(void *)p)->packet;

    if (--packet->live == 0) {
        packet->next = lw.free;
        lw.free = packet;
    }
}

static struct pbuf *piece_of(struct lwip_packet *packet, unsigned i, const void *at, u16_t bytes)
{
    struct lwip_piece *piece = &packet->pieces[i];
    struct pbuf_custom *custom = (struct pbuf_custom *)(void *)piece;

    piece->packet = packet;
    packet->live++;
    custom->custom_free_function = piece_free;
    return pbuf_alloced_custom(PBUF_RAW, bytes, PBUF_REF, custom, (void *)(size_t)at, bytes);
}

static void wire_input(struct lwip_packet *packet)
{
    struct pbuf *head, *last, *p;
    unsigned i;

    packet->live = 0;
    head = last = piece_of(packet, 0, packet->bytes, packet->head_bytes);
    for (i = 0; i < packet->nparts; i++) {
        p = piece_of(packet, i + 1, packet->parts[i].at, packet->parts[i].bytes);
        last->next = p;
        last = p;
        head->tot_len = (u16_t)(head->tot_len + p->len);
    }
    for (p = head; p->next != NULL; p = p->next)
        p->next->tot_len = (u16_t)(p->tot_len - p->len);
    if (netif.input(head, &netif) != ERR_OK)
        pbuf_free(head);
}

/* An empty ring begins anew, so that few packets need few slots. */
static struct lwip_packet *wire_take(void)
{
    struct lwip_packet *packet = in->ring[in->tail++ % LWIP_RING];

    if (in->tail == in->head) {
        in->passed += in->tail;
        in->tail = in->head = 0;
    }
    return packet;
}

static void udp_burst(void);

static void side_turn(void)
{
    uint32_t n = in->head - in->tail;

    if (lw.conf.app == SPEED_UDP_BULK && !is_server)
        udp_burst();
    for (n = n < lw.conf.batch ? n : lw.conf.batch; n > 0; n--)
        wire_input(wire_take());
    if (lw.now_us - timers_at >= TIMERS_US) {
        timers_at = lw.now_us;
        sys_check_timeouts();
    }
}

static err_t wire_begin(struct netif *which)
{
    which->hwaddr[0] = 2;
    which->hwaddr[5] = (u8_t)(is_server ? 2 : 1);
    which->hwaddr_len = ETH_HWADDR_LEN;
    which->mtu = (u16_t)(SPEED_MSS + 40);
    which->output = etharp_output;
    which->linkoutput = wire_output;
    which->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_LINK_UP;
    return ERR_OK;
}

/* ---- sending -------------------------------------------------------------------------------------- */

static const u8_t *data_at(struct lwip_end *end, uint32_t bytes)
{
    const u8_t *at;

    if (end->off + bytes > lw.data_bytes)
        end->off = 0;
    at = lw.data + end->off;
    end->off += bytes;
    return at;
}

static void send_message(struct lwip_end *end)
{
    if (tcp_write(end->pcb, data_at(end, lw.conf.message), (u16_t)lw.conf.message,
                  lw.conf.write ? TCP_WRITE_FLAG_COPY : 0) != ERR_OK)
        lw.count->failed++;
    tcp_output(end->pcb);
}

static void fill(struct lwip_end *end)
{
    struct tcp_pcb *pcb = end->pcb;
    const uint32_t n = lw.conf.message < PIECE_MAX ? lw.conf.message : PIECE_MAX;

    while (end->queued + n <= lw.window && tcp_sndbuf(pcb) >= n
           && tcp_sndqueuelen(pcb) + QUEUE_ROOM < TCP_SND_QUEUELEN) {
        /* More follows: copies of small messages go into one pbuf. */
        if (tcp_write(pcb, data_at(end, n), (u16_t)n, (lw.conf.write ? TCP_WRITE_FLAG_COPY : 0) | TCP_WRITE_FLAG_MORE)
            != ERR_OK)
            break;
        end->queued += n;
    }
    tcp_output(pcb);
}

/* ---- applications --------------------------------------------------------------------------------- */

static void on_error(void *arg, err_t error)
{
    (void)arg;
    (void)error;
    lw.count->failed++;
}

static err_t server_received(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
    struct lwip_end *end = arg;

    (void)error;
    if (p == NULL) {
        tcp_close(pcb);
        lw.count->closed++;
        return ERR_OK;
    }
    tcp_recved(pcb, p->tot_len);
    lw.count->bytes += p->tot_len;
    if (lw.conf.app != SPEED_BULK) {
        end->got += p->tot_len;
        if (end->got >= lw.conf.message) {
            end->got = 0;
            end->pcb = pcb;
            send_message(end);
        }
    }
    pbuf_free(p);
    return ERR_OK;
}

static err_t client_received(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t error)
{
    struct lwip_end *end = arg;

    (void)error;
    if (p == NULL) {
        lw.count->failed += lw.conf.app != SPEED_CONNECT;
        return ERR_OK;
    }
    tcp_recved(pcb, p->tot_len);
    end->got += p->tot_len;
    pbuf_free(p);
    if (end->got < lw.conf.message)
        return ERR_OK;
    end->got = 0;
    lw.count->rounds++;
    if (lw.conf.app == SPEED_CONNECT)
        tcp_close(pcb);
    else if (lw.conf.app == SPEED_LOAD)
        speed_answered((unsigned)(end - lw.clients));
    else
        send_message(end);
    return ERR_OK;
}

static err_t client_sent(void *arg, struct tcp_pcb *pcb, u16_t bytes)
{
    struct lwip_end *end = arg;

    (void)pcb;
    end->queued -= bytes;
    fill(end);
    return ERR_OK;
}

static err_t client_connected(void *arg, struct tcp_pcb *pcb, err_t error)
{
    (void)error;
    lw.count->opened++;
    lw.connecting--;
    tcp_nagle_disable(pcb);
    if (lw.conf.app == SPEED_CONNECT) {
        ((struct lwip_end *)arg)->pcb = pcb;
        send_message(arg);
    }
    return ERR_OK;
}

static err_t server_accepted(void *arg, struct tcp_pcb *pcb, err_t error)
{
    (void)arg;
    if (error != ERR_OK || pcb == NULL)
        return ERR_VAL;
    tcp_nagle_disable(pcb);
    tcp_err(pcb, on_error);
    if (lw.conf.app == SPEED_CONNECT || pcb->local_port != LWIP_PORT) {
        tcp_arg(pcb, &lw.servers[0]);
    } else {
        lw.servers[lw.accepted].pcb = pcb;
        tcp_arg(pcb, &lw.servers[lw.accepted++]);
    }
    tcp_recv(pcb, server_received);
    return ERR_OK;
}

/* ---- UDP ------------------------------------------------------------------------------------------ */

static void udp_message(struct lwip_end *end, struct udp_pcb *pcb, const ip4_addr_t *to, u16_t port)
{
    const u8_t *bytes = data_at(end, lw.conf.message);
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)lw.conf.message, lw.conf.message < 256 ? PBUF_RAM : PBUF_ROM);

    if (p == NULL) {
        lw.count->failed++;
        return;
    }
    if (lw.conf.message < 256)
        memcpy(p->payload, bytes, lw.conf.message);
    else
        p->payload = (void *)(size_t)bytes;
    if ((to ? udp_sendto(pcb, p, to, port) : udp_send(pcb, p)) != ERR_OK)
        lw.count->failed++;
    pbuf_free(p);
}

static void udp_at_server(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    (void)arg;
    lw.count->messages++;
    lw.count->bytes += p->tot_len;
    pbuf_free(p);
    if (lw.conf.app == SPEED_UDP_PING)
        udp_message(&lw.servers[0], pcb, from, port);
}

static void udp_at_client(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *from, u16_t port)
{
    (void)from;
    (void)port;
    pbuf_free(p);
    lw.count->rounds++;
    udp_message(arg, pcb, NULL, 0);
}

static void udp_burst(void)
{
    static unsigned next;
    unsigned i;

    for (i = 0; i < lw.conf.batch; i++) {
        next = next + 1 < lw.conf.connections ? next + 1 : 0;
        udp_message(&lw.clients[next], lw.clients[next].pcb, NULL, 0);
    }
}

static const char *open_udp(void)
{
    unsigned i;

    if (is_server) {
        server_socket = udp_new();
        if (server_socket == NULL || udp_bind(server_socket, IP_ADDR_ANY, LWIP_PORT) != ERR_OK)
            return "no UDP socket";
        udp_recv(server_socket, udp_at_server, NULL);
        return NULL;
    }
    for (i = 0; i < lw.conf.connections; i++) {
        struct udp_pcb *pcb = udp_new();

        if (pcb == NULL || udp_bind(pcb, IP_ADDR_ANY, (u16_t)(LWIP_FIRST_PORT + i)) != ERR_OK
            || udp_connect(pcb, &peer, LWIP_PORT) != ERR_OK)
            return "no UDP socket";
        lw.clients[i].pcb = pcb;
        udp_recv(pcb, udp_at_client, &lw.clients[i]);
    }
    return NULL;
}

/* ---- opening -------------------------------------------------------------------------------------- */

static int listen_at(u16_t port)
{
    struct tcp_pcb *pcb = tcp_new();

    if (pcb == NULL || tcp_bind(pcb, IP_ADDR_ANY, port) != ERR_OK)
        return -1;
    pcb = tcp_listen(pcb);
    if (pcb == NULL)
        return -1;
    tcp_accept(pcb, server_accepted);
    return 0;
}

static void checksums(void)
{
    u16_t flags = NETIF_CHECKSUM_ENABLE_ALL;

    if (lw.conf.tx_csum)
        flags &= (u16_t)~(NETIF_CHECKSUM_GEN_IP | NETIF_CHECKSUM_GEN_TCP | NETIF_CHECKSUM_GEN_UDP);
    if (lw.conf.rx_csum)
        flags &= (u16_t)~(NETIF_CHECKSUM_CHECK_IP | NETIF_CHECKSUM_CHECK_TCP | NETIF_CHECKSUM_CHECK_UDP);
    NETIF_SET_CHECKSUM_CTRL(&netif, flags);
}

static const char *side_open(int server)
{
    struct eth_addr mac = { { 2, 0, 0, 0, 0, (u8_t)(server ? 1 : 2) } };
    ip4_addr_t mask;

    is_server = server;
    in = &lw.wires[server ? 0 : 1];
    out = &lw.wires[server ? 1 : 0];
    timers_at = lw.now_us;
    lwip_init();
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&own, 10, 0, 0, (u8_t)(server ? 2 : 1));
    IP4_ADDR(&peer, 10, 0, 0, (u8_t)(server ? 1 : 2));
    if (netif_add(&netif, &own, &mask, IP4_ADDR_ANY4, NULL, wire_begin, ethernet_input) == NULL)
        return "netif_add() failed";
    netif_set_default(&netif);
    netif_set_up(&netif);
    checksums();
    if (etharp_add_static_entry(&peer, &mac) != ERR_OK)
        return "etharp_add_static_entry() failed";
    if (lw.conf.app == SPEED_UDP_PING || lw.conf.app == SPEED_UDP_BULK)
        return open_udp();
    if (server && (listen_at(LWIP_PORT) != 0 || listen_at(LWIP_IDLE_PORT) != 0))
        return "cannot listen";
    return NULL;
}

/* The port is set by hand: tcp_bind() would walk all connections to see whether it is free. */
static const char *side_connect(unsigned i, unsigned port)
{
    struct tcp_pcb *pcb = tcp_new();

    if (pcb == NULL)
        return "lwIP has no more connections";
    pcb->local_port = (u16_t)(LWIP_FIRST_PORT + i);
    tcp_err(pcb, on_error);
    tcp_recv(pcb, client_received);
    if (port == LWIP_PORT) {
        lw.clients[i].pcb = pcb;
        tcp_arg(pcb, &lw.clients[i]);
        if (lw.conf.app == SPEED_BULK)
            tcp_sent(pcb, client_sent);
    }
    lw.connecting++;
    return tcp_connect(pcb, &peer, (u16_t)port, client_connected) == ERR_OK ? NULL : "tcp_connect() failed";
}

static const char *side_connect_short(void)
{
    struct tcp_pcb *pcb = tcp_new();

    if (pcb == NULL)
        return "no more connections";
    tcp_arg(pcb, &lw.clients[0]);
    tcp_err(pcb, on_error);
    tcp_recv(pcb, client_received);
    lw.connecting++;
    return tcp_connect(pcb, &peer, LWIP_PORT, client_connected) == ERR_OK ? NULL : "tcp_connect() failed";
}

static void side_begin(void)
{
    unsigned i;

    for (i = 0; i < lw.conf.connections; i++) {
        if (lw.conf.app == SPEED_BULK)
            fill(&lw.clients[i]);
        if (lw.conf.app == SPEED_PING)
            send_message(&lw.clients[i]);
        if (lw.conf.app == SPEED_UDP_PING)
            udp_message(&lw.clients[i], lw.clients[i].pcb, NULL, 0);
    }
}

static void side_request(unsigned connection)
{
    send_message(&lw.clients[connection]);
}

static unsigned side_conn_bytes(void)
{
    return sizeof(struct tcp_pcb);
}

extern const struct lwip_side SPEED_SIDE;
const struct lwip_side SPEED_SIDE = { SPEED_MSS, side_open, side_connect, side_begin, side_turn, side_connect_short,
    side_request, side_conn_bytes };
