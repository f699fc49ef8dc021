/* SPDX-License-Identifier: MIT */
/* Reading files by TFTP (RFC 1350, RFC 1123 4.2, RFC 2347 to 2349). */
#include "tftp.h"

#include "internal.h"

enum { TFTP_RRQ = 1, TFTP_DATA = 3, TFTP_ACK = 4, TFTP_ERROR = 5, TFTP_OACK = 6 };
/* TFTP_RESTING: all is there; whoever has not heard our last acknowledgement may ask for it (RFC 1350 6). */
enum tftp_state { TFTP_IDLE, TFTP_ASKED, TFTP_READING, TFTP_RESTING };
/* What waits for the poll. */
enum tftp_heard { TFTP_NOTHING, TFTP_PROGRESS, TFTP_WITHOUT_OPTIONS, TFTP_END };
enum { TFTP_HEAD = 4, TFTP_USUAL_BYTES = 1428, TFTP_REST_MS = 3000 };
enum { TFTP_TIMEOUT_MS = 1000, TFTP_WAIT_MAX_MS = 16000, TFTP_TRIES = 6, TFTP_PAUSE_MAX_MS = 250 };
/* A request: a name, "octet", three options with their numbers. An agreement is no longer than what was asked for. */
enum { TFTP_REQUEST_MAX = 2 + TENON_TFTP_NAME_MAX + 1 + 6 + 50, TFTP_OACK_MAX = 128 };

/* ---- text in messages ----------------------------------------------------------------------------------------- */

/* A string and its 0. @return what stands behind it */
static tenon_u8 *tftp_put_text(tenon_u8 *p, const char *text)
{
    do {
        *p++ = (tenon_u8)*text;
    } while (*text++ != 0);
    return p;
}

static tenon_u8 *tftp_put_option(tenon_u8 *p, const char *name, tenon_u32 value)
{
    char digits[11];
    unsigned at = sizeof(digits) - 1;

    digits[at] = 0;
    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    return tftp_put_text(tftp_put_text(p, name), digits + at);
}

/* The bytes of a message that have not been read. */
struct tftp_text {
    const tenon_u8 *p;
    tenon_u32 n;
};

/* The next string. @return NULL: there is no 0 any more */
static const tenon_u8 *tftp_next_text(struct tftp_text *text)
{
    const tenon_u8 *const begin = text->p;

    while (text->n > 0) {
        text->n--;
        if (*text->p++ == 0)
            return begin;
    }
    return NULL;
}

/* RFC 2347: in any case. `name` is in lower case. */
static int tftp_is(const tenon_u8 *text, const char *name)
{
    for (; *name != 0; text++, name++) {
        if ((*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text) != *name)
            return 0;
    }
    return *text == 0;
}

/* @return 0: it is no number, or has more than 32 bits */
static int tftp_number(const tenon_u8 *text, tenon_u32 *value)
{
    if (*text == 0)
        return 0;
    for (*value = 0; *text != 0; text++) {
        const tenon_u32 digit = (tenon_u32)*text - '0';

        if (digit > 9 || *value > (0xFFFFFFFFUL - digit) / 10)
            return 0;
        *value = *value * 10 + digit;
    }
    return 1;
}

/* ---- sending -------------------------------------------------------------------------------------------------- */

/* @return 1: it could not leave */
static tenon_u8 tftp_send(struct tenon_tftp *tftp, const struct tenon_addr *to, const tenon_u8 *bytes, tenon_u32 n)
{
    const int error = tenon_udp_write(tftp->sock, to, bytes, n);

    tftp->stats[error == TENON_OK ? TENON_TFTP_STAT_SENT : TENON_TFTP_STAT_NOT_SENT]++;
    tftp->stirred = 1;
    return error != TENON_OK;
}

static void tftp_acknowledge(struct tenon_tftp *tftp)
{
    tenon_u8 bytes[TFTP_HEAD];

    svc_put16(bytes, TFTP_ACK);
    svc_put16(bytes + 2, tftp->block);
    tftp->unsent = tftp_send(tftp, &tftp->peer, bytes, TFTP_HEAD);
}

/* Without words: its number says it. */
static void tftp_send_error(struct tenon_tftp *tftp, const struct tenon_addr *to, unsigned code)
{
    tenon_u8 bytes[TFTP_HEAD + 1];

    svc_put16(bytes, TFTP_ERROR);
    svc_put16(bytes + 2, code);
    bytes[TFTP_HEAD] = 0;
    (void)tftp_send(tftp, to, bytes, TFTP_HEAD + 1);
}

static void tftp_server(const struct tenon_tftp *tftp, struct tenon_addr *to)
{
    *to = tftp->conf.server;
    if (to->port == 0)
        to->port = TENON_TFTP_PORT;
}

/* What is taken of datagrams: of the interface that takes least, since any of them may be the one. */
static tenon_u32 tftp_taken_bytes(const struct tenon_tftp *tftp, const struct tenon_addr *from)
{
    const tenon_u32 headers = tenon_ip_is_v4(&from->ip) ? 20 + 8 : 40 + 8;
    struct tenon_netif_info info;
    tenon_u32 least = 65535;
    unsigned i;

    for (i = 1; tenon_netif_get(tftp->stack, i, &info) == TENON_OK; i++)
        least = svc_min(least, info.conf.mru != 0 ? info.conf.mru : 65535);
    return least - headers;
}

/* Blocks for which nobody has to cut packets. @return 0: there is no way to the server yet */
static tenon_u16 tftp_usual_bytes(struct tenon_tftp *tftp, const struct tenon_addr *to)
{
    tenon_u32 room;

    if (tenon_udp_payload_max(tftp->sock, to, &room) != TENON_OK)
        return 0;
    room = svc_min(room, tftp_taken_bytes(tftp, to));
    if (room < TFTP_HEAD + TENON_TFTP_PLAIN_BYTES)
        return TENON_TFTP_PLAIN_BYTES;
    return (tenon_u16)svc_min(room - TFTP_HEAD, TFTP_USUAL_BYTES);
}

/* The same each time that it is sent, or the answer would be to another one. */
static void tftp_request(struct tenon_tftp *tftp)
{
    tenon_u8 bytes[TFTP_REQUEST_MAX], *p;
    struct tenon_addr to;

    tftp_server(tftp, &to);
    svc_put16(bytes, TFTP_RRQ);
    p = tftp_put_text(tftp_put_text(bytes + 2, tftp->conf.name), "octet");
    if (!tftp->conf.plain) {
        if (tftp->asked_bytes == 0)
            tftp->asked_bytes = tftp->conf.block_bytes != 0 ? tftp->conf.block_bytes : tftp_usual_bytes(tftp, &to);
        if (tftp->asked_bytes != 0 && tftp->asked_bytes != TENON_TFTP_PLAIN_BYTES)
            p = tftp_put_option(p, "blksize", tftp->asked_bytes);
        p = tftp_put_option(p, "tsize", 0);
        if (tftp->conf.server_s != 0)
            p = tftp_put_option(p, "timeout", tftp->conf.server_s);
    }
    tftp->unsent = tftp_send(tftp, &to, bytes, (tenon_u32)(p - bytes));
}

/* ---- what comes ----------------------------------------------------------------------------------------------- */

static void tftp_end(struct tenon_tftp *tftp, enum tenon_tftp_status status)
{
    tftp->heard = TFTP_END;
    tftp->status = (tenon_u8)status;
}

/* The server's first answer comes from the port that it has chosen for this transfer (RFC 1350 4). */
static void tftp_begin_reading(struct tenon_tftp *tftp, const struct tenon_addr *from)
{
    tftp->state = TFTP_READING;
    tftp->peer = *from;
    tftp->heard = TFTP_PROGRESS;
}

/* RFC 2347 to 2349: what was asked for, or less. A size that nobody can count is not known. @return 0: it is
 * not ours */
static int tftp_agree(struct tenon_tftp *tftp, const tenon_u8 *name, const tenon_u8 *text)
{
    tenon_u32 value = 0;
    const int is_number = tftp_number(text, &value);

    if (tftp_is(name, "tsize")) {
        tftp->size_known = (tenon_u8)is_number;
        tftp->size = is_number ? value : 0;
        return 1;
    }
    if (tftp_is(name, "timeout"))
        return is_number && tftp->conf.server_s != 0 && value == tftp->conf.server_s;
    if (!tftp_is(name, "blksize") || tftp->asked_bytes == TENON_TFTP_PLAIN_BYTES || !is_number ||
        value < TENON_TFTP_BLOCK_MIN || value > tftp->asked_bytes)
        return 0;
    tftp->block_bytes = (tenon_u16)value;
    return 1;
}

static void tftp_oack(struct tenon_tftp *tftp, const struct tenon_addr *from, const struct tenon_span *spans,
                      unsigned n)
{
    tenon_u8 bytes[TFTP_OACK_MAX] = { 0 };
    const tenon_u32 whole = svc_gather(bytes, sizeof(bytes), spans, n);
    struct tftp_text text;

    if (whole > sizeof(bytes)) {
        tftp->stats[TENON_TFTP_STAT_BAD_LENGTH]++;
        return;
    }
    if (tftp->state == TFTP_READING && !tftp->any) {
        tftp->stats[TENON_TFTP_STAT_DUPLICATES]++;
        tftp_acknowledge(tftp);
        return;
    }
    if (tftp->state != TFTP_ASKED || tftp->conf.plain) {
        tftp->stats[TENON_TFTP_STAT_BAD_OPCODE]++;
        return;
    }
    tftp_begin_reading(tftp, from);
    text.p = bytes + 2;
    text.n = whole - 2;
    while (text.n > 0) {
        const tenon_u8 *const name = tftp_next_text(&text), *const value = tftp_next_text(&text);

        if (value != NULL && tftp_agree(tftp, name, value))
            continue;
        tftp_send_error(tftp, from, TENON_TFTP_CODE_OPTION);
        tftp_end(tftp, TENON_TFTP_BAD_OPTION);
        return;
    }
    tftp_acknowledge(tftp);
}

/* What stands behind the head of a block. @return 0: the application does not want it */
static int tftp_deliver(struct tenon_tftp *tftp, const struct tenon_span *spans, unsigned n)
{
    tenon_u32 skip = TFTP_HEAD, here;
    unsigned i;

    for (i = 0; i < n; i++, skip -= here) {
        here = svc_min(skip, spans[i].len);
        if (here == spans[i].len)
            continue;
        if (tftp->conf.data(tftp, tftp->conf.app, tenon_span_data(&spans[i]) + here, spans[i].len - here) != 0)
            return 0;
        tftp->got += spans[i].len - here;
    }
    return 1;
}

/* RFC 1123 4.2.3.1: whoever answers the same twice doubles all that follows. The server must not send the next block
 * for the second acknowledgement of the last one; and we acknowledge no block again but the last, for the server has
 * heard of those before it. */
static int tftp_is_next(struct tenon_tftp *tftp, unsigned block)
{
    if (block == (tftp->block + 1U) % 0x10000UL && tftp->state != TFTP_RESTING)
        return 1;
    if (!tftp->any || block != tftp->block) {
        tftp->stats[TENON_TFTP_STAT_OTHER_BLOCK]++;
        return 0;
    }
    tftp->stats[TENON_TFTP_STAT_DUPLICATES]++;
    tftp_acknowledge(tftp);
    return 0;
}

/* After 65,535 comes 0. */
static void tftp_data(struct tenon_tftp *tftp, const struct tenon_udp_info *info, const struct tenon_span *spans,
                      unsigned n, unsigned block)
{
    const tenon_u32 bytes = info->bytes - TFTP_HEAD;

    if (bytes > tftp->block_bytes) {
        tftp->stats[TENON_TFTP_STAT_BAD_LENGTH]++;
        return;
    }
    if (!tftp_is_next(tftp, block))
        return;
    if (tftp->state == TFTP_ASKED)
        tftp_begin_reading(tftp, &info->from);
    if (!tftp_deliver(tftp, spans, n)) {
        tftp_send_error(tftp, &tftp->peer, TENON_TFTP_CODE_FULL);
        tftp_end(tftp, TENON_TFTP_NOT_TAKEN);
        return;
    }
    tftp->block = (tenon_u16)block;
    tftp->any = 1;
    tftp->stats[TENON_TFTP_STAT_BLOCKS]++;
    tftp_acknowledge(tftp);
    tftp->heard = TFTP_PROGRESS;
    if (bytes == tftp->block_bytes)
        return;
    tftp->state = TFTP_RESTING;
    tftp_end(tftp, tftp->size_known && tftp->size != tftp->got ? TENON_TFTP_OTHER_SIZE : TENON_TFTP_OK);
}

/* RFC 2347: a server may say that it will not have options (8); then it is asked as RFC 1350 has it. */
static void tftp_refused(struct tenon_tftp *tftp, unsigned code)
{
    if (tftp->state == TFTP_RESTING)
        return;
    if (code == TENON_TFTP_CODE_OPTION && tftp->state == TFTP_ASKED && !tftp->conf.plain) {
        tftp->heard = TFTP_WITHOUT_OPTIONS;
        return;
    }
    tftp->code = (tenon_u16)code;
    tftp_end(tftp, TENON_TFTP_REFUSED);
}

/* RFC 1350 4: from elsewhere, which does not disturb the transfer. The sender is told, unless that could go round in
 * circles, or he has asked everybody. */
static void tftp_stranger(struct tenon_tftp *tftp, const struct tenon_udp_info *info, unsigned opcode)
{
    struct tenon_addr_info ours;

    tftp->stats[TENON_TFTP_STAT_STRANGERS]++;
    if (opcode != TFTP_ERROR && svc_address(tftp->stack, info->from.netif, &info->to.ip, &ours))
        tftp_send_error(tftp, &info->from, TENON_TFTP_CODE_STRANGER);
}

static int tftp_is_from_peer(const struct tenon_tftp *tftp, const struct tenon_addr *from)
{
    const struct tenon_addr *const server = &tftp->conf.server;

    if (!tenon_ip_equal(&from->ip, &server->ip) || (server->netif != 0 && from->netif != server->netif))
        return 0;
    return tftp->state == TFTP_ASKED || from->port == tftp->peer.port;
}

static void tftp_head(tenon_u8 *to, const struct tenon_span *spans, unsigned n)
{
    unsigned at = 0, i;
    tenon_u32 k;

    for (i = 0; i < n && at < TFTP_HEAD; i++) {
        for (k = 0; k < spans[i].len && at < TFTP_HEAD; k++)
            to[at++] = tenon_span_data(&spans[i])[k];
    }
}

static void tftp_received(struct tenon_udp *sock, void *app, const struct tenon_udp_info *info,
                          const struct tenon_span *spans, unsigned n)
{
    struct tenon_tftp *tftp = (struct tenon_tftp *)app;
    tenon_u8 head[TFTP_HEAD] = { 0 };
    unsigned opcode;

    (void)sock;
    if (tftp->heard > TFTP_PROGRESS && tftp->state != TFTP_RESTING)
        return;    /* it is over, and the poll has not come yet */
    if (info->bytes < TFTP_HEAD) {
        tftp->stats[TENON_TFTP_STAT_BAD_LENGTH]++;
        return;
    }
    tftp_head(head, spans, n);
    opcode = svc_get16(head);
    if (!tftp_is_from_peer(tftp, &info->from))
        tftp_stranger(tftp, info, opcode);
    else if (opcode == TFTP_DATA)
        tftp_data(tftp, info, spans, n, svc_get16(head + 2));
    else if (opcode == TFTP_OACK)
        tftp_oack(tftp, &info->from, spans, n);
    else if (opcode == TFTP_ERROR)
        tftp_refused(tftp, svc_get16(head + 2));
    else
        tftp->stats[TENON_TFTP_STAT_BAD_OPCODE]++;
}

/* Before anything has come there is nobody; later it may be a router that is confused for a moment, and who goes on
 * asking finds out. */
static void tftp_error(struct tenon_udp *sock, void *app, const struct tenon_addr *to, int error)
{
    struct tenon_tftp *tftp = (struct tenon_tftp *)app;

    (void)sock;
    (void)error;
    if (!tenon_ip_equal(&to->ip, &tftp->conf.server.ip))
        return;
    tftp->stats[TENON_TFTP_STAT_UNREACHED]++;
    if (tftp->state == TFTP_ASKED && tftp->heard == TFTP_NOTHING)
        tftp_end(tftp, TENON_TFTP_UNREACHED);
}

static const struct tenon_udp_events tftp_events = { tftp_received, tftp_error };

/* ---- the course of a transfer --------------------------------------------------------------------------------- */

static void tftp_hang_up(struct tenon_tftp *tftp)
{
    if (tftp->sock != NULL)
        tenon_udp_close(tftp->sock);
    tftp->sock = NULL;
    tftp->state = TFTP_IDLE;
    tftp->heard = TFTP_NOTHING;
}

static void tftp_wait(struct tenon_tftp *tftp, tenon_u32 ms)
{
    tftp->due = tenon_svc_later(tftp->clock.now, 0, ms);
}

/* What could not leave is tried again soon, for as long as an answer would be waited for: that is no try. */
static int tftp_hold(struct tenon_tftp *tftp, tenon_u32 limit_ms)
{
    if (tftp->unsent && tftp->held_ms < limit_ms) {
        tftp_wait(tftp, svc_pause(&tftp->held_ms, TFTP_PAUSE_MAX_MS));
        return 1;
    }
    tftp->held_ms = 0;
    return 0;
}

/* From a port that nobody can guess (RFC 1350 4, RFC 6056); the request leaves at the next poll. */
static int tftp_call(struct tenon_tftp *tftp)
{
    struct tenon_addr any;

    any.ip = tenon_ip_any();
    any.port = any.netif = 0;
    if (tenon_udp_open(tftp->stack, &tftp->sock, &tftp_events, tftp) != TENON_OK) {
        tftp->sock = NULL;
        return 0;
    }
    if (tenon_udp_bind(tftp->sock, &any) == TENON_OK)
        return 1;
    tenon_udp_close(tftp->sock);
    tftp->sock = NULL;
    return 0;
}

static void tftp_begin(struct tenon_tftp *tftp)
{
    tftp_hang_up(tftp);
    tftp->state = TFTP_ASKED;
    tftp->block_bytes = TENON_TFTP_PLAIN_BYTES;
    tftp->sends = 0;
    tftp->held_ms = 0;
    tftp->wait_ms = tftp->conf.timeout_ms;
    tftp_wait(tftp, 0);
}

/* Of the same, once more or for the first time. RFC 1123 4.2.3.2: what waits for an answer waits twice as long each
 * time. */
static void tftp_sent(struct tenon_tftp *tftp)
{
    if (tftp_hold(tftp, tftp->wait_ms))
        return;
    if (tftp->sends > 0 && !tftp->unsent)
        tftp->stats[TENON_TFTP_STAT_AGAIN]++;
    tftp->sends++;
    tftp_wait(tftp, tftp->unsent ? 0 : tftp->wait_ms);
    tftp->wait_ms = svc_min(2 * tftp->wait_ms, TFTP_WAIT_MAX_MS);
}

/* The server may ask for the last acknowledgement, which it has not got yet if it could not leave. */
static void tftp_rest(struct tenon_tftp *tftp)
{
    if (tftp_hold(tftp, TFTP_REST_MS))
        return;
    tftp->unsent = 0;
    tftp_wait(tftp, TFTP_REST_MS);
}

/* Said at the very end: the application may begin another one. */
static void tftp_finish(struct tenon_tftp *tftp)
{
    const enum tenon_tftp_status status = (enum tenon_tftp_status)tftp->status;

    tftp->heard = TFTP_NOTHING;
    if (tftp->state == TFTP_RESTING)
        tftp_rest(tftp);
    else
        tftp_hang_up(tftp);
    if (tftp->conf.done != NULL)
        tftp->conf.done(tftp, tftp->conf.app, status);
}

static void tftp_hear(struct tenon_tftp *tftp)
{
    switch ((enum tftp_heard)tftp->heard) {
    case TFTP_NOTHING: break;
    case TFTP_PROGRESS:
        tftp->heard = TFTP_NOTHING;
        tftp->sends = 0;
        tftp->held_ms = 0;
        tftp->wait_ms = tftp->conf.timeout_ms;
        tftp_sent(tftp);
        break;
    case TFTP_WITHOUT_OPTIONS:
        tftp->stats[TENON_TFTP_STAT_WITHOUT_OPTIONS]++;
        tftp->conf.plain = 1;
        tftp_begin(tftp);
        break;
    case TFTP_END: tftp_finish(tftp); break;
    }
}

/* The same once more: the request, or the last acknowledgement (RFC 1350 2). */
static void tftp_repeat(struct tenon_tftp *tftp)
{
    if (tftp->state == TFTP_RESTING && !tftp->unsent) {
        tftp_hang_up(tftp);
        return;
    }
    if (tftp->sends == tftp->conf.tries && tftp->state != TFTP_RESTING) {
        tftp_end(tftp, TENON_TFTP_TIMEOUT);
        tftp_finish(tftp);
        return;
    }
    if (tftp->sock == NULL && !tftp_call(tftp)) {
        tftp->stats[TENON_TFTP_STAT_NOT_SENT]++;
        tftp->unsent = 1;
    } else if (tftp->state == TFTP_ASKED) {
        tftp_request(tftp);
    } else {
        tftp_acknowledge(tftp);
    }
    if (tftp->state == TFTP_RESTING)
        tftp_rest(tftp);
    else
        tftp_sent(tftp);
}

/* ---- the interface of the service ----------------------------------------------------------------------------- */

static unsigned tftp_length(const char *text)
{
    unsigned n = 0;

    while (n <= TENON_TFTP_NAME_MAX && text[n] != 0)
        n++;
    return n;
}

int tenon_tftp_start(struct tenon_tftp *tftp, struct tenon *stack, const struct tenon_tftp_conf *conf,
                     tenon_u32 now_us)
{
    struct tenon_tftp_conf own = *conf;
    const unsigned n = tftp_length(own.name);

    if (own.timeout_ms == 0)
        own.timeout_ms = TFTP_TIMEOUT_MS;
    if (own.tries == 0)
        own.tries = TFTP_TRIES;
    if (tftp->state == TFTP_ASKED || tftp->state == TFTP_READING || n == 0 || n > TENON_TFTP_NAME_MAX ||
        tenon_ip_is_any(&own.server.ip) || own.data == NULL || own.timeout_ms > TFTP_WAIT_MAX_MS ||
        (own.block_bytes != 0 && own.block_bytes < TENON_TFTP_BLOCK_MIN) ||
        own.block_bytes > TENON_TFTP_BLOCK_MAX)
        return TENON_EINVAL;
    tftp_hang_up(tftp);
    memset(tftp, 0, sizeof(*tftp));
    tftp->stack = stack;
    tftp->conf = own;
    tenon_svc_clock_start(&tftp->clock, now_us);
    tftp_begin(tftp);
    return TENON_OK;
}

tenon_u32 tenon_tftp_poll(struct tenon_tftp *tftp, tenon_u32 now_us)
{
    tenon_u32 wait = TENON_SVC_WAIT_MAX_US;

    if (tftp->state == TFTP_IDLE)
        return wait;
    tenon_svc_clock_move(&tftp->clock, now_us);
    tftp_hear(tftp);
    if (tftp->state != TFTP_IDLE && tenon_svc_is_over(&tftp->clock, &tftp->due))
        tftp_repeat(tftp);
    if (tftp->state != TFTP_IDLE)
        wait = tenon_svc_wait(&tftp->clock, &tftp->due);
    if (!tftp->stirred)
        return wait;
    tftp->stirred = 0;
    return svc_min(wait, tenon_poll(tftp->stack, now_us));
}

void tenon_tftp_stop(struct tenon_tftp *tftp)
{
    if (tftp->state == TFTP_READING && tftp->heard <= TFTP_PROGRESS)
        tftp_send_error(tftp, &tftp->peer, TENON_TFTP_CODE_OTHER);
    tftp_hang_up(tftp);
}

const char *tenon_tftp_status_text(enum tenon_tftp_status status)
{
    static const char *const texts[] = { "fetched",         "no answer",
                                         "nobody is there", "the server refuses",
                                         "the server agrees to what nobody has asked for",
                                         "another size than the server said",
                                         "not taken" };

    return (unsigned)status < TENON_ARRAY_LEN(texts) ? texts[(unsigned)status] : NULL;
}

#define TFTP_STAT_NAME(id, name, text) name,
const char *tenon_tftp_stat_name(enum tenon_tftp_stat stat)
{
    static const char *const names[] = { TENON_TFTP_STATS(TFTP_STAT_NAME) };

    return (unsigned)stat < TENON_ARRAY_LEN(names) ? names[(unsigned)stat] : NULL;
}
#undef TFTP_STAT_NAME
