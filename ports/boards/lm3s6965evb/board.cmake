# SPDX-License-Identifier: MIT
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(BOARD_FLAGS -mcpu=cortex-m3 -mthumb)
set(BOARD_STRICT_FLAGS -mno-unaligned-access)
set(BOARD_SOURCES common/cortex_m.c lm3s6965evb/board.c lm3s6965evb/ethernet.c)
