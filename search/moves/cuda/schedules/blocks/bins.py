"""Updates of few elements by many places, such as histograms: each block counts in shared memory,
and adds what it has to the array in the end.

Neighbouring threads count in copies of their own, side by side: equal values are the rule, and
updates of one address wait for each other. Integers come to the same sum in any order; floats do
not, here as in the source, which adds them by atomic updates too.
"""

from __future__ import annotations

from ......analysis.lift.statements import Barrier, Each, Scatter, Store, statements_in
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


def _candidate(plain: Plain) -> Candidate:
    update = _update(plain)
    memory = plain.arrays[update.array]
    count = _elements(memory, plain.spec)
    nbytes = DTYPES[memory.dtype].itemsize * count  # type: ignore[index]
    copies = tuple(each for each in (1, 2, 4, 8, 16, 32) if each * nbytes <= MOST_BYTES)
    if not copies:
        raise Unwritable("its elements do not fit in shared memory")
    largest = max(DTYPES[each.dtype].itemsize for each in plain.arrays.values())  # type: ignore[index]
    made = Places(plain, max(1, 16 // largest), (THREADS, BLOCKS, COPIES), updates=True)
    index = "long long" if made.wide else "int"
    function = made.names.fresh(f"{plain.function.name}_places")
    own = made.names.fresh("own")
    kind = TYPES[memory.dtype]
    text = function_of(
        made, function, index, [f"{kind}* {own}"], lambda _, at: f"{own}[({at}) * {COPIES}]"
    )
    told = f"blocks update {COPIES} copies of {count} elements in shared memory, then the array"
    body = _kernel(made, update, function, index, count, kind)
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
            body,
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


def _update(plain: Plain) -> Scatter:
    """The one update that all places do. Raises Unwritable."""
    found = list(statements_in(plain.lifted.body))
    updates = [each for each in found if isinstance(each, Scatter)]
    if len({each.array for each in updates}) != 1 or len({each.op for each in updates}) != 1:
        raise Unwritable("it updates no array by atomic operations, or several")
    if any(isinstance(each, Store | Each | Barrier) for each in found):
        raise Unwritable("it does more than to update elements")
    op, array = updates[0].op, updates[0].array
    if op not in ATOMICS or array not in plain.arrays:
        raise Unwritable("an update that no schedule writes")
    dtype = plain.arrays[array].dtype
    if dtype not in ("int32", "uint32") and not (op == "add" and dtype == "float32"):
        raise Unwritable(f"updates of {dtype} in shared memory")
    if op in ("min", "max"):
        raise Unwritable("an extreme of each element begins with what is there")
    return updates[0]


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


def _kernel(made: Places, update: Scatter, function: str, index: str, count: int, kind: str) -> str:
    """Counters begin, places are gone through in steps of the grid, counters are added up."""
    names, plain, array = made.names, made.plain, update.array
    counters, place, at, copy, total = (
        names.fresh(each) for each in ("counters", "place", "bin", "copy", "sum")
    )
    writer = Writer({}, {}, wide=made.wide)
    size = " * ".join(str(each) for each in _size_text(plain.arrays[array], plain, count))
    whole = writer.text(made.flat.count)
    own = f"{counters} + threadIdx.x % {COPIES}"
    begins, added = _BEGINS[update.op], _ADDED[update.op]
    tests = condition(made.split.needs, made.lanes, writer)
    call = f"({handed(plain)}, {own}, {place}, 0)"
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
        lines = loop(1, "", whole, "    ")
    elif not tests:
        lines = by_vectors("    ")
    else:
        lines = [
            f"    if ({' && '.join(tests)}) {{",
            *by_vectors("        "),
            "    } else {",
            *loop(1, "", whole, "        "),
            "    }",
        ]
    return "\n".join(
        [
            f"    // {COPIES} counters an element, side by side",
            f"    __shared__ {kind} {counters}[{count} * {COPIES}];",
            f"    for (int {at} = threadIdx.x; {at} < {count} * {COPIES}; {at} += {THREADS})"
            f" {counters}[{at}] = {begins};",
            "    __syncthreads();",
            *lines,
            "    __syncthreads();",
            f"    for (int {at} = threadIdx.x; {at} < {size}; {at} += {THREADS}) {{",
            f"        {kind} {total} = {counters}[{at} * {COPIES}];",
            f"        for (int {copy} = 1; {copy} < {COPIES}; ++{copy})"
            f" {total} {added} {counters}[{at} * {COPIES} + {copy}];",
            f"        if ({total} != ({kind}){begins})"
            f" {ATOMICS[update.op]}(&{array}[{at}], {total});",
            "    }",
        ]
    )


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
