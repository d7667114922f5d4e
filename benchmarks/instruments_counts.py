"""What ncu counted in a launch against what we read in its code: instructions, lines, classes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from instruments_expected import WARP, expected
from instruments_machine import SIZED, UNLIKE, added, executed_opcodes, moved, tensor_flops

from kernelwright.analysis.profile.names import OPCODES
from kernelwright.analysis.ptx.effects import effect
from kernelwright.analysis.regions import RegionDag
from kernelwright.analysis.regions.blame import samples_by_region
from kernelwright.analysis.sass.classes import class_of
from kernelwright.analysis.spans import KernelCode
from kernelwright.analysis.spans.code import lines_of
from kernelwright.analysis.spans.profile import line_profile, other_build
from kernelwright.runners.plans.plan import LaunchPlan, ScalarParam
from kernelwright.runners.profiling.model import Instruction, KernelProfile
from kernelwright.runners.profiling.wanted import SAMPLES

CLASSES = ("global_load", "global_store", "shared", "async_copy", "tensor", "atomic", "sync")
"""those that PTX and machine code both tell; of the others PTX has a coarser name"""
MOST = 5
"""examples of each kind in a result"""
SAME = 0.005
"""of a count per warp: what rounding to warps of a last, part-filled block may cost"""


def placed(launch: KernelProfile, code: KernelCode, dag: RegionDag, source: str) -> dict[str, Any]:
    """Where the samples of a launch land: instructions of our listing, lines of the source, regions
    of the DAG, each as a share of all samples; and whether report and span map name one line."""
    own = [each for each in launch.instructions if each.function == 0]
    sampled = [each for each in own if _samples(each)]
    whole = sum(map(_samples, launch.instructions))
    said = [(each, _lines(code, each, source)) for each in sampled]
    frames = [(each, _frames(code, each)) for each in sampled]
    regions, elsewhere = samples_by_region(dag, code, line_profile(launch))
    return {
        "other_build": other_build(launch, code),
        "counted": len(launch.instructions),
        "of_other_functions": len(launch.instructions) - len(own),
        "sampled": len(sampled),
        "samples": whole,
        "on_our_instructions": _share((e for e in sampled if e.offset in code.by_offset), whole),
        "on_lines_of_the_source": _share((e for e, lines in said if lines), whole),
        "in_regions": round(sum(regions.values()) / whole, 4) if whole else None,
        "out_of_regions": elsewhere,
        "same_innermost_line": _share((e for e, f in frames if _place(e) in f[:1]), whole),
        "a_line_of_our_chain": _share((e for e, f in frames if _place(e) in f), whole),
        "without_a_line_in_the_report": _share((e for e in sampled if not e.line), whole),
        "report_lines": _hottest((_place(e), _samples(e)) for e in sampled),
        "our_lines": _hottest((f[0] if f else "none", _samples(e)) for e, f in frames),
        "unlike": [_unlike(code, e) for e in own if not _alike(code, e)][:MOST],
    }


def counted(dag: RegionDag, launch: KernelProfile, values: Mapping[str, int]) -> dict[str, Any]:
    """Instructions of the mean warp by class: those that the PTX asks for, and those executed.

    `values`: the integers among the kernel's parameters, `param5`. Accesses have their bytes beside
    (of one thread of each warp), tensor instructions the FLOPs of the launch. What is executed
    beyond the PTX, by the assembler or while a warp waits, has its reason (`beyond_the_ptx`).
    Conditions that the launch does not decide count as met (`counted_as_met`): there PTX is an
    upper bound. Where trips stay unknown, `static` has such loops gone through once, and `unknown`
    names them.
    """
    asked = _asked(dag, launch, values)
    warps = math.prod(launch.shape.grid) * -(-math.prod(launch.shape.block) // WARP)
    metric = launch.metrics.get(OPCODES)
    instances = {} if metric is None else metric.instances
    total = defaultdict[str, float](float)
    for opcode, number in instances.items():
        total[class_of(opcode)] += number / warps
    found = executed_opcodes(launch.instructions)
    opcodes = {opcode: number / warps for opcode, number in found.items()}
    return {
        "warps": warps,
        "classes": {
            name: _row(name, asked[name], total[name], opcodes, warps)
            for name in CLASSES
            if asked[name].unknown or asked[name].number or total[name]
        },
        "ptx": {o: round(n, 4) for name in CLASSES for o, n in asked[name].opcodes.items() if n},
        "sass": {o: round(n / warps, 4) for o, n in instances.items() if class_of(o) in CLASSES},
        "unclassed": sorted(o for o in instances if class_of(o) == "other"),
        "trips": {
            loop.name: "as often as it waits" if loop.waits_only else loop.count
            for loop in dag.loops
        },
    }


def parameter_values(plan: LaunchPlan, launch: KernelProfile) -> dict[str, int]:
    """`param5` -> 4096, of the first launch of that kernel on such a grid in a plan."""
    ids = {kernel.id for kernel in plan.kernels if kernel.entry == launch.kernel}
    fitting = (s for s in plan.launches if s.launch in ids and s.grid == launch.shape.grid)
    found = next(fitting, None)
    return {
        f"param{number}": param.value
        for number, param in enumerate(() if found is None else found.params)
        if isinstance(param, ScalarParam) and isinstance(param.value, int)
    }


def verdict(static: float | None, executed: float) -> str:
    """What the counts of a class say of each other."""
    if static is None:
        return "trips unknown, executed" if executed else "trips unknown, not executed"
    if not static:
        return "not in the PTX, executed"
    if not executed:
        return "in the PTX, not executed"
    if alike(executed, static):
        return "equal"
    return "fewer executed" if executed < static else "more executed"


def alike(executed: float, static: float) -> bool:
    """Whether two counts per warp are the same but for rounding to warps."""
    return abs(executed - static) <= SAME * static


@dataclass
class Asked:
    """What the PTX asks of the mean warp in one class."""

    opcodes: dict[str, float] = field(default_factory=dict[str, float])
    """executions by opcode of PTX"""
    nbytes: float = 0.0
    """of one thread"""
    flops: float = 0.0
    """of a warp, on tensor cores"""
    unknown: dict[str, None] = field(default_factory=dict[str, None])
    met: dict[str, None] = field(default_factory=dict[str, None])

    @property
    def number(self) -> float:
        """All executions."""
        return sum(self.opcodes.values())


def _asked(
    dag: RegionDag, launch: KernelProfile, values: Mapping[str, int]
) -> defaultdict[str, Asked]:
    """By class of the machine."""
    found = defaultdict[str, Asked](Asked)
    runs = expected(dag, launch.shape, values)
    for region, each in zip(dag.regions, runs, strict=True):
        times = 1.0 if each.times is None else each.times
        for instruction in dag.instructions(region):
            does = effect(instruction.opcode)
            own = next((c for o, c in UNLIKE.items() if instruction.opcode.startswith(o)), None)
            of = found[does.phase.value if own is None else own]
            of.opcodes[instruction.opcode] = of.opcodes.get(instruction.opcode, 0.0) + times
            of.nbytes += (does.nbytes or 0) * times
            of.flops += does.flops * WARP * times if does.kind.startswith("tensor") else 0.0
            of.unknown |= dict.fromkeys(each.unknown)
            of.met |= dict.fromkeys(each.counted_as_met)
    return found


def _row(
    name: str, asked: Asked, executed: float, opcodes: Mapping[str, float], warps: int
) -> dict[str, Any]:
    """One class: counts, what explains a difference, and a verdict."""
    more = {} if asked.unknown else added(opcodes, asked.opcodes, name)
    left = executed - sum(more.values())
    said = verdict(None if asked.unknown else asked.number, left)
    row: dict[str, Any] = {"static": round(asked.number, 4), "executed": round(executed, 4)}
    row["ratio"] = round(left / asked.number, 4) if asked.number else None
    if more:
        row["beyond_the_ptx"] = {why: round(n, 4) for why, n in more.items()}
    sizes = ("", 0.0, 0.0)
    if opcodes and name in SIZED:
        sizes = ("bytes", asked.nbytes, moved(opcodes, name))
    elif opcodes and name == "tensor":
        sizes = ("FLOPs", asked.flops * warps, tensor_flops(opcodes) * warps)
    unit, wanted, done = sizes
    if unit:
        row[unit] = {"static": round(wanted, 4), "executed": round(done, 4)}
    if said in ("fewer executed", "more executed") and unit and alike(done, wanted):
        said = f"equal {unit}, {'larger' if left < asked.number else 'smaller'} instructions"
    elif said == "fewer executed" and asked.met:
        said = "fewer executed, under conditions"
    if more:
        said += f", and {round(sum(more.values()), 1):g} beyond the PTX"
    if asked.unknown:
        row["unknown"] = list(asked.unknown)
    if asked.met:
        row["counted_as_met"] = list(asked.met)[:MOST]
    return {**row, "verdict": said}


def _samples(each: Instruction) -> float:
    return each.counters.get(SAMPLES, 0.0)


def _share(instructions: Iterator[Instruction], whole: float) -> float | None:
    return round(sum(map(_samples, instructions)) / whole, 4) if whole else None


def _lines(code: KernelCode, each: Instruction, source: str) -> tuple[int, ...]:
    ours = code.by_offset.get(each.offset)
    return () if ours is None else lines_of(ours.place, source)


def _alike(code: KernelCode, each: Instruction) -> bool:
    """Whether opcode and line are those of our listing, where both sides know theirs."""
    ours = code.by_offset.get(each.offset)
    if ours is None:
        return False
    same = not (ours.opcode and each.sass) or _stem(ours.opcode) in map(_stem, each.sass.split())
    return same and not (ours.place and each.line and _place(each) not in _frames(code, each))


def _unlike(code: KernelCode, each: Instruction) -> dict[str, Any]:
    ours = code.by_offset.get(each.offset)
    return {
        "offset": hex(each.offset),
        "report": f"{each.sass} // {_place(each)}",
        "ours": None if ours is None else ours.text,
        "our_place": _frames(code, each),
    }


def _frames(code: KernelCode, each: Instruction) -> list[str]:
    """`standard.py:43`, the innermost first: where our span map has an instruction come from."""
    ours = code.by_offset.get(each.offset)
    return [] if ours is None else [f"{_base(f.file)}:{f.line}" for f in ours.place]


def _place(each: Instruction) -> str:
    return f"{_base(each.file)}:{each.line}"


def _stem(opcode: str) -> str:
    return opcode.partition(".")[0]


def _base(file: str) -> str:
    return file.rpartition("/")[2]


def _hottest(samples: Iterator[tuple[str, float]]) -> Sequence[tuple[str, float]]:
    found = defaultdict[str, float](float)
    for place, number in samples:
        found[place] += number
    return sorted(found.items(), key=lambda each: -each[1])[:MOST]
