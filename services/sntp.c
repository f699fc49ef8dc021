/* SPDX-License-Identifier: MIT */
/* SNTP (RFC 4330; the packet and its checks: RFC 5905 7.3, 14). */
#include "sntp.h"

#include "internal.h"

enum { SNTP_PORT = 123, SNTP_BYTES = 48, SNTP_BYTES_MAX = 68 /* with a key and a digest */ };
enum { SNTP_AT_STRATUM = 1, SNTP_AT_KISS = 12, SNTP_AT_ORIGIN = 24, SNTP_AT_RECEIVED = 32, SNTP_AT_TRANSMITTED = 40 };
enum { SNTP_MODE_CLIENT = 3, SNTP_MODE_SERVER = 4, SNTP_VERSION = 4, SNTP_UNSYNCHRONIZED = 3 };
enum { SNTP_INTERVAL_MIN_S = 15, SNTP_INTERVAL_S = 1024, SNTP_TIMEOUT_MS = 5000, SNTP_DELAY_MS = 1000 };
enum sntp_heard { SNTP_NOTHING, SNTP_TIME, SNTP_SLOWER, SNTP_NEVER, SNTP_ERROR };
#define SNTP_INTERVAL_MAX_S 131072UL    /* RFC 5905 7.3: 2^17 */
#define SNTP_TO_1970 2208988800UL       /* seconds from 1900 */
#define SNTP_KISS_RATE 0x52415445UL
#define SNTP_KISS_DENY 0x44454E59UL
#define SNTP_KISS_RSTR 0x52535452UL

/* ---- numbers: no integer has more than 32 bits ------------------------------------------------------------- */

/* A fraction in units of 2^-32 s -> microseconds: times 1000000 = 15625 * 2^6, the halves apart. */
static tenon_u32 sntp_microseconds(tenon_u32 fraction)
{
    const tenon_u32 high = (fraction >> 16) * 15625UL & 0xFFFFFFFFUL;
    const tenon_u32 low = (fraction & 0xFFFFUL) * 15625UL & 0xFFFFFFFFUL;

    return (high + (low >> 16)) >> 10;
}

/* NTP counts from 1900 and wraps in 2036 (RFC 4330 3), we from 1970: their difference is right modulo 2^32. */
static struct tenon_sntp_time sntp_of_ntp(const tenon_u32 ntp[2])
{
    struct tenon_sntp_time time;

    time.s = (tenon_u32)((ntp[0] - SNTP_TO_1970) & 0xFFFFFFFFUL);
    time.us = sntp_microseconds(ntp[1]);
    return time;
}

/* b - a in microseconds. @return 0: a is later, or they lie more than a minute apart */
static int sntp_between(tenon_u32 *us, const struct tenon_sntp_time *a, const struct tenon_sntp_time *b)
{
    const tenon_u32 s = b->s - a->s;

    if (s > 60 || (s == 0 && b->us < a->us))
        return 0;
    *us = s * TENON_SVC_SECOND_US + b->us - a->us;
    return 1;
}

static void sntp_add(struct tenon_sntp_time *time, tenon_u32 s, tenon_u32 us)
{
    time->s += s + us / TENON_SVC_SECOND_US;
    time->us += us % TENON_SVC_SECOND_US;
    if (time->us >= TENON_SVC_SECOND_US) {
        time->us -= TENON_SVC_SECOND_US;
        time->s++;
    }
}

/* ---- answers -------------------------------------------------------------------------------------------------- */

/* RFC 5905 7.4: RATE asks for less, the other two for nothing any more; of other codes nothing is to be learnt. */
static enum sntp_heard sntp_kiss(tenon_u32 code)
{
    if (code == SNTP_KISS_DENY || code == SNTP_KISS_RSTR)
        return SNTP_NEVER;
    return code == SNTP_KISS_RATE ? SNTP_SLOWER : SNTP_ERROR;
}

/* @return 0, or the counter of what is wrong with it */
static enum tenon_sntp_stat sntp_take(struct tenon_sntp *sntp, const tenon_u8 *p, tenon_u32 n)
{
    const unsigned version = p[0] >> 3 & 7U, stratum = p[SNTP_AT_STRATUM];

    if (n < SNTP_BYTES || n > SNTP_BYTES_MAX)
        return TENON_SNTP_STAT_BAD_LENGTH;
    if ((p[0] & 7) != SNTP_MODE_SERVER || version < 3 || version > SNTP_VERSION)
        return TENON_SNTP_STAT_BAD_MODE;
    if (svc_get32(p + SNTP_AT_ORIGIN) != sntp->origin[0] || svc_get32(p + SNTP_AT_ORIGIN + 4) != sntp->origin[1])
        return TENON_SNTP_STAT_OTHER_ORIGIN;
    if (stratum == 0) {
        sntp->heard = (tenon_u8)sntp_kiss(svc_get32(p + SNTP_AT_KISS));
        return TENON_SNTP_STAT_KISSED;
    }
    sntp->received[0] = svc_get32(p + SNTP_AT_RECEIVED);
    sntp->received[1] = svc_get32(p + SNTP_AT_RECEIVED + 4);
    sntp->transmitted[0] = svc_get32(p + SNTP_AT_TRANSMITTED);
    sntp->transmitted[1] = svc_get32(p + SNTP_AT_TRANSMITTED + 4);
    if (p[0] >> 6 == SNTP_UNSYNCHRONIZED || stratum > 15 || (sntp->transmitted[0] | sntp->transmitted[1]) == 0)
        return TENON_SNTP_STAT_UNSYNCHRONIZED;
    sntp->heard = SNTP_TIME;
    sntp->heard_stratum = (tenon_u8)stratum;
    return (enum tenon_sntp_stat)0;
}

static void sntp_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                          const struct tenon_span *spans, unsigned n)
{
    struct tenon_sntp *sntp = (struct tenon_sntp *)app;
    tenon_u8 bytes[SNTP_BYTES_MAX];
    enum tenon_sntp_stat wrong;

    (void)sock;
    (void)info;
    if (sntp->heard == SNTP_TIME)
        return;    /* the same once more, before the poll */
    memset(bytes, 0, sizeof(bytes));
    wrong = sntp_take(sntp, bytes, svc_gather(bytes, sizeof(bytes), spans, n));
    if (wrong != 0)
        sntp->stats[wrong]++;
}

static void sntp_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    struct tenon_sntp *sntp = (struct tenon_sntp *)app;

    (void)sock;
    (void)to;
    (void)error;
    sntp->stats[TENON_SNTP_STAT_UNREACHED]++;
    if (sntp->heard == SNTP_NOTHING)
        sntp->heard = SNTP_ERROR;
}

static const struct tenon_udp_events sntp_events = { sntp_received, sntp_error };

/* ---- requests ------------------------------------------------------------------------------------------------- */

static void sntp_hang_up(struct tenon_sntp *sntp)
{
    if (sntp->sock != NULL)
        tenon_udp_close(sntp->sock);
    sntp->sock = NULL;
    sntp->heard = SNTP_NOTHING;
}

static int sntp_call(struct tenon_sntp *sntp)
{
    tenon_u8 bytes[SNTP_BYTES];
    struct tenon_addr to;
    int error = tenon_udp_open(sntp->stack, &sntp->sock, &sntp_events, sntp);

    if (error != TENON_OK) {
        sntp->sock = NULL;
        return error;
    }
    to.ip = sntp->conf.server;
    to.port = SNTP_PORT;
    to.netif = 0;
    memset(bytes, 0, sizeof(bytes));
    bytes[0] = SNTP_VERSION << 3 | SNTP_MODE_CLIENT;
    svc_put32(bytes + SNTP_AT_TRANSMITTED, sntp->origin[0]);
    svc_put32(bytes + SNTP_AT_TRANSMITTED + 4, sntp->origin[1]);
    error = tenon_udp_connect(sntp->sock, &to);
    return error == TENON_OK ? tenon_udp_write(sntp->sock, NULL, bytes, sizeof(bytes)) : error;
}

static void sntp_rest(struct tenon_sntp *sntp, tenon_u32 s, tenon_u32 ms)
{
    sntp_hang_up(sntp);
    sntp->state = TENON_SNTP_WAITING;
    sntp->due = tenon_svc_later(sntp->clock.now, s, ms);
}

/* The request carries no time of ours, which nobody needs, but a number that an answer from elsewhere cannot know. */
static void sntp_ask(struct tenon_sntp *sntp)
{
    sntp_hang_up(sntp);
    sntp->origin[0] = tenon_random(sntp->stack);
    sntp->origin[1] = tenon_random(sntp->stack);
    sntp->sent = sntp->clock.now;
    sntp->stirred = sntp_call(sntp) == TENON_OK;
    sntp->stats[sntp->stirred ? TENON_SNTP_STAT_SENT : TENON_SNTP_STAT_NOT_SENT]++;
    if (!sntp->stirred) {    /* no server is the worse for it: soon again */
        sntp_rest(sntp, 0, svc_pause(&sntp->held_ms, SNTP_INTERVAL_MIN_S * 1000));
        return;
    }
    sntp->held_ms = 0;
    sntp->state = TENON_SNTP_ASKED;
    sntp->due = tenon_svc_later(sntp->clock.now, 0, sntp->conf.timeout_ms);
}

/* RFC 4330 10: never more often than each 15 seconds, and ever less often for want of an answer. */
static void sntp_fail(struct tenon_sntp *sntp)
{
    sntp_rest(sntp, 0, sntp->wait_ms);
    if (sntp->wait_ms / 1000 < sntp->interval_s)
        sntp->wait_ms *= 2;
}

/* RFC 4330 5: t = T3 + d/2 at T4, with d = (T4 - T1) - (T3 - T2). */
static void sntp_set(struct tenon_sntp *sntp)
{
    const struct tenon_sntp_time t2 = sntp_of_ntp(sntp->received), t3 = sntp_of_ntp(sntp->transmitted);
    struct tenon_sntp_time t1, t4;
    tenon_u32 whole = 0, inside = 0;

    t1.s = sntp->sent.s, t1.us = sntp->sent.us;
    t4.s = sntp->clock.now.s, t4.us = sntp->clock.now.us;
    if (!sntp_between(&whole, &t1, &t4) || !sntp_between(&inside, &t2, &t3) || inside > whole ||
        whole - inside > sntp->conf.delay_max_ms * 1000) {
        sntp->stats[TENON_SNTP_STAT_BAD_TIME]++;
        sntp_fail(sntp);
        return;
    }
    sntp->stats[TENON_SNTP_STAT_ANSWERED]++;
    sntp->known = 1;
    sntp->delay_us = whole - inside;
    sntp->stratum = sntp->heard_stratum;
    sntp->base = t3;
    sntp_add(&sntp->base, 0, sntp->delay_us / 2);
    sntp->at = sntp->clock.now;
    sntp->wait_ms = SNTP_INTERVAL_MIN_S * 1000;
    sntp_rest(sntp, sntp->interval_s, 0);
    if (sntp->conf.changed != NULL)
        sntp->conf.changed(sntp, sntp->conf.app);
}

static void sntp_hear(struct tenon_sntp *sntp)
{
    switch ((enum sntp_heard)sntp->heard) {
    case SNTP_TIME: sntp_set(sntp); break;
    case SNTP_SLOWER:
        if (sntp->interval_s < SNTP_INTERVAL_MAX_S)
            sntp->interval_s *= 2;
        sntp_rest(sntp, sntp->interval_s, 0);
        break;
    case SNTP_NEVER: tenon_sntp_stop(sntp); break;
    case SNTP_ERROR: sntp_fail(sntp); break;
    case SNTP_NOTHING: break;
    }
}

/* ---- the interface of the service ----------------------------------------------------------------------------- */

int tenon_sntp_start(struct tenon_sntp *sntp, struct tenon *stack, const struct tenon_sntp_conf *conf,
                     tenon_u32 now_us)
{
    struct tenon_sntp_conf own = *conf;

    if (own.interval_s == 0)
        own.interval_s = SNTP_INTERVAL_S;
    if (own.timeout_ms == 0)
        own.timeout_ms = SNTP_TIMEOUT_MS;
    if (own.delay_max_ms == 0)
        own.delay_max_ms = SNTP_DELAY_MS;
    if (sntp->state != TENON_SNTP_STOPPED || own.interval_s < SNTP_INTERVAL_MIN_S ||
        own.interval_s > SNTP_INTERVAL_MAX_S || own.timeout_ms < 1000 || own.timeout_ms > 60000UL ||
        own.delay_max_ms > 60000UL || tenon_ip_is_any(&own.server))
        return TENON_EINVAL;
    memset(sntp, 0, sizeof(*sntp));
    sntp->stack = stack;
    sntp->conf = own;
    sntp->interval_s = own.interval_s;
    sntp->wait_ms = SNTP_INTERVAL_MIN_S * 1000;
    tenon_svc_clock_start(&sntp->clock, now_us);
    sntp_rest(sntp, 0, 0);
    return TENON_OK;
}

tenon_u32 tenon_sntp_poll(struct tenon_sntp *sntp, tenon_u32 now_us)
{
    tenon_u32 wait;

    tenon_svc_clock_move(&sntp->clock, now_us);
    sntp_hear(sntp);
    if (sntp->state == TENON_SNTP_STOPPED)
        return TENON_SVC_WAIT_MAX_US;
    if (tenon_svc_is_over(&sntp->clock, &sntp->due)) {
        if (sntp->state == TENON_SNTP_WAITING) {
            sntp_ask(sntp);
        } else {
            sntp->stats[TENON_SNTP_STAT_TIMEOUTS]++;
            sntp_fail(sntp);
        }
    }
    wait = tenon_svc_wait(&sntp->clock, &sntp->due);
    if (!sntp->stirred)
        return wait;
    sntp->stirred = 0;
    return svc_min(wait, tenon_poll(sntp->stack, now_us));
}

int tenon_sntp_now(const struct tenon_sntp *sntp, struct tenon_sntp_time *time, tenon_u32 now_us)
{
    struct tenon_svc_clock clock = sntp->clock;

    if (!sntp->known)
        return 0;
    tenon_svc_clock_move(&clock, now_us);
    *time = sntp->base;
    if (clock.now.us >= sntp->at.us)
        sntp_add(time, clock.now.s - sntp->at.s, clock.now.us - sntp->at.us);
    else
        sntp_add(time, clock.now.s - sntp->at.s - 1, clock.now.us + TENON_SVC_SECOND_US - sntp->at.us);
    return 1;
}

void tenon_sntp_stop(struct tenon_sntp *sntp)
{
    sntp_hang_up(sntp);
    sntp->state = TENON_SNTP_STOPPED;
}

#define SNTP_STAT_NAME(id, name, text) name,
const char *tenon_sntp_stat_name(enum tenon_sntp_stat stat)
{
    static const char *const names[] = { TENON_SNTP_STATS(SNTP_STAT_NAME) };

    return (unsigned)stat < TENON_ARRAY_LEN(names) ? names[(unsigned)stat] : NULL;
}
#undef SNTP_STAT_NAME
