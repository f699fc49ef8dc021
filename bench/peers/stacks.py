# SPDX-License-Identifier: MIT
"""Who sends. Each stack has a name, a family (for colours), and the command that sends the bytes of
kernel.c from SENDER to RECEIVER through the interface TAP."""
import dataclasses
import pathlib
import subprocess

import programs

TAP, SENDER, RECEIVER, PORT = "sender0", "10.44.0.1", "10.44.0.2", 5001

LINUX_CONTROLS = ("reno", "cubic", "bbr")
TENON_CONTROLS = ("newreno", "cubic", "highspeed", "bbr", "dctcp")
SMOLTCP_CONTROLS = ("reno", "cubic")


@dataclasses.dataclass
class Stack:
    name: str
    family: str
    argv: list
    in_kernel: bool = False    # the sender's interface has an address, and the kernel's TCP behind it
    feed: bool = False         # reads the bytes from its stdin


def linux(tools, control):
    offered = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    if control not in offered:
        raise programs.Missing(f"this kernel has no {control} (it has {', '.join(offered)})")
    return Stack(f"linux-{control}", "linux", [tools["kernel"], "send", RECEIVER, PORT, control], in_kernel=True)


def tenon(tools, control):
    program = programs.tenon()
    # It says what is wrong with a name before it looks at the interface, with status 2.
    probe = subprocess.run([str(program), "connect", "--cc", control, "--port", "tap:none0", "127.0.0.1", "1"],
                           capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if probe.returncode == 2:
        raise programs.Missing(f"this tenon does not know the congestion control {control}")
    return Stack(f"tenon-{control}", "tenon",
                 [program, "connect", "--quiet", "--no-offload", "--port", f"tap:{TAP}", "--address", f"{SENDER}/24",
                  "--cc", control, RECEIVER, PORT], feed=True)


def lwip(tools, _control):
    return Stack("lwip", "lwip", [programs.lwip(tools["folder"]), TAP, SENDER, RECEIVER, PORT])


def smoltcp(tools, control):
    return Stack(f"smoltcp-{control}", "smoltcp",
                 [programs.smoltcp(tools["folder"]), TAP, SENDER, RECEIVER, PORT, control])


MAKERS = {
    **{f"linux-{c}": (linux, c) for c in LINUX_CONTROLS},
    **{f"tenon-{c}": (tenon, c) for c in TENON_CONTROLS},
    "lwip": (lwip, None),
    **{f"smoltcp-{c}": (smoltcp, c) for c in SMOLTCP_CONTROLS},
}


def make(names, tools, say):
    """The stacks that can be had; says why another one cannot."""
    made = []
    for name in names:
        maker, control = MAKERS[name]
        try:
            made.append(maker(tools, control))
        except programs.Missing as why:
            say(f"{name} is left out: {why}")
    return made
