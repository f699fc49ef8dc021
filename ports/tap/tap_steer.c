/* SPDX-License-Identifier: MIT */
/* Which queue of a TAP interface a frame comes to.
 *
 * Left to itself the kernel sends the frames of a flow to the queue from which it got the flow's last frame.
 * But the first answer of a connection that we open is on its way before the kernel has made a note of the
 * first question. */
#include "tap.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/if_tun.h>

#include "../common/steer.h"

int tap_steer(struct port *port, const tenon_u8 *key, unsigned entries, unsigned queues)
{
    int status, fd = steer_program(key, entries, queues);

    if (fd < 0)
        return -1;
    status = ioctl(port_fd(port), TUNSETSTEERINGEBPF, &fd);
    close(fd);    /* the interface has it now */
    return status < 0 ? -1 : 0;
}
