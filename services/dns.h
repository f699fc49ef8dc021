/* SPDX-License-Identifier: MIT */
/** @file
 *  Names: a stub resolver (RFC 1034 5.3.1, RFC 1035, RFC 5452) that asks recursive servers for A and AAAA,
 *  with a cache, also of what is not there (RFC 2308). What does not fit a datagram is asked again over TCP
 *  (RFC 7766), if the program wants that.
 *
 *  Each question goes out with an identifier and from a port that are random, on a socket that hears its
 *  server only; the same question is not on its way twice (RFC 5452 5 to 9). Answers that do not fit their
 *  question are dropped and counted. Driven as all services: tenon_dns_poll() after each tenon_poll(). */
#ifndef TENON_SERVICES_DNS_H
#define TENON_SERVICES_DNS_H

#include <tenon/tcp.h>
#include <tenon/udp.h>

#include "clock.h"

TENON_BEGIN_DECLS

/** Limits of a resolver. */
enum {
    TENON_DNS_NAME_MAX = 253,       /**< characters of a name, without a dot at its end (RFC 1035 2.3.4) */
    TENON_DNS_CACHED_NAME_MAX = 63, /**< longer ones are not cached */
    TENON_DNS_ADDRESSES_MAX = 8,    /**< of one answer; more are not looked at */
    TENON_DNS_SERVERS_MAX = 3,
    TENON_DNS_ROOM_MIN = 514        /**< for an answer over TCP: what a datagram holds, and its length before it */
};

/** What is asked for: numbers of RFC 1035 3.2.2 and RFC 3596 2.1. */
enum tenon_dns_type { TENON_DNS_A = 1, TENON_DNS_AAAA = 28 };

/** How a question ended. */
enum tenon_dns_status {
    TENON_DNS_OK,           /**< there are addresses */
    TENON_DNS_NO_NAME,      /**< there is no such name (NXDOMAIN) */
    TENON_DNS_NO_DATA,      /**< the name has no address of this type */
    TENON_DNS_NO_SERVER,    /**< no server is known */
    TENON_DNS_TIMEOUT,      /**< none has answered */
    TENON_DNS_FAILED,       /**< a server answered that it could not, or would not, and no other one had the answer */
    TENON_DNS_TRUNCATED,    /**< the answer does not fit a datagram of 512 bytes, and TCP is not used; or was cut there
                                 too */
    TENON_DNS_NO_TCP,       /**< ... and a server refused the connection, or ended it before the answer was whole */
    TENON_DNS_TOO_LONG      /**< ... and it is longer than the room for it */
};

/** What is counted: X(NAME, "name", "what it counts"). What came from another address or port than the question went
 *  to has been dropped by the core. */
#define TENON_DNS_STATS(X) \
    X(SENT, "sent", "questions sent") \
    X(OVER_TCP, "over_tcp", "of them over TCP, because the answer in a datagram was cut") \
    X(NOT_SENT, "not_sent", "attempts to send a question that the core refused, or had no memory or way for") \
    X(CACHED, "cached", "questions answered from the cache") \
    X(SHARED, "shared", "questions that waited for the answer to the same one") \
    X(ANSWERED, "answered", "answers taken") \
    X(TIMEOUTS, "timeouts", "times a server did not answer in time") \
    X(UNREACHED, "unreached", "ICMP errors about questions") \
    X(REFUSED, "refused", "servers that said that they could not, or would not") \
    X(TRUNCATED, "truncated", "answers that say that they are cut") \
    X(TCP_CLOSED, "tcp_closed", "connections that a server refused, or ended before the answer was whole") \
    X(TOO_LONG, "too_long", "answers over TCP that are longer than the room for them") \
    X(BAD_LENGTH, "bad_length", "answers shorter than a header, or datagrams longer than 512 bytes") \
    X(OTHER_ID, "other_id", "answers with another identifier, or that are none") \
    X(OTHER_QUESTION, "other_question", "answers to another question") \
    X(BAD_NAME, "bad_name", "answers with a name that is too long, or whose pointers do not lead back") \
    X(BAD_RECORD, "bad_record", "answers with a record that is cut, or has a wrong length")

#define TENON_DNS_STATS_ENUM(id, name, text) TENON_DNS_STAT_##id,
enum tenon_dns_stat { TENON_DNS_STATS(TENON_DNS_STATS_ENUM) TENON_DNS_STAT_COUNT };
#undef TENON_DNS_STATS_ENUM

/** An answer. */
struct tenon_dns_answer {
    enum tenon_dns_status status;
    unsigned n;
    struct tenon_ip ips[TENON_DNS_ADDRESSES_MAX];    /**< in the server's order */
    tenon_u32 ttl_s;                                 /**< how long it holds, of all records together; that there is
                                                          nothing too (RFC 2308), 0: for now */
};

/** Called once for each question, within tenon_dns_poll(). May ask more.
 *  @param name    as it was asked for, in lower case; valid during the call, as is `answer` */
typedef void tenon_dns_done(void *app, const char *name, const struct tenon_dns_answer *answer);

struct tenon_dns;

/** A question on its way; an array of them is the caller's, and the resolver's alone from tenon_dns_open() on. */
struct tenon_dns_query {
    struct tenon_dns *dns;
    struct tenon_udp *sock;                /* NULL: none is open */
    tenon_dns_done *done;
    void *app;
    struct tenon_svc_time due;
    struct tenon_dns_answer answer;
    tenon_u32 mix;                         /* which letters go out as capitals */
    tenon_u32 held_ms;                     /* so long it could not leave, in this round */
    tenon_u16 id;
    tenon_u8 server;                       /* that was asked last */
    tenon_u8 type;
    tenon_u8 state;
    tenon_u8 sends;
    tenon_u8 asked;                        /* a server was, in this round */
    tenon_u8 heard;                        /* an answer, or an error, waits for the poll */
    tenon_u8 failed;                       /* what a server said last of why it has no answer; 0: none said anything */
    char name[TENON_DNS_NAME_MAX + 1];
};

/** A cached answer; an array of them is the caller's. */
struct tenon_dns_entry {
    struct tenon_svc_time until;
    struct tenon_ip ips[TENON_DNS_ADDRESSES_MAX];
    tenon_u8 used;
    tenon_u8 status;                       /* enum tenon_dns_status; TENON_DNS_NO_NAME is so for all types */
    tenon_u8 n;
    tenon_u8 type;
    char name[TENON_DNS_CACHED_NAME_MAX + 1];
};

/** Another way to ask than by datagrams. */
struct tenon_dns_way {
    /** Ask a server; the answer, or what is wrong, is noted in the question.
     *  @return TENON_OK, or an error of the core */
    int (*ask)(struct tenon_dns_query *query, const struct tenon_addr *to);
    /** It is over, one way or another; whole: by an answer. */
    void (*end)(struct tenon_dns *dns, int whole);
};

/** TCP (RFC 7766). In a file of its own, `dns_tcp.c`: who does not name it has none of its code. */
extern const struct tenon_dns_way tenon_dns_tcp;

/** How a resolver works. */
struct tenon_dns_conf {
    struct tenon_dns_query *queries;       /**< questions at a time */
    unsigned nqueries;                     /**< 1 and up */
    struct tenon_dns_entry *entries;       /**< the cache; NULL: none */
    unsigned nentries;
    tenon_u32 timeout_ms;                  /**< for the first answer of a server; doubles in each round; 0: 2000 */
    unsigned rounds;                       /**< times that each server is asked; 0: 3, at most 8 */
    int mixed_case; /**< 1: letters go out as capitals by chance, and the answer must repeat them:
                         harder to guess, but a few servers do not repeat them */
    const struct tenon_dns_way *tcp;       /**< &tenon_dns_tcp: what does not fit a datagram is asked again over TCP,
                                                one question at a time; NULL: it ends with TENON_DNS_TRUNCATED */
    tenon_u8 *room;                        /**< for an answer over TCP; kept until tenon_dns_close() */
    unsigned room_bytes;                   /**< TENON_DNS_ROOM_MIN and up: two more than the longest answer */
};

/** A resolver. The memory is the caller's. He may read `stats`. */
struct tenon_dns {
    tenon_u32 stats[TENON_DNS_STAT_COUNT];

    struct tenon *stack;
    struct tenon_dns_conf conf;
    struct tenon_svc_clock clock;
    struct tenon_addr servers[TENON_DNS_SERVERS_MAX];
    unsigned nservers;
    unsigned first;                        /* the server that is asked first: it answered last */
    struct tenon_dns_query *talking;       /* the question that is asked over TCP; NULL: none */
    struct tenon_tcp *conn;                /* its connection; NULL: it has ended */
    unsigned got;                          /* bytes in `room` */
    tenon_u8 stirred;                      /* 1: there is something for the core to do */
};

/** Make a resolver, without servers yet. In a build without TENON_WITH_UDP or TENON_WITH_CONNECT no query gets an
 *  answer.
 *  @param conf  copied; the arrays are kept until tenon_dns_close()
 *  @return TENON_OK or TENON_EINVAL */
int tenon_dns_open(struct tenon_dns *dns, struct tenon *stack, const struct tenon_dns_conf *conf, tenon_u32 now_us);

/** Whom to ask from now on, in this order; those after the first TENON_DNS_SERVERS_MAX are left out.
 * Questions that are on their way begin anew. tenon_rdnss_servers() puts together what DHCP and routers tell.
 *  @param servers  n of them: of a link-local one `netif` says the link; port 0: the usual one, 53 */
void tenon_dns_servers(struct tenon_dns *dns, const struct tenon_addr *servers, unsigned n);

/** Ask for the addresses of a name. `done` is called from a later tenon_dns_poll(), also when the answer is
 * known already: call that one soon. A text that is an address is its own answer.
 *  @param name  0-terminated, copied: labels of 1 to 63 letters, digits, '-' and '_' with dots between them,
 *               and perhaps one at the end; no label begins or ends with '-' (RFC 1123 2.1)
 *  @param type  in a build without TENON_WITH_IPV6 AAAA ends with TENON_DNS_NO_DATA at once
 *  @return TENON_OK, TENON_EINVAL (no such name can be), TENON_ELIMIT (all queries are in use) */
int tenon_dns_ask(struct tenon_dns *dns, const char *name, enum tenon_dns_type type, tenon_dns_done *done, void *app);

/** Forget all questions with this `app`: done() is not called for them. */
void tenon_dns_cancel(struct tenon_dns *dns, void *app);

/** Do what is due, and tenon_poll() when there is something for the core to do. Not to be called from a handler.
 *  @return microseconds until it wants to be called again, at most 30 minutes; earlier after each tenon_poll() */
tenon_u32 tenon_dns_poll(struct tenon_dns *dns, tenon_u32 now_us);

/** Forget all questions, and the cache. */
void tenon_dns_close(struct tenon_dns *dns);

/** A status in words ("no such name"); the name of a counter (NULL for a number that is none). */
const char *tenon_dns_status_text(enum tenon_dns_status status);
const char *tenon_dns_stat_name(enum tenon_dns_stat stat);

TENON_END_DECLS

#endif
