/* SPDX-License-Identifier: MIT */
/** @file
 *  Captures in pcapng format, for Wireshark and its kin, at the frame boundary of any port.
 *
 *  What is written is what a wire would have seen: checksums that were left to the NIC are completed in
 *  the capture's copy, and frames that were left to it for segmentation are recorded as the segments
 *  into which it cuts them. The frames themselves are never touched.
 *
 *  A writer allocates once, in pcap_writer_open(). An error of the file is remembered; pcap_writer_close() tells it. */
#ifndef TENON_PORTS_PCAP_PCAP_H
#define TENON_PORTS_PCAP_PCAP_H

#include <stddef.h>
#include <stdint.h>

#include <tenon/tenon.h>

#include "../common/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A capture that is being written: from pcap_writer_open() to pcap_writer_close(). */
struct pcap_writer;

/** Link types (the registry calls them LINKTYPE_). */
enum {
    PCAP_ETHERNET = 1,
    PCAP_RAW_IP = 101 /**< an interface with TENON_CAP_NO_LINK */
};

/** Begin a capture.
 *  @param path         an existing file is overwritten; "-": standard output
 *  @param[out] error   what went wrong, in one line
 *  @return NULL on failure */
struct pcap_writer *pcap_writer_open(const char *path, char *error, size_t error_size);

/** Describe an interface; frames are written under its number.
 *  @param name     for the reader of the capture
 *  @param snaplen  bytes kept of each frame; 0: all
 *  @return its number, 0 and up; -1: more than 64 */
int pcap_interface(struct pcap_writer *writer, const char *name, unsigned snaplen, unsigned link_type);

/** Write a frame. One that is not well-formed enough to be completed or cut is written as it is.
 *  @param outgoing  1: sent by us, 0: received
 *  @param ns        time, nanoseconds since 1970 (or since whatever the program's time begins with)
 *  @param comment   shown by Wireshark beside the frame; NULL: none */
void pcap_frame(struct pcap_writer *writer, unsigned interface, int outgoing, const struct tenon_frame *frame,
                uint64_t ns, const char *comment);

/** Hand what is buffered to the system. Happens by itself when a frame comes a quarter of a second or
 *  more after the last time. */
void pcap_flush(struct pcap_writer *writer);

/** End the capture.
 *  @param[out] error  the first thing that went wrong with the file, if anything; may be NULL
 *  @return 0, or -1: the capture is incomplete */
int pcap_writer_close(struct pcap_writer *writer, char *error, size_t error_size);

/* ---- comments from the trace (pcap_trace.c) -------------------------------------------------- */

/** Attach a trace event to the frame that it is about: call it from tenon_conf.trace. "sent" goes to the
 *  frame that carries the segment; everything else to the connection's next frame in either
 *  direction. What finds no frame among the next 64 events is forgotten. */
void pcap_trace(struct pcap_writer *writer, const struct tenon_trace_event *event);

/** The same for a text of the program's own. `sent_seq` != NULL: only the outgoing frame with this
 *  sequence number. */
void pcap_note(struct pcap_writer *writer, tenon_u16 local_port, tenon_u16 remote_port, const tenon_u32 *sent_seq,
               const char *text);

/* ---- capture in a port (pcap_port.c) --------------------------------------------------------- */

/** From now on write all frames of a port, both directions, as an interface of its name; none if pcap_interface()
 *  refuses.
 *  @param writer  stays the caller's; NULL: stop */
void port_attach(struct port *port, struct pcap_writer *writer);

/* ---- capture of any port (pcap_host.c) ------------------------------------------------------- */

/** Interfaces of one instance that can be captured. */
enum { PCAP_HOST_NETIFS = 16 };

/** A host table put before that of a port, which writes down what passes. Give pcap_host_ops() and
 *  this struct to tenon_init(), and received frames to pcap_host_input(). */
struct pcap_host {
    const struct tenon_host *ops; /**< the port's table ... */
    void *host; /**< ... and its own pointer */
    struct pcap_writer *writer; /**< NULL: no capture */
    uint64_t (*now_ns)(void *clock); /**< the time written beside each frame */
    void *clock;
    int interface[PCAP_HOST_NETIFS]; /**< of the capture, by netif; -1: not captured */
};

/** @param now_ns  NULL: the system's time of day */
void pcap_host_init(struct pcap_host *self, const struct tenon_host *ops, void *host, struct pcap_writer *writer,
                    uint64_t (*now_ns)(void *clock), void *clock);

/** Capture interface `netif` under this name.
 *  @return 0, or -1: no such number is possible, or pcap_interface() refused */
int pcap_host_netif(struct pcap_host *self, unsigned netif, const char *name, unsigned link_type);

/** For tenon_init(), with a struct pcap_host as `host`. */
const struct tenon_host *pcap_host_ops(void);

/** tenon_input(), captured. */
int pcap_host_input(struct pcap_host *self, struct tenon *stack, unsigned netif, const struct tenon_frame *frames,
                    unsigned n, tenon_u32 now_us);

#ifdef __cplusplus
}
#endif

#endif
