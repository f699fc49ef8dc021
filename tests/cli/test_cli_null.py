# SPDX-License-Identifier: MIT
"""The port that docs/porting.md begins with, from the command line, as anybody: every packet comes back."""
import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENON_BUILD", ROOT / "build" / "release"))

MIRROR = ["--port", "null:mirror"]


def test_pings_are_answered(tenon):
    for address in ("10.9.0.1", "fd00:9::1"):
        done = tenon("ping", *MIRROR, "-c", "2", "-i", "0.1", "-s", "3000", address)
        assert done.returncode == 0 and "2 received" in done.stdout, done.stdout + done.stderr


def test_what_is_said_is_heard(tenon):
    said = "".join(f"line {i}\n" for i in range(20_000))
    for argv, words in ((["10.9.0.1", "7"], said), (["-u", "fd00:9::1", "7"], "a word")):
        done = subprocess.run([BUILD / "tenon", "connect", "-q", *MIRROR, *argv], input=words, text=True,
                              capture_output=True, timeout=30, check=False)
        assert done.returncode == 0 and done.stdout == words, done.stderr
