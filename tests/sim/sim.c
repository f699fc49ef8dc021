/* SPDX-License-Identifier: MIT */
/* Running a plan: makes the world, lets the time go, takes the world down. */
#include "sim.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000000, STEPS_MAX = 3000000, AFTER_HEAL_S = TENON_WITH_FLIGHT ? 1500 : 6000, NAP_S = 4300 };

/* The history of this process; tenon_panic() has no argument for it. */
static struct sim *running;

uint64_t sim_now(const struct sim *sim)
{
    return wire_now(sim->wire) - sim->start;
}

uint64_t sim_hash(const struct sim *sim, uint64_t a, uint64_t b)
{
    return wire_mix(wire_mix(sim->plan->seed ^ wire_mix(a)) + b);
}

void sim_note(struct sim *sim, const char *format, ...)
{
    va_list args;

    if (!sim->options.verbose)
        return;
    printf("%13.6f ", (double)sim_now(sim) / 1e6);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    printf("\n");
}

void sim_fail(struct sim *sim, const char *kind, const char *format, ...)
{
    va_list args;

    sim->log->failed = 1;
    sim->log->at_us = sim->wire ? sim_now(sim) : 0;
    snprintf(sim->log->kind, sizeof(sim->log->kind), "%s", kind);
    va_start(args, format);
    vsnprintf(sim->log->text, sizeof(sim->log->text), format, args);
    va_end(args);
    sim_note(sim, "FAILED: %s: %s", sim->log->kind, sim->log->text);
    if (sim->options.dies) {
        fprintf(stderr, "simulator at %.6f s: %s: %s\n", (double)sim->log->at_us / 1e6, sim->log->kind, sim->log->text);
        abort();
    }
    longjmp(sim->failed, 1);
}

/* The core's own checks. */
void tenon_panic(const char *file, unsigned line)
{
    char kind[SIM_KIND_MAX];

    if (!running)
        abort();
    snprintf(kind, sizeof(kind), "assertion %.40s:%u", strrchr(file, '/') ? strrchr(file, '/') + 1 : file, line);
    sim_fail(running, kind, "TENON_ASSERT in %s line %u", file, line);
}

/* The core's initial sequence numbers (linked with --wrap=tn_tcp_isn): in some histories the connections
 * start a few kilobytes before the wrap of the sequence space. */
struct tenon;
tenon_u32 __real_tn_tcp_isn(struct tenon *stack, const struct tenon_addr *local, const struct tenon_addr *remote,
                            tenon_u32 *ts_offset);
tenon_u32 __wrap_tn_tcp_isn(struct tenon *stack, const struct tenon_addr *local, const struct tenon_addr *remote,
                            tenon_u32 *ts_offset);

tenon_u32 __wrap_tn_tcp_isn(struct tenon *stack, const struct tenon_addr *local, const struct tenon_addr *remote,
                            tenon_u32 *ts_offset)
{
    const tenon_u32 isn = __real_tn_tcp_isn(stack, local, remote, ts_offset);

    if (!running || !running->plan->near_wrap)
        return isn;
    return (isn & 0x1000 ? 0U : 0x80000000U) - (isn & 0xFFFF) % 40000;
}

/* ---- memory of the world --------------------------------------------------------------------- */

static void *world_get(void *arg, size_t bytes)
{
    struct sim *sim = arg;
    void *mem = malloc(bytes);

    if (mem)
        sim->mem_out += bytes;
    return mem;
}

static void world_put(void *arg, void *mem, size_t bytes)
{
    struct sim *sim = arg;

    sim->mem_out -= bytes;
    free(mem);
}

/* ---- single faults --------------------------------------------------------------------------- */

enum fault { FAULT_DROP, FAULT_COPY, FAULT_FLIP, FAULT_LATE, FAULT_MEM, FAULT_BUF, FAULT_KEEP };

int sim_compare_fates(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* Whether a fault that chance wants may strike: not if the shrinker has taken it away. It is written
 * down, so that the shrinker knows of it. */
static int fault_strikes(struct sim *sim, unsigned host, unsigned direction, enum fault fault, uint64_t nth)
{
    const uint64_t key = (uint64_t)host << 56 | (uint64_t)direction << 52 | (uint64_t)fault << 48 | nth;

    if (sim->mods->fates_only && !bsearch(&key, sim->mods->fate, sim->mods->nfates, sizeof(key), sim_compare_fates))
        return 0;
    if (sim->log->nfates < PLAN_FATES_MAX)
        sim->log->fates[sim->log->nfates++] = key;
    return 1;
}

void sim_print_fate(uint64_t key)
{
    static const char *const names[] = { "drops", "doubles", "damages", "delays", "has no memory for request",
                                         "has no buffer for request", "keeps nothing of burst" };

    printf("  fault: host %u %s%s %u\n", (unsigned)(key >> 56), key >> 52 & 2 ? "" : key >> 52 & 1 ? "in: " : "out: ",
           names[(key >> 48 & 15) % 7], (unsigned)key);
}

/* A given byte decides on a frame: lost, doubled, late by up to 65 ms, or as chance has it. */
static void given_fate(const struct sim *sim, struct wire_fate *fate)
{
    struct plan_bytes *given = sim->options.given;
    uint8_t byte;

    if (!given || given->left == 0 || sim_now(sim) >= sim->heal_at)
        return;
    byte = plan_byte(given);
    if ((byte & 7) == 1)
        fate->drop = 1;
    if ((byte & 7) == 2)
        fate->copies = 1;
    if ((byte & 7) == 3)
        fate->late_us = 2U << (byte >> 3 & 15);
}

/* Two inverted bits can cancel each other in the Internet checksum: what one line has damaged, the one behind the
 * router does not damage again. */
static int damage_can_hide(const struct sim *sim, const struct tenon_frame *frame)
{
    if (wire_damage_can_hide(frame, SIM_LINK_BYTES))
        return 1;
    return sim->plan->nways > 0 && router_passes_damage(tenon_span_data(&frame->spans[0]) + 6);
}

static void sim_fate(void *arg, struct wire_end *end, enum wire_direction direction, uint64_t nth,
                     const struct tenon_frame *frame, struct wire_fate *fate)
{
    struct sim_host *host = arg;
    struct sim *sim = host->sim;
    const unsigned d = (unsigned)direction;

    (void)end;
    given_fate(sim, fate);
    if (fate->flips && damage_can_hide(sim, frame))
        fate->flips = 0;
    if (fate->drop)
        fate->drop = (uint8_t)fault_strikes(sim, host->index, d, FAULT_DROP, nth);
    if (fate->copies)
        fate->copies = (uint8_t)fault_strikes(sim, host->index, d, FAULT_COPY, nth);
    if (fate->flips)
        fate->flips = (uint8_t)fault_strikes(sim, host->index, d, FAULT_FLIP, nth);
    if (fate->late_us && !fault_strikes(sim, host->index, d, FAULT_LATE, nth))
        fate->late_us = 0;
}

/* Who has no buffers keeps none of what comes, or of each connection the first (2), by a chance of its own: the bytes
 * of a given history are for the rest. */
static int sim_alloc_fails(void *arg, struct wire_host *wire_host, enum wire_alloc kind, uint64_t nth, int fails)
{
    static const enum fault fault_of[] = { FAULT_MEM, FAULT_BUF, FAULT_KEEP };
    struct sim_host *host = arg;
    struct sim *sim = host->sim;
    const unsigned salt = kind == WIRE_KEEP ? 700 + host->index : 500 + host->index * 2U + kind;
    const uint64_t until = kind == WIRE_MEM ? host->faults_mem_until : host->faults_buf_until;
    const uint32_t ppm = kind == WIRE_MEM ? host->mem_ppm : host->buf_ppm;

    (void)wire_host;
    if (wire_now(sim->wire) < until && sim->options.given && sim->options.given->left > 0 &&
        kind != WIRE_KEEP)
        return plan_byte(sim->options.given) < ppm / 3906;
    if (wire_now(sim->wire) >= until || sim_hash(sim, salt, nth) % 1000000 >= ppm)
        return fails;
    if (!fault_strikes(sim, host->index, 2, fault_of[kind], nth))
        return 0;
    return kind == WIRE_KEEP && (sim_hash(sim, salt, nth) & 1) != 0 ? 2 : 1;
}

/* ---- what is planned ------------------------------------------------------------------------- */

/* A thing to do at its time. */
struct task {
    struct sim *sim;
    unsigned index;
};

static void task_at(struct sim *sim, uint64_t at_us, void (*fn)(void *arg), struct task *tasks, unsigned index)
{
    tasks[index].sim = sim;
    tasks[index].index = index;
    if (wire_at(sim->wire, sim->start + at_us, fn, &tasks[index]) != 0)
        abort();
}

static void do_session(void *arg)
{
    const struct task *task = arg;

    if (task->sim->cleaning)
        return;
    app_session_start(task->sim, task->index);
}

static void do_dgram(void *arg)
{
    const struct task *task = arg;

    if (task->sim->cleaning)
        return;
    dgram_send(task->sim, &task->sim->plan->dgram[task->index]);
}

static void reopen_listener(void *arg)
{
    struct sim_port *port = arg;

    if (port->sim->cleaning)
        return;
    app_listen(port->sim, port->host, port->index);
    if (!port->listener && wire_at(port->sim->wire, wire_now(port->sim->wire) + 100000, reopen_listener, port) != 0)
        abort();
    wire_wake(port->sim->host[port->host].host);
}

static void close_listener(struct sim *sim, const struct plan_event *event)
{
    struct sim_port *port = &sim->host[event->host].port[event->port];

    if (!port->listener)
        return;
    tenon_tcp_listener_close(port->listener);
    port->listener = NULL;
    if (wire_at(sim->wire, wire_now(sim->wire) + event->lasts_us, reopen_listener, port) != 0)
        abort();
}

static unsigned event_version(const struct sim *sim, const struct plan_event *event)
{
    return sim->plan->v6 && (event->direction || !sim->plan->v4);
}

static void outage_address(struct sim *sim, struct sim_host *host, unsigned v6)
{
    const unsigned netif = wire_end_netif(host->end);
    struct tenon_addr addr;
    int error;

    sim_address(sim, &addr, host->index, (int)v6, 0);
    error = host->nameless[v6] ? tenon_addr_remove(host->stack, netif, &addr.ip)
                               : tenon_addr_add(host->stack, netif, &addr.ip, v6 ? 64 : 24);
    if (error != TENON_OK)
        sim_fail(sim, "outage", "host %u: its address: %s", host->index, tenon_error_text(error));
}

static void outage_link(struct sim *sim, struct sim_host *host)
{
    struct wire_end_stats stats;

    wire_end_stats(host->end, &stats);
    if (host->unplugged > 0)
        host->unplugged_frames = stats.tx_frames;
    else if (stats.tx_frames > host->unplugged_frames)
        sim_fail(sim, "outage", "host %u: %" PRIu64 " frames were sent while the link was down", host->index,
                 stats.tx_frames - host->unplugged_frames);
    (void)tenon_netif_link(host->stack, wire_end_netif(host->end), host->unplugged == 0);
}

/* An outage has begun or ended; others may go on. */
static void outage_change(struct sim *sim, const struct plan_event *event, int begins)
{
    struct sim_host *host = &sim->host[event->host];
    const unsigned v6 = event_version(sim, event);
    unsigned *outages = event->kind == EVENT_LINK ? &host->unplugged : &host->nameless[v6];
    const int was = *outages > 0;

    *outages = begins ? *outages + 1 : *outages - 1;
    if (was == (*outages > 0))
        return;
    if (event->kind == EVENT_LINK)
        outage_link(sim, host);
    else
        outage_address(sim, host, v6);
}

static void end_outage(void *arg)
{
    const struct task *task = arg;
    struct sim *sim = task->sim;

    if (sim->cleaning)
        return;
    sim_note(sim, "event %u ends", task->index);
    outage_change(sim, &sim->plan->event[task->index], 0);
    wire_wake(sim->host[sim->plan->event[task->index].host].host);
}

static void begin_outage(struct sim *sim, const struct plan_event *event, void *task)
{
    outage_change(sim, event, 1);
    if (wire_at(sim->wire, wire_now(sim->wire) + event->lasts_us, end_outage, task) != 0)
        abort();
}

static void do_event(void *arg)
{
    struct task *task = arg;
    struct sim *sim = task->sim;
    const struct plan_event *event = &sim->plan->event[task->index];
    struct sim_host *host = &sim->host[event->host];
    const uint64_t until = wire_now(sim->wire) + event->lasts_us;

    if (sim->cleaning)
        return;
    sim_note(sim, "event %u begins", task->index);
    switch (event->kind) {
    case EVENT_BLACKOUT: break;    /* the lines know it */
    case EVENT_JUMP: wire_host_jump(host->host, event->lasts_us); break;
    case EVENT_PAUSE: wire_host_pause(host->host, event->lasts_us); break;
    case EVENT_MEMORY:
        host->faults_mem_until = until;
        host->mem_ppm = event->ppm;
        break;
    case EVENT_BUFFERS:
        host->faults_buf_until = until;
        host->buf_ppm = event->ppm;
        break;
    case EVENT_LISTENER: close_listener(sim, event); break;
    case EVENT_LINK:
    case EVENT_ADDRESS: begin_outage(sim, event, task); break;
    case EVENT_INTRUDER: intrusion_begin(sim, task->index); break;
    }
    wire_wake(host->host);
}

/* A line takes less from now on. */
static void do_narrow(void *arg)
{
    const struct task *task = arg;
    struct sim *sim = task->sim;
    const unsigned i = task->index / 2, d = task->index % 2;
    const struct plan_narrow *narrow = &sim->plan->host[i].narrow[d];
    const struct wire_end_conf *end = wire_end_conf(sim->host[i].end);
    struct wire_line_conf line = d == WIRE_OUT ? end->out : end->in;

    if (sim->cleaning)
        return;
    sim_note(sim, "host %u %s: packets of %u bytes at most", i, d == WIRE_OUT ? "out" : "in", narrow->mtu);
    line.mtu = narrow->mtu;
    line.mtu_silent = narrow->silent;
    wire_line_set(sim->host[i].end, (enum wire_direction)d, &line);
}

/* The network is well from now on: fast enough, and without faults; where packets do not fit, their sender is told. */
static void do_heal(void *arg)
{
    const struct task *task = arg;
    struct sim *sim = task->sim;
    unsigned i, d;

    sim_note(sim, "the network is well");
    for (i = 0; i < sim->plan->nhosts; i++) {
        for (d = 0; d < 2; d++) {
            struct wire_line_conf line = d == WIRE_OUT ? sim->plan->host[i].end.out : sim->plan->host[i].end.in;

            line.loss_ppm = line.duplicate_ppm = line.corrupt_ppm = line.reorder_ppm = line.refuse_ppm = 0;
            line.jitter_us = 0;
            line.mtu = sim->plan->host[i].narrow[d].mtu;
            line.queue_bytes = line.queue_frames = 0;    /* many that begin in step would lose in step for ever */
            wire_line_set(sim->host[i].end, (enum wire_direction)d, &line);
        }
        if (sim->options.bug == BUG_DEAF && i == 1)
            wire_host_pause(sim->host[i].host, UINT64_C(1) << 50);
    }
}

/* ---- the world ------------------------------------------------------------------------------- */

void sim_address(const struct sim *sim, struct tenon_addr *addr, unsigned host, int v6, unsigned port)
{
    const unsigned net = sim->plan->nways > 0 ? host % ROUTER_ARMS : 0;

    memset(addr, 0, sizeof(*addr));
    addr->ip = v6 ? tenon_ip6(0xFD000000UL, net, 0, host + 1) : tenon_ip4((tenon_u32)(0x0A000001UL + 256 * net + host));
    addr->port = (tenon_u16)port;
}

/* It is taken away, or is being probed again. */
static int lacks_address(const struct sim *sim, unsigned host, int v6)
{
    struct tenon_addr_info info;
    struct tenon_addr addr;
    unsigned i;

    sim_address(sim, &addr, host, v6, 0);
    for (i = 0; tenon_addr_get(sim->host[host].stack, i, &info) == TENON_OK; i++)
        if (tenon_ip_equal(&info.ip, &addr.ip))
            return info.state == TENON_ADDR_TENTATIVE;
    return 1;
}

int sim_is_nameless(const struct sim *sim, unsigned host)
{
    return (sim->plan->v4 && lacks_address(sim, host, 0)) || (sim->plan->v6 && lacks_address(sim, host, 1));
}

static void collect_blackouts(struct sim *sim, unsigned i, struct wire_end_conf *end)
{
    struct sim_host *host = &sim->host[i];
    unsigned e;

    for (e = 0; e < sim->plan->nevents; e++) {
        const struct plan_event *event = &sim->plan->event[e];
        struct wire_blackout *blackout;

        if (event->kind != EVENT_BLACKOUT || event->host != i || sim->plan->event_off[e])
            continue;
        blackout = &host->blackout[event->direction][host->nblackouts[event->direction]++];
        blackout->from_us = sim->start + event->at_us;
        blackout->to_us = blackout->from_us + event->lasts_us;
    }
    end->out.blackouts = host->blackout[WIRE_OUT];
    end->out.nblackouts = host->nblackouts[WIRE_OUT];
    end->in.blackouts = host->blackout[WIRE_IN];
    end->in.nblackouts = host->nblackouts[WIRE_IN];
}

static void world_address(struct sim *sim, unsigned i, int v6)
{
    struct tenon_addr addr;
    int error;

    sim_address(sim, &addr, i, v6, 0);
    error = tenon_addr_add(sim->host[i].stack, wire_end_netif(sim->host[i].end), &addr.ip, v6 ? 64 : 24);
    if (error != TENON_OK)
        sim_fail(sim, "open", "host %u: tenon_addr_add() says %s", i, tenon_error_text(error));
}

static void world_add_host(struct sim *sim, unsigned i)
{
    const struct plan_host *plan = &sim->plan->host[i];
    struct sim_host *host = &sim->host[i];
    struct wire_host_conf conf = plan->wire;
    struct wire_end_conf end = plan->end;
    unsigned k;

    host->sim = sim;
    host->index = i;
    conf.fail.decide = sim_alloc_fails;
    conf.fail.arg = host;
    end.out.fate = end.in.fate = sim_fate;
    end.out.fate_arg = end.in.fate_arg = host;
    collect_blackouts(sim, i, &end);
    host->host = wire_host_open(sim->wire, &conf, &plan->stack);
    if (!host->host)
        sim_fail(sim, "open", "host %u: no instance (%s)", i,
                 tenon_conf_check(&plan->stack) ? tenon_conf_check(&plan->stack) : "configuration is good");
    host->stack = wire_host_stack(host->host);
    host->end = wire_end_open(host->host, &end);
    if (!host->end)
        sim_fail(sim, "open", "host %u: no interface", i);
    if (sim->plan->v4)
        world_address(sim, i, 0);
    if (sim->plan->v6)
        world_address(sim, i, 1);
    ways_tell(sim, i);
    dgram_open(sim, i);
    wire_host_stats(host->host, &host->baseline);
    host->baseline.mem_bytes -= check_caches(host->stack);
    for (k = 0; k < PLAN_PORTS; k++)
        app_listen(sim, i, k);
}

/* There may be a host that is sure of a router that is not there any more, or that has other hardware, and has nothing
 * to tell it: who answers segments of a connection that is over does not notice that nobody hears him. */
static int may_believe_in_vain(const struct sim *sim)
{
    unsigned i;

    for (i = 0; i < sim->plan->nways; i++)
        if (sim->plan->way[i].for_good || sim->plan->way[i].replaced_at_us > 0)
            return 1;
    return 0;
}

/* How long nothing may happen on a connection while nobody stands in its way. After the last fault a
 * retransmission comes within the largest RTO; a probe of a closed window too; a neighbour that was
 * forgotten is asked again within seconds (RFC 4861 10: 3 probes, 1 s apart, after 5 s of delay); queues
 * have to empty themselves. */
static uint64_t progress_bound(const struct sim *sim)
{
    uint64_t bound = 0;
    unsigned i;

    for (i = 0; i < sim->plan->nhosts; i++) {
        const struct plan_host *host = &sim->plan->host[i];
        const struct wire_line_conf *out = &host->end.out;
        uint64_t queue = out->queue_bytes ? out->queue_bytes : (uint64_t)1500 * (out->queue_frames + 64);
        uint64_t own = 2 * (uint64_t)host->stack.tcp_rto_max_us + host->stack.tcp_delack_us;

        own += 4 * (uint64_t)(out->delay_us + host->end.in.delay_us) + (uint64_t)host->end.coalesce_us;
        if (out->rate > 0)
            own += (queue + 2000000) * SECOND / out->rate;
        if (own > bound)
            bound = own;
    }
    /* A router is believed to be there for 45 seconds after the last sign of life, or what was taken for one
     * (RFC 4861 6.3.2, 7.3.1). */
    if (may_believe_in_vain(sim))
        bound += 45 * (uint64_t)SECOND;
    return bound + 25 * (uint64_t)SECOND;
}

static void world_open(struct sim *sim)
{
    const struct wire_conf conf = {
        .memory = {world_get, world_put, sim},
        .seed = sim->plan->seed,
        .start_us = sim->plan->start_us,
        .flood = sim->plan->flood,
        .tap = sim->plan->watch || sim->options.verbose || sim->options.bug == BUG_BAD_PAYLOAD ? frames_tap : NULL,
        .tap_arg = sim,
    };
    unsigned i;

    sim->start = sim->plan->start_us;
    sim->heal_at = sim->plan->heal_us;
    sim->bound_us = progress_bound(sim);
    sim->steps_left = STEPS_MAX;
    if (sim->plan->watch)
        watch_begin(sim->plan);
    sim->wire = wire_open(&conf);
    if (!sim->wire)
        abort();
    for (i = 0; i < sim->plan->nhosts; i++)
        world_add_host(sim, i);
    ways_open(sim);
    for (i = 0; i < sim->plan->nsessions; i++) {
        struct session *session = &sim->session[i];

        session->plan = &sim->plan->session[i];
        session->index = i;
        session->strict = (uint8_t)app_is_strict(sim, session->plan);
    }
}

/* ---- running --------------------------------------------------------------------------------- */

static void run_until(struct sim *sim, uint64_t until)
{
    while (wire_step(sim->wire, sim->start + until)) {
        sim->log->steps++;
        if (--sim->steps_left == 0)
            sim_fail(sim, "endless", "%u steps, and no end", (unsigned)STEPS_MAX);
        check_step(sim);
    }
}

static int all_done(const struct sim *sim)
{
    unsigned i;

    for (i = 0; i < sim->plan->nsessions; i++)
        if (!sim->session[i].plan->off && sim->session[i].strict && !sim->session[i].done)
            return 0;
    return 1;
}

static void run_sessions(struct sim *sim)
{
    uint64_t until = 0;

    do {
        until += SECOND;
        run_until(sim, until);
        check_progress(sim);
        if (until > sim->heal_at + (AFTER_HEAL_S + NAP_S) * (uint64_t)SECOND)
            sim_fail(sim, "too slow", "%u s after the last fault there are sessions that have not ended",
                     (unsigned)AFTER_HEAL_S + NAP_S);
    } while (until < sim->heal_at + 3 * (uint64_t)SECOND || !all_done(sim));
}

static void schedule(struct sim *sim, struct task *tasks)
{
    struct task *sessions = tasks, *events = sessions + PLAN_SESSIONS_MAX, *dgrams = events + PLAN_EVENTS_MAX;
    struct task *narrow = dgrams + PLAN_DGRAMS_MAX;
    unsigned i;

    for (i = 0; i < sim->plan->nsessions; i++)
        if (!sim->plan->session[i].off)
            task_at(sim, sim->plan->session[i].at_us, do_session, sessions, i);
    for (i = 0; i < sim->plan->nevents; i++)
        if (!sim->plan->event_off[i])
            task_at(sim, sim->plan->event[i].at_us, do_event, events, i);
    for (i = 0; i < sim->plan->ndgrams; i++)
        if (!sim->plan->dgram[i].off)
            task_at(sim, sim->plan->dgram[i].at_us, do_dgram, dgrams, i);
    for (i = 0; i < 2 * sim->plan->nhosts; i++)
        if (sim->plan->host[i / 2].narrow[i % 2].mtu > 0)
            task_at(sim, sim->plan->host[i / 2].narrow[i % 2].at_us, do_narrow, narrow, i);
    task_at(sim, sim->plan->heal_us, do_heal, narrow + 2 * PLAN_HOSTS_MAX, 0);
}

static uint64_t longest_time_wait(const struct sim *sim)
{
    uint64_t longest = 31000;    /* fragments are kept for a minute */
    unsigned i;

    for (i = 0; i < sim->plan->nhosts; i++)
        if (sim->plan->host[i].stack.tcp_msl_ms > longest)
            longest = sim->plan->host[i].stack.tcp_msl_ms;
    return longest * 2000;
}

/* Every instance ends with connections in all states: each application hears of it. */
static void world_stop(struct sim *sim)
{
    struct side *side;
    unsigned i;

    sim->cleaning = 1;
    for (i = 0; i < sim->plan->nhosts; i++) {
        dgram_close(sim, i);
        wire_host_fini(sim->host[i].host);
    }
    for (side = sim->sides; side; side = side->next)
        if (side->conn)
            sim_fail(sim, "not told", "session %u side %u: tenon_fini() has not called closed()", side->session->index,
                     side->which);
}

static void world_close(struct sim *sim)
{
    struct side *side, *next;
    unsigned i;

    if (wire_host_stack(sim->host[0].host))
        world_stop(sim);
    /* What is on the wire arrives nowhere; a slow line with large frames takes its time. */
    for (i = 0; i < 20 && (i == 0 || wire_in_flight(sim->wire) > 0); i++)
        run_until(sim, sim_now(sim) + 30 * (uint64_t)SECOND);
    check_ended(sim);
    for (i = 0; i < sim->plan->nhosts; i++)
        wire_host_close(sim->host[i].host);
    ways_close(sim);
    wire_close(sim->wire);
    sim->wire = NULL;
    if (sim->mem_out != 0)
        sim_fail(sim, "leak", "%zu bytes of the wire have not come back", sim->mem_out);
    for (side = sim->sides; side; side = next) {
        next = side->next;
        free(side);
    }
}

static void run_to_the_end(struct sim *sim)
{
    run_sessions(sim);
    dgram_final(sim);
    app_cleanup(sim);
    run_until(sim, sim_now(sim) + longest_time_wait(sim) + 5 * (uint64_t)SECOND);
    check_quiet(sim);
}

/* @return 0: all was as it must be; 1: not so, see log */
int sim_run(const struct plan *plan, const struct plan_mods *mods, const struct sim_options *options,
            struct sim_log *log)
{
    static struct sim sim;
    static struct task tasks[PLAN_SESSIONS_MAX + PLAN_EVENTS_MAX + PLAN_DGRAMS_MAX + 2 * PLAN_HOSTS_MAX + 1];

    memset(&sim, 0, sizeof(sim));
    memset(log, 0, offsetof(struct sim_log, fates));
    log->seed = plan->seed;
    sim.plan = plan;
    sim.mods = mods;
    sim.options = *options;
    sim.log = log;
    running = &sim;
    if (setjmp(sim.failed) == 0) {
        world_open(&sim);
        schedule(&sim, tasks);
        if (plan->abrupt_us)
            run_until(&sim, plan->abrupt_us);
        else
            run_to_the_end(&sim);
        log->virtual_us = sim_now(&sim);
        world_close(&sim);
    }
    running = NULL;
    return log->failed;
}
