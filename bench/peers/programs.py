# SPDX-License-Identifier: MIT
"""The programs of the comparison: what is ours is compiled, what is not comes from the package registry of
Rust through cargo. A peer that cannot be had is left out, with the reason; nothing else depends on it."""
import json
import os
import pathlib
import re
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Missing(Exception):
    """Why a program cannot be had."""


def run(*argv, **more):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, **more)
    if done.returncode != 0:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        lines = lines or ["no message"]
        wrong = next((line for line in lines if re.match(r"(.*: )?(fatal )?error", line)), lines[-1])
        raise Missing(f"{os.path.basename(str(argv[0]))} {argv[1] if argv[1:] else ''} failed: {wrong.strip()}")
    return done.stdout


def compiler():
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return name
    raise Missing("there is no C compiler")


def cargo():
    if shutil.which("cargo") is None:
        raise Missing("cargo, Rust's package manager, is not installed")
    return "cargo"


def newer(program, *sources):
    return program.exists() and all(program.stat().st_mtime > os.path.getmtime(s) for s in sources)


def own(folder, name, source):
    """A program of one C file of ours."""
    out = folder / name
    if not newer(out, source):
        run(compiler(), "-O2", "-std=c11", "-D_GNU_SOURCE", "-o", out, source)
    return out


def copy_of(package, folder):
    """The package's folder, copied: cargo writes a lock file beside the manifest."""
    copy = folder / f"{package}-package"
    copy.mkdir(parents=True, exist_ok=True)
    for source in (HERE / package).iterdir():
        if source.is_file():
            shutil.copy2(source, copy)
    return copy


def lwip_sources(folder):
    """The folder with lwIP's own sources, from the package of that name."""
    copy = copy_of("lwip", folder)
    (copy / "empty.rs").write_text("")
    run(cargo(), "fetch", "--manifest-path", copy / "Cargo.toml")
    about = json.loads(run(cargo(), "metadata", "--offline", "--format-version", 1, "--manifest-path",
                           copy / "Cargo.toml"))
    package = next((p for p in about["packages"] if p["name"] == "lwip"), None)
    if package is None:
        raise Missing("the package lwip is not among what cargo has fetched")
    return pathlib.Path(package["manifest_path"]).parent / "src"


def lwip(folder):
    """lwIP's sources with our sender and configuration."""
    out = folder / "lwip"
    if newer(out, *(p for p in (HERE / "lwip").rglob("*") if p.is_file())):
        return out
    source = lwip_sources(folder)
    files = [f for part in ("core/*.c", "core/ipv4/*.c", "netif/ethernet.c") for f in sorted(source.glob(part))]
    if len(files) < 20:
        raise Missing(f"{source} has not the C sources that were expected")
    run(compiler(), "-O2", "-std=gnu11", "-D_GNU_SOURCE", "-w", "-I", HERE / "lwip", "-I", source / "include", *files,
        HERE / "lwip" / "sender.c", "-o", out)
    return out


def smoltcp(folder):
    """Our sender with the package smoltcp."""
    out = folder / "smoltcp-package" / "target" / "release" / "smoltcp-sender"
    if not newer(out, *(HERE / "smoltcp").iterdir()):
        copy = copy_of("smoltcp", folder)
        run(cargo(), "build", "--release", "--manifest-path", copy / "Cargo.toml", "--target-dir", copy / "target")
    return out


def tenon():
    """$TENON_BIN, or the program in $TENON_BUILD (build/release)."""
    if os.environ.get("TENON_BIN"):
        return pathlib.Path(os.environ["TENON_BIN"]).absolute()
    build = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release")).absolute()
    if (build / "tenon").is_file():
        return build / "tenon"
    raise Missing(f"{build}/tenon is not built (run make, or set TENON_BUILD or TENON_BIN)")
