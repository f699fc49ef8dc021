/* SPDX-License-Identifier: MIT */
/** @file
 *  AF_XDP: frames straight from a queue of a network interface, past the kernel's own stack, in memory that
 *  the application shares with it. */
#ifndef TENON_PORTS_XDP_XDP_H
#define TENON_PORTS_XDP_XDP_H

#include "../common/port.h"

#ifdef __cplusplus
extern "C" {
#endif

/** `xdp:INTERFACE`. One port is one queue; what comes to a queue that no port of this process has goes to the
 *  kernel as before. While one is open, the interface carries an XDP program that the first port of a process
 *  attaches and the last one takes off; a process that is killed leaves nothing behind. The functions open()
 *  and close() may be called in several threads at the same time. */
extern const struct port_type xdp_port_type;

/** How frames get from the interface into our memory, from the fastest to what any interface can do. */
enum xdp_mode { XDP_MODE_ZEROCOPY, XDP_MODE_COPY, XDP_MODE_GENERIC, XDP_MODES };

/** What only this kind knows. */
struct xdp_port_info {
    enum xdp_mode mode; /**< the one that was found */
    int gathers; /**< frames may lie in several pieces, both ways */
    int completes_sums; /**< checksums of what is sent are left to the kernel */
    uint64_t tx_lying_frames; /**< sent as they lay, because all of their bytes lie in the port's memory */
    uint64_t tx_copied_frames, tx_copied_bytes; /**< copied first: the program's own memory (struct tenon_buf of its
                                                   own), which the interface cannot reach */
};

/** What the kernel and the driver gave. */
void xdp_port_info(const struct port *port, struct xdp_port_info *info);

#ifdef __cplusplus
}
#endif

#endif
