/* SPDX-License-Identifier: MIT */
/* The two sockets of a port: where they are, how they are made, and what is left of them afterwards. */
#ifndef TENON_PORTS_DGRAM_DGRAM_SOCKET_H
#define TENON_PORTS_DGRAM_DGRAM_SOCKET_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <netinet/in.h>

union dgram_address {
    struct sockaddr any;
    struct sockaddr_un path;
    struct sockaddr_in ip4;
    struct sockaddr_in6 ip6;
};

struct dgram_socket {
    int in, out; /* over UDP the same socket under two numbers */
    union dgram_address own, peer;
    struct stat file; /* of our Unix socket; st_ino of 0: there is none */
};

/* Understand ADDRESS:PORT or a path.
 * @return 0; -1: it is neither */
int dgram_read(union dgram_address *out, const char *name, char *error, size_t size);

/* Own and peer have been read. Whether there is anybody at the other end does not matter.
 * @return 0; -1: dgram_close() is called next */
int dgram_open(struct dgram_socket *socket, const char *name, char *error, size_t size);

/* What there is of it; a descriptor of -1 is none. */
void dgram_close(struct dgram_socket *socket);

/* Look for the other end (again).
 * @return 0; -1: errno says why frames cannot be sent to it */
int dgram_join(const struct dgram_socket *socket);

#endif
