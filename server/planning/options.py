"""Who plans for `kernelwright optimize`, as the command line says it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...search.drivers.drivers import DriverName
from ...search.drivers.settings import PlannerSettings
from ...search.settings import Settings
from ..options.assignments import settings_from


@dataclass(frozen=True)
class PlannerOptions:
    """The options; what is left out has the default of `PlannerSettings`."""

    driver: DriverName | None = None
    """None: rules"""
    model: str = ""
    command: str = ""
    budget_usd: float | None = None
    budget_tokens: int | None = None
    assignments: tuple[str, ...] = ()
    kept: PlannerSettings | None = None
    """of the search that is resumed: what is not told stays as it was"""

    @cached_property
    def settings(self) -> PlannerSettings:
        """Those of the driver. Raises SpecError."""
        flags = {name: value for name, value in self._flags() if value not in (None, "", ())}
        told = settings_from(flags, self.assignments, PlannerSettings, "--planner-set")
        if self.kept is None:
            return told
        changed = {name: getattr(told, name) for name in told.model_fields_set}
        return self.kept.model_copy(update=changed)

    def _flags(self) -> Iterator[tuple[str, object]]:
        yield "model", self.model
        yield "command", tuple(map(_absolute, shlex.split(self.command)))
        yield "budget_usd", None if self.budget_usd is None else str(self.budget_usd)
        yield "budget_tokens", self.budget_tokens

    def with_repairs(self, settings: Settings) -> Settings:
        """The settings of a search whose planner can mend what failed, unless they say how often
        themselves."""
        if self.driver is None or "repair_visits" in settings.model_fields_set:
            return settings
        return settings.model_copy(update={"repair_visits": self.settings.repairs})

    def describe(self, *, no_llm: bool) -> str:
        """One line on who plans."""
        match self.driver:
            case None:
                return f"planner: rules ({'--no-llm' if no_llm else 'no model is used'})"
            case "command":
                return f"planner: {shlex.join(self.settings.command)}"
            case "mixed":
                then = shlex.join(self.settings.command) or self.settings.model
                return f"planner: rules until they stop paying, then {then}"
            case "anthropic":
                return f"planner: {self.settings.model}"

    def words(self) -> list[str]:
        """The options again, for the command that resumes."""
        given = {
            "--planner": self.driver,
            "--model": self.model,
            "--command": self.command,
            "--budget-usd": self.budget_usd,
            "--budget-tokens": self.budget_tokens,
        }
        words = [word for name, value in given.items() if value for word in (name, str(value))]
        return words + [word for each in self.assignments for word in ("--planner-set", each)]


def _absolute(word: str) -> str:
    """A file is named by its whole path: the program runs in another folder."""
    return str(Path(word).resolve()) if Path(word).is_file() else word


RULES = PlannerOptions()
