"""Moves for host C++: what they make of kernels as people write them, and what they leave alone."""

from __future__ import annotations

import dataclasses
import platform
from pathlib import Path

import host_kernels as hk
import numpy as np
import pytest
from cpp_moves import first, proposed, reason, sources
from host_harness import HostKernel, array, compiled, run, scalar
from tiers import cases

from kernelwright.runners.model import Candidate
from kernelwright.search.moves import Move, NotApplicable
from kernelwright.search.moves.cpp import MOVES, inside_and_rim
from kernelwright.search.moves.cpp.cache_tiles import MOVE as CACHE_TILES
from kernelwright.search.moves.cpp.exact_exp import MOVE as EXACT_EXP
from kernelwright.search.moves.cpp.inside_and_rim import MOVE as INSIDE_AND_RIM
from kernelwright.search.moves.cpp.keep_terms import MOVE as KEEP_TERMS
from kernelwright.search.moves.cpp.loop_order import MOVE as LOOP_ORDER
from kernelwright.search.moves.cpp.partial_sums import MOVE as PARTIAL_SUMS
from kernelwright.search.moves.cpp.register_tile import MOVE as REGISTER_TILE
from kernelwright.search.moves.cpp.restrict import MOVE as RESTRICT
from kernelwright.search.moves.cpp.rows_added_up import MOVE as ROWS_ADDED_UP
from kernelwright.search.moves.cpp.stream_stores import MOVE as STREAM_STORES
from kernelwright.search.moves.cpp.stream_stores import X86
from kernelwright.search.moves.cpp.sum_in_register import MOVE as SUM_IN_REGISTER
from kernelwright.search.moves.cpp.threads import MOVE as THREADS

IDS = [f"{k.entry}-{n}" for n, k in enumerate(hk.KERNELS)]
COMPUTED = {"matmul", "heat", "total", "bias_silu"}
"""kernels that every run of the tests has compiled: nested loops, neighbours, a sum, elements"""
PROPOSED = dict[tuple[str, str], list[Candidate]]()


# --- laws of all moves


def all_candidates(kernel: HostKernel, source: str | None = None) -> list[Candidate]:
    """What the moves propose; a kernel's own source and what they made of it are asked for by
    several laws."""
    asked = (IDS[hk.KERNELS.index(kernel)], source or kernel.source)
    if asked not in PROPOSED:
        state = kernel.state(source)
        found = (move.propose(state) for move in MOVES)
        PROPOSED[asked] = [c for f in found if not isinstance(f, NotApplicable) for c in f]
    return PROPOSED[asked]


@cases(
    "kernel",
    hk.KERNELS,
    ids=IDS,
    why="further kernels, each with all that moves make of it",
    always=lambda kernel: kernel.entry in COMPUTED,
)
def test_what_moves_write_compiles_and_computes_the_same_also_after_a_second_move(
    kernel: HostKernel, tmp_path: Path
) -> None:
    once = all_candidates(kernel)
    twice = [c for each in once for c in all_candidates(kernel, each.source)[::2]]
    written = list({c.source: c for c in (*once, *twice) if c.source is not None}.values())
    texts = [kernel.source, *(c.source or "" for c in written)]
    plain, *changed = compiled(texts, kernel.entry, tmp_path)
    for sizes in kernel.sizes:
        expected = run(plain, kernel, sizes, seed=1)
        for function, candidate in zip(changed, written, strict=True):
            for mine, right in zip(run(function, kernel, sizes, seed=1), expected, strict=True):
                np.testing.assert_allclose(
                    mine, right, rtol=2e-5, atol=1e-5, err_msg=f"{candidate.detail} at {sizes}"
                )


@pytest.mark.parametrize("kernel", hk.KERNELS, ids=IDS)
def test_a_candidate_changes_something_and_is_not_proposed_of_its_own_result(
    kernel: HostKernel,
) -> None:
    for candidate in all_candidates(kernel):
        assert candidate.source is not None and candidate.source != kernel.source
        again = all_candidates(kernel, candidate.source)
        assert candidate.source not in [c.source for c in again]


@pytest.mark.parametrize("move", MOVES, ids=lambda move: move.id)
def test_a_source_that_cannot_be_read_is_left_alone(move: object) -> None:
    for source in ("void matmul(", "int other() { return 1; }"):
        for each in MOVES:
            assert isinstance(each.propose(hk.MATMUL.state(source)), NotApplicable)


@pytest.mark.parametrize("kernel", hk.KERNELS, ids=IDS)
def test_comments_stay(kernel: HostKernel) -> None:
    comments = [c for c in ("// C = A B.",) if c in kernel.source]
    for candidate in all_candidates(kernel):
        assert all(c in (candidate.source or "") for c in comments)


# --- one by one


def test_columns_become_rows_by_swapping_the_heads_of_two_loops() -> None:
    swapped = first(LOOP_ORDER.propose(hk.STENCIL.state()))
    outer, inner = "for (int j = 0; j < W; ++j) {", "for (int i = 0; i < H; ++i) {"
    marked = hk.STENCIL.source.replace(outer, "@").replace(inner, outer).replace("@", inner)
    assert swapped == marked


def test_loops_that_walk_along_memory_are_not_swapped() -> None:
    swapped = first(LOOP_ORDER.propose(hk.STENCIL.state()))
    assert "as well as any other" in reason(LOOP_ORDER.propose(hk.STENCIL.state(swapped)))


def test_loops_whose_iterations_meet_are_not_swapped() -> None:
    source = """
void heat(float* u, float* out, int H, int W, float alpha) {
    for (int j = 1; j < W; ++j)
        for (int i = 0; i < H; ++i) u[i * W + j] = u[i * W + j - 1] + alpha;
}"""
    assert "more than one index" in reason(LOOP_ORDER.propose(hk.STENCIL.state(source)))


def test_a_sum_for_each_element_becomes_rows_that_are_added_up() -> None:
    assert (
        first(ROWS_ADDED_UP.propose(hk.MATMUL.state()))
        == """\
// C = A B.
void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            C[i * N + j] = 0.0f;
        }
        for (int k = 0; k < K; ++k) {
            for (int j = 0; j < N; ++j) {
                C[i * N + j] += A[i * K + k] * B[k * N + j];
            }
        }
    }
}
"""
    )


def test_a_sum_of_another_type_than_the_output_stays_where_it_is() -> None:
    wider = hk.MATMUL.source.replace("float sum = 0.0f", "double sum = 0.0")
    assert "rounded in another way" in reason(ROWS_ADDED_UP.propose(hk.MATMUL.state(wider)))


def test_a_tile_of_sums_stays_in_registers_over_the_inner_loop() -> None:
    wide, narrow, *_ = sources(proposed(REGISTER_TILE.propose(hk.MATMUL.state())))
    assert "constexpr int kTileRows = 8, kTileColumns = 32;" in wide
    assert "constexpr int kTileRows = 4, kTileColumns = 16;" in narrow
    assert (
        """\
                for (int k = 0; k < K; ++k) {
#pragma GCC unroll 16
                    for (int r = 0; r < kTileRows; ++r) {
                        const int i = i_first + r;
#pragma omp simd
                        for (int c = 0; c < kTileColumns; ++c) {
                            const int j = j_first + c;
                            sum[r][c] += A[i * K + k] * B[k * N + j];
                        }
                    }
                }
"""
        in wide
    )
    kept = hk.MATMUL.source[hk.MATMUL.source.index("        for (int j") :].splitlines()[:4]
    assert "\n".join(f"    {line}" for line in kept) in wide, "small sizes keep their loops"


def test_a_tile_keeps_the_threads_of_the_loops_that_it_replaces() -> None:
    threaded = first(THREADS.propose(hk.MATMUL.state()))
    tiled = first(REGISTER_TILE.propose(hk.MATMUL.state(threaded)))
    assert tiled.index("#pragma omp parallel for") < tiled.index("for (int j_tile = 0")


def test_tiles_are_divided_among_threads_where_a_team_runs_and_shares_nothing() -> None:
    """One thread of the matmul reaches a fifth of what one pragma more gives it."""
    found = sources(proposed(REGISTER_TILE.propose(hk.MATMUL.state())))
    threaded = [source for source in found if "#pragma omp parallel for" in source]
    assert len(threaded) == len(found) // 2
    for source in threaded:
        before, tiles = source.split("#pragma omp parallel for", 1)
        assert tiles.lstrip().startswith("for (int j_tile = 0") and "kTileRows" in before
    once = hk.MATMUL.source.replace(
        "    for (int i = 0", "#pragma omp parallel for\n    for (int i = 0"
    )
    again = sources(proposed(REGISTER_TILE.propose(hk.MATMUL.state(once))))
    assert len(again) == len(found) // 2, "one team is enough"
    reads = sources(proposed(REGISTER_TILE.propose(hk.GEMM.state())))
    assert not any("omp parallel" in source for source in reads), "c is read where it is written"


def test_a_reason_against_threads_is_true_of_the_loops_that_there_are() -> None:
    short = hk.SUM.source.replace("i < n", "i < 16")
    told = reason(THREADS.propose(hk.SUM.state(short)))
    assert "the one counted loop has too little to do for a team" in told


HEAD = "for (int i = 0; i < n; ++i)"
ABOUT_LOOPS = [m for m in MOVES if m.id not in ("restrict", "exact_exp")]


@pytest.mark.parametrize("move", ABOUT_LOOPS, ids=lambda move: move.id)
@pytest.mark.parametrize(
    ("loop", "told"),
    [
        ("int i; for (i = 0; i < n; ++i)", "loops over `i` whose heads do not name the variable"),
        ("for (auto i = 0; i < n; ++i)", "loops over `i` whose heads do not name the variable"),
        ("for (int i = n - 1; i >= 0; --i)", "no loop that counts from a first to a last value"),
        ("int i = 0; while (++i < n)", "no loop that counts from a first to a last value"),
        ("const int i = n - 1;", "the entry has no loop"),
    ],
)
def test_every_move_says_truly_why_it_reads_no_loop(move: Move, loop: str, told: str) -> None:
    source = hk.SUM.source.replace(HEAD, loop)
    assert source != hk.SUM.source
    assert told in reason(move.propose(hk.SUM.state(source)))


def test_products_with_a_transposed_matrix_are_not_tiled_in_registers() -> None:
    transposed = hk.MATMUL.source.replace("B[k * N + j]", "B[j * K + k]")
    assert "walks along memory" in reason(REGISTER_TILE.propose(hk.MATMUL.state(transposed)))


def test_an_element_that_a_loop_adds_to_becomes_a_scalar() -> None:
    assert """\
            float sum = 0.0f;
            for (int k = 0; k < K; k++) {
                sum += A[i * K + k] * B[k * N + j];
            }
            C[i * N + j] = sum;
""" in first(SUM_IN_REGISTER.propose(hk.MEMORY_SUM.state()))
    assert "float sum = sums[j];" in first(SUM_IN_REGISTER.propose(hk.COLUMN_SUMS.state()))
    assert "no inner loop adds" in reason(SUM_IN_REGISTER.propose(hk.MATMUL.state()))


def test_sums_in_memory_are_tiled_in_registers_in_one_step() -> None:
    assert "sum[r][c] += A" in first(REGISTER_TILE.propose(hk.MEMORY_SUM.state()))
    assert "C[i * N + j] += A" in first(ROWS_ADDED_UP.propose(hk.MEMORY_SUM.state()))


def test_a_transpose_is_taken_in_tiles() -> None:
    assert (
        first(CACHE_TILES.propose(hk.TRANSPOSE.state()))
        == """\
#include <algorithm>

void transpose(const float* in, float* out, int rows, int cols) {
    constexpr int kTile = 32;
    for (int i_tile = 0; i_tile < rows; i_tile += kTile) {
        for (int j_tile = 0; j_tile < cols; j_tile += kTile) {
            for (int i = i_tile; i < std::min<int>(i_tile + kTile, rows); ++i) {
                for (int j = j_tile; j < std::min<int>(j_tile + kTile, cols); ++j) {
                    out[j * rows + i] = in[i * cols + j];
                }
            }
        }
    }
}
"""
    )


def test_border_checks_are_left_out_inside() -> None:
    rows = first(LOOP_ORDER.propose(hk.STENCIL.state()))
    divided = first(INSIDE_AND_RIM.propose(hk.STENCIL.state(rows)))
    assert (
        """\
        for (int j = 1; j < W - 1; ++j) {
            const int north = i > 0 ? i - 1 : i;
            const int south = i < H - 1 ? i + 1 : i;
            const int west = j - 1;
            const int east = j + 1;
"""
        in divided
    )
    assert "for (int j = 0; j < std::min<int>(1, W); ++j) {" in divided
    assert "for (int j = std::max<int>(1, W - 1); j < W; ++j) {" in divided


def test_border_checks_by_if_min_and_max_are_left_out_too() -> None:
    divided = first(INSIDE_AND_RIM.propose(hk.EDGES.state()))
    assert (
        """\
    for (int i = 1; i < n - 1; ++i) {
        {
            const float left = in[i - 1], right = in[i + 1];
            out[i] = 0.25f * left + 0.5f * in[i] + 0.25f * right;
        }
    }
"""
        in divided
    )


def test_checks_of_an_offset_that_an_inner_loop_adds_are_left_out() -> None:
    candidates = proposed(INSIDE_AND_RIM.propose(hk.BLUR.state()))
    assert "x from 1 to width - 1" in candidates[0].detail
    assert "if (yy >= 0 && yy < height) {" in (candidates[0].source or "")


def test_a_rim_of_unsigned_sizes_that_may_be_too_small_is_not_cut_off() -> None:
    unsigned = hk.EDGES.source.replace("int i", "size_t i").replace("int n", "size_t n")
    assert isinstance(inside_and_rim.MOVE.propose(hk.EDGES.state(unsigned)), tuple)
    wide = unsigned.replace("n - 1", "n - 2")
    assert isinstance(inside_and_rim.MOVE.propose(hk.EDGES.state(wide)), NotApplicable)


WRAPPING = (
    ("int", "(unsigned)(i - 1) < (unsigned)n"),
    ("int", "static_cast<size_t>(i - 1) < n"),
    ("int", "i - 1u < n"),
    ("size_t", "i - 1 < n"),
    ("unsigned", "n > i - 1"),
    ("int", "before < n"),
    ("int", "std::min<unsigned>(i - 1, n) == i - 1"),
)


def wrapping(kind: str, before: str) -> str:
    return f"""
#include <algorithm>
#include <cstddef>
extern "C" void edges(const float* in, float* out, int n) {{
    for ({kind} i = 0; i < n; ++i) {{
        const unsigned before = i - 1;
        float sum = 2.0f * in[i];
        if ({before}) sum += in[i - 1];
        if (i + 1 < n) sum += in[i + 1];
        out[i] = sum;
    }}
}}
"""


def test_a_check_that_wraps_below_0_is_decided_only_where_nothing_is_below_0(
    tmp_path: Path,
) -> None:
    written = list[str]()
    for kind, before in WRAPPING:
        source = wrapping(kind, before)
        written += [source, first(INSIDE_AND_RIM.propose(hk.EDGES.state(source)))]
        assert f"for ({kind} i = 1; i < n - 1; ++i) {{" in written[-1]
    functions = iter(compiled(written, hk.EDGES.entry, tmp_path))
    for plain, changed in zip(functions, functions, strict=True):
        for sizes in ({"n": 1}, {"n": 2}, {"n": 9}):
            (mine,), (right,) = (run(f, hk.EDGES, sizes, seed=1) for f in (changed, plain))
            np.testing.assert_array_equal(mine, right)


def test_a_check_that_may_wrap_inside_stays() -> None:
    check = "(unsigned)(i - 1) < (unsigned)i - 9u"
    source = hk.EDGES.source.replace("i == 0 || i == n - 1", check)
    assert first(INSIDE_AND_RIM.propose(hk.EDGES.state(source))).count(check) == 3


def test_rows_are_divided_among_threads_and_running_values_are_not() -> None:
    threaded = first(THREADS.propose(hk.SOFTMAX.state()))
    loop = "    for (int i = 0; i < R; ++i) {"
    assert threaded == hk.SOFTMAX.source.replace(loop, f"    #pragma omp parallel for\n{loop}")
    assert "may touch the same elements" in reason(THREADS.propose(hk.SMOOTH.state()))


def test_rows_in_which_each_element_needs_the_one_before_are_divided_where_rows_stay_apart() -> (
    None
):
    source = hk.RECURRENCE.source
    assert "    #pragma omp parallel for\n    for (int i" in first(
        THREADS.propose(hk.RECURRENCE.state())
    )
    for before in ("i * n + k - 2", "i * n + k - n", "i * n + k + 1"):  # of another row
        state = hk.RECURRENCE.state(source.replace("y[i * n + k - 1]", f"y[{before}]"))
        assert "may touch the same elements of `y`" in reason(THREADS.propose(state))


def test_few_bins_that_a_loop_only_adds_to_are_added_up_thread_by_thread() -> None:
    assert "    #pragma omp parallel for reduction(+:bins[:8])\n    for (int i" in first(
        THREADS.propose(hk.HISTOGRAM.state())
    )
    assert "    #pragma omp parallel for reduction(+:total[:keys])\n    for (int i" in first(
        THREADS.propose(hk.KEYS.state())
    )


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ("bins[values[i]] = bins[values[i]] * 2;", "may touch the same elements"),
        ("bins[values[i]] += bins[0];", "may touch the same elements"),
        ("int* b = bins; b[values[i]]++;", "may touch the same elements"),
        ("if (i < 2) bins[values[i]] = 1; else bins[values[i]]++;", "may touch the same elements"),
    ],
)
def test_an_array_that_a_loop_reads_too_is_no_bins(changed: str, why: str) -> None:
    source = hk.HISTOGRAM.source.replace("bins[values[i]]++;", f"{{ {changed} }}")
    assert why in reason(THREADS.propose(hk.HISTOGRAM.state(source)))


def test_many_bins_and_bins_that_round_are_left_alone_and_said_why() -> None:
    def told(length: str, dtype: str) -> str:
        values, bins, size = hk.HISTOGRAM.arguments
        bins = {**bins, "shape": [length], "dtype": dtype}
        kernel = dataclasses.replace(hk.HISTOGRAM, arguments=(values, bins, size))
        kind = {"int32": "int", "float32": "float"}[dtype]
        return reason(
            THREADS.propose(kernel.state(kernel.source.replace("int* bins", f"{kind}* bins")))
        )

    assert "on `w` it has 100, and 100 sums are known to go into them" in told("n", "int32")
    assert "`io.deterministic` false would allow" in told("8", "float32")


def test_bins_that_could_overflow_a_stack_at_a_legal_size_are_left_alone() -> None:
    legal = dataclasses.replace(hk.KEYS, symbols={"K": {"min": 1, "max": 1_000_000}})
    assert "reduction" not in first(THREADS.propose(legal.state()))


def test_threads_take_rows_and_never_the_lanes_of_a_vector() -> None:
    source = hk.SOFTMAX.source
    for move in (KEEP_TERMS, EXACT_EXP, PARTIAL_SUMS, THREADS):
        source = first(move.propose(hk.SOFTMAX.state(source)))
    assert source.count("omp parallel") == 1
    assert "    #pragma omp parallel for\n    for (int i = 0; i < R; ++i) {" in source


def test_a_name_that_stands_for_an_element_keeps_threads_and_swaps_away() -> None:
    source = """
void smooth(float* x, int n) {
    for (int i = 0; i < n; ++i) {
        float& mine = x[0];
        mine += 1.0f;
    }
}"""
    assert "another name" in reason(THREADS.propose(hk.SMOOTH.state(source)))
    assert "another name" in reason(PARTIAL_SUMS.propose(hk.SMOOTH.state(source)))


def test_a_symbol_and_a_loop_may_have_one_name() -> None:
    assert "k" in hk.DISTANCES.sizes[0] and "int k = 0" in hk.DISTANCES.source
    assert "sums over i and j" in proposed(REGISTER_TILE.propose(hk.DISTANCES.state()))[0].detail


def test_no_threads_without_the_flag_that_they_need() -> None:
    assert "-fopenmp" in reason(THREADS.propose(hk.SOFTMAX.state(flags=("-O3",))))


LARGE_COPY = HostKernel(
    "scaled",
    """\
void scaled(const float* x, float* y, int n, float by) {
    for (int i = 0; i < n; ++i) {
        const float value = x[i];
        y[i] = by * value;
    }
}
""",
    (
        array("x", "input", "n"),
        array("y", "output", "n"),
        scalar("n"),
        scalar("by", 3.0, "float32"),
    ),
    ({"n": 3_000_000}, {"n": 1}, {"n": 45}),
    symbols={"n": {"max": 3_000_000}},
)
x86 = pytest.mark.skipif(platform.machine() not in X86, reason="x86 alone has such stores")


@x86
def test_a_large_output_is_stored_past_the_caches_and_right(tmp_path: Path) -> None:
    streamed = first(STREAM_STORES.propose(LARGE_COPY.state()))
    assert "stream_line(&y[i], line);" in streamed
    plain, mine = compiled([LARGE_COPY.source, streamed], "scaled", tmp_path)
    for sizes in LARGE_COPY.sizes:
        expected = run(plain, LARGE_COPY, sizes, seed=1)
        assert np.array_equal(run(mine, LARGE_COPY, sizes, seed=1)[0], expected[0])
    assert "already" in reason(STREAM_STORES.propose(LARGE_COPY.state(streamed)))


@x86
def test_a_small_output_stays_in_the_caches() -> None:
    assert "smaller than 8 MiB" in reason(STREAM_STORES.propose(hk.EDGES.state(EDGE_FREE)))
    assert "is read again" in reason(STREAM_STORES.propose(hk.SOFTMAX.state(KEPT)))


EDGE_FREE = """
void edges(const float* in, float* out, int n) {
    for (int i = 0; i < n; ++i) out[i] = 1;
}"""
KEPT = """
void softmax(const float* x, float* y, int R, int N) {
    for (int i = 0; i < R * N; ++i) y[i] = x[i] + y[i];
}"""


def test_the_contracts_promise_of_no_overlap_is_written_once() -> None:
    told = first(RESTRICT.propose(hk.SOFTMAX.state()))
    assert "void softmax(const float* __restrict x, float* __restrict y, int R, int N)" in told
    assert "already" in reason(RESTRICT.propose(hk.SOFTMAX.state(told)))
