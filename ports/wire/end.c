/* SPDX-License-Identifier: MIT */
/* An end: takes frames of its instance to the line, finds who shall hear a frame at the hub, and brings
 * frames from the ring into the instance. */
#include "wire_internal.h"

#include <string.h>

/* ---- opening and closing --------------------------------------------------------------------- */

unsigned wire_end_netif(const struct wire_end *end)
{
    return end->netif;
}

struct wire_host *wire_end_host(const struct wire_end *end)
{
    return end->host;
}

const struct wire_end_conf *wire_end_conf(const struct wire_end *end)
{
    return &end->conf;
}

void wire_line_set(struct wire_end *end, enum wire_direction direction, const struct wire_line_conf *conf)
{
    end->line[direction].conf = *conf;
}

void wire_end_work(struct wire_end *end, int cut, int complete_checksums)
{
    end->conf.cut = (uint8_t)cut;
    end->conf.complete_checksums = (uint8_t)complete_checksums;
}

void wire_end_stats(const struct wire_end *end, struct wire_end_stats *stats)
{
    *stats = end->stats;
}

uint64_t wire_line_wait_ns(const struct wire_end *end, enum wire_direction direction)
{
    const uint64_t now_ns = end->host->wire->now * 1000, busy_ns = end->line[direction].busy_ns;

    return busy_ns > now_ns ? busy_ns - now_ns : 0;
}

struct wire_end *wire_end_open_at(struct wire_host *host, const struct wire_end_conf *conf, unsigned netif)
{
    struct wire *wire = host->wire;
    struct wire_end *end = wire_mem_get(wire, sizeof(*end)), **last;

    if (!end)
        return NULL;
    memset(end, 0, sizeof(*end));
    end->host = host;
    end->conf = *conf;
    end->netif = netif;
    end->deliver_at = WIRE_NEVER;
    if (end->conf.burst == 0)
        end->conf.burst = WIRE_BURST;
    if (end->conf.ring == 0)
        end->conf.ring = WIRE_RING;
    end->seed = wire_mix(host->seed + netif);
    end->line[WIRE_OUT].conf = conf->out;
    end->line[WIRE_OUT].seed = wire_mix(end->seed + 1);
    end->line[WIRE_IN].conf = conf->in;
    end->line[WIRE_IN].seed = wire_mix(end->seed + 2);
    end->ring = wire_mem_get(wire, end->conf.ring * sizeof(*end->ring));
    end->frames = wire_mem_get(wire, end->conf.burst * sizeof(*end->frames));
    for (last = &host->ends; *last; last = &(*last)->next)
        ;
    *last = end;
    if (!end->ring || !end->frames) {
        wire_end_close(end);
        return NULL;
    }
    return end;
}

void wire_end_close(struct wire_end *end)
{
    struct wire_host *host = end->host;
    struct wire *wire = host->wire;
    struct wire_end **link;

    for (link = &host->ends; *link; link = &(*link)->next) {
        if (*link == end) {
            *link = end->next;
            break;
        }
    }
    for (; end->ring && end->ring_count > 0; end->ring_count--) {
        wire_packet_put(end->ring[end->ring_first]);
        end->ring_first = (end->ring_first + 1) % end->conf.ring;
        wire->in_rings--;
    }
    wire_line_close(end, WIRE_OUT);
    wire_line_close(end, WIRE_IN);
    wire_mem_put(wire, end->ring, end->conf.ring * sizeof(*end->ring));
    wire_mem_put(wire, end->frames, end->conf.burst * sizeof(*end->frames));
    wire_mem_put(wire, end, sizeof(*end));
}

/* ---- sending --------------------------------------------------------------------------------- */

/* A frame must be what struct tenon_frame says, and what the interface has offered. */
static int frame_is_good(const struct wire_end *end, const struct tenon_frame *frame, uint32_t bytes)
{
    const struct tenon_netif_conf *netif = &end->conf.netif;
    const tenon_u32 need[4] = {0, TENON_CAP_TSO4, TENON_CAP_TSO6, TENON_CAP_USO};

    if (frame->nspans == 0 || (netif->gather_max && frame->nspans > netif->gather_max))
        return 0;
    if (frame->header_bytes > frame->spans[0].len || frame->csum > TENON_CSUM_PARTIAL || frame->seg_kind > 3)
        return 0;
    if (frame->csum == TENON_CSUM_PARTIAL
        && (!(netif->caps & TENON_CAP_TX_CSUM) || frame->header_bytes == 0
            || frame->csum_start + frame->csum_offset + 2U > frame->header_bytes))
        return 0;
    if (frame->seg_kind == TENON_SEG_NONE)
        return 1;
    return (netif->caps & need[frame->seg_kind]) && frame->csum == TENON_CSUM_PARTIAL && frame->seg_bytes > 0
           && frame->header_bytes < bytes;
}

static int frame_is_too_large(const struct wire_end *end, const struct tenon_frame *frame, uint32_t bytes)
{
    const struct tenon_netif_conf *netif = &end->conf.netif;
    const uint32_t link = netif->caps & TENON_CAP_NO_LINK ? 0 : 18;    /* with a VLAN tag */
    const uint32_t whole = netif->tso_bytes_max ? netif->tso_bytes_max : 65535;

    if (frame->seg_kind == TENON_SEG_NONE)
        return bytes > netif->mtu + link;
    return bytes > whole || (uint32_t)frame->seg_bytes + frame->header_bytes > netif->mtu + link;
}

static int end_emit(void *arg, struct wire_packet *packet)
{
    struct wire_end *end = arg;

    if (end->conf.complete_checksums)
        wire_packet_complete(packet);
    wire_tap_packet(end, WIRE_TRAVELS, packet);
    wire_line_put(end, WIRE_OUT, packet);
    return 0;
}

static void end_send(struct wire_end *end, const struct tenon_frame *frame, uint32_t bytes)
{
    struct wire_packet *packet;

    if (!frame_is_good(end, frame, bytes) || frame_is_too_large(end, frame, bytes)) {
        if (frame_is_good(end, frame, bytes))
            end->stats.oversize++;
        else
            end->stats.malformed++;
        return;
    }
    packet = wire_packet_make(end, frame);
    if (!packet) {
        end->stats.no_memory_lost++;
        return;
    }
    if (packet->seg_kind == TENON_SEG_NONE || !end->conf.cut) {
        end_emit(end, packet);
        return;
    }
    end->stats.cut++;
    if (wire_packet_cut(packet, wire_packet_link(packet), end_emit, end) != 0)
        end->stats.no_memory_lost++;
    wire_packet_put(packet);
}

/* Whether the port takes one more frame; if not, it is asked again later. */
static int end_takes(struct wire_end *end, uint32_t bytes, uint64_t nth)
{
    struct wire_line *line = &end->line[WIRE_OUT];
    const uint64_t now = end->host->wire->now;
    uint64_t room_at;

    if (end->host->blocked_until > now)
        return 0;
    if (line->conf.queue_refuses && wire_line_full(line, now, bytes, &room_at)) {
        end->host->blocked_until = room_at;
        return 0;
    }
    if (wire_chance(end->seed, nth, 1, line->conf.refuse_ppm)) {
        end->host->blocked_until = now + 1 + wire_mix(end->seed ^ nth) % 1000;
        return 0;
    }
    return 1;
}

unsigned wire_end_transmit(struct wire_end *end, const struct tenon_frame *frames, unsigned n)
{
    unsigned i, k;

    for (i = 0; i < n; i++) {
        uint32_t bytes = 0;

        for (k = 0; k < frames[i].nspans; k++)
            bytes += frames[i].spans[k].len;
        if (!end_takes(end, bytes, end->stats.tx_frames + end->stats.refused)) {
            end->stats.refused++;
            break;
        }
        wire_tap(end, WIRE_SENT, &frames[i]);
        end->stats.tx_frames++;
        end->stats.tx_bytes += bytes;
        end_send(end, &frames[i], bytes);
    }
    return i;
}

/* ---- the hub --------------------------------------------------------------------------------- */

static int end_hears(const struct wire *wire, const struct wire_end *end, const struct wire_packet *packet)
{
    if (end == packet->from || end->conf.hub != packet->from->conf.hub)
        return 0;
    if (wire->conf.flood || (packet->from->conf.netif.caps & TENON_CAP_NO_LINK) || packet->head_bytes < 6)
        return 1;
    return (packet->head[0] & 1) || memcmp(packet->head, end->conf.netif.mac, 6) == 0;
}

static void hub_spread(struct wire *wire, struct wire_packet *packet)
{
    struct wire_host *host;
    struct wire_end *end;
    unsigned heard = 0;

    for (host = wire->hosts; host; host = host->next) {
        for (end = host->ends; end; end = end->next) {
            if (!end_hears(wire, end, packet))
                continue;
            packet->refs++;
            heard++;
            wire_line_put(end, WIRE_IN, packet);
        }
    }
    packet->from->stats.nobody_lost += (uint64_t)(heard == 0);
    wire_packet_put(packet);
}

/* A packet has come to the end of its line: to the hub, or to the ring of an end. */
void wire_arrive(struct wire *wire, struct wire_packet *packet, struct wire_end *end)
{
    uint64_t at;

    if (!end) {
        hub_spread(wire, packet);
        return;
    }
    if (end->ring_count == end->conf.ring) {
        end->stats.ring_lost++;
        wire_tap_packet(end, WIRE_LOST, packet);
        wire_packet_put(packet);
        return;
    }
    end->ring[(end->ring_first + end->ring_count++) % end->conf.ring] = packet;
    wire->in_rings++;
    at = wire->now + end->conf.coalesce_us;
    if (end->deliver_at == WIRE_NEVER)
        end->deliver_at = at;
    if (end->ring_count >= end->conf.burst)
        end->deliver_at = wire->now;
}

int wire_inject(struct wire_end *end, const void *bytes, uint32_t n, uint64_t delay_us)
{
    struct wire *wire = end->host->wire;
    struct wire_event event;

    memset(&event, 0, sizeof(event));
    event.at = wire->now + delay_us;
    event.end = end;
    event.packet = wire_packet_bytes(wire, bytes, n);
    if (!event.packet)
        return -1;
    if (wire_push(wire, &event) == 0)
        return 0;
    wire_packet_put(event.packet);
    return -1;
}

/* ---- receiving ------------------------------------------------------------------------------- */

enum { FRAME_MIN = 60 };    /* IEEE 802.3, without the check sequence */

/* Spans that a packet can need at its receiver. */
static size_t spans_needed(const struct wire_end *end, const struct wire_packet *packet)
{
    return end->conf.split > 1 ? end->conf.split : packet->nspans + 1U;
}

static unsigned deliver_copy(struct wire_end *end, struct wire_packet *packet, struct tenon_span *spans,
                             unsigned most)
{
    const uint64_t chance = wire_mix(end->seed ^ end->received);
    unsigned n = 0, pieces = most > 1 ? 1 + (unsigned)(chance % most) : 1;
    uint32_t off = 0;

    for (; n < pieces && off < packet->bytes; n++) {
        const uint32_t left = packet->bytes - off;
        uint32_t len = left;

        if (n + 1 < pieces)
            len = 1 + (uint32_t)(wire_mix(chance + n) % (chance >> 60 ? left : 64));
        if (len > left)
            len = left;
        spans[n].buf = wire_rx_buf(end->host, NULL, len);
        if (!spans[n].buf)
            break;
        spans[n].off = 0;
        spans[n].len = len;
        wire_packet_copy(packet, off, spans[n].buf->data, len);
        off += len;
    }
    if (off == packet->bytes)
        return n;
    while (n > 0)
        tenon_buf_put(spans[--n].buf);
    return 0;
}

/* A short frame, with what Ethernet puts behind it. */
static unsigned deliver_padded(struct wire_end *end, struct wire_packet *packet, struct tenon_span *spans)
{
    spans[0].buf = wire_rx_buf(end->host, NULL, FRAME_MIN);
    if (!spans[0].buf)
        return 0;
    memset(spans[0].buf->data, 0x5A, FRAME_MIN);
    wire_packet_copy(packet, 0, spans[0].buf->data, packet->bytes);
    spans[0].off = 0;
    spans[0].len = FRAME_MIN;
    return 1;
}

static unsigned deliver_shared(struct wire_end *end, struct wire_packet *packet, struct tenon_span *spans)
{
    unsigned n, i;

    spans[0].buf = wire_rx_buf(end->host, NULL, packet->head_bytes);
    if (!spans[0].buf)
        return 0;
    memcpy(spans[0].buf->data, packet->head, packet->head_bytes);
    spans[0].off = 0;
    spans[0].len = packet->head_bytes;
    for (n = 1, i = 0; i < packet->nspans; i++, n++) {
        struct tenon_buf *buf = wire_rx_buf(end->host, packet, 0);

        if (!buf)
            break;
        buf->data = tenon_span_data(&packet->spans[i]);
        buf->size = packet->spans[i].len;
        spans[n] = (struct tenon_span){ buf, 0, buf->size };
    }
    if (i == packet->nspans)
        return n;
    while (n > 0)
        tenon_buf_put(spans[--n].buf);
    return 0;
}

static int deliver_frame(struct wire_end *end, struct wire_packet *packet, struct tenon_frame *frame,
                         struct tenon_span *spans)
{
    unsigned n, i;

    if (end->conf.pad && packet->bytes < FRAME_MIN && wire_packet_link(packet) > 0)
        n = deliver_padded(end, packet, spans);
    else if (end->conf.copy || end->conf.split > 1 || packet->unshared)
        n = deliver_copy(end, packet, spans, end->conf.split);
    else
        n = deliver_shared(end, packet, spans);
    if (n == 0) {
        end->stats.no_memory_lost++;
        return 0;
    }
    memset(frame, 0, sizeof(*frame));
    frame->spans = spans;
    frame->nspans = (tenon_u16)n;
    frame->seg_kind = packet->seg_kind;
    frame->seg_bytes = packet->seg_bytes;
    frame->csum = packet->csum == TENON_CSUM_PARTIAL ? TENON_CSUM_GOOD : packet->csum;
    if (end->conf.trust && !packet->damaged)
        frame->csum = TENON_CSUM_GOOD;
    end->received++;
    end->stats.rx_frames++;
    for (i = 0; i < n; i++)
        end->stats.rx_bytes += spans[i].len;
    wire_tap(end, WIRE_RECEIVED, frame);
    return 1;
}

static void deliver_burst(struct wire_end *end, unsigned burst)
{
    struct wire_host *host = end->host;
    struct wire *wire = host->wire;
    struct tenon_span *spans = wire->scratch;
    unsigned i, k, n = 0;

    for (i = 0; i < burst; i++) {
        struct wire_packet *packet = end->ring[end->ring_first];

        end->ring_first = (end->ring_first + 1) % end->conf.ring;
        end->ring_count--;
        wire->in_rings--;
        if (deliver_frame(end, packet, &end->frames[n], spans))
            spans += end->frames[n++].nspans;
        wire_packet_put(packet);
    }
    if (n == 0)
        return;
    host->stats.inputs++;
    host->guest.input(host->guest.guest, end->netif, end->frames, n, (tenon_u32)wire_host_now(host));
    for (i = 0; i < n; i++)
        for (k = 0; k < end->frames[i].nspans; k++)
            tenon_buf_put(end->frames[i].spans[k].buf);
}

/* Empty the ring into the instance. */
void wire_end_deliver(struct wire_end *end)
{
    struct wire *wire = end->host->wire;

    while (end->ring_count > 0) {
        const unsigned burst = end->ring_count < end->conf.burst ? end->ring_count : end->conf.burst;
        size_t need = 0;
        unsigned i;

        for (i = 0; i < burst; i++)
            need += spans_needed(end, end->ring[(end->ring_first + i) % end->conf.ring]);
        if (wire_grow(wire, &wire->scratch, &wire->scratch_room, need, sizeof(*wire->scratch)) != 0)
            return;
        deliver_burst(end, burst);
    }
    end->deliver_at = WIRE_NEVER;
}

void wire_tap_packet(struct wire_end *end, enum wire_place place, struct wire_packet *packet)
{
    struct wire *wire = end->host->wire;
    struct tenon_frame frame;
    struct tenon_span *spans;
    struct tenon_buf buf;

    if (!wire->conf.tap)
        return;
    spans = wire_mem_get(wire, (packet->nspans + 1) * sizeof(*spans));
    if (!spans)
        return;
    memset(&buf, 0, sizeof(buf));
    buf.data = packet->head;
    buf.size = packet->head_bytes;
    buf.refs = 1;
    spans[0] = (struct tenon_span){ &buf, 0, packet->head_bytes };
    if (packet->nspans > 0)
        memcpy(spans + 1, packet->spans, packet->nspans * sizeof(*spans));
    memset(&frame, 0, sizeof(frame));
    frame.spans = spans;
    frame.nspans = (tenon_u16)(packet->nspans + 1);
    frame.csum = packet->csum;
    frame.csum_start = packet->csum_start;
    frame.csum_offset = packet->csum_offset;
    frame.seg_kind = packet->seg_kind;
    frame.seg_bytes = packet->seg_bytes;
    frame.header_bytes = packet->header_bytes;
    wire_tap(end, place, &frame);
    wire_mem_put(wire, spans, (packet->nspans + 1) * sizeof(*spans));
}
