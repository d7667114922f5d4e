"""A straight-line kernel as the work on one row: which names and loads go with the row, and where
the loads of a row are those of its neighbours."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import gcd

from ...shared.affine import Form
from .kernels import Kernel
from .masks import Bound, bounds_of
from .nodes import walk
from .source import argument, is_call, names_in
from .tiles import pointer_of
from .values import DEEP, Values

ACCESS = {"load": ("pointer", "mask", "other"), "store": ("pointer", "value", "mask")}
"""arguments that a call may give by position"""
UNKNOWN = ("atomic_", "debug_", "device_", "inline_asm", "make_", "static_")
"""how functions of `tl` begin that do more than compute, or hide what they access"""


@dataclass(frozen=True)
class Load:
    """A `tl.load` of a straight-line kernel."""

    call: ast.Call
    statement: ast.stmt
    address: Form | None
    """of program numbers, lanes and parameters; None: something else"""
    bounds: tuple[Bound | None, ...]
    """conditions of its mask, of which all hold; None: one that is no comparison of forms"""

    @property
    def mask(self) -> ast.expr | None:
        """As it is written."""
        return argument(self.call, 1, "mask")

    @property
    def other(self) -> ast.expr | None:
        """What lanes outside its mask are; None: anything."""
        return argument(self.call, 2, "other")

    @property
    def options(self) -> frozenset[str]:
        """Keywords that say how it goes through the caches."""
        given = (k for k in self.call.keywords if k.arg not in ACCESS["load"])
        return frozenset(ast.dump(k) for k in given)


@dataclass(frozen=True)
class Rows:
    """A kernel whose programs along one axis of the grid do a row each."""

    kernel: Kernel
    values: Values
    axis: int
    count: str
    """how many rows there are, in the kernel's names"""

    @property
    def number(self) -> str:
        """The row in forms."""
        return f"tl.program_id({self.axis})"

    @cached_property
    def calls(self) -> tuple[ast.Call, ...]:
        """Where the kernel asks for the row."""
        calls = (n for n in walk(self.kernel.function) if isinstance(n, ast.Call))
        return tuple(n for n in calls if is_row(n, self.axis))

    @cached_property
    def varying(self) -> frozenset[str]:
        """Names whose values are another row's in another program."""
        return self.reached(lambda node: any(is_row(n, self.axis) for n in walk(node)))

    @cached_property
    def loaded(self) -> frozenset[str]:
        """Names whose values depend on what is loaded."""
        return self.reached(has_load)

    def reached(self, begins: Callable[[ast.AST], bool]) -> frozenset[str]:
        """Names assigned from nodes that begin so, or from such names."""
        found = set[str]()
        for statement in self.kernel.body:
            if isinstance(statement, ast.Assign) and (
                begins(statement.value) or names_in(statement.value) & found
            ):
                found.add(target_of(statement))
        return frozenset(found)

    @cached_property
    def loads(self) -> tuple[Load, ...]:
        """In the order of the kernel's statements."""
        return tuple(
            self._load(node, statement)
            for statement in self.kernel.body
            for node in walk(statement)
            if isinstance(node, ast.Call) and is_call(node, "load")
        )

    def _load(self, call: ast.Call, statement: ast.stmt) -> Load:
        pointer = argument(call, 0, "pointer")
        address = None if pointer is None else self.form(pointer, statement)
        bounds = (
            None if b is None else (self.whole(b[0]), self.whole(b[1]))
            for b in bounds_of(self.values, call)
        )
        return Load(call, statement, address, tuple(bounds))

    def base(self, load: Load) -> str:
        """The array of a load: a parameter; empty: not known."""
        return pointer_of(self.values, load.call)

    def form(self, node: ast.expr, at: ast.stmt) -> Form | None:
        """Of program numbers, lanes and parameters; None also where lanes wrap around a size."""
        expanded = self.values.expanded(node, at)
        divides = (ast.Mod, ast.FloorDiv)
        if any(isinstance(n, ast.BinOp) and isinstance(n.op, divides) for n in walk(expanded)):
            return None
        form = self.values.form(node, at)
        whole = None if form is None else self.whole(form)
        hidden = () if whole is None else (n for n in whole.names if n != self.number)
        return None if any("program_id" in n and self.number in n for n in hidden) else whole

    def whole(self, form: Form) -> Form:
        """With what scalars were assigned in their place."""
        for _ in range(DEEP):
            known = {n: self.values.definition(n, self._end) for n in form.names}
            found = {
                n: value
                for n, d in known.items()
                if d is not None and (value := self.values.form(d.value, d.statement)) is not None
            }
            if not found:
                break
            form = form.substitute(found)
        return form

    @property
    def _end(self) -> ast.stmt:
        return self.kernel.body[-1]

    def of_row(self, form: Form, row: int, rows: int) -> Form:
        """The form in the `row`-th of `rows` rows of a program."""
        place = Form.name(self.number) * Form.number(rows) + Form.number(row)
        return form.substitute({self.number: place})

    @cached_property
    def stride(self) -> int:
        """The constant factor of the row in all addresses: over 1, programs skip rows."""
        return gcd(*(f for load in self.loads if (c := self._step(load)) for _, f in c.terms))

    def _step(self, load: Load) -> Form | None:
        return None if load.address is None else load.address.coefficient(self.number)


def is_row(node: ast.AST, axis: int) -> bool:
    """Whether a node is `tl.program_id(axis)`."""
    if not isinstance(node, ast.Call) or not is_call(node, "program_id"):
        return False
    given = argument(node, 0, "axis")
    return isinstance(given, ast.Constant) and given.value == axis


def has_load(node: ast.AST) -> bool:
    """Whether a `tl.load` stands in a node."""
    return any(is_call(n, "load") for n in walk(node))


def target_of(statement: ast.Assign) -> str:
    """The one name that it assigns."""
    (target,) = statement.targets
    assert isinstance(target, ast.Name)
    return target.id


def unfit(kernel: Kernel) -> str | None:
    """Why a kernel's body is no straight line of assignments and stores behind them."""
    if not all(map(_is_plain, kernel.body)):
        return "its body is no straight line of assignments and tl.store"
    names = [target_of(s) for s in kernel.body if isinstance(s, ast.Assign)]
    if len(set(names)) < len(names) or set(names) & set(kernel.parameters):
        return "it assigns a name twice"
    nodes = list(walk(kernel.function))
    if any(is_call(n, "num_programs") or _has_effect(n) for n in nodes):
        return "it does more than load, compute and store"
    if not all(_is_readable(n) for n in nodes if isinstance(n, ast.Call)):
        return "a load or store is volatile, or has more than a pointer, values and a mask"
    return None


def _is_plain(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name()]):
            return True
        case ast.Expr(value=ast.Call() as call):
            return is_call(call, "store")
        case _:
            return False


def _has_effect(node: ast.AST) -> bool:
    """Whether a call may do more than compute; what other functions do is not known."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="tl"), attr=name)):
            return name.startswith(UNKNOWN)
        case ast.Call(func=ast.Attribute(attr="to") | ast.Name(id="float" | "max" | "min")):
            return False
        case ast.Call(func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="tl")))):
            return False
        case _:
            return isinstance(node, ast.Call)


def _is_readable(call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute | ast.Name)
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    known = ACCESS.get(name)
    if known is None:
        return True
    options = {k.arg for k in call.keywords}
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    strange = options - {*known, "cache_modifier", "eviction_policy"}
    return len(call.args) <= len(known) and not strange and not starred
