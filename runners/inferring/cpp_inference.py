"""The contract of a CUDA or C++ entry as its source tells it: roles, sizes and scalars."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ..c_source.functions import CppFunction, CppParameter
from ..dtypes import is_float
from ..specs.spec import Expression
from .cpp_accesses import Usage, usages
from .cpp_indices import THREADS, Indices
from .cpp_shapes import NOT_PLAIN, reach_of, shape_of
from .cuda_launches import launch_of
from .polynomials import Polynomial, number, variable
from .signature import (
    ArrayArgument,
    ArrayRole,
    ScalarArgument,
    Size,
    SourceKernel,
    is_size,
    role_of,
    symbol_for,
)

_COUNT = re.compile(
    r"(?i)n|num|len|length|size|count|total|numel|(n|num)_?(elem\w*|items|points|values|threads)?"
    r"|\w+_(n|num|len|length|size|count)"
)
"""Names of a number of elements."""
_CONSTANT = re.compile(
    r"^\s*(?:#\s*define\s+(\w+)\s+|(?:static\s+)?(?:constexpr|const)\s+[\w:\s]+?\b(\w+)\s*=\s*)"
    r"\(?(\d+)[uUlL]*\)?\s*;?\s*(?://.*)?$",
    re.MULTILINE,
)
BLOCK = 256
"""Threads a block of a launch that nobody gave."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is known of a kernel beside its source."""

    source: str
    threads: int | None = None
    """threads of the launch; None: not known, or not along one axis"""
    given: frozenset[str] = frozenset()
    """symbols whose values the workloads of the spec give"""
    macros: frozenset[str] = frozenset()
    """names that a build defines otherwise than the source"""
    entry: str = ""
    """the entry's C++ name, where the spec gives one: an instance of a template"""


def cpp_kernel(function: CppFunction, *, cuda: bool, known: Surroundings) -> SourceKernel:
    """The entry as its source alone describes it."""
    return _Inference(function, cuda, known).kernel()


class _Inference:
    """Facts about one function, put together."""

    def __init__(self, function: CppFunction, cuda: bool, known: Surroundings) -> None:
        self.function, self.cuda, self.known = function, cuda, known
        self.indices = Indices(function, cuda=cuda)
        self.usages = usages(function, self.indices)
        self.integers = [p.name for p in function.parameters if _is_integer(p)]
        self.sizes = [n for n in self.integers if is_size(n) or n in known.given]
        self.constants = {
            (m[1] or m[2]): int(m[3])
            for m in _CONSTANT.finditer(known.source)
            if (m[1] or m[2]) not in known.macros
        }
        self.bound = self._bound()
        """what limits the number of the thread: a scalar's name, a number, or None"""

    def _bound(self) -> str | int | None:
        if not self.cuda:
            return None
        if len(self.indices.bounds) == 1:
            limit = self._limit(next(iter(self.indices.bounds)))
            threads = self.known.threads
            return min(limit, threads) if isinstance(limit, int) and threads else limit
        if self.indices.bounds:
            return None
        if not self.integers:
            return self.known.threads
        only = self.integers[0]
        counted = len(self.integers) == 1 and _COUNT.fullmatch(only) is not None
        return (
            only if counted and only not in self.indices.compared | self.indices.assigned else None
        )

    def _limit(self, text: str) -> str | int | None:
        """A bound as written: a scalar that keeps its value, or a number."""
        if text in self.integers:
            return None if text in self.indices.assigned else text
        return int(text) if text.isdigit() else self.constants.get(text)

    def kernel(self) -> SourceKernel:
        values = {name: self._value(name) for name in self.sizes}
        launch, own = self._launch() if self.cuda else (None, ())
        arguments = self._with_a_result(
            tuple(
                self._array(p)
                if p.pointers
                else _scalar(p, symbol_for(p.name) if p.name in values else None)
                for p in self.function.parameters
            )
        )
        atomics = {n for n, u in self.usages.items() if any(a.mode == "atomic" for a in u.accesses)}
        floats = {
            p.name for p in self.function.parameters if p.element and is_float(p.element.dtype)
        }
        return SourceKernel(
            name=self.function.name,
            arguments=arguments,
            symbols={symbol_for(n): v for n, v in values.items()} | dict.fromkeys(own),
            launch=launch,
            deterministic=not atomics & floats,
            notes=self._notes(),
        )

    def _value(self, name: str) -> int | None:
        """The number of threads, for the only integer when it is what limits them."""
        if name in self.known.given or self.integers != [name] or self.bound != name:
            return None
        return self.known.threads

    def _array(self, p: CppParameter) -> ArrayArgument:
        usage = self.usages[p.name]
        why = dict[str, str]()
        role = self._role(p, usage)
        if role is None:
            why["role"] = _escaped(usage) if usage.escapes else f"it is {p.type}{'*' * p.pointers}"
        if p.element is None or p.pointers > 1:
            why["dtype"] = f"`{p.type}{'*' * p.pointers}` is no type of elements that is known here"
        shape, reason = self._shape(p, usage)
        if shape is None:
            why["shape"] = reason
        stored = {a.mode for a in usage.accesses}
        return ArrayArgument(
            name=p.name,
            role=role,
            dtype=p.element.dtype if p.element and p.pointers == 1 else None,
            shape=shape,
            init="zeros" if "atomic" in stored and "read" not in stored and role else None,
            why=why,
        )

    def _role(self, p: CppParameter, usage: Usage) -> ArrayRole | None:
        modes = {a.mode for a in usage.accesses}
        if p.pointers > 1 or (usage.escapes and not p.const):
            return None
        return role_of(
            read="read" in modes,
            written="write" in modes,
            updated=bool(modes & {"update", "atomic"}),
        )

    def _shape(self, p: CppParameter, usage: Usage) -> tuple[Size | None, str]:
        """Sizes in elements of the contract's dtype, or why they cannot be told."""
        if p.element is None or p.pointers > 1:
            return None, "its elements are not known"
        lanes = p.element.lanes
        if p.extent is not None and (count := self._limit(p.extent)) is not None:
            return (_times(count, lanes),), ""
        if usage.escapes:
            return None, _escaped(usage)
        widths = {a.nbytes for a in usage.accesses} or {p.element.nbytes}
        width = next(iter(widths))
        if len(widths) > 1 or width is None or (lanes * width) % p.element.nbytes:
            return None, "it is read and written in elements of several types"
        parts = lanes * width // p.element.nbytes
        return self._threads_shape(usage, parts) if self.cuda else self._loops_shape(usage, parts)

    def _threads_shape(self, usage: Usage, parts: int) -> tuple[Size | None, str]:
        """The shape of what each thread has an element of, each of so many parts."""
        if {a.place for a in usage.accesses} - {variable(THREADS)}:
            return None, "it is not indexed by the number of the thread alone"
        if self.bound is None:
            return None, self._unbounded()
        return (_times(self.bound, parts),), ""

    def _loops_shape(self, usage: Usage, parts: int) -> tuple[Size | None, str]:
        """The shape of what is indexed by variables of loops."""
        values = {name: number(value) for name, value in self.constants.items()}
        ranges = {n: r.put(values) for n, r in self.indices.loops.ranges.items()}
        found = [
            None if a.place is None else reach_of(a.place.put(values), ranges, guarded=a.guarded)
            for a in usage.accesses
        ]
        reached = [r for r in found if r is not None]
        if not reached or len(reached) < len(found):
            return None, NOT_PLAIN
        sizes = shape_of(reached)
        if isinstance(sizes, str):
            return None, sizes
        foreign = sorted(set[str]().union(*(s.names for s in sizes)) - set(self.sizes))
        if foreign:
            return None, f"`{foreign[0]}`, which its size hangs on, is neither a size nor a number"
        *outer, last = sizes
        return tuple(_expression(s) for s in (*outer, last * number(parts))), ""

    def _unbounded(self) -> str:
        if self.indices.bounds:
            return f"the thread is limited by {', '.join(sorted(self.indices.bounds))}"
        if self.integers:
            return "nothing says which integer, if any, is its size"
        return "the launch does not say how many threads there are along one axis"

    def _with_a_result(
        self, arguments: tuple[ArrayArgument | ScalarArgument, ...]
    ) -> tuple[ArrayArgument | ScalarArgument, ...]:
        """Where no store was found, what could be a result is left open."""
        arrays = [a for a in arguments if isinstance(a, ArrayArgument)]
        if any(a.role != "input" for a in arrays):
            return arguments
        const = {p.name for p in self.function.parameters if p.const}
        opened = {a.name for a in arrays if a.name not in const}
        return tuple(
            ArrayArgument(
                a.name, None, a.dtype, a.shape, why={**a.why, "role": "no store was found"}
            )
            if isinstance(a, ArrayArgument) and a.name in opened
            else a
            for a in arguments
        )

    def _launch(self) -> tuple[Mapping[str, object], tuple[str, ...]]:
        """The launch of the same file, with sizes that only its host code has; else one that covers
        the bound, where each thread has an element of its own."""
        places = enumerate(self.function.parameters)
        symbols = {n: symbol_for(p.name) for n, p in places if p.name in self.sizes}
        written = launch_of(self.known.source, self.function.name, symbols)
        if written is not None and "?" not in (*written.grid, *written.block):
            launch = {"grid": list(written.grid), "block": list(written.block)}
            return launch, written.symbols
        placed = {a.place for u in self.usages.values() for a in u.accesses}
        if self.bound is None or placed != {variable(THREADS)}:
            launch = {
                "grid": list(written.grid) if written else ["?"],
                "block": list(written.block) if written else ["?"],
            }
            return launch, written.symbols if written else ()
        bound = symbol_for(self.bound) if isinstance(self.bound, str) else self.bound
        return {"grid": [f"cdiv({bound}, {BLOCK})"], "block": [BLOCK]}, ()

    def _notes(self) -> tuple[str, ...]:
        if not self.function.template:
            return ()
        return (f"`{self.function.name}` is a template: an instance has to be chosen",)


def _is_integer(p: CppParameter) -> bool:
    if p.pointers or p.reference or p.element is None or p.element.lanes > 1:
        return False
    return p.element.dtype != "bool" and not is_float(p.element.dtype)


def _scalar(p: CppParameter, value: Expression | None) -> ScalarArgument:
    known = p.element is not None and p.element.lanes == 1 and not p.reference
    if p.element is None or not known:
        written = p.type + "&" * p.reference
        why = {"dtype": f"`{written}` is no number that is known here", "value": "as above"}
        return ScalarArgument(p.name, None, None, why)
    return ScalarArgument(p.name, p.element.dtype, value)


def _expression(size: Polynomial) -> Expression:
    return size.put({name: variable(symbol_for(name)) for name in size.names}).written()


def _times(count: str | int, lanes: int) -> Expression:
    if isinstance(count, int):
        return count * lanes
    return symbol_for(count) if lanes == 1 else f"{lanes} * {symbol_for(count)}"


def _escaped(usage: Usage) -> str:
    return f"it goes to {usage.escapes[0]}, which is not followed"
