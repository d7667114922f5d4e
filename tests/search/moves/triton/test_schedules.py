"""Triton that schedules write from a lift computes what the kernel did, and compiles for a GPU."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from triton_bench import DEVICE, TritonBench, variant
from triton_moves import state

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
Script = Callable[[str], Any]


def _loaded(script: Script, bench: TritonBench, name: str) -> LoadedKernel:
    kernel = script("triton_plain_kernels").DEVELOPED[name]
    return load_data(kernel.spec(name), bench.folder, Roots([bench.folder]))


def _start(kernel: LoadedKernel) -> State:
    text = kernel.spec.kernel.source_code
    assert text is not None
    return State("triton", text, {}, BuildOptions(), kernel.spec)


def _candidates(move: Move, start: State) -> tuple[Candidate, ...]:
    found = move.propose(start)
    assert not isinstance(found, NotApplicable), found.reason
    return found


@pytest.mark.parametrize("name", WRITES)
def test_what_a_schedule_writes_computes_the_same_and_compiles(
    script: Script, bench: TritonBench, name: str
) -> None:
    kernel = _loaded(script, bench, name)
    start = _start(kernel)
    found = _candidates(BY_ID[WRITES[name]], start)
    bench.oracle.open(kernel)
    for each in found:
        bench.must_pass(kernel, replace(start, source=each.source))
    (work,) = kernel.spec.workloads
    outcome = bench.builder.build(
        BuildRequest(
            kernel=kernel,
            variant=variant(kernel, replace(start, source=found[0].source)),
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
    again = replace(start, source=_candidates(BY_ID[WRITES[name]], start)[0].source)
    for move in MOVES:
        assert move.propose(again) == NotApplicable("a schedule has written it")


def test_a_launch_of_the_source_gets_a_grid_of_the_new_blocks(
    script: Script, bench: TritonBench
) -> None:
    start = _start(_loaded(script, bench, "one_element_a_program"))
    text = _candidates(BY_ID["elementwise_blocks"], start)[0].source or ""
    call = 'squash_kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, n)'
    assert call in text


def test_a_launch_of_the_spec_keeps_its_grid_and_its_programs_share_the_tiles(
    script: Script, bench: TritonBench
) -> None:
    start = _start(_loaded(script, bench, "column_sum_by_columns"))
    text = _candidates(BY_ID["column_blocks"], start)[0].source or ""
    loop = "range(tl.program_id(0), tl.cdiv(cols, BLOCK_COLUMNS), tl.num_programs(0))"
    assert f"for tile in {loop}:" in text
    assert "def column_sum(x, y, rows, cols, BLOCK" in text


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
        ("triton_matmul_autotuned", "it chooses among configurations of its own"),
        ("triton_reduction", "the source has several kernels"),
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
