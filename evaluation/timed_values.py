"""Other values than usual ones in calls that come as they do in a comparison.

A comparison times usual values, and checks of other values come one by one. So code that can tell
which of the two it is in (it counts its calls, goes by addresses, looks at the buffers of other
calls, or is bound to one core) could take for known in the one what it reads in the other: a weight
of ones, a largest value of a row. So the process that has timed it is asked for samples of as many
calls once more, in the memory where it was timed, and a call or two of each get other values.
Nothing but its own inputs tells such a call from the others: what lies beside it is as usual.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..runners.gates.incumbent import STRESS_SLACK, Trial
from ..runners.loading.files import LoadedKernel
from ..runners.model import Comparison
from ..runners.oracle.values.stress import kinds_for
from ..runners.oracle.values.structured import structured_kinds
from ..runners.protocol.pools import draw
from ..runners.specs.contract import BoundContract
from ..runners.specs.io_contract import StressKind
from .trials import Trials, stress_name, values_name

AS_TIMED = "timed"
WITHOUT_REFERENCE: tuple[StressKind, ...] = ("zeros",)
"""unkind values where the baseline is the truth: under the other kinds its own rounding would be"""
LONGEST_S = 0.5
"""of all calls of a workload; where a sample for each kind takes longer, several share one"""
Kinds = tuple[StressKind | None, ...]
Hidden = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Pace:
    """How a variant was timed on a workload."""

    calls: int
    """of a sample"""
    call_s: float


def paces_of(timed: Comparison) -> dict[str, Pace]:
    """How the candidate was timed, by workload."""
    name = timed.candidate
    return {
        w.workload: Pace(w.calls.get(name, 1), w.median_ms[name] * 1e-3) for w in timed.workloads
    }


def unkind(loaded: LoadedKernel) -> tuple[StressKind, ...]:
    """The kinds of unkind values that a kernel's outputs can be judged under."""
    kinds = kinds_for(loaded.spec.io)
    return WITHOUT_REFERENCE if kinds and loaded.reference is None else kinds


def values_as_timed(trials: Trials, paces: Mapping[str, Pace]) -> list[Trial]:
    """Trials of every kind of other values on each small workload that was timed, until one fails.

    Kinds that a trial of the checks before showed to hold for nobody are left out.
    """
    kernel, found = trials.kernel, list[Trial]()
    for pool in kernel.small_pools:
        shape, pace = pool.contract, paces.get(pool.contract.label)
        several = structured_kinds(kernel.loaded.spec.io, most=shape is kernel.smallest)
        names = list[tuple[StressKind, str]]()
        names.extend((kind, values_name(kind, shape)) for kind in several)
        names.extend((kind, stress_name(kind)) for kind in unkind(kernel.loaded))
        held: list[StressKind] = [kind for kind, what in names if what not in trials.known]
        if pace is not None and held:
            found += as_timed(trials, shape, held, pace)
        if any(trials.fails(trial, STRESS_SLACK) for trial in found):
            break
    return found


def as_timed(
    trials: Trials, contract: BoundContract, kinds: Sequence[StressKind], pace: Pace
) -> list[Trial]:
    """A trial for each kind, and for the usual values between them, on a visible workload.

    Kinds of which nobody knows what is expected are left out. Raises ProcessLost.
    """
    asked: list[StressKind] = [kind for kind in kinds if _name(kind, contract) not in trials.known]
    usual = draw(trials.kernel.kernel_id, contract, name=f"{contract.label}/promotion/timed")
    while asked:
        shared = samples(asked, usual.slots, pace)
        several: list[StressKind | None] = [None] * usual.slots
        several += secrets.SystemRandom().sample(asked, sum(map(len, shared)))
        seeds = draw(usual.kernel, contract, name=usual.pool, slots=len(several)).seeds
        pool = replace(usual, seeds=seeds, kinds=tuple(several))
        whats = [_name(kind, contract) for kind in pool.kinds]
        if found := trials.while_timed(whats, pool, pace.calls, shared):
            return found
        known: list[StressKind] = [
            kind for kind in asked if _name(kind, contract) not in trials.known
        ]
        if len(known) == len(asked):  # it is usual values that nobody can tell anything of
            break
        asked = known
    return []


def samples(kinds: Sequence[StressKind], usual: int, pace: Pace) -> Hidden:
    """The slots behind the `usual` ones, for each sample those that it hides: one, where there is
    time for as many samples as kinds, and never as many as it has calls, unless it has one."""
    sample_s = max(1e-9, pace.calls * pace.call_s)
    count = max(1, min(len(kinds), int(LONGEST_S / sample_s)))
    most = count * max(1, min(pace.calls - 1, math.ceil(len(kinds) / count)))
    slots = range(usual, usual + min(len(kinds), most))
    return tuple(tuple(slots[number::count]) for number in range(count))


def _name(kind: StressKind | None, contract: BoundContract) -> str:
    return f"{AS_TIMED}, {f'values `{kind}`' if kind else 'usual values'} on `{contract.label}`"
