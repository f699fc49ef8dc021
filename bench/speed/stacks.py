# SPDX-License-Identifier: MIT
"""The programs: Tenon and the floor are compiled here, with the flags that all get; a peer whose tools are missing is
left out, with the reason."""
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from peers import programs  # noqa: E402

Missing = programs.Missing
FLAGS = ["-O3", "-march=native", "-flto=1", "-std=c11", "-D_GNU_SOURCE", "-Wno-lto-type-mismatch"]
WORKLOADS = ["harness.c", "pingpong.c", "bulk.c", "connect.c", "idle.c", "udp.c", "load.c"]


def sources(*names):
    return [HERE / name for name in names]


def core_sources():
    return [p for folder in ("src", "include") for p in (ROOT / folder).rglob("*.[ch]")]


def tenon(folder, name="speed", flags=(), assert_level=1):
    """Tenon, as one translation unit, and the floor: the program with both."""
    out = folder / name
    own = sources(*WORKLOADS, "wire.c", "tenon.c", "floor.c", "main.c")
    if not programs.newer(out, *own, *HERE.glob("*.h"), *core_sources(), HERE / "stacks.py"):
        programs.run(programs.compiler(), *(flags or FLAGS), "-DTENON_UNITY=1", f"-DTENON_ASSERT_LEVEL={assert_level}",
                     "-I", ROOT / "include", "-I", ROOT / "src", *own, ROOT / "src" / "tenon_all.c",
                     ROOT / "src" / "base" / "panic.c", "-o", out)
    return out


MAKERS = {"tenon": tenon, "floor": tenon}


def make(names, folder, say):
    """{stack: program} of those that can be had."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for name in names:
        try:
            made[name] = MAKERS[name](folder)
        except (Missing, OSError) as why:
            say(f"{name} is left out: {why}")
    return made

