"""The candidates of the schedules of host C++."""

from __future__ import annotations

from collections.abc import Sequence

from ......runners.model import Candidate
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from .columns import columns
from .function_text import candidate
from .loops_text import Form
from .panels import panels
from .plain import Plain, written_from
from .squares import squares

LOOPS = (squares, columns)


def loops(state: State) -> Proposals:
    """Candidates with and without a team of threads."""
    return written_from(state, lambda plain: _both(plain, "loop_order", LOOPS, 0.35), "loops")


def panelled(state: State) -> Proposals:
    """The same, with tiles in registers."""
    forms = (panels, *LOOPS)

    def write(plain: Plain) -> Proposals:
        return _both(plain, "register_tiling", forms, 0.4, needs="tiles of sums")

    return written_from(state, write, "tile of sums")


def _both(
    plain: Plain, method: str, forms: Sequence[Form], prior: float, needs: str = ""
) -> tuple[Candidate, ...]:
    """With a team where one would run, and without. Raises Unwritable where neither is written."""
    found, why = dict[str | None, Candidate](), Unwritable("")
    for team in (True, False) if plain.openmp else (False,):
        weight = prior if team else prior - 0.1
        try:
            made = candidate(plain, method, forms, team=team, prior=weight, needs=needs)
            found.setdefault(made.source, made)
        except Unwritable as error:
            why = error
    if not found:
        raise why
    return tuple(found.values())
