"""What search_efficiency.json says, in Markdown: `readme_table.py` puts it into a document."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any

Result = dict[str, Any]
Row = dict[str, Any]
OURS, RANDOM = "sweep", "random"


def efficiency(result: Result) -> str:
    """Our sweep, random search and the best of Kernel Tuner's strategies, by space and budget."""
    rows: dict[str, Row] = {row["method"]: row for row in result["methods"]}
    others = [row for row in rows.values() if row["kind"] != "ours"]
    spaces: Sequence[str] = list(rows[OURS]["spaces"])
    budgets: Sequence[int] = result["budgets"]
    lines = [
        "",
        "Optimum over best after so many distinct configurations, a failed one included, mean of "
        f"{result['seeds']} seeds, on spaces measured on real GPUs (`benchmarks/data/README.md`, "
        "`benchmarks/search_efficiency.py`). Kernel Tuner's strategies run in its own simulation, "
        "as shipped and repaired (`benchmarks/kernel_tuner_variants.py`). No constant of the sweep "
        "is fitted to a space, but its parts were chosen with these spaces in view, so that they "
        "flatter it. `Chosen on the other spaces` is the strategy that is best there, `in "
        "hindsight` the one that is best on the space itself, each for every budget apart.",
        "",
        f"| space | method | {' | '.join(map(str, budgets))} |",
        f"|---|---|{'---|' * len(budgets)}",
        *_lines("mean of the spaces", spaces, rows, others),
        *(line for space in spaces for line in _lines(space, [space], rows, others)),
    ]
    return "\n".join([*lines, ""])


def _lines(
    title: str, on: Sequence[str], rows: dict[str, Row], others: Sequence[Row]
) -> Iterable[str]:
    """Lines of the table for one space, or for the mean of several."""
    yield _line(title, "sweep", _mean(rows[OURS], on))
    yield _line(title, "uniform random", _mean(rows[RANDOM], on))
    for kind in ("stock", "repaired"):
        some = [row for row in others if row["kind"].endswith(kind)]
        if some and len(on) > 1:
            best = [max(some, key=_score(on, b)) for b in range(len(_mean(some[0], on)))]
            found = [_score(on, b)(row) for b, row in enumerate(best)]
            named = ", ".join(dict.fromkeys(row["method"] for row in best))
            yield _line(title, f"best single strategy, {kind}: {named}", found)
    if others:
        yield _line(
            title, "Kernel Tuner, chosen on the other spaces", _chosen_elsewhere(on, others)
        )
        yield _line(title, "Kernel Tuner, in hindsight", _hindsight(on, others))


def _score(on: Sequence[str], budget: int) -> Callable[[Row], float]:
    return lambda row: _mean(row, on)[budget]


def _mean(row: Row, on: Sequence[str]) -> list[float]:
    """A method's scores by budget, mean of some spaces."""
    return [
        statistics.fmean(each)
        for each in zip(*(row["spaces"][name]["mean"] for name in on), strict=True)
    ]


def _hindsight(on: Sequence[str], others: Sequence[Row]) -> list[float]:
    """The best strategy of each space and budget, mean of the spaces."""
    budgets = range(len(_mean(others[0], on)))
    return [statistics.fmean(max(map(_score([name], b), others)) for name in on) for b in budgets]


def _chosen_elsewhere(on: Sequence[str], others: Sequence[Row]) -> list[float]:
    """The strategy that is best on all other spaces, by space and budget; mean of the spaces."""
    found = list[float]()
    for budget in range(len(_mean(others[0], on))):
        scores = list[float]()
        for name in on:
            elsewhere = [other for other in others[0]["spaces"] if other != name]
            chosen = max(others, key=_score(elsewhere, budget))
            scores.append(_score([name], budget)(chosen))
        found.append(statistics.fmean(scores))
    return found


def _line(title: str, method: str, scores: Sequence[float]) -> str:
    return f"| {title} | {method} | {' | '.join(f'{score:.3f}' for score in scores)} |"
