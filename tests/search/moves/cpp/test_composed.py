"""Moves for host C++ that go on from each other: sums of any spelling, teams, orders of loops."""

from __future__ import annotations

from dataclasses import replace

import host_kernels as hk
import pytest
from cpp_moves import first, proposed, reason, sources
from host_harness import HostKernel

from kernelwright.runners.c_source.nodes import inside
from kernelwright.runners.c_source.parsing import parse_cpp
from kernelwright.runners.c_source.updates import update_of
from kernelwright.search.moves import State
from kernelwright.search.moves.cpp.partial_sums import MOVE as PARTIAL_SUMS
from kernelwright.search.moves.cpp.register_tile import MOVE as REGISTER_TILE
from kernelwright.search.moves.cpp.rows_added_up import MOVE as ROWS_ADDED_UP
from kernelwright.search.moves.cpp.sum_in_register import MOVE as SUM_IN_REGISTER
from kernelwright.search.moves.cpp.threads import MOVE as THREADS


def sign(statement: str) -> str | None:
    """What an assignment updates its target by."""
    tree = parse_cpp(f"void f() {{ {statement}; }}".encode())
    (given,) = (n for n in inside(tree.root_node) if n.type == "assignment_expression")
    update = update_of(given)
    return None if update is None else update.sign


@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        *((text, "+") for text in ("a += b", "a -= b", "a = a + b", "a = b + a", "a = a - b")),
        *((text, "+") for text in ("a = a + b - c", "a = (b + a)", "c[i*n] = c[i * n] + x[i]")),
        *((text, "*") for text in ("a *= b", "a = a * b", "a = b * a")),
        *((text, None) for text in ("a = b - a", "a = a + a", "a += a", "a = b", "a = a * b + c")),
        *((text, None) for text in ("a = a / b", "c[i] = c[j] + x", "a = f(a) + b", "a = -a + b")),
    ],
)
def test_a_sum_is_a_sum_however_it_is_spelled(statement: str, wanted: str | None) -> None:
    assert sign(statement) == wanted


@pytest.mark.parametrize("spelled", ["sum = sum + X", "sum = X + sum"])
def test_moves_read_a_sum_that_is_written_out_as_they_read_the_short_one(spelled: str) -> None:
    term = "A[i * K + k] * B[k * N + j]"
    long = hk.MATMUL.source.replace(f"sum += {term}", spelled.replace("X", term))
    for move in (ROWS_ADDED_UP, REGISTER_TILE, PARTIAL_SUMS):
        assert len(proposed(move.propose(hk.MATMUL.state(long)))) > 0


def test_an_element_that_is_added_to_in_full_becomes_a_scalar_too() -> None:
    long = hk.MEMORY_SUM.source.replace("C[i * N + j] +=", "C[i * N + j] = C[i * N + j] +")
    written = first(SUM_IN_REGISTER.propose(hk.MEMORY_SUM.state(long)))
    assert "sum = sum + A[i * K + k] * B[k * N + j];" in written


def test_a_product_whose_rows_are_added_up_is_tiled_as_one_of_sums_is() -> None:
    ijk = proposed(REGISTER_TILE.propose(hk.MATMUL.state()))
    ikj = proposed(REGISTER_TILE.propose(hk.IKJ.state()))
    assert [c.detail for c in ikj] == [c.detail for c in ijk]


def free(kernel: HostKernel) -> State:
    """Its state where the contract asks for no equal bits."""
    state = kernel.state()
    io = state.spec.io.model_copy(update={"deterministic": False})
    return replace(state, spec=state.spec.model_copy(update={"io": io}))


def test_a_sum_is_reduced_by_a_team_in_parts_whose_order_is_fixed() -> None:
    (only,) = proposed(THREADS.propose(hk.SUM.state()))
    assert only.detail == "threads over i (reduces `s`)"
    code = only.source or ""
    assert "reduction(+:s_part)" in code and "reduction(+:s)" not in code
    assert code.index("#pragma omp parallel for") < code.index("s += s_parts[part];")


def test_a_sum_is_a_reduction_of_openmp_where_equal_bits_are_not_asked_for() -> None:
    written = first(THREADS.propose(free(hk.SUM)))
    assert "#pragma omp parallel for simd reduction(+:s)" in written


def test_the_outer_loop_of_a_sum_over_rows_is_divided_and_not_the_inner() -> None:
    written = first(THREADS.propose(free(hk.WRITTEN_OUT)))
    clauses = "reduction(+:total) reduction(max:most) reduction(+:count)"
    assert f"#pragma omp parallel for {clauses}\n    for (int r = 0; r < rows; r++)" in written


def test_a_running_sum_is_not_divided_and_the_reason_says_what_is_done_besides() -> None:
    running = hk.SUM.source.replace("s += x[i];", "{ s += x[i]; out[i] = s; }")
    assert "more than one reduction" in reason(THREADS.propose(hk.SUM.state(running)))


TWO = HostKernel(
    "two",
    hk.MATMUL.source.replace("matmul", "two").rstrip()[:-1]
    + """\
    for (int i = 0; i < M; ++i) {
        for (int k = 0; k < K; ++k) D[i * K + k] = 2.0f * A[i * K + k];
    }
}
""",
    hk.MATMUL.arguments,
    hk.MATMUL.sizes,
)


def test_threads_go_to_the_loops_that_have_none_yet() -> None:
    pragma = "#pragma omp parallel for\n"
    once = TWO.source.replace(
        "    for (int i = 0; i < M; ++i) {\n        for (int k",
        f"{pragma}    for (int i = 0; i < M; ++i) {{\n        for (int k",
    )
    assert once.count(pragma) == 1
    arguments = (
        *hk.MATMUL.arguments[:3],
        hk.array("D", "output", "M", "K"),
        *hk.MATMUL.arguments[3:],
    )
    kernel = HostKernel(
        "two", once.replace("float* C,", "float* C, float* D,"), arguments, TWO.sizes
    )
    both = first(THREADS.propose(kernel.state()))
    assert both.count(pragma) == 2
    assert "threads there already" in reason(THREADS.propose(kernel.state(both)))
    tiled = sources(proposed(REGISTER_TILE.propose(kernel.state())))
    assert any(each.count("omp parallel") == 3 for each in tiled), (
        "tiles, their fallback, the other"
    )
