"""A plan bound to sets of buffers: what is enqueued, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...plans.plan import Fill, Launch, LaunchPlan, PlanKernel, SetSymbol, Step, TensorMapParam
from . import driver, modules
from .binding import Addresses, attributes, memsets, pack_params
from .code import Code
from .driver import Memset, Stream
from .faults import DriverFault, RunFault, fault_of
from .launches import Configuration, PreparedLaunch, encode_tensor_map

Sources = Callable[[str], int]
"""From the raw bytes of a SetSymbol (hexadecimal) to where they lie on the device."""


@dataclass(frozen=True, slots=True)
class Copy:
    """`nbytes` from one place on the device to another."""

    target: int
    source: int
    nbytes: int

    def enqueue(self, stream: Stream) -> None:
        """Copy them."""
        driver.copy(stream, self.target, self.source, self.nbytes)


Operation = PreparedLaunch | Memset | Copy


@dataclass(frozen=True)
class BoundStep:
    """One step of a plan: its operations, and what it is in words."""

    operations: tuple[Operation, ...]
    words: str
    overlaps: bool
    """it may begin before the step before it has ended"""

    def enqueue(self, stream: Stream) -> None:
        """Raises RunFault when the driver refuses it."""
        try:
            for operation in self.operations:
                operation.enqueue(stream)
        except DriverFault as error:
            raise fault_of(error, f" ({self.words})") from error


@dataclass(frozen=True)
class BoundPlan:
    """Setup and steps of a plan on one set of buffers."""

    setup: tuple[BoundStep, ...]
    steps: tuple[BoundStep, ...]


Binding = Callable[[Addresses], BoundStep]
"""One step, to be bound to buffers"""


class Binder:
    """A plan with its machine code, to be bound to any number of sets of buffers. What does not
    depend on the buffers is done once. Raises RunFault for what cannot run, as `bind` does."""

    def __init__(self, plan: LaunchPlan, code: Code, raw: Sources) -> None:
        self._plan, self._code, self._raw = plan, code, raw
        several = len(plan.setup) + len(plan.steps) > 1
        self._steps = [self._step(place if several else "", step) for place, step in plan.located]

    def bind(self, addresses: Addresses) -> BoundPlan:
        """Everything else that costs host time."""
        steps = [step(addresses) for step in self._steps]
        count = len(self._plan.setup)
        return BoundPlan(tuple(steps[:count]), tuple(steps[count:]))

    def _step(self, place: str, step: Step) -> Binding:
        words = _words(place, step, self._code)
        if isinstance(step, Launch):
            return self._launch(step, words)
        if isinstance(step, Fill):
            return lambda addresses: BoundStep(memsets(step, addresses), words, overlaps=False)
        return self._set_symbol(step, words)

    def _set_symbol(self, step: SetSymbol, words: str) -> Binding:
        target, buffer = self._code.symbol(step), step.buffer
        source = self._raw(step.raw) if buffer is None and step.raw is not None else 0

        def bound(addresses: Addresses) -> BoundStep:
            at = source if buffer is None else addresses[buffer] + step.buffer_offset
            return BoundStep((Copy(target, at, step.nbytes),), words, overlaps=False)

        return bound

    def _launch(self, step: Launch, words: str) -> Binding:
        code = self._code
        # With nothing of its own before it, it would overlap the previous call of a sample.
        pdl = code.kernel(step).pdl and step is not self._plan.steps[0]
        kernel = code.kernel(step).model_copy(update={"pdl": pdl})
        wanted = code.parameter_sizes(step)
        if kernel.cooperative:
            _check_resident(step, kernel, code, words)
        configuration = Configuration(
            code.function(step), step.grid, kernel.block, kernel.shared, attributes(kernel)
        )

        def bound(addresses: Addresses) -> BoundStep:
            try:
                params = pack_params(step, addresses, _encode)
            except DriverFault as error:
                raise fault_of(error, f" (a tensor map of {words})") from error
            have = tuple(map(len, params))
            if have != wanted:
                text = f"refused: {words} takes parameters of {wanted} bytes, the plan gives {have}"
                raise RunFault("refused", text, lost=False)
            return BoundStep((PreparedLaunch(configuration, params),), words, overlaps=pdl)

        return bound


def _check_resident(step: Launch, kernel: PlanKernel, code: Code, words: str) -> None:
    x, y, z = kernel.block
    per = modules.blocks_per_multiprocessor(code.function(step), x * y * z, kernel.shared)
    most = per * driver.device_attribute("MULTIPROCESSOR_COUNT")
    blocks = step.grid[0] * step.grid[1] * step.grid[2]
    if blocks > most:
        text = f"refused: {words} is a cooperative grid of {blocks} blocks; {most} fit at once"
        raise RunFault("refused", text, lost=False)


def _encode(param: TensorMapParam, address: int) -> bytes:
    return encode_tensor_map(
        address,
        dtype=param.dtype,
        dims=param.dims,
        strides=param.strides,
        box=param.box,
        element_strides=param.element_strides or (1,) * len(param.dims),
        interleave=param.interleave,
        swizzle=param.swizzle,
        l2_promotion=param.l2_promotion,
        nan_fill=param.nan_fill,
    )


def _words(place: str, step: Step, code: Code) -> str:
    where = f"{place}, " if place else ""
    if isinstance(step, Launch):
        return f"{where}kernel `{code.kernel(step).entry}`, grid {step.grid}"
    if isinstance(step, Fill):
        return f"{where}fill of `{step.fill}`"
    return f"{where}copy to `{step.symbol}`"
