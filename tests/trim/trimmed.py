# SPDX-License-Identifier: MIT
"""Builds that do without something: which switches there are, and what is left out together. tools/trim tests them,
tools/footprint measures them."""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
# Who cannot do with it off, and is off then, too (the #error of config.h).
NEEDED_BY = {"MULTICAST": ["IPV6", "IGMP"], "HOMES": ["IPV6", "ROUTES", "NETIFS"],
             "PIECES": ["FRAGMENTS", "SPEED", "SPLIT"], "SPLIT": ["FRAGMENTS", "SPEED"], "PATH_MTU": ["PROBES"],
             "FLIGHT": ["RECOVERY", "SCOREBOARD", "PATH_MTU", "PROBES"], "CONNECT": ["CROSSING"]}


def switches():
    """Of config.h, without their TENON_WITH_."""
    with open(os.path.join(ROOT, "include", "tenon", "config.h"), encoding="utf-8") as f:
        return re.findall(r"^#define TENON_WITH_(\w+) 1$", f.read(), re.M)


def without(switch):
    """What is off at least where it is."""
    return [*NEEDED_BY.get(switch, []), switch]


def lines_of(name):
    """[words of a line] of a file beside this one, without comments."""
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return [line.split("#")[0].split() for line in f if line.split("#")[0].strip()]


def combinations():
    """{name: what is left out}"""
    return {name: off for name, *off in lines_of("combinations")}
