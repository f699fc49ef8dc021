/* SPDX-License-Identifier: MIT */
/* The clock: a heap of what will happen, ordered by time and then by the order in which it was asked for,
 * so that nothing depends on anything but the calls that were made. */
#include "wire_internal.h"

#include <string.h>

uint64_t wire_mix(uint64_t x)
{
    /* splitmix64: a bijection that spreads every bit. */
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

/* Chance without state: the same question has the same answer, whatever was asked before. A history
 * from which one fault is taken away keeps all others. */
int wire_chance(uint64_t seed, uint64_t nth, uint32_t salt, uint32_t ppm)
{
    return ppm > 0 && wire_mix(seed ^ wire_mix(nth * 64 + salt)) % 1000000 < ppm;
}

void *wire_mem_get(struct wire *wire, size_t bytes)
{
    return wire->conf.memory.get(wire->conf.memory.arg, bytes);
}

void wire_mem_put(struct wire *wire, void *mem, size_t bytes)
{
    if (mem)
        wire->conf.memory.put(wire->conf.memory.arg, mem, bytes);
}

/* Make room for `need` items in *(void **)array. */
int wire_grow(struct wire *wire, void *array, size_t *room, size_t need, size_t item)
{
    void *old, *mem;
    size_t more = *room ? *room : 64;

    if (need <= *room)
        return 0;
    while (more < need)
        more *= 2;
    memcpy(&old, array, sizeof(old));
    mem = wire_mem_get(wire, more * item);
    if (!mem)
        return -1;
    if (old)
        memcpy(mem, old, *room * item);
    wire_mem_put(wire, old, *room * item);
    memcpy(array, &mem, sizeof(mem));
    *room = more;
    return 0;
}

struct wire *wire_open(const struct wire_conf *conf)
{
    struct wire *wire = conf->memory.get(conf->memory.arg, sizeof(*wire));

    if (!wire)
        return NULL;
    memset(wire, 0, sizeof(*wire));
    wire->conf = *conf;
    wire->now = conf->start_us;
    return wire;
}

void wire_close(struct wire *wire)
{
    struct wire_memory memory = wire->conf.memory;

    while (wire->hosts)
        wire_host_close(wire->hosts);
    while (wire->nheap > 0) {    /* timers, and frames that were injected */
        wire->nheap--;
        if (wire->heap[wire->nheap].packet)
            wire_packet_put(wire->heap[wire->nheap].packet);
    }
    wire_mem_put(wire, wire->heap, wire->heap_room * sizeof(*wire->heap));
    wire_mem_put(wire, wire->scratch, wire->scratch_room * sizeof(*wire->scratch));
    memory.put(memory.arg, wire, sizeof(*wire));
}

uint64_t wire_now(const struct wire *wire)
{
    return wire->now;
}

unsigned wire_in_flight(const struct wire *wire)
{
    unsigned n = wire->in_rings;
    size_t i;

    for (i = 0; i < wire->nheap; i++)
        n += wire->heap[i].packet != NULL;
    return n;
}

/* ---- the heap -------------------------------------------------------------------------------- */

static int event_before(const struct wire_event *a, const struct wire_event *b)
{
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void heap_up(struct wire *wire, size_t i)
{
    const struct wire_event event = wire->heap[i];

    while (i > 0 && event_before(&event, &wire->heap[(i - 1) / 2])) {
        wire->heap[i] = wire->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    wire->heap[i] = event;
}

static void heap_down(struct wire *wire, size_t i)
{
    const struct wire_event event = wire->heap[i];
    size_t child;

    while ((child = 2 * i + 1) < wire->nheap) {
        if (child + 1 < wire->nheap && event_before(&wire->heap[child + 1], &wire->heap[child]))
            child++;
        if (!event_before(&wire->heap[child], &event))
            break;
        wire->heap[i] = wire->heap[child];
        i = child;
    }
    wire->heap[i] = event;
}

int wire_push(struct wire *wire, const struct wire_event *event)
{
    if (wire_grow(wire, &wire->heap, &wire->heap_room, wire->nheap + 1, sizeof(*wire->heap)) != 0)
        return -1;
    wire->heap[wire->nheap] = *event;
    wire->heap[wire->nheap].order = wire->order++;
    heap_up(wire, wire->nheap++);
    return 0;
}

static struct wire_event heap_pop(struct wire *wire)
{
    const struct wire_event event = wire->heap[0];

    wire->heap[0] = wire->heap[--wire->nheap];
    if (wire->nheap > 0)
        heap_down(wire, 0);
    return event;
}

/* Those that wait at the end of another host. */
static void ring_forget(struct wire_end *end, const struct wire_host *host)
{
    struct wire *wire = end->host->wire;
    uint32_t n;

    for (n = end->ring_count; n > 0; n--) {
        struct wire_packet *packet = end->ring[end->ring_first];

        end->ring_first = (end->ring_first + 1) % end->conf.ring;
        end->ring_count--;
        if (packet->from && packet->from->host == host) {
            wire->in_rings--;
            wire_packet_put(packet);
            continue;
        }
        end->ring[(end->ring_first + end->ring_count++) % end->conf.ring] = packet;
    }
    if (end->ring_count == 0)
        end->deliver_at = WIRE_NEVER;
}

/* Throw away the frames from and to a host. */
void wire_forget(struct wire *wire, const struct wire_host *host)
{
    const struct wire_host *other;
    struct wire_end *end;
    size_t i, kept = 0;

    for (other = wire->hosts; other; other = other->next)
        for (end = other->ends; end; end = end->next)
            ring_forget(end, host);

    for (i = 0; i < wire->nheap; i++) {
        struct wire_event *event = &wire->heap[i];
        const struct wire_packet *packet = event->packet;

        if (packet && ((packet->from && packet->from->host == host) || (event->end && event->end->host == host)))
            wire_packet_put(event->packet);
        else
            wire->heap[kept++] = *event;
    }
    wire->nheap = kept;
    for (i = kept / 2; i-- > 0;)
        heap_down(wire, i);
}

int wire_at(struct wire *wire, uint64_t at_us, void (*fn)(void *arg), void *arg)
{
    struct wire_event event;

    memset(&event, 0, sizeof(event));
    event.at = at_us;
    event.fn = fn;
    event.arg = arg;
    return wire_push(wire, &event);
}

/* ---- time goes on ---------------------------------------------------------------------------- */

static uint64_t next_time(const struct wire *wire)
{
    uint64_t next = wire->nheap ? wire->heap[0].at : WIRE_NEVER;
    const struct wire_host *host;

    for (host = wire->hosts; host; host = host->next) {
        const uint64_t at = wire_host_next(host);

        if (at < next)
            next = at;
    }
    return next;
}

int wire_step(struct wire *wire, uint64_t until_us)
{
    const uint64_t next = next_time(wire);
    const uint64_t order = wire->order;    /* what is asked for from now on waits for the next step */
    struct wire_host *host, *after;

    if (next > until_us || next == WIRE_NEVER) {
        if (until_us > wire->now)
            wire->now = until_us;
        return 0;
    }
    if (next > wire->now)
        wire->now = next;
    while (wire->nheap && wire->heap[0].at <= wire->now && wire->heap[0].order < order) {
        const struct wire_event event = heap_pop(wire);

        if (event.fn)
            event.fn(event.arg);
        else
            wire_arrive(wire, event.packet, event.end);
    }
    for (host = wire->hosts; host; host = after) {
        after = host->next;
        wire_host_run(host);
    }
    return 1;
}

void wire_run(struct wire *wire, uint64_t until_us)
{
    while (wire_step(wire, until_us))
        ;
}

/* ---- looking on ------------------------------------------------------------------------------ */

void wire_tap(struct wire_end *end, enum wire_place place, const struct tenon_frame *frame)
{
    struct wire *wire = end->host->wire;

    if (wire->conf.tap)
        wire->conf.tap(wire->conf.tap_arg, end, place, frame);
}
