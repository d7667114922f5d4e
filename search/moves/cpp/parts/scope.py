"""What names stand for inside a function: sizes of the contract, constants, parts of arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .....runners.c_source.declarators import declared_name, unbraced
from .....runners.c_source.names import lent_by, written_by
from .....runners.c_source.nodes import contains, field, inside, parents, qualifiers_of, text_of
from .....runners.c_source.types import is_wide_integer
from .....runners.specs.io_contract import Argument
from .....runners.specs.spec import KernelSpec
from ...shared.affine import Form
from ...shared.affine_cpp import form_of
from ...shared.sizes import size_form
from .program import Function, Loop, Program, loop_of

if TYPE_CHECKING:
    from tree_sitter import Node


SIZE = "#"
"""before the names of sizes in forms: a loop's variable may be called as a symbol is"""


@dataclass(frozen=True)
class Place:
    """An element of an array, or a part of it that begins there."""

    array: str
    index: tuple[Form | None, ...]
    """None: no form is known"""


class Scope:
    """Names of one function. What is assigned after its declaration stands for nothing known."""

    def __init__(self, program: Program, function: Function, spec: KernelSpec) -> None:
        self._declared = _declarations(function.body)
        self._assigned = _assigned(function.body)
        self._entry = function is program.entry
        self.spec = spec
        self._parameters = {p.name: p for p in function.parameters}
        self._constants = _constants(program.root)
        self.lowest: dict[str, int] = {}
        """the lowest value of names that forms are made of"""
        self._sizes = self._contract_sizes() if self._entry else dict[str, Form]()

    def _contract_sizes(self) -> Mapping[str, Form]:
        for name, symbol in self.spec.symbols.items():
            listed = min(w.symbols[name] for w in self.spec.workloads)
            # where a size is 0, its loops do nothing and its arrays have no elements
            self.lowest[SIZE + name] = max(1, listed if symbol is None else symbol.min)
        found = dict[str, Form]()
        for argument, parameter in zip(self.spec.io.arguments, self._parameters, strict=False):
            if argument.role == "scalar" and argument.value is not None:
                form = size_form(argument.value)
                if form is not None:
                    found[parameter] = _of_sizes(form)
        return found

    @property
    def arrays(self) -> Mapping[str, str]:
        """Pointer parameters, each with the type of its elements."""
        return {p.name: p.type for p in self._parameters.values() if p.pointers and not p.reference}

    def role(self, array: str) -> str | None:
        """What the contract says of a parameter of the entry; None of others."""
        argument = self._argument(array)
        return None if argument is None else argument.role

    def elements(self, array: str) -> Form | None:
        """How many elements the contract says that a parameter of the entry has."""
        argument = self._argument(array)
        sizes = [] if argument is None else [size_form(each) for each in argument.shape]
        total = Form.number(1) if sizes else None
        for size in sizes:
            total = None if total is None or size is None else total * size
        return None if total is None else _of_sizes(total)

    def spelled(self, form: Form) -> str | None:
        """A form of sizes as C++ in the entry, by the parameters that hand them in; None: some
        size is handed in by none."""
        handed = {
            size: Form.name(parameter)
            for parameter, form in self._sizes.items()
            if len(form.terms) == 1 and parameter not in self._assigned
            for size in form.names
            if form == Form.name(size)
        }
        return form.substitute(handed).text() if form.names <= handed.keys() else None

    def _argument(self, name: str) -> Argument | None:
        names, arguments = list(self._parameters), self.spec.io.arguments
        if not self._entry or name not in names or len(names) != len(arguments):
            return None
        return arguments[names.index(name)]

    def form(self, node: Node) -> Form | None:
        """Of an integer expression."""
        return form_of(node, lambda name: self._resolve(name, node))

    def _resolve(self, name: str, at: Node) -> Form | None:
        declared = self.declarator(name, at)
        if declared is not None:
            loop = _loop_that_declares(declared)
            if loop is not None:
                return Form.name(name)
            value = self.value(name, at)
            return None if value is None else self.form(value)
        if name in self._assigned:
            return None
        if name in self._sizes:
            return self._sizes[name]
        if name in self._parameters:
            return Form.name(SIZE + name)
        return self._constants[name][1] if name in self._constants else None

    def value(self, name: str, at: Node) -> Node | None:
        """What a variable of the function is given once and for all; None: nothing, or more."""
        declared = self.declarator(name, at)
        value = None if declared is None else declared.child_by_field_name("value")
        if declared is None or value is None or _loop_that_declares(declared) is not None:
            return None
        if contains(declared, at):  # `int n = n;`: not the outer one
            return None
        if name in self._assigned or not _holds_forms(declared):
            return None
        return unbraced(value)

    def kind(self, name: str, at: Node) -> str:
        """The type of a variable as it is written; empty where none is known."""
        declared = self.declarator(name, at)
        if declared is not None:
            return _kind(declared)
        if name in self._parameters:
            return self._parameters[name].type
        return self._constants[name][0] if name in self._constants else ""

    def declarator(self, name: str, at: Node) -> Node | None:
        """The declaration of a name that holds at a node, in the function's body; None: none does.

        It stands before the node, in something that the node stands in: the innermost such.
        """
        held = [
            each
            for each in self._declared.get(name, ())
            if each.start_byte < at.start_byte and contains(_block(each), at)
        ]
        return max(held, key=lambda each: (_block(each).start_byte, each.start_byte), default=None)

    def place(self, node: Node) -> Place | None:
        """The array and the element that an expression names: `a[i]`, `*p`, `row[j]`, `a[i][j]`."""
        if node.type == "subscript_expression":
            index = field(node, "indices").named_children
            base = self._part(field(node, "argument"))
            if base is None or len(index) != 1:
                return None
            return _moved(base, self.form(index[0]))
        if node.type == "pointer_expression" and text_of(node.children[0]) == "*":
            base = self._part(field(node, "argument"))
            return None if base is None else _moved(base, Form())
        return None

    def _part(self, node: Node) -> Place | None:
        """Where a pointer points, its last index still to be added; an empty one: to a start."""
        match node.type:
            case "parenthesized_expression":
                return self._part(node.named_children[0])
            case "identifier":
                return self._pointer(text_of(node), node)
            case "subscript_expression":
                index = field(node, "indices").named_children
                base = self._part(field(node, "argument"))
                if base is None or len(index) != 1 or base.index:
                    return None
                return Place(base.array, (self.form(index[0]), Form()))
            case "pointer_expression" if text_of(node.children[0]) == "&":
                return self.place(field(node, "argument"))
            case "binary_expression" if text_of(node.children[1]) == "+":
                base = self._part(field(node, "left"))
                return None if base is None else _moved(base, self.form(field(node, "right")))
            case _:
                return None

    def _pointer(self, name: str, at: Node) -> Place | None:
        declared = self.declarator(name, at)
        if declared is None:
            return Place(name, ()) if name in self.arrays and name not in self._assigned else None
        shape = declared.child_by_field_name("declarator") or declared
        if "array_declarator" in (declared.type, shape.type):
            return Place(name, ())
        value = declared.child_by_field_name("value")
        return None if value is None or name in self._assigned else self._part(value)


def _of_sizes(form: Form) -> Form:
    """A form of a contract's symbols with the names that they have here."""
    return form.substitute({name: Form.name(SIZE + name) for name in form.names})


def _block(declarator: Node) -> Node:
    """What a declaration holds in: the block, or the loop that it is the head of."""
    declaration = next(p for p in parents(declarator) if p.type.endswith("declaration"))
    return declaration.parent or declaration


def _holds_forms(declarator: Node) -> bool:
    """Whether a variable is what it is given: neither cut short nor made a float."""
    kind = _kind(declarator)
    return kind == "auto" or is_wide_integer(kind)


def _kind(declarator: Node) -> str:
    """The type that a declaration begins with."""
    declaration = next((p for p in parents(declarator) if p.type.endswith("declaration")), None)
    return text_of(None if declaration is None else declaration.child_by_field_name("type"))


def _loop_that_declares(declarator: Node) -> Loop | None:
    above = _block(declarator)
    loop = loop_of(above)
    started = None if loop is None else above.child_by_field_name("initializer")
    return loop if started is not None and contains(started, declarator) else None


def _moved(base: Place, by: Form | None) -> Place:
    *outer, last = base.index or (Form(),)
    return Place(base.array, (*outer, None if last is None or by is None else last + by))


@lru_cache(maxsize=16)  # the same of every scope of the function
def _declarations(body: Node) -> Mapping[str, list[Node]]:
    """Declarators by the name that they introduce; with a value they are init_declarators."""
    found: dict[str, list[Node]] = {}
    for node in inside(body):
        if node.type not in ("declaration", "parameter_declaration"):
            continue
        for each in node.children_by_field_name("declarator"):
            found.setdefault(declared_name(each), []).append(each)
    return found


@lru_cache(maxsize=16)  # the same of every scope of the function
def _assigned(body: Node) -> frozenset[str]:
    """Names that are written after their declaration, or lent, but for those that a loop counts."""
    written = {text_of(n) for each in inside(body) if (n := written_by(each)) is not None}
    lent = {text_of(n) for each in inside(body) if (n := lent_by(each)) is not None}
    return frozenset((written - _counted(body)) | lent)


def _counted(body: Node) -> set[str]:
    """Variables that only their loop's head changes: for them the loops speak."""
    loops = [loop for node in inside(body) if (loop := loop_of(node)) is not None]
    heads = [field(loop.node, "update") for loop in loops]
    written = Counter[str]()
    for node in inside(body):
        if node.type in ("assignment_expression", "update_expression"):
            written[text_of(node.named_children[0])] += 1
    in_heads = Counter(text_of(head.named_children[0]) for head in heads)
    return {loop.variable for loop in loops if written[loop.variable] == in_heads[loop.variable]}


@lru_cache(maxsize=16)  # the same of every scope of the file
def _constants(root: Node) -> Mapping[str, tuple[str, Form]]:
    """Integer constants of the file, `constexpr int N = 8;`, `const int N = 8;`: type and value."""
    found = dict[str, tuple[str, Form]]()

    def known(name: str) -> Form | None:
        return found[name][1] if name in found else None

    for node in inside(root):
        if node.type != "declaration" or any(
            p.type == "function_definition" for p in parents(node)
        ):
            continue
        qualifiers = qualifiers_of(node)
        for each in node.children_by_field_name("declarator"):
            value = each.child_by_field_name("value")
            if qualifiers & {"const", "constexpr"} and value is not None:
                form = form_of(unbraced(value), known)
                if form is not None:
                    found[declared_name(each)] = _kind(each), form
    return found
