"""Operations of TTIR one after the other: values of blocks, and statements."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isinf, prod

from ..accesses import value_type
from ..calls import applied as of_library
from ..calls import known_function
from ..expressions import (
    FLOATS,
    TRUE,
    Call,
    DType,
    Expr,
    Load,
    Name,
    Number,
    Pointer,
    Unreadable,
    call,
    negation,
)
from ..frames import as_pointer, bare
from ..rewriting import remade
from ..statements import Argument, Body, Each, Let, Scatter, Statement, Store, When, changed
from ..sums import product, total
from .blocks import THREADS, Block, at_threads, axes_of, axis_name, moved, named
from .parsing import Operation, Region
from .tables import constant, elementwise, shape_of

ENDS = ("scf.yield", "tt.return", "tt.reduce.return", "tt.scan.return")
IDLE = ("tt.assert", "tt.print", "llvm.intr.assume", "gpu.barrier", "tt.debug_barrier")
_ATOMIC = {"fadd": "add", "add": "add", "max": "max", "min": "min", "umax": "max", "umin": "min",
           "and": "and", "or": "or", "xor": "xor"}  # fmt: skip
Blocks = list[Block]


@dataclass
class Reader:
    """A kernel while it is executed on expressions."""

    arguments: tuple[Argument, ...]
    written: frozenset[str]
    """arrays that are written: what is read of them is taken when it is read"""
    handlers: Mapping[str, Callable[[Reader, Operation], Blocks]]
    """operations with regions, which execute others"""
    positive: frozenset[str] = frozenset()
    """floats among the arguments that are surely above zero"""
    values: dict[str, Block] = field(default_factory=dict[str, Block])
    descriptors: dict[str, object] = field(default_factory=dict[str, object])
    """`descriptors.Descriptor` by the names that they have"""
    out: list[Statement] = field(default_factory=list[Statement])
    stores: set[str] = field(default_factory=set[str])
    late: set[str] = field(default_factory=set[str])
    """arrays that are read after something was stored to them"""
    names: int = 0

    def fresh(self, stem: str) -> str:
        """A name that nothing has yet."""
        self.names += 1
        return f"{stem}{self.names}"

    def region(self, region: Region) -> Blocks:
        """Execute a block; what its last operation hands out."""
        for each in region.operations:
            if each.name in ENDS:
                return [self.block(name) for name in each.operands]
            if each.name not in IDLE:
                self._execute(each)
        return []

    def block(self, name: str) -> Block:
        """The value of a name. Raises Unreadable for one that is unknown."""
        found = self.values.get(name) or self.values.get(f"{name}#0")
        if found is None:
            raise Unreadable("a value that is unknown here")
        return found

    def _execute(self, each: Operation) -> None:
        """One operation. Raises Unreadable."""
        handler = self.handlers.get(each.name) or _HANDLERS.get(each.name)
        made = handler(self, each) if handler else [self._computed(each)]
        self.values |= zip(each.results, made, strict=False)

    def _computed(self, each: Operation) -> Block:
        """What an operation on elements gives."""
        type_ = each.result_type
        blocks, shape = [self.block(name) for name in each.operands], shape_of(type_)
        if each.name == "arith.constant":
            return Block(constant(each.text, type_), shape)
        if any(isinstance(block.expr, Pointer) for block in blocks):
            return Block(_of_addresses(each.name, blocks), shape)
        found = elementwise(each.name, each.text, [block.expr for block in blocks], type_)
        if found is None:
            raise Unreadable(f"the operation {each.name}")
        return Block(_scaled(found, self.positive), shape)


def _scaled(value: Expr, positive: frozenset[str]) -> Expr:
    """The choice among scaled values, of a choice that is scaled by what is surely above zero:
    infinity stays what it is."""
    if not isinstance(value, Call) or value.op != "mul":
        return value
    for chosen, factor in (value.args, value.args[::-1]):
        if not isinstance(chosen, Call) or chosen.op != "select":
            continue
        condition, *sides = chosen.args
        endless = [isinstance(each, Number) and isinf(each.value) for each in sides]
        if sum(endless) != 1 or not _above_zero(factor, positive):
            continue
        one, other = (
            side if same else Call("mul", (side, factor), value.dtype)
            for side, same in zip(sides, endless, strict=True)
        )
        return call("select", condition, one, other, dtype=value.dtype)
    return value


def _above_zero(factor: Expr, positive: frozenset[str]) -> bool:
    match factor:
        case Number(value):
            return 0 < value < inf
        case Name(name):
            return name in positive
        case Call("mul", args):
            return all(_above_zero(each, positive) for each in args)
        case _:
            return False


def _of_addresses(name: str, blocks: Sequence[Block]) -> Expr:
    """Addresses count elements here, as Triton's do."""
    first = blocks[0].expr
    if name == "tt.addptr":
        return total((first, blocks[1].expr))
    if name in ("tt.splat", "tt.broadcast", "tt.bitcast"):
        return first
    if name == "arith.select":
        one, other = blocks[1].expr, blocks[2].expr
        if isinstance(one, Pointer) and isinstance(other, Pointer) and one.array == other.array:
            chosen = call("select", first, one.offset, other.offset, dtype="int")
            return Pointer(one.array, chosen)
    raise Unreadable(f"the operation {name} on addresses")


def _range(reader: Reader, each: Operation) -> Blocks:
    start = re.search(r"start = (\d+)", each.text)
    first = Number(int(start[1]) if start else 0)
    return [Block(total((Name(axis_name(0)), first)), shape_of(each.result_type))]


def _program(reader: Reader, each: Operation) -> Blocks:
    axis = re.search(r"\b([xyz]) :", each.text)
    stem = "nctaid" if "num" in each.name else "ctaid"
    return [Block(Name(f"{stem}.{axis[1] if axis else 'x'}"))]


def axis_of(each: Operation) -> int:
    """The axis that an operation names."""
    found = re.search(r"axis = (\d+)", each.text)
    return int(found[1]) if found else 0


def _expand(reader: Reader, each: Operation) -> Blocks:
    axis, value = axis_of(each), reader.block(each.operands[0])
    axes: dict[int, Expr] = {n: Name(axis_name(n + (n >= axis))) for n in range(len(value.shape))}
    return [Block(moved(value.expr, axes), shape_of(each.result_type))]


def _transposed(reader: Reader, each: Operation) -> Blocks:
    value = reader.block(each.operands[0])
    order = re.search(r"order = array<i32: ([\d, ]+)>", each.text)
    turned = [int(n) for n in order[1].split(",")] if order else [*range(len(value.shape))][::-1]
    axes: dict[int, Expr] = {old: Name(axis_name(new)) for new, old in enumerate(turned)}
    return [Block(moved(value.expr, axes), shape_of(each.result_type))]


def _reshaped(reader: Reader, each: Operation) -> Blocks:
    """The same values in the order of memory, which one in any order may have as well."""
    value, shape = reader.block(each.operands[0]), shape_of(each.result_type)
    steps = (Number(prod(shape[n + 1 :])) for n in range(len(shape)))
    place = total(
        product(axis, step) for axis, step in zip(axes_of(len(shape)), steps, strict=True)
    )
    axes = dict[int, Expr]()
    for n, size in enumerate(value.shape):
        whole = remade("div", (place, Number(prod(value.shape[n + 1 :]))), "int")
        axes[n] = whole if n == 0 else remade("rem", (whole, Number(size)), "int")
    return [Block(moved(value.expr, axes), shape)]


def _split(reader: Reader, each: Operation) -> Blocks:
    """The two halves of an axis of two, the last one."""
    value = reader.block(each.operands[0])
    *shape, _ = value.shape
    last = len(shape)
    return [Block(moved(value.expr, {last: Number(n)}), tuple(shape)) for n in (0, 1)]


def _joined(reader: Reader, each: Operation) -> Blocks:
    """Two blocks side by side along a new last axis."""
    one, other = (reader.block(name) for name in each.operands)
    left = call("eq", Name(axis_name(len(one.shape))), Number(0), dtype="bool")
    chosen = call("select", left, one.expr, other.expr, dtype=one.expr.dtype)
    return [Block(chosen, (*one.shape, 2))]


def _load(reader: Reader, each: Operation) -> Blocks:
    """An element at every place. What a masked load without `other` gives elsewhere is nothing that
    may be looked at: zero stands for it."""
    blocks, shape = [reader.block(name) for name in each.operands], shape_of(each.result_type)
    pointer = blocks[0].expr
    if not isinstance(pointer, Pointer):
        raise Unreadable("an address that does not come from a parameter")
    if pointer.array in reader.stores:
        reader.late.add(pointer.array)
    dtype: DType = next(value_type(a.dtype) for a in reader.arguments if a.name == pointer.array)
    read: Expr = Load(pointer.array, pointer.offset, dtype)
    mask = blocks[1].expr if len(blocks) > 1 else TRUE
    other: Expr = Number(0.0 if dtype in FLOATS else 0, dtype)
    if len(blocks) > 2:
        other = blocks[2].expr
    chosen = call("select", mask, read, other, dtype=dtype)
    return read_now(reader, pointer.array, chosen, shape)


def read_now(reader: Reader, array: str, value: Expr, shape: tuple[int, ...]) -> Blocks:
    """A value of an array's elements; of one that the kernel writes it is taken here."""
    if array not in reader.written:
        return [Block(value, shape)]
    name = reader.fresh("t")
    made: Body = (Let(name, at_threads(value, len(shape))),)
    reader.out += _everywhere(made, shape)
    return [Block(named(Number(0, value.dtype), name, len(shape)), shape)]


def _store(reader: Reader, each: Operation) -> Blocks:
    blocks = [reader.block(name) for name in each.operands]
    pointer, value = blocks[0].expr, blocks[1].expr
    if not isinstance(pointer, Pointer):
        raise Unreadable("an address that does not come from a parameter")
    reader.stores.add(pointer.array)
    mask = blocks[2].expr if len(blocks) > 2 else TRUE
    put(reader, Store(pointer.array, pointer.offset, value), mask, blocks[1].shape)
    return []


def _atomic(reader: Reader, each: Operation) -> Blocks:
    words = re.split(r"[\s,]+", each.text)[1:4]
    op = next((_ATOMIC[word] for word in words if word in _ATOMIC), None)
    blocks = [reader.block(name) for name in each.operands]
    target, value = blocks[0].expr, blocks[1].expr
    if op is None or not isinstance(target, Pointer):
        raise Unreadable(f"the operation {each.name}")
    reader.stores.add(target.array)
    mask = blocks[2].expr if len(blocks) > 2 else TRUE
    put(reader, Scatter(op, target.array, target.offset, value), mask, blocks[1].shape)
    return []


def put(reader: Reader, statement: Store | Scatter, mask: Expr, shape: tuple[int, ...]) -> None:
    """A statement at every place of a block where a mask holds."""
    made: Body = (statement,) if mask == TRUE else (When(mask, (statement,), ()),)
    reader.out += _everywhere(changed(made, lambda e: at_threads(e, len(shape))), shape)


def _everywhere(body: Body, shape: tuple[int, ...]) -> Body:
    if len(shape) > len(THREADS):
        raise Unreadable("a block of more than three axes")
    for axis, size in enumerate(reversed(shape)):
        body = (Each(THREADS[axis], Number(size), (), body),)
    return body


def _extern(reader: Reader, each: Operation) -> Blocks:
    symbol = re.search(r'symbol = "([^"]+)"', each.text)
    known = known_function(symbol[1]) if symbol else None
    if known is None:
        raise Unreadable(f"a call of {symbol[1] if symbol else 'a library'}")
    args = [reader.block(name).expr for name in each.operands]
    return [Block(of_library(known, args), shape_of(each.result_type))]


def _if(reader: Reader, each: Operation) -> Blocks:
    condition = reader.block(each.operands[0]).expr
    out, ways, ends = reader.out, list[Body](), list[Blocks]()
    for region in (*each.regions, Region())[:2]:
        reader.out = list[Statement]()
        ends.append(reader.region(region))
        ways.append(tuple(reader.out))
    reader.out = out
    yes, no = ways
    if yes or no:
        out.append(When(condition, yes, no) if yes else When(negation(condition), no, ()))
    made = Blocks()
    for one, other in zip(*ends, strict=True):
        sides = bare(one.expr), bare(other.expr)
        chosen = call("select", condition, *sides, dtype=sides[0].dtype)
        made.append(Block(as_pointer(one.expr, chosen), one.shape))
    return made


_HANDLERS = {
    "tt.make_range": _range, "tt.get_program_id": _program, "tt.get_num_programs": _program,
    "tt.expand_dims": _expand, "tt.trans": _transposed, "tt.reshape": _reshaped,
    "tt.split": _split, "tt.join": _joined,
    "tt.load": _load, "tt.store": _store, "tt.atomic_rmw": _atomic,
    "tt.extern_elementwise": _extern, "scf.if": _if,
}  # fmt: skip
