# SPDX-License-Identifier: MIT
"""tenon selftest and what tenon trace makes of its trace."""
import json
import struct
import xml.etree.ElementTree

import pytest

MEGABYTES = 4


@pytest.fixture(scope="module")
def trace_file(tenon, tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "lossy.trace"
    done = tenon("selftest", "--megabytes", MEGABYTES, "--loss", 2000, "--trace", path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("byte for byte right") == 2
    return path


def events(tenon, path, *more):
    done = tenon("trace", "--json", path, *more)
    assert done.returncode == 0
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_same_seed_same_history(tenon, tmp_path):
    files = [tmp_path / name for name in ("a", "b", "c")]
    for path, seed in zip(files, (5, 5, 6)):
        assert tenon("selftest", "--megabytes", 1, "--loss", 5000, "--seed", seed, "--trace", path).returncode == 0
    assert files[0].read_bytes() == files[1].read_bytes()
    assert files[0].read_bytes() != files[2].read_bytes()


def test_file_has_the_documented_layout(trace_file):
    data = trace_file.read_bytes()
    magic, version, size, zero = struct.unpack_from("<8sHHI", data)
    assert (magic, version, size, zero) == (b"TENONTRC", 1, 112, 0)
    assert (len(data) - 16) % size == 0


def test_json_tells_what_the_file_holds(tenon, trace_file):
    data = trace_file.read_bytes()
    read = events(tenon, trace_file)
    assert len(read) == (len(data) - 16) // 112
    for i in (0, len(read) // 2, len(read) - 1):
        time_us, conn = struct.unpack_from("<QI", data, 16 + 112 * i)
        seq, ack, length, arg = struct.unpack_from("<IIII", data, 16 + 112 * i + 16)
        assert (read[i]["time_us"], read[i]["conn"]) == (time_us, conn)
        assert [read[i][k] for k in ("seq", "ack", "len", "arg")] == [seq, ack, length, arg]
    times = [event["time_us"] for event in read]
    assert times == sorted(times)


def test_events_add_up(tenon, trace_file):
    read = events(tenon, trace_file)
    # SYN and FIN take a sequence number each
    new = sum(e["len"] - bool(e["flags"] & 3) for e in read if e["event"] == "sent" and e["arg"] == 0)
    again = [e for e in read if e["event"] == "sent" and e["arg"] != 0]
    assert new == MEGABYTES << 20
    assert again, "with this loss something must have been sent again"
    assert read[0]["state"] == "SYN-SENT" or any(e["state"] == "SYN-SENT" for e in read[:3])


def test_list(tenon, trace_file):
    done = tenon("trace", "--list", trace_file)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 2
    assert "10.9.0.2:9000" in lines[1] and lines[1].count("4.0 MiB") == 2


@pytest.mark.parametrize("panels, titles", [
    ("sequence,cwnd,rtt", ["Sent", "Congestion window", "Round-trip time"]),
    ("throughput", ["Throughput, acknowledged"]),
])
def test_picture_is_well_formed_and_has_its_panels(tenon, trace_file, tmp_path, panels, titles):
    path = tmp_path / "out.svg"
    done = tenon("trace", trace_file, "--direction", "sent", "--panels", panels, "-o", path)
    assert done.returncode == 0, done.stderr
    svg = xml.etree.ElementTree.fromstring(path.read_text())
    texts = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")]
    for title in titles:
        assert any(t.startswith(title) for t in texts), (title, texts)
    drawn = [p.get("d") for p in svg.iter("{http://www.w3.org/2000/svg}path")]
    assert max(map(len, drawn)) > 200
    for d in drawn:
        assert "nan" not in d and "inf" not in d


def test_retransmissions_are_drawn(tenon, trace_file):
    svg = tenon("trace", trace_file, "--direction", "sent", "--panels", "sequence", "-o", "-").stdout
    red = [line for line in svg.split("<") if "#e02020" in line and "stroke-width=\"3\"" in line]
    assert len(red) == 1 and red[0].count("M") >= 3


def test_unknown_connection(tenon, trace_file):
    done = tenon("trace", trace_file, "--conn", 77)
    assert done.returncode == 1
    assert "no connection 77" in done.stderr and "--list" in done.stderr


def test_cut_file_is_read_up_to_the_cut(tenon, trace_file, tmp_path):
    path = tmp_path / "cut.trace"
    path.write_bytes(trace_file.read_bytes()[:16 + 112 * 10 + 50])
    assert len(events(tenon, path)) == 10


@pytest.mark.parametrize("data", [b"", b"TENONTRC", b"TENONTRC" + struct.pack("<HHI", 9, 112, 0) + bytes(112),
                                  b"TENONTRC" + struct.pack("<HHI", 1, 12, 0) + bytes(112), bytes(4096)])
def test_other_files_are_refused(tenon, tmp_path, data):
    path = tmp_path / "bad.trace"
    path.write_bytes(data)
    done = tenon("trace", "--list", path)
    assert done.returncode == 1
    assert str(path) in done.stderr
