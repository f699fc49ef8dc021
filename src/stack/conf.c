/* SPDX-License-Identifier: MIT */
/* The configuration: its defaults, and what cannot work. */
#include "core.h"
#include "stack/stack_internal.h"

TENON_API void tenon_conf_default(struct tenon_conf *conf)
{
    memset(conf, 0, sizeof(*conf));
    conf->netifs_max = 4;
    conf->addrs_max = 16;
    conf->routes_max = 32;
    conf->groups_max = 32;
    conf->tx_burst_max = 32;
    conf->tx_gather_max = 20;
    conf->neighbours_max = 256;
    conf->neighbour_queue_max = 16;
    conf->paths_max = 4096;
    conf->reass_bytes_max = 262144UL;
    conf->reass_datagrams_max = 64;
    conf->reass_pieces_max = 64;
    conf->reass_timeout_ms = 60000UL;
    conf->icmp_errors_per_s = 1000;
    conf->icmp_errors_burst = 50;
    conf->hop_limit = 64;
    conf->dad_transmits = 1;
    conf->udp_sockets_max = 4096;
    conf->tcp_conns_max = 1048576UL;
    conf->tcp_time_wait_max = 16384;
    conf->tcp_rcv_buf = 1048576UL;
    conf->tcp_snd_buf = 1048576UL;
    conf->tcp_ooo_bytes_max = 0;
    conf->tcp_ooo_ranges_max = 256;
    conf->tcp_mss_min = 88;
    conf->tcp_copy_max = 256;
    conf->tcp_rto_initial_us = 1000000UL;
    conf->tcp_rto_min_us = 200000UL;
    conf->tcp_rto_max_us = 60000000UL;
    conf->tcp_peer_delack_us = 40000UL;
    conf->tcp_delack_us = 40000UL;
    conf->tcp_msl_ms = 30000UL;
    conf->tcp_rsts_per_s = 1000;
    conf->tcp_syncookies = 1;
    conf->tcp_port_counters = 4096;
    conf->tcp_fastopen_pending_max = 32;
    conf->tcp_fastopen_cache_max = 32;
    conf->tcp_orphans_max = 4096;
    conf->tcp_orphan_ms = 120000UL;
    conf->tcp_ooo_total_max = 67108864UL;
    conf->tcp_resting_max = 1024;
    conf->tcp_cc = TENON_WITH_RECOVERY ? &tenon_cc_cubic : &tenon_cc_newreno;
}

/* Fields of which 0 means "default", by where they lie: those of 16 bits, and of 32. */
static const tenon_u16 conf_fields16[] = {
    offsetof(struct tenon_conf, netifs_max),
    offsetof(struct tenon_conf, addrs_max),
    offsetof(struct tenon_conf, routes_max),
    offsetof(struct tenon_conf, groups_max),
    offsetof(struct tenon_conf, tx_burst_max),
    offsetof(struct tenon_conf, tx_gather_max),
    offsetof(struct tenon_conf, neighbours_max),
    offsetof(struct tenon_conf, neighbour_queue_max),
    offsetof(struct tenon_conf, reass_datagrams_max),
    offsetof(struct tenon_conf, reass_pieces_max),
    offsetof(struct tenon_conf, icmp_errors_per_s),
    offsetof(struct tenon_conf, icmp_errors_burst),
    offsetof(struct tenon_conf, tcp_fastopen_cache_max),
    offsetof(struct tenon_conf, tcp_port_counters),
    offsetof(struct tenon_conf, tcp_ooo_ranges_max),
    offsetof(struct tenon_conf, tcp_mss_min),
    offsetof(struct tenon_conf, tcp_copy_max)
};
static const tenon_u16 conf_fields32[] = {
    offsetof(struct tenon_conf, paths_max),
    offsetof(struct tenon_conf, reass_bytes_max),
    offsetof(struct tenon_conf, reass_timeout_ms),
    offsetof(struct tenon_conf, udp_sockets_max),
    offsetof(struct tenon_conf, tcp_conns_max),
    offsetof(struct tenon_conf, tcp_time_wait_max),
    offsetof(struct tenon_conf, tcp_rcv_buf),
    offsetof(struct tenon_conf, tcp_snd_buf),
    offsetof(struct tenon_conf, tcp_ooo_total_max),
    offsetof(struct tenon_conf, tcp_orphans_max),
    offsetof(struct tenon_conf, tcp_orphan_ms),
    offsetof(struct tenon_conf, tcp_resting_max),
    offsetof(struct tenon_conf, tcp_fastopen_pending_max),
    offsetof(struct tenon_conf, tcp_rto_initial_us),
    offsetof(struct tenon_conf, tcp_rto_min_us),
    offsetof(struct tenon_conf, tcp_rto_max_us),
    offsetof(struct tenon_conf, tcp_peer_delack_us),
    offsetof(struct tenon_conf, tcp_delack_us),
    offsetof(struct tenon_conf, tcp_msl_ms),
    offsetof(struct tenon_conf, tcp_rsts_per_s)
};

static void conf_complete_limits(struct tenon_conf *conf, const struct tenon_conf *defaults)
{
    tenon_u8 *const to = (tenon_u8 *)conf;
    const tenon_u8 *const from = (const tenon_u8 *)defaults;
    unsigned i;

    for (i = 0; i < TENON_ARRAY_LEN(conf_fields16); i++) {
        tenon_u16 *field = (tenon_u16 *)(void *)(to + conf_fields16[i]);

        if (*field == 0)
            *field = *(const tenon_u16 *)(const void *)(from + conf_fields16[i]);
    }
    for (i = 0; i < TENON_ARRAY_LEN(conf_fields32); i++) {
        tenon_u32 *field = (tenon_u32 *)(void *)(to + conf_fields32[i]);

        if (*field == 0)
            *field = *(const tenon_u32 *)(const void *)(from + conf_fields32[i]);
    }
}

static void conf_complete(struct tenon_conf *conf)
{
    struct tenon_conf defaults;

    tenon_conf_default(&defaults);
    conf_complete_limits(conf, &defaults);
    if (conf->neighbour_asks_max == 0)
        conf->neighbour_asks_max = (tenon_u16)tn_max(8, tn_min(4UL * conf->neighbours_max, 16384));
    if (conf->tcp_ooo_bytes_max == 0)
        conf->tcp_ooo_bytes_max = 2 * conf->tcp_rcv_buf;
    if (conf->hop_limit == 0)
        conf->hop_limit = defaults.hop_limit;
    if (conf->dad_transmits == 0)
        conf->dad_transmits = defaults.dad_transmits;
    if (conf->tcp_cc == NULL)
        conf->tcp_cc = defaults.tcp_cc;
}

/* Without TENON_WITH_STATS all of them are one. */
TENON_INLINE const char *conf_name(const char *field)
{
    return TENON_WITH_STATS ? field : "?";
}

static const char *conf_check_tcp(const struct tenon_conf *conf)
{
    if (conf->tcp_rcv_buf < 512 || conf->tcp_rcv_buf > 0x3FFFC000UL)
        return conf_name("tcp_rcv_buf");    /* RFC 7323 2.3: the window is below 2^30 */
    if (conf->tcp_snd_buf < 512 || conf->tcp_snd_buf > 0x3FFFC000UL)
        return conf_name("tcp_snd_buf");
    if (conf->tcp_mss_min < 48 || conf->tcp_mss_min > 536)
        return conf_name("tcp_mss_min");
    if (conf->tcp_rto_initial_us < 1000 || conf->tcp_rto_initial_us > conf->tcp_rto_max_us)
        return conf_name("tcp_rto_initial_us");
    if (conf->tcp_rto_min_us < 1000 || conf->tcp_rto_min_us > conf->tcp_rto_max_us)
        return conf_name("tcp_rto_min_us");
    if (conf->tcp_rto_max_us > 1000000000UL)
        return conf_name("tcp_rto_max_us");
    if (conf->tcp_peer_delack_us > 500000UL)
        return conf_name("tcp_peer_delack_us");
    if (conf->tcp_delack_us >= 500000UL)
        return conf_name("tcp_delack_us");    /* RFC 9293 MUST-40 */
    if (conf->tcp_msl_ms > 600000UL)
        return conf_name("tcp_msl_ms");
    if (conf->tcp_syncookies > 2)
        return conf_name("tcp_syncookies");
    if (conf->tcp_fastopen_cache_max > 1024)
        return conf_name("tcp_fastopen_cache_max");
    if (conf->tcp_port_counters > 16384)
        return conf_name("tcp_port_counters");    /* 32 KB: a block that every machine can give */
    if (conf->tcp_orphan_ms > 0x3FFFFFFFUL)
        return conf_name("tcp_orphan_ms");
    if (conf->tcp_ooo_bytes_max > 0x7FFFFFFFUL)
        return conf_name("tcp_ooo_bytes_max");
    if (conf->tcp_ooo_total_max > 0x7FFFFFFFUL)
        return conf_name("tcp_ooo_total_max");
    return NULL;
}

static const char *conf_check_completed(const struct tenon_conf *conf)
{
    if (conf->netifs_max > 64)
        return conf_name("netifs_max");
    if (conf->addrs_max > 1024)
        return conf_name("addrs_max");
    if (conf->routes_max > 4096)
        return conf_name("routes_max");
    if (conf->groups_max > 1024)
        return conf_name("groups_max");
    if (conf->tx_burst_max > 1024)
        return conf_name("tx_burst_max");
    if (conf->tx_gather_max < 2 || conf->tx_gather_max > 33)
        return conf_name("tx_gather_max");
    if (conf->neighbour_queue_max > 64)
        return conf_name("neighbour_queue_max");
    if (conf->neighbour_asks_max < 8 || conf->neighbour_asks_max > 16384)
        return conf_name("neighbour_asks_max");
    if (conf->reass_pieces_max > 64)
        return conf_name("reass_pieces_max");
    if (conf->reass_timeout_ms > 600000UL)
        return conf_name("reass_timeout_ms");
    return conf_check_tcp(conf);
}

TENON_API const char *tenon_conf_check(const struct tenon_conf *conf)
{
    struct tenon_conf whole = *conf;

    conf_complete(&whole);
    return conf_check_completed(&whole);
}

TENON_INTERNAL void tn_conf_complete(struct tenon_conf *conf)
{
    conf_complete(conf);
}
