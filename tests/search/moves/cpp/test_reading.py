"""What moves for host C++ make of types that they do not know, or that are narrow."""

from __future__ import annotations

import host_kernels as hk
import pytest
from cpp_moves import first
from host_harness import HostKernel, array, scalar

from kernelwright.search.moves import NotApplicable
from kernelwright.search.moves.cpp.partial_sums import MOVE as PARTIAL_SUMS
from kernelwright.search.moves.cpp.parts.dependence import iterations_meet
from kernelwright.search.moves.cpp.parts.program import read_program
from kernelwright.search.moves.cpp.parts.scope import Scope

COPY = """\
void copy(const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i) {
        AT
        y[at] = x[i];
    }
}
"""


def meets(declaration: str) -> str | None:
    """Why iterations of the copy depend on each other, where this declares its index."""
    kernel = HostKernel(
        "copy",
        COPY.replace("AT", declaration),
        (array("x", "input", "n"), array("y", "output", "n"), scalar("n")),
        ({"n": 300},),
    )
    state = kernel.state()
    program = read_program(state)
    assert not isinstance(program, NotApplicable)
    (loop,) = program.entry.loops
    return iterations_meet(loop, Scope(program, program.entry, state.spec), program)


@pytest.mark.parametrize("kind", ["int", "auto", "const long", "std::size_t"])
def test_a_variable_that_holds_every_index_is_the_index(kind: str) -> None:
    assert meets(f"{kind} at = i;") is None


@pytest.mark.parametrize("kind", ["unsigned char", "short", "float", "index_t"])
def test_a_variable_that_may_cut_an_index_short_is_not(kind: str) -> None:
    assert meets(f"{kind} at = i;") is not None


def test_a_count_of_a_type_that_is_not_known_may_have_no_sign() -> None:
    """`n - 32` of an unsigned n below 32 is a number of billions."""
    known = hk.SUM.source
    own = "using index = unsigned;\n" + known.replace("for (int i", "for (index i")
    assert own.count("index") == 2
    assert "i_first <= n - kLanes" in first(PARTIAL_SUMS.propose(hk.SUM.state(known)))
    assert "i_first + kLanes <= n" in first(PARTIAL_SUMS.propose(hk.SUM.state(own)))
