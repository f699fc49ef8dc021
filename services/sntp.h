/* SPDX-License-Identifier: MIT */
/** @file
 *  The time of day from an NTP server: SNTP (RFC 4330, RFC 5905 14), one exchange at a time.
 *
 *  It sets no clock. It knows how far the counter of microseconds that tenon_poll() is given lies from the time of day,
 *  and answers what time it is. Driven as all services: tenon_sntp_poll() after each tenon_poll(). */
#ifndef TENON_SERVICES_SNTP_H
#define TENON_SERVICES_SNTP_H

#include <tenon/udp.h>

#include "clock.h"

TENON_BEGIN_DECLS

/** What is counted: X(NAME, "name", "what it counts"). What came from another address or port than the request went to
 *  has been dropped by the core. */
#define TENON_SNTP_STATS(X) \
    X(SENT, "sent", "requests sent") \
    X(NOT_SENT, "not_sent", "attempts to send one that the core refused, or had no memory or way for") \
    X(ANSWERED, "answered", "answers taken") \
    X(TIMEOUTS, "timeouts", "requests without an answer") \
    X(UNREACHED, "unreached", "ICMP errors about requests") \
    X(KISSED, "kissed", "answers that say to ask less often, or not at all (Kiss-o'-Death)") \
    X(BAD_LENGTH, "bad_length", "answers of fewer than 48 bytes, or more than 68 (RFC 5905 7.3)") \
    X(BAD_MODE, "bad_mode", "not an answer of a server, or of an unknown version") \
    X(OTHER_ORIGIN, "other_origin", "answers to another request than the last one") \
    X(UNSYNCHRONIZED, "unsynchronized", "answers of a server that does not know the time itself") \
    X(BAD_TIME, "bad_time", "answers that were sent before they were received, or took longer than the whole exchange")

#define TENON_SNTP_STATS_ENUM(id, name, text) TENON_SNTP_STAT_##id,
enum tenon_sntp_stat { TENON_SNTP_STATS(TENON_SNTP_STATS_ENUM) TENON_SNTP_STAT_COUNT };
#undef TENON_SNTP_STATS_ENUM

/** How far it is. */
enum tenon_sntp_state {
    TENON_SNTP_STOPPED,    /**< not started, or told by the server to go away (DENY, RSTR) */
    TENON_SNTP_WAITING,    /**< for the time of the next request */
    TENON_SNTP_ASKED       /**< a request is out */
};

/** A time of day: seconds since 1970-01-01 00:00 UTC without leap seconds, modulo 2^32 (until 2106). */
struct tenon_sntp_time {
    tenon_u32 s, us;
};

struct tenon_sntp;

/** How a client works. */
struct tenon_sntp_conf {
    struct tenon_ip server;
    tenon_u32 interval_s;      /**< between exchanges; at least 15 (RFC 4330 10); 0: default 1024 */
    tenon_u32 timeout_ms;      /**< for an answer; 15 s after that the next request goes out, then twice as long
                                    later each time; 0: default 5000 */
    tenon_u32 delay_max_ms;    /**< answers that take longer are not used; 0: default 1000 */
    /** The time is known, or known anew. May be NULL; called within tenon_sntp_poll() only. */
    void (*changed)(struct tenon_sntp *sntp, void *app);
    void *app;
};

/** A client. The memory is the caller's, all zero before the first start. He may read the fields of the first part. */
struct tenon_sntp {
    enum tenon_sntp_state state;
    int known;                        /**< 1: there was an answer, and tenon_sntp_now() knows the time */
    tenon_u32 delay_us;               /**< there and back, of the last answer: it may be wrong by half of that */
    tenon_u8 stratum;                 /**< of the server, 1 to 15 */
    tenon_u32 stats[TENON_SNTP_STAT_COUNT];

    struct tenon *stack;
    struct tenon_sntp_conf conf;
    struct tenon_udp *sock;           /* NULL: none is open */
    struct tenon_svc_clock clock;
    struct tenon_svc_time due;
    struct tenon_svc_time sent;
    struct tenon_sntp_time base;      /* the time of day when the clock stood at `at` */
    struct tenon_svc_time at;
    tenon_u32 origin[2];              /* what the answer must repeat; nobody can guess it */
    tenon_u32 received[2], transmitted[2];
    tenon_u32 interval_s, wait_ms;
    tenon_u32 held_ms;                /* so long a request could not leave */
    tenon_u8 heard, heard_stratum;
    tenon_u8 stirred;                 /* 1: there is something for the core to do */
};

/** Begin; the first request goes out at the next tenon_sntp_poll(). In a build without TENON_WITH_UDP or
 *  TENON_WITH_CONNECT none does.
 *  @param conf  copied
 *  @return TENON_OK or TENON_EINVAL (a bad value, started already) */
int tenon_sntp_start(struct tenon_sntp *sntp, struct tenon *stack, const struct tenon_sntp_conf *conf,
                     tenon_u32 now_us);

/** Do what is due, and tenon_poll() when there is something for the core to do. Not to be called from a handler.
 *  @return microseconds until it wants to be called again, at most 30 minutes; earlier after each tenon_poll() */
tenon_u32 tenon_sntp_poll(struct tenon_sntp *sntp, tenon_u32 now_us);

/** What time it is.
 *  @param now_us     as given to tenon_poll(); no earlier than the last tenon_sntp_poll(), and at most 71 minutes later
 *  @param[out] time  written when 1 is returned
 *  @return 0: nobody has told yet */
int tenon_sntp_now(const struct tenon_sntp *sntp, struct tenon_sntp_time *time, tenon_u32 now_us);

/** End. The time that is known stays known for as long as tenon_sntp_poll() is called. */
void tenon_sntp_stop(struct tenon_sntp *sntp);

/** Name of a counter; NULL for a number that is none. */
const char *tenon_sntp_stat_name(enum tenon_sntp_stat stat);

TENON_END_DECLS

#endif
