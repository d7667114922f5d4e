"""Who answers in place of a client: a driver is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, get_args

from .anthropic import AnthropicDriver
from .command import CommandDriver
from .driver import Driver
from .settings import PlannerSettings

DriverName = Literal["anthropic", "command", "mixed"]


def either(settings: PlannerSettings) -> Driver:
    """Who answers where planner mixed asks: the program where there is one, else the model."""
    return CommandDriver(settings) if settings.command else AnthropicDriver(settings)


DRIVERS: Mapping[DriverName, Callable[[PlannerSettings], Driver]] = {
    "anthropic": AnthropicDriver,
    "command": CommandDriver,
    "mixed": either,
}
NAMES: tuple[DriverName, ...] = get_args(DriverName)
