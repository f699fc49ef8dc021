/* SPDX-License-Identifier: MIT */
/* Between ns-3's addresses and buffers and Tenon's: for the files of this port only. */
#ifndef TENON_PORTS_NS3_TENON_ADDRESS_H
#define TENON_PORTS_NS3_TENON_ADDRESS_H

#include <ns3/address.h>

#include <tenon/tenon.h>

namespace ns3
{

/** From an Ipv4Address or Ipv6Address; anything else ends the program. */
tenon_ip TenonIp(const Address &address);

/** From and to an InetSocketAddress or Inet6SocketAddress.
 *  @return false: it is neither */
bool TenonFromSocketAddress(tenon_addr *to, const Address &from);
Address TenonToSocketAddress(const tenon_addr &from);

/** A buffer of that size from the heap, with one reference. */
tenon_buf *TenonBuf(uint32_t bytes);

} // namespace ns3

#endif
