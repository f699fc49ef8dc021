/* SPDX-License-Identifier: MIT */
/* A Unix socket that is connected takes datagrams from its peer only, and keeps to a peer that is long dead:
 * one that comes after it would be refused. So the socket that receives is never connected. Frames leave
 * through another one, which is: only of a connected socket does poll() know that the other end has room
 * again. */
#include "dgram_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <netdb.h>

#include "../common/port.h"

enum { SOCKET_BYTES = 8 << 20 /* on the way in either direction */ };

static socklen_t bytes_of(const union dgram_address *address)
{
    if (address->any.sa_family == AF_UNIX)
        return sizeof address->path;
    return address->any.sa_family == AF_INET ? sizeof address->ip4 : sizeof address->ip6;
}

static int read_path(union dgram_address *out, const char *name, char *error, size_t size)
{
    const size_t n = strlen(name), most = sizeof out->path.sun_path - 1;

    if (n > most)
        return port_explain(error, size, "'%s' has %zu characters, and the name of a socket at most %zu: take a folder "
                                         "with a shorter name, or one from here on (./NAME)",
                            name, n, most);
    out->path.sun_family = AF_UNIX;
    memcpy(out->path.sun_path, name, n);
    return 0;
}

/* "127.0.0.1" or "[::1]", as far as the last colon. */
static int read_host(union dgram_address *out, const char *name, size_t n)
{
    const struct addrinfo numeric = { .ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_DGRAM };
    const int brackets = n > 2 && name[0] == '[' && name[n - 1] == ']';
    struct addrinfo *found;
    char host[64] = "";

    if (n == 0 || n >= sizeof host)
        return -1;
    memcpy(host, name + brackets, n - (brackets ? 2 : 0));
    if ((strchr(host, ':') != NULL) != brackets || getaddrinfo(host, NULL, &numeric, &found) != 0)
        return -1;
    memcpy(out, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return 0;
}

int dgram_read(union dgram_address *out, const char *name, char *error, size_t size)
{
    const char *colon = strrchr(name, ':');
    char *end = NULL;
    long port = 0;

    memset(out, 0, sizeof *out);
    if (strchr(name, '/') != NULL)
        return read_path(out, name, error, size);
    if (colon != NULL && colon[1] >= '0' && colon[1] <= '9')
        port = strtol(colon + 1, &end, 10);
    if (port < 1 || port > 65535 || *end != 0 || read_host(out, name, (size_t)(colon - name)) != 0)
        return port_explain(error, size,
                            "'%s' is neither an address with a port, such as 127.0.0.1:5001 or [::1]:5001, "
                            "nor a path with a / in it, such as /tmp/a.sock",
                            name);
    if (out->any.sa_family == AF_INET)
        out->ip4.sin_port = htons((uint16_t)port);
    else
        out->ip6.sin6_port = htons((uint16_t)port);
    return 0;
}

static int make_socket(const struct dgram_socket *port)
{
    const int bytes = SOCKET_BYTES;
    const int fd = socket(port->own.any.sa_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) != 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return fd;
}

/* A file that is a socket, and nobody is there: its program was killed. */
static int is_stale(const struct dgram_socket *port)
{
    struct stat file;

    return lstat(port->own.path.sun_path, &file) == 0 && S_ISSOCK(file.st_mode) &&
           connect(port->out, &port->own.any, sizeof port->own.path) != 0 && errno == ECONNREFUSED;
}

static int bind_path(struct dgram_socket *port)
{
    const char *path = port->own.path.sun_path;
    int status = bind(port->in, &port->own.any, sizeof port->own.path);

    if (status != 0 && errno == EADDRINUSE) {
        if (is_stale(port) && unlink(path) == 0)
            status = bind(port->in, &port->own.any, sizeof port->own.path);
        else
            errno = EADDRINUSE;
    }
    if (status == 0 && lstat(path, &port->file) != 0)
        port->file.st_ino = 0;
    return status;
}

static int cannot_have(const char *name, int is_path, int why, char *error, size_t size)
{
    const char *advice = "";

    if (why == EADDRINUSE)
        advice = is_path ? " (another program is there, or it is a file and no socket: take another name)"
                         : " (another program has this port: take another one)";
    else if (why == EADDRNOTAVAIL)
        advice = " (it has to be an address of this machine: see 'ip address')";
    else if (why == ENOENT || why == ENOTDIR)
        advice = " (make its folder first)";
    else if (why == EACCES)
        advice = is_path ? " (take a folder that you may write to)" : " (take a port from 1024 on)";
    return port_explain(error, size, "cannot open '%s': %s%s", name, strerror(why), advice);
}

int dgram_open(struct dgram_socket *port, const char *name, char *error, size_t size)
{
    const int is_path = port->own.any.sa_family == AF_UNIX;
    int status = -1, why;

    port->in = make_socket(port);
    if (port->in >= 0)
        port->out = !is_path ? fcntl(port->in, F_DUPFD_CLOEXEC, 0) : make_socket(port);
    if (port->in >= 0 && port->out >= 0)
        status = is_path ? bind_path(port) : bind(port->in, &port->own.any, bytes_of(&port->own));
    why = errno;
    if (status != 0)
        return cannot_have(name, is_path, why, error, size);
    if (dgram_join(port) == 0 || is_path) /* a socket of UDP that is not connected would hear everybody */
        return 0;
    return port_explain(error, size, "there is no way from '%s' to its peer: %s (see 'ip route')", name,
                        strerror(errno));
}

void dgram_close(struct dgram_socket *port)
{
    struct stat file;

    if (port->file.st_ino != 0 && lstat(port->own.path.sun_path, &file) == 0 && file.st_ino == port->file.st_ino &&
        file.st_dev == port->file.st_dev)
        unlink(port->own.path.sun_path);
    if (port->in >= 0)
        close(port->in);
    if (port->out >= 0)
        close(port->out);
}

int dgram_join(const struct dgram_socket *port)
{
    return connect(port->out, &port->peer.any, bytes_of(&port->peer));
}
