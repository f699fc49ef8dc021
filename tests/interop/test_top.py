# SPDX-License-Identifier: MIT
"""`tenon top` says why a connection to a real peer does not send."""
import json
import time

from conftest import find_tenon


def top(link, program, *arguments):
    return link.net.run(find_tenon(), "top", *arguments, program.process.pid).stdout


def test_slow_reader_is_waited_for(link, tmp_path):
    folder = tmp_path / "www"
    folder.mkdir()
    (folder / "large").write_bytes(bytes(50_000_000))
    program = link.tenon("serve", folder)
    reader = link.net.start("curl", "-s", "--limit-rate", "1M", "-o", "/dev/null", f"http://{link.t4}/large")
    time.sleep(3)    # the kernel's buffers are full by then
    row = [line for line in top(link, program, "--once").splitlines() if line.endswith("%")]
    first = json.loads(top(link, program, "--json"))["tcp"]["list"][0]
    time.sleep(1)
    second = json.loads(top(link, program, "--json"))["tcp"]["list"][0]
    link.net.stop(reader)
    assert len(row) == 1 and " window " in row[0], row
    assert first["waits_for"] == "window"
    assert set(first["waited_us"]) == {"handshake", "data", "window", "cwnd", "pacing", "nagle", "port", "host"}
    assert all(second["waited_us"][name] >= us for name, us in first["waited_us"].items())
    assert second["waited_us"]["window"] > first["waited_us"]["window"]
    assert 2_500_000 < sum(first["waited_us"].values()) < 10_000_000
