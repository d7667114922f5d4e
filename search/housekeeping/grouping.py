"""A long memory put in short by whoever plans: lines that teach the same thing, together; pure.

Somebody says which lines belong together and what they teach. Counts, gains and verdicts are never
theirs: they are added up from the lines, also from tries that came later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...runners.errors import SpecError
from ...runners.model import Record
from ..digest import Taught, verdict_of
from ..planning.brief import tokens_of
from ..planning.replies import object_in

BUDGET: Final = 400
"""tokens of a memory's lines from which it is put in short: those that a brief has room for"""
FEWEST_NEW: Final = 6
"""lines in no group from which it is asked about anew"""
MOST_ASKED: Final = 120
"""lines of one question, the most often tried"""
FORM: Final = '{"groups": [{"says": "...", "of": [0, 3]}, ...]}'
Way = tuple[str, str]
"""method and way, which name a line as long as there are tries of it"""


class Group(Record):
    """Lines that teach one thing."""

    says: str
    of: tuple[Way, ...]


class Grouping(Record):
    """What somebody made of a kernel's memory."""

    kernel_id: str
    by: str
    """the model, or the program"""
    time: str
    groups: tuple[Group, ...] = ()


class _Given(BaseModel):
    model_config = ConfigDict(extra="ignore")

    says: str = Field(min_length=3, max_length=240)
    of: list[int] = Field(min_length=1)


def grouped(lines: Iterable[Taught], groups: Iterable[Group]) -> tuple[Taught, ...]:
    """Lines of which groups are one line each, in order of tries. A group falls into its verdicts
    where later tries set its lines apart."""
    into = {way: group.says for group in groups for way in group.of}
    apart, together = list[Taught](), dict[tuple[str, str], list[Taught]]()
    for line in lines:
        says = into.get((line.method, line.way))
        if says is None:
            apart.append(line)
        else:
            together.setdefault((says, line.verdict), []).append(line)
    found = [*apart, *(_summed(says, rows) for (says, _), rows in together.items())]
    return tuple(sorted(found, key=lambda t: (-t.times, -(t.gain or 0.0), t.method, t.way)))


def is_long(lines: Sequence[Taught], groups: Iterable[Group]) -> bool:
    """Whether a memory is over its budget and has enough that nobody grouped."""
    known = {way for group in groups for way in group.of}
    new = sum((line.method, line.way) not in known for line in lines)
    spent = sum(tokens_of(line.describe()) for line in grouped(lines, groups))
    return new >= FEWEST_NEW and spent > BUDGET


def asked_data(lines: Sequence[Taught]) -> str:
    """The question."""
    told = [
        {"n": number, "verdict": line.verdict, "tries": line.describe()}
        for number, line in enumerate(lines[:MOST_ASKED])
    ]
    return json.dumps({"lines": told}, ensure_ascii=False)


def read_groups(text: str, lines: Sequence[Taught]) -> tuple[Group, ...]:
    """What an answer says. Raises SpecError where it is no answer, or names lines that are not
    there, twice, or of several verdicts."""
    lines, found = lines[:MOST_ASKED], object_in(text, "groups", FORM)["groups"]
    try:
        given = [_Given.model_validate(each) for each in found]
    except ValidationError as error:
        first = error.errors()[0]
        raise SpecError(f"groups.{first['loc']}: {first['msg']}", valid=FORM) from error
    _check([number for each in given for number in each.of], len(lines))
    for each in given:
        verdicts = sorted({lines[number].verdict for number in each.of})
        if len(verdicts) > 1:
            raise SpecError(
                f"the group {each.says!r} has lines of several verdicts: {', '.join(verdicts)}",
                valid="lines of one verdict",
            )
    return tuple(
        Group(
            says=" ".join(each.says.split()),
            of=tuple((lines[number].method, lines[number].way) for number in each.of),
        )
        for each in given
    )


def _check(numbers: Sequence[int], lines: int) -> None:
    twice = sorted({number for number in numbers if numbers.count(number) > 1})
    missing = sorted({number for number in numbers if not 0 <= number < lines})
    if twice or missing:
        what = f"lines {twice} stand in two groups" if twice else f"there are no lines {missing}"
        raise SpecError(what, valid=f"each of 0 to {lines - 1} once at most")


def _summed(says: str, rows: Sequence[Taught]) -> Taught:
    gains = [row.gain for row in rows if row.gain is not None]
    times, better = sum(row.times for row in rows), sum(row.better for row in rows)
    return Taught(
        method=rows[0].method,
        way=rows[0].way,
        says=says,
        verdict=verdict_of(times, better),
        times=times,
        better=better,
        failed=sum(row.failed for row in rows),
        gain=max(gains, default=None),
    )
