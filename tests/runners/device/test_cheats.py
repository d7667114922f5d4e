"""Kernels that look around on the device: what they find there, and what becomes of them.

Those that are told where memory is (`everywhere`) know it from the pretended GPU's process, which a
kernel on a real one could only guess.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import device_kernels
import numpy as np
import pytest
from device_inside import SOURCE as INSIDE
from device_kernels import (
    HEAD,
    INDEX,
    RIGHT,
    THREADS,
    Code,
    DeviceBench,
    Gpu,
    N,
    integer,
    is_twice,
    launch,
    pointer,
)

from kernelwright.runners.device.sample import BYSTANDER, RUNNER, STRAY
from kernelwright.runners.protocol.messages import RunResult, SideTimes

GRID = -(-N // THREADS)
MOST_SPANS = 32
SPANS = f"struct Spans {{ unsigned long long at[{MOST_SPANS}], end[{MOST_SPANS}]; }};\n"
MARKED = 777.0
STRIDE, X_AT, Y_AT = 13 * 4096, 4096, 7 * 4096
"""Of a set of `twice`, and where its arrays are in it (runners/protocol/layout.py)."""


def spans_of(bench: DeviceBench) -> list[tuple[int, int]]:
    """All device memory of the pretended GPU's process, by start and end."""
    child = bench.runner._child  # pyright: ignore[reportPrivateUsage]
    assert child is not None
    found = list[tuple[int, int]]()
    for line in Path(f"/proc/{child.pid}/maps").read_text(encoding="ascii").splitlines():
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        if re.search(r" rw.p ", line) and 1 << 45 <= start < (1 << 45) + (1 << 40):
            found.append((start, end))
    assert 4 <= len(found) <= MOST_SPANS
    return found


def load_spy(bench: DeviceBench, look: str, spans: list[tuple[int, int]]) -> None:
    """Load `twice` behind a kernel of one thread that looks around, `look`, and may set `*mark`:
    then what comes out is MARKED."""
    padded = [*spans, *[(0, 0)] * (MOST_SPANS - len(spans))]
    raw = np.array(padded, dtype="<u8").T.tobytes().hex()
    told = {"arg": "spans", "type": "bytes", "value": None, "raw": raw}
    source = (
        SPANS
        + 'extern "C" __global__ void spy(float* x, float* y, int* mark, int n, Spans spans) {\n'
        + "    *mark = 0;\n"
        + look
        + '}\nextern "C" __global__ void twice(float* x, float* y, int* mark, int n) {\n'
        + INDEX
        + f"    if (i < n) y[i] = *mark ? {MARKED}f : 2 * x[i];\n}}\n"
    )
    params = (pointer("x"), pointer("y"), pointer("mark"), integer("n", N))
    bench.load(
        "spy",
        source,
        kernels={"twice": {}, "spy": {"block": [1, 1, 1]}},
        scratch=[("mark", 4)],
        steps=[launch("spy", 1, *params, told), launch("twice", GRID, *params)],
    )


def everywhere(bench: DeviceBench, look: str) -> None:
    """Load a spy that knows where all memory of the device is, and that has been timed before."""
    bench.load("a", RIGHT)
    load_spy(bench, look, [])
    bench.check("spy")
    bench.block([["a", "spy"]] * 2)
    load_spy(bench, look, spans_of(bench))


def side(block_sides: tuple[SideTimes, ...], variant: str) -> SideTimes:
    return next(s for s in block_sides if s.variant == variant)


def overruns(results: tuple[RunResult, ...] | list[RunResult]) -> set[str]:
    return {r.overrun for r in results}


EACH = (
    "    for (int s = 0; s < 32; ++s)\n"
    "        for (unsigned long long at = spans.at[s]; at < spans.end[s]; at += 8) {\n"
)
"""Head of a loop over all words of the device."""
SPYING = {
    "outputs of an earlier run on the same seed": (
        EACH + "            const float* f = (const float*)at;\n"
        "            if (f[0] == 2 * x[100] && f[1] == 2 * x[101]) *mark = 1;\n        }\n"
    ),
    "addresses of its buffers in somebody's tables": (
        EACH + "            unsigned long long word = *(const unsigned long long*)at;\n"
        "            if (word - (unsigned long long)x == 0) *mark = 1;\n"
        "            if (word - (unsigned long long)y == 0) *mark = 1;\n"
        "        }\n"
    ),
}


@pytest.mark.parametrize("gpu", ["pretended"], indirect=True)
@pytest.mark.parametrize("name", SPYING)
def test_nothing_of_others_is_found_anywhere_on_the_device(bench: DeviceBench, name: str) -> None:
    everywhere(bench, SPYING[name])
    block, rows = bench.block([["a", "spy"], ["spy", "a"], ["a", "spy"]])
    assert is_twice(bench, [r for s in block.sides for r in s.results], rows)
    assert is_twice(bench, *bench.check("spy", (0, 1, 0)))


AHEAD = (
    "    char* first = (char*)((unsigned long long)x >> 21 << 21);\n"
    f"    for (int set = 0; set < 39; ++set) {{\n"
    f"        float* there = (float*)(first + {STRIDE} * set + {X_AT});\n"
    f"        float* to = (float*)(first + {STRIDE} * set + {Y_AT});\n"
    "        if (there == x || *(unsigned*)to != 0xffffffffu) continue;\n"
    "        for (int k = 0; k < n; ++k) to[k] = 2 * there[k];\n"
    "    }\n"
)
"""Does the work of all sets that wait for theirs; a set of one page more than three arrays."""


def test_doing_the_work_of_other_calls_at_once_touches_a_set_that_no_call_has(
    bench: DeviceBench,
) -> None:
    bench.load("a", RIGHT)
    load_spy(bench, AHEAD, [])
    results, _ = bench.check("spy", (0,))
    assert overruns(results) == {BYSTANDER}
    block, _ = bench.block([["a", "spy"]] * 2, {"a": 3, "spy": 3})
    assert overruns(side(block.sides, "spy").results) == {BYSTANDER}
    assert overruns(side(block.sides, "a").results) == {""}
    assert bench.works()


INPUTS = (
    EACH + "            float* f = (float*)at;\n"
    "            if (f != x && f[0] == x[0] && f[1] == x[1] && f[2] == x[2]) f[7] = 1;\n        }\n"
)
"""Finds the copies of its inputs that are kept for later runs, and changes one of them."""
LEAVING = (
    "    for (int s = 0; s < 32; ++s) {\n"
    "        if (!spans.at[s]) continue;\n"
    "        unsigned long long* last = (unsigned long long*)spans.end[s] - 1;\n"
    "        if (*last && *last == (*last & 255) * 0x0101010101010101ull) *last = 7;\n    }\n"
)
"""Leaves something at the end of all memory that nobody uses."""


@pytest.mark.parametrize("gpu", ["pretended"], indirect=True)
@pytest.mark.parametrize("look", [INPUTS, LEAVING], ids=["kept inputs", "unused memory"])
def test_a_write_to_what_nobody_may_write_is_found_and_undone(
    bench: DeviceBench, look: str
) -> None:
    everywhere(bench, look)
    results, _ = bench.check("spy")
    assert overruns(results) == {STRAY}
    block, rows = bench.block([["a", "spy"], ["spy", "a"]])
    assert overruns(side(block.sides, "spy").results) == {STRAY}
    assert overruns(side(block.sides, "a").results) == {""}
    honest = side(block.sides, "a").results
    assert is_twice(bench, honest, rows)
    assert bench.works()


def test_shared_memory_holds_nothing_of_an_earlier_launch(bench: DeviceBench) -> None:
    line = (
        "    extern __shared__ unsigned left[];\n"
        "    bool seen = left[threadIdx.x] == 0x12345678u;\n"
        "    if (i < n) y[i] = seen ? 777 : 2 * x[i];\n"
        "    __syncthreads();\n    left[threadIdx.x] = 0x12345678u;\n"
    )
    # One block that stays alone: another one of the same launch would find what it left.
    steps = [launch("twice", 1, pointer("x"), pointer("y"), integer("n", THREADS))]
    bench.load("spy", HEAD + INDEX + line + "}\n", kernels={"twice": {"shared": 4096}}, steps=steps)
    results, rows = bench.check("spy", (0, 1, 0))
    block, timed = bench.block([["spy"]] * 3)
    for found, outputs in ((results, rows), (block.sides[0].results, timed)):
        for result in found:
            assert result.stored is not None or result.digest == found[0].digest
            if result.stored is not None:
                mine = outputs[result.stored][:THREADS]
                assert np.array_equal(mine, 2 * bench.inputs[result.slot]["x"][:THREADS])


def test_code_is_loaded_anew_when_a_block_asks_for_it(bench: DeviceBench) -> None:
    source = (
        "__device__ int born;\n" + HEAD + INDEX + "    if (i < n) y[i] = born;\n}\n"
        'extern "C" __global__ void note() {\n'
        "    if (!born) born = 1 + (int)((clock64() >> 4) & 0xfffff);\n}\n"
    )
    params = (pointer("x"), pointer("y"), integer("n", N))
    bench.load(
        "counting",
        source,
        kernels={"twice": {}, "note": {"block": [1, 1, 1]}},
        steps=[launch("twice", GRID, *params), launch("note", 1)],
    )

    def born(*, reload: bool) -> float:
        _, rows = bench.block([["counting"]], reload=reload)
        return float(rows[0][0])

    first = born(reload=False)
    assert born(reload=False) == first > 0
    assert born(reload=True) not in (first, 0)


def test_hot_times_come_from_one_set_and_outputs_are_looked_at_once(bench: DeviceBench) -> None:
    bench.load("a", RIGHT)
    block, rows = bench.block([["a"]] * 2, {"a": 20}, hot=True)
    (times,) = block.sides
    assert len(times.nanoseconds) == 2
    assert all(ns > 0 for ns in times.nanoseconds)
    assert len(times.results) == 2
    assert is_twice(bench, times.results, rows)


def test_what_cannot_run_twice_on_the_same_set_has_no_hot_times(gpu: Gpu, tmp_path: Path) -> None:
    arguments: list[dict[str, Any]] = [
        {"name": "x", "role": "inout", "dtype": "float32", "shape": ["n"]},
        {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
    ]
    bench = DeviceBench.of(gpu.device, tmp_path, {"arguments": arguments}, twins=gpu.twins)
    source = 'extern "C" __global__ void twice(float* x, int n) {\n' + INDEX
    bench.load(
        "a",
        source + "    if (i < n) x[i] *= 2;\n}\n",
        steps=[launch("twice", GRID, pointer("x"), integer("n", N))],
    )
    hot, _ = bench.block([["a"]], hot=True)
    assert [s.nanoseconds for s in hot.sides] == [()]
    again, rows = bench.block([["a"]], {"a": 3}, cycle=1)
    assert len(again.sides[0].nanoseconds) == 1, "calls on one seed have sets of their own"
    assert is_twice(bench, again.sides[0].results, rows)
    bench.runner.close()


def test_calls_can_all_have_one_seed(bench: DeviceBench) -> None:
    bench.load("a", RIGHT)
    block, rows = bench.block([["a"]] * 2, {"a": 3}, cycle=1)
    assert len({r.slot for r in block.sides[0].results}) == 2
    assert is_twice(bench, block.sides[0].results, rows)


def test_seeds_come_again_after_as_many_calls_as_are_asked_for(bench: DeviceBench) -> None:
    bench.load("a", RIGHT)
    block, rows = bench.block([["a"]], {"a": 5}, cycle=2)
    assert len({r.slot for r in block.sides[0].results}) == 2
    assert is_twice(bench, block.sides[0].results, rows)


def test_a_hidden_seed_takes_the_place_of_one_call_s_and_no_other_call_has_it(
    bench: DeviceBench,
) -> None:
    bench.load("a", RIGHT)
    first, rows = bench.block([["a"]], {"a": 2}, hidden=((3,),))
    slots = [r.slot for r in first.sides[0].results]
    assert len(slots) == 2 and slots.count(3) == 1
    assert is_twice(bench, first.sides[0].results, rows)
    both, _ = bench.block([["a"]] * 2, {"a": 2}, hidden=((), (3,)))
    assert {r.slot for r in both.sides[0].results} == {1, 2, 3}


COPYING = (
    "    char* first = (char*)((unsigned long long)x >> 21 << 21);\n"
    "    for (int set = 0; set < 39; ++set) {\n"
    f"        float* there = (float*)(first + {STRIDE} * set + {X_AT});\n"
    f"        float* to = (float*)(first + {STRIDE} * set + {Y_AT});\n"
    "        if (there[0] == x[0] && to[0] == 2 * x[0] && to[n - 1] == 2 * x[n - 1]) *mark = 1;\n"
    "    }\n"
)
"""Finds out that an earlier call of the same sample had its values, which saves all work."""


def test_one_seed_for_all_calls_tempts_code_that_looks_for_the_outputs_of_an_earlier_call(
    bench: DeviceBench,
) -> None:
    load_spy(bench, COPYING, [])
    usual, rows = bench.block([["spy"]], {"spy": 3})
    assert is_twice(bench, usual.sides[0].results, rows)
    tempted, rows = bench.block([["spy"]], {"spy": 3}, cycle=1)
    results = tempted.sides[0].results
    assert len({r.slot for r in results}) == 1
    assert [bool(row[0] == MARKED) for row in rows] == [False, True]


FORESEEING = (
    "__device__ float seen[39];\n"
    'extern "C" __global__ void spy(float* x, float* y, int* mark, int n) {\n'
    "    unsigned long long at = (unsigned long long)x, first = at >> 21 << 21;\n"
    f"    *mark = seen[(at - first - {X_AT}) / {STRIDE}] == x[0];\n"
    "    for (int set = 0; set < 39; ++set)\n"
    f"        seen[set] = *(float*)(first + {STRIDE} * set + {X_AT});\n"
    '}\nextern "C" __global__ void twice(float* x, float* y, int* mark, int n) {\n'
    + INDEX
    + f"    if (i < n) y[i] = *mark ? {MARKED}f : 2 * x[i];\n}}\n"
)
"""Finds out that an earlier call has seen the values of this one, and could have computed it."""


@pytest.mark.parametrize(("given", "foreseen"), [("ready", [False, True]), ("late", [False] * 2)])
def test_no_call_foresees_values_that_come_late(
    bench: DeviceBench, given: str, foreseen: list[bool]
) -> None:
    params = (pointer("x"), pointer("y"), pointer("mark"), integer("n", N))
    bench.load(
        "spy",
        FORESEEING,
        kernels={"twice": {}, "spy": {"block": [1, 1, 1]}},
        scratch=[("mark", 4)],
        steps=[launch("spy", 1, *params), launch("twice", GRID, *params)],
    )
    block, rows = bench.block([["spy"]], {"spy": 2}, given=given)
    assert [bool(row[0] == MARKED) for row in rows] == foreseen
    assert not any(r.overrun or r.changed_inputs for r in block.sides[0].results)


@pytest.mark.parametrize("given", ["ready", "late"])
def test_each_call_can_be_given_its_values_right_before_it(bench: DeviceBench, given: str) -> None:
    bench.load("a", RIGHT)
    block, rows = bench.block([["a"]] * 2, {"a": 2}, given=given)
    assert len(block.sides[0].nanoseconds) == 2
    assert is_twice(bench, block.sides[0].results, rows)


def test_blocks_and_checks_tell_how_long_the_device_worked(bench: DeviceBench) -> None:
    bench.load("a", RIGHT)
    results, _ = bench.check("a")
    block, _ = bench.block([["a"]] * 2)
    assert all(r.busy_s > 0 for r in results)
    assert block.busy_s > sum(block.sides[0].nanoseconds) * 1e-9


@pytest.fixture(scope="module")
def inside(gpu: Gpu, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What `device_inside.py` saw."""
    script, folder = (
        Path(device_kernels.__file__).with_name("device_inside.py"),
        tmp_path_factory.mktemp("in"),
    )
    Code.of(INSIDE, folder, gpu.device.arch)  # which the script finds there
    command = [sys.executable, str(script), str(folder), gpu.device.arch]
    paths = [*os.environ.get("PYTHONPATH", "").split(":"), str(script.parent)]
    environment = {**os.environ, "PYTHONPATH": ":".join(filter(None, paths))}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    return json.loads(done.stdout)


TOLD = {
    "let go": RUNNER,
    "rest of the page": RUNNER,
    "where outputs go": STRAY,
    "behind outputs": STRAY,
    "inputs of another seed": STRAY,
    "behind inputs": STRAY,
    "behind outputs (seldom)": STRAY,
    "inputs of another seed (seldom)": STRAY,
    "behind outputs (undone)": STRAY,
    "inputs of another seed (undone)": STRAY,
}
"""`seldom`: what is too much to look at each time; `undone`: by the next run, which hides it."""


@pytest.mark.parametrize("name", TOLD)
def test_whoever_knows_where_the_runners_memory_is_is_caught_when_it_writes_there(
    inside: dict[str, Any], name: str
) -> None:
    found = inside[name]
    assert found["check"][-1] == TOLD[name]
    assert set(found["block"]["bad"]) == {TOLD[name]}
    assert set(found["block"]["a"]) == {""}
    assert set(found["after"]) == {""}


def test_the_word_that_tells_the_last_step_is_ours_while_timed(inside: dict[str, Any]) -> None:
    found = inside["last step done"]
    assert set(found["check"]) == {""}  # our own mark comes behind it
    assert set(found["block"]["bad"]) == {RUNNER}
    assert set(found["block"]["a"]) == set(found["after"]) == {""}


def test_what_arrives_behind_the_last_event_is_found_and_takes_no_time(
    inside: dict[str, Any],
) -> None:
    found = inside["late"]
    assert any(found["late"]) and not any(found["in time"])
    assert found["late, samples"] == found["in time, samples"] == [False]


def test_who_writes_nowhere_else_is_clean(inside: dict[str, Any]) -> None:
    assert set(inside["clean"]["check"] + inside["clean"]["block"]["a"]) == {""}
