"""What is known of a kernel when its spec is written, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...dtypes import DTYPES, DtypeName
from ..replaying.kept import KeptLaunch
from ..replaying.replaying import Role

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Observed:
    """A kept launch, how often the program makes one like it, and what it does to each buffer."""

    kept: KeptLaunch
    count: int
    roles: tuple[Role, ...] = ()
    """by buffer, as its replay found them; empty: it could not be replayed"""
    noise: bool = False
    """two replays differ from each other"""


@dataclass(frozen=True, slots=True)
class Taken:
    """A parameter of the kernel, as its source and the machine code both have it."""

    name: str
    type: str
    """as it is written"""
    offset: int
    size: int
    dtype: DtypeName | None
    """of its elements; None: no type that a contract knows"""
    lanes: int = 1
    """elements of a value: 4 of a `float4`"""
    pointers: int = 0
    const: bool = False
    """what it points to is const"""

    @property
    def is_number(self) -> bool:
        """Whether it is one number, passed by value."""
        return not self.pointers and self.dtype is not None and self.lanes == 1

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return DTYPES[self.dtype].itemsize if self.dtype else 1


@dataclass(frozen=True, slots=True)
class Opened:
    """A spec's data, the arrays beside it by their file's name, and what is to be known."""

    data: dict[str, Any]
    arrays: Mapping[str, Array] = field(default_factory=dict[str, np.ndarray])
    notes: tuple[str, ...] = ()
