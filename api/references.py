"""A reference as a Python program gives it: a file, source, or a function of its own.

The reference runs in a process of its own that imports nothing of the caller's, so a function goes
there as text, with the modules that it names.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from ..runners.errors import SpecError

Reference = str | Path | Callable[..., Any]


def reference_data(given: Reference | None) -> str | dict[str, str]:
    """As a spec has it: `baseline` for None. Raises SpecError for a function that cannot stand
    alone."""
    if given is None:
        return "baseline"
    if isinstance(given, str) and "\n" in given:
        return {"source_code": given}
    if isinstance(given, str | Path):
        return {"source_path": str(given)}
    return {"source_code": function_source(given)}


def function_source(function: Callable[..., Any]) -> str:
    """The text of a module whose `reference` is that function."""
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        raise _alone(f"{function!r} is no plain function", "def reference(x, n): ...")
    try:
        body = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError) as error:
        raise _alone(f"the source of `{function.__name__}` is not to be had: {error}") from error
    if not body.startswith("def "):
        raise _alone(f"`{function.__name__}` is decorated or no `def`", "def reference(x, n): ...")
    if function.__closure__:
        names = ", ".join(function.__code__.co_freevars)
        raise _alone(f"`{function.__name__}` uses {names} of the function around it")
    lines = ["from __future__ import annotations", *_imports(function), "", body]
    if function.__name__ != "reference":
        lines.append(f"reference = {function.__name__}")
    return "\n".join(lines) + "\n"


def _imports(function: FunctionType) -> list[str]:
    """The modules that it names; anything else of its surroundings is refused."""
    found = list[str]()
    for name in sorted(_names(function)):
        if name == function.__name__ or name not in function.__globals__:
            continue
        value = function.__globals__[name]
        if not isinstance(value, ModuleType):
            raise _alone(f"`{function.__name__}` uses `{name}`, which is defined outside of it")
        found.append(f"import {value.__name__} as {name}")
    return found


def _names(function: FunctionType) -> set[str]:
    """Names that its code, and the code within it, looks up."""
    codes, names = [function.__code__], set[str]()
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [each for each in code.co_consts if isinstance(each, type(code))]
    return names


def _alone(
    problem: str, valid: str = "a function that uses its arguments and modules"
) -> SpecError:
    return SpecError(
        f"reference: {problem}; it runs in a process of its own, from its text",
        valid=valid,
        next_step="define within it what it needs, or give the path of a file that defines "
        "`reference`",
    )
