"""What a kernel promises the compiler of its numbers, held against the numbers themselves.

`tl.multiple_of`, `tl.max_contiguous` and `tl.max_constancy` decide how wide loads and stores are,
and nobody looks whether they are true: the interpreter takes them for words, and a GPU reads and
writes somewhere else. (`tl.assume` it asserts by itself.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from ..capture.libraries import load
from ..capture.source_lines import line_of_the_caller

Kept = Callable[[Any, int, int], bool]


class Promises:
    """The first promise that did not hold; empty: none. No value of a number is told."""

    def __init__(self, source: Path) -> None:
        self._source = source
        self.broken = ""

    def check(self, name: str, tensor: Any, values: Sequence[Any]) -> None:
        """Note a promise that does not hold along one of the axes of a tensor."""
        numbers, step = _numbers(tensor)
        if self.broken or not all(isinstance(each, int) and each > 0 for each in values):
            return
        for axis, wanted in enumerate(values):
            if wanted > 1 and not KEPT[name](_lines(numbers, axis), wanted, step):
                asked = ", ".join(map(str, values))
                where = line_of_the_caller(self._source)
                self.broken = f"it promises tl.{name}(..., {asked}) of numbers that are not{where}"
                return


def _numbers(tensor: Any) -> tuple[Any, int]:
    """Of a tensor, and how far neighbours are apart: addresses count bytes."""
    import numpy as np

    data = tensor.handle.data.astype(np.int64)
    scalar = tensor.dtype.scalar
    step = scalar.element_ty.primitive_bitwidth // 8 if scalar.is_ptr() else 1
    return data if tensor.shape else data.reshape(1), max(1, step)


def _lines(numbers: Any, axis: int) -> Any:
    """All lines along an axis, one a row."""
    import numpy as np

    return np.moveaxis(numbers, axis, -1).reshape(-1, numbers.shape[axis])


def _follows(lines: Any, step: int) -> Any:
    """Which numbers follow the one before them; a 0 may, as `r % M` begins anew there. Products of
    matrices promise so of a last tile beyond the end, and where M is no multiple of a vector Triton
    makes nothing of it."""
    before, after = lines[:, :-1], lines[:, 1:]
    return (after == before + step) | (after == 0)


def _multiples(lines: Any, wanted: int, step: int) -> bool:
    """Each number, or what begins a run of numbers that follow each other: 64, 65, ... 127 counts
    as multiples of 64."""
    import numpy as np

    begins = np.ones(lines.shape, bool)
    begins[:, 1:] = ~_follows(lines, step)
    return bool((lines[begins] % wanted == 0).all())


def _contiguous(lines: Any, wanted: int, step: int) -> bool:
    inside = _inside_groups(lines.shape[1], wanted)
    return bool(_follows(lines, step)[:, inside].all())


def _constant(lines: Any, wanted: int, step: int) -> bool:
    del step
    inside = _inside_groups(lines.shape[1], wanted)
    return bool((lines[:, 1:] == lines[:, :-1])[:, inside].all())


def _inside_groups(length: int, wanted: int) -> Any:
    """Which pairs of neighbours lie within one group of so many."""
    import numpy as np

    return np.arange(1, length) % wanted != 0


KEPT: dict[str, Kept] = {
    "multiple_of": _multiples,
    "max_contiguous": _contiguous,
    "max_constancy": _constant,
}


def install(promises: Promises) -> None:
    """Watch the interpreter of this process, for good."""
    interpreter: Any = load("triton.runtime.interpreter")
    patch_language: Callable[[Any, Any], None] = interpreter._patch_lang_core

    def patched(language: Any, scope: Any) -> None:
        patch_language(language, scope)
        for name in KEPT:
            scope.set_attr(language, name, _watched(promises, name, getattr(language, name)))

    interpreter._patch_lang_core = patched


def _watched(promises: Promises, name: str, plain: Callable[[Any, Any], Any]) -> Any:
    tensor_type: Any = load("triton.language").tensor

    def promised(input: Any, values: Any) -> Any:
        if isinstance(input, tensor_type):
            several = cast("list[Any]", values if isinstance(values, list | tuple) else [values])
            plainly: list[Any] = [getattr(each, "value", each) for each in several]
            if len(plainly) == max(1, len(input.shape)):
                promises.check(name, input, plainly)
        return plain(input, values)

    return promised
