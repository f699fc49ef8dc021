/* SPDX-License-Identifier: MIT */
/* SysTick, which cortex_m_start() has set up: 24 bits, downwards. */
#include "measure.h"
#include "ports/boards/common/reg.h"

enum { SYST_RVR = 0xE000E014, SYST_CVR = 0xE000E018 };
static tenon_u32 begun, held, left_out;

void count_start(void)
{
    count_begin();
    (void)count_end();
}

void count_begin(void)
{
    __asm__ volatile("cpsid i" : : : "memory");
    left_out = 0;
    begun = reg_read(SYST_CVR);
}

static tenon_u32 since(tenon_u32 before)
{
    const tenon_u32 now = reg_read(SYST_CVR);

    return before >= now ? before - now : before + reg_read(SYST_RVR) + 1 - now;
}

tenon_u32 count_end(void)
{
    const tenon_u32 ticks = since(begun) - left_out;

    __asm__ volatile("cpsie i" : : : "memory");
    return ticks;
}

void count_hold(void)
{
    held = reg_read(SYST_CVR);
}

void count_resume(void)
{
    left_out += since(held);
}

void count_loop(unsigned rounds)
{
    __asm__ volatile("1: subs %0, #1\n bne 1b" : "+r"(rounds) : : "cc");
}
