# SPDX-License-Identifier: MIT
"""The programs: Tenon and the floor are compiled here, with the flags that all get; a peer whose tools are missing is
left out, with the reason."""
import os
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from peers import programs  # noqa: E402
from speed import kernel  # noqa: E402

Missing = programs.Missing
# With gcc's pairing of words into vectors Tenon is slower, the floor and lwIP as fast (docs/performance.md).
FLAGS = ["-O3", "-fno-tree-slp-vectorize", "-march=native", "-flto=1", "-std=c11", "-D_GNU_SOURCE",
         "-Wno-lto-type-mismatch"]
WORKLOADS = ["harness.c", "pingpong.c", "bulk.c", "connect.c", "idle.c", "udp.c", "load.c", "latency.c", "cores.c"]


def sources(*names):
    return [HERE / name for name in names]


def core_sources():
    return [p for folder in ("src", "include") for p in (ROOT / folder).rglob("*.[ch]")]


def tenon(folder, name="speed", flags=(), core=None, defines=("-DTENON_UNITY=1",)):
    """Tenon, as one translation unit or as the files of `core`, and the floor: the program with both."""
    out = folder / name
    own = sources(*WORKLOADS, "wire.c", "tenon.c", "floor4.c", "floor6.c", "main.c")
    own.append(ROOT / "ports" / "common" / "hostsum.c")
    if not programs.newer(out, *own, *HERE.glob("*.h"), *core_sources(), HERE / "stacks.py"):
        core = core or [ROOT / "src" / "tenon_all.c", ROOT / "src" / "base" / "panic.c"]
        programs.run(programs.compiler(), *(flags or FLAGS), *defines, "-DTENON_ASSERT_LEVEL=1",
                     "-I", ROOT, "-I", ROOT / "include", "-I", ROOT / "src", *own, *core, "-o", out)
    return out


def amalgamated(folder, name, flags):
    """The same with the two files that tools/amalgamate writes for other projects."""
    dist = folder / "amalgamated"
    programs.run(sys.executable, ROOT / "tools" / "amalgamate", dist)
    return tenon(folder, name, flags, [dist / "tenon.c"])


def separate(folder, name, flags):
    """The same with the core's files compiled one by one, and nothing optimised over their borders."""
    core = [p for p in sorted((ROOT / "src").rglob("*.c")) if p.name != "tenon_all.c"]
    return tenon(folder, name, flags, core, ())


# ---- lwIP -------------------------------------------------------------------------------------------

LWIP_MTUS = (1500, 9000, 65000)    # the length of a frame has 16 bits


def lwip_side(folder, source, mtu, end, optimised):
    """One copy of lwIP with an end of the wire: an object of which one name is to be seen."""
    objects, whole = [], folder / f"{end}-{mtu}.o"
    files = [f for part in ("core/*.c", "core/ipv4/*.c", "netif/ethernet.c") for f in sorted(source.glob(part))]
    if len(files) < 20:
        raise Missing(f"{source} has not the C sources that were expected")
    flags = [*optimised, "-flto=1", "-std=gnu11", "-w", f"-DSPEED_MSS={mtu - 40}", f"-DSPEED_SIDE=lwip_{end}_{mtu}",
             "-I", HERE / "lwip", "-I", HERE, "-I", source / "include"]
    for file in [*files, HERE / "lwip" / "side.c"]:
        objects.append(folder / f"{file.stem}.o")
        programs.run(programs.compiler(), *flags, "-c", file, "-o", objects[-1])
    programs.run(programs.compiler(), *optimised, "-flto=1", "-r", "-flinker-output=nolto-rel", *objects, "-o", whole)
    programs.run("objcopy", f"--keep-global-symbol=lwip_{end}_{mtu}", whole)
    for file in objects:
        file.unlink()
    return whole


def lwip(folder, name="speed-lwip", flags=()):
    flags = flags or FLAGS
    out = folder / name
    own = sources(*WORKLOADS, "lwip/driver.c")
    if programs.newer(out, *own, *HERE.glob("*.h"), *HERE.glob("lwip/**/*.[ch]"), HERE / "stacks.py"):
        return out
    source = programs.lwip_sources(folder)
    parts = folder / f"{name}-parts"
    parts.mkdir(exist_ok=True)
    wanted = [(mtu, end) for mtu in LWIP_MTUS for end in ("client", "server")]
    sides = [lwip_side(parts, source, mtu, end, flags) for mtu, end in wanted]
    programs.run(programs.compiler(), *flags, "-I", HERE, *own, *sides, "-o", out)
    return out


# ---- smoltcp ----------------------------------------------------------------------------------------

def smoltcp(folder, name="speed-smoltcp", flags=(), processor="native"):
    """smoltcp with its half of the driver as a library, linked with the harness."""
    out = folder / name
    own = sources(*WORKLOADS, "smoltcp/driver.c")
    if programs.newer(out, *own, *HERE.glob("*.h"), *(HERE / "smoltcp").iterdir(), HERE / "stacks.py"):
        return out
    copy = folder / f"{name}-package"
    copy.mkdir(parents=True, exist_ok=True)
    for file in ("Cargo.toml", "lib.rs"):
        shutil.copy2(HERE / "smoltcp" / file, copy)
    programs.run(programs.cargo(), "build", "--release", "--manifest-path", copy / "Cargo.toml", "--target-dir",
                 copy / "target", env={**os.environ, "RUSTFLAGS": f"-C target-cpu={processor}"})
    library = copy / "target" / "release" / "libspeed_smoltcp.a"
    programs.run(programs.compiler(), *(flags or FLAGS), "-I", HERE, *own, library, "-lpthread", "-ldl", "-lm", "-o",
                 out)
    return out


# ---- gVisor -----------------------------------------------------------------------------------------

def gvisor(folder):
    """gVisor's netstack, a program of its own with the same words and the same line."""
    out = folder / "speed-gvisor"
    files = list((HERE / "gvisor").iterdir())
    if programs.newer(out, *files):
        return out
    if shutil.which("go") is None:
        raise Missing("go, the compiler, is not installed")
    copy = folder / "gvisor-package"
    copy.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy2(file, copy)
    programs.run("go", "build", "-o", out.absolute(), ".", cwd=copy)
    return out


MAKERS = {"tenon": tenon, "floor": tenon, "lwip": lwip, "smoltcp": smoltcp, "gvisor": gvisor,
          "linux-veth": kernel.make_veth, "tenon-tap": kernel.make_tap}


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
