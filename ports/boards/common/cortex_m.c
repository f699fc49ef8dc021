/* SPDX-License-Identifier: MIT */
/* Cortex-M: start-up, the clock (SysTick), sleep (WFI), faults, semihosting. */
#include "cortex_m.h"
#include "reg.h"
#include "text.h"

enum {
    SYST_CSR = 0xE000E010,
    SYST_RVR = 0xE000E014,
    SYST_CVR = 0xE000E018,
    NVIC_ISER = 0xE000E100,
    SCB_ICSR = 0xE000ED04,
    SCB_CCR = 0xE000ED14,
    SCB_CFSR = 0xE000ED28
};
enum { ICSR_PENDSTSET = 1 << 26, CCR_UNALIGN_TRP = 1 << 3, CCR_DIV_0_TRP = 1 << 4 };
enum { TICK_CYCLES = 16000000 };

struct board_counts board_counts;
tenon_u32 board_ahead_us;
static volatile tenon_u32 ticks;
static volatile int woken;
static tenon_u32 last_us;

/* ---- start -------------------------------------------------------------------------------------- */

void cortex_m_reset(void)
{
    board_ram_start();
    board_exit(board_main());
}

void cortex_m_start(void)
{
    reg_set(SCB_CCR, CCR_DIV_0_TRP | (BOARD_STRICT ? CCR_UNALIGN_TRP : 0));
    reg_write(SYST_RVR, TICK_CYCLES - 1);
    reg_write(SYST_CVR, 0);
    reg_write(SYST_CSR, 7);
    __asm__ volatile("cpsie i" : : : "memory");
}

void cortex_m_enable(unsigned interrupt)
{
    reg_write(NVIC_ISER + interrupt / 32 * 4, 1U << interrupt % 32);
}

/* ---- time --------------------------------------------------------------------------------------- */

void cortex_m_tick(void)
{
    ticks++;
}

/* SysTick counts down through 24 bits; how often it has is counted by its interrupt, which may be waiting. */
tenon_u32 board_now_us(void)
{
    const tenon_u32 mhz = board.clock_hz / 1000000;
    tenon_u32 count, value, us;

    __asm__ volatile("cpsid i" : : : "memory");
    count = ticks;
    value = reg_read(SYST_CVR);
    if (reg_read(SCB_ICSR) & ICSR_PENDSTSET) {
        count++;
        value = reg_read(SYST_CVR);
    }
    __asm__ volatile("cpsie i" : : : "memory");
    us = count * (TICK_CYCLES / mhz) + (TICK_CYCLES - 1 - value) / mhz;
    if ((tenon_i32)(us - last_us) > 0)
        last_us = us;
    return last_us + board_ahead_us;
}

void board_wake(void)
{
    woken = 1;
}

/* Between the look at `woken` and the WFI no interrupt is taken; one that waits ends the WFI all the same. Its handler
 * has run before `woken` is forgotten, and the program looks after that: else it would look twice. */
void board_sleep(tenon_u32 us)
{
    static tenon_u32 rest;
    const tenon_u32 before = board_now_us();

    if (us == 0)
        return;
    board_timer_start(us < 1000000 ? us : 1000000);
    __asm__ volatile("cpsid i" : : : "memory");
    if (!woken)
        __asm__ volatile("dsb\n wfi" : : : "memory");
    __asm__ volatile("cpsie i\n isb" : : : "memory");
    woken = 0;
    rest += board_now_us() - before;
    board_counts.asleep_ms += rest / 1000;
    rest %= 1000;
    board_counts.sleeps++;
}

/* ---- checksums ---------------------------------------------------------------------------------- */

/* TEQ leaves the carry alone. */
tenon_u32 board_sum_blocks(tenon_u32 sum, const tenon_u8 *bytes, size_t blocks)
{
    const tenon_u8 *const end = bytes + blocks * BOARD_SUM_BLOCK;

    __asm__ volatile("adds %0, %0, #0\n"
                     "b 2f\n"
                     "1: ldmia %1!, {r3-r6}\n"
                     "adcs %0, %0, r3\n"
                     "adcs %0, %0, r4\n"
                     "adcs %0, %0, r5\n"
                     "adcs %0, %0, r6\n"
                     "ldmia %1!, {r3-r6}\n"
                     "adcs %0, %0, r3\n"
                     "adcs %0, %0, r4\n"
                     "adcs %0, %0, r5\n"
                     "adcs %0, %0, r6\n"
                     "2: teq %1, %2\n"
                     "bne 1b\n"
                     "adc %0, %0, #0"
                     : "+r"(sum), "+r"(bytes)
                     : "r"(end)
                     : "r3", "r4", "r5", "r6", "cc", "memory");
    return sum;
}

/* ---- semihosting: a debugger, or QEMU, does these for us ----------------------------------------- */

enum { SYS_OPEN = 1, SYS_CLOSE = 2, SYS_READ = 6, SYS_EXIT_EXTENDED = 0x20, STOPPED_EXIT = 0x20026 };

static tenon_u32 semihost(tenon_u32 call, const void *arguments)
{
    register tenon_u32 r0 __asm__("r0") = call;
    register const void *r1 __asm__("r1") = arguments;

    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

/* These boards have no source of randomness. With a debugger the host's is used; without one there is none. */
int board_entropy(void *bytes, size_t n)
{
    static const char name[] = "/dev/urandom";
    const void *open[3] = { name, (const void *)1, (const void *)(sizeof(name) - 1) };
    const tenon_u32 file = semihost(SYS_OPEN, open);
    const void *read[3] = { (const void *)(size_t)file, bytes, (const void *)n };
    tenon_u32 left;

    if (file == 0xFFFFFFFFU)
        return -1;
    left = semihost(SYS_READ, read);
    (void)semihost(SYS_CLOSE, read);
    return left == 0 ? 0 : -1;
}

void board_exit(int status)
{
    const tenon_u32 arguments[2] = {STOPPED_EXIT, (tenon_u32)status};

    (void)semihost(SYS_EXIT_EXTENDED, arguments);
    for (;;)
        __asm__ volatile("cpsid i\n wfi");
}

/* ---- faults ------------------------------------------------------------------------------------- */

enum { BKPT_SEMIHOST = 0xBEAB, FRAME_R0 = 0, FRAME_PC = 6 };

/* Without a debugger a call of semihosting is a fault: it has failed, and the program goes on. NULL: the stack was too
 * small for a frame, or would be for what is to be said. */
__attribute__((used)) static void fault(tenon_u32 *frame)
{
    const unsigned short *pc;

    if (frame == NULL) {
        say("\nstack overflow\n");
        board_exit(3);
    }
    pc = (const unsigned short *)(size_t)frame[FRAME_PC];
    if (*pc == BKPT_SEMIHOST) {
        frame[FRAME_R0] = 0xFFFFFFFFU;
        frame[FRAME_PC] += 2;
        return;
    }
    say("\nfault at ");
    say_number(frame[FRAME_PC]);
    say(", CFSR ");
    say_number(reg_read(SCB_CFSR));
    say("\n");
    board_exit(3);
}

/* A fault in here, on a stack that has overflowed, would stop the processor without a word: there begin again at the
 * top. 128 bytes are enough for fault(). */
__attribute__((naked)) void cortex_m_fault(void)
{
    __asm__ volatile("mrs r0, msp\n"
                     "ldr r1, =board_stack_low + 128\n"
                     "cmp r0, r1\n"
                     "bhs 1f\n"
                     "ldr r1, =board_stack_high\n"
                     "msr msp, r1\n"
                     "movs r0, #0\n"
                     "1: b fault\n"
                     ".ltorg");
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
