"""Every load and store of an interpreted kernel is held against the buffers that there are.

Guard bands find what was written beside a buffer; this finds what was read there as well, with
the line that did it, and before memory of the interpreter itself is damaged.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..capture.libraries import load
from ..capture.source_lines import line_of_the_caller


class OutsideEveryBuffer(Exception):
    """An access that no buffer covers, in words."""


class Buffers:
    """Stretches of memory that kernels may touch, in order; none overlaps another."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self._bounds: tuple[Any, Any] | None = None
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._names: list[str] = []
        self.outside = ""
        """the first access that no buffer covers; what was interpreted may go on after it"""

    def add(self, start: int, nbytes: int, name: str = "") -> None:
        """One more stretch; one with those that it overlaps: memory used again, and views."""
        if nbytes <= 0:
            return
        end, first = start + nbytes, bisect_right(self._ends, start)
        last = first
        while last < len(self._starts) and self._starts[last] < end:
            start, end = min(start, self._starts[last]), max(end, self._ends[last])
            name = self._names[last] or name
            last += 1
        self._starts[first:last], self._ends[first:last] = [start], [end]
        self._names[first:last] = [name]
        self._bounds = None

    def add_tensor(self, tensor: Any) -> None:
        """The whole storage of a tensor, or of one that wraps it."""
        base = getattr(tensor, "base", tensor)
        storage = base.untyped_storage()
        self.add(storage.data_ptr(), storage.nbytes())

    def check(self, what: str, addresses: Any, nbytes: int) -> None:
        """Raise OutsideEveryBuffer unless each of these addresses has `nbytes` to touch."""
        np: Any = load("numpy")
        if self._bounds is None:
            self._bounds = np.array(self._starts, np.uint64), np.array(self._ends, np.uint64)
        starts, ends = self._bounds
        at = np.searchsorted(starts, addresses, side="right") - 1
        inside = at >= 0
        inside[inside] = addresses[inside] + np.uint64(nbytes) <= ends[at[inside]]
        if not inside.all():
            outside = addresses[~inside]
            message = f"it {what} {self._where(int(outside[0]))}"
            if outside.size > 1:
                message += f" and {outside.size - 1} more elements outside its buffers"
            self.outside = self.outside or message + line_of_the_caller(self._source)
            raise OutsideEveryBuffer(self.outside)

    def _where(self, address: int) -> str:
        """The nearest buffer and how far it is."""
        after = bisect_right(self._starts, address)
        found = list[tuple[int, str]]()
        if after > 0:
            behind = address - self._ends[after - 1]
            words = f"byte {behind + 1} behind the end of" if behind >= 0 else "over the end of"
            found.append((max(behind, 0), f"{words} {self._name(after - 1)}"))
        if after < len(self._starts):
            before = self._starts[after] - address
            found.append((before, f"byte {before} before the start of {self._name(after)}"))
        return min(found)[1] if found else "memory where no buffer lies"

    def _name(self, index: int) -> str:
        name = self._names[index]
        return f"`{name}`" if name else "a tensor of the wrapper"


def install(buffers: Buffers) -> None:
    """Watch the interpreter of this process, for good."""
    interpreter: Any = load("triton.runtime.interpreter")
    builder, executor = interpreter.InterpreterBuilder, interpreter.GridExecutor

    def watched(name: str, what: str, mask_at: int | None) -> None:
        plain: Callable[..., Any] = getattr(builder, name)

        def access(self: Any, *operands: Any, **more: Any) -> Any:
            pointers = operands[1] if name == "create_atomic_rmw" else operands[0]
            mask = None if mask_at is None else operands[mask_at]
            _check(buffers, what, pointers, mask)
            return plain(self, *operands, **more)

        setattr(builder, name, access)

    watched("create_masked_load", "reads", 1)
    watched("create_masked_store", "writes", 2)
    watched("create_atomic_cas", "changes", None)
    watched("create_atomic_rmw", "changes", 3)
    to_host: Callable[..., Any] = executor._init_args_hst

    def init_args(self: Any, args: Any, kwargs: Any) -> Any:
        found = to_host(self, args, kwargs)
        for each in (*found[0], *found[1].values()):
            _add_argument(buffers, each)
        return found

    executor._init_args_hst = init_args


def _check(buffers: Buffers, what: str, pointers: Any, mask: Any) -> None:
    import numpy as np

    addresses, taken = pointers.data, True if mask is None else mask.data
    wanted = np.broadcast_to(np.asarray(taken, dtype=bool), addresses.shape)
    if wanted.any():
        element: Any = load("triton.runtime.interpreter")._get_np_dtype(pointers.get_element_ty())
        buffers.check(what, addresses[wanted], element.itemsize)


def _add_argument(buffers: Buffers, value: Any) -> None:
    if isinstance(value, tuple):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            _add_argument(buffers, each)
    elif hasattr(value, "block_shape"):
        buffers.add_tensor(value.base)
    elif hasattr(value, "untyped_storage") or hasattr(value, "data_ptr"):
        buffers.add_tensor(value)
