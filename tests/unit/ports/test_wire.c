/* SPDX-License-Identifier: MIT */
/* The wire alone: guests that are no stack send frames and write down what arrives. */
#include "../unit.h"

#include "ports/wire/wire.h"

#include <stdlib.h>

enum { HEARD_MAX = 256, FRAME_MAX = 70000, PORTS = 4 };

/* What a guest has heard. */
struct heard {
    uint64_t at;
    uint32_t bytes;
    unsigned nspans, csum, seg_kind, seg_bytes;
    uint8_t tag;    /* the first byte of the payload */
};

struct guest {
    struct wire_host *host;
    struct wire_end *end;
    struct heard heard[HEARD_MAX];
    unsigned nheard, nbursts, largest_burst, npolls;
    uint8_t last[FRAME_MAX];    /* bytes of the last frame */
    const uint8_t *last_payload;
    struct tenon_buf *kept;     /* with keep: the buffer of the last span */
    int keep;
    tenon_u32 poll_result;
};

struct net {
    struct wire *wire;
    struct guest guest[PORTS];
    unsigned n;
    size_t mem_out;    /* of the wire and all in it */
};

static void *test_get(void *arg, size_t bytes)
{
    *(size_t *)arg += bytes;
    return malloc(bytes);
}

static void test_put(void *arg, void *mem, size_t bytes)
{
    *(size_t *)arg -= bytes;
    free(mem);
}

static void guest_hear(struct guest *guest, const struct tenon_frame *frame)
{
    struct heard *heard = &guest->heard[guest->nheard % HEARD_MAX];
    unsigned i;

    memset(heard, 0, sizeof(*heard));
    for (i = 0; i < frame->nspans; i++) {
        const struct tenon_span *span = &frame->spans[i];

        memcpy(guest->last + heard->bytes, tenon_span_data(span), span->len);
        heard->bytes += span->len;
    }
    heard->at = wire_host_now(guest->host);
    heard->nspans = frame->nspans;
    heard->csum = frame->csum;
    heard->seg_kind = frame->seg_kind;
    heard->seg_bytes = frame->seg_bytes;
    heard->tag = guest->last[14];
    guest->last_payload = tenon_span_data(&frame->spans[frame->nspans - 1]);
    guest->nheard++;
    if (guest->keep && !guest->kept) {
        guest->kept = frame->spans[frame->nspans - 1].buf;
        tenon_buf_ref(guest->kept);
    }
}

static void guest_input(void *arg, unsigned netif, const struct tenon_frame *frames, unsigned n, tenon_u32 now_us)
{
    struct guest *guest = arg;
    unsigned i;

    (void)netif;
    (void)now_us;
    guest->nbursts++;
    if (n > guest->largest_burst)
        guest->largest_burst = n;
    for (i = 0; i < n; i++)
        guest_hear(guest, &frames[i]);
}

static tenon_u32 guest_poll(void *arg, tenon_u32 now_us)
{
    struct guest *guest = arg;

    (void)now_us;
    guest->npolls++;
    return guest->poll_result;
}

static void end_conf_init(struct wire_end_conf *conf, unsigned i)
{
    memset(conf, 0, sizeof(*conf));
    conf->netif.mac[0] = 2;
    conf->netif.mac[5] = (tenon_u8)(i + 1);
    conf->netif.mtu = 1500;
}

static void net_open_hosts(struct net *net, unsigned n, const struct wire_end_conf *conf,
                           const struct wire_host_conf *host_conf, int flood)
{
    const struct wire_conf wire_conf = {
        .memory = {test_get, test_put, &net->mem_out}, .seed = 7, .start_us = 1000000, .flood = flood};
    unsigned i;

    memset(net, 0, sizeof(*net));
    net->n = n;
    net->wire = wire_open(&wire_conf);
    for (i = 0; i < n; i++) {
        struct guest *guest = &net->guest[i];
        const struct wire_guest calls = {guest_input, guest_poll, guest};
        struct wire_end_conf end_conf;

        guest->poll_result = 1800000000UL;
        guest->host = wire_host_open_guest(net->wire, host_conf, &calls);
        if (conf)
            end_conf = *conf;
        else
            memset(&end_conf, 0, sizeof(end_conf));
        end_conf.netif.mac[0] = 2;
        end_conf.netif.mac[5] = (tenon_u8)(i + 1);
        if (end_conf.netif.mtu == 0)
            end_conf.netif.mtu = 1500;
        guest->end = wire_end_open_at(guest->host, &end_conf, 1);
    }
    wire_run(net->wire, wire_now(net->wire));
}

static void net_open_hub(struct net *net, unsigned n, const struct wire_end_conf *conf, int flood)
{
    const struct wire_host_conf host_conf = {.seed = 1, .clock_us = 1000000};

    net_open_hosts(net, n, conf, &host_conf, flood);
}

static void net_open(struct net *net, unsigned n, const struct wire_end_conf *conf)
{
    net_open_hub(net, n, conf, 0);
}

static void net_close(struct net *net)
{
    unsigned i;

    for (i = 0; i < net->n; i++) {
        if (net->guest[i].kept)
            tenon_buf_put(net->guest[i].kept);
        wire_host_close(net->guest[i].host);
    }
    wire_close(net->wire);
    CHECK_EQ_U(net->mem_out, 0);
}

/* Send n bytes from one guest to another (255: broadcast), with a tag behind the Ethernet header. The
 * payload beyond the first 14 + 40 bytes is a span of its own. */
static unsigned net_send(struct net *net, unsigned from, unsigned to, uint32_t n, unsigned tag)
{
    const struct tenon_host *ops = wire_host_ops();
    struct guest *guest = &net->guest[from];
    struct tenon_buf *bufs[2];
    struct tenon_span spans[2];
    struct tenon_frame frame;
    unsigned taken;

    if (ops->buf_get(guest->host, bufs, 2) != 2)
        return 0;
    memset(bufs[0]->data, 0, 54);
    memset(bufs[0]->data, to == 255 ? 0xFF : 0, 6);
    if (to != 255) {
        bufs[0]->data[0] = 2;
        bufs[0]->data[5] = (tenon_u8)(to + 1);
    }
    bufs[0]->data[12] = 0x88;
    bufs[0]->data[13] = 0xB5;    /* local experimental ethertype */
    bufs[0]->data[14] = (tenon_u8)tag;
    memset(bufs[1]->data, (int)tag, n > 54 ? n - 54 : 1);
    spans[0] = (struct tenon_span){bufs[0], 0, n > 54 ? 54 : n};
    spans[1] = (struct tenon_span){bufs[1], 0, n > 54 ? n - 54 : 0};
    memset(&frame, 0, sizeof(frame));
    frame.spans = spans;
    frame.nspans = n > 54 ? 2 : 1;
    frame.header_bytes = n > 54 ? 54 : 0;
    taken = ops->transmit(guest->host, 1, &frame, 1);
    tenon_buf_put(bufs[0]);
    tenon_buf_put(bufs[1]);
    return taken;
}

static void net_run(struct net *net, uint64_t us)
{
    wire_run(net->wire, wire_now(net->wire) + us);
}

/* ---- the way of a frame ---------------------------------------------------------------------- */

UNIT_TEST(pair_frame_arrives_after_delay_and_rate)
{
    struct wire_end_conf conf;
    struct net net;

    end_conf_init(&conf, 0);
    conf.out.delay_us = 5000;
    conf.out.rate = 1000000;    /* 1000 bytes take 1 ms */
    net_open(&net, 2, &conf);
    CHECK_EQ_U(net_send(&net, 0, 1, 1000, 1), 1);
    CHECK_EQ_U(net_send(&net, 0, 1, 1000, 2), 1);
    net_run(&net, 100000);
    CHECK_EQ_U(net.guest[1].nheard, 2);
    CHECK_EQ_U(net.guest[1].heard[0].at, 1006000);
    CHECK_EQ_U(net.guest[1].heard[1].at, 1007000);
    CHECK_EQ_U(net.guest[1].heard[1].tag, 2);
    CHECK_EQ_U(net.guest[0].nheard, 0);
    CHECK_EQ_U(wire_now(net.wire), 1100000);
    net_close(&net);
}

UNIT_TEST(payload_is_shared_and_comes_back)
{
    struct wire_host_stats stats;
    struct net net;

    net_open(&net, 2, NULL);
    net.guest[1].keep = 1;
    net_send(&net, 0, 1, 1000, 9);
    wire_host_stats(net.guest[0].host, &stats);
    CHECK_EQ_U(stats.bufs, 1);    /* the payload's; the header was copied */
    net_run(&net, 1000);
    CHECK_EQ_U(net.guest[1].heard[0].nspans, 2);
    wire_host_stats(net.guest[0].host, &stats);
    CHECK_EQ_U(stats.bufs, 1);
    wire_host_stats(net.guest[1].host, &stats);
    CHECK_EQ_U(stats.rx_bufs, 1);
    tenon_buf_put(net.guest[1].kept);
    net.guest[1].kept = NULL;
    wire_host_stats(net.guest[0].host, &stats);
    CHECK_EQ_U(stats.bufs, 0);
    wire_host_stats(net.guest[1].host, &stats);
    CHECK_EQ_U(stats.rx_bufs, 0);
    net_close(&net);
}

/* A receiver that keeps what it has got must not keep its sender from sending. */
UNIT_TEST(last_quarter_of_a_pool_is_not_shared)
{
    const struct wire_host_conf host_conf = {.seed = 1, .bufs_max = 8};
    struct wire_host_stats stats;
    struct tenon_buf *bufs[5];
    struct net net;
    unsigned i;

    net_open_hosts(&net, 2, NULL, &host_conf, 0);
    CHECK_EQ_U(wire_host_ops()->buf_get(net.guest[0].host, bufs, 5), 5);
    net.guest[1].keep = 1;
    net_send(&net, 0, 1, 1000, 9);    /* with two more there is less than a quarter left */
    net_run(&net, 1000);
    CHECK_EQ_U(net.guest[1].heard[0].nspans, 1);
    CHECK_EQ_U(net.guest[1].heard[0].bytes, 1000);
    CHECK_EQ_U(net.guest[1].last[999], 9);
    wire_host_stats(net.guest[0].host, &stats);
    CHECK_EQ_U(stats.bufs, 5);
    for (i = 0; i < 5; i++)
        tenon_buf_put(bufs[i]);
    net_send(&net, 0, 1, 1000, 9);
    net_run(&net, 1000);
    CHECK_EQ_U(net.guest[1].heard[1].nspans, 2);
    net_close(&net);
}

UNIT_TEST(hosts_close_in_any_order_while_buffers_are_out)
{
    struct net net;

    net_open(&net, 2, NULL);
    net.guest[1].keep = 1;
    net_send(&net, 0, 1, 1000, 9);
    net_run(&net, 1000);
    net_send(&net, 0, 1, 1000, 9);    /* on its way when the end comes */
    wire_host_close(net.guest[0].host);
    CHECK_EQ_U(net.guest[1].kept->data[0], 9);
    tenon_buf_put(net.guest[1].kept);
    wire_host_close(net.guest[1].host);
    wire_close(net.wire);
    CHECK_EQ_U(net.mem_out, 0);
}

/* Those of others that wait there come all the same. */
UNIT_TEST(frames_of_a_closed_host_wait_nowhere)
{
    struct net net;

    net_open(&net, 3, NULL);
    wire_host_pause(net.guest[1].host, 500);
    net_send(&net, 0, 1, 100, 1);
    net_send(&net, 2, 1, 100, 2);
    net_send(&net, 0, 1, 100, 3);
    net_run(&net, 100);
    wire_host_close(net.guest[0].host);
    net_run(&net, 1000);
    CHECK_EQ_U(net.guest[1].nheard, 1);
    CHECK_EQ_U(net.guest[1].heard[0].tag, 2);
    wire_host_pause(net.guest[1].host, 500);
    net_send(&net, 2, 1, 100, 4);
    net_run(&net, 100);
    wire_host_close(net.guest[2].host);
    net_run(&net, 1000);
    CHECK_EQ_U(net.guest[1].nheard, 1);
    CHECK_EQ_U(wire_in_flight(net.wire), 0);
    wire_host_close(net.guest[1].host);
    wire_close(net.wire);
    CHECK_EQ_U(net.mem_out, 0);
}

UNIT_TEST(copy_and_split_keep_the_bytes)
{
    struct wire_end_conf conf;
    struct net net;
    unsigned i, pieces = 0;

    end_conf_init(&conf, 0);
    conf.split = 8;
    net_open(&net, 2, &conf);
    for (i = 0; i < 100; i++) {
        net_send(&net, 0, 1, 60 + i, i);
        net_run(&net, 10);
        CHECK_EQ_U(net.guest[1].heard[i].bytes, 60 + i);
        CHECK_EQ_U(net.guest[1].last[59 + i], i);
        pieces += net.guest[1].heard[i].nspans;
    }
    CHECK(pieces > 300);
    net_close(&net);
}

UNIT_TEST(short_frame_is_padded)
{
    struct wire_end_conf conf;
    struct net net;

    end_conf_init(&conf, 0);
    conf.pad = 1;
    net_open(&net, 2, &conf);
    net_send(&net, 0, 1, 20, 1);
    net_send(&net, 0, 1, 61, 1);
    net_run(&net, 10);
    CHECK_EQ_U(net.guest[1].heard[0].bytes, 60);
    CHECK_EQ_U(net.guest[1].heard[1].bytes, 61);
    net_close(&net);
}

UNIT_TEST(hub_switches_or_floods)
{
    struct net net;

    net_open(&net, 4, NULL);
    net_send(&net, 0, 2, 100, 1);
    net_run(&net, 10);
    CHECK_EQ_U(net.guest[1].nheard + net.guest[3].nheard + net.guest[0].nheard, 0);
    CHECK_EQ_U(net.guest[2].nheard, 1);
    net_send(&net, 3, 255, 100, 1);
    net_run(&net, 10);
    CHECK_EQ_U(net.guest[0].nheard, 1);
    CHECK_EQ_U(net.guest[1].nheard, 1);
    CHECK_EQ_U(net.guest[2].nheard, 2);
    CHECK_EQ_U(net.guest[3].nheard, 0);
    net_close(&net);

    net_open_hub(&net, 4, NULL, 1);
    net_send(&net, 0, 2, 100, 1);
    net_run(&net, 10);
    CHECK_EQ_U(net.guest[0].nheard, 0);
    CHECK_EQ_U(net.guest[1].nheard, 1);
    CHECK_EQ_U(net.guest[2].nheard, 1);
    CHECK_EQ_U(net.guest[3].nheard, 1);
    net_close(&net);
}

/* ---- bursts ---------------------------------------------------------------------------------- */

UNIT_TEST(burst_is_limited_and_coalesced)
{
    struct wire_end_conf conf;
    struct net net;
    unsigned i;

    end_conf_init(&conf, 0);
    conf.burst = 4;
    conf.coalesce_us = 100;
    conf.out.rate = 10000000;    /* 100 bytes take 10 us */
    net_open(&net, 2, &conf);
    for (i = 0; i < 6; i++)
        net_send(&net, 0, 1, 100, i);
    net_run(&net, 1000);
    CHECK_EQ_U(net.guest[1].nheard, 6);
    CHECK_EQ_U(net.guest[1].largest_burst, 4);
    CHECK_EQ_U(net.guest[1].heard[3].at, 1000040);    /* four are a burst */
    CHECK_EQ_U(net.guest[1].heard[5].at, 1000150);    /* the fifth came at 50 and waited 100 */
    net_close(&net);
}

UNIT_TEST(ring_overflow_is_lost)
{
    struct wire_end_conf conf;
    struct wire_end_stats stats;
    struct net net;
    unsigned i;

    end_conf_init(&conf, 0);
    conf.ring = 3;
    net_open(&net, 2, &conf);
    wire_host_pause(net.guest[1].host, 500);
    for (i = 0; i < 5; i++)
        net_send(&net, 0, 1, 100, i);
    net_run(&net, 499);
    CHECK_EQ_U(net.guest[1].nheard, 0);
    CHECK_EQ_U(wire_in_flight(net.wire), 3);
    net_run(&net, 10);
    CHECK_EQ_U(net.guest[1].nheard, 3);
    wire_end_stats(net.guest[1].end, &stats);
    CHECK_EQ_U(stats.ring_lost, 2);
    net_close(&net);
}

/* ---- faults ---------------------------------------------------------------------------------- */

UNIT_TEST(mask_drops_the_third_frame)
{
    struct wire_end_conf conf;
    struct net net;
    unsigned i;

    end_conf_init(&conf, 0);
    conf.out.drop_mask = 1 << 2;
    net_open(&net, 2, &conf);
    for (i = 1; i <= 4; i++)
        net_send(&net, 0, 1, 100, i);
    net_run(&net, 10);
    CHECK_EQ_U(net.guest[1].nheard, 3);
    CHECK_EQ_U(net.guest[1].heard[1].tag, 2);
    CHECK_EQ_U(net.guest[1].heard[2].tag, 4);
    net_close(&net);
}

struct chance_row {
    const char *name;
    uint32_t loss, duplicate, corrupt, reorder;
    unsigned heard_min, heard_max;
};

UNIT_TEST(chance_is_about_as_often_as_asked)
{
    static const struct chance_row rows[] = {
        {"none", 0, 0, 0, 0, 1000, 1000},
        {"loss", 200000, 0, 0, 0, 740, 860},
        {"duplicate", 0, 200000, 0, 0, 1140, 1260},
        {"corrupt", 0, 0, 1000000, 0, 1000, 1000},
        {"reorder", 0, 0, 0, 300000, 1000, 1000},
        {"all lost", 1000000, 0, 0, 0, 0, 0},
    };
    unsigned r, i;

    for (r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct wire_end_stats stats;
        struct wire_end_conf conf;
        struct net net;

        unit_row(rows[r].name);
        end_conf_init(&conf, 0);
        conf.out.loss_ppm = rows[r].loss;
        conf.out.duplicate_ppm = rows[r].duplicate;
        conf.out.corrupt_ppm = rows[r].corrupt;
        conf.out.reorder_ppm = rows[r].reorder;
        conf.out.rate = 10000000;
        net_open(&net, 2, &conf);
        for (i = 0; i < 1000; i++)
            net_send(&net, 0, 1, 100, i);
        net_run(&net, 1000000);
        CHECK(net.guest[1].nheard >= rows[r].heard_min);
        CHECK(net.guest[1].nheard <= rows[r].heard_max);
        wire_end_stats(net.guest[0].end, &stats);
        CHECK_EQ_U(stats.lost + net.guest[1].nheard - stats.duplicated, 1000);
        CHECK((stats.corrupted == 1000) == (rows[r].corrupt > 0));
        CHECK((stats.reordered > 200) == (rows[r].reorder > 0));
        net_close(&net);
    }
}

UNIT_TEST(corrupt_inverts_one_bit_behind_the_link_header)
{
    struct wire_end_conf conf;
    struct net net;
    unsigned i, k, bits;

    end_conf_init(&conf, 0);
    conf.out.corrupt_ppm = 1000000;
    net_open(&net, 2, &conf);
    for (k = 0; k < 50; k++) {
        net_send(&net, 0, 1, 600, 0);
        net_run(&net, 10);
        for (bits = 0, i = 14; i < 600; i++) {
            unsigned byte = net.guest[1].last[i];

            for (; byte; byte &= byte - 1)
                bits++;
        }
        CHECK_EQ_U(bits, 1);
    }
    net_close(&net);
}

UNIT_TEST(reordered_frame_is_overtaken)
{
    struct wire_end_conf conf;
    struct wire_line_conf line;
    struct net net;

    end_conf_init(&conf, 0);
    conf.out.reorder_ppm = 1000000;
    conf.out.reorder_us = 500;
    net_open(&net, 2, &conf);
    net_send(&net, 0, 1, 100, 1);
    line = conf.out;
    line.reorder_ppm = 0;
    wire_line_set(net.guest[0].end, WIRE_OUT, &line);
    net_send(&net, 0, 1, 100, 2);
    net_run(&net, 1000);
    CHECK_EQ_U(net.guest[1].heard[0].tag, 2);
    CHECK_EQ_U(net.guest[1].heard[1].tag, 1);
    net_close(&net);
}

UNIT_TEST(jitter_keeps_the_order)
{
    struct wire_end_conf conf;
    struct net net;
    unsigned i;

    end_conf_init(&conf, 0);
    conf.out.jitter_us = 5000;
    net_open(&net, 2, &conf);
    for (i = 0; i < 200; i++)
        net_send(&net, 0, 1, 100, i);
    net_run(&net, 10000);
    CHECK_EQ_U(net.guest[1].nheard, 200);
    for (i = 0; i < 200; i++)
        CHECK_EQ_U(net.guest[1].heard[i].tag, i);
    CHECK(net.guest[1].heard[199].at > net.guest[1].heard[0].at);
    net_close(&net);
}

UNIT_TEST(blackout_swallows_its_interval)
{
    static const struct wire_blackout blackouts[] = {{1000100, 1000200}, {1000300, 1000301}};
    struct wire_end_conf conf;
    struct wire_end_stats stats;
    struct net net;
    unsigned i;

    end_conf_init(&conf, 0);
    conf.out.blackouts = blackouts;
    conf.out.nblackouts = 2;
    net_open(&net, 2, &conf);
    for (i = 0; i < 40; i++) {    /* at 0, 10, 20 ... us */
        net_send(&net, 0, 1, 100, i);
        net_run(&net, 10);
    }
    CHECK_EQ_U(net.guest[1].nheard, 29);
    wire_end_stats(net.guest[0].end, &stats);
    CHECK_EQ_U(stats.blackout_lost, 11);
    net_close(&net);
}

static void fate_drop_even(void *arg, struct wire_end *end, enum wire_direction direction, uint64_t nth,
                           const struct tenon_frame *frame, struct wire_fate *fate)
{
    (void)end;
    (void)direction;
    *(unsigned *)arg += frame->spans[0].buf->data[14];
    fate->drop = (uint8_t)(nth % 2 == 0);
}

UNIT_TEST(fate_has_the_last_word)
{
    struct wire_end_conf conf;
    struct net net;
    unsigned i, sum = 0;

    end_conf_init(&conf, 0);
    conf.out.loss_ppm = 1000000;
    conf.out.fate = fate_drop_even;
    conf.out.fate_arg = &sum;
    net_open(&net, 2, &conf);
    for (i = 0; i < 10; i++)
        net_send(&net, 0, 1, 100, i);
    net_run(&net, 10);
    CHECK_EQ_U(net.guest[1].nheard, 5);
    CHECK_EQ_U(sum, 45);
    net_close(&net);
}

/* ---- queues ---------------------------------------------------------------------------------- */

UNIT_TEST(full_queue_drops)
{
    struct wire_end_conf conf;
    struct wire_end_stats stats;
    struct net net;
    unsigned i;

    end_conf_init(&conf, 0);
    conf.out.rate = 1000000;
    conf.out.queue_bytes = 1000;
    net_open(&net, 2, &conf);
    for (i = 0; i < 5; i++)
        CHECK_EQ_U(net_send(&net, 0, 1, 400, i), 1);
    net_run(&net, 10000);
    CHECK_EQ_U(net.guest[1].nheard, 2);
    wire_end_stats(net.guest[0].end, &stats);
    CHECK_EQ_U(stats.queue_lost, 3);
    net_send(&net, 0, 1, 1400, 9);    /* larger than the queue, but alone */
    net_run(&net, 10000);
    CHECK_EQ_U(net.guest[1].nheard, 3);
    net_close(&net);
}

UNIT_TEST(full_queue_refuses_and_wakes)
{
    struct wire_end_conf conf;
    struct wire_host_stats stats;
    struct net net;
    unsigned before;

    end_conf_init(&conf, 0);
    conf.out.rate = 1000000;
    conf.out.queue_frames = 2;
    conf.out.queue_refuses = 1;
    net_open(&net, 2, &conf);
    net.guest[0].poll_result = 0;    /* as an instance says when the port is full */
    CHECK_EQ_U(net_send(&net, 0, 1, 1000, 0), 1);
    CHECK_EQ_U(net_send(&net, 0, 1, 1000, 1), 1);
    CHECK_EQ_U(net_send(&net, 0, 1, 1000, 2), 0);
    wire_wake(net.guest[0].host);
    net_run(&net, 0);
    before = net.guest[0].npolls;
    net_run(&net, 999);
    CHECK_EQ_U(net.guest[0].npolls, before);    /* not before there is room */
    net.guest[0].poll_result = 1800000000UL;
    net_run(&net, 1);
    CHECK_EQ_U(net.guest[0].npolls, before + 1);
    CHECK_EQ_U(net_send(&net, 0, 1, 1000, 2), 1);
    wire_host_stats(net.guest[0].host, &stats);
    CHECK_EQ_U(stats.polls_idle, 0);
    net_run(&net, 10000);
    CHECK_EQ_U(net.guest[1].nheard, 3);
    net_close(&net);
}

UNIT_TEST(queue_tells_its_wait)
{
    struct wire_end_conf conf;
    struct net net;

    end_conf_init(&conf, 0);
    conf.out.rate = 1000000;
    net_open(&net, 2, &conf);
    CHECK_EQ_U(wire_line_wait_ns(net.guest[0].end, WIRE_OUT), 0);
    net_send(&net, 0, 1, 400, 0);
    net_send(&net, 0, 1, 300, 1);
    CHECK_EQ_U(wire_line_wait_ns(net.guest[0].end, WIRE_OUT), 700000);
    CHECK_EQ_U(wire_line_wait_ns(net.guest[0].end, WIRE_IN), 0);
    net_run(&net, 250);
    CHECK_EQ_U(wire_line_wait_ns(net.guest[0].end, WIRE_OUT), 450000);
    net_run(&net, 1000);
    CHECK_EQ_U(wire_line_wait_ns(net.guest[0].end, WIRE_OUT), 0);
    net_close(&net);
}

/* ---- offloads -------------------------------------------------------------------------------- */

/* A TCP segment of `payload` bytes from host 0 to host 1, over IPv4 or IPv6, with the sum of its pseudo-header
 * in the checksum field. The checker below knows nothing of how the wire computes. */
enum { TCP_LINK = 14 };

static unsigned slow_sum(const uint8_t *bytes, size_t n, unsigned sum)
{
    size_t i;

    for (i = 0; i < n; i++) {
        sum += i % 2 ? bytes[i] : (unsigned)bytes[i] << 8;
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    return sum;
}

static unsigned slow_pseudo(const uint8_t *ip, unsigned l4)
{
    const unsigned v6 = ip[0] >> 4 == 6;
    const uint8_t tail[4] = { (uint8_t)(l4 >> 8), (uint8_t)l4, 0, v6 ? ip[6] : ip[9] };
    unsigned sum = slow_sum(ip + (v6 ? 8 : 12), v6 ? 32 : 8, 0);

    return slow_sum(tail, 4, sum);
}

static void big_put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static unsigned big_ecn, big_df;    /* of the packets that are made */

static unsigned big_headers(uint8_t *frame, int v6, int udp, unsigned payload)
{
    uint8_t *ip = frame + TCP_LINK, *l4 = ip + (v6 ? 40 : 20);
    const unsigned l4_bytes = udp ? 8 : 20;

    memset(frame, 0, TCP_LINK + 60);
    frame[0] = 2;
    frame[5] = 2;
    frame[6] = 2;
    frame[11] = 1;
    big_put16(frame + 12, v6 ? 0x86DD : 0x0800);
    if (v6) {
        ip[0] = 0x60;
        ip[1] = (uint8_t)(big_ecn << 4);
        big_put16(ip + 4, l4_bytes + payload);
        ip[6] = udp ? 17 : 6;
        ip[8] = 0xFD;
        ip[24] = 0xFD;
        ip[39] = 0x77;
    } else {
        ip[0] = 0x45;
        ip[1] = (uint8_t)big_ecn;
        big_put16(ip + 2, 20 + l4_bytes + payload);
        big_put16(ip + 4, 0xFFFE);
        ip[6] = (uint8_t)(big_df << 6);
        ip[9] = udp ? 17 : 6;
        ip[12] = 10;
        ip[16] = 10;
        ip[19] = 0x77;
        big_put16(ip + 10, ~slow_sum(ip, 20, 0) & 0xFFFF);
    }
    if (udp) {
        big_put16(l4 + 4, l4_bytes + payload);
    } else {
        big_put16(l4 + 6, 0xFF00);    /* sequence number: 65280 */
        l4[12] = 0x50;
        l4[13] = 0x99;                /* CWR ACK PSH FIN */
    }
    big_put16(l4 + (udp ? 6 : 16), slow_pseudo(ip, l4_bytes + payload));
    return TCP_LINK + (v6 ? 40U : 20U) + l4_bytes;
}

/* Everything that can be checked of a piece. @return its payload bytes */
static unsigned big_check(const struct guest *guest, unsigned bytes, int v6, int udp)
{
    const uint8_t *ip = guest->last + TCP_LINK, *l4 = ip + (v6 ? 40 : 20);
    const unsigned l4_bytes = bytes - TCP_LINK - (v6 ? 40U : 20U);

    if (v6) {
        CHECK_EQ_U((unsigned)ip[4] << 8 | ip[5], l4_bytes);
    } else {
        CHECK_EQ_U((unsigned)ip[2] << 8 | ip[3], l4_bytes + 20);
        CHECK_EQ_U(slow_sum(ip, 20, 0), 0xFFFF);
    }
    if (udp)
        CHECK_EQ_U((unsigned)l4[4] << 8 | l4[5], l4_bytes);
    CHECK_EQ_U(slow_sum(l4, l4_bytes, slow_pseudo(ip, l4_bytes)), 0xFFFF);
    return l4_bytes - (udp ? 8U : 20U);
}

static unsigned big_send(struct net *net, int v6, int udp, unsigned payload, unsigned seg)
{
    const struct tenon_host *ops = wire_host_ops();
    struct tenon_buf *bufs[16];
    struct tenon_span spans[16];
    struct tenon_frame frame;
    unsigned i, n, left = payload, header, taken;

    memset(&frame, 0, sizeof(frame));
    n = ops->buf_get(net->guest[0].host, bufs, 16);
    header = big_headers(bufs[0]->data, v6, udp, payload);
    spans[0] = (struct tenon_span){ bufs[0], 0, header };
    for (i = 1; i < n && left > 0; i++) {
        const unsigned len = left < 777 ? left : 777;    /* odd on purpose */
        unsigned k;

        for (k = 0; k < len; k++)
            bufs[i]->data[k] = (tenon_u8)(i * 31 + k * 7);
        spans[i] = (struct tenon_span){ bufs[i], 0, len };
        left -= len;
    }
    frame.spans = spans;
    frame.nspans = (tenon_u16)i;
    frame.header_bytes = (tenon_u16)header;
    frame.csum = TENON_CSUM_PARTIAL;
    frame.csum_start = (tenon_u16)(header - (udp ? 8U : 20U));
    frame.csum_offset = udp ? 6 : 16;
    frame.seg_bytes = (tenon_u16)seg;
    if (seg)
        frame.seg_kind = udp ? TENON_SEG_UDP : v6 ? TENON_SEG_TCP6 : TENON_SEG_TCP4;
    taken = ops->transmit(net->guest[0].host, 1, &frame, 1);
    for (i = 0; i < n; i++)
        tenon_buf_put(bufs[i]);
    return taken;
}

/* One frame is being sent, two more may wait unmarked; the fourth finds more than the threshold. */
UNIT_TEST(long_queue_marks_what_knows_ecn)
{
    static const struct {
        unsigned v6, ecn, marked;
    } rows[] = {{0, 0, 0}, {0, 1, 1}, {0, 2, 1}, {0, 3, 0}, {1, 0, 0}, {1, 1, 1}, {1, 2, 1}, {1, 3, 0}};
    unsigned r, i;

    for (r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct wire_end_stats stats;
        struct wire_end_conf conf;
        struct net net;

        end_conf_init(&conf, 0);
        conf.netif.caps = TENON_CAP_TX_CSUM;
        conf.out.rate = 1000000;
        conf.complete_checksums = 1;
        conf.out.mark_bytes = 3000;
        net_open(&net, 2, &conf);
        for (i = 0; i < 4; i++) {
            big_ecn = rows[r].ecn;
            big_send(&net, (int)rows[r].v6, 0, 1000, 0);
            big_ecn = 0;
            net_run(&net, 1);
        }
        net_run(&net, 100000);
        wire_end_stats(net.guest[0].end, &stats);
        CHECK_EQ_U(stats.marked, rows[r].marked);
        CHECK_EQ_U(net.guest[1].nheard, 4);
        big_check(&net.guest[1], TCP_LINK + (rows[r].v6 ? 60U : 40U) + 1000, (int)rows[r].v6, 0);
        i = rows[r].v6 ? net.guest[1].last[TCP_LINK + 1] >> 4 : net.guest[1].last[TCP_LINK + 1];
        CHECK_EQ_U(i & 3, rows[r].marked ? 3 : rows[r].ecn);
        net_close(&net);
    }
}

struct big_row {
    const char *name;
    int v6, udp, cut, complete;
    unsigned payload, seg, frames, csum;
};

UNIT_TEST(segmentation_and_checksums)
{
    static const struct big_row rows[] = {
        {"plain v4 trusted", 0, 0, 0, 0, 1001, 0, 1, TENON_CSUM_GOOD},
        {"plain v4 completed", 0, 0, 0, 1, 1001, 0, 1, TENON_CSUM_NONE},
        {"plain v6 completed", 1, 0, 0, 1, 1001, 0, 1, TENON_CSUM_NONE},
        {"plain udp completed", 0, 1, 0, 1, 777, 0, 1, TENON_CSUM_NONE},
        {"tso4 whole", 0, 0, 0, 0, 10000, 1460, 1, TENON_CSUM_GOOD},
        {"tso4 cut trusted", 0, 0, 1, 0, 10000, 1460, 7, TENON_CSUM_GOOD},
        {"tso4 cut completed", 0, 0, 1, 1, 10000, 1460, 7, TENON_CSUM_NONE},
        {"tso4 cut odd", 0, 0, 1, 1, 10000, 777, 13, TENON_CSUM_NONE},
        {"tso4 one piece", 0, 0, 1, 1, 900, 1460, 1, TENON_CSUM_NONE},
        {"tso4 small", 0, 0, 1, 1, 150, 60, 3, TENON_CSUM_NONE},
        {"tso6 cut completed", 1, 0, 1, 1, 10000, 1440, 7, TENON_CSUM_NONE},
        {"tso6 whole completed", 1, 0, 0, 1, 10000, 1440, 1, TENON_CSUM_NONE},
        {"uso v4 cut", 0, 1, 1, 1, 5000, 1000, 5, TENON_CSUM_NONE},
        {"uso v6 cut", 1, 1, 1, 1, 5001, 999, 6, TENON_CSUM_NONE},
    };
    unsigned r, k, total;

    for (r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        const struct big_row *row = &rows[r];
        struct wire_end_stats stats;
        struct wire_end_conf conf;
        struct net net;

        unit_row(row->name);
        end_conf_init(&conf, 0);
        conf.netif.caps = TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6 | TENON_CAP_USO;
        conf.cut = (uint8_t)row->cut;
        conf.complete_checksums = (uint8_t)row->complete;
        conf.burst = 1;
        conf.out.rate = 1000000;
        net_open(&net, 2, &conf);
        CHECK_EQ_U(big_send(&net, row->v6, row->udp, row->payload, row->seg), 1);
        for (k = 0, total = 0; k < row->frames; k++) {
            const struct heard *heard = &net.guest[1].heard[k];
            const uint8_t *tcp = net.guest[1].last + TCP_LINK + (row->v6 ? 40 : 20);

            while (net.guest[1].nheard <= k && wire_step(net.wire, 100000000))
                ;
            if (!row->udp && row->cut) {    /* sequence, and who has which flag */
                CHECK_EQ_U((unsigned)tcp[5] << 16 | (unsigned)tcp[6] << 8 | tcp[7], 0xFF00U + total);
                CHECK_EQ_U(tcp[13], 0x10U | (k == 0 ? 0x80U : 0) | (k + 1 == row->frames ? 0x09U : 0));
            }
            if (row->complete)
                total += big_check(&net.guest[1], heard->bytes, row->v6, row->udp);
            else
                total += heard->bytes - TCP_LINK - (row->v6 ? 40U : 20U) - (row->udp ? 8U : 20U);
            CHECK_EQ_U(heard->csum, row->csum);
            CHECK_EQ_U(heard->seg_kind != TENON_SEG_NONE, row->seg && !row->cut);
            CHECK_EQ_U(heard->seg_bytes, row->seg && !row->cut ? row->seg : 0);
        }
        CHECK_EQ_U(total, row->payload);
        wire_run(net.wire, wire_now(net.wire) + 1000000);
        CHECK_EQ_U(net.guest[1].nheard, row->frames);
        wire_end_stats(net.guest[0].end, &stats);
        CHECK_EQ_U(stats.malformed + stats.oversize, 0);
        net_close(&net);
    }
}

/* ---- lines on which not every packet fits ---------------------------------------------------- */

enum { NARROW = 1300 };

static void narrow_open(struct net *net, unsigned direction, int silent)
{
    struct wire_end_conf conf;
    struct wire_line_conf line = {.mtu = NARROW, .mtu_silent = (uint8_t)silent};

    end_conf_init(&conf, 0);
    conf.netif.caps = TENON_CAP_TX_CSUM | TENON_CAP_TSO4 | TENON_CAP_TSO6;
    conf.burst = 1;
    conf.out.delay_us = 10;
    net_open(net, 2, &conf);
    line.delay_us = 10;
    wire_line_set(net->guest[direction == WIRE_OUT ? 0 : 1].end, (enum wire_direction)direction, &line);
}

/* What the sender is told: by whom, and about which packet. */
static void narrow_check_answer(const struct guest *guest, int v6)
{
    const struct heard *heard = &guest->heard[(guest->nheard - 1) % HEARD_MAX];
    const uint8_t *ip = guest->last + TCP_LINK, *icmp = ip + (v6 ? 40 : 20), *quote = icmp + 8;
    const unsigned n = heard->bytes - TCP_LINK - (v6 ? 40U : 20U);

    CHECK_EQ_U(guest->last[5], 1);
    CHECK_EQ_U(n, v6 ? (unsigned)ip[4] << 8 | ip[5] : ((unsigned)ip[2] << 8 | ip[3]) - 20);
    CHECK_EQ_U(icmp[0], v6 ? 2 : 3);
    CHECK_EQ_U(icmp[1], v6 ? 0 : 4);
    CHECK_EQ_U((unsigned)icmp[6] << 8 | icmp[7], NARROW);
    CHECK_EQ_U(slow_sum(icmp, n, v6 ? slow_pseudo(ip, n) : 0), 0xFFFF);
    if (!v6)
        CHECK_EQ_U(slow_sum(ip, 20, 0), 0xFFFF);
    CHECK(n >= 8 + (v6 ? 48U : 28U) && heard->bytes - TCP_LINK <= (v6 ? 1280U : 576U));
    CHECK_EQ_MEM(ip + (v6 ? 8 : 12), quote + (v6 ? 24 : 16), v6 ? 16 : 4);
    CHECK_EQ_MEM(ip + (v6 ? 24 : 16), quote + (v6 ? 8 : 12), v6 ? 16 : 4);
    CHECK_EQ_U(quote[v6 ? 6 : 9], 6);
}

UNIT_TEST(sender_of_what_is_too_long_is_told)
{
    static const struct {
        const char *name;
        int v6, silent;
        unsigned direction, payload, seg, answers, arrive;
    } rows[] = {
        {"v4 fits", 0, 0, WIRE_OUT, NARROW - 40, 0, 0, 1},     {"v4 does not", 0, 0, WIRE_OUT, NARROW - 39, 0, 1, 0},
        {"v6 fits", 1, 0, WIRE_OUT, NARROW - 60, 0, 0, 1},     {"v6 does not", 1, 0, WIRE_OUT, NARROW - 59, 0, 1, 0},
        {"v4 far side", 0, 0, WIRE_IN, 1400, 0, 1, 0},         {"v6 far side", 1, 0, WIRE_IN, 1400, 0, 1, 0},
        {"v4 silent", 0, 1, WIRE_OUT, 1400, 0, 0, 0},          {"v6 silent", 1, 1, WIRE_IN, 1400, 0, 0, 0},
        {"tso4 fits", 0, 0, WIRE_OUT, 5000, 1000, 0, 1},       {"tso4 does not", 0, 0, WIRE_OUT, 5000, 1400, 3, 1},
        {"tso6 does not", 1, 0, WIRE_IN, 5600, 1400, 4, 0},
    };
    unsigned r;

    for (r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        struct wire_end_stats out, in;
        struct net net;
        unsigned i;

        unit_row(rows[r].name);
        narrow_open(&net, rows[r].direction, rows[r].silent);
        big_df = 1;
        CHECK_EQ_U(big_send(&net, rows[r].v6, 0, rows[r].payload, rows[r].seg), 1);
        big_df = 0;
        for (i = 0; i < rows[r].answers; i++) {
            while (net.guest[0].nheard <= i && wire_step(net.wire, 100000000))
                ;
            narrow_check_answer(&net.guest[0], rows[r].v6);
        }
        net_run(&net, 1000);
        CHECK_EQ_U(net.guest[0].nheard, rows[r].answers);
        CHECK_EQ_U(net.guest[1].nheard, rows[r].arrive);
        wire_end_stats(net.guest[0].end, &out);
        wire_end_stats(net.guest[1].end, &in);
        CHECK_EQ_U(out.too_long + in.too_long, rows[r].answers > 0 ? rows[r].answers : 1 - rows[r].arrive);
        CHECK_EQ_U(out.malformed + out.oversize + out.fragments + in.fragments, 0);
        net_close(&net);
    }
}

/* Without DF a packet is cut, and a fragment is cut again where it does not fit either. */
UNIT_TEST(what_may_be_cut_is_cut)
{
    struct wire_line_conf narrower = {.mtu = 599, .rate = 1000000};
    static const unsigned offsets[] = {0, 576, 1152, 1280}, lengths[] = {576, 576, 128, 140};
    uint8_t whole[1500];
    struct net net;
    unsigned i;

    narrow_open(&net, WIRE_OUT, 0);
    wire_line_set(net.guest[1].end, WIRE_IN, &narrower);
    big_send(&net, 0, 0, 1400, 0);
    for (i = 0; i < 4; i++) {
        const uint8_t *ip = net.guest[1].last + TCP_LINK;

        while (net.guest[1].nheard <= i && wire_step(net.wire, 100000000))
            ;
        CHECK_EQ_U(slow_sum(ip, 20, 0), 0xFFFF);
        CHECK_EQ_U((unsigned)ip[2] << 8 | ip[3], 20 + lengths[i]);
        CHECK_EQ_U((unsigned)ip[4] << 8 | ip[5], 0xFFFE);
        CHECK_EQ_U((unsigned)ip[6] << 8 | ip[7], offsets[i] / 8 | (i < 3 ? 0x2000U : 0));
        memcpy(whole + offsets[i], ip + 20, lengths[i]);
    }
    net_run(&net, 1000);
    CHECK_EQ_U(net.guest[0].nheard, 0);
    CHECK_EQ_U(net.guest[1].nheard, 4);
    CHECK_EQ_U(slow_sum(whole, 1420, slow_pseudo(net.guest[1].last + TCP_LINK, 1420)), 0xFFFF);
    net_close(&net);
}

/* Nobody is told of an error message, of a later fragment, of what was sent to many, or if nobody has sent it; what
 * is no IP passes. */
UNIT_TEST(nobody_is_told_where_none_may_be)
{
    static const struct {
        const char *name;
        int v6;
        unsigned at, value, answers, arrive;
    } rows[] = {
        {"v4", 0, 6, 0x40, 1, 0},          {"v4 error message", 0, 9, 1, 0, 0},
        {"v4 later fragment", 0, 7, 1, 0, 0}, {"v4 to many", 0, 16, 224, 0, 0},
        {"v4 from many", 0, 12, 224, 0, 0},  {"v4 from nobody", 0, 12, 0, 0, 0},
        {"v6", 1, 6, 6, 1, 0},             {"v6 error message", 1, 6, 58, 0, 0},
        {"v6 to many", 1, 24, 0xFF, 0, 0},   {"v6 from nobody", 1, 8, 0, 0, 0},
        {"no IP", 0, 0, 0x15, 0, 1},       {"v4 header that is too short", 0, 0, 0x44, 0, 1},
        {"v4 longer than its frame", 0, 2, 0x7F, 0, 1},
    };
    unsigned r;

    for (r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        uint8_t bytes[TCP_LINK + 60 + 1400];
        const unsigned header = big_headers(bytes, rows[r].v6, 0, 1400);
        const struct tenon_host *ops = wire_host_ops();
        struct tenon_buf *buf;
        struct tenon_frame frame;
        struct tenon_span span;
        struct net net;

        unit_row(rows[r].name);
        memset(bytes + header, 1, sizeof(bytes) - header);
        if (!rows[r].v6)
            bytes[TCP_LINK + 6] = 0x40;
        bytes[TCP_LINK + rows[r].at] = (uint8_t)rows[r].value;
        narrow_open(&net, WIRE_OUT, 0);
        CHECK_EQ_U(ops->buf_get(net.guest[0].host, &buf, 1), 1);
        memcpy(buf->data, bytes, header + 1400);
        span = (struct tenon_span){ buf, 0, header + 1400 };
        memset(&frame, 0, sizeof(frame));
        frame.spans = &span;
        frame.nspans = 1;
        CHECK_EQ_U(ops->transmit(net.guest[0].host, 1, &frame, 1), 1);
        tenon_buf_put(buf);
        net_run(&net, 1000);
        CHECK_EQ_U(net.guest[0].nheard, rows[r].answers);
        CHECK_EQ_U(net.guest[1].nheard, rows[r].arrive);
        net_close(&net);
    }
}

UNIT_TEST(damage_makes_the_checksum_real)
{
    struct wire_end_conf conf;
    struct net net;
    const uint8_t *ip;

    end_conf_init(&conf, 0);
    conf.netif.caps = TENON_CAP_TX_CSUM;
    conf.out.corrupt_ppm = 1000000;
    net_open(&net, 2, &conf);
    big_send(&net, 0, 0, 1000, 0);
    net_run(&net, 10);
    ip = net.guest[1].last + TCP_LINK;
    CHECK_EQ_U(net.guest[1].heard[0].csum, TENON_CSUM_NONE);
    CHECK(slow_sum(ip, 20, 0) != 0xFFFF || slow_sum(ip + 20, 1020, slow_pseudo(ip, 1020)) != 0xFFFF);
    net_close(&net);
}

static void one_flip(void *arg, struct wire_end *end, enum wire_direction direction, uint64_t nth,
                     const struct tenon_frame *frame, struct wire_fate *fate)
{
    (void)end, (void)direction, (void)nth, (void)frame;
    fate->flips = 1;
    fate->flip_at = *(const unsigned *)arg;
}

/* A length that is shorter by 128 leaves bytes out whose sum is just what it lacks itself; or is another one. */
UNIT_TEST(damage_that_nobody_can_find_is_none)
{
    static const struct {
        const char *name;
        int v6, udp;
        unsigned length_at, word, damaged;
    } rows[] = {
        {"v6 TCP", 1, 0, 4, 0xFF7F, 0},  {"v6 TCP, another sum", 1, 0, 4, 0xFEFF, 1},
        {"v6 UDP", 1, 1, 44, 0xFEFF, 0}, {"v6 UDP, another sum", 1, 1, 44, 0xFF7F, 1},
        {"v4 UDP", 0, 1, 24, 0xFEFF, 0}, {"v4 UDP, another sum", 0, 1, 24, 0xFF7F, 1},
    };
    enum { L4_BYTES = 163, SHORT = L4_BYTES - 128 };
    unsigned r;

    for (r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        const unsigned ip_bytes = rows[r].v6 ? 40 : 20, n = TCP_LINK + ip_bytes + L4_BYTES;
        const struct tenon_host *ops = wire_host_ops();
        unsigned flips_at = 8 * (rows[r].length_at + 1);
        uint8_t bytes[TCP_LINK + 40 + L4_BYTES] = { 0 }, *l4 = bytes + TCP_LINK + ip_bytes;
        const uint8_t *ip;
        struct wire_end_stats stats;
        struct wire_end_conf conf;
        struct tenon_frame frame;
        struct tenon_span span;
        struct tenon_buf *buf;
        struct net net;

        unit_row(rows[r].name);
        (void)big_headers(bytes, rows[r].v6, rows[r].udp, L4_BYTES - (rows[r].udp ? 8 : 20));
        big_put16(l4 + SHORT + 1, rows[r].word);
        big_put16(l4 + (rows[r].udp ? 6 : 16), ~slow_sum(l4, L4_BYTES, 0) & 0xFFFF);
        end_conf_init(&conf, 0);
        conf.out.fate = one_flip;
        conf.out.fate_arg = &flips_at;
        net_open(&net, 2, &conf);
        CHECK_EQ_U(ops->buf_get(net.guest[0].host, &buf, 1), 1);
        memcpy(buf->data, bytes, n);
        span = (struct tenon_span){ buf, 0, n };
        memset(&frame, 0, sizeof(frame));
        frame.spans = &span;
        frame.nspans = 1;
        CHECK_EQ_U(ops->transmit(net.guest[0].host, 1, &frame, 1), 1);
        tenon_buf_put(buf);
        net_run(&net, 10);
        wire_end_stats(net.guest[0].end, &stats);
        CHECK_EQ_U(stats.corrupted, rows[r].damaged);
        ip = net.guest[1].last + TCP_LINK;
        CHECK_EQ_U(ip[rows[r].length_at + 1], rows[r].damaged ? SHORT : L4_BYTES);
        if (rows[r].damaged)
            CHECK(slow_sum(ip + ip_bytes, SHORT, slow_pseudo(ip, SHORT)) != 0xFFFF);
        else
            CHECK_EQ_U(slow_sum(ip + ip_bytes, L4_BYTES, slow_pseudo(ip, L4_BYTES)), 0xFFFF);
        net_close(&net);
    }
}

UNIT_TEST(what_was_not_offered_is_malformed)
{
    struct wire_end_conf conf;
    struct wire_end_stats stats;
    struct net net;

    end_conf_init(&conf, 0);
    net_open(&net, 2, &conf);
    big_send(&net, 0, 0, 1000, 0);       /* PARTIAL without TX_CSUM */
    big_send(&net, 0, 0, 10000, 1460);   /* TSO without the capability */
    net_send(&net, 0, 1, 1600, 0);       /* larger than the MTU */
    net_run(&net, 10);
    wire_end_stats(net.guest[0].end, &stats);
    CHECK_EQ_U(stats.malformed, 2);
    CHECK_EQ_U(stats.oversize, 1);
    CHECK_EQ_U(net.guest[1].nheard, 0);
    net_close(&net);
}

/* ---- hosts ----------------------------------------------------------------------------------- */

UNIT_TEST(memory_is_accounted_and_fails_on_demand)
{
    const struct tenon_host *ops = wire_host_ops();
    const struct wire_fail third = {.mem_nth = 3}, for_good = {.mem_nth = 1, .for_good = 1}, never = {0};
    const struct wire_fail buf_second = {.buf_nth = 2};
    struct wire_host_stats stats;
    struct tenon_buf *bufs[4];
    struct net net;
    void *a, *b, *d;

    net_open(&net, 2, NULL);
    wire_host_fail(net.guest[0].host, &third);
    a = ops->mem_get(net.guest[0].host, 100);
    b = ops->mem_get(net.guest[0].host, 200);
    CHECK(a && b && !ops->mem_get(net.guest[0].host, 1));
    d = ops->mem_get(net.guest[0].host, 300);
    CHECK(d != NULL);
    wire_host_stats(net.guest[0].host, &stats);
    CHECK_EQ_U(stats.mem_bytes, 600);
    CHECK_EQ_U(stats.mem_blocks, 3);
    CHECK_EQ_U(stats.mem_refused, 1);
    wire_host_fail(net.guest[0].host, &for_good);
    CHECK(!ops->mem_get(net.guest[0].host, 1) && !ops->mem_get(net.guest[0].host, 1));
    wire_host_fail(net.guest[0].host, &never);
    ops->mem_put(net.guest[0].host, b, 199);    /* a wrong size is found ... */
    ops->mem_put(net.guest[0].host, b, 200);
    ops->mem_put(net.guest[0].host, a, 100);
    ops->mem_put(net.guest[0].host, d, 300);
    wire_host_fail(net.guest[0].host, &buf_second);
    CHECK_EQ_U(ops->buf_get(net.guest[0].host, bufs, 4), 1);
    CHECK_EQ_U(ops->buf_get(net.guest[0].host, bufs + 1, 3), 3);
    wire_host_stats(net.guest[0].host, &stats);
    CHECK_EQ_U(stats.mem_bytes + stats.mem_blocks, 0);
    CHECK_EQ_U(stats.mem_wrong, 1);             /* ... and not done */
    CHECK_EQ_U(stats.bufs, 4);
    CHECK_EQ_U(stats.bufs_top, 4);
    tenon_buf_put(bufs[0]);
    tenon_buf_put(bufs[1]);
    tenon_buf_put(bufs[2]);
    tenon_buf_put(bufs[3]);
    net_close(&net);
}

UNIT_TEST(entropy_follows_the_seed)
{
    const struct tenon_host *ops = wire_host_ops();
    uint8_t a[20], b[20];
    struct net net;

    net_open(&net, 2, NULL);
    CHECK_EQ_I(ops->entropy(net.guest[0].host, a, 20), 0);
    CHECK_EQ_I(ops->entropy(net.guest[1].host, b, 20), 0);
    CHECK(memcmp(a, b, 20) != 0);
    net_close(&net);
    net_open(&net, 2, NULL);
    CHECK_EQ_I(ops->entropy(net.guest[0].host, b, 20), 0);
    CHECK_EQ_MEM(a, b, 20);
    net_close(&net);
}

UNIT_TEST(polls_come_when_asked_for)
{
    struct net net;
    unsigned before;

    net_open(&net, 2, NULL);
    net.guest[0].poll_result = 250;
    wire_wake(net.guest[0].host);
    net_run(&net, 0);
    before = net.guest[0].npolls;
    net_run(&net, 1000);
    CHECK_EQ_U(net.guest[0].npolls - before, 4);
    CHECK_EQ_U(net.guest[1].npolls, 1);
    net.guest[0].poll_result = 1800000000UL;
    net_close(&net);
}

UNIT_TEST(idle_polls_are_counted)
{
    struct wire_host_stats stats;
    struct net net;

    net_open(&net, 2, NULL);
    net.guest[0].poll_result = 0;
    wire_wake(net.guest[0].host);
    net_run(&net, 5000);
    wire_host_stats(net.guest[0].host, &stats);
    CHECK(stats.polls_idle > 1000);
    CHECK(stats.polls_per_ms_top > 100);
    net_close(&net);
}

UNIT_TEST(clock_jumps_ahead_for_one_host)
{
    struct net net;

    net_open(&net, 2, NULL);
    wire_host_jump(net.guest[0].host, 60000000);
    CHECK_EQ_U(wire_host_now(net.guest[0].host), 61000000);
    CHECK_EQ_U(wire_host_now(net.guest[1].host), 1000000);
    net_close(&net);
}

struct timer_log {
    unsigned n;
    char order[8];
    struct wire *wire;
};

static void timer_a(void *arg)
{
    ((struct timer_log *)arg)->order[((struct timer_log *)arg)->n++] = 'a';
}

static void timer_b(void *arg)
{
    struct timer_log *log = arg;

    log->order[log->n++] = 'b';
    if (log->n < 6)
        wire_at(log->wire, wire_now(log->wire), timer_b, log);
}

UNIT_TEST(timers_run_in_order)
{
    struct timer_log log = { 0 };
    struct net net;

    net_open(&net, 2, NULL);
    log.wire = net.wire;
    wire_at(net.wire, 1000020, timer_b, &log);
    wire_at(net.wire, 1000010, timer_a, &log);
    wire_at(net.wire, 1000010, timer_a, &log);
    CHECK_EQ_I(wire_step(net.wire, 1000009), 0);
    CHECK_EQ_U(wire_now(net.wire), 1000009);
    net_run(&net, 100);
    CHECK_EQ_S(log.order, "aabbbb");
    net_close(&net);
}

UNIT_TEST(injected_frame_arrives)
{
    uint8_t bytes[60] = {2, 0, 0, 0, 0, 1};
    struct net net;

    net_open(&net, 2, NULL);
    bytes[14] = 42;
    CHECK_EQ_I(wire_inject(net.guest[0].end, bytes, sizeof(bytes), 25), 0);
    CHECK_EQ_I(wire_inject(net.guest[0].end, bytes, sizeof(bytes), 9999999), 0);    /* never arrives */
    net_run(&net, 100);
    CHECK_EQ_U(net.guest[0].nheard, 1);
    CHECK_EQ_U(net.guest[0].heard[0].at, 1000025);
    CHECK_EQ_U(net.guest[0].heard[0].tag, 42);
    net_close(&net);
}

/* Two runs of the same history, with every fault on, hear the same at the same time. */
UNIT_TEST(same_seed_same_history)
{
    static struct net nets[2];
    struct wire_end_conf conf;
    unsigned k, i;

    end_conf_init(&conf, 0);
    conf.out = (struct wire_line_conf){ .rate = 500000,
                                        .delay_us = 300,
                                        .jitter_us = 900,
                                        .queue_bytes = 20000,
                                        .loss_ppm = 100000,
                                        .duplicate_ppm = 100000,
                                        .corrupt_ppm = 100000,
                                        .reorder_ppm = 100000,
                                        .reorder_us = 5000 };
    conf.in = (struct wire_line_conf){ .rate = 400000, .loss_ppm = 50000 };
    for (k = 0; k < 2; k++) {
        net_open(&nets[k], 3, &conf);
        for (i = 0; i < 200; i++) {
            net_send(&nets[k], i % 3, i % 7 == 0 ? 255 : (i + 1) % 3, 60 + i * 5, i);
            net_run(&nets[k], 700);
        }
        net_run(&nets[k], 1000000);
    }
    for (i = 0; i < 3; i++) {
        CHECK(nets[0].guest[i].nheard > 40);
        CHECK_EQ_U(nets[0].guest[i].nheard, nets[1].guest[i].nheard);
        CHECK_EQ_MEM(nets[0].guest[i].heard, nets[1].guest[i].heard, sizeof(nets[0].guest[i].heard));
    }
    net_close(&nets[0]);
    net_close(&nets[1]);
}

int main(void)
{
    UNIT_RUN(pair_frame_arrives_after_delay_and_rate);
    UNIT_RUN(payload_is_shared_and_comes_back);
    UNIT_RUN(last_quarter_of_a_pool_is_not_shared);
    UNIT_RUN(hosts_close_in_any_order_while_buffers_are_out);
    UNIT_RUN(frames_of_a_closed_host_wait_nowhere);
    UNIT_RUN(copy_and_split_keep_the_bytes);
    UNIT_RUN(short_frame_is_padded);
    UNIT_RUN(hub_switches_or_floods);
    UNIT_RUN(burst_is_limited_and_coalesced);
    UNIT_RUN(ring_overflow_is_lost);
    UNIT_RUN(mask_drops_the_third_frame);
    UNIT_RUN(chance_is_about_as_often_as_asked);
    UNIT_RUN(corrupt_inverts_one_bit_behind_the_link_header);
    UNIT_RUN(reordered_frame_is_overtaken);
    UNIT_RUN(jitter_keeps_the_order);
    UNIT_RUN(blackout_swallows_its_interval);
    UNIT_RUN(fate_has_the_last_word);
    UNIT_RUN(full_queue_drops);
    UNIT_RUN(full_queue_refuses_and_wakes);
    UNIT_RUN(queue_tells_its_wait);
    UNIT_RUN(long_queue_marks_what_knows_ecn);
    UNIT_RUN(segmentation_and_checksums);
    UNIT_RUN(sender_of_what_is_too_long_is_told);
    UNIT_RUN(what_may_be_cut_is_cut);
    UNIT_RUN(nobody_is_told_where_none_may_be);
    UNIT_RUN(damage_makes_the_checksum_real);
    UNIT_RUN(damage_that_nobody_can_find_is_none);
    UNIT_RUN(what_was_not_offered_is_malformed);
    UNIT_RUN(memory_is_accounted_and_fails_on_demand);
    UNIT_RUN(entropy_follows_the_seed);
    UNIT_RUN(polls_come_when_asked_for);
    UNIT_RUN(idle_polls_are_counted);
    UNIT_RUN(clock_jumps_ahead_for_one_host);
    UNIT_RUN(timers_run_in_order);
    UNIT_RUN(injected_frame_arrives);
    UNIT_RUN(same_seed_same_history);
    return unit_end();
}
