"""Children: what they get, what they may use, and that nothing of them stays behind."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.forking.starting import start_python
from kernelwright.runners.processes.child import Child
from kernelwright.runners.processes.process import (
    Finished,
    Limits,
    Spawner,
    clean_environment,
    kill_tree,
    run_limited,
    spawner,
)

PATIENCE_S = 20


class Witness:
    """A pipe whose write end the processes under test inherit: it ends when the last one dies."""

    def __init__(self) -> None:
        self.read, self.write = os.pipe()

    def hears(self) -> bytes:
        """What was written next; empty when nobody holds the write end any more."""
        poll = select.poll()
        poll.register(self.read, select.POLLIN)
        assert poll.poll(PATIENCE_S * 1000), "a process that should have died still runs"
        return os.read(self.read, 100)

    def let_go(self) -> None:
        """Close our own write end, so that the children hold the only ones."""
        if self.write >= 0:
            os.close(self.write)
            self.write = -1


@pytest.fixture
def witness() -> Iterator[Witness]:
    witness = Witness()
    yield witness
    witness.let_go()
    os.close(witness.read)


def start(
    tmp_path: Path,
    script: str,
    *,
    limits: Limits | None = None,
    witness: Witness | None = None,
    supervised: bool = False,
) -> Child:
    return spawner().start(
        ["sh", "-c", script],
        name="child",
        scratch=tmp_path,
        environment=clean_environment(tmp_path),
        limits=limits or Limits(wall_s=PATIENCE_S),
        pass_fds=(witness.write,) if witness else (),
        supervised=supervised,
    )


def finished(tmp_path: Path, *argv: str, limits: Limits | None = None) -> Finished:
    return run_limited(
        argv,
        scratch=tmp_path,
        environment=clean_environment(tmp_path),
        limits=limits or Limits(wall_s=PATIENCE_S),
    )


def brood(fd: int) -> str:
    """A script with a background child and a daemon in a session of its own; all hold `fd`."""
    daemon = "setsid sh -c 'sleep 1000 & sleep 1000' &"
    return f"sleep 1000 & {daemon} echo ready >/proc/self/fd/{fd}; wait"


def test_a_child_sees_only_the_allowed_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setenv("LC_TIME", "C")
    done = finished(
        tmp_path, sys.executable, "-c", "import os, json; print(json.dumps(dict(os.environ)))"
    )
    seen = json.loads(done.stdout)
    assert "SOME_API_KEY" not in seen
    assert seen["LC_TIME"] == "C"
    assert seen["TMPDIR"] == str(tmp_path)
    assert seen["PATH"] == os.environ["PATH"]


def test_a_child_works_in_its_scratch_with_no_input_in_a_session_of_its_own(tmp_path: Path) -> None:
    with start(tmp_path, "pwd; cat; ps -o sid= -p $$ >&2") as child:
        assert child.wait() == 0
        assert child.stdout_text() == f"{tmp_path}\n"
        assert int(child.stderr_text()) == child.pid


@pytest.mark.parametrize("supervised", [False, True])
@pytest.mark.parametrize(
    ("script", "returncode", "words"),
    [
        ("exit 3", 3, "exit status 3"),
        ("kill -SEGV $$", -signal.SIGSEGV, "killed by SIGSEGV"),
        ("kill -KILL $$", -signal.SIGKILL, "killed by SIGKILL"),
    ],
)
def test_an_end_is_described_in_words(
    tmp_path: Path, script: str, returncode: int, words: str, supervised: bool
) -> None:
    with start(tmp_path, script, supervised=supervised) as child:
        assert child.wait() == returncode
    assert child.describe_end() == words


def test_a_write_past_the_file_limit_fails_but_does_not_kill(tmp_path: Path) -> None:
    script = """
try:
    with open("big", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
except OSError as error:
    print(error.errno)
"""
    done = finished(
        tmp_path, sys.executable, "-c", script, limits=Limits(wall_s=PATIENCE_S, file_bytes=10_000)
    )
    assert done.stdout == "27\n"  # EFBIG
    assert (tmp_path / "big").stat().st_size == 10_000


def test_memory_processor_time_and_core_dumps_are_limited(tmp_path: Path) -> None:
    script = """
import resource
for name in ("AS", "CPU", "CORE"):
    print(resource.getrlimit(getattr(resource, "RLIMIT_" + name)))
bytes(1 << 30)
"""
    limits = Limits(wall_s=PATIENCE_S, memory_bytes=512 << 20, cpu_s=7)
    done = finished(tmp_path, sys.executable, "-c", script, limits=limits)
    assert done.stdout.splitlines() == [f"({512 << 20}, {512 << 20})", "(7, 7)", "(0, 0)"]
    assert done.stderr.rstrip().endswith("MemoryError")


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KernelwrightError, match="no-such-program"):
        finished(tmp_path, "no-such-program")
    assert finished(tmp_path, "/no/such/program").returncode == 127


def test_an_overdue_child_is_killed_though_nobody_waits_for_it(
    tmp_path: Path, witness: Witness
) -> None:
    with start(tmp_path, "sleep 1000", limits=Limits(wall_s=0.05), witness=witness) as child:
        witness.let_go()
        assert witness.hears() == b""
        assert child.wait() == -signal.SIGKILL
    assert child.describe_end() == "killed after 0.05 s"


def test_an_overdue_command_is_reported_as_timed_out(tmp_path: Path) -> None:
    done = finished(tmp_path, "sh", "-c", "echo begun; sleep 1000", limits=Limits(wall_s=0.5))
    assert done.timed_out
    assert done.ending == "killed after 0.5 s"
    assert done.signal == signal.SIGKILL


@pytest.mark.parametrize("supervised", [False, True])
def test_killing_a_child_kills_all_it_started(
    tmp_path: Path, witness: Witness, supervised: bool
) -> None:
    with start(tmp_path, brood(witness.write), witness=witness, supervised=supervised) as child:
        witness.let_go()
        assert witness.hears() == b"ready\n"
        child.kill()
        assert witness.hears() == b""
        child.kill()
        assert child.poll() == -signal.SIGKILL
    assert child.describe_end() == "killed by its owner"


@pytest.mark.parametrize("supervised", [False, True])
def test_what_a_child_leaves_behind_is_killed_when_its_end_is_seen(
    tmp_path: Path, witness: Witness, supervised: bool
) -> None:
    script = "(setsid sleep 1000 &); sleep 1000 & exit 0"
    with start(tmp_path, script, witness=witness, supervised=supervised) as child:
        witness.let_go()
        assert child.wait() == 0
        assert witness.hears() == b""


def test_killing_a_tree_needs_no_child_object(witness: Witness) -> None:
    process = subprocess.Popen(
        ["sh", "-c", brood(witness.write)], pass_fds=[witness.write], start_new_session=True
    )
    witness.let_go()
    assert witness.hears() == b"ready\n"
    kill_tree(process.pid)
    assert witness.hears() == b""
    process.wait()


def test_a_child_outlives_the_thread_that_asked_for_it(tmp_path: Path, witness: Witness) -> None:
    children: list[Child] = []
    script = f"echo ready >/proc/self/fd/{witness.write}; read line <go; echo $line"
    os.mkfifo(tmp_path / "go")
    thread = threading.Thread(
        target=lambda: children.append(start(tmp_path, script, witness=witness))
    )
    thread.start()
    thread.join()
    with children[0] as child:
        assert witness.hears() == b"ready\n"
        (tmp_path / "go").write_text("alive\n")
        assert child.wait() == 0
        assert child.stdout_text() == "alive\n"


def test_a_limit_of_any_length_holds_up_no_later_start(tmp_path: Path) -> None:
    made, environment = Spawner(), clean_environment(tmp_path)
    for wall_s in (1e300, 1e12, 60.0):
        with made.start(
            ["sleep", "0.01"],
            name="long",
            scratch=tmp_path,
            environment=environment,
            limits=Limits(wall_s=wall_s),
        ) as child:
            assert child.wait() == 0


OWNER = """
import os, sys
from pathlib import Path
from kernelwright.runners.processes.process import Limits, clean_environment, run_limited, spawner
scratch, script, fd = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
rest = dict(scratch=scratch, environment=clean_environment(scratch), limits=Limits(), pass_fds=[fd])
"""
OWNERS = {
    "run_limited": "run_limited(['sh', '-c', script], **rest)",
    "supervised child": (
        "spawner().start(['sh', '-c', script], name='c', supervised=True, **rest).wait()"
    ),
    "without namespaces": (
        "from kernelwright.runners.processes import launch\n"
        "os.setsid(); launch.enter_child(os.getppid()); launch.pid_namespace_flags = lambda: 0\n"
        "launch.supervise(['sh', '-c', script], {})"
    ),
}


@pytest.mark.parametrize("owner", OWNERS)
def test_nothing_outlives_a_killed_owner_of_a_supervised_command(
    tmp_path: Path, witness: Witness, owner: str
) -> None:
    code = OWNER + OWNERS[owner]
    if owner == "without namespaces":  # here the owner is the supervisor; its parent is killed
        inner = [
            sys.executable,
            "-c",
            code,
            str(tmp_path),
            brood(witness.write),
            str(witness.write),
        ]
        code = f"import subprocess; subprocess.run({inner!r}, pass_fds=[{witness.write}])"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), brood(witness.write), str(witness.write)],
        pass_fds=[witness.write],
    )
    witness.let_go()
    assert witness.hears() == b"ready\n"
    process.kill()
    process.wait()
    assert witness.hears() == b""


def test_an_unsupervised_child_dies_with_its_owner(tmp_path: Path, witness: Witness) -> None:
    code = OWNER + "spawner().start(['sh', '-c', script], name='c', **rest).wait()"
    script = f"echo ready >/proc/self/fd/{witness.write}; exec sleep 1000"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), script, str(witness.write)],
        pass_fds=[witness.write],
    )
    witness.let_go()
    assert witness.hears() == b"ready\n"
    process.kill()
    process.wait()
    assert witness.hears() == b""


def test_a_supervised_command_without_namespaces_leaves_nothing_and_ends_as_it_did(
    tmp_path: Path, witness: Witness
) -> None:
    code = OWNER + OWNERS["without namespaces"]
    script = "(setsid sleep 1000 &); sleep 1000 & kill -SEGV $$"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path), script, str(witness.write)],
        pass_fds=[witness.write],
    )
    witness.let_go()
    assert witness.hears() == b""
    assert process.wait() == -signal.SIGSEGV


def test_a_python_child_speaks_over_its_channel(tmp_path: Path) -> None:
    (tmp_path / "echoing.py").write_text(
        "import sys\n"
        "from kernelwright.runners.processes.channel import Channel\n"
        "channel = Channel.from_fd(int(sys.argv[1]))\n"
        "message, fds = channel.receive(20)\n"
        "channel.send({'heard': message, 'argument': sys.argv[2]})\n"
    )
    with start_python(
        "echoing",
        ["word"],
        name="echoing",
        scratch=tmp_path,
        environment=clean_environment(tmp_path, {"PYTHONPATH": str(tmp_path)}),
        limits=Limits(wall_s=PATIENCE_S),
    ) as child:
        child.channel.send({"n": 1})
        answer, _ = child.channel.receive(PATIENCE_S)
        assert answer == {"heard": {"n": 1}, "argument": "word"}
        assert child.wait() == 0


def test_output_is_read_from_the_file_we_opened_and_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    with start(tmp_path, "echo honest; ln -sf secret child.stdout") as child:
        child.wait()
        assert child.stdout_text() == "honest\n"
    assert child.stdout_text() == "honest\n"


def test_long_output_loses_its_middle_and_says_so(tmp_path: Path) -> None:
    with start(tmp_path, "printf 'begin%05000dend' 0") as child:
        child.wait()
        assert child.stdout_text(10) == "begin\n[... 4998 bytes left out ...]\n00end"


def test_an_orphan_of_a_child_that_was_killed_from_outside_is_collected_once_it_ends(
    tmp_path: Path,
) -> None:
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    script = f"env -i setsid sh -c 'read line < {gate}' & echo $!; wait"
    with start(tmp_path, script) as child:
        while not (said := child.stdout_text().strip()):
            time.sleep(0.01)
        orphan = psutil.Process(int(said))
        while orphan.name() != "sh" or orphan.cmdline()[:2] != ["sh", "-c"]:
            time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
    assert orphan.parent() == psutil.Process(), "it came to us"
    gate.write_text("go\n", encoding="utf-8")
    while orphan.is_running() and orphan.status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.01)
    start(tmp_path, "true").wait()
    assert not psutil.pid_exists(orphan.pid)
