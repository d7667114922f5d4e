"""The instance of a kernel template that its own file launches: `k<float, 256><<<...>>>`, or what
the launch's arguments make of it; as a plain function that inference can read.

A launch within a host template that is itself a template's says nothing, unless the file calls or
instantiates that one with types.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..c_source.functions import PARAMETERS, CppFunction
from ..c_source.nodes import field, parents, root_of, text_of, walk
from .cuda_launches import Scope, bare, expression_of, launches, values

if TYPE_CHECKING:
    from tree_sitter import Node

_NUMBERS = {"f": "float", "": "double"}
_CAST = re.compile(r"\w+_cast$|data_ptr$|mutable_data_ptr$|const_data_ptr$|data$")


@dataclass(frozen=True)
class TemplateInstance:
    """One instance of a kernel template."""

    name: str
    """its C++ name: `scale<float, 256>`"""
    source: str
    """the file with the template's parameters as a type and a constant of these values"""


@dataclass(frozen=True)
class _Parameter:
    name: str
    kind: str
    """empty: a type; else the type of a value"""
    default: str


def instance_of(source: str, function: CppFunction, wanted: str = "") -> TemplateInstance | None:
    """The instance that a launch means, `wanted` where a spec names one; None where none is known.

    `source`: the file in which the function stands.
    """
    declaration = function.node.parent
    if declaration is None or not function.template:
        return None
    listed = _listed(declaration)
    if listed is None:
        return None
    found = _named(wanted, listed) if wanted else _launched(function, listed)
    if found is None:
        return None
    name = f"{function.name}<{', '.join(found[each.name] for each in listed)}>"
    return TemplateInstance(wanted or name, _plain(source, declaration, listed, found))


def _listed(declaration: Node) -> tuple[_Parameter, ...] | None:
    """The parameters of a template; None where it takes another template, or any number."""
    made = list[_Parameter]()
    for each in field(declaration, "parameters").named_children:
        words = text_of(each)
        default = re.split(r"(?<![=<>!])=(?!=)", words, maxsplit=1)[1:]
        head = words.partition("=")[0].split()
        if each.type in ("type_parameter_declaration", "optional_type_parameter_declaration"):
            made.append(_Parameter(head[-1], "", "".join(default).strip()))
        elif each.type in PARAMETERS and len(head) > 1:
            made.append(_Parameter(head[-1], " ".join(head[:-1]), "".join(default).strip()))
        elif each.type != "comment":
            return None
    return tuple(made)


def _named(name: str, listed: tuple[_Parameter, ...]) -> dict[str, str] | None:
    """The values in a C++ name that a spec gives."""
    inner = name.partition("<")[2].rpartition(">")[0]
    given = [part.strip() for part in inner.split(",")] if inner.strip() else []
    return _completed(dict(zip((each.name for each in listed), given, strict=False)), listed)


def _launched(function: CppFunction, listed: tuple[_Parameter, ...]) -> dict[str, str] | None:
    for call in launches(root_of(function.node), function.name):
        scope = Scope(call, {})
        found = dict[str, str]()
        called = field(call, "function")
        given = called.child_by_field_name("arguments") if called.type != "identifier" else None
        for each, node in zip(listed, values(given) if given else (), strict=False):
            found[each.name] = _value(node, each, scope, call)
        for parameter, handed in zip(
            function.parameters, values(field(call, "arguments")), strict=False
        ):
            named = next((p for p in listed if p.name == parameter.type and not p.kind), None)
            if named is not None and not found.get(named.name):
                found[named.name] = _settled_type(_type_of(handed, call), call)
        complete = _completed(found, listed)
        if complete is not None:
            return complete
    return None


def _completed(found: Mapping[str, str], listed: tuple[_Parameter, ...]) -> dict[str, str] | None:
    made = {each.name: found.get(each.name) or each.default for each in listed}
    return made if all(made.values()) else None


def _value(node: Node, parameter: _Parameter, scope: Scope, call: Node) -> str:
    """What a template's argument says; empty where it is not known."""
    text = text_of(node)
    if not parameter.kind:
        return _settled_type(text, call)
    if text in ("true", "false"):
        return text
    expression = expression_of(text)  # the tree takes a name there for a type
    size = "?" if expression is None else str(scope.size(expression))
    return "" if size == "?" else size


def _settled_type(text: str, call: Node) -> str:
    """A type that is none of the host template's own parameters; what that is called with, if it
    is."""
    if dispatched := _dispatched(text, call):
        return dispatched
    host = next((n for n in parents(call) if n.type == "template_declaration"), None)
    own = _listed(host) if host is not None else ()
    names = [each.name for each in own or ()]
    if text not in names or host is None:
        return text
    function = next((n for n in host.named_children if n.type == "function_definition"), None)
    if function is None:
        return ""
    for name, given in _calls_with_types(root_of(call)):
        at = names.index(text)
        if re.search(rf"\b{re.escape(name)}\s*\(", text_of(function)) and at < len(given):
            return given[at]
    return ""


def _dispatched(text: str, call: Node) -> str:
    """A type of those for which PyTorch's `AT_DISPATCH_...` repeats the launch; empty outside of
    one."""
    if not text.endswith("scalar_t"):
        return ""
    for each in parents(call):
        macro = text_of(each.child_by_field_name("function"))
        if macro.startswith("AT_DISPATCH_"):
            return "int" if "INTEGRAL" in macro else "float"
    return ""


def _calls_with_types(root: Node) -> Iterator[tuple[str, list[str]]]:
    """`name<float>(...)` and `template void name<float>(...)`."""
    for node in walk(root):
        if node.type == "template_function":
            given = field(node, "arguments")
            yield text_of(field(node, "name")), [text_of(each) for each in values(given)]


def _type_of(node: Node, call: Node) -> str:
    """The type of a launch's argument without pointers and qualifiers; empty: not known."""
    inner = bare(node)
    for cast in walk(node):
        if cast.type == "type_descriptor":
            return _without_qualifiers(text_of(cast))
    if inner.type == "number_literal":
        text = text_of(inner)
        whole = text.rstrip("uUlL").isdigit()
        return "int" if whole else _NUMBERS["f" if text.endswith(("f", "F")) else ""]
    if inner.type != "identifier":
        return ""
    name = text_of(inner)
    for scope in parents(call):
        if scope.type in ("function_definition", "translation_unit"):
            for each in walk(scope):
                if each.type in (*PARAMETERS, "declaration") and _declares(each, name):
                    return _without_qualifiers(text_of(field(each, "type")))
    return ""


def _declares(node: Node, name: str) -> bool:
    declarators = node.children_by_field_name("declarator")
    return any(
        each.type == "identifier" and text_of(each) == name
        for declarator in declarators
        for each in walk(declarator, ("argument_list", "call_expression"))
    )


def _without_qualifiers(text: str) -> str:
    words = re.sub(r"[*&]|\b(const|volatile|__restrict__|restrict)\b", " ", text).split()
    made = " ".join(words)
    return "" if made == "auto" else made


def _plain(
    source: str,
    declaration: Node,
    listed: tuple[_Parameter, ...],
    found: Mapping[str, str],
) -> str:
    """The source with `using T = float;` and `constexpr int N = 256;` in place of the template's
    head."""
    lines = [
        f"constexpr {each.kind} {each.name} = {found[each.name]};"
        if each.kind
        else f"using {each.name} = {found[each.name]};"
        for each in listed
    ]
    data = source.encode()
    head = field(declaration, "parameters").end_byte
    made = "\n" + "\n".join(lines) + "\n"
    return (data[: declaration.start_byte] + made.encode() + data[head:]).decode()
