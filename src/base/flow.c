/* SPDX-License-Identifier: MIT */
/* The Toeplitz hash of receive-side scaling. An object of its own: a program that does not use it has nothing of it. */
#include <tenon/flow.h>

#include "base/bytes.h"

const tenon_u8 tenon_flow_key_microsoft[TENON_FLOW_KEY_BYTES] = {
    0x6D, 0x5A, 0x56, 0xDA, 0x25, 0x5B, 0x0E, 0xC2, 0x41, 0x67, 0x25, 0x3D, 0x43, 0xA3,
    0x8F, 0xB0, 0xD0, 0xCA, 0x2B, 0xCB, 0xAE, 0x7B, 0x30, 0xB4, 0x77, 0xCB, 0x2D, 0xA3,
    0x80, 0x30, 0xF2, 0x0C, 0x6A, 0x42, 0xB7, 0x3B, 0xBE, 0xAC, 0x01, 0xFA
};

const tenon_u8 tenon_flow_key_symmetric[TENON_FLOW_KEY_BYTES] = {
    0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A,
    0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A,
    0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A, 0x6D, 0x5A
};

/* For every bit that is set, from the left, the 32 bits of the key that begin at its place. Four bytes of input: the
 * key's eight from that place on. */
static tenon_u32 flow_word(const tenon_u8 *key, tenon_u32 word)
{
    tenon_u32 window = get32be(key), next = get32be(key + 4), hash = 0;
    unsigned i;

    for (i = 0; i < 32; i++) {
        if (word & 0x80000000UL)
            hash ^= window;
        word <<= 1;
        window = window << 1 | next >> 31;
        next <<= 1;
    }
    return hash;
}

static tenon_u32 flow_words(const tenon_u8 *key, const tenon_u32 *words, unsigned n)
{
    tenon_u32 hash = 0;

    for (; n > 0; n--, words++, key += 4)
        hash ^= flow_word(key, *words);
    return hash;
}

TENON_API tenon_u32 tenon_flow_hash(const tenon_u8 *key, const struct tenon_addr *from, const struct tenon_addr *to)
{
    const unsigned skip = tenon_ip_is_v4(&to->ip) ? TENON_IP4_WORD : 0,
                   n = TENON_IP_WORDS - skip; /* words of an address */
    const tenon_u32 ports = (tenon_u32)from->port << 16 | to->port;

    return flow_words(key, from->ip.w + skip, n) ^ flow_words(key + (size_t)4 * n, to->ip.w + skip, n) ^
           flow_word(key + (size_t)8 * n, ports);
}

TENON_API void tenon_flow_spread(tenon_u16 *table, unsigned entries, unsigned queues)
{
    unsigned i;

    for (i = 0; i < entries; i++)
        table[i] = (tenon_u16)(i % queues);
}

TENON_API unsigned tenon_flow_queue(const struct tenon_flow *flow, const struct tenon_addr *local,
                                    const struct tenon_addr *remote)
{
    return flow->table[tenon_flow_hash(flow->key, remote, local) & (flow->entries - 1UL)];
}

static int flow_fits(const struct tenon_port_filter *filter, const struct tenon_addr *local,
                     const struct tenon_addr *remote)
{
    const struct tenon_flow *flow = (const struct tenon_flow *)(const void *)filter;    /* its first member */

    return tenon_flow_queue(flow, local, remote) == flow->queue;
}

static int flow_table_has(const tenon_u16 *table, unsigned entries, unsigned queue)
{
    unsigned i;

    for (i = 0; i < entries; i++)
        if (table[i] == queue)
            return 1;
    return 0;
}

TENON_API int tenon_flow_init(struct tenon_flow *flow, const tenon_u8 *key, const tenon_u16 *table, unsigned entries,
                              unsigned queue)
{
    if (entries == 0 || entries > 32768U || (entries & (entries - 1)) != 0)
        return TENON_EINVAL;
    if (!flow_table_has(table, entries, queue))
        return TENON_EINVAL;
    flow->filter.fits = flow_fits;
    flow->key = key;
    flow->table = table;
    flow->entries = (tenon_u16)entries;
    flow->queue = (tenon_u16)queue;
    return TENON_OK;
}
