# SPDX-License-Identifier: MIT
"""Tables and drawing of bench/boards/run."""
import html

from boards import echoes, rooms
from speed import plots

SIZES = (100, 500, 1460)
# The board of the paper: PowerPC 403GA, 33 MHz, Ethernet at 10 Mbit/s. Milliseconds per 1000 sends.
PAPER = {100: (453, 60), 500: (521, 300), 1460: (614, 880)}
BEGIN, END = "<!-- made by bench/boards/run --docs: from here -->", "<!-- to here -->"
BUILDS = {"core": "*core*: TCP with selective acknowledgements told, window scaling, timestamps, listening; UDP, echo, "
                  "ARP",
          "least": "*least*: a TCP that connects, echo, ARP",
          "tiny": "*tiny*: the same on a serial line; Tenon's without congestion control and errors of ICMP"}
DEVICES = {"offload": "DMA, checksums by the device", "contiguous": "the same, frames of one piece",
           "checksums": "DMA, checksums by the processor", "summed": "the same, by the board's function",
           "own": "the board's own"}


def sent(found, device, size, way="ring", path="send"):
    """ask_sbuf and send, up to where the device has the frame."""
    parts_of = found["rows"][f"{device} {way} {path} {size}"]
    return parts_of["ask"] + parts_of["send"]


def received(found, device, size, way="ring"):
    return sum(found["rows"][f"{device} {way} receive {size}"].values())


def summing(found, size, device="checksums"):
    """What the processor's checksum costs when something is sent."""
    return sent(found, device, size) - sent(found, "offload", size)


def share(saved, rest):
    return saved / (saved + rest)


def row(*cells):
    return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else str(cell) for cell in cells) + " |"


def head(*cells):
    return [row(*cells), "|---" * len(cells) + "|"]


def beside_the_paper(results):
    lines = ["**Sending, beside the paper.** Its numbers are microseconds, ours instructions; a share is "
             "saved / (saved + send).", ""]
    lines += head("", "bytes", "ask_sbuf + send", "the copy that is saved", "share", "and the checksum", "share",
                  "and the board's checksum", "share")
    for size, (send, copy) in PAPER.items():
        lines.append(row("the paper, us", size, send, copy, f"{share(copy, send):.2f}", "", "", "", ""))
    for board, found in results.items():
        tenon = found["stacks"]["tenon"]
        for size in SIZES:
            send, copy = sent(tenon, "offload", size), tenon["copy"][str(size)]
            cells = []
            for saved in (copy, *(copy + summing(tenon, size, device) for device in ("checksums", "summed"))):
                cells += [saved, f"{share(saved, send):.2f}"]
            lines.append(row(board, size, send, *cells))
    return lines


def by_device(results):
    lines = ["**Sending, by device.** `ask_sbuf` + `send` and all up to where the device has the frame; at the right "
             "after a second of silence.", ""]
    lines += head("board", "device", *(f"{size} bytes" for size in SIZES), "1460 : 100", "1460 bytes, silence before")
    for board, found in results.items():
        tenon = found["stacks"]["tenon"]
        for device, words in DEVICES.items():
            counts = [sent(tenon, device, size) for size in SIZES]
            lines.append(row(board, words, *counts, f"{counts[2] / counts[0]:.3f}",
                             sent(tenon, device, 1460, path="send-after-silence")))
    return lines


def parts(results):
    lines = ["**What else a segment costs**, with DMA and checksums by the device.", ""]
    lines += head("board", "bytes", "sent: the device is done", "sent: the ACK that frees the ring",
                  "received: up to the application", "ask_rbuf", "read_done", "received: the ACK, timers")
    for board, found in results.items():
        rows = found["stacks"]["tenon"]["rows"]
        for size in SIZES:
            out, got = rows[f"offload ring send {size}"], rows[f"offload ring receive {size}"]
            lines.append(row(board, size, out["sent"], out["ack"], got["arrive"], got["read"], got["read_done"],
                             got["later"]))
    return lines


def receiving(results):
    lines = ["**Receiving.** All that a received segment costs, its acknowledgment included, against the copy "
             "that is saved.", ""]
    lines += head("board", "bytes", "checksums by the device", "the copy that is saved", "share",
                  "checksums by the processor", "by the board's function")
    for board, found in results.items():
        tenon = found["stacks"]["tenon"]
        for size in SIZES:
            all_of_it, copy = received(tenon, "offload", size), tenon["copy"][str(size)]
            lines.append(row(board, size, all_of_it, copy, f"{share(copy, all_of_it):.2f}",
                             received(tenon, "checksums", size), received(tenon, "summed", size)))
    return lines


def through_drivers(results):
    """The device, the driver, the stack, the application; what a copy to the application would add."""
    lines = ["**Receiving through the board's own driver**: from the frame in the Ethernet device until the "
             "application has read it in place and given the block back, its acknowledgment included.", ""]
    lines += head("board", "bytes", "in all", "of it the driver", "of it the checksum", "with one copy", "share saved",
                  "with checksum by the device", "with one copy and the checksum", "share saved")
    for board, found in results.items():
        tenon = found["stacks"]["tenon"]
        for size in SIZES:
            whole, copy = received(tenon, "driver", size), tenon["copy"][str(size)]
            summed = received(tenon, "summed", size) - received(tenon, "offload", size)
            lines.append(row(board, size, whole, whole - received(tenon, "summed", size), summed, whole + copy,
                             f"{share(copy, whole):.2f}", whole - summed, whole + copy,
                             f"{share(copy + summed, whole - summed):.2f}"))
    return lines


def beside_lwip(results):
    results = {board: found for board, found in results.items() if "lwip" in found["stacks"]}
    if not results:
        return []
    lines = ["**Beside lwIP** 2.2.1, raw interface: `tcp_write` + `tcp_output`, without and with its copy. *Like*: "
             "Tenon built without what lwIP has not either, and without assertions.", ""]
    lines += head("board", "bytes", "checksums by", "Tenon sends", "like", "lwIP, no copy", "lwIP, copy",
                  "Tenon receives", "like", "lwIP receives")
    for board, found in results.items():
        tenon, like, lwip = (found["stacks"][name] for name in ("tenon", "like", "lwip"))
        for device, who in (("offload", "device"), ("checksums", "processor"), ("summed", "board's function")):
            for size in SIZES:
                lines.append(row(board, size, who, sent(tenon, device, size), sent(like, device, size),
                                 sent(lwip, device, size, "no-copy"), sent(lwip, device, size, "copy"),
                                 received(tenon, device, size), received(like, device, size),
                                 received(lwip, device, size, "no-copy")))
    return lines


def memory(results):
    results = {board: found for board, found in results.items() if "web" in found}
    if not results:
        return []
    lines = ["**RAM of the web server**, after 200 requests by four clients at a time; bytes.", ""]
    lines += head("board", "fixed, with stack", "stack: most used", "of", "arena's memory: most used", "of",
                  "a connection")
    for board, found in results.items():
        web, facts = found["web"], found["stacks"].get("tenon", {}).get("facts", {})
        lines.append(row(board, web["static"], web["stack"], web["stack_bytes"], web["memory_top"],
                         web["memory_bytes"], facts["memory_open"] - facts["memory_idle"] if facts else ""))
    lines += ["", "**Flash of the web server by module**; bytes.", ""]
    modules = list(dict.fromkeys(m for found in results.values() for m in found["sizes"]["flash"]))
    lines += head("", *results)
    lines += [row(module, *(found["sizes"]["flash"].get(module, 0) for found in results.values()))
              for module in modules]
    return lines


ECHO_HEADS = {"tenon4-core": "Tenon, IPv4, like lwIP, its core alone",
              "tenon4-back": "Tenon, IPv4, like lwIP, sends back", "tenon4": "Tenon, IPv4, like lwIP",
              "tenon4-all": "... all of it", "lwip4-nocopy": "lwIP, IPv4, without a copy", "lwip4": "lwIP, IPv4",
              "lwip4-netconn": "lwIP, IPv4, netconn", "lwip4-sockets": "lwIP, IPv4, sockets",
              "smoltcp4": "smoltcp, IPv4", "tenon46-core": "Tenon, IPv4 and IPv6, like lwIP, its core alone",
              "tenon46-back": "Tenon, IPv4 and IPv6, like lwIP, sends back",
              "tenon46": "Tenon, IPv4 and IPv6, like lwIP", "tenon46-all": "... all of it",
              "lwip46": "lwIP, IPv4 and IPv6"}
LATE = {0: "wait for ever", 1: "are answered"}    # what becomes of clients who read late
BESIDE = {0: "a fourth is not served", rooms.BESIDE_ROUNDS: "a fourth is served"}    # the tries in which he is
ECHO_HOW = {"4": "IPv4", "46": "IPv4 and IPv6"}


def echo_ram(found):
    """(name of the row, bytes) of one echo; None: that cannot be said."""
    idle, opened, done = (found["run"][moment] for moment in ("idle", "open", "done"))
    fixed, board = echoes.fixed_ram(found), found["board_ram"]
    conn = opened["pcb"] if "pcb" in done else None
    if "memory" in done:
        conn = round((opened["memory"] - idle["memory"]) / echoes.CLIENTS)
    return {"RAM, without the stack": fixed,
            "to receive: blocks, buffers": done["receiving"],
            "to send: rings, heap, buffers": done["sending"],
            "board, driver": board,
            "connections, tables, all else": fixed - done["receiving"] - done["sending"] - board,
            "... of it for connections and paths": done.get("memory_bytes"),
            "... ... most used": done.get("memory_top"),
            "a connection at rest": conn,
            "a segment in flight, without its bytes": done["segment"] + done["pbuf"] if "segment" in done else None,
            "stack: most used": done["stack"],
            "RAM and the stack that was used": fixed + done["stack"]}


def echo_summary(results):
    lines = ["**The same echo**, on all boards; bytes.", ""]
    lines += head("board", "", "flash", "of it the stack", "flash, optimised as one", "RAM, without the stack",
                  "stack: most used", "RAM and the stack that was used", "who read late")
    for board, found in results.items():
        for name, one in found.items():
            ram = echo_ram(one)
            lines.append(row(board, ECHO_HEADS[name].replace("... ", f"Tenon, {ECHO_HOW[name[5:-4]]}, ")
                             if name.endswith("-all") else ECHO_HEADS[name], sum(one["flash"].values()),
                             echo_stack(one), one["flash_as_one"], ram["RAM, without the stack"],
                             ram["stack: most used"], ram["RAM and the stack that was used"],
                             LATE.get(one["run"].get("late"), "")))
    return lines


def echo_stack(found):
    return sum(found["flash"].get(part, 0) for part in echoes.PARTS[:6])


def echo_tables(results):
    """All boards in one table; the parts of one board in two: of the others they are alike."""
    results = {board: found["echo"] for board, found in results.items()
               if "echo" in found and all("done" in one["run"] for one in found["echo"].values())}
    if not results:
        return []
    lines, (board, found) = echo_summary(results), next(iter(results.items()))
    lines += ["", f"**Flash of the same echo** on {board}, by module; bytes.", ""]
    lines += head("", *(ECHO_HEADS[name] for name in found))
    lines.append(row("all", *(sum(one["flash"].values()) for one in found.values())))
    lines.append(row("the stack", *(echo_stack(one) for one in found.values())))
    lines += [row(part, *(one["flash"].get(part, 0) for one in found.values())) for part in echoes.PARTS]
    lines += ["", f"**RAM of the same** on {board}, while four clients are served; bytes.", ""]
    lines += head("", *(ECHO_HEADS[name] for name in found))
    rams = [echo_ram(one) for one in found.values()]
    lines += [row(name, *("" if ram[name] is None else ram[name] for ram in rams)) for name in rams[0]]
    return lines


def little_rooms(results):
    found = next((one["rooms"] for one in results.values() if "rooms" in one), None)
    if found is None:
        return []
    lines = [f"**How little does it** on {rooms.BOARD}: four clients send {rooms.BYTES // 1000000} MB each at the same "
             f"time, and get them back; seconds, the median of {rooms.ROUNDS}.", ""]
    lines += head("", "blocks", "room to send: segments", "RAM, without the stack", "seconds", "who read late",
                  "beside three who do not read")
    return lines + [row(ECHO_HEADS[one["name"]], one["blocks"], one["heap"] or "", one["ram"],
                        "not all came back" if one["seconds"] is None else f"{one['seconds']:.2f}", LATE[one["late"]],
                        BESIDE.get(one["beside"],
                                   f"a fourth is served in {one['beside']} of {rooms.BESIDE_ROUNDS} tries"))
                    for one in found]


def code_alone(results):
    found = next((one["linked"] for one in results.values() if "linked" in one), None)
    if found is None:
        return []
    lines = ["**Code alone**, without program, driver and compiler's functions: what is linked of a stack over IPv4 on "
             "Cortex-M3; bytes.", ""]
    stacks = list(next(iter(found.values())))
    lines += head("", *stacks)
    return lines + [row(BUILDS[build], *one.values()) for build, one in found.items()]


def tables(results):
    counted = {board: found for board, found in results.items() if found["stacks"]}
    makers = (beside_the_paper, by_device, parts, receiving, through_drivers, beside_lwip) if counted else ()
    found = [*(make(counted) for make in makers), memory(results), echo_tables(results), little_rooms(results),
             code_alone(results)]
    return "\n\n".join("\n".join(lines) for lines in found if lines) + "\n"


# ---- the drawing ----------------------------------------------------------------------------------------------


def series(found):
    """{name: instructions by size} of one board: what is sent, and what would be copied and summed."""
    tenon = found["stacks"]["tenon"]
    lines = {"ask_sbuf + send": [(s, sent(tenon, "offload", s)) for s in SIZES],
             "... and a copy, and a checksum": [(s, sent(tenon, "checksums", s) + tenon["copy"][str(s)])
                                                for s in SIZES]}
    if "lwip" in found["stacks"]:
        lwip = found["stacks"]["lwip"]
        lines["lwIP, no copy"] = [(s, sent(lwip, "offload", s, "no-copy")) for s in SIZES]
        lines["lwIP, a copy and a checksum"] = [(s, sent(lwip, "checksums", s, "copy")) for s in SIZES]
    return lines


def panel(board, lines, colours, top):
    width, height = 520, 260
    points = [point for line in lines.values() for point in line]
    bottom = top + height - plots.BOTTOM
    x = plots.Axis([p[0] for p in points], plots.LEFT, width - plots.LEFT - plots.RIGHT, False)
    y = plots.Axis([p[1] for p in points], bottom, -(height - plots.TOP - plots.BOTTOM), False)
    out = [f'<text x="{plots.LEFT}" y="{top + 15}" font-weight="600">{html.escape(board)}</text>',
           f'<text transform="translate(11 {top + height / 2}) rotate(-90)" text-anchor="middle" fill="#555">'
           "instructions</text>", *plots.grid_y(y, width)]
    out += [f'<text x="{x.at(s):.1f}" y="{bottom + 14}" text-anchor="middle" fill="#555">{s}</text>' for s in SIZES]
    out.append(f'<text x="{(plots.LEFT + width) / 2}" y="{bottom + 30}" text-anchor="middle" fill="#555">'
               "bytes in the segment</text>")
    for name, line in lines.items():
        path = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in line)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="1.8"/>')
        out += [f'<circle cx="{x.at(a):.1f}" cy="{y.at(b):.1f}" r="3" fill="{colours[name]}"/>' for a, b in line]
    return out


def drawing(results):
    boards = {board: series(found) for board, found in results.items() if found["stacks"]}
    names = list(dict.fromkeys(name for lines in boards.values() for name in lines))
    colours = plots.colours_for(names)
    height = 260 * len(boards) + 20 * len(names)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="520" height="{height}" font-family="sans-serif" '
           'font-size="11">', f'<rect width="520" height="{height}" fill="#fff"/>']
    for number, (board, lines) in enumerate(boards.items()):
        out += panel(board, lines, colours, number * 260)
    for number, name in enumerate(names):
        at = 260 * len(boards) + 20 * number
        out.append(f'<rect x="{plots.LEFT}" y="{at}" width="10" height="10" fill="{colours[name]}"/>'
                   f'<text x="{plots.LEFT + 14}" y="{at + 9}">{html.escape(name)}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"


def into_docs(docs, text, svg):
    page = docs / "performance-embedded.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    page.write_text(before + BEGIN + "\n\n" + text + "\n" + END + rest.split(END)[1], encoding="utf-8")
    (docs / "performance-embedded.svg").write_text(svg, encoding="utf-8")
