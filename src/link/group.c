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

static void group_report(struct tenon *stack, const struct tn_group *group, enum group_report what,
                         int old)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, group->netif);

    if (group_is_v4(&group->ip))
        tn_igmp_report(stack, netif, &group->ip, what);
    else if (netif->ip6)
        tn_mld_report(stack, netif, &group->ip, what, old);
}

static int group_is_old(const struct tenon *stack, const struct tn_group *group)
{
    const struct tn_netif *netif = tn_netif_of(&stack->link, group->netif);

    return group_is_v4(&group->ip) ? tn_igmp_is_old(stack, netif) : tn_mld_is_old(stack, netif);
}

/* Nothing of it is to be reported any more: what was left is forgotten. */
static void group_rest(struct tenon *stack, struct tn_group *group)
{
    tn_link_timer_stop(stack, &group->timer);
    group->changes = 0;
    if (group->users == 0)
        memset(group, 0, sizeof(*group));
}

/* Report what is due: a change, which is said again after a while, or else how it is. A leave message of an older
 * version is sent once only, its join twice. */
static void group_report_next(struct tenon *stack, struct tn_group *group)
{
    const int old = group_is_old(stack, group);
    enum group_report what = GROUP_CURRENT;

    if (!tn_netif_of(&stack->link, group->netif)->up || !group_is_reported(group)) {
        group_rest(stack, group);
        return;
    }
    if (group->changes > 0) {
        group->changes--;
        what = group->users > 0 ? GROUP_JOIN : GROUP_LEAVE;
    }
    group_report(stack, group, what, old);
    if (group->changes == 0 || (old && group->users == 0))
        group_rest(stack, group);
    else
        tn_link_timer_start(stack, &group->timer,
                            1 + tn_link_jitter(stack, old ? GROUP_REPORT_OLD_MS : GROUP_REPORT_MS));
}

static void group_change(struct tenon *stack, struct tn_group *group)
{
    group->changes = GROUP_ROBUSTNESS;
    group_report_next(stack, group);
}

TENON_INTERNAL void tn_group_timer(struct tenon *stack, struct tn_group *group)
{
    if (TENON_WITH_MULTICAST)
        group_report_next(stack, group);
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
        group_change(stack, group);
    }
}

/* ---- queries --------------------------------------------------------------------------------- */

/* A report that is due earlier anyway answers this query too (RFC 3376 5.2), unless its time has not begun yet. A
 * change that is still to be said again is said in time for it: without sources it tells routers as much (RFC 3376
 * 6.4, RFC 3810 7.4). */
static void group_queried(struct tenon *stack, struct tn_group *group, tenon_u32 max_ms)
{
    const tenon_u32 ms = tn_link_jitter(stack, max_ms);
    const struct tn_alarm *due = &group->timer;

    if (!tn_timer_runs(&due->timer) || due->wait_ms != 0 ||
        tn_seq_gt(due->timer.when, tn_tick_after_ms(stack, ms)))
        tn_link_timer_start(stack, &group->timer, ms);
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

        if (group->users == 0 || !tn_netif_is(group->netif, netif->index) || group_is_v4(&group->ip) != is_v4)
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
    if (group != NULL && group_is_old(stack, group))
        group_rest(stack, group);
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
    if (leaving != NULL)
        group_rest(stack, leaving);
    return leaving;
}

/* Whether there can be such a group. */
static int group_is_possible(const struct tn_netif *netif, const struct tenon_ip *ip)
{
    return TENON_WITH_MULTICAST && netif != NULL && tn_ip_is_multicast(ip);
}

TENON_INTERNAL int tn_group_join(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip)
{
    struct tn_group *group = group_find(stack, netif->index, ip);

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
    group->timer.timer.kind = TN_TIMER_GROUP;
    group->ip = *ip;
    group->netif = netif->index;
    group->users = 1;
    group_change(stack, group);
    return TENON_OK;
}

TENON_INTERNAL int tn_group_leave(struct tenon *stack, const struct tn_netif *netif, const struct tenon_ip *ip)
{
    struct tn_group *group = group_find(stack, netif->index, ip);

    if (group == NULL || group->users == 0)
        return TENON_ENOADDR;
    if (--group->users == 0)
        group_change(stack, group);
    return TENON_OK;
}

TENON_API int tenon_group_join(struct tenon *stack, unsigned index, const struct tenon_ip *ip)
{
    const struct tn_netif *netif = tn_netif_at(stack, index);

    if (!group_is_possible(netif, ip) || (!group_is_v4(ip) && !netif->ip6))
        return TENON_EINVAL;
    return group_is_all_nodes(ip) ? TENON_OK : tn_group_join(stack, netif, ip);
}

TENON_API int tenon_group_leave(struct tenon *stack, unsigned index, const struct tenon_ip *ip)
{
    const struct tn_netif *netif = tn_netif_at(stack, index);

    if (!group_is_possible(netif, ip))
        return TENON_EINVAL;
    return group_is_all_nodes(ip) ? TENON_OK : tn_group_leave(stack, netif, ip);
}
