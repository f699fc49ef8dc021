# SPDX-License-Identifier: MIT
"""tenon selftest and what tenon trace makes of its trace."""
import copy
import json
import os
import pathlib
import struct
import xml.etree.ElementTree

import pytest

MEGABYTES = 4
SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "qlog.schema.json"


@pytest.fixture(scope="module")
def trace_file(tenon, tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "lossy.trace"
    done = tenon("selftest", "--megabytes", MEGABYTES, "--loss", 5000, "--trace", path)
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


def test_a_slow_network_is_waited_for(tenon):
    """As long as something arrives: these take more than ten minutes of the network's time."""
    done = tenon("selftest", "--megabytes", 80, "--rate", 1)
    assert done.returncode == 0 and done.stdout.count("byte for byte right") == 2, done


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
    ("phases", ["Phases of the congestion control", "slow_start", "avoidance", "recovery", "startup", "probe_rtt"]),
    ("waits", ["Waits for", "handshake", "data", "window", "cwnd", "pacing", "nagle", "port", "host"]),
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


def test_losses_are_told_with_their_rule_and_drawn(tenon, trace_file):
    lost = [e for e in events(tenon, trace_file) if e["event"] == "lost"]
    assert lost and {e["arg_name"] for e in lost} <= {"rack", "reorder", "timeout"}
    svg = tenon("trace", trace_file, "--direction", "sent", "--panels", "sequence", "-o", "-").stdout
    grey = [line for line in svg.split("<") if "#9a9a9a" in line and "stroke-width=\"5\"" in line]
    assert len(grey) == 1 and grey[0].count("M") >= len(lost) // 2
    assert ">lost<" in svg


def test_waits_fill_the_life(tenon, trace_file):
    """A connection waits for one thing at a time, and never for the same as before."""
    waits = [e for e in events(tenon, trace_file) if e["event"] == "wait" and e["conn"] == 0]
    names = [e["arg_name"] for e in waits if e["local"] == waits[0]["local"]]
    assert "cwnd" in names and names[-1] == "data"
    assert all(a != b for a, b in zip(["handshake"] + names, names))


@pytest.fixture(scope="module")
def qlog(tenon, trace_file, tmp_path_factory):
    path = tmp_path_factory.mktemp("qlog") / "lossy.qlog"
    done = tenon("trace", trace_file, "--qlog", path)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text())


def test_qlog_has_the_shape_of_the_draft(qlog, trace_file):
    """draft-ietf-quic-qlog-main-schema-07: a file of traces of events."""
    assert (qlog["qlog_version"], qlog["qlog_format"], qlog["title"]) == ("0.3", "JSON", str(trace_file))
    assert len(qlog["traces"]) == 1
    trace = qlog["traces"][0]
    assert set(trace) == {"title", "vantage_point", "common_fields", "events"}
    assert trace["vantage_point"] == {"name": "tenon", "type": "client"}
    assert trace["common_fields"]["time_format"] == "relative"
    assert trace["common_fields"]["protocol_type"] == ["TCP"]
    for event in trace["events"]:
        assert set(event) == {"time", "name", "data"}
        assert isinstance(event["time"], (int, float)) and isinstance(event["data"], dict)
        space, name = event["name"].split(":")
        assert space == "tcp" or (space, name) == ("recovery", "metrics_updated")
    times = [event["time"] for event in trace["events"]]
    assert times[0] == 0 and times == sorted(times)


@pytest.fixture(scope="module")
def validator():
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_qlog_is_valid_by_its_schema(qlog, validator):
    assert [error.message for error in validator.iter_errors(qlog)] == []
    kinds = {event["name"] for event in qlog["traces"][0]["events"]}
    assert {"tcp:state", "tcp:sent", "tcp:lost", "tcp:phase", "tcp:wait", "recovery:metrics_updated"} <= kinds


@pytest.mark.parametrize("name, change", [
    ("tcp:sent", lambda event: event["data"].pop("seq")),
    ("tcp:sent", lambda event: event["data"].update(len=-1)),
    ("tcp:sent", lambda event: event["data"].update(again=1)),
    ("tcp:lost", lambda event: event["data"].update(trigger="bad luck")),
    ("tcp:phase", lambda event: event["data"].update(what="?")),
    ("tcp:wait", lambda event: event["data"].clear()),
    ("tcp:state", lambda event: event["data"].update(colour="red")),
    ("tcp:state", lambda event: event.update(time="0.0")),
    ("tcp:acked", lambda event: event.update(name="tcp:unknown")),
    ("recovery:metrics_updated", lambda event: event["data"].clear()),
])
def test_schema_rejects_wrong_events(qlog, validator, name, change):
    one = copy.deepcopy({**qlog, "traces": [{**qlog["traces"][0], "events": []}]})
    event = copy.deepcopy(next(e for e in qlog["traces"][0]["events"] if e["name"] == name))
    one["traces"][0]["events"] = [event]
    assert validator.is_valid(one)
    change(event)
    assert not validator.is_valid(one)


@pytest.mark.parametrize("change", [
    lambda whole: whole.pop("qlog_version"),
    lambda whole: whole.update(qlog_format="JSON-SEQ"),
    lambda whole: whole.update(traces=[]),
    lambda whole: whole["traces"][0]["vantage_point"].update(type="router"),
    lambda whole: whole["traces"][0]["common_fields"].update(time_format="absolute"),
])
def test_schema_rejects_wrong_files(qlog, validator, change):
    whole = copy.deepcopy({**qlog, "traces": [{**qlog["traces"][0], "events": []}]})
    assert validator.is_valid(whole)
    change(whole)
    assert not validator.is_valid(whole)


def test_qlog_tells_the_same_events(tenon, trace_file, qlog):
    read = events(tenon, trace_file)
    told = [e for e in qlog["traces"][0]["events"] if e["name"].startswith("tcp:")]
    assert [e["name"] for e in told] == ["tcp:" + e["event"] for e in read]
    for one, other in zip(read, told):
        assert other["time"] == pytest.approx((one["time_us"] - read[0]["time_us"]) / 1000, abs=1e-6)
        if one["event"] in ("sent", "received", "lost", "acked"):
            assert (other["data"]["seq"], other["data"]["len"]) == (one["seq"], one["len"])
        if one["event"] == "lost":
            assert other["data"]["trigger"] == one["arg_name"] and other["data"]["end"] == one["ack"]
        if one["event"] == "wait":
            assert other["data"]["waits_for"] == one["arg_name"]


def test_qlog_metrics_are_those_of_the_events(tenon, trace_file, qlog):
    """Put together, what has changed is how the connection stands in the end."""
    stands = {}
    for event in qlog["traces"][0]["events"]:
        if event["name"] == "recovery:metrics_updated":
            assert event["data"]
            stands.update(event["data"])
    last = events(tenon, trace_file)[-1]
    assert stands["congestion_window"] == last["cwnd"]
    assert stands["bytes_in_flight"] == last["in_flight"]
    assert stands["smoothed_rtt"] == pytest.approx(last["srtt_us"] / 1000)
    assert stands["tcp_rto"] == pytest.approx(last["rto_us"] / 1000)


def test_qlog_of_one_connection_to_stdout(tenon, trace_file):
    assert len(json.loads(tenon("trace", trace_file, "--qlog", "-", "--conn", 0).stdout)["traces"]) == 1
    done = tenon("trace", trace_file, "--qlog", "-", "--conn", 77)
    assert done.returncode == 1 and done.stdout == "" and "no connection 77" in done.stderr


def test_qlog_that_cannot_be_written(tenon, trace_file):
    done = tenon("trace", trace_file, "--qlog", "/nowhere/x.qlog")
    assert done.returncode == 1 and "/nowhere/x.qlog" in done.stderr


# Kinds that a transfer over a lossy line does not have: number, event, what its arg can say.
RARE = [
    (17, "phase", ["none", "slow_start", "avoidance", "recovery", "startup", "drain", "probe_down", "probe_cruise",
                   "probe_refill", "probe_up", "probe_rtt", "conservative"]),
    (19, "cwv", ["kept", "aged", "limited"]),
    (20, "search", ["sent", "passed", "lost", "undecided", "black_hole"]),
    (21, "fastopen", ["asked", "sent", "taken", "refused", "failed", "delivered", "bad_cookie", "limit"]),
]


def record(time_us, kind, arg, length=10):
    begin = struct.pack("<QIBBBB", time_us, 0, kind, 4, 0, 0)
    numbers = struct.pack("<14I", 1000, 1000 + length, length, arg, 1000, 1010, 65535, 1, 65535, 14600, 0xFFFFFFFF, 10,
                          20000, 200000)
    address = bytes(10) + b"\xff\xff\x0a\x09\x00"
    return begin + numbers + struct.pack("<HHHH", 1460, 4000, 80, 1) + address + b"\x01" + address + b"\x02"


@pytest.fixture(scope="module")
def rare_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("rare") / "rare.trace"
    kinds = [(1, 0), (18, 65536), (18, 1234)]
    kinds += [(kind, arg) for kind, event, names in RARE for arg, name in enumerate(names) if name != "none"]
    path.write_bytes(b"TENONTRC" + struct.pack("<HHI", 1, 112, 0) +
                     b"".join(record(10000 * i, kind, arg) for i, (kind, arg) in enumerate(kinds)))
    return path


def test_every_decision_has_a_name(tenon, rare_file):
    read = events(tenon, rare_file)
    assert [e["arg"] for e in read if e["event"] == "alpha"] == [65536, 1234]
    for _, event, names in RARE:
        assert [e["arg_name"] for e in read if e["event"] == event] == [name for name in names if name != "none"]


def test_every_decision_is_in_the_qlog(tenon, rare_file, validator):
    whole = json.loads(tenon("trace", "--qlog", "-", rare_file).stdout)
    assert [error.message for error in validator.iter_errors(whole)] == []
    told = {}
    for event in whole["traces"][0]["events"]:
        told.setdefault(event["name"], []).append(event["data"])
    assert told["tcp:alpha"] == [{"alpha_65536": 65536}, {"alpha_65536": 1234}]
    for _, event, names in RARE:
        assert [data["what"] for data in told["tcp:" + event]] == [name for name in names if name != "none"]
    assert {data["cwnd_before"] for data in told["tcp:cwv"]} == {10}
    assert {data["len"] for data in told["tcp:search"] + told["tcp:fastopen"]} == {10}
    whole["traces"][0]["events"] = [{"time": 0, "name": "tcp:cwv", "data": {"what": "kept"}}]
    assert not validator.is_valid(whole)


def test_every_decision_is_drawn(tenon, rare_file):
    svg = tenon("trace", rare_file, "--direction", "sent", "--to", "1", "-o", "-").stdout
    for label in ("MTU search", "Fast Open", "DCTCP's alpha (top: 1)", "window not used", "conservative"):
        assert f">{label}<" in svg.replace("&#39;", "'"), label
    for colour, marks in (("#ff6fb5", 5), ("#005f73", 8), ("#e377c2", 3)):
        drawn = [line for line in svg.split("<") if f'stroke="{colour}"' in line and 'stroke-width="7"' in line]
        assert len(drawn) == 1 and drawn[0].count("M") == marks, (colour, drawn)


def test_the_qlog_of_any_file_is_json(tenon, trace_file, tmp_path):
    path = tmp_path / os.fsdecode(b'caf\xe9 "1".trace')
    path.write_bytes(trace_file.read_bytes())
    assert json.loads(tenon("trace", "--qlog", "-", path).stdout)["title"] == str(tmp_path) + '/caf\ufffd "1".trace'


def test_a_picture_of_next_to_nothing(tenon, tmp_path):
    """The end of its axis, 1.02 of the last time, is the next number to where it begins."""
    data = struct.pack("<8sHHI", b"TENONTRC", 1, 112, 0) + record(0, 1, 0) + record(25, 1, 0)
    (tmp_path / "x.trace").write_bytes(data)
    done = tenon("trace", tmp_path / "x.trace", "--from", "0.0000255", "-o", "-", timeout=10)
    assert done.returncode == 0
    xml.etree.ElementTree.fromstring(done.stdout)


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
