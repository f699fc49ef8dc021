/* SPDX-License-Identifier: MIT */
/* The same application in all models, with real threads and clocks, polling and sleeping. Meant to be run with
 * ThreadSanitizer too. */
#include <pthread.h>
#include <unistd.h>

#include "../mailbox.h"
#include "../spread.h"
#include "history.h"

UNIT_TEST(threads)
{
    for (unsigned i = 0; i < THREADED; i++) {
        unit_row(threaded[i].name);
        history_run(&threaded[i], i + 1, model_run);
    }
}

/* ---- the end in the middle ------------------------------------------------------------------------------ */

static void end_in_the_middle(const struct history *given, unsigned turns)
{
    struct history history = *given;
    struct model *model;
    struct world world;
    struct app app;

    history.world.datagrams = THREADED_DATAGRAMS;
    model = history_begin(&world, &app, &history, 0);
    for (unsigned i = 0; i < turns; i++)
        (void)model_step(model);
    app_leave(&app);
    model_close(model);
    app_end(&app);
    CHECK_EQ_U(app.closed, app.opened + app.begun);
    CHECK(app.echoes == NULL);
    CHECK_GOOD(history_rest(&world, &app));
}

UNIT_TEST(end_with_everything_under_way)
{
    for (unsigned i = 0; i < THREADED; i++)
        for (unsigned turns = 0; turns < 20000; turns = turns * 8 + 1) {
            unit_row(threaded[i].name);
            end_in_the_middle(&threaded[i], turns);
        }
}

/* ---- sleeping --------------------------------------------------------------------------------------------- */

/* On a port that has nothing to tell (less than a thousandth of a core is usual), and on one that cannot tell
 * anything and is looked at, every 6 ms in the end (about a hundredth). */
UNIT_TEST(idle_servers_sleep)
{
    static const unsigned ticks_us[] = { 30000000, 0 }, most_us[] = { 5000, 40000 };

    for (unsigned i = 0; i < 2 * (MODEL_MERGE + 1); i++) {
        struct model_conf conf = { .kind = (enum model_kind)(i / 2), .turn = idle_turn };
        struct idle idle;
        uint64_t before;

        idle_begin(&idle, &conf, ticks_us[i % 2]);
        before = idle_cpu_us();
        idle.app.done_at = port_now_us() + 1000000;
        CHECK_EQ_I(model_run(idle.app.model), 0);
        before = idle_cpu_us() - before;
        printf("idle for a second, model %u, %s descriptor: %lu us of CPU time\n", i / 2, i % 2 ? "no" : "with a",
               (unsigned long)before);
        CHECK(before < most_us[i % 2]);
        idle_end(&idle);
    }
}

struct slow_poster {
    struct model_mail mail;
    struct model_mailbox box;
    atomic_int opened;
};

static void slow_opened(struct model_mail *mail, void *owner)
{
    (void)owner;
    atomic_store(&TENON_CONTAINER(mail, struct slow_poster, mail)->opened, 1);
}

/* model_mailbox_post() in a thread that another one stops between both of its steps. */
static void *post_slowly(void *arg)
{
    struct slow_poster *poster = arg;
    const uint64_t one = 1;

    atomic_store(&poster->box.last, &poster->mail);
    while (!atomic_load(&poster->opened))
        usleep(100);
    CHECK_EQ_I(write(poster->box.fd, &one, sizeof one), (int)sizeof one);
    return NULL;
}

/* Who has found the mail before its poster woke him is woken for nothing, once. The port wakes him every 20 ms. */
UNIT_TEST(a_wake_that_comes_late_is_one)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        struct slow_poster poster = { { NULL, slow_opened }, { NULL, -1, 0 }, 0 };
        struct model_mailbox *const boxes[] = { &poster.box };
        struct model_conf conf = { .kind = (enum model_kind)kind, .turn = idle_turn };
        struct model_stats stats;
        struct idle idle;
        pthread_t thread;

        CHECK_EQ_I(model_mailbox_open(&poster.box), 0);
        conf.spread = model_spread_open(boxes, 1, 0);
        idle_begin(&idle, &conf, 20000);
        CHECK_EQ_I(pthread_create(&thread, NULL, post_slowly, &poster), 0);
        idle.app.done_at = port_now_us() + 500000;
        CHECK_EQ_I(model_run(idle.app.model), 0);
        (void)pthread_join(thread, NULL);
        model_stats(idle.app.model, &stats);
        printf("a late wake, model %d: slept %lu times in half a second\n", kind, stats.app_slept + stats.stack_slept);
        CHECK(stats.app_slept + stats.stack_slept < 500);
        idle_end(&idle);
        model_spread_close(conf.spread);
        model_mailbox_close(&poster.box);
    }
}

/* The interface goes, and the descriptor does not tell: who sleeps looks once in a while. */
UNIT_TEST(a_sleeper_finds_the_interface_gone)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        struct model_conf conf = { .kind = (enum model_kind)kind };
        struct idle idle;
        pthread_t thread;

        idle_begin(&idle, &conf, 30000000);
        CHECK_EQ_I(pthread_create(&thread, NULL, idle_take_away, &idle), 0);
        CHECK_EQ_I(model_run(idle.app.model), -1);
        (void)pthread_cancel(thread);
        (void)pthread_join(thread, NULL);
        idle_end(&idle);
    }
}

int main(void)
{
    UNIT_RUN(threads);
    UNIT_RUN(end_with_everything_under_way);
    UNIT_RUN(idle_servers_sleep);
    UNIT_RUN(a_wake_that_comes_late_is_one);
    UNIT_RUN(a_sleeper_finds_the_interface_gone);
    return unit_end();
}
