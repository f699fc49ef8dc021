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
FLAGS = ["-O3", "-march=native", "-flto=1", "-std=c11", "-D_GNU_SOURCE", "-Wno-lto-type-mismatch"]
WORKLOADS = ["harness.c", "pingpong.c", "bulk.c", "connect.c", "idle.c", "udp.c", "load.c", "cores.c"]


def sources(*names):
    return [HERE / name for name in names]


def core_sources():
    return [p for folder in ("src", "include") for p in (ROOT / folder).rglob("*.[ch]")]


def tenon(folder, name="speed", flags=(), assert_level=1):
    """Tenon, as one translation unit, and the floor: the program with both."""
    out = folder / name
    own = sources(*WORKLOADS, "wire.c", "tenon.c", "floor.c", "main.c")
    own.append(ROOT / "ports" / "common" / "hostsum.c")
    if not programs.newer(out, *own, *HERE.glob("*.h"), *core_sources(), HERE / "stacks.py"):
        programs.run(programs.compiler(), *(flags or FLAGS), "-DTENON_UNITY=1", f"-DTENON_ASSERT_LEVEL={assert_level}",
                     "-I", ROOT, "-I", ROOT / "include", "-I", ROOT / "src", *own, ROOT / "src" / "tenon_all.c",
                     ROOT / "src" / "base" / "panic.c", "-o", out)
    return out


# ---- lwIP -------------------------------------------------------------------------------------------

LWIP_MTUS = (1500, 9000, 65000)    # the length of a frame has 16 bits


def lwip_side(folder, source, mtu, end):
    """One copy of lwIP with an end of the wire: an object of which one name is to be seen."""
    objects, whole = [], folder / f"{end}-{mtu}.o"
    files = [f for part in ("core/*.c", "core/ipv4/*.c", "netif/ethernet.c") for f in sorted(source.glob(part))]
    if len(files) < 20:
        raise Missing(f"{source} has not the C sources that were expected")
    flags = [*FLAGS, "-std=gnu11", "-w", f"-DSPEED_MSS={mtu - 40}", f"-DSPEED_SIDE=lwip_{end}_{mtu}",
             "-I", HERE / "lwip", "-I", HERE, "-I", source / "include"]
    for file in [*files, HERE / "lwip" / "side.c"]:
        objects.append(folder / f"{file.stem}.o")
        programs.run(programs.compiler(), *flags, "-c", file, "-o", objects[-1])
    programs.run(programs.compiler(), *FLAGS, "-r", "-flinker-output=nolto-rel", *objects, "-o", whole)
    programs.run("objcopy", f"--keep-global-symbol=lwip_{end}_{mtu}", whole)
    for file in objects:
        file.unlink()
    return whole


def lwip(folder):
    out = folder / "speed-lwip"
    own = sources(*WORKLOADS, "lwip/driver.c")
    if programs.newer(out, *own, *HERE.glob("*.h"), *HERE.glob("lwip/**/*.[ch]"), HERE / "stacks.py"):
        return out
    source = programs.lwip_sources(folder)
    parts = folder / "lwip-parts"
    parts.mkdir(exist_ok=True)
    wanted = [(mtu, end) for mtu in LWIP_MTUS for end in ("client", "server")]
    sides = [lwip_side(parts, source, mtu, end) for mtu, end in wanted]
    programs.run(programs.compiler(), *FLAGS, "-I", HERE, *own, *sides, "-o", out)
    return out


# ---- smoltcp ----------------------------------------------------------------------------------------

def smoltcp(folder):
    """smoltcp with its half of the driver as a library, linked with the harness."""
    out = folder / "speed-smoltcp"
    own = sources(*WORKLOADS, "smoltcp/driver.c")
    if programs.newer(out, *own, *HERE.glob("*.h"), *(HERE / "smoltcp").iterdir(), HERE / "stacks.py"):
        return out
    copy = folder / "smoltcp-package"
    copy.mkdir(parents=True, exist_ok=True)
    for name in ("Cargo.toml", "lib.rs"):
        shutil.copy2(HERE / "smoltcp" / name, copy)
    programs.run(programs.cargo(), "build", "--release", "--manifest-path", copy / "Cargo.toml", "--target-dir",
                 copy / "target", env={**os.environ, "RUSTFLAGS": "-C target-cpu=native"})
    programs.run(programs.compiler(), *FLAGS, "-I", HERE, *own, copy / "target" / "release" / "libspeed_smoltcp.a",
                 "-lpthread", "-ldl", "-lm", "-o", out)
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
