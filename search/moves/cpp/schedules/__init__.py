"""Schedules: host C++ written from what a function computes, whatever its spelling."""

from ...shared.base import Move
from . import loops_schedule, panels_schedule

MOVES: tuple[Move, ...] = (
    panels_schedule.MOVE,
    loops_schedule.MOVE,
)
