/* SPDX-License-Identifier: MIT */
/* Multicast groups that we listen to, for both IP versions: who joined, and when to report. What a report
 * looks like is igmp.c's and mld.c's business. We never filter sources: a member hears all of them, in the
 * words of RFC 3376 and RFC 3810 its filter is EXCLUDE {}. */
#include "link/link_internal.h"

/* RFC 3376 8.1, 8.11, RFC 3810 9.1, 9.11; for older versions RFC 2236 8.10, RFC 2710 7.10. */
enum { GROUP_ROBUSTNESS = 2, GROUP_REPORT_MS = 1000, GROUP_REPORT_OLD_MS = 10000 };

/* Without IGMP there are no others than IPv6's. */
static int group_is_v4(const struct tenon_ip *ip)
{
    return TENON_WITH_IGMP && tenon_ip_is_v4(ip);
}

/* All nodes: joined always, reported never (RFC 1112 6.1, RFC 2710 5). */
static int group_is_all_nodes(const struct tenon_ip *ip)
{
    if (group_is_v4(ip))
        return ip->w[TENON_IP4_WORD] == 0xE0000001UL;
    return (ip->w[0] == 0xFF010000UL || ip->w[0] == 0xFF020000UL) &&
           (tenon_ip_word(ip, 1) | tenon_ip_word(ip, 2)) == 0 && ip->w[TENON_IP4_WORD] == 1;
}

/* Groups of scope 0 and 1 never leave the interface. */
static int group_is_reported(const struct tn_group *group)
{
    return group_is_v4(&group->ip) || (group->ip.w[0] >> 16 & 0xF) > 1;
}

static struct tn_group *group_find(const struct tenon *stack, unsigned netif, const struct tenon_ip *ip)
{
    struct tn_group *group = stack->link.groups;
    struct tn_group *const end = group + stack->conf.groups_max;

    for (; group < end; group++) {
        if (tn_netif_is(group->netif, netif) && tenon_ip_equal(&group->ip, ip))
            return group;
    }
    return NULL;
}

TENON_INTERNAL int tn_group_is_joined(const struct tenon *stack, unsigned netif, const struct tenon_ip *ip)
{
    const struct tn_group *group;

    if (!TENON_WITH_MULTICAST)
        return 0;
    if (group_is_all_nodes(ip))
        return 1;
    group = group_find(stack, netif, ip);
    return group != NULL && group->users > 0;
}

/* ---- reports --------------------------------------------------------------------------------- */

static void group_report(struct tenon *stack, const struct tn_group *group, enum group_report what)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, group->netif);

    if (!netif->up || !group_is_reported(group))
        return;
    if (group_is_v4(&group->ip))
        tn_igmp_report(stack, netif, &group->ip, what);
    else if (netif->ip6)
        tn_mld_report(stack, netif, &group->ip, what);
}

static int group_is_old(const struct tenon *stack, const struct tn_group *group)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, group->netif);

    return group_is_v4(&group->ip) ? tn_igmp_is_old(stack, netif) : tn_mld_is_old(stack, netif);
}

/* Start the timer for what is due first; a group that was left and reported is forgotten. */
static void group_schedule(struct tenon *stack, struct tn_group *group)
{
    tenon_u32 at = group->change_at_ms;

    if (group->change_left == 0 && group->users == 0) {
        tn_link_timer_stop(stack, &group->timer);
        memset(group, 0, sizeof(*group));
        return;
    }
    if (group->change_left == 0 && !group->queried) {
        tn_link_timer_stop(stack, &group->timer);
        return;
    }
    if (group->change_left == 0 || (group->queried && tn_seq_lt(group->query_at_ms, at)))
        at = group->query_at_ms;
    tn_link_timer_start(stack, &group->timer, tn_seq_lt(stack->now_ms, at) ? at - stack->now_ms : 0);
}

/* Report a change once, and prepare to do so again. A leave message of an older version is sent once only,
 * its join twice. */
static void group_report_change(struct tenon *stack, struct tn_group *group)
{
    const int old = group_is_old(stack, group);

    group_report(stack, group, group->users > 0 ? GROUP_JOIN : GROUP_LEAVE);
    group->change_left--;
    if (old && group->users == 0)
        group->change_left = 0;
    group->change_at_ms = stack->now_ms + 1 + tn_link_jitter(stack, old ? GROUP_REPORT_OLD_MS : GROUP_REPORT_MS);
}

static void group_change(struct tenon *stack, struct tn_group *group)
{
    group->change_left = 0;
    if (tn_netif_of(&stack->link, group->netif)->up && group_is_reported(group)) {
        group->change_left = GROUP_ROBUSTNESS;
        group_report_change(stack, group);
    }
    group_schedule(stack, group);
}

TENON_INTERNAL void tn_group_timer(struct tenon *stack, struct tn_group *group)
{
    if (!TENON_WITH_MULTICAST)
        return;
    if (group->change_left > 0 && !tn_seq_lt(stack->now_ms, group->change_at_ms))
        group_report_change(stack, group);
    if (group->queried && !tn_seq_lt(stack->now_ms, group->query_at_ms)) {
        group->queried = 0;
        group_report(stack, group, GROUP_CURRENT);
    }
    group_schedule(stack, group);
}

TENON_INTERNAL void tn_groups_link(struct tenon *stack, const struct tn_netif *netif, int is_v4)
{
    unsigned i;

    if (!TENON_WITH_MULTICAST)
        return;
    for (i = 0; i < stack->conf.groups_max; i++) {
        struct tn_group *group = &stack->link.groups[i];

        if (group->netif != netif->index || group_is_v4(&group->ip) != is_v4)
            continue;
        group->queried = 0;
        group_change(stack, group);
    }
}

/* ---- queries --------------------------------------------------------------------------------- */

/* A report that is due earlier anyway answers this query too (RFC 3376 5.2). */
static void group_queried(struct tenon *stack, struct tn_group *group, tenon_u32 max_ms)
{
    const tenon_u32 at = stack->now_ms + tn_link_jitter(stack, max_ms);

    if (group->users == 0 || (group->queried && tn_seq_le(group->query_at_ms, at)))
        return;
    group->queried = 1;
    group->query_at_ms = at;
    group_schedule(stack, group);
}

TENON_INTERNAL void tn_groups_queried(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip,
                                      tenon_u32 max_ms)
{
    const int is_v4 = group_is_v4(ip);
    const int general = is_v4 ? ip->w[TENON_IP4_WORD] == 0 : tenon_ip_is_any(ip);
    unsigned i;

    if (!TENON_WITH_MULTICAST)
        return;
    for (i = 0; i < stack->conf.groups_max; i++) {
        struct tn_group *group = &stack->link.groups[i];

        if (group->netif != netif->index || group_is_v4(&group->ip) != is_v4)
            continue;
        if (general || tenon_ip_equal(&group->ip, ip))
            group_queried(stack, group, max_ms);
    }
}

TENON_INTERNAL void tn_group_suppress(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip)
{
    struct tn_group *group = group_find(stack, netif->index, ip);

    if (!TENON_WITH_MULTICAST)
        return;
    if (group == NULL || !group_is_old(stack, group))
        return;
    group->queried = 0;
    group_schedule(stack, group);
}

/* ---- the interface --------------------------------------------------------------------------- */

/* A free slot, or one of a group that is only being left. */
static struct tn_group *group_slot(struct tenon *stack)
{
    struct tn_group *leaving = NULL;
    unsigned i;

    for (i = 0; i < stack->conf.groups_max; i++) {
        struct tn_group *group = &stack->link.groups[i];

        if (group->netif == 0)
            return group;
        if (group->users == 0)
            leaving = group;
    }
    if (leaving != NULL) {
        leaving->change_left = 0;
        group_schedule(stack, leaving);
    }
    return leaving;
}

TENON_API int tenon_group_join(struct tenon *stack, unsigned index, const struct tenon_ip *ip)
{
    const struct tn_netif *netif = tn_netif_at(stack, index);
    struct tn_group *group;

    if (!TENON_WITH_MULTICAST || netif == NULL || !tn_ip_is_multicast(ip) || (!group_is_v4(ip) && !netif->ip6))
        return TENON_EINVAL;
    if (group_is_all_nodes(ip))
        return TENON_OK;
    group = group_find(stack, index, ip);
    if (group != NULL && group->users == 0xFFFFU)
        return TENON_ELIMIT;
    if (group != NULL && group->users > 0) {
        group->users++;
        return TENON_OK;
    }
    if (group == NULL)
        group = group_slot(stack);
    if (group == NULL)
        return TENON_ELIMIT;
    group->timer.use = LINK_TIMER_GROUP;
    group->ip = *ip;
    group->netif = (tenon_u8)index;
    group->users = 1;
    group_change(stack, group);
    return TENON_OK;
}

TENON_API int tenon_group_leave(struct tenon *stack, unsigned index, const struct tenon_ip *ip)
{
    struct tn_group *group;

    if (!TENON_WITH_MULTICAST || tn_netif_at(stack, index) == NULL || !tn_ip_is_multicast(ip))
        return TENON_EINVAL;
    if (group_is_all_nodes(ip))
        return TENON_OK;
    group = group_find(stack, index, ip);
    if (group == NULL || group->users == 0)
        return TENON_ENOADDR;
    if (--group->users > 0)
        return TENON_OK;
    group->queried = 0;
    group_change(stack, group);
    return TENON_OK;
}
