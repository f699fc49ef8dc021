/* SPDX-License-Identifier: MIT */
/* Runs the subject over each device and says, a line each, how many ticks the parts of sending and receiving took:
 *
 *      row DEVICE WAY PATH BYTES PART ticks=T times=N
 *
 * The tool that reads it makes instructions of ticks, by the lines "loop". */
#include "measure.h"
#include "ports/boards/common/text.h"

enum {
    WARM = 4,
    TIMES = 32,
    STEP_US = 10000,
    APART_US = 25000,
    PATIENCE = 500,
    SILENCE = 100,
    LOOP_FEW = 100,
    LOOP_MANY = 1100
};
enum part { ASK, SEND, SENT, ACK, ARRIVE, READ, READ_DONE, LATER, PARTS };

static const unsigned sizes[] = {100, 500, 1460};
static const char *const part_names[PARTS] = {"ask", "send", "sent", "ack", "arrive", "read", "read_done", "later"};

static struct {
    enum device device;
    unsigned way;
    tenon_u32 sent, received;          /* bytes of the streams */
    tenon_u32 ticks[PARTS];
    tenon_u32 times[PARTS];
} run;

static void fail(const char *what)
{
    say("failed: ");
    say(what);
    say("\n");
    board_exit(1);
}

static void say_value(const char *name, tenon_u32 value)
{
    say(" ");
    say(name);
    say("=");
    say_number(value);
}

/* ---- what everything is compared with ----------------------------------------------------------------- */

static void check_count(void)
{
    static const unsigned rounds[] = {LOOP_FEW, LOOP_MANY};
    tenon_u32 ticks;
    unsigned i;

    for (i = 0; i < 2; i++) {
        count_begin();
        count_loop(rounds[i]);
        ticks = count_end();
        say("loop");
        say_value("instructions", 2 * rounds[i]);
        say_value("ticks", ticks);
        say("\n");
    }
    count_begin();
    ticks = count_end();
    say("empty");
    say_value("ticks", ticks);
    say("\n");
}

/* As the application, or a stack with buffers of its own, copies: words, from where they are aligned. */
static void count_copies(void)
{
    static const tenon_u8 from[1460] __attribute__((aligned(4))) = { 1 };
    static tenon_u8 to[1460] __attribute__((aligned(4)));
    unsigned i;

    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        volatile unsigned n = sizes[i];
        tenon_u32 ticks;

        count_begin();
        __builtin_memcpy(to, from, n);
        ticks = count_end();
        say("copy");
        say_value("bytes", n);
        say_value("ticks", ticks);
        say("\n");
    }
}

/* At each alignment, of each length up to where all parts of the function have been through several rounds. */
static void check_sums(void)
{
    static tenon_u8 bytes[260] __attribute__((aligned(4)));
    unsigned from, n, i;

    for (i = 0; i < sizeof(bytes); i++)
        bytes[i] = i % 7 == 0 ? 0xFF : stream_byte(i);
    for (from = 0; from < 4; from++)
        for (n = 4; n <= 200; n++) {
            tenon_u32 sum = 0;

            for (i = 0; i < n; i++)
                sum += (tenon_u32)bytes[from + i] << (i & 1 ? 0 : 8);
            sum = (sum & 0xFFFF) + (sum >> 16);
            sum = (sum & 0xFFFF) + (sum >> 16);
            if (board_sum(bytes + from, n) != sum)
                fail("board_sum()");
        }
    __builtin_memset(bytes, 0xFF, sizeof(bytes));    /* each word with a carry, and the sum that is all ones */
    if (board_sum(bytes, 256) != 0xFFFF || board_sum(bytes + 1, 255) != 0xFF00)
        fail("board_sum() of ones");
    __builtin_memset(bytes, 0, sizeof(bytes));
    if (board_sum(bytes, 256) != 0)
        fail("board_sum() of zeros");
}

/* ---- counting ------------------------------------------------------------------------------------------- */

static void add(enum part part)
{
    run.ticks[part] += count_end();
    run.times[part]++;
}

static void say_rows(const char *path, unsigned bytes, enum part first, enum part last)
{
    unsigned part;

    for (part = first; part <= (unsigned)last; part++) {
        say("row ");
        say(subject.devices[run.device]);
        say(" ");
        say(subject.way_names[run.way]);
        say(" ");
        say(path);
        say(" ");
        say_number(bytes);
        say(" ");
        say(part_names[part]);
        say_value("ticks", run.ticks[part]);
        say_value("counts", run.times[part]);
        say_value("times", TIMES);
        say("\n");
    }
    __builtin_memset(run.ticks, 0, sizeof(run.ticks));
    __builtin_memset(run.times, 0, sizeof(run.times));
}

/* What the subject has sent reaches the peer, and the device has done with it. */
static void put_out(void)
{
    subject.carry();
    subject.sent();
}

/* Frames of the peer reach the subject: each is counted. */
static void deliver(enum part part)
{
    const tenon_u8 *frame;
    unsigned n;

    while ((n = cable_to_subject(&frame)) > 0) {
        void *place = subject.place(frame, n);

        if (place == NULL)
            fail("no place for a frame");
        count_begin();
        subject.arrive(place, n);
        add(part);
        put_out();
    }
}

/* Time passes: what waits for it is done. */
static void pass(enum part part)
{
    now_us += STEP_US;
    subject.turn();
    put_out();
    peer_turn();
    deliver(part);
}

/* ---- sending -------------------------------------------------------------------------------------------- */

static void send_one(unsigned n)
{
    const tenon_u32 acks = run.times[ACK];
    tenon_u8 *p;
    unsigned i;
    int room, done;

    count_begin();
    room = subject.room(&p);
    add(ASK);
    if (room < (int)n)
        fail("no room to send");
    for (i = 0; i < n; i++)
        p[i] = stream_byte(run.sent + i);
    count_begin();
    done = subject.send(p, n);
    add(SEND);
    subject.carry();
    count_begin();
    subject.sent();
    add(SENT);
    if (!done)
        fail("not sent");
    run.sent += n;
    for (i = 0; peer_got() != run.sent || run.times[ACK] == acks; i++) {
        if (i == PATIENCE || peer_got() == MEASURE_WRONG)
            fail("what was sent is not what has come");
        pass(ACK);
    }
}

/* Each when the one before has been acknowledged; or after so many steps of silence more. */
static void send_many(const char *path, unsigned n, unsigned silence)
{
    unsigned i, j;

    for (i = 0; i < WARM + TIMES; i++) {
        if (i == WARM) {
            __builtin_memset(run.ticks, 0, sizeof(run.ticks));
            __builtin_memset(run.times, 0, sizeof(run.times));
        }
        send_one(n);
        for (j = 0; j < silence; j++)
            pass(ACK);
    }
    say_rows(path, n, ASK, ACK);
}

/* ---- receiving ------------------------------------------------------------------------------------------ */

static void read_all(unsigned n)
{
    const tenon_u32 end = run.received + n;
    tenon_u8 *p;
    int got, i;

    while (run.received != end) {
        count_begin();
        got = subject.read(&p);
        add(READ);
        if (got <= 0)
            fail("nothing to read");
        for (i = 0; i < got; i++)
            if (p[i] != stream_byte(run.received + (tenon_u32)i))
                fail("wrong bytes were read");
        count_begin();
        subject.read_done(p, (unsigned)got);
        add(READ_DONE);
        run.received += (tenon_u32)got;
    }
    put_out();
}

/* Acknowledgments leave with every second one: when it arrives, or, when they are not full, with a timer. Both are
 * counted. */
static void receive_many(unsigned n)
{
    unsigned i;

    for (i = 0; i < WARM + TIMES; i++) {
        if (i == WARM) {
            __builtin_memset(run.ticks, 0, sizeof(run.ticks));
            __builtin_memset(run.times, 0, sizeof(run.times));
        }
        now_us += APART_US;
        if (!peer_send(n))
            fail("the peer cannot send");
        peer_turn();
        deliver(ARRIVE);
        read_all(n);
        count_begin();
        subject.turn();
        add(LATER);
        put_out();
        peer_turn();
        deliver(LATER);
    }
    if (run.device != DEVICE_OWN)    /* what it receives comes over the cable: that is not its driver */
        say_rows("receive", n, ARRIVE, LATER);
    for (i = 0; i < 100; i++)
        pass(ARRIVE);
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

static void run_one(enum device device, unsigned way)
{
    unsigned i;

    __builtin_memset(&run, 0, sizeof(run));
    run.device = device;
    run.way = way;
    if (!peer_start())
        fail("the peer does not start");
    if (!subject.start(device, way))
        fail("the subject does not start");
    for (i = 0; i < PATIENCE && !subject.is_open(); i++)
        pass(ARRIVE);
    if (!subject.is_open())
        fail("no connection");
    for (i = 0; i < 100; i++)
        pass(ARRIVE);
    if (device != DEVICE_DRIVER) {
        for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
            send_many("send", sizes[i], 0);
        send_many("send-after-silence", sizes[i - 1], SILENCE);
    }
    for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        receive_many(sizes[i]);
    subject.stop();
    peer_stop();
}

int board_main(void)
{
    unsigned device, way;

    board_start();
    count_start();
    check_count();
    count_copies();
    check_sums();
    for (device = 0; device < DEVICES; device++)
        for (way = 0; way < subject.ways; way++)
            if (subject.devices[device] != NULL)
                run_one((enum device)device, way);
    subject.facts();
    say("complete\n");
    return 0;
}
