/* SPDX-License-Identifier: MIT */
/* The stub resolver: which server is asked when, what is remembered. */
#include "dns.h"

#include "dns_message.h"
#include "internal.h"

/* DNS_QUEUED: its answer was cut, and another question is being asked over TCP, or that could not leave; DNS_HELD: the
 * message could not leave. Both are tried again, when they are due. */
enum dns_state { DNS_FREE, DNS_BEGIN, DNS_WAITING, DNS_HELD, DNS_QUEUED, DNS_SHARED, DNS_DONE };
enum { DNS_PORT = 53, DNS_PORT_TRIES = 8, DNS_ROUNDS = 3, DNS_ROUNDS_MAX = 8, DNS_TIMEOUT_MS = 2000 };
enum { DNS_PAUSE_MAX_MS = 250 };

/* ---- names ---------------------------------------------------------------------------------------------------- */

static int dns_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* One label. @return its length; 0: none can be like that */
static unsigned dns_label_bytes(const char *p)
{
    unsigned n = 0;

    while (n <= 63 && dns_is_letter(p[n]))
        n++;
    return n == 0 || n > 63 || p[0] == '-' || p[n - 1] == '-' ? 0 : n;
}

/* In lower case, and without a dot at its end. @return 0: it is no name */
static int dns_take_name(char *to, const char *name)
{
    unsigned at = 0, n, i;

    for (;;) {
        n = dns_label_bytes(name + at);
        if (n == 0 || at + n > TENON_DNS_NAME_MAX)
            return 0;
        for (i = at; i < at + n; i++)
            to[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
        at += n;
        if (name[at] != '.' || name[at + 1] == 0)
            break;
        to[at++] = '.';
    }
    to[at] = 0;
    return name[at] == 0 || name[at] == '.';
}

static int dns_names_equal(const char *a, const char *b)
{
    while (*a != 0 && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* ---- the cache ------------------------------------------------------------------------------------------------ */

static struct tenon_dns_entry *dns_find(const struct tenon_dns *dns, const struct tenon_dns_query *query)
{
    unsigned i;

    for (i = 0; i < dns->conf.nentries; i++) {
        struct tenon_dns_entry *entry = &dns->conf.entries[i];

        if (entry->used && tenon_svc_is_over(&dns->clock, &entry->until))
            entry->used = 0;
        if (entry->used && (entry->type == query->type || entry->status == TENON_DNS_NO_NAME) &&
            dns_names_equal(entry->name, query->name))
            return entry;
    }
    return NULL;
}

/* A free one, or that which ends first. */
static struct tenon_dns_entry *dns_victim(const struct tenon_dns *dns)
{
    struct tenon_dns_entry *victim = NULL;
    tenon_u32 least = 0xFFFFFFFFUL;
    unsigned i;

    for (i = 0; i < dns->conf.nentries; i++) {
        struct tenon_dns_entry *entry = &dns->conf.entries[i];
        const tenon_u32 left = entry->used ? tenon_svc_seconds_left(&dns->clock, &entry->until) : 0;

        if (left < least) {
            least = left;
            victim = entry;
        }
    }
    return victim;
}

static void dns_remember(struct tenon_dns *dns, const struct tenon_dns_query *query)
{
    struct tenon_dns_entry *entry = dns_find(dns, query);
    unsigned bytes = 0;

    while (query->name[bytes] != 0)
        bytes++;
    if (query->answer.ttl_s == 0 || bytes > TENON_DNS_CACHED_NAME_MAX)
        return;
    if (entry == NULL)
        entry = dns_victim(dns);
    if (entry == NULL)
        return;
    memcpy(entry->name, query->name, bytes + 1);
    entry->used = 1;
    entry->status = (tenon_u8)query->answer.status;
    entry->type = query->type;
    entry->n = (tenon_u8)query->answer.n;
    memcpy(entry->ips, query->answer.ips, sizeof(entry->ips));
    entry->until = tenon_svc_later(dns->clock.now, query->answer.ttl_s, 0);
}

/* ---- asking --------------------------------------------------------------------------------------------------- */

/* Closing a connection may end another one, whose owner is told and may cancel, or ask anew: nothing of the query is
 * touched after that. */
static void dns_hang_up(struct tenon_dns_query *query)
{
    struct tenon_dns *dns = query->dns;
    const int whole = query->heard == DNS_ANSWER;

    if (query->sock != NULL)
        tenon_udp_close(query->sock);
    query->sock = NULL;
    query->heard = DNS_NOTHING;
    if (dns == NULL || dns->conf.tcp == NULL || dns->talking != query)
        return;
    dns->talking = NULL;
    dns->stirred = 1;
    dns->conf.tcp->end(dns, whole);
}

static void dns_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                         const struct tenon_span *spans, unsigned n)
{
    struct tenon_dns_query *query = (struct tenon_dns_query *)app;
    tenon_u8 bytes[DNS_BYTES_MAX];
    struct tenon_dns_answer answer;
    enum tenon_dns_stat wrong = TENON_DNS_STAT_BAD_LENGTH;
    tenon_u32 len;

    (void)sock;
    (void)info;
    if (query->heard == DNS_ANSWER)
        return;    /* the same once more, before the poll: it was good already */
    len = svc_gather(bytes, sizeof(bytes), spans, n);
    if (len <= sizeof(bytes))
        wrong = tenon_dns_parse(&answer, query, bytes, len);
    if (wrong != 0) {
        query->dns->stats[wrong]++;
        return;
    }
    query->answer = answer;
    query->heard = DNS_ANSWER;
}

static void dns_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    struct tenon_dns_query *query = (struct tenon_dns_query *)app;

    (void)sock;
    (void)to;
    (void)error;
    query->dns->stats[TENON_DNS_STAT_UNREACHED]++;
    if (query->heard != DNS_NOTHING)
        return;
    query->heard = DNS_ERROR;
    query->answer.status = TENON_DNS_TIMEOUT;
}

static const struct tenon_udp_events dns_events = { dns_received, dns_error };

/* RFC 5452 9.2: any port above the well-known ones, which nobody can guess. */
static int dns_bind(struct tenon_dns_query *query)
{
    struct tenon_addr at;
    unsigned i;
    int error = TENON_EINUSE;

    at.ip = tenon_ip_any();
    at.netif = 0;
    for (i = 0; i < DNS_PORT_TRIES && error == TENON_EINUSE; i++) {
        at.port = (tenon_u16)(1024 + svc_random_below(query->dns->stack, 64512UL));
        error = tenon_udp_bind(query->sock, &at);
    }
    return error;
}

static int dns_call(struct tenon_dns_query *query, const struct tenon_addr *to)
{
    tenon_u8 bytes[DNS_BYTES_MAX];
    int error = tenon_udp_open(query->dns->stack, &query->sock, &dns_events, query);

    if (error != TENON_OK) {
        query->sock = NULL;
        return error;
    }
    error = dns_bind(query);
    if (error == TENON_OK)
        error = tenon_udp_connect(query->sock, to);
    if (error == TENON_OK)
        error = tenon_udp_write(query->sock, NULL, bytes, tenon_dns_build(bytes, query));
    return error;
}

/* Each message has an identifier, a port and capitals of its own: an answer to an earlier one is too late. The server
 * has its time from now. */
static void dns_prepare(struct tenon_dns_query *query, struct tenon_addr *to)
{
    struct tenon_dns *dns = query->dns;
    const unsigned round = (query->sends - 1U) / dns->nservers;

    query->id = (tenon_u16)(tenon_random(dns->stack) & 0xFFFFUL);
    query->mix = dns->conf.mixed_case ? tenon_random(dns->stack) : 0;
    query->state = DNS_WAITING;
    query->due = tenon_svc_later(dns->clock.now, 0, dns->conf.timeout_ms << round);
    *to = dns->servers[query->server];
    if (to->port == 0)
        to->port = DNS_PORT;
}

/* What could not leave for want of memory is for the same server, soon, and has not been sent; where there is no way to
 * any server, all of them are tried again: an address may come. But a round lasts no longer for that than if all of it
 * had been lost. @return 0: on to the next one */
static int dns_hold(struct tenon_dns_query *query, int is_short)
{
    struct tenon_dns *dns = query->dns;
    const tenon_u32 wait_ms = dns->conf.timeout_ms << (query->sends - 1U) / dns->nservers;
    const unsigned back = is_short ? 1 : dns->nservers;

    if (!is_short && (query->asked || query->sends % dns->nservers != 0))
        return 0;
    if (query->held_ms >= (is_short ? wait_ms * dns->nservers : wait_ms))
        return 0;
    query->due = tenon_svc_later(dns->clock.now, 0, svc_pause(&query->held_ms, DNS_PAUSE_MAX_MS));
    query->state = DNS_QUEUED;
    if (dns->talking == query)
        return 1;
    query->state = DNS_HELD;
    query->sends = (tenon_u8)(query->sends - back);
    query->server = (tenon_u8)((query->server + dns->nservers - back) % dns->nservers);
    return 1;
}

/* error: of the core, which could not send it. A server to which there is no way (it is of IPv6, say, and the interface
 * has no address of that yet) is not waited for. */
static void dns_sent(struct tenon_dns_query *query, int error)
{
    struct tenon_dns *dns = query->dns;
    int held;

    if (error == TENON_OK) {
        dns->stats[TENON_DNS_STAT_SENT]++;
        dns->stirred = 1;
        query->asked = 1;
        return;
    }
    dns->stats[TENON_DNS_STAT_NOT_SENT]++;
    held = dns_hold(query, svc_is_short(error));
    dns_hang_up(query);
    if (held || query->state != DNS_WAITING)    /* it may have been forgotten in there */
        return;
    query->heard = DNS_ERROR;
    query->answer.status = TENON_DNS_TIMEOUT;
}

/* One server after the other, beginning with that which answered last. */
static void dns_send(struct tenon_dns_query *query)
{
    struct tenon_dns *dns = query->dns;
    struct tenon_addr to;

    dns_hang_up(query);
    query->server = (tenon_u8)((query->sends == 0 ? dns->first : query->server + 1U) % dns->nservers);
    query->sends++;
    dns_prepare(query, &to);
    dns_sent(query, dns_call(query, &to));
}

/* RFC 7766 5: the same server once more, over TCP, as soon as no other question is asked so. */
static void dns_send_tcp(struct tenon_dns_query *query)
{
    struct tenon_dns *dns = query->dns;
    struct tenon_addr to;
    int error;

    if (dns->talking != NULL)
        return;
    dns->talking = query;
    dns_prepare(query, &to);
    error = dns->conf.tcp->ask(query, &to);
    if (dns->talking != query)
        return;    /* forgotten meanwhile */
    if (error == TENON_OK)
        dns->stats[TENON_DNS_STAT_OVER_TCP]++;
    dns_sent(query, error);
}

/* ---- ends ----------------------------------------------------------------------------------------------------- */

static int dns_is_asked(const struct tenon_dns_query *query)
{
    return query->state == DNS_WAITING || query->state == DNS_HELD || query->state == DNS_QUEUED;
}

static int dns_is_same(const struct tenon_dns_query *a, const struct tenon_dns_query *b)
{
    return a->type == b->type && dns_names_equal(a->name, b->name);
}

/* What was found out is the answer to all who have asked the same. */
static void dns_finish(struct tenon_dns_query *query)
{
    struct tenon_dns *dns = query->dns;
    unsigned i;

    query->state = DNS_DONE;
    for (i = 0; i < dns->conf.nqueries; i++) {
        struct tenon_dns_query *other = &dns->conf.queries[i];

        if (other->state != DNS_SHARED || !dns_is_same(other, query))
            continue;
        other->answer = query->answer;
        other->state = DNS_DONE;
    }
    dns_hang_up(query);
}

/* Who has said why he has no answer is believed, not who was silent.
 * @param status  what it comes to if there is nobody left to ask */
static void dns_next(struct tenon_dns_query *query, enum tenon_dns_status status)
{
    struct tenon_dns *dns = query->dns;

    if (status != TENON_DNS_TIMEOUT)
        query->failed = (tenon_u8)status;
    if (query->sends % dns->nservers == 0)
        query->held_ms = query->asked = 0;    /* another round */
    if (query->sends < dns->conf.rounds * dns->nservers) {
        dns_hang_up(query);
        if (query->state == DNS_WAITING)    /* it may have been forgotten in there */
            dns_send(query);
        return;
    }
    memset(&query->answer, 0, sizeof(query->answer));
    query->answer.status = query->failed != 0 ? (enum tenon_dns_status)query->failed : TENON_DNS_TIMEOUT;
    dns_finish(query);
}

static void dns_take_answer(struct tenon_dns_query *query)
{
    struct tenon_dns *dns = query->dns;
    const enum tenon_dns_status status = query->answer.status;

    if (status == TENON_DNS_TRUNCATED && dns->conf.tcp != NULL && dns->talking != query) {
        dns->stats[TENON_DNS_STAT_TRUNCATED]++;
        dns_hang_up(query);
        query->state = DNS_QUEUED;
        query->due = dns->clock.now;
        return;
    }
    if (status == TENON_DNS_FAILED || status == TENON_DNS_TRUNCATED) {
        dns->stats[status == TENON_DNS_FAILED ? TENON_DNS_STAT_REFUSED : TENON_DNS_STAT_TRUNCATED]++;
        dns_next(query, status);
        return;
    }
    dns->stats[TENON_DNS_STAT_ANSWERED]++;
    dns->first = query->server;
    dns_remember(dns, query);
    dns_finish(query);
}

/* An earlier answer may still hold. Only the poll knows whether it does: the clock stands still until then. */
static int dns_recall(struct tenon_dns_query *query)
{
    struct tenon_dns *dns = query->dns;
    const struct tenon_dns_entry *entry = dns_find(dns, query);

    if (entry == NULL)
        return 0;
    dns->stats[TENON_DNS_STAT_CACHED]++;
    query->answer.status = (enum tenon_dns_status)entry->status;
    query->answer.n = entry->n;
    query->answer.ttl_s = tenon_svc_seconds_left(&dns->clock, &entry->until);
    memcpy(query->answer.ips, entry->ips, sizeof(entry->ips));
    return 1;
}

static void dns_begin(struct tenon_dns_query *query)
{
    struct tenon_dns *dns = query->dns;
    unsigned i;

    if (dns_recall(query)) {
        dns_finish(query);
        return;
    }
    for (i = 0; i < dns->conf.nqueries; i++) {
        const struct tenon_dns_query *other = &dns->conf.queries[i];

        if (dns_is_asked(other) && dns_is_same(other, query)) {
            dns->stats[TENON_DNS_STAT_SHARED]++;
            query->state = DNS_SHARED;
            return;
        }
    }
    if (dns->nservers > 0) {
        dns_send(query);
        return;
    }
    memset(&query->answer, 0, sizeof(query->answer));
    query->answer.status = TENON_DNS_NO_SERVER;
    dns_finish(query);    /* others may have waited for its answer, when there were servers */
}

static void dns_step(struct tenon_dns_query *query)
{
    const int is_due = dns_is_asked(query) && tenon_svc_is_over(&query->dns->clock, &query->due);

    if (query->state == DNS_BEGIN)
        dns_begin(query);
    else if (query->state == DNS_HELD && is_due)
        dns_send(query);
    else if (query->state == DNS_QUEUED && is_due)
        dns_send_tcp(query);
    if (query->state != DNS_WAITING)
        return;
    if (query->heard == DNS_ANSWER) {
        dns_take_answer(query);
    } else if (query->heard == DNS_ERROR) {
        dns_next(query, query->answer.status);
    } else if (tenon_svc_is_over(&query->dns->clock, &query->due)) {
        query->dns->stats[TENON_DNS_STAT_TIMEOUTS]++;
        dns_next(query, TENON_DNS_TIMEOUT);
    }
}

/* ---- the interface of the service ----------------------------------------------------------------------------- */

int tenon_dns_open(struct tenon_dns *dns, struct tenon *stack, const struct tenon_dns_conf *conf, tenon_u32 now_us)
{
    if (conf->queries == NULL || conf->nqueries == 0 || conf->rounds > DNS_ROUNDS_MAX || conf->timeout_ms > 60000UL)
        return TENON_EINVAL;
    if (conf->tcp != NULL && (conf->room == NULL || conf->room_bytes < TENON_DNS_ROOM_MIN))
        return TENON_EINVAL;
    memset(dns, 0, sizeof(*dns));
    dns->stack = stack;
    dns->conf = *conf;
    if (conf->entries == NULL)
        dns->conf.nentries = 0;
    if (conf->timeout_ms == 0)
        dns->conf.timeout_ms = DNS_TIMEOUT_MS;
    if (conf->rounds == 0)
        dns->conf.rounds = DNS_ROUNDS;
    memset(conf->queries, 0, conf->nqueries * sizeof(*conf->queries));
    if (dns->conf.nentries > 0)
        memset(conf->entries, 0, conf->nentries * sizeof(*conf->entries));
    tenon_svc_clock_start(&dns->clock, now_us);
    return TENON_OK;
}

/* Questions that are on their way begin anew: their count of messages is about the servers that were. */
void tenon_dns_servers(struct tenon_dns *dns, const struct tenon_addr *servers, unsigned n)
{
    unsigned i;

    dns->nservers = n < TENON_DNS_SERVERS_MAX ? n : (unsigned)TENON_DNS_SERVERS_MAX;
    dns->first = 0;
    for (i = 0; i < dns->nservers; i++)
        dns->servers[i] = servers[i];
    for (i = 0; i < dns->conf.nqueries; i++) {
        struct tenon_dns_query *query = &dns->conf.queries[i];

        if (!dns_is_asked(query))
            continue;
        query->sends = query->failed = query->asked = 0;
        query->held_ms = 0;
        query->state = DNS_BEGIN;
        dns_hang_up(query);
    }
}

/* An address is its own answer. In a build without IPv6 there are none of the other kind. */
static int dns_knows(struct tenon_dns_query *query)
{
    struct tenon_ip ip;
    const int read = tenon_ip_parse(&ip, query->name);
    const int is_address = read > 0 && query->name[read] == 0;

    if (!is_address && (TENON_WITH_IPV6 || query->type == TENON_DNS_A))
        return 0;
    query->answer.status = TENON_DNS_NO_DATA;
    if (is_address && tenon_ip_is_v4(&ip) == (query->type == TENON_DNS_A)) {
        query->answer.status = TENON_DNS_OK;
        query->answer.ips[query->answer.n++] = ip;
    }
    return 1;
}

int tenon_dns_ask(struct tenon_dns *dns, const char *name, enum tenon_dns_type type, tenon_dns_done *done, void *app)
{
    struct tenon_dns_query *query = dns->conf.queries;
    struct tenon_dns_query *const end = query + dns->conf.nqueries;
    struct tenon_ip ip;
    int read;

    if (done == NULL || (type != TENON_DNS_A && type != TENON_DNS_AAAA))
        return TENON_EINVAL;
    while (query < end && query->state != DNS_FREE)
        query++;
    if (query == end)
        return TENON_ELIMIT;
    memset(query, 0, sizeof(*query));
    read = tenon_ip_parse(&ip, name);
    if (read > 0 && name[read] == 0)
        memcpy(query->name, name, (size_t)read + 1);
    else if (!dns_take_name(query->name, name))
        return TENON_EINVAL;
    query->dns = dns;
    query->type = (tenon_u8)type;
    query->done = done;
    query->app = app;
    query->state = dns_knows(query) ? DNS_DONE : DNS_BEGIN;
    return TENON_OK;
}

void tenon_dns_cancel(struct tenon_dns *dns, void *app)
{
    unsigned i, k;

    for (i = 0; i < dns->conf.nqueries; i++) {
        struct tenon_dns_query *query = &dns->conf.queries[i];
        const int leads = dns_is_asked(query) || query->state == DNS_BEGIN;    /* with other servers, anew */

        if (query->state == DNS_FREE || query->app != app)
            continue;
        query->state = DNS_FREE;
        for (k = 0; leads && k < dns->conf.nqueries; k++) {    /* who waited for its answer asks himself */
            if (dns->conf.queries[k].state == DNS_SHARED && dns_is_same(&dns->conf.queries[k], query))
                dns->conf.queries[k].state = DNS_BEGIN;
        }
        dns_hang_up(query);
    }
}

/* done() may ask, cancel, and change the servers: each time one looks again. */
static void dns_report(struct tenon_dns *dns)
{
    unsigned i;

    for (i = 0; i < dns->conf.nqueries; i++) {
        struct tenon_dns_query *query = &dns->conf.queries[i];
        struct tenon_dns_query told;

        if (query->state != DNS_DONE)
            continue;
        told = *query;
        query->state = DNS_FREE;
        told.done(told.app, told.name, &told.answer);
    }
}

static tenon_u32 dns_wait(const struct tenon_dns *dns)
{
    tenon_u32 wait = TENON_SVC_WAIT_MAX_US;
    unsigned i;

    for (i = 0; i < dns->conf.nqueries; i++) {
        const struct tenon_dns_query *query = &dns->conf.queries[i];

        if (query->state == DNS_BEGIN || query->state == DNS_DONE || query->heard != DNS_NOTHING)
            wait = 0;
        else if (query->state == DNS_WAITING || query->state == DNS_HELD ||
                 (query->state == DNS_QUEUED && dns->talking == NULL))
            wait = svc_min(wait, tenon_svc_wait(&dns->clock, &query->due));
    }
    return wait;
}

tenon_u32 tenon_dns_poll(struct tenon_dns *dns, tenon_u32 now_us)
{
    tenon_u32 wait = TENON_SVC_WAIT_MAX_US;
    unsigned i;

    tenon_svc_clock_move(&dns->clock, now_us);
    for (i = 0; i < dns->conf.nqueries; i++)
        dns_step(&dns->conf.queries[i]);
    dns_report(dns);
    if (dns->stirred)
        wait = tenon_poll(dns->stack, now_us);
    dns->stirred = 0;
    return svc_min(wait, dns_wait(dns));    /* behind tenon_poll(), in which an answer can come */
}

void tenon_dns_close(struct tenon_dns *dns)
{
    unsigned i;

    for (i = 0; i < dns->conf.nqueries; i++) {
        dns->conf.queries[i].state = DNS_FREE;
        dns_hang_up(&dns->conf.queries[i]);
    }
    for (i = 0; i < dns->conf.nentries; i++)
        dns->conf.entries[i].used = 0;
}

const char *tenon_dns_status_text(enum tenon_dns_status status)
{
    static const char *const texts[] = { "there are addresses",
                                         "no such name",
                                         "no address of this type",
                                         "no server is known",
                                         "no server answers",
                                         "the servers could not say",
                                         "the answer is too long for a datagram",
                                         "the answer is too long for a datagram, and the server speaks no TCP",
                                         "the answer is too long" };

    return (unsigned)status < TENON_ARRAY_LEN(texts) ? texts[(unsigned)status] : "?";
}

#define DNS_STAT_NAME(id, name, text) name,
const char *tenon_dns_stat_name(enum tenon_dns_stat stat)
{
    static const char *const names[] = { TENON_DNS_STATS(DNS_STAT_NAME) };

    return (unsigned)stat < TENON_ARRAY_LEN(names) ? names[(unsigned)stat] : NULL;
}
#undef DNS_STAT_NAME
