# SPDX-License-Identifier: MIT
# ColdFire code by the compiler for Linux on 68020 and up; nothing of its libraries is used. The processor loads words
# from any address: there is no trap to try (BOARD_STRICT).
set(CMAKE_C_COMPILER m68k-linux-gnu-gcc)
set(BOARD_FLAGS -mcpu=5208 -fno-pic -fno-pie -fomit-frame-pointer)
set(BOARD_SOURCES mcf5208evb/board.c mcf5208evb/ethernet.c)
set(BOARD_LINK_FLAGS LINKER:--no-warn-rwx-segments)
