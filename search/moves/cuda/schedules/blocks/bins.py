"""Updates of few elements by many places, such as histograms: each block counts in shared memory,
and adds what it has to the array in the end.

Neighbouring threads count in copies of their own, side by side: equal values are the rule, and
updates of one address wait for each other. Integers come to the same sum in any order; floats do
not, here as in the source, which adds them by atomic updates too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ......analysis.lift.expressions import Load, walk
from ......analysis.lift.statements import (
    Barrier,
    Each,
    Scatter,
    Store,
    expressions_in,
    statements_in,
)
from ......runners.dtypes import DTYPES
from ......runners.errors import ExpressionError
from ......runners.model import Candidate
from ......runners.specs.expressions import evaluate_int
from ......runners.specs.spec import KernelSpec
from ....shared.base import Proposals, State
from ....shared.lifted.c_expressions import Unwritable
from ....shared.lifted.memory import Memory
from ..parts.body_text import ATOMICS
from ..parts.c_text import TYPES, Writer
from ..parts.elements import Places, function_of
from ..parts.plain import Plain, written_from
from ..parts.writing import condition, handed, parameters, plan_text, plan_with, source_with

METHOD = "avoid_atomics_reduce"
"""of the catalogue, that the schedule is a candidate of"""
THREADS, BLOCKS, COPIES = "THREADS", "BLOCKS", "COPIES"
MOST_BYTES = 48 << 10
"""of static shared memory"""
_ADDED = {"add": "+=", "and": "&=", "or": "|=", "xor": "^="}
_BEGINS = {"add": "0", "or": "0", "xor": "0", "and": "-1"}


def bins(state: State) -> Proposals:
    """Candidates of the schedule, or why there are none."""
    return written_from(state, lambda plain: (_candidate(plain),), "update of few elements")


@dataclass(frozen=True)
class _Bins:
    """An array that places update, and the counters that a block has of it."""

    array: str
    op: str
    dtype: str
    count: int
    """elements that it has at most"""
    size: str
    """those that it has, in the kernel's own words"""

    @property
    def nbytes(self) -> int:
        """Of one copy."""
        return DTYPES[self.dtype].itemsize * self.count  # type: ignore[index]


def _candidate(plain: Plain) -> Candidate:
    found = _updated(plain)
    nbytes = sum(each.nbytes for each in found)
    copies = tuple(each for each in (1, 2, 4, 8, 16, 32) if each * nbytes <= MOST_BYTES)
    if not copies:
        raise Unwritable("its elements do not fit in shared memory")
    largest = max(DTYPES[each.dtype].itemsize for each in plain.arrays.values())  # type: ignore[index]
    made = Places(plain, max(1, 16 // largest), (THREADS, BLOCKS, COPIES), updates=True)
    index = "long long" if made.wide else "int"
    function = made.names.fresh(f"{plain.function.name}_places")
    own = {each.array: made.names.fresh(_called("own", each, found)) for each in found}
    text = function_of(
        made,
        function,
        index,
        [f"{TYPES[each.dtype]}* {own[each.array]}" for each in found],
        lambda update, at: f"{own[update.array]}[({at}) * {COPIES}]",
    )
    counted = " and ".join(str(each.count) for each in found)
    told = f"blocks update {COPIES} copies of {counted} elements in shared memory, then the array"
    places = plan_text(made.flat.count, plain)
    enough = f"cdiv({places}, {made.lanes} * {THREADS})"
    return Candidate(
        method=METHOD,
        detail=f"written from what it computes: {told}",
        source=source_with(
            plain,
            told,
            f"{made.vectors.text}\n\n{text}",
            parameters(plain, made.written),
            _kernel(made, found, function, index),
            THREADS,
        ),
        plan=plan_with(
            plain,
            [f"min({enough}, {BLOCKS})"],
            [THREADS],
            defines={THREADS: 256, BLOCKS: 528, COPIES: min(8, copies[-1])},
        ),
        knobs={THREADS: (128, 256, 512, 1024), BLOCKS: (132, 264, 528, 1056), COPIES: copies},
        prior=0.5,
    )


def _called(word: str, bins: _Bins, found: Sequence[_Bins]) -> str:
    """The word, with the array's name where there are several arrays."""
    return word if len(found) == 1 else f"{word}_{bins.array}"


def _updated(plain: Plain) -> tuple[_Bins, ...]:
    """The arrays that all places do nothing but update. Raises Unwritable."""
    statements = list(statements_in(plain.lifted.body))
    updates = [each for each in statements if isinstance(each, Scatter)]
    if not updates:
        raise Unwritable("it updates no array by atomic operations")
    if any(isinstance(each, Store | Each | Barrier) for each in statements):
        raise Unwritable("it does more than to update elements")
    kinds = {(each.array, each.op) for each in updates}
    arrays = tuple(dict.fromkeys(each.array for each in updates))
    if len(kinds) > len(arrays):
        raise Unwritable("it updates an array by operations of several kinds")
    reads = {
        e.array for x in expressions_in(plain.lifted.body) for e in walk(x) if isinstance(e, Load)
    }
    if reads & {*arrays}:
        raise Unwritable("it reads what it updates")
    ops = dict(kinds)
    return tuple(_bins(plain, array, ops[array]) for array in arrays)


def _bins(plain: Plain, array: str, op: str) -> _Bins:
    """What is known of an array. Raises Unwritable."""
    if op not in ATOMICS or array not in plain.arrays:
        raise Unwritable("an update that no schedule writes")
    memory = plain.arrays[array]
    dtype = memory.dtype
    if dtype not in ("int32", "uint32") and not (op == "add" and dtype == "float32"):
        raise Unwritable(f"updates of {dtype} in shared memory")
    if op in ("min", "max"):
        raise Unwritable("an extreme of each element begins with what is there")
    count = _elements(memory, plain.spec)
    return _Bins(array, op, dtype, count, " * ".join(_size_text(memory, plain, count)))


def _elements(memory: Memory, spec: KernelSpec) -> int:
    """The most elements that an array may have. Raises Unwritable where that is not known."""
    at = {name: 0 if domain is None else domain.max for name, domain in spec.symbols.items()}
    count = 1
    for size in memory.elements:
        try:
            count *= evaluate_int(size, at)
        except ExpressionError as error:
            raise Unwritable("how many elements it updates is not known") from error
    if not count:
        raise Unwritable("how many elements it updates is not known")
    return count


def _kernel(made: Places, found: Sequence[_Bins], function: str, index: str) -> str:
    """Counters begin, places are gone through in steps of the grid, counters are added up."""
    names = made.names
    counters = {each.array: names.fresh(_called("counters", each, found)) for each in found}
    at, copy, total = (names.fresh(each) for each in ("bin", "copy", "sum"))
    lines = [f"    // {COPIES} counters an element, side by side"]
    for each in found:
        name, length = counters[each.array], f"{each.count} * {COPIES}"
        lines += [
            f"    __shared__ {TYPES[each.dtype]} {name}[{length}];",
            f"    for (int {at} = threadIdx.x; {at} < {length}; {at} += {THREADS})"
            f" {name}[{at}] = {_BEGINS[each.op]};",
        ]
    own = [f"{counters[each.array]} + threadIdx.x % {COPIES}" for each in found]
    lines += ["    __syncthreads();", *_places(made, own, function, index), "    __syncthreads();"]
    for each in found:
        lines += _added_up(each, counters[each.array], (at, copy, total))
    return "\n".join(lines)


def _added_up(bins: _Bins, counters: str, names: tuple[str, str, str]) -> list[str]:
    """What a block has counted goes to the array."""
    (at, copy, total), kind = names, TYPES[bins.dtype]
    return [
        f"    for (int {at} = threadIdx.x; {at} < {bins.size}; {at} += {THREADS}) {{",
        f"        {kind} {total} = {counters}[{at} * {COPIES}];",
        f"        for (int {copy} = 1; {copy} < {COPIES}; ++{copy})"
        f" {total} {_ADDED[bins.op]} {counters}[{at} * {COPIES} + {copy}];",
        f"        if ({total} != ({kind}){_BEGINS[bins.op]})"
        f" {ATOMICS[bins.op]}(&{bins.array}[{at}], {total});",
        "    }",
    ]


def _places(made: Places, own: Sequence[str], function: str, index: str) -> list[str]:
    """All places, by vectors where sizes allow it. `own`: where a thread counts."""
    place, writer = made.names.fresh("place"), Writer({}, {}, wide=made.wide)
    whole = writer.text(made.flat.count)
    tests = condition(made.split.needs, made.lanes, writer)
    call = f"({', '.join([handed(made.plain), *own, place])}, 0)"
    step = f"(int)gridDim.x * {THREADS}"
    first = f"({index})blockIdx.x * {THREADS} + (int)threadIdx.x"

    def loop(lanes: int, start: str, end: str, tab: str) -> list[str]:
        width = f" * {lanes}" if lanes > 1 else ""
        begin = f"({first}){width}" if lanes > 1 else first
        return [
            f"{tab}for ({index} {place} = {begin}{start}; {place} < {end};"
            f" {place} += {step}{width}) {{",
            f"{tab}    {function}<{lanes}, 1>{call};",
            f"{tab}}}",
        ]

    vectors = f"({whole}) / {made.lanes} * {made.lanes}"

    def by_vectors(tab: str) -> list[str]:
        return loop(made.lanes, "", vectors, tab) + loop(1, f" + {vectors}", whole, tab)

    if made.lanes == 1:
        return loop(1, "", whole, "    ")
    if not tests:
        return by_vectors("    ")
    return [
        f"    if ({' && '.join(tests)}) {{",
        *by_vectors("        "),
        "    } else {",
        *loop(1, "", whole, "        "),
        "    }",
    ]


def _size_text(memory: Memory, plain: Plain, count: int) -> list[str]:
    """The elements that there are, in the kernel's own words; the most where it has none for
    them. Raises Unwritable where fewer are legal."""
    if all(str(each).isdigit() for each in memory.elements):
        return [str(count)]
    by_value = {str(value): name for name, value in plain.sizes.items()}
    found = [str(e) if str(e).isdigit() else by_value.get(str(e), "") for e in memory.elements]
    if not all(found):
        raise Unwritable("the number of elements is no parameter of the kernel")
    return found
