/* SPDX-License-Identifier: MIT */
/** @file
 *  Counters: one for every drop and every rare path. 32 bits, modulo 2^32, never reset. */
#ifndef TENON_STATS_H
#define TENON_STATS_H

#include <tenon/types.h>

TENON_BEGIN_DECLS

struct tenon;

/** The list of counters: X(NAME, "name", "what it counts"). The enum and the names are made from it; a
 *  program that shows the explanations makes its own table of them, so that the core need not carry it. */
#define TENON_STATS(X) \
    X(RX_FRAMES, "rx_frames", "frames given to tenon_input()") \
    X(RX_BYTES, "rx_bytes", "their bytes") \
    X(RX_MERGED, "rx_merged", "TCP segments that went up together with the one before them (GRO)") \
    X(TX_FRAMES, "tx_frames", "frames that the port took") \
    X(TX_BYTES, "tx_bytes", "their bytes") \
    X(TX_BUSY, "tx_busy", "times the port took fewer frames than offered") \
    X(TX_FULL, "tx_full", "packets dropped because the burst was full and the port took nothing") \
    X(TX_DOWN, "tx_down", "frames dropped because the link went down while they waited for the port") \
    X(TX_SEGMENTED, "tx_segmented", "frames cut into segments in software") \
    X(TX_CSUM_SOFT, "tx_csum_soft", "transport checksums completed in software") \
    X(TX_LINEARISED, "tx_linearised", "frames copied together because the port cannot gather so many spans") \
    X(COPIED_BYTES, "copied_bytes", "payload bytes copied by the core, for whatever reason") \
    X(NO_MEMORY, "no_memory", "mem_get() gave nothing") \
    X(NO_BUFFER, "no_buffer", "buf_get() gave nothing") \
    X(RX_NOT_KEPT, "rx_not_kept", "text of TCP and fragments dropped because tenon_keep() was told so") \
    X(RX_PIECES, "rx_pieces", "received frames of more than 64 pieces; without FRAGMENTS and SPEED: 16") \
    X(ETH_SHORT, "eth_short", "frames shorter than their link header") \
    X(ETH_UNKNOWN, "eth_unknown", "frames of an ethertype that nobody here speaks") \
    X(ETH_NOT_OURS, "eth_not_ours", "unicast frames to another Ethernet address") \
    X(ETH_VLAN, "eth_vlan", "frames of a VLAN (802.1Q) that is not ours") \
    X(ARP_BAD, "arp_bad", "malformed or lying ARP packets") \
    X(ARP_CONFLICT, "arp_conflict", "somebody else uses our IPv4 address (RFC 5227)") \
    X(NEIGH_QUEUE_DROP, "neigh_queue_drop", "packets dropped while their neighbour was resolved") \
    X(NEIGH_ASK_LIMITED, "neigh_ask_limited", "requests for a neighbour put off (RFC 1122 2.3.2.1)") \
    X(NEIGH_FAILED, "neigh_failed", "neighbours that did not answer") \
    X(NEIGH_FULL, "neigh_full", "neighbour entries refused or evicted because the table is full") \
    X(NO_ROUTE, "no_route", "packets without a route") \
    X(IP4_BAD_HEADER, "ip4_bad_header", "IPv4: version, header length or total length wrong") \
    X(IP4_BAD_CSUM, "ip4_bad_csum", "IPv4: header checksum wrong") \
    X(IP4_MARTIAN, "ip4_martian", "IPv4: impossible source or destination address") \
    X(IP4_BAD_OPTION, "ip4_bad_option", "IPv4: malformed options, or a source route (RFC 7126)") \
    X(IP6_BAD_HEADER, "ip6_bad_header", "IPv6: version or payload length wrong") \
    X(IP6_MARTIAN, "ip6_martian", "IPv6: impossible source or destination address") \
    X(IP6_BAD_EXT, "ip6_bad_ext", "IPv6: malformed, misplaced or too many extension headers") \
    X(IP_NOT_OURS, "ip_not_ours", "packets to an address that is not ours") \
    X(IP_PROTO_UNKNOWN, "ip_proto_unknown", "packets of an unknown transport protocol") \
    X(FRAG_BAD, "frag_bad", "fragments that are malformed, overlap, or reach past 65535 bytes") \
    X(FRAG_TIMEOUT, "frag_timeout", "datagrams not complete in time") \
    X(FRAG_LIMIT, "frag_limit", "fragments or datagrams dropped at a limit of reassembly") \
    X(FRAG_OK, "frag_ok", "datagrams reassembled") \
    X(FRAG_SENT, "frag_sent", "fragments sent") \
    X(PMTU_LOWERED, "pmtu_lowered", "path MTU reports that were believed") \
    X(PMTU_IGNORED, "pmtu_ignored", "path MTU reports that were not") \
    X(PMTU_DOUBTED, "pmtu_doubted", "path MTU reports of less than has arrived, which wait for a timeout (RFC 5927)") \
    X(ICMP_BAD, "icmp_bad", "ICMP: too short, or wrong checksum") \
    X(ICMP_IGNORED, "icmp_ignored", "ICMP: types that are ignored by design") \
    X(ICMP_ECHO_ANSWERED, "icmp_echo_answered", "echo requests answered") \
    X(ICMP_ERROR_SENT, "icmp_error_sent", "ICMP errors sent") \
    X(ICMP_ERROR_LIMITED, "icmp_error_limited", "ICMP errors and echo replies not sent because of the rate limit") \
    X(ICMP_ERROR_RCVD, "icmp_error_rcvd", "ICMP errors received and given to their socket") \
    X(ICMP_ERROR_STRAY, "icmp_error_stray", "ICMP errors about a packet that we did not send, or a later fragment") \
    X(ND_BAD, "nd_bad", "neighbour discovery: a rule of RFC 4861 6.1, 7.1 or 8.1 broken") \
    X(ND_DUPLICATE, "nd_duplicate", "duplicate address found (RFC 4862 5.4)") \
    X(MLD_BAD, "mld_bad", "malformed MLD messages") \
    X(IGMP_BAD, "igmp_bad", "malformed IGMP messages") \
    X(UDP_RCVD, "udp_rcvd", "datagrams delivered") \
    X(UDP_SENT, "udp_sent", "datagrams sent") \
    X(UDP_BAD_LENGTH, "udp_bad_length", "UDP: length field wrong") \
    X(UDP_BAD_CSUM, "udp_bad_csum", "UDP: checksum wrong, or missing over IPv6") \
    X(UDP_NO_PORT, "udp_no_port", "datagrams to a port that nobody has opened") \
    X(TCP_RCVD, "tcp_rcvd", "segments received; those that went up together count once") \
    X(TCP_PREDICTED, "tcp_predicted", "segments that were the next expected, on a connection where all is as usual") \
    X(TCP_SENT, "tcp_sent", "segments sent; one that the port cuts counts once") \
    X(TCP_BAD_HEADER, "tcp_bad_header", "TCP: shorter than its header says") \
    X(TCP_BAD_CSUM, "tcp_bad_csum", "TCP: checksum wrong") \
    X(TCP_BAD_OPTION, "tcp_bad_option", "TCP: malformed options; the rest of them is not read") \
    X(TCP_MARTIAN, "tcp_martian", "TCP: segments to or from a broadcast or multicast address, or from ourselves") \
    X(TCP_NO_CONNECTION, "tcp_no_connection", "segments of no connection") \
    X(TCP_OUT_OF_WINDOW, "tcp_out_of_window", "segments outside the receive window") \
    X(TCP_PAWS, "tcp_paws", "segments older than TS.Recent (RFC 7323 5)") \
    X(TCP_NO_TIMESTAMP, "tcp_no_timestamp", "segments without the negotiated timestamp") \
    X(TCP_BAD_ACK, "tcp_bad_ack", "acknowledgements of data never sent or too old (RFC 5961 5)") \
    X(TCP_CHALLENGE_ACK, "tcp_challenge_ack", "challenge ACKs sent (RFC 5961)") \
    X(TCP_CHALLENGE_LIMITED, "tcp_challenge_limited", "challenge ACKs not sent because of their limit") \
    X(TCP_RST_RCVD, "tcp_rst_rcvd", "connections reset by the peer") \
    X(TCP_RST_SENT, "tcp_rst_sent", "resets sent") \
    X(TCP_RST_LIMITED, "tcp_rst_limited", "resets not sent because of their rate limit") \
    X(TCP_DUP_DATA, "tcp_dup_data", "segments that brought only old data") \
    X(TCP_OOO, "tcp_ooo", "segments received out of order") \
    X(TCP_OOO_DROP, "tcp_ooo_drop", "out-of-order segments dropped at a limit") \
    X(TCP_AFTER_FIN, "tcp_after_fin", "bytes after the peer's FIN") \
    X(TCP_AFTER_CLOSE, "tcp_after_close", "data that came after the application had closed") \
    X(TCP_RETRANSMIT, "tcp_retransmit", "segments retransmitted, for whatever reason") \
    X(TCP_FAST_RETRANSMIT, "tcp_fast_retransmit", "fast recoveries entered") \
    X(TCP_RTO, "tcp_rto", "retransmission timeouts") \
    X(TCP_PROBE, "tcp_probe", "zero-window probes sent") \
    X(TCP_KEEPALIVE, "tcp_keepalive", "keep-alive probes sent") \
    X(TCP_TIMEOUT, "tcp_timeout", "connections given up after R2, or after unanswered keep-alives") \
    X(TCP_STALLED, "tcp_stalled", "connections reset because the peer's window stayed closed for too long") \
    X(TCP_ORPHAN_EVICTED, "tcp_orphan_evicted", "connections reset, after their close, at a limit of theirs") \
    X(TCP_SYN_RCVD, "tcp_syn_rcvd", "connection requests received by a listener") \
    X(TCP_BACKLOG_FULL, "tcp_backlog_full", "connection requests dropped because of a full backlog") \
    X(TCP_BACKLOG_RECYCLED, "tcp_backlog_recycled", "half-open connections that gave way to a newer one") \
    X(TCP_HELD_DROP, "tcp_held_drop", "segments of a connection that waits for tenon_tcp_decide()") \
    X(TCP_COOKIE_SENT, "tcp_cookie_sent", "connection requests answered with a SYN cookie (RFC 4987)") \
    X(TCP_COOKIE_GOOD, "tcp_cookie_good", "connections made from a SYN cookie that came back") \
    X(TCP_FASTOPEN_ASKED, "tcp_fastopen_asked", "our SYNs that asked for a Fast Open cookie (RFC 7413)") \
    X(TCP_FASTOPEN_SENT, "tcp_fastopen_sent", "our SYNs that carried data") \
    X(TCP_FASTOPEN_TAKEN, "tcp_fastopen_taken", "... whose data was acknowledged by the SYN-ACK") \
    X(TCP_FASTOPEN_FAILED, "tcp_fastopen_failed", "our SYNs with Fast Open that were not answered as hoped for") \
    X(TCP_FASTOPEN_COOKIE_SENT, "tcp_fastopen_cookie_sent", "Fast Open cookies given to peers") \
    X(TCP_FASTOPEN_COOKIE_BAD, "tcp_fastopen_cookie_bad", "SYNs with a Fast Open cookie that is wrong, or too old") \
    X(TCP_FASTOPEN_DELIVERED, "tcp_fastopen_delivered", "SYNs whose data was delivered at once") \
    X(TCP_FASTOPEN_LIMIT, "tcp_fastopen_limit", "... and was not: tcp_fastopen_pending_max, or SYN cookies") \
    X(TCP_COOKIE_BAD, "tcp_cookie_bad", "segments that could have brought a SYN cookie and did not") \
    X(TCP_ACTIVE_OPEN, "tcp_active_open", "connections opened by this side") \
    X(TCP_ESTABLISHED, "tcp_established", "connections that became established") \
    X(TCP_CLOSED, "tcp_closed", "connections that ended") \
    X(TCP_TIME_WAIT, "tcp_time_wait", "connections that passed through TIME-WAIT") \
    X(TCP_TIME_WAIT_EVICTED, "tcp_time_wait_evicted", "TIME-WAIT records given up early, at their limit") \
    X(TCP_TIME_WAIT_REUSED, "tcp_time_wait_reused", "TIME-WAIT records replaced by a new connection (RFC 6191)") \
    X(TCP_LIMIT, "tcp_limit", "connections refused because of tcp_conns_max or memory") \
    X(TCP_DSACK, "tcp_dsack", "D-SACK blocks: something that we sent arrived twice (RFC 2883)") \
    X(TCP_TLP, "tcp_tlp", "tail loss probes sent (RFC 8985 7)") \
    X(TCP_TLP_REPAIRED, "tcp_tlp_repaired", "losses that a tail loss probe has repaired") \
    X(TCP_UNDO, "tcp_undo", "reductions of the window that turned out to be mistakes, and were taken back") \
    X(TCP_CE_RCVD, "tcp_ce_rcvd", "segments that met congestion on the way to us (CE, RFC 3168)") \
    X(TCP_ECE_REDUCED, "tcp_ece_reduced", "reductions of the window because the peer said so (ECE)") \
    X(TCP_BLACK_HOLE, "tcp_black_hole", "times segments became smaller because full ones vanished (RFC 4821 7.7)") \
    X(TCP_MTU_PROBE, "tcp_mtu_probe", "larger segments that were tried (RFC 4821 7.4)") \
    X(TCP_MTU_PROBE_PASSED, "tcp_mtu_probe_passed", "... and have arrived") \
    X(TCP_MTU_PROBE_LOST, "tcp_mtu_probe_lost", "... and have not, when all else had") \
    X(TCP_CC_FALLBACK, "tcp_cc_fallback", "connections with NewReno because there was no memory for tcp_cc") \
    X(TCP_SACK_BAD, "tcp_sack_bad", "SACK blocks that name nothing we sent")

#define TENON_STATS_ENUM(id, name, text) TENON_STAT_##id,
enum tenon_stat { TENON_STATS(TENON_STATS_ENUM) TENON_STAT_COUNT };
#undef TENON_STATS_ENUM

/** Value of a counter; 0 for a number that is none. */
TENON_API tenon_u32 tenon_stat(const struct tenon *stack, enum tenon_stat stat);

/** Name of a counter (lower case, words joined by _); NULL for a number that is none. */
TENON_API const char *tenon_stat_name(enum tenon_stat stat);

TENON_END_DECLS

#endif
