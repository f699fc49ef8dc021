/* SPDX-License-Identifier: MIT */
/* Luminary (TI) LM3S6965 evaluation board: Cortex-M3 at 50 MHz, 256 KB of flash, 64 KB of RAM. */
#include "../common/cortex_m.h"
#include "../common/reg.h"

const struct board board = {"lm3s6965evb", "Cortex-M3", "Stellaris, FIFO", 50000000, 256 * 1024UL, 64 * 1024UL};

enum { IRQ_UART0 = 5, IRQ_TIMER0 = 19, IRQ_ETHERNET = 42, VECTORS = 16 + 43 };

/* ---- system control, RCC ------------------------------------------------------------------------- */

enum {
    SYSCTL_RIS = 0x400FE050,
    SYSCTL_RCC = 0x400FE060,
    SYSCTL_RCGC1 = 0x400FE104,
    SYSCTL_RCGC2 = 0x400FE108
};
enum {
    RCC_MOSCDIS = 1,
    RCC_OSCSRC = 3 << 4,
    RCC_XTAL = 15 << 6,
    RCC_XTAL_8MHZ = 14 << 6,
    RCC_BYPASS = 1 << 11,
    RCC_PWRDN = 1 << 13,
    RCC_USESYSDIV = 1 << 22,
    RCC_SYSDIV = 15 << 23,
    RCC_SYSDIV_4 = 3 << 23,
    RIS_PLL = 1 << 6
};

/* 50 MHz from the PLL, which the crystal of 8 MHz drives. */
static void start_clock(void)
{
    tenon_u32 rcc = reg_read(SYSCTL_RCC);

    rcc = (rcc | RCC_BYPASS) & ~(tenon_u32)(RCC_USESYSDIV | RCC_MOSCDIS);
    reg_write(SYSCTL_RCC, rcc);
    rcc = (rcc & ~(tenon_u32)(RCC_XTAL | RCC_OSCSRC | RCC_PWRDN)) | RCC_XTAL_8MHZ;
    reg_write(SYSCTL_RCC, rcc);
    rcc = (rcc & ~(tenon_u32)RCC_SYSDIV) | RCC_SYSDIV_4 | RCC_USESYSDIV;
    reg_write(SYSCTL_RCC, rcc);
    while (!(reg_read(SYSCTL_RIS) & RIS_PLL))
        ;
    reg_write(SYSCTL_RCC, rcc & ~(tenon_u32)RCC_BYPASS);
}

/* ---- UART 0 --------------------------------------------------------------------------------------- */

enum {
    GPIOA_AFSEL = 0x40004420,
    GPIOA_DEN = 0x4000451C,
    UART_DR = 0x4000C000,
    UART_FR = 0x4000C018,
    UART_IBRD = 0x4000C024,
    UART_FBRD = 0x4000C028,
    UART_LCRH = 0x4000C02C,
    UART_CTL = 0x4000C030,
    UART_IM = 0x4000C038,
    UART_ICR = 0x4000C044
};
enum { FR_RXFE = 1 << 4, FR_TXFF = 1 << 5, IM_RX = 1 << 4, IM_RT = 1 << 6 };

/* 115200 8N1: 50 MHz / (16 * 115200) = 27 8/64. */
static void start_uart(void)
{
    reg_set(GPIOA_AFSEL, 3);
    reg_set(GPIOA_DEN, 3);
    reg_write(UART_IBRD, 27);
    reg_write(UART_FBRD, 8);
    reg_write(UART_LCRH, 3 << 5 | 1 << 4);    /* with the FIFOs: 16 characters may come while the program works */
    reg_write(UART_CTL, 1 | 1 << 8 | 1 << 9);
    reg_write(UART_IM, IM_RX | IM_RT);
}

void board_put(char c)
{
    while (reg_read(UART_FR) & FR_TXFF)
        ;
    reg_write(UART_DR, (tenon_u8)c);
}

/* The interrupt wakes, and is allowed again when all has been read. */
int board_key(void)
{
    if (reg_read(UART_FR) & FR_RXFE) {
        reg_write(UART_IM, IM_RX | IM_RT);
        return -1;
    }
    return (int)(reg_read(UART_DR) & 0xFF);
}

void board_uart_interrupt(void)
{
    reg_write(UART_IM, 0);
    reg_write(UART_ICR, IM_RX | IM_RT);
    board_wake();
}

/* ---- timer 0, one shot ----------------------------------------------------------------------------- */

enum {
    TIMER_CFG = 0x40030000,
    TIMER_TAMR = 0x40030004,
    TIMER_CTL = 0x4003000C,
    TIMER_IMR = 0x40030018,
    TIMER_ICR = 0x40030024,
    TIMER_TAILR = 0x40030028
};

void board_timer_start(tenon_u32 us)
{
    reg_write(TIMER_CTL, 0);
    reg_write(TIMER_ICR, 1);
    reg_write(TIMER_TAILR, us * 50);
    reg_write(TIMER_CTL, 1);
}

void board_timer_interrupt(void)
{
    reg_write(TIMER_ICR, 1);
    board_wake();
}

/* ---- start ------------------------------------------------------------------------------------------ */

enum { RCGC1_UART0 = 1, RCGC1_TIMER0 = 1 << 16, RCGC2_GPIOA = 1 };

void board_start(void)
{
    start_clock();
    reg_set(SYSCTL_RCGC1, RCGC1_UART0 | RCGC1_TIMER0);
    reg_set(SYSCTL_RCGC2, RCGC2_GPIOA);
    (void)reg_read(SYSCTL_RCGC2);    /* a module may be touched some clocks after it has got its own */
    start_uart();
    reg_write(TIMER_CFG, 0);
    reg_write(TIMER_TAMR, 1);
    reg_write(TIMER_IMR, 1);
    cortex_m_start();
    cortex_m_enable(IRQ_UART0);
    cortex_m_enable(IRQ_TIMER0);
}

__attribute__((section(".vectors"), used)) static const vector vectors[VECTORS] = {
    [0] = (vector)(void *)board_stack_high,
    [1] = cortex_m_reset,
    [2 ... 14] = cortex_m_fault,
    [15] = cortex_m_tick,
    [16 + IRQ_UART0] = board_uart_interrupt,
    [16 + IRQ_TIMER0] = board_timer_interrupt,
    [16 + IRQ_ETHERNET] = board_ethernet_interrupt,
};
