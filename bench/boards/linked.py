# SPDX-License-Identifier: MIT
"""Code of Cortex-M3 that a program links of the stack alone, without driver and program: Tenon's builds core, least
and tiny as tools/footprint takes them, and lwIP with the same features, taken in the same way; of what tiny goes
without besides lwIP can be without Ethernet and ARP only."""
import concurrent.futures
import importlib.machinery
import importlib.util
import pathlib

from peers import programs

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILDS = ("core", "least", "tiny")
# What a program calls that has one interface and connects; that of core listens besides, and sends datagrams: what
# tools/footprint has in CALLS, as lwIP calls it.
CALLS = ("lwip_init netif_add netif_set_up sys_check_timeouts pbuf_alloced_custom tcp_new tcp_arg tcp_recv tcp_sent "
         "tcp_err tcp_connect tcp_write tcp_output tcp_recved tcp_close tcp_abort").split()
LINK_CALLS = {"core": ["ethernet_input", "etharp_output"], "least": ["ethernet_input", "etharp_output"],
              "tiny": ["ip4_input"]}
CORE_CALLS = ("tcp_bind tcp_listen_with_backlog tcp_accept tcp_shutdown udp_new udp_bind udp_recv udp_sendto "
              "udp_remove").split()


def footprint():
    """tools/footprint as a module."""
    loader = importlib.machinery.SourceFileLoader("tenon_footprint", str(ROOT / "tools" / "footprint"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tenon_footprint", loader))
    loader.exec_module(module)
    return module


def lwip(tool, source, build, folder):
    compiler, size_tool, _ = tool.TARGETS["cortex_m3"]
    folder = folder / f"linked-{build}"
    folder.mkdir(parents=True, exist_ok=True)
    flags = [flag for flag in tool.FLAGS if not flag.startswith(("-std", "-I"))]
    includes = [f"-I{path}" for path in (HERE / "linked", HERE / "lwip", HERE / "lwip" / "libc", source / "include")]
    files = [f for part in ("core/*.c", "core/ipv4/*.c", "netif/ethernet.c") for f in sorted(source.glob(part))]

    def compiled(name):
        out = folder / (name.name + ".o")
        programs.run(*compiler, *flags, "-std=gnu11", "-w", f"-DLINKED_CORE={int(build == 'core')}",
                     f"-DLINKED_ETHERNET={int(build != 'tiny')}", *includes, "-c", name, "-o", out)
        return out

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(compiled, files))
    calls = CALLS + LINK_CALLS[build] + (CORE_CALLS if build == "core" else [])
    image = folder / "linked"
    programs.run(*compiler, "-nostdlib", "-r", "-Wl,--gc-sections", f"-Wl,-e,{calls[0]}",
                 *(f"-Wl,-u,{name}" for name in calls), *objects, "-o", image)
    return tool.bytes_of(size_tool, str(image))[0]


def measure(source, folder):
    """{build: {stack: bytes}}; source: where lwIP's are, or None"""
    tool, found = footprint(), {}
    for build in BUILDS:
        off, out = tool.combinations()[build], folder / f"linked-{build}"
        out.mkdir(parents=True, exist_ok=True)
        found[build] = {"Tenon": tool.linked(off, str(out))[1],
                        "Tenon, without assertions": tool.linked(off, str(out), ("-DTENON_ASSERT_LEVEL=0",))[1]}
        if source is not None:
            found[build]["lwIP"] = lwip(tool, source, build, folder)
    return found
