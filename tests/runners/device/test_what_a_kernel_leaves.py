"""What a kernel leaves behind on a device, real or pretended, and what setup makes as new."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from device_kernels import (
    HEAD,
    INDEX,
    THREADS,
    DeviceBench,
    N,
    integer,
    is_twice,
    launch,
    pointer,
)

GRID = -(-N // THREADS)

NOTE = 'extern "C" __global__ void note(float* x) {\n    '
"""Head of a second kernel, which only leaves something in variables."""


def with_note(
    bench: DeviceBench, variant: str, declared: str, line: str, left: str, **more: Any
) -> None:
    """Load `twice` with a line of its own and with a second kernel behind it."""
    params = (pointer("x"), pointer("y"), integer("n", N))
    bench.load(
        variant,
        declared + HEAD + INDEX + line + "}\n" + NOTE + left + "}\n",
        kernels={"twice": {}, "note": {"block": [1, 1, 1]}},
        steps=[launch("twice", GRID, *params), launch("note", 1, pointer("x"))],
        **more,
    )


def test_a_kernel_that_leaves_its_lock_taken_fails_the_second_time(bench: DeviceBench) -> None:
    line = "    if (i < n && lock == 0) y[i] = 2 * x[i];\n"
    with_note(bench, "bad", "__device__ int lock;\n", line, "lock = 1;")
    results, rows = bench.check("bad", (0,))
    assert [r.slot for r in results] == [0, 0]
    assert np.array_equal(rows[0][:N], 2 * bench.inputs[0]["x"])
    assert results[1].digest != results[0].digest
    again, _ = bench.check("bad", (0,))
    assert again[0].digest == results[0].digest


def with_count(bench: DeviceBench, variant: str, left: str) -> None:
    """Load `twice` with a constant and a variable that setup sets; a second kernel changes it."""
    with_note(
        bench,
        variant,
        "__constant__ float factor;\n__device__ int count;\n",
        "    if (i < n) y[i] = factor * x[i] + (count - 5);\n",
        left,
        setup=[
            {"symbol": "factor", "kernel": "twice", "raw": "00000040", "nbytes": 4},
            {"symbol": "count", "kernel": "twice", "raw": "05000000", "nbytes": 4},
        ],
    )


def test_setup_sets_symbols_and_is_not_repeated_in_a_second_call(bench: DeviceBench) -> None:
    with_count(bench, "a", "count = 6; count = 5;")
    results, rows = bench.check("a", (0, 1))
    assert [r.again for r in results] == [False, False, True]
    assert is_twice(bench, results, rows)
    block, timed = bench.block([["a"]] * 2, {"a": 8})
    assert is_twice(bench, block.sides[0].results, timed)
    with_count(bench, "bad", "count = 6;")
    results, _ = bench.check("bad", (0, 1))
    assert results[2].slot == results[0].slot
    assert results[2].digest != results[0].digest


def with_lock(bench: DeviceBench, variant: str, note: str, works: str = "*lock == 0") -> None:
    """Load `twice` with a lock in scratch memory, which setup clears and another kernel changes."""
    head = HEAD.replace("int n)", "int n, const int* lock)")
    source = head + INDEX + f"    if (i < n && {works}) y[i] = 2 * x[i];\n}}\n"
    note = f'extern "C" __global__ void note(int* lock) {{ {note}; }}\n'
    params = (pointer("x"), pointer("y"), integer("n", N), pointer("lock"))
    bench.load(
        variant,
        source + note,
        kernels={"twice": {}, "note": {"block": [1, 1, 1]}},
        scratch=[("lock", 4)],
        setup=[{"fill": "lock", "offset": 0, "nbytes": 4, "pattern": "00"}],
        steps=[launch("twice", GRID, *params), launch("note", 1, pointer("lock"))],
    )


def test_what_setup_fills_must_be_so_again_when_the_plan_ends(bench: DeviceBench) -> None:
    with_lock(bench, "good", "*lock = 0")
    results, rows = bench.check("good", (0, 1))
    assert [r.again for r in results] == [False, False, True, True, True]
    assert is_twice(bench, results, rows)
    assert not any(r.drifted for r in results)
    with_lock(bench, "bad", "*lock = 1")
    results, _ = bench.check("bad", (0, 1))
    assert results[2].slot == results[0].slot
    assert results[2].digest != results[0].digest


def test_who_counts_calls_where_setup_cleared_once_is_found_before_it_shows(
    bench: DeviceBench,
) -> None:
    with_lock(bench, "later", "*lock += 1", works="*lock < 100")
    results, rows = bench.check("later", (0, 1))
    assert is_twice(bench, results, rows)
    assert results[-1].drifted == ("lock",)


def test_what_turns_to_and_fro_from_call_to_call_has_been_seen_both_ways(
    bench: DeviceBench,
) -> None:
    with_lock(bench, "sense", "*lock ^= 1", works="(*lock == 0 || *lock == 1)")
    results, rows = bench.check("sense", (0, 1))
    assert is_twice(bench, results, rows)
    assert not any(r.drifted for r in results)


def test_remembered_results_are_of_no_use_while_timed(bench: DeviceBench) -> None:
    line = (
        "    bool known = false;\n    for (int k = 0; k < seen; ++k) known |= key[k] == x[0];\n"
        "    if (i < n && !known) y[i] = 2 * x[i];\n"
    )
    declared = "__device__ float key[64];\n__device__ int seen;\n"
    with_note(bench, "bad", declared, line, "if (seen < 64) key[seen++] = x[0];")
    block, rows = bench.block([["bad"]] * 4, {"bad": 3})
    assert is_twice(bench, block.sides[0].results, rows)


STACK = (
    "    volatile unsigned deep[64];\n    unsigned seen = deep[n % 64];\n"
    "    deep[n % 64] = 0x51515151u;\n"
    "    if (i < n) y[i] = seen == 0x51515151u ? 0.0f : 2 * x[i];\n}\n"
)


def has_local_memory(bench: DeviceBench) -> None:
    if bench.twins is not None:
        pytest.skip("the pretended GPU has the stacks of its fibers in place of local memory")


def test_local_memory_holds_nothing_of_an_earlier_launch(bench: DeviceBench) -> None:
    has_local_memory(bench)
    bench.load("stack", HEAD + INDEX + STACK)
    results, rows = bench.check("stack", (0, 1, 0))
    assert is_twice(bench, results, rows)
    block, rows = bench.block([["stack"]] * 4, {"stack": 1})
    assert is_twice(bench, block.sides[0].results, rows)


def test_large_local_memory_is_overwritten_as_well(bench: DeviceBench) -> None:
    has_local_memory(bench)
    bench.load("deep", HEAD + INDEX + STACK.replace("64", "3000"))
    results, rows = bench.check("deep", (0, 1, 0))
    assert is_twice(bench, results, rows)
