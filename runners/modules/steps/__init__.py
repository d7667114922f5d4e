"""What can be done to a module, a file each: one step, its error class, and how to undo it.

These files stand on their own (torch and the standard library, nothing of ours but each other), so
that those of a chosen rung are written beside the optimized module and work there.
"""

from __future__ import annotations

from . import (
    autotune,
    bf16,
    channels_last,
    compiled,
    graphs,
    sdpa,
    tf32,
    threads,
)
from .base import Step

STEPS: tuple[Step, ...] = (
    bf16.STEP,
    channels_last.STEP,
    sdpa.STEP,
    compiled.STEP,
    autotune.STEP,
    tf32.STEP,
    threads.STEP,
    graphs.STEP,
)
"""In the order in which those of one rung are applied."""
BY_NAME: dict[str, Step] = {step.name: step for step in STEPS}

__all__ = ["BY_NAME", "STEPS", "Step"]
