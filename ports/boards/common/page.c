/* SPDX-License-Identifier: MIT */
#include "page.h"
#include "app.h"

/* ---- numbers -------------------------------------------------------------------------------------- */

static struct tenon_sock_counts counts;

static tenon_u32 last_us, rest_us, seconds;

void page_tick(void)
{
    const tenon_u32 now = board_now_us();

    rest_us += now - last_us;
    last_us = now;
    seconds += rest_us / 1000000;
    rest_us %= 1000000;
}

static tenon_u32 up_seconds(void)
{
    page_tick();
    return seconds;
}

static tenon_u32 asleep_seconds(void)
{
    return board_counts.asleep_ms / 1000;
}

static tenon_u32 interrupts(void)
{
    return board_counts.interrupts;
}

static tenon_u32 rx_dropped(void)
{
    return board_counts.rx_dropped;
}

static tenon_u32 flash(void)
{
    return board.flash_bytes;
}

static tenon_u32 ram(void)
{
    return board.ram_bytes;
}

static tenon_u32 fixed(void)
{
    return board_static_bytes();
}

static tenon_u32 stack_size(void)
{
    return board_stack_bytes();
}

static tenon_u32 stack_most(void)
{
    return board_stack_used();
}

static tenon_u32 memory_now(void)
{
    return (tenon_u32)counts.memory_used;
}

static tenon_u32 memory_most(void)
{
    return (tenon_u32)counts.memory_top;
}

static tenon_u32 memory_all(void)
{
    return (tenon_u32)counts.memory_bytes;
}

static tenon_u32 blocks_now(void)
{
    return counts.blocks_free;
}

static tenon_u32 blocks_least(void)
{
    return counts.blocks_low;
}

static tenon_u32 sent(void)
{
    return counts.sent_bytes;
}

static tenon_u32 received(void)
{
    return counts.received_bytes;
}

static tenon_u32 copied(void)
{
    return counts.copied_bytes + tenon_stat(tenon_sock_stack(socks), TENON_STAT_COPIED_BYTES);
}

static tenon_u32 device_copied(void)
{
    return counts.device_bytes + board_counts.moved_bytes;
}

static const struct number {
    const char *name, *label;
    tenon_u32 (*get)(void);
} numbers[] = {
    { "up_s", "seconds since the start", up_seconds },
    { "asleep_s", "... of which asleep", asleep_seconds },
    { "interrupts", "interrupts of the Ethernet device", interrupts },
    { "rx_dropped", "frames that the device dropped", rx_dropped },
    { "flash", "flash", flash },
    { "ram", "RAM", ram },
    { "ram_fixed", "... with a fixed place (arena, rings, stack)", fixed },
    { "stack", "stack", stack_size },
    { "stack_most", "... used at most", stack_most },
    { "memory", "for connections and tables", memory_all },
    { "memory_used", "... used now", memory_now },
    { "memory_most", "... used at most", memory_most },
    { "blocks_free", "receive blocks free now", blocks_now },
    { "blocks_least", "... at least", blocks_least },
    { "sent", "bytes sent", sent },
    { "received", "bytes received", received },
    { "copied", "payload copied by the stack", copied },
    { "device_copied", "bytes moved to and from the device by the processor", device_copied },
};
enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };

/* ---- rows ------------------------------------------------------------------------------------------ */

static void add_row(struct text *text, enum page page, const char *name, const char *label, tenon_u32 value)
{
    text_add(text, page == PAGE_JSON ? ",\n\"" : "<tr><td>");
    text_add(text, page == PAGE_JSON ? name : label);
    text_add(text, page == PAGE_JSON ? "\":" : "<td>");
    text_number(text, value);
    text_add(text, page == PAGE_JSON ? "" : "\n");
}

static void add_heading(struct text *text, enum page page, const char *words)
{
    if (page == PAGE_JSON)
        return;
    text_add(text, "<tr><th colspan=2>");
    text_add(text, words);
    text_add(text, "\n");
}

static void add_head(struct text *text, enum page page)
{
    if (page == PAGE_JSON) {
        text_add(text, "{\"board\":\"");
        text_add(text, board.name);
        text_add(text, "\"");
        return;
    }
    if (page == PAGE_HTML)
        text_add(text, "<!doctype html><meta charset=utf-8><meta name=viewport content='width=device-width'>"
                       "<link rel=icon href='data:,'><title>Tenon</title><style>body{font:15px sans-serif;margin:2em}"
                       "td+td{text-align:right;padding-left:2em}th{text-align:left;padding-top:1em}</style>\n");
}

static void add_title(struct text *text, enum page page)
{
    if (page == PAGE_JSON)
        return;
    if (page == PAGE_HTML)
        text_add(text, "<h1>Tenon</h1><table id=t>\n");
    text_add(text, "<tr><td>");
    text_add(text, board.name);
    text_add(text, ", ");
    text_add(text, board.cpu);
    text_add(text, ", ");
    text_add(text, board.ethernet);
    text_add(text, "<td>");
    text_number(text, board.clock_hz / 1000000);
    text_add(text, " MHz\n");
}

static void add_end(struct text *text, enum page page)
{
    if (page == PAGE_JSON)
        text_add(text, "}\n");
    if (page == PAGE_HTML)
        text_add(text, "</table><script>s=x=>document.getElementById('t').innerHTML=x;"
                       "setInterval(()=>fetch('/rows',{signal:AbortSignal.timeout(3000)}).then(r=>r.text())"
                       ".then(s).catch(()=>s('<tr><td>no answer')),1000)</script>\n");
}

/* What clients of this program do. */
static void add_client(struct text *text, enum page page, const struct tenon_addr *peer, const char *doing)
{
    text_add(text, page == PAGE_JSON ? ",\n\"" : "<tr><td>");
    text_address(text, peer);
    text_add(text, page == PAGE_JSON ? "\":\"" : "<td>");
    text_add(text, doing);
    text_add(text, page == PAGE_JSON ? "\"" : "\n");
}

static void add_counter(struct text *text, enum page page, unsigned which)
{
    const tenon_u32 value = tenon_stat(tenon_sock_stack(socks), (enum tenon_stat)which);
    const char *name = tenon_stat_name((enum tenon_stat)which);

    if (value > 0)
        add_row(text, page, name, name, value);
}

int page_row(struct text *text, enum page page, unsigned row, page_client client)
{
    enum { HEAD = 0, TITLE = 1, FIRST = 2, CLIENTS = FIRST + NUMBERS, COUNTERS = CLIENTS + 1 + BOARD_CLIENTS,
           END = COUNTERS + 1 + TENON_STAT_COUNT };
    struct tenon_addr peer;
    const char *doing;

    if (row == HEAD) {
        add_head(text, page);
    } else if (row == TITLE) {
        add_title(text, page);
        tenon_sock_count(socks, &counts);
    } else if (row < CLIENTS) {
        add_row(text, page, numbers[row - FIRST].name, numbers[row - FIRST].label, numbers[row - FIRST].get());
    } else if (row == CLIENTS) {
        add_heading(text, page, "Connections");
    } else if (row < COUNTERS) {
        if (client(row - CLIENTS - 1, &peer, &doing))
            add_client(text, page, &peer, doing);
    } else if (row == COUNTERS) {
        add_heading(text, page, "Counters");
    } else if (row < END) {
        add_counter(text, page, row - COUNTERS - 1);
    } else if (row == END) {
        add_end(text, page);
    }
    return row <= END;
}
