/* SPDX-License-Identifier: MIT */
/* The same application in all models, with real threads and clocks, polling and sleeping. Meant to be run with
 * ThreadSanitizer too. */
#include <pthread.h>

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
    UNIT_RUN(a_sleeper_finds_the_interface_gone);
    return unit_end();
}
