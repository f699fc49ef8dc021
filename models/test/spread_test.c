/* SPDX-License-Identifier: MIT */
/* Mail between threads, and where frames go that came to one of several instances. Meant to be run with ThreadSanitizer
 * too. */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/flow.h>

#include "../../tests/unit/unit.h"
#include "../mailbox.h"
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

static void open_places(int by_hash)
{
    static const tenon_u8 mac[6] = { 2, 0, 0, 0, 0, 1 };
    struct model_mailbox *boxes[MEMBERS];
    struct tenon_netif_conf netif;
    struct tenon_conf conf;

    for (unsigned i = 0; i < MEMBERS; i++) {
        struct place *place = &places[i];
        const struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, 1);

        memset(place, 0, sizeof *place);
        CHECK_EQ_I(model_mailbox_open(boxes[i] = &place->box), 0);
        tenon_conf_default(&conf);
        place->mem = malloc(tenon_mem_size(&conf));
        place->stack = tenon_init(place->mem, &conf, &deaf_host, place);
        memset(&netif, 0, sizeof netif);
        memcpy(netif.mac, mac, 6);
        netif.mtu = 1500;
        netif.gather_max = 8;
        netif.flags = TENON_NETIF_NO_DAD;
        place->netif = (unsigned)tenon_netif_add(place->stack, &netif);
        CHECK_EQ_I(tenon_addr_add(place->stack, place->netif, &ip, 24), TENON_OK);
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
    return unit_end();
}
