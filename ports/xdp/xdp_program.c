/* SPDX-License-Identifier: MIT */
/* The program that an interface runs for each frame: of six instructions, made here. It sends a frame to the socket of
 * the queue at which it came, and to the kernel if that queue has none.
 *
 * A link (BPF_LINK_CREATE) ties it to the interface: the kernel takes it off when the last descriptor of the link is
 * closed, however the process ends. An interface has one program and a map with an entry for each queue; so all ports
 * of a process that are queues of the same interface share them. */
#include "xdp_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "../common/bpf.h"

enum { INTERFACES_MAX = 64, CTX_RX_QUEUE = 16 /* offset in struct xdp_md */ };

/* Interfaces of different network namespaces may have the same number, but not the same address. */
static struct xdp_program {
    struct interface interface;
    unsigned attach, users; /* users 0: this place is free */
    int map, link;
} programs[INTERFACES_MAX];

/* return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS)
 * @return 0; -1: errno says why */
static int start_program(struct xdp_program *program)
{
    const int map = program->map = port_bpf_map(BPF_MAP_TYPE_XSKMAP, XDP_QUEUES_MAX);
    const struct bpf_insn insns[] = {
        { .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 2, .src_reg = 1, .off = CTX_RX_QUEUE },
        /* (and BPF_IMM, which is 0) */
        { .code = BPF_LD | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
        { .code = 0 }, /* the upper half of that constant */
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = XDP_PASS },
        { .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map },
        { .code = BPF_JMP | BPF_EXIT },
    };
    int fd = -1;

    if (map >= 0)
        fd = port_bpf_program(BPF_PROG_TYPE_XDP, insns, sizeof insns / sizeof insns[0], XSK_PROG_HAS_FRAGS);
    if (fd < 0)
        return -1;
    program->link = port_bpf_link(fd, program->interface.index, BPF_XDP, program->attach);
    close(fd); /* the link has it now */
    return program->link >= 0 ? 0 : -1;
}

/* Attach one, or use the one that is there.
 * @return NULL: errno says why; EXDEV: it is attached in another way */
struct xdp_program *xdp_program_get(const struct interface *interface, unsigned attach)
{
    struct xdp_program *program = NULL;
    int why;

    for (unsigned i = 0; i < INTERFACES_MAX; i++) {
        if (programs[i].users == 0) {
            program = &programs[i];
        } else if (programs[i].interface.index == interface->index &&
                   memcmp(programs[i].interface.mac, interface->mac, 6) == 0) {
            program = &programs[i];
            break;
        }
    }
    if (program == NULL || (program->users > 0 && program->attach != attach)) {
        errno = program == NULL ? ENOSPC : EXDEV;
        return NULL;
    }
    if (program->users++ > 0)
        return program;
    *program = (struct xdp_program){ *interface, attach, 1, -1, -1 };
    if (start_program(program) == 0)
        return program;
    why = errno;
    xdp_program_put(program);
    errno = why;
    return NULL;
}

void xdp_program_put(struct xdp_program *program)
{
    if (program == NULL || --program->users > 0)
        return;
    close(program->link);
    close(program->map);
}

/* From now on the queue's frames go to this socket.
 * @return 0; -1: errno says why */
int xdp_program_steer(const struct xdp_program *program, unsigned queue, int fd)
{
    return port_bpf_map_set(program->map, queue, (unsigned)fd);
}
