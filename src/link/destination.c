/* SPDX-License-Identifier: MIT */
/* Which address of a host to try first: RFC 6724 6. Rule 4 is about mobile IPv6, rule 7 about tunnels. */
#include "link/link_internal.h"

struct destination {
    const struct tenon_ip *ip;
    const struct tn_address *source;    /* NULL: there is no way to it */
    unsigned scope, label;
};

/* By the label (RFC 6724 2.1). */
static const tenon_u8 destination_precedence[] = { 50, 40, 30, 1, 35, 5, 0, 0, 0, 0, 0, 1, 1, 3 };

static void destination_look(const struct tenon *stack, struct destination *dst, const struct tenon_ip *ip)
{
    const struct tenon_ip *next_hop;
    const unsigned netif = tn_path_hop(stack, &next_hop, ip, 0);

    dst->ip = ip;
    dst->source = netif != 0 ? tn_source_select(stack, ip, netif, next_hop) : NULL;
    dst->scope = tn_source_scope(ip);
    dst->label = tn_source_label(ip);
}

static int destination_scope_fits(const struct destination *dst)
{
    return dst->scope == tn_source_scope(&dst->source->ip);
}

static int destination_label_fits(const struct destination *dst)
{
    return dst->label == tn_source_label(&dst->source->ip);
}

/* Whether a is the better destination; each rule decides only where all before it do not. */
static int destination_is_better(const struct destination *a, const struct destination *b)
{
    const unsigned precedence_a = destination_precedence[a->label], precedence_b = destination_precedence[b->label];
    int x, y;

    if (a->source == NULL || b->source == NULL)    /* rule 1 */
        return a->source != NULL && b->source == NULL;
    if (!TN_ROUTERS)
        return 0;
    x = destination_scope_fits(a);    /* rule 2 */
    y = destination_scope_fits(b);
    if (x != y)
        return x;
    x = a->source->state == TENON_ADDR_DEPRECATED;    /* rule 3 */
    y = b->source->state == TENON_ADDR_DEPRECATED;
    if (x != y)
        return y;
    x = destination_label_fits(a);    /* rule 5 */
    y = destination_label_fits(b);
    if (x != y)
        return x;
    if (precedence_a != precedence_b)    /* rule 6 */
        return precedence_a > precedence_b;
    if (a->scope != b->scope)    /* rule 8 */
        return a->scope < b->scope;
    if (tenon_ip_is_v4(a->ip) != tenon_ip_is_v4(b->ip))
        return 0;
    return tn_source_common(a->source, a->ip) > tn_source_common(b->source, b->ip);    /* rule 9 */
}

/* Rule 10: the order stays where nothing decides, so one is moved only in front of those that are worse. */
static void destination_insert(const struct tenon *stack, struct tenon_ip *ips, unsigned at)
{
    const struct tenon_ip ip = ips[at];
    struct destination mine, before;

    destination_look(stack, &mine, &ip);
    for (; at > 0; at--) {
        destination_look(stack, &before, &ips[at - 1]);
        if (!destination_is_better(&mine, &before))
            break;
        ips[at] = ips[at - 1];
    }
    ips[at] = ip;
}

unsigned tenon_addr_sort(const struct tenon *stack, struct tenon_ip *ips, unsigned n)
{
    struct destination dst;
    unsigned i, reached = 0;

    for (i = 1; i < n; i++)
        destination_insert(stack, ips, i);
    for (; reached < n; reached++) {
        destination_look(stack, &dst, &ips[reached]);
        if (dst.source == NULL)
            break;
    }
    return reached;
}
