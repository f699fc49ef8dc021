/* SPDX-License-Identifier: MIT */
/* What the headers of later kernels say besides (linux/if_xdp.h of Linux 6.12), whatever kernel's are
 * installed: ports/xdp has to compile with both. */
#include <linux/if_xdp.h>
#include <linux/types.h>

#ifndef XDP_TXMD_FLAGS_CHECKSUM
#define XDP_USE_SG (1 << 4)
#define XDP_UMEM_TX_METADATA_LEN (1 << 2)
#define XDP_PKT_CONTD (1 << 0)
#define XDP_TX_METADATA (1 << 1)
#define XDP_TXMD_FLAGS_TIMESTAMP (1 << 0)
#define XDP_TXMD_FLAGS_CHECKSUM (1 << 1)

struct xsk_tx_metadata {
    __u64 flags;
    __u16 csum_start, csum_offset;
};
#endif

#include "../../ports/xdp/xdp_internal.h"

/* As the kernel has it: flags, two offsets at 8, and what is asked for by other flags. */
typedef char tx_words_are_the_kernels[sizeof(struct xsk_tx_words) == 24 ? 1 : -1];
