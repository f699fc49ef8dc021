# SPDX-License-Identifier: MIT
"""curl fetches from `tenon serve`; `tenon get` fetches from a server on the kernel's sockets."""
import hashlib

import pytest

from conftest import sha256


@pytest.fixture(params=["ip4", "ip6"])
def version(request):
    return request.param


def bracket(address):
    return f"[{address}]" if ":" in address else address


def ends(link, version):
    """(Tenon's address, the kernel's), fit for a URL."""
    return tuple(map(bracket, (link.t4, link.k4) if version == "ip4" else (link.t6, link.k6)))


@pytest.fixture
def folder(tmp_path, files):
    made = tmp_path / "www"
    made.mkdir()
    (made / "page.txt").write_text("Hello from the other end of the cable.\n")
    (made / "empty").write_bytes(b"")
    (made / "large").symlink_to(files.get(5_000_001))
    (made / "copy").write_bytes(files.get(1_000_003).read_bytes())
    return made


def test_curl_fetches_a_page(link, version, folder):
    link.tenon("serve", folder)
    done = link.net.run("curl", "-sS", "-m", 20, f"http://{ends(link, version)[0]}/page.txt")
    assert done.stdout == "Hello from the other end of the cable.\n"


def test_curl_fetches_an_empty_file(link, version, folder):
    link.tenon("serve", folder)
    done = link.net.run("curl", "-sS", "-m", 20, "-w", "%{http_code} %{size_download}",
                        f"http://{ends(link, version)[0]}/empty")
    assert done.stdout == "200 0"


def test_curl_is_told_what_is_missing(link, folder):
    link.tenon("serve", folder)
    done = link.net.run("curl", "-sS", "-m", 20, "-o", "/dev/null", "-w", "%{http_code}", f"http://{link.t4}/nothing")
    assert done.stdout == "404"


def test_curl_keeps_the_connection(link, version, folder):
    link.tenon("serve", folder)
    url = f"http://{ends(link, version)[0]}/page.txt"
    done = link.net.run("curl", "-sS", "-m", 20, "-o", "/dev/null", "-o", "/dev/null", "-o", "/dev/null",
                        "-w", "%{num_connects}\n", url, url, url)
    assert done.stdout.split() == ["1", "0", "0"]


def test_curl_fetches_a_range(link, version, folder, files):
    link.tenon("serve", folder)
    done = link.net.run("curl", "-sS", "-m", 20, "-r", "1000-100999", f"http://{ends(link, version)[0]}/copy",
                        text=False)
    assert done.stdout == files.get(1_000_003).read_bytes()[1000:101000]


def test_curl_asks_for_the_head_only(link, folder):
    link.tenon("serve", folder)
    done = link.net.run("curl", "-sS", "-m", 20, "-I", f"http://{link.t4}/copy")
    assert "200" in done.stdout.splitlines()[0]
    assert "content-length: 1000003" in done.stdout.lower()


def test_curl_fetches_many_in_parallel(link, folder, files, tmp_path):
    link.tenon("serve", folder)
    link.net.run("curl", "-sS", "-m", 60, "--parallel", "--parallel-max", 40, f"http://{link.t4}/copy?n=[1-80]",
                 "-o", tmp_path / "out-#1")
    want = files.hash(1_000_003)
    assert [n for n in range(1, 81) if sha256(tmp_path / f"out-{n}") != want] == []


def test_answer_that_is_read_late_arrives(link, folder, files, peer):
    """It waits in Tenon for longer than a peer that has all may take to end its side."""
    (folder / "some").write_bytes(files.get(40_000).read_bytes())
    link.tenon("serve", folder)
    assert peer.run("late", link.t4, 80, "/some", 7).stdout.strip() == files.hash(40_000)


def test_tenon_fetches_from_the_kernel(link, version, folder, files, peer, tmp_path):
    kernel = ends(link, version)[1]
    peer.start("http", kernel.strip("[]"), 80, folder)
    link.run_tenon("get", "-o", tmp_path / "got", f"http://{kernel}/copy")
    assert sha256(tmp_path / "got") == files.hash(1_000_003)


def test_tenon_is_refused(link, version):
    done = link.run_tenon("get", f"http://{ends(link, version)[1]}:81/", check=False)
    assert done.returncode == 1
    assert "refused" in done.stderr.lower()


def test_curl_is_refused(link, version, folder):
    link.tenon("serve", folder)
    done = link.net.run("curl", "-sS", "-m", 20, f"http://{ends(link, version)[0]}:81/", check=False)
    assert done.returncode == 7
