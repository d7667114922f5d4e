"""The device runner on a GPU, real or pretended: results, whatever a kernel may do wrong, times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_kernels import (
    CONTRACT,
    HEAD,
    INDEX,
    RIGHT,
    THREADS,
    DeviceBench,
    Gpu,
    N,
    integer,
    is_twice,
    launch,
    pointer,
)

GRID = -(-N // THREADS)
IF = "    if (i < n) y[i] = 2 * x[i];\n"


def test_a_right_kernel_is_right_on_every_seed_and_equal_bits_have_equal_digests(
    bench: DeviceBench,
) -> None:
    bench.load("a", RIGHT)
    bench.load("b", RIGHT.replace("2 * x[i]", "x[i] + x[i]"))
    results, rows = bench.check("a", (0, 1, 0))
    others, _ = bench.check("b", (0, 1, 0))
    assert is_twice(bench, results, rows)
    assert results[2].stored is None
    assert [r.digest for r in results] == [r.digest for r in others]
    assert results[0].digest != results[1].digest


def test_barely_aligned_buffers_are_aligned_as_promised_and_no_better(bench: DeviceBench) -> None:
    bench.load("a", HEAD + INDEX + "if (i < n) y[i] = 2 * x[i] + ((size_t)x % 32 == 0);\n}\n")
    results, rows = bench.check("a", placement="barely")
    assert is_twice(bench, results, rows)
    _, better = bench.check("a")
    assert better[0][0] == 2 * bench.inputs[0]["x"][0] + 1


@pytest.mark.parametrize("put_back", ["before[1]", "0xc3c3c3c3u"])
def test_a_guard_band_is_not_put_back_by_what_lies_beside_it_or_by_a_known_byte(
    bench: DeviceBench, put_back: str
) -> None:
    borrows = (
        "    if (i == 0) { volatile unsigned* before = (volatile unsigned*)(y + n);"
        f" before[0] = 1; before[0] = {put_back}; }}\n"
    )
    bench.load("bad", HEAD + INDEX + IF + borrows + "}\n")
    results, _ = bench.check("bad")
    assert [r.overrun for r in results] == ["byte 1 behind the end of `y`"] * 2
    assert bench.works()


@pytest.mark.parametrize(
    ("where", "words"),
    [("y[n]", "byte 1 behind the end of `y`"), ("y[-1]", "byte 1 before the start of `y`")],
)
def test_a_write_beside_a_buffer_is_found_and_placed(
    bench: DeviceBench, where: str, words: str
) -> None:
    bench.load("bad", HEAD + INDEX + IF + f"    if (i == 0) {where} = 1;\n}}\n")
    results, _ = bench.check("bad")
    assert [r.overrun for r in results] == [words, words]
    assert bench.works()


def test_a_write_behind_a_scratch_buffer_is_found(bench: DeviceBench) -> None:
    source = 'extern "C" __global__ void twice(float* x, float* y, int n, int* s) {\n'
    params = (pointer("x"), pointer("y"), integer("n", N), pointer("s"))
    bench.load(
        "bad",
        source + INDEX + IF + "    if (i == 0) s[10] = 1;\n}\n",
        scratch=[("s", 40)],
        steps=[launch("twice", GRID, *params)],
    )
    results, _ = bench.check("bad")
    assert results[0].overrun == "byte 1 behind the end of `s`"


def test_a_changed_input_is_found(bench: DeviceBench) -> None:
    bench.load("bad", HEAD + INDEX + IF + "    if (i == 7) x[7] += 1;\n}\n")
    results, _ = bench.check("bad")
    assert [r.changed_inputs for r in results] == [("x",), ("x",)]
    assert bench.works()


def test_outputs_left_unwritten_hold_the_poison(bench: DeviceBench) -> None:
    bench.load("bad", HEAD + INDEX + "    if (i < n - 1) y[i] = 2 * x[i];\n}\n")
    results, rows = bench.check("bad")
    assert results[0].digest != results[1].digest
    assert np.isnan(rows[0][N - 1])
    assert rows[1][N - 1].tobytes() == b"\xa5" * 4


FAULTS = {
    "an address that is not there": (
        "    if (i == 0) *(float*)(0x10 + (size_t)(y == x)) = 1;\n",
        "illegal address",
    ),
    "an address far away": ("    if (i == 0) y[1ll << 40] = 1;\n", "illegal address"),
    "a misaligned address": (
        "    if (i == 0) *(float4*)((char*)y + 4) = make_float4(0, 0, 0, 0);\n",
        "misaligned address",
    ),
    "a trap": ('    if (i == 0) asm volatile("trap;");\n', ""),
    "a failed assert": ("    assert(i != 3);\n", "an assert() in the kernel failed"),
    "a jump to nowhere": (
        "    if (i == 0) ((void (*)(void))(size_t)(n * 12345))();\n",
        "",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_kernel_that_breaks_is_named_and_the_next_one_is_right(
    bench: DeviceBench, name: str
) -> None:
    line, words = FAULTS[name]
    bench.load("bad", HEAD + INDEX + IF + line + "}\n")
    results, _ = bench.check("bad")
    print(name, "->", results[-1].fault)
    assert len(results) == 1
    assert results[0].fault_kind == "crashed"
    assert results[0].fault.startswith(words)
    assert "kernel `twice`" in results[0].fault
    assert bench.works()


def test_an_endless_loop_ends_at_the_time_limit_and_the_next_kernel_is_right(
    bench: DeviceBench,
) -> None:
    bench.load("bad", HEAD + INDEX + IF + "    while (((volatile float*)x)[0] == x[0]) ;\n}\n")
    results, _ = bench.check("bad", timeout_s=0.5)
    assert [r.fault_kind for r in results] == ["timed_out"]
    assert "0.5 s" in results[0].fault
    assert bench.works()


def test_the_step_that_breaks_is_named(bench: DeviceBench) -> None:
    second = HEAD.replace("twice", "second") + INDEX + "    if (i == 0) y[1ll << 40] = 1;\n}\n"
    params = (pointer("x"), pointer("y"), integer("n", N))
    bench.load(
        "bad",
        RIGHT + second,
        kernels={"twice": {}, "second": {}},
        steps=[launch("twice", GRID, *params), launch("second", GRID, *params)],
    )
    results, _ = bench.check("bad")
    assert "step 1, kernel `second`" in results[0].fault
    assert bench.works()


REFUSED = {
    "too much shared memory": ({"twice": {"shared": 1 << 20}}, "dynamic shared memory"),
    "a block that is too large": ({"twice": {"block": [1024, 1, 1]}}, "registers allow"),
    "an entry that is not there": ({"twice": {"entry": "thrice"}}, "it has `twice`"),
    "a cooperative grid that does not fit": ({"twice": {"cooperative": True}}, "fit at once"),
    "a cluster that does not divide the grid": ({"twice": {"cluster": [7, 1, 1]}}, "cluster"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_launched_is_refused_in_words(bench: DeviceBench, name: str) -> None:
    kernels, words = REFUSED[name]
    source = RIGHT.replace("void twice", "void __launch_bounds__(512) twice")
    params = (pointer("x"), pointer("y"), integer("n", N))
    steps = [launch("twice", 100_000, *params)]
    bench.load("bad", source, kernels=kernels, steps=steps)
    results, _ = bench.check("bad")
    print(name, "->", results[0].fault)
    assert results[0].fault_kind == "refused"
    assert words in results[0].fault
    assert bench.works()


def test_parameters_that_the_machine_code_does_not_have_are_refused(bench: DeviceBench) -> None:
    bench.load("bad", RIGHT, steps=[launch("twice", GRID, pointer("x"), pointer("y"))])
    results, _ = bench.check("bad")
    assert "(8, 8, 4)" in results[0].fault
    assert "(8, 8)" in results[0].fault


def test_machine_code_for_another_gpu_is_refused(bench: DeviceBench, tmp_path: Path) -> None:
    bench.load("bad", RIGHT)
    other = "sm_80" if not bench.arch.startswith("sm_8") else "sm_90"
    strange = DeviceBench(bench.runner, tmp_path, other, bench.bound, bench.twins, bench.inputs)
    strange.load("bad", RIGHT)
    results, _ = bench.check("bad")
    assert "another GPU" in results[0].fault


def test_a_plan_that_needs_more_memory_than_there_is_says_so(bench: DeviceBench) -> None:
    bench.load("bad", RIGHT, scratch=[("huge", 1 << 40)])
    results, _ = bench.check("bad")
    assert results[0].fault_kind == "no_room"
    assert "1024.00 GiB" in results[0].fault
    assert bench.works()


def test_a_refusal_while_timed_is_that_of_the_side_that_asks_for_most(bench: DeviceBench) -> None:
    bench.load("small", RIGHT)
    bench.load("large", RIGHT, scratch=[("s", 1 << 42)])
    for order in (["small", "large"], ["large", "small"]):
        block, _ = bench.block([order])
        assert [(s.variant, s.fault_kind) for s in block.sides] == [("large", "no_room")]
        assert "memory" in block.sides[0].fault


def test_a_paused_runner_starts_again_with_all_that_it_knew(bench: DeviceBench) -> None:
    bench.load("a", RIGHT)
    bench.runner.pause()
    assert is_twice(bench, *bench.check("a"))


def test_fills_scratch_constants_and_addresses_in_constants_reach_the_kernel(
    bench: DeviceBench, tmp_path: Path
) -> None:
    table = tmp_path / "table.bin"
    table.write_bytes(bytes(16))
    source = (
        'extern "C" __global__ void first(float** t, int n) {\n'
        + INDEX
        + "    if (i < n) t[1][i] += 2 * t[0][i];\n}\n"
        'extern "C" __global__ void second(float* s, float* y, int n) {\n'
        + INDEX
        + "    if (i < n) y[i] = s[i] - 1;\n}\n"
    )
    bench.load(
        "a",
        source,
        kernels={"first": {}, "second": {"pdl": True}},
        files={"t": table},
        buffers=[
            {"name": "s", "role": "scratch", "nbytes": 4 * N, "align": 256},
            {
                "name": "t",
                "role": "const",
                "nbytes": 16,
                "align": 256,
                "sha256": "t",
                "pointers": [{"at": 0, "buffer": "x"}, {"at": 8, "buffer": "s"}],
            },
        ],
        steps=[
            {"fill": "s", "offset": 0, "nbytes": 4 * N, "pattern": "0000803f"},
            launch("first", GRID, pointer("t"), integer("n", N)),
            launch("second", GRID, pointer("s"), pointer("y"), integer("n", N)),
        ],
    )
    results, rows = bench.check("a")
    assert not any(r.fault or r.overrun or r.changed_inputs for r in results)
    assert np.allclose(rows[0][:N], 2 * bench.inputs[0]["x"], atol=1e-6)
    block, _ = bench.block([["a"]] * 2, {"a": 3})
    assert len(block.sides[0].nanoseconds) == 2
    known = {r.digest for r in results}
    assert {r.digest for r in block.sides[0].results if r.slot == 1} <= known


STRIDED: dict[str, Any] = {
    "arguments": [
        {"name": "x", "role": "input", "dtype": "float32", "shape": [30, 40]},
        {"name": "y", "role": "output", "dtype": "float32", "shape": [30, 40], "strides": [64, 1]},
    ]
}
COPY = (
    'extern "C" __global__ void twice(float* x, float* y) {\n'
    "    y[blockIdx.x * 64 + threadIdx.x] = 2 * x[blockIdx.x * 40 + threadIdx.x];\n"
)


IN_PLACE: dict[str, Any] = {
    "arguments": [
        {"name": "x", "role": "inout", "dtype": "float32", "shape": [30, 40], "strides": [64, 1]},
    ]
}


def test_what_lies_between_the_rows_of_an_array_changed_in_place_is_watched(
    gpu: Gpu, tmp_path: Path
) -> None:
    bench = DeviceBench.of(gpu.device, tmp_path, IN_PLACE, {"n": 0}, twins=gpu.twins)
    head = 'extern "C" __global__ void twice(float* x) {\n    const int i = blockIdx.x * 64'
    changes: dict[str, Any] = {
        "kernels": {"twice": {"block": [40, 1, 1]}},
        "steps": [launch("twice", 30, pointer("x"))],
    }
    bench.load("a", f"{head} + threadIdx.x;\n    x[i] = 2 * x[i];\n}}\n", **changes)
    results, rows = bench.check("a", (0, 1, 0))
    wanted = 2 * np.resize(bench.inputs[0]["x"], 30 * 64).reshape(30, 64)[:, :40]
    assert np.array_equal(np.resize(rows[0], 30 * 64).reshape(30, 64)[:, :40], wanted)
    assert not any(r.touched_gaps or r.overrun for r in results)
    assert results[0].digest == results[2].digest
    changes["kernels"] = {"twice": {"block": [64, 1, 1]}}
    source = f"{head} + threadIdx.x;\n    if (i < 29 * 64 + 40) x[i] = 2 * x[i];\n}}\n"
    bench.load("bad", source, **changes)
    for placement in ("pages", "end"):
        results, _ = bench.check("bad", placement=placement)
        assert [r.touched_gaps for r in results] == [("x",), ("x",)]
        assert not any(r.overrun or r.fault for r in results)
    block, _ = bench.block([["a", "bad"]] * 2, {"a": 2, "bad": 2}, given="late")
    touched = {s.variant: {r.touched_gaps for r in s.results} for s in block.sides}
    assert touched == {"a": {()}, "bad": {("x",)}}
    bench.runner.close()


def test_strided_outputs_are_read_where_they_lie_and_gaps_are_watched(
    gpu: Gpu, tmp_path: Path
) -> None:
    bench = DeviceBench.of(gpu.device, tmp_path, STRIDED, {"n": 0}, twins=gpu.twins)
    steps = [launch("twice", 30, pointer("x"), pointer("y"))]
    kernels = {"twice": {"block": [40, 1, 1]}}
    bench.load("a", COPY + "}\n", kernels=kernels, steps=steps)
    results, rows = bench.check("a")
    wanted = 2 * bench.inputs[0]["x"].reshape(30, 40)
    flat = np.resize(rows[0], 30 * 64).reshape(30, 64)
    assert np.array_equal(flat[:, :40], wanted)
    assert not any(r.touched_gaps or r.overrun for r in results)
    bench.load("bad", COPY + "    y[40] = 1;\n}\n", kernels=kernels, steps=steps)
    results, _ = bench.check("bad")
    assert [r.touched_gaps for r in results] == [("y",), ("y",)]
    scratch = "    s[threadIdx.x * 30 + blockIdx.x] = 2 * x[blockIdx.x * 40 + threadIdx.x];\n}\n"
    bench.load(
        "transposed",
        'extern "C" __global__ void twice(float* x, float* s) {\n' + scratch,
        kernels=kernels,
        steps=[launch("twice", 30, pointer("x"), pointer("s"))],
        scratch=[("s", 4800)],
        outputs=[
            {
                "name": "y",
                "buffer": "s",
                "dtype": "float32",
                "shape": [30, 40],
                "strides": [1, 30],
            }
        ],
    )
    found, _ = bench.check("transposed")
    first, _ = bench.check("a")
    assert [r.digest for r in found] == [r.digest for r in first]
    bench.runner.close()


def test_a_block_times_every_side_and_rechecks_its_outputs(bench: DeviceBench) -> None:
    bench.load("a", RIGHT)
    bench.load("b", RIGHT)
    known = {str(r.slot): (r.digest,) for r in bench.check("a", (0, 1, 2, 3))[0]}
    block, rows = bench.block([["a", "b"], ["b", "a"]], {"a": 6, "b": 6}, known)
    assert [(s.variant, len(s.nanoseconds), s.fault) for s in block.sides] == [
        ("a", 2, ""),
        ("b", 2, ""),
    ]
    assert all(ns > 0 for s in block.sides for ns in s.nanoseconds)
    assert not rows
    for side in block.sides:
        assert {r.slot for r in side.results} == {1, 2, 3}
        assert all(r.digest in known[str(r.slot)] for r in side.results)
        assert not any(r.overrun or r.changed_inputs for r in side.results)
    print(block.conditions)


def test_what_a_kernel_computes_only_while_timed_is_handed_over(bench: DeviceBench) -> None:
    bench.load("a", RIGHT)
    block, rows = bench.block([["a"]], {"a": 3})
    results = block.sides[0].results
    assert len(rows) == 3
    assert is_twice(bench, results, rows)


def test_a_side_that_breaks_in_a_block_is_named(bench: DeviceBench) -> None:
    bench.load("a", RIGHT)
    bench.load("bad", HEAD + INDEX + "    y[1ll << 40] = 1;\n}\n")
    block, _ = bench.block([["a", "bad"]])
    assert [s.variant for s in block.sides] == ["bad"]
    assert block.sides[0].fault_kind == "crashed"
    assert bench.works()


def test_a_large_copy_has_a_bandwidth(bench: DeviceBench) -> None:
    least = 1e10 if bench.twins is None else 0  # a pretended GPU has the memory of the host
    assert bench.runner.copy_bandwidth() > least


def test_a_contract_of_inouts_is_restored_before_every_run(gpu: Gpu, tmp_path: Path) -> None:
    arguments = [{**CONTRACT["arguments"][0], "role": "inout"}, CONTRACT["arguments"][2]]
    bench = DeviceBench.of(gpu.device, tmp_path, {"arguments": arguments}, twins=gpu.twins)
    bench.load(
        "a",
        'extern "C" __global__ void twice(float* x, int n) {\n'
        + INDEX
        + "    if (i < n) x[i] *= 2;\n}\n",
        steps=[launch("twice", GRID, pointer("x"), integer("n", N))],
    )
    results, rows = bench.check("a", (0, 0))
    assert results[0].digest == results[1].digest
    assert is_twice(bench, results, rows)
    block, timed = bench.block([["a"]] * 3, {"a": 3})
    assert is_twice(bench, block.sides[0].results, timed)
    bench.runner.close()
