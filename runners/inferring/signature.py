"""What a kernel's source says about its contract: the form that every language is read into.

A field that is None could not be told from the source; `Undecided` says so in words where
more than the field itself has to be said.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ..dtypes import DtypeName
from ..specs.spec import Expression

ArrayRole = Literal["input", "output", "inout"]
Size = tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """Memory that the kernel is handed."""

    name: str
    role: ArrayRole | None
    dtype: DtypeName | None
    shape: Size | None
    init: str | None = None
    """`zeros` for what is only added to"""
    why: Mapping[str, str] = field(default_factory=dict[str, str])
    """field -> why it could not be told"""


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A number that the kernel is handed."""

    name: str
    dtype: DtypeName | None
    value: Expression | float | None
    why: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class SourceKernel:
    """An entry function as its source alone describes it."""

    name: str
    arguments: tuple[ArrayArgument | ScalarArgument, ...]
    symbols: Mapping[str, int | None]
    """size -> its value in the one workload"""
    parameters: Mapping[str, tuple[tuple[int, ...], int]] = field(
        default_factory=dict[str, tuple[tuple[int, ...], int]]
    )
    """tunable value -> its choices and the one to start from"""
    launch: Mapping[str, object] | None = None
    """for a source whose spec has no launch; `?` where it could not be told"""
    deterministic: bool = True
    notes: tuple[str, ...] = ()
    """what has to be known beside the fields"""


def symbol_for(name: str) -> str:
    """A symbol named as a parameter is; words that expressions cannot hold get a `_`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def is_size(name: str) -> bool:
    """Whether an integer is taken for a size of its own, by its name; strides follow from sizes."""
    return "stride" not in name.lower()


def role_of(*, read: bool, written: bool, updated: bool) -> ArrayRole:
    """Updated: the old value is used for the new one (`+=`, atomics)."""
    if updated or (read and written):
        return "inout"
    return "output" if written else "input"
