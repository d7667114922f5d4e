"""Which cases of the suite are the usual run's, and which the thorough one's alone.

`make test` leaves out what is marked `thorough`: cases that repeat, on one more subject, what a
neighbour asserts already: `cases` gives each kind of a parametrised family one usual case at least,
and `further` has a whole test name the usual ones that stand for it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")
Of = Callable[[Any], T] | Callable[[Any, Any], T]
"""of the values of a case"""
Case = type(pytest.param())
FOUND: dict[str, str] = {
    "tests/search/moves/triton/test_matmul.py::"
    "test_a_grid_that_sizes_something_else_stays_and_the_launch_gets_its_own": (
        "a move that changed a grid by which a wrapper also sized an array"
    ),
    "tests/server/test_app.py::"
    "test_the_tools_are_listed_in_the_order_of_TOOLS_with_schemas_and_true_hints": (
        "descriptions of tools longer than a client's context is to spend on them"
    ),
    "tests/cheats_caught/test_on_the_host.py::"
    "test_a_host_kernel_is_stopped_by_what_its_page_says[cpp/looks_for_other_builds]": (
        "a screen that met a page by another gate than the page said"
    ),
    "tests/runners/forking/test_forking.py::"
    "test_a_child_and_its_fork_server_die_with_who_started_them": (
        "a child that was started while its server ended, and stayed"
    ),
    "tests/runners/building/test_builder.py::"
    "test_builds_go_on_after_the_zygote_was_killed_under_them": (
        "builds that waited for a process which no longer was there"
    ),
}
"""Tests that found what their neighbours had not, and what: they stay in the usual run. Pages of
the library of cheats that did are those of docs/attacks.md (`tests/support/page_tiers.py`)."""


def cases(
    names: str | Sequence[str],
    of: Iterable[Any],
    *,
    why: str,
    kinds: Of[Iterable[Hashable]] | None = None,
    always: Of[bool] | None = None,
    ids: Iterable[str] | Callable[[Any], str] | None = None,
) -> pytest.MarkDecorator:
    """`pytest.mark.parametrize(names, of)` in two tiers: usual is the first case of each of the
    `kinds` of thing that cases assert, and what `always` holds for; the others are thorough.

    Without `kinds`, all cases are of one. `why`: what the others have more than those of their
    kind, and the neighbours have shown. Both functions take the values of a case as arguments.
    Raises ValueError where no case is left for the thorough run: then there are no tiers.
    """
    seen = set[Hashable]()
    marked = list[Any]()
    for case in of:
        values = _values(names, case)
        mine = {"one"} if kinds is None else {*kinds(*values)}
        usual = bool(mine - seen) or (always is not None and always(*values))
        seen |= mine
        mark = () if usual else (pytest.mark.thorough(why=why),)
        marked.append(_param(case, values, mark))
    if not any(param.marks and _is_thorough(param.marks) for param in marked):
        raise ValueError(f"every case of {names} is usual: `pytest.mark.parametrize` says so")
    return pytest.mark.parametrize(names, marked, ids=ids)


def further(*neighbours: str, why: str) -> pytest.MarkDecorator:
    """A whole test of the thorough run alone. `neighbours`: the usual tests, by path and name, that
    assert of cheaper subjects what it asserts; `why`: what it has more than they.

    Raises ValueError where none is named: then the test is the only one of its kind, and usual.
    """
    if not neighbours:
        raise ValueError("name a usual test that asserts the same of a cheaper subject")
    return pytest.mark.thorough(why=why)


def _values(names: str | Sequence[str], case: Any) -> tuple[Any, ...]:
    """The values of a case by `names`, of a `pytest.param` as well."""
    if isinstance(case, Case):
        return tuple(case.values)
    return (case,) if isinstance(names, str) and "," not in names else tuple(case)


def _param(case: Any, values: Sequence[Any], marks: Sequence[pytest.MarkDecorator]) -> Any:
    if isinstance(case, Case):
        return pytest.param(*values, id=case.id, marks=[*case.marks, *marks])
    return pytest.param(*values, marks=marks)


def _is_thorough(marks: Iterable[Any]) -> bool:
    return any(mark.name == "thorough" for mark in marks)
