"""The table of `kernelwright selftest`: what each page tried, and what stopped it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from ..runners.wording import cut
from .selftest.cheats import Cheat, Impossible
from .selftest.running import Outcome

ENDED, LINE_CHARS = "ended as", 200
COUNTED = {"caught": "cheats caught", "passed": "honest kernels passed", "not run": "not run"}
STYLES = {"caught": "green", "passed": "green", "not run": "dim"}


def outcome_row(outcome: Outcome) -> str:
    """One line while the selftest goes on."""
    by = f" by {outcome.by}" if outcome.by else ""
    return f"{outcome.verdict}{by}: {outcome.name}"


def selftest_table(
    cheats: Sequence[Cheat], outcomes: Sequence[Outcome], *, narrow: bool = False
) -> Table:
    """A row a page: cheats, then honest kernels. `narrow`: without how each ended."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for column in ("", "what it tries", *[ENDED] * (not narrow), "verdict", "by"):
        table.add_column(column, overflow="fold", no_wrap=column == "verdict")
    honest = {cheat.name for cheat in cheats if cheat.honest}
    for part in (False, True):
        for each in outcomes:
            if (each.name in honest) is part:
                table.add_row(
                    each.name,
                    each.title,
                    *[str(each.ending or "")] * (not narrow),
                    Text(each.verdict, STYLES.get(each.verdict, "bold red")),
                    _by(each),
                )
        table.add_section()
    return table


def impossible_table(found: Sequence[Impossible]) -> Table:
    """Rows of the table of known cheats that nobody can try here, and why."""
    table = Table(box=box.SIMPLE, pad_edge=False)
    for column in ("rows", "impossible", "because"):
        table.add_column(column, overflow="fold")
    for each in found:
        table.add_row(", ".join(map(str, each.rows)), each.what, each.why)
    return table


def verdict_text(outcomes: Sequence[Outcome]) -> str:
    """How many were caught, passed, not run, and which were not as they should be."""
    counted = {v: sum(o.verdict == v for o in outcomes) for v in COUNTED}
    text = ", ".join(f"{COUNTED[v]}: {number}" for v, number in counted.items() if number)
    lines = [text] if text else []
    lines += [f"{o.verdict}: {o.name}: {o.message}" for o in outcomes if not o.good]
    lines += [
        f"caught by another gate than its page says: {o.name}: {cut(o.message, LINE_CHARS)}"
        for o in outcomes
        if o.verdict == "caught" and not o.expected
    ]
    if counted["not run"]:
        lines.append("what was not run says nothing; `kernelwright doctor` names what is missing")
    return "\n".join(lines)


def write_outcomes(path: Path, outcomes: Sequence[Outcome], seconds: float, *, pages: int) -> None:
    """All outcomes as JSON, for machines. `pages`: how many were to be tried; good is what tried
    them all."""
    data = {
        "seconds": round(seconds, 1),
        "pages": pages,
        "good": len(outcomes) == pages and all(o.good for o in outcomes),
        "outcomes": [o.model_dump(mode="json") for o in outcomes],
    }
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def _by(outcome: Outcome) -> str:
    return outcome.message if outcome.verdict == "not run" else outcome.by
