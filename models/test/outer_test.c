/* SPDX-License-Identifier: MIT */
/* All models in a loop of the application's own, which waits for another thing as well. */
#include <poll.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "history.h"

/* What happened in a loop of the application's own. */
struct seen {
    unsigned turns, rung, ticks;
};

/* One with something else in it: the timer `theirs`. @return what ended it */
static int own_loop(struct model *model, int theirs, struct seen *seen)
{
    tenon_u32 wait_us;
    uint64_t expired;
    int status;

    memset(seen, 0, sizeof *seen);
    while ((status = model_rest(model, &wait_us)) == 0) {
        struct pollfd ready[2] = { { model_fd(model), POLLIN, 0 }, { theirs, POLLIN, 0 } };

        (void)poll(ready, 2, (int)(wait_us / 1000 + (wait_us % 1000 != 0)));
        seen->turns++;
        seen->rung += ready[0].revents != 0;
        seen->ticks += ready[1].revents != 0 && read(theirs, &expired, sizeof expired) > 0;
    }
    return status;
}

static int timer_every(long us)
{
    const struct itimerspec every = { { us / 1000000, us % 1000000 * 1000 }, { us / 1000000, us % 1000000 * 1000 } };
    const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);

    CHECK(fd >= 0 && timerfd_settime(fd, 0, &every, NULL) == 0);
    return fd;
}

/* ---- the same histories as in model_run() ---------------------------------------------------------------- */

static int polls;    /* the stack of this history */

static int loop_with_a_timer(struct model *model)
{
    const int timer = timer_every(200);
    struct seen seen;

    CHECK(model_fd(model) >= 0);
    CHECK_EQ_I(own_loop(model, timer, &seen), 1);
    CHECK(seen.ticks > 10);
    CHECK(polls || seen.rung > 10);
    close(timer);
    return 0;
}

UNIT_TEST(threads)
{
    for (unsigned i = 0; i < THREADED; i++) {
        unit_row(threaded[i].name);
        polls = threaded[i].poll;
        history_run(&threaded[i], i + 100, loop_with_a_timer);
    }
}

/* ---- sleeping ---------------------------------------------------------------------------------------------- */

UNIT_TEST(idle_servers_sleep)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        struct model_conf conf = { .kind = (enum model_kind)kind, .turn = idle_turn, .own_loop = 1 };
        const int timer = timer_every(300000);
        struct idle idle;
        struct seen seen;
        uint64_t before;

        idle_begin(&idle, &conf, 30000000);
        before = idle_cpu_us();
        idle.app.done_at = port_now_us() + 1000000;
        CHECK_EQ_I(own_loop(idle.app.model, timer, &seen), 1);
        before = idle_cpu_us() - before;
        printf("idle for a second in its own loop, model %d: %lu us of CPU time, %u turns\n", kind,
               (unsigned long)before, seen.turns);
        CHECK(before < 10000);
        CHECK(seen.turns > 6 && seen.turns < 100);    /* of which the hook asks for ten */
        CHECK(seen.ticks >= 3 && seen.ticks <= 5);
        idle_end(&idle);
        close(timer);
    }
}

UNIT_TEST(the_interface_is_gone)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        struct model_conf conf = { .kind = (enum model_kind)kind, .own_loop = 1 };
        struct idle idle;
        struct seen seen;
        pthread_t thread;

        idle_begin(&idle, &conf, 30000000);
        CHECK_EQ_I(pthread_create(&thread, NULL, idle_take_away, &idle), 0);
        CHECK_EQ_I(own_loop(idle.app.model, -1, &seen), -1);
        (void)pthread_cancel(thread);
        (void)pthread_join(thread, NULL);
        idle_end(&idle);
    }
}

static void *stop_it(void *model)
{
    usleep(50000);
    model_stop(model);
    return NULL;
}

/* Nothing but the bell is there to wake it, each time once. */
UNIT_TEST(who_stops_it_wakes_it)
{
    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        struct model_conf conf = { .kind = (enum model_kind)kind, .own_loop = 1 };
        struct idle idle;
        struct seen seen;
        pthread_t thread;

        idle_begin(&idle, &conf, 30000000);
        for (unsigned time = 0; time < 3; time++) {
            CHECK_EQ_I(pthread_create(&thread, NULL, stop_it, idle.app.model), 0);
            CHECK_EQ_I(own_loop(idle.app.model, -1, &seen), 1);
            CHECK(seen.rung > 0 && seen.turns < 20);
            (void)pthread_join(thread, NULL);
        }
        idle_end(&idle);
    }
}

/* ---- what the others in the loop do ------------------------------------------------------------------------- */

static void got_answer(struct model_udp *udp, void *answers, const struct tenon_udp_info *info,
                       const struct tenon_span *spans, unsigned n)
{
    (void)udp, (void)info, (void)spans;
    *(unsigned *)answers += n > 0;
}

/* A question each time the timer expires, until there are five answers. @return how many were asked */
static unsigned ask_by_the_timer(struct model *model, struct model_udp *udp, const unsigned *answers)
{
    const struct tenon_addr peer = world_peer();
    static const tenon_u8 question[8];
    const int timer = timer_every(20000);
    unsigned asked = 0;
    tenon_u32 wait_us;
    uint64_t expired;

    while (*answers < 5 && asked < 1000) {
        struct pollfd ready[2] = { { model_fd(model), POLLIN, 0 }, { timer, POLLIN, 0 } };

        CHECK_EQ_I(model_rest(model, &wait_us), 0);
        (void)poll(ready, 2, (int)(wait_us / 1000 + (wait_us % 1000 != 0)));
        if (ready[1].revents == 0 || read(timer, &expired, sizeof expired) < 0)
            continue;
        CHECK_EQ_I(model_udp_write(udp, &peer, question, sizeof question), TENON_OK);
        asked++;
    }
    close(timer);
    return asked;
}

/* Questions that are asked outside of handlers leave when the loop goes on. */
UNIT_TEST(what_is_said_outside_of_handlers_leaves)
{
    static const struct model_udp_events events = { .received = got_answer };

    for (int kind = MODEL_UNIFIED; kind <= MODEL_MERGE; kind++) {
        struct model_conf conf = { .kind = (enum model_kind)kind, .own_loop = 1 };
        unsigned answers = 0, asked;
        struct model_udp *udp;
        struct idle idle;

        idle_begin(&idle, &conf, 100);
        CHECK_EQ_I(model_udp_open(idle.app.model, &udp, NULL, &events, &answers), TENON_OK);
        asked = ask_by_the_timer(idle.app.model, udp, &answers);
        CHECK(answers >= 5);    /* more, if several have come in one turn */
        CHECK(asked >= answers && asked <= 50);
        model_udp_close(udp);
        idle_end(&idle);
    }
}

int main(void)
{
    UNIT_RUN(threads);
    UNIT_RUN(idle_servers_sleep);
    UNIT_RUN(the_interface_is_gone);
    UNIT_RUN(who_stops_it_wakes_it);
    UNIT_RUN(what_is_said_outside_of_handlers_leaves);
    return unit_end();
}
