/* SPDX-License-Identifier: MIT */
#include "bpf.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel wants zeros in what a command does not use, up to the end. */
static union bpf_attr *clear(union bpf_attr *attr)
{
    return memset(attr, 0, sizeof *attr);
}

static int call(int command, union bpf_attr *attr)
{
    return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

int port_bpf_map(unsigned type, unsigned entries)
{
    union bpf_attr attr;

    clear(&attr)->map_type = type;
    attr.key_size = attr.value_size = 4;
    attr.max_entries = entries;
    return call(BPF_MAP_CREATE, &attr);
}

int port_bpf_map_set(int map, unsigned key, unsigned value)
{
    union bpf_attr attr;

    clear(&attr)->map_fd = (__u32)map;
    attr.key = (uintptr_t)&key;
    attr.value = (uintptr_t)&value;
    return call(BPF_MAP_UPDATE_ELEM, &attr);
}

int port_bpf_program(unsigned type, const struct bpf_insn *insns, unsigned n, unsigned flags)
{
    static const char license[] = "MIT";
    union bpf_attr attr;

    clear(&attr)->prog_type = type;
    attr.insns = (uintptr_t)insns;
    attr.insn_cnt = n;
    attr.license = (uintptr_t)license;
    attr.prog_flags = flags;
    return call(BPF_PROG_LOAD, &attr);
}

int port_bpf_link(int program, int interface, unsigned attach, unsigned flags)
{
    union bpf_attr attr;

    clear(&attr)->link_create.prog_fd = (__u32)program;
    attr.link_create.target_ifindex = (__u32)interface;
    attr.link_create.attach_type = attach;
    attr.link_create.flags = flags;
    return call(BPF_LINK_CREATE, &attr);
}
