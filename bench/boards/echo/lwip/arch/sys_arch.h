/* SPDX-License-Identifier: MIT */
/* What lwIP's netconns and sockets want of an operating system, as lwip_os.c has it: one thread. */
#ifndef TENON_BENCH_BOARDS_ECHO_SYS_ARCH_H
#define TENON_BENCH_BOARDS_ECHO_SYS_ARCH_H

#include "lwip/arch.h"
#include "lwip/err.h"
#include "lwip/opt.h"

typedef u8_t sys_sem_t;       /* how often it was signalled */
typedef u8_t sys_mbox_t;      /* which ring it is, and 1; 0: none */
typedef u8_t sys_mutex_t;
typedef u8_t sys_thread_t;

struct sys_ring {
    void *messages[ECHO_MAILBOX];
    u8_t first, count, used;
};

/* Nobody waits while he has locked something, and there is nobody else who could want it. */
#define LOCK_TCPIP_CORE()
#define UNLOCK_TCPIP_CORE()

static inline err_t sys_mutex_new(sys_mutex_t *mutex)
{
    (void)mutex;
    return ERR_OK;
}

static inline void sys_mutex_lock(sys_mutex_t *mutex)
{
    (void)mutex;
}

static inline void sys_mutex_unlock(sys_mutex_t *mutex)
{
    (void)mutex;
}

static inline void sys_sem_signal(sys_sem_t *sem)
{
    ++*sem;
}

extern sys_sem_t sys_thread_sem;
#define LWIP_NETCONN_THREAD_SEM_GET() (&sys_thread_sem)
#define LWIP_NETCONN_THREAD_SEM_ALLOC()
#define LWIP_NETCONN_THREAD_SEM_FREE()
#define sys_sem_valid(sem) 1
#define sys_mbox_valid(mbox) (*(mbox) != 0)
#define sys_mbox_set_invalid(mbox) (*(mbox) = 0)

#endif
