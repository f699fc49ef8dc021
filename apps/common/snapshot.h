/* SPDX-License-Identifier: MIT */
/** @file
 *  A running program shows how it stands: whoever connects to its unix socket gets one snapshot as a
 *  JSON object, and the connection is closed. docs/guide/command-line.md describes the object. */
#ifndef APPS_COMMON_SNAPSHOT_H
#define APPS_COMMON_SNAPSHOT_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

struct app;
struct snapshot_server;

enum {
    SNAPSHOT_PATH_MAX = sizeof(((struct sockaddr_un *)0)->sun_path),          /* with its end: 108 on Linux */
    SNAPSHOT_FOLDER_MAX = SNAPSHOT_PATH_MAX - (sizeof "/4294967295.sock" - 1) /* its name is a process's number */
};

/** The folder of the sockets: $XDG_RUNTIME_DIR/tenon; /tmp/tenon-UID if that is not set, or too long for a socket.
 *  @param[out] path  `size` characters, SNAPSHOT_FOLDER_MAX as a rule */
void snapshot_folder(char *path, size_t size);

/** @return NULL when no socket can be made; the program works without */
struct snapshot_server *snapshot_open(struct app *app);
void snapshot_close(struct snapshot_server *server);

#endif
