"""Findings of a run that nobody counted: from launch plan, compiler and PTX alone.

They are the rules of the table, with their thresholds, on what is known without a run; each says
so (`Finding.static`). What only counters tell stays unknown. Nothing here knows what a kernel waits
for: a limit that is found may cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...runners.model import KernelFacts
from ...runners.profiling.model import KernelProfile, Profile
from ..profile import names as n
from ..regions.dag import RegionDag
from ..regions.heat import executed
from ..roofline import Roofline
from .derived import MATRIX_WORK, UNFUSED, UNFUSED_SHARE, in_pairs
from .derived import TENSOR_INSTRUCTIONS as TENSOR
from .findings import Findings, findings, merged, rank
from .model import Facts, Finding, Hit, Rule, Values, finding
from .parallelism import BUSY, TENSOR_KERNEL
from .table import RULES

SPILLED = "bytes of spills a thread"
MUCH_SPILLED = 64
_ROUNDED = r"\.rn(?:\.ftz)?(?:\.sat)?\.f32"
ADDED, MULTIPLIED = re.compile("(?:add|sub)" + _ROUNDED), re.compile("mul" + _ROUNDED)
"""with a rounding that is named, assemblers fuse nothing (PTX ISA 9.0, add and mul of floats)"""
FUSED = re.compile(r"fma\..*\.f32")
_BY_ID = {rule.id: rule for rule in RULES}


def _spilled(v: Values) -> Hit | None:
    if v[SPILLED] <= 0:
        return None
    return Hit(
        "medium" if v[SPILLED] > MUCH_SPILLED else "low",
        f"the compiler spills registers: {v[SPILLED]:.0f} bytes a thread are stored and loaded",
    )


_LIMITS = "; as if no unit were near its peak, which only counters tell"
STATIC_RULES: tuple[Rule, ...] = (
    replace(
        _BY_ID["register_spill"],
        needs=(SPILLED,),
        judge=_spilled,
        because="ours: what the compiler says; 64 bytes are 16 registers",
    ),
    *(
        replace(_BY_ID[id_], because=_BY_ID[id_].because + _LIMITS)
        for id_ in ("register_limited", "smem_limited", "warp_limited", "block_limited")
    ),
    replace(_BY_ID["tensor_unused"], because="ours: the PTX of no kernel has such an instruction"),
    replace(
        _BY_ID["non_fused_fp"],
        because=_BY_ID["non_fused_fp"].because + "; of the PTX that runs most often",
    ),
)


def without_counters(
    profile: Profile,
    kernels: Sequence[KernelFacts],
    dags: Mapping[str, RegionDag],
    facts: Facts | None = None,
    roofline: Roofline | None = None,
) -> Findings:
    """The findings of a run that has no counters.

    `profile`: of `static_profile`; `kernels`: what the compiler told; `dags`: by entry, those whose
    PTX could be read; `roofline`: of a measured time, if there is one.
    """
    facts = facts or Facts()
    told = findings(profile, facts, roofline)
    run, share = _of_run(profile, dags, facts), 1.0 / len(profile.launches)
    fired = [
        found
        for launch in profile.launches
        for known in [run | _of_launch(launch, kernels, dags)]
        for rule in STATIC_RULES
        if (found := _judged(rule, launch.kernel, known, share)) is not None
    ]
    ranked = sorted([*told.ranked, *merged(fired)], key=rank, reverse=True)
    spoken = {each.rule for each in fired}
    return told.model_copy(
        update={
            "ranked": tuple(each.model_copy(update={"static": True}) for each in ranked),
            "unknown": tuple(each for each in told.unknown if each.rule not in spoken),
        }
    )


def _judged(rule: Rule, entry: str, known: Values, share: float) -> Finding | None:
    """None where a value is missing, or the rule has nothing to say."""
    values = {name: known[name] for name in rule.needs if name in known}
    idle = dict.fromkeys(BUSY, 0.0) | ({n.TENSOR: TENSOR_KERNEL} if known.get(TENSOR) else {})
    if any(name not in values and name not in idle for name in rule.needs):
        return None
    hit = rule.judge(idle | values)
    if hit is None:
        return None
    return finding(rule, hit, kernel=entry, share=share, values=values)


def _of_run(profile: Profile, dags: Mapping[str, RegionDag], facts: Facts) -> dict[str, float]:
    """Whether it multiplies matrices, and its tensor instructions, where all PTX was read."""
    known = dict[str, float]()
    if facts.matrix_work is not None:
        known[MATRIX_WORK] = float(facts.matrix_work)
    launched = [dags.get(entry) for entry in {each.kernel for each in profile.launches}]
    read = [dag for dag in launched if dag is not None and not dag.calls]
    if len(read) == len(launched):
        known[TENSOR] = float(sum(r.work.tensor_flops > 0 for dag in read for r in dag.regions))
    return known


def _of_launch(
    launch: KernelProfile, kernels: Sequence[KernelFacts], dags: Mapping[str, RegionDag]
) -> dict[str, float]:
    """What the plan gives, the most spills of all shapes of the kernel, and its arithmetic."""
    known = {name: v for name in launch.metrics if (v := launch.number(name)) is not None}
    own = [each for each in kernels if each.entry == launch.kernel]
    if spills := [each.spill_bytes for each in own if each.spill_bytes is not None]:
        known[SPILLED] = float(max(spills))
    if launch.kernel in dags:
        unfused, fused, every = _arithmetic(dags[launch.kernel])
        known |= {UNFUSED: unfused / max(1, fused), UNFUSED_SHARE: unfused / max(1, every)}
    return known


def _arithmetic(dag: RegionDag) -> tuple[float, int, int]:
    """(unfused fp32 operations that may be pairs, fused ones, instructions) of a thread, of what
    runs most often."""
    counts = [executed(dag, region.loop) for region in dag.regions]
    deepest = max((level for level, _ in counts), default=0)
    added = multiplied = fused = every = 0
    for region, (level, times) in zip(dag.regions, counts, strict=True):
        if level == deepest:
            opcodes = [each.opcode for each in dag.instructions(region)]
            added += times * sum(ADDED.fullmatch(each) is not None for each in opcodes)
            multiplied += times * sum(MULTIPLIED.fullmatch(each) is not None for each in opcodes)
            fused += times * sum(FUSED.fullmatch(each) is not None for each in opcodes)
            every += times * len(opcodes)
    return in_pairs(added, multiplied), fused, every
