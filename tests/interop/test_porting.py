# SPDX-License-Identifier: MIT
"""The program of docs/porting.md: taken from the page, compiled, and talked to."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from conftest import ROOT, find_tenon, sha256


def library():
    beside = pathlib.Path(find_tenon()).parent
    for folder in (pathlib.Path(os.environ.get("TENON_BUILD", beside)), beside, beside.parent):
        found = sorted(folder.rglob("libtenon.a"))
        if found:
            return found[0]
    pytest.skip("needs the static library libtenon.a in the build folder")


@pytest.fixture
def mini(tmp_path):
    page = (ROOT / "docs" / "porting.md").read_text()
    source = tmp_path / "mini.c"
    source.write_text("\n".join(re.findall(r"```c\n(.*?)```", page, re.S)))
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    subprocess.run([cc, "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include"),
                    "-o", str(tmp_path / "mini"), str(source), str(library())], check=True)
    return tmp_path / "mini"


def test_the_page_answers(link, mini, files, tmp_path):
    process = link.net.start(mini, link.tap, link.t4)
    link.net.run("ping", "-c3", "-i0.2", "-W5", link.t4)
    link.net.run("ping", "-c2", "-i0.2", "-W5", "-s", 9000, link.t4)
    with open(files.get(3_000_003), "rb") as i, open(tmp_path / "got", "wb") as o:
        nc = link.net.start("nc", "-N", link.t4, 7, stdin=i, stdout=o)
        assert nc.wait(60) == 0
    assert sha256(tmp_path / "got") == files.hash(3_000_003)
    assert process.poll() is None
    link.net.stop(process)
