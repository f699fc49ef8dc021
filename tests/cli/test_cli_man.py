# SPDX-License-Identifier: MIT
"""The manual pages of subcommands are what the program says of them, and have no faults of form."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release"))

PAGES = sorted((ROOT / "docs" / "man").glob("*.1"))


def test_pages_are_what_the_program_says(tenon):
    done = subprocess.run([ROOT / "tools" / "man", "--check"], capture_output=True, text=True, check=False,
                          env={**os.environ, "TENON_BUILD": str(BUILD.absolute())})
    assert done.returncode == 0 and "11 pages" in done.stdout, done.stdout + done.stderr
    assert tenon("serve", "--help").returncode == 0


def test_a_page_that_has_grown_old(tmp_path):
    for name in ("docs/man", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    page = tmp_path / "docs" / "man" / "tenon-ping.1"
    page.write_text(page.read_text().replace("Payload", "Pay"))
    (page.parent / "tenon-pong.1").write_text("")
    env = {**os.environ, "TENON_BUILD": str(BUILD.absolute())}
    for argv, status in ((["--check"], 1), ([], 0), (["--check"], 0)):
        done = subprocess.run([tmp_path / "tools" / "man", *argv], capture_output=True, text=True, check=False, env=env)
        assert done.returncode == status, done.stdout + done.stderr
        assert ("ping" in done.stdout and "pong" in done.stdout) == (status == 1)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_form(page):
    if shutil.which("mandoc") is None:
        pytest.skip("needs mandoc")
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", page], capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
