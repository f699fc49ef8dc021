/* SPDX-License-Identifier: MIT */
/* The echo with lwIP's BSD sockets, none of which blocks, and lwip_poll(), which takes less code than lwip_select().
 * They have no way to read bytes in place: these are copied into one buffer. TCP_NODELAY is not set, as all of
 * lwip_setsockopt() would come with it. */
#include "lwip_program.h"

#include "lwip/sockets.h"

enum { LISTENER = ECHO_CLIENTS, DATAGRAMS, SOCKETS, NONE = -1 };

static struct pollfd sockets[SOCKETS];    /* fd: NONE, or the socket of a client, and of those two */
static u8_t bytes[PROGRAM_DATAGRAM];

/* What the send buffer has no room for stays where it was received: it is looked at before it is taken, and so needs
 * no buffer of each client's. @return how many bytes are on their way; 0: it waits; -1: the client is done */
static int echo(const struct pollfd *client)
{
    int n = lwip_recv(client->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

    if (n <= 0 || (client->revents & POLLERR))
        return -1;
    n = lwip_send(client->fd, bytes, (size_t)n, MSG_DONTWAIT);
    return n > 0 ? lwip_recv(client->fd, bytes, (size_t)n, MSG_DONTWAIT) : 0;
}

/* @return 0: there is nothing to do as long as nothing comes */
static int serve(struct pollfd *client)
{
    int n;

    if (client->fd == NONE) {
        if (!(sockets[LISTENER].revents & POLLIN))
            return 0;
        sockets[LISTENER].revents = 0;
        client->fd = lwip_accept(sockets[LISTENER].fd, NULL, NULL);
        return 1;
    }
    if (client->revents == 0)
        return 0;
    n = echo(client);
    if (n < 0) {
        (void)lwip_close(client->fd);
        client->fd = NONE;
    }
    return n;
}

static int echo_datagram(const struct pollfd *socket)
{
    struct sockaddr_in from;
    socklen_t from_bytes = sizeof(from);
    int n;

    if (socket->revents == 0)
        return 0;
    n = lwip_recvfrom(socket->fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from, &from_bytes);
    if (n > 0)
        (void)lwip_sendto(socket->fd, bytes, (size_t)n, 0, (const struct sockaddr *)&from, from_bytes);
    return 1;
}

void program_turn(void)
{
    int done = 1;
    unsigned i;

    while (done && lwip_poll(sockets, SOCKETS, 0) > 0) {
        done = echo_datagram(&sockets[DATAGRAMS]);
        for (i = 0; i < ECHO_CLIENTS; i++)
            done |= serve(&sockets[i]);
    }
}

static int open_one(int type)
{
    const int fd = lwip_socket(AF_INET, type, 0);
    struct sockaddr_in us;

    memset(&us, 0, sizeof(us));
    us.sin_len = sizeof(us);
    us.sin_family = AF_INET;
    us.sin_port = lwip_htons(ECHO_PORT);
    return fd >= 0 && lwip_bind(fd, (const struct sockaddr *)&us, sizeof(us)) == 0 ? fd : NONE;
}

int program_open(void)
{
    unsigned i;

    for (i = 0; i < SOCKETS; i++) {
        sockets[i].fd = NONE;
        sockets[i].events = POLLIN;
    }
    sockets[LISTENER].fd = open_one(SOCK_STREAM);
    sockets[DATAGRAMS].fd = open_one(SOCK_DGRAM);
    return lwip_listen(sockets[LISTENER].fd, ECHO_CLIENTS) == 0 && sockets[DATAGRAMS].fd != NONE;
}
