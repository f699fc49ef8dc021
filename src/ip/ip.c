/* SPDX-License-Identifier: MIT */
/* What IP keeps in an instance: its begin and its end. */
#include "ip/ip_internal.h"

TENON_INTERNAL tenon_u32 tn_ip_bytes(const struct tenon_conf *conf)
{
    return tn_reass_bytes(conf);
}

TENON_INTERNAL void tn_ip_init(struct tenon *stack, tenon_u8 *mem)
{
    struct tn_ip *ip = &stack->ip;
    unsigned i;

    for (i = 0; TN_IP_HASHES && i < TENON_ARRAY_LEN(ip->key.k); i++)
        ip->key.k[i] = tn_random(&stack->random);
    for (i = 0; TN_IP_HASHES && i < TN_IP_BUCKETS; i++)
        ip->ids[i] = (tenon_u16)(tn_random(&stack->random) & 0xFFFFUL);
    /* Empty buckets that are filled when they are first looked at. */
    if (TENON_WITH_ICMP)
        ip->errors.ms = ip->replies.ms = stack->now_ms - (tenon_u32)0x10000000UL;
    tn_reass_init(stack, mem);
}

TENON_INTERNAL void tn_ip_fini(struct tenon *stack)
{
    tn_echo_fini(stack);
    tn_reass_fini(stack);
}
