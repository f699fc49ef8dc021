/* SPDX-License-Identifier: MIT */
/* A machine whose int has 16 bits: an ATmega2560 with external memory at its bus, Ethernet frames over UART 0 (SLIP,
 * RFC 1055), text on UART 1. It sends back what comes to TCP port 7, once, says what has become of its memory, and
 * sleeps for good. Built and run by tests/firmware/test_avr.py. */
#include "embedded/tenon_sock.h"

#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
#include <stdlib.h>
#include <string.h>

enum {
    MTU = 576,
    PORT = 7,
    RX_BYTES = 512,                      /* what waits between interrupt and poll; a power of two */
    END = 0xC0,
    ESC = 0xDB,
    ESC_END = 0xDC,
    ESC_ESC = 0xDD,
    PAINT = 0xA5
};

/* Memory at the bus begins behind the internal 8 KB: the arena, and at its end the stack (linked with
 * __stack=0xFFFF). */
#define EXTERNAL ((tenon_u8 *)0x2200)
#define EXTERNAL_BYTES 0xBE00U
#define STACK 0xE000U
#define STACK_BYTES 0x2000U

/* ---- text --------------------------------------------------------------------------------------- */

static void say(const char *text)
{
    for (; *text != '\0'; text++) {
        while (!(UCSR1A & _BV(UDRE1)))
            ;
        UDR1 = (tenon_u8)*text;
    }
}

static void say_number(const char *name, tenon_u32 value)
{
    char digits[12];

    say(name);
    say(ultoa(value, digits, 10));
}

void tenon_panic(const char *file, unsigned line)
{
    (void)file;
    say_number("panic line=", line);
    say("\n");
    for (;;)
        ;
}

/* ---- the stack's watermark ------------------------------------------------------------------------ */

/* Before anything else the memory at the bus is switched on, and all that the stack may have is painted. */
__attribute__((naked, used, section(".init1"))) static void paint(void)
{
    __asm__ volatile("ldi r24, 0x80\n\t"
                     "sts %0, r24\n\t"
                     "ldi r30, lo8(%2)\n\t"
                     "ldi r31, hi8(%2)\n\t"
                     "ldi r24, %1\n\t"
                     "1: st Z+, r24\n\t"
                     "cpi r31, 0\n\t"
                     "brne 1b\n\t"
                     :
                     : "n"(_SFR_MEM_ADDR(XMCRA)), "i"(PAINT), "i"(STACK));
}

static unsigned stack_most(void)
{
    unsigned at = 0;

    while (at < STACK_BYTES - 1 && ((const tenon_u8 *)STACK)[at] == PAINT)
        at++;
    return STACK_BYTES - at;
}

/* ---- the clock: 2 MHz ------------------------------------------------------------------------------- */

static volatile tenon_u16 overflows;

ISR(TIMER1_OVF_vect)
{
    overflows++;
}

static tenon_u32 now_us(void)
{
    tenon_u16 high, low;

    cli();
    low = TCNT1;
    high = overflows;
    if ((TIFR1 & _BV(TOV1)) && low < 0x8000)
        high++;
    sei();
    return ((tenon_u32)high << 16 | low) / 2;
}

/* ---- the device ------------------------------------------------------------------------------------- */

static volatile tenon_u8 rx[RX_BYTES];
static volatile tenon_u16 rx_in, rx_out, rx_lost;

ISR(USART0_RX_vect)
{
    const tenon_u8 byte = UDR0;

    if ((tenon_u16)(rx_in - rx_out) == RX_BYTES) {
        rx_lost++;
        return;
    }
    rx[rx_in % RX_BYTES] = byte;
    rx_in++;
}

static void put(tenon_u8 byte)
{
    while (!(UCSR0A & _BV(UDRE0)))
        ;
    UDR0 = byte;
}

static void put_escaped(tenon_u8 byte)
{
    if (byte != END && byte != ESC) {
        put(byte);
        return;
    }
    put(ESC);
    put(byte == END ? ESC_END : ESC_ESC);
}

static unsigned transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    unsigned i, k;
    tenon_u32 at;

    (void)device;
    for (i = 0; i < n; i++) {
        for (k = 0; k < frames[i].nspans; k++)
            for (at = 0; at < frames[i].spans[k].len; at++)
                put_escaped(tenon_span_data(&frames[i].spans[k])[at]);
        put(END);
    }
    return n;
}

static struct tenon_buf *block;
static unsigned filled;
static tenon_u8 escaped;

static void frame_ends(struct tenon_socks *socks)
{
    if (block != NULL && filled > 0) {
        tenon_sock_input(socks, block, 0, filled, TENON_CSUM_NONE);
        block = NULL;
    }
    filled = 0;
}

static void byte_comes(struct tenon_socks *socks, tenon_u8 byte)
{
    if (byte == END) {
        frame_ends(socks);
        return;
    }
    if (byte == ESC) {
        escaped = 1;
        return;
    }
    if (escaped)
        byte = byte == ESC_END ? END : ESC;
    escaped = 0;
    if (block == NULL && filled == 0)
        block = tenon_sock_block(socks);
    if (block != NULL && filled < block->size)
        block->data[filled] = byte;
    filled++;    /* without a block, or too long: it is counted, and dropped at its end */
}

static void device_poll(void *device, struct tenon_socks *socks)
{
    (void)device;
    while (rx_in != rx_out) {
        const tenon_u8 byte = rx[rx_out % RX_BYTES];

        rx_out++;
        byte_comes(socks, byte);
    }
}

static int entropy(void *device, void *bytes, size_t n)
{
    (void)device;
    memset(bytes, 0x5A, n);
    return 0;
}

static void device_start(void)
{
    UBRR0 = 0;    /* as fast as it goes: 2 Mbit/s */
    UBRR1 = 0;
    UCSR0A = UCSR1A = _BV(U2X0);
    UCSR0B = _BV(RXEN0) | _BV(TXEN0) | _BV(RXCIE0);
    UCSR1B = _BV(TXEN1);
    TCCR1B = _BV(CS11);
    TIMSK1 = _BV(TOIE1);
    sei();
}

/* ---- the echo --------------------------------------------------------------------------------------- */

static tenon_u8 ring[2 * (MTU - 40 + TENON_SOCK_PACKET_BYTES)];
static tenon_u32 echoed;

/* What is read goes into the ring: the copy is the echo's. @return 1: the client has finished, and we too */
static int echo(struct tenon_socks *socks, int sk)
{
    static tenon_u8 *from;
    static int have;
    tenon_u8 *to;
    int room;

    if (have == 0)
        have = tenon_sock_ask_rbuf(socks, sk, &from);
    if (have < 0)
        return tenon_sock_send(socks, sk, NULL, 0, TENON_SOCK_FIN) == TENON_OK;
    if (have == 0)
        return 0;
    room = tenon_sock_ask_sbuf(socks, sk, &to);
    if (room <= 0)
        return 0;
    if (room > have)
        room = have;
    memcpy(to, from, (size_t)room);
    if (tenon_sock_send(socks, sk, to, (unsigned)room, 0) != TENON_OK)
        return 0;
    if (tenon_sock_read_done(socks, sk, from, (unsigned)room) != TENON_OK)
        say("read_done is refused\n");
    echoed += (tenon_u32)room;
    from += room;
    have -= room;
    return 0;
}

/* A size_t has 16 bits too: limits for which it is too small are refused by name, whatever is left when they wrap.
 * @return how many are */
static unsigned refusals(const struct tenon_sock_conf *conf)
{
    static const char *const names[] = { "memory", "memory", "blocks", "blocks", "headers", "stack" };
    unsigned i, refused = 0;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        static struct tenon_sock_conf wrong;
        const char *name;

        wrong = *conf;
        wrong.memory = i == 0 ? 0xF800U : 0;
        wrong.stack.paths_max = i == 1 ? 1000 : 2;            /* of 66 bytes and more */
        wrong.blocks = i == 2 ? 111 : i == 3 ? 4096 : 8;      /* of 594 bytes, and more than half a kilobyte for each */
        wrong.headers = i == 4 ? 238 : 4;                     /* of 280 bytes */
        wrong.stack.neighbours_max = i == 5 ? 3000 : 2;       /* of 22 bytes and more */
        name = tenon_sock_conf_check(&wrong);
        refused += name != NULL && strcmp(name, names[i]) == 0 && tenon_sock_arena_bytes(&wrong) == 0;
    }
    return refused;
}

static void report(struct tenon_socks *socks, size_t arena, unsigned refused)
{
    struct tenon_sock_counts counts;

    if (block != NULL)
        tenon_buf_put(block);
    block = NULL;
    tenon_sock_stop(socks);
    tenon_sock_count(socks, &counts);
    say_number("stopped echoed=", echoed);
    say_number(" int=", 8 * sizeof(int));
    say_number(" arena=", arena);
    say_number(" memory=", counts.memory_used);
    say_number(" memory_top=", counts.memory_top);
    say_number(" blocks=", counts.blocks_free);
    say_number(" headers=", counts.headers_free);
    say_number(" copied=", counts.copied_bytes);
    say_number(" stack=", stack_most());
    say_number(" stack_bytes=", STACK_BYTES);
    say_number(" lost=", rx_lost);
    say_number(" refused=", refused);
    say("\n");
}

static void configure(struct tenon_sock_conf *conf)
{
    static const tenon_u8 mac[6] = { 2, 0, 0, 0, 0, 2 };

    memcpy(conf->device.netif.mac, mac, sizeof(mac));
    conf->device.netif.mtu = MTU;
    conf->device.netif.flags = TENON_NETIF_NO_DAD | TENON_NETIF_NO_RA;
    conf->device.flags = TENON_SOCK_NO_DMA;
    conf->device.transmit = transmit;
    conf->device.poll = device_poll;
    conf->device.entropy = entropy;
    conf->socks = 1;
    conf->conns = 2;
    conf->blocks = 8;
    conf->headers = 4;
    conf->packets = 2;
    conf->stack.paths_max = 2;
    conf->stack.neighbours_max = 2;
    conf->stack.tcp_time_wait_max = 1;
    conf->stack.tcp_rto_min_us = 50000UL;
}

int main(void)
{
    const struct tenon_ip ip = tenon_ip4_bytes(10, 0, 0, 2);
    static struct tenon_sock_conf conf;
    struct tenon_sock_info info;
    struct tenon_addr at;
    struct tenon_socks *socks;
    int sk, finished = 0;

    device_start();
    configure(&conf);
    memset(&at, 0, sizeof(at));
    at.port = PORT;
    if (tenon_sock_start(&socks, EXTERNAL, EXTERNAL_BYTES, &conf) != TENON_OK ||
        tenon_addr_add(tenon_sock_stack(socks), 1, &ip, 24) != TENON_OK ||
        (sk = tenon_sock_create(socks, &at, NULL, TENON_SOCK_TCP, 0)) <= 0 ||
        tenon_sock_set_sbuf(socks, sk, ring, sizeof(ring)) != TENON_OK) {
        say("no start\n");
        for (;;)
            ;
    }
    say("ready\n");
    do {
        if (!finished)
            finished = echo(socks, sk);
        (void)tenon_sock_poll(socks, now_us());
        (void)tenon_sock_status(socks, sk, &info);
    } while (info.state != TENON_SOCK_CLOSED);
    if (info.error != TENON_OK)
        say_number("error=", (tenon_u32)-info.error);
    report(socks, tenon_sock_arena_bytes(&conf), refusals(&conf));
    cli();
    sleep_enable();
    sleep_cpu();    /* the simulator ends here */
    return 0;
}
