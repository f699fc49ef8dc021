/* SPDX-License-Identifier: MIT */
/** @file
 *  What Linux says of an Ethernet interface, for ports that work on one that is there already. */
#ifndef TENON_PORTS_COMMON_INTERFACE_H
#define TENON_PORTS_COMMON_INTERFACE_H

#include <stddef.h>

#include <net/if.h>

#include <tenon/types.h>

struct interface {
    char name[IFNAMSIZ]; /**< the kernel's, by whatever other name it was asked for */
    int index;
    unsigned mtu; /**< what is wanted, or the interface's own: 576 to 65535 */
    tenon_u8 mac[6]; /**< the kernel's */
};

/** Ask for one that is Ethernet and not the loopback.
 *  @param name        may be anything
 *  @param mtu         wanted; 0: the interface's own
 *  @param[out] error  what is wrong with it, and what to do about that
 *  @return 0; -1 */
int port_interface_read(struct interface *out, const char *name, unsigned mtu, char *error, size_t error_size);

/** @param index  any; 0 is none. @return 1: there is such an interface, or it cannot be found out now */
int port_interface_exists(unsigned index);

/** Ask its driver, as ethtool does.
 *  @param[out] driver  its name; empty if it does not say
 *  @return how many queues it receives with; 0: it does not say */
unsigned port_interface_queues(const char *name, char *driver, size_t driver_size);

/** Let the filter of its driver pass what is sent to groups, as neighbour discovery is, for as long as this packet
 *  socket is open: the kernel sees to that, and undoes it.
 *  @return 0; -1: errno says why */
int port_interface_hear_groups(const struct interface *interface, int fd);

/** What a user should know before he waits for frames in vain: the interface is down or has no link, or the kernel has
 *  an address there.
 *  @param own_mac  1: our Ethernet address is not the kernel's, and so our link-local address is another
 *  @return 1: there is something to say; 0: all is well */
int port_interface_advice(const struct interface *interface, int own_mac, char *text, size_t text_size);

#endif
