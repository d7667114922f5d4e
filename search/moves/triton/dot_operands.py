"""`tl.dot` as tensor cores like it: added in place, operands as they were loaded, fp32 in parts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....runners.model import Candidate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit
from .parts.arguments import Arguments
from .parts.matmuls import Matmul, Operand, matmul_of
from .parts.nodes import walk
from .parts.source import argument, is_call
from .parts.values import Definition

NARROW = ("float16", "bfloat16")
FP32 = ("tl.float32", "float32")


def _write(state: State) -> Proposals:
    found = matmul_of(state)
    if isinstance(found, NotApplicable):
        return found
    proposals = (*_in_place(found), *_narrow(state, found), *_precision(state, found))
    if not proposals:
        return NotApplicable(
            "tl.dot adds in place, takes its operands as they were loaded, and has the precision "
            "that the contract's math allows"
        )
    return proposals


def _candidate(found: Matmul, detail: str, edits: list[Edit], prior: float) -> Candidate:
    source = found.kernel.source.edited(edits)
    return Candidate(method=MOVE.method, detail=detail, source=source, prior=prior)


def _in_place(found: Matmul) -> Iterator[Candidate]:
    """`acc += tl.dot(a, b)` as `acc = tl.dot(a, b, acc)`: no second accumulator, no additions."""
    if argument(found.dot, 2, "acc") is not None or len(found.dot.args) != 2:
        return
    source, name = found.kernel.source, found.accumulator
    operands = ", ".join([*(source.text(a) for a in found.dot.args), name])
    options = "".join(f", {source.text(k)}" for k in found.dot.keywords)
    line = f"{name} = tl.dot({operands}{options})"
    yield _candidate(found, "tl.dot adds to its accumulator", [source.replace(found.update, line)],
                     0.15)  # fmt: skip


def _narrow(state: State, found: Matmul) -> Iterator[Candidate]:
    """fp16 and bf16 are multiplied exactly in fp32 by tensor cores: to widen them first is slow."""
    arguments = Arguments(state, found.kernel)
    edits = list[Edit]()
    dtypes = set[str]()
    for operand in (found.a, found.b):
        tile = operand.tile
        known = None if tile is None else arguments.in_contract(tile.base)
        dtypes |= {"" if known is None else known.dtype}
        if len(dtypes) > 1 or not dtypes <= {*NARROW}:
            return
        widened = _widened(found, operand)
        if widened is None:
            return
        edits += [edit for call in widened for edit in _kept(found, call)]
    if edits:
        yield _candidate(found, "operands of tl.dot stay narrow", edits, 0.5)


def _widened(found: Matmul, operand: Operand) -> list[ast.Call] | None:
    """Every `.to(tl.float32)` between the load and tl.dot; None where one has other readers."""
    converted, node, at = list[ast.Call](), operand.given, found.update
    while True:
        if isinstance(node, ast.Name):
            definition = found.values.definition(node.id, at)
            if definition is None:
                return None
            if _is_widening(definition.value) and _reads(found, node.id, definition) != 1:
                return None
            node, at = definition.value, definition.statement
        elif _is_widening(node):
            assert isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
            converted.append(node)
            node = node.func.value
        else:
            return converted if is_call(node, "load") else None


def _reads(found: Matmul, name: str, of: Definition) -> int:
    """How often the value of one assignment is read."""
    names = (n for n in walk(found.kernel.function) if isinstance(n, ast.Name))
    reads = (n for n in names if n.id == name and isinstance(n.ctx, ast.Load))
    defined = (found.values.definition(name, found.values.statement(n)) for n in reads)
    return sum(d is not None and d.statement is of.statement for d in defined)


def _kept(found: Matmul, call: ast.Call) -> list[Edit]:
    """Without the conversion; a statement that would only say `a = a` goes as well."""
    assert isinstance(call.func, ast.Attribute)
    source, inner = found.kernel.source, call.func.value
    match found.values.statement(call):
        case ast.Assign(targets=[ast.Name(id=name)], value=value) as statement if value is call:
            if isinstance(inner, ast.Name) and inner.id == name:
                return source.delete(statement)
        case _:
            pass
    return [source.replace(call, source.text(inner))]


def _is_widening(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="to"), args=[kind]):
            return ast.unparse(kind) in FP32
        case _:
            return False


def _precision(state: State, found: Matmul) -> Iterator[Candidate]:
    """fp32 operands: TF32 where the contract says so, else three products of their TF32 parts."""
    arguments = Arguments(state, found.kernel)
    tiles = [o.tile for o in (found.a, found.b)]
    known = [None if t is None else arguments.in_contract(t.base) for t in tiles]
    if any(k is None or k.dtype != "float32" for k in known):
        return
    given = next(
        (k for k in found.dot.keywords if k.arg in ("input_precision", "allow_tf32")), None
    )
    source = found.kernel.source
    wanted = [("tf32x3", 0.3, "three TF32 products of high and low parts in place of one in fp32")]
    if state.spec.io.math != "ieee":
        wanted.insert(0, ("tf32", 0.5, "TF32 products, as the contract's math allows"))
    for name, prior, detail in wanted:
        if found.precision in (name, "tf32"):
            continue
        text = f'input_precision="{name}"'
        _, end = source.span((*found.dot.args, *(k.value for k in found.dot.keywords))[-1])
        edit = Edit(end, end, f", {text}") if given is None else source.replace(given, text)
        yield _candidate(found, detail, [edit], prior)


MOVE = Move(
    id="dot_operands",
    method="switch_to_mma_or_wgmma",
    languages=("triton",),
    why="Writes tl.dot so that tensor cores do all of it: the accumulator as its third argument, "
    "fp16 and bf16 operands without a detour through fp32, fp32 operands in TF32 (or as three "
    "TF32 products, whose error is near fp32's; the gates judge it) as the contract's math allows.",
    write=_write,
)
