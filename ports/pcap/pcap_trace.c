/* SPDX-License-Identifier: MIT */
/* Comments from the trace. An event tells of a segment before its frame leaves (the core transmits in
 * bursts) and after its frame has come, so texts wait in a small table until a frame of their
 * connection passes. */
#include <stdio.h>
#include <string.h>

#include "pcap_writer.h"

void pcap_note(struct pcap_writer *writer, tenon_u16 local_port, tenon_u16 remote_port, const tenon_u32 *sent_seq,
               const char *text)
{
    struct pcap_note *note = &writer->note[writer->note_next];

    writer->note_next = (writer->note_next + 1) % PCAP_NOTES_MAX;
    writer->notes += !note->used;
    note->used = 1;
    note->has_seq = sent_seq != NULL;
    note->seq = sent_seq != NULL ? *sent_seq : 0;
    note->local_port = local_port;
    note->remote_port = remote_port;
    snprintf(note->text, sizeof note->text, "%s", text);
}

void pcap_trace(struct pcap_writer *writer, const struct tenon_trace_event *event)
{
    const char *name = tenon_trace_name((enum tenon_trace_kind)event->kind);
    char text[PCAP_NOTE_TEXT_MAX];
    const tenon_u32 *seq = NULL;

    switch (event->kind) {
    case TENON_TRACE_RECEIVED:
        return; /* the frame itself says all of it, and is written already */
    case TENON_TRACE_SENT:
        seq = &event->seq;
        snprintf(text, sizeof text, "#%lu %s: cwnd %lu, in flight %lu, snd_wnd %lu, rto %lu us",
                 (unsigned long)event->conn, event->arg ? "sent again" : "sent", (unsigned long)event->cwnd,
                 (unsigned long)event->in_flight, (unsigned long)event->snd_wnd, (unsigned long)event->rto_us);
        break;
    case TENON_TRACE_STATE:
        snprintf(text, sizeof text, "#%lu %s -> %s", (unsigned long)event->conn,
                 tenon_tcp_state_name((enum tenon_tcp_state)event->arg),
                 tenon_tcp_state_name((enum tenon_tcp_state)event->state));
        break;
    case TENON_TRACE_ACKED:
        snprintf(text, sizeof text, "#%lu acked %lu: cwnd %lu, in flight %lu, srtt %lu us",
                 (unsigned long)event->conn, (unsigned long)event->len, (unsigned long)event->cwnd,
                 (unsigned long)event->in_flight, (unsigned long)event->srtt_us);
        break;
    default:
        snprintf(text, sizeof text, "#%lu %s: seq %lu, len %lu, arg %lu, cwnd %lu", (unsigned long)event->conn,
                 name != NULL ? name : "?", (unsigned long)event->seq, (unsigned long)event->len,
                 (unsigned long)event->arg, (unsigned long)event->cwnd);
    }
    pcap_note(writer, event->local.port, event->remote.port, seq, text);
}

static int note_fits(const struct pcap_note *note, const struct pcap_record *record, const struct pcap_layout *layout)
{
    const unsigned char *l4 = record->head + layout->l4;
    unsigned source = pcap_get16be(l4), destination = pcap_get16be(l4 + 2);
    unsigned local = record->outgoing ? source : destination, remote = record->outgoing ? destination : source;

    if (!note->used || note->local_port != local || note->remote_port != remote)
        return 0;
    return !note->has_seq || (record->outgoing && pcap_get32be(l4 + 4) == note->seq);
}

const char *pcap_collect_notes(struct pcap_writer *writer, const struct pcap_record *record)
{
    struct pcap_layout layout;
    size_t length = 0;

    if (pcap_parse(record, writer->link_type[record->interface], &layout) != 0 || !layout.tcp)
        return record->comment;
    if (record->comment != NULL) {
        snprintf(writer->comment, sizeof writer->comment, "%s", record->comment);
        length = strlen(writer->comment);
    }
    /* From the oldest on, so that a reader sees them in the order of time. */
    for (unsigned i = 0; i < PCAP_NOTES_MAX; i++) {
        struct pcap_note *note = &writer->note[(writer->note_next + i) % PCAP_NOTES_MAX];

        if (!note_fits(note, record, &layout))
            continue;
        note->used = 0;
        writer->notes--;
        if (length + strlen(note->text) + 3 > sizeof writer->comment)
            continue;
        length += (size_t)snprintf(writer->comment + length, sizeof writer->comment - length, "%s%s",
                                   length > 0 ? "\n" : "", note->text);
    }
    return length > 0 ? writer->comment : record->comment;
}
