/* SPDX-License-Identifier: MIT */
/* What the files of this board share. */
#ifndef TENON_BOARD_COLDFIRE_H
#define TENON_BOARD_COLDFIRE_H

/* Let an interrupt of the controller through: source 0 to 63, level 1 to 6. */
void coldfire_enable(unsigned source, unsigned level);

void board_ethernet_interrupt(void);

#endif
