"""What the Triton moves write computes the same, and compiles for an H100."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from triton_moves import chain, loaded

from kernelwright.runners.builder import Builder
from kernelwright.runners.devices import PROFILES
from kernelwright.runners.interpreter import InterpreterRunner, interpreter_missing, logic_check
from kernelwright.runners.model import Variant
from kernelwright.runners.normalise import source_key
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.specs.files import LoadedKernel
from kernelwright.runners.toolchains import BuildRequest, Shape
from kernelwright.search.moves.base import State

pytestmark = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
DEVICE = PROFILES[0][0]
CHAINS = (
    ("gemm_triton", "grouped_program_order", "tensor_descriptors:1", "persistent_programs:1"),
    ("gemm_triton", "persistent_programs", "grouped_program_order", "tensor_descriptors"),
    ("gemm_triton", "tensor_descriptors", "matmul_tiles", "loop_stages", "dot_operands"),
    ("tutorial", "dot_operands:1", "grouped_program_order", "tensor_descriptors:1"),
    ("tutorial", "persistent_programs:1", "grouped_program_order", "dot_operands"),
    ("triton_matmul", "tensor_descriptors:1", "matmul_tiles:1"),
    ("batched_gemm_triton", "tensor_descriptors:1", "persistent_programs"),
    ("softmax_triton", "one_block_a_row", "base_two_exponentials", "persistent_programs:1"),
    ("softmax_triton", "loop_stages", "cache_policies:2"),
    ("layernorm_triton", "unrolled_loops:1", "cache_policies"),
    ("layernorm_triton", "one_block_a_row", "cache_policies:3"),
    ("rmsnorm_triton", "one_block_a_row"),
    ("argmax_triton", "one_block_a_row"),
    ("scan_triton", "one_block_a_row", "persistent_programs"),
    ("scan_triton", "one_block_a_row:2"),
    ("argmax_triton", "one_block_a_row:1"),
    ("scan_triton", "blocks_at_launch"),
    ("argmax_triton", "blocks_at_launch:1", "loop_stages"),
    ("softmax_triton", "blocks_at_launch", "base_two_exponentials"),
    ("transpose_triton", "persistent_programs", "cache_policies:1"),
    ("stencil_triton", "persistent_programs:1"),
    ("stencil_triton", "several_rows"),
    ("stencil_triton", "several_rows:3", "persistent_programs", "cache_policies"),
    ("histogram_triton", "block_atomics:1"),
    ("histogram_triton", "block_atomics:4"),
    ("sum", "block_atomics"),
    ("tutorial", "whole_blocks", "tensor_descriptors"),
    ("products", "dot_products", "dot_operands"),
    ("gemm_triton", "whole_blocks", "persistent_programs"),
    ("transpose_triton", "whole_blocks"),
)
BUILT = (
    ("gemm_triton", "grouped_program_order", "tensor_descriptors:1", "persistent_programs:1"),
    ("gemm_triton", "tensor_descriptors", "loop_stages"),
    ("softmax_triton", "one_block_a_row"),
    ("layernorm_triton", "unrolled_loops", "cache_policies:2"),
    ("scan_triton", "loop_stages", "cache_policies:1"),
    ("histogram_triton", "block_atomics:1"),
    ("histogram_triton", "block_atomics:4"),
    ("stencil_triton", "several_rows:2"),
    ("scan_triton", "one_block_a_row:2"),
    ("scan_triton", "blocks_at_launch"),
)
ids = "-".join


@dataclass(frozen=True)
class Bench:
    """Started once for all tests: candidates run in forks of their own."""

    runner: InterpreterRunner
    oracle: Oracle
    builder: Builder
    folder: Path


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    folder = tmp_path_factory.mktemp("triton-moves")
    builder = Builder(folder / "modules", folder / "scratch")
    made = Bench(InterpreterRunner(folder), Oracle(folder), builder, folder)
    yield made
    made.runner.close()
    made.oracle.close()
    builder.close()


def variant(kernel: LoadedKernel, found: State, **parameters: int) -> Variant:
    base = kernel.baseline()
    declared = {n: v for n, v in found.parameters.items() if n in base.parameters}
    changed = {"source": found.source, "source_key": source_key(found.source, "triton")}
    chosen = {**base.parameters, **declared, **parameters}
    return base.model_copy(update=changed | {"parameters": chosen})


DESCRIBED = tuple(c for c in CHAINS if any("descriptors" in step for step in c))
"""these take TMA at sizes whose rows are multiples of 16 bytes, and plain loads at others"""

WHOLE = tuple(c for c in CHAINS if "whole_blocks" in c)
"""these have no masks where sizes are multiples of 32, as long as the blocks are here"""


@pytest.mark.parametrize(
    ("steps", "multiple_of"),
    [*((c, 1) for c in CHAINS), *((c, 8) for c in DESCRIBED), *((c, 32) for c in WHOLE)],
    ids=lambda value: ids(value) if isinstance(value, tuple) else f"of_{value}",  # pyright: ignore
)
def test_moves_keep_the_results(bench: Bench, steps: tuple[str, ...], multiple_of: int) -> None:
    found, kernel = chain(*steps), loaded(steps[0], bench.folder, multiple_of)
    bench.oracle.open(kernel)
    small = {p: 32 for p in kernel.spec.parameters if p.startswith("BLOCK_")}
    checked = logic_check(
        kernel,
        variant(kernel, found, **small),
        DEVICE,
        runner=bench.runner,
        oracle=bench.oracle,
        timeout_s=60.0,
    )
    assert checked.outcome == "passed", f"{checked.message}\n{found.source}"


@pytest.mark.parametrize("steps", BUILT, ids=ids)
def test_what_moves_write_compiles_for_an_h100(bench: Bench, steps: tuple[str, ...]) -> None:
    found, kernel = chain(*steps), loaded(steps[0], bench.folder)
    sizes = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 64}
    large = {n: v for n, v in sizes.items() if n in kernel.spec.parameters}
    outcome = bench.builder.build(
        BuildRequest(
            kernel=kernel,
            variant=variant(kernel, found, **large),
            shapes=tuple(Shape(label=w.name, symbols=w.symbols) for w in kernel.spec.workloads[:1]),
            device=DEVICE,
        )
    )
    assert outcome.artifact is not None, f"{outcome.message}\n{found.source}"
    assert outcome.facts is not None and not outcome.facts.spill_bytes


@pytest.mark.parametrize(
    ("move", "main", "ragged"), [("one_block_a_row:1", 16, 8), ("blocks_at_launch", 8, 2)]
)
def test_warps_of_a_row_are_those_of_each_launch(
    bench: Bench, move: str, main: int, ragged: int
) -> None:
    found, kernel = chain("argmax_triton", move), loaded("argmax_triton", bench.folder)
    shapes = tuple(Shape(label=w.name, symbols=w.symbols) for w in kernel.spec.workloads)
    outcome = bench.builder.build(
        BuildRequest(
            kernel=kernel,
            variant=variant(kernel, found),
            shapes=shapes,
            device=DEVICE,
        )
    )
    assert outcome.artifact is not None, outcome.message
    threads = {name: p.kernels[0].block[0] for name, p in outcome.artifact.plans.items()}
    assert threads == {"main": main * 32, "ragged": ragged * 32}
