/* SPDX-License-Identifier: MIT */
/* Runs echo.c in simavr, an ATmega2560 with memory at its bus, and is its peer: the core on this machine, its clock the
 * cycles of the other. Frames go over UART 0; every so many of them are lost on purpose.
 *
 *     host ELF [BYTES [LOSE]]    sends BYTES and looks at what comes back; each LOSE-th frame of either side is lost */
#include <tenon/tenon.h>

#include <simavr/avr_uart.h>
#include <simavr/sim_avr.h>
#include <simavr/sim_elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HZ = 16000000,
    FRAME_MAX = 2048,
    LINE_BYTES = 65536,
    SECONDS_MAX = 300,    /* of the simulated machine */
    END = 0xC0,
    ESC = 0xDB,
    ESC_END = 0xDC,
    ESC_ESC = 0xDD
};

struct host {
    avr_t *avr;
    struct tenon *stack;
    struct tenon_tcp *conn;
    avr_irq_t *into;                /* UART 0 of the machine */
    tenon_u8 line[LINE_BYTES];      /* escaped bytes for it */
    unsigned line_in, line_out;
    int ready;                      /* it takes bytes */
    tenon_u8 frame[FRAME_MAX];      /* from it */
    unsigned frame_bytes;
    int escaped;
    unsigned long frames[2], lost[2], lose;
    char text[300];
    unsigned text_bytes;
    int started, stopped;
    tenon_u32 bytes, sent, got;
    int finished, closed, why, wrong;
    long blocks, bufs;
};

static tenon_u8 stream_byte(tenon_u32 at)
{
    return (tenon_u8)((at * 2654435761UL) >> 11 & 0xFF);
}

static tenon_u32 now_us(const struct host *h)
{
    return (tenon_u32)(h->avr->cycle / (HZ / 1000000));
}

/* ---- what the core asks for ------------------------------------------------------------------------- */

static void *mem_get(void *host, size_t bytes)
{
    ((struct host *)host)->blocks++;
    return malloc(bytes);
}

static void mem_put(void *host, void *mem, size_t bytes)
{
    (void)bytes;
    ((struct host *)host)->blocks--;
    free(mem);
}

struct packet {
    struct tenon_buf buf;
    struct host *host;
    tenon_u8 bytes[FRAME_MAX];
};

static void packet_release(struct tenon_buf *buf)
{
    struct packet *packet = TENON_CONTAINER(buf, struct packet, buf);

    packet->host->bufs--;
    free(packet);
}

static struct tenon_buf *packet_new(struct host *h)
{
    struct packet *packet = malloc(sizeof(*packet));

    if (packet == NULL)
        abort();
    packet->buf.data = packet->bytes;
    packet->buf.size = FRAME_MAX;
    packet->buf.refs = 1;
    packet->buf.release = packet_release;
    packet->host = h;
    h->bufs++;
    return &packet->buf;
}

static unsigned buf_get(void *host, struct tenon_buf **bufs, unsigned n)
{
    unsigned i;

    for (i = 0; i < n; i++)
        bufs[i] = packet_new(host);
    return n;
}

static int is_lost(struct host *h, unsigned direction)
{
    h->frames[direction]++;
    if (h->lose == 0 || h->frames[direction] % h->lose != 0)
        return 0;
    h->lost[direction]++;
    return 1;
}

static void line_put(struct host *h, tenon_u8 byte)
{
    h->line[h->line_in++ % LINE_BYTES] = byte;
}

static unsigned transmit(void *host, unsigned netif, const struct tenon_frame *frames, unsigned n)
{
    struct host *h = host;
    unsigned i, k;
    tenon_u32 at;

    (void)netif;
    for (i = 0; i < n && LINE_BYTES - (h->line_in - h->line_out) > 2 * FRAME_MAX; i++) {
        if (is_lost(h, 0))
            continue;
        for (k = 0; k < frames[i].nspans; k++)
            for (at = 0; at < frames[i].spans[k].len; at++) {
                const tenon_u8 byte = tenon_span_data(&frames[i].spans[k])[at];

                if (byte == END || byte == ESC)
                    line_put(h, ESC);
                line_put(h, byte == END ? ESC_END : byte == ESC ? ESC_ESC : byte);
            }
        line_put(h, END);
    }
    return i;
}

static int entropy(void *host, void *bytes, size_t n)
{
    (void)host;
    memset(bytes, 0x3C, n);
    return 0;
}

static const struct tenon_host ops = { TENON_HOST_VERSION, mem_get, mem_put, buf_get, transmit, entropy };

/* ---- what comes from the machine ---------------------------------------------------------------------- */

static void frame_comes(struct host *h)
{
    struct tenon_buf *buf = packet_new(h);
    const struct tenon_span span = { buf, 0, h->frame_bytes };
    struct tenon_frame frame;

    memset(&frame, 0, sizeof(frame));
    memcpy(buf->data, h->frame, h->frame_bytes);
    frame.spans = &span;
    frame.nspans = 1;
    if (h->frame_bytes > 0 && !is_lost(h, 1))
        (void)tenon_input(h->stack, 1, &frame, 1, now_us(h));
    tenon_buf_put(buf);
    h->frame_bytes = 0;
}

static void on_byte(struct avr_irq_t *irq, uint32_t value, void *param)
{
    struct host *h = param;
    tenon_u8 byte = (tenon_u8)value;

    (void)irq;
    if (byte == END) {
        frame_comes(h);
        return;
    }
    if (byte == ESC) {
        h->escaped = 1;
        return;
    }
    if (h->escaped)
        byte = byte == ESC_END ? END : ESC;
    h->escaped = 0;
    if (h->frame_bytes < FRAME_MAX)
        h->frame[h->frame_bytes++] = byte;
}

static void on_text(struct avr_irq_t *irq, uint32_t value, void *param)
{
    struct host *h = param;

    (void)irq;
    if (value != '\n') {
        if (h->text_bytes + 1 < sizeof(h->text))
            h->text[h->text_bytes++] = (char)value;
        return;
    }
    h->text[h->text_bytes] = '\0';
    h->text_bytes = 0;
    printf("%s\n", h->text);
    h->started |= strcmp(h->text, "ready") == 0;
    h->stopped |= strncmp(h->text, "stopped", 7) == 0;
}

static void on_ready(struct avr_irq_t *irq, uint32_t value, void *param)
{
    (void)irq, (void)value;
    ((struct host *)param)->ready = 1;
}

static void on_full(struct avr_irq_t *irq, uint32_t value, void *param)
{
    (void)irq, (void)value;
    ((struct host *)param)->ready = 0;
}

static void feed(struct host *h)
{
    while (h->ready && h->line_out != h->line_in)
        avr_raise_irq(h->into, h->line[h->line_out++ % LINE_BYTES]);
}

/* ---- the client ----------------------------------------------------------------------------------------- */

static void client_send(struct host *h)
{
    tenon_i32 taken = 1;

    while (taken > 0 && h->sent < h->bytes) {
        tenon_u8 bytes[500];
        tenon_u32 i, n = h->bytes - h->sent < sizeof(bytes) ? h->bytes - h->sent : (tenon_u32)sizeof(bytes);

        for (i = 0; i < n; i++)
            bytes[i] = stream_byte(h->sent + i);
        taken = tenon_tcp_write(h->conn, bytes, n);
        h->sent += taken > 0 ? (tenon_u32)taken : 0;
    }
    if (h->sent == h->bytes && h->got == h->bytes && !h->finished) {
        h->finished = 1;
        (void)tenon_tcp_finish(h->conn);
    }
}

static void on_received(struct tenon_tcp *conn, void *app, const struct tenon_span *spans, unsigned n)
{
    struct host *h = app;
    unsigned i;
    tenon_u32 k;

    for (i = 0; i < n; i++) {
        for (k = 0; k < spans[i].len; k++)
            h->wrong += tenon_span_data(&spans[i])[k] != stream_byte(h->got + k);
        h->got += spans[i].len;
        tenon_tcp_consumed(conn, spans[i].len);
    }
}

static void on_finished(struct tenon_tcp *conn, void *app)
{
    (void)conn, (void)app;
}

static void on_closed(struct tenon_tcp *conn, void *app, int why)
{
    struct host *h = app;

    (void)conn;
    h->conn = NULL;
    h->closed = 1;
    h->why = why;
}

static const struct tenon_tcp_events events = { .received = on_received, .finished = on_finished, .closed = on_closed };

static void *stack_open(struct host *h)
{
    const struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, 1);
    struct tenon_netif_conf netif;
    struct tenon_conf conf;
    void *mem;

    tenon_conf_default(&conf);
    conf.tcp_msl_ms = 100;
    mem = malloc(tenon_mem_size(&conf));
    h->stack = mem != NULL ? tenon_init(mem, &conf, &ops, h) : NULL;
    memset(&netif, 0, sizeof(netif));
    netif.mac[0] = 2;
    netif.mac[5] = 1;
    netif.mtu = 576;
    netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    if (h->stack == NULL || tenon_netif_add(h->stack, &netif) != 1 || tenon_addr_add(h->stack, 1, &ip, 24) != TENON_OK)
        abort();
    return mem;
}

/* ---- the machine ------------------------------------------------------------------------------------------ */

static int machine_open(struct host *h, const char *elf)
{
    elf_firmware_t firmware;
    uint32_t flags = 0;

    memset(&firmware, 0, sizeof(firmware));
    if (elf_read_firmware(elf, &firmware) != 0)
        return 0;
    h->avr = avr_make_mcu_by_name("atmega2560");
    if (h->avr == NULL)
        return 0;
    h->avr->ramend = 0xFFFF;    /* memory at the bus, as XMCRA lets it have */
    avr_init(h->avr);
    h->avr->frequency = HZ;
    avr_load_firmware(h->avr, &firmware);
    (void)avr_ioctl(h->avr, AVR_IOCTL_UART_SET_FLAGS('0'), &flags);
    (void)avr_ioctl(h->avr, AVR_IOCTL_UART_SET_FLAGS('1'), &flags);
    h->into = avr_io_getirq(h->avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_INPUT);
    avr_irq_register_notify(avr_io_getirq(h->avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUTPUT), on_byte, h);
    avr_irq_register_notify(avr_io_getirq(h->avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUT_XON), on_ready, h);
    avr_irq_register_notify(avr_io_getirq(h->avr, AVR_IOCTL_UART_GETIRQ('0'), UART_IRQ_OUT_XOFF), on_full, h);
    avr_irq_register_notify(avr_io_getirq(h->avr, AVR_IOCTL_UART_GETIRQ('1'), UART_IRQ_OUTPUT), on_text, h);
    return 1;
}

static void run(struct host *h)
{
    struct tenon_addr to;
    uint64_t next = 0;

    memset(&to, 0, sizeof(to));
    to.ip = tenon_ip4_bytes(10, 0, 0, 2);
    to.port = 7;
    while (!h->stopped && h->avr->cycle < (uint64_t)SECONDS_MAX * HZ) {
        const int state = avr_run(h->avr);

        if (state == cpu_Done || state == cpu_Crashed)
            return;
        if (h->avr->cycle < next)
            continue;
        next = h->avr->cycle + 200 * (HZ / 1000000);
        if (h->started && h->conn == NULL && !h->closed &&
            tenon_tcp_connect(h->stack, &h->conn, NULL, &to, &events, h) != TENON_OK)
            abort();
        if (h->conn != NULL)
            client_send(h);
        (void)tenon_poll(h->stack, now_us(h));
        feed(h);
    }
}

int main(int argc, char **argv)
{
    static struct host h;
    void *mem;
    int good;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2 || !machine_open(&h, argv[1])) {
        fprintf(stderr, "usage: %s ELF [BYTES [LOSE]]\n", argv[0]);
        return 2;
    }
    h.bytes = argc > 2 ? (tenon_u32)strtoul(argv[2], NULL, 10) : 10000;
    h.lose = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    mem = stack_open(&h);
    run(&h);
    printf("client sent=%lu got=%lu wrong=%d closed=%d why=%d frames=%lu,%lu lost=%lu,%lu cycles=%llu\n",
           (unsigned long)h.sent, (unsigned long)h.got, h.wrong, h.closed, -h.why, h.frames[0], h.frames[1], h.lost[0],
           h.lost[1], (unsigned long long)h.avr->cycle);
    tenon_fini(h.stack);
    free(mem);
    good = h.stopped && h.got == h.bytes && h.wrong == 0 && h.closed && h.why == TENON_OK && h.blocks == 0 &&
           h.bufs == 0;
    return !good;
}
