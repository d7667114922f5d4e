"""Candidates with knobs: what the knobs are, and how they are tuned."""

from .knobs import Tuning, tuning_of
from .tune import Batches, Judged, tune

__all__ = ["Batches", "Judged", "Tuning", "tune", "tuning_of"]
