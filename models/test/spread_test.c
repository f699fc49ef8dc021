/* SPDX-License-Identifier: MIT */
/* Mail between threads, and where frames go that came to one of several instances. Meant to be run with ThreadSanitizer
 * too. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <tenon/flow.h>

#include "../../tests/unit/unit.h"
#include "../mailbox.h"
#include "../model.h"
#include "../spread.h"
#include "ports/common/port.h"

/* ---- the mailbox ------------------------------------------------------------------------------------- */

enum { POSTERS = 3, EACH = 20000 };

struct letter {
    struct model_mail mail;
    unsigned poster, number;
};

struct reader {
    unsigned next[POSTERS], wrong, total;
};

static struct model_mailbox shared;

static void letter_open(struct model_mail *mail, void *owner)
{
    struct letter *letter = (struct letter *)mail;
    struct reader *reader = owner;

    if (reader != NULL) {
        reader->wrong += reader->next[letter->poster] != letter->number;
        reader->next[letter->poster] = letter->number + 1;
        reader->total++;
    }
    free(letter);
}

static void post_letter(unsigned poster, unsigned number)
{
    struct letter *letter = malloc(sizeof *letter);

    letter->mail.open = letter_open;
    letter->poster = poster;
    letter->number = number;
    model_mailbox_post(&shared, &letter->mail);
}

static void *poster_main(void *arg)
{
    for (unsigned i = 0; i < EACH; i++)
        post_letter(*(unsigned *)arg, i);
    return NULL;
}

static int has_mail(void)
{
    struct pollfd ready = { shared.fd, POLLIN, 0 };

    return poll(&ready, 1, 0) == 1;
}

UNIT_TEST(mail_is_opened_in_the_order_of_each_poster)
{
    struct reader reader = { { 0 }, 0, 0 };
    unsigned names[POSTERS];
    pthread_t threads[POSTERS];

    CHECK_EQ_I(model_mailbox_open(&shared), 0);
    for (unsigned i = 0; i < POSTERS; i++) {
        names[i] = i;
        pthread_create(&threads[i], NULL, poster_main, &names[i]);
    }
    while (reader.total < POSTERS * EACH) {
        struct pollfd ready = { shared.fd, POLLIN, 0 };

        if (poll(&ready, 1, 5000) != 1)
            break; /* asleep although there is mail */
        model_mailbox_take(&shared, &reader);
    }
    for (unsigned i = 0; i < POSTERS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ_U(reader.total, POSTERS * EACH);
    CHECK_EQ_U(reader.wrong, 0);
    CHECK(!has_mail());
    model_mailbox_close(&shared);
}

static void answered_at_once(struct model_mail *mail, void *owner)
{
    (void)owner;
    free(mail);
    post_letter(0, 0);
}

/* Between the time at which the box was emptied and the end of that. */
UNIT_TEST(mail_that_comes_meanwhile_wakes)
{
    struct reader reader = { { 0 }, 0, 0 };
    struct model_mail *mail = malloc(sizeof *mail);

    CHECK_EQ_I(model_mailbox_open(&shared), 0);
    mail->open = answered_at_once;
    model_mailbox_post(&shared, mail);
    CHECK_EQ_U(model_mailbox_take(&shared, &reader), 1);
    CHECK(has_mail());
    CHECK_EQ_U(model_mailbox_take(&shared, &reader), 1);
    CHECK_EQ_U(reader.total, 1);
    model_mailbox_close(&shared);
}

UNIT_TEST(only_mail_in_an_empty_box_wakes)
{
    struct reader reader = { { 0 }, 0, 0 };

    CHECK_EQ_I(model_mailbox_open(&shared), 0);
    CHECK(!has_mail());
    post_letter(0, 0);
    post_letter(0, 1);
    CHECK(has_mail());
    CHECK_EQ_U(model_mailbox_take(&shared, &reader), 2);
    CHECK(!has_mail());
    CHECK_EQ_U(model_mailbox_take(&shared, &reader), 0);
    post_letter(0, 2);
    CHECK(has_mail());
    model_mailbox_close(&shared); /* frees it */
    CHECK_EQ_U(reader.wrong, 0);
}

/* ---- frames ------------------------------------------------------------------------------------------ */

enum { MEMBERS = 3 };

struct place {
    struct port port; /* first */
    struct tenon *stack;
    void *mem;
    struct model_mailbox box;
    unsigned netif;
};

static struct place places[MEMBERS];
static struct model_spread *spread;
static struct tenon_buf frame_buf;
static tenon_u8 bytes[128];
static unsigned length;

static unsigned no_bufs(void *host, struct tenon_buf **bufs, unsigned n)
{
    (void)host, (void)bufs, (void)n;
    return 0;
}

static unsigned take_all(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    (void)host, (void)netif, (void)frames;
    return n;
}

static const struct tenon_host deaf_host = {
    TENON_HOST_VERSION, port_mem_get, port_mem_put, no_bufs, take_all, port_entropy,
};

static void open_place(struct place *place)
{
    const struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, 1);
    const struct tenon_netif_conf netif = {
        .mac = { 2, 0, 0, 0, 0, 1 }, .mtu = 1500, .gather_max = 8, .flags = TENON_NETIF_NO_DAD
    };
    struct tenon_conf conf;

    memset(place, 0, sizeof *place);
    CHECK_EQ_I(model_mailbox_open(&place->box), 0);
    tenon_conf_default(&conf);
    place->mem = malloc(tenon_mem_size(&conf));
    place->stack = tenon_init(place->mem, &conf, &deaf_host, place);
    place->netif = (unsigned)tenon_netif_add(place->stack, &netif);
    CHECK_EQ_I(tenon_addr_add(place->stack, place->netif, &ip, 24), TENON_OK);
}

static void open_places(int by_hash)
{
    struct model_mailbox *boxes[MEMBERS];

    for (unsigned i = 0; i < MEMBERS; i++) {
        open_place(&places[i]);
        boxes[i] = &places[i].box;
    }
    spread = model_spread_open(boxes, MEMBERS, by_hash);
    for (unsigned i = 0; i < MEMBERS; i++)
        model_spread_join(spread, i, &places[i].port, places[i].stack, places[i].netif);
}

static void close_places(void)
{
    for (unsigned i = 0; i < MEMBERS; i++) {
        model_spread_leave(spread, i);
        CHECK(places[i].port.input == NULL);
        tenon_fini(places[i].stack);
        free(places[i].mem);
        model_mailbox_close(&places[i].box);
    }
    model_spread_close(spread);
    CHECK_EQ_U(frame_buf.refs, 1);
}

/* A frame from hexadecimal digits, with whatever blanks. */
static void make_frame(const char *hex)
{
    length = 0;
    for (unsigned half = 0; *hex != 0; hex++) {
        const unsigned digit = *hex <= '9' ? (unsigned)(*hex - '0') : (unsigned)(*hex - 'a' + 10);

        if (*hex == ' ')
            continue;
        bytes[length] = (tenon_u8)(half == 0 ? digit << 4 : bytes[length] | digit);
        length += half;
        half = !half;
    }
}

/* It comes to member `at`, in two pieces if there is a cut. @return which members have got it, a bit for each */
static unsigned deliver(unsigned at, unsigned cut)
{
    struct tenon_span spans[2] = { { &frame_buf, 0, cut > 0 ? cut : length }, { &frame_buf, cut, length - cut } };
    struct tenon_frame frame = { 0 };
    tenon_u32 before[MEMBERS];
    unsigned got = 0;

    frame_buf.data = bytes;
    frame_buf.size = length;
    frame_buf.refs = 1;
    frame.spans = spans;
    frame.nspans = cut > 0 ? 2 : 1;
    frame.csum = TENON_CSUM_GOOD;
    for (unsigned i = 0; i < MEMBERS; i++)
        before[i] = tenon_stat(places[i].stack, TENON_STAT_RX_FRAMES);
    port_input(&places[at].port, places[at].stack, places[at].netif, &frame, 1, port_now_us());
    for (unsigned i = 0; i < MEMBERS; i++)
        model_mailbox_take(&places[i].box, &places[i]);
    for (unsigned i = 0; i < MEMBERS; i++) {
        const tenon_u32 more = tenon_stat(places[i].stack, TENON_STAT_RX_FRAMES) - before[i];

        CHECK(more <= 1);
        got |= more << i;
    }
    return got;
}

static unsigned goes_to(unsigned at, const char *hex)
{
    make_frame(hex);
    return deliver(at, 0);
}

#define TO_US "020000000001 020000000099 "
#define ARP "0806 0001 0800 06 04 "
#define IP4(protocol, fragment) "0800 4500 0030 0001 " fragment " 40" protocol "0000 0a000002 0a000001 "
#define IP6(next) "86dd 60000000 0010 " next "ff fe80000000000000 0000000000000002 fe80000000000000 0000000000000001 "
#define REST "00000000000000000000000000000000"

UNIT_TEST(answers_go_to_all_and_questions_stay)
{
    open_places(0);
    for (unsigned at = 0; at < MEMBERS; at++) {
        const unsigned own = 1u << at, all = (1u << MEMBERS) - 1;

        CHECK_EQ_U(goes_to(at, TO_US ARP "0001 020000000099 0a000002 000000000000 0a000001"), own);
        CHECK_EQ_U(goes_to(at, TO_US ARP "0002 020000000099 0a000002 020000000001 0a000001"), all);
        CHECK_EQ_U(goes_to(at, TO_US ARP "0001 020000000099 0a000002 000000000000 0a000002"), all);
        CHECK_EQ_U(goes_to(at, TO_US IP4("01", "0000") "0800" REST), own);
        CHECK_EQ_U(goes_to(at, TO_US IP4("01", "0000") "0000" REST), own);
        CHECK_EQ_U(goes_to(at, TO_US IP4("01", "0000") "0304" REST), all);
        CHECK_EQ_U(goes_to(at, TO_US IP4("01", "0000") "0b00" REST), all);
        CHECK_EQ_U(goes_to(at, TO_US IP6("3a") "8000" REST), own);
        CHECK_EQ_U(goes_to(at, TO_US IP6("3a") "8700" REST), own);
        CHECK_EQ_U(goes_to(at, TO_US IP6("3a") "8600" REST), all);
        CHECK_EQ_U(goes_to(at, TO_US IP6("3a") "8800" REST), all);
        CHECK_EQ_U(goes_to(at, TO_US IP6("3a") "0200" REST), all);
        CHECK_EQ_U(goes_to(at, TO_US "88cc 0102"), own);
    }
    close_places();
}

UNIT_TEST(segments_stay_at_their_queue_unless_the_hash_decides)
{
    struct tenon_addr local = { .ip = tenon_ip4_bytes(10, 0, 0, 1), .port = 80 }, remote = local;
    struct model_spread_stats stats;
    struct tenon_flow flow;
    tenon_u16 table[128];
    unsigned seen = 0;

    open_places(0);
    CHECK_EQ_U(goes_to(1, TO_US IP4("06", "4000") "1234 0050" REST), 2);
    CHECK_EQ_U(goes_to(2, TO_US IP6("11") "1234 0050" REST), 4);
    close_places();

    open_places(1);
    tenon_flow_spread(table, 128, MEMBERS);
    tenon_flow_init(&flow, tenon_flow_key_microsoft, table, 128, 0);
    make_frame(TO_US IP4("06", "4000") "0000 0050" REST);
    remote.ip = tenon_ip4_bytes(10, 0, 0, 2);
    for (unsigned port = 1; port <= 60; port++) {
        bytes[35] = (tenon_u8)port;
        remote.port = (tenon_u16)port;
        CHECK_EQ_U(deliver(port % MEMBERS, 0), 1u << tenon_flow_queue(&flow, &local, &remote));
        seen |= 1u << tenon_flow_queue(&flow, &local, &remote);
    }
    CHECK_EQ_U(seen, (1u << MEMBERS) - 1);
    model_spread_stats(spread, 0, &stats);
    CHECK_EQ_U(stats.lost, 0);
    CHECK_EQ_U(stats.own + stats.handed, 20);
    close_places();
}

/* Whatever queue they come to: all of a packet go to one instance, and with their bytes. */
UNIT_TEST(fragments_meet)
{
    unsigned first;

    open_places(0);
    first = goes_to(0, TO_US IP4("11", "2000") "1234 0050" REST);
    CHECK(first == 1 || first == 2 || first == 4);
    for (unsigned at = 0; at < MEMBERS; at++) {
        CHECK_EQ_U(goes_to(at, TO_US IP4("11", "2000") "1234 0050" REST), first);
        CHECK_EQ_U(goes_to(at, TO_US IP4("11", "0005") "abcd abcd" REST), first);
        CHECK_EQ_U(goes_to(at, TO_US IP4("11", "0005") "ab"), first);
    }
    first = goes_to(0, TO_US IP6("2c") "1100 0001 00000001" REST);
    CHECK(first == 1 || first == 2 || first == 4);
    CHECK_EQ_U(goes_to(2, TO_US IP6("2c") "1100 0010 00000001" REST), first);
    close_places();
}

/* The headers lie in the first piece, however short. */
UNIT_TEST(frames_in_pieces_and_cut_frames)
{
    open_places(1);
    make_frame(TO_US IP4("06", "4000") "0007 0050" REST);
    CHECK_EQ_U(deliver(0, 38), deliver(1, 0));
    CHECK_EQ_U(deliver(1, 16), 2);
    for (length = 1; length < 70; length++)
        (void)deliver(1, 0); /* nothing is read behind its end: a sanitizer would tell */
    close_places();
}

UNIT_TEST(what_nobody_takes_is_counted)
{
    struct model_spread_stats stats;

    open_places(0);
    model_spread_leave(spread, 2);
    make_frame(TO_US ARP "0002 020000000099 0a000002 020000000001 0a000001");
    CHECK_EQ_U(deliver(0, 0), 3);
    model_spread_stats(spread, 2, &stats);
    CHECK_EQ_U(stats.lost, 1);

    for (unsigned i = 0; i < MODEL_SPREAD_WAITING_MAX + 10; i++) {
        struct tenon_span span = { &frame_buf, 0, length };
        struct tenon_frame frame = { 0 };

        frame.spans = &span;
        frame.nspans = 1;
        port_input(&places[0].port, places[0].stack, places[0].netif, &frame, 1, port_now_us());
    }
    model_spread_stats(spread, 0, &stats);
    CHECK_EQ_U(stats.lost, 20);
    CHECK_EQ_U(model_mailbox_take(&places[1].box, &places[1]), MODEL_SPREAD_WAITING_MAX);
    CHECK_EQ_U(deliver(0, 0), 3); /* there is room again at 1; at 2 what waits is freed with the box */
    close_places();
}

/* ---- models as members ------------------------------------------------------------------------------- */

enum { QUEUES = 2, DATAGRAMS = 24, PORT = 9, PATIENCE_US = 6000000, SOURCE_AT = 35 };

/* A queue of an interface that one thread fills and the model's empties. */
struct queue {
    struct place place;        /* first: its port is the model's */
    struct model *model;
    struct tenon_buf buf;
    tenon_u8 bytes[128];
    atomic_uint filled;
    atomic_uint heard;         /* datagrams, by the application */
    pthread_t thread;
    int status;
};

static struct queue queues[QUEUES];

static int queue_receive(struct port *port, struct tenon *stack, unsigned netif, tenon_u32 now_us)
{
    struct queue *queue = (struct queue *)port;
    struct tenon_span span = { &queue->buf, 0, queue->buf.size };
    struct tenon_frame frame = { .spans = &span, .nspans = 1, .csum = TENON_CSUM_GOOD };
    uint64_t count;

    if (port->fd >= 0)
        (void)!read(port->fd, &count, sizeof count);
    if (atomic_exchange(&queue->filled, 0) == 0)
        return 0;
    port_input(port, stack, netif, &frame, 1, now_us);
    return 1;
}

static const struct port_type queue_type = { .kind = "queue", .receive = queue_receive };

static void hear(struct model_udp *udp, void *app, const struct tenon_udp_info *info, const struct tenon_span *spans,
                 unsigned n)
{
    struct queue *queue = app;

    (void)udp, (void)spans;
    if (n > 0 && info->bytes == 4)
        atomic_fetch_add(&queue->heard, 1);
}

static void *queue_run(void *arg)
{
    struct queue *queue = arg;

    queue->status = model_run(queue->model);
    return NULL;
}

static void open_queue(struct queue *queue, struct model_conf *conf, int with_fd)
{
    static const struct model_udp_events events = { .received = hear };
    const struct tenon_addr at = { .port = PORT };
    struct port *port = &queue->place.port;
    struct model_udp *udp;
    char error[300] = "";

    port->type = &queue_type;
    port->fd = with_fd ? eventfd(0, EFD_NONBLOCK) : -1;
    queue->buf = (struct tenon_buf){ .data = queue->bytes, .size = length, .refs = 1 };
    memcpy(queue->bytes, bytes, length);
    atomic_store(&queue->heard, 0);
    conf->port = port;
    conf->stack = queue->place.stack;
    conf->netif = queue->place.netif;
    conf->member = (unsigned)(queue - queues);
    queue->model = model_open(conf, error, sizeof error);
    CHECK_EQ_S(error, "");
    CHECK_EQ_I(model_udp_open(queue->model, &udp, &at, &events, queue), TENON_OK);
    CHECK_EQ_I(pthread_create(&queue->thread, NULL, queue_run, queue), 0);
}

static void fill(struct queue *queue, unsigned port)
{
    const uint64_t one = 1;

    queue->bytes[SOURCE_AT] = (tenon_u8)port;
    atomic_store(&queue->filled, 1);
    if (queue->place.port.fd >= 0)
        (void)!write(queue->place.port.fd, &one, sizeof one);
}

static void close_queue(struct queue *queue)
{
    pthread_join(queue->thread, NULL);
    CHECK_EQ_I(queue->status, 0);
    model_close(queue->model);
    CHECK(queue->place.port.input == NULL);
    tenon_fini(queue->place.stack);
    free(queue->place.mem);
    if (queue->place.port.fd >= 0)
        close(queue->place.port.fd);
    CHECK_EQ_U(queue->buf.refs, 1);
}

/* Each datagram comes to one queue and then to the other; one of them is wrong, and whose it is sleeps. Who
 * is not woken looks once a second. */
static void ask_members(const struct tenon_flow *flow)
{
    struct tenon_addr local = { .ip = tenon_ip4_bytes(10, 0, 0, 1), .port = PORT }, remote = local;
    unsigned expected[QUEUES] = { 0 };
    const tenon_u32 began = port_now_us();

    remote.ip = tenon_ip4_bytes(10, 0, 0, 2);
    for (unsigned i = 0; i < QUEUES * DATAGRAMS; i++) {
        unsigned whose;

        remote.port = (tenon_u16)(1 + i / QUEUES);
        whose = tenon_flow_queue(flow, &local, &remote);
        expected[whose]++;
        fill(&queues[i % QUEUES], remote.port);
        while (atomic_load(&queues[whose].heard) != expected[whose] && port_now_us() - began < PATIENCE_US)
            usleep(50);
    }
    CHECK(port_now_us() - began < PATIENCE_US);
    CHECK(expected[0] > 0 && expected[1] > 0);
    CHECK_EQ_U(atomic_load(&queues[0].heard), expected[0]);
    CHECK_EQ_U(atomic_load(&queues[1].heard), expected[1]);
}

static void models_spread(enum model_kind kind, int with_fd)
{
    struct model_conf conf = { .kind = kind };
    struct model_mailbox *boxes[QUEUES];
    struct model_spread_stats stats;
    struct tenon_flow flow;
    tenon_u16 table[128];
    unsigned i;

    make_frame(TO_US "0800 4500 0020 0001 4000 4011 26ca 0a000002 0a000001 0000 0009 000c 0000 61626364");
    tenon_flow_spread(table, 128, QUEUES);
    (void)tenon_flow_init(&flow, tenon_flow_key_microsoft, table, 128, 0);
    for (i = 0; i < QUEUES; i++) {
        open_place(&queues[i].place);
        boxes[i] = &queues[i].place.box;
    }
    conf.spread = model_spread_open(boxes, QUEUES, 1);
    for (i = 0; i < QUEUES; i++)
        open_queue(&queues[i], &conf, with_fd);
    ask_members(&flow);
    for (i = 0; i < QUEUES; i++)
        model_stop(queues[i].model);
    for (i = 0; i < QUEUES; i++)
        close_queue(&queues[i]);
    for (i = 0; i < QUEUES; i++) {
        model_spread_stats(conf.spread, i, &stats);
        CHECK(stats.own > 0 && stats.handed > 0 && stats.lost == 0);
        model_mailbox_close(boxes[i]);
    }
    model_spread_close(conf.spread);
}

/* In each model, on ports with a descriptor and without. */
UNIT_TEST(models_share_an_interface)
{
    for (unsigned kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        models_spread((enum model_kind)kind, 1);
        models_spread((enum model_kind)kind, 0);
    }
}

UNIT_TEST(a_model_that_is_no_member)
{
    struct model_conf conf = { .port = &places[0].port, .netif = 1, .member = MEMBERS };
    char error[300] = "";

    open_places(0);
    conf.stack = places[0].stack;
    conf.spread = spread;
    CHECK(model_open(&conf, error, sizeof error) == NULL);
    CHECK_EQ_S(error, "the spread has no member 3");
    close_places();
}

int main(void)
{
    UNIT_RUN(mail_is_opened_in_the_order_of_each_poster);
    UNIT_RUN(mail_that_comes_meanwhile_wakes);
    UNIT_RUN(only_mail_in_an_empty_box_wakes);
    UNIT_RUN(answers_go_to_all_and_questions_stay);
    UNIT_RUN(segments_stay_at_their_queue_unless_the_hash_decides);
    UNIT_RUN(fragments_meet);
    UNIT_RUN(frames_in_pieces_and_cut_frames);
    UNIT_RUN(what_nobody_takes_is_counted);
    UNIT_RUN(models_share_an_interface);
    UNIT_RUN(a_model_that_is_no_member);
    return unit_end();
}
