/* SPDX-License-Identifier: MIT */
/* lwIP for a board of 64 KB: no operating system, the raw interface, static pools, and what Tenon has there:
 * IPv4, IPv6, TCP with selective acknowledgments, window scaling and timestamps, UDP, ICMP, ARP, neighbour
 * discovery, fragments, multicast groups, DHCP, SLAAC. */
#ifndef TENON_BENCH_BOARDS_LWIPOPTS_H
#define TENON_BENCH_BOARDS_LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_RAW 0
#define LWIP_STATS 0
#define LWIP_NOASSERT 1
#define LWIP_SINGLE_NETIF 1
#define LWIP_CHECKSUM_CTRL_PER_NETIF 1
#define LWIP_TIMERS 1

/* Sums as lwIP makes them, or by the function of the board, which both stacks have then. */
#define LWIP_CHKSUM_ALGORITHM 3
#define LWIP_CHKSUM(bytes, n) (board_sums ? sum_by_board(bytes, n) : lwip_standard_chksum(bytes, n))
extern int board_sums;
unsigned short sum_by_board(const void *bytes, int n);
unsigned short lwip_standard_chksum(const void *bytes, int n);

#define MEM_ALIGNMENT 4
#define MEM_SIZE 8192
#define MEMP_NUM_TCP_PCB 3
#define MEMP_NUM_TCP_PCB_LISTEN 2
#define MEMP_NUM_UDP_PCB 3
#define MEMP_NUM_TCP_SEG 16
#define MEMP_NUM_PBUF 16
#define MEMP_NUM_REASSDATA 2
#define PBUF_POOL_SIZE 6
#define PBUF_POOL_BUFSIZE 1536
#define ETH_PAD_SIZE 2

#define LWIP_IPV4 1
#define LWIP_IPV6 1
#define LWIP_ARP 1
#define LWIP_UDP 1
#define LWIP_DHCP 1
#define LWIP_IGMP 1
#define IP_REASSEMBLY 1
#define IP_FRAG 1

#define LWIP_TCP 1
#define TCP_MSS 1460
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 0
#define TCP_WND (2 * TCP_MSS)
#define TCP_SND_BUF (2 * TCP_MSS)
#define TCP_SND_QUEUELEN 8
#define LWIP_TCP_SACK_OUT 1
#define LWIP_TCP_TIMESTAMPS 1

#endif
