/* SPDX-License-Identifier: MIT */
/* tenon-script: scripted packet tests. What its files share.
 *
 *   lexer.c    a line into words, with the place of each error
 *   parse.c    a file into statements          parse_packet.c   the notation of packets
 *   build.c    a described packet into bytes   decode.c         bytes into a described packet
 *   format.c   a packet as the notation says   match.c          expected against sent
 *   host.c     the host that the instance lives in
 *   app.c      the handlers and calls of the application
 *   run.c      one script, one instance, one imagined clock
 * The language is described in docs/packet-scripts.md. */
#ifndef TN_TESTS_SCRIPT_H
#define TN_TESTS_SCRIPT_H

#include <tenon/tenon.h>

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    NAME_MAX_LEN = 32,
    OPTS_MAX = 40,
    POKES_MAX = 8,
    FRAME_MAX = 70000,
    ARGS_MAX = 4,
    CONNS_MAX = 64,
    KEPT_MAX = 64,
    KINDS_MAX = 16
};

/* ---- memory that lives as long as one script ------------------------------------------------------- */

struct arena {
    struct arena_block *first;
};

void *arena_get(struct arena *arena, size_t bytes); /* zeroed; never NULL */
char *arena_text(struct arena *arena, const char *text);
void arena_free(struct arena *arena);

/* ---- packets ----------------------------------------------------------------------------------------- */

enum pkt_kind { PKT_TCP, PKT_UDP, PKT_ICMP, PKT_ARP, PKT_ND, PKT_MLD, PKT_IGMP, PKT_FRAG, PKT_RAW, PKT_IP, PKT_OTHER };

enum tcp_flag { TCP_F = 1, TCP_S = 2, TCP_R = 4, TCP_P = 8, TCP_A = 16, TCP_U = 32, TCP_E = 64, TCP_W = 128 };

enum opt_kind {
    OPT_EOL = 0,
    OPT_NOP = 1,
    OPT_MSS = 2,
    OPT_WSCALE = 3,
    OPT_SACKOK = 4,
    OPT_SACK = 5,
    OPT_TS = 8,
    OPT_FASTOPEN = 34,
    OPT_RAW = 256
};

struct opt {
    int kind;             /* enum opt_kind */
    bool a_any, b_any;    /* the value is not checked */
    bool b_last;          /* ecr last: the timestamp that we sent last; fo last: the cookie */
    bool b_raw;           /* ecr raw: not relative */
    int64_t a, b;         /* the value; of TS: val and ecr */
    int nblocks;          /* of SACK */
    int64_t left[4], right[4];
    int nraw;             /* of OPT_RAW: all bytes of the option, with kind and length; of OPT_FASTOPEN: the cookie */
    uint8_t raw[40];
};

enum payload_style { PAYLOAD_PATTERN, PAYLOAD_FILL, PAYLOAD_TEXT, PAYLOAD_HEX };

/* A packet: what a script says of one, or what was found in a sent one. A number that is -1 (NONE) was
 * not given. */
enum { NONE = -1 };

struct packet {
    enum pkt_kind kind;

    /* link */
    uint8_t eth_src[6], eth_dst[6];
    bool has_eth_src, has_eth_dst;
    int64_t eth_type, vlan, pad, cut;

    /* IP */
    struct tenon_ip src, dst;
    bool has_src, has_dst;
    int64_t ttl, tos, ip_id, df, ip_proto;
    bool bad_ip_sum;
    uint8_t ip_opts[40];        /* IPv4 options */
    int ip_opts_bytes;
    struct {
        int proto;              /* 0 hop-by-hop, 43 routing, 60 destination options */
        uint8_t bytes[64];
        int n;
    } ext[4];                   /* IPv6 extension headers */
    int nexts;
    int64_t frag_off, frag_len, frag_more;
    int64_t poke_at[POKES_MAX], poke_value[POKES_MAX];
    int npokes;

    /* TCP and UDP */
    int64_t sport, dport;
    int flags;
    bool has_seq, has_len, absolute;
    int64_t seq, end, len;      /* of a sent packet: absolute */
    int64_t pieces;             /* 10x1000: ten packets of a tenth each */
    int64_t ack, win, urg, reserved, doff, udp_len;
    bool bad_sum, zero_sum;
    bool has_opts, more_opts;
    struct opt opts[OPTS_MAX];
    int nopts;

    /* payload */
    enum payload_style style;
    int fill;
    const uint8_t *bytes;       /* text, hex, or the payload of a sent packet */
    size_t nbytes;

    /* ICMP */
    int64_t type, code;
    int64_t mtu, ptr, icmp_id, icmp_seq;
    int64_t about, quote, quote_seq;
    bool has_about, has_quote_seq;

    /* ARP, ND */
    int64_t arp_op;
    struct tenon_ip arp_sender, target;
    bool has_target, has_arp_sender;
    uint8_t lladdr[6];
    bool has_lladdr;
    int64_t nd_flags;           /* NA: 4 router, 2 solicited, 1 override */
    int64_t lifetime, valid, preferred, prefix_bits;
};

/* Our end and the peer's, as a script sees them: everything relative to two initial sequence numbers. */
struct conn {
    char tag[NAME_MAX_LEN];
    int64_t local_port, remote_port;
    uint32_t iss, irs;          /* ours; the peer's */
    bool iss_known;
    uint32_t ts_base, ts_last;  /* our first and our last TSval */
    bool ts_known;
    bool defined;

    struct tenon_tcp *tcp;      /* NULL: none, or gone */
    bool had_tcp;
    uint32_t tx_off, rx_off;    /* bytes written and received by the application */
    uint32_t received, acked;   /* since the script asked last */

    struct tenon_udp *udp;
    struct tenon_echo *echo;
    struct world *world;
};

/* ---- scripts ------------------------------------------------------------------------------------------- */

struct lexer {
    const char *file;
    int line;
    const char *text;           /* the whole line */
    const char *p;
    char word[512];
    int word_col;
    jmp_buf *fail;
    struct arena *arena;
};

/* Say where and why a line cannot be read, and jump out. */
_Noreturn void lex_fail(struct lexer *lx, int col, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool lex_end(struct lexer *lx);
const char *lex_word(struct lexer *lx, const char *what);
bool lex_take(struct lexer *lx, const char *word);
bool lex_peek(struct lexer *lx, const char *word);
bool lex_char(struct lexer *lx, char c);
int64_t lex_number(struct lexer *lx, const char *what);
int64_t lex_number_of(struct lexer *lx, const char *word, const char *what);
int64_t lex_seconds(struct lexer *lx, const char *what);    /* -> microseconds */
/* One of `names` (ends with NULL); its index. */
int lex_pick(struct lexer *lx, const char *what, const char *const *names);
void lex_need_end(struct lexer *lx);
int lex_hex(struct lexer *lx, uint8_t *bytes, int max);     /* [hh hh ...] */

struct script;
bool lex_ip(struct lexer *lx, const char *word, struct tenon_ip *ip, int af);
struct tenon_ip lex_address(struct lexer *lx, const struct script *s);
void lex_mac(struct lexer *lx, uint8_t mac[6]);

enum stmt_kind {
    ST_INJECT,
    ST_EXPECT,
    ST_NOTHING,
    ST_ANYTHING,
    ST_LISTEN,
    ST_CALL,
    ST_EVENT,
    ST_NO_EVENT,
    ST_INFO,
    ST_STAT,
    ST_STATE,
    ST_TIME_WAITS,
    ST_ISS_AFTER,
    ST_OPEN,                    /* "passive" and "active": the whole handshake */
    ST_HOST,
    ST_LINK,
    ST_MTU,
    ST_NEIGHBOUR
};

enum when_kind { WHEN_AT, WHEN_AFTER, WHEN_ANY, WHEN_BURST };

enum compare { CMP_EQ, CMP_NE, CMP_LT, CMP_LE, CMP_GT, CMP_GE };

struct stmt {
    struct stmt *next;
    int line;
    const char *text;           /* instead of the script's line */
    enum stmt_kind kind;
    enum when_kind when;
    int64_t time;               /* microseconds */
    struct conn *conn;
    struct packet *packet;
    const char *name;
    int verb;                   /* which call, event, field ... */
    int narg;
    int64_t arg[ARGS_MAX];
    struct tenon_ip ip;
    bool has_ip;
    enum compare compare;
    int64_t result;
    bool has_result;
    struct conn *other;
};

struct script {
    const char *file;
    struct arena arena;
    int af;                     /* 4 or 6: how it is read now */
    bool only4, only6, needs_link, has_caps;
    int64_t tolerance;
    bool manual_consume, keep_text, answers, no_neighbour, pacing;
    uint32_t abort_received;    /* the application aborts when it has so many bytes; 0: it does not */
    uint32_t clock;
    struct tenon_conf conf;
    struct tenon_netif_conf netif;
    bool watch[PKT_OTHER + 1];
    struct tenon_ip me, peer;
    struct {
        struct tenon_ip ip, gateway;
        unsigned prefix;
        bool is_route, has_gateway;
    } extra[8];
    int nextras;
    struct conn conns[CONNS_MAX];
    int nconns;
    struct stmt *first, *last;
    const char *lines[4096];    /* for messages */
    int nlines;
};

extern const uint8_t mac_me[6], mac_peer[6], mac_broadcast[6];

/* Read a file for one IP version. @return false: the error has been printed */
bool script_read(struct script *s, const char *file, int af);
void script_free(struct script *s);
struct conn *script_conn(struct script *s, const char *tag);
/* Ids of the lines "# covers:"; calls each() for every one. */
bool script_covers(const char *file, void (*each)(void *arg, const char *id), void *arg);

void parse_packet(struct lexer *lx, struct script *s, struct packet *p, bool expected);
void parse_packet_fields(struct lexer *lx, struct script *s, struct packet *p, bool expected);
void packet_clear(struct packet *p, enum pkt_kind kind);

/* Names of the language, each list ends with NULL. */
extern const char *const event_names[];
enum event_kind { EV_INCOMING, EV_OPENED, EV_RECEIVED, EV_ACKED, EV_FINISHED, EV_CLOSED, EV_URGENT, EV_SOFT_ERROR,
                  EV_UDP, EV_UDP_ERROR, EV_ECHO, EV_ECHO_ERROR };
extern const char *const call_names[];
enum call_kind { CALL_CONNECT, CALL_CONNECT_FOREIGN, CALL_WRITE, CALL_SEND, CALL_FINISH, CALL_CLOSE, CALL_ABORT,
                 CALL_CONSUMED, CALL_ACK, CALL_ACK_FIN, CALL_DECIDE, CALL_SET, CALL_URGENT, CALL_LISTENER_CLOSE,
                 CALL_LISTENER_SET, CALL_CC, CALL_UDP_OPEN, CALL_UDP_BIND, CALL_UDP_CONNECT, CALL_UDP_WRITE,
                 CALL_UDP_SET, CALL_UDP_CLOSE, CALL_ECHO_OPEN, CALL_ECHO_SEND, CALL_ECHO_CLOSE, CALL_JOIN, CALL_LEAVE };
extern const char *const error_names[];     /* index i is error -i */
extern const char *const verdict_names[];
extern const char *const option_names[];
extern const char *const udp_option_names[];
extern const char *const state_names[];
extern const char *const compare_names[];

struct icmp_name {
    const char *first, *second; /* second may be NULL */
    int type4, code4, type6, code6; /* -1: not in this version */
};
extern const struct icmp_name icmp_names[];
extern const int nicmp_names;

struct field {
    const char *name;
    size_t offset;
    size_t size;
};
extern const struct field info_fields[], conf_fields[];
int64_t field_get(const struct field *field, const void *base);
void field_set(const struct field *field, void *base, int64_t value);

/* ---- bytes ---------------------------------------------------------------------------------------------- */

uint32_t be16(const uint8_t *p);
uint32_t be32(const uint8_t *p);
void set_be16(uint8_t *p, uint32_t v);
void set_be32(uint8_t *p, uint32_t v);
/* Sum of 16-bit words, not folded; written for clarity and independent of the core's. */
uint32_t sum_bytes(uint32_t sum, const uint8_t *p, size_t n);
uint16_t sum_finish(uint32_t sum);
uint32_t sum_pseudo(const struct tenon_ip *src, const struct tenon_ip *dst, int proto, size_t bytes);
uint8_t pattern_ours(uint32_t offset);
uint8_t pattern_peers(uint32_t offset);

/* A packet that was sent or injected. */
struct taken {
    int64_t time;
    struct packet packet;
    uint8_t *bytes;             /* the frame */
    size_t nbytes;
    size_t ip_at;               /* offset of the IP header */
};

struct world;
/* The bytes of an injected packet. `piece`: which of packet->pieces. */
size_t build_frame(struct world *w, const struct conn *c, const struct packet *p, int64_t piece, uint8_t *frame);
/* @return NULL, or what is wrong with the frame */
const char *decode_frame(const struct world *w, struct taken *taken);
/* A packet in the notation of scripts, numbers relative to the connection's (NULL: absolute). */
void format_packet(char *text, size_t size, const struct packet *p, const struct conn *c, int af, bool sent);
void format_time(char *text, size_t size, int64_t us);
void format_ip(char *text, size_t size, const struct tenon_ip *ip);
/* A sent packet's initial sequence number and timestamp, if they are the connection's first. */
void learn_numbers(struct conn *c, const struct packet *got);
/* @return true: `got` is what the script expects; else `why` says what differs */
bool match_packet(struct world *w, const struct stmt *st, int64_t piece, const struct taken *got, char *why,
                  size_t size);

/* ---- one run ---------------------------------------------------------------------------------------------- */

struct event {
    int64_t time;
    enum event_kind kind;
    struct conn *conn;
    int64_t arg, arg2;
    bool used;
};

struct world {
    struct script *script;
    int af;
    bool verbose;
    const char *caps_name;
    struct tenon *stack;
    void *mem;
    unsigned netif;
    struct tenon_tcp_listener *listener;
    enum tenon_verdict verdict;

    int64_t now, deadline, reference;
    const struct stmt *at;      /* the statement that runs */
    unsigned polls_at_once;

    struct taken **sent;
    size_t nsent, next_sent;    /* next_sent: the first that the script has not seen */
    struct taken **injected;
    size_t ninjected;
    uint8_t *reass;             /* our fragments, put together */
    size_t reass_bytes;

    struct event *events;
    size_t nevents;
    struct tenon_buf *kept[KEPT_MAX];    /* by the application: keep-text */
    unsigned nkept;

    char *trace;
    size_t trace_len, trace_size;

    bool failed;
    char failure[8192];
    jmp_buf out;
    bool panicked, ended;

    uint32_t stats[TENON_STAT_COUNT];

    /* the host */
    size_t mem_bytes, mem_count, bufs_out;
    int64_t mem_fail, buf_fail;
    uint8_t fastopen[16];       /* the Fast Open cookie that we sent last */
    int nfastopen;
    bool busy;
    uint32_t seed;
    uint32_t keep;              /* bytes that core frames and our spans hold */
};

/* Note a failure; the first counts. Never jumps: it may be called from within the core. */
void world_fail(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Leave the run if something has failed. Not from within the core. */
void world_check(struct world *w);
void world_trace(struct world *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint32_t world_clock(const struct world *w);
void world_poll(struct world *w);

/* @return true: passed */
bool run_script(struct script *s, const char *caps_name, bool verbose);
/* Counters that could not be compared: TENON_WITH_STATS is 0. */
extern unsigned world_unchecked;

/* host.c */
extern const struct tenon_host script_host;
struct tenon_buf *host_buf(struct world *w, size_t bytes);    /* of the application or the wire; refs 1 */

/* app.c */
void app_listen(struct world *w, const struct stmt *st);
void app_call(struct world *w, const struct stmt *st);
struct conn *conn_of_packet(struct world *w, const struct packet *p, bool sent);
void app_end(struct world *w);

#endif
