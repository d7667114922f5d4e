"""A GPU that is not there, for tests on machines without one: see README.md."""

from .harness import PretendedGpu, pretended_gpu
from .twins import TwinFailed, Twins

__all__ = ["PretendedGpu", "TwinFailed", "Twins", "pretended_gpu"]
