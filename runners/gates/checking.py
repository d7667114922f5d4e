"""Runner and oracle together: run a variant, have every new output judged, once."""

from __future__ import annotations

import os
import random
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ..errors import ProcessLost, ReferenceFailed, SpecError
from ..oracle.messages import JudgeOutputs, OutputVerdict
from ..oracle.oracle import Oracle
from ..protocol.messages import (
    Block,
    BlockResult,
    Check,
    Given,
    Placement,
    RunResult,
    SideTimes,
)
from ..protocol.pools import SeedPool
from ..proxies.runner import Runner
from ..specs.io_contract import Contract
from .runs import Run, fails

MOST_KNOWN = 4096
"""Outputs of a pool; those met last. A kernel that sums with atomics computes other bits each time,
and what is known travels with every message."""
EARLY_AMONG = 0.25
"""of blocks, in which outputs are looked at early as well"""
DRAWN = random.SystemRandom()

Verdicts = tuple[OutputVerdict, ...]
Known = OrderedDict[tuple[int, str], Verdicts]
"""by seed and digest"""


@dataclass
class Checker:
    """Knows the outputs that were judged, by pool, seed and digest.

    Equal bytes are equally right: variants that compute the same bits, and the timed runs
    of one that was checked, cost a hash instead of a comparison.
    """

    runner: Runner
    oracle: Oracle
    _known: dict[str, Known] = field(default_factory=dict[str, Known])
    _pools: dict[str, SeedPool] = field(default_factory=dict[str, SeedPool])
    _told: dict[str, dict[str, tuple[str, ...]]] = field(
        default_factory=dict[str, dict[str, tuple[str, ...]]]
    )
    """what messages say of it, by pool, until something else is known"""
    _contracts: dict[str, Contract] = field(default_factory=dict[str, Contract])
    _public: dict[str, list[SeedPool]] = field(default_factory=dict[str, list[SeedPool]])
    """pools of the public seed, by the secret one that they stand for"""
    _truths: dict[str, str] = field(default_factory=dict[str, str])
    """by pool: the variant whose outputs are its truth, where there is no reference"""

    def attach(self, pool: SeedPool, contract: Contract) -> None:
        """Make the inputs of a pool and hand them to the runner."""
        self.runner.attach(pool, contract, self.oracle.make_pool(pool))
        self._known[pool.pool] = OrderedDict()
        self._told.pop(pool.pool, None)
        self._pools[pool.pool], self._contracts[pool.pool] = pool, contract

    def detach(self, pool: str) -> None:
        """Forget a pool, in runner and oracle as well."""
        for public in self._public.pop(pool, []):
            self.detach(public.pool)
        for known in (self._known, self._told, self._pools, self._contracts, self._truths):
            known.pop(pool, None)
        try:
            self.runner.detach(pool)
        finally:
            self.oracle.drop_pool(pool)

    def pools_of(self, kernel: str) -> tuple[str, ...]:
        """The attached pools of a kernel."""
        return tuple(name for name, pool in self._pools.items() if pool.kernel == kernel)

    def check(
        self,
        variant_id: str,
        pool: SeedPool,
        slots: Sequence[int],
        *,
        timeout_s: float,
        placement: Placement = "pages",
        adopt: bool = False,
    ) -> list[Run]:
        """Run on some seeds in a fresh process, poisons alternating, and judge the outputs.

        Which poison comes first is drawn: runs of one slot that lie an even number apart have
        the same, and so the same input.
        What fails, or prints, is run once more on the public seed, of which it can be told.
        Raises ProcessLost and ReferenceFailed.
        """
        if adopt:
            self._truths[pool.pool] = variant_id
        runs = self._checked(
            variant_id,
            pool,
            slots,
            timeout_s=timeout_s,
            placement=placement,
            adopt=adopt,
        )
        return self._explained(runs, pool, timeout_s, placement)

    def _checked(
        self,
        variant_id: str,
        pool: SeedPool,
        slots: Sequence[int],
        *,
        timeout_s: float,
        placement: Placement,
        adopt: bool,
    ) -> list[Run]:
        first = secrets.randbits(1)
        message = Check(
            variant=variant_id,
            pool=pool.pool,
            slots=tuple(slots),
            poisons=tuple(pool.poisons[(first + i) % 2] for i in range(len(slots))),
            placement=placement,
            timeout_s=timeout_s,
            known=self._digests(pool.pool),
        )
        results, fd = self.runner.check(message)
        try:
            _require_room(results)
            verdicts = self._judge(pool.pool, results, fd, adopt)
        finally:
            os.close(fd)
        return [
            Run(pool.contract.label, False, r, v, variant_id, pool.pool)
            for r, v in zip(results, verdicts, strict=True)
        ]

    def _explained(
        self, runs: list[Run], pool: SeedPool, timeout_s: float, placement: Placement
    ) -> list[Run]:
        """The runs; beside each that fails, and can fail in more than one way, and each that
        printed something, one on the public seed with values of the same kind."""
        found = dict[tuple[str, str], Run | None]()
        explained = list[Run]()
        for run in runs:
            if not pool.public and (_can_be_told_more(run) or run.result.printed):
                key = (run.variant, pool.published(run.result.slot).pool)
                if key not in found:
                    found[key] = self._on_public(run, pool, timeout_s, placement)
                run = replace(run, public=found[key])
            explained.append(run)
        return explained

    def _on_public(
        self, run: Run, pool: SeedPool, timeout_s: float, placement: Placement
    ) -> Run | None:
        """A run of the same variant on the public seed, one that fails if there is one; None where
        it cannot be had: that changes no verdict."""
        public = pool.published(run.result.slot)
        truth = self._truths.get(pool.pool, "")
        others = [name for name in (truth,) if name and name != run.variant]
        runs = list[Run]()
        try:
            if public.pool not in self._pools:
                self._public.setdefault(pool.pool, []).append(public)
                self.attach(public, self._contracts[pool.pool])
            for name in (*others, run.variant):
                runs = self._checked(
                    name,
                    public,
                    (0,),
                    timeout_s=timeout_s,
                    placement=placement,
                    adopt=name == truth,
                )
        except (ProcessLost, ReferenceFailed, SpecError):
            return None
        return next(filter(fails, runs), runs[0] if runs else None)

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
        cycle: int = 0,
        hidden: Sequence[Sequence[int]] = (),
        given: Given = "",
    ) -> tuple[BlockResult, list[Run]]:
        """One block of timed samples, every output re-checked; see `Block`."""
        message = Block(
            pool=pool.pool,
            rounds=tuple(tuple(order) for order in rounds),
            calls=calls,
            poison=secrets.choice(pool.poisons),
            timeout_s=timeout_s,
            known=self._digests(pool.pool),
            reload=reload,
            hot=hot,
            placed=placed,
            cycle=cycle,
            hidden=tuple(tuple(each) for each in hidden),
            given=given,
            early=DRAWN.random() < EARLY_AMONG,
        )
        block, fd = self.runner.block(message)
        try:
            _require_room(block.sides)
            owners = [side.variant for side in block.sides for _ in side.results]
            results = [r for side in block.sides for r in side.results]
            verdicts = self._judge(pool.pool, results, fd, adopt=False)
        finally:
            os.close(fd)
        label = pool.contract.label
        found = zip(results, verdicts, owners, strict=True)
        runs = [Run(label, True, r, v, owner, pool.pool) for r, v, owner in found]
        return block, self._explained(runs, pool, timeout_s, "pages")

    def _digests(self, pool: str) -> dict[str, tuple[str, ...]]:
        told = self._told.get(pool)
        if told is None:
            by_slot = dict[str, list[str]]()
            for slot, digest in self._known[pool]:
                by_slot.setdefault(str(slot), []).append(digest)
            told = {slot: tuple(digests) for slot, digests in by_slot.items()}
            self._told[pool] = told
        return told

    def _judge(
        self, pool: str, results: Sequence[RunResult], fd: int, adopt: bool
    ) -> list[Verdicts]:
        known = self._known[pool]
        new = [r for r in results if r.stored is not None and (r.slot, r.digest) not in known]
        if new:
            self._told.pop(pool, None)
            message = JudgeOutputs(
                pool=pool,
                slots=tuple(r.slot for r in new),
                places=tuple(r.stored for r in new if r.stored is not None),
                adopt=adopt,
            )
            for result, verdicts in zip(new, self.oracle.judge(message, fd), strict=True):
                known[result.slot, result.digest] = verdicts
        found = [() if r.fault else known[r.slot, r.digest] for r in results]
        for result in results:
            if not result.fault:
                known.move_to_end((result.slot, result.digest))
        while len(known) > MOST_KNOWN:
            known.popitem(last=False)
            self._told.pop(pool, None)
        return found


def _can_be_told_more(run: Run) -> bool:
    """Whether a run fails in a way of which it matters where and how: of one that did not come
    back in time, or of a GPU's fault, all has been told."""
    result = run.result
    return fails(run) and (not result.fault_kind or bool(result.said))


def _require_room(found: Sequence[RunResult | SideTimes]) -> None:
    """What a full device could not run says nothing of the variant: its plan alone would fit.
    Nor does a process that somebody else killed or stopped."""
    for each in found:
        if each.fault_kind == "lost":
            raise ProcessLost(each.fault, next_step="ask again; a fresh process starts")
        if each.fault_kind == "no_room":
            raise ProcessLost(
                f"nothing could be run: {each.fault}",
                next_step="end what else holds the GPU's memory (nvidia-smi lists it), or take "
                "smaller workloads or buffers; then ask again",
            )
