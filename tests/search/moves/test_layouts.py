"""What a move writes does not hang on how a source is laid out: on one line, or with a comment at
every joint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import host_kernels as hk
import numpy as np
import pytest
from cuda_moves import array, cuda_state, scalar
from cuda_states import FLAT, N
from host_harness import compiled, run
from idiom_sources import SOURCES, TENSOR
from layouts import c_on_one_line, c_with_comments, python_on_few_lines, python_with_comments
from tiers import cases
from tiled_products import TILED, product
from triton_more_kernels import OPEN
from triton_moves import SPECS, sized, state_of_file
from triton_moves import state as triton_state
from triton_plain_kernels import DEVELOPED

from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.specs.normalise import source_key
from kernelwright.search.moves import MOVES, Move, NotApplicable, State
from kernelwright.search.moves.shared.edits import Edit, edited
from kernelwright.search.moves.triton.parts.source import read

C_LAYOUTS = (c_on_one_line, c_with_comments)
PYTHON_LAYOUTS = (python_on_few_lines, python_with_comments)
SMALL = """
extern "C" __global__ void scale(const float* x, float* y, float a, int n) {
    __shared__ float tile[32][32];
    int i = blockIdx.x * 32 + threadIdx.x;
    tile[threadIdx.x][0] = i < n ? x[i] : 0.0;
    __syncthreads();
    if (i < n) y[i] = tile[threadIdx.x][0] * a + 0.5;
}
"""
CONSTANT = """
extern "C" void scale(const float* x, float* y, int n) {
    constexpr int UNROLL = 4;
    for (int i = 0; i < n; i += UNROLL) y[i] = x[i];
}
"""


def _small() -> State:
    arguments = [array("x", "input", "n"), array("y", "output", "n")]
    scalars = [scalar("a", "float32", 3.0), scalar("n")]
    return cuda_state(SMALL, "scale", [*arguments, *scalars], FLAT | {"block": [32]}, N)


def _host(entry: str) -> Callable[[], State]:
    return lambda: next(k for k in hk.KERNELS if k.entry == entry).state()


def _idiom(name: str) -> Callable[[], State]:
    return lambda: {**SOURCES, **TENSOR}[name].state()


def _triton(name: str) -> Callable[[], State]:
    assert name in SPECS
    return lambda: triton_state(name)


def _plain_triton(name: str) -> Callable[[], State]:
    def state() -> State:
        loaded = load_data({**DEVELOPED, **OPEN}[name].spec(name), Path(), Roots([Path()]))
        assert loaded.source is not None
        return State("triton", loaded.source, {}, BuildOptions(), loaded.spec)

    return state


def _file(path: str) -> Callable[[], State]:
    return lambda: state_of_file(path)


def _tiled() -> State:
    return product(TILED)


def _long_sum() -> State:
    body = "{ float s = 0; for (int i = 0; i < n; ++i) s += x[i] * x[i]; y[0] = s; }"
    return cuda_state(
        'extern "C" __global__ void f(const float* x, float* y, int n) ' + body,
        "f",
        [array("x", "input", "n"), array("y", "output", 1), scalar("n")],
        {"grid": [1], "block": [1]},
        {"n": {"max": 1 << 22}},
    )


SUM = _idiom("a sum, an atomic addition an element")
PRODUCT = _idiom("a product by one-dimensional blocks, factors the other way round")
ROWS = _idiom("mean and variance in one loop, fp16")
STENCIL = "benchmarks/kernels/stencil/{}.json"

KERNELS: Mapping[str, Callable[[], State]] = {
    "dot_blocks": _plain_triton("product_by_sums"),
    "row_blocks": _plain_triton("softmax_in_three_passes"),
    "column_blocks": _plain_triton("column_sum_by_columns"),
    "turned_blocks": _plain_triton("transpose_by_places"),
    "scan_blocks": _plain_triton("running_sums_in_blocks"),
    "elementwise_blocks": _plain_triton("one_element_a_program"),
    "dot_products": _triton("products"),
    "matmul_tiles": _triton("tutorial"),
    "dot_operands": _triton("gemm_triton"),
    "tensor_descriptors": _triton("gemm_triton"),
    "grouped_program_order": _triton("gemm_triton"),
    "persistent_programs": _triton("argmax_triton"),
    "one_block_a_row": _triton("argmax_triton"),
    "blocks_at_launch": _triton("softmax_triton"),
    "rows_of_vectors": _file(STENCIL.format("triton")),
    "tiles_of_rows": _file(STENCIL.format("triton")),
    "several_rows": _file(STENCIL.format("triton")),
    "base_two_exponentials": _triton("softmax_triton"),
    "shared_histogram": _triton("histogram_triton"),
    "block_atomics": _triton("sum"),
    "loop_stages": _triton("argmax_triton"),
    "unrolled_loops": _triton("argmax_triton"),
    "cache_policies": _triton("argmax_triton"),
    "whole_blocks": _triton("argmax_triton"),
    "divisors_of_sizes": lambda: sized("argmax_triton", cols=1000),
    "grouped_blocks": _tiled,
    "async_copies": _tiled,
    "whole_tiles": _tiled,
    "restrict_pointers": SUM,
    "vectorize_elementwise": SUM,
    "vectorize_rows": _file(STENCIL.format("cuda")),
    "coarsen_rows": _file(STENCIL.format("cuda")),
    "grid_stride": SUM,
    "streaming_accesses": _idiom("a histogram in steps of the grid"),
    "unroll_loops": PRODUCT,
    "launch_bounds": SUM,
    "pad_shared_tiles": _small,
    "warp_barriers": _small,
    "avoid_double": _small,
    "row_per_team": ROWS,
    "row_in_registers": ROWS,
    "row_scan": _idiom("exclusive running sums"),
    "sgemm_ring": PRODUCT,
    "sgemm_tiles": PRODUCT,
    "hgemm_wgmma": _idiom("fp16"),
    "sum_blocks": SUM,
    "histogram_shared": _idiom("a histogram in steps of the grid"),
    "transpose_tile": _idiom("a transpose by one-dimensional blocks"),
    "elementwise_schedule": _file(STENCIL.format("cuda")),
    "row_schedule": ROWS,
    "softmax_schedule": _idiom(
        "softmax that computes its exponentials twice, by values of its own"
    ),
    "column_schedule": PRODUCT,
    "contraction_schedule": PRODUCT,
    "turned_schedule": _idiom("a transpose by one-dimensional blocks"),
    "split_schedule": _long_sum,
    "bins_schedule": _idiom("a histogram in steps of the grid"),
    "loops_schedule": _host("column_sums"),
    "panels_schedule": _host("matmul"),
    "loop_order": _host("column_sums"),
    "rows_added_up": _host("column_sums"),
    "register_tile": _host("matmul"),
    "sum_in_register": _host("column_sums"),
    "cache_tiles": _host("transpose"),
    "inside_and_rim": _host("edges"),
    "partial_sums": _host("total"),
    "exact_exp": _host("softmax"),
    "keep_terms": _host("softmax"),
    "threads": _host("column_sums"),
    "restrict": _host("column_sums"),
    "stream_stores": _file("examples/softmax/plain.json"),
    "unroll": _host("column_sums"),
    "tune_constants": lambda: replace(_host("total")(), source=CONSTANT),
}
"""for each move that writes sources, a kernel that it fits"""
NO_SOURCES = {
    "tune_parameters", "sweep_parameters", "sweep_constants", "compiler_flags", "cuda_flags",
    "block_shapes",
}  # fmt: skip
"""moves that change values, flags or the launch, and no source"""


def _written(move: Move, state: State) -> list[tuple[str, object, object]]:
    """What its candidates are, whatever their layout."""
    found = move.propose(state)
    assert not isinstance(found, NotApplicable), found.reason
    sources = [c.source for c in found if c.source is not None]
    assert sources, "the move proposes no source"
    for line in "\n".join(sources).split("\n") if state.kernel_type != "triton" else ():
        assert "#" not in line or line.lstrip().startswith("#"), line
    return [
        (source_key(c.source or "", state.kernel_type), c.parameters, c.plan and dict(c.plan))
        for c in found
    ]


def test_every_move_that_writes_sources_is_tried_on_other_layouts() -> None:
    assert {move.id for move in MOVES} - NO_SOURCES == set(KERNELS)


@cases(
    "move",
    [m for m in MOVES if m.id in KERNELS],
    ids=lambda m: m.id,
    why="further moves: those of a language read and write by the same parts",
    kinds=lambda move: move.languages,
)
def test_a_move_writes_the_same_tokens_whatever_the_layout(move: Move) -> None:
    state = KERNELS[move.id]()
    expected = _written(move, state)
    for layout in PYTHON_LAYOUTS if state.kernel_type == "triton" else C_LAYOUTS:
        source = layout(state.source)
        assert source_key(source, state.kernel_type) == source_key(state.source, state.kernel_type)
        assert _written(move, replace(state, source=source)) == expected, layout.__name__


@pytest.mark.parametrize("layout", C_LAYOUTS, ids=lambda f: f.__name__)
def test_what_moves_write_into_another_layout_compiles_and_computes_the_same(
    layout: Callable[[str], str], tmp_path: Path
) -> None:
    kernel = next(k for k in hk.KERNELS if k.entry == "column_sums")
    state = replace(kernel.state(), source=layout(kernel.source))
    found = [m.propose(state) for m in MOVES if m.id in ("threads", "unroll", "loop_order")]
    sources = [c.source or "" for f in found if not isinstance(f, NotApplicable) for c in f]
    plain, *changed = compiled([kernel.source, *sources], kernel.entry, tmp_path)
    (expected,) = run(plain, kernel, kernel.sizes[0], seed=1)
    for function in changed:
        (mine,) = run(function, kernel, kernel.sizes[0], seed=1)
        np.testing.assert_allclose(mine, expected, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("#pragma unroll\n", "void f() {\n#pragma unroll\n g(); }"),
        ("#pragma unroll", "void f() {\n#pragma unroll\n g(); }"),
        ("h();  // first", "void f() {h();  // first\n g(); }"),
        ("h();", "void f() {h(); g(); }"),
    ],
)
def test_lines_of_the_preprocessor_and_comments_have_their_lines_alone(
    text: str, after: str
) -> None:
    assert edited(b"void f() { g(); }", [Edit(10, 10, text)]) == after


def test_within_a_line_of_the_preprocessor_an_edit_stays_in_it() -> None:
    assert edited(b"#define SIZE 4 // rows\n", [Edit(13, 14, "8")]) == "#define SIZE 8 // rows\n"


def test_statements_that_share_a_line_get_lines_of_their_own_and_comments_stay() -> None:
    found = read(
        "import a; import b  # two\n"
        "def f(x):\n"
        "  # said before\n"
        "  for i in x: a = i; b = '; no'; # both\n"
        "  if x: return 1;\n"
        "  else: return '''\n"
        "a; b'''; pass\n"
        "class C: x = 1\n"
    )
    assert found is not None
    assert found.raw.decode() == (
        "import a\nimport b  # two\n"
        "def f(x):\n"
        "  # said before\n"
        "  for i in x:\n      a = i\n      b = '; no'  # both\n"
        "  if x:\n      return 1\n"
        "  else:\n      return '''\n"
        "a; b'''\n      pass\n"
        "class C:\n    x = 1\n"
    )
