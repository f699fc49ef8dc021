/* SPDX-License-Identifier: MIT */
/* One host of tests/trim/pair.c: a build of the core and a program on it, of which nothing but this table is seen. Two
 * builds, one that does without something and one that has everything, so are in one program. */
#ifndef TN_TESTS_TRIM_END_H
#define TN_TESTS_TRIM_END_H

enum { END_FRAME_BYTES = 1536 };

/* What it has used at most, and what has come of its connection. */
struct end_result {
    unsigned long instance, blocks_most, bufs_most;    /* bytes; blocks from mem_get(); packet buffers, in number */
    unsigned long sent, received, wrong;    /* bytes; of those received, and frames, what is not as it has to be */
    int opened, closed, why, leaks;
};

struct end {
    /* 10.0.0.number, with room for so many bytes in each direction; 0: as tenon_conf_default() says. bare:
     * frames have no header of a link.
     * @return NULL: the build does not refuse what it has not, or refuses what it has */
    void *(*open)(unsigned number, unsigned long room, int bare);
    /* Take a connection and send back what comes, or make one to 10.0.0.peer, and send and check so many bytes.
     * @return 0: that cannot be */
    int (*listen)(void *end);
    int (*connect)(void *end, unsigned peer, unsigned long bytes);
    void (*input)(void *end, const unsigned char *bytes, unsigned n, unsigned long now_us);
    void (*poll)(void *end, unsigned long now_us);
    /* The next frame that it sends; 0: none. */
    unsigned (*take)(void *end, unsigned char *bytes);
    /* Whether its connection has ended. */
    int (*done)(const void *end);
    void (*close)(void *end, struct end_result *result);
    /* The hash of a packet from 10.0.0.number to 10.0.0.peer, by which a port chooses a queue. */
    unsigned long (*flow)(unsigned number, unsigned peer);
    int has_ethernet, can_listen, can_connect;
};

#endif
