# SPDX-License-Identifier: MIT
"""Two programs and nothing between them but datagrams: files over Unix sockets and UDP, without any privilege, and
what is left of the sockets afterwards. And machines that QEMU simulates."""
import os
import shutil
import signal
import subprocess
import time

import pytest

from conftest import INSIDE, find_tenon, sha256

BYTES = 30_000_001
CABLES = {
    "unix": ("./a.sock", "./b.sock"),
    "udp": ("127.0.0.1:5001", "127.0.0.1:5002"),
    "udp6": ("[::1]:5001", "[::1]:5002"),
}


def command(what, own, peer, *arguments):
    return [find_tenon(), what, "--port", f"dgram:{own},peer={peer}", *map(str, arguments)]


def unprivileged():
    """What goes before a command so that it may do nothing but what everybody may."""
    if os.environ.get(INSIDE) or shutil.which("setpriv") is None:
        return []
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]


@pytest.fixture
def cable(request, net, tmp_path):
    """serve(*settings): a server at one end, started, and the names of that end and the other."""
    own, peer = CABLES[request.param]
    (tmp_path / "www").mkdir()
    (tmp_path / "www" / "file").write_bytes(os.urandom(BYTES))

    def serve(more=""):
        process = net.start(*unprivileged(), *command("serve", own, peer + more, tmp_path / "www"), cwd=tmp_path,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        while "Ctrl-C" not in process.stderr.readline():
            assert process.poll() is None
        return process
    return serve, own, peer


def get(net, folder, own, peer):
    net.run(*unprivileged(), *command("get", own, peer, "--address", "10.9.0.1/24", "-o", folder / "got",
                                      "http://10.9.0.2/file"), cwd=folder)
    assert sha256(folder / "got") == sha256(folder / "www" / "file")


@pytest.mark.parametrize("more", ["", ",vnet=on", ",mtu=9000"])
@pytest.mark.parametrize("cable", list(CABLES), indirect=True)
def test_a_file(net, tmp_path, cable, more):
    serve, own, peer = cable
    server = serve(more)
    for _ in range(2):    # the other end goes, and another comes
        get(net, tmp_path, peer, own + more)
    assert net.stop(server, signal.SIGINT) == 0
    assert not list(tmp_path.glob("*.sock"))


@pytest.mark.parametrize("cable", ["unix"], indirect=True)
def test_the_file_of_a_socket(net, tmp_path, cable):
    serve, own, peer = cable
    net.stop(serve(), signal.SIGKILL)
    assert (tmp_path / "a.sock").is_socket()
    server = serve()
    second = net.run(*command("serve", own, peer, tmp_path), cwd=tmp_path, check=False)
    assert second.returncode != 0 and "another program is there" in second.stderr
    get(net, tmp_path, peer, own)
    net.stop(server, signal.SIGINT)
    assert not (tmp_path / "a.sock").exists()


@pytest.mark.parametrize("cable", ["unix"], indirect=True)
def test_the_server_comes_last_and_again(net, tmp_path, cable):
    """Who asks first is told that nobody is there, and is answered as soon as somebody is, whoever that is then."""
    serve, own, peer = cable
    answers = tmp_path / "answers"
    with open(answers, "w") as out:
        asking = net.start(*command("ping", peer, own, "--address", "10.9.0.1/24", "-i", 0.1, "10.9.0.2"), cwd=tmp_path,
                           stdout=out, stderr=subprocess.PIPE, text=True)
    assert "nobody is at ./a.sock yet" in asking.stderr.readline()
    for _ in range(2):
        before = answers.read_text().count("bytes from 10.9.0.2")
        server = serve()
        deadline = time.monotonic() + 20
        while answers.read_text().count("bytes from 10.9.0.2") < before + 5:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        net.stop(server, signal.SIGINT)
        assert not (tmp_path / "a.sock").exists()
    net.stop(asking, signal.SIGINT)


# ---- a machine that QEMU simulates, with the firmware iPXE and its own TCP: Debian's qemu-system-x86 and ipxe -------

IPXE = "/usr/lib/ipxe/ipxe.lkrn"
GUEST = "10.9.0.5"
LARGE = 3_000_001
NETDEVS = {    # how QEMU is told of the same cable
    "inet": ("udp", "dgram,local.type=inet,local.host=127.0.0.1,local.port=5002,"
                    "remote.type=inet,remote.host=127.0.0.1,remote.port=5001"),
    "unix": ("unix", "dgram,local.type=unix,local.path=./b.sock,remote.type=unix,remote.path=./a.sock"),
    "socket": ("udp", "socket,udp=127.0.0.1:5001,localaddr=127.0.0.1:5002"),
}


@pytest.fixture
def qemu():
    if shutil.which("qemu-system-x86_64") is None or not os.path.exists(IPXE):
        pytest.skip(f"there is no qemu-system-x86_64, or no {IPXE} (Debian: qemu-system-x86, ipxe)")
    return "qemu-system-x86_64"


def boot(net, qemu, folder, netdev, card, script):
    """A machine that does what is written there, and then ends; its screen is its standard output."""
    (folder / "script").write_text(f"#!ipxe\nifopen net0\nset net0/ip {GUEST}\nset net0/netmask 255.255.255.0\n"
                                   f"{script}")
    return net.start(qemu, "-accel", "tcg", "-m", 128, "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio",
                     "-kernel", IPXE, "-initrd", "script", "-netdev", f"{netdev},id=n0", "-device",
                     f"{card},netdev=n0", cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)


@pytest.mark.parametrize("card", ["virtio-net-pci", "e1000"])
@pytest.mark.parametrize("netdev", list(NETDEVS))
def test_files_for_a_guest_of_qemu(net, qemu, tmp_path, netdev, card):
    """What it has fetched first says what it does next, so it has arrived as it is here."""
    kind, netdev = NETDEVS[netdev]
    own, peer = CABLES[kind]
    www = tmp_path / "www"
    www.mkdir()
    (www / "large").write_bytes(os.urandom(LARGE))
    (www / "next").write_text("#!ipxe\nimgfree\nimgfetch http://10.9.0.2/large && imgstat ||\n"
                              "echo the end\nsleep 1\nreboot\n")
    server = net.start(*command("serve", own, peer, www), cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while "Ctrl-C" not in server.stderr.readline():
        assert server.poll() is None, server.stderr.read()
    guest = boot(net, qemu, tmp_path, netdev, card, "chain http://10.9.0.2/next ||\nreboot\n")
    screen = guest.communicate(timeout=60)[0].decode(errors="replace")
    assert f"large : {LARGE} bytes" in screen and "the end" in screen, screen
    net.stop(server, signal.SIGINT)
    assert "2 requests" in server.stderr.read()


def test_a_guest_of_qemu_answers(net, qemu, tmp_path):
    kind, netdev = NETDEVS["unix"]
    own, peer = CABLES[kind]
    guest = boot(net, qemu, tmp_path, netdev, "virtio-net-pci", "echo it is up\nsleep 50\nreboot\n")
    screen = b""
    while b"it is up" not in screen:
        screen += guest.stdout.read1()
        assert guest.poll() is None, screen
    done = net.run(*command("ping", own, peer, "-c", 20, "-i", 0.05, "-W", 5, GUEST), cwd=tmp_path)
    assert " 20 received" in done.stdout
    net.stop(guest, signal.SIGKILL)
