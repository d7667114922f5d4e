"""What runs in a confined fork may compute, compile and write to its folder; nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.processes.process import has_pid_namespaces
from kernelwright.runners.processes.process_table import LISTS_CHILDREN
from kernelwright.runners.processes.sandbox import landlock_abi
from kernelwright.runners.processes.seccomp import has_seccomp

confinable = pytest.mark.skipif(
    not has_seccomp() or landlock_abi() < 3, reason="no seccomp filters or no landlock here"
)

PROLOGUE = """
import errno, json, os, socket, subprocess, sys, tempfile, threading, time
from pathlib import Path
from kernelwright.runners.processes.confined import Bounds, ConfinedFork, python_folders, run_all

work, log = Path("work").absolute(), Path("log").absolute()
work.mkdir()
results = {}

def attempt(name, action):
    try:
        action()
        results[name] = "done"
    except OSError as error:
        results[name] = errno.errorcode.get(error.errno, str(error.errno))

def run(body, **bounds):
    fork = ConfinedFork(body, folder=work, log=log, bounds=Bounds(**{"wall_s": 20} | bounds),
                        read=python_folders())
    return fork.wait()

def told(body):
    def tell():
        body()
        Path("results.json").write_text(json.dumps(results))
    ended = run(tell)
    assert ended.returncode == 0, (ended, log.read_text())
    return json.loads((work / "results.json").read_text())

def report(**what):
    print(json.dumps(what))
"""


def script(folder: Path, text: str) -> dict[str, Any]:
    """What the script reports; a process of its own, since only one with one thread may fork."""
    done = subprocess.run(
        [sys.executable, "-c", PROLOGUE + text],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ATTEMPTS = """
def allowed():
    attempt("write", lambda: Path("there").write_text("content"))
    attempt("folder", lambda: os.mkdir("folder"))
    attempt("rename", lambda: os.rename("there", "folder/here"))
    attempt("remove", lambda: os.unlink("folder/here"))
    attempt("temporary file", lambda: tempfile.NamedTemporaryFile(dir=".").close())
    attempt("program", lambda: subprocess.run(["/usr/bin/env", "true"], check=True))
    attempt("shell", lambda: subprocess.run("echo x > out", shell=True, check=True))
    attempt("nothing", lambda: open(os.devnull, "w").close())
    attempt("import", lambda: __import__("xml.dom.minidom"))
    thread = threading.Thread(target=lambda: attempt("thread", lambda: None))
    thread.start()
    thread.join()

def forbidden():
    up = Path("..")
    attempt("write outside", lambda: (up / "new").write_text("x"))
    attempt("write to /tmp", lambda: tempfile.NamedTemporaryFile(dir="/tmp"))
    attempt("read outside", lambda: (up / "secret").read_text())
    attempt("chmod outside", lambda: os.chmod(up / "secret", 0o777))
    attempt("touch outside", lambda: os.utime(up / "secret"))
    attempt("link", lambda: os.symlink("../secret", "link"))
    attempt("pipe file", lambda: os.mkfifo("pipe"))
    attempt("socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    attempt("unix socket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    attempt("kill parent", lambda: os.kill(os.getppid(), 0))
    attempt("session", os.setsid)
    attempt("parent's memory", lambda: open(f"/proc/{os.getppid()}/mem", "rb"))
    attempt("home", lambda: os.listdir(os.path.expanduser("~")))
    if os.read(0, 1):
        results["stdin"] = "readable"

Path("secret").write_text("x")
"""
ALLOWED, FORBIDDEN = (
    re.findall(r'attempt\("([^"]+)"', part) for part in ATTEMPTS.split("def forbidden")
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    text = ATTEMPTS + "report(**told(allowed), **told(forbidden))\n"
    return script(tmp_path_factory.mktemp("confined"), text)


@confinable
@pytest.mark.parametrize("name", ALLOWED)
def test_a_confined_fork_may(results: dict[str, Any], name: str) -> None:
    assert results[name] == "done"


@confinable
@pytest.mark.parametrize("name", FORBIDDEN)
def test_a_confined_fork_may_not(results: dict[str, Any], name: str) -> None:
    assert results[name] in ("EPERM", "EACCES")


@confinable
def test_a_program_that_is_started_is_confined_as_well(tmp_path: Path) -> None:
    text = """
def body():
    done = subprocess.run("echo x > ../new", shell=True, capture_output=True, text=True)
    results["words"] = done.stderr
report(**told(body))
"""
    assert "ermission denied" in script(tmp_path, text)["words"]
    assert not (tmp_path / "new").exists()


BEYOND = {
    "an endless loop": ("while True: pass", "wall_s=0.5", "did not end within 0.5 s"),
    "a fork bomb": (
        "while True:\n        os.fork()",
        "processes=8",
        "started more than 8 processes",
    ),
    "many files": (
        "n = 0\n    while True:\n        n += 1; Path(f'f{n}').write_bytes(bytes(1 << 20))",
        "folder_bytes=20 << 20",
        "wrote more than 20 MiB",
    ),
}


@pytest.mark.parametrize("what", BEYOND)
def test_a_confined_fork_beyond_a_bound_is_killed_with_all_it_started(
    tmp_path: Path, what: str
) -> None:
    body, bound, words = BEYOND[what]
    found = script(
        tmp_path,
        f"""
def body():
    {body}
ended = run(body, {bound})
from kernelwright.runners.processes.process_table import descendants, process_table
report(words=ended.words, timed_out=ended.timed_out, code=ended.returncode,
       left=[p for p in descendants(os.getpid(), process_table())
             if process_table()[p].state not in "ZX"])
""",
    )
    assert words in found["words"]
    assert (found["code"], found["left"]) == (-9, [])
    assert found["timed_out"] == (what == "an endless loop")


@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ("raise ValueError('no good')", 1, "exit status 1"),
        ("os.abort()", -6, "killed by SIGABRT"),
        ("os._exit(7)", 7, "exit status 7"),
        ("bytearray(1 << 40)", 1, "exit status 1"),
    ],
)
def test_how_a_confined_fork_ended_is_told(
    tmp_path: Path, body: str, code: int, words: str
) -> None:
    text = f"""
def body():
    {body}
ended = run(body)
report(code=ended.returncode, words=ended.words, log=log.read_text())
"""
    found = script(tmp_path, text)
    assert (found["code"], found["words"]) == (code, words)
    if code == 1:
        assert "Error" in found["log"]


def test_a_confined_fork_holds_no_descriptor_of_its_parent(tmp_path: Path) -> None:
    text = """
kept = os.open("/etc/hostname", os.O_RDONLY) if os.path.exists("/etc/hostname") else os.dup(0)
def body():
    results["open"] = sorted(int(n) for n in os.listdir("/proc/self/fd"))[:-1]
report(**told(body))
"""
    assert script(tmp_path, text) == {"open": [0, 1, 2]}


def test_several_confined_forks_run_side_by_side(tmp_path: Path) -> None:
    text = """
def wait_for_the_other(mine, other):
    def body():
        Path(mine).touch()
        while not Path(other).exists():
            time.sleep(0.001)
    return body
def start(mine, other):
    return lambda: ConfinedFork(wait_for_the_other(mine, other), folder=work,
                                log=Path(f"{mine}.log").absolute(), bounds=Bounds(wall_s=20),
                                read=python_folders())
starts = [start("a", "b"), start("b", "a"), start("c", "a")]
report(codes=[e.returncode for e in run_all(starts, at_once=2)])
"""
    assert script(tmp_path, text) == {"codes": [0, 0, 0]}


def test_no_more_confined_forks_run_at_once_than_asked_for(tmp_path: Path) -> None:
    text = """
def alone(number):
    def body():
        os.mkdir("running")
        time.sleep(0.05)
        os.rmdir("running")
    return lambda: ConfinedFork(body, folder=work, log=Path(f"{number}.log").absolute(),
                                bounds=Bounds(wall_s=20), read=python_folders())
report(codes=[e.returncode for e in run_all([alone(n) for n in range(3)], at_once=1)])
"""
    assert script(tmp_path, text) == {"codes": [0, 0, 0]}


ORPHANAGES = {
    "its parent": "enter_child(os.getppid())",
    "the first process of a namespace": (
        "has_adopter(separate(os.getppid(), pid_namespace_flags()))"
    ),
}
LEAVING = """
from kernelwright.runners.processes import killing
from kernelwright.runners.processes.killing import has_adopter
from kernelwright.runners.processes.launch import enter_child, pid_namespace_flags, separate
from kernelwright.runners.processes.process_table import alive, descendants, process_table
{orphanage}
def forked(number, body):
    return ConfinedFork(body, folder=work, log=Path(f"{{number}}.log").absolute(),
                        bounds=Bounds(wall_s=20), read=python_folders())
def wait():
    while not Path("go").exists():
        time.sleep(0.001)
def leave():
    subprocess.Popen(["sleep", "1000"])
"""


@pytest.mark.parametrize("beside", ["alone", "beside another"])
@pytest.mark.parametrize("orphanage", ORPHANAGES)
def test_what_a_confined_fork_leaves_behind_is_killed(
    tmp_path: Path, orphanage: str, beside: str
) -> None:
    if orphanage != "its parent" and not has_pid_namespaces():
        pytest.skip("no PID namespaces here")
    text = LEAVING.format(orphanage=ORPHANAGES[orphanage]) + (
        "other = forked(1, wait)\n" if beside == "beside another" else ""
    )
    text += """
ended = forked(2, leave).wait()
table = process_table()
left = [pid for pid in alive(descendants(os.getpid(), table), table)
        if Path(f"/proc/{pid}/comm").read_text() == "sleep\\n"]
(work / "go").touch()
if "other" in globals():
    other.wait()
report(code=ended.returncode, left=left)
"""
    assert script(tmp_path, text) == {"code": 0, "left": []}


@pytest.mark.skipif(not LISTS_CHILDREN, reason="this kernel keeps no lists of children")
@pytest.mark.parametrize("orphanage", ORPHANAGES)
def test_for_a_confined_fork_that_left_nothing_no_other_process_is_looked_at(
    tmp_path: Path, orphanage: str
) -> None:
    if orphanage != "its parent" and not has_pid_namespaces():
        pytest.skip("no PID namespaces here")
    text = LEAVING.format(orphanage=ORPHANAGES[orphanage]) + (
        """
other = forked(1, wait)
looks, look = [], killing.kill_all
killing.kill_all = lambda victims: looks.append(victims) or look(victims)
forked(2, lambda: subprocess.run(["true"])).wait()
without = len(looks)
forked(3, leave).wait()
(work / "go").touch()
other.wait()
report(without=without, some=len(looks))
"""
    )
    assert script(tmp_path, text) == {"without": 0, "some": 1}
