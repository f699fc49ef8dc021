/* SPDX-License-Identifier: MIT */
/* The block of a connection: all that it needs while it works, and not while it is idle. Above all what is in
 * flight: when each part of it was sent, and what the arrival of an ACK tells about that; with it the send
 * queue, what is out of order, and the handshake.
 *
 * A connection has one from its beginning, and gets another with the first thing that must be remembered in
 * it (tn_flight_get()). When everything is sent, acknowledged and told (tn_flight_rest()), the block stays
 * with it, so that one which works now and then pays nothing; but only tcp_resting_max of them rest so.
 * Beyond that the one that rests longest is taken away and kept for who needs one next, and its connection
 * begins with the next one as after a handshake: with its windows and round-trip times, and without what was
 * learnt about losses and reordering. */
#ifndef TN_TCP_TCP_FLIGHT_H
#define TN_TCP_TCP_FLIGHT_H

#include "core.h"
#include "tcp/cc_validate.h"

TENON_BEGIN_DECLS

struct tn_seg;

/* ---- queues ------------------------------------------------------------------------------------- */

/* One piece of the send queue. */
struct tn_sendq_piece {
    struct tenon_buf *buf;
    tenon_u32 off, len;
    tenon_u32 seq;               /* of its first byte */
};

/* The send queue: a ring of pieces in order of sequence, holding [snd_una, snd_end). */
struct tn_sendq {
    tenon_u16 count, head;
    tenon_u16 cap;               /* a power of two */
    tenon_u8 tail_open;          /* the last piece's buffer is ours and may take more bytes */
    struct tn_sendq_piece *ring; /* the block's few, or larger */
};

/* Data that came too early: contiguous runs in order of sequence, each a list of pieces. A second list has them by
 * when they grew last: that is the order of SACK blocks (RFC 2018 4), and the next segment mostly belongs near
 * there. */
struct tn_ooo_piece {
    struct tn_ooo_piece *next;
    struct tenon_span span;
};

struct tn_ooo_range {
    struct tn_ooo_range *next;
    struct tn_ooo_piece *first, *last;
    struct tn_ooo_range *older;
    tenon_u32 seq, end;
};

/* Without TENON_WITH_RUNS: pieces in order of sequence, and nothing else (tcp_early.c). */
struct tn_early {
    struct tn_early *next;
    struct tenon_span span;
    tenon_u32 seq;
};

struct tn_ooo {
    struct tn_ooo_range *ranges;
    struct tn_ooo_range *newest;
    tenon_u32 bytes;             /* packet memory held */
    tenon_u16 nranges;
    tenon_u8 has_fin;            /* the peer's FIN has come, at fin_seq */
    tenon_u32 fin_seq;
    struct tn_early *early;
    tenon_u32 newest_seq;        /* lies in the piece that came last, if that was kept, and is still here */
};

/* What the peer has SACKed, in order of sequence, apart from each other. */
struct tn_sack_range {
    tenon_u32 left, right;
};

struct tn_sack {
    tenon_u16 n, cap;
    tenon_u16 gone;              /* places before them, of ranges that are acknowledged */
    tenon_u32 bytes;             /* TENON_WITH_RECOVERY: in all ranges */
    tenon_u32 below;             /* of these, below lost_edge */
    struct tn_sack_range *ranges;    /* [cap], in places[] */
    struct tn_sack_range places[1];
};

/* ---- what is in flight ---------------------------------------------------------------------------- */

/* Times in microseconds mean something for half an hour only: what lies further back than this is not compared. */
#define TN_US_MEAN_MS 1000000UL

/* Something that left at one instant, up to 64 KB of it: when, and how delivery stood then
 * (draft-ietf-ccwg-bbr 4.1.2.1). Times in microseconds. */
struct tn_sent {
    tenon_u32 end;               /* sequence number behind it */
    tenon_u32 sent_us;
    tenon_u32 delivered, delivered_us;
    tenon_u32 first_sent_us;
    tenon_u32 in_flight;         /* just after it had left */
    tenon_u32 lost;
    tenon_u16 size;              /* payload of its largest segment */
    tenon_u8 app_limited;
};

/* The same of a retransmission. */
struct tn_again {
    tenon_u32 seq;
    struct tn_sent sent;
};

/* Headers of the link, IP and TCP that are filled in for each segment (tcp_fast_out.c), and sums of what they hold. */
struct tn_header {
    tenon_u32 ip_rest;           /* IPv4: the sum without lengths and TOS; IPv6: the first word without traffic class */
    tenon_u32 tcp_sum;
    tenon_u32 len;               /* payload for which their lengths and sums stand there */
    tenon_u32 changes;           /* of the way for which they were made */
    tenon_u8 tcp_bytes;          /* 0: it has not been made */
    tenon_u8 ip_bytes;
    tenon_u8 tos, tos_data;      /* without data, and with data */
    tenon_u16 small;             /* so few bytes may leave alone, in one piece with the headers */
    tenon_u8 sums;               /* 1: the port does not make the checksum */
    struct tn_like like;
    tenon_u8 bytes[TN_FAST ? 88 : 32];    /* 86 with IPv6, and what makes copying them simple; else they are not made */
};

/* The headers that left with a SYN, and what was told of them to the port: who opens a connection between the same two
 * addresses, by the same way, finds all but its ports in them (tcp_fast_out.c). */
struct tn_tcp_made {
    const struct tn_path *path;  /* NULL: there are none */
    struct tenon_ip local;
    tenon_u32 ttl;
    tenon_u32 flow[4];           /* of the label of IPv6: tn_ip6_flow_begin() */
    struct tn_header header;     /* lengths and sums are those of a SYN */
    struct tn_like syn;
};

enum { TN_FLIGHT_FEW = TENON_WITH_RECOVERY ? 4 : 1, TN_AGAIN_MAX = 1024 };
/* Retransmissions in flight: of those in any order TN_AGAIN_MAX, as each ACK looks at all. */
enum { TN_AGAIN_MOST = sizeof(size_t) > 2 ? 16384 : TN_AGAIN_MAX };
/* Words of the congestion control: without a choice NewReno's. */
enum { TN_FLIGHT_WORDS = TENON_WITH_RECOVERY ? (int)TENON_CC_WORDS : 1 };
/* Pieces of the send queue that a block has: all that there are, or as many as most connections need. */
enum { TN_SENDQ_FEW = TENON_WITH_QUEUE && !TENON_WITH_RECOVERY ? 4 : 8 };
enum { TN_SENDQ_FEW_BYTES = 64 };    /* at most, that are copied without a loop */

/* Two kinds of records: what left for the first time, in order of both time and sequence, so that an index finds
 * either; and what left again and is not known to have arrived or to be lost, in order of sequence. A SACK block
 * or an ACK looks up its own ends only. */
struct tn_flight {
    struct tn_ooo *ooo;          /* NULL: nothing is out of order; first, as the flags of struct tenon_tcp */
    tenon_u8 phase;              /* enum tenon_trace_phase that was traced last */
    tenon_u8 share;              /* listener->shares in which it is counted */
    tenon_u8 undo;               /* 1: the last reduction can still turn out to be a mistake */
    tenon_u8 frto;               /* enum tn_frto */

    tenon_u32 rto_una;           /* snd_una at the last timeout */
    tenon_u32 first_dup_nxt;     /* snd_nxt at the first duplicate ACK: what is sent from then on is limited
                                    transmit (RFC 3042), and counts for no loss */
    tenon_u32 snd_up;            /* TN_TCP_F_URGENT_SND */

    /* The handshake, and whoever is closed by the application */
    tenon_u32 iss, irs;
    struct tenon_tcp_listener *listener;           /* until established */
    struct tenon_tcp *queue_next, **queue_prev;    /* the listener's half-open ones, or the orphans */

    tenon_u32 min_rtt_ms;        /* when min_rtt_us was seen */
    tenon_u32 stalled_ms;        /* TN_TCP_F_STALLED: since when; else when it ended, or was asked for last */

    /* From here on: what every segment asks for or changes, down to the first record; the small things and those that
     * every build has first. */
    tenon_u8 rtx_timer;          /* enum tn_rtx_timer */
    tenon_u8 usual;              /* not 0: nothing keeps the connection from the way of tcp_fast.c */
    tenon_u8 heard_netif;        /* through this interface */
    tenon_u8 dupacks;
    tenon_u16 mtu_sent;          /* of the largest segment sent: payload, and unusual options (RFC 5927 7.2) */
    tenon_u16 mtu_claim;         /* a path MTU that waits for snd_una to time out; 0: none (tcp_mtu.c) */
    struct tn_sendq sendq;
    struct tn_sack *sack;        /* NULL: nothing is SACKed */

    /* The marks of tcp_internal.h, snd_una where there is no block. */
    tenon_u32 recover, rtx_nxt, lost_edge;
    tenon_u32 reno_sacked;       /* bytes that duplicate ACKs say have left the network (no SACK) */
    tenon_u32 rcv_held;          /* delivered and, by the application's wish, not acknowledged */

    /* Time */
    tenon_u32 rto_us;            /* before it is backed off */
    tenon_u32 rtt_seq, rtt_start_us;    /* TN_TCP_F_RTT_TIMING */
    tenon_u32 rtx_when;          /* tick of TN_TCP_F_RTX_ARMED */
    tenon_u32 rto_when;          /* when the RTO is over; rtx_when is that or earlier */
    tenon_u32 last_snd_ms;       /* last data segment sent: restart after idle */

    tenon_u32 words[TN_FLIGHT_WORDS];    /* of the congestion control, unless it has more */

    /* Not cleared: as much of both queues as most connections need, and the headers. */
    struct tn_sendq_piece few_pieces[TN_SENDQ_FEW];

    /* From here on: what small builds have not (TN_FLIGHT_BYTES). */
    struct tn_header header;
    struct tn_sent few[TN_FLIGHT_FEW];

    tenon_u32 total_delivered;   /* since there is the block; all, if the congestion control has words besides it */
    tenon_u32 told_ms, untold;   /* when the congestion control heard of ACKs, and bytes acknowledged since */
    tenon_u32 pace_us, pace_carry;    /* TN_TCP_F_PACING: when the next packet may leave ... */
    tenon_u32 pace_owed;         /* ... but for these bytes, which have left since, ... */
    tenon_u32 pace_room;         /* ... and may be so many before anybody has to reckon; 0: that is not known */
    tenon_u32 paced_cwnd;        /* window from which the pacing rate was made */
    tenon_u32
        heard_gen; /* tn_fast_is_heard() has said so, as the number of the routing state; see heard_netif */

    struct tn_flight **prev;     /* in the list of those at rest; NULL: in use */
    struct tn_sent *ring;        /* record i is ring[i & (cap - 1)]; they cover [snd_una, snd_nxt) */
    tenon_u32 cap;               /* a power of two */
    tenon_u32 first, last;       /* records first .. last - 1 exist */
    tenon_u32 edge;              /* the record that lost_edge lies in */
    tenon_u32 again_bytes;       /* of what was sent again and is in flight */
    tenon_u32 again_high;        /* HighRxt: everything below has been sent again, or SACKed before */
    tenon_u32 ecn_recover;       /* no further reduction for ECE before this is acknowledged */
    tenon_u32 rack_sent_us, rack_end, rack_rtt_us;
    tenon_u8 rack_valid;         /* they mean something */
    tenon_u8 tlp_sampled;        /* there was an RTT sample since the last probe */
    tenon_u16 again_gone;        /* places before those of `again`, of what has arrived */

    /* From here on: what is seldom asked for. */
    struct tenon_tcp *conn;
    struct tn_flight *next;      /* list of those at rest */
    tenon_u32 total_lost;        /* see total_delivered */
    tenon_u32 pace_when;         /* of TN_TCP_F_PACE_ARMED */

    tenon_u32 dup_left, dup_right;    /* has arrived twice, and no ACK has said so (RFC 2883); equal: nothing has */

    struct tn_again *again;      /* [again_cap]; NULL: nothing was sent again */
    tenon_u16 again_n, again_cap;

    /* RACK (RFC 8985 5.2) */
    tenon_u32 dsack_round;       /* a D-SACK widens the window once before this is acknowledged */
    tenon_u32 reo_wait_us;       /* 0, or how long until something may have to be marked lost */
    tenon_u8 reordered;          /* RACK.reordering_seen */
    tenon_u8 reo_mult, reo_persist;
    tenon_u8 dsack_round_runs;
    tenon_u8 rule;               /* enum tenon_trace_rule: how what is found to be lost is found now */
    tenon_u8 again_mixed;        /* the retransmissions are not in order of time */
    tenon_u8 holds;              /* the application has kept, or answered, what TENON_KEEP_FIRST gave it last */

    /* TLP (RFC 8985 7.1) */
    tenon_u8 tlp;                /* enum tn_tlp */
    tenon_u32 tlp_from, tlp_end; /* what the last probe has repeated; from == end: nothing */

    /* PRR (RFC 9937 6) */
    tenon_u32 prr_delivered, prr_out, recover_fs;

    /* How to go back (tcp_undo.c) */
    tenon_u32 undo_una, undo_end;    /* between them lies what was sent again since */
    tenon_u32 undo_again, undo_dsack;
    tenon_u32 undo_cwnd, undo_ssthresh, undo_words[TENON_CC_WORDS];

    tenon_u32 probe_seq, probe_end;    /* the probe of the path MTU that is out; equal: none (tcp_mtu.c) */

    /* Rate samples (tcp_rate.c) */
    tenon_u32 delivered_us, first_sent_us;
    tenon_u32 app_limited;       /* 0, or samples are limited by the application until so much is delivered */

    struct tn_cwv cwv;           /* RFC 7661 */
};

/* A build in which nobody asks for what follows the few pieces has blocks that end there. */
enum {
    TN_FLIGHT_IS_WHOLE = TENON_WITH_RECOVERY || TENON_WITH_SPEED || TENON_WITH_MANY || TENON_WITH_PROBES,
    TN_FLIGHT_BYTES = TN_FLIGHT_IS_WHOLE ? sizeof(struct tn_flight) : offsetof(struct tn_flight, header)
};

enum tn_tlp { TN_TLP_NONE, TN_TLP_NEW, TN_TLP_AGAIN };

enum tn_frto {
    TN_FRTO_NONE,
    TN_FRTO_SENT,                /* RFC 5682 2.1 step 2: the first segment was sent again, nothing else */
    TN_FRTO_NEW                  /* step 3: new data was sent */
};

/* One acknowledgement while it is processed: what it brought. */
struct tn_ack {
    tenon_u32 acked;             /* cumulatively */
    tenon_u8 has_newest, newest_again, has_original;
    tenon_u8 is_dup;             /* a duplicate ACK (RFC 5681 2) */
    tenon_u8 has_dsack;
    tenon_u8 has_ece;            /* the peer echoes congestion */
    tenon_u8 is_original;        /* what it acknowledges first was sent again, and need not have been */
    tenon_u8 reordered;          /* something arrived behind what was sent after it */
    tenon_u8 old_original;       /* something that was sent once, before the last timeout, arrived */
    const struct tn_seg *seg;
    tenon_u32 una, flight;       /* snd_una and FlightSize before */
    tenon_u32 fack;              /* the highest number (S)ACKed before */
    tenon_u32 sacked;            /* newly SACKed */
    tenon_u32 delivered;         /* both */
    tenon_u32 lost;              /* marked lost because of it */
    tenon_u32 ce;                /* of acked, what the peer says met congestion */
    tenon_u32 rtt_us;            /* sample for the RTO (RFC 6298); 0: none */
    tenon_u32 fresh_rtt_us;      /* of the packet sent last among the delivered; 0: ambiguous */
    tenon_u32 original_us;       /* has_original: when the last of them left that was sent once only */
    struct tn_sent newest;       /* has_newest: the one sent last among the delivered */
    tenon_u32 dsack_left, dsack_right;
};

/* ---- tcp_flight.c -------------------------------------------------------------------------------- */

/* A block becomes the connection's: as after a handshake, with what the connection itself has kept. When something was
 * sent or measured last is not known any more: not after the last progress. Without TENON_WITH_MANY all of it is 0. */
TENON_INTERNAL void tn_flight_init(struct tenon_tcp *conn, struct tn_flight *flight);
/* The connection's block, made if there is none. @return NULL: no memory */
TENON_INTERNAL struct tn_flight *tn_flight_get(struct tenon_tcp *conn);
TENON_INTERNAL void tn_flight_free(struct tenon_tcp *conn);
/* Sequence numbers begin at `seq`: nothing below it is lost, or to be recovered. */
TENON_INTERNAL void tn_flight_begin(struct tenon_tcp *conn, tenon_u32 seq);
/* Everything is acknowledged: what large flights needed is given back. */
TENON_INTERNAL void tn_flight_settle(struct tenon_tcp *conn);
/* There is something to be given back. */
TENON_INLINE int tn_flight_has_grown(const struct tn_flight *flight)
{
    return flight->ring != flight->few || flight->again != NULL;
}
/* If there is nothing to do, the block stays until others need it more. To be called whenever it may be so. */
TENON_INTERNAL void tn_flight_rest(struct tenon_tcp *conn);
/* New data up to `end` has left; snd_nxt is still where it begins. */
TENON_INTERNAL void tn_flight_sent(struct tenon_tcp *conn, tenon_u32 end);
/* [from, end) has left again. There is room to remember it, or it is the head of the queue. */
TENON_INTERNAL void tn_flight_sent_again(struct tenon_tcp *conn, tenon_u32 from, tenon_u32 end);
/* Whether there is room to remember another retransmission. */
TENON_INTERNAL int tn_flight_has_room(struct tenon_tcp *conn);
/* [from, end) has arrived for the first time that we know of. */
TENON_INTERNAL void tn_flight_delivered(struct tenon_tcp *conn, struct tn_ack *ack, tenon_u32 from, tenon_u32 end);
/* snd_una has moved: forget what lies below. */
TENON_INTERNAL void tn_flight_advance(struct tenon_tcp *conn);
/* lost_edge moves up to `to`. @return bytes that are lost by that */
TENON_INTERNAL tenon_u32 tn_flight_move_edge(struct tenon_tcp *conn, tenon_u32 to);
/* Nothing is lost: lost_edge goes back to snd_una. */
TENON_INTERNAL void tn_flight_reset_edge(struct tenon_tcp *conn);
/* What was sent again is not in flight any more: lost, as far as it lies below lost_edge. @return bytes */
TENON_INTERNAL tenon_u32 tn_flight_again_lost(struct tenon_tcp *conn, unsigned index);
/* Whether `seq` is in flight again, and since when. */
TENON_INTERNAL int tn_flight_again_sent_us(const struct tenon_tcp *conn, tenon_u32 seq, tenon_u32 *sent_us);
/* Of what was sent again and is in flight. Without records: all that is not SACKed. */
TENON_INTERNAL tenon_u32 tn_flight_again_bytes(const struct tenon_tcp *conn);
TENON_INTERNAL void tn_flight_again_clear(struct tenon_tcp *conn);
/* The first number at or after `from` that is not in flight again; *end is cut off where that begins. */
TENON_INTERNAL tenon_u32 tn_flight_again_skip(const struct tenon_tcp *conn, tenon_u32 from, tenon_u32 *end);
TENON_INTERNAL const char *tn_flight_check(const struct tenon_tcp *conn);
TENON_INLINE struct tn_sent *tn_flight_at(const struct tn_flight *flight, tenon_u32 number)
{
    return &flight->ring[number & (flight->cap - 1)];
}

/* ---- tcp_rack.c ------------------------------------------------------------------------------------ */

/* RFC 8985 6.2 step 2: a packet has arrived that left at `sent`; `again`: it may be mistaken for an earlier one. */
TENON_INTERNAL void tn_rack_delivered(struct tenon_tcp *conn, const struct tn_ack *ack, const struct tn_sent *sent,
                                      int again);
/* Steps 3 and 4: what the ACK says about reordering. */
TENON_INTERNAL void tn_rack_learn(struct tenon_tcp *conn, const struct tn_ack *ack);
TENON_INTERNAL void tn_rack_widen(struct tenon_tcp *conn);
/* Step 5: mark what must be lost. @return bytes */
TENON_INTERNAL tenon_u32 tn_rack_detect(struct tenon_tcp *conn);
/* RFC 8985 6.3: a timeout. @return bytes */
TENON_INTERNAL tenon_u32 tn_rack_timeout(struct tenon_tcp *conn);
/* A recovery has come to its end: RACK.reo_wnd_persist. */
TENON_INTERNAL void tn_rack_recovered(struct tn_flight *flight);
/* Microseconds until a tail loss probe is due; 0: none is to be sent (RFC 8985 7.2). */
TENON_INTERNAL tenon_u32 tn_tlp_timeout(const struct tenon_tcp *conn);
/* The same where something is in flight, nothing is lost or SACKed, and no probe is out. */
TENON_INTERNAL tenon_u32 tn_tlp_usual_timeout(const struct tenon_tcp *conn);
/* A probe that repeated the tail has not been judged yet. */
TENON_INLINE int tn_tlp_is_out(const struct tn_flight *flight)
{
    return TENON_WITH_RECOVERY && flight != NULL && flight->tlp == TN_TLP_AGAIN;
}
TENON_INLINE void tn_tlp_forget(struct tn_flight *flight)
{
    if (TENON_WITH_RECOVERY)
        flight->tlp = TN_TLP_NONE;
}
/* RFC 8985 7.4. @return 1: the probe has repaired a loss */
TENON_INTERNAL int tn_tlp_acked(struct tenon_tcp *conn, const struct tn_ack *ack);

/* ---- tcp_undo.c -------------------------------------------------------------------------------------- */

/* Before a reduction: remember what it changes. */
TENON_INTERNAL void tn_undo_save(struct tenon_tcp *conn);
/* It is not to be taken back any more: another one has followed, for a reason of its own. */
TENON_INTERNAL void tn_undo_forget(struct tenon_tcp *conn);
/* [from, end) is sent again. */
TENON_INTERNAL void tn_undo_sent_again(struct tenon_tcp *conn, tenon_u32 from, tenon_u32 end);
/* Before the ACK is told to the records: does it answer an original? */
TENON_INTERNAL void tn_undo_look(struct tenon_tcp *conn, struct tn_ack *ack);
/* Whether the ACK proves that the last reduction was a mistake; then it is taken back. */
TENON_INTERNAL int tn_undo_check(struct tenon_tcp *conn, const struct tn_ack *ack);

/* ---- tcp_rate.c -------------------------------------------------------------------------------------- */

/* A congestion control that measures takes over: what is in flight gets what it asks for. */
TENON_INTERNAL void tn_rate_begin(struct tenon_tcp *conn);
TENON_INTERNAL void tn_rate_sending(struct tenon_tcp *conn, struct tn_sent *sent, tenon_u32 bytes);
TENON_INTERNAL void tn_rate_sample(struct tenon_tcp *conn, const struct tn_ack *ack,
                                   struct tenon_rate_sample *sample);
/* Called when all that may be sent is sent: is it the application that has no more? */
TENON_INTERNAL void tn_rate_check_app_limited(struct tenon_tcp *conn);
/* The pacing rate follows from window and RTT, unless the congestion control sets it. */
TENON_INTERNAL void tn_pace_update(struct tenon_tcp *conn);
/* Whether pacing lets data leave now; else the timer is set for when it will. */
TENON_INTERNAL int tn_pace_allows(struct tenon_tcp *conn);
TENON_INTERNAL void tn_pace_sent(struct tenon_tcp *conn, tenon_u32 bytes);
/* Whether pacing lies so far behind that it need not be asked; then tn_pace_owe() does what tn_pace_sent()
 * does. Nothing may happen between them. */
TENON_INTERNAL_HOT int tn_pace_lags(struct tenon_tcp *conn);
/* The rate, or the time of the next packet, is another: what may be owed has to be reckoned again. */
TENON_INLINE void tn_pace_forget(struct tn_flight *flight)
{
    if (!TENON_SMALL)
        flight->pace_room = 0;
}
TENON_INTERNAL_HOT void tn_pace_owe(struct tenon_tcp *conn, tenon_u32 bytes);
/* The most that one frame may carry: what the rate sends in a millisecond, two segments at least. */
TENON_INTERNAL tenon_u32 tn_pace_quantum(const struct tenon_tcp *conn);

TENON_END_DECLS

#endif
