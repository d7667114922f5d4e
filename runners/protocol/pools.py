"""Secret seeds: the pool of inputs on which the variants of a kernel are checked and timed."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..specs.contract import BoundContract
from ..specs.io_contract import StressKind
from .layout import record
from .patterns import Poisons, draw_poisons

PUBLIC_SEED = 0
"""What is told of a wrong kernel is told of its run on this seed, on which nobody is judged: its
inputs are `inputs.make_inputs(contract, PUBLIC_SEED)`."""
POOL_BYTES = 16 << 20
FEWEST, MOST = 4, 64
ODD_SLOTS = 2


@dataclass(frozen=True)
class SeedPool:
    """One shape with its seeds. Neither builder nor planner ever sees the seeds."""

    pool: str
    kernel: str
    contract: BoundContract
    seeds: tuple[int, ...]
    weight: float = 1.0
    held_out: bool = False
    kinds: tuple[StressKind | None, ...] = ()
    """of stress, by slot; empty: usual values"""
    public: bool = False
    """its seed is no secret, and nobody is judged by it"""
    poisons: Poisons = field(default_factory=draw_poisons)
    """what outputs and scratch hold before runs on it"""

    @property
    def slots(self) -> int:
        """How many seeds there are."""
        return len(self.seeds)

    def published(self, slot: int) -> SeedPool:
        """The public seed in the same shape, with values of the same kind as in a slot."""
        kinds = self.kinds[slot : slot + 1]
        name = f"{self.pool}/public" + "".join(f" {kind}" for kind in kinds if kind)
        return replace(self, pool=name, seeds=(PUBLIC_SEED,), kinds=kinds, public=True)


def draw(
    kernel: str,
    contract: BoundContract,
    *,
    name: str,
    weight: float = 1.0,
    held_out: bool = False,
    slots: int | None = None,
) -> SeedPool:
    """A pool with fresh seeds: as many as fit in POOL_BYTES, within FEWEST and MOST.

    More seeds mean fewer fresh processes while timing, but every variant has to be judged on
    every seed that it meets.
    """
    if slots is None:
        slots = max(FEWEST, min(MOST, POOL_BYTES // record(contract.inputs).nbytes))
    seeds = tuple(secrets.randbits(63) for _ in range(slots))
    return SeedPool(f"{kernel}/{name}", kernel, contract, seeds, weight, held_out)


def draw_stress(
    kernel: str, contract: BoundContract, kinds: Sequence[StressKind], *, name: str
) -> SeedPool:
    """A pool with one slot of stress values of each kind, of fresh seeds."""
    usual = draw(kernel, contract, name=name, slots=len(kinds))
    return replace(usual, kinds=tuple(kinds))


def draw_exchanged(kernel: str, contract: BoundContract, *, name: str) -> SeedPool:
    """A pool of two slots with the same fresh values, of which a few have changed places."""
    usual = draw(kernel, contract, name=name, slots=1)
    return replace(usual, seeds=usual.seeds * 2, kinds=(None, "exchanged"))
