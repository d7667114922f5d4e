"""An array or buffer that a kernel is given."""

from __future__ import annotations

from dataclasses import dataclass

from .....runners.specs.part import Expression


@dataclass(frozen=True, slots=True)
class Memory:
    """An array or buffer behind a pointer parameter."""

    name: str
    """as the kernel calls it"""
    dtype: str
    align: int
    """bytes"""
    elements: tuple[Expression, ...]
    """sizes, whose product is the number of elements"""
