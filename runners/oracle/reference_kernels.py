"""The references of the kernels that are open, and what they return for inputs of a pool."""

from __future__ import annotations

import mmap
from dataclasses import dataclass

import numpy as np

from ..protocol.layout import record
from ..specs.contract import BoundContract, bind
from ..specs.io_contract import Contract
from .arrays import HostArray
from .expected.truths import truth_nbytes, truth_places
from .inputs import unpack
from .libraries import library_for
from .lifted_values import AS_THE_KERNEL, LIFTED
from .messages import Compute, OpenReference, TimeReference
from .references import FUNCTION, Reference


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A contract with the function that is its truth, and where that computes."""

    contract: Contract
    reference: Reference
    where: str


class ReferenceKernels:
    """What the reference's process has loaded. `gpu`: as in `OracleSettings`."""

    def __init__(self, gpu: str) -> None:
        self._gpu = gpu
        self._kernels: dict[str, _Kernel] = {}

    def open(self, message: OpenReference) -> None:
        """Load a reference. Raises ReferenceFailed when it does not even load."""
        read = message.source is None
        source = message.lifted or "" if message.source is None else message.source
        library, where = library_for(source, self._gpu)
        native = AS_THE_KERNEL if read else FUNCTION
        reference = Reference(source, library, message.contract.math, native)
        where = f"{LIFTED} by {where}" if read else where
        self._kernels[message.kernel] = _Kernel(message.contract, reference, where)

    def where(self, kernel: str) -> str:
        """Where a reference computes, and what of it numpy had to do."""
        known = self._kernels[kernel]
        fallen_back = known.reference.fallen_back
        return f"{known.where}; {fallen_back}" if fallen_back else known.where

    def work(self) -> bool:
        """Whether every library still computes."""
        return all(kernel.reference.library.works() for kernel in self._kernels.values())

    def forget(self, kernel: str) -> None:
        """Let go of a reference."""
        self._kernels.pop(kernel, None)

    def compute(self, message: Compute, inputs: int, outputs: int) -> None:
        """Call a reference on one seed; what it returns lies in `outputs` then (`truths.py`).

        Both are descriptors. Raises ReferenceFailed.
        """
        kernel = self._kernels[message.pool.kernel]
        contract = bind(kernel.contract, message.pool.symbols, message.pool.label)
        library = kernel.reference.library
        exact, native = kernel.reference.outputs(contract, _inputs(contract, message.slot, inputs))
        memory = np.frombuffer(mmap.mmap(outputs, truth_nbytes(contract)), dtype=np.uint8)
        for places, e, n in zip(truth_places(contract), exact, native, strict=True):
            if places.exact is not None:
                places.exact.array(memory)[...] = library.to_host(e, "float64")
            places.native.array(memory)[...] = library.to_host(n, places.native.dtype)
        library.release()

    def seconds(self, message: TimeReference, inputs: int) -> float:
        """How long a call of a reference takes on one seed; `inputs`: a descriptor. Raises
        ReferenceFailed."""
        kernel = self._kernels[message.pool.kernel]
        contract = bind(kernel.contract, message.pool.symbols, message.pool.label)
        given = _inputs(contract, message.slot, inputs)
        return kernel.reference.seconds(contract, given, message.seconds)


def _inputs(contract: BoundContract, slot: int, fd: int) -> dict[str, HostArray]:
    """The inputs of one seed: a record of the file, which is read alone."""
    layout = record(contract.inputs)
    whole = mmap.mmap(fd, layout.nbytes * (slot + 1), prot=mmap.PROT_READ)
    data = np.frombuffer(whole, dtype=np.uint8)[layout.nbytes * slot :]
    return {
        bound.name: unpack(bound, data[place.offset : place.offset + place.nbytes])
        for bound, place in zip(contract.inputs, layout.slots, strict=True)
    }
