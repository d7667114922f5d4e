"""The `@triton.jit` kernel of a source, and the place where Python launches it."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from ...shared.base import NotApplicable, State
from ...shared.edits import Edit
from .launched import launched_by, named_by
from .nodes import walk
from .source import INDENT, Source, read

Function = ast.FunctionDef


@dataclass(frozen=True)
class Kernel:
    """One `@triton.jit` function."""

    source: Source
    function: ast.FunctionDef
    jit: ast.expr
    """its decorator"""

    @property
    def name(self) -> str:
        """As Python knows it."""
        return self.function.name

    @cached_property
    def body(self) -> list[ast.stmt]:
        """Its statements, without a docstring."""
        found = self.function.body
        first = found[0]
        text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        return found[1:] if text else found

    @cached_property
    def parameters(self) -> tuple[str, ...]:
        """In order."""
        arguments = self.function.args
        return tuple(a.arg for a in (*arguments.posonlyargs, *arguments.args))

    @cached_property
    def constexprs(self) -> frozenset[str]:
        """Parameters whose values are known when it is compiled."""
        arguments = self.function.args
        return frozenset(
            a.arg
            for a in (*arguments.posonlyargs, *arguments.args)
            if a.annotation is not None and ast.unparse(a.annotation).endswith("constexpr")
        )

    @cached_property
    def taken(self) -> frozenset[str]:
        """Names that mean something somewhere in the source."""
        tree = self.source.tree
        names = {n.id for n in walk(tree) if isinstance(n, ast.Name)}
        return frozenset(names | {n.arg for n in walk(tree) if isinstance(n, ast.arg)})

    def fresh(self, name: str) -> str:
        """The name, or with a number behind it where it is taken."""
        return next(
            n for n in (name, *(f"{name}_{i}" for i in range(2, 99))) if n not in self.taken
        )

    def constant(self, *declared: str) -> Edit:
        """Further parameters at the end, such as `GROUP_M: tl.constexpr = 8`."""
        return self._inserted(len(self.function.args.args), declared)

    def runtime(self, *names: str) -> Edit:
        """Further parameters without a default, before the first that has one."""
        arguments = self.function.args
        return self._inserted(len(arguments.args) - len(arguments.defaults), names)

    def _inserted(self, position: int, declared: tuple[str, ...]) -> Edit:
        arguments, text = self.function.args, ", ".join(declared)
        if position == 0:
            start, _ = self.source.span(arguments.args[0])
            return Edit(start, start, f"{text}, ")
        last = arguments.args[position - 1]
        _, end = self.source.span(last)
        with_default = position - (len(arguments.args) - len(arguments.defaults))
        if with_default > 0:
            _, end = self.source.span(arguments.defaults[with_default - 1])
        return Edit(end, end, f", {text}")

    def heuristic(self, name: str, condition: str, **options: str) -> list[Edit]:
        """A constexpr that Triton works out from the arguments (`args`) of each launch.

        `options`: of the launch, worked out after it (`num_warps`).
        """
        start, _ = self.source.span(self.jit)
        each = [f'"{n}": lambda args: {text}' for n, text in ((name, condition), *options.items())]
        indent = self.source.indent(self.function)
        inside = "".join(f"\n{indent}{INDENT * 2}{e}," for e in each)
        lines = f"\n{indent}{INDENT}{{{inside}\n{indent}{INDENT}}}\n{indent}"
        line = f"triton.heuristics({lines if options else f'{{{each[0]}}}'})\n"
        default = " = False" if self.function.args.defaults else ""
        return [
            Edit(start, start, f"{line}{indent}@"),
            self.constant(f"{name}: tl.constexpr{default}"),
        ]


def kernel_of(state: State) -> Kernel | NotApplicable:
    """The one kernel of a source: the entry, or the only one that the entry launches."""
    found = launched_kernels(state)
    if isinstance(found, NotApplicable) or len(found) == 1:
        return found if isinstance(found, NotApplicable) else found[0]
    entry = state.spec.kernel.metadata.kernel_name
    named = ", ".join(each.name for each in found)
    return NotApplicable(f"`{entry}` launches several kernels: {named}")


def launched_kernels(state: State) -> tuple[Kernel, ...] | NotApplicable:
    """The kernels that the entry may launch: itself, or those that it names."""
    found = kernels_of(state)
    if isinstance(found, NotApplicable) or len(found) == 1:
        return found
    entry = state.spec.kernel.metadata.kernel_name
    launched = launched_by(found[0].source.tree, entry, {each.name for each in found})
    if not launched:
        return NotApplicable(f"`{entry}` launches no kernel of the source by its name")
    return tuple(each for each in found if each.name in launched)


def kernels_of(state: State) -> tuple[Kernel, ...] | NotApplicable:
    """Every `@triton.jit` function, in order."""
    source = read(state.source)
    if source is None:
        return NotApplicable("the source does not parse")
    if not _has_usual_names(source.tree):
        return NotApplicable("the source has no `import triton` and `triton.language as tl`")
    found = [
        Kernel(source, node, jit)
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef)
        for jit in node.decorator_list
        if _is_jit(jit)
    ]
    if not found:
        return NotApplicable("the source has no @triton.jit function")
    return tuple(found)


def _has_usual_names(tree: ast.Module) -> bool:
    names = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return {"triton", "tl"} <= names


def _is_jit(decorator: ast.expr) -> bool:
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(function) in ("triton.jit", "jit")


@dataclass(frozen=True)
class Launch:
    """`kernel[grid](...)` in Python, and the tuple that gives its grid."""

    source: Source
    function: ast.FunctionDef
    call: ast.Call
    tuple: ast.Tuple
    meta: str | None
    """the name by which a function of the grid knows the kernel's constants"""
    shares_grid: bool = False
    """whether its grid has a name that others use too"""
    shares_kernel: bool = False
    """whether functions that the entry does not call launch the kernel as well"""

    @property
    def grid(self) -> list[ast.expr]:
        """Programs along x, y, z."""
        return self.tuple.elts

    @cached_property
    def given(self) -> Mapping[str, ast.expr]:
        """Keyword arguments."""
        return {k.arg: k.value for k in self.call.keywords if k.arg is not None}

    def bound(self, kernel: Kernel) -> dict[str, ast.expr]:
        """What the launch gives for parameters, as far as that is written one by one."""
        plain = dict[str, ast.expr]()
        for name, value in zip(kernel.parameters, self.call.args, strict=False):
            if isinstance(value, ast.Starred):
                break
            plain[name] = value
        return plain | dict(self.given)

    def regridded(self, *sizes: str) -> Edit:
        """Another grid; sizes may name `meta` where they need the kernel's constants."""
        text = f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"
        if self.meta is None and any("meta[" in size for size in sizes):
            text = f"lambda meta: {text}"
        if not self.shares_grid:
            return self.source.replace(self.tuple, text)
        assert isinstance(self.call.func, ast.Subscript)
        own = text if self.meta is None else f"lambda {self.meta}: {text}"
        return self.source.replace(self.call.func.slice, own)

    def passing(self, *keywords: str) -> Edit:
        """Further keyword arguments."""
        last = (*self.call.args, *self.call.keywords)[-1]
        _, end = self.source.span(last)
        return Edit(end, end, "".join(f", {k}" for k in keywords))


def launch_of(state: State, kernel: Kernel, *, beside: bool = False) -> Launch | NotApplicable:
    """The one launch of a kernel in its source, with a grid that is written as a tuple. `beside`:
    the kernel will stay as it is, beside another one for the entry's launch with a grid of its own,
    so that launches by functions that the entry does not call do not matter, nor what the grid
    is."""
    if state.spec.kernel.launch is not None:
        return NotApplicable(
            f"the spec launches `{kernel.name}`: this rewrite changes launches in Python alone"
        )
    calls = [
        (function, call)
        for function in kernel.source.tree.body
        if isinstance(function, ast.FunctionDef) and function is not kernel.function
        for call in walk(function)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Subscript)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == kernel.name
    ]
    everywhere = len(calls)
    if beside and everywhere > 1:
        entry = state.spec.kernel.metadata.kernel_name
        called = named_by(kernel.source.tree, entry, {kernel.name})
        calls = [each for each in calls if each[0].name in called]
    if len(calls) != 1:
        words = "no function of the source" if not calls else "more than one place"
        return NotApplicable(
            f"{words} launches `{kernel.name}`, so its grid cannot be changed here"
        )
    function, call = calls[0]
    assert isinstance(call.func, ast.Subscript)
    named = call.func.slice.id if isinstance(call.func.slice, ast.Name) else ""
    shared = bool(named) and _reads(function, named) > 1
    grid = _grid(call.func.slice, function)
    if grid is None and beside:  # what is written has a grid of its own in its place
        grid, shared = (ast.Tuple([], ast.Load()), None), True
    if grid is None or not (call.args or call.keywords):
        return NotApplicable(f"the grid of `{kernel.name}` is not written as a tuple")
    return Launch(
        kernel.source,
        function,
        call,
        *grid,
        shares_grid=shared,
        shares_kernel=everywhere > len(calls),
    )


def _grid(node: ast.expr, function: ast.FunctionDef) -> tuple[ast.Tuple, str | None] | None:
    match node:
        case ast.Tuple():
            return node, None
        case ast.Lambda(body=ast.Tuple() as sizes, args=ast.arguments(args=[meta])):
            return sizes, meta.arg
        case ast.Name(id=name):
            return _named_grid(name, function)
        case _:
            return None


def _reads(function: ast.FunctionDef, name: str) -> int:
    names = (n for n in walk(function) if isinstance(n, ast.Name) and n.id == name)
    return sum(isinstance(n.ctx, ast.Load) for n in names)


def _named_grid(name: str, function: ast.FunctionDef) -> tuple[ast.Tuple, str | None] | None:
    found = list[tuple[ast.Tuple, str | None] | None]()
    for node in walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                found.append(None if isinstance(value, ast.Name) else _grid(value, function))
            case ast.FunctionDef(name=own, args=ast.arguments(args=[meta]), body=[*_, last]):
                if own == name and isinstance(last, ast.Return):
                    sizes = last.value
                    found.append((sizes, meta.arg) if isinstance(sizes, ast.Tuple) else None)
            case _:
                pass
    return found[0] if len(found) == 1 else None
