/* SPDX-License-Identifier: MIT */
/* Fetches http://10.0.2.2/image.bin and says its length and CRC-32 on the serial line, as what brings a new
 * program to a device would before it believes it. The checksum is made over the bytes where the device has
 * put them; store() is where they would be written to flash. What did not come whole is fetched again. */
#include "../common/app.h"
#include "../common/text.h"

enum { LINE = 40, AGAIN_US = 2000000, SILENCE_US = 10000000 };

static struct {
    int sk;
    int asked, whole;          /* 1: the request is out; the image has come */
    int in_head;               /* 1: reading the head of the answer */
    char line[LINE];
    unsigned filled, lines, status;
    tenon_u32 length, got, crc;
    tenon_u32 since_us;        /* of the last progress, or of the last attempt's end */
} image;
static tenon_u8 ring[1000];

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

/* ---- the answer: RFC 9112 4 ------------------------------------------------------------------------------- */

static int begins(const char *text, const char *with)
{
    for (; *with != '\0'; text++, with++) {
        if ((*text >= 'A' && *text <= 'Z' ? *text + 32 : *text) != *with)
            return 0;
    }
    return 1;
}

static tenon_u32 number_in(const char *text)
{
    tenon_u32 value = 0;

    while (*text == ' ')
        text++;
    for (; *text >= '0' && *text <= '9' && value < 100000000; text++)
        value = value * 10 + (tenon_u32)(*text - '0');
    return value;
}

static void read_line(void)
{
    image.line[image.filled] = '\0';
    if (image.filled == 0)
        image.in_head = 0;
    else if (image.lines == 0 && begins(image.line, "http/1."))
        image.status = (unsigned)number_in(image.line + 8);
    else if (begins(image.line, "content-length:"))
        image.length = number_in(image.line + 15);
    image.lines++;
    image.filled = 0;
}

static void read_bytes(const tenon_u8 *bytes, unsigned n)
{
    unsigned i = 0;

    for (; i < n && image.in_head; i++) {
        if (bytes[i] == '\n')
            read_line();
        else if (bytes[i] != '\r' && image.filled < LINE - 1)
            image.line[image.filled++] = (char)bytes[i];
    }
    store(bytes + i, n - i);
}

/* ---- the connection ------------------------------------------------------------------------------------------ */

static void connect(void)
{
    struct tenon_addr server;

    __builtin_memset(&image, 0, sizeof(image));
    __builtin_memset(&server, 0, sizeof(server));
    server.ip = tenon_ip4_bytes(10, 0, 2, 2);
    server.port = 80;
    image.in_head = 1;
    image.crc = 0xFFFFFFFFU;
    image.since_us = board_now_us();
    image.sk = tenon_sock_create(socks, NULL, &server, TENON_SOCK_TCP, 0);
    if (image.sk > 0 && tenon_sock_set_sbuf(socks, image.sk, ring, sizeof(ring)) != TENON_OK)
        image.since_us -= SILENCE_US;    /* the ring is still in use: later */
}

static void ask(void)
{
    struct text text;
    tenon_u8 *to;
    const int room = tenon_sock_ask_sbuf(socks, image.sk, &to);

    if (room <= 0)
        return;
    text_begin(&text, (char *)to, (unsigned)room);
    text_add(&text, "GET /image.bin HTTP/1.0\r\nHost: 10.0.2.2\r\n\r\n");
    image.asked = !text.cut && tenon_sock_send(socks, image.sk, to, (unsigned)(text.at - (char *)to), 0) == TENON_OK;
}

static void finish(int error)
{
    char room[80];
    struct text text;

    image.whole = error == TENON_ECLOSED && image.status == 200 && !image.in_head && image.got == image.length;
    text_begin(&text, room, sizeof(room) - 1);
    text_add(&text, image.whole ? "image " : "no image: status ");
    text_number(&text, image.whole ? image.got : image.status);
    text_add(&text, image.whole ? " bytes, CRC-32 " : ", bytes ");
    if (image.whole)
        text_hex(&text, ~image.crc, 8);
    else
        text_number(&text, image.got);
    text_char(&text, '\n');
    *text.at = '\0';
    say(room);
    (void)tenon_sock_delete(socks, image.sk, error == TENON_ECLOSED ? 0 : TENON_SOCK_ABORT);
    image.sk = 0;
    image.since_us = board_now_us();
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
    if (n < 0)
        finish(n);
}

static tenon_u32 turn(struct tenon_socks *unused, tenon_u32 now_us)
{
    (void)unused;
    if (image.whole)
        return 1000000;
    if (image.sk <= 0 && now_us - image.since_us >= AGAIN_US)
        connect();
    else if (image.sk > 0 && now_us - image.since_us > SILENCE_US)
        finish(TENON_ETIMEOUT);
    else
        return 100000;
    return 0;
}

static int start(struct tenon_socks *unused)
{
    (void)unused;
    image.since_us = board_now_us() - AGAIN_US / 2;    /* by then there is an address */
    return TENON_OK;
}

const struct app app = {"download", NULL, start, event, turn};
