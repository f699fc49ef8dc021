/* SPDX-License-Identifier: MIT */
/* A TFTP server (RFC 1350, RFC 2347 to 2349): each transfer from a port of its own. */
#include "history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PORT = 69, PLAIN_BYTES = 512, BYTES_MAX = 1500, AGAIN_US = SECOND, TRIES = 8 };
enum opcode { READ = 1, DATA = 3, ACKED = 4, ERROR = 5, AGREED = 6 };
enum option { OPTION_BLOCK = 1, OPTION_SIZE = 2, OPTION_TIME = 4 };

static void end(struct transfer *t)
{
    if (t->sock != NULL)
        tenon_udp_close(t->sock);
    memset(t, 0, sizeof(*t));
}

static unsigned put_option(tenon_u8 *to, const char *name, uint32_t value)
{
    return (unsigned)sprintf((char *)to, "%s", name) + 1 +
           (unsigned)sprintf((char *)to + strlen(name) + 1, "%u", value) + 1;
}

static unsigned put_agreement(const struct transfer *t, tenon_u8 *to)
{
    unsigned n = 2;

    to[1] = AGREED;
    if (t->agreed & OPTION_BLOCK)
        n += put_option(to + n, "blksize", t->block_bytes);
    if (t->agreed & OPTION_SIZE)
        n += put_option(to + n, "tsize", t->size);
    if (t->agreed & OPTION_TIME)
        n += put_option(to + n, "timeout", 2);
    return n;
}

static unsigned put_block(const struct transfer *t, tenon_u8 *to)
{
    const uint32_t from = (t->block - 1) * t->block_bytes;
    const uint32_t n = t->size - from < t->block_bytes ? t->size - from : t->block_bytes;
    uint32_t i;

    to[1] = DATA;
    to[2] = (tenon_u8)(t->block >> 8);
    to[3] = (tenon_u8)t->block;
    for (i = 0; i < n; i++)
        to[4 + i] = truth_file_byte(t->file, from + i);
    return 4 + n;
}

static void send(struct transfer *t)
{
    tenon_u8 bytes[BYTES_MAX];
    unsigned n;

    memset(bytes, 0, 4);
    n = t->block == 0 ? put_agreement(t, bytes) : put_block(t, bytes);
    (void)tenon_udp_write(t->sock, &t->to, bytes, n);
    t->again_us = history_now(t->server->h) + AGAIN_US;
}

static int is_last(const struct transfer *t)
{
    return t->block > 0 && t->size < t->block * t->block_bytes;
}

static void acked(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info, const struct tenon_span *spans,
                  unsigned n)
{
    struct transfer *t = app;
    tenon_u8 bytes[BYTES_MAX];
    const uint32_t got = server_gather(bytes, sizeof(bytes), spans, n);

    (void)sock;
    if (server_is_silent(t->server) || got < 4 || info->from.port != t->to.port ||
        !tenon_ip_equal(&info->from.ip, &t->to.ip))
        return;
    if (bytes[1] == ERROR)
        t->tries = TRIES;    /* it ends at the next tick */
    if (bytes[1] != ACKED || (unsigned)(bytes[2] << 8 | bytes[3]) != (t->block & 0xFFFF))
        return;
    if (is_last(t)) {
        t->tries = TRIES;
        return;
    }
    t->block++;
    t->tries = 0;
    send(t);
}

static void failed(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    (void)sock, (void)app, (void)to, (void)error;
}

/* Options are pairs of words, in any case of letters. */
static void read_options(struct transfer *t, const char *at, const char *const over)
{
    while (at < over) {
        const char *value = at + strlen(at) + 1;

        if (value >= over)
            return;
        if (strcmp(at, "blksize") == 0) {
            t->block_bytes = (uint32_t)strtoul(value, NULL, 10);
            t->agreed |= OPTION_BLOCK;
        }
        if (strcmp(at, "tsize") == 0 && t->server->plan->tells_size)
            t->agreed |= OPTION_SIZE;
        if (strcmp(at, "timeout") == 0)
            t->agreed |= OPTION_TIME;
        at = value + strlen(value) + 1;
    }
}

static void received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                     const struct tenon_span *spans, unsigned n)
{
    static const struct tenon_udp_events events = { acked, failed };
    struct server *s = app;
    char call[BYTES_MAX + 1];
    const uint32_t got = server_gather((tenon_u8 *)call, BYTES_MAX, spans, n);
    struct transfer *t = s->transfer;
    unsigned i;

    (void)sock;
    call[got] = 0;
    for (i = 0; i < TRANSFERS && t->sock != NULL; i++)
        t++;
    if (server_is_silent(s) || i == TRANSFERS || got < 9 || call[1] != READ || call[2] != 'f')
        return;
    t->server = s;
    t->to = info->from;
    t->file = (unsigned)strtoul(call + 3, NULL, 10);
    t->size = truth_file_bytes(t->file);
    t->block_bytes = PLAIN_BYTES;
    if (s->plan->knows_options)
        read_options(t, call + 2 + strlen(call + 2) + 1 + strlen("octet") + 1, call + got);
    t->block = t->agreed == 0;
    t->sock = server_socket(s, 0, &events, t);
    send(t);
}

void files_open(struct server *s)
{
    static const struct tenon_udp_events events = { received, failed };

    s->tftp = server_socket(s, PORT, &events, s);
}

void files_tick(struct server *s)
{
    unsigned i;

    for (i = 0; i < TRANSFERS; i++) {
        struct transfer *t = &s->transfer[i];

        if (t->sock == NULL || (t->tries < TRIES && history_now(s->h) < t->again_us))
            continue;
        if (++t->tries > TRIES)
            end(t);
        else
            send(t);
    }
}

void files_close(struct server *s)
{
    unsigned i;

    for (i = 0; i < TRANSFERS; i++)
        end(&s->transfer[i]);
}
