"""Moves for host C++ that write the arithmetic of a kernel in another way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import host_kernels as hk
import numpy as np
import pytest
from cpp_moves import first, proposed, reason, sources
from host_harness import HostKernel, array, call, compiled, scalar

from kernelwright.search.moves.cpp.exact_exp import MOVE as EXACT_EXP
from kernelwright.search.moves.cpp.keep_terms import MOVE as KEEP_TERMS
from kernelwright.search.moves.cpp.partial_sums import MOVE as PARTIAL_SUMS


def test_a_sum_and_a_maximum_are_reduced_in_parts() -> None:
    candidates = proposed(PARTIAL_SUMS.propose(hk.SUM.state()))
    assert candidates[0].detail == "`s` over i in 32 parts (sums in another order)"
    assert (
        candidates[0].source
        == """\
void total(const float* x, float* out, int n) {
    float s = 0.f;
    {
        constexpr int kLanes = 32;
        float s_parts[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) {
            s_parts[lane] = 0;
        }
        for (int i_first = 0; i_first <= n - kLanes; i_first += kLanes) {
            for (int lane = 0; lane < kLanes; ++lane) {
                const int i = i_first + lane;
                s_parts[lane] += x[i];
            }
        }
        for (int i = n - n % kLanes; i < n; ++i) {
            s += x[i];
        }
        for (int lane = 0; lane < kLanes; ++lane) {
            s += s_parts[lane];
        }
    }
    out[0] = s;
}
"""
    )
    assert "in another order" not in proposed(PARTIAL_SUMS.propose(hk.SOFTMAX.state()))[2].detail


@pytest.mark.parametrize(
    ("n", "parts"), [(1000, ["32", "16"]), (32, ["32", "16"]), (31, ["16"]), (16, ["16"])]
)
def test_a_loop_is_divided_into_no_more_parts_than_it_has_iterations(
    n: int, parts: list[str]
) -> None:
    kernel = replace(hk.SUM, sizes=({"n": n},))
    found = proposed(PARTIAL_SUMS.propose(kernel.state()))
    assert [each.detail.split(" in ")[1].split()[0] for each in found] == parts


def test_a_loop_with_fewer_iterations_than_a_vector_has_lanes_is_left_alone() -> None:
    """All of it would be what is left over: the same sum, behind setting up its parts."""
    kernel = replace(hk.SUM, sizes=({"n": 15},))
    assert (
        reason(PARTIAL_SUMS.propose(kernel.state())) == "the loop over i has 15 iterations at most"
    )


@pytest.mark.parametrize(
    ("kernel", "words"),
    [(hk.SCAN, "more than one reduction"), (hk.HISTOGRAM, "nothing to a scalar")],
)
def test_a_running_sum_is_no_reduction(kernel: HostKernel, words: str) -> None:
    assert words in reason(PARTIAL_SUMS.propose(kernel.state()))


def test_exp_of_floats_is_written_without_a_call() -> None:
    (exact,) = sources(proposed(EXACT_EXP.propose(hk.SOFTMAX.state())))
    assert "sum += exponential(x[i * N + j] - largest);" in exact
    assert "std::exp" not in exact


def test_exp_that_works_in_float_is_for_fast_math_only() -> None:
    fast = HostKernel(
        hk.SOFTMAX.entry, hk.SOFTMAX.source, hk.SOFTMAX.arguments, hk.SOFTMAX.sizes, math="fast"
    )
    assert len(proposed(EXACT_EXP.propose(fast.state()))) == 2
    loose = fast.state(flags=("-O3", "-ffast-math"))
    assert "-ffast-math" in reason(EXACT_EXP.propose(loose))


def test_exp_of_doubles_stays() -> None:
    wide = hk.SOFTMAX.source.replace("float", "double")
    assert "exp of a float" in reason(EXACT_EXP.propose(hk.SOFTMAX.state(wide)))


def test_the_exact_exp_is_as_exact_as_it_says_everywhere(tmp_path: Path) -> None:
    kernel = HostKernel(
        "exps",
        "#include <cmath>\nvoid exps(const float* x, float* y, int n) {\n"
        "    for (int i = 0; i < n; ++i) y[i] = std::exp(x[i]);\n}\n",
        (array("x", "input", "n"), array("y", "output", "n"), scalar("n")),
        ({"n": 1},),
    )
    (function,) = compiled([first(EXACT_EXP.propose(kernel.state()))], "exps", tmp_path)
    special = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-40, 88.8, 200.0, -200.0, 3e38, -3e38]
    x = np.concatenate([np.linspace(-110, 90, 400_001), special]).astype(np.float32)
    y = np.zeros_like(x)
    call(function, x, y, np.array(x.size, np.int32))
    with np.errstate(over="ignore", under="ignore"):
        true = np.exp(x.astype(np.float64))
        rounded = true.astype(np.float32)
    finite = np.isfinite(rounded)
    assert np.array_equal(y[~finite], rounded[~finite], equal_nan=True)
    unit = np.spacing(rounded[finite]).astype(np.float64)
    assert float(np.max(np.abs(y[finite] - true[finite]) / unit)) < 0.504


def test_terms_that_are_computed_twice_are_kept_in_the_output() -> None:
    kept = first(KEEP_TERMS.propose(hk.SOFTMAX.state()))
    assert (
        """\
        for (int j = 0; j < N; ++j) {
            y[i * N + j] = std::exp(x[i * N + j] - largest);
            sum += y[i * N + j];
        }
        for (int j = 0; j < N; ++j) {
            y[i * N + j] = y[i * N + j] / static_cast<float>(sum);
        }
"""
        in kept
    )
