/* SPDX-License-Identifier: MIT */
/* lwIP as a fast sender wants it: no operating system, memory from malloc(), a queue of 1 MiB as Tenon's,
 * window scaling. Its congestion control is NewReno; it has no other. */
#ifndef BENCH_PEERS_LWIPOPTS_H
#define BENCH_PEERS_LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_RAW 0
#define LWIP_UDP 0
#define LWIP_STATS 0
#define LWIP_SINGLE_NETIF 1

#define MEM_ALIGNMENT 8
#define MEM_LIBC_MALLOC 1
#define MEMP_MEM_MALLOC 1

#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_ARP 1

#define LWIP_TCP 1
#define TCP_MSS 1460
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 5
#define TCP_WND (1024 * 1024)
#define TCP_SND_BUF (1024 * 1024)
#define TCP_SNDLOWAT (8 * TCP_MSS)
#define TCP_SND_QUEUELEN 8192
#define TCP_OVERSIZE 0
#define LWIP_TCP_SACK_OUT 1
#define LWIP_TCP_TIMESTAMPS 0

#endif
