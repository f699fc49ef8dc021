/* SPDX-License-Identifier: MIT */
/* Arm MPS2 with the FPGA image AN385: Cortex-M3 at 25 MHz, 4 MB of memory for code and 4 MB for data. */
#include "../common/cortex_m.h"
#include "../common/reg.h"

const struct board board = {"mps2-an385", "Cortex-M3", "LAN9118, FIFO", 25000000, 4096 * 1024UL, 4096 * 1024UL};

enum { IRQ_UART0_RX = 0, IRQ_TIMER0 = 8, IRQ_ETHERNET = 13, VECTORS = 16 + 32 };

/* ---- UART 0 --------------------------------------------------------------------------------------- */

enum {
    UART_DATA = 0x40004000,
    UART_STATE = 0x40004004,
    UART_CTRL = 0x40004008,
    UART_INT = 0x4000400C,
    UART_BAUDDIV = 0x40004010
};
enum { STATE_TX_FULL = 1, STATE_RX_FULL = 2, CTRL_TX = 1, CTRL_RX = 2, CTRL_RX_INT = 8, INT_RX = 2 };

static void start_uart(void)
{
    reg_write(UART_BAUDDIV, 25000000 / 115200);
    reg_write(UART_CTRL, CTRL_TX | CTRL_RX | CTRL_RX_INT);
}

void board_put(char c)
{
    while (reg_read(UART_STATE) & STATE_TX_FULL)
        ;
    reg_write(UART_DATA, (tenon_u8)c);
}

int board_key(void)
{
    if (!(reg_read(UART_STATE) & STATE_RX_FULL))
        return -1;
    return (int)(reg_read(UART_DATA) & 0xFF);
}

void board_uart_interrupt(void)
{
    reg_write(UART_INT, INT_RX);
    board_wake();
}

/* ---- timer 0 ---------------------------------------------------------------------------------------- */

enum {
    TIMER_CTRL = 0x40000000,
    TIMER_VALUE = 0x40000004,
    TIMER_RELOAD = 0x40000008,
    TIMER_INT = 0x4000000C
};
enum { TIMER_ENABLE = 1, TIMER_INT_ENABLE = 8 };

void board_timer_start(tenon_u32 us)
{
    reg_write(TIMER_CTRL, 0);
    reg_write(TIMER_INT, 1);
    reg_write(TIMER_RELOAD, us * 25);
    reg_write(TIMER_VALUE, us * 25);
    reg_write(TIMER_CTRL, TIMER_ENABLE | TIMER_INT_ENABLE);
}

void board_timer_interrupt(void)
{
    reg_write(TIMER_CTRL, 0);
    reg_write(TIMER_INT, 1);
    board_wake();
}

/* ---- start ------------------------------------------------------------------------------------------ */

void board_start(void)
{
    start_uart();
    cortex_m_start();
    cortex_m_enable(IRQ_UART0_RX);
    cortex_m_enable(IRQ_TIMER0);
}

__attribute__((section(".vectors"), used)) static const vector vectors[VECTORS] = {
    [0] = (vector)(void *)board_stack_high,
    [1] = cortex_m_reset,
    [2 ... 14] = cortex_m_fault,
    [15] = cortex_m_tick,
    [16 + IRQ_UART0_RX] = board_uart_interrupt,
    [16 + IRQ_TIMER0] = board_timer_interrupt,
    [16 + IRQ_ETHERNET] = board_ethernet_interrupt,
};
