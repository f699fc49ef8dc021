/* SPDX-License-Identifier: MIT */
/* What the files of the wire know of each other. */
#ifndef TENON_WIRE_INTERNAL_H
#define TENON_WIRE_INTERNAL_H

#include "wire.h"

enum {
    WIRE_ENDS_PER_HOST = 16,
    WIRE_SMALL_FRAME = 256,    /* shorter frames are copied whole */
    WIRE_BURST = 32,
    WIRE_RING = 1024
};

#define WIRE_NEVER UINT64_MAX

/* Bytes on their way. The head is ours and may be written until the packet is on a line; the spans are
 * the sender's, and we hold a reference on each buffer. */
struct wire_packet {
    struct wire *wire;
    struct wire_end *from;    /* NULL: injected */
    size_t block;             /* bytes of this allocation */
    uint32_t refs;
    uint32_t bytes;
    uint32_t head_bytes;
    unsigned nspans;
    uint16_t seg_bytes, csum_start, csum_offset, header_bytes;
    uint8_t csum, seg_kind;
    uint8_t damaged;
    uint8_t unshared;         /* 1: its sender needs the payload's buffers back when it arrives */
    struct tenon_span *spans;
    uint8_t *head;
};

/* One thing that will happen. */
struct wire_event {
    uint64_t at, order;
    void (*fn)(void *arg);         /* a timer; NULL: a packet arrives at a hub or at an end */
    void *arg;
    struct wire_packet *packet;
    struct wire_end *end;          /* where the packet arrives; NULL: at the hub of packet->from */
};

struct wire {
    struct wire_conf conf;
    uint64_t now;
    uint64_t order;
    uint64_t told;                 /* packets by which routers have told of too long ones */
    struct wire_event *heap;       /* the earliest first */
    size_t nheap, heap_room;
    struct wire_host *hosts;       /* in the order in which they were opened */
    uint64_t hosts_opened;
    unsigned in_rings;
    struct tenon_span *scratch;    /* spans of the burst that is being delivered */
    size_t scratch_room;
};

/* A frame that waits for the line: when it will have left, and how large it is. */
struct wire_waiting {
    uint64_t left_ns;
    uint32_t bytes;
};

struct wire_line {
    struct wire_line_conf conf;
    uint64_t seed, nth;
    uint64_t busy_ns;          /* until when the line sends what it has got */
    uint64_t last_at;          /* when the last frame in order arrives */
    struct wire_waiting *queue;
    size_t first, nqueue, queue_room;
    uint64_t queued_bytes;
};

struct wire_end {
    struct wire_end *next;     /* of this host */
    struct wire_host *host;
    struct wire_end_conf conf;
    unsigned netif;
    uint64_t seed, received;
    struct wire_line line[2];  /* by enum wire_direction */
    struct wire_packet **ring;
    uint32_t ring_first, ring_count;
    uint64_t deliver_at;       /* when the ring is emptied next; WIRE_NEVER: it is empty */
    struct tenon_frame *frames;
    struct wire_end_stats stats;
};

struct wire_host {
    struct wire_host *next;
    struct wire *wire;
    struct wire_guest guest;
    struct tenon *stack;       /* NULL: a guest, or ended */
    void (*end)(struct wire_host *host);    /* ends the instance; NULL: there is none */
    void *stack_mem;
    size_t stack_bytes;
    struct wire_host_conf conf;
    struct wire_host_stats stats;
    struct wire_end *ends;
    uint64_t seed, entropy;
    uint64_t offset;           /* own clock - wire's clock */
    uint64_t poll_at, paused_until, blocked_until;
    uint64_t polls_ms;         /* the millisecond in which ... */
    uint32_t polls_in_ms;      /* ... so many polls by timer were made */
    int woken;
    int gone;                  /* closed; lives on for buffers that are out */
};

/* wire.c */
void *wire_mem_get(struct wire *wire, size_t bytes);
void wire_mem_put(struct wire *wire, void *mem, size_t bytes);
int wire_grow(struct wire *wire, void *array, size_t *room, size_t need, size_t item);
int wire_push(struct wire *wire, const struct wire_event *event);
void wire_forget(struct wire *wire, const struct wire_host *host);
void wire_tap(struct wire_end *end, enum wire_place place, const struct tenon_frame *frame);
void wire_tap_packet(struct wire_end *end, enum wire_place place, struct wire_packet *packet);
int wire_chance(uint64_t seed, uint64_t nth, uint32_t salt, uint32_t ppm);

/* host.c */
/* Whether what has come now may be kept. */
enum tenon_kept wire_host_keeps(struct wire_host *host);
struct wire_host *wire_host_new(struct wire *wire, const struct wire_host_conf *conf);
void wire_host_run(struct wire_host *host);
uint64_t wire_host_next(const struct wire_host *host);
struct tenon_buf *wire_rx_buf(struct wire_host *host, struct wire_packet *packet, uint32_t bytes);
struct wire_end *wire_host_end(struct wire_host *host, unsigned netif);

/* end.c */
void wire_end_close(struct wire_end *end);
unsigned wire_end_transmit(struct wire_end *end, const struct tenon_frame *frames, unsigned n);
void wire_end_deliver(struct wire_end *end);
void wire_arrive(struct wire *wire, struct wire_packet *packet, struct wire_end *end);

/* line.c */
int wire_line_full(struct wire_line *line, uint64_t now, uint32_t bytes, uint64_t *room_at);
void wire_line_put(struct wire_end *end, enum wire_direction direction, struct wire_packet *packet);
void wire_line_close(struct wire_end *end, enum wire_direction direction);

/* packet.c */
struct wire_packet *wire_packet_make(struct wire_end *from, const struct tenon_frame *frame);
struct wire_packet *wire_packet_bytes(struct wire *wire, const void *bytes, uint32_t n);
struct wire_packet *wire_packet_room(struct wire *wire, uint32_t n);
struct wire_packet *wire_packet_damaged(struct wire_packet *packet, const struct wire_fate *fate, uint32_t link);
void wire_packet_put(struct wire_packet *packet);
void wire_packet_complete(struct wire_packet *packet);
int wire_packet_mark(struct wire_packet *packet);
int wire_packet_cut(struct wire_packet *packet, uint32_t link, int (*emit)(void *arg, struct wire_packet *piece),
                    void *arg);
void wire_packet_copy(const struct wire_packet *packet, uint32_t off, uint8_t *to, uint32_t n);
uint32_t wire_packet_link(const struct wire_packet *packet);
unsigned wire_be16(const uint8_t *p);
void wire_put_be16(uint8_t *p, uint32_t v);
uint32_t wire_fold(uint64_t sum);
uint32_t wire_sum(const uint8_t *p, size_t n);

/* router.c */
int wire_route(struct wire_end *end, enum wire_direction direction, struct wire_packet *packet);

#endif
