/* SPDX-License-Identifier: MIT */
/* The configuration: its defaults, and what cannot work. */
#include "core.h"
#include "stack/stack_internal.h"

/* A field of which 0 means "default", and what that is: a field of 32 bits is `usual` shifted by so many. */
enum { CONF_16 = 0xFF };    /* in place of bits: the field has 16 */
struct conf_field {
    tenon_u8 at, bits;
    tenon_u16 usual;
};
/* Of every build. */
static const struct conf_field conf_fields[] = {
    { offsetof(struct tenon_conf, tx_burst_max), CONF_16, 32 },
    { offsetof(struct tenon_conf, neighbours_max), CONF_16, 256 },
    { offsetof(struct tenon_conf, neighbour_queue_max), CONF_16, 16 },
    { offsetof(struct tenon_conf, tcp_mss_min), CONF_16, 88 },
    { offsetof(struct tenon_conf, udp_sockets_max), 0, 4096 },
    { offsetof(struct tenon_conf, tcp_conns_max), 20, 1 },
    { offsetof(struct tenon_conf, tcp_rcv_buf), 20, 1 },
    { offsetof(struct tenon_conf, tcp_ooo_total_max), 26, 1 },
    { offsetof(struct tenon_conf, tcp_snd_buf), 20, 1 },
    { offsetof(struct tenon_conf, tcp_rto_initial_us), 4, 62500 },
    { offsetof(struct tenon_conf, tcp_rto_min_us), 2, 50000 },
    { offsetof(struct tenon_conf, tcp_delack_us), 0, 40000 },
    { offsetof(struct tenon_conf, tcp_msl_ms), 0, 30000 },
    { offsetof(struct tenon_conf, tcp_rsts_per_s), 0, 1000 }
};
/* Of what a small build may do without, and does not ask for then. */
static const struct conf_field conf_fields_more[] = {
    { offsetof(struct tenon_conf, tx_gather_max), CONF_16, 20 },
    { offsetof(struct tenon_conf, tcp_copy_max), CONF_16, 256 },
    { offsetof(struct tenon_conf, udp_copy_max), CONF_16, 128 },
    { offsetof(struct tenon_conf, icmp_errors_per_s), CONF_16, 1000 },
    { offsetof(struct tenon_conf, icmp_errors_burst), CONF_16, 50 },
    { offsetof(struct tenon_conf, tcp_ooo_ranges_max), CONF_16, 256 }
};
/* Of who has more than one address, or goes more than one way. */
static const struct conf_field conf_fields_link[] = {
    { offsetof(struct tenon_conf, netifs_max), CONF_16, 4 },
    { offsetof(struct tenon_conf, addrs_max), CONF_16, 16 },
    { offsetof(struct tenon_conf, routes_max), CONF_16, 32 },
    { offsetof(struct tenon_conf, groups_max), CONF_16, 32 },
    { offsetof(struct tenon_conf, paths_max), 0, 4096 }
};
/* Of what most of them do without. */
static const struct conf_field conf_fields_most[] = {
    { offsetof(struct tenon_conf, reass_datagrams_max), CONF_16, 64 },
    { offsetof(struct tenon_conf, reass_pieces_max), CONF_16, 64 },
    { offsetof(struct tenon_conf, tcp_fastopen_cache_max), CONF_16, 32 },
    { offsetof(struct tenon_conf, tcp_port_counters), CONF_16, 4096 },
    { offsetof(struct tenon_conf, reass_bytes_max), 18, 1 },
    { offsetof(struct tenon_conf, reass_timeout_ms), 0, 60000 },
    { offsetof(struct tenon_conf, tcp_time_wait_max), 0, 16384 },
    { offsetof(struct tenon_conf, tcp_orphans_max), 0, 4096 },
    { offsetof(struct tenon_conf, tcp_orphan_ms), 1, 60000 },
    { offsetof(struct tenon_conf, tcp_resting_max), 0, 1024 },
    { offsetof(struct tenon_conf, tcp_fastopen_pending_max), 0, 32 },
    { offsetof(struct tenon_conf, tcp_peer_delack_us), 0, 40000 }
};
enum {
    CONF_MOST = TENON_WITH_FRAGMENTS || TENON_WITH_COOKIES || TENON_WITH_MANY || TENON_WITH_QUEUE || TENON_WITH_WAITS ||
                TENON_WITH_ORPHANS || TENON_WITH_RECOVERY || TENON_WITH_SPEED || TENON_WITH_CHECKS,
    CONF_LINK = TENON_WITH_NETIFS || TENON_WITH_HOMES || TENON_WITH_MULTICAST || TN_PATHS_KEPT || CONF_MOST,
    CONF_MORE = TENON_WITH_PIECES || TENON_WITH_ICMP || TENON_WITH_RUNS || CONF_LINK
};

static void conf_complete_fields(struct tenon_conf *conf, const struct conf_field *field, size_t n)
{
    const struct conf_field *const end = field + n;

    for (; field < end; field++) {
        tenon_u8 *const at = (tenon_u8 *)conf + field->at;
        tenon_u16 *const half = (tenon_u16 *)(void *)at;
        tenon_u32 *const word = (tenon_u32 *)(void *)at;

        if (field->bits == CONF_16)
            *half = *half != 0 ? *half : field->usual;
        else if (*word == 0)
            *word = (tenon_u32)field->usual << field->bits;
    }
}

/* Whatever is 0, and means "default" so, gets it. */
static void conf_complete(struct tenon_conf *conf)
{
    conf_complete_fields(conf, conf_fields, TENON_ARRAY_LEN(conf_fields));
    if (CONF_MORE)
        conf_complete_fields(conf, conf_fields_more, TENON_ARRAY_LEN(conf_fields_more));
    if (CONF_LINK)
        conf_complete_fields(conf, conf_fields_link, TENON_ARRAY_LEN(conf_fields_link));
    if (CONF_MOST)
        conf_complete_fields(conf, conf_fields_most, TENON_ARRAY_LEN(conf_fields_most));
    if (conf->tcp_rto_max_us == 0)
        conf->tcp_rto_max_us = 60000000UL;
    if (conf->hop_limit == 0)
        conf->hop_limit = 64;
    if ((TENON_WITH_IPV6 || TENON_WITH_CONFLICTS || TENON_WITH_CHECKS) && conf->dad_transmits == 0)
        conf->dad_transmits = 1;
    if (TENON_WITH_RECOVERY && conf->tcp_cc == NULL)
        conf->tcp_cc = &tenon_cc_cubic;
}

TENON_API void tenon_conf_default(struct tenon_conf *conf)
{
    memset(conf, 0, sizeof(*conf));
    conf_complete(conf);
    conf->tcp_syncookies = 1;
}

/* What follows from other fields is not among the defaults: it is 0 there until those are known. */
TENON_INTERNAL void tn_conf_complete(struct tenon_conf *conf)
{
    conf_complete(conf);
    if (TENON_WITH_MANY && conf->neighbour_asks_max == 0)
        conf->neighbour_asks_max = (tenon_u16)tn_max(8, tn_min(4UL * conf->neighbours_max, 16384));
    if (TENON_WITH_SACK && conf->tcp_ooo_bytes_max == 0)
        conf->tcp_ooo_bytes_max = 2 * conf->tcp_rcv_buf;
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
    if (TENON_WITH_MANY && (conf->neighbour_asks_max < 8 || conf->neighbour_asks_max > 16384))
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

    if (!TENON_WITH_CHECKS)
        return NULL;
    tn_conf_complete(&whole);
    return conf_check_completed(&whole);
}
