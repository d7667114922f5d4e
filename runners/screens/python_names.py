"""What a Python source names that is not its own, as full dotted names.

`import torch.cuda as c; c.Event` is `torch.cuda.Event`, wherever the name came from. Scopes are
Python's: a parameter called `open` is the source's own inside its function and nowhere else.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from .python_scopes import FUNCTIONS, Scope, bound

MAIN = "__main__"

How = Literal["imported", "used", "assigned", "member", "caught", "subclass", "dot", "asm"]
DOT = re.compile(r"triton\.language(\.core)?\.dot")
GETTER = re.compile(r"operator\.(attrgetter|methodcaller)")
ASM = re.compile(r"triton\.language(\.core)?\.inline_asm_elementwise")


@dataclass(frozen=True, slots=True)
class Use:
    """A foreign name: how it occurs, in which line (from 1), and in which top-level function.

    `imported`, `used` and `assigned` names are dotted from the package on; a `member` is an
    attribute of something unknown; `caught` is a handler that goes on after a failure.
    `dot` is a matrix product, its precision in `text`; `asm` inline assembly, its code in `text`.
    `within` is empty for what runs at import, MAIN for what runs as a program alone.
    """

    name: str
    how: How
    line: int
    within: str = ""
    text: str = ""


@dataclass(slots=True)
class Names:
    """All uses in a source, and which top-level functions each of them mentions."""

    uses: list[Use] = field(default_factory=list[Use])
    mentions: dict[str, set[str]] = field(default_factory=dict[str, set[str]])

    def reached_from(self, entry: str) -> set[str]:
        """Top-level functions that importing the file or calling `entry` may run: by mention."""
        reached, waiting = {""}, ["", entry]
        while waiting:
            for name in self.mentions.get(waiting.pop(), set()) - reached:
                reached.add(name)
                waiting.append(name)
        return reached | {entry}


def foreign_python_names(tree: ast.Module) -> Names:
    """The uses in a module, in the order of the source."""
    reader = _Reader()
    reader.scopes.append(Scope(bound(tree.body)))
    reader.tops = {n.name for n in tree.body if isinstance(n, FUNCTIONS)}
    for statement in tree.body:
        reader.top_level(statement)
    reader.found.uses.sort(key=lambda use: use.line)
    return reader.found


class _Reader:
    """Walks a module with the scopes around each node at hand."""

    def __init__(self) -> None:
        self.found = Names()
        self.scopes: list[Scope] = []
        self.tops: set[str] = set()
        self._within = ""

    def top_level(self, node: ast.stmt) -> None:
        """One statement of the module: a function's body apart, the rest runs at import."""
        if isinstance(node, FUNCTIONS):
            self._function(node, node.args, node.body, node.name)
        elif isinstance(node, ast.If) and _is_main_guard(node.test):
            self._within = MAIN
            self._each(node.body)
            self._within = ""
            self._each(node.orelse)
        else:
            self._visit(node)

    def _each(self, nodes: Sequence[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node)

    def _use(self, name: str, how: How, node: ast.AST, text: str = "") -> None:
        self.found.uses.append(Use(name, how, getattr(node, "lineno", 0), self._within, text))

    def _visit(self, node: ast.AST) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                self._import(node)
            case ast.Attribute() | ast.Name():
                self._name(node)
            case ast.Call():
                self._call(node)
                self._each(list(ast.iter_child_nodes(node)))
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function(node, node.args, node.body, self._within)
            case ast.ClassDef():
                self._class(node)
            case ast.Lambda():
                self._function(node, node.args, [node.body], self._within)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                self._scope(Scope(bound([node])), list(ast.iter_child_nodes(node)))
            case ast.ExceptHandler():
                if not (_awaits_missing_module(node) or _raises_again(node)):
                    self._use("except", "caught", node)
                self._each(list(ast.iter_child_nodes(node)))
            case _:
                self._each(list(ast.iter_child_nodes(node)))

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            if isinstance(node, ast.Import):
                self._use(alias.name, "imported", node)
            elif node.level == 0:
                self._use(f"{node.module}.{alias.name}", "imported", node)

    def _class(self, node: ast.ClassDef) -> None:
        for base in node.bases:
            for name in self._resolve(base):
                self._use(name, "subclass", node)
        self._each([*node.decorator_list, *node.bases, *node.keywords])
        self._scope(Scope(bound(node.body), is_class=True), node.body)

    def _function(
        self, node: ast.AST, args: ast.arguments, body: Sequence[ast.AST], within: str
    ) -> None:
        """What is worked out when the function is made, then its body, as a part of `within`."""
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        own = [a for a in every if a is not None]
        self._each([*args.defaults, *args.kw_defaults, *(a.annotation for a in own)])
        if isinstance(node, FUNCTIONS):
            self._each([*node.decorator_list, node.returns])
        names: dict[str, set[str]] = {a.arg: set() for a in own}
        outer, before = self.scopes, self._within
        self.scopes, self._within = [s for s in outer if not s.is_class], within
        self._scope(Scope(bound(body) | names), body)
        self.scopes, self._within = outer, before

    def _scope(self, scope: Scope, nodes: Sequence[ast.AST]) -> None:
        self.scopes.append(scope)
        self._each(nodes)
        self.scopes.pop()

    def _name(self, node: ast.Attribute | ast.Name) -> None:
        if isinstance(node, ast.Name) and node.id in self.tops:
            self.found.mentions.setdefault(self._within, set()).add(node.id)
        written = not isinstance(node.ctx, ast.Load)
        names = self._resolve(node)
        for name in names:
            # a plain name that is written is bound here, an attribute is somebody else's
            if isinstance(node, ast.Attribute) or not written:
                self._use(name, "assigned" if written else "used", node)
        if isinstance(node, ast.Attribute):
            self._use(node.attr, "member", node)
            self._attribute_base(node.value, resolved=bool(names))

    def _attribute_base(self, base: ast.expr, *, resolved: bool) -> None:
        while resolved and isinstance(base, ast.Attribute):
            self._use(base.attr, "member", base)
            base = base.value
        if not resolved:
            self._visit(base)

    def _call(self, node: ast.Call) -> None:
        """`setattr(torch, "x", y)`, `getattr(os, "system")`, `vars(torch)`: attributes as well.

        Matrix products and assembly are uses of their own, with what is told of them.
        """
        for name in self._resolve(node.func):
            if DOT.fullmatch(name):
                self._use(name, "dot", node, _precision(node))
            elif ASM.fullmatch(name):
                self._use(name, "asm", node, _constant(_argument(node, 0, "asm")) or "")
        if isinstance(node.func, ast.Call):
            self._looked_up(node.func, node)
        if not (isinstance(node.func, ast.Name) and node.args):
            return
        kind = node.func.id
        if kind not in ("setattr", "delattr", "getattr", "vars"):
            return
        key = node.args[1] if len(node.args) > 1 else None
        told = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else "*"
        for name in self._resolve(node.args[0]):
            if kind == "vars":
                self._use(f"{name}.__dict__", "used", node)
            else:
                self._use(f"{name}.{told}", "used" if kind == "getattr" else "assigned", node)

    def _looked_up(self, made: ast.Call, node: ast.Call) -> None:
        """`attrgetter("system")(os)`, `methodcaller("system", "ls")(os)`: `os.system` as well."""
        if not (made.args and node.args and any(map(GETTER.fullmatch, self._resolve(made.func)))):
            return
        for name in self._resolve(node.args[0]):
            for key in made.args:
                self._use(f"{name}.{_constant(key) or '*'}", "used", node)

    def _resolve(self, node: ast.expr) -> tuple[str, ...]:
        """The foreign things that an expression may name; none for the source's own."""
        parts = list[str]()
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ()
        tail = "".join(f".{part}" for part in reversed(parts))
        return tuple(f"{root}{tail}".removeprefix("builtins.") for root in self._roots(node.id))

    def _roots(self, name: str) -> tuple[str, ...]:
        for scope in reversed(self.scopes):
            if name in scope.names:
                return tuple(sorted(scope.names[name]))
        stars = [s for scope in self.scopes for s in scope.names.get("*", ())]
        return (name, *(f"{star}.{name}" for star in sorted(stars)))


def _argument(node: ast.Call, place: int, name: str) -> ast.expr | None:
    named = next((k.value for k in node.keywords if k.arg == name), None)
    return node.args[place] if named is None and len(node.args) > place else named


def _constant(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _precision(node: ast.Call) -> str:
    """Of a `tl.dot`: what `input_precision` says, `default`, or `*` for what is not in the source.

    `allow_tf32` is the older way to say it.
    """
    told, older = _argument(node, 3, "input_precision"), _argument(node, 4, "allow_tf32")
    if isinstance(told, ast.Constant) and told.value is None:
        told = None
    if told is not None:
        return _constant(told) or "*"
    if older is None or (isinstance(older, ast.Constant) and older.value is None):
        return "default"
    if isinstance(older, ast.Constant):
        return "tf32" if older.value else "ieee"
    return "*"


def _is_main_guard(test: ast.expr) -> bool:
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1):
        return False
    sides = [test.left, test.comparators[0]]
    named = any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
    main = any(isinstance(side, ast.Constant) and side.value == MAIN for side in sides)
    return named and main and isinstance(test.ops[0], ast.Eq)


def _awaits_missing_module(handler: ast.ExceptHandler) -> bool:
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {c.id for c in caught if isinstance(c, ast.Name)}
    return bool(names) and names <= {"ImportError", "ModuleNotFoundError"}


def _raises_again(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise)
