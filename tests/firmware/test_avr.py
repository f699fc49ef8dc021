# SPDX-License-Identifier: MIT
"""The core and embedded/ where int has 16 bits: avr/echo.c on an ATmega2560 with memory at its bus, in simavr, with
avr/host.c, Tenon on this machine, as the peer."""
import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "firmware" / "avr"
INCLUDE = [f"-I{ROOT}", f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}"]
STACK_MARGIN = 2048


def compiles(tmp_path):
    """libsimavr-dev and libelf-dev are there."""
    source = tmp_path / "probe.c"
    source.write_text("#include <simavr/sim_avr.h>\nint main(void) { return avr_make_mcu_by_name(\"x\") == 0; }\n")
    return subprocess.run(["cc", str(source), "-o", str(tmp_path / "probe"), "-lsimavr", "-lelf"],
                          capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """(host, firmware)"""
    folder = tmp_path_factory.mktemp("avr")
    for program in ("avr-gcc", "cc"):
        if shutil.which(program) is None:
            pytest.skip(f"needs {program}")
    if not compiles(folder):
        pytest.skip("needs simavr's library (libsimavr-dev, libelf-dev)")
    host, firmware = str(folder / "host"), str(folder / "echo.elf")
    subprocess.run(["cc", "-O2", *INCLUDE, HERE / "host.c", ROOT / "src" / "tenon_all.c", ROOT / "src/base/panic.c",
                    "-o", host, "-lsimavr", "-lelf"], check=True)
    subprocess.run(["avr-gcc", "-mmcu=atmega2560", "-std=gnu99", "-Os", "-Wall", "-Wextra", "-Werror",
                    "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "-Wl,--defsym=__stack=0xFFFF",
                    *INCLUDE, HERE / "echo.c", ROOT / "src" / "tenon_all.c", *sorted((ROOT / "embedded").glob("*.c")),
                    "-o", firmware], check=True)
    return host, firmware


def numbers(output, begin):
    line = next(line for line in output.splitlines() if line.startswith(begin))
    return {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", line)}


@pytest.mark.parametrize("lose", [0, 20, 7])
def test_echo_where_int_has_16_bits(programs, lose):
    """All bytes come back, both sides close in order, the arena is whole, and the stack had room."""
    host, firmware = programs
    done = subprocess.run([host, firmware, "20000", str(lose)], capture_output=True, text=True, timeout=300,
                          check=False)
    assert done.returncode == 0, done.stdout[-800:] + done.stderr[-800:]
    machine, client = numbers(done.stdout, "stopped"), numbers(done.stdout, "client")
    assert machine["int"] == 16 and machine["echoed"] == 20000
    assert machine["memory"] == 0 and machine["blocks"] == 8 and machine["headers"] == 4
    assert machine["copied"] == 0
    assert machine["refused"] == 6, "limits for which a size_t of 16 bits is too small"
    assert 0 < machine["stack"] <= machine["stack_bytes"] - STACK_MARGIN
    assert client["got"] == 20000 and client["wrong"] == 0
    if lose > 0:
        assert client["lost"] > 0
