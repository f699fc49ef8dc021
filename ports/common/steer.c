/* SPDX-License-Identifier: MIT */
/* The program is made instruction by instruction. It has no loop and no branch per bit: each bit of addresses and ports
 * is multiplied with the part of the key that belongs to it. (A mask made by shifting the bit's sign would do as well,
 * but the kernel's verifier looks at both signs of each.) */
#include "steer.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/filter.h>

#include <tenon/flow.h>

enum { INSTRUCTIONS_MAX = 2048, WORDS4 = 3, WORDS6 = 9 };    /* words of addresses and ports */

/* The registers of the machine: the result and what a load brings; the frame as it is given, and where loads want it; a
 * bit of the word; the hash. */
enum { R_WORD = 0, R_FRAME_GIVEN = 1, R_BIT = 8, R_FRAME = 6, R_HASH = 7 };

/* Where things lie in an Ethernet frame. */
enum {
    AT_TYPE = 12,
    AT_IP = 14,
    AT4_FRAGMENT = AT_IP + 6,
    AT4_PROTOCOL = AT_IP + 9,
    AT4_SOURCE = AT_IP + 12, /* both addresses; without options the ports follow */
    AT6_NEXT = AT_IP + 6,
    AT6_SOURCE = AT_IP + 8,
    TYPE4 = 0x0800,
    TYPE6 = 0x86DD,
    PLAIN4 = 0x45, /* version 4, no options */
    FRAGMENTED = 0x3FFF,
    TCP = 6
};

struct program {
    struct bpf_insn insns[INSTRUCTIONS_MAX];
    unsigned n;
};

static void emit(struct program *program, unsigned code, unsigned to, unsigned from, tenon_u32 value)
{
    struct bpf_insn *insn = &program->insns[program->n++];

    memset(insn, 0, sizeof *insn);
    insn->code = (__u8)code;
    insn->dst_reg = to & 15;
    insn->src_reg = from & 15;
    insn->imm = (__s32)value;
}

/* Numbers come out of the frame in host order. Beyond its end the program is over, with queue 0. Some of those who run
 * it have taken the Ethernet header off, but all know where it was. */
static void load(struct program *program, unsigned size, unsigned at)
{
    emit(program, BPF_LD | BPF_ABS | size, 0, 0, (unsigned)SKF_LL_OFF + at);
}

static void finish_with_0(struct program *program)
{
    emit(program, BPF_ALU | BPF_MOV | BPF_K, R_WORD, 0, 0);
    emit(program, BPF_JMP | BPF_EXIT, 0, 0, 0);
}

/* Queue 0, unless what was loaded last is `value`, or has none of these bits (`code`: BPF_JEQ, BPF_JNE, BPF_JSET). */
static void only_if(struct program *program, unsigned code, tenon_u32 value)
{
    emit(program, BPF_JMP | code | BPF_K, R_WORD, 0, value);
    program->insns[program->n - 1].off = 2;
    finish_with_0(program);
}

static tenon_u32 window_at(const tenon_u8 *key, unsigned bit)
{
    tenon_u32 window = 0;

    for (unsigned i = bit; i < bit + 32; i++)
        window = window << 1 | ((unsigned)key[i / 8] >> (7 - i % 8) & 1u);
    return window;
}

static void hash_words(struct program *program, const tenon_u8 *key, unsigned at, unsigned words)
{
    emit(program, BPF_ALU | BPF_MOV | BPF_K, R_HASH, 0, 0);
    for (unsigned word = 0; word < words; word++) {
        load(program, BPF_W, at + 4 * word);
        for (unsigned bit = 0; bit < 32; bit++) {
            emit(program, BPF_ALU | BPF_MOV | BPF_X, R_BIT, R_WORD, 0);
            emit(program, BPF_ALU | BPF_RSH | BPF_K, R_BIT, 0, 31 - bit);
            emit(program, BPF_ALU | BPF_AND | BPF_K, R_BIT, 0, 1);
            emit(program, BPF_ALU | BPF_MUL | BPF_K, R_BIT, 0, window_at(key, 32 * word + bit));
            emit(program, BPF_ALU | BPF_XOR | BPF_X, R_HASH, R_BIT, 0);
        }
    }
}

/* As tenon_flow_spread() fills a table: index modulo queues. */
static void finish_with_queue(struct program *program, unsigned entries, unsigned queues)
{
    emit(program, BPF_ALU | BPF_AND | BPF_K, R_HASH, 0, entries - 1);
    emit(program, BPF_ALU | BPF_MOD | BPF_K, R_HASH, 0, queues);
    emit(program, BPF_ALU | BPF_MOV | BPF_X, R_WORD, R_HASH, 0);
    emit(program, BPF_JMP | BPF_EXIT, 0, 0, 0);
}

static void make_program(struct program *program, const tenon_u8 *key, unsigned entries, unsigned queues)
{
    unsigned to_6;

    program->n = 0;
    emit(program, BPF_ALU64 | BPF_MOV | BPF_X, R_FRAME, R_FRAME_GIVEN, 0);
    load(program, BPF_H, AT_TYPE);
    to_6 = program->n;
    emit(program, BPF_JMP | BPF_JNE | BPF_K, R_WORD, 0, TYPE4);

    load(program, BPF_B, AT_IP);
    only_if(program, BPF_JEQ, PLAIN4);
    load(program, BPF_B, AT4_PROTOCOL);
    only_if(program, BPF_JEQ, TCP);
    load(program, BPF_H, AT4_FRAGMENT);
    emit(program, BPF_ALU | BPF_AND | BPF_K, R_WORD, 0, FRAGMENTED);
    only_if(program, BPF_JEQ, 0);
    hash_words(program, key, AT4_SOURCE, WORDS4);
    finish_with_queue(program, entries, queues);

    program->insns[to_6].off = (__s16)(program->n - to_6 - 1);
    only_if(program, BPF_JEQ, TYPE6);
    load(program, BPF_B, AT6_NEXT);
    only_if(program, BPF_JEQ, TCP);
    hash_words(program, key, AT6_SOURCE, WORDS6);
    finish_with_queue(program, entries, queues);
}

static int load_program(const struct program *program)
{
    static const char license[] = "MIT";
    union bpf_attr attr;

    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    attr.insns = (uintptr_t)program->insns;
    attr.insn_cnt = program->n;
    attr.license = (uintptr_t)license;
    return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);
}

int steer_program(const tenon_u8 *key, unsigned entries, unsigned queues)
{
    struct program program;

    if (entries == 0 || (entries & (entries - 1)) != 0 || queues == 0) {
        errno = EINVAL;
        return -1;
    }
    make_program(&program, key, entries, queues);
    return load_program(&program);
}
