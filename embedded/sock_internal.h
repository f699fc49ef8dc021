/* SPDX-License-Identifier: MIT */
/* What the files of embedded/ share. */
#ifndef TENON_SOCK_INTERNAL_H
#define TENON_SOCK_INTERNAL_H

#include "embedded/tenon_sock.h"

#include <limits.h>

TENON_BEGIN_DECLS

/* As the core, this needs nothing of a C library but these, which a freestanding host provides. */
void *memcpy(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);

enum { SOCK_ALIGN = 8, SOCK_MAX = 64, SOCK_HEADER_BYTES = TENON_BUF_BYTES_MIN, SOCK_PAYLOAD_MIN = 88 };

/* ---- memory: arena.c ------------------------------------------------------------------------------ */

/* Buffers of one size, which are all there from the start. The free ones are a queue. */
struct sock_pool {
    struct sock_unit *free, *last;    /* `last` counts while there is a first */
    tenon_u16 n, nfree, low;
    tenon_u16 kept;                   /* of the n: neither free nor with the device; and those that cannot be */
};

struct sock_unit {
    struct tenon_buf buf;
    struct sock_pool *pool;
    struct sock_unit *next;    /* in the list of free ones; itself: it is kept; else NULL */
};

/* Of UDP: whom we hear, or send to, and the address of ours that he has asked; any: the stack chooses. */
struct sock_peer {
    struct tenon_addr addr;
    struct tenon_ip asked;
};

/* A receive block; its bytes follow. */
struct sock_block {
    struct sock_unit unit;
    struct sock_peer peer;    /* whose datagram lies in it, or a part of it */
    tenon_u16 pieces;         /* that refer to it */
};

/* Memory for the core: what it gives back it says the size of, so that free memory needs no other record than this, in
 * order of addresses, neighbours joined. */
struct sock_gap {
    struct sock_gap *next;
    size_t bytes;
};

struct sock_memory {
    struct sock_gap before;    /* the first; of no bytes */
    size_t bytes, used, top;
};

/* ---- receiving: receive.c ------------------------------------------------------------------------- */

/* Of a datagram: there is MORE behind this piece; it was the FIRST; it is the first of those that are still there. */
enum sock_piece_flag { SOCK_PIECE_OUT = 1, SOCK_PIECE_MORE = 2, SOCK_PIECE_FIRST = 4, SOCK_PIECE_HEAD = 8 };

/* 1: what comes may be in several pieces: a frame is one, but fragments are put together, and the short ways do so with
 * segments. */
enum { SOCK_SPANS = TENON_WITH_FRAGMENTS || TENON_WITH_SPEED };

/* Received bytes of an end point, in the block in which they came. */
struct sock_piece {
    struct sock_piece *next;
    struct tenon_buf *buf;
    tenon_u8 *data;
    tenon_u16 len;
    tenon_u16 flags;    /* enum sock_piece_flag */
};

/* ---- sending: ring.c ------------------------------------------------------------------------------- */

/* In the ring, in front of the bytes, or of the room for headers. */
struct sock_packet {
    struct tenon_buf buf;     /* its bytes, for the core */
    struct sock *sock;
    tenon_u32 at;             /* TCP: where in the stream its bytes begin, as `una` of the ring counts */
};

/* What it is for a device that takes frames of one piece (TENON_SOCK_CONTIGUOUS). */
struct sock_linear {
    struct sock_packet packet;
    struct tenon_buf wire;    /* the bytes with their headers; refs 0: not there */
};

/* Packets lie from tail to head, or from tail to end and from base to head. */
struct sock_ring {
    tenon_u8 *base, *limit;    /* NULL: there is none */
    tenon_u8 *head, *tail, *end;
    tenon_u8 *asked_at;        /* the record of the packet that was asked for ... */
    tenon_u16 asked;           /* ... and the room for its bytes; 0: none was */
    tenon_u16 packets;
    /* TCP: of so many bytes that the peer acknowledges those of the ring; NULL: there is none. */
    tenon_u32 (*own)(struct sock_ring *ring, tenon_u32 bytes);
    tenon_u32 una;         /* the first byte of the stream that is not acknowledged (RFC 9293: SND.UNA) */
    tenon_u32 flight;      /* bytes of the ring behind it */
};

/* ---- end points: sock.c ------------------------------------------------------------------------------ */

/* So often a place is used before it has its first number again: that is an int. */
enum { SOCK_USES = INT_MAX / SOCK_MAX < 0xFFFF ? INT_MAX / SOCK_MAX : 0x10000 };

/* A listening port, which several descriptors may share. */
struct sock_port {
    struct tenon_socks *socks;
    struct tenon_tcp_listener *listener;
    struct tenon_addr at;
    tenon_u8 refs;            /* descriptors */
    tenon_u8 promised;        /* of those that wait for a client: to so many who are in their handshake ... */
    tenon_u16 promised_at;    /* ... the last of them then, in units of 65,536 us */
};

enum sock_use { SOCK_FREE, SOCK_USED, SOCK_LEAVING };

/* Bytes come first, then what has 16 bits: ARM's short instructions reach 32 and 64 bytes for them. */
struct sock {
    struct tenon_socks *socks;
    tenon_u8 use;            /* enum sock_use */
    tenon_u8 state;          /* enum tenon_sock_state */
    tenon_u8 events;         /* that the application has not been told of */
    tenon_u8 fixed;          /* UDP: the peer does not change */
    tenon_u8 finished;       /* 1: we have finished sending */
    tenon_u8 more;
    short error;             /* enum tenon_error */
    tenon_u16 segment;
    tenon_u16 blocks;        /* pieces in the list that lie in blocks */
    tenon_u16 promised;      /* TCP: blocks for what the window lets in ... */
    tenon_u16 withheld;      /* ... and bytes by which it is not open: what there is room for others were promised */
    int number;              /* the place, from 1 on, and SOCK_MAX for each time that it was used before */
    struct tenon_tcp *conn;
    struct tenon_udp *udp;
    struct sock_ring ring;
    struct sock_port *port;
    struct sock_piece *first, **end;    /* where the next one is to be written down */
    tenon_u32 back;          /* TCP: bytes sent back, by which the window opens when they are acknowledged */
    struct sock_peer peer;
};

/* What is asked of a device after the start; as in struct tenon_sock_device. */
struct sock_device {
    unsigned flags;
    void *device;
    unsigned (*transmit)(void *device, const struct tenon_frame *frames, unsigned n);
    void (*poll)(void *device, struct tenon_socks *socks);
    int (*entropy)(void *device, void *bytes, size_t n);
};

/* Before the first poll nobody knows what time it is: nothing is looked at. */
enum sock_running { SOCK_STARTED, SOCK_POLLED, SOCK_POLLING };

struct tenon_socks {
    struct tenon *stack;
    tenon_u8 running;    /* enum sock_running */
    tenon_u8 sending;    /* 1: in the device's transmit() */
    tenon_u8 news;       /* 1: of some descriptor there are events that the application has not been told of */
    tenon_u8 keeps;      /* 0: what has come now is not to be kept */
    tenon_u8 singly;     /* 1: each frame goes up by itself: a datagram lies in the block of its last fragment */
    tenon_u8 nsocks, nports;
    tenon_u8 cookies;    /* 1: SYN cookies are sent when too many are in their handshake */
    tenon_u8 front;      /* bytes of a packet in a ring before those of the application */
    tenon_u8 nrx;
    tenon_u16 packets_max, datagrams_max;
    tenon_u16 promises;  /* blocks that all windows may promise; 0: there are enough for each */
    tenon_u16 window;    /* of one, in bytes ... */
    tenon_u16 segment;   /* ... and what it has of them in any case */
    tenon_u16 copies;    /* blocks with frames that were put together, which the device sends */
    struct sock_device device;
    struct sock *socks;
    struct sock_port *ports;
    struct sock_piece *free_pieces;
    struct sock_pool blocks, headers;
    struct sock_memory memory;
    tenon_u32 now_us;
    void (*event)(void *app, int sk, unsigned events);
    void *app;
    size_t arena_bytes;    /* from here on */
    struct tenon_buf *looked;    /* at: in it lies the frame that goes up by itself now; NULL: there is none */
    struct tenon_frame rx_frames[TENON_SOCK_BURST];    /* that have come, each in a block ... */
    struct tenon_span rx_spans[TENON_SOCK_BURST];      /* ... and where they lie */
    struct tenon_sock_counts counts;                   /* comes last: without STATS it is not there */
};

TENON_INLINE void sock_count(tenon_u32 *counter, tenon_u32 n)
{
    if (TENON_WITH_STATS)
        *counter += n;
}

TENON_INLINE tenon_u32 tn_sock_align(tenon_u32 bytes)
{
    return (bytes + SOCK_ALIGN - 1) / SOCK_ALIGN * SOCK_ALIGN;
}

/* arena.c */
TENON_INTERNAL struct tenon_buf *tn_sock_pool_get(struct sock_pool *pool);
TENON_INTERNAL void tn_sock_pool_put(struct tenon_buf *buf);
/* A frame has been looked at that came in this block: give it back, unless an application or the core keeps it. */
TENON_INTERNAL void tn_sock_looked_at(struct tenon_buf *buf);
TENON_INTERNAL struct sock_block *tn_sock_look_for_block(struct tenon_socks *socks, struct tenon_buf *buf);
/* The block of bytes that an end point may keep, or NULL: they lie elsewhere, which only those of fragments do. */
TENON_INLINE struct sock_block *tn_sock_block_of(struct tenon_socks *socks, struct tenon_buf *buf)
{
    if (TENON_WITH_FRAGMENTS)
        return tn_sock_look_for_block(socks, buf);
    return TENON_CONTAINER(buf, struct sock_block, unit.buf);
}
TENON_INTERNAL void *tn_sock_memory_get(void *host, size_t bytes);
TENON_INTERNAL void tn_sock_memory_put(void *host, void *mem, size_t bytes);
TENON_INTERNAL unsigned tn_sock_headers_get(void *host, struct tenon_buf **bufs, unsigned n);

/* Blocks that there have to be: one to read from; one to hear with meanwhile, where a buffer for headers does not do;
 * and one to send from, where a frame has to be one piece. */
TENON_INLINE unsigned tn_sock_blocks_least(unsigned device_flags)
{
    const unsigned to_hear = (device_flags & TENON_SOCK_LENGTHS) == 0;
    const unsigned to_send = TENON_WITH_LINEAR && (device_flags & TENON_SOCK_CONTIGUOUS);

    return 1 + to_hear + to_send;
}
/* Blocks that may be kept besides those that are: of what is left then one is to hear with, and one to send from. */
TENON_INLINE int tn_sock_blocks_spare(const struct tenon_socks *socks)
{
    return (int)socks->blocks.n - (int)socks->blocks.kept;
}
/* Buffers for headers that the core leaves alone. */
TENON_INLINE unsigned tn_sock_headers_lent(unsigned device_flags)
{
    return (device_flags & TENON_SOCK_LENGTHS) != 0;
}

/* device.c */
TENON_INLINE int tn_sock_is_contiguous(const struct tenon_socks *socks)
{
    return TENON_WITH_LINEAR && (socks->device.flags & TENON_SOCK_CONTIGUOUS) != 0;
}
/* A block besides the one to send from, without which nothing more would leave before an application reads. While the
 * device sends out of one, that one comes back: the next is to hear with. */
TENON_INLINE int tn_sock_has_block(const struct tenon_socks *socks)
{
    return socks->blocks.nfree > (tn_sock_is_contiguous(socks) && socks->copies == 0 ? 1U : 0U);
}
TENON_INTERNAL unsigned tn_sock_transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n);
TENON_INTERNAL void tn_sock_rx_flush(struct tenon_socks *socks);

/* receive.c */
/* `flags`: of the first piece of a datagram; a stream has none. */
TENON_INTERNAL int tn_sock_receive(struct sock *sock, const struct tenon_span *spans, unsigned n, unsigned flags);
TENON_INTERNAL void tn_sock_forget_pieces(struct sock *sock);
/* TCP: write down how many blocks the window promises: all that it may have, but what is withheld. */
TENON_INTERNAL void tn_sock_promise(struct sock *sock);
/* TCP: so many bytes are not the application's any more, nor the core's. */
TENON_INTERNAL void tn_sock_consumed(struct sock *sock, tenon_u32 bytes);

/* ring.c */
/* What is in front of the bytes of a packet. */
TENON_INLINE unsigned tn_sock_ring_front(unsigned device_flags)
{
    if (TENON_WITH_LINEAR && (device_flags & TENON_SOCK_CONTIGUOUS))
        return (unsigned)tn_sock_align((tenon_u32)sizeof(struct sock_linear)) + TENON_SOCK_ROOM;
    return (unsigned)tn_sock_align((tenon_u32)sizeof(struct sock_packet));
}
TENON_INTERNAL struct sock_linear *tn_sock_packet_of(struct tenon_buf *buf);

/* sock.c */
TENON_INTERNAL struct sock *tn_sock_find(const struct tenon_socks *socks, int sk);
TENON_INTERNAL void tn_sock_release(struct sock *sock);
TENON_INLINE int tn_sock_is_fixed(const struct sock *sock)
{
    return TENON_WITH_CONNECT && sock->fixed;
}
/* @return TENON_OK, or what forbids to send with these options; of NULL too */
TENON_INTERNAL int tn_sock_may_send(const struct sock *sock, unsigned options);
/* UDP: to this peer, unless it is fixed. */
TENON_INTERNAL int tn_sock_send_span(struct sock *sock, const struct sock_peer *peer, const struct tenon_span *span);
TENON_INTERNAL int tn_sock_finish(struct sock *sock);
/* The application is told of these events in tenon_sock_poll(). */
TENON_INTERNAL void tn_sock_note(struct sock *sock, unsigned events);
TENON_INTERNAL void tn_sock_close_ports(struct tenon_socks *socks);
/* The clock has gone round: promises of before would look new again when it comes to where they were made. (Without
 * COOKIES they do, for a second in 71 minutes, in which a client may have to ask twice.) */
TENON_INTERNAL void tn_sock_forget_promises(struct tenon_socks *socks);

TENON_END_DECLS

#endif
