/* SPDX-License-Identifier: MIT */
/* PIT 1, which is the alarm of programs that sleep: 16 bits, downwards, of 48 ns each. */
#include "measure.h"
#include "ports/boards/common/text.h"

enum { PIT_ENABLE = 1, PIT_FLAG = 4, PIT_OVERWRITE = 16, PIT_SCALE = 2 << 8 };
static volatile tenon_u16 *const pit = (volatile tenon_u16 *)0xFC084000U;
static tenon_u32 held, left_out;

void count_start(void)
{
    pit[0] = PIT_SCALE | PIT_OVERWRITE;
}

/* From the top each time, so that no two rounds are needed. */
void count_begin(void)
{
    __asm__ volatile("move.w #0x2700,%%sr" : : : "memory");
    pit[0] = PIT_SCALE | PIT_OVERWRITE | PIT_FLAG;
    pit[1] = 0xFFFF;
    left_out = 0;
    pit[0] = PIT_SCALE | PIT_OVERWRITE | PIT_ENABLE;
}

tenon_u32 count_end(void)
{
    const tenon_u32 ticks = 0xFFFFU - pit[2] - left_out;

    if (pit[0] & PIT_FLAG) {
        say("the count has overflowed\n");
        board_exit(5);
    }
    __asm__ volatile("move.w #0x2000,%%sr" : : : "memory");
    return ticks;
}

void count_hold(void)
{
    held = pit[2];
}

void count_resume(void)
{
    left_out += held - pit[2];
}

void count_loop(unsigned rounds)
{
    __asm__ volatile("1: subq.l #1, %0\n bne 1b" : "+d"(rounds) : : "cc");
}
