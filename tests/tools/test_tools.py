# SPDX-License-Identifier: MIT
"""The other tools, and the code in the README."""
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*argv, **more):
    return subprocess.run([str(a) for a in argv], capture_output=True, text=True, check=False, **more)


def copy_tools(tree, *names):
    (tree / "tools").mkdir(parents=True, exist_ok=True)
    for name in names:
        shutil.copy(os.path.join(ROOT, "tools", name), tree / "tools")


# ---- README ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("compiler", [["gcc", "-std=c89"], ["g++", "-x", "c++", "-std=c++98"]], ids=["c89", "c++98"])
def test_code_of_the_readme_compiles(tmp_path, compiler):
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        blocks = re.findall(r"```c\n(.*?)```", f.read(), re.S)
    assert blocks
    source = tmp_path / "readme.c"
    source.write_text("\n".join(blocks))
    done = run(*compiler, "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
               "-I", os.path.join(ROOT, "include"), source)
    assert done.returncode == 0, done.stderr


def test_code_of_the_cpp_guide_compiles(tmp_path):
    with open(os.path.join(ROOT, "docs", "guide", "cpp.md"), encoding="utf-8") as f:
        blocks = re.findall(r"```cpp\n(.*?)```", f.read(), re.S)
    source = tmp_path / "guide.cpp"
    source.write_text(blocks[0])    # the others are pieces of functions
    done = run("g++", "-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
               "-I", os.path.join(ROOT, "include"), source)
    assert done.returncode == 0, done.stderr


# ---- tools/format ---------------------------------------------------------------------------------

GOOD = """/* SPDX-License-Identifier: MIT */
enum { A = 1, B = 2,
       C = 3 };

struct s {
    int x;        /* lined up */
    long long_name;    /* not lined up */
};

static int f(int x)
{
    if (x > 0)
        return 1;
    return (x)-f(1);
}
"""


@pytest.fixture
def format_tree(tmp_path):
    if shutil.which("clang-format") is None:
        pytest.skip("clang-format is not installed")
    copy_tools(tmp_path, "format")
    shutil.copy(os.path.join(ROOT, ".clang-format"), tmp_path)
    (tmp_path / "src").mkdir()
    return tmp_path


def test_format_lets_an_authors_columns_be(format_tree):
    (format_tree / "src" / "a.c").write_text(GOOD)
    done = run(sys.executable, format_tree / "tools" / "format")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("bad,line", [("    return 1;", "       return 1;"), ("if (x > 0)", "if(x > 0)"),
                                      ("int f(int x)\n{", "int f(int x) {"), ("x > 0", "x>0")])
def test_format_finds_and_mends(format_tree, bad, line):
    path = format_tree / "src" / "a.c"
    path.write_text(GOOD.replace(bad, line, 1))
    tool = format_tree / "tools" / "format"
    done = run(sys.executable, tool)
    assert done.returncode == 1
    assert "src/a.c:" in done.stdout and "make format" in done.stdout
    assert run(sys.executable, tool, "--fix").returncode == 0
    assert path.read_text() == GOOD
    assert run(sys.executable, tool).returncode == 0


def test_format_keeps_the_columns_of_comments(format_tree):
    words = " ".join(["word"] * 24)
    path = format_tree / "src" / "a.h"
    path.write_text(f"""/* SPDX-License-Identifier: MIT */
/** What it does.
 *  {words} end of the text.
 *  - {words} end of the item.
 *  @param number  {words} end of it.
 *  @return 0 */
int f(int number);
""")
    assert run(sys.executable, format_tree / "tools" / "format", "--fix").returncode == 0
    lines = path.read_text().split("\n")
    assert all(len(line) <= 120 for line in lines)
    assert [len(line) - len(line[2:].lstrip()) for line in lines if "end of" in line] == [4, 6, 19]


# ---- what a tool needs -----------------------------------------------------------------------------

@pytest.mark.parametrize("tool,argv", [("footprint", []), ("format", []), ("fuzz", []), ("mutate", []),
                                       ("tidy", ["--only", "symbol"]), ("trim", ["--quick"])])
def test_a_program_that_is_missing_is_named(tmp_path, tool, argv):
    done = run(sys.executable, os.path.join(ROOT, "tools", tool), *argv, env={"PATH": str(tmp_path)})
    assert done.returncode in (1, 2)
    assert re.search(r"\b[\w-]+ is not installed \(tools/setup test\)", done.stdout + done.stderr), done
    assert "Traceback" not in done.stderr, done.stderr


def test_trim_says_what_can_be_left_out():
    done = run(sys.executable, os.path.join(ROOT, "tools", "trim"), "IPV6,NOTHING")
    assert done.returncode == 1 and "there is no NOTHING; there are the combinations" in done.stderr, done
    assert "tiny" in done.stderr and "CONNECT" in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("there,missing", [([], "clang-tidy"), (["clang-tidy"], "cppcheck")])
def test_lint_without_its_programs_finds_nothing_wrong_in_the_code(tmp_path, there, missing):
    (tmp_path / "compile_commands.json").write_text("[]")
    for name in ["dirname", *there]:
        os.symlink(shutil.which("true") if name in there else shutil.which(name), tmp_path / name)
    done = run(shutil.which("bash"), os.path.join(ROOT, "tools", "lint"), tmp_path, env={"PATH": str(tmp_path)})
    assert done.returncode == 2 and done.stderr == f"lint: {missing} is not installed (tools/setup test)\n", done


# ---- words that a tool does not know -----------------------------------------------------------------

@pytest.mark.parametrize("tool,argv", [("amalgamate", ["--chekc"]), ("footprint", ["--chekc"]), ("format", ["--fxi"]),
                                       ("tidy", ["--only"]), ("tidy", ["--onyl", "length"]), ("unity", ["--chekc"])])
def test_a_word_that_is_none_does_nothing(tmp_path, tool, argv):
    """Neither what the tool does without it, which may be to say that all is well, nor something with its name."""
    done = run(sys.executable, os.path.join(ROOT, "tools", tool), *argv, cwd=tmp_path)
    assert done.returncode == 2 and done.stderr == "", done
    assert list(tmp_path.iterdir()) == []
    asked = run(sys.executable, os.path.join(ROOT, "tools", tool), "--help", cwd=tmp_path)
    assert (asked.returncode, asked.stdout) == (0, done.stdout)


# ---- who reads no more ----------------------------------------------------------------------------

@pytest.mark.parametrize("tool,argv", [("board", ["list"]), ("board", ["packages"]), ("mutate", ["--list"]),
                                       ("tidy", ["--list"]), ("conformance", ["--help"])])
def test_nobody_reads(tool, argv):
    """As in "tools/board list | head -1": no traceback."""
    reads, writes = os.pipe()
    os.close(reads)
    with open(writes, "wb") as out:
        done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", tool), *argv], stdout=out,
                              stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.stderr == b"" and done.returncode == -signal.SIGPIPE, done


# ---- tools/setup ----------------------------------------------------------------------------------

def fake_system(tmp_path, installed, **programs):
    """A folder of programs that stand for a machine; returns its PATH."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    for name in ("bash", "sed", "grep", "cut", "env", "mktemp", "rm", "tail"):
        os.symlink(shutil.which(name), bin_folder / name)
    programs.setdefault("gcc", "echo 12")
    lines = "\n".join(f"echo 'installed {p}'" for p in installed)
    programs.setdefault("dpkg_query", lines or "true")
    programs.setdefault("apt_get", 'echo "apt-get $*" >> "$LOG"')
    for name, body in programs.items():
        path = bin_folder / name.replace("_", "-")
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
    return str(bin_folder)


def run_setup(tmp_path, path, task="demo", as_user=False):
    env = {"PATH": path, "LOG": str(tmp_path / "log")}
    script = os.path.join(ROOT, "tools", "setup")
    if as_user:
        # EUID cannot be set; the script reads it in one place.
        with open(script, encoding="utf-8") as f:
            text = f.read()
        assert text.count("EUID") == 1
        script = tmp_path / "setup"
        script.write_text(text.replace("EUID", "1000"))
    return run(os.path.join(path, "bash"), script, task, env=env, stdin=subprocess.DEVNULL)


DEMO = ["cmake", "ninja-build", "pkg-config", "iproute2", "iputils-ping", "curl", "python3", "gcc",
        "libc6-dev"]


def test_setup_does_nothing_when_all_is_there(tmp_path):
    done = run_setup(tmp_path, fake_system(tmp_path, DEMO))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not (tmp_path / "log").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_setup_installs_only_what_is_missing(tmp_path):
    done = run_setup(tmp_path, fake_system(tmp_path, DEMO[1:]))
    assert done.returncode == 0, done.stderr
    log = (tmp_path / "log").read_text().splitlines()
    assert log[0].endswith(" update")
    assert log[1].endswith("install --no-install-recommends cmake")


def test_setup_without_rights_says_what_to_type(tmp_path):
    done = run_setup(tmp_path, fake_system(tmp_path, DEMO[2:]), as_user=True)
    assert done.returncode == 1
    assert "sudo apt-get update && sudo apt-get install --no-install-recommends cmake ninja-build\n" in done.stderr
    assert not (tmp_path / "log").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_setup_shows_why_apt_failed(tmp_path):
    done = run_setup(tmp_path, fake_system(tmp_path, [], apt_get="echo no network; exit 100"))
    assert done.returncode == 1
    assert "no network" in done.stderr and "By hand" in done.stderr


def test_setup_elsewhere_names_missing_programs(tmp_path):
    path = fake_system(tmp_path, [])
    os.remove(os.path.join(path, "apt-get"))
    done = run_setup(tmp_path, path)
    assert done.returncode == 1
    assert "Missing programs: cmake ninja" in done.stderr


def test_setup_explains_its_arguments(tmp_path):
    done = run_setup(tmp_path, fake_system(tmp_path, []), task="everything")
    assert done.returncode == 2
    assert "usage: tools/setup demo|test" in done.stderr


# ---- tools/footprint ------------------------------------------------------------------------------

def test_footprint_over_budget_fails(tmp_path):
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    copy_tools(tmp_path, "footprint")
    for folder in ("src", "include", "tests", "embedded", "ports"):
        os.symlink(os.path.join(ROOT, folder), tmp_path / folder)
    (tmp_path / "tools" / "footprint.budget").write_text(
        "cortex_m3_code 1000  # too little\nidle_connection_64bit 1048576\nnonsense 1\n")
    done = run(sys.executable, tmp_path / "tools" / "footprint", "--check")
    assert done.returncode == 1, done.stdout
    last = done.stdout.splitlines()[-3:]
    assert last[0].startswith("over budget: cortex_m3_code") and "1,000 are allowed" in last[0]
    assert last[1].startswith("within budget: idle_connection_64bit")
    assert "nonsense is not measured" in last[2]


# ---- tools/amalgamate -----------------------------------------------------------------------------

def test_a_folder_that_cannot_be_is_said(tmp_path):
    (tmp_path / "file").touch()
    done = run(sys.executable, os.path.join(ROOT, "tools", "amalgamate"), tmp_path / "file" / "dist")
    assert (done.returncode, done.stderr) == (1, f"amalgamate: {tmp_path}/file/dist: Not a directory\n")


def test_amalgamation_holds_every_file_once(tmp_path):
    done = run(sys.executable, os.path.join(ROOT, "tools", "amalgamate"), tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "tenon.h").read_text() + (tmp_path / "tenon.c").read_text()
    marks = re.findall(r"^/\* ==== (\S+) ==== \*/$", text, re.M)
    assert len(marks) == len(set(marks))
    # The C++ header is beside them, on the one that was put together.
    wrapper = (tmp_path / "tenon.hpp").read_text()
    assert '#include "tenon.h"' in wrapper and "<tenon/" not in wrapper
    sources = []
    for folder in ("src", "include"):
        for path, _, names in os.walk(os.path.join(ROOT, folder)):
            sources += [os.path.relpath(os.path.join(path, n), ROOT) for n in names if n.endswith((".c", ".h"))]
    # Of tenon_all.c and of headers that only include others nothing but a comment is left.
    assert set(marks) == set(sources)
    assert '#include "' not in text.replace('#include "tenon.h"', "")


# ---- tools/package-debian -------------------------------------------------------------------------

def test_packages_are_not_made_where_others_have_something(tmp_path):
    (tmp_path / "theirs").write_text("x")
    tool = os.path.join(ROOT, "tools", "package-debian")
    for folder, cwd in ((tmp_path, ROOT), (".", tmp_path)):
        done = run(tool, folder, cwd=cwd)
        assert done.returncode == 1 and f"{tmp_path} is not empty" in done.stderr, done
    for words in (["--hlep"], ["a", "b"]):
        done = run(tool, *words, cwd=tmp_path)
        assert done.returncode == 2 and done.stderr.startswith("usage: tools/package-debian"), done
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


# ---- tools/demo -----------------------------------------------------------------------------------

@pytest.mark.parametrize("size,words,status", [("0", [], 1), ("much", [], 1), ("1", ["--help"], 2)])
def test_demo_says_what_it_takes(size, words, status):
    done = run(os.path.join(ROOT, "tools", "demo"), *words, env={**os.environ, "TENON_DEMO_MB": size})
    assert done.returncode == status and done.stdout == "" and "TENON_DEMO_MB=" in done.stderr, done


# ---- options of the build -------------------------------------------------------------------------

@pytest.mark.parametrize("dpdk, there, built", [("OFF", True, False), ("AUTO", False, False), ("ON", False, None)])
def test_the_port_dpdk_is_in_the_build_as_it_is_asked_for(tmp_path, dpdk, there, built):
    """AUTO with libdpdk is the usual build."""
    if shutil.which("cmake") is None or sys.platform != "linux":
        pytest.skip("needs cmake and Linux")
    without = {} if there else {"PKG_CONFIG_LIBDIR": str(tmp_path), "PKG_CONFIG_PATH": ""}
    done = run("cmake", "-S", ROOT, "-B", tmp_path / "build", f"-DTENON_DPDK={dpdk}", "-DTENON_TESTS=OFF",
               "-DTENON_EXAMPLES=OFF", "-DTENON_INSTALL=OFF", "-DTENON_NS3=OFF", env={**os.environ, **without})
    if built is None:
        assert done.returncode != 0 and "TENON_DPDK=ON: the port dpdk needs" in done.stderr, done.stderr
        return
    assert done.returncode == 0, done.stderr
    kinds = (tmp_path / "build" / "ports_built.c").read_text(encoding="utf-8")
    assert "&tap_port_type" in kinds and ("&dpdk_port_type" in kinds) == built
