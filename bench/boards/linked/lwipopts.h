/* SPDX-License-Identifier: MIT */
/* lwIP for bench/boards/linked.py: what the builds core, least and tiny of Tenon have (tests/trim/combinations), as
 * small as it goes. LINKED_CORE and LINKED_ETHERNET are of the build: 1 or 0. */
#ifndef TENON_BENCH_BOARDS_LINKED_LWIPOPTS_H
#define TENON_BENCH_BOARDS_LINKED_LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_RAW 0
#define LWIP_STATS 0
#define LWIP_NOASSERT 1
#define LWIP_SINGLE_NETIF 1
#define LWIP_TIMERS 1
#define LWIP_HAVE_LOOPIF 0
#define LWIP_NETIF_LOOPBACK 0
#define MEM_ALIGNMENT 4

#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_ETHERNET LINKED_ETHERNET
#define LWIP_ARP LINKED_ETHERNET
#define ARP_QUEUEING 0
#define LWIP_ICMP 1
#define LWIP_DHCP 0
#define LWIP_IGMP 0
#define LWIP_ACD 0
#define IP_REASSEMBLY 0
#define IP_FRAG 0
#define LWIP_UDP LINKED_CORE

#define LWIP_TCP 1
#define TCP_MSS 1460
#define TCP_WND (2 * TCP_MSS)
#define TCP_SND_BUF (2 * TCP_MSS)
#define TCP_SND_QUEUELEN 8
#define TCP_OVERSIZE 0
#define TCP_CALCULATE_EFF_SEND_MSS 0
#define TCP_QUEUE_OOSEQ LINKED_CORE
#define LWIP_WND_SCALE LINKED_CORE
#define TCP_RCV_SCALE 0
#define LWIP_TCP_SACK_OUT LINKED_CORE
#define LWIP_TCP_TIMESTAMPS LINKED_CORE

#endif
