# SPDX-License-Identifier: MIT
"""Where the instructions of one send are spent, by QEMU's log of every instruction."""
import bisect
import collections
import os
import subprocess
import tempfile

WARM, TAIL_PARTS = 8, 40


def functions(tools, image):
    """(first address, name) of each, in order."""
    found = []
    for line in subprocess.run([tools + "nm", "-n", str(image)], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3 and words[1] in "tT" and not words[2].startswith("$"):
            found.append((int(words[0], 16) & ~1, words[2]))
    return found


def regions(log, table):
    """(first function, {function: [instructions, calls]}) of what stands between count_begin() and count_end()."""
    addresses = [address for address, _ in table]
    spent, first, last = None, None, None
    for line in log:
        at = line.find("[")
        if not line.startswith("Trace") or at < 0:
            continue
        pc = int(line[at + 1:].split("/")[1], 16)
        place = bisect.bisect(addresses, pc) - 1
        name = table[place][1] if place >= 0 else "?"
        if name == "count_begin":
            spent, first = {}, None
        elif name == "count_end" and last != name and spent is not None:
            yield first, spent
            spent = None
        elif spent is not None:
            first = name if first is None and name in ("room", "send", "sent", "arrive") else first
            row = spent.setdefault(name, [0, 0])
            row[0] += 1
            row[1] += pc == addresses[place]
        last = name


def profile(command, tools, image, size):
    """The text of a table: the functions of one ask and one send of that size, the dearest first."""
    wanted = {100: 0, 500: 1, 1460: 2}[size] * 36 + WARM
    total, sends = collections.Counter(), 0
    calls = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        fifo = os.path.join(folder, "log")
        os.mkfifo(fifo)
        process = subprocess.Popen([*command, "-singlestep", "-d", "exec,nochain", "-D", fifo],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            with open(fifo, encoding="ascii", errors="replace") as log:
                for first, spent in regions(log, functions(tools, image)):
                    sends += first == "send"
                    if first in ("room", "send") and sends + (first == "room") == wanted:
                        total.update({name: row[0] for name, row in spent.items()})
                        calls.update({name: row[1] for name, row in spent.items()})
                    if sends >= wanted:
                        break
        finally:
            process.kill()
            process.wait()
    lines = [f"{sum(total.values()):>7}        ask_sbuf and send of {size} bytes: instructions, calls, function"]
    lines += [f"{count:>7} {calls[name]:>6}  {name}" for name, count in total.most_common(TAIL_PARTS)]
    return "\n".join(lines)
