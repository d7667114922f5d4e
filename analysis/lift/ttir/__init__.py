"""Triton kernels as what they compute, read from their TTIR."""

from __future__ import annotations

from .reading import lift_ttir

__all__ = ["lift_ttir"]
