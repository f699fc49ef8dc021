/* SPDX-License-Identifier: MIT */
/** @file
 *  The machine's huge pages, for ports whose memory may lie in them. */
#ifndef TENON_PORTS_COMMON_HUGEPAGES_H
#define TENON_PORTS_COMMON_HUGEPAGES_H

#include <stddef.h>

/** @return MB that are free, in pages of all sizes that processors have */
size_t port_hugepages_free_mb(void);

/** @return what vm.nr_hugepages has to be so that so many MB are free, in pages of the usual size */
size_t port_hugepages_wanted(size_t mb);

#endif
