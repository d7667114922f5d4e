"""The kernels that the judge knows: inputs, expected values, adopted outputs; no user's code."""

from __future__ import annotations

import fcntl
import math
import mmap
import os
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from ..errors import ReferenceFailed
from ..protocol.layout import Record, record
from ..specs.contract import BoundArgument, BoundContract, bind
from ..specs.io_contract import Contract, StressKind
from .arrays import ArrayLibrary
from .expected.truths import truth_nbytes, truth_places
from .inputs import make_inputs, pack, unpack
from .judge import Expected, expect, judge
from .libraries import library_for
from .messages import JudgeOutputs, MakePool, OpenReference, OracleSettings, OutputVerdict, Slots

Bytes = npt.NDArray[np.uint8]
_SEAL_FUTURE_WRITE = 0x10  # linux/fcntl.h; F_SEAL_WRITE refused reading maps before Linux 6.7
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | _SEAL_FUTURE_WRITE


@dataclass(slots=True)
class _Kernel:
    """A contract and how its truth is found; `adopts`: the baseline's outputs are it; `lifted`:
    what was read from the baseline is, as long as these agree with it."""

    contract: Contract
    files: dict[str, str]
    library: ArrayLibrary
    adopts: bool
    lifted: bool
    where: str


@dataclass(frozen=True, slots=True)
class _Pool:
    """The inputs of one shape, and the baseline's outputs by slot where they are the truth."""

    kernel: _Kernel
    contract: BoundContract
    inputs: Bytes
    adopted: dict[int, Bytes]
    public: bool
    kinds: tuple[StressKind | None, ...] = ()
    """of other values than usual ones, by slot; usual ones beyond its end"""


class RecentValues:
    """Expected values by pool and slot, up to `limit` bytes; the least recently used go first.

    The latest one stays whatever its size.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._nbytes = limit, 0
        self._values: OrderedDict[tuple[str, int], list[Expected]] = OrderedDict()

    def get(self, key: tuple[str, int]) -> list[Expected] | None:
        """What is known, and used from now on."""
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def put(self, key: tuple[str, int], values: list[Expected]) -> None:
        """Remember values, and forget what no longer fits."""
        self._drop(key)
        self._values[key] = values
        self._nbytes += _nbytes(values)
        while len(self._values) > 1 and self._nbytes > self._limit:
            self._drop(next(iter(self._values)))

    def forget(self, pool: str) -> None:
        """Drop what belongs to a pool."""
        for key in [k for k in self._values if k[0] == pool]:
            self._drop(key)

    def _drop(self, key: tuple[str, int]) -> None:
        self._nbytes -= _nbytes(self._values.pop(key, []))


def _nbytes(values: list[Expected]) -> int:
    return sum(value.nbytes for value in values)


class OracleKernels:
    """The contracts, pools and expected values of the kernels that are open."""

    def __init__(self, settings: OracleSettings) -> None:
        self._gpu = settings.gpu
        self._kernels: dict[str, _Kernel] = {}
        self._pools: dict[str, _Pool] = {}
        self._expected = RecentValues(settings.kept_bytes)

    def open(self, message: OpenReference) -> None:
        """Take a contract. Raises ReferenceFailed when the reference's library is missing."""
        library, where = library_for(message.source, self._gpu)
        self._kernels[message.kernel] = _Kernel(
            contract=message.contract,
            files=message.init_files,
            library=library,
            adopts=message.source is None,
            lifted=message.source is None and message.lifted is not None,
            where=where,
        )

    def where(self, kernel: str) -> str:
        """Where a kernel's outputs are judged."""
        return self._kernels[kernel].where

    def work(self) -> bool:
        """Whether every library still computes."""
        return all(kernel.library.works() for kernel in self._kernels.values())

    def make_pool(self, message: MakePool) -> int:
        """Make the inputs of every seed: a descriptor with one record a slot, which nobody can
        write to any more. Raises SpecError and AccessError."""
        kernel = self._kernels[message.kernel]
        contract = bind(kernel.contract, message.symbols, message.label)
        layout = record(contract.inputs)
        fd = os.memfd_create("inputs", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(fd, layout.nbytes * len(message.seeds))
            slots = zip_longest(message.seeds, message.kinds[: len(message.seeds)])
            for slot, (seed, kind) in enumerate(slots):
                arrays = make_inputs(contract, seed, kernel.files, kernel.library, kind)
                _write(fd, slot * layout.nbytes, contract, layout, arrays)
            fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
            self.take_pool(message, fd)
        except BaseException:
            os.close(fd)
            raise
        kernel.library.release()
        return fd

    def take_pool(self, message: MakePool, fd: int) -> None:
        """Use inputs that were made before, by this process or one before it."""
        kernel = self._kernels[message.kernel]
        contract = bind(kernel.contract, message.symbols, message.label)
        size = record(contract.inputs).nbytes * len(message.seeds)
        self._pools[message.pool] = _Pool(
            kernel, contract, _mapped(fd, size), {}, message.public, message.kinds
        )
        self._expected.forget(message.pool)

    def drop_pool(self, pool: str) -> None:
        """Let go of inputs, adopted outputs and expected values."""
        known = self._pools.pop(pool, None)
        self._expected.forget(pool)
        if known is not None:
            known.kernel.library.release()

    def forget(self, kernel: str) -> None:
        """Let go of a contract."""
        self._kernels.pop(kernel, None)

    def adopt(self, message: JudgeOutputs, fd: int) -> None:
        """Take outputs as the truth where there is no reference; the first ones stay."""
        pool = self._pools[message.pool]
        if pool.kernel.adopts:
            for slot, data in _records(pool.contract, message, fd):
                pool.adopted.setdefault(slot, data)

    def missing(self, message: Slots) -> list[int]:
        """Seeds of a pool whose expected values the reference has to give (anew); of what was read
        from the baseline, once its own outputs are there to agree."""
        pool = self._pools[message.pool]
        wanted = list(dict.fromkeys(message.slots))
        if pool.kernel.adopts:
            wanted = [each for each in wanted if pool.kernel.lifted and each in pool.adopted]
        return [slot for slot in wanted if self._expected.get((message.pool, slot)) is None]

    def expect(self, message: Slots, fd: int) -> str:
        """Take the expected values of one seed. They are copied before they are looked at: whoever
        wrote them could go on writing.

        Those of what was read from the baseline are taken only if the baseline passes by them; else
        the output is returned that does not.
        """
        pool, (slot,) = self._pools[message.pool], message.slots
        memory = _mapped(fd, truth_nbytes(pool.contract))
        found = _expected(pool, memory)
        refuted = ""
        if pool.kernel.adopts:
            unusual = any(pool.kinds[slot : slot + 1])
            found, refuted = _as_the_baseline_is(pool, found, _adopted(pool, slot), unusual)
        if not refuted:
            self._expected.put((message.pool, slot), found)
        pool.kernel.library.release()
        return refuted

    def without_lift(self, kernel: str) -> None:
        """From now on the baseline's outputs are the truth of a kernel, on every seed."""
        known = self._kernels[kernel]
        known.lifted = False
        for name in [name for name, pool in self._pools.items() if pool.kernel is known]:
            self._expected.forget(name)

    def judge(
        self, message: JudgeOutputs, fd: int
    ) -> tuple[list[int], list[tuple[OutputVerdict, ...]]]:
        """Verdicts of every output of every record handed over, in order; none while expected
        values of some seeds (the first of the pair) are missing."""
        if message.adopt:
            self.adopt(message, fd)
        if missing := self.missing(Slots(pool=message.pool, slots=message.slots)):
            return missing, []
        pool = self._pools[message.pool]
        verdicts = list[tuple[OutputVerdict, ...]]()
        for slot, data in _records(pool.contract, message, fd):
            found = _verdicts(pool, self._known(message.pool, slot), data)
            verdicts.append(found if pool.public else tuple(each.secret() for each in found))
        pool.kernel.library.release()
        return [], verdicts

    def _known(self, name: str, slot: int) -> list[Expected]:
        """The truth for one seed; adopted outputs are taken for it when they are first wanted."""
        known = self._expected.get((name, slot))
        if known is None:
            known = _adopted(self._pools[name], slot)
            self._expected.put((name, slot), known)
        return known


def _verdicts(pool: _Pool, expected: list[Expected], data: Bytes) -> tuple[OutputVerdict, ...]:
    """Of every output of one record."""
    library = pool.kernel.library
    found = list[OutputVerdict]()
    for truth, (bound, values) in zip(expected, _arrays(pool.contract.outputs, data), strict=True):
        verdict = judge(bound, truth, library.from_host(values, bound.argument.dtype))
        found.append(verdict.model_copy(update={"finite": truth.finite}))
    return tuple(found)


def _expected(pool: _Pool, memory: Bytes) -> list[Expected]:
    """The truth of every output from what the reference returned."""
    library, found = pool.kernel.library, list[Expected]()
    for places in truth_places(pool.contract):
        bound = places.bound
        native = library.from_host(places.native.array(memory), bound.argument.dtype)
        exact = native
        if places.exact is not None:
            exact = library.from_host(places.exact.array(memory), "float64")
        found.append(expect(library, bound, exact, native, pool.contract.error_floor(bound)))
    return found


FEW: Final = 32
"""Elements of an output whose largest error says how errors of it are: that of one sum may be small
by luck, and then no other order of it is as good."""


def _as_the_baseline_is(
    pool: _Pool, read: list[Expected], own: list[Expected], unusual: bool
) -> tuple[list[Expected], str]:
    """The truth that was read from the baseline, with the baseline's own outputs (`own`) as the
    trusted result: how far they are from it is what a candidate may be, too, and never less than it
    was beside these outputs alone. Beside it the first output that is further from the truth than
    rounding explains, as a reference's own result would have it.

    Unusual values may make a sum of a few elements as badly conditioned as no user has it (sorted
    ones rise to half of all that is added before they fall). Where its error is above the floor, it
    is judged by the floor alone, which the baseline does not hold: it is asked of no candidate.
    """
    found = list[Expected]()
    for bound, lifted, mine in zip(pool.contract.outputs, read, own, strict=True):
        if mine.floor is None or bound.argument.tolerance.factor < 1:
            found.append(mine)  # below one, what it has of the error would not cover itself
            continue
        if not judge(bound, lifted, mine.native).right:
            return [], bound.name
        truth = expect(mine.library, bound, lifted.exact, mine.native, mine.floor)
        if unusual and math.prod(bound.shape) < FEW and truth.largest > mine.floor:
            truth = replace(truth, largest=0.0, rms=0.0)
        found.append(truth)
    return found, ""


def _adopted(pool: _Pool, slot: int) -> list[Expected]:
    data = pool.adopted.get(slot)
    if data is None:
        raise ReferenceFailed("the baseline has not been run on this input yet")
    library, found = pool.kernel.library, list[Expected]()
    for bound, values in _arrays(pool.contract.outputs, data):
        stored = library.from_host(values, bound.argument.dtype)
        exact = library.float64(stored, bound.argument.dtype)
        floor = pool.contract.error_floor(bound)
        found.append(expect(library, bound, exact, stored, floor))
    return found


def _write(
    fd: int, start: int, contract: BoundContract, layout: Record, arrays: dict[str, Any]
) -> None:
    """Lay one record of inputs into the file, through a mapping that is gone afterwards."""
    page = mmap.ALLOCATIONGRANULARITY
    base = start // page * page
    whole = np.frombuffer(mmap.mmap(fd, start + layout.nbytes - base, offset=base), dtype=np.uint8)
    for bound, place in zip(contract.inputs, layout.slots, strict=True):
        first = start - base + place.offset
        pack(bound, arrays[bound.name], whole[first : first + place.nbytes])


def _mapped(fd: int, size: int) -> Bytes:
    """The bytes of a file, to be read alone; the mapping lasts as long as arrays look at it."""
    return np.frombuffer(mmap.mmap(fd, size, prot=mmap.PROT_READ), dtype=np.uint8)


def _records(
    contract: BoundContract, message: JudgeOutputs, fd: int
) -> Iterator[tuple[int, Bytes]]:
    """The output records of a message, each with the slot it belongs to."""
    nbytes = record(contract.outputs).nbytes
    data = _mapped(fd, (max(message.places, default=0) + 1) * nbytes)
    for slot, place in zip(message.slots, message.places, strict=True):
        yield slot, data[place * nbytes : (place + 1) * nbytes]


def _arrays(
    bounds: tuple[BoundArgument, ...], data: Bytes
) -> Iterator[tuple[BoundArgument, npt.NDArray[Any]]]:
    """The arrays of one record."""
    for bound, place in zip(bounds, record(bounds).slots, strict=True):
        yield bound, unpack(bound, data[place.offset : place.offset + place.nbytes])
