"""A kernel that is open in this process: its pools, its timing plan, its variants in the runner."""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass, field

from ...runners.comparing.settling import DEVICE, NATIVE, TimingPlan
from ...runners.loading.files import LoadedKernel
from ...runners.model import Tier
from ...runners.protocol.pools import ODD_SLOTS, SeedPool, draw
from ...runners.specs.contract import BoundContract, bind, odd_label, odd_shape, workload_contracts
from ...runners.specs.devices import DeviceFacts
from ...runners.toolchains import Shape
from .calibration import Calibration

TIMING: dict[Tier, TimingPlan] = {"native": NATIVE, "device": DEVICE}
HOST = "host"
"""the device of kernels of host code"""
FIRST_RUN_S = 60.0
"""The longest a baseline may take; candidates get a multiple of what it took."""
SLOWER_ALLOWED = 20.0
SHORTEST_TIMEOUT_S = 2.0
FEW_BYTES = 64 << 20
"""of a workload's arrays, up to which many sets of inputs fit beside each other"""


def device_name(target: DeviceFacts | None) -> str:
    """`host`, or a GPU's UUID; `none` for a GPU that is not here."""
    return HOST if target is None else target.uuid or "none"


@dataclass
class OpenKernel:
    """What this process knows of an open kernel beside the store's records."""

    loaded: LoadedKernel
    odd_symbols: dict[str, int] | None
    pools: tuple[SeedPool, ...]
    odd: SeedPool | None
    target: DeviceFacts | None
    """the GPU that it is built for; None: host code"""
    timeout_s: float = FIRST_RUN_S
    in_runner: set[str] = field(default_factory=set[str])
    calibration: Calibration = field(default_factory=Calibration)
    """what of the gates the baseline itself does not hold to"""
    rng: random.Random = field(default_factory=lambda: random.Random(secrets.randbits(64)))

    @property
    def kernel_id(self) -> str:
        """The handle of the kernel."""
        return self.loaded.kernel_id

    @property
    def tier(self) -> Tier:
        """What runs beside the clock."""
        return self.loaded.spec.kernel.language.tier

    @property
    def timing(self) -> TimingPlan:
        """How this kernel's tier is timed."""
        return TIMING[self.tier]

    @property
    def runnable(self) -> bool:
        """Whether the device that it is built for is here."""
        return self.target is None or self.target.uuid is not None

    @property
    def device(self) -> str:
        """The device that is locked while this kernel is timed: `host`, or a GPU's UUID."""
        return device_name(self.target)

    @property
    def all_pools(self) -> tuple[SeedPool, ...]:
        """The pools of the visible workloads and of the odd shape."""
        return self.pools if self.odd is None else (*self.pools, self.odd)

    @property
    def small_pools(self) -> tuple[SeedPool, ...]:
        """Of the visible workloads of which many sets of inputs fit."""
        return tuple(p for p in self.pools if p.contract.nbytes <= FEW_BYTES)

    @property
    def smallest(self) -> BoundContract:
        """The visible workload with the least memory."""
        return min((p.contract for p in self.pools), key=lambda contract: contract.nbytes)

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Every shape that a build must have a plan for: all workloads and the odd shape."""
        spec = self.loaded.spec
        found = [Shape(label=w.name, symbols=w.symbols) for w in spec.workloads]
        if self.odd is not None:
            found.append(_shape(self.odd.contract))
        return tuple(found)

    def allow(self, baseline_s: float) -> None:
        """Set the time limit of one run from what the baseline took."""
        self.timeout_s = min(FIRST_RUN_S, max(SHORTEST_TIMEOUT_S, SLOWER_ALLOWED * baseline_s))


def open_state(
    loaded: LoadedKernel, odd_symbols: dict[str, int] | None, target: DeviceFacts | None
) -> OpenKernel:
    """Fresh secret seeds for a kernel. `odd_symbols`: the gate shape of an earlier opening."""
    spec, kernel = loaded.spec, loaded.kernel_id
    weights = {w.name: w.weight for w in spec.workloads}
    pools = tuple(
        draw(kernel, c, name=c.label, weight=weights[c.label]) for c in workload_contracts(spec)
    )
    shape = (
        odd_shape(spec, secrets.randbits(32))
        if odd_symbols is None
        else bind(spec.io, odd_symbols, odd_label(spec))
    )
    odd = None if shape is None else draw(kernel, shape, name=shape.label, slots=ODD_SLOTS)
    return OpenKernel(loaded, None if shape is None else dict(shape.symbols), pools, odd, target)


def confirmation_pools(kernel: OpenKernel) -> tuple[tuple[SeedPool, ...], tuple[SeedPool, ...]]:
    """Fresh seeds for the winner: for the visible workloads, and for those held out."""
    spec, name = kernel.loaded.spec, kernel.kernel_id
    weights = {w.name: w.weight for w in spec.workloads}

    def fresh(held_out: bool) -> tuple[SeedPool, ...]:
        return tuple(
            draw(name, c, name=f"{c.label}/confirm", weight=weights[c.label], held_out=held_out)
            for c in workload_contracts(spec, held_out=held_out)
        )

    return fresh(False), fresh(True)


def _shape(contract: BoundContract) -> Shape:
    return Shape(label=contract.label, symbols=dict(contract.symbols))
