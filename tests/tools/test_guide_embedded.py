# SPDX-License-Identifier: MIT
"""The bytes that docs/guide/embedded.md says an arena takes are those that tenon_sock_arena_bytes() wants."""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "trim"))
import trimmed    # noqa: E402

PROGRAM = r"""
#include "embedded/tenon_sock.h"
#include <stdio.h>

static unsigned transmit(void *device, const struct tenon_frame *frames, unsigned n)
{
    (void)device, (void)frames;
    return n;
}

static int entropy(void *device, void *bytes, size_t n)
{
    (void)device, (void)bytes, (void)n;
    return 0;
}

static void tell(const char *what, const struct tenon_sock_conf *conf)
{
    printf("%s %lu\n", what, (unsigned long)tenon_sock_arena_bytes(conf));
}

int main(void)
{
    static struct tenon_sock_conf conf;
    struct tenon_conf *stack = &conf.stack;

    conf.device.netif.mtu = 1500;
    conf.device.transmit = transmit;
    conf.device.entropy = entropy;
    tell("default", &conf);
    conf.socks = conf.conns = 1;
    conf.headers = 3;
    conf.blocks = conf.packets = 2;
    stack->tx_burst_max = stack->neighbours_max = stack->routes_max = stack->addrs_max = 2;
    stack->paths_max = 2;
    stack->groups_max = 4;
    stack->tcp_time_wait_max = 1;
    tell("least", &conf);
    conf.device.flags = TENON_SOCK_LENGTHS;
    conf.blocks = 1;
    conf.headers = 4;
    tell("lengths", &conf);
    conf.device.flags = 0;
    conf.blocks = 2;
    conf.headers = 3;
    conf.device.netif.mru = 576;
    conf.device.netif.flags = TENON_NETIF_NO_IP6;
    tell("mru", &conf);
    return 0;
}
"""


def wanted(folder, bits, off=()):
    """{what: bytes}"""
    (folder / "arena.c").write_text(PROGRAM)
    built = subprocess.run(
        ["gcc", f"-m{bits}", "-O0", "-w", "-Iinclude", "-Isrc", "-I.", *(f"-DTENON_WITH_{name}=0" for name in off),
         "-DTENON_UNITY=1", "-c", "src/tenon_all.c", "-o", folder / "core.o"],
        cwd=ROOT, capture_output=True, text=True, check=False)
    if built.returncode == 0:
        built = subprocess.run(
            ["gcc", f"-m{bits}", "-O0", "-w", "-Iinclude", "-I.", *(f"-DTENON_WITH_{name}=0" for name in off),
             folder / "arena.c", *sorted(ROOT.glob("embedded/*.c")), "src/base/panic.c", "-Isrc", folder / "core.o",
             "-o", folder / "arena"], cwd=ROOT, capture_output=True, text=True, check=False)
    if built.returncode != 0 and bits == 32 and "bits/" in built.stderr:
        pytest.skip("no C library for -m32")
    assert built.returncode == 0, built.stderr
    told = subprocess.run([folder / "arena"], capture_output=True, text=True, check=True).stdout
    return {what: int(value) for what, value in (line.split() for line in told.splitlines())}


def number(text):
    return int(text.replace(",", ""))


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs" / "guide" / "embedded.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return wanted(tmp_path_factory.mktemp("whole"), 32)


def test_the_table_adds_up_to_the_arenas(page, whole):
    rows = re.search(r"^\| receive blocks .*?^\| \*\*the arena\*\* [^\n]*", page, re.M | re.S).group().splitlines()
    cells = [[re.sub(r".*: |\*", "", cell.strip()) for cell in row.split("|")[3:5]] for row in rows]
    parts, arena = [[number(cell) for cell in row] for row in cells[:-1]], [number(cell) for cell in cells[-1]]
    assert arena == [whole["default"], whole["least"]]
    assert [sum(column) for column in zip(*parts)] == arena


def test_the_sentences_behind_it(page, whole, tmp_path):
    small = wanted(tmp_path, 32, trimmed.combinations()["sock"])
    said = re.search(r"With 576 bytes received at most it is ([\d,]+); on a\s+\[small build\]\(\S+\) ([\d,]+), and "
                     r"([\d,]+) with 1500.* with four headers: ([\d,]+) bytes", page, re.S)
    assert [number(text) for text in said.groups()] == [whole["mru"], small["mru"], small["least"], whole["lengths"]]


def test_the_arenas_of_the_example_are_large_enough(page, whole, tmp_path):
    said = re.search(r"arena\[(\d+)\]; +/\* ([\d,]+) where pointers have 64 bits", page)
    for room, least in ((number(said[1]), whole["default"]), (number(said[2]), wanted(tmp_path, 64)["default"])):
        assert least <= room < least + 500
