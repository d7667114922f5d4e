"""Schedules: CUDA written from what a kernel computes, whatever its source is spelled like."""

from ...shared.base import Move
from . import (
    bins_schedule,
    column_schedule,
    contraction_schedule,
    elementwise_schedule,
    row_schedule,
    softmax_schedule,
    split_schedule,
    turned_schedule,
)

MOVES: tuple[Move, ...] = (
    row_schedule.MOVE,
    softmax_schedule.MOVE,
    split_schedule.MOVE,
    bins_schedule.MOVE,
    contraction_schedule.MOVE,
    column_schedule.MOVE,
    turned_schedule.MOVE,
    elementwise_schedule.MOVE,
)
