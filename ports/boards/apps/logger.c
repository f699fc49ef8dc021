/* SPDX-License-Identifier: MIT */
/* A data logger on TCP port 7100: who connects gets a thousand samples a second, 20 bytes each, all numbers
 * with the most significant byte first:
 *
 *      number (4), seconds (4), microseconds (4), x (2), y (2), z (2), samples lost before this one because the
 *      ring was full (2)
 *
 * The time is that of day, of 1970 and UTC, from an NTP server: that of which DHCP has told, or BOARD_TIME of the
 * build. Until one has answered the seconds are 0 and the microseconds those of the board's own counter.
 *
 * A sample is written where it will be sent from, into a packet that grows in the send ring until it is full
 * or 50 ms old: between the sensor and the device nothing is copied. */
#include "../common/app.h"
#include "../common/text.h"
#include "services/sntp.h"

enum { SAMPLE_BYTES = 20, SAMPLE_US = 1000, PACKET_US = 50000, BEHIND_MAX = 50 };

static struct client {
    int sk;
    int open;               /* 1: somebody is there */
    tenon_u8 *packet;       /* NULL: none is begun */
    unsigned room, filled;
    tenon_u32 begun_us;
    unsigned lost, lost_before;    /* samples since the last one; those before the packet */
} clients[BOARD_RINGS];
static tenon_u8 rings[BOARD_RINGS][BOARD_RING];

static struct sample {
    tenon_u32 number, s, us;
    int x, y, z;
} sample = {0, 0, 0, 12000, 0, 0};

static struct tenon_sntp sntp;

/* ---- the time of day ---------------------------------------------------------------------------------- */

static void time_changed(struct tenon_sntp *client, void *unused)
{
    (void)unused;
    if (client->stats[TENON_SNTP_STAT_ANSWERED] > 1)
        return;
    say("time ");
    say_number(client->base.s);
    say(" by NTP\n");
}

/* Whom to ask. @return 0: nobody is known */
static int time_server(struct tenon_ip *server)
{
    const struct tenon_dhcp_offer *lease = board_lease();

    if (lease != NULL && lease->nntp > 0) {
        *server = lease->ntp[0];
        return 1;
    }
    return board_has_address() && tenon_ip_parse(server, BOARD_TIME) > 0;
}

/* With another server the time is not known until that has answered. */
static tenon_u32 keep_time(tenon_u32 now_us)
{
    struct tenon_sntp_conf conf;

    __builtin_memset(&conf, 0, sizeof(conf));
    conf.changed = time_changed;
    if (time_server(&conf.server) && !tenon_ip_equal(&conf.server, &sntp.conf.server)) {
        tenon_sntp_stop(&sntp);
        (void)tenon_sntp_start(&sntp, tenon_sock_stack(socks), &conf, now_us);
    }
    return sntp.stack != NULL ? tenon_sntp_poll(&sntp, now_us) : 1000000;
}

/* When it was so many microseconds ago. */
static void stamp(tenon_u32 now_us, tenon_u32 ago_us)
{
    struct tenon_sntp_time day = {0, 0};

    sample.s = 0;
    sample.us = now_us - ago_us;
    if (sntp.stack == NULL || !tenon_sntp_now(&sntp, &day, now_us))
        return;
    if (day.us < ago_us) {    /* less than a second */
        day.s--;
        day.us += 1000000;
    }
    sample.s = day.s;
    sample.us = day.us - ago_us;
}

/* ---- the sensor: something that turns, and something that climbs ------------------------------------- */

static void measure(void)
{
    sample.number++;
    sample.x -= sample.y / 32;
    sample.y += sample.x / 32;
    sample.z = (int)(sample.number % 10000) - 5000;
}

static tenon_u8 *put(tenon_u8 *to, tenon_u32 value, unsigned bytes)
{
    while (bytes-- > 0)
        *to++ = (tenon_u8)(value >> 8 * bytes);
    return to;
}

static void write_sample(tenon_u8 *to, unsigned lost)
{
    to = put(to, sample.number, 4);
    to = put(to, sample.s, 4);
    to = put(to, sample.us, 4);
    to = put(to, (tenon_u32)sample.x, 2);
    to = put(to, (tenon_u32)sample.y, 2);
    to = put(to, (tenon_u32)sample.z, 2);
    (void)put(to, lost, 2);
}

/* ---- clients -------------------------------------------------------------------------------------------- */

static void listen(struct client *client)
{
    struct tenon_addr any;

    __builtin_memset(client, 0, sizeof(*client));
    __builtin_memset(&any, 0, sizeof(any));
    any.port = 7100;
    client->sk = tenon_sock_create(socks, &any, NULL, TENON_SOCK_TCP, 0);
    if (client->sk > 0)    /* the ring may still be on its way to the one before */
        (void)tenon_sock_set_sbuf(socks, client->sk, rings[client - clients], BOARD_RING);
}

/* A packet to write into, or none. */
static void begin_packet(struct client *client, tenon_u32 now_us)
{
    int n = tenon_sock_ask_sbuf(socks, client->sk, &client->packet);

    if (n == TENON_ENOMEM && tenon_sock_set_sbuf(socks, client->sk, rings[client - clients], BOARD_RING) == TENON_OK)
        n = tenon_sock_ask_sbuf(socks, client->sk, &client->packet);
    if (n < SAMPLE_BYTES) {
        client->packet = NULL;
        return;
    }
    client->room = (unsigned)n;
    client->filled = 0;
    client->begun_us = now_us;
}

/* What cannot be sent for want of memory is lost, with what its first sample told of. */
static void end_packet(struct client *client)
{
    unsigned lost = client->lost_before + client->filled / SAMPLE_BYTES;

    if (client->packet != NULL && client->filled > 0 &&
        tenon_sock_send(socks, client->sk, client->packet, client->filled, 0) != TENON_OK)
        client->lost = lost < 0xFFFF ? lost : 0xFFFF;
    client->packet = NULL;
}

static void log_sample(struct client *client, tenon_u32 now_us)
{
    if (!client->open)
        return;
    if (client->packet == NULL)
        begin_packet(client, now_us);
    if (client->packet == NULL) {
        client->lost += client->lost < 0xFFFF;
        return;
    }
    if (client->filled == 0)
        client->lost_before = client->lost;
    write_sample(client->packet + client->filled, client->lost);
    client->lost = 0;
    client->filled += SAMPLE_BYTES;
    if (client->room - client->filled < SAMPLE_BYTES || now_us - client->begun_us > PACKET_US)
        end_packet(client);
}

/* What clients say is thrown away; when they go, others may come. */
static void event(void *self, int sk, unsigned events)
{
    tenon_u8 *at;
    unsigned i;
    int n;

    (void)self;
    for (i = 0; i < BOARD_RINGS; i++) {
        struct client *client = &clients[i];

        if (client->sk <= 0)
            listen(client);
        if (client->sk == sk && (events & TENON_SOCK_OPENED))
            client->open = 1;
        while ((n = tenon_sock_ask_rbuf(socks, client->sk, &at)) > 0)
            (void)tenon_sock_read_done(socks, client->sk, at, (unsigned)n);
        if (n < 0 && client->sk > 0) {
            (void)tenon_sock_delete(socks, client->sk, 0);
            listen(client);
        }
    }
}

/* All samples that are due. */
static tenon_u32 turn(struct tenon_socks *unused, tenon_u32 now_us)
{
    static tenon_u32 last_us;
    const tenon_u32 wait = keep_time(now_us);
    unsigned i;
    int wrote = 0;

    (void)unused;
    if (now_us - last_us > SAMPLE_US * BEHIND_MAX)
        last_us = now_us - SAMPLE_US;
    for (; now_us - last_us >= SAMPLE_US; last_us += SAMPLE_US) {
        measure();
        stamp(now_us, now_us - last_us - SAMPLE_US);
        for (i = 0; i < BOARD_RINGS; i++)
            log_sample(&clients[i], now_us);
        wrote = 1;
    }
    if (wrote)
        return 0;    /* what was sent leaves with the next poll */
    return wait < SAMPLE_US - (now_us - last_us) ? wait : SAMPLE_US - (now_us - last_us);
}

static int start(struct tenon_socks *unused)
{
    (void)unused;
    event(NULL, 0, 0);
    return clients[0].sk > 0 ? TENON_OK : clients[0].sk;
}

const struct app app = {"logger", NULL, start, event, turn, NULL};
