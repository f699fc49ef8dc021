/* SPDX-License-Identifier: MIT */
/* lwIP for the echo: what the builds of Tenon beside it have, and room for as much. ECHO_IPV6, ECHO_BLOCKS,
 * ECHO_BLOCK_BYTES and ECHO_ETH_PAD are of the build. */
#ifndef TENON_BENCH_BOARDS_ECHO_LWIPOPTS_H
#define TENON_BENCH_BOARDS_ECHO_LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_RAW 0
#define LWIP_STATS 0
#define LWIP_NOASSERT 1
#define LWIP_SINGLE_NETIF 1
#define LWIP_TIMERS 1
#define LWIP_CHKSUM_ALGORITHM 3
#define MEM_ALIGNMENT 4

/* 4 connections with 2 segments in flight each, and as many acknowledgments; their copies are in the heap. */
#define TCP_MSS 1460
#define TCP_WND (2 * TCP_MSS)
#define TCP_SND_BUF (2 * TCP_MSS)
#define TCP_SND_QUEUELEN 8
#define MEM_SIZE (4 * 2 * (TCP_MSS + 92) + 4 * 100)
#define MEMP_NUM_TCP_PCB 6
#define MEMP_NUM_TCP_PCB_LISTEN 1
#define MEMP_NUM_UDP_PCB 1
#define MEMP_NUM_TCP_SEG 16
#define MEMP_NUM_PBUF 8
#define PBUF_POOL_SIZE ECHO_BLOCKS
#define PBUF_POOL_BUFSIZE ECHO_BLOCK_BYTES
#define ETH_PAD_SIZE ECHO_ETH_PAD

#define LWIP_IPV4 1
#define LWIP_IPV6 ECHO_IPV6
#define LWIP_ARP 1
#define ARP_TABLE_SIZE 4
#define LWIP_ND6_NUM_NEIGHBORS 4
#define LWIP_ND6_NUM_DESTINATIONS 4
#define LWIP_ND6_NUM_PREFIXES 2
#define LWIP_ND6_NUM_ROUTERS 2
#define LWIP_IPV6_NUM_ADDRESSES 3
#define MEMP_NUM_ND6_QUEUE 4
#define MEMP_NUM_MLD6_GROUP 3
#define LWIP_UDP 1
#define LWIP_ICMP 1
#define LWIP_DHCP 0
#define LWIP_IGMP 0
#define IP_REASSEMBLY 0
#define IP_FRAG 0
#define LWIP_IPV6_REASS 0
#define LWIP_IPV6_FRAG 0
#define LWIP_IPV6_DHCP6 0

#define LWIP_TCP 1
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 0
#define LWIP_TCP_SACK_OUT 1
#define LWIP_TCP_TIMESTAMPS 1

#endif
