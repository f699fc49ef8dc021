/* SPDX-License-Identifier: MIT */
/** @file
 *  Which queue of a NIC a connection's packets arrive at: the Toeplitz hash of receive-side scaling (RSS).
 *
 *  A NIC with several queues hashes addresses and ports of each packet with a key that the driver has given it, takes
 *  the hash's lower bits as an index into a table of queues, and puts the packet there. With one instance per queue, a
 *  connection that is opened needs a local port for which the answers come to the queue of the instance that has opened
 *  it. Such ports are chosen so:
 *
 *      tenon_u16 table[128];                                           the NIC's; entries as the driver set them
 *      struct tenon_flow flow;                                         one for each instance
 *
 *      tenon_flow_spread(table, 128, queues);
 *      tenon_flow_init(&flow, tenon_flow_key_microsoft, table, 128, my_queue);
 *      conf.tcp_ports = &flow.filter;                                  struct tenon_conf
 *
 *  From then on tenon_tcp_connect() chooses among the ports that fit; the choice is random as before (RFC 6056 3.3.4),
 *  but with N queues there are N times fewer ports to choose from, and to guess. Connections that others
 *  open come to some queue: listen in every instance.
 *
 *  The hash is that of "Verifying the RSS Hash Calculation" (Microsoft): NICs, virtio-net, DPDK. The functions need no
 *  instance and keep nothing. They are an object of their own in the library: who does not call them has none of it. */
#ifndef TENON_FLOW_H
#define TENON_FLOW_H

#include <tenon/stack.h>

TENON_BEGIN_DECLS

/** Bytes of a key that take part: 36 of addresses and ports of IPv6, and 4. Of longer ones (52) give the first 40. */
enum { TENON_FLOW_KEY_BYTES = 40 };

/** The key of the verification suite, which many drivers use. */
TENON_API extern const tenon_u8 tenon_flow_key_microsoft[TENON_FLOW_KEY_BYTES];

/** 0x6D5A, over and over: both directions of a connection have the same hash. Its lower half is the upper one again,
 *  and more connections share one. */
TENON_API extern const tenon_u8 tenon_flow_key_symmetric[TENON_FLOW_KEY_BYTES];

/** The hash of a packet.
 *  @param key   TENON_FLOW_KEY_BYTES bytes
 *  @param from  source address and port. Ports 0 in both: the hash of the addresses alone, which NICs use for
 *               fragments and for protocols without ports
 *  @param to    destination, of the same IP version (it tells which) */
TENON_API tenon_u32 tenon_flow_hash(const tenon_u8 *key, const struct tenon_addr *from, const struct tenon_addr *to);

/** Fill a table as most drivers do: 0, 1, 2, ..., queues - 1, and again.
 *  @param entries  how many it has
 *  @param queues   1 and up */
TENON_API void tenon_flow_spread(tenon_u16 *table, unsigned entries, unsigned queues);

/** What decides on the queue, and which one is meant. */
struct tenon_flow {
    struct tenon_port_filter filter;    /**< for struct tenon_conf; it finds the rest behind it */
    const tenon_u8 *key;
    const tenon_u16 *table;             /**< queue numbers */
    tenon_u16 entries;
    tenon_u16 queue;                    /**< where answers shall come to */
};

/** Fill it in.
 *  @param key      kept: must outlive `flow`, as `flow` must outlive the instance that has it in its configuration
 *  @param table    kept, too. It may be changed: what is opened after that follows it
 *  @param entries  a power of 2, up to 32768
 *  @return TENON_OK, or TENON_EINVAL: not a power of 2, or `queue` is not in the table */
TENON_API int tenon_flow_init(struct tenon_flow *flow, const tenon_u8 *key, const tenon_u16 *table, unsigned entries,
                              unsigned queue);

/** The queue at which packets of a connection arrive.
 *  @param local   our end of it
 *  @param remote  the peer's */
TENON_API unsigned tenon_flow_queue(const struct tenon_flow *flow, const struct tenon_addr *local,
                                    const struct tenon_addr *remote);

TENON_END_DECLS

#endif
