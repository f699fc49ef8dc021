/* SPDX-License-Identifier: MIT */
/* One connection between an instance and a model of its peer. The model knows what is true: what has been sent, in
 * both directions, and with which bytes; what the fuzzer makes it say is another matter. */
#ifndef TENON_FUZZ_PEER_H
#define TENON_FUZZ_PEER_H

#include "fuzz.h"

#include "wire/wire.h"

enum { STREAM_MAX = 1 << 18, OUR_PORT = 80, PEER_PORT = 40000 };

/* A segment that the peer sends. Payload follows from its place in the stream: seq. */
struct segment {
    uint32_t seq, ack, len;
    uint16_t wnd, urgent;
    uint8_t flags, reserved;
    uint8_t no_timestamp, nraw;
    uint8_t raw[20];                /* further options */
    struct tn_tcp_options options;
};

struct peer {
    struct fuzz_world w;
    struct fuzz_bytes in;
    int v6;

    /* the peer's own half */
    uint32_t isn;
    uint32_t sent;                  /* bytes of its stream that it has sent, to the last of them */
    uint32_t fin_at;                /* where its FIN stands in the stream */
    uint8_t fin_sent, connected;
    uint8_t ws, ts, sack, ecn;      /* what it offers */
    uint8_t shift, tos;
    uint16_t mss, wnd;
    uint8_t fastopen, request;      /* bytes of its request; fastopen: they come with the SYN */
    uint8_t silent;                 /* it does not end the handshake itself */
    uint32_t ts_ahead, ts_recent;

    /* what it knows of the instance */
    uint8_t syn_seen, fin_seen, reset_seen, has_ws, has_ts, has_sack, inst_shift;
    uint32_t inst_isn;
    uint32_t got, most;             /* bytes of the instance's stream: without a gap; to the last */
    uint32_t said;                  /* the same of any ACK; counts once frames may have been lost unseen */
    uint8_t unseen;                 /* frames may wait in the instance, or be lost on their way */
    uint32_t claimed;               /* acknowledged at most, of its sequence space, from inst_isn on */
    uint32_t edge;                  /* the window's, at its best; counted as `got` */
    uint32_t heard_ack, heard_wnd;
    uint32_t losses;                /* bits: which of the next frames never arrive */
    unsigned long heard;            /* segments */
    uint64_t seen[STREAM_MAX / 64]; /* bits: which of them have arrived */

    /* the application above the instance */
    struct tenon_tcp *conn;
    struct tenon_tcp_listener *listener;
    uint8_t had_conn, opened, closed, finished, peer_finished, closing;
    uint8_t hold, lazy;             /* hold: requests are held; lazy: data is not consumed at once */
    uint8_t handler_act;            /* what the next event does */
    int why;
    uint32_t written, acked, received, consumed;
    uint32_t acked_by_hand;         /* what has been received then; counts at the end only */

    /* The fuzzer has done something after which it is not known how the connection must go on. */
    uint8_t chaos;
};

/* peer_model.c */
void peer_open(struct peer *p, const struct tenon_conf *conf);
void peer_send(struct peer *p, struct segment *s);
void peer_blank(const struct peer *p, struct segment *s, uint8_t flags);    /* an honest segment without data */
void peer_packet(struct peer *p, const uint8_t *payload, size_t n, unsigned proto);
uint32_t peer_next(const struct peer *p);       /* the sequence number that the instance awaits */
uint32_t peer_honest_ack(const struct peer *p);
void peer_true_sacks(const struct peer *p, struct segment *s);
void peer_handshake(struct peer *p);
void peer_make_peace(struct peer *p);

/* peer_app.c */
extern const struct tenon_tcp_events peer_events;
void app_write(struct peer *p, uint32_t n);
void app_send(struct peer *p, uint32_t n);
void app_consume(struct peer *p, uint32_t n);
void app_act(struct peer *p, unsigned act);
void app_check(struct peer *p);
/* Bytes of a stream from place `off` on: of what the application writes, of what the peer sends. */
void app_bytes(uint8_t *to, uint32_t off, uint32_t n);
void peer_bytes(uint8_t *to, uint32_t off, uint32_t n);
/* Stops if `bytes`, sent by the instance, are not those that the application has written. */
void app_compare(const uint8_t *bytes, uint32_t off, uint32_t n);

#endif
