/* SPDX-License-Identifier: MIT */
/* Registers of devices. */
#ifndef TENON_BOARD_REG_H
#define TENON_BOARD_REG_H

#include <tenon/types.h>

static inline tenon_u32 reg_read(tenon_u32 address)
{
    return *(volatile tenon_u32 *)(size_t)address;
}

static inline void reg_write(tenon_u32 address, tenon_u32 value)
{
    *(volatile tenon_u32 *)(size_t)address = value;
}

static inline void reg_set(tenon_u32 address, tenon_u32 bits)
{
    reg_write(address, reg_read(address) | bits);
}

#endif
