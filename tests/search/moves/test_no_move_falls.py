"""Whatever the source, a move proposes or says why not; one that falls over it says that too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cuda_states import INDEX, scale
from lifting_host import HOST, HOST_HELD_OUT, HOST_RESPELLINGS
from lifting_kernels import DEVELOPED, HELD_OUT
from schedules_kernels import DEVELOPED as PLAIN
from schedules_kernels import HELD_OUT as PLAIN_HELD_OUT
from tiers import cases

from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.model import BuildOptions
from kernelwright.search.moves import MOVES, Move, Proposals, State
from kernelwright.search.moves.cuda.streaming_accesses import MOVE as STREAMING
from kernelwright.search.moves.shared.base import MoveFault

A_THREAD_EACH = {"grid": ["cdiv(rows * cols, 256)"], "block": [256]}
MATRICES = [
    {"name": n, "role": role, "dtype": "float32", "shape": ["rows", "cols"]}
    for n, role in (("a", "input"), ("b", "input"), ("y", "output"))
]
SIZES = {"n": "rows * cols", "rows": "rows", "cols": "cols"}


def spec(kind: str, source: str) -> dict[str, Any]:
    scalars = [
        {"name": n, "role": "scalar", "dtype": "int32", "value": v} for n, v in SIZES.items()
    ]
    launch = {"launch": A_THREAD_EACH} if kind == "cuda" else {}
    return {
        "name": "f",
        "kernel": {
            "kernel_type": kind,
            "source_code": source,
            "metadata": {"kernel_name": "f"},
            **launch,
        },
        "io": {"arguments": [*MATRICES, *scalars]},
        "symbols": {n: {"min": 1, "max": 4096} for n in ("rows", "cols")},
        "workloads": [{"name": "w", "symbols": {"rows": 512, "cols": 512}}],
        "reference": "baseline",
    }


def corpus() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every kernel by a name that says where it is from; several have the same in two places."""
    for name, plain in {**PLAIN, **PLAIN_HELD_OUT}.items():
        yield f"plain {name}", plain.spec("f")
    for name, cuda in {**DEVELOPED, **HELD_OUT}.items():
        yield f"lifted {name}", spec("cuda", cuda.source)
    for name, host in {**HOST, **HOST_HELD_OUT}.items():
        yield f"host {name}", spec("cpp", host.source)
        yield f"host {name} by a macro", spec("cpp", HOST_RESPELLINGS["macro"](host.source))


CORPUS = dict(corpus())


@cases(
    "name",
    CORPUS,
    kinds=lambda name: [name.partition(" ")[0], name.endswith("by a macro")],
    why="further kernels: what moves answer is asked of many more where each move is the subject",
)
def test_every_move_answers_every_kernel_of_the_corpus(name: str) -> None:
    state = _state(CORPUS[name])
    fell = [
        f"{move.id}: {answer.reason}"
        for move in MOVES
        if isinstance(answer := move.propose(state), MoveFault)
    ]
    assert not fell


def _state(data: dict[str, Any]) -> State:
    kernel = load_data(data, Path("."), Roots([Path(".")]))
    source, kind = kernel.baseline().source, kernel.spec.kernel.kernel_type
    return State(kind, source, {}, BuildOptions(), kernel.spec)


def test_a_load_that_is_the_index_of_another_stays_as_it_is() -> None:
    found = STREAMING.propose(scale(f"{INDEX}    if (i < n) y[i] = x[(int)x[i]] * x[i];\n"))
    assert not isinstance(found, MoveFault)
    gathered = "    if (i < n) y[(int)x[i]] = 1.0f;\n"
    assert not isinstance(STREAMING.propose(scale(INDEX + gathered)), MoveFault)


def test_a_move_that_falls_says_that_it_is_its_fault_and_the_log_says_where(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def falls(state: State) -> Proposals:
        raise ValueError("an edit does not fit")

    answer = Move("falls", "fast_math", ("cuda",), "for this test", falls).propose(scale(INDEX))
    assert isinstance(answer, MoveFault)
    assert "a fault of this move" in answer.reason and "an edit does not fit" in answer.reason
    assert "falls" in caplog.text and "Traceback" in caplog.text
