/* SPDX-License-Identifier: MIT */
/* The operating system below lwIP's netconns and sockets: the least that they can run on, a floor that no real one
 * reaches. lwIP's own thread has nothing on its stack while it waits for something to do, and with its core locked
 * (LWIP_TCPIP_CORE_LOCKING) instead of asked by messages it is only wanted for what comes from outside, frames and
 * time. So it needs no stack, and nobody to switch to it: who waits does its work meanwhile, on his own stack. That is
 * enough for one thread of the application; each further one, and all of an operating system that has threads, would
 * come on top of what is measured here. */
#include "lwip_program.h"

#include "lwip/sys.h"

static struct sys_ring rings[MEMP_NUM_NETCONN];    /* each netconn has one at a time */
sys_sem_t sys_thread_sem;

void sys_init(void)
{
}

static void wait(void)
{
    stack_turn();
    board_sleep(board_ethernet_wait(stack_wait()));
}

/* Nobody here waits for a limited time. */
u32_t sys_arch_sem_wait(sys_sem_t *sem, u32_t unused)
{
    (void)unused;
    while (*sem == 0)
        wait();
    --*sem;
    return 0;
}

err_t sys_mbox_new(sys_mbox_t *mbox, int unused)
{
    u8_t i;

    (void)unused;
    for (i = 0; i < MEMP_NUM_NETCONN; i++)
        if (!rings[i].used) {
            rings[i].used = 1;
            rings[i].count = 0;
            *mbox = (sys_mbox_t)(i + 1);
            return ERR_OK;
        }
    return ERR_MEM;
}

void sys_mbox_free(sys_mbox_t *mbox)
{
    rings[*mbox - 1].used = 0;
}

err_t sys_mbox_trypost(sys_mbox_t *mbox, void *message)
{
    struct sys_ring *ring = &rings[*mbox - 1];

    if (ring->count == ECHO_MAILBOX)
        return ERR_MEM;
    ring->messages[(ring->first + ring->count++) % ECHO_MAILBOX] = message;
    return ERR_OK;
}

u32_t sys_arch_mbox_tryfetch(sys_mbox_t *mbox, void **message)
{
    struct sys_ring *ring = &rings[*mbox - 1];

    if (ring->count == 0)
        return SYS_MBOX_EMPTY;
    ring->count--;
    *message = ring->messages[ring->first];
    ring->first = (u8_t)((ring->first + 1) % ECHO_MAILBOX);
    return 0;
}

u32_t sys_arch_mbox_fetch(sys_mbox_t *mbox, void **message, u32_t unused)
{
    (void)unused;
    while (sys_arch_mbox_tryfetch(mbox, message) == SYS_MBOX_EMPTY)
        wait();
    return 0;
}
