"""A Triton function cut out of the file that it stands in, with what it names there and no more.

The file may be a training script: what a spec's source does when it is imported has to be little.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ...errors import SpecError

PLAIN = "import triton\nimport triton.language as tl\n"
JIT = frozenset({"triton.jit", "jit"})


def cut_source(file: str | None, text: str, name: str, called: str) -> str:
    """A module with that function, named `called`, `@triton.jit` its only decorator.

    `file`: the whole file as it is now; None, or one that holds the function otherwise than `text`
    (as it was compiled): the function alone, behind Triton's usual imports. Raises SpecError for
    a text that is no such function.
    """
    function = _function(text, name)
    wanted = _plain(function, called)
    outer = _outer(file, text) if file else None
    if outer is None:
        return f"{PLAIN}\n\n{ast.unparse(wanted)}\n"
    parts = list(_reached(outer, function))
    imports = [ast.unparse(p) for p in parts if isinstance(p, ast.Import | ast.ImportFrom)]
    others = [
        ast.unparse(_plain(p, p.name) if isinstance(p, ast.FunctionDef) else p)
        for p in parts
        if not isinstance(p, ast.Import | ast.ImportFrom)
    ]
    needed = [] if "import triton" in imports else ["import triton"]
    return "\n\n\n".join(("\n".join(needed + imports), *others, ast.unparse(wanted))) + "\n"


def _function(text: str, name: str) -> ast.FunctionDef:
    try:
        found = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef))
    except (SyntaxError, StopIteration) as error:
        raise SpecError(f"the recorded source of `{name}` is no function of Triton") from error
    return found


def _outer(file: str, text: str) -> ast.Module | None:
    if text.strip() not in file:
        return None
    try:
        return ast.parse(file)
    except SyntaxError:
        return None


def _reached(module: ast.Module, function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """Imports, constants and functions of the module that the function names, or that those do, in
    the order of the file."""
    bound = dict[str, ast.stmt]()
    for statement in module.body:
        for name in _binds(statement):
            bound[name] = statement
    bound.pop(function.name, None)
    reached, waiting = set[str](), _names(_plain(function, function.name))
    while waiting:
        name = waiting.pop()
        statement = bound.get(name)
        if statement is None or name in reached:
            continue
        reached.add(name)
        plain = statement
        if isinstance(statement, ast.FunctionDef):
            plain = _plain(statement, statement.name)
        waiting |= _names(plain)
    wanted = {id(bound[name]) for name in reached}
    yield from (statement for statement in module.body if id(statement) in wanted)


def _binds(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.Import(names) | ast.ImportFrom(names=names):
            yield from ((each.asname or each.name.partition(".")[0]) for each in names)
        case ast.FunctionDef(name) | ast.ClassDef(name):
            yield name
        case ast.Assign(targets):
            yield from (each.id for each in targets if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case _:
            pass


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _plain(function: ast.FunctionDef, called: str) -> ast.FunctionDef:
    """Of its decorators the one that compiles it: others would tune it anew."""
    kept = [d for d in function.decorator_list if _is_jit(d)]
    made = ast.parse(ast.unparse(function)).body[0]
    assert isinstance(made, ast.FunctionDef)
    made.name, made.decorator_list = called, list[ast.expr](kept)
    return made


def _is_jit(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return ast.unparse(called) in JIT
