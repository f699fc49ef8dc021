/* SPDX-License-Identifier: MIT */
/* SYN cookies (RFC 4987 3.6): the numbers themselves, against values computed by another program; how many
 * guesses pass; what the peer sees of our clock; that an answer is no larger than what it answers. */
#include "segment.h"

#include "tcp/tcp_internal.h"

static tenon_u32 guess;

static tenon_u32 next_guess(void)
{
    guess ^= guess << 13;
    guess ^= guess >> 17;
    guess ^= guess << 5;
    return guess;
}

struct ends {
    struct tenon_addr local, remote;
    struct tn_cookie cookie;
};

static void ends_set(struct ends *ends, const char *local, const char *remote, tenon_u32 irs, unsigned context)
{
    memset(ends, 0, sizeof *ends);
    ends->local.ip = hn_ip(local);
    ends->local.port = 80;
    ends->remote.ip = hn_ip(remote);
    ends->remote.port = 5000;
    ends->cookie.local = &ends->local;
    ends->cookie.remote = &ends->remote;
    ends->cookie.irs = irs;
    ends->cookie.context = context;
}

static void number_known_values(void)
{
    static const struct {
        const char *local, *remote;
        tenon_u32 irs, context, count;
        unsigned index;
        tenon_u32 iss;
    } rows[] = {
        { "10.0.0.1", "10.0.0.2", 0x12345678, 5, 0, 6, 0xCBEF9C7EU },
        { "10.0.0.1", "10.0.0.2", 0x12345679, 5, 0, 6, 0xCBCAA176U },
        { "10.0.0.1", "10.0.0.2", 0x12345678, 5, 3, 0, 0xCE3E38A1U },
        { "2001:db8::1", "2001:db8::2", 0x12345678, 0, 3, 7, 0xBC3BFA06U },
    };
    struct ends ends;
    struct hn hn;

    for (unsigned i = 0; i < TENON_ARRAY_LEN(rows); i++) {
        hn_open(&hn, NULL);
        hn_run_ms(&hn, rows[i].count * 65536 + 5);
        ends_set(&ends, rows[i].local, rows[i].remote, rows[i].irs, rows[i].context);
        HN_EQUAL(tn_cookie_encode(hn.stack, &ends.cookie, rows[i].index), rows[i].iss);
        HN_EQUAL(tn_cookie_decode(hn.stack, &ends.cookie, rows[i].iss), rows[i].index);
        hn_close(&hn);
    }
}

static void number_comes_back(void)
{
    tenon_u32 iss[8];
    struct ends ends;
    struct hn hn;

    hn_open(&hn, NULL);
    hn_run_ms(&hn, 255 * 65536U + 1000);    /* the count is about to wrap in its 8 bits */
    ends_set(&ends, "10.0.0.1", "10.0.0.2", 77, 7);
    for (unsigned i = 0; i < 8; i++)
        iss[i] = tn_cookie_encode(hn.stack, &ends.cookie, i);
    for (unsigned age = 0; age < 4; age++) {
        for (unsigned i = 0; i < 8; i++)
            HN_EQUAL(tn_cookie_decode(hn.stack, &ends.cookie, iss[i]), age < 2 ? (int)i : -1);
        hn_run_ms(&hn, 65536);
    }
    hn_run_ms(&hn, 252 * 65536U);    /* 256 counts later the 8 bits are the same again, the hash is not */
    for (unsigned i = 0; i < 8; i++)
        HN_EQUAL(tn_cookie_decode(hn.stack, &ends.cookie, iss[i]), -1);
    hn_close(&hn);
}

static void number_of_another_syn(void)
{
    struct ends ends, other;
    tenon_u32 iss;
    struct hn hn;

    hn_open(&hn, NULL);
    ends_set(&ends, "10.0.0.1", "10.0.0.2", 1000, 7);
    iss = tn_cookie_encode(hn.stack, &ends.cookie, 3);
    for (unsigned off = 1; off < 100; off++) {
        ends_set(&other, "10.0.0.1", "10.0.0.2", 1000 + off, 7);
        HN_EQUAL(tn_cookie_decode(hn.stack, &other.cookie, iss), -1);
    }
    ends_set(&other, "10.0.0.1", "10.0.0.3", 1000, 7);
    HN_EQUAL(tn_cookie_decode(hn.stack, &other.cookie, iss), -1);
    ends_set(&other, "10.0.0.1", "10.0.0.2", 1000, 8);
    HN_EQUAL(tn_cookie_decode(hn.stack, &other.cookie, iss), -1);
    ends_set(&other, "10.0.0.1", "10.0.0.2", 1000, 7);
    other.remote.port++;
    HN_EQUAL(tn_cookie_decode(hn.stack, &other.cookie, iss), -1);
    hn_close(&hn);
}

/* 8 of 2^24 for one who knows the count, 16 of 2^32 for one who knows nothing. */
static void number_guessed(void)
{
    const unsigned guesses = 1U << 20;
    unsigned blind = 0, counted = 0;
    struct ends ends;
    tenon_u32 top;
    struct hn hn;

    guess = 2463534242U;
    hn_open(&hn, NULL);
    ends_set(&ends, "10.0.0.1", "10.0.0.2", 77, 7);
    top = tn_cookie_encode(hn.stack, &ends.cookie, 0);
    for (unsigned i = 0; i < guesses; i++) {
        blind += tn_cookie_decode(hn.stack, &ends.cookie, next_guess()) >= 0;
        counted += tn_cookie_decode(hn.stack, &ends.cookie, top + (next_guess() >> 8)) >= 0;
    }
    HN_CHECK(blind <= 1);                        /* 0.004 are to be expected */
    HN_CHECK(counted <= 5);     /* 0.5 */
    hn_close(&hn);
}

/* ---- what is seen from outside --------------------------------------------------------------------- */

static const struct tenon_tcp_events no_events;

static void listen_always(struct hn *hn)
{
    struct tenon_tcp_listener *listener;
    struct tenon_conf conf;
    struct tenon_addr at;

    tenon_conf_default(&conf);
    conf.tcp_syncookies = 2;
    seg_open(hn, &conf);
    memset(&at, 0, sizeof at);
    at.port = 80;
    HN_EQUAL(tenon_tcp_listen(hn->stack, &listener, &at, &no_events, NULL, 1), TENON_OK);
}

static void syn(struct seg *seg)
{
    static const tenon_u8 options[] = { 2, 4, 0x05, 0xB4, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 7 };

    memset(seg, 0, sizeof *seg);
    seg->src = hn_ip("198.51.100.7");
    seg->dst = hn_ip("10.0.0.1");
    seg->sport = 5000;
    seg->dport = 80;
    seg->seq = 1000;
    seg->wnd = 65535;
    seg->flags = SEG_SYN;
    seg->options = options;
    seg->noptions = sizeof options;
}

static void put_timestamp(tenon_u8 options[12], tenon_u32 val, tenon_u32 ecr)
{
    static const tenon_u8 head[4] = { 1, 1, 8, 10 };

    memcpy(options, head, 4);
    hn_put32(options + 4, val);
    hn_put32(options + 8, ecr);
}

/* A SYN that is repeated: our clock goes on. */
static void timestamp_of_repeated_syn(void)
{
    tenon_u32 last = 0, first = 0;
    struct seg out, in;
    struct hn hn;

    listen_always(&hn);
    for (unsigned i = 0; i < 200; i++, hn_run_ms(&hn, 3)) {
        const tenon_u8 *ts;

        syn(&out);
        seg_inject(&hn, &out);
        if (!HN_CHECK(seg_next(&hn, &in)) || !HN_CHECK((ts = seg_option(&in, 8)) != NULL))
            break;
        first = i == 0 ? hn_get32(ts) : first;
        HN_CHECK(i == 0 || hn_get32(ts) - last < 0x80000000U);
        HN_CHECK(hn_get32(ts) - first <= 3 * i + 64 && hn_get32(ts) - first + 64 >= 3 * i);
        HN_EQUAL(hn_get32(ts) & 63, 7 | 16);    /* window scale 7, SACK, no ECN */
        last = hn_get32(ts);
    }
    hn_close(&hn);
}

/* In the same millisecond the connection shows its own clock: not behind the cookie's, whatever the offset. */
static void timestamp_never_goes_back(void)
{
    tenon_u8 options[12];
    struct seg out, in;
    struct hn hn;

    listen_always(&hn);
    for (unsigned i = 0; i < 200; i++) {
        tenon_u32 cookie;

        syn(&out);
        out.sport = 5000 + i;
        seg_inject(&hn, &out);
        if (!HN_CHECK(seg_next(&hn, &in)) || !HN_CHECK(seg_option(&in, 8) != NULL))
            break;
        cookie = hn_get32(seg_option(&in, 8));
        put_timestamp(options, 20, cookie);
        out.flags = SEG_ACK;
        out.seq = 1001;
        out.ack = in.seq + 1;
        out.options = options;
        out.noptions = sizeof options;
        seg_inject(&hn, &out);
        out.seq = 1000;    /* a keep-alive: answered at once */
        seg_inject(&hn, &out);
        if (!HN_CHECK(seg_next(&hn, &in)) || !HN_CHECK(seg_option(&in, 8) != NULL))
            break;
        HN_EQUAL(in.flags, SEG_ACK);
        HN_CHECK(hn_get32(seg_option(&in, 8)) - cookie < 64);
    }
    HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_COOKIE_GOOD), 200);
    hn_close(&hn);
}

/* A timestamp from the future or from long ago belongs to no cookie, whatever the number says. */
static void timestamp_never_sent(void)
{
    static const tenon_u32 off[] = { 0x10000U, 0x80000000U, 0U - 0x30000U };
    struct seg out, in;
    struct hn hn;

    for (unsigned i = 0; i < TENON_ARRAY_LEN(off); i++) {
        tenon_u8 options[12];

        listen_always(&hn);
        syn(&out);
        seg_inject(&hn, &out);
        HN_CHECK(seg_next(&hn, &in) && seg_option(&in, 8) != NULL);
        out.flags = SEG_ACK;
        out.seq = 1001;
        out.ack = in.seq + 1;
        put_timestamp(options, 20, hn_get32(seg_option(&in, 8)) + off[i]);
        out.options = options;
        out.noptions = sizeof options;
        seg_inject(&hn, &out);
        HN_EQUAL(hn_stat(&hn, TENON_STAT_TCP_COOKIE_BAD), 1);
        HN_EQUAL(hn_left(&hn), 0);
        hn_close(&hn);
    }
}

static void answer_is_not_larger(void)
{
    struct seg out, in;
    struct hn hn;

    listen_always(&hn);
    for (unsigned n = 0; n <= 20; n += 4) {
        syn(&out);
        out.noptions = n == 20 || n == 4 || n == 0 ? n : 0;
        seg_inject(&hn, &out);
        HN_CHECK(seg_next(&hn, &in) && in.flags == (SEG_SYN | SEG_ACK));
        HN_CHECK(in.noptions <= (out.noptions < 4 ? 4 : out.noptions));
    }
    hn_run_ms(&hn, 200000);
    HN_EQUAL(hn_left(&hn), 0);    /* and is never repeated */
    HN_EQUAL(tenon_stat(hn.stack, TENON_STAT_TCP_ESTABLISHED), 0);
    hn_close(&hn);
}

static const struct hn_test tests[] = {
    { "number_known_values", "4987-3 4987-4 4987-9", number_known_values },
    { "number_comes_back", "4987-4 4987-5", number_comes_back },
    { "number_of_another_syn", "4987-5", number_of_another_syn },
    { "number_guessed", "4987-5", number_guessed },
    { "timestamp_of_repeated_syn", "4987-6", timestamp_of_repeated_syn },
    { "timestamp_never_goes_back", "4987-6", timestamp_never_goes_back },
    { "timestamp_never_sent", "4987-6", timestamp_never_sent },
    { "answer_is_not_larger", "4987-12", answer_is_not_larger },
};

int main(int argc, char **argv)
{
    return hn_main(tests, TENON_ARRAY_LEN(tests), argc, argv);
}
