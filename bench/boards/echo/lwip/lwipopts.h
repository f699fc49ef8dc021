/* SPDX-License-Identifier: MIT */
/* lwIP for the echo: what the builds of Tenon beside it have, and room for as much. ECHO_IPV6, ECHO_BLOCKS,
 * ECHO_BLOCK_BYTES, ECHO_HEAP, ECHO_ETH_PAD, ECHO_COPY and the interface, ECHO_NETCONN and ECHO_SOCKET, are of the
 * build. */
#ifndef TENON_BENCH_BOARDS_ECHO_LWIPOPTS_H
#define TENON_BENCH_BOARDS_ECHO_LWIPOPTS_H

#define NO_SYS (!ECHO_NETCONN)
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN ECHO_NETCONN
#define LWIP_SOCKET ECHO_SOCKET
#define LWIP_RAW 0
#define LWIP_STATS 0
#define LWIP_NOASSERT 1
#define LWIP_SINGLE_NETIF 1
#define LWIP_TIMERS 1
#define LWIP_CHKSUM_ALGORITHM 3
#define MEM_ALIGNMENT 4

/* 4 connections with 2 segments in flight each (ECHO_HEAP 8), and as many acknowledgments; headers are in the heap, and
 * with ECHO_COPY the bytes. Without, what is left of two segments that came may be in two pbufs. */
#define TCP_MSS 1460
#define TCP_WND (2 * TCP_MSS)
#define TCP_SND_BUF (2 * TCP_MSS)
#define TCP_SND_QUEUELEN 8
#define MEM_SIZE (ECHO_HEAP * (ECHO_COPY * TCP_MSS + 92) + 4 * 100)
#define MEMP_NUM_TCP_PCB 6
#define MEMP_NUM_TCP_PCB_LISTEN 1
#define MEMP_NUM_UDP_PCB 1
#define MEMP_NUM_TCP_SEG 16
#define MEMP_NUM_PBUF (ECHO_COPY ? 8 : 16)
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

/* With netconns and sockets: a netconn for each connection, for who listens, and for datagrams. With fewer lwIP resets
 * clients who come while the end of another is still in its mailbox. A mailbox of four has room for two segments, their
 * small rest, and the end; an end that finds it full lwIP loses. Nothing here uses options of sockets, errno (poll
 * tells of errors), names of hosts, or other threads. */
#define MEMP_NUM_NETCONN 8
#define ECHO_MAILBOX 4
#define DEFAULT_ACCEPTMBOX_SIZE ECHO_MAILBOX
#define DEFAULT_TCP_RECVMBOX_SIZE ECHO_MAILBOX
#define DEFAULT_UDP_RECVMBOX_SIZE ECHO_MAILBOX
#define MEMP_NUM_NETBUF 2
#define MEMP_NUM_TCPIP_MSG_API 1    /* it wants one, and uses none */
#define LWIP_TCPIP_CORE_LOCKING 1
#define LWIP_TCPIP_CORE_LOCKING_INPUT 1
#define LWIP_NETCONN_SEM_PER_THREAD 1
#define LWIP_NETCONN_FULLDUPLEX 0
#define LWIP_NETBUF_RECVINFO 0
#define LWIP_COMPAT_SOCKETS 0
#define LWIP_SOCKET_SELECT 0
#define LWIP_SOCKET_POLL 1
#define LWIP_SO_RCVTIMEO 0
#define LWIP_SO_SNDTIMEO 0
#define LWIP_SO_RCVBUF 0
#define LWIP_SO_LINGER 0
#define LWIP_TCP_KEEPALIVE 0
#define LWIP_DNS 0
#define LWIP_NETIF_API 0
#define LWIP_PROVIDE_ERRNO 1
#define set_errno(error)

#endif
