# SPDX-License-Identifier: MIT
"""Which cells there are. A cell is a dictionary of settings of tenon-paths; its key is their text, which is also what
the program gets as arguments."""
import itertools

RTTS = (0.1, 1, 10, 50, 100, 300, 600)          # ms
RATES = (1, 10, 100, 1000, 10000)               # Mbit/s
LOSSES = (0, 0.01, 0.1, 1, 5)                   # % of the frames
REORDERS = (0, 1, 5)                            # % of the frames, late by up to half an RTT
BUFFERS = (0.1, 1, 4)                           # bandwidth-delay products
SIZES = (10000, 100000, 1000000)                # bytes of short flows
MANY = 8                                        # flows, where there are many
DELAYED_ACK_MS = 40                             # the core's default

DEFAULTS = {"loss": 0, "reorder": 0, "buffer": 1, "mark": 0, "flows": 1, "mtu": 1500, "tso": 0, "size": 100000,
            "n": 1, "drop": 0, "seconds": 0, "seed": 1}
ORDER = ("kind", "cc", "rtt", "rate", *DEFAULTS)
TEXTS = ("kind", "cc")

# A cell of more frames than this is run only when it is asked for.
EVERYDAY_FRAMES = 1600000


def key_of(cell):
    """The settings that are not the default, in their order."""
    return " ".join(f"{name}={cell[name]}" if name in TEXTS else f"{name}={cell[name]:g}" for name in ORDER
                    if name in cell and (name not in DEFAULTS or cell[name] != DEFAULTS[name]))


def cell_of(key):
    """The cell of such a text; a ValueError says what is wrong with it."""
    cell = {"kind": "bulk", "cc": "cubic", "rtt": 50, "rate": 10, **DEFAULTS}
    for word in key.split():
        name, equals, value = word.partition("=")
        if not equals or name not in ORDER:
            raise ValueError(f"{word}: settings are {', '.join(n + '=' for n in ORDER)}")
        cell[name] = value if name in TEXTS else float(value)
    return cell


def frames_of(cell):
    """About how many frames pass the bottleneck, as bulk.c and short.c decide."""
    frame_s = (cell["mtu"] + 14) * 8e-6 / cell["rate"]
    if cell["kind"] in ("short", "tail"):
        return cell["n"] * (cell["size"] / 1448 + 10)
    round_s = cell["rtt"] / 1000 + frame_s
    seconds = max(60 * round_s * max(1, (1 + cell["buffer"]) / 2), 5000 * frame_s, 1,
                  min(max(400 * round_s, 10), 200000 * frame_s))
    seconds = cell["seconds"] or seconds * (2 if cell["flows"] > 1 else 1)
    return seconds / frame_s


def product(base, **axes):
    """All combinations: product({"kind": "bulk"}, rtt=RTTS, rate=RATES)."""
    names = list(axes)
    return [{**DEFAULTS, **base, **dict(zip(names, values))} for values in itertools.product(*axes.values())]


def wide(controls):
    """Those that are meant for any network; DCTCP is not (RFC 8257 5)."""
    return [name for name in controls if name != "dctcp"]


def endless(controls):
    """One endless flow: every buffer on clean paths, every loss and every reordering with one bandwidth-delay
    product; then the clean paths with many flows."""
    path = {"rtt": RTTS, "rate": RATES, "cc": wide(controls)}
    return (product({"kind": "bulk"}, buffer=BUFFERS, **path)
            + product({"kind": "bulk"}, loss=LOSSES[1:], **path)
            + product({"kind": "bulk"}, reorder=REORDERS[1:], **path)
            + product({"kind": "bulk", "loss": 1, "reorder": 1}, **path)
            + product({"kind": "bulk", "flows": MANY}, buffer=BUFFERS[:2], **path))


def mixed(controls):
    """CUBIC against each of the others, two flows and one bottleneck."""
    pairs = [f"cubic,{other}" for other in wide(controls) if other != "cubic"]
    return product({"kind": "bulk", "flows": 2}, buffer=BUFFERS[1:], rtt=RTTS, rate=RATES, cc=pairs)


def marking(controls):
    """Queues that mark: CUBIC everywhere, DCTCP where it belongs."""
    cells = product({"kind": "bulk", "cc": "cubic", "mark": 0.2}, rtt=RTTS, rate=RATES)
    if "dctcp" in controls:
        cells += product({"kind": "bulk", "cc": "dctcp", "mark": 0.2}, flows=(1, MANY), rtt=RTTS[:3], rate=RATES[2:])
    return cells


def short(controls):
    """Short flows, alone on the path: once on a clean one, fifty times where frames are lost."""
    path = {"rtt": RTTS, "rate": RATES[1:4], "cc": wide(controls), "size": SIZES}
    return product({"kind": "short"}, **path) + product({"kind": "short", "loss": 1, "n": 50}, **path)


def repair(controls):
    """A burst of losses in the middle of a transfer, and lost tails."""
    names = wide(controls)
    return (product({"kind": "burst"}, drop=(1, 10), rtt=RTTS, rate=RATES[1:4], cc=names)
            + product({"kind": "tail", "n": 5}, drop=(1, 3), rtt=RTTS, rate=(1000,), cc=names)
            + product({"kind": "tail", "n": 5, "drop": 1, "size": 1000}, rtt=RTTS, rate=(1000,), cc=names))


def unique(cells):
    return list({key_of(cell): cell for cell in cells}.values())


def everyday(controls):
    """The cells of the report that end soon."""
    cells = unique(endless(controls) + mixed(controls) + marking(controls) + short(controls) + repair(controls))
    return [cell for cell in cells if frames_of(cell) <= EVERYDAY_FRAMES]


def everything(controls):
    """The everyday cells, those with huge windows, and the whole product of losses, reorderings and buffers."""
    whole = product({"kind": "bulk"}, rtt=RTTS, rate=RATES, loss=LOSSES, reorder=REORDERS, buffer=BUFFERS,
                    cc=wide(controls))
    return unique(endless(controls) + mixed(controls) + marking(controls) + short(controls) + repair(controls) + whole)
