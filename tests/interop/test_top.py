# SPDX-License-Identifier: MIT
"""`tenon top` says why a connection to a real peer does not send."""
import json
import time

from conftest import find_tenon

REASONS = {"handshake", "data", "window", "cwnd", "pacing", "nagle", "port", "host"}


def top(link, program, *arguments):
    return link.net.run(find_tenon(), "top", *arguments, program.process.pid).stdout


def until(right, look, seconds=30):
    """Look until it is right; what was seen then. A reader that is not scheduled for two seconds takes its connection
    off the list for as long, and there are moments in which we do send."""
    end = time.monotonic() + seconds
    seen = look()
    while not right(seen):
        assert time.monotonic() < end, seen
        time.sleep(0.1)
        seen = look()
    return seen


def test_slow_reader_is_waited_for(link, tmp_path):
    def rows():
        return [line for line in top(link, program, "--once").splitlines() if line.endswith("%")]

    def connection():
        return (json.loads(top(link, program, "--json"))["tcp"]["list"] or [{"waits_for": None}])[0]

    folder = tmp_path / "www"
    folder.mkdir()
    (folder / "large").write_bytes(bytes(50_000_000))
    program = link.tenon("serve", folder)
    began = time.monotonic()
    reader = link.net.start("curl", "-s", "--limit-rate", "1M", "-o", "/dev/null", f"http://{link.t4}/large")
    until(lambda seen: len(seen) == 1 and " window " in seen[0], rows)
    first = until(lambda seen: seen["waits_for"] == "window" and sum(seen["waited_us"].values()) > 2_500_000,
                  connection)
    life = time.monotonic() - began
    second = until(lambda seen: seen["waited_us"]["window"] > first["waited_us"]["window"], connection)
    link.net.stop(reader)
    assert first["id"] == second["id"]
    assert set(first["waited_us"]) == REASONS
    assert all(second["waited_us"][name] >= us for name, us in first["waited_us"].items())
    assert sum(first["waited_us"].values()) <= life * 1_000_000
