/* SPDX-License-Identifier: MIT */
/* Fetches an image over HTTP or by TFTP and says its length and CRC-32 on the serial line, as what brings a new
 * program to a device would before it believes it. The checksum is made over the bytes where the device has
 * put them; store() is where they would be written to flash. What did not come whole is fetched again.
 *
 * The URL is BOARD_IMAGE of the build until another one comes on the serial line: u, the URL, and Enter. Names
 * are asked of the servers that DHCP and IPv6 routers have told of. */
#include "../common/app.h"
#include "../common/text.h"
#include "services/rdnss.h"
#include "services/tftp.h"

enum {
    LINE = 40,
    AGAIN_US = 2000000,
    SILENCE_US = 10000000,
    HOST_ROOM = 80,
    PATH_ROOM = 80,
    ROOM = 1500,
    NO_NUMBER = 0xFFFF
};
static const tenon_u32 NOT_SAID = 0xFFFFFFFFU, UNCLEAR = 0xFFFFFFFEU;    /* lengths that no image has */

static struct url {
    char host[HOST_ROOM];    /* without the brackets of an address of IPv6 */
    char path[PATH_ROOM];
    tenon_u16 port;
    tenon_u16 usual;         /* port of the scheme: 80 or 69 */
} url;

/* A line of the serial line that is a URL, as far as it has come. */
static struct {
    char text[HOST_ROOM + PATH_ROOM + 16];    /* with http://[]:65535; full: it is longer */
    unsigned n;
    int open;
} typed;

static struct tenon_rdnss rdnss;
static struct tenon_dns dns;
static struct tenon_dns_query query;
static tenon_u8 dns_room[ROOM];    /* for an answer that does not fit a datagram */
static struct tenon_tftp tftp;

static struct {
    int sk;
    int named;                 /* 1: the server's address is asked for */
    int reading;               /* 1: by TFTP */
    int asked, whole;          /* 1: the request is out; the image has come */
    int in_head;               /* 1: reading the head of the answer */
    char line[LINE];           /* full: it is longer */
    unsigned filled, lines, status;
    tenon_u32 length;          /* or NOT_SAID, or UNCLEAR: by RFC 9112 6.3 */
    tenon_u32 got, crc;
    tenon_u32 since_us;        /* of the last progress, or of the last attempt's end */
} image;
static tenon_u8 ring[1000];

/* ---- the URL: RFC 9110 4.2.1, RFC 3617 ----------------------------------------------------------------------- */

/* As much of a text as ends before one of `ends`. @return where that is; NULL: it is empty, or too long */
static const char *take_until(char *to, unsigned max, const char *from, const char *ends)
{
    struct text text;
    const char *end;

    text_begin(&text, to, max - 1);
    for (; *from != '\0'; from++) {
        for (end = ends; *end != '\0' && *end != *from; end++)
            continue;
        if (*end != '\0')
            break;
        text_char(&text, *from);
    }
    *text.at = '\0';
    return text.cut || text.at == to ? NULL : from;
}

static tenon_u32 number_in(const char **text)
{
    tenon_u32 value = 0;

    for (; **text >= '0' && **text <= '9' && value < 100000000; (*text)++)
        value = value * 10 + (tenon_u32)(**text - '0');
    return value;
}

/* @return what stands behind it; NULL: it does not begin so */
static const char *behind(const char *text, const char *begin)
{
    while (*begin != '\0') {
        if (*text++ != *begin++)
            return NULL;
    }
    return text;
}

/* http://HOST[:PORT][/PATH] or tftp://HOST[:PORT]/PATH. @return 0: it is none */
static int url_read(struct url *to, const char *from)
{
    const char *http = behind(from, "http://");
    tenon_u32 port;

    to->usual = http != NULL ? 80 : TENON_TFTP_PORT;
    port = to->usual;
    from = http != NULL ? http : behind(from, "tftp://");
    if (from == NULL)
        return 0;
    if (*from == '[') {
        from = take_until(to->host, HOST_ROOM, from + 1, "]");
        if (from == NULL || *from++ != ']')
            return 0;
    } else {
        from = take_until(to->host, HOST_ROOM, from, ":/");
    }
    if (from != NULL && *from == ':') {
        from++;
        port = number_in(&from);
    }
    if (from == NULL || port == 0 || port > 0xFFFF || (*from != '/' && *from != '\0'))
        return 0;
    to->port = (tenon_u16)port;
    return take_until(to->path, PATH_ROOM, *from == '/' ? from : "/", " ") != NULL &&
           (http != NULL || to->path[1] != '\0');
}

/* ---- the image ------------------------------------------------------------------------------------------ */

/* CRC-32 of IEEE 802.3, four bits at a time. */
static tenon_u32 crc_add(tenon_u32 crc, const tenon_u8 *bytes, unsigned n)
{
    static const tenon_u32 table[16] = {0x00000000U, 0x1DB71064U, 0x3B6E20C8U, 0x26D930ACU, 0x76DC4190U, 0x6B6B51F4U,
                                        0x4DB26158U, 0x5005713CU, 0xEDB88320U, 0xF00F9344U, 0xD6D6A3E8U, 0xCB61B38CU,
                                        0x9B64C2B0U, 0x86D3D2D4U, 0xA00AE278U, 0xBDBDF21CU};

    for (; n > 0; n--, bytes++) {
        crc = crc >> 4 ^ table[(crc ^ *bytes) & 15];
        crc = crc >> 4 ^ table[(crc ^ (tenon_u32)*bytes >> 4) & 15];
    }
    return crc;
}

static void store(const tenon_u8 *bytes, unsigned n)
{
    image.crc = crc_add(image.crc, bytes, n);
    image.got += n;
}

/* After an attempt: what has come, or how much of it and why no more. */
static void say_result(const char *why, unsigned number)
{
    char room[100];
    struct text text;

    text_begin(&text, room, sizeof(room) - 1);
    if (image.whole) {
        text_add(&text, "image ");
        text_number(&text, image.got);
        text_add(&text, " bytes, CRC-32 ");
        text_hex(&text, ~image.crc, 8);
    } else {
        text_add(&text, "no image: ");
        text_add(&text, why);
        if (number != NO_NUMBER) {
            text_char(&text, ' ');
            text_number(&text, number);
        }
        text_add(&text, ", bytes ");
        text_number(&text, image.got);
    }
    text_char(&text, '\n');
    *text.at = '\0';
    say(room);
    image.since_us = board_now_us();
}

/* ---- the answer: RFC 9112 4, 6.3 --------------------------------------------------------------------------- */

static int begins(const char *text, const char *with)
{
    for (; *with != '\0'; text++, with++) {
        if ((*text >= 'A' && *text <= 'Z' ? *text + 32 : *text) != *with)
            return 0;
    }
    return 1;
}

static const char *behind_space(const char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

static unsigned status_in(const char *text)
{
    text = behind_space(text);
    return (unsigned)number_in(&text);
}

/* What is no length, not all of it, or another one than before, is none that could be believed. */
static void read_length(const char *text)
{
    const char *const begin = behind_space(text), *end = begin;
    const tenon_u32 length = number_in(&end);

    if (end == begin || *behind_space(end) != '\0' || image.filled == LINE ||
        (image.length != NOT_SAID && image.length != length))
        image.length = UNCLEAR;
    else
        image.length = length;
}

static void read_line(void)
{
    image.line[image.filled < LINE ? image.filled : LINE - 1] = '\0';
    if (image.filled == 0)
        image.in_head = 0;
    else if (image.lines == 0 && begins(image.line, "http/1."))
        image.status = status_in(image.line + 8);
    else if (begins(image.line, "content-length:"))
        read_length(image.line + 15);
    else if (begins(image.line, "transfer-encoding:"))    /* who is asked by HTTP/1.0 has none: RFC 9112 6.1 */
        image.length = UNCLEAR;
    image.lines++;
    image.filled = 0;
}

/* Without a length nobody could tell a whole image from one that was cut when the connection ended. */
static int is_wanted(void)
{
    return image.status == 200 && image.length < UNCLEAR;
}

static void read_bytes(const tenon_u8 *bytes, unsigned n)
{
    unsigned i = 0;

    for (; i < n && image.in_head; i++) {
        if (bytes[i] == '\n')
            read_line();
        else if (bytes[i] != '\r' && image.filled < LINE)
            image.line[image.filled++] = (char)bytes[i];
    }
    if (is_wanted())
        store(bytes + i, n - i);
}

/* The server may keep the connection. */
static int is_over(void)
{
    return !image.in_head && (!is_wanted() || image.got >= image.length);
}

/* ---- by TFTP -------------------------------------------------------------------------------------------------- */

static int block(struct tenon_tftp *unused, void *nothing, const tenon_u8 *bytes, tenon_u32 n)
{
    (void)unused, (void)nothing;
    store(bytes, (unsigned)n);
    return 0;
}

static void fetched(struct tenon_tftp *unused, void *nothing, enum tenon_tftp_status status)
{
    (void)unused, (void)nothing;
    image.reading = 0;
    image.whole = status == TENON_TFTP_OK;
    if (status == TENON_TFTP_REFUSED)
        say_result("TFTP error", tftp.code);
    else
        say_result(tenon_tftp_status_text(status), NO_NUMBER);
}

static void fetch(const struct tenon_addr *server)
{
    struct tenon_tftp_conf conf;

    __builtin_memset(&conf, 0, sizeof(conf));
    conf.server = *server;
    conf.name = url.path + 1;
    conf.data = block;
    conf.done = fetched;
    image.reading = tenon_tftp_start(&tftp, tenon_sock_stack(socks), &conf, board_now_us()) == TENON_OK;
}

/* ---- the connection ------------------------------------------------------------------------------------------ */

static void connect(const struct tenon_ip *ip)
{
    struct tenon_addr server;

    __builtin_memset(&image, 0, sizeof(image));
    __builtin_memset(&server, 0, sizeof(server));
    server.ip = *ip;
    server.port = url.port;
    image.in_head = 1;
    image.length = NOT_SAID;
    image.crc = 0xFFFFFFFFU;
    image.since_us = board_now_us();
    if (url.usual == TENON_TFTP_PORT) {
        fetch(&server);
        return;
    }
    image.sk = tenon_sock_create(socks, NULL, &server, TENON_SOCK_TCP, 0);
    if (image.sk > 0 && tenon_sock_set_sbuf(socks, image.sk, ring, sizeof(ring)) != TENON_OK)
        image.since_us -= SILENCE_US;    /* the ring is still in use: later */
}

/* RFC 9112 3.2: as it stands in the URL. */
static void add_host(struct text *text)
{
    struct tenon_ip ip;
    const int v6 = tenon_ip_parse(&ip, url.host) > 0 && !tenon_ip_is_v4(&ip);

    text_add(text, v6 ? "[" : "");
    text_add(text, url.host);
    text_add(text, v6 ? "]" : "");
    if (url.port == url.usual)
        return;
    text_char(text, ':');
    text_number(text, url.port);
}

static void ask(void)
{
    struct text text;
    tenon_u8 *to;
    const int room = tenon_sock_ask_sbuf(socks, image.sk, &to);

    if (room <= 0)
        return;
    text_begin(&text, (char *)to, (unsigned)room);
    text_add(&text, "GET ");
    text_add(&text, url.path);
    text_add(&text, " HTTP/1.0\r\nHost: ");
    add_host(&text);
    text_add(&text, "\r\n\r\n");
    image.asked = !text.cut && tenon_sock_send(socks, image.sk, to, (unsigned)(text.at - (char *)to), 0) == TENON_OK;
}

static void finish(int error)
{
    image.whole = error == TENON_ECLOSED && !image.in_head && is_wanted() && image.got == image.length;
    (void)tenon_sock_delete(socks, image.sk, error == TENON_ECLOSED ? 0 : TENON_SOCK_ABORT);
    image.sk = 0;
    if (image.status == 0 && error != TENON_ECLOSED)
        say_result(tenon_error_text(error), NO_NUMBER);
    else if (image.status == 200 && !image.in_head && !is_wanted())
        say_result("no length that could be believed", NO_NUMBER);
    else
        say_result("status", image.status);
}

static void event(void *self, int sk, unsigned events)
{
    tenon_u8 *bytes;
    int n;

    (void)self, (void)events;
    if (sk != image.sk || sk <= 0)
        return;
    if (!image.asked)
        ask();
    while ((n = tenon_sock_ask_rbuf(socks, sk, &bytes)) > 0) {
        read_bytes(bytes, (unsigned)n);
        (void)tenon_sock_read_done(socks, sk, bytes, (unsigned)n);
        image.since_us = board_now_us();
    }
    if (is_over())
        finish(TENON_ECLOSED);
    else if (n < 0)
        finish(n);
}

/* ---- the server's address --------------------------------------------------------------------------------- */

static void found(void *type, const char *name, const struct tenon_dns_answer *answer)
{
    image.named = 0;
    image.since_us = board_now_us();
    if (answer->status == TENON_DNS_OK) {
        connect(&answer->ips[0]);
        return;
    }
    if (type == NULL && answer->status == TENON_DNS_NO_DATA) {    /* none of IPv4: perhaps of IPv6 */
        image.named = tenon_dns_ask(&dns, name, TENON_DNS_AAAA, found, &dns) == TENON_OK;
        return;
    }
    say("no address of ");
    say(name);
    say(": ");
    say(tenon_dns_status_text(answer->status));
    say("\n");
}

/* Those that DHCP has told of, then those of routers. */
static void choose_servers(void)
{
    const struct tenon_dhcp_offer *lease = board_lease();
    struct tenon_addr servers[TENON_DNS_SERVERS_MAX];

    tenon_dns_servers(&dns, servers,
                      tenon_rdnss_servers(&rdnss, servers, lease != NULL ? lease->dns : NULL,
                                          lease != NULL ? lease->ndns : 0));
}

/* An address is its own name. */
static void look_up(void)
{
    choose_servers();
    image.since_us = board_now_us();
    image.named = tenon_dns_ask(&dns, url.host, TENON_DNS_A, found, NULL) == TENON_OK;
    if (!image.named)
        say("no address: that cannot be a name\n");
}

/* Another image, from its beginning. */
static void begin(const char *text)
{
    struct url other;

    if (!url_read(&other, text)) {
        say("no URL: it is http://HOST[:PORT]/PATH or tftp://HOST[:PORT]/PATH, each up to 79 characters\n");
        return;
    }
    tenon_tftp_stop(&tftp);
    url = other;
    tenon_dns_cancel(&dns, NULL);
    tenon_dns_cancel(&dns, &dns);
    if (image.sk > 0)
        (void)tenon_sock_delete(socks, image.sk, TENON_SOCK_ABORT);
    __builtin_memset(&image, 0, sizeof(image));
    image.since_us = board_now_us() - AGAIN_US;
}

static int key(int c)
{
    if (!typed.open) {
        typed.open = c == 'u';
        typed.n = 0;
        return typed.open;
    }
    if (c != '\r' && c != '\n') {
        if (typed.n < sizeof(typed.text))
            typed.text[typed.n++] = (char)c;
        return 1;
    }
    if (typed.n == 0)    /* a terminal gives nothing before Enter: the URL may be in a line of its own */
        return 1;
    typed.text[typed.n < sizeof(typed.text) ? typed.n : 0] = '\0';    /* what was cut would be another one */
    typed.open = 0;
    begin(typed.text);
    return 1;
}

static tenon_u32 turn(struct tenon_socks *unused, tenon_u32 now_us)
{
    tenon_u32 wait = tenon_rdnss_poll(&rdnss, now_us);
    const tenon_u32 asked = tenon_dns_poll(&dns, now_us), read = tenon_tftp_poll(&tftp, board_now_us());

    (void)unused;
    wait = asked < wait ? asked : wait;
    wait = read < wait ? read : wait;
    now_us = board_now_us();    /* found() may have begun something meanwhile */
    if (image.whole || image.named || image.reading)
        return wait < 1000000 ? wait : 1000000;
    if (image.sk <= 0 && now_us - image.since_us >= AGAIN_US)
        look_up();
    else if (image.sk > 0 && now_us - image.since_us > SILENCE_US)
        finish(TENON_ETIMEOUT);
    else
        return 100000;
    return 0;
}

static int start(struct tenon_socks *unused)
{
    struct tenon_dns_conf conf;

    (void)unused;
    if (!url_read(&url, BOARD_IMAGE) ||
        tenon_rdnss_start(&rdnss, tenon_sock_stack(socks), NULL, NULL, board_now_us()) != TENON_OK)
        return TENON_EINVAL;
    __builtin_memset(&conf, 0, sizeof(conf));
    conf.queries = &query;
    conf.nqueries = 1;
    conf.tcp = &tenon_dns_tcp;
    conf.room = dns_room;
    conf.room_bytes = sizeof(dns_room);
    image.since_us = board_now_us() - AGAIN_US / 2;    /* by then there is an address */
    return tenon_dns_open(&dns, tenon_sock_stack(socks), &conf, board_now_us());
}

/* One connection at a time, and that of the resolver. The core keeps eight buffers for headers; a question over
 * TCP takes two more. */
static void configure(struct tenon_sock_conf *conf)
{
    conf->socks = 1 + BOARD_SPARE;
    conf->conns = 2 + BOARD_SPARE;
    conf->headers = BOARD_HEADERS + 2;
}

const struct app app = {"download", configure, start, event, turn, key};
