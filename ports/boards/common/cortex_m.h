/* SPDX-License-Identifier: MIT */
/* What the boards with a Cortex-M share: vectors, clock, sleep, the way out. */
#ifndef TENON_BOARD_CORTEX_M_H
#define TENON_BOARD_CORTEX_M_H

#include "board.h"

void cortex_m_start(void);
void cortex_m_enable(unsigned interrupt);

/* Of the board. */
void board_timer_start(tenon_u32 us);    /* an interrupt in so many microseconds, at most a second */
void board_ethernet_interrupt(void);
void board_timer_interrupt(void);
void board_uart_interrupt(void);

typedef void (*vector)(void);
void cortex_m_reset(void);
void cortex_m_fault(void);
void cortex_m_tick(void);
extern tenon_u8 board_stack_low[], board_stack_high[];

#endif
