"""What the Triton moves write computes the same, and compiles for an H100."""

from __future__ import annotations

import pytest
from tiers import cases
from triton_bench import DEVICE, TritonBench, variant
from triton_moves import chain, loaded

from kernelwright.runners.interpreter.runner import interpreter_missing
from kernelwright.runners.toolchains import BuildRequest, Shape

pytestmark = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
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


BY_ROWS = tuple(f"{n}_triton" for n in ("argmax", "layernorm", "rmsnorm", "scan", "softmax"))
FEW_ROWS = {"rows": 19}
"""a program of these does a row or some: more of them, each interpreted, show nothing else"""

DESCRIBED = tuple(c for c in CHAINS if any("descriptors" in step for step in c))
"""these take TMA at sizes whose rows are multiples of 16 bytes, and plain loads at others"""

WHOLE = tuple(c for c in CHAINS if "whole_blocks" in c)
"""these have no masks where sizes are multiples of 32, as long as the blocks are here"""


@cases(
    ("steps", "multiple_of"),
    [*((c, 1) for c in CHAINS), *((c, 8) for c in DESCRIBED), *((c, 32) for c in WHOLE)],
    ids=lambda value: f"of_{value}" if isinstance(value, int) else ids(value),
    why="further kernels and chains, of moves that have runs of their own in files of their own",
    kinds=lambda steps, multiple_of: [multiple_of],
)
def test_moves_keep_the_results(
    bench: TritonBench, steps: tuple[str, ...], multiple_of: int
) -> None:
    few = FEW_ROWS if steps[0] in BY_ROWS and multiple_of == 1 else {}
    found, kernel = chain(*steps), loaded(steps[0], bench.folder, multiple_of, **few)
    bench.oracle.open(kernel)
    small = {p: 32 for p in kernel.spec.parameters if p.startswith("BLOCK_")}
    bench.must_pass(kernel, found, **small)


@cases(
    "steps",
    BUILT,
    ids=ids,
    why="further chains: each move is compiled in the file of its own",
)
def test_what_moves_write_compiles_for_an_h100(bench: TritonBench, steps: tuple[str, ...]) -> None:
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
    bench: TritonBench, move: str, main: int, ragged: int
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
