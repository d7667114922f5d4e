"""A machine on which kernels take known times, in place of one that runs them."""

from __future__ import annotations

from collections.abc import Sequence

from kernelwright.runners.gates import Run
from kernelwright.runners.protocol.messages import BlockResult, SideTimes
from kernelwright.runners.protocol.pools import SeedPool
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.io_contract import Contract

CONTRACT = Contract.model_validate(
    {"arguments": [{"name": "y", "role": "output", "dtype": "float32", "shape": [4]}]}
)
POOL = SeedPool("k/w", "k", bind(CONTRACT, {}, "w"), tuple(range(64)))
OVERHEAD_NS = 20_000.0
"""of a sample: what makes few calls a sample look slow"""


class Machine:
    """A checker whose kernels take a known time a call: `held` of them longer in first samples,
    `feigning` ones while they are looked at, and half as long on one set of buffers."""

    def __init__(
        self,
        ns: dict[str, float],
        held: dict[str, int],
        feigning: str = "",
        unlucky: Sequence[int] = (),
        waits: float = 0.0,
    ) -> None:
        """`waits`: share of a held sample in which it is known to have been held up. `unlucky`: in
        these placements, from 1, side `a` takes three times as long."""
        self._ns, self._held, self._feigning = ns, dict(held), feigning
        self._unlucky, self._waits = unlucky, waits
        self.calls = list[dict[str, int]]()
        self.placed = list[int | None]()
        self.orders = list[list[Sequence[str]]]()
        self.hot = list[bool]()

    def block(
        self,
        pool: SeedPool,
        rounds: Sequence[Sequence[str]],
        calls: dict[str, int],
        timeout_s: float,
        *,
        reload: bool = False,
        hot: bool = False,
        placed: int | None = None,
    ) -> tuple[BlockResult, list[Run]]:
        del pool, timeout_s, reload
        self.hot.append(hot)
        self.placed.append(placed)
        self.calls.append(calls)
        self.orders.append(list(rounds))
        return BlockResult(sides=tuple(self._side(v, rounds, calls) for v in rounds[0])), []

    def _side(
        self, variant: str, rounds: Sequence[Sequence[str]], calls: dict[str, int]
    ) -> SideTimes:
        samples = sum(variant in order for order in rounds)
        each = self._ns[variant] + OVERHEAD_NS / calls.get(variant, 1)
        held_up = 0.0
        if self._held.get(variant, 0) > 0:
            self._held[variant] -= 1
            each, held_up = each * 100, self._waits
        places = sum(place is not None for place in self.placed)
        if variant == "a" and places in self._unlucky:
            each *= 3
        if variant in self._feigning:
            each *= 0.5 if calls.get(variant) == 1 else 1.0 if calls else 100
        times, disturbed = (each,) * samples, (held_up,) * samples
        return SideTimes(variant=variant, nanoseconds=times, disturbed=disturbed)
