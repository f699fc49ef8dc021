/* SPDX-License-Identifier: MIT */
/* Is there a cable? All PHYs say it in the same way (IEEE 802.3 22.2.4). */
#include "board.h"

enum { PHY_STATUS = 1, PHY_NAME = 2, STATUS_LINK = 1 << 2, NOBODY = 0xFFFF };

/* The bit stays 0 until it is read, when the link was down (22.2.4.2.13): that nobody looked does not hide it. */
int board_link(void)
{
    const unsigned name = board_phy(PHY_NAME);

    if (name == 0 || name == NOBODY)
        return 1;
    return (board_phy(PHY_STATUS) & STATUS_LINK) != 0;
}
