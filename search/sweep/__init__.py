"""Tuning of parameters: which configuration of a discrete space to measure next."""

from .space import Configuration, Space, Value
from .sweep import Sweep

__all__ = ["Configuration", "Space", "Sweep", "Value"]
