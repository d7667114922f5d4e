"""Sources that moves must not misread, nor fall over: names that mean less, or other things, than
they seem to."""

from __future__ import annotations

from dataclasses import replace

import host_kernels as hk
import pytest
from cuda_states import INDEX, scale
from idiom_sources import SOURCES
from triton_moves import state as triton_state

from kernelwright.runners.specs.spec import Parameter
from kernelwright.search.moves import MOVES, NotApplicable, State
from kernelwright.search.moves.cuda.grid_stride import MOVE as GRID_STRIDE
from kernelwright.search.moves.cuda.idioms.parts.facts import recognised
from kernelwright.search.moves.cuda.idioms.parts.scope import Scope
from kernelwright.search.moves.cuda.idioms.row_in_registers import MOVE as ROW_IN_REGISTERS
from kernelwright.search.moves.cuda.idioms.row_per_team import MOVE as ROW_PER_TEAM
from kernelwright.search.moves.cuda.parts.expressions import Locals
from kernelwright.search.moves.cuda.parts.reading import read_kernels
from kernelwright.search.moves.cuda.vectorize_elementwise import MOVE as VECTORIZE

DEEP = " + 1" * 1200
GUARDED = "if (i < n) y[i] = a * x[i];\n"
ITEMS = {"ITEMS": Parameter(values=(1, 2, 4))}


@pytest.mark.parametrize(
    "index",
    [
        "short i = blockIdx.x * blockDim.x + threadIdx.x;",
        "float f = blockIdx.x * blockDim.x + threadIdx.x; int i = f;",
        "const unsigned char t = threadIdx.x; int i = blockIdx.x * blockDim.x + t;",
        "int t = i; int i = blockIdx.x * blockDim.x + t;",
    ],
)
def test_a_variable_that_holds_only_part_of_a_number_does_not_stand_for_it(index: str) -> None:
    for move in (VECTORIZE, GRID_STRIDE):
        whole, part = move.propose(scale(INDEX + GUARDED)), move.propose(scale(index + GUARDED))
        assert isinstance(whole, tuple) and isinstance(part, NotApplicable)


def test_a_name_that_hides_a_parameter_somewhere_does_not_stand_for_it_everywhere() -> None:
    hidden = "if (i < n) { float s = 0; { int n = 3; s += n; } y[i] = a * x[i] + s; }\n"
    kernels = read_kernels(scale(INDEX + hidden))
    assert not isinstance(kernels, NotApplicable)
    assert "n" not in Locals(kernels[0].body).values


@pytest.mark.parametrize(
    "change",
    ["k = n = 3;", "y[0] = (k = 3);", "while (k < n) k++;", "int* p = &k;", "int& r = k;"],
)
def test_what_is_assigned_within_an_expression_means_nothing_known(change: str) -> None:
    state = scale(f"int k = 5; {change}\n{INDEX}{GUARDED}")
    found = recognised(state, lambda facts: facts, "nothing")
    assert not isinstance(found, NotApplicable), found.reason
    facts, _ = found
    assert "k" in Scope.of(facts).assigned
    assert Scope.of(facts).declare(facts.kernel.body[0]).integers == {}


@pytest.mark.parametrize("columns", ["ITEMS", "cols / 3"])
def test_rows_of_no_size_of_the_contract_are_refused_with_a_reason(columns: str) -> None:
    state = SOURCES["mean and variance in one loop, fp16"].state()
    text = state.source.replace("< cols", f"< {columns}")
    odd = replace(state, source=text, spec=state.spec.model_copy(update={"parameters": ITEMS}))
    for move in (ROW_PER_TEAM, ROW_IN_REGISTERS):
        found = move.propose(odd)
        assert isinstance(found, NotApplicable)
        assert "the number of columns is no size of the contract" in found.reason


def _odd() -> dict[str, State]:
    host = next(k for k in hk.KERNELS if k.entry == "edges").state()
    triton = triton_state("softmax_triton")
    return {
        "cuda, deep": scale(INDEX + GUARDED.replace("a *", f"a{DEEP} *")),
        "cuda, of itself": scale(INDEX + f"int j = j + i; {GUARDED.replace('x[i]', 'x[j]')}"),
        "cuda, of each other": scale(f"{INDEX}int j = m; {{ int m = j; }} {GUARDED}"),
        "cpp, deep": replace(host, source=host.source.replace("i + 1", f"i{DEEP}")),
        "cpp, of itself": replace(host, source=host.source.replace("++i) {", "++i) { int k = k;")),
        "triton, deep": replace(triton, source=triton.source.replace("x + row", f"x{DEEP} + row")),
    }


@pytest.mark.parametrize("name", list(_odd()))
def test_no_move_falls_over_an_odd_source(name: str) -> None:
    for move in MOVES:
        found = move.propose(_odd()[name])
        assert isinstance(found, NotApplicable | tuple)
