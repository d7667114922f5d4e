"""Whether each call of a timed sample does its own work, of the incumbent set.

A short kernel is called many times a sample, and all buffers of a sample lie in memory that its
code can read. Two things are to be gained there:

* On a GPU there may be fewer seeds than calls: code could look for a call that had the same
  values, and copy what that one computed. So calls whose values all differ are timed against as
  many whose values come again.
* The first call could compute what later ones will be asked for, and keep it where nobody looks. So
  each call is given its values right before it. Code that took what lay there until then is wrong
  where that was something else (`late`); if it looks whether it was, it is slower there than where
  it was the same (`ready`).

Honest code takes as long for both of each pair.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ..model import Ending, GateResult
from ..protocol.messages import Given, RunResult, SideTimes
from ..protocol.pools import FEWEST, MOST, SeedPool
from .checking import Checker
from .endings import ending_of
from .first import FIRST_SET
from .runs import Run, first_failure

GATE = "computes_every_call"
POOL_BYTES = 64 << 20
"""of arrays of all seeds of a pool for it: with up to 1 MiB of them a sample has as many calls as
when it is timed, with more it has fewer"""
BLOCKS, ROUNDS = 3, 2
LONGEST_S = 6.0
"""of calls of one workload, all in all, where nobody has timed it yet"""
FEWEST_CALLS = 3
GAIN = 0.25
"""It is worth it where it saves more. All samples of one kind must be faster by this than all of
the other, so noise does not do it, nor do seeds that take longer than others."""


@dataclass
class Repeats:
    """Nanoseconds a call of one workload, and the runs that they are of."""

    different: list[float] = field(default_factory=list[float])
    same: list[float] = field(default_factory=list[float])
    ready: list[float] = field(default_factory=list[float])
    late: list[float] = field(default_factory=list[float])
    runs: list[Run] = field(default_factory=list[Run])


def slots_for(nbytes: int, calls: int | None) -> int:
    """Seeds of a pool for arrays of so many bytes and so many calls of a sample (None: unknown)."""
    wanted = MOST if calls is None else 2 * calls + 3  # of the native tier, which has one set more
    return max(FEWEST, min(wanted, POOL_BYTES // max(1, nbytes)))


def measure(
    checker: Checker,
    pool: SeedPool,
    variant: str,
    *,
    timeout_s: float,
    seeds: int | None,
    timed: int | None = None,
) -> Repeats:
    """Time calls in turn on different seeds and on ones that come again, and on values that are
    there and that are not.

    `seeds`: of a sample's calls in a comparison; None: there no code meets one twice. Where there
    are fewer than calls they come again here as they do there, so that what lies beside a call does
    not say where it is; else all calls have one. `timed`: calls of one sample when it was timed: as
    many here, or code would know where it is.
    None: nobody has timed it; some, as far as they do not take too long. Raises ProcessLost.
    """
    found = Repeats()
    most = timed or _affordable(_block(checker, pool, variant, found, 1, timeout_s))
    calls = min(most, pool.slots - 1)
    given = min(most, (pool.slots - 1) // 2 - (seeds is None))  # half of the seeds come late
    for _ in range(BLOCKS):
        if seeds is not None and calls > 1:
            cycle = min(seeds, calls - 1) if seeds < most else 1
            found.different += _block(checker, pool, variant, found, calls, timeout_s)
            found.same += _block(checker, pool, variant, found, calls, timeout_s, cycle=cycle)
        if given > 1:
            found.ready += _block(checker, pool, variant, found, given, timeout_s, given="ready")
            found.late += _block(checker, pool, variant, found, given, timeout_s, given="late")
    return found


def _affordable(look: Sequence[float]) -> int:
    """Calls of a sample for which there is time, from samples of one call in nanoseconds."""
    if not look:
        return 0
    return min(FEWEST_CALLS, int(LONGEST_S / (4 * BLOCKS * ROUNDS * min(look) * 1e-9)))


def computes_every_call(found: Mapping[str, Repeats]) -> GateResult:
    """No workload (by label) is faster where calls have the same values, or where their values are
    there before them; and all that they computed is right."""
    for each in found.values():
        failed = first_failure([gate(each.runs) for gate in FIRST_SET])
        if failed is not None:
            ending = ending_of(failed)
            ending = Ending.cheated if ending is Ending.wrong else ending
            return _failed(f"with values that come late, or again: {failed.message}", ending)
    shares = {kind: dict(_shares(found, kind)) for kind in ("same", "ready")}
    if not any(shares.values()):
        return GateResult(gate=GATE, outcome="skipped", message="no call of it can be repeated")
    evidence = {
        "slowest_same_over_fastest_different": _rounded(shares["same"]),
        "slowest_ready_over_fastest_late": _rounded(shares["ready"]),
    }
    for kind, by_workload in shares.items():
        caught = [workload for workload, share in by_workload.items() if share * (1 + GAIN) < 1]
        if caught:
            worst = min(caught, key=by_workload.__getitem__)
            return _failed(_told(worst, kind, found[worst]), Ending.cheated, evidence)
    return GateResult(gate=GATE, outcome="passed", evidence=evidence)


def _block(
    checker: Checker,
    pool: SeedPool,
    variant: str,
    found: Repeats,
    calls: int,
    timeout_s: float,
    *,
    cycle: int = 0,
    given: Given = "",
) -> list[float]:
    """The samples of one block; its runs are added to those found."""
    rounds = [[variant]] * ROUNDS
    block, runs = checker.block(pool, rounds, {variant: calls}, timeout_s, cycle=cycle, given=given)
    found.runs += [*runs, *(fault_of_side(pool, side) for side in block.sides if side.fault)]
    return [ns for side in block.sides for ns in side.nanoseconds if not side.fault]


def fault_of_side(pool: SeedPool, side: SideTimes) -> Run:
    """The run of a block that its side did not come back from; its slot is not known."""
    result = RunResult(slot=0, poison=0, fault=side.fault, fault_kind=side.fault_kind)
    return Run(pool.contract.label, True, result, variant=side.variant)


def _shares(found: Mapping[str, Repeats], kind: str) -> Iterator[tuple[str, float]]:
    for workload, each in found.items():
        fast, slow = _pair(each, kind)
        if fast and slow:
            yield workload, max(fast) / min(slow)


def _pair(each: Repeats, kind: str) -> tuple[Sequence[float], Sequence[float]]:
    return (each.same, each.different) if kind == "same" else (each.ready, each.late)


def _told(workload: str, kind: str, each: Repeats) -> str:
    fast, slow = _pair(each, kind)
    most, least = f"{max(fast) * 1e-3:.3g} us or less", f"{min(slow) * 1e-3:.3g} us or more"
    if kind == "same":
        return (
            f"on `{workload}` a call takes {most} where calls before it had the same "
            f"values, and {least} where they had others: it uses what they computed"
        )
    return (
        f"on `{workload}` a call takes {most} where its values lie ready before the call "
        f"ahead of it, and {least} where they come after that: earlier calls do its work"
    )


def _failed(
    message: str, ending: Ending, evidence: Mapping[str, object] | None = None
) -> GateResult:
    told = {"ending": ending.value, **(evidence or {})}
    return GateResult(gate=GATE, outcome="failed", message=message, evidence=told)


def _rounded(shares: Mapping[str, float]) -> dict[str, float]:
    return {workload: round(share, 3) for workload, share in shares.items()}
