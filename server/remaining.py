"""How long a search may still take, by the pace of its own builds: pure, clocks are given."""

from __future__ import annotations

from dataclasses import dataclass

from ..search.settings import Settings

FEWEST = 2
"""builds that say something of the pace"""


@dataclass(frozen=True, slots=True)
class Pace:
    """A search since it began here. `builds`: those of an earlier run, which cost no time of this
    one; None: it has not been told yet."""

    began: float
    budget_seconds: float | None = None
    builds: int | None = 0

    @classmethod
    def of(cls, settings: Settings, resumed: bool, now: float) -> Pace:
        """Of a search that begins, or goes on, at this moment (seconds)."""
        return cls(now, settings.budget_seconds, None if resumed else 0)

    def after(self, builds: int) -> Pace:
        """With what a first report tells of a search that went on."""
        return self if self.builds is not None else Pace(self.began, self.budget_seconds, builds)

    def left_s(self, builds: int, budget: int, now: float) -> float | None:
        """Seconds until the budget is spent, by the mean of the builds so far; None: too few. A
        search that stops by itself takes less."""
        passed, done = now - self.began, builds - (self.builds or 0)
        left = None if done < FEWEST else passed / done * max(0, budget - builds)
        if self.budget_seconds is None:
            return left
        allowed = max(0.0, self.budget_seconds - passed)
        return allowed if left is None else min(left, allowed)


def left_text(seconds: float | None) -> str:
    """`about 3 min left`; empty where it is not known, or nothing is left."""
    if seconds is None or seconds < 1:
        return ""
    if seconds < 90:
        return f"about {max(5, 5 * round(seconds / 5))} s left"
    if seconds < 90 * 60:
        return f"about {round(seconds / 60)} min left"
    return f"about {seconds / 3600:.1f} h left"
