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
    left_out: Sequence[Row] = result.get("leave_one_out", {}).get("left_out", ())
    several = [row["left_out"] for row in left_out if len(row["left_out"]) > 1]
    blocks = [
        ("mean of the spaces", spaces),
        *((f"mean of {' and '.join(names)}", names) for names in several),
        *((space, [space]) for space in spaces),
    ]
    lines = [
        "",
        "Optimum over best after so many distinct configurations, a failed one included, mean of "
        f"{result['seeds']} seeds, on spaces measured on real GPUs (`benchmarks/data/README.md`, "
        f"`benchmarks/search_efficiency.py`{_when(result)}). Kernel Tuner's strategies run in its "
        "own simulation, as shipped and repaired (`benchmarks/kernel_tuner_variants.py`). `Chosen "
        "on the other spaces` is the strategy that is best there, `in hindsight` the one that is "
        "best on the space itself, each for every budget apart. The parts of the sweep were chosen "
        "with these spaces in view, so that they flatter it; what its constants add to that is "
        "below.",
        "",
        f"| space | method | {' | '.join(map(str, budgets))} |",
        f"|---|---|{'---|' * len(budgets)}",
        *(line for block in blocks for line in _lines(*block, rows, others, left_out)),
        *(_choices(result["leave_one_out"]) if left_out else ()),
        *(_beaten(spaces, left_out, others) if left_out and others else ()),
    ]
    return "\n".join([*lines, ""])


def _when(result: Result) -> str:
    place = result.get("environment")
    return f", one run of {place['date']}" if place else ""


def _lines(
    title: str,
    on: Sequence[str],
    rows: dict[str, Row],
    others: Sequence[Row],
    left_out: Sequence[Row],
) -> Iterable[str]:
    """Lines of the table for one space, or for the mean of several."""
    yield _line(title, "sweep", _mean(rows[OURS], on))
    if left_out:
        yield _line(title, "sweep, constants chosen on the other spaces", _left_out(on, left_out))
    for row in left_out:
        if len(on) > 1 and row["left_out"] == on:
            yield _line(title, "sweep, constants chosen on other kernels", _mean(row, on))
    yield _line(title, "uniform random", _mean(rows[RANDOM], on))
    for kind in ("stock", "repaired"):
        some = [row for row in others if row["kind"].endswith(kind)]
        if some and len(on) > 1:
            best = [max(some, key=_score(on, b)) for b in range(len(_mean(some[0], on)))]
            found = [_score(on, b)(row) for b, row in enumerate(best)]
            named = ", ".join(dict.fromkeys(row["method"] for row in best))
            yield _line(title, f"best single strategy, {kind}: {named}", found)
    if others:
        apart = [_chosen_elsewhere([name], others) for name in on]
        yield _line(title, "Kernel Tuner, chosen on the other spaces", _mean_of(apart))
        if any(len(on) > 1 and row["left_out"] == on for row in left_out):
            chosen = _chosen_elsewhere(on, others)
            yield _line(title, "Kernel Tuner, chosen on other kernels", chosen)
        yield _line(title, "Kernel Tuner, in hindsight", _hindsight(on, others))


def _left_out(on: Sequence[str], left_out: Sequence[Row]) -> list[float]:
    """What constants score in the space that alone was left out of their choice; mean of some."""
    of_one: dict[str, Row] = {
        row["left_out"][0]: row for row in left_out if len(row["left_out"]) == 1
    }
    return _mean_of([_mean(of_one[name], [name]) for name in on])


def _choices(found: Result) -> Iterable[str]:
    """What was chosen without each space and without each kernel, and what that gained there."""
    names: dict[str, Sequence[float]] = found["values"]
    values = "; ".join(f"`{name}` {', '.join(f'{v:g}' for v in of)}" for name, of in names.items())
    one = [row for row in found["left_out"] if len(row["left_out"]) == 1]
    means = {
        tuple(row["constants"]): statistics.fmean(row["mean"].values()) for row in found["grid"]
    }
    own = means[tuple(found["own"])]
    yield ""
    yield (
        f"Constants of the sweep that could have been fitted ({values}; each combination; "
        "`benchmarks/sweep_constants.py`), chosen by the mean score at "
        f"{', '.join(map(str, found['budgets']))} configurations of {found['seeds']} seeds, "
        "without the space that then judges them. The gain is over the sweep's own constants, mean "
        "of the budgets above, with its standard error over the seeds. "
        f"{_verdict(one, found['own'])} By the mean of all spaces and the {found['seeds']} seeds, "
        f"the {len(means)} combinations score {min(means.values()):.3f} to "
        f"{max(means.values()):.3f}, and the sweep's own {own:.3f}: "
        f"{sum(mean > own for mean in means.values())} score more."
    )
    yield ""
    yield f"| left out | {' | '.join(f'`{name}`' for name in names)} | gain (standard error) |"
    yield f"|---|{'---|' * len(names)}---|"
    yield f"| nothing: the sweep's own | {' | '.join(f'{v:g}' for v in found['own'])} | - |"
    for row in found["left_out"]:
        chosen = " | ".join(f"{value:g}" for value in row["constants"])
        gain = f"{row['gain']:+.3f} ({row['gain_standard_error']:.3f})"
        yield f"| {', '.join(row['left_out'])} | {chosen} | {gain} |"


def _verdict(one: Sequence[Row], own: Sequence[float]) -> str:
    """Whether constants were fitted, by what was chosen without each space."""
    gain = statistics.fmean(row["gain"] for row in one)
    error = sum(row["gain_standard_error"] ** 2 for row in one) ** 0.5 / len(one)
    other = [row for row in one if row["constants"] != own]
    less = [row["left_out"][0] for row in other if row["gain"] < 0]
    told = (
        f"The choice differs from the sweep's own for {len(other)} of {len(one)} spaces, and "
        f"scores less on {' and '.join(less) or 'none'}; mean gain {gain:+.3f} "
        f"({error:.3f})."
    )
    if gain >= 0:
        return told
    return (
        f"{told} So much of the sweep's mean score may be owed to constants that suit the spaces."
    )


def _beaten(spaces: Sequence[str], left_out: Sequence[Row], others: Sequence[Row]) -> Iterable[str]:
    """At how many budgets constants chosen elsewhere beat what is best of all strategies."""
    ours, best = _left_out(spaces, left_out), _hindsight(spaces, others)
    single = [max(_score(spaces, b)(row) for row in others) for b in range(len(ours))]
    over = [sum(map(float.__gt__, ours, theirs)) for theirs in (single, best)]
    yield ""
    yield (
        "With constants chosen on the other spaces, the sweep beats Kernel Tuner's best single "
        f"strategy at {over[0]} of {len(ours)} budgets, and the best of each space in hindsight at "
        f"{over[1]}, by the mean of the spaces."
    )


def _score(on: Sequence[str], budget: int) -> Callable[[Row], float]:
    return lambda row: _mean(row, on)[budget]


def _mean(row: Row, on: Sequence[str]) -> list[float]:
    """A method's scores by budget, mean of some spaces."""
    return _mean_of([row["spaces"][name]["mean"] for name in on])


def _mean_of(scores: Iterable[Sequence[float]]) -> list[float]:
    """The mean of some rows of scores, by budget."""
    return [statistics.fmean(each) for each in zip(*scores, strict=True)]


def _hindsight(on: Sequence[str], others: Sequence[Row]) -> list[float]:
    """The best strategy of each space and budget, mean of the spaces."""
    budgets = range(len(_mean(others[0], on)))
    return [statistics.fmean(max(map(_score([name], b), others)) for name in on) for b in budgets]


def _chosen_elsewhere(on: Sequence[str], others: Sequence[Row]) -> list[float]:
    """The strategy that is best on all other spaces, by budget; its mean on these."""
    elsewhere = [name for name in others[0]["spaces"] if name not in on]
    budgets = range(len(_mean(others[0], on)))
    return [_score(on, b)(max(others, key=_score(elsewhere, b))) for b in budgets]


def _line(title: str, method: str, scores: Sequence[float]) -> str:
    return f"| {title} | {method} | {' | '.join(f'{score:.3f}' for score in scores)} |"
