"""What confined code can still do, and what it can not."""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.processes.sandbox import capabilities, landlock_abi
from kernelwright.runners.processes.seccomp import (
    builder_filter,
    compute_filter,
    has_seccomp,
    reference_filter,
)
from kernelwright.runners.processes.system_calls import (
    BUILDER,
    CHECKED,
    COMPUTE,
    DEVICE,
    FILES,
    LOOKING,
    PYTHON,
    Architecture,
    numbers,
)

needs_seccomp = pytest.mark.skipif(not has_seccomp(), reason="no seccomp filters here")
needs_landlock = pytest.mark.skipif(landlock_abi() == 0, reason="no landlock in this kernel")
HEADERS: dict[Architecture, str] = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}

PROLOGUE = """
import ctypes, errno, json, os, resource, signal, socket, subprocess, sys, tempfile, threading, time
from pathlib import Path
from kernelwright.runners.processes.sandbox import (
    compute_filter, drop_capabilities, install_seccomp, landlock, reference_filter)

libc = ctypes.CDLL(None, use_errno=True)
MEMPOLICY = {"x86_64": 239, "aarch64": 236}[os.uname().machine]
results = {}

def attempt(name, action):
    try:
        value = action()
        results[name] = value if isinstance(value, (int, str)) and value is not True else "done"
    except OSError as error:
        results[name] = errno.errorcode.get(error.errno, str(error.errno))

def call(function, *arguments):
    def action():
        if getattr(libc, function)(*arguments) < 0:
            raise OSError(ctypes.get_errno(), function)
    return action

def in_thread():
    answers = []
    thread = threading.Thread(target=lambda: answers.append("ran"))
    thread.start()
    thread.join()
    return answers[0]
"""

FORBIDDEN = """
attempt("fork", os.fork)
attempt("vfork and exec", lambda: subprocess.run(["true"]))
attempt("exec", lambda: os.execv("/bin/true", ["true"]))
attempt("socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
attempt("unix socket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
attempt("socketpair", socket.socketpair)
attempt("create", lambda: open("fresh", "w"))
attempt("write", lambda: open("there", "r+"))
attempt("append", lambda: open("there", "a"))
attempt("truncate", lambda: os.truncate("there", 0))
attempt("unlink", lambda: os.unlink("there"))
attempt("rename", lambda: os.rename("there", "elsewhere"))
attempt("chmod", lambda: os.chmod("there", 0o777))
attempt("mkdir", lambda: os.mkdir("folder"))
attempt("kill parent", lambda: os.kill(os.getppid(), 0))
attempt("signal parent's thread", call("tgkill", os.getppid(), os.getppid(), 0))
attempt("wake itself", call("tgkill", os.getpid(), os.getpid(), signal.SIGCONT))
attempt("policy of an address", call("syscall", MEMPOLICY, None, None, 0, id(call), 2))
attempt("pidfd", lambda: os.pidfd_open(os.getppid()))
attempt("ptrace", call("ptrace", 16, os.getppid(), 0, 0))
attempt("set clock", lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()))
attempt("nice of parent", lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 5))
attempt("affinity of parent", lambda: os.sched_setaffinity(os.getppid(), {0}))
attempt("scheduler", lambda: os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0)))
attempt("limits", call("prlimit", 0, resource.RLIMIT_CORE, bytes(16), None))
attempt("limits of parent", call("prlimit", os.getppid(), resource.RLIMIT_CORE, bytes(16), None))
attempt("shared memory", call("shmget", 0, 4096, 0o1600))
attempt("parent-death signal", call("prctl", 1, 0, 0, 0, 0))
attempt("dumpable", call("prctl", 4, 0, 0, 0, 0))
attempt("unshare", call("unshare", 0x20000))
attempt("another filter", lambda: install_seccomp(compute_filter(os.getpid())))
attempt("own session", os.setsid)
attempt("identity", lambda: os.setuid(0))
attempt("signal owner", lambda: __import__("fcntl").fcntl(0, 8, os.getppid()))
"""

ALLOWED = """
attempt("thread", in_thread)
attempt("read a file", lambda: len(Path("/etc/passwd").read_bytes()) > 0)
attempt("memory", lambda: len(bytearray(64 << 20)) > 0)
attempt("clock", lambda: time.perf_counter_ns() > 0)
attempt("random", lambda: len(os.urandom(8)) > 0)
attempt("own affinity", lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
attempt("policy of the process", call("syscall", MEMPOLICY, None, None, 0, None, 0))
attempt("read limits", lambda: len(resource.getrlimit(resource.RLIMIT_NOFILE)) > 0)
"""
ALLOWED_NAMES = re.findall(r'attempt\("([^"]+)"', ALLOWED)
FORBIDDEN_NAMES = re.findall(r'attempt\("([^"]+)"', FORBIDDEN)


def confined(tmp_path: Path, script: str, *, compiled: str | None = None) -> dict[str, Any]:
    """What `results` holds after the script ran in a child."""
    (tmp_path / "there").write_text("content")
    arguments = [compiled] if compiled else []
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE + script + "\nprint(json.dumps(results))", *arguments],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "there").read_text() == "content"
    return json.loads(done.stdout)


def install(name: str) -> str:
    return f"install_seccomp({name}(os.getpid()))\n"


@pytest.fixture(scope="module", params=["compute_filter", "reference_filter"])
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return confined(
        tmp_path_factory.mktemp("confined"), install(request.param) + FORBIDDEN + ALLOWED
    )


@needs_seccomp
@pytest.mark.parametrize("name", FORBIDDEN_NAMES)
def test_confined_code_may_not(results: dict[str, Any], name: str) -> None:
    assert results[name] == "EPERM"


@needs_seccomp
@pytest.mark.parametrize("name", ALLOWED_NAMES)
def test_confined_code_may(results: dict[str, Any], name: str) -> None:
    assert results[name] in ("done", "ran")


@needs_seccomp
def test_without_a_filter_the_same_attempts_succeed(tmp_path: Path) -> None:
    script = """
attempt("socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM).close())
attempt("create", lambda: open("fresh", "w").close())
attempt("kill parent", lambda: os.kill(os.getppid(), 0))
attempt("vfork and exec", lambda: subprocess.run(["true"]).returncode)
"""
    assert set(confined(tmp_path, script).values()) <= {"done", 0}


@needs_seccomp
def test_openmp_code_runs_under_the_compute_filter(tmp_path: Path) -> None:
    source, library = tmp_path / "sum.cpp", tmp_path / "sum.so"
    source.write_text(
        "#include <cstdio>\n#include <cstdlib>\n#include <omp.h>\n"
        'extern "C" int teams() {\n'
        "  int count = 0; long sum = 0; long *data = (long *)malloc(8 << 20);\n"
        "  #pragma omp parallel for reduction(+ : sum) num_threads(4)\n"
        "  for (long i = 0; i < 1 << 20; i++) { data[i] = i; sum += data[i] & 1; }\n"
        "  #pragma omp parallel num_threads(4)\n"
        "  { if (!omp_get_thread_num()) count = omp_get_num_threads(); }\n"
        "  free(data);\n"
        '  fprintf(stderr, "printed\\n");\n'
        "  return sum == 1 << 19 ? count : -1;\n}\n"
    )
    subprocess.run(
        ["g++", "-O1", "-fopenmp", "-shared", "-fPIC", "-o", library, source], check=True
    )
    script = install("compute_filter") + (
        "library = ctypes.CDLL(sys.argv[1])\nattempt('teams', library.teams)\n"
    )
    assert confined(tmp_path, script, compiled=str(library)) == {"teams": 4}


@needs_seccomp
def test_a_reference_with_numpy_runs_and_answers_on_an_open_socket(tmp_path: Path) -> None:
    script = f"""
ours, theirs = socket.socketpair()
{install("reference_filter")}
import numpy
a = numpy.ones((300, 300))
attempt("product", lambda: int((a @ a).sum()))
attempt("send", lambda: socket.send_fds(ours, [b"result"], [os.memfd_create("m")]))
attempt("receive", lambda: socket.recv_fds(theirs, 100, 4)[0].decode())
"""
    assert confined(tmp_path, script) == {"product": 27_000_000, "send": 6, "receive": "result"}


@needs_seccomp
def test_a_filter_binds_threads_that_already_run(tmp_path: Path) -> None:
    script = f"""
go, answers = threading.Event(), []
def late():
    go.wait()
    attempt("fork in an older thread", os.fork)
thread = threading.Thread(target=late)
thread.start()
{install("compute_filter")}
go.set()
thread.join()
"""
    assert confined(tmp_path, script) == {"fork in an older thread": "EPERM"}


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
@pytest.mark.parametrize("make", [compute_filter, reference_filter, builder_filter])
def test_every_path_through_a_filter_ends_in_a_verdict(make: Any, arch: Architecture) -> None:
    program = list(struct.iter_unpack("<HBBI", make(4321, arch)))
    assert len(program) < 4096
    assert program[-1] == (0x06, 0, 0, 0x00050000 | errno.EPERM)
    for position, (code, if_true, if_false, _) in enumerate(program):
        if code in (0x15, 0x35, 0x45):
            assert position + 1 + max(if_true, if_false) < len(program)


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_system_call_numbers_are_those_of_the_kernel_headers(arch: Architecture) -> None:
    header = Path(HEADERS[arch])
    if not header.exists():
        pytest.skip(f"{header} is not installed")
    pattern = r"#define __NR(?:3264)?_(\w+)\s+(\d+)"
    known = {name: int(number) for name, number in re.findall(pattern, header.read_text())}
    known["newfstatat"] = known.get("newfstatat", known.get("fstatat", -1))
    tables = (COMPUTE, CHECKED, LOOKING, PYTHON, BUILDER, DEVICE, FILES)
    ours = numbers(",".join(tables), arch)
    assert {"read", "futex", "openat", "clone", "sendmsg"} <= ours.keys()
    assert {n: number for n, number in ours.items() if known.get(n, number) != number} == {}


def test_an_architecture_without_a_list_is_refused() -> None:
    with pytest.raises(ValueError, match="riscv64"):
        compute_filter(1, "riscv64")  # pyright: ignore[reportArgumentType]


@needs_landlock
def test_landlock_bounds_what_can_be_read_and_written(tmp_path: Path) -> None:
    for name in ("readable", "writable", "outside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    script = """
landlock([Path("/usr"), Path("/proc"), Path("readable"), Path("missing")], [Path("writable")])
attempt("read", lambda: open("readable/file").read())
attempt("write where only reading is allowed", lambda: open("readable/file", "w"))
attempt("create where only reading is allowed", lambda: open("readable/new", "w"))
attempt("read back", lambda: open("writable/file").read())
attempt("write", lambda: open("writable/new", "w").close())
attempt("rename", lambda: os.rename("writable/new", "writable/old"))
attempt("outside", lambda: open("outside/file"))
attempt("list outside", lambda: os.listdir("outside"))
attempt("up and around", lambda: open("readable/../outside/file"))
attempt("parent's memory", lambda: open(f"/proc/{os.getppid()}/mem", "rb"))
attempt("own status", lambda: open("/proc/self/status").close())
"""
    results = confined(tmp_path, script)
    allowed = {"read": "readable", "read back": "writable"}
    assert {name: results.pop(name) for name in allowed} == allowed
    for name in ("write", "rename", "own status"):
        assert results.pop(name) == "done"
    assert results.pop("parent's memory") == "EACCES"
    assert set(results.values()) == {"EACCES"}


@pytest.mark.skipif(landlock_abi() < 6, reason="landlock scopes need version 6")
def test_landlock_keeps_signals_and_tcp_inside(tmp_path: Path) -> None:
    script = """
landlock([Path("/")], [])
attempt("signal", lambda: os.kill(os.getppid(), 0))
attempt("connect", lambda: socket.create_connection(("127.0.0.1", 9)))
"""
    assert confined(tmp_path, script) == {"signal": "EPERM", "connect": "EACCES"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to give up")
def test_without_capabilities_root_can_not_read_our_memory_nor_get_them_back(
    tmp_path: Path,
) -> None:
    script = """
attempt("before", lambda: open(f"/proc/{os.getppid()}/mem", "rb").close())
drop_capabilities()
attempt("after", lambda: open(f"/proc/{os.getppid()}/mem", "rb").close())
shown = subprocess.run(["grep", "CapEff", "/proc/self/status"], capture_output=True, text=True)
results["of a new program"] = int(shown.stdout.split()[1], 16)
"""
    results = confined(tmp_path, script)
    assert results.pop("before") == "done"
    assert results.pop("after") in ("EACCES", "EPERM")
    assert results == {"of a new program": 0}


def test_every_layer_is_reported_with_a_reason() -> None:
    layers = {layer.name: layer for layer in capabilities()}
    assert list(layers) == ["landlock", "seccomp", "pid namespaces", "bubblewrap"]
    assert all(layer.detail for layer in layers.values())
    assert layers["landlock"].available == (landlock_abi() > 0)
    assert layers["seccomp"].available == (
        has_seccomp() and platform.machine() in ("x86_64", "aarch64")
    )
