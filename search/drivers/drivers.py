"""Who answers in place of a client: a driver is one file and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, get_args

from .anthropic import AnthropicDriver
from .command import CommandDriver
from .driver import Driver
from .settings import PlannerSettings

DriverName = Literal["anthropic", "command"]
DRIVERS: Mapping[DriverName, Callable[[PlannerSettings], Driver]] = {
    "anthropic": AnthropicDriver,
    "command": CommandDriver,
}
NAMES: tuple[DriverName, ...] = get_args(DriverName)
