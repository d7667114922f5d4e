"""A plain Python function that launches Triton kernels: what it takes, what it returns.

Read by `ast` and never executed. Shapes are known where the wrapper unpacks them
(`rows, cols = x.shape`, `n = x.numel()`), dtypes where it names them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from ..dtypes import DTYPES, DtypeName
from .signature import ArrayArgument, ScalarArgument, SourceKernel, is_size, role_of, symbol_for
from .triton_pointers import POINTER_LIKE, PointerUse, pointer_uses
from .triton_signature import (
    BLOCK_LIKE,
    JitFunction,
    annotated_dtype,
    annotation,
    bound_arguments,
    choices,
    dotted,
    last,
    scalar_dtype,
)

_ALLOCATIONS = frozenset(
    "empty zeros ones full empty_like zeros_like ones_like full_like "
    "new_empty new_zeros new_ones new_full empty_strided rand randn".split()
)


@dataclass(slots=True)
class _Tensor:
    """What the wrapper's text says about one tensor."""

    use: PointerUse = field(default_factory=PointerUse)
    shape: tuple[str | int, ...] | None = None
    dtype: DtypeName | None = None
    like: str | None = None
    """the tensor whose shape and dtype it has unless it says otherwise"""


def wrappers(tree: ast.Module, jits: Mapping[str, JitFunction]) -> dict[str, ast.FunctionDef]:
    """Top-level functions that launch a jit function themselves, in order."""
    plain = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name not in jits]
    return {n.name: n for n in plain if any(launches(n, jits))}


def launches(
    node: ast.AST, jits: Mapping[str, JitFunction]
) -> Iterator[tuple[ast.Call, JitFunction]]:
    """Every `kernel[grid](...)` beneath."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Subscript):
            name = dotted(call.func.value)
            if name in jits:
                yield call, jits[name]


def wrapper_kernel(node: ast.FunctionDef, jits: Mapping[str, JitFunction]) -> SourceKernel:
    """The wrapper as an entry: its parameters, then the tensors that it makes and returns."""
    return _Wrapper(node, jits).read()


class _Wrapper:
    """Follows tensors through one wrapper, without regard to control flow."""

    def __init__(self, node: ast.FunctionDef, jits: Mapping[str, JitFunction]) -> None:
        self.node, self.jits = node, jits
        self.parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        listed, defaults = [*node.args.posonlyargs, *node.args.args], node.args.defaults
        pairs = [*zip(listed[len(listed) - len(defaults) :], defaults, strict=True)]
        pairs += [
            (a, d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d is not None
        ]
        self.defaults = {a.arg: d for a, d in pairs}
        self.origins = {a.arg: a.arg for a in self.parameters}
        self.tensors: dict[str, _Tensor] = {}
        self.constexprs = set[str]()
        self.returned: list[str] = []
        self.unknown_result = False

    def read(self) -> SourceKernel:
        for node in _in_order(self.node):
            self._statement(node)
        for call, function in launches(self.node, self.jits):
            self._launch(call, function)
        for node in _in_order(self.node):
            if isinstance(node, ast.Return) and node.value is not None:
                self._result(node.value)
        return self._made()

    def _statement(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self._unpack(node.targets[0], node.value)

    def _unpack(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Name(id=name), _:
                self._assign(name, value)
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                for inner, given in zip(targets, values, strict=True):
                    self._unpack(inner, given)
            case ast.Tuple(elts=names), ast.Attribute(attr="shape", value=tensor):
                sizes = tuple(n.id for n in names if isinstance(n, ast.Name))
                if len(sizes) == len(names) and "_" not in sizes:
                    self._shape(tensor, sizes)
            case _:
                pass

    def _assign(self, name: str, value: ast.expr) -> None:
        if isinstance(value, ast.Call) and last(value.func) in _ALLOCATIONS:
            self.origins[name] = name
            self.tensors[name] = self._allocated(value)
        elif isinstance(value, ast.Call) and last(value.func) == "numel":
            if isinstance(value.func, ast.Attribute):
                self._shape(value.func.value, (name,))
        elif (origin := self.origin(value)) is not None:
            self.origins[name] = origin

    def _shape(self, tensor: ast.expr, sizes: tuple[str, ...]) -> None:
        origin = self.origin(tensor)
        if origin is not None:
            found = self.tensors.setdefault(origin, _Tensor())
            found.shape = found.shape or tuple(map(symbol_for, sizes))

    def _allocated(self, call: ast.Call) -> _Tensor:
        made, name = _Tensor(), last(call.func)
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        if name.endswith("_like") and call.args:
            made.like = self.origin(call.args[0])
        else:
            made.shape = _sizes(call, first_only=name in ("full", "new_full", "empty_strided"))
            if name.startswith("new_") and owner is not None:
                made.like = self.origin(owner)
        for keyword in call.keywords:
            if keyword.arg == "dtype":
                made.dtype = annotated_dtype(last(keyword.value))
                if last(keyword.value) == "dtype" and isinstance(keyword.value, ast.Attribute):
                    made.like = made.like or self.origin(keyword.value.value)
        return made

    def origin(self, node: ast.expr | None) -> str | None:
        """The tensor that a view, a slice or a method chain starts from."""
        match node:
            case ast.Name(id=name):
                return self.origins.get(name)
            case ast.Attribute(value=value) | ast.Subscript(value=value):
                return self.origin(value)
            case ast.Call(func=ast.Attribute(value=value)):
                return self.origin(value)
            case _:
                return None

    def _launch(self, call: ast.Call, function: JitFunction) -> None:
        uses = pointer_uses(function, self.jits)
        constexprs = {p.name for p in function.parameters if p.constexpr}
        for name, value in bound_arguments(call, function).items():
            origin = self.origin(value)
            if origin is None:
                continue
            if name in uses or (POINTER_LIKE.fullmatch(name) and name not in constexprs):
                self.tensors.setdefault(origin, _Tensor()).use.add(uses.get(name, PointerUse()))
            elif name in constexprs and isinstance(value, ast.Name):
                self.constexprs.add(origin)
        for keyword in call.keywords:
            if keyword.arg in ("num_warps", "num_stages") and isinstance(keyword.value, ast.Name):
                self.constexprs.add(keyword.value.id)

    def _result(self, value: ast.expr) -> None:
        for part in value.elts if isinstance(value, ast.Tuple | ast.List) else [value]:
            origin = self.origin(part)
            if origin is None:
                self.unknown_result = True
            elif origin not in self.returned:
                self.returned.append(origin)

    def _made(self) -> SourceKernel:
        arguments: list[ArrayArgument | ScalarArgument] = []
        names = [a.arg for a in self.parameters]
        symbols, parameters = dict[str, int | None](), dict[str, tuple[tuple[int, ...], int]]()
        tunable = [n for n in names if BLOCK_LIKE.fullmatch(n) and n in self.constexprs]
        for argument in self.parameters:
            name = argument.arg
            if name in self.tensors or POINTER_LIKE.fullmatch(name):
                arguments.append(self._array(name, self.tensors.get(name, _Tensor())))
            elif name in tunable:
                default = _constant(self.defaults.get(name))
                parameters[name] = choices(name, default, len(tunable) > 1)
            elif (scalar := self._scalar(argument)) is not None:
                arguments.append(scalar)
                if scalar.value == symbol_for(name):
                    symbols[symbol_for(name)] = None
        results = [n for n in self.returned if n not in names and n in self.tensors]
        arguments += [replace(self._array(n, self.tensors[n]), role="output") for n in results]
        if self.unknown_result and not any(_is_result(a) for a in arguments):
            arguments.append(ArrayArgument(_free("result", names), "output", None, None))
        for at, argument in enumerate(arguments):
            if isinstance(argument, ArrayArgument):
                sizes = [s for s in argument.shape or () if isinstance(s, str)]
                if set(sizes) & set(parameters):
                    arguments[at] = replace(argument, shape=None)
                else:
                    symbols |= dict.fromkeys(sizes)
        return SourceKernel(self.node.name, tuple(arguments), symbols, parameters)

    def _array(self, name: str, tensor: _Tensor) -> ArrayArgument:
        shape, dtype, like = tensor.shape, tensor.dtype, tensor.like
        seen = {name}
        while like is not None and like not in seen:
            seen.add(like)
            twin = self.tensors.get(like, _Tensor())
            shape, dtype, like = shape or twin.shape, dtype or twin.dtype, twin.like
        return array_argument(name, tensor.use, shape, dtype)

    def _scalar(self, argument: ast.arg) -> ScalarArgument | None:
        """None: its default is not a number, and the kernel is called without it."""
        name = argument.arg
        default = _constant(self.defaults.get(name))
        if name in self.defaults and not isinstance(default, int | float):
            return None
        dtype = scalar_dtype(name, annotated_dtype(annotation(argument)), default)
        if isinstance(default, int | float):
            return ScalarArgument(name, dtype, default)
        sized = "int" in dtype and is_size(name)
        return ScalarArgument(name, dtype, symbol_for(name) if sized else None)


def array_argument(
    name: str,
    use: PointerUse,
    shape: tuple[str | int, ...] | None = None,
    dtype: DtypeName | None = None,
) -> ArrayArgument:
    """A pointer parameter or tensor with that use; memory that is only added to starts at 0."""
    why = {"role": f"it is handed to {use.unclear[0]}"} if use.unclear else dict[str, str]()
    role = role_of(read=use.read, written=use.written, updated=use.atomic)
    return ArrayArgument(
        name,
        None if use.unclear else role,
        dtype if dtype in DTYPES else None,
        shape,
        init="zeros" if use.atomic and not use.unclear else None,
        why=why,
    )


def _is_result(argument: ArrayArgument | ScalarArgument) -> bool:
    return isinstance(argument, ArrayArgument) and argument.role in ("output", "inout")


def _free(name: str, taken: list[str]) -> str:
    while name in taken:
        name += "_"
    return name


def _constant(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def _sizes(call: ast.Call, *, first_only: bool) -> tuple[str | int, ...] | None:
    """The sizes that an allocation is given, where each is a name or a number."""
    given = list(call.args[:1] if first_only else call.args)
    if len(given) == 1 and isinstance(given[0], ast.Tuple | ast.List):
        given = given[0].elts
    sizes = list[str | int]()
    for size in given:
        if isinstance(size, ast.Name):
            sizes.append(symbol_for(size.id))
        elif isinstance(size, ast.Constant) and isinstance(size.value, int):
            sizes.append(size.value)
        else:
            return None
    return tuple(sizes) or None


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Every node, in the order of the source."""
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _in_order(child)
