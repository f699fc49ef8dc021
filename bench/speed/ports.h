/* SPDX-License-Identifier: MIT */
/* "tenon bench --port": ports at both ends. */
#ifndef TENON_BENCH_SPEED_PORTS_H
#define TENON_BENCH_SPEED_PORTS_H

#include <stddef.h>

/* A kind that can make two joined devices by itself, and what they are called. The table is made by
 * cmake/ports.cmake; a kind that is NULL ends it. */
struct speed_cable {
    const char *kind;
    int (*make)(const char *const names[2], unsigned queues, char *error, size_t error_size);
    const char *prefix;    /* before each name */
};

extern const struct speed_cable speed_cables[];

/* Whether it can be understood, whatever there is of it.
 * @param written  two ports, or one kind of speed_cables and NULL
 * @return 0; -1: `error` says why */
int speed_ports_check(const char *const written[2], char *error, size_t error_size);

/* Open the server's port and then the client's, and make speed_tenon_ends of them. @return 0; -1: `error` says why */
int speed_ports_open(const char *const written[2], char *error, size_t error_size);
void speed_ports_close(void);

#endif
