"""Ideas that were tried on a kernel, and what of them is worth telling in a state; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from pydantic import BaseModel, ConfigDict

from ..runners.model import Candidate, Ending, Record, content_hash
from .moves.shared.base import State

TOLD: Final = 10
"""ideas that a planner is told of"""
Name = tuple[bool, str, str, str]
"""of an idea: here or elsewhere, method, what changed, and in which words a source was rewritten"""


class Lesson(BaseModel):
    """A row of the table `memory`: one evaluation in a search. Older rows have fewer fields."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    kernel_id: str
    search_id: str = ""
    parent: str = ""
    """variant id of the state that it was tried from; empty: not known"""
    change: str = ""
    """`change_key` of the candidate in that state; empty: not known"""
    method: str
    detail: str = ""
    changed: str
    """what the candidate changed, in words: `TILE=32`, `source`, `flags`"""
    ending: Ending
    speedup: float | None = None
    """over the baseline; None unless measured"""
    gain: float | None = None
    """log2 of the speedup over the parent; None unless both were measured"""
    lesson: str = ""
    """the first line of what was said of it"""
    variant_id: str | None = None


class Idea(Record):
    """One idea, tried once or several times."""

    method: str
    changed: str
    detail: str
    here: bool
    """from this very state; else from another state of the kernel"""
    times: int
    failed: int
    """times that it did not get as far as a measurement"""
    ending: Ending
    """the last"""
    speedup: float | None = None
    """over the baseline, the largest"""
    gain: float | None = None
    """log2 over the state that it was tried from, the largest"""
    lesson: str

    def describe(self) -> str:
        """One line for people: `tune_parameters TILE=128, 2 times elsewhere: wrong: gate ...`."""
        times = "" if self.times == 1 else f" {self.times} times"
        where = "here" if self.here else "elsewhere"
        from_there = "from here" if self.here else "from there"
        gain = "" if self.gain is None else f" ({100 * (2**self.gain - 1):+.1f} % {from_there})"
        lesson = f": {self.lesson}" if self.failed and self.lesson else ""
        return f"{self.method} {self.changed},{times} {where}: {self.ending}{gain}{lesson}"


@dataclass(frozen=True, slots=True)
class Recollection:
    """What earlier searches of the kernel say to one state."""

    closed: frozenset[str] = frozenset()
    """`change_key`s of what failed for good from this state: the same would end the same"""
    doubted: frozenset[str] = frozenset()
    """of what was never measured from other states, whenever it was tried"""
    ideas: tuple[Idea, ...] = ()
    """the most telling, at most `TOLD`"""
    reached: frozenset[str] = frozenset()
    """variants that were reached from this state, with a verdict that stays"""


class Memory:
    """All lessons of one kernel, the oldest first."""

    def __init__(self, lessons: Iterable[Lesson]) -> None:
        # a lost evaluation taught nothing of its idea
        self.lessons = tuple(each for each in lessons if each.ending is not Ending.lost)
        self._of_state = dict[str, Recollection]()

    def ideas(self, parent: str = "") -> tuple[Idea, ...]:
        """Every idea, the oldest first; `parent`: the state that counts as here."""
        groups = dict[Name, list[Lesson]]()
        for each in self.lessons:
            groups.setdefault(_name(each, parent), []).append(each)
        return tuple(_idea(name, group) for name, group in groups.items())

    def at(self, parent: str) -> Recollection:
        """What there is to say to a state, by its variant id."""
        if parent not in self._of_state:
            self._of_state[parent] = self._at(parent)
        return self._of_state[parent]

    def _at(self, parent: str) -> Recollection:
        here = [each for each in self.lessons if each.parent == parent]
        elsewhere = [each for each in self.lessons if each.parent != parent]
        measured = {each.change for each in elsewhere if each.ending.measured}
        closed = {each.change for each in here if not each.ending.measured}
        return Recollection(
            closed=frozenset(closed - {""}),
            doubted=frozenset({each.change for each in elsewhere} - measured - {""}),
            ideas=most_telling(self.ideas(parent)),
            reached=frozenset(e.variant_id for e in here if e.variant_id and e.ending.final),
        )


def most_telling(ideas: Iterable[Idea], most: int = TOLD) -> tuple[Idea, ...]:
    """What to tell a planner, `most` at most: first what was tried from this very state, failures
    before the rest and large gains or losses before small ones; then ideas that never once worked
    elsewhere, the most often tried first. Of equal ones the oldest stays longest.
    """
    telling = [each for each in ideas if each.here or each.failed == each.times]
    return tuple(sorted(telling, key=_telling, reverse=True)[:most])


def change_key(candidate: Candidate, state: State) -> str:
    """What a candidate changes, whatever it is called; values that stay are no change."""
    changed = candidate.model_dump(include={"source", "diff", "plan", "options", "knobs"})
    values = candidate.parameters or {}
    now = state.assignment
    changed["parameters"] = {n: v for n, v in values.items() if now.get(n) != v}
    return content_hash(changed)


def _name(lesson: Lesson, parent: str) -> Name:
    rewritten = lesson.detail if "source" in lesson.changed.split(", ") else ""
    return bool(parent) and lesson.parent == parent, lesson.method, lesson.changed, rewritten


def _idea(name: Name, lessons: list[Lesson]) -> Idea:
    # the same change of the same state in several searches is one try: nobody paid for it again
    tries = list({(each.parent, each.change, each.variant_id): each for each in lessons}.values())
    last = tries[-1]
    return Idea(
        method=last.method,
        changed=last.changed,
        detail=last.detail,
        here=name[0],
        times=len(tries),
        failed=sum(not each.ending.measured for each in tries),
        ending=last.ending,
        speedup=_largest(each.speedup for each in tries),
        gain=_largest(each.gain for each in tries),
        lesson=last.lesson,
    )


def _largest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _telling(idea: Idea) -> tuple[bool, bool, int, float]:
    failed = idea.failed == idea.times
    return idea.here, failed, idea.times, abs(idea.gain or 0.0)
