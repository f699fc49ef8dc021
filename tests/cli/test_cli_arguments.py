# SPDX-License-Identifier: MIT
"""Wrong arguments explain themselves: what is wrong, where, and what would be right; the status is 2."""
import re

import pytest

COMMANDS = ["serve", "get", "echo", "ping", "resolve", "listen", "connect", "top", "trace", "selftest", "bench"]
NETWORK_COMMANDS = ["serve", "get", "echo", "ping", "resolve", "listen", "connect"]


def test_no_command_lists_the_commands(tenon):
    done = tenon()
    assert done.returncode == 2
    for command in COMMANDS + ["help", "version"]:
        assert re.search(rf"^  {command} +\w", done.stderr, re.M), command


@pytest.mark.parametrize("arguments", [["help"], ["--help"]])
def test_help_lists_the_commands(tenon, arguments):
    done = tenon(*arguments)
    assert done.returncode == 0 and done.stderr == ""
    for command in COMMANDS:
        assert f"  {command} " in done.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(tenon, command):
    long, short = tenon(command, "--help"), tenon("help", command)
    assert long.returncode == 0
    assert long.stdout == short.stdout
    assert f"Usage: tenon {command}" in long.stdout
    examples = long.stdout.split("Examples:")[1]
    assert f"tenon {command}" in examples
    assert all(len(line) <= 80 for line in long.stdout.split("\n"))


@pytest.mark.parametrize("command", NETWORK_COMMANDS)
def test_network_commands_know_the_common_options(tenon, command):
    text = tenon(command, "--help").stdout
    for option in ["--port", "--address", "--gateway", "--no-offload", "--mtu", "--pcap", "--trace", "--stats", "--cc",
                   "--no-timestamps", "--no-sack", "--ecn", "--quiet", "--verbose"]:
        assert option in text, option


@pytest.mark.parametrize("arguments", [["version"], ["--version"], ["serve", "--version"]])
def test_version(tenon, arguments):
    done = tenon(*arguments)
    assert done.returncode == 0
    assert re.fullmatch(r"tenon \d+\.\d+\.\d+\n", done.stdout)


WRONG = [
    # arguments, what the message must say
    (["sevre"], ["sevre", "did you mean \"serve\""]),
    (["wireguard"], ["\"wireguard\" is not a command"]),
    (["help", "nothing"], ["\"nothing\" is not a command"]),
    (["serve", "--nonsense"], ["--nonsense", "serve --help"]),
    (["serve", "--port", "eth0"], ["--port", "\"eth0\"", "tap:INTERFACE"]),
    (["serve", "--port", "tap:"], ["--port", "no name behind the colon", "tap:INTERFACE"]),
    (["serve", "--port", "tap:tenon0,mtu=70000"], ["--port", "mtu=70000", "576 to 65535"]),
    (["serve", "--port", "tap:tenon0,speed=10"], ["--port", "\"speed\"", "offload=on|off", "queues=N"]),
    (["serve", "--port"], ["--port", "requires an argument"]),
    (["serve", "--listen", "0"], ["--listen", "\"0\"", "between 1 and 65535"]),
    (["serve", "--listen", "http"], ["--listen", "\"http\"", "whole number"]),
    (["serve", "--listen", "-1"], ["--listen", "\"-1\"", "whole number"]),
    (["serve", "--listen", "99999999999999999999"], ["--listen", "between 1 and 65535"]),
    (["serve", "--address", "10.9.0.2"], ["--address", "prefix length", "10.9.0.2/24"]),
    (["serve", "--address", "10.9.0.2/33"], ["--address", "0 to 32"]),
    (["serve", "--address", "fd00::2/129"], ["--address", "0 to 128"]),
    (["serve", "--address", "10.9.0.256/24"], ["--address", "is not an IPv4 or IPv6 address"]),
    (["serve", "--address", "010.9.0.2/24"], ["--address", "is not an IPv4 or IPv6 address"]),
    (["serve"] + ["--address", "10.9.0.2/24"] * 9, ["--address", "at most 8"]),
    (["serve", "--gateway", "router"], ["--gateway", "\"router\""]),
    (["serve", "--gateway", "10.9.0.1", "--gateway", "10.9.0.3"], ["--gateway", "second gateway"]),
    (["serve", "--mtu", "100"], ["--mtu", "between 576 and 65535"]),
    (["serve", "--cc", "magic"], ["--cc", "\"magic\"", "newreno"]),
    (["serve", "--idle", "soon"], ["--idle", "number of seconds"]),
    (["serve", "one", "two"], ["one directory", "\"two\""]),
    (["get"], ["URL is missing", "http://"]),
    (["get", "10.9.0.1"], ["\"10.9.0.1\"", "http://"]),
    (["get", "https://10.9.0.1/"], ["TLS"]),
    (["get", "--dhcp", "http://10.9.0/"], ["needs an address or a name"]),
    (["get", "--dns", "example", "http://example.org/"], ["--dns", "is not an IPv4 or IPv6 address"]),
    (["get", "http://10.9.0.1:0/"], ["http://10.9.0.1:0/"]),
    (["get", "http://10.9.0.1/a b"], ["space", "%20"]),
    (["get", "-r", "all", "http://10.9.0.1/"], ["--range", "FIRST-LAST"]),
    (["get", "-r", "-", "http://10.9.0.1/"], ["--range", "FIRST-LAST"]),
    (["get", "-r", "5-2", "http://10.9.0.1/"], ["--range", "FIRST-LAST"]),
    (["get", "-r", "1-2-3", "http://10.9.0.1/"], ["--range", "FIRST-LAST"]),
    (["get", "http://10.9.0.1/", "ftp://10.9.0.3/"], ["\"ftp://10.9.0.3/\"", "http://"]),
    (["echo", "7"], ["\"7\"", "one argument too many"]),
    (["ping"], ["address or a name is missing", "10.9.0.1"]),
    (["ping", "--dhcp", "10.9.0"], ["\"10.9.0\"", "is not an IPv4 or IPv6 address"]),
    (["ping", "-c", "0", "10.9.0.1"], ["--count", "between 1"]),
    (["ping", "-s", "65508", "10.9.0.1"], ["--size", "between 0 and 65507"]),
    (["ping", "-i", "0", "10.9.0.1"], ["--interval", "seconds"]),
    (["resolve"], ["a name is missing"]),
    (["resolve", "--dns", "10.9.0.1", "www.example.com", "a..b"], ["\"a..b\"", "cannot be a name"]),
    (["ping", "--dns", "10.9.0.1", "a..b"], ["\"a..b\""]),
    (["resolve", "--dns", "10.9.0.1", "a.b-.c"], ["cannot be a name"]),
    (["resolve", "--dns", "10.9.0.1", "a" * 64 + ".example"], ["cannot be a name"]),
    (["listen"], ["PORT is missing"]),
    (["listen", "70000"], ["PORT", "between 1 and 65535"]),
    (["listen", "80", "81"], ["\"81\"", "one argument too many"]),
    (["connect"], ["HOST and PORT are missing"]),
    (["connect", "10.9.0.1"], ["the PORT is missing"]),
    (["connect", "fd00::g", "80"], ["\"fd00::g\"", "is not an IPv4 or IPv6 address"]),
    (["connect", "10.9.0.1", "80", "81"], ["\"81\"", "one argument too many"]),
    (["top", "1", "2"], ["one program"]),
    (["top"], ["no terminal", "--once"]),
    (["trace"], ["a file is missing", "--trace"]),
    (["trace", "--panels", "cwnd,rtt,speed", "x"],
     ["--panels", "\"speed\"", "sequence, throughput, waits, cwnd, phases, rtt"]),
    (["trace", "--from", "2", "--to", "1", "x"], ["--to", "later than --from"]),
    (["trace", "--from", "999999999", "--to", "999999999.0000002", "x"], ["--to", "later than --from"]),
    (["trace", "--direction", "up", "x"], ["--direction", "\"up\"", "sent nor received"]),
    (["trace", "--conn", "first", "x"], ["--conn", "whole number"]),
    (["bench", "bulk", "--port", "nothing"], ["--port", "\"nothing\"", "KIND:NAME twice"]),
    (["bench", "--port", "null:a", "--port", "null:b,speed=1"], ["--port", "\"speed\""]),
    (["selftest", "now"], ["\"now\"", "one argument too many"]),
    (["selftest", "--loss", "1000000"], ["--loss", "between 0 and 500000"]),
]


@pytest.mark.parametrize("arguments, words", WRONG, ids=[" ".join(arguments)[:40] for arguments, _ in WRONG])
def test_wrong_arguments_explain_themselves(tenon, arguments, words):
    done = tenon(*arguments)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert done.stderr.startswith("tenon")
    for word in words:
        assert word in done.stderr


FAILING = [
    # right arguments that cannot work here: status 1
    (["serve", "/no/such/folder"], ["/no/such/folder", "does not exist"]),
    (["serve", "/dev/null"], ["/dev/null", "is not a directory"]),
    (["trace", "/no/such/file"], ["/no/such/file", "No such file"]),
    (["trace", "/dev/null"], ["/dev/null", "is not a trace"]),
    (["top", "--once", "999999"], ["999999.sock", "no such socket"]),
    (["top", "--once", "/" + 300 * "a"], ["File name too long"]),
    (["top", "--once"], ["no running tenon", "tenon serve"]),
    (["get", "-o", "/no/such/folder/file", "http://10.9.0.1/"], ["/no/such/folder/file", "No such file"]),
    (["ping", "--pcap", "/no/such/folder/file", "10.9.0.1"], ["/no/such/folder/file"]),
    (["ping", "--trace", "/no/such/folder/file", "10.9.0.1"], ["/no/such/folder/file", "No such file"]),
    # "lo" exists everywhere and is no TAP interface
    (["ping", "--port", "tap:lo", "10.9.0.1"], ["tenon ping: ", "lo"]),
    # whom to ask for a name is found out on the interface
    (["resolve", "--port", "tap:lo", "localhost"], ["tenon resolve: "]),
    (["ping", "--port", "tap:lo", "localhost"], ["tenon ping: "]),
    (["get", "--port", "tap:lo", "http://localhost/"], ["tenon get: "]),
    # RFC 8200 5
    (["ping", "--port", "null:mirror", "--mtu", "1279", "--address", "fd00::2/64", "fd00::1"],
     ["--address fd00::2/64", "1280 bytes"]),
    (["ping", "--port", "tap:a-name-that-is-too-long", "10.9.0.1"], ["a-name-that-is-too-long", "1 to 15 characters"]),
    (["ping", "--port", "tap:a/b", "10.9.0.1"], ["a/b", "no slash"]),
]


@pytest.mark.parametrize("arguments, words", FAILING, ids=[" ".join(arguments)[:40] for arguments, _ in FAILING])
def test_what_cannot_work_says_why(tenon, tmp_path, arguments, words):
    done = tenon(*arguments, env={"XDG_RUNTIME_DIR": str(tmp_path)})
    assert done.returncode == 1, done
    for word in words:
        assert word in done.stderr
