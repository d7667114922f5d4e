"""Why a step paid or did not, as far as what was measured and what the prior's table say it."""

from __future__ import annotations

from ...analysis.prior.table import ROWS
from ..moves import CANONICAL
from .posterior import UNKNOWN, Posteriors
from .report import Line
from .tallies import BETTER, Tally, total

MOST_RULES = 3
"""that are told of one method, those behind the most tries"""


def reasons(known: Posteriors, line: Line) -> tuple[str, ...]:
    """Of a step or a method: what it does, where it paid, which findings had asked for it, and how
    often it failed; the last are of its method after anything."""
    method = line.method
    meaning = CANONICAL[method].meaning if method in CANONICAL else ""
    where = _by_bottleneck(known, line)
    parts = [meaning, where, *_findings(known, method), _failing(line)]
    return tuple(part for part in parts if part)


def _by_bottleneck(known: Posteriors, line: Line) -> str:
    """`paid where bound by memory (1.4x a try in 5), not by latency (0.98x in 3)`."""
    place = {"method": line.method, "previous": line.previous}
    dimensions = ("method", "previous", "bottleneck") if line.previous else ("method", "bottleneck")
    found = [
        (each["bottleneck"], known.measured(**each).tally)
        for each in known.places(*dimensions)
        if all(each.get(name, "") == value for name, value in place.items() if value)
        and each["bottleneck"] not in UNKNOWN
    ]
    told = [(name, tally) for name, tally in found if tally.gains]
    paid = [_share(name, tally) for name, tally in told if _mean(tally) >= BETTER]
    lost = [_share(name, tally) for name, tally in told if _mean(tally) < BETTER]
    parts = [f"paid where bound by {', '.join(paid)}"] if paid else []
    parts += (
        [f"{'not' if paid else 'did not pay where bound'} by {', '.join(lost)}"] if lost else []
    )
    return ", ".join(parts)


def _findings(known: Posteriors, method: str) -> list[str]:
    """Rules that had fired before the method was tried and ask for it, with their reason."""
    asked = {row.signal: row.why for row in ROWS if row.move == method and row.weight > 1}
    tries = dict[str, list[Tally]]()
    for search in known.regraph.searches:
        for cell in search.fired:
            if cell.source == "rule" and known.regraph.name(cell.method) == method:
                tries.setdefault(cell.id, []).append(cell.tally)
    summed = {rule: total(found) for rule, found in tries.items() if rule in asked}
    ranked = sorted(summed, key=lambda rule: (-summed[rule].count, rule))[:MOST_RULES]
    return [
        f"`{rule}` had asked for it in {_tries(summed[rule].count)}: {asked[rule]}"
        for rule in ranked
    ]


def _failing(line: Line) -> str:
    wrong, no_gain = line.count - line.right, line.right - line.better
    if not line.count or not (wrong or no_gain):
        return ""
    parts = [f"{wrong} failed"] if wrong else []
    parts += [f"{no_gain} gained less than 1 %"] if no_gain else []
    return f"of {_tries(line.count)} {' and '.join(parts)}"


def _share(name: str, tally: Tally) -> str:
    return f"{name} ({2 ** _mean(tally):.3g}x a try in {tally.gains})"


def _mean(tally: Tally) -> float:
    return tally.total / tally.gains if tally.gains else 0.0


def _tries(count: int) -> str:
    return f"{count} {'try' if count == 1 else 'tries'}"
