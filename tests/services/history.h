/* SPDX-License-Identifier: MIT */
/* tenon-service-sim: histories of one or two small machines that get addresses, names, the time and files from servers
 * (services/), and of servers that are silent, forget, refuse, answer late and say what makes no sense, over a wire
 * with faults. Everything follows from a seed. */
#ifndef TENON_SERVICE_HISTORY_H
#define TENON_SERVICE_HISTORY_H

#include "embedded/sock_internal.h"
#include "ports/wire/wire.h"
#include "services/dhcp.h"
#include "services/dns.h"
#include "services/rdnss.h"
#include "services/sntp.h"
#include "services/tftp.h"
#include "tests/seeds/emit.h"

#include <tenon/tenon.h>

enum {
    MACHINES_MAX = 2,
    SERVERS_MAX = 2,
    DARKS_MAX = 3,
    SHORTAGES_MAX = 4,
    STALLS_MAX = 3,
    RESTARTS_MAX = 2,
    POOL = 6,             /* addresses of a server: enough for all machines, and one that somebody else has */
    QUERIES = 3, ENTRIES = 4, ROOM = 1200,
    NAMES = 200,
    TRANSFERS = 8,
    WAITING_MAX = 16,     /* frames in a device */
    LATE_MAX = 32,        /* answers that wait */
    NETWORK6_BITS = 64,
    IP6_MTU_MIN = 1280,   /* RFC 8200 5: with less there is no IPv6 */
    SECOND = 1000000
};

/* ---- what is decided before it begins: plan.c ----------------------------------------------------- */

struct span_us {
    uint64_t from_us, to_us;
};

struct shortage {
    struct span_us when;
    unsigned blocks, headers;      /* so many are somebody else's for that time ... */
    uint32_t memory;               /* ... and this part of the memory, in 1/256 */
};

struct stall {
    uint64_t at_us;
    uint32_t us;                   /* the program stands still */
};

struct restart {
    uint64_t at_us;
    uint8_t power;                 /* 1: it was off, and its memory holds anything; 0: its program has ended */
    uint8_t remembers;             /* its address */
};

struct machine_plan {
    struct tenon_sock_conf conf;
    struct tenon_dhcp_conf dhcp;
    struct wire_line_conf out, in;
    struct span_us dark[DARKS_MAX];         /* nothing gets through */
    struct span_us unplugged[DARKS_MAX];    /* ... and it knows */
    struct shortage shortage[SHORTAGES_MAX];
    struct stall stall[STALLS_MAX];
    struct restart restart[RESTARTS_MAX];
    unsigned ndarks, nunplugged, nshortages, nstalls, nrestarts;
    uint64_t clock_us;
    uint32_t ask_us;               /* between questions for names */
    uint16_t block_bytes;          /* of files */
    uint8_t tcp, mixed_case, plain;
    uint8_t blinks;                /* 1: that the cable was out it hears when it is in again */
};

/* What a server does with times T1 and T2 (RFC 2132 9.11, 9.12). */
enum times { TIMES_NONE, TIMES_GOOD, TIMES_WRONG, TIMES_KINDS };

struct server_plan {
    uint32_t lease_s;
    enum times times;
    uint16_t mtu;                  /* 0: it says none */
    uint8_t routes, names_all, knows_options, tells_size, over_tcp, soa;
    uint32_t advert_s;             /* between its advertisements, as a router of IPv6; 0: it is none */
    uint32_t router_s, prefix_s, names_s;    /* lifetimes that it promises */
    uint8_t names_link_local;      /* it tells its link-local address, not the other one */
    uint32_t take_back_ppm;        /* of advertisements take back all that others have promised, until all is well */
    struct span_us silent[DARKS_MAX];
    unsigned nsilent;
    uint64_t forgets_us;           /* all leases; 0: it does not */
    uint32_t nak_ppm, bend_ppm, late_ppm, ill_ppm, kiss_ppm;    /* until the network is well */
};

struct plan {
    uint64_t seed, heal_us;
    uint64_t moved_us;             /* cables go to another network, with the same servers; 0: they do not */
    struct machine_plan machine[MACHINES_MAX];
    struct server_plan server[SERVERS_MAX];
    unsigned nmachines, nservers;
    uint8_t squatted;              /* somebody has an address of the pool of the first server */
    uint8_t forged;                /* answers are, so many at each tick */
    uint8_t ip6;                   /* they speak IPv6 too, and servers are its routers ... */
    uint8_t names6;                /* ... of which one hears who knows names, and not by DHCP */
};

void plan_draw(struct plan *plan, uint64_t seed);
void plan_print(const struct plan *plan);

/* ---- a history ------------------------------------------------------------------------------------ */

struct history;

/* A question for a name that has no answer yet. */
struct question {
    struct machine *machine;
    unsigned number;
    enum tenon_dns_type type;
    uint64_t asked_us;
    uint8_t open, strict;          /* strict: nothing can have gone wrong */
};

struct machine {
    struct history *h;
    const struct machine_plan *plan;
    unsigned index;
    struct wire_host *host;
    struct wire_end *end;
    struct tenon_socks *socks;
    tenon_u8 *arena;
    size_t arena_bytes;
    struct {
        uint32_t n;
        tenon_u8 bytes[EMIT_BYTES_MAX];
    } waiting[WAITING_MAX];        /* frames in the device */
    unsigned nwaiting;
    int more;                      /* than went up together */
    struct tenon_dhcp dhcp;
    struct tenon_rdnss rdnss;
    struct tenon_dns dns;
    struct tenon_dns_query queries[QUERIES];
    struct tenon_dns_entry entries[ENTRIES];
    tenon_u8 room[ROOM];
    struct tenon_sntp sntp;
    struct tenon_tftp tftp;

    /* What the program knows by tenon_dhcp_conf.changed. */
    enum tenon_dhcp_source source;
    struct tenon_ip ip;
    uint64_t since_us;             /* since when it has been so */
    struct tenon_ip remembered;

    struct question question[QUERIES];
    uint64_t ask_us;
    unsigned file;                 /* the number of the last */
    char file_name[16];
    uint32_t file_got;
    uint64_t file_us;              /* when the next is begun */
    uint8_t fetching, file_strict;
    tenon_u32 answered;            /* by the time server, when it was looked at last */

    const struct shortage *lacking;
    struct tenon_buf *taken_blocks[64], *taken_headers[64];
    unsigned nblocks, nheaders;
    void *taken_memory;
    size_t taken_bytes;
    unsigned restarted, polls_at_once;
    int unplugged, was_out;        /* the cable; whether it was out since the program looked last */
    uint64_t looked_us;
    unsigned good_names, good_files, good_times;    /* since all was well */
};

enum binding_state { FREE, OFFERED, LEASED, SPOILED };

struct binding {
    enum binding_state state;
    tenon_u8 mac[6];
    uint64_t until_us;
};

struct transfer {
    struct server *server;
    struct tenon_udp *sock;        /* NULL: it is not used */
    struct tenon_addr to;
    unsigned file;
    uint32_t size, block_bytes;
    uint32_t block;                /* that is on its way; 0: the agreement to options */
    uint32_t agreed;               /* options, by bits */
    unsigned tries;
    uint64_t again_us;
};

struct server {
    struct history *h;
    const struct server_plan *plan;
    unsigned index;
    struct wire_host *host;
    struct wire_end *end;
    struct tenon *stack;
    struct tenon_udp *dhcp, *dns, *ntp, *tftp;
    struct tenon_tcp_listener *listener;
    struct binding pool[POOL];
    struct transfer transfer[TRANSFERS];
    int forgot;
    uint64_t advert_us;            /* when it advertises next */
    uint64_t names_until_us[2];    /* what it has promised, before and after the move */
};

/* What a server has told a machine that it may have, and until when. */
struct promise {
    struct tenon_ip ip;
    uint64_t until_us;
};

/* A DHCP answer that is sent later. */
struct late {
    struct server *server;
    struct tenon_addr to;
    tenon_u8 bytes[600];
    unsigned n;
    uint64_t at_us;
    uint8_t used;
};

struct history {
    struct plan plan;
    int verbose;
    struct wire *wire;
    struct machine machine[MACHINES_MAX];
    struct server server[SERVERS_MAX];
    struct wire_host *squatter;
    struct promise promise[MACHINES_MAX][SERVERS_MAX * POOL * 2];
    struct late late[LATE_MAX];
    uint64_t start, chance;
    int moved, healed, ending;
    uint64_t leases, names, files, times, frames, bent, forged;
};

/* world.c */
void history_run(struct history *h);
void history_fail(const struct history *h, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void history_note(const struct history *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t history_now(const struct history *h);                  /* since the start */
uint32_t history_chance(struct history *h, uint32_t below);     /* 0 to below - 1 */
int history_happens(struct history *h, uint32_t ppm);           /* until all is well */
tenon_u32 history_net(const struct history *h);                 /* the network, 24 bits of it */
int is_within(const struct span_us *spans, unsigned n, uint64_t now);

/* What is at the places of names and in files: truth.c */
enum name_kind { NAME_NONE, NAME_EMPTY, NAME_LONG, NAME_ALIAS, NAME_FAILS, NAME_PLAIN };
enum name_kind truth_kind(unsigned number);
unsigned truth_addresses(unsigned number);
struct tenon_ip truth_address(unsigned number, enum tenon_dns_type type, unsigned i);
uint32_t truth_file_bytes(unsigned number);
tenon_u8 truth_file_byte(unsigned number, uint32_t at);
uint64_t truth_time_us(const struct history *h);                /* of day, since 1970 */

/* machine.c: the machine, and what happens to it */
void machine_open(struct history *h, unsigned index);
void machine_tick(struct machine *m);
void machine_heal(struct machine *m);
void machine_stop(struct machine *m);    /* the program, and that all came back */
void machine_close(struct machine *m);

/* program.c: what it does */
void program_start(struct machine *m);
tenon_u32 program_turn(struct machine *m, tenon_u32 now_us);
void program_stop(struct machine *m, tenon_u32 now_us);
void program_lost(struct machine *m);    /* without notice */
int program_is_content(const struct machine *m);
void program_check_end(const struct machine *m);
void program_describe(const struct machine *m);

/* forger.c */
void forge(struct machine *m);

/* advert.c */
struct tenon_ip network6(const struct history *h);
struct tenon_ip server_ip6(const struct history *h, unsigned index);
struct tenon_ip server_link_local(const struct server *s);
int is_link_local6(const struct tenon_ip *ip);
void advert_tick(struct server *s);
unsigned advert_forge(const struct history *h, tenon_u8 *bytes);    /* @return how many */

/* server.c, and each protocol by itself */
void server_open(struct history *h, unsigned index);
void server_tick(struct server *s);
void server_move(struct server *s);
void server_close(struct server *s);
int server_is_silent(const struct server *s);
struct tenon_ip server_ip(const struct history *h, unsigned index);
struct tenon_udp *server_socket(struct server *s, unsigned port, const struct tenon_udp_events *events, void *app);
uint32_t server_gather(tenon_u8 *to, uint32_t room, const struct tenon_span *spans, unsigned n);
void dhcp_server_open(struct server *s);
void dhcp_server_tick(struct server *s);
void dhcp_server_heal(struct server *s);
void names_open(struct server *s);
void names_close(struct server *s);
void time_open(struct server *s);
void files_open(struct server *s);
void files_tick(struct server *s);
void files_close(struct server *s);

#endif
