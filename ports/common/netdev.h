/* SPDX-License-Identifier: MIT */
/** @file
 *  What a driver says of what it can do for AF_XDP when it does not copy: the family "netdev" of the kernel's generic
 *  netlink (Linux 6.3). Where the kernel copies it does what is asked for by itself; a driver leaves out what it does
 *  not know, without a word. */
#ifndef TENON_PORTS_COMMON_NETDEV_H
#define TENON_PORTS_COMMON_NETDEV_H

#include <stddef.h>

struct port_netdev {
    int answers; /**< 0: it does not say, so what is least */
    unsigned pieces_max; /**< of a frame that is sent (Linux 6.6): it drops those with more */
    int completes_sums; /**< as transmit metadata asks for (6.8) */
};

/** @param interface  its number */
void port_netdev_ask(unsigned interface, struct port_netdev *driver);

/** Read an answer, as port_netdev_ask() does. */
void port_netdev_read(const void *answer, size_t bytes, struct port_netdev *driver);

#endif
