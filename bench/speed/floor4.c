/* SPDX-License-Identifier: MIT */
/* The floor of IPv4. */
#define FLOOR_IP6 0
#include "floor.h"
