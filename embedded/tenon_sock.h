/* SPDX-License-Identifier: MIT */
/** @file
 *  Tenon for small machines: seven calls, no copies, no heap.
 *
 *      sk = tenon_sock_create(socks, &local, &remote, TENON_SOCK_TCP, 0);    any end point by one call
 *      n = tenon_sock_ask_rbuf(socks, sk, &p);       n bytes received lie at p: read them there ...
 *      tenon_sock_read_done(socks, sk, p, n);        ... and give the block back, in any order
 *      tenon_sock_set_sbuf(socks, sk, ring, bytes);  the memory that this end point sends from
 *      n = tenon_sock_ask_sbuf(socks, sk, &p);       room for n bytes at p: write there ...
 *      tenon_sock_send(socks, sk, p, n, 0);          ... and send what was written
 *      tenon_sock_delete(socks, sk, 0);
 *
 *  An answer that finds room in its question needs no ring: tenon_sock_send_back() sends it out of the block in which
 *  the question came.
 *
 *  The send ring is the application's, the receive blocks are the stack's. Each packet in the ring has room for its
 *  headers in front, and stays where it is until the peer has acknowledged it. All calls return at once; everything
 *  runs in tenon_sock_poll(). One thread: what an interrupt has to say it leaves to the device's poll().
 *
 *  A number that is no descriptor, or not any more, is an error (TENON_EINVAL) of every call: the place of one that was
 *  deleted has other numbers from then on, and this one again when it was used 65,536 times (511 times where an int
 *  has 16 bits). Pointers must not be NULL where nothing is said of it; `socks` is what tenon_sock_start() has made. */
#ifndef TENON_SOCK_H
#define TENON_SOCK_H

#include <tenon/tenon.h>

TENON_BEGIN_DECLS

/** An instance of Tenon with its end points, in one arena. */
struct tenon_socks;

/* ---- the seven calls --------------------------------------------------------------------------- */

/** For tenon_sock_create(): the numbers that the IP header has. */
enum tenon_sock_protocol { TENON_SOCK_TCP = 6, TENON_SOCK_UDP = 17 };

/** For tenon_sock_create(), tenon_sock_send() and tenon_sock_delete(), or-ed. */
enum tenon_sock_option {
    TENON_SOCK_NO_TIMESTAMPS = 1,    /**< create, TCP: without timestamps: 12 bytes less in each segment */
    TENON_SOCK_BROADCAST = 2,        /**< create, UDP: may send to broadcast addresses */
    TENON_SOCK_FIN = 4,              /**< send, TCP: this was the last that we send */
    TENON_SOCK_ABORT = 8             /**< delete, TCP: reset the connection; what was not acknowledged is lost */
};

/** Make an end point, as socket, bind, listen, accept and connect do together.
 *  @param local     our address and port. Any address: all of both IP versions; port 0, or NULL: chosen
 *  @param remote    TCP: NULL, or port 0: a server, for one client; several descriptors may have the same local
 *                   address, and each client gets the first that is free. Clients that find none free are not
 *                   answered, and ask again; nor are more at a time than there are free ones, for a second each: one
 *                   whose handshake takes longer, and ends after the last was taken, is reset. With
 *                   stack.tcp_syncookies all are answered while one is free, for a minute after somebody has taken
 *                   longer. UDP: NULL, or port 0: hears everybody, and sends to whom it has heard last, or to whom
 *                   tenon_sock_to() says
 *  @param protocol  enum tenon_sock_protocol
 *  @return a descriptor, 1 and up; and with nothing changed TENON_EINVAL (no such protocol; a group for TCP; addresses
 *          of two IP versions; a peer, in a build without TENON_WITH_CONNECT), TENON_ELIMIT (no descriptor, no
 *          connection, none of conf.ports is left), TENON_EINUSE (UDP: that port is taken; TCP: there is that
 *          connection already; no port can be chosen), TENON_ENOADDR (`local` is none of our addresses), TENON_EUNREACH
 *          (no way to `remote`), TENON_ENOMEM */
TENON_API int tenon_sock_create(struct tenon_socks *socks, const struct tenon_addr *local,
                                const struct tenon_addr *remote, int protocol, unsigned options);

/** Delete an end point: all its receive blocks go back. TCP finishes in the background: what was sent leaves from the
 *  ring until it is acknowledged, and with unread data, or TENON_SOCK_ABORT, the peer gets a reset. The ring is the
 *  application's again at once if no packet was in it (`packets` in tenon_sock_info), else with the event
 *  TENON_SOCK_GONE, after which tenon_sock_set_sbuf() takes its memory for another descriptor. Until then the
 *  descriptor counts.
 *  @return TENON_OK, TENON_EINVAL (no such descriptor) */
TENON_API int tenon_sock_delete(struct tenon_socks *socks, int sk, unsigned options);

/** Where the next received bytes lie. Each call gives others: several pieces may be held at a time. The memory is the
 *  stack's, and the application's to read and write until tenon_sock_read_done() or tenon_sock_delete().
 *  @param[out] p  written when the result is positive
 *  @return bytes at p: of a stream as many as lie together, of UDP one datagram (see `more` in tenon_sock_info);
 *          0: nothing now; TENON_EINVAL (no such descriptor, p is NULL); TENON_ECLOSED: the peer has finished and all
 *          is handed out; after an error, and when all is handed out, that error */
TENON_API int tenon_sock_ask_rbuf(struct tenon_socks *socks, int sk, tenon_u8 **p);

/** The first n bytes at p have been read: TCP's window opens by as many, if their block is not promised to others. What
 *  follows them in their piece can be returned later, with its own address; when all has been, the block is free.
 *  Pieces may be returned in any order.
 *
 *  What is returned twice is an error until the block has come round: it is filled again after all blocks that were
 *  free before it. If then a piece of the same descriptor begins at the same address, and is handed out, p means that
 *  piece, and no call can tell what was meant.
 *  @return TENON_OK, or TENON_EINVAL: no such descriptor; p is not where a piece of it begins that is handed out (it
 *          was returned before, or is another's); n is 0 or more than the piece has. Nothing has changed then */
TENON_API int tenon_sock_read_done(struct tenon_socks *socks, int sk, const tenon_u8 *p, unsigned n);

/** Room for headers in front of the bytes of a packet, for a device that takes frames of one piece. */
enum { TENON_SOCK_ROOM = !TENON_WITH_LINEAR ? 0 : TENON_WITH_IPV6 ? 120 : 104 };
/** What a packet takes in a ring besides its bytes: a record, at a multiple of 8; with a device that is not
 *  TENON_SOCK_CONTIGUOUS. */
enum { TENON_SOCK_RECORD_BYTES = (12 + 3 * (int)sizeof(void *) + 7) / 8 * 8 + 14 };
/** ... and whatever the device is like: a larger record, and room for headers. */
enum {
    TENON_SOCK_PACKET_BYTES =
        TENON_WITH_LINEAR ? TENON_SOCK_ROOM + (20 + 5 * (int)sizeof(void *) + 7) / 8 * 8 + 14 : TENON_SOCK_RECORD_BYTES
};

/** The ring that an end point sends from. It is the stack's from now on; the application writes only where
 *  tenon_sock_ask_sbuf() says.
 *  @param bytes  for n packets of m bytes in flight n * (m + TENON_SOCK_PACKET_BYTES), or TENON_SOCK_RECORD_BYTES in
 *                its place without TENON_SOCK_CONTIGUOUS; at least one of 88
 *  @return TENON_OK, TENON_EINVAL (no such descriptor, no address), TENON_EMSGSIZE (too small), TENON_EINUSE (another
 *          descriptor or the arena has that memory, or packets are left in the ring that this one has) */
TENON_API int tenon_sock_set_sbuf(struct tenon_socks *socks, int sk, void *ring, tenon_u32 bytes);

/** Where to write the next packet, and how much fits: a full segment at most. Only the last answer counts: asked
 *  again, it may be elsewhere, and it is void when tenon_sock_ask_rbuf() has found somebody else to answer (another
 *  port of the same host, too). Nothing is
 *  reserved by it. A full ring says nothing until there is room for a quarter of a segment, so that packets do not
 *  become smaller and smaller.
 *  @param[out] p  written when the result is positive
 *  @return bytes that may be written at p; 0: none now (the ring is full, or the connection not open yet);
 *          TENON_EINVAL (no such descriptor, p is NULL), TENON_ENOMEM (no ring), TENON_EUNREACH (UDP: no peer, no
 *          route), TENON_ECLOSED: we have finished, or the connection has ended */
TENON_API int tenon_sock_ask_sbuf(struct tenon_socks *socks, int sk, tenon_u8 **p);

/** Send the first n bytes of what tenon_sock_ask_sbuf() has given. They leave with the next tenon_sock_poll(), and stay
 *  in the ring until they are acknowledged (UDP: until the device has sent them).
 *  @param p        what tenon_sock_ask_sbuf() gave; with n 0, NULL: TENON_SOCK_FIN alone
 *  @param options  TENON_SOCK_FIN or 0
 *  @return TENON_OK; with nothing sent and p still good: TENON_EINVAL (no such descriptor, not that p, n is 0; FIN with
 *          UDP, or alone without a connection), TENON_ENOMEM (no ring, no memory), TENON_EMSGSIZE (n is more than was
 *          given), TENON_ECLOSED (as tenon_sock_ask_sbuf()), TENON_EAGAIN (TCP: more than stack.tcp_snd_buf, or too
 *          many pieces, would be unacknowledged; UDP: the device is full, until the next poll); UDP: TENON_EUNREACH (no
 *          route any more), TENON_ENOADDR (our own address is gone; if it does not come back, delete the descriptor and
 *          create another), TENON_EACCES (to a broadcast address without TENON_SOCK_BROADCAST) */
TENON_API int tenon_sock_send(struct tenon_socks *socks, int sk, const tenon_u8 *p, unsigned n, unsigned options);

/* ---- what else there is ------------------------------------------------------------------------- */

/** Send the first n bytes of a received piece back to whom they came from, out of the block in which they lie: as they
 *  came, or with an answer written over them. No ring is needed. For the application they are returned by that, as by
 *  tenon_sock_read_done(), and must not be written to any more; what follows them in their piece can be returned, or
 *  sent back, later, with its own address. They leave with the next tenon_sock_poll(), in the order of the calls, those
 *  of tenon_sock_send() among them.
 *
 *  The block is free when the peer has acknowledged the bytes (UDP: when the device has sent them), and only as they
 *  are acknowledged TCP's window opens.
 *
 *  With TENON_SOCK_CONTIGUOUS the frame is put together in another block, which is counted (`copied_bytes`). Each piece
 *  of a datagram that came in fragments would be a datagram of its own. UDP: whom tenon_sock_send() sends to stays as
 *  it is.
 *  @param p        where a piece begins that is handed out, as for tenon_sock_read_done()
 *  @param options  TENON_SOCK_FIN or 0
 *  @return TENON_OK; with nothing sent, and the piece handed out as before: TENON_EINVAL (no such descriptor or piece;
 *          n is 0 or more than the piece has; FIN with UDP), TENON_ECLOSED (we have finished, or the connection has
 *          ended), TENON_ENOMEM, TENON_EAGAIN (TCP: more than stack.tcp_snd_buf, or too many pieces, would be
 *          unacknowledged; the event TENON_SOCK_WRITABLE tells when some have been acknowledged. UDP: the device is
 *          full, until the next poll); UDP: TENON_EMSGSIZE (does not fit), TENON_EUNREACH (no route, or it came from
 *          port 0, which nobody can answer; of what came in fragments also: the pieces that lie in blocks were returned
 *          before, and nobody knows any more whose it is), TENON_ENOADDR, TENON_EACCES as tenon_sock_send() */
TENON_API int tenon_sock_send_back(struct tenon_socks *socks, int sk, const tenon_u8 *p, unsigned n, unsigned options);

/** UDP: whom to send to; until it is called again or tenon_sock_ask_rbuf() gives a datagram of somebody else.
 *  @return TENON_OK, TENON_EINVAL (no such descriptor, not UDP, or one with a fixed peer; port 0) */
TENON_API int tenon_sock_to(struct tenon_socks *socks, int sk, const struct tenon_addr *to);

/** Where an end point stands, see tenon_sock_status(). */
enum tenon_sock_state {
    TENON_SOCK_LISTENING,    /**< a TCP server without a client */
    TENON_SOCK_OPENING,
    TENON_SOCK_OPEN,         /**< UDP is always */
    TENON_SOCK_ENDING,       /**< the peer has finished: it reads on */
    TENON_SOCK_CLOSED        /**< the connection has ended; what was received can still be read */
};

/** What tenon_sock_status() tells. */
struct tenon_sock_info {
    enum tenon_sock_state state;
    int error;                     /**< why it ended, or the last ICMP error: enum tenon_error */
    struct tenon_addr local;
    struct tenon_addr remote;      /**< UDP without a fixed peer: whom tenon_sock_send() would send to */
    tenon_u32 unread;              /**< bytes received and not returned */
    tenon_u32 ring_used;           /**< bytes of the ring that are taken, with records and room for headers */
    tenon_u16 packets;             /**< in the ring */
    tenon_u16 segment;             /**< bytes of a full packet */
    tenon_u8 more;                 /**< UDP: the datagram goes on in the next piece: it came in fragments */
};

/** @return TENON_OK, TENON_EINVAL (no such descriptor; `info` is untouched) */
TENON_API int tenon_sock_status(const struct tenon_socks *socks, int sk, struct tenon_sock_info *info);

/** What tenon_sock_conf.event is told, or-ed. */
enum tenon_sock_event {
    TENON_SOCK_OPENED = 1,      /**< the connection is there */
    TENON_SOCK_RECEIVED = 2,    /**< tenon_sock_ask_rbuf() has something */
    TENON_SOCK_WRITABLE = 4,    /**< packets have left the ring, or it may be used */
    TENON_SOCK_FINISHED = 8,    /**< the peer has finished sending */
    TENON_SOCK_ENDED = 16,      /**< the connection has ended, see `error` */
    TENON_SOCK_ERROR = 32,      /**< something that may pass, see `error` */
    TENON_SOCK_GONE = 64        /**< the ring of a deleted descriptor is the application's again */
};

/** Run everything that is due: the device's poll(), timers, sending, events.
 *  @param now_us  a clock of microseconds that may wrap
 *  @return microseconds until it wants to be called again if nothing comes from the device, and nothing is sent,
 *          before; 0: at once (a block is free that the device may have asked for in vain, for example), or the device
 *          was full (with TENON_SOCK_CONTIGUOUS also: or no block was free in which to put a frame together, or an
 *          earlier frame of the same packet is still with the device: when it has sent what it has), or without
 *          conf.event something has happened to a descriptor: ask before you sleep. 0 from an event, too: there it does
 *          nothing */
TENON_API tenon_u32 tenon_sock_poll(struct tenon_socks *socks, tenon_u32 now_us);

/* ---- start --------------------------------------------------------------------------------------- */

/** What a device is like: tenon_sock_device.flags. */
enum tenon_sock_device_flag {
    TENON_SOCK_CONTIGUOUS = 1,    /**< its DMA takes frames of one piece: headers are moved into the room in front of
                                       the bytes in the ring, and the frame is sent as it lies there. Needs
                                       TENON_WITH_LINEAR */
    TENON_SOCK_NO_DMA = 2,        /**< the processor moves all bytes between device and memory: these are counted */
    TENON_SOCK_LENGTHS = 4        /**< it is known how long a frame is before it is fetched: blocks are asked for by
                                       tenon_sock_block_for(), and one may be enough */
};

/** So many frames go up together: those that come next are looked at when the application knows of them. Who hands over
 *  more without a return of tenon_sock_poll() has them looked at before: a client who is quick to follow one that has
 *  just gone may be reset then, because the descriptor of that one was not free again. */
enum { TENON_SOCK_BURST = 8 };

/** A device. Its functions are called from tenon_sock_poll() only; transmit() also from tenon_sock_input(), if
 *  TENON_SOCK_BURST frames were handed over, and from whatever makes a frame when as many as go down together wait. */
struct tenon_sock_device {
    struct tenon_netif_conf netif;    /**< address, MTU, capabilities (with TENON_SOCK_CONTIGUOUS it is not left to
                                           the device to cut segments: a block holds one packet); mru: the largest
                                           packet that is taken, which lets blocks be smaller than frames are on this
                                           link (see block_bytes) */
    unsigned flags;                   /**< enum tenon_sock_device_flag, or-ed */
    void *device;                     /**< first argument of the functions */

    /** As in struct tenon_host: take up to n frames; what is needed after the call takes a reference, and gives it up
     *  without waiting for another call: for want of that block there may be none. A frame has up to
     *  stack.tx_gather_max spans, with TENON_SOCK_CONTIGUOUS one. What tenon_sock_input() is given from here is dropped
     *  (no_block): a device that hears itself keeps it for poll(). */
    unsigned (*transmit)(void *device, const struct tenon_frame *frames, unsigned n);

    /** Hand over what has arrived, by tenon_sock_input(): TENON_SOCK_BURST frames at most, and if there are more
     *  tenon_sock_poll() is to be called again at once. NULL: the program does that before tenon_sock_poll(). */
    void (*poll)(void *device, struct tenon_socks *socks);

    /** As in struct tenon_host; called by tenon_sock_start() only. */
    int (*entropy)(void *device, void *bytes, size_t n);
};

/** How an instance is made. All 0 but the device: as the comments say. */
struct tenon_sock_conf {
    tenon_u16 socks;          /**< descriptors, 1 to 64; 0: 4 */
    tenon_u16 ports;          /**< local addresses at which descriptors wait for clients, at most socks; 0: socks.
                                   Several descriptors with the same address count once */
    tenon_u16 conns;          /**< TCP connections, those that are closing included; 0: as many as socks and 2 more */
    tenon_u16 blocks;         /**< receive blocks, 2 and more, one more with TENON_SOCK_CONTIGUOUS, one less with
                                   TENON_SOCK_LENGTHS; the device's included; 0: 8. All but so many less one may be
                                   held by applications and by what came out of order: the last one is to hear with.
                                   Few serve many: see window */
    tenon_u16 block_bytes;    /**< of each, at most 32000, at least a frame of that MTU: mtu + 18, or + 14 in a build
                                   without TENON_WITH_LINKS, no more than mtu without TENON_WITH_ETHERNET; what a driver
                                   wants before or behind the frame comes on top. With device.netif.mru of less than
                                   the MTU, mru in its place, unless the device is TENON_SOCK_CONTIGUOUS. 0: mtu + 18,
                                   or mru + 18 */
    tenon_u16 headers;        /**< buffers of TENON_BUF_BYTES_MIN bytes for headers of frames that are on their way, 3
                                   and more; 0: 8, one for an answer to each frame of a
                                   burst, and 8 more in a build with TENON_WITH_SPEED, whose core
                                   reserves 8; all one more with TENON_SOCK_LENGTHS. What lies in
                                   fragments too small for a block is held in those beyond the
                                   reserve, which is 2 without TENON_WITH_SPEED */
    tenon_u16 packets;        /**< in one ring, at most 32; 0: 8 */
    tenon_u16 window;         /**< bytes that a connection may hold unread: TCP's window, 512 and more; 0: two full
                                   segments, of what a block has to hold, or one if no more
                                   blocks may be held. Of two segments and more it opens only as far as there are
                                   blocks that nobody else was promised, and by a segment in any case: where there is
                                   one for each descriptor, peers whom nobody reads keep no other from being heard
                                   (not with blocks for shorter packets than the MTU, nor with more than 65,535 bytes
                                   in stack.tcp_rcv_buf) */
    tenon_u16 datagrams;      /**< blocks that a UDP end point may hold; 0: a quarter of all */
    size_t memory;            /**< bytes for connections, end points and tables that grow; 0: by the limits above. With
                                   all else less than 2 GB, or 64 KB where a size_t has 16 bits */
    struct tenon_conf stack;  /**< the core's; a 0 in a limit: for small machines, as docs/guide/embedded.md lists */
    struct tenon_sock_device device;
    /** Something has happened to a descriptor; from tenon_sock_poll() only. May call everything but tenon_sock_poll()
     *  and tenon_sock_stop(). NULL: the program asks. */
    void (*event)(void *app, int sk, unsigned events);
    void *app;
};

/** Look for what cannot work, sizes for which there are no addresses included; without TENON_WITH_CHECKS nobody does.
 *  Nothing works in a build with TENON_WITH_PIECES 0, which would copy what is sent behind its headers, and cut it to
 *  what has room there. A device that takes frames of one piece needs no such build: see TENON_SOCK_CONTIGUOUS.
 *  @return NULL when all is well, else the name of the first bad field, with what block_bytes has to be at least if it
 *          is that, or "TENON_WITH_PIECES" (a static string) */
TENON_API const char *tenon_sock_conf_check(const struct tenon_sock_conf *conf);

/** Bytes of the arena for these limits, whatever its alignment; 0 if tenon_sock_conf_check() would complain. */
TENON_API size_t tenon_sock_arena_bytes(const struct tenon_sock_conf *conf);

/** Make an instance, with the interface 1, its device; addresses and routes come next, by tenon_addr_add() on
 *  tenon_sock_stack().
 *  @param arena  memory of any alignment; the instance's until tenon_sock_stop()
 *  @param conf   read during the call
 *  @return TENON_OK, TENON_EINVAL (see tenon_sock_conf_check(); or no entropy), TENON_ENOMEM (the arena is smaller than
 *          tenon_sock_arena_bytes()) */
TENON_API int tenon_sock_start(struct tenon_socks **out, void *arena, size_t bytes,
                               const struct tenon_sock_conf *conf);

/** End it. The device must have given up all references before, or must not use them any more: after this the arena
 *  and the rings are the application's. Nothing is sent meanwhile: peers hear of it when they send next. */
TENON_API void tenon_sock_stop(struct tenon_socks *socks);

/** The instance, for addresses, routes, counters. Its tenon_input(), tenon_poll() and tenon_fini() are not for you. */
TENON_API struct tenon *tenon_sock_stack(const struct tenon_socks *socks);

/* ---- for the driver ------------------------------------------------------------------------------- */

/** An empty block to receive into: `data` and `size` say where. The driver owns it until it gives it to
 *  tenon_sock_input() or puts it back by tenon_buf_put().
 *  @return NULL: none is free (counted) */
TENON_API struct tenon_buf *tenon_sock_block(struct tenon_socks *socks);

/** The same for a device with TENON_SOCK_LENGTHS: a block for so many bytes, what the driver writes before the frame
 *  included. When no block is free a short one is a buffer for headers, of which one is there for that: an
 *  acknowledgement is heard in it, and nothing of it kept.
 *  @return NULL: none is free (counted). A driver that lets the frame wait drops it after a while: what is behind it
 *          may be what those wait for who have the blocks. A block may be shorter than `bytes`, which its `size` says:
 *          see tenon_sock_input() */
TENON_API struct tenon_buf *tenon_sock_block_for(struct tenon_socks *socks, unsigned bytes);

/** A frame has arrived in a block, which is the stack's from now on. Before the first tenon_sock_poll() it is dropped
 *  (no_block): nobody knows what time it is.
 *  @param off   where it begins in the block; n bytes of it. If they are more than the block has from there on the
 *               frame is dropped, and counted: a driver that finds one says so, and writes no more than the block holds
 *  @param csum  TENON_CSUM_NONE, or TENON_CSUM_GOOD: the device has verified the transport checksum */
TENON_API void tenon_sock_input(struct tenon_socks *socks, struct tenon_buf *block, unsigned off, unsigned n,
                                enum tenon_csum csum);

/** Counters, modulo 2^32; without TENON_WITH_STATS they are 0, and blocks_low and headers_low are what is free now.
 *  What the core copies it counts itself: TENON_STAT_COPIED_BYTES. */
struct tenon_sock_counts {
    tenon_u32 sent_bytes;        /**< payload that tenon_sock_send() and tenon_sock_send_back() took */
    tenon_u32 received_bytes;    /**< payload that tenon_sock_ask_rbuf() handed out */
    tenon_u32 copied_bytes;      /**< payload that was copied here: small pieces put together when blocks were short,
                                      and packets put together for a device that cannot gather */
    tenon_u32 device_bytes;      /**< bytes of frames moved by the processor (TENON_SOCK_NO_DMA) */
    tenon_u32 header_bytes;      /**< headers moved into the ring (TENON_SOCK_CONTIGUOUS) */
    tenon_u32 no_block;          /**< times no block was free */
    tenon_u32 too_long;          /**< received frames that were dropped because their block is shorter */
    tenon_u32 datagrams_full;    /**< datagrams dropped as an end point held too many, or no block was left, or (of a
                                      group or broadcast) two others have it already */
    tenon_u32 ring_full;         /**< times tenon_sock_ask_sbuf() returned 0 because of the ring */
    tenon_u16 blocks_free, blocks_low;      /**< now, and the fewest there were */
    tenon_u16 headers_free, headers_low;
    size_t memory_used, memory_top;         /**< of tenon_sock_conf.memory */
    size_t memory_bytes;
};
TENON_API void tenon_sock_count(const struct tenon_socks *socks, struct tenon_sock_counts *counts);

TENON_END_DECLS

#endif
