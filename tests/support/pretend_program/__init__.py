"""A program on a pretended driver, which is recorded, replayed and given other kernels."""

from .harness import (
    PretendedProgram,
    kept_requests,
    pretended_program,
    program_run,
    recorded_once,
)

__all__ = ["PretendedProgram", "kept_requests", "pretended_program", "program_run", "recorded_once"]
