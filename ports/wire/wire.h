/* SPDX-License-Identifier: MIT */
/** @file
 *  The wire: a network in memory, with its own clock. Instances of Tenon (or anything else that eats
 *  frames) hang on hubs; every line has a rate, a delay, a queue and faults; nothing depends on the
 *  machine, so that the same seed gives the same history on any of them.
 *
 *      struct wire *wire = wire_open(&wire_conf);
 *      struct wire_host *host = wire_host_open(wire, &host_conf, &stack_conf);     one instance ...
 *      struct wire_end *end = wire_end_open(host, &end_conf);                      ... with one interface
 *      ... tenon_addr_add(wire_host_stack(host), wire_end_netif(end), ...); tenon_tcp_connect(...); ...
 *      wire_wake(host);                           after calls that do not come from a handler
 *      wire_run(wire, wire_now(wire) + 1000000);  one virtual second
 *
 *  A frame travels so:  transmit() -> line `out` of its end -> hub -> line `in` of every end that
 *  shall hear it -> ring -> tenon_input(). The payload is not copied: the receiver gets buffers of its
 *  own that describe the sender's bytes. Headers are copied, because a receiver may write into them.
 *
 *  One thread. Needs memcpy, memset and what `memory` gives; no clock, no file, no operating system. */
#ifndef TENON_WIRE_H
#define TENON_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include <tenon/stack.h>

#ifdef __cplusplus
extern "C" {
#endif

struct wire;         /**< a clock and all that is connected */
struct wire_host;    /**< the surroundings of one instance: memory, packet buffers, entropy */
struct wire_end;     /**< an interface of a host, plugged into a hub */

/** Where the wire takes its memory from, and that of its hosts. */
struct wire_memory {
    void *(*get)(void *arg, size_t bytes);              /**< NULL: there is no more */
    void (*put)(void *arg, void *mem, size_t bytes);    /**< with the size that was asked for */
    void *arg;
};

/** Where in its journey a frame is seen. */
enum wire_place {
    WIRE_SENT,         /**< handed to transmit(), as the core made it */
    WIRE_TRAVELS,      /**< on the line, after cutting and completing of checksums */
    WIRE_RECEIVED,     /**< handed to tenon_input() */
    WIRE_LOST          /**< dropped: loss, full queue, blackout, nobody there */
};

/** For wire_open(), which copies it. */
struct wire_conf {
    struct wire_memory memory;
    uint64_t seed;        /**< of all chance in the wire */
    uint64_t start_us;    /**< first value of the clock */
    int flood;            /**< 1: a hub repeats every frame to all; 0: it switches by destination address */

    /** Sees every frame; the frame is valid during the call. NULL: nobody looks. */
    void (*tap)(void *arg, struct wire_end *end, enum wire_place place, const struct tenon_frame *frame);
    void *tap_arg;
};

/** @return NULL when there is no memory */
struct wire *wire_open(const struct wire_conf *conf);

/** Close the wire. All hosts must have been closed. */
void wire_close(struct wire *wire);

/* ---- the clock ------------------------------------------------------------------------------- */

/** The clock, in microseconds; it stands while nobody runs the wire. */
uint64_t wire_now(const struct wire *wire);

/** Go to the next instant at which something happens, and let it happen: frames, polls, timers.
 *  @return 1, or 0: nothing happens up to and including until_us, which is the time now */
int wire_step(struct wire *wire, uint64_t until_us);

/** wire_step() until nothing is left to do up to and including until_us. */
void wire_run(struct wire *wire, uint64_t until_us);

/** Call fn(arg) at a time (not before the next step). Timers of one instant run in the order in which
 *  they were set.
 *  @return 0, or -1 when there is no memory */
int wire_at(struct wire *wire, uint64_t at_us, void (*fn)(void *arg), void *arg);

/* ---- hosts ----------------------------------------------------------------------------------- */

/** What a host can be asked for: memory, a packet buffer, and whether what has come now may be kept. */
enum wire_alloc { WIRE_MEM, WIRE_BUF, WIRE_KEEP };

/** When requests fail. All zero: never. */
struct wire_fail {
    uint64_t mem_nth, buf_nth;    /**< the n-th request from now on fails (1: the next); 0: none */
    uint32_t mem_ppm, buf_ppm;    /**< requests that fail by chance */
    int for_good;                 /**< 1: after the n-th, all fail */

    /** Has the last word: non-zero lets the request fail, and of WIRE_KEEP the instance keeps nothing,
     *  or, if it is 2, of each connection the first (tenon_keep()). `nth` counts from 0 since the host was opened.
     *  NULL: no one has. */
    int (*decide)(void *arg, struct wire_host *host, enum wire_alloc kind, uint64_t nth, int fails);
    void *arg;
};

/** Something that eats frames. wire_host_open() makes one of an instance of Tenon. */
struct wire_guest {
    void (*input)(void *guest, unsigned netif, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us);
    tenon_u32 (*poll)(void *guest, tenon_u32 now_us);
    void *guest;
};

/** For wire_host_open(), which copies it. */
struct wire_host_conf {
    uint64_t seed;           /**< of entropy() and of chance in this host. Good for tests, never for keys */
    uint64_t clock_us;       /**< the instance's clock when the wire's shows start_us: 0xFFFFF000 wraps soon */
    uint32_t buf_bytes;      /**< bytes of a packet buffer; 0: 2048 */
    uint32_t bufs_max;       /**< packet buffers out at a time; 0: no limit */
    size_t mem_bytes_max;    /**< memory out at a time; 0: no limit */
    int poison;              /**< 1: memory and buffers given back are overwritten, new ones are not zero */
    struct wire_fail fail;
};

/** What a host has counted. */
struct wire_host_stats {
    size_t mem_bytes;         /**< out now */
    size_t mem_bytes_top;     /**< the most there was at a time */
    uint32_t mem_blocks;      /**< out now */
    uint32_t bufs;            /**< packet buffers out now, on the wire too */
    uint32_t bufs_top;
    uint32_t rx_bufs;         /**< buffers of received frames out now */
    uint64_t mem_calls, mem_refused, buf_calls, buf_refused;
    uint64_t mem_wrong;       /**< mem_put() of something that was not got, or with another size */
    uint64_t inputs, polls;
    uint64_t polls_idle;      /**< polls that returned 0 although the line would have taken frames */
    uint32_t polls_per_ms_top;    /**< most polls by timer within one virtual millisecond */
};

/** A host with an instance in it.
 *  @return NULL when there is no memory, or tenon_init() refused */
struct wire_host *wire_host_open(struct wire *wire, const struct wire_host_conf *conf,
                                 const struct tenon_conf *stack_conf);

/** A host with anything else in it; give it interfaces with wire_end_open_at(). */
struct wire_host *wire_host_open_guest(struct wire *wire, const struct wire_host_conf *conf,
                                       const struct wire_guest *guest);

/** tenon_fini() alone: buffers on the wire still come back. wire_host_stack() is NULL after it. */
void wire_host_fini(struct wire_host *host);

/** Close a host: ends its instance, throws away the frames on their way to and from it. Packet buffers
 *  of it that others still hold stay good until they are given back; wire_close() comes after that. */
void wire_host_close(struct wire_host *host);

/** The instance; NULL: the host is a guest. */
struct tenon *wire_host_stack(const struct wire_host *host);

/** The functions that a guest calls, as an instance does, with the host as first argument. */
const struct tenon_host *wire_host_ops(void);

/** The host's clock. */
uint64_t wire_host_now(const struct wire_host *host);

/** The host has been called outside of a handler: poll it at the next step. */
void wire_wake(struct wire_host *host);

/** The host's clock jumps ahead, as after the sleep of a machine. */
void wire_host_jump(struct wire_host *host, uint64_t us);

/** The host does nothing for a time: neither input nor poll. Received frames wait in the ring. */
void wire_host_pause(struct wire_host *host, uint64_t us);

/** What shall fail from now on, and what the host has counted. */
void wire_host_fail(struct wire_host *host, const struct wire_fail *fail);
void wire_host_stats(const struct wire_host *host, struct wire_host_stats *stats);

/* ---- ends and lines -------------------------------------------------------------------------- */

/** Which line of an end. */
enum wire_direction {
    WIRE_OUT,    /**< from the host to the hub */
    WIRE_IN      /**< from the hub to the host */
};

/** What happens to one frame on one line. */
struct wire_fate {
    uint8_t drop;
    uint8_t copies;         /**< duplicates, besides the frame itself */
    uint8_t flips;          /**< bits that are inverted; none, if it is in a length, and no checksum could tell */
    uint32_t flip_at;       /**< the first of them, counted from the end of the link header, modulo the
                                 length; the others follow at steps of 8191 bits */
    uint32_t jitter_us;     /**< later, with all that follows */
    uint32_t late_us;       /**< later, and overtaken by what follows */
};

/** Decides on each frame, after chance has: `fate` may be changed. `nth` counts the frames of the line
 *  from 0. */
typedef void (*wire_fate_fn)(void *arg, struct wire_end *end, enum wire_direction direction, uint64_t nth,
                             const struct tenon_frame *frame, struct wire_fate *fate);

/** Whether damage to this frame, of Ethernet or with link 0 of IP, could pass unseen by every receiver: ARP has no
 *  checksum, and two inverted bits in two fragments of one datagram can cancel each other in its sum. For a fate that
 *  spares such frames, where a test looks at what arrives. */
int wire_damage_can_hide(const struct tenon_frame *frame, unsigned link);

/** A time without a network; of the wire's clock, in microseconds. */
struct wire_blackout {
    uint64_t from_us, to_us;    /**< frames put on the line in [from, to) are lost */
};

/** One direction of one end. All zero: a perfect line. */
struct wire_line_conf {
    uint64_t rate;              /**< bytes per second; 0: without limit */
    uint32_t delay_us;          /**< on the way; never less than 1 for a whole journey */
    uint32_t jitter_us;         /**< up to so much more, in order */
    uint32_t queue_bytes;       /**< that wait for the line; 0: no limit */
    uint32_t queue_frames;      /**< 0: no limit */
    uint32_t mark_bytes;        /**< IP packets that know ECN and find more than that waiting are marked CE
                                     (for all who hear them); 0: none */
    uint16_t mtu;               /**< bytes of the longest IP packet that fits, at least 68, or 1280 with IPv6; 0: all
                                     do. What is longer a router cuts into fragments, or drops it and tells its sender
                                     (RFC 791, RFC 1191, RFC 8201) */
    uint8_t mtu_silent;         /**< 1: nobody is told: a black hole (RFC 2923 2.1) */
    uint8_t queue_refuses;      /**< out: 1: transmit() takes no more than fits. 0: what does not fit is lost */
    uint32_t refuse_ppm;        /**< out: by chance transmit() takes no more frames, for up to a millisecond */
    uint32_t loss_ppm, duplicate_ppm, corrupt_ppm, reorder_ppm;
    uint32_t reorder_us;        /**< a frame that is overtaken comes up to so much later; 0: 1000 */
    uint64_t drop_mask;         /**< bit i: the i-th frame is lost; the first 64 can be chosen so */
    const struct wire_blackout *blackouts;    /**< kept, not copied */
    unsigned nblackouts;
    wire_fate_fn fate;          /**< NULL: chance alone */
    void *fate_arg;
};

/** For wire_end_open(), which copies it. */
struct wire_end_conf {
    struct tenon_netif_conf netif;    /**< what the instance is told: address, MTU, capabilities ... */
    unsigned hub;                     /**< ends with the same number hear each other */
    struct wire_line_conf out, in;

    /* What the end does with the frames of its host. */
    uint8_t cut;            /**< 1: frames for segmentation are cut into packets. 0: they travel whole, and
                                 arrive as after LRO */
    uint8_t complete_checksums;    /**< 1: PARTIAL checksums are computed. 0: such frames arrive as GOOD */

    /* What the end does with the frames for its host. */
    uint8_t copy;           /**< 1: into buffers of the exact size. 0: payload is shared with the sender, as long as a
                                 quarter of its bufs_max is left */
    uint8_t split;          /**< n > 1: every frame arrives in up to n pieces, cut anywhere */
    uint8_t pad;            /**< 1: frames shorter than 60 bytes get garbage at their end, as on Ethernet */
    uint8_t trust;          /**< 1: frames that no line has damaged arrive as GOOD */
    uint16_t burst;         /**< frames per tenon_input(); 0: 32 */
    uint32_t coalesce_us;   /**< the first frame of a burst waits so long for others */
    uint32_t ring;          /**< frames that can wait for the host; 0: 1024 */
};

/** What an end has counted since it was opened. */
struct wire_end_stats {
    uint64_t tx_frames, tx_bytes;    /**< taken by transmit() */
    uint64_t rx_frames, rx_bytes;    /**< given to input() */
    uint64_t refused;                /**< not taken: queue full */
    uint64_t oversize;               /**< sent, and larger than the MTU or the largest segmented frame */
    uint64_t malformed;              /**< sent, and not as struct tenon_frame says, or not what was offered */
    uint64_t lost;                   /**< by chance, mask or fate */
    uint64_t queue_lost, blackout_lost, ring_lost, no_memory_lost, nobody_lost;
    uint64_t duplicated, corrupted, reordered, cut;
    uint64_t marked;                 /**< CE, by this end's lines */
    uint64_t too_long;               /**< lost, as longer than a line's mtu */
    uint64_t fragments;              /**< made of what was longer */
};

/** Give the host's instance an interface.
 *  @return NULL when there is no memory or tenon_netif_add() refused */
struct wire_end *wire_end_open(struct wire_host *host, const struct wire_end_conf *conf);

/** Give a guest an interface with the number that it shall have (1 to 16). */
struct wire_end *wire_end_open_at(struct wire_host *host, const struct wire_end_conf *conf, unsigned netif);

/** The interface's number in the instance, and the host on which it is. */
unsigned wire_end_netif(const struct wire_end *end);
struct wire_host *wire_end_host(const struct wire_end *end);

/** The settings; a line may be changed at any time (what is on its way stays as it was). */
const struct wire_end_conf *wire_end_conf(const struct wire_end *end);
void wire_line_set(struct wire_end *end, enum wire_direction direction, const struct wire_line_conf *conf);

/** What the end does with the frames of its host from now on. */
void wire_end_work(struct wire_end *end, int cut, int complete_checksums);

/** What the end has counted. */
void wire_end_stats(const struct wire_end *end, struct wire_end_stats *stats);

/** How long a frame that is put on a line now waits for those before it: the queue, in nanoseconds. */
uint64_t wire_line_wait_ns(const struct wire_end *end, enum wire_direction direction);

/** Let a frame arrive at an end as if it came from its hub, delay_us from now; the bytes are copied.
 *  @return 0, or -1 when there is no memory */
int wire_inject(struct wire_end *end, const void *bytes, uint32_t n, uint64_t delay_us);

/** Frames on their way, in rings too. */
unsigned wire_in_flight(const struct wire *wire);

/** A number that looks random, from another; the wire's own chance is made of it. */
uint64_t wire_mix(uint64_t x);

/* ---- as a port --------------------------------------------------------------------------------- */

struct port_type;

/** ports/common/port.h: the two that open the same name are the ends of one cable. Both belong to one thread, and
 *  the wire's clock follows the real one. */
extern const struct port_type wire_port_type;

#ifdef __cplusplus
}
#endif

#endif
