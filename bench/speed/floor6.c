/* SPDX-License-Identifier: MIT */
/* The floor of IPv6. */
#define FLOOR_IP6 1
#include "floor.h"
