/* SPDX-License-Identifier: MIT */
/** @file
 *  The kernel's eBPF machine, by its system call: maps, programs, and what ties a program to an interface. All return a
 *  descriptor or 0, or -1 and errno (EPERM: not permitted). */
#ifndef TENON_PORTS_COMMON_BPF_H
#define TENON_PORTS_COMMON_BPF_H

#include <linux/bpf.h>

/** @param type  BPF_MAP_TYPE_...; keys and values have 32 bits */
int port_bpf_map(unsigned type, unsigned entries);
int port_bpf_map_set(int map, unsigned key, unsigned value);

/** @param type   BPF_PROG_TYPE_...
 *  @param flags  BPF_F_... */
int port_bpf_program(unsigned type, const struct bpf_insn *insns, unsigned n, unsigned flags);

/** Attach a program to an interface until the last copy of the descriptor is closed.
 *  @param attach  BPF_XDP, ...
 *  @param flags   those of that kind of program */
int port_bpf_link(int program, int interface, unsigned attach, unsigned flags);

#endif
