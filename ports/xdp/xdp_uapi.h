/* SPDX-License-Identifier: MIT */
/* What the kernel's headers have only since some version: the names of linux/if_xdp.h with XSK_ before them. A kernel
 * that does not know them refuses, and we do without. */
#ifndef TENON_PORTS_XDP_UAPI_H
#define TENON_PORTS_XDP_UAPI_H

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>

/* Of bind(): frames of several descriptors (Linux 6.6). Of a descriptor: the next one goes on with this frame. */
enum { XSK_USE_SG = 1 << 4, XSK_PKT_CONTD = 1 << 0 };

/* Of a UMEM: tx_metadata_len means something (6.11). Of a descriptor: struct xsk_tx_words lies before the frame. In
 * that: complete the checksum. */
enum { XSK_UMEM_TX_METADATA_LEN = 1 << 2, XSK_TX_METADATA = 1 << 1, XSK_TXMD_CHECKSUM = 1 << 1 };

/* Of a program: it does not mind frames in pieces (5.18). */
enum { XSK_PROG_HAS_FRAGS = 1 << 5 };

struct xsk_umem_reg {
    __u64 addr, len;
    __u32 chunk_size, headroom, flags, tx_metadata_len;
};

struct xsk_tx_words {
    __u64 flags;
    __u16 csum_start, csum_offset;
    __u32 unused;
    __u64 launch_time;
};

#endif
