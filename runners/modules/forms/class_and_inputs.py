"""Any file with a class of modules (or a function that returns one), and inputs beside it: from
the file's `get_inputs`, or given by type and shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import CodeType
from typing import Any, cast

from ...errors import SpecError
from ..common.messages import ModuleSource
from ..common.torch_library import torch
from .base import EXAMPLE, Form, Subject, input_tensor, is_module_class, numbered


def recognises(source: ModuleSource, names: Mapping[str, Any]) -> bool:
    """Every Python file: this form says what is missing."""
    return bool(names)


def make(source: ModuleSource, names: Mapping[str, Any], seed: int, _device: str) -> Subject:
    """The class by its name, or the only one that the file defines."""
    made = _maker(source, names)
    given = {name: _object(value, names) for name, value in source.init.items()}
    torch().manual_seed(seed)
    try:
        model = made(**given)
    except (TypeError, AttributeError, KeyError) as error:
        raise SpecError(
            f"{source.name or getattr(made, '__name__', 'the class')} cannot be made: {error}",
            next_step='give its arguments as init (--init): {"width": 512}' + _objects(names),
        ) from error
    if not isinstance(model, torch().nn.Module):
        raise SpecError(f"{source.name} returned {type(model).__name__}, not a module")
    torch().manual_seed(seed)
    if source.inputs:
        return Subject(model, tuple(input_tensor(text) for text in source.inputs))
    if callable(names.get("get_inputs")):
        return Subject(model, numbered(names["get_inputs"]()))
    raise SpecError(
        "nothing says what the module is called with",
        valid=f"inputs (--input), one for each positional argument ({EXAMPLE}), or a function "
        "get_inputs() in the file",
    )


def _object(value: Any, names: Mapping[str, Any]) -> Any:
    """An argument as it is, or the object of the file's class that {"NAME": {arguments}} names."""
    given: Any = value
    told: dict[str, Any] = given if isinstance(value, dict) else {}
    if len(told) != 1:
        return given
    ((name, arguments),) = told.items()
    made = names.get(name)
    if not isinstance(made, type) or not isinstance(arguments, dict):
        return given
    held = cast("dict[str, Any]", arguments)
    return made(**{key: _object(each, names) for key, each in held.items()})


def _objects(names: Mapping[str, Any]) -> str:
    """How an argument that is an object is said, where the file has classes for such."""
    own = names.get("__name__")
    made = [n for n, v in names.items() if isinstance(v, type) and v.__module__ == own]
    plain = [name for name in made if not is_module_class(names[name])]
    if not plain:
        return ""
    return f'; an object of a class of the file: {{"ARGUMENT": {{"{plain[0]}": {{}}}}}}'


def _maker(source: ModuleSource, names: Mapping[str, Any]) -> Any:
    own = {name: value for name, value in names.items() if _is_own(value, names)}
    if source.name:
        if callable(names.get(source.name)):
            return names[source.name]
        raise SpecError(f"the file defines no {source.name!r}", valid=", ".join(own) or "nothing")
    if is_module_class(names.get("Model")):
        return names["Model"]
    outermost = [n for n in own if not any(_is_part(own[n], own[other]) for other in own)]
    if len(outermost) == 1:
        return own[outermost[0]]
    raise SpecError(
        f"the file defines {len(own)} classes of modules" if own else "the file defines no module",
        valid=", ".join(own) or "a subclass of torch.nn.Module, or a function that returns one",
        next_step="name one as class_name (--class)",
    )


def _is_own(value: Any, names: Mapping[str, Any]) -> bool:
    return is_module_class(value) and value.__module__ == names.get("__name__")


def _is_part(inner: Any, outer: Any) -> bool:
    """Whether the outer class makes instances of the inner one: its methods name it."""
    if inner is outer:
        return False
    names: list[str] = list(outer.__dict__)
    codes = [getattr(getattr(outer, name), "__code__", None) for name in names]
    return any(
        inner.__name__ in each.co_names
        for code in codes
        if code is not None
        for each in _with_nested(code)
    )


def _with_nested(code: CodeType) -> Iterator[CodeType]:
    """Code, and that of the comprehensions and functions within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _with_nested(each)


FORM = Form("class and inputs", recognises, make)
