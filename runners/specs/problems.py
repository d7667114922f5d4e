"""Problems of a pydantic model in words: the field, what is wrong with it, what is valid.

The published schema is the source of what is valid, so that a message and the schema cannot
say two things.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from ..dtypes import OTHER_NAMES
from .part import FILL_PATTERN, HEX_PATTERN, NAME_PATTERN

Node = Mapping[str, Any]
_KINDS = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "object": "an object",
    "array": "a list",
    "boolean": "true or false",
    "null": "null",
}
MOST_WORDS = 8
"""of a text that should be a list, those that the list is shown with"""
_TOLERANCE = (
    'an output says what is accepted as "tolerance": {"factor": 2, "floor": 0.001}: factor times '
    "the error that the reference itself has in the kernel's types, and floor relative to the "
    "row's RMS"
)
_EARLIER: Mapping[str, str] = dict.fromkeys(
    ["tolerance", "tolerances", "rtol", "atol", "tol", "epsilon"], _TOLERANCE
)
"""fields of earlier tools, and of other places: today's way"""
_SAID = {
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "string_type": "must be a text",
    "missing": "required, and missing",
}
_PATTERNS = {
    NAME_PATTERN: "a name is letters, digits and _, does not begin with a digit, and has up to 64 "
    "of them",
    FILL_PATTERN: "must be 1 to 8 bytes in hexadecimal, such as 00 or 0000803f",
    HEX_PATTERN: "must be bytes in hexadecimal, such as 0000803f",
}


def explain_problems(error: ValidationError, model: type[BaseModel]) -> list[str]:
    """Every problem once, in words: the field, what is wrong, what is valid.

    The alternatives of a union are problems of their own with one and the same sentence;
    what only follows from a fault in a part of the value is left out.
    """
    found = dict.fromkeys(_explain(problem, model) for problem in error.errors())
    paths = [path for path, _, _ in found]
    return [
        _line(path, text)
        for path, text, vague in found
        if not (vague and any(len(p) > len(path) and p[: len(path)] == path for p in paths))
    ]


def _line(path: Sequence[str], text: str) -> str:
    return f"{'.'.join(path)}: {text}" if path else text


def _explain(problem: Any, model: type[BaseModel]) -> tuple[tuple[str, ...], str, bool]:
    """The path, what is wrong there, and whether a fault in a part would explain it."""
    kind, loc = str(problem["type"]), problem["loc"]
    given: object = problem.get("input")
    path, node, choices = _located(model, loc)
    if kind == "extra_forbidden":
        unknown = str(loc[-1])
        known = sorted(node.get("properties", {}))
        in_spec = path[:1] == ("io",) or "workloads" in known
        meant = (in_spec and _EARLIER.get(unknown)) or _within(unknown, node, model)
        meant = meant or _meant(unknown, known)
        return (*path, unknown), f"unknown field; {meant}", False
    shown = f" (given: {json_kind(given)})"
    if choices and kind not in ("value_error", "missing") and loc[-1] != "[key]":
        return path, f"must be {' or '.join(choices)}{shown}", True
    if kind == "missing" or (json_kind(given).startswith("a") and kind not in _SAID):
        shown = ""
    if kind == "string_pattern_mismatch" and problem["ctx"]["pattern"] in _PATTERNS:
        text = _PATTERNS[problem["ctx"]["pattern"]]
        if loc[-1] == "kernel_name":
            text += (
                "; C++ names, `ns::kernel<float, 4>`, are for CUDA: here or as kernel.launch.entry"
            )
    elif kind == "literal_error" and "enum" in node:
        text = _meant(given, node["enum"])
    else:
        said = str(problem["msg"]).removeprefix("Value error, ").replace(" after validation", "")
        text = _SAID.get(kind, re.sub("^(Input|String) ", "", said).replace("Tuple", "the list"))
        if text == _SAID["list_type"] and isinstance(given, str) and _holds_texts(node):
            text += f", such as {json.dumps(given.split()[:MOST_WORDS])}"
    return path, text + shown, kind == "too_short"  # items at fault are not counted


def _holds_texts(node: Node) -> bool:
    return node.get("items", {}).get("type") == "string"


def json_kind(value: object) -> str:
    """A value of JSON in a few words."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    text = json.dumps(value, default=str)
    return text if len(text) <= 60 else text[:60] + "..."


def _meant(given: object, known: Sequence[str]) -> str:
    listed = f"known here: {', '.join(each or '(empty)' for each in known) or 'none'}"
    meant = OTHER_NAMES.get(str(given), "")
    close = [meant] if meant and meant in known else []
    close = close or difflib.get_close_matches(str(given), list(filter(None, known)), 1, 0.5)
    return f"did you mean `{close[0]}`? {listed}" if close else listed


def _within(unknown: str, node: Node, model: type[BaseModel]) -> str:
    """Which of the known fields has the unknown one within it, in words; empty: none."""
    definitions: Node = model.model_json_schema().get("$defs", {})
    for name, field in node.get("properties", {}).items():
        for inner in _alternatives(field, definitions):
            if unknown in inner.get("properties", {}):
                return f"it goes into `{name}`: {json.dumps({name: {unknown: '...'}})}"
    return ""


def _located(
    model: type[BaseModel], loc: Sequence[str | int]
) -> tuple[tuple[str, ...], Node, list[str]]:
    """Where a problem lies: its path in the data, the schema there, and a union's choices.

    Names that pydantic puts into `loc` for the members of a union are left out of the path,
    as is a field that the schema does not have. Choices are given at a member of a union.
    """
    schema: Node = model.model_json_schema()
    definitions: Node = schema.get("$defs", {})
    node, path, outside = schema, list[str](), False
    for part in loc:
        inners = (_below(choice, part) for choice in _alternatives(node, definitions))
        inner = next((found for found in inners if found is not None), None)
        outside = inner is None
        if inner is not None:
            node = inner
            path.append(str(part))
    return tuple(path), _resolved(node, definitions), _choices(node) if outside else []


def _below(node: Node, part: str | int) -> Node | None:
    """The schema of an item, a field, or a value of a dict; None: there is no such part."""
    if isinstance(part, int):
        return node.get("items")
    if part in node.get("properties", {}):
        return node["properties"][part]
    if "patternProperties" in node:
        return next(iter(node["patternProperties"].values()))
    others = node.get("additionalProperties")
    return cast(Node, others) if isinstance(others, dict) else None


def _choices(node: Node) -> list[str]:
    choices = [
        f"`{choice['const']}`"
        if "const" in choice
        else _KINDS[cast(str, choice.get("type", "object"))]
        for choice in node.get("anyOf", ())
    ]
    return list(dict.fromkeys(choices))


def _resolved(node: Node, definitions: Node) -> Node:
    """A schema with its reference followed; of alternatives the first that has parts."""
    return next(iter(_alternatives(node, definitions)), node)


def _alternatives(node: Node, definitions: Node) -> list[Node]:
    """The schema or, of a union, those of its members that have parts; references followed."""
    parts = ("items", "properties", "patternProperties", "additionalProperties")
    found = list[Node]()
    for choice in (node, *node.get("anyOf", ())):
        if "$ref" in choice:
            choice = definitions[choice["$ref"].rsplit("/", 1)[-1]]
        if any(part in choice for part in parts):
            found.append(choice)
    return found
