/* SPDX-License-Identifier: MIT */
/* RAM by the names of the linker script: the stack, variables. */
#include "board.h"

enum { STACK_PAINT = 0xA5, STACK_SPARED = 128 };

extern tenon_u8 board_stack_low[], board_stack_high[];
extern tenon_u8 board_data_load[], board_data_begin[], board_data_end[], board_bss_begin[], board_bss_end[];

/* The names are places, not arrays that could be compared. */
static size_t between(const tenon_u8 *from, const tenon_u8 *to)
{
    return (size_t)to - (size_t)from;
}

/* With a frame of its own, also where all files are optimised as one: what is painted must end below it, and that of
 * its caller may be larger than what is spared. */
__attribute__((noinline)) void board_ram_start(void)
{
    const tenon_u8 *here = __builtin_frame_address(0);

    __builtin_memcpy(board_data_begin, board_data_load, between(board_data_begin, board_data_end));
    __builtin_memset(board_bss_begin, 0, between(board_bss_begin, board_bss_end));
    __builtin_memset(board_stack_low, STACK_PAINT, between(board_stack_low, here) - STACK_SPARED);
}

unsigned board_stack_bytes(void)
{
    return (unsigned)between(board_stack_low, board_stack_high);
}

unsigned board_stack_used(void)
{
    const tenon_u8 *low = board_stack_low;
    unsigned unused = 0;

    while (unused < board_stack_bytes() && low[unused] == STACK_PAINT)
        unused++;
    return board_stack_bytes() - unused;
}

unsigned board_static_bytes(void)
{
    return (unsigned)(board_stack_bytes() + between(board_data_begin, board_data_end) +
                      between(board_bss_begin, board_bss_end));
}
