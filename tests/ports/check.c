/* SPDX-License-Identifier: MIT */
/* What every port must be able to do, whatever it is:
 *
 *     tenon-port-check [OPTION...] PORT PORT          two ports that are the ends of one cable; both dpdk without a
 *                                                     name: one that it makes, of two net_ring
 *
 *     --queues N,M   the first port has N queues, with an instance at each, and the second M; ,M may be left away
 *     --largest N    datagrams of up to so many bytes: the cable loses larger ones
 *     --bytes N      of the large transfers, both ways; default 8 million
 *     --flap CMD     a command that takes the link down and up again, run in the middle of a transfer
 *     --late         only this: clients at the first port send as much as is taken before they read, and the second has
 *                    not got the memory for that (of a megabyte, memory=1)
 *     --once         it cannot be closed and opened again while the other end stays
 *     --lossy        the cable may lose frames of datagrams: only TCP has to be complete
 *     --without LIST the instances are not told that their ports can do this: csum (then nothing is cut either), tso4,
 *                    tso6, uso, gather; which all of them can
 *
 * It prints a line for each kind of exchange, and ends with 1 if one has failed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node.h"
#include "ports/common/test/payload.h"

enum {
    PIECE = 99991, /* of what is sent; odd, as the places where they meet are then */
    LIMIT_MS = 30000,
    MANY = 100,
    MANY_BYTES = 20000,
    LATE = 4,
    LATE_BYTES = 3 << 20, /* more than windows and queues hold */
    LATE_MS = 300, /* without anything that moves ... */
    LATE_MS_MAX = 3000, /* ... or in all */
    PINGS = 300,
    PINGS_AFTER = 20, /* of what may have done harm */
    BAD_FRAMES = 3000,
    FLOOD = 20000,
    FLOOD_MOST = 16 * FLOOD,
    QUIET_MS = 30,
    BAD_BYTES = 65535,
    ASKING_PORT = 4000,
    FLAP_BYTES_MAX = 64 << 20, /* enough for a link to go in the middle */
    PIECES_MAX = 60 /* of a datagram; struct tenon_conf has a limit */
};

static struct {
    const char *ports[2], *flap;
    unsigned queues[2];
    tenon_u32 bytes, largest;
    int lossy, once, late;
} options = { { NULL, NULL }, NULL, { 1, 1 }, 8000000, 65535, 0, 0, 0 };

static struct check check = { .deaf = -1 };
static unsigned done; /* connections that have ended, and nobody has waited for yet */
static unsigned long wrong;

/* ---- a connection: what is sent comes back --------------------------------------------------------- */

/* Memory that no port has ever seen. As soon as its last owner has let go other bytes lie in it: who reads it later
 * than that sends these. */
struct piece {
    struct tenon_buf buf;
    struct piece *next;
    tenon_u8 bytes[PIECE];
};

static struct piece *free_pieces;
static unsigned pieces_out;

struct client {
    struct tenon_tcp *conn;
    unsigned stream; /* its own bytes: payload.h */
    tenon_u32 total, at_once, sent, received;
    struct piece *piece; /* what is sent next */
    tenon_u32 piece_end; /* its last byte's number, and 1 */
    int written, keeps, finished; /* keeps: whatever it receives, until the end */
    int late; /* it keeps what it receives, and does not call it consumed */
    tenon_u32 unread;
    int is_left; /* the other end will know nothing of it any more */
    struct tenon_span *kept;
    unsigned nkept;
};

static tenon_u8 datagram[65536];
static struct tenon_buf own = { datagram, sizeof datagram, 1, NULL };

static void piece_release(struct tenon_buf *buf)
{
    struct piece *piece = TENON_CONTAINER(buf, struct piece, buf);

    piece->next = free_pieces;
    free_pieces = piece;
    pieces_out--;
}

static void piece_put(struct client *client)
{
    if (client->piece != NULL)
        tenon_buf_put(&client->piece->buf);
    client->piece = NULL;
}

/* The next piece of what it sends; the one before stays until it has arrived. */
static void piece_get(struct client *client)
{
    const tenon_u32 left = client->total - client->sent, n = left < PIECE ? left : PIECE;
    struct piece *piece = free_pieces;

    piece_put(client);
    if (piece != NULL)
        free_pieces = piece->next;
    else
        piece = malloc(sizeof *piece);
    piece->buf = (struct tenon_buf){ piece->bytes, PIECE, 1, piece_release };
    payload_fill(piece->bytes, client->stream, client->sent, n);
    client->piece = piece;
    client->piece_end = client->sent + n;
    pieces_out++;
}

/* @return how much was taken */
static tenon_u32 client_send_some(struct client *client)
{
    const tenon_u32 most = client->at_once - (client->sent - client->received), room = tenon_tcp_room(client->conn);
    struct tenon_span span;
    tenon_i32 n;

    if (client->piece == NULL || client->sent == client->piece_end)
        piece_get(client);
    span.buf = &client->piece->buf;
    span.len = client->piece_end - client->sent;
    span.off = client->sent % PIECE;
    span.len = span.len < most ? span.len : most;
    span.len = span.len < room ? span.len : room;
    if (span.len == 0)
        return 0;
    if (!client->written)
        return tenon_tcp_send(client->conn, &span) == TENON_OK ? span.len : 0;
    n = tenon_tcp_write(client->conn, client->piece->bytes + span.off, span.len);
    return n > 0 ? (tenon_u32)n : 0;
}

static void client_send(struct client *client)
{
    tenon_u32 n = 1;

    while (n > 0 && client->sent < client->total && client->sent - client->received < client->at_once) {
        n = client_send_some(client);
        client->sent += n;
    }
    if (client->sent == client->total && !client->finished)
        client->finished = tenon_tcp_finish(client->conn) == TENON_OK;
}

static void client_opened(struct tenon_tcp *conn, void *app)
{
    struct client *client = app;

    client->conn = conn;
    client_send(client);
}

static void client_keep(struct client *client, const struct tenon_span *span)
{
    client->kept = realloc(client->kept, (client->nkept + 1) * sizeof *client->kept);
    client->kept[client->nkept++] = *span;
    tenon_buf_ref(span->buf);
}

static void client_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct client *client = app;

    for (unsigned i = 0; i < n; i++) {
        wrong += !payload_is(tenon_span_data(&spans[i]), client->stream, client->received, spans[i].len);
        client->received += spans[i].len;
        if (client->keeps || client->late)
            client_keep(client, &spans[i]);
        if (client->late)
            client->unread += spans[i].len;
        else
            tenon_tcp_consumed(conn, spans[i].len);
    }
    client_send(client);
}

static void client_acked(struct tenon_tcp *conn, void *app, tenon_u32 bytes)
{
    (void)conn, (void)bytes;
    client_send(app);
}

static void client_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct client *client = app;

    (void)conn;
    wrong += client->is_left ? why != TENON_ERESET : why != TENON_OK || client->received != client->total;
    if (why != TENON_OK && !client->is_left)
        fprintf(stderr, "a connection ended: %s\n", tenon_error_text(why));
    client->conn = NULL;
    done++;
}

static const struct tenon_tcp_events client_events = { .opened = client_opened, .received = client_received,
    .acked = client_acked, .closed = client_closed };

static struct client *connect_to_other(struct node *node, int v6, tenon_u32 total)
{
    struct tenon_addr to = { .ip = check.sides[!node->side->number].ip[v6], .port = ECHO_PORT };
    struct client *client = calloc(1, sizeof *client);
    static unsigned streams;

    client->stream = ++streams;
    client->total = total;
    client->at_once = 0x7FFFFFFF;
    if (tenon_tcp_connect(node_enter(node), &client->conn, NULL, &to, &client_events, client) != TENON_OK)
        wrong++;
    node_wake(node);
    return client;
}

static void client_let_go(struct client *client)
{
    while (client->nkept > 0)
        tenon_buf_put(client->kept[--client->nkept].buf);
}

static void client_free(struct client *client)
{
    client_let_go(client);
    piece_put(client);
    free(client->kept);
    free(client);
}

/* Rounds until *count is at least `want`. @return 0; -1: it took too long */
static int check_until(const unsigned *count, unsigned want, unsigned limit_ms)
{
    const unsigned long began = check_ms();

    while (*count < want) {
        check_turn(&check);
        if (check_ms() - began > limit_ms)
            return -1;
    }
    return 0;
}

/* Those that have just been begun, and no others, end. @return 0; -1: it took too long */
static int wait_for(unsigned clients, unsigned limit_ms)
{
    const int status = check_until(&done, clients, limit_ms);

    done -= status == 0 ? clients : 0;
    return status;
}

static int has_ip6(void)
{
    struct tenon_netif_conf conf;

    node_netif_conf(&check.sides[0].nodes[0], &conf);
    return conf.mtu >= 1280;
}

static unsigned mtu_of(unsigned side)
{
    struct tenon_netif_conf conf;

    node_netif_conf(&check.sides[side].nodes[0], &conf);
    return conf.mtu;
}

static unsigned long side_stat(unsigned side, enum tenon_stat stat)
{
    unsigned long sum = 0;

    for (unsigned i = 0; i < check.sides[side].queues; i++)
        sum += tenon_stat(check.sides[side].nodes[i].stack, stat);
    return sum;
}

/* ---- exchanges: each leaves `wrong` as it is, and waits for all that it has begun ------------------- */

/* One that has a direction, both ways. */
static int both_ways(int (*exchange)(unsigned to))
{
    for (unsigned to = 0; to < 2; to++) {
        if (exchange(to) == 0)
            continue;
        fprintf(stderr, "to %s:\n", check.sides[to].name);
        return -1;
    }
    return 0;
}

/* One byte there and back, from each side, so many times. */
static int pings(unsigned times)
{
    struct client *clients[2 * QUEUES_MAX];
    unsigned n = 0;

    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < check.sides[s].queues; i++, n++) {
            clients[n] = connect_to_other(&check.sides[s].nodes[i], has_ip6() && i % 2, times);
            clients[n]->at_once = 1;
            clients[n]->written = 1;
        }
    if (wait_for(n, LIMIT_MS) != 0)
        return -1;
    while (n > 0)
        client_free(clients[--n]);
    return 0;
}

static int ping_pong(void)
{
    return pings(PINGS);
}

/* What is still on its way, sent again perhaps, arrives. Where fragments may be lost, the others wait for
 * them for longer than we do. @return 0, or -1: somebody keeps it */
static int our_memory_is_free(void)
{
    const unsigned long began = check_ms();

    if (options.lossy)
        return 0;
    while (own.refs + pieces_out > 1 && check_ms() - began < 2000)
        check_turn(&check);
    return own.refs + pieces_out == 1 ? 0 : -1;
}

/* A cable damages nothing: a checksum that is wrong was made so. */
static int sums_are_right(unsigned long before)
{
    const unsigned long now = side_stat(0, TENON_STAT_TCP_BAD_CSUM) + side_stat(1, TENON_STAT_TCP_BAD_CSUM);

    if (now != before)
        fprintf(stderr, "%lu segments had a wrong checksum\n", now - before);
    return now == before ? 0 : -1;
}

static int large(void)
{
    const unsigned long bad = side_stat(0, TENON_STAT_TCP_BAD_CSUM) + side_stat(1, TENON_STAT_TCP_BAD_CSUM);
    struct client *clients[4];
    unsigned n = 0;

    for (unsigned s = 0; s < 2; s++)
        for (int v6 = 0; v6 <= has_ip6(); v6++)
            clients[n++] = connect_to_other(&check.sides[s].nodes[0], v6, options.bytes / 2);
    if (wait_for(n, LIMIT_MS + options.bytes / 10000) != 0)
        return -1;
    while (n > 0)
        client_free(clients[--n]);
    return sums_are_right(bad) != 0 ? -1 : our_memory_is_free();
}

static int many(void)
{
    static struct client *clients[2 * MANY];
    unsigned n = 0;

    for (; n < 2 * MANY; n++) {
        struct side *side = &check.sides[n % 2];

        clients[n] = connect_to_other(&side->nodes[n / 2 % side->queues], has_ip6() && n % 4 > 1, MANY_BYTES + n);
        clients[n]->written = n % 3 == 0;
    }
    if (wait_for(n, LIMIT_MS) != 0)
        return -1;
    while (n > 0)
        client_free(clients[--n]);
    return 0;
}

/* The application of a side keeps all that it gets, in the buffers in which it came, and reads it in the end. */
static int keeping_at(unsigned to)
{
    struct client *client = connect_to_other(&check.sides[to].nodes[0], 0, 200000);
    tenon_u32 at = 0;

    client->keeps = 1;
    if (wait_for(1, LIMIT_MS) != 0 || pings(PINGS_AFTER) != 0)
        return -1;
    for (unsigned i = 0; i < client->nkept; i++) {
        wrong += !payload_is(tenon_span_data(&client->kept[i]), client->stream, at, client->kept[i].len);
        at += client->kept[i].len;
    }
    client_free(client);
    return at == 200000 ? 0 : -1;
}

static int keeping(void)
{
    return both_ways(keeping_at);
}

/* Turns until nothing has moved for a while, or hardly anything: one that holds nothing gets a segment at a time. */
static void let_them_send(struct client *const *clients, unsigned n)
{
    const unsigned long began = check_ms();
    unsigned long since = began;
    tenon_u32 before = 0;

    while (check_ms() - since < LATE_MS && check_ms() - began < LATE_MS_MAX) {
        tenon_u32 now = 0;

        check_turn(&check);
        for (unsigned i = 0; i < n; i++)
            now += clients[i]->sent + clients[i]->received;
        if (now != before)
            since = check_ms();
        before = now;
    }
}

/* Clients that read nothing before nobody takes any more. Meanwhile the echo keeps what it has no room to send, and has
 * to hear when there is some, though nearly all memory of its port is in use; those who read are served. */
static int late_readers(void)
{
    struct client *clients[LATE];
    unsigned n;

    for (n = 0; n < LATE; n++) {
        clients[n] = connect_to_other(&check.sides[0].nodes[0], 0, LATE_BYTES + n);
        clients[n]->late = 1;
    }
    let_them_send(clients, n);
    if (side_stat(1, TENON_STAT_RX_NOT_KEPT) == 0) {
        fputs("there was memory for all of it: give the second port less\n", stderr);
        return -1;
    }
    if (pings(PINGS_AFTER) != 0) {
        fputs("others are not served\n", stderr);
        return -1;
    }
    for (unsigned i = 0; i < n; i++) {
        clients[i]->late = 0;
        client_let_go(clients[i]);
        if (clients[i]->conn != NULL)
            tenon_tcp_consumed(clients[i]->conn, clients[i]->unread);
    }
    if (wait_for(n, LIMIT_MS) != 0)
        return -1;
    while (n > 0)
        client_free(clients[--n]);
    return 0;
}

/* ---- datagrams ---------------------------------------------------------------------------------------- */

static unsigned datagrams;

static void answer_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                            const struct tenon_span *spans, unsigned n)
{
    const tenon_u32 *size = app;
    tenon_u32 at = 0;

    (void)sock;
    for (unsigned i = 0; i < n; at += spans[i++].len)
        wrong += memcmp(tenon_span_data(&spans[i]), datagram + at, spans[i].len) != 0;
    wrong += info->bytes != *size;
    datagrams++;
}

static const struct tenon_udp_events answer_events = { answer_received, NULL };

/* The answer may come to any queue of the side that has asked: all have a socket of the same port. */
static int asking_open(struct side *side, struct tenon_udp **socks, tenon_u32 *size)
{
    const struct tenon_addr at = { .port = ASKING_PORT };
    int status = 0;

    for (unsigned i = 0; i < side->queues; i++)
        if (tenon_udp_open(node_enter(&side->nodes[i]), &socks[i], &answer_events, size) != TENON_OK ||
            tenon_udp_bind(socks[i], &at) != TENON_OK)
            status = -1;
    return status;
}

/* A datagram that is lost may be sent again where the cable may lose. */
static int one_datagram(struct node *node, int v6, tenon_u32 size)
{
    const struct tenon_addr to = { .ip = check.sides[!node->side->number].ip[v6], .port = ECHO_PORT };
    const struct tenon_span span = { &own, 0, size };
    struct tenon_udp *socks[QUEUES_MAX];
    int got = -1, said = 0;

    if (asking_open(node->side, socks, &size) != 0)
        return -1;
    for (unsigned tries = 0; tries < (options.lossy ? 20U : 3U) && got != 0; tries++) {
        datagrams = 0;
        (void)node_enter(node);
        said = tenon_udp_send(socks[node->number], &to, &span, 1);
        node_wake(node);
        if (said == TENON_OK)
            got = check_until(&datagrams, 1, 1000);
    }
    for (unsigned i = 0; i < node->side->queues; i++)
        tenon_udp_close(socks[i]);
    if (got != 0)
        fprintf(stderr, "a datagram of %lu bytes over IPv%d from %s was not answered: %s\n", (unsigned long)size,
                v6 ? 6 : 4, node->side->name, tenon_error_text(said));
    return got;
}

static int datagrams_of_all_sizes(void)
{
    for (unsigned s = 0; s < 2; s++) {
        const unsigned mtu = mtu_of(s);
        const tenon_u32 sizes[] = { 0, 1, 17, 18, 19, 512, mtu - 49, mtu - 48, mtu - 29, mtu - 28, mtu - 27, 2000, 9000,
                                    65487, 65507, 65527 };

        for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            if (sizes[i] > PIECES_MAX * (mtu - 56) || sizes[i] > options.largest)
                continue;
            for (int v6 = sizes[i] > 65507; v6 <= has_ip6(); v6++)
                if (one_datagram(&check.sides[s].nodes[i % check.sides[s].queues], v6, sizes[i]) != 0)
                    return -1;
        }
    }
    return 0;
}

/* What the queues hold is taken: no SYN is lost, and waits for a second. */
static void take_all(unsigned side)
{
    unsigned long before, began;

    do {
        before = side_stat(side, TENON_STAT_UDP_NO_PORT);
        began = check_ms();
        for (unsigned turns = 0; turns < 10 || check_ms() - began < QUIET_MS; turns++)
            check_turn(&check);
    } while (side_stat(side, TENON_STAT_UDP_NO_PORT) != before);
}

/* So many datagrams to an end that does not listen, and what is there of them taken.
 * @return whether something was full: refused, left waiting or lost; -1: failed */
static int flood_with(unsigned side, unsigned n)
{
    struct node *node = &check.sides[!side].nodes[0];
    const struct tenon_addr to = { .ip = check.sides[side].ip[0], .port = 9 };
    const unsigned long arrived = side_stat(side, TENON_STAT_UDP_NO_PORT), busy = side_stat(!side, TENON_STAT_TX_BUSY);
    unsigned refused = 0;
    struct tenon_udp *sock;

    if (tenon_udp_open(node_enter(node), &sock, &answer_events, NULL) != TENON_OK)
        return -1;
    check.deaf = (int)side;
    for (unsigned i = 0; i < n; i++) {
        const struct tenon_span span = { &own, 0, i % 2 ? 18 : mtu_of(!side) - 28 };

        refused += tenon_udp_send(sock, &to, &span, 1) != TENON_OK;
        if (i % 64 == 0)
            node_poll(node);
    }
    check.deaf = -1;
    tenon_udp_close(sock);
    take_all(side);
    return refused > 0 || side_stat(!side, TENON_STAT_TX_BUSY) != busy ||
           side_stat(side, TENON_STAT_UDP_NO_PORT) - arrived < n;
}

/* More than the queues hold: what is lost is lost, and nothing else is. How much they hold is the kernel's affair, so
 * that it is tried with more and more. If nothing is ever full there is no queue, and this exchange shows nothing. */
static int flood_of(unsigned side)
{
    int full = 0;

    for (unsigned n = FLOOD; full == 0 && n <= FLOOD_MOST; n *= 2) {
        full = flood_with(side, n);
        if (!node_queues_end)
            break;
    }
    if (full < 0)
        return -1;
    if (node_queues_end && !full) {
        fprintf(stderr, "all of %u datagrams have arrived, and nothing was ever full\n", FLOOD_MOST);
        return -1;
    }
    return pings(PINGS_AFTER);
}

static int flood(void)
{
    return both_ways(flood_of);
}

/* ---- what makes no sense ------------------------------------------------------------------------------ */

static unsigned long chance = 1;

static unsigned random_below(unsigned n)
{
    chance = (chance * 1103515245UL + 12345UL) & 0x7FFFFFFFUL;
    return (unsigned)(chance >> 8) % n;
}

/* Shorter than what every frame has, or longer than the other end takes, by less than would not fit the sender's own
 * buffers: drivers are told what they may get, and a net_memif damages its rings when it gets more. */
static unsigned bad_length(unsigned mtu)
{
    const unsigned longer = 14 + mtu + 1 + random_below(40);

    if (random_below(2))
        return 1 + random_below(13);
    return longer < BAD_BYTES ? longer : BAD_BYTES;
}

/* A packet of some kind that is nearly right, to a side. @return its bytes */
static unsigned bad_frame(unsigned side, tenon_u8 *frame)
{
    static const tenon_u8 kinds[][16] = { { 0x08, 0x00, 0x45 }, { 0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1 },
                                          { 0x86, 0xDD, 0x60 }, { 0x81, 0, 0, 5, 8, 0, 0x45 },
                                          { 0x08, 0x00, 0x4F }, { 0x88, 0xA8, 1, 1, 0x86, 0xDD } };
    const tenon_u8 ip[] = { 0x45, 0, 0, 60, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 77, 0, (tenon_u8)(2 - side),
                            10, 77, 0, (tenon_u8)(1 + side) };
    struct tenon_netif_conf to;
    unsigned n = 14 + random_below(200);

    for (unsigned i = 0; i < 214; i++)
        frame[i] = (tenon_u8)random_below(256);
    node_netif_conf(&check.sides[side].nodes[0], &to);
    memcpy(frame, to.mac, 6);
    memset(frame + 6, 2, 6);
    memcpy(frame + 12, kinds[random_below(6)], 16);
    if (frame[12] == 8 && frame[13] == 0) {
        memcpy(frame + 14, ip, sizeof ip);
        frame[14 + random_below(20)] = (tenon_u8)random_below(256);
        frame[23] = (tenon_u8)(random_below(2) ? 6 : 17);
    }
    if (random_below(8) == 0)
        return bad_length(to.mtu);
    return random_below(8) == 0 ? 14 + random_below(6) : n;
}

static int nonsense_to(unsigned side)
{
    static tenon_u8 bytes[BAD_BYTES];
    struct tenon_buf buf = { bytes, sizeof bytes, 1, NULL };
    struct node *from = &check.sides[!side].nodes[0];
    unsigned sent = 0;

    for (unsigned i = 0; i < BAD_FRAMES; i++) {
        const struct tenon_span span = { &buf, 0, bad_frame(side, bytes) };
        const struct tenon_frame frame = { .spans = &span, .nspans = 1 };

        sent += node_transmit(from, &frame);
        for (unsigned turns = 0; turns < 20 && buf.refs > 1; turns++)
            check_turn(&check); /* until the port has sent it */
        if (i % 8 == 0)
            check_turn(&check);
    }
    if (sent == 0 || buf.refs != 1)
        return -1;
    return pings(PINGS_AFTER);
}

static int nonsense(void)
{
    return both_ways(nonsense_to);
}

/* ---- down and up ---------------------------------------------------------------------------------------- */

static int flapping(void)
{
    const tenon_u32 bytes = options.bytes < FLAP_BYTES_MAX ? options.bytes : FLAP_BYTES_MAX;
    struct client *client = connect_to_other(&check.sides[0].nodes[0], 0, bytes);
    struct client *other = connect_to_other(&check.sides[1].nodes[0], 0, bytes);

    if (check_until(&client->received, bytes / 8, LIMIT_MS) != 0 ||
        check_flap(&check, options.flap) != 0 || wait_for(2, 2 * LIMIT_MS) != 0)
        return -1;
    client_free(client);
    client_free(other);
    return 0;
}

/* One end is closed and opened again, with a connection open; the other end finds out. */
static int reopening_of(unsigned number)
{
    struct client *left = connect_to_other(&check.sides[!number].nodes[0], 0, options.bytes);
    struct side *side = &check.sides[number];
    const unsigned queues = side->queues;
    const char *name = side->name;

    if (check_until(&left->received, options.bytes / 8, LIMIT_MS) != 0)
        return -1;
    left->is_left = 1;
    side_close(side);
    if (side_open(side, number, name, queues) != 0 || wait_for(1, LIMIT_MS) != 0)
        return -1;
    client_free(left);
    return pings(PINGS_AFTER);
}

static int reopening(void)
{
    return both_ways(reopening_of);
}

/* ---- the program ------------------------------------------------------------------------------------------ */

/* What may tell why something has failed. */
static void print_counters(void)
{
    for (unsigned s = 0; s < 2; s++)
        for (unsigned i = 0; i < check.sides[s].queues; i++) {
            const struct node *node = &check.sides[s].nodes[i];

            fprintf(stderr, "%s, queue %u:", check.sides[s].name, i);
            for (unsigned stat = 0; stat < TENON_STAT_COUNT && node->stack != NULL; stat++)
                if (tenon_stat(node->stack, (enum tenon_stat)stat) > 0)
                    fprintf(stderr, " %s=%lu", tenon_stat_name((enum tenon_stat)stat),
                            (unsigned long)tenon_stat(node->stack, (enum tenon_stat)stat));
            fputc('\n', stderr);
        }
}

static int run(const char *what, int (*exchange)(void))
{
    const unsigned long began = check_ms();
    const unsigned long before = wrong;
    int status;

    status = exchange();
    printf("%-6s %6.2f s  %s\n", status == 0 && wrong == before && done == 0 ? "ok" : "FAILED",
           (double)(check_ms() - began) / 1e3, what);
    fflush(stdout);
    if (status == 0 && wrong == before && done == 0)
        return 0;
    print_counters();
    return 1;
}

static int run_all(void)
{
    if (options.late)
        return run("clients that read late are answered", late_readers);
    if (run("a byte there and back, many times", ping_pong) || run("datagrams of all sizes", datagrams_of_all_sizes) ||
        run("large transfers in all directions at once", large) || run("many connections", many) ||
        run("received buffers are kept", keeping) || run("frames that make no sense", nonsense) ||
        run("more datagrams than queues hold", flood))
        return 1;
    if (options.flap != NULL && run("the link goes down and comes back", flapping))
        return 1;
    return options.once ? 0 : run("a port is closed and opened again", reopening);
}

static int usage(void)
{
    fprintf(stderr, "usage: tenon-port-check [--queues N[,M]] [--largest N] [--bytes N] [--flap CMD] [--late] "
                    "[--once] [--lossy] [--without LIST] PORT PORT\n");
    return 2;
}

static int read_without(const char *list)
{
    static const char *const names[] = { "csum", "tso4", "tso6", "uso", "gather" };
    static const unsigned caps[] = { TENON_CAP_TX_CSUM, TENON_CAP_TSO4, TENON_CAP_TSO6, TENON_CAP_USO, 0 };

    for (size_t n; *list != 0; list += n + (list[n] == ',')) {
        unsigned i = 0;

        n = strcspn(list, ",");
        while (i < 5 && (strlen(names[i]) != n || memcmp(names[i], list, n) != 0))
            i++;
        if (i == 5)
            return -1;
        without.caps |= caps[i];
        without.gather |= i == 4;
    }
    return 0;
}

static int read_flag(const char *word)
{
    if (strcmp(word, "--lossy") == 0)
        options.lossy = 1;
    else if (strcmp(word, "--once") == 0)
        options.once = 1;
    else if (strcmp(word, "--late") == 0)
        options.late = 1;
    else
        return -1;
    return 0;
}

static int read_options(int argc, char **argv)
{
    unsigned n = 0;

    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (read_flag(argv[i]) == 0)
            continue;
        if (argv[i][0] != '-' && n < 2) {
            options.ports[n++] = argv[i];
            continue;
        }
        if (value == NULL)
            return -1;
        if (strcmp(argv[i], "--queues") == 0)
            (void)sscanf(value, "%u,%u", &options.queues[0], &options.queues[1]);
        else if (strcmp(argv[i], "--bytes") == 0)
            options.bytes = (tenon_u32)atol(value);
        else if (strcmp(argv[i], "--largest") == 0)
            options.largest = (tenon_u32)atol(value);
        else if (strcmp(argv[i], "--flap") == 0)
            options.flap = value;
        else if (strcmp(argv[i], "--without") != 0 || read_without(value) != 0)
            return -1;
        i++;
    }
    for (unsigned s = 0; s < 2; s++)
        if (options.queues[s] < 1 || options.queues[s] > QUEUES_MAX)
            return -1;
    return n == 2 ? 0 : -1;
}

int main(int argc, char **argv)
{
    int status;

    if (read_options(argc, argv) != 0)
        return usage();
    signal(SIGPIPE, SIG_IGN); /* ports over sockets of libraries */
    payload_fill(datagram, 0, 0, sizeof datagram);
    status = side_open(&check.sides[0], 0, options.ports[0], options.queues[0]) != 0 ||
             side_open(&check.sides[1], 1, options.ports[1], options.queues[1]) != 0;
    if (status == 0)
        status = run_all();
    side_close(&check.sides[0]);
    side_close(&check.sides[1]);
    return status;
}
