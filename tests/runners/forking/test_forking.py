"""Children that are forked by a fork server: they are children like any others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from kernelwright.runners.forking.keeper import MODULE, ForkServer
from kernelwright.runners.processes.channel import Channel
from kernelwright.runners.processes.child import Child, Limits
from kernelwright.runners.processes.process import run_limited, spawner
from kernelwright.runners.processes.start import clean_environment, start_module

PATIENCE_S = 20
PYTHON = "timeit"
"""a module that runs its arguments, the number of the channel and then lines of Python"""
ROLES = ("native", "device", "oracle", "building", "interpreter", "capture", "toolchains")


@pytest.fixture(scope="module")
def forks() -> Iterator[ForkServer]:
    spawner()  # by which orphans come to us
    made = ForkServer()
    yield made
    made.close()


def fork(
    forks: ForkServer,
    folder: Path,
    code: str,
    limits: Limits | None,
    **variables: str,
) -> Child | None:
    return forks.start(
        PYTHON,
        [f"{code}\nimport os, sys; sys.stdout.flush(); os._exit(0)"],
        name="child",
        scratch=folder,
        environment=clean_environment(folder, variables),
        limits=limits or Limits(),
    )


def forked(forks: ForkServer, folder: Path, code: str, **variables: str) -> Child:
    child = fork(forks, folder, code, None, **variables)
    assert child is not None
    return child


def told(forks: ForkServer, folder: Path, code: str, **variables: str) -> Any:
    """What a child prints, as JSON."""
    with forked(forks, folder, code, **variables) as child:
        assert child.wait(PATIENCE_S) == 0, child.stderr_text()
        return json.loads(child.stdout_text())


def servers(process: psutil.Process) -> set[psutil.Process]:
    found = set[psutil.Process]()
    for child in process.children():
        with suppress(psutil.ZombieProcess):
            if MODULE in child.cmdline():
                found.add(child)
    return found


def environ(words: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in words.items() if not name.startswith("KERNELWRIGHT")}


def test_a_child_is_ours_in_a_session_and_a_folder_of_its_own(
    forks: ForkServer, tmp_path: Path
) -> None:
    code = "import os; print([os.getpid(), os.getppid(), os.getsid(0)])"
    with forked(forks, tmp_path, code) as child:
        assert child.wait(PATIENCE_S) == 0
        assert json.loads(child.stdout_text()) == [child.pid, os.getpid(), child.pid]
    assert told(forks, tmp_path, "import os, json; print(json.dumps(os.getcwd()))") == str(tmp_path)


def test_it_has_the_variables_that_it_is_given_and_no_other(
    forks: ForkServer, tmp_path: Path
) -> None:
    code = "import os, json; print(json.dumps(dict(os.environ)))"
    found = told(forks, tmp_path, code, OMP_NUM_THREADS="3")
    assert environ(found) == clean_environment(tmp_path, {"OMP_NUM_THREADS": "3"})
    c_library = "import ctypes; get = ctypes.CDLL(None).getenv; get.restype = ctypes.c_char_p\n"
    code = c_library + "print(int(get(b'OMP_NUM_THREADS')))"
    assert told(forks, tmp_path, code, OMP_NUM_THREADS="3") == 3


def test_it_holds_no_descriptor_but_its_own(forks: ForkServer, tmp_path: Path) -> None:
    with forked(forks, tmp_path, "import time; time.sleep(1000)") as child:
        process = psutil.Process(child.pid)
        while PYTHON not in process.cmdline():
            os.sched_yield()
        own, ends = {0, 1, 2, int(process.cmdline()[4])}, time.monotonic() + PATIENCE_S
        named = set[int]()
        while named != own and time.monotonic() < ends:  # it opens what it imports, for a moment
            named = {int(fd.name) for fd in Path(f"/proc/{child.pid}/fd").iterdir()}
        assert named == own


def test_its_limits_are_in_force(forks: ForkServer, tmp_path: Path) -> None:
    with forked(forks, tmp_path, "import time; time.sleep(1000)") as child:
        process = psutil.Process(child.pid)
        while PYTHON not in process.cmdline():
            os.sched_yield()
        assert process.rlimit(psutil.RLIMIT_FSIZE) == (1 << 30, 1 << 30)
        assert process.rlimit(psutil.RLIMIT_CORE) == (0, 0)
    assert child.describe_end() == "killed by its owner"
    assert not psutil.pid_exists(child.pid)


def test_how_it_ended_is_known(forks: ForkServer, tmp_path: Path) -> None:
    with forked(forks, tmp_path, "import os; os._exit(3)") as child:
        assert child.wait(PATIENCE_S) == 3
    with forked(forks, tmp_path, "import os; os.abort()") as child:
        assert child.wait(PATIENCE_S) == -signal.SIGABRT
    with forked(forks, tmp_path, "1 / 0") as child:
        assert child.wait(PATIENCE_S) == 1
        assert "ZeroDivisionError" in child.stderr_text()


def test_it_speaks_over_its_channel(forks: ForkServer, tmp_path: Path) -> None:
    code = (
        "from kernelwright.runners.processes.channel import Channel\nimport sys\n"
        "channel = Channel.from_fd(int(sys.argv[1]))\n"
        "channel.send({'heard': channel.receive()[0]})"
    )
    with forked(forks, tmp_path, code) as child:
        child.channel.send({"n": 1})
        assert child.channel.receive(PATIENCE_S)[0] == {"heard": {"n": 1}}


def test_no_two_draw_the_same(forks: ForkServer, tmp_path: Path) -> None:
    code = (
        "import json, random\nimport numpy as np\n"
        "print(json.dumps([random.random(), np.random.random(), np.random.default_rng().random()]))"
    )
    one, other = told(forks, tmp_path, code), told(forks, tmp_path, code)
    assert not set(one) & set(other)


def test_numpy_computes_on_all_cores_in_it_as_in_any_process(
    forks: ForkServer, tmp_path: Path
) -> None:
    code = (
        "import os\nimport numpy as np\nbefore = len(os.listdir('/proc/self/task'))\n"
        "a = np.ones((1024, 1024)); a @ a\n"
        "print([before, len(os.listdir('/proc/self/task'))])"
    )
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told(forks, tmp_path, code) == [1, json.loads(plain.stdout)[1]]


def test_nothing_that_one_role_alone_has_is_loaded_for_another(
    forks: ForkServer, tmp_path: Path
) -> None:
    loaded = told(forks, tmp_path, "import json, sys; print(json.dumps(sorted(sys.modules)))")
    assert {"numpy", "pydantic", "kernelwright.runners.plans.plan"} <= set(loaded)
    ours = {name.split(".")[2] for name in loaded if name.startswith("kernelwright.runners.")}
    assert not ours & set(ROLES)
    assert not {name.split(".")[0] for name in loaded} & {"torch", "triton", "cuda", "cupy"}


def test_a_fork_server_that_is_killed_takes_no_child_along_and_another_takes_its_place(
    forks: ForkServer, tmp_path: Path
) -> None:
    with forked(forks, tmp_path, "import time; time.sleep(1000)") as child:
        before = servers(psutil.Process())
        for each in before:
            each.kill()
            while each.status() != psutil.STATUS_ZOMBIE:
                os.sched_yield()
        assert told(forks, tmp_path, "print(1)") == 1
        assert servers(psutil.Process()) - before
        assert child.poll() is None


def test_who_needs_what_a_fork_cannot_give_is_not_forked(forks: ForkServer, tmp_path: Path) -> None:
    assert fork(forks, tmp_path, "print(1)", None, PYTHONPATH=str(tmp_path)) is None
    assert fork(forks, tmp_path, "print(1)", None, LC_ALL="C") is None
    assert fork(forks, tmp_path, "print(1)", Limits(open_files=1 << 16)) is None
    child = fork(forks, tmp_path, "print(1)", Limits(memory_bytes=8 << 30))
    assert child is not None
    child.close()


def test_a_fork_server_that_does_not_begin_is_tried_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelwright.runners.forking.keeper.PRELOADED", ("no_module",))
    broken = ForkServer()
    assert fork(broken, tmp_path, "print(1)", None) is None
    monkeypatch.undo()
    assert fork(broken, tmp_path, "print(1)", None) is None


def test_a_fork_that_is_waited_for_holds_up_nobody_who_wants_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for patience in ("FORKED_S", "LOOK_S"):
        monkeypatch.setattr(f"kernelwright.runners.forking.keeper.{patience}", 1000.0)
    before, waited = servers(psutil.Process()), ForkServer()

    def others() -> list[int | None]:
        environment = clean_environment(tmp_path)
        child = spawner().start(
            ["true"], name="plain", scratch=tmp_path, environment=environment, limits=Limits()
        )
        with child:
            ended = child.wait(PATIENCE_S)
        done = run_limited(["true"], scratch=tmp_path, environment=environment, limits=Limits())
        return [ended, done.returncode]

    with ThreadPoolExecutor(2) as two:
        coming = two.submit(forked, waited, tmp_path, "import time; time.sleep(1000)")
        while not (stopped := servers(psutil.Process()) - before):
            os.sched_yield()
        for each in stopped:
            each.suspend()
        try:
            assert two.submit(others).result(PATIENCE_S) == [0, 0]
        finally:
            for each in stopped:
                each.resume()
        with coming.result() as child:
            assert child.poll() is None
    waited.close()


def test_a_fork_server_that_stands_still_as_it_loads_is_not_waited_for(
    tmp_path: Path,
) -> None:
    before, made = servers(psutil.Process()), ForkServer()
    with ThreadPoolExecutor(1) as one:
        coming = one.submit(fork, made, tmp_path, "import time; time.sleep(1000)", None)
        while not (stopped := servers(psutil.Process()) - before):
            os.sched_yield()
        for each in stopped:
            each.suspend()
        child = coming.result()
    if child is not None:  # it had loaded before we stopped it
        child.close()
    made.close()
    assert not psutil.wait_procs(stopped, PATIENCE_S)[1]


def test_a_child_that_nobody_waits_for_any_more_does_not_begin(tmp_path: Path) -> None:
    (ours, theirs), (going, go) = Channel.pair(), os.pipe()
    log = os.open(tmp_path / "said", os.O_CREAT | os.O_RDWR)
    wanted: dict[str, Any] = {"module": PYTHON, "arguments": ["print(1)"], "limits": {}}
    wanted |= {"environment": clean_environment(tmp_path), "folder": str(tmp_path)}
    with spawner().do(
        lambda: start_module(
            MODULE,
            name="server",
            scratch=tmp_path,
            environment=clean_environment(tmp_path),
            limits=Limits(),
        )
    ) as server:
        assert server.receive(PATIENCE_S)[0] == {"ready": True}
        server.channel.send(wanted, [log, log, theirs.fileno(), going])
        child = psutil.Process(server.receive(PATIENCE_S)[0]["pid"])
        os.close(go)
        assert not psutil.wait_procs([child], PATIENCE_S)[1]
        assert not (tmp_path / "said").read_bytes()
    os.close(going)
    os.close(log)
    for end in (ours, theirs):
        end.close()


def test_threads_that_fork_at_once_have_a_child_each(forks: ForkServer, tmp_path: Path) -> None:
    def numbered(number: int) -> int:
        folder = tmp_path / str(number)
        return told(forks, folder, f"print({number})")

    with ThreadPoolExecutor(6) as many:
        assert list(many.map(numbered, range(12))) == list(range(12))


OWNER = f"""
import os, signal, sys
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
from kernelwright.runners.forking.starting import start_python
from kernelwright.runners.processes.process import Limits, clean_environment
scratch = Path(sys.argv[1])
child = start_python(
    "{PYTHON}", ["import time; time.sleep(1000)"], name="child", scratch=scratch,
    environment=clean_environment(scratch), limits=Limits(),
)
print(child.pid, flush=True)
child.wait()
"""


def _ended(owner: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """By the signal, which is sent again as people do: Python drops an interrupt that it meets
    within a destructor."""
    for _ in range(PATIENCE_S):
        owner.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            owner.wait(1)
            return
    owner.kill()
    pytest.fail(f"{number.name} did not end it")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_child_and_its_fork_server_die_with_who_started_them(
    tmp_path: Path, number: signal.Signals
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as owner:
        try:
            assert owner.stdout is not None
            child = psutil.Process(int(owner.stdout.readline()))
            (server,) = servers(psutil.Process(owner.pid))
            _ended(owner, number)
        finally:
            owner.kill()  # or we waited for it, where anything above failed
        _, alive = psutil.wait_procs([child, server], PATIENCE_S)
        assert not alive
