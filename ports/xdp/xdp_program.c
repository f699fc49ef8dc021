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
#include <sys/syscall.h>
#include <unistd.h>

enum { INTERFACES_MAX = 64, CTX_RX_QUEUE = 16 /* offset in struct xdp_md */ };

/* Interfaces of different network namespaces may have the same number, but not the same address. */
static struct xdp_program {
    struct interface interface;
    unsigned attach, users; /* users 0: this place is free */
    int map, link;
} programs[INTERFACES_MAX];

static int call_bpf(int command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

/* return bpf_redirect_map(&map, ctx->rx_queue_index, XDP_PASS) */
static int load_program(int map)
{
    const struct bpf_insn insns[] = {
        { .code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 2, .src_reg = 1, .off = CTX_RX_QUEUE },
        { .code = BPF_LD | BPF_DW | BPF_IMM, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map },
        { .code = 0 }, /* the upper half of that constant */
        { .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = XDP_PASS },
        { .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map },
        { .code = BPF_JMP | BPF_EXIT },
    };
    union bpf_attr attr;

    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_XDP;
    attr.insns = (uintptr_t)insns;
    attr.insn_cnt = sizeof insns / sizeof insns[0];
    attr.license = (uintptr_t) "MIT";
    attr.prog_flags = XSK_PROG_HAS_FRAGS;
    return call_bpf(BPF_PROG_LOAD, &attr);
}

/* @return 0; -1: errno says why */
static int start_program(struct xdp_program *program)
{
    union bpf_attr attr;
    int fd;

    memset(&attr, 0, sizeof attr);
    attr.map_type = BPF_MAP_TYPE_XSKMAP;
    attr.key_size = attr.value_size = 4;
    attr.max_entries = XDP_QUEUES_MAX;
    program->map = call_bpf(BPF_MAP_CREATE, &attr);
    fd = program->map >= 0 ? load_program(program->map) : -1;
    if (fd < 0)
        return -1;
    memset(&attr, 0, sizeof attr);
    attr.link_create.prog_fd = (__u32)fd;
    attr.link_create.target_ifindex = (__u32)program->interface.index;
    attr.link_create.attach_type = BPF_XDP;
    attr.link_create.flags = program->attach;
    program->link = call_bpf(BPF_LINK_CREATE, &attr); /* it has the program now */
    close(fd);
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
    union bpf_attr attr;

    memset(&attr, 0, sizeof attr);
    attr.map_fd = (__u32)program->map;
    attr.key = (uintptr_t)&queue;
    attr.value = (uintptr_t)&fd;
    return call_bpf(BPF_MAP_UPDATE_ELEM, &attr);
}
