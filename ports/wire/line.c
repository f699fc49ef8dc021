/* SPDX-License-Identifier: MIT */
/* A line: how long a frame takes, and what befalls it. */
#include "wire_internal.h"

#include <string.h>

/* What the chance of a line is asked for; part of the question, so that one answer says nothing of another. */
enum { SALT_LOSS, SALT_DUPLICATE, SALT_CORRUPT, SALT_FLIP, SALT_REORDER, SALT_LATE, SALT_JITTER };

/* Frames that have left the line by now no longer wait. */
static void line_advance(struct wire_line *line, uint64_t now)
{
    while (line->nqueue > 0 && line->queue[line->first].left_ns <= now * 1000) {
        line->queued_bytes -= line->queue[line->first].bytes;
        line->first = (line->first + 1) % line->queue_room;
        line->nqueue--;
    }
}

/* Whether a frame of this size finds no room, and if so, when it is worth trying again. */
int wire_line_full(struct wire_line *line, uint64_t now, uint32_t bytes, uint64_t *room_at)
{
    const struct wire_line_conf *conf = &line->conf;

    line_advance(line, now);
    if (line->nqueue == 0)
        return 0;    /* one frame always fits */
    if ((conf->queue_frames == 0 || line->nqueue < conf->queue_frames)
        && (conf->queue_bytes == 0 || line->queued_bytes + bytes <= conf->queue_bytes))
        return 0;
    *room_at = (line->queue[line->first].left_ns + 999) / 1000;
    if (*room_at <= now)
        *room_at = now + 1;
    return 1;
}

static int line_enqueue(struct wire *wire, struct wire_line *line, uint64_t left_ns, uint32_t bytes)
{
    if (line->nqueue == line->queue_room) {
        struct wire_waiting *old = line->queue, *queue;
        const size_t room = line->queue_room ? 2 * line->queue_room : 64;
        size_t i;

        queue = wire_mem_get(wire, room * sizeof(*queue));
        if (!queue)
            return -1;
        for (i = 0; i < line->nqueue; i++)
            queue[i] = old[(line->first + i) % line->queue_room];
        wire_mem_put(wire, old, line->queue_room * sizeof(*old));
        line->queue = queue;
        line->queue_room = room;
        line->first = 0;
    }
    line->queue[(line->first + line->nqueue) % line->queue_room] = (struct wire_waiting){ left_ns, bytes };
    line->nqueue++;
    line->queued_bytes += bytes;
    return 0;
}

void wire_line_close(struct wire_end *end, enum wire_direction direction)
{
    struct wire_line *line = &end->line[direction];

    wire_mem_put(end->host->wire, line->queue, line->queue_room * sizeof(*line->queue));
    line->queue = NULL;
    line->nqueue = line->queue_room = 0;
}

static int line_is_black(const struct wire_line_conf *conf, uint64_t now)
{
    unsigned i;

    for (i = 0; i < conf->nblackouts; i++)
        if (now >= conf->blackouts[i].from_us && now < conf->blackouts[i].to_us)
            return 1;
    return 0;
}

static uint32_t line_upto(const struct wire_line *line, uint64_t nth, unsigned salt, uint32_t most)
{
    return most == 0 ? 0 : (uint32_t)(wire_mix(line->seed ^ wire_mix(nth * 64 + salt)) % ((uint64_t)most + 1));
}

static void line_fate(struct wire_end *end, enum wire_direction direction, struct wire_packet *packet,
                      struct wire_fate *fate)
{
    struct wire_line *line = &end->line[direction];
    const struct wire_line_conf *conf = &line->conf;
    const uint64_t nth = line->nth++;
    struct tenon_buf buf;
    struct tenon_span span;
    struct tenon_frame frame;

    memset(fate, 0, sizeof(*fate));
    fate->drop = (uint8_t)(wire_chance(line->seed, nth, SALT_LOSS, conf->loss_ppm)
                           || (nth < 64 && (conf->drop_mask >> nth & 1)));
    fate->copies = (uint8_t)wire_chance(line->seed, nth, SALT_DUPLICATE, conf->duplicate_ppm);
    fate->flips = (uint8_t)wire_chance(line->seed, nth, SALT_CORRUPT, conf->corrupt_ppm);
    fate->flip_at = line_upto(line, nth, SALT_FLIP, 0xFFFFFFFE);
    fate->jitter_us = line_upto(line, nth, SALT_JITTER, conf->jitter_us);
    if (wire_chance(line->seed, nth, SALT_REORDER, conf->reorder_ppm))
        fate->late_us = 1 + line_upto(line, nth, SALT_LATE, conf->reorder_us ? conf->reorder_us : 1000);
    if (!conf->fate)
        return;
    /* Who decides sees the headers; the payload is not put together for it. */
    memset(&buf, 0, sizeof(buf));
    buf.data = packet->head;
    buf.size = packet->head_bytes;
    buf.refs = 1;
    span = (struct tenon_span){ &buf, 0, packet->head_bytes };
    memset(&frame, 0, sizeof(frame));
    frame.spans = &span;
    frame.nspans = 1;
    frame.header_bytes = packet->header_bytes;
    frame.csum = packet->csum;
    frame.seg_kind = packet->seg_kind;
    frame.seg_bytes = packet->seg_bytes;
    conf->fate(conf->fate_arg, end, direction, nth, &frame, fate);
}

/* When a frame that is put on the line now has left it; it waits its turn. */
static uint64_t line_left_ns(struct wire *wire, struct wire_line *line, uint32_t bytes)
{
    const uint64_t now_ns = wire->now * 1000;
    uint64_t left_ns = line->busy_ns > now_ns ? line->busy_ns : now_ns;

    if (line->conf.rate == 0)
        return now_ns;
    left_ns += (uint64_t)bytes * 1000000000U / line->conf.rate;
    line->busy_ns = left_ns;
    return line_enqueue(wire, line, left_ns, bytes) == 0 ? left_ns : now_ns;
}

static void line_schedule(struct wire_end *end, enum wire_direction direction, struct wire_packet *packet,
                          uint64_t at)
{
    struct wire *wire = end->host->wire;
    struct wire_event event;

    if (direction == WIRE_IN && at <= wire->now) {    /* nothing to wait for */
        wire_arrive(wire, packet, end);
        return;
    }
    memset(&event, 0, sizeof(event));
    event.at = at;
    event.packet = packet;
    event.end = direction == WIRE_IN ? end : NULL;
    if (wire_push(wire, &event) != 0) {
        end->stats.no_memory_lost++;
        wire_packet_put(packet);
    }
}

static void line_travel(struct wire_end *end, enum wire_direction direction, struct wire_packet *packet,
                        const struct wire_fate *fate)
{
    struct wire *wire = end->host->wire;
    struct wire_line *line = &end->line[direction];
    const uint64_t left_ns = line_left_ns(wire, line, packet->bytes);
    uint64_t at = (left_ns + 999) / 1000 + line->conf.delay_us + fate->jitter_us;
    unsigned i;

    if (direction == WIRE_OUT && at <= wire->now)
        at = wire->now + 1;
    if (at < line->last_at)
        at = line->last_at;    /* jitter does not change the order */
    if (fate->late_us == 0)
        line->last_at = at;
    else
        end->stats.reordered++;
    at += fate->late_us;
    end->stats.duplicated += fate->copies;
    packet->refs += fate->copies;
    for (i = 0; i <= fate->copies; i++)
        line_schedule(end, direction, packet, at + i);
}

/* A queue that signals congestion before it overflows: RFC 3168 5, with the threshold of RFC 8257 3.1. */
static void line_mark(struct wire_end *end, struct wire_line *line, struct wire_packet *packet)
{
    if (line->conf.mark_bytes > 0 && line->queued_bytes > line->conf.mark_bytes)
        end->stats.marked += (uint64_t)wire_packet_mark(packet);
}

/* Put a packet on a line; takes over the caller's reference. */
void wire_line_put(struct wire_end *end, enum wire_direction direction, struct wire_packet *packet)
{
    struct wire_line *line = &end->line[direction];
    struct wire_fate fate;
    uint64_t lost, room_at;

    if (wire_route(end, direction, packet)) {
        wire_packet_put(packet);
        return;
    }
    line_fate(end, direction, packet, &fate);
    lost = (uint64_t)(fate.drop != 0);
    end->stats.lost += lost;
    if (!lost && line_is_black(&line->conf, end->host->wire->now)) {
        end->stats.blackout_lost++;
        lost = 1;
    }
    if (!lost && wire_line_full(line, end->host->wire->now, packet->bytes, &room_at)) {
        end->stats.queue_lost++;
        lost = 1;
    }
    /* Once only: of two inverted bits one in 32 pairs cancel in the Internet checksum, and nobody could tell. */
    if (!lost && fate.flips && !packet->damaged) {
        const uint32_t link = wire_packet_link(packet);
        struct wire_packet *damaged = wire_packet_damaged(packet, &fate, link);

        if (damaged) {
            wire_packet_put(packet);
            packet = damaged;
            end->stats.corrupted++;
        }
    }
    if (lost) {
        wire_tap_packet(end, WIRE_LOST, packet);
        wire_packet_put(packet);
        return;
    }
    line_mark(end, line, packet);
    line_travel(end, direction, packet, &fate);
}
