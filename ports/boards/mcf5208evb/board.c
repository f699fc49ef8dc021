/* SPDX-License-Identifier: MIT */
/* Freescale M5208EVB: ColdFire V2, big-endian, 166 MHz with a bus of 83 MHz; programs run from SDRAM. */
#include "../common/board.h"
#include "../common/reg.h"
#include "../common/text.h"
#include "coldfire.h"

const struct board board = {"mcf5208evb", "ColdFire V2", "FEC, DMA", 166666666, 0, 32 * 1024 * 1024UL};
struct board_counts board_counts;
tenon_u32 board_ahead_us;

static volatile int woken;

static tenon_u16 read16(tenon_u32 address)
{
    return *(volatile tenon_u16 *)(size_t)address;
}

static void write16(tenon_u32 address, unsigned value)
{
    *(volatile tenon_u16 *)(size_t)address = (tenon_u16)value;
}

static tenon_u8 read8(tenon_u32 address)
{
    return *(volatile tenon_u8 *)(size_t)address;
}

static void write8(tenon_u32 address, unsigned value)
{
    *(volatile tenon_u8 *)(size_t)address = (tenon_u8)value;
}

static void interrupts_off(void)
{
    __asm__ volatile("move.w #0x2700,%%sr" : : : "memory");
}

static void interrupts_on(void)
{
    __asm__ volatile("move.w #0x2000,%%sr" : : : "memory");
}

/* ---- serial line: UART 0 ----------------------------------------------------------------------------- */

static const tenon_u32 UART_MODE = 0xFC060000U, UART_STATUS = 0xFC060004U, UART_CLOCK = 0xFC060004U,
                       UART_COMMAND = 0xFC060008U, UART_DATA = 0xFC06000CU, UART_MASK = 0xFC060014U,
                       UART_BAUD_HIGH = 0xFC060018U, UART_BAUD_LOW = 0xFC06001CU;
enum { STATUS_RX = 1, STATUS_TX = 4, MASK_RX = 2, COMMAND_RESET_MODE = 0x10, COMMAND_BOTH_ON = 5, UART_SOURCE = 26 };

/* 115200 8N1: 83.3 MHz / (32 * 115200) = 23. */
static void start_uart(void)
{
    write8(UART_COMMAND, COMMAND_RESET_MODE);
    write8(UART_MODE, 0x13);
    write8(UART_MODE, 0x07);
    write8(UART_CLOCK, 0xDD);
    write8(UART_BAUD_HIGH, 0);
    write8(UART_BAUD_LOW, 23);
    write8(UART_COMMAND, COMMAND_BOTH_ON);
    write8(UART_MASK, MASK_RX);
}

void board_put(char c)
{
    while (!(read8(UART_STATUS) & STATUS_TX))
        ;
    write8(UART_DATA, (tenon_u8)c);
}

/* The interrupt wakes, and is allowed again when all has been read. */
int board_key(void)
{
    if (!(read8(UART_STATUS) & STATUS_RX)) {
        write8(UART_MASK, MASK_RX);
        return -1;
    }
    return read8(UART_DATA);
}

__attribute__((interrupt)) static void uart_interrupt(void)
{
    write8(UART_MASK, 0);
    woken = 1;
}

/* ---- the clock, PIT 0: 62,500 ticks of 0.768 us, again and again -------------------------------------- */

static const tenon_u32 PIT0 = 0xFC080000U, PIT1 = 0xFC084000U;
enum { PIT_MODULUS = 2, PIT_COUNT = 4, PIT0_SOURCE = 4, PIT1_SOURCE = 5 };
enum { PIT_ENABLE = 1, PIT_RELOAD = 2, PIT_FLAG = 4, PIT_INTERRUPT = 8, PIT_OVERWRITE = 16 };
enum { CLOCK_SCALE = 6 << 8, CLOCK_TICKS = 62500, CLOCK_US = 48000 };
enum { ALARM_SCALE = 10 << 8, ALARM_TICK_NS = 12288 };
static volatile tenon_u32 rounds;

static void pit_start(tenon_u32 pit, unsigned how, unsigned ticks)
{
    write16(pit, how);
    write16(pit + PIT_MODULUS, ticks - 1);
    write16(pit, how | PIT_FLAG | PIT_INTERRUPT | PIT_ENABLE);
}

__attribute__((interrupt)) static void clock_interrupt(void)
{
    write16(PIT0, read16(PIT0) | PIT_FLAG);
    rounds++;
}

/* Between 0.000768 and 1: * 96 / 125. */
tenon_u32 board_now_us(void)
{
    static tenon_u32 last_us;
    tenon_u32 count, value, us;

    interrupts_off();
    count = rounds;
    value = read16(PIT0 + PIT_COUNT);
    if (read16(PIT0) & PIT_FLAG) {
        count++;
        value = read16(PIT0 + PIT_COUNT);
    }
    interrupts_on();
    if (value >= CLOCK_TICKS)
        value = CLOCK_TICKS - 1;
    us = count * CLOCK_US + (CLOCK_TICKS - 1 - value) * 96 / 125;
    if ((tenon_i32)(us - last_us) > 0)
        last_us = us;
    return last_us + board_ahead_us;
}

/* ---- sleep, with PIT 1 as the alarm -------------------------------------------------------------------- */

__attribute__((interrupt)) static void alarm_interrupt(void)
{
    write16(PIT1, ALARM_SCALE | PIT_FLAG);
    woken = 1;
}

void board_wake(void)
{
    woken = 1;
}

/* STOP lets interrupts through and waits for one, in one step. */
void board_sleep(tenon_u32 us)
{
    static tenon_u32 rest;
    const tenon_u32 before = board_now_us();
    const tenon_u32 ticks = us < 700000 ? us * 125 / 1536 + 1 : 56966;

    if (us == 0)
        return;
    pit_start(PIT1, ALARM_SCALE | PIT_OVERWRITE | PIT_RELOAD, ticks);
    interrupts_off();
    if (!woken)
        __asm__ volatile("stop #0x2000" : : : "memory");
    interrupts_on();
    woken = 0;
    rest += board_now_us() - before;
    board_counts.asleep_ms += rest / 1000;
    rest %= 1000;
    board_counts.sleeps++;
}

/* ---- checksums ------------------------------------------------------------------------------------------ */

/* Neither MOVEM nor LEA nor CMPA changes the extend bit, which ADDX takes and leaves. */
tenon_u32 board_sum_blocks(tenon_u32 sum, const tenon_u8 *bytes, size_t blocks)
{
    const tenon_u8 *const end = bytes + blocks * BOARD_SUM_BLOCK;

    __asm__ volatile("sub.l %%d1,%%d1\n"
                     "bra 2f\n"
                     "1: movem.l (%1),%%d1-%%d4\n"
                     "addx.l %%d1,%0\n"
                     "addx.l %%d2,%0\n"
                     "addx.l %%d3,%0\n"
                     "addx.l %%d4,%0\n"
                     "movem.l 16(%1),%%d1-%%d4\n"
                     "addx.l %%d1,%0\n"
                     "addx.l %%d2,%0\n"
                     "addx.l %%d3,%0\n"
                     "addx.l %%d4,%0\n"
                     "lea 32(%1),%1\n"
                     "2: cmpa.l %1,%2\n"
                     "bne 1b\n"
                     "clr.l %%d1\n"
                     "addx.l %%d1,%0"
                     : "+d"(sum), "+a"(bytes)
                     : "a"(end)
                     : "d1", "d2", "d3", "d4", "cc", "memory");
    return sum;
}

/* ---- semihosting: a debugger, or QEMU, does these for us ---------------------------------------------- */

enum { HOST_EXIT = 0, HOST_OPEN = 2, HOST_CLOSE = 3, HOST_READ = 4 };

/* HALT between two instructions that do nothing, the second at a multiple of 4. */
static void semihost(tenon_u32 call, tenon_u32 *arguments)
{
    register tenon_u32 d0 __asm__("d0") = call;
    register tenon_u32 *d1 __asm__("d1") = arguments;

    __asm__ volatile(".balignw 4, 0x4E71\n nop\n halt\n .long 0x4E7BF000" : "+d"(d0) : "d"(d1) : "memory");
}

/* The board has no source of randomness. With a debugger the host's is used; without one HALT stops the processor. */
int board_entropy(void *bytes, size_t n)
{
    static const char name[] = "/dev/urandom";
    tenon_u32 arguments[4] = {(tenon_u32)(size_t)name, sizeof(name), 0, 0};
    tenon_u32 file, got;

    semihost(HOST_OPEN, arguments);
    file = arguments[0];
    if (file == 0xFFFFFFFFU)
        return -1;
    arguments[1] = (tenon_u32)(size_t)bytes;
    arguments[2] = (tenon_u32)n;
    semihost(HOST_READ, arguments);
    got = arguments[0];
    arguments[0] = file;
    semihost(HOST_CLOSE, arguments);
    return got == n ? 0 : -1;
}

void board_exit(int status)
{
    interrupts_off();
    semihost(HOST_EXIT, (tenon_u32 *)(size_t)status);
    for (;;)
        __asm__ volatile("stop #0x2700");
}

void tenon_panic(const char *file, unsigned line)
{
    say("\npanic: ");
    say(file);
    say(":");
    say_number(line);
    say("\n");
    board_exit(4);
}

__attribute__((used)) static void fault(const tenon_u32 *frame)
{
    say("\nfault at ");
    say_number(frame[1]);
    say(", format and vector ");
    say_number(frame[0] >> 16);
    say("\n");
    board_exit(3);
}

/* ---- start ----------------------------------------------------------------------------------------------- */

static const tenon_u32 INTC_CLEAR_MASK = 0xFC04801DU, INTC_LEVELS = 0xFC048040U;

void coldfire_enable(unsigned source, unsigned level)
{
    write8(INTC_LEVELS + source, level);
    write8(INTC_CLEAR_MASK, source);
}

void board_start(void)
{
    start_uart();
    pit_start(PIT0, CLOCK_SCALE | PIT_OVERWRITE | PIT_RELOAD, CLOCK_TICKS);
    coldfire_enable(PIT0_SOURCE, 5);
    coldfire_enable(PIT1_SOURCE, 3);
    coldfire_enable(UART_SOURCE, 2);
    interrupts_on();
}

__attribute__((used)) static void start_c(void)
{
    board_ram_start();
    board_exit(board_main());
}

/* The program begins: vectors, stack. And a fault: its frame is what lies on the stack. */
__asm__(".text\n"
        ".globl start\n"
        "start: move.w #0x2700,%sr\n"
        "       move.l #vectors,%d0\n"
        "       movec %d0,%vbr\n"
        "       lea board_stack_high,%sp\n"
        "       jmp start_c\n"
        "fault_entry:\n"
        "       move.l %sp,-(%sp)\n"
        "       jsr fault\n");
extern void fault_entry(void);

typedef void (*vector)(void);
enum { VECTORS = 64 + 64, FIRST = 64, FEC_TX_FRAME = 36, FEC_RX_FRAME = 40 };
__attribute__((section(".vectors"), used)) static const vector vectors[VECTORS] = {
    [0 ... FIRST - 1] = fault_entry,
    [FIRST + PIT0_SOURCE] = clock_interrupt,
    [FIRST + PIT1_SOURCE] = alarm_interrupt,
    [FIRST + UART_SOURCE] = uart_interrupt,
    [FIRST + FEC_TX_FRAME] = board_ethernet_interrupt,
    [FIRST + FEC_RX_FRAME] = board_ethernet_interrupt,
};
