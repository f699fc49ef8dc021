#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""AF_XDP without a copy, in a virtual machine: the driver of a veth cannot do it, that of a virtio card can (Linux 6.13
and later).

    ports/xdp/test/zerocopy.py BUILD KERNEL

BUILD is a folder with tenon-port-check, KERNEL one with a kernel for x86-64 (vmlinuz) and its modules somewhere below,
such as Debian's packages linux-binary-... and linux-modules-...-cloud-amd64, unpacked with "dpkg -x". It needs
qemu-system-x86, busybox-static, cpio, iproute2 and xz-utils, no root, and some minutes: the machine is emulated.

Two network cards are joined by a cable. tenon-port-check runs on their ports, xdp at one end and at both; the link goes
down and up. The status is 0 if all has passed."""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODULES = ("failover", "net_failover", "virtio_net")
LEFT, RIGHT = "xdp:eth0,mode=zerocopy", "xdp:eth1,mode=zerocopy"    # ends with an error if the driver copies
PAIRS = (LEFT + " packet:eth1", LEFT + " " + RIGHT, LEFT + ",offload=off " + RIGHT + ",memory=64")
FLAP = "/bin/ip link set eth0 down; /bin/sleep 0.2; /bin/ip link set eth0 up"
# XDP programs and joined frames exclude each other; zero-copy wants the kernel's own mapping of memory for devices.
CARD = ("virtio-net-pci,netdev=n{n},mac=02:00:00:00:01:2{n},disable-legacy=on,iommu_platform=on,guest_tso4=off,"
        "guest_tso6=off,guest_ecn=off,guest_ufo=off,guest_csum=off")
INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc p /proc; /bin/busybox mount -t sysfs s /sys; /bin/busybox mount -t devtmpfs d /dev
/bin/busybox mount -t tmpfs t /tmp
for module in {modules}; do /bin/busybox insmod /lib/$module.ko; done
for card in lo eth0 eth1; do /bin/ip link set $card up; done
/bin/busybox sleep 1
{jobs}
/bin/busybox poweroff -f
"""
JOB = """echo "== {pair}"; /bin/tenon-port-check --bytes 10000000 --flap '{flap}' {pair}; echo "== status $?" """


def put(root, program):
    """A program and its libraries."""
    shutil.copy(program, root / "bin")
    libraries = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    for name in re.findall(r"/\S+", libraries):
        to = root / name.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(name, to)


def make_root(root, build, kernel):
    for name in ("bin", "lib", "proc", "sys", "dev", "tmp"):
        (root / name).mkdir()
    for program in (shutil.which("busybox"), shutil.which("ip"), build / "tenon-port-check"):
        put(root, program)
    for name in ("sh", "sleep"):
        (root / "bin" / name).symlink_to("busybox")
    for module in MODULES:
        packed = next(iter(kernel.rglob(module + ".ko*")), None)
        if packed is None:
            sys.exit(f"zerocopy: {kernel} has no module {module}")
        with open(root / "lib" / f"{module}.ko", "wb") as out:
            subprocess.run(["xz", "-dcf", packed], stdout=out, check=True)    # -f: as it is, if it is not packed
    jobs = "\n".join(JOB.format(pair=pair, flap=FLAP) for pair in PAIRS)
    (root / "init").write_text(INIT.format(modules=" ".join(MODULES), jobs=jobs))
    (root / "init").chmod(0o755)


def boot(kernel, archive):
    cards = [word for n in (0, 1) for word in ("-netdev", f"hubport,id=n{n},hubid=0", "-device", CARD.format(n=n))]
    argv = ["qemu-system-x86_64", "-cpu", "max", "-smp", "2", "-m", "1024", "-nographic", "-no-reboot", *cards,
            "-kernel", kernel, "-initrd", archive, "-append", "console=ttyS0 quiet panic=-1"]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as machine:
        for line in machine.stdout:
            line = line.decode(errors="replace").strip()
            print(line, flush=True)
            yield line


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    build, kernel = (pathlib.Path(word) for word in sys.argv[1:])
    image = next(iter(kernel.rglob("vmlinuz*")), None)
    missing = [name for name in ("qemu-system-x86_64", "busybox", "cpio", "ip", "xz") if shutil.which(name) is None]
    if missing or image is None:
        sys.exit(f"zerocopy: there is no {', '.join(missing) or f'vmlinuz in {kernel}'}")
    with tempfile.TemporaryDirectory(prefix="tenon-zerocopy.") as folder:
        root, archive = pathlib.Path(folder) / "root", pathlib.Path(folder) / "root.cpio"
        root.mkdir()
        make_root(root, build, kernel)
        with open(archive, "wb") as out:
            names = "\n".join(str(path.relative_to(root)) for path in root.rglob("*"))
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet"], cwd=root, input=names.encode(), stdout=out,
                           check=True)
        lines = list(boot(image, archive))
    passed = lines.count("== status 0")
    print(f"{passed} passed, {len(PAIRS) - passed} failed")
    return 0 if passed == len(PAIRS) else 1


if __name__ == "__main__":
    sys.exit(main())
