/* SPDX-License-Identifier: MIT */
/** @file
 *  What all ports have in common, so that a program can let its user choose one: `tap:tenon0`, or
 *  `xdp:veth0,mode=copy`.
 *
 *  A port is one queue of one interface and serves one instance; like the instance it belongs to one
 *  thread. Several queues of an interface are several ports.
 *
 *  Each kind is a folder with a header, in which there is its `struct port_type`, and what only this
 *  kind can do. An instance with ports of several kinds puts a table of its own before theirs
 *  (struct tenon_host), and passes on what is meant for each. */
#ifndef TENON_PORTS_COMMON_PORT_H
#define TENON_PORTS_COMMON_PORT_H

#include <stddef.h>
#include <stdint.h>

#include <tenon/tenon.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pcap_writer;

/** Frames at a time; settings of a kind; characters of what is written, and of a message. */
enum { PORT_BURST = 32, PORT_SETTINGS_MAX = 8, PORT_TEXT_MAX = 256 };

/** What may be written behind "name=": one of several words, a number from 1 to a million, or anything. */
enum port_value { PORT_CHOICE, PORT_NUMBER, PORT_WORDS };

/** What only some kinds of port can be told: "mode", PORT_CHOICE, "copy|zerocopy|auto", "how frames are received". */
struct port_setting {
    const char *name;
    enum port_value value;
    const char *values; /**< for people; of a choice: its words */
    const char *text; /**< for people */
};

/** What to open. A field that is 0 takes its default. */
struct port_conf {
    const char *name; /**< interface, or whatever the kind has; read during open() only */
    unsigned mtu; /**< bytes; 0: the interface's */
    int offload; /**< 1: whatever the interface can do; 0: the core makes checksums and cuts
                                    segments, both ways */
    unsigned queues; /**< of the interface: 0 and 1 for one */
    unsigned queue; /**< which of them, from 0 */
    size_t buffer_bytes_max; /**< limit of packet memory, or of that of each of two sizes (rxslots.h); 0: the kind's
                                    default */
    const char *settings[PORT_SETTINGS_MAX]; /**< in the order of port_type.settings; NULL: not given */
    unsigned values[PORT_SETTINGS_MAX]; /**< the same: which word of the choice, from 0, or the number; 0: not given */
};

/** Counted since it was opened. What a kind cannot know stays 0. */
struct port_stats {
    uint64_t rx_frames, rx_bytes; /**< given to the core */
    uint64_t rx_empty; /**< looked, and there was nothing */
    uint64_t rx_no_buffer; /**< frames lost because packet memory had reached its limit */
    uint64_t rx_missed; /**< frames that the interface lost, because nobody fetched them in time */
    uint64_t rx_bad; /**< frames lost because what came with them makes no sense */
    uint64_t rx_errors; /**< attempts to receive that failed */
    uint64_t tx_frames, tx_bytes; /**< taken by the interface */
    uint64_t tx_busy; /**< frames refused for now: the core offers them again */
    uint64_t tx_down; /**< frames lost because the interface is down */
    uint64_t tx_errors; /**< frames lost for another reason */
    uint64_t buf_failures; /**< times that there was no buffer */
    uint64_t buf_bytes; /**< packet memory */
};

struct port;

/** A kind of port. All functions belong to the port's thread. */
struct port_type {
    const char *kind; /**< "tap": before the colon */
    const char *name; /**< what stands behind it, for people: "INTERFACE" */
    const char *text; /**< what it is, for people: half a line */
    const struct port_setting *settings; /**< up to PORT_SETTINGS_MAX, then one whose name is NULL */
    unsigned queues_max; /**< 1: it has no queues */
    size_t memory; /**< for packets, if nothing else is wanted, in bytes; 0: it cannot be chosen */
    size_t bytes; /**< of the kind's own struct, whose first member is a struct port */

    /** Open one: see port_open(). The struct is all zeros, but for what the caller has set in its first member.
     *  @param conf        complete: what has a default is not 0
     *  @param[out] error  what went wrong and what to do about it, in one line; untouched on success
     *  @return 0; -1: close() is called next, in any case */
    int (*open)(struct port *port, const struct port_conf *conf, char *error, size_t error_size);

    /** Undo what open() has done, all of it or as far as it came. Not the struct itself. */
    void (*close)(struct port *port);

    /** For tenon_init(); its `host` is the struct port. They serve every `netif` alike. */
    const struct tenon_host *host;

    /** Give the instance what has arrived, at most PORT_BURST frames: when it returns PORT_BURST there may be more.
     *  @return number of frames; -1: the interface is gone */
    int (*receive)(struct port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us);

    /** Add what somebody else has counted to what the port has, `stats`; NULL: nobody has. */
    void (*stats)(struct port *port, struct port_stats *stats);

    /** What the user should know before he waits for packets in vain: "tenon0 is down ..."; NULL: kinds that know
     *  nothing. @return 1: there is something to say; 0: all is well */
    int (*advice)(const struct port *port, char *text, size_t text_size);
};

/** The first member of each kind's own struct. */
struct port {
    const struct port_type *type;

    /** Who gets what was received, instead of the instance that is given to receive(); it may look at the frames, and
     *  keep what it takes a reference of, until it returns. NULL: nobody does. */
    void (*input)(void *arg, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us);
    void *input_arg;

    /* For the kind. */
    /** Who writes down the frames that pass (pcap/pcap.h); NULL: nobody. */
    void (*capture)(const struct port *port, int outgoing, const struct tenon_frame *frames, unsigned n);
    struct pcap_writer *capture_writer;
    unsigned capture_interface; /**< its number there */
    int fd; /**< see port_fd(); -1 before open() sets it */
    enum tenon_kept keeps; /**< what is kept of what comes now; to be set before port_input() */
    struct port_stats stats; /**< what it counts */
    struct tenon_netif_conf netif; /**< see port_netif_conf(); open() sets it */
    char name[PORT_TEXT_MAX]; /**< as in struct port_conf */
};

/** Open one. Nothing is left behind when it fails. May be called in several threads, as port_close(): one after the
 *  other has its turn.
 *  @param[out] error  what went wrong and what to do about it, in one line; untouched on success
 *  @return NULL on failure */
struct port *port_open(const struct port_type *type, const struct port_conf *conf, char *error, size_t error_size);

/** Close it and free all memory. The instance must have been ended (tenon_fini()), and nobody may keep a buffer of the
 *  port. */
void port_close(struct port *port);

/** What tenon_netif_add() wants to know: address, MTU, offloads. All queues of an interface say the same. */
static inline void port_netif_conf(const struct port *port, struct tenon_netif_conf *out)
{
    *out = port->netif;
}

/** For poll(): readable when receive() has something to do, writable when a transmit that was refused may be tried
 *  again; -1: there is none, receive() has to be called all the time. */
static inline int port_fd(const struct port *port)
{
    return port->fd;
}

/** See port_type.receive(). */
static inline int port_receive(struct port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    return port->type->receive(port, stack, netif, now_us);
}

/** What it has counted since it was opened. */
static inline void port_stats(struct port *port, struct port_stats *stats)
{
    *stats = port->stats;
    if (port->type->stats != NULL)
        port->type->stats(port, stats);
}

/** A port that somebody has written down. */
struct port_choice {
    const struct port_type *type;
    struct port_conf conf; /**< its strings lie in `text` */
    char text[PORT_TEXT_MAX]; /**< the parts of what was written, each ended by a 0 */
};

/** Understand `KIND:NAME[,SETTING=VALUE...]`. Every kind has the settings mtu, offload (on or off), and, if it
 *  has queues, queues and queue, if its packet memory can be chosen, memory (in MB); the others are the kind's.
 *  @param types        those that may be chosen, ended by NULL
 *  @param[out] choice  complete on success
 *  @param[out] error   what is wrong, and what could be written, in one line
 *  @return 0; -1: it is wrong */
int port_read(struct port_choice *choice, const struct port_type *const *types, const char *written, char *error,
              size_t error_size);

/* ---- for those who write a port ------------------------------------------------------------------------ */

/** Bytes of all of these frames. */
static inline uint64_t port_bytes(const struct tenon_frame *frames, unsigned n)
{
    uint64_t bytes = 0;

    for (; n > 0; n--, frames++) {
        bytes += frames->spans[0].len; /* most have one or two */
        for (unsigned i = 1; i < frames->nspans; i++)
            bytes += frames->spans[i].len;
    }
    return bytes;
}

/** What a kind calls with frames that it has sent: they are counted, and captured if somebody wants that. */
static inline void port_sent(struct port *port, const struct tenon_frame *frames, unsigned n)
{
    port->stats.tx_frames += n;
    port->stats.tx_bytes += port_bytes(frames, n);
    if (port->capture != NULL)
        port->capture(port, 1, frames, n);
}

/** What may be kept, so that there are buffers to receive into.
 *  @param left       so many there would be then
 *  @param few, last  fewer than `few`: TENON_KEEP_FIRST; fewer than `last`: TENON_KEEP_NOTHING */
static inline enum tenon_kept port_keeps(unsigned left, unsigned few, unsigned last)
{
    if (left < last)
        return TENON_KEEP_NOTHING;
    return left < few ? TENON_KEEP_FIRST : TENON_KEEP_ALL;
}

/** Frames of which the instance keeps little or nothing, and which it hears all the same: see tenon_keep(). */
void port_give_short(const struct port *port, struct tenon *stack, unsigned netif, const struct tenon_frame *frames,
                     unsigned n, tenon_u32 now_us);

/** Frames of this port to an instance, which keeps what may be kept of them: for struct port.input, that gives on what
 *  it has looked at. */
static inline void port_give(const struct port *port, struct tenon *stack, unsigned netif,
                             const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    if (port->keeps == TENON_KEEP_ALL)
        tenon_input(stack, netif, frames, n, now_us);
    else
        port_give_short(port, stack, netif, frames, n, now_us);
}

/** Hand over what receive() has received. It is counted, and captured before, because the core may write into it. */
static inline void port_input(struct port *port, struct tenon *stack, unsigned netif,
                              const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    port->stats.rx_frames += n;
    port->stats.rx_bytes += port_bytes(frames, n);
    if (port->capture != NULL)
        port->capture(port, 0, frames, n);
    if (port->input != NULL)
        port->input(port->input_arg, frames, n, now_us);
    else
        port_give(port, stack, netif, frames, n, now_us);
}

/** Parts of struct tenon_host for a process of an operating system: malloc(), free(), and its random numbers. */
void *port_mem_get(void *host, size_t bytes);
void port_mem_put(void *host, void *mem, size_t bytes);
int port_entropy(void *host, void *bytes, size_t n);

/** The clock for tenon_input() and tenon_poll(): CLOCK_MONOTONIC in microseconds, modulo 2^32. */
tenon_u32 port_now_us(void);

/** For captures. @return nanoseconds since 1970 */
uint64_t port_wall_ns(void);

/** An Ethernet address for an end of a link of whose other end the kernel has one: locally administered, different from
 *  the kernel's, the same whenever it is asked for. Neighbours need not learn it anew when a program starts again. */
void port_derive_mac(tenon_u8 mac[6], const char *interface, const tenon_u8 kernels[6]);

/** What to do about a message of somebody else's that has these words. A table ends with a row without words, whose
 *  hint is for all others. */
struct port_hint {
    const char *words, *hint;
};

/** @return the hint of the first row whose words are in what was said */
const char *port_hint(const struct port_hint *hints, const char *said);

/** Say what went wrong. @return -1 */
__attribute__((format(printf, 3, 4))) int port_explain(char *error, size_t error_size, const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
