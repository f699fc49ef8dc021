/* SPDX-License-Identifier: MIT */
/* lwIP at its best for this benchmark: no operating system, the raw interface, static pools, windows that never limit.
 * SPEED_MSS is set by the build: one build of lwIP for each MTU. */
#ifndef TENON_BENCH_SPEED_LWIPOPTS_H
#define TENON_BENCH_SPEED_LWIPOPTS_H

#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_NETCONN 0
#define LWIP_SOCKET 0
#define LWIP_RAW 0
#define LWIP_STATS 0
#define LWIP_NOASSERT 1
#define LWIP_SINGLE_NETIF 1
#define LWIP_NETIF_HWADDRHINT 1
#define ETHARP_SUPPORT_STATIC_ENTRIES 1
#define LWIP_CHECKSUM_CTRL_PER_NETIF 1
#define LWIP_CHKSUM_ALGORITHM 3
#define LWIP_SUPPORT_CUSTOM_PBUF 1

#define MEM_ALIGNMENT 8
#define MEM_LIBC_MALLOC 1
#define MEMP_NUM_TCP_PCB 20400
#define MEMP_NUM_TCP_PCB_LISTEN 8
#define MEMP_NUM_UDP_PCB 128
#define MEMP_NUM_TCP_SEG 65535
#define MEMP_NUM_PBUF 65535
#define PBUF_POOL_SIZE 64

#define LWIP_IPV4 1
#define LWIP_IPV6 0
#define LWIP_ARP 1
#define LWIP_UDP 1

#define LWIP_TCP 1
#define TCP_MSS SPEED_MSS
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 6
#define TCP_WND (4 * 1024 * 1024 - 64)
#define TCP_SND_BUF (4 * 1024 * 1024 - 64)
#define TCP_SNDLOWAT 16384
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1    /* they want four segments in 64 KB */
#define TCP_SND_QUEUELEN 65000
#define LWIP_TCP_SACK_OUT 1
#define LWIP_TCP_TIMESTAMPS 0

#endif
