"""From tree-sitter's tree of a CUDA source to `syntax`: the kernel that a launch names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .....runners.inferring.cpp_signature import CppFunction, cpp_functions, text_of
from .....runners.normalise import parse_cpp
from .syntax import (
    Assign,
    Binary,
    Call,
    Choice,
    Converted,
    Declare,
    Evaluate,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Number,
    Opaque,
    Return,
    Span,
    Statement,
    Stepped,
    Unary,
)

if TYPE_CHECKING:
    from tree_sitter import Node

BUILT_IN = frozenset("threadIdx blockIdx blockDim gridDim".split())
NUMBERS = frozenset("INFINITY FLT_MAX FLT_MIN DBL_MAX INT_MAX INT_MIN NAN true false".split())
NUMBER_TYPES = re.compile(
    r"(const )?(float|double|int|unsigned( int)?|long( long)?|size_t|half|__half|u?int(32|64)_t"
    r"|__nv_bfloat16|nv_bfloat16|unsigned long long|unsigned char|char|short)"
)
CONVERSIONS = {
    "__half2float": "float", "__bfloat162float": "float", "__float2half": "__half",
    "__float2half_rn": "__half", "__float2bfloat16": "__nv_bfloat16",
    "__float2bfloat16_rn": "__nv_bfloat16", "__int2float_rn": "float",
}  # fmt: skip


@dataclass(frozen=True)
class Kernel:
    """A kernel of a source."""

    name: str
    function: CppFunction
    body: tuple[Statement, ...]
    inner: Span
    """between the braces of its body"""
    whole: Span
    """the top-level item that it is: with `extern "C"`, or a block of it"""
    signature: Span
    """the parameter list, parentheses included"""
    definition: Span
    """from `__global__` on, `extern "C"` and its like left out"""


def read_kernel(source: bytes, name: str) -> Kernel | str:
    """The kernel of that name, or why it cannot be read."""
    tree = parse_cpp(source).root_node
    if tree.has_error:
        return "the source does not parse as a whole"
    found = [f for f in cpp_functions(source.decode(), cuda=True) if f.name == name]
    if len(found) != 1:
        return f"no single function `{name}` in the source"
    function = found[0]
    if function.template:
        return f"`{name}` is a template"
    node = function.body.parent
    assert node is not None
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    assert listed is not None
    top = node
    while top.parent is not None and top.parent.type != "translation_unit":
        top = top.parent
    return Kernel(
        name=name,
        function=function,
        body=_block(function.body),
        inner=(function.body.start_byte + 1, function.body.end_byte - 1),
        whole=(top.start_byte, top.end_byte),
        signature=(listed.start_byte, listed.end_byte),
        definition=(node.start_byte, node.end_byte),
    )


def _span(node: Node) -> Span:
    return node.start_byte, node.end_byte


def _block(node: Node) -> tuple[Statement, ...]:
    """The statements of a compound statement, or the one that stands in its place."""
    if node.type != "compound_statement":
        return _statements(node)
    return tuple(s for child in node.named_children for s in _statements(child))


def _statements(node: Node) -> tuple[Statement, ...]:
    match node.type:
        case "comment":
            return ()
        case "compound_statement":
            return _block(node)
        case "preproc_call" if text_of(node.child_by_field_name("directive")) == "#pragma":
            return ()
        case "declaration":
            return _declarations(node)
        case "expression_statement":
            return (_expression_statement(node),) if node.named_children else ()
        case "for_statement":
            return (_loop(node),)
        case "if_statement":
            return (_if(node),)
        case "return_statement" if not node.named_children:
            return (Return(_span(node)),)
        case _:
            return (Opaque(_span(node), text_of(node)),)


def _declarations(node: Node) -> tuple[Statement, ...]:
    kind = text_of(node.child_by_field_name("type"))
    qualifiers = {text_of(c) for c in node.children if c.type == "type_qualifier"}
    shared = "__shared__" in qualifiers
    if "extern" in {text_of(c) for c in node.children} or "static" in text_of(node).split()[:2]:
        return (Opaque(_span(node), text_of(node)),)
    return tuple(
        _declared(node, child, kind, shared) for child in node.children_by_field_name("declarator")
    )


def _declared(whole: Node, node: Node, kind: str, shared: bool) -> Statement:
    value, pointer, sizes = None, False, list[Expr]()
    inner: Node | None = node
    if node.type == "init_declarator":
        given = node.child_by_field_name("value")
        if given is not None and given.type in ("initializer_list", "argument_list"):
            if given.named_child_count > 1:
                return Opaque(_span(whole), text_of(whole))
            given = given.named_children[0] if given.named_child_count else None
            value = _expr(given) if given is not None else Number(_span(node), "0")
        else:
            value = _expr(given) if given is not None else None
        inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type != "identifier":
        if inner.type == "array_declarator":
            size = inner.child_by_field_name("size")
            sizes.insert(0, Opaque(_span(inner), "") if size is None else _expr(size))
        elif inner.type == "pointer_declarator":
            pointer = True
        else:
            return Opaque(_span(whole), text_of(whole))
        inner = inner.child_by_field_name("declarator")
    return Declare(_span(whole), kind, text_of(inner), value, tuple(sizes), shared, pointer)


def _expression_statement(node: Node) -> Statement:
    inner = node.named_children[0]
    return _effect(inner, _span(node))


def _effect(node: Node, span: Span) -> Statement:
    if node.type == "assignment_expression":
        target, value = (node.child_by_field_name(f) for f in ("left", "right"))
        assert target is not None and value is not None
        if value.type != "assignment_expression":
            operator = text_of(node.child_by_field_name("operator"))
            return Assign(span, _expr(target), operator, _expr(value))
    elif node.type == "update_expression":
        argument = node.child_by_field_name("argument")
        assert argument is not None
        operator = "+=" if "++" in text_of(node.child_by_field_name("operator")) else "-="
        return Assign(span, _expr(argument), operator, Number(span, "1"))
    elif node.type == "call_expression":
        return Evaluate(span, _expr(node))
    return Opaque(span, text_of(node))


def _loop(node: Node) -> Statement:
    """A counted loop, else opaque: one that counts down, has no bound, or breaks off."""
    opaque = Opaque(_span(node), text_of(node))
    first, test, step, body = (
        node.child_by_field_name(f) for f in ("initializer", "condition", "update", "body")
    )
    if first is None or test is None or step is None or body is None or _leaves(body):
        return opaque
    began = _statements(first) if first.type == "declaration" else (_effect(first, _span(first)),)
    stepped, bound = _effect(step, _span(step)), _expr(test)
    if len(began) != 1:
        return opaque
    match began[0]:
        case Declare(name=variable, value=start, type=kind) if start is not None:
            pass
        case Assign(target=Name(name=variable), operator="=", value=start):
            kind = ""
        case _:
            return opaque
    by = _step(stepped, variable)
    if (
        not isinstance(bound, Binary)
        or by is None
        or bound.operator not in ("<", "<=")
        or (bound.left != Name(bound.span, variable))
    ):
        if not isinstance(stepped, Assign) or stepped.target != Name(_span(step), variable):
            return opaque
        return Stepped(_span(node), variable, start, bound, stepped, _block(body))
    end = next(c.end_byte for c in node.children if c.type == ")")
    return Loop(
        _span(node), variable, start, bound.right, by, _block(body),
        head=(node.start_byte, end), inner=_span(body), inclusive=bound.operator == "<=",
        kind=kind,
    )  # fmt: skip


def _step(stepped: Statement, variable: str) -> Expr | None:
    match stepped:
        case Assign(target=Name(name=name), operator="+=", value=by) if name == variable:
            return by
        case Assign(
            target=Name(name=name), operator="=", value=Binary(operator="+", left=left, right=right)
        ) if name == variable:
            if isinstance(left, Name) and left.name == variable:
                return right
            return left if isinstance(right, Name) and right.name == variable else None
        case _:
            return None


def _leaves(body: Node) -> bool:
    kinds = {"break_statement", "continue_statement", "return_statement", "goto_statement"}
    pending = [body]
    while pending:
        node = pending.pop()
        if node.type in kinds:
            return True
        pending += node.children
    return False


def _if(node: Node) -> Statement:
    test, then = (node.child_by_field_name(f) for f in ("condition", "consequence"))
    other = node.child_by_field_name("alternative")
    if test is None or then is None or test.named_child_count != 1:
        return Opaque(_span(node), text_of(node))
    otherwise = tuple(s for c in (other.named_children if other else ()) for s in _statements(c))
    return If(_span(node), _expr(test.named_children[0]), _block(then), otherwise)


def _expr(node: Node) -> Expr:
    if node.type == "parenthesized_expression" and node.named_child_count == 1:
        return _expr(node.named_children[0])
    read = _READERS.get(node.type)
    return _opaque(node) if read is None else read(node)


def _opaque(node: Node) -> Expr:
    return Opaque(_span(node), text_of(node))


def _number(node: Node) -> Expr:
    return Number(_span(node), text_of(node))


def _name(node: Node) -> Expr:
    name = text_of(node)
    return Number(_span(node), name) if name in NUMBERS else Name(_span(node), name)


def _field(node: Node) -> Expr:
    if text_of(node.child_by_field_name("argument")) in BUILT_IN:
        return Name(_span(node), "".join(text_of(node).split()))
    return _opaque(node)


def _binary(node: Node) -> Expr:
    left, right = (node.child_by_field_name(f) for f in ("left", "right"))
    assert left is not None and right is not None
    operator = text_of(node.child_by_field_name("operator"))
    return Binary(_span(node), operator, _expr(left), _expr(right))


def _choice(node: Node) -> Expr:
    pieces = [node.child_by_field_name(f) for f in ("condition", "consequence", "alternative")]
    if any(p is None for p in pieces):
        return _opaque(node)
    test, yes, no = (_expr(p) for p in pieces if p is not None)
    return Choice(_span(node), test, yes, no)


def _cast(node: Node) -> Expr:
    kind, value = (node.child_by_field_name(f) for f in ("type", "value"))
    if value is not None and NUMBER_TYPES.fullmatch(" ".join(text_of(kind).split())):
        return Converted(_span(node), text_of(kind), _expr(value))
    return _opaque(node)


def _unary(node: Node) -> Expr:
    operand = node.child_by_field_name("argument")
    assert operand is not None
    operator = text_of(node.child_by_field_name("operator"))
    inner = _expr(operand)
    if operator == "-" and isinstance(inner, Number):
        return Number(_span(node), "-" + inner.text)
    return inner if operator == "+" else Unary(_span(node), operator, inner)


def _pointer(node: Node) -> Expr:
    operand = node.child_by_field_name("argument")
    assert operand is not None
    inner = _expr(operand)
    if text_of(node.child_by_field_name("operator")) == "&":
        return Unary(_span(node), "&", inner)
    if isinstance(inner, Name):
        return Item(_span(node), inner.name, (Number(_span(node), "0"),))
    match inner:
        case Binary(operator="+", left=Name(name=array), right=index):
            return Item(_span(node), array, (index,))
        case _:
            return Opaque(_span(node), text_of(node))


def _call(node: Node) -> Expr:
    callee, listed = (node.child_by_field_name(f) for f in ("function", "arguments"))
    given = () if listed is None else tuple(_expr(c) for c in listed.named_children)
    name = "".join(text_of(callee).split())
    cast = re.fullmatch(r"(?:static_cast|reinterpret_cast)<(.*)>", text_of(callee))
    kind = cast[1].strip() if cast else " ".join(text_of(callee).split())
    if len(given) == 1:
        if NUMBER_TYPES.fullmatch(kind):
            return Converted(_span(node), kind, given[0])
        if name in CONVERSIONS:
            return Converted(_span(node), CONVERSIONS[name], given[0])
        if name == "__ldg" and isinstance(given[0], Unary) and given[0].operator == "&":
            return given[0].operand
    return Call(_span(node), name, given)


def _item(node: Node) -> Expr:
    indices, inner = list[Expr](), node
    while inner.type == "subscript_expression":
        listed = inner.child_by_field_name("indices")
        owner = inner.child_by_field_name("argument")
        if listed is None or owner is None or listed.named_child_count != 1:
            return Opaque(_span(node), text_of(node))
        indices.insert(0, _expr(listed.named_children[0]))
        inner = owner
    if inner.type != "identifier":
        return Opaque(_span(node), text_of(node))
    return Item(_span(node), text_of(inner), tuple(indices))


_READERS: Mapping[str, Callable[[Node], Expr]] = {
    "number_literal": _number,
    "true": _number,
    "false": _number,
    "identifier": _name,
    "field_expression": _field,
    "binary_expression": _binary,
    "unary_expression": _unary,
    "pointer_expression": _pointer,
    "conditional_expression": _choice,
    "cast_expression": _cast,
    "call_expression": _call,
    "subscript_expression": _item,
}
