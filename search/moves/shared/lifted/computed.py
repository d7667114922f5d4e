"""What readers of every language hand to schedules: a lift, and what is known of its parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from .....analysis.lift import Lifted
from .....runners.specs.part import Expression
from .....runners.specs.spec import KernelSpec
from .memory import Memory


class Computed(Protocol):
    """A kernel as what it computes, over its own parameters."""

    @property
    def spec(self) -> KernelSpec:
        """Of the state."""
        ...

    @property
    def lifted(self) -> Lifted:
        """Nothing of a launch is left in it."""
        ...

    @property
    def arrays(self) -> Mapping[str, Memory]:
        """By parameter."""
        ...

    @property
    def sizes(self) -> Mapping[str, Expression]:
        """Integers that the kernel is given, or could be: over the symbols of the spec."""
        ...
