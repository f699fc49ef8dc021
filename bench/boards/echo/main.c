/* SPDX-License-Identifier: MIT */
/* Start, turns, sleep; "s" on the serial line asks for a line with what has been used. */
#include "echo.h"
#include "ports/boards/common/text.h"

void say_value(const char *name, tenon_u32 value)
{
    say(" ");
    say(name);
    say("=");
    say_number(value);
}

static void say_status(void)
{
    say("status");
    say_value("stack", board_stack_used());
    say_value("stack_bytes", board_stack_bytes());
    say_value("static", board_static_bytes());
    say_value("rx_dropped", board_counts.rx_dropped);
    echo_facts();
    say("\n");
}

int board_main(void)
{
    int key;

    board_start();
    if (!echo_start()) {
        say("no start\n");
        return 2;
    }
    say("ready\n");
    for (;;) {
        while ((key = board_key()) >= 0)
            if (key == 's')
                say_status();
        board_sleep(board_ethernet_wait(echo_turn()));
    }
}
