/* SPDX-License-Identifier: MIT */
/* Addresses that nobody configured: the link-local one, and those in advertised prefixes (RFC 4862), with
 * stable interface identifiers (RFC 7217). */
#include "base/bytes.h"
#include "link/link_internal.h"

enum { SLAAC_PER_NETIF_MAX = 4 };      /* addresses made from prefixes, on one interface */
enum { SLAAC_TWO_HOURS_S = 7200 };     /* RFC 4862 5.5.3 e */
enum { SLAAC_WORDS = 5, SLAAC_USE = 'I' };              /* tells this use of the secret from others: tcp_secret.c */

/* RFC 5453, RFC 7217 5: the subnet-router anycast address and the two reserved ranges. */
static int slaac_is_reserved(tenon_u32 high, tenon_u32 low)
{
    if (high == 0 && low == 0)
        return 1;
    if (high == 0x02005EFFUL && low >> 24 == 0xFE)
        return 1;
    return high == 0xFDFFFFFFUL && low >= 0xFFFFFF80UL;
}

/* RID = F(Prefix, Net_Iface, Network_ID, DAD_Counter, secret_key) (RFC 7217 5), F being tn_secret_words(); Net_Iface is
 * the number and the Ethernet address, there is no Network_ID. The secret is made at the start of the instance,
 * so the identifiers are stable as long as that lives. */
static void slaac_identify(const struct tenon *stack, const struct tn_netif *netif, struct tn_address *wanted)
{
    struct tenon_ip *ip = &wanted->ip;
    tenon_u32 words[SLAAC_WORDS + 1], rid[2];

    words[0] = ip->w[0];
    words[1] = tenon_ip_word(ip, 1);
    words[2] = get32be(netif->conf.mac);
    words[3] = (tenon_u32)get16be(netif->conf.mac + 4) << 16 | (tenon_u32)netif->index << 8 | wanted->dad_counter;
    words[4] = 0;    /* otherwise another try */
    do
        tn_secret_words(rid, &stack->secret, words, SLAAC_WORDS, SLAAC_USE);
    while (slaac_is_reserved(rid[1], rid[0]) && ++words[4] < 8);
    *ip = tenon_ip6(ip->w[0], tenon_ip_word(ip, 1), rid[1], rid[0]);
}

TENON_INTERNAL int tn_slaac_new(struct tenon *stack, const struct tn_netif *netif, struct tn_address *wanted)
{
    slaac_identify(stack, netif, wanted);
    wanted->netif = netif->index;
    wanted->bits = TN_SLAAC_BITS;
    wanted->automatic = 1;
    return tn_address_new(stack, wanted);
}

/* RFC 4862 5.3 */
TENON_INTERNAL int tn_slaac_link_local(struct tenon *stack, const struct tn_netif *netif)
{
    struct tn_address wanted;

    memset(&wanted, 0, sizeof(wanted));
    wanted.ip = tenon_ip6(0xFE800000UL, 0, 0, 0);
    return tn_slaac_new(stack, netif, &wanted);
}

/* The automatic address in this prefix; how many there are in all prefixes. */
static struct tn_address *slaac_find(const struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip,
                                     unsigned *count)
{
    struct tn_address *address = stack->link.addresses, *found = NULL;
    struct tn_address *const end = address + tn_addrs_max(&stack->conf);

    *count = 0;
    for (; address < end; address++) {
        if (!address->automatic || !tn_netif_is(address->netif, netif->index) || tn_ip_is_link_local(&address->ip))
            continue;
        ++*count;
        if (tn_ip_match(&address->ip, ip, TN_SLAAC_BITS))
            found = address;
    }
    return found;
}

/* RFC 4862 5.5.3 e: one forged advertisement must not be able to end an address within two hours. */
static tenon_u32 slaac_valid(tenon_u32 remaining, tenon_u32 advertised)
{
    if (advertised > SLAAC_TWO_HOURS_S || advertised > remaining)
        return advertised;
    return tn_min(remaining, SLAAC_TWO_HOURS_S);
}

TENON_INTERNAL void tn_slaac_prefix(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip,
                                    tenon_u32 valid_s, tenon_u32 preferred_s)
{
    struct tn_address *known, wanted;
    unsigned count;

    known = slaac_find(stack, netif, ip, &count);
    if (known != NULL)
        valid_s = slaac_valid(tn_link_remaining(stack, known->valid_until_s), valid_s);
    else if (valid_s == 0 || count >= SLAAC_PER_NETIF_MAX)
        return;
    memset(&wanted, 0, sizeof(wanted));
    wanted.ip = *ip;
    wanted.valid_until_s = tn_link_deadline(stack, valid_s);
    wanted.preferred_until_s = tn_link_deadline(stack, preferred_s);
    if (known == NULL) {
        (void)tn_slaac_new(stack, netif, &wanted);
        return;
    }
    known->valid_until_s = wanted.valid_until_s;
    known->preferred_until_s = wanted.preferred_until_s;
    if (known->state == TENON_ADDR_DEPRECATED && preferred_s > 0) {
        known->state = TENON_ADDR_PREFERRED;
        tn_path_invalidate(stack);
    }
}
