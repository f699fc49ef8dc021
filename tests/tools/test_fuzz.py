# SPDX-License-Identifier: MIT
"""tools/fuzz, with targets that crash on purpose."""
import os
import shutil
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "tools", "fuzz")

QUIET = """
#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *p, size_t n);
int LLVMFuzzerTestOneInput(const unsigned char *p, size_t n) { return n > 2 && p[0] == 'x' ? 0 : 0; }
"""

# Found by the coverage of three comparisons, not by chance.
CRASHES = """
#include <stddef.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const unsigned char *p, size_t n);
int LLVMFuzzerTestOneInput(const unsigned char *p, size_t n)
{
    if (n > 2 && p[0] == 'b')
        if (p[1] == 'u')
            if (p[2] == 'g')
                abort();
    return 0;
}
"""

LEAKS = """
#include <stddef.h>
#include <stdlib.h>
int LLVMFuzzerTestOneInput(const unsigned char *p, size_t n);
int LLVMFuzzerTestOneInput(const unsigned char *p, size_t n)
{
    volatile char *lost = n > 0 && p[0] == 'l' ? malloc(10) : NULL;

    if (lost)
        lost[0] = 1;
    return 0;
}
"""


@pytest.fixture
def build(tmp_path):
    """Compiles a source into a build folder, under a name; returns that folder."""
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed")

    def compile_target(**sources):
        (tmp_path / "build" / "fuzz").mkdir(parents=True, exist_ok=True)
        for name, text in sources.items():
            source = tmp_path / (name + ".c")
            source.write_text(text)
            done = subprocess.run(["clang", "-g", "-O0", "-fsanitize=fuzzer,address", str(source), "-o",
                                   str(tmp_path / "build" / "fuzz" / name)],
                                  capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        return tmp_path / "build"

    return compile_target


def fuzz(folder, *argv):
    return subprocess.run([sys.executable, TOOL, "--no-build", "--build", str(folder), *argv], capture_output=True,
                          text=True, check=False, timeout=120)


def kept(folder, target):
    crashes = folder / "work" / "crashes" / target
    return [path.read_bytes() for path in sorted(crashes.iterdir())] if crashes.is_dir() else []


def test_fuzz_of_a_good_target_passes(build):
    folder = build(quiet=QUIET)
    done = fuzz(folder, "--seconds", "2", "quiet")
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert last.startswith("1 passed, 0 failed, ")
    assert int(last.split()[4].replace(",", "")) > 100
    assert kept(folder, "quiet") == []


def test_fuzz_finds_a_crash_and_keeps_its_input(build):
    folder = build(crashes=CRASHES)
    done = fuzz(folder, "--seconds", "60", "crashes")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "0 passed, 1 failed" in done.stdout
    assert "LLVMFuzzerTestOneInput" in done.stdout, "the trace names the function"
    inputs = kept(folder, "crashes")
    assert [data[:3] for data in inputs] == [b"bug"]
    assert str(folder / "work" / "crashes" / "crashes") in done.stdout


def test_fuzz_finds_a_leak(build):
    folder = build(leaks=LEAKS)
    done = fuzz(folder, "--seconds", "60", "leaks")
    assert done.returncode == 1, done.stdout + done.stderr
    assert [data[:1] for data in kept(folder, "leaks")] == [b"l"]


def test_fuzz_lets_the_others_go_on_after_a_crash(build):
    folder = build(quiet=QUIET, crashes=CRASHES)
    done = fuzz(folder, "--seconds", "40", "--jobs", "2", "crashes", "quiet")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 passed, 1 failed" in done.stdout
    assert "FAIL" in done.stdout and "ok  " in done.stdout


def test_fuzz_begins_where_it_ended(build):
    folder = build(quiet=QUIET)
    assert fuzz(folder, "--seconds", "1", "quiet").returncode == 0
    corpus = folder / "work" / "corpus" / "quiet"
    before = {path.name for path in corpus.iterdir()}
    assert before
    assert fuzz(folder, "--seconds", "1", "quiet").returncode == 0
    assert before <= {path.name for path in corpus.iterdir()}


def test_fuzz_knows_its_targets(build):
    folder = build(quiet=QUIET)
    done = fuzz(folder, "nonsense")
    assert done.returncode == 2
    assert "no target is called nonsense; there are quiet" in done.stderr
