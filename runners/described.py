"""Models whose fields are described by the docstrings beneath them.

pydantic can do that itself (`use_attribute_docstrings`) and then reads the source of every class as
it is made: a seventh of what a process that times kernels took to start, and none of those asks for
a schema. Here sources are read when the first schema is asked for.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from types import MappingProxyType

from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core.core_schema import CoreSchema

NOTHING: Mapping[str, str] = MappingProxyType({})


class Described(BaseModel):
    """A frozen value; unknown fields are refused, docstrings become schema descriptions."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        made = handler(core_schema)
        properties = handler.resolve_ref_schema(made).get("properties", {})
        for name, text in descriptions(cls).items():
            told = properties.get(cls.model_fields[name].alias or name)
            if told is not None:
                told["description"] = text
        return made


def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Of each field what its docstring says, where the class that declares it is `Described` and
    the field has no description of its own."""
    found = dict[str, str]()
    for name, field in model.model_fields.items():
        owner = next((c for c in model.__mro__ if name in inspect.get_annotations(c)), model)
        if field.description is None and issubclass(owner, Described):
            text = _docstrings(owner.__module__).get(owner.__qualname__, NOTHING).get(name)
            if text is not None:
                found[name] = text
    return found


@cache
def _docstrings(module: str) -> Mapping[str, Mapping[str, str]]:
    """By qualified name of each class of a module: its fields' docstrings; empty without source."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (KeyError, OSError, TypeError):
        return {}
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {each.name: dict(_beneath_fields(each.body)) for each in classes}


def _beneath_fields(body: list[ast.stmt]) -> list[tuple[str, str]]:
    found = list[tuple[str, str]]()
    for field, text in pairwise(body):
        match field, text:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str() as said)),
            ):
                found.append((name, inspect.cleandoc(said)))
            case _:
                pass
    return found
