# SPDX-License-Identifier: MIT
"""The programs of docs/porting.md, taken from the page: the mirror is ports/null, the small one is talked to, the port
that programs can choose, as tools/new-port makes it, has to pass what all ports have to pass."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import ROOT, find_tenon, sha256


MIRROR, SECTION = "## First: a port without a device", "## Let programs choose it"
# In the order in which they need each other.
LIBRARIES = ("models", "port_wire", "port_tap", "port_pcap", "port_common", "")


def library(name):
    beside = pathlib.Path(find_tenon()).parent
    for folder in (pathlib.Path(os.environ.get("TENON_BUILD", beside)), beside, beside.parent):
        found = sorted(folder.rglob(f"libtenon{name and '_'}{name}.a"))
        if found:
            return found[0]
    pytest.skip(f"needs the static library libtenon{name and '_'}{name}.a in the build folder")


def pieces(text):
    return re.findall(r"```c\n(.*?)```", text, re.S)


def section(title):
    """(what stands before it, itself, what stands behind it)"""
    before, rest = (ROOT / "docs" / "porting.md").read_text().split(f"\n{title}\n")
    inside, after = rest.split("\n## ", 1)
    return before, inside, after


def page():
    """The pieces of code outside of the sections about struct port_type."""
    before, _, after = section(SECTION)
    return pieces(before.split(f"\n{MIRROR}\n")[1].split("\n## ", 1)[1]) + pieces(after)


def test_the_mirror_is_the_port_null():
    code = (ROOT / "ports" / "null" / "null.c").read_text()
    assert code.split("\n", 2)[2] == "\n".join(pieces(section(MIRROR)[1]))


def run_new_port(tree, name):
    return subprocess.run([ROOT / "tools" / "new-port", name], capture_output=True, text=True, check=False,
                          env={**os.environ, "TENON_ROOT": str(tree)})


def new_port(tree, name):
    """What tools/new-port makes in a tree with what it looks at."""
    for folder in ("docs", "cmake"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "docs" / "porting.md", tree / "docs")
    shutil.copy(ROOT / "cmake" / "ports.cmake", tree / "cmake")
    return run_new_port(tree, name)


def compile_c(program, *arguments):
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    subprocess.run([cc, "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include"),
                    "-o", str(program), *map(str, arguments)], check=True)
    return program


@pytest.fixture
def mini(tmp_path):
    source = tmp_path / "mini.c"
    source.write_text("\n".join(page()))
    return compile_c(tmp_path / "mini", source, library(""))


@pytest.fixture
def port_check(tmp_path):
    """tenon-port-check with the kind of the page, and tap."""
    made = new_port(tmp_path, "mine")
    assert made.returncode == 0, made.stderr
    (tmp_path / "ports" / "common").symlink_to(ROOT / "ports" / "common")
    (tmp_path / "built.c").write_text("""
        #include "bench/speed/ports.h"
        #include "ports/common/built.h"
        #include "ports/tap/tap.h"
        extern const struct port_type mine_port_type;
        const struct port_type *const ports_built[] = { &mine_port_type, &tap_port_type, NULL };
        const struct speed_cable speed_cables[] = { { NULL, NULL, NULL } };
    """)
    sources = [tmp_path / "ports" / "mine" / "mine.c", tmp_path / "built.c",
               *sorted((ROOT / "tests" / "ports").glob("*.c"))]
    return compile_c(tmp_path / "port-check", "-I", ROOT, *sources, *map(library, LIBRARIES), "-lpthread")


def test_names_of_new_ports(tmp_path):
    for name in ("Mine", "x", "common", "int", "../mine", "a" * 17):
        refused = new_port(tmp_path, name)
        assert refused.returncode == 1 and f'"{name}" cannot be a kind' in refused.stderr
    assert not (tmp_path / "ports").exists()
    assert new_port(tmp_path, "my2nd").returncode == 0
    code = (tmp_path / "ports" / "my2nd" / "my2nd.c").read_text()
    assert "mine" not in code.lower() and '.kind = "my2nd"' in code
    kinds = (tmp_path / "cmake" / "ports.cmake").read_text()
    assert len(re.findall(r"^set\(TENON_PORT\w+ .* my2nd\)$", kinds, re.M)) == 2
    again = run_new_port(tmp_path, "my2nd")
    assert again.returncode == 1 and "is there already" in again.stderr
    assert (tmp_path / "cmake" / "ports.cmake").read_text() == kinds


def test_the_test_that_new_ports_have(tmp_path, port_check):
    test = tmp_path / "ports" / "mine" / "test" / "mine_test.c"
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    program = compile_c(tmp_path / "mine_test", "-I", ROOT, test, tmp_path / "ports" / "mine" / "mine.c",
                        *map(library, ("port_common", "")))
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("2 passed, 0 failed"), done.stdout + done.stderr


def test_the_page_answers(link, mini, files, tmp_path, peer):
    process = link.net.start(mini, link.tap, link.t4)
    link.net.run("ping", "-c3", "-i0.2", "-W5", link.t4)
    link.net.run("ping", "-c2", "-i0.2", "-W5", "-s", 9000, link.t4)
    with open(files.get(3_000_003), "rb") as i, open(tmp_path / "got", "wb") as o:
        nc = link.net.start("nc", "-N", link.t4, 7, stdin=i, stdout=o)
        assert nc.wait(60) == 0
    assert sha256(tmp_path / "got") == files.hash(3_000_003)
    peer.run("late-readers", link.t4, 7, 12, 1_000_000)
    assert process.poll() is None
    link.net.stop(process)


@pytest.mark.parametrize("peer, mtu", [("mine", 1500), ("mine", 576), ("tap", 1500)])
def test_the_kind_of_the_page_is_a_port(net, port_check, peer, mtu):
    names = ("pa", "pz", "pb")
    try:
        net.run("ip", "link", "add", "pb", "type", "bridge", "mcast_snooping", "0")
        for name in names[:2]:
            net.run("ip", "tuntap", "add", "dev", name, "mode", "tap")
            net.run("ip", "link", "set", name, "master", "pb")
        for name in names:
            net.run("sysctl", "-eqw", f"net.ipv6.conf.{name}.disable_ipv6=1")
            net.run("ip", "link", "set", name, "up")
        done = net.run(port_check, "--flap", "ip link set pa down; sleep 0.2; ip link set pa up",
                       f"mine:pa,mtu={mtu}", f"{peer}:pz,mtu={mtu}", timeout=200, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert done.stdout.count("ok ") == 9
        done = net.run(port_check, "--late", f"{peer}:pz,mtu={mtu}", f"mine:pa,mtu={mtu},memory=1", check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        for name in names:
            net.run("ip", "link", "del", name, check=False)


@pytest.mark.parametrize("name, why", [("no/name", "Invalid argument"), ("longer-than-15-c", "File name too long")])
def test_its_messages(net, port_check, name, why):
    done = net.run(port_check, f"mine:{name}", "tap:pz", check=False, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 1
    assert f"cannot open '{name}': {why} (make it: 'ip tuntap add" in done.stderr
