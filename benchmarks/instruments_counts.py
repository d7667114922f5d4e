"""What ncu counted in a launch against what we read in its code: instructions, lines, classes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kernelwright.analysis.ptx.effects import effect
from kernelwright.analysis.regions import RegionDag
from kernelwright.analysis.regions.blame import samples_by_region
from kernelwright.analysis.rules.names import OPCODES
from kernelwright.analysis.sass.classes import class_of
from kernelwright.analysis.spans import KernelCode
from kernelwright.analysis.spans.code import lines_of
from kernelwright.analysis.spans.profile import line_profile, other_build
from kernelwright.runners.errors import ExpressionError
from kernelwright.runners.plans.plan import LaunchPlan, ScalarParam
from kernelwright.runners.profiling.model import Instruction, KernelProfile
from kernelwright.runners.profiling.wanted import SAMPLES
from kernelwright.runners.specs.expressions import evaluate_int

CLASSES = ("global_load", "global_store", "shared", "async_copy", "tensor", "atomic", "sync")
"""those that PTX and machine code both tell; of the others PTX has a coarser name"""
MOST = 5
"""examples of each kind in a result"""
WARP = 32
MOST_BLOCKS = 4096
"""of which trips are reckoned one by one"""
WHOLE = (" / ", " // ")
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
    """Instructions of the mean warp by class: those of PTX times their trips, and those executed.

    `values`: the integers among the kernel's parameters, `param5`. What lies under a branch counts
    as taken, so PTX is an upper bound there: of warps with roles, too. Where trips stay unknown,
    `static` has such loops gone through once.
    """
    static, opcodes, unknown = _static(dag, _settings(launch, values))
    warps = math.prod(launch.shape.grid) * -(-math.prod(launch.shape.block) // WARP)
    metric = launch.metrics.get(OPCODES)
    instances = {} if metric is None else metric.instances
    executed = defaultdict[str, float](float)
    for opcode, number in instances.items():
        executed[class_of(opcode)] += number / warps
    told = {
        name: _row(static[name], executed[name], known=name not in unknown)
        for name in CLASSES
        if name in unknown or static[name] or executed[name]
    }
    return {
        "warps": warps,
        "classes": told,
        "ptx": {o: n for o, n in opcodes.items() if effect(o).phase.value in CLASSES},
        "sass": {o: round(n / warps, 4) for o, n in instances.items() if class_of(o) in CLASSES},
        "unclassed": sorted(o for o in instances if class_of(o) == "other"),
        "trips": {loop.name: loop.count for loop in dag.loops},
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
    if abs(executed / static - 1) <= SAME:
        return "equal"
    return "fewer executed" if executed < static else "more executed"


def _row(static: float, executed: float, *, known: bool) -> dict[str, Any]:
    return {
        "static": round(static, 4),
        "executed": round(executed, 4),
        "ratio": round(executed / static, 4) if static else None,
        "verdict": verdict(static if known else None, executed),
    }


Values = Mapping[str, int]


def _settings(launch: KernelProfile, values: Values) -> list[Values]:
    """What expressions of trips may name, for each block along x: those that stay for several
    tiles have trips of their own."""
    shape = launch.shape
    sizes = {
        f"{name}_{axis}": size
        for name, extent in (("nctaid", shape.grid), ("ntid", shape.block))
        for axis, size in zip("xyz", extent, strict=True)
    }
    blocks = range(min(shape.grid[0], MOST_BLOCKS))
    return [{**values, **sizes, "ctaid_x": block} for block in blocks]


def _static(
    dag: RegionDag, settings: Sequence[Values]
) -> tuple[dict[str, float], dict[str, float], set[str]]:
    """By class and by opcode of PTX, the mean of the blocks, and the classes in loops of unknown
    trips."""
    classes, opcodes = defaultdict[str, float](float), defaultdict[str, float](float)
    unknown = set[str]()
    of_loop = {region.loop: _times(dag, region.loop, settings) for region in dag.regions}
    for region in dag.regions:
        times = of_loop[region.loop]
        for each in dag.instructions(region):
            phase = effect(each.opcode).phase.value
            opcodes[each.opcode] += 1 if times is None else times
            classes[phase] += 1 if times is None else times
            if times is None:
                unknown.add(phase)
    return classes, opcodes, unknown & set(CLASSES)


def _times(dag: RegionDag, loop: int | None, settings: Sequence[Values]) -> float | None:
    """Executions of what lies in a loop, the mean of all blocks; None where they are not known."""
    number, symbols = dag.times(loop)
    varies = settings if any("ctaid.x" in symbol for symbol in symbols) else settings[:1]
    try:
        found = [math.prod(_trips(symbol, values) for symbol in symbols) for values in varies]
    except ExpressionError:
        return None
    return number * sum(found) / len(found)


def _trips(symbol: str, values: Values) -> int:
    # quotients of PTX are whole, but for the outermost one that `ceil(` rounds
    text = symbol.replace(*WHOLE) if not symbol.startswith("ceil(") else _ceiled(symbol)
    return max(0, evaluate_int(text.replace(".", "_"), values))


def _ceiled(symbol: str) -> str:
    """`ceil((a) / (b))` as `cdiv(a, b)`, the quotients within whole."""
    above, _, below = symbol.removeprefix("ceil(").removesuffix(")").rpartition(" / ")
    return f"cdiv({above.replace(*WHOLE)}, {below})"


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
