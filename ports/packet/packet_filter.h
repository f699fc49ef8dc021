/* SPDX-License-Identifier: MIT */
/** @file
 *  Which frames the kernel gives to a packet socket. */
#ifndef TENON_PORTS_PACKET_PACKET_FILTER_H
#define TENON_PORTS_PACKET_PACKET_FILTER_H

#include <tenon/types.h>

/** What belongs to one instance; and what each has to know: ARP, neighbour discovery, ICMP errors, group queries. */
enum packet_frames { PACKET_NO_FRAMES = 0, PACKET_OF_FLOWS = 1, PACKET_FOR_ALL = 2 };

/** Give a socket those of the frames to `mac` or to a group that are of these kinds, and no others.
 *  @param frames  enum packet_frames, or-ed
 *  @return 0; -1: errno says why */
int packet_filter(int fd, const tenon_u8 mac[6], unsigned frames);

#endif
