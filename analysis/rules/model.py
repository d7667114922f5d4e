"""A rule, and what it says of a launch: it fired, it did not, or it cannot know."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from ...runners.limits.limits import Work
from ...runners.model import Record
from ...runners.profiling.model import Scope
from ..profile.lines import LineCount

Severity = Literal["high", "medium", "low"]
Role = Literal["cause", "symptom", "class"]
"""what can be changed; what follows from something else; what kind of launch it is"""
Confidence = Literal["normal", "low"]
Values = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Hit:
    """A rule fired: how bad it is, and what is the case, with numbers."""

    severity: Severity
    text: str
    action: str = ""
    """what to do in this case; empty: what the rule says"""


@dataclass(frozen=True, slots=True)
class Blame:
    """Which lines are to blame: those with most of a counter, or most above its ideal."""

    counter: str
    ideal: str = ""
    opcode: re.Pattern[str] | None = None
    """of which instructions alone; None: of all"""


@dataclass(frozen=True, slots=True)
class Rule:
    """One row. `judge` gets exactly the values of `needs`, so none of them can be guessed."""

    id: str
    needs: tuple[str, ...]
    """metrics by exact name, and derived values (`derived.py`)"""
    judge: Callable[[Values], Hit | None]
    role: Role
    action: str
    because: str
    """why these thresholds, and whose they are"""
    agrees: tuple[tuple[str, str], ...] = ()
    """NVIDIA's rules that say the same: identifier, and how the title begins"""
    blame: Blame | None = None
    of_run: bool = False
    """judged once for all launches together"""

    page: str = ""
    """the skill, where it is not the page of the rule's own name"""

    @property
    def skill(self) -> str:
        """The id of the page that explains it (`skills/`): hyphens in place of underscores."""
        return self.page or self.id.replace("_", "-")


class Facts(Record):
    """What is known beside the profile; None: not known."""

    work: Work = Work()
    """of one run, as the contract declares it"""
    matrix_work: bool | None = None
    """it multiplies matrices in types that tensor cores take"""


class Finding(Record):
    """A rule that fired, with its evidence."""

    rule: str
    severity: Severity
    role: Role
    text: str
    action: str
    skill: str
    because: str
    kernel: str
    """empty: of the run as a whole"""
    share: float
    """of the run's time that it is about"""
    confidence: Confidence = "normal"
    values: dict[str, float]
    lines: tuple[LineCount, ...] = ()
    agreed: bool = False
    """one of NVIDIA's rules says the same"""
    speedup_percent: float | None = None
    """NVIDIA's estimate, of `scope`; never to be added to others"""
    scope: Scope | None = None
    static: bool = False
    """of launch plan, compiler and PTX alone: nothing was counted"""


def finding(
    rule: Rule, hit: Hit, *, kernel: str, share: float, values: dict[str, float]
) -> Finding:
    """What a rule says that fired, without more evidence than its values."""
    return Finding(
        rule=rule.id,
        severity=hit.severity,
        role=rule.role,
        text=hit.text,
        action=hit.action or rule.action,
        skill=rule.skill,
        because=rule.because,
        kernel="" if rule.of_run else kernel,
        share=share,
        values=values,
    )


class Unknown(Record):
    """A rule that cannot say anything, and what it lacks."""

    rule: str
    kernel: str
    missing: tuple[str, ...] = Field(min_length=1)
    """metrics by exact name, and what else would have to be known"""
