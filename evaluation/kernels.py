"""Kernels of the store, made ready: to be built for anywhere, to be run on one device."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..runners.errors import BaselineRefused
from ..runners.loading.files import LoadedKernel
from ..runners.model import Variant
from ..runners.specs.devices import DeviceFacts
from ..runners.toolchains import BuildOutcome
from ..store.kernels import kernel_record, kernel_row, put_kernel
from ..store.records import KernelRecord, VariantRecord
from ..store.store import JsonObject, Store
from ..store.variants import known_artifact, variant_record
from .attached_kernels import AttachedKernels
from .baseline import open_baseline, open_untimed
from .recording import write_evaluation
from .rig.open_kernel import OpenKernel, device_name, open_state
from .rig.rig import Rig
from .scheduling.build_ahead import BuildAhead


class Kernels:
    """What of a kernel is on disk, and what of it is attached in this process.

    `open`, `ready` and `load` are for whoever has the turn of the device. Raises HandleUnknown for
    a kernel or variant that the store does not hold.
    """

    def __init__(self, store: Store, rig: Rig, ahead: BuildAhead) -> None:
        self._store, self._rig, self._ahead = store, rig, ahead
        self._attached = AttachedKernels(rig)
        self._read: dict[str, tuple[JsonObject, KernelRecord]] = {}

    def record(self, kernel_id: str) -> KernelRecord:
        """What the store holds of it, which is asked for many times an evaluation."""
        value = kernel_row(self._store, kernel_id)
        known = self._read.get(kernel_id)
        if known is None or known[0] != value:
            found = kernel_record(self._store, kernel_id)
            known = self._read[kernel_id] = (value, found)
        return known[1]

    def variant(self, variant_id: str) -> VariantRecord:
        """What the store holds of a variant."""
        return variant_record(self._store, variant_id)

    def open(self, loaded: LoadedKernel) -> KernelRecord:
        """Build, check and time the baseline; where its GPU is missing, build it alone.

        Raises BaselineRefused, and what `Rig.attach` does.
        """
        kernel = open_state(loaded, None, self._rig.gpus.target(loaded))
        if kernel.runnable:
            with self._attaching(kernel):
                opened = open_baseline(self._rig, kernel)
        else:
            opened = open_untimed(self._rig, kernel)
        with self._store.transaction() as writer:
            put_kernel(writer, opened.record)
            record = VariantRecord(variant=opened.attempt.variant)
            write_evaluation(writer, record, opened.attempt, opened.evaluation)
        return opened.record

    def to_build(self, kernel_id: str) -> OpenKernel:
        """The kernel as its own device sees it; building needs no more than that."""
        record = self.record(kernel_id)
        return open_state(record.loaded, record.odd_symbols, self.target(kernel_id))

    def target(self, kernel_id: str) -> DeviceFacts | None:
        """The GPU that it is built for, here or not; None: the host."""
        return self._rig.gpus.target(self.record(kernel_id).loaded)

    def lanes(self, kernel_id: str) -> tuple[DeviceFacts | None, ...]:
        """Where it can be evaluated, its own device first; None: the host."""
        return self._rig.gpus.lanes(self.record(kernel_id).loaded)

    def ready(self, kernel_id: str, lane: DeviceFacts | None = None) -> OpenKernel:
        """The kernel ready to run on a GPU, or on its own device (None); attached from the store
        where this process has not opened it there.

        Raises DeviceMissing when its GPU is not here.
        """
        record = self.record(kernel_id)
        target = lane or self._rig.gpus.target(record.loaded)
        known = self._attached.get(kernel_id, device_name(target))
        if known is not None:
            return known
        kernel = open_state(record.loaded, record.odd_symbols, target)
        self._rig.require_device(kernel)
        if not record.timed:  # it was opened where no GPU is
            self.open(record.loaded)
            return self.ready(kernel_id, lane)
        kernel.allow(max(record.baseline_ms.values()) * 1e-3)
        with self._attaching(kernel):
            self._rig.attach(kernel)
            if record.loaded.reference is None:
                self.load(kernel, self.variant(record.baseline).variant)
                self._rig.adopt(kernel, record.baseline, kernel.all_pools)
        return kernel

    def load(self, kernel: OpenKernel, variant: Variant) -> None:
        """Have a variant that was built before in the runner of an attached kernel.

        Raises BaselineRefused when it does not build any more.
        """
        if self._rig.holds(kernel, variant.variant_id):
            return
        outcome = self._rig.build(kernel, variant, self.built(variant))
        if outcome.artifact is None:
            raise BaselineRefused(
                f"{variant.variant_id} does not build any more: {outcome.message}",
                next_step="was the compiler changed? Open the kernel in a new --outdir",
            )
        self._rig.load(kernel, outcome.artifact)

    def built(self, variant: Variant) -> BuildOutcome | None:
        """An earlier build of a variant: of the store, or made ahead."""
        made = self._ahead.take(variant.variant_id)
        if made is not None:
            return made
        known = known_artifact(self._store, variant.variant_id)
        return None if known is None else BuildOutcome(artifact=known.artifact, facts=known.facts)

    def clear(self) -> None:
        """Forget what is attached, once the processes that held it have ended."""
        self._attached.clear()

    @contextmanager
    def _attaching(self, kernel: OpenKernel) -> Generator[None]:
        """Attached for good if all goes well within; else nothing of it stays."""
        try:
            yield
        except BaseException:
            self._rig.detach(kernel)
            raise
        self._attached.add(kernel)
