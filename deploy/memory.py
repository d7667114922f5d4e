"""What a call of a winner makes: its results, and scratch of its own that lies between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from .calls import TENSOR
from .packing import Slots
from .reading import Case

Shaped = tuple[tuple[int, ...], tuple[int, ...], Any]
"""shape, strides, type"""


class Memory:
    """The results and the scratch of a case. `slots`: where its buffers stand among the addresses
    of the tensors of a call and of what `new` gives."""

    def __init__(self, case: Case, torch: Any, device: str) -> None:
        given = _tensors(case.key)
        scratch = {name: b.number for name, b in case.buffers.items() if b.kind == "scratch"}
        self.results = len(case.made)
        self.slots: Slots = {
            **{n: b.number for n, b in case.buffers.items() if b.kind == "input"},
            **{n: given + b.number for n, b in case.buffers.items() if b.kind == "output"},
            **{name: given + self.results + k for k, name in enumerate(scratch)},
        }
        self._wanted: list[Shaped] = [
            *((m.shape, m.strides, getattr(torch, m.dtype)) for m in case.made),
            *(((nbytes,), (1,), torch.uint8) for nbytes in scratch.values()),
        ]
        self._empty = _empty(torch, device)

    def new(self) -> list[Any]:
        """Results in order, then scratch, on the current device."""
        empty = self._empty
        return [empty(shape, strides, dtype) for shape, strides, dtype in self._wanted]


def _empty(torch: Any, device: str) -> Callable[..., Any]:
    """What Inductor's own code makes its tensors by; where a torch has it no more, the public one,
    which takes twice as long."""
    found = getattr(torch, "_C", None)
    for name in ("_dynamo", "guards", f"_empty_strided_{device}"):
        found = getattr(found, name, None)
    if found is not None:
        return found

    def made(shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Any:
        return torch.empty_strided(shape, strides, dtype=dtype, device=device)

    return made


def _tensors(key: Any) -> int:
    """How many tensors a call has."""
    if not isinstance(key, tuple):
        return 0
    parts = cast("tuple[Any, ...]", key)
    return 1 if parts[:1] == (TENSOR,) else sum(_tensors(each) for each in parts)
