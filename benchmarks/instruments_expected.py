"""How often a warp executes each region, reckoned from what its launch gives: the parameters, the
grid and the block."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from kernelwright.analysis.regions import RegionDag
from kernelwright.analysis.regions.conditions import Where, where_regions_run
from kernelwright.analysis.regions.dag import LoopWork
from kernelwright.runners.errors import ExpressionError
from kernelwright.runners.profiling.model import LaunchShape
from kernelwright.runners.specs.expressions import evaluate, evaluate_int, names_in

WARP = 32
MOST_BLOCKS = 4096
"""of which trips and conditions are reckoned one by one"""
MOST_ITERATIONS = 65536
"""of a loop, of which conditions are"""
WHOLE = (" / ", " // ")
_ITERATION = re.compile(r"\bi of (L\d+)\b")

Values = Mapping[str, int]


class Expected(NamedTuple):
    """Executions of one region."""

    times: float | None
    """by the mean warp of the launch; a warp comes to a region if one of its threads does. None:
    not known"""
    unknown: tuple[str, ...] = ()
    """what makes it unknown: "n of L2" """
    counted_as_met: tuple[str, ...] = ()
    """conditions, and lines of branches, of which the launch says nothing, or which name block and
    thread at once: `times` is an upper bound"""


def expected(dag: RegionDag, shape: LaunchShape, values: Values) -> tuple[Expected, ...]:
    """Of each region. `values`: the integers among the kernel's parameters, `param5`."""
    launch = _Launch(shape, values)
    known = dict[tuple[int | None, Where], Expected]()
    found = list[Expected]()
    for region, where in zip(dag.regions, where_regions_run(dag), strict=True):
        key = (region.loop, where)
        if key not in known:
            known[key] = launch.expected(dag.around(region.loop), where)
        found.append(known[key])
    return tuple(found)


@dataclass
class _Terms:
    """Conditions and trips of a region, by what they depend on."""

    met: list[str]
    of_threads: list[str] = field(default_factory=list[str])
    of_blocks: list[str] = field(default_factory=list[str])
    of_iterations: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """by loop"""
    trips_of_threads: list[str] = field(default_factory=list[str])
    trips_of_blocks: dict[str, str] = field(default_factory=dict[str, str])
    """by loop"""
    unknown: list[str] = field(default_factory=list[str])
    """trips"""


class _Launch:
    """The blocks and warps of a launch, and what expressions of the DAG are in each."""

    def __init__(self, shape: LaunchShape, values: Values) -> None:
        sizes = {
            f"{name}_{axis}": size
            for name, extent in (("nctaid", shape.grid), ("ntid", shape.block))
            for axis, size in zip("xyz", extent, strict=True)
        }
        self._all = {**values, **sizes}
        self._blocks = [{"ctaid_x": n} for n in range(min(shape.grid[0], MOST_BLOCKS))]
        width, height, _ = shape.block
        lanes = [
            {
                "tid_x": n % width,
                "tid_y": n // width % height,
                "tid_z": n // width // height,
                "laneid": n % WARP,
            }
            for n in range(math.prod(shape.block))
        ]
        self._known = dict[tuple[str, int, tuple[str, ...]], int]()
        self._warps = [lanes[first : first + WARP] for first in range(0, len(lanes), WARP)]

    def expected(self, loops: Sequence[LoopWork], where: Where) -> Expected:
        """Of what lies in these loops, the outermost first."""
        terms = self._sorted(loops, where)
        try:
            warps = self._mean_of_warps(terms)
            times = warps and warps * self._mean_of_blocks(terms)
        except ExpressionError as error:  # a step or divisor that this launch makes zero
            return Expected(None, unknown=(error.message,))
        if not times:
            return Expected(0.0)
        if terms.unknown:
            return Expected(None, unknown=tuple(terms.unknown))
        return Expected(times, counted_as_met=tuple(terms.met))

    def _sorted(self, loops: Sequence[LoopWork], where: Where) -> _Terms:
        terms = _Terms(met=[f"the branch at line {each} of the PTX" for each in where.undecided])
        for said in where.holds:
            text = _plain(said)
            match self._kinds(text, loops):
                case "thread":
                    terms.of_threads.append(text)
                case "block":
                    terms.of_blocks.append(text)
                case str(loop) if loop:
                    terms.of_iterations.setdefault(loop, []).append(text)
                case _:
                    terms.met.append(said)
        for loop in loops:
            text = _trips(loop.count)
            match self._kinds(text, loops):
                case "thread":
                    terms.trips_of_threads.append(text)
                case "block":
                    terms.trips_of_blocks[loop.name] = text
                case _:
                    terms.unknown.append(loop.count)
        for name in terms.of_iterations.keys() - terms.trips_of_blocks.keys():
            terms.met += terms.of_iterations[name]
        return terms

    def _kinds(self, text: str, loops: Sequence[LoopWork]) -> str:
        """What an expression depends on: "block" (or nothing), "thread", or "L2" for its
        iterations; empty: on several of these, or on what nobody knows."""
        try:
            names = names_in(text) - self._all.keys()
        except ExpressionError:
            return ""
        known = {"ctaid_x": "block", **dict.fromkeys(self._warps[0][0], "thread")}
        known |= {f"i_{loop.name}": loop.name for loop in loops}
        kinds = {known.get(name, "") for name in names}
        return "" if len(kinds) > 1 else next(iter(kinds), "block")

    def _mean_of_warps(self, terms: _Terms) -> float:
        """How often the mean warp goes through, which does as often as its busiest thread."""
        if not terms.of_threads and not terms.trips_of_threads:
            return 1.0

        def of(lane: Values) -> int:
            values = {**self._all, **lane}
            if not all(evaluate(each, values) for each in terms.of_threads):
                return 0
            return math.prod(_reckoned(each, values) for each in terms.trips_of_threads)

        return sum(max(map(of, lanes)) for lanes in self._warps) / len(self._warps)

    def _mean_of_blocks(self, terms: _Terms) -> float:
        """How often the mean block goes through: the product of what its loops do."""

        def of(block: Values) -> int:
            values = {**self._all, **block}
            if not all(evaluate(each, values) for each in terms.of_blocks):
                return 0
            number = 1
            for name, text in terms.trips_of_blocks.items():
                asked = terms.of_iterations.get(name, ())
                trips = _reckoned(text, values)
                number *= self._passed(name, trips, tuple(asked)) if asked else trips
            return number

        named = (*terms.of_blocks, *terms.trips_of_blocks.values())
        varies = any("ctaid_x" in names_in(each) for each in named)
        blocks = self._blocks if varies else self._blocks[:1]
        return sum(map(of, blocks)) / len(blocks)

    def _passed(self, loop: str, trips: int, conditions: tuple[str, ...]) -> int:
        """The iterations of a loop in which all conditions hold. Raises ExpressionError where they
        are too many to look at."""
        if trips > MOST_ITERATIONS:
            raise ExpressionError(f"conditions in {trips} iterations of {loop} are not reckoned")
        key = (loop, trips, conditions)
        if key not in self._known:
            numbers = ({**self._all, f"i_{loop}": n} for n in range(trips))
            self._known[key] = sum(
                all(evaluate(each, values) for each in conditions) for values in numbers
            )
        return self._known[key]


def _reckoned(trips: str, values: Values) -> int:
    """Below zero is a loop that a test before it skips."""
    return max(0, evaluate_int(trips, values))


def _plain(text: str) -> str:
    """An expression of the DAG as `evaluate` reads it; its quotients are whole."""
    return _ITERATION.sub(r"i_\1", text).replace(*WHOLE).replace(".", "_")


def _trips(text: str) -> str:
    """The same of trips, of which `ceil((a) / (b))` rounds up its outermost quotient."""
    if not text.startswith("ceil("):
        return _plain(text)
    above, _, below = text.removeprefix("ceil(").removesuffix(")").rpartition(" / ")
    return f"cdiv({_plain(above)}, {_plain(below)})"
