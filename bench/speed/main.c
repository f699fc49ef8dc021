/* SPDX-License-Identifier: MIT */
/* The program: Tenon and the floor. */
#include "harness.h"

extern const struct speed_driver speed_tenon, speed_floor;

int main(int argc, char **argv)
{
    static const struct speed_driver *const drivers[] = { &speed_tenon, &speed_floor, NULL };

    return speed_main(argc, argv, drivers);
}
