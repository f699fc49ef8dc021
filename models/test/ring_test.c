/* SPDX-License-Identifier: MIT */
/* The ring and the bell, by themselves and between two threads. Meant to be run with ThreadSanitizer too. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

#include "../../tests/unit/unit.h"
#include "../bell.h"
#include "../ring.h"

enum { MANY = 300000 };

enum { WORDS = MODEL_SLOT_BYTES / sizeof(uint64_t) };

/* What a slot holds: its number in every word, so that one which is torn shows. Word by word, because a call of
 * memcpy() may become instructions that ThreadSanitizer does not see. */
static void fill(void *slot, uint64_t number)
{
    uint64_t *words = slot;

    for (unsigned i = 0; i < WORDS; i++)
        words[i] = number * 0x9E3779B97F4A7C15U + i;
}

static int holds(const void *slot, uint64_t number)
{
    const uint64_t *words = slot;
    unsigned wrong = 0;

    for (unsigned i = 0; i < WORDS; i++)
        wrong += words[i] != number * 0x9E3779B97F4A7C15U + i;
    return wrong == 0;
}

UNIT_TEST(empty_gives_nothing_and_takes_all)
{
    struct model_ring ring;

    CHECK_EQ_I(model_ring_open(&ring, 8, 0), 0);
    CHECK_EQ_U(model_ring_waiting(&ring), 0);
    CHECK(model_ring_room(&ring, 8));
    CHECK_EQ_U(model_ring_publish(&ring), 0);
    CHECK_EQ_U(model_ring_done(&ring), 0);
    model_ring_close(&ring);
}

UNIT_TEST(filled_is_seen_only_when_published)
{
    struct model_ring ring;

    CHECK_EQ_I(model_ring_open(&ring, 8, 0), 0);
    for (unsigned i = 0; i < 3; i++)
        fill(model_ring_next(&ring), i);
    CHECK_EQ_U(model_ring_waiting(&ring), 0);
    CHECK(!model_ring_waiting_now(&ring));
    CHECK_EQ_U(model_ring_unpublished(&ring), 3);
    CHECK_EQ_U(model_ring_publish(&ring), 3);
    CHECK(model_ring_waiting_now(&ring));
    CHECK_EQ_U(model_ring_waiting(&ring), 3);
    for (unsigned i = 0; i < 3; i++)
        CHECK(holds(model_ring_take(&ring), i));
    CHECK_EQ_U(model_ring_waiting(&ring), 0);
    model_ring_close(&ring);
}

UNIT_TEST(taken_is_room_only_when_given_back)
{
    struct model_ring ring;

    CHECK_EQ_I(model_ring_open(&ring, 4, 1), 0);
    for (unsigned i = 0; i < 4; i++)
        fill(model_ring_next(&ring), i);
    CHECK(!model_ring_room(&ring, 1));
    (void)model_ring_publish(&ring);
    CHECK_EQ_U(model_ring_waiting(&ring), 4);
    CHECK(holds(model_ring_take(&ring), 0));
    CHECK(!model_ring_room(&ring, 1));
    CHECK(!model_ring_room_now(&ring, 1));
    CHECK_EQ_U(model_ring_done(&ring), 1);
    CHECK(model_ring_room_now(&ring, 1));
    CHECK(model_ring_room(&ring, 1));
    CHECK(!model_ring_room(&ring, 2));
    model_ring_close(&ring);
}

UNIT_TEST(positions_wrap)
{
    struct model_ring ring;
    uint64_t in = 0, out = 0;
    int wrong = 0;

    CHECK_EQ_I(model_ring_open(&ring, 8, 0), 0);
    ring.head = ring.tail = ring.seen_given = ring.seen_published = 0xFFFFFFF0U;
    atomic_store(&ring.published, 0xFFFFFFF0U);
    atomic_store(&ring.given, 0xFFFFFFF0U);
    for (unsigned turn = 0; turn < 20; turn++) {
        while (model_ring_room(&ring, 1))
            fill(model_ring_next(&ring), in++);
        (void)model_ring_publish(&ring);
        for (unsigned n = model_ring_waiting(&ring); n > turn % 3; n--)
            wrong += !holds(model_ring_take(&ring), out++);
        (void)model_ring_done(&ring);
    }
    CHECK_EQ_I(wrong, 0);
    CHECK(in > 40 && in - out <= 8);
    model_ring_close(&ring);
}

/* ---- two threads ----------------------------------------------------------------------------------- */

struct pair {
    struct model_ring ring;
    struct model_bell reader, writer;
    uint64_t many;
    int sleeps;
    atomic_uint lost;    /* sleeps that nobody ended */
};

enum { SLEEP_US = 10000000 };

/* Who is woken does not sleep to the end: as long as that no machine takes to run a thread. */
static void wait_rung(struct pair *pair, struct model_bell *bell)
{
    struct timespec from, to;

    clock_gettime(CLOCK_MONOTONIC, &from);
    model_bell_wait(bell, -1, 0, SLEEP_US);
    clock_gettime(CLOCK_MONOTONIC, &to);
    if ((to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000 >= SLEEP_US)
        atomic_fetch_add(&pair->lost, 1);
}

/* Batches of 1 to 16, full rings included. */
static void *write_many(void *arg)
{
    struct pair *pair = arg;
    unsigned long random = 1;

    for (uint64_t i = 0; i < pair->many;) {
        unsigned batch = (unsigned)(unit_random(&random) % 16) + 1;

        while (batch-- > 0 && i < pair->many && model_ring_room(&pair->ring, 1))
            fill(model_ring_next(&pair->ring), i++);
        if (model_ring_publish(&pair->ring) > 0 && pair->sleeps)
            model_bell_ring(&pair->reader, 1);
        if (model_ring_room(&pair->ring, 1))
            continue;
        if (!pair->sleeps) {
            sched_yield();
            continue;
        }
        model_bell_prepare(&pair->writer, MODEL_ASLEEP_FOR_ROOM);
        if (model_ring_room_now(&pair->ring, 1))
            model_bell_cancel(&pair->writer);
        else
            wait_rung(pair, &pair->writer);
    }
    return NULL;
}

/* @return how many were wrong */
static unsigned long read_many(struct pair *pair)
{
    unsigned long wrong = 0;

    for (uint64_t i = 0; i < pair->many;) {
        unsigned n = model_ring_waiting(&pair->ring);

        while (n-- > 0)
            wrong += !holds(model_ring_take(&pair->ring), i++);
        if (model_ring_done(&pair->ring) > 0 && pair->sleeps)
            model_bell_ring(&pair->writer, 0);
        if (!pair->sleeps) {
            sched_yield();
            continue;
        }
        if (i == pair->many)
            break;
        model_bell_prepare(&pair->reader, MODEL_ASLEEP);
        if (model_ring_waiting_now(&pair->ring))
            model_bell_cancel(&pair->reader);
        else
            wait_rung(pair, &pair->reader);
    }
    return wrong;
}

static void run_pair(uint32_t slots, int sleeps, int with_fd)
{
    struct pair pair = { .many = MANY, .sleeps = sleeps };
    pthread_t writer;

    CHECK_EQ_I(model_ring_open(&pair.ring, slots, sleeps), 0);
    CHECK_EQ_I(model_bell_open(&pair.reader, with_fd), 0);
    CHECK_EQ_I(model_bell_open(&pair.writer, with_fd), 0);
    CHECK_EQ_I(pthread_create(&writer, NULL, write_many, &pair), 0);
    CHECK_EQ_U(read_many(&pair), 0);
    pthread_join(writer, NULL);
    CHECK_EQ_U(model_ring_waiting(&pair.ring), 0);
    model_bell_close(&pair.reader);
    model_bell_close(&pair.writer);
    model_ring_close(&pair.ring);
    CHECK_EQ_U(atomic_load(&pair.lost), 0);
}

UNIT_TEST(two_threads_lose_nothing)
{
    run_pair(64, 0, 0);
    run_pair(2, 0, 0);
}

UNIT_TEST(two_threads_that_sleep_lose_nothing)
{
    run_pair(64, 1, 0);
    run_pair(4, 1, 1);
}

/* ---- the bell -------------------------------------------------------------------------------------- */

UNIT_TEST(nobody_is_woken_who_is_awake)
{
    struct model_bell bell;

    CHECK_EQ_I(model_bell_open(&bell, 1), 0);
    for (unsigned i = 0; i < 1000; i++)
        model_bell_ring(&bell, 1);
    CHECK_EQ_U(atomic_load(&bell.woken), 0);
    model_bell_prepare(&bell, MODEL_ASLEEP);
    model_bell_ring(&bell, 0);    /* room is not what it waits for */
    CHECK_EQ_U(atomic_load(&bell.woken), 0);
    model_bell_ring(&bell, 1);
    model_bell_ring(&bell, 1);
    CHECK_EQ_U(atomic_load(&bell.woken), 1);
    model_bell_prepare(&bell, MODEL_ASLEEP_FOR_ROOM);
    model_bell_ring(&bell, 0);
    CHECK_EQ_U(atomic_load(&bell.woken), 2);
    model_bell_close(&bell);
}

UNIT_TEST(sleep_ends_with_the_time)
{
    struct timespec from, to;

    for (int with_fd = 0; with_fd < 2; with_fd++) {
        struct model_bell bell;

        CHECK_EQ_I(model_bell_open(&bell, with_fd), 0);
        clock_gettime(CLOCK_MONOTONIC, &from);
        model_bell_prepare(&bell, MODEL_ASLEEP);
        model_bell_wait(&bell, -1, 0, 20000);
        clock_gettime(CLOCK_MONOTONIC, &to);
        CHECK((to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000 >= 19000);
        CHECK_EQ_U(atomic_load(&bell.sleep), MODEL_AWAKE);
        model_bell_close(&bell);
    }
}

int main(void)
{
    UNIT_RUN(empty_gives_nothing_and_takes_all);
    UNIT_RUN(filled_is_seen_only_when_published);
    UNIT_RUN(taken_is_room_only_when_given_back);
    UNIT_RUN(positions_wrap);
    UNIT_RUN(two_threads_lose_nothing);
    UNIT_RUN(two_threads_that_sleep_lose_nothing);
    UNIT_RUN(nobody_is_woken_who_is_awake);
    UNIT_RUN(sleep_ends_with_the_time);
    return unit_end();
}
