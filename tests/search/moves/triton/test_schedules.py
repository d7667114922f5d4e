"""Triton that schedules write from a lift computes what the kernel did, and compiles for a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tiers import cases
from triton_bench import DEVICE, TritonBench, variant
from triton_moves import applied, state

from kernelwright.runners.interpreter.runner import interpreter_missing
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.runners.specs.spec import Symbol
from kernelwright.runners.toolchains import BuildRequest, Shape
from kernelwright.search.moves.shared.base import Move, NotApplicable, State
from kernelwright.search.moves.triton.schedules import MOVES
from kernelwright.search.moves.triton.schedules.parts.requests import requests_of

pytestmark = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
BY_ID = {move.id: move for move in MOVES}
WRITES = {
    "row_sum_by_scalars": "row_blocks",
    "one_element_a_program": "elementwise_blocks",
    "column_sum_by_columns": "column_blocks",
    "product_by_sums": "dot_blocks",
    "softmax_in_three_passes": "row_blocks",
    "transpose_by_places": "turned_blocks",
}
RUN = {"row_blocks", "dot_blocks"}
"""schedules whose kernels every run of the tests computes: by rows, and products"""
Script = Callable[[str], Any]


def _loaded(script: Script, bench: TritonBench, name: str) -> LoadedKernel:
    kernel = script("triton_plain_kernels").DEVELOPED[name]
    return load_data(kernel.spec(name), bench.folder, Roots([bench.folder]))


BY_SPEC: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "row_sum_by_scalars": ("row_sum", {"grid": ["rows"], "num_warps": 2}, ()),
    "one_element_a_program": ("squash_kernel", {"grid": ["n"]}, ("n",)),
    "column_sum_by_columns": (
        "column_sum",
        {"grid": ["cols"], "constexprs": {"BLOCK": 128}, "num_stages": 2},
        (),
    ),
    "product_by_sums": (
        "product_kernel",
        {"grid": ["m", "cdiv(n, BLOCK)"], "constexprs": {"BLOCK": 64}},
        ("m", "n", "k"),
    ),
    "transpose_by_places": (
        "turn",
        {"grid": ["cdiv(rows * cols, BLOCK)"], "constexprs": {"BLOCK": 256}},
        ("rows", "cols"),
    ),
}
"""entry, launch of the spec, sizes that the kernel is given beside what its spec says"""
NEW_LAUNCHES: dict[str, dict[str, Any]] = {
    "row_sum_by_scalars": {
        "grid": ["cdiv(rows, ROWS)"],
        "constexprs": {"rows": "rows"},
        "num_warps": 2,
    },
    "one_element_a_program": {"grid": ["cdiv(n, BLOCK)"]},
    "column_sum_by_columns": {"grid": ["cdiv(cols, BLOCK_COLUMNS)"], "num_stages": 2},
    "product_by_sums": {"grid": ["cdiv(m, BLOCK_M) * cdiv(n, BLOCK_N)"]},
    "transpose_by_places": {"grid": ["cdiv(cols, BLOCK_ROWS) * cdiv(rows, BLOCK_COLUMNS)"]},
}


def _by_spec(script: Script, bench: TritonBench, name: str) -> LoadedKernel:
    entry, launch, sizes = BY_SPEC[name]
    data = script("triton_plain_kernels").DEVELOPED[name].spec(name)
    data["kernel"] |= {"metadata": {"kernel_name": entry}, "launch": launch}
    data["io"]["arguments"] += [
        {"name": size, "role": "scalar", "dtype": "int32", "value": size} for size in sizes
    ]
    truth: str = data["reference"]["source_code"]
    if sizes:
        data["reference"] = {"source_code": truth.replace("):", ", **_):", 1)}
    return load_data(data, bench.folder, Roots([bench.folder]))


def _start(kernel: LoadedKernel) -> State:
    text = kernel.spec.kernel.source_code
    assert text is not None
    return State("triton", text, {}, BuildOptions(), kernel.spec)


def _candidates(move: Move, start: State) -> tuple[Candidate, ...]:
    found = move.propose(start)
    assert not isinstance(found, NotApplicable), found.reason
    return found


@cases(
    "name",
    WRITES,
    why="further kernels and schedules, which have files of their own as well",
    kinds=lambda name: {WRITES[name]} & RUN,
)
def test_what_a_schedule_writes_computes_the_same_and_compiles(
    script: Script, bench: TritonBench, name: str
) -> None:
    kernel = _loaded(script, bench, name)
    start = _start(kernel)
    found = _candidates(BY_ID[WRITES[name]], start)
    bench.oracle.open(kernel)
    for each in found:
        bench.must_pass(kernel, applied(start, each))
    (work,) = kernel.spec.workloads
    outcome = bench.builder.build(
        BuildRequest(
            kernel=kernel,
            variant=variant(kernel, applied(start, found[0])),
            shapes=(Shape(label=work.name, symbols=work.symbols),),
            device=DEVICE,
        )
    )
    assert outcome.artifact is not None, f"{outcome.message}\n{found[0].source}"
    assert outcome.facts is not None and not outcome.facts.spill_bytes


@pytest.mark.parametrize("name", WRITES)
def test_one_schedule_writes_a_kernel_and_the_others_say_why_not(
    script: Script, bench: TritonBench, name: str
) -> None:
    start = _start(_loaded(script, bench, name))
    answers = {move.id: move.propose(start) for move in MOVES}
    written = [n for n, each in answers.items() if not isinstance(each, NotApplicable)]
    assert written == [WRITES[name]]
    again = applied(start, _candidates(BY_ID[WRITES[name]], start)[0])
    for move in MOVES:
        assert move.propose(again) == NotApplicable("a schedule has written it")


def test_a_launch_of_the_source_gets_a_grid_of_the_new_blocks(
    script: Script, bench: TritonBench
) -> None:
    start = _start(_loaded(script, bench, "one_element_a_program"))
    text = _candidates(BY_ID["elementwise_blocks"], start)[0].source or ""
    call = 'squash_kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, n)'
    assert call in text


@cases(
    "name",
    BY_SPEC,
    why="further kernels of a launch that the spec has",
)
def test_a_launch_of_the_spec_gets_a_program_a_tile_and_no_constants_that_are_gone(
    script: Script, bench: TritonBench, name: str
) -> None:
    kernel = _by_spec(script, bench, name)
    start = _start(kernel)
    found = _candidates(BY_ID[WRITES[name]], start)
    assert found[0].plan == NEW_LAUNCHES[name]
    bench.oracle.open(kernel)
    for each in found:
        bench.must_pass(kernel, applied(start, each))


def test_the_grid_that_a_schedule_gives_is_the_one_that_is_captured(
    script: Script, bench: TritonBench
) -> None:
    kernel = _by_spec(script, bench, "product_by_sums")
    start = _start(kernel)
    outcome = bench.builder.build(
        BuildRequest(
            kernel=kernel,
            variant=variant(kernel, applied(start, _candidates(BY_ID["dot_blocks"], start)[0])),
            shapes=(Shape(label="some", symbols={"m": 512, "n": 65, "k": 32}),),
            device=DEVICE,
        )
    )
    assert outcome.artifact is not None, outcome.message
    assert outcome.artifact.plans["some"].launches[0].grid == (8 * 2, 1, 1)


def test_a_value_that_the_old_kernel_had_alone_is_handed_to_the_new_one(
    script: Script, bench: TritonBench
) -> None:
    kernel = _by_spec(script, bench, "one_element_a_program")
    start = _start(kernel)
    text = start.source.replace("x, y, n):", "x, y, n, one=1.0):", 1).replace("(1.0 +", "(one +")
    (first, *_) = _candidates(BY_ID["elementwise_blocks"], replace(start, source=text))
    assert first.plan == {"grid": ["cdiv(n, BLOCK)"], "constexprs": {"one": 1.0}}
    bench.oracle.open(kernel)
    bench.must_pass(kernel, applied(start, first))


def test_the_launch_of_a_plan_is_the_one_that_is_read(script: Script, bench: TritonBench) -> None:
    """Not the spec's, which this source would not do all its work with."""
    kernel = _by_spec(script, bench, "one_element_a_program")
    pairs = _start(kernel).source.replace("at = tl.program_id(0)", "at = tl.program_id(1)", 1)
    start = replace(_start(kernel), source=pairs, plan={"grid": [1, "n"]})
    assert [each.launch for each in requests_of(start)] == [{"grid": [1, "n"]}] * 3
    assert _candidates(BY_ID["elementwise_blocks"], start)[0].plan == {"grid": ["cdiv(n, BLOCK)"]}


def test_products_of_float32_are_in_tf32_only_where_the_contract_allows_it(
    script: Script, bench: TritonBench
) -> None:
    start = _start(_loaded(script, bench, "product_by_sums"))
    io = start.spec.io.model_copy(update={"math": "tf32"})
    allowed = replace(start, spec=start.spec.model_copy(update={"io": io}))
    told = [_candidates(BY_ID["dot_blocks"], each)[0].source or "" for each in (start, allowed)]
    assert ['input_precision="ieee"' in each for each in told] == [True, False]
    assert ['input_precision="tf32"' in each for each in told] == [False, True]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("triton_matmul_autotuned", "it folds over many elements"),
        ("triton_reduction", "launches several kernels: "),
        ("histogram_triton", "it stores nothing, or by atomic updates"),
    ],
)
def test_what_no_schedule_writes_is_told(name: str, why: str) -> None:
    found = BY_ID["elementwise_blocks"].propose(state(name))
    assert isinstance(found, NotApplicable) and why in found.reason


def test_a_size_of_a_small_domain_has_other_values_at_other_shapes_of_a_reading() -> None:
    start = state("batched_gemm_triton")
    domains = dict(start.spec.symbols)
    domains["batch"] = Symbol(min=2, max=9)
    spec = start.spec.model_copy(update={"symbols": domains})
    read = [each.symbols["batch"] for each in requests_of(replace(start, spec=spec))]
    assert len({*read}) > 1 and all(2 <= each <= 9 for each in read)


def test_sizes_that_workloads_alone_say_are_read_at_all_of_them() -> None:
    start = state("triton_softmax")
    (first, *_), domains = start.spec.workloads, dict.fromkeys(start.spec.symbols)
    works = [first.model_copy(update={"name": f"w{n}", "symbols": {"rows": 8, "cols": size}})
             for n, size in enumerate((16, 16, 16, 32))]  # fmt: skip
    spec = start.spec.model_copy(update={"symbols": domains, "workloads": tuple(works)})
    read = [each.symbols["cols"] for each in requests_of(replace(start, spec=spec))]
    assert {*read} == {16, 32}


def test_programs_in_groups_are_read_as_the_tiles_that_they_take(bench: TritonBench) -> None:
    text = _candidates(BY_ID["dot_blocks"], state("triton_matmul"))[0].source or ""
    assert "tl.dot(a_here, b_here, total)" in text
