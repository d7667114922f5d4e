"""Outputs that the server does not know yet, in a file without a name, as the contract has them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..dtypes import DTYPES
from ..protocol.layout import record
from ..specs.contract import BoundContract
from .cuda_driver.driver import Bytes
from .tables import Elements

Parts = Sequence[Bytes]
"""The outputs of one run, in order, each dense."""


class Handover:
    """Collects new outputs. `known`: digests by slot (as text), from the server."""

    def __init__(self, contract: BoundContract, known: Mapping[str, Sequence[str]]) -> None:
        self._outputs, self._record = contract.outputs, record(contract.outputs)
        self._known = {int(slot): set(digests) for slot, digests in known.items()}
        self._fd = os.memfd_create("outputs")
        self._count = 0

    def place(self, slot: int, digest: str, fetch: Callable[[], Parts]) -> int | None:
        """The place in the file of an output; None for one that is known."""
        seen = self._known.setdefault(slot, set())
        if digest in seen:
            return None
        seen.add(digest)
        place, self._count = self._count, self._count + 1
        start = place * self._record.nbytes
        os.ftruncate(self._fd, start + self._record.nbytes)
        for part, where, bound in zip(fetch(), self._record.slots, self._outputs, strict=True):
            itemsize = DTYPES[bound.argument.dtype].itemsize
            laid = laid_out(part, bound.shape, bound.strides, itemsize, where.nbytes)
            _write(self._fd, laid, start + where.offset)
        return place

    def close(self) -> int:
        """The descriptor; the caller sends it on and closes it."""
        return self._fd


def laid_out(
    dense: Bytes, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, nbytes: int
) -> Bytes:
    """Dense elements where an array's strides (in elements) put them; zeros between them."""
    if Elements(shape, strides, itemsize).dense:
        return dense
    laid = np.zeros(nbytes, dtype=np.uint8)
    target = np.lib.stride_tricks.as_strided(
        laid, (*shape, itemsize), (*(s * itemsize for s in strides), 1)
    )
    target[...] = dense.reshape(*shape, itemsize)
    return laid


def _write(fd: int, data: Bytes, offset: int) -> None:
    view = data.data
    while view:  # the system writes at most 2 GiB at once
        written = os.pwrite(fd, view, offset)
        view, offset = view[written:], offset + written
