/* SPDX-License-Identifier: MIT */
/** @file
 *  What a library has left in a folder that it shares with other processes. */
#ifndef TENON_PORTS_COMMON_FOLDER_H
#define TENON_PORTS_COMMON_FOLDER_H

#include <time.h>

/** Remove files that have come, or changed, since then; and the folder and the one that it lies in, if they are empty.
 *  Nothing at all while another process has `lock`, a file in this folder, locked (fcntl()).
 *  @param since  of CLOCK_REALTIME_COARSE, as the times of files are */
void port_folder_clear(const char *folder, const char *lock, const struct timespec *since);

#endif
