"""Code that is timed finds the OpenMP that a process of its user's would have."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lift
import numpy as np
import pytest

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.building.compile_cache import cache_folder
from kernelwright.runners.errors import SpecError
from kernelwright.runners.native.executor import Executor
from kernelwright.runners.native.executor_binary import compile_executor
from kernelwright.runners.protocol.layout import arena
from kernelwright.runners.protocol.shared_arena import SharedArena
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.toolchains import BuildRequest, Shape

SIZE = 16
ASKS = """\
#include <omp.h>
#include <cstdlib>
const char* const waits = getenv("OMP_WAIT_POLICY");
const float first = waits == nullptr ? 0 : waits[0];
void lift(const float* x, float* y, int n) {
#pragma omp parallel num_threads(2)
    y[1 + omp_get_thread_num()] = x[0];
    y[0] = omp_get_max_threads();
    y[3] = first;
}
"""


class Ready:
    """A kernel that says what it found of its environment while it was loaded, as libraries do,
    and the parts to run it."""

    def __init__(self, folder: Path) -> None:
        loaded = lift.load(folder)
        variant = lift.variant(loaded, ASKS).variant
        shape = Shape(label="usual", symbols={"n": SIZE})
        request = BuildRequest(kernel=loaded, variant=variant, shapes=(shape,), timeout_s=60.0)
        self._builder = Builder(folder / "modules", folder / "scratch")
        artifact = self._builder.build(request).artifact
        assert artifact is not None
        self._module = self._builder.module_path(artifact.modules[0])
        (self._plan,) = artifact.plans.values()
        self._binary = compile_executor(folder, cache_folder(folder))
        self.contract = bind(loaded.spec.io, {"n": SIZE}, "usual")

    def start(self, environment: dict[str, str], *, shortly: bool = True) -> Executor:
        shared = SharedArena(arena(self.contract, 1))
        cores = frozenset[int]()
        return Executor(
            self._binary, self._module, self._plan, shared, cores, environment, shortly=shortly
        )

    def found(self, environment: dict[str, str]) -> tuple[int, str]:
        """Threads of a team, and the first letter of how it waits."""
        executor = self.start(environment)
        try:
            executor.run((0,), 5.0)
            at = next(s.offset for s in executor.shared.layout.slots if s.name == "y")
            raw = executor.shared.memory[at : at + 4 * SIZE].tobytes()
            values = np.frombuffer(raw, np.float32)
        finally:
            executor.close()
        return int(values[0]), chr(int(values[3])).strip("\0")

    def close(self) -> None:
        self._builder.close()


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ready]:
    made = Ready(tmp_path_factory.mktemp("ready"))
    yield made
    made.close()


def test_what_the_user_set_nothing_for_is_set_to_nothing(ready: Ready) -> None:
    assert ready.found({}) == (len(os.sched_getaffinity(0)), "")


def test_a_user_s_own_variables_reach_the_process_that_is_timed(ready: Ready) -> None:
    assert ready.found({"OMP_NUM_THREADS": "3", "OMP_WAIT_POLICY": "active"}) == (3, "a")


@pytest.mark.parametrize(
    ("environment", "shortly", "expected"),
    [
        ({}, True, "3000"),
        ({}, False, None),
        ({"GOMP_SPINCOUNT": "7"}, True, "7"),
        ({"OMP_WAIT_POLICY": "active"}, True, None),
    ],
)
def test_a_team_waits_shortly_where_it_is_stopped_between_calls_and_nobody_says_how(
    ready: Ready,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    shortly: bool,
    expected: str | None,
) -> None:
    found = list[dict[str, str]]()
    start = Executor._start  # pyright: ignore[reportPrivateUsage]

    def started(self: Executor, *given: Any) -> None:
        found.append(given[-1])
        start(self, *given)

    monkeypatch.setattr(Executor, "_start", started)
    ready.start(environment, shortly=shortly).close()
    assert found[0].get("GOMP_SPINCOUNT") == expected


def test_a_team_that_spins_stands_still_between_the_turns_of_its_process(ready: Ready) -> None:
    executor = ready.start({"OMP_WAIT_POLICY": "active"})
    try:
        executor.run((0,), 5.0)
        states = [stat(task).split()[0] for task in tasks(executor)]
        assert len(states) == 2 and set(states) == {"T"}
        before = [stat(task).split()[11:13] for task in tasks(executor)]
        other = ready.start({})
        other.run((0,), 5.0)
        other.close()
        assert [stat(task).split()[11:13] for task in tasks(executor)] == before
    finally:
        executor.close()


def tasks(executor: Executor) -> list[Path]:
    return sorted(Path(f"/proc/{executor.pid}/task").iterdir())


def stat(task: Path) -> str:
    """Its line from the state on."""
    return (task / "stat").read_text().rpartition(")")[2]


def test_the_user_s_environment_is_part_of_the_kernel_and_the_spec_s_goes_over_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    plain = lift.load(tmp_path)
    assert plain.environment == {}
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.setenv("OMP_TOOL_LIBRARIES", "/tmp/any.so")
    here = lift.load(tmp_path)
    assert here.environment == {"OMP_NUM_THREADS": "7"}
    assert here.kernel_id != plain.kernel_id
    kernel = lift.spec()["kernel"]
    own = lift.load(tmp_path, kernel={**kernel, "environment": {"OMP_NUM_THREADS": "2"}})
    assert own.environment == {"OMP_NUM_THREADS": "2"}
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert lift.load(tmp_path).kernel_id == own.kernel_id, "who says it makes no difference"


def test_a_spec_sets_no_other_variable_than_those_of_openmp(tmp_path: Path) -> None:
    kernel = lift.spec()["kernel"]
    with pytest.raises(SpecError, match=r"LD_PRELOAD.*OMP_NUM_THREADS"):
        lift.load(tmp_path, kernel={**kernel, "environment": {"LD_PRELOAD": "/tmp/any.so"}})
