"""What ties the constants of a CUDA source down: its launch, its assertions, and shared memory.

Only what can be read is judged: an expression of numbers and of names that have one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from ....runners.c_source.comments import without_comments
from ....runners.c_source.nodes import text_of, walk
from ....runners.c_source.parsing import parse_cpp
from ....runners.errors import ExpressionError, SpecError
from ....runners.plans.declared_plan import declared_plan, resolve
from ....runners.plans.plan import PlanKernel
from ....runners.specs.contract import workload_contracts
from ....runners.specs.declared_plan_model import DeclaredPlan
from ....runners.specs.devices import PROFILES
from ....runners.specs.expressions import evaluate
from .base import State
from .knobs_cpp import cpp_constants

if TYPE_CHECKING:
    from tree_sitter import Node

WARP = 32
MOST_SHARED = max(facts.shared_per_block for facts, _ in PROFILES)
"""bytes of shared memory that a block can have on any GPU: the source's arrays and the launch's"""
ITEMSIZES = {
    "double": 8, "float": 4, "int": 4, "unsigned": 4, "half": 2, "__half": 2, "__nv_bfloat16": 2,
    "char": 1, "float2": 8, "float4": 16, "int4": 16, "uint4": 16,
}  # fmt: skip
BOUNDS = re.compile(r"__launch_bounds__\s*\(([^,()]+)[^;{]*?\b(\w+)\s*\(")
IN_PYTHON = {"&&": " and ", "||": " or ", "/": "//"}
"""operators of C as expressions of a spec have them, for whole numbers that are not negative"""


@dataclass(frozen=True)
class Read:
    """What a source says of its constants, as texts."""

    constants: Mapping[str, int]
    computed: tuple[tuple[str, str], ...]
    """names of constants that are computed from others, and how, in order"""
    assertions: tuple[str, ...]
    shared: tuple[str, ...]
    """declarations of arrays in shared memory"""
    bounds: Mapping[str, str]
    """`__launch_bounds__` by kernel"""


def broken(state: State) -> frozenset[str]:
    """What of a CUDA kernel does not fit together with its constants as they are."""
    source, plan = _read(state.source), _declared(state)
    values = _values(state, source)
    failed = {text for text in source.assertions if _value(text, values) == 0}
    held = sum(_nbytes(text, values) for text in source.shared)
    failed |= {"shared"} if held > MOST_SHARED else set()
    return frozenset(failed if plan is None else failed | _of_launch(state, plan, values, held))


def launched_with(state: State) -> frozenset[int]:
    """Numbers from 2 on that are a side of a launch's block or its shared memory, or stand in the
    expressions of its grid: who wrote one there and in the source meant the same."""
    plan = _declared(state)
    if plan is None:
        return frozenset()
    sides = {size for s in plan.launches for size in (*s.block, s.shared) if isinstance(size, int)}
    grids = " ".join(str(size) for s in plan.launches for size in s.grid)
    numbers = sides | {int(each) for each in re.findall(r"\b\d+\b", grids)}
    return frozenset(number for number in numbers if number > 1)


def _declared(state: State) -> DeclaredPlan | None:
    try:
        return declared_plan(state.spec.kernel, state.plan)
    except SpecError:
        return None


def _of_launch(state: State, plan: DeclaredPlan, values: Mapping[str, int], held: int) -> set[str]:
    """A plan that is not legal, blocks of parts of warps, blocks beyond launch bounds, and shared
    memory with the bytes that are `held` beside it."""
    spec = state.spec
    contracts = (*workload_contracts(spec), *workload_contracts(spec, held_out=True))
    try:
        made = [resolve(plan, contract, state.assignment) for contract in contracts]
    except SpecError:
        return {"plan"}
    kernels = {k.entry: k for each in made for k in each.kernels}
    bounds = _read(state.source).bounds
    found = {f"{entry}: warps" for entry, k in kernels.items() if prod(k.block) % WARP}
    found |= {"shared" for k in kernels.values() if held + k.shared > MOST_SHARED}
    return found | {
        f"{entry}: bounds"
        for entry, kernel in kernels.items()
        if _beyond(kernel, bounds.get(entry.split("<")[0]), values)
    }


def _beyond(kernel: PlanKernel, bounds: str | None, values: Mapping[str, int]) -> bool:
    most = None if bounds is None else _value(bounds, values)
    return most is not None and prod(kernel.block) > most


def _values(state: State, source: Read) -> Mapping[str, int]:
    """Names with a number: constants, macros, and constants that are computed from those."""
    known = {**source.constants, **state.assignment, **(state.plan or {}).get("defines", {})}
    known |= {n: v for n, v in state.spec.kernel.defines.items() if isinstance(v, int)}
    for name, text in source.computed:
        value = _value(text, known)
        if value is not None:
            known.setdefault(name, value)
    return known


def _value(text: str, values: Mapping[str, int]) -> int | None:
    """The value of an expression in C; None: it cannot be read."""
    translated = re.sub(r"&&|\|\||/", lambda found: IN_PYTHON[found[0]], " ".join(text.split()))
    try:
        return int(evaluate(translated, values))
    except ExpressionError:
        return None


def _nbytes(declaration: str, values: Mapping[str, int]) -> int:
    """Bytes of an array; 0 where they cannot be read."""
    kind = re.search(r"(\w+)\s+\w+\s*\[", declaration)
    sizes = [_value(size, values) for size in re.findall(r"\[([^\]]*)\]", declaration)]
    itemsize = 0 if kind is None else ITEMSIZES.get(kind[1], 0)
    return prod(size or 0 for size in sizes) * itemsize


@lru_cache(maxsize=32)
def _read(source: str) -> Read:
    data = source.encode()
    root = parse_cpp(without_comments(data)).root_node
    nodes = list(walk(root))
    declared = (text_of(node) for node in nodes if node.type == "declaration")
    asserted = (node for node in nodes if node.type == "static_assert_declaration")
    return Read(
        constants={c.name: c.value for c in cpp_constants(data)},
        computed=tuple(
            (_field(node, "declarator"), _field(node, "value"))
            for node in nodes
            if node.type == "init_declarator" and "constexpr" in text_of(node.parent)
        ),
        assertions=tuple(_field(node, "condition") for node in asserted),
        shared=tuple(d for d in declared if "__shared__" in d and "[" in d and "extern" not in d),
        bounds={name: text for text, name in BOUNDS.findall(source)},
    )


def _field(node: Node, name: str) -> str:
    return text_of(node.child_by_field_name(name))
