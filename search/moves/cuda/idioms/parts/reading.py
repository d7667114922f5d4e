"""From tree-sitter's tree of a CUDA source to `syntax`: the kernel that a launch names."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ......runners.c_source.comments import without_comments
from ......runners.c_source.functions import CppFunction, cpp_functions
from ......runners.c_source.loops import for_loop
from ......runners.c_source.nodes import text_of, top_of, walk
from ......runners.c_source.parsing import parse_cpp
from .reading_expressions import read_expression, span_of
from .syntax import (
    Assign,
    Declare,
    Evaluate,
    Expr,
    If,
    Loop,
    Name,
    Number,
    Opaque,
    Return,
    Span,
    Statement,
    Stepped,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_LEAVES = frozenset({"break_statement", "continue_statement", "return_statement", "goto_statement"})


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


@lru_cache(maxsize=16)  # every idiom asks for the same one
def read_kernel(source: bytes, name: str) -> Kernel | str:
    """The kernel of that name, or why it cannot be read."""
    code = without_comments(source)
    tree = parse_cpp(code).root_node
    if tree.has_error:
        return "the source does not parse as a whole"
    plain = name.partition("<")[0].rpartition("::")[2]
    found = [f for f in cpp_functions(code.decode(), cuda=True) if f.name == plain]
    if len(found) != 1:
        return f"no single function `{plain}` in the source"
    function = found[0]
    if function.template:
        return f"`{plain}` is a template"
    if plain != name:
        return f"`{name}` stands in a namespace, and what is written anew would not"
    node, top = function.node, top_of(function.node)
    return Kernel(
        name=name,
        function=function,
        body=_block(function.body),
        inner=(function.body.start_byte + 1, function.body.end_byte - 1),
        whole=span_of(top),
        signature=span_of(function.listed),
        definition=span_of(node),
    )


def _block(node: Node) -> tuple[Statement, ...]:
    """The statements of a compound statement, or the one that stands in its place."""
    if node.type != "compound_statement":
        return _statements(node)
    return tuple(s for child in node.named_children for s in _statements(child))


def _statements(node: Node) -> tuple[Statement, ...]:
    match node.type:
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
            return (Return(span_of(node)),)
        case _:
            return (Opaque(span_of(node), text_of(node)),)


def _declarations(node: Node) -> tuple[Statement, ...]:
    kind = text_of(node.child_by_field_name("type"))
    qualifiers = {text_of(c) for c in node.children if c.type == "type_qualifier"}
    shared = "__shared__" in qualifiers
    if "extern" in {text_of(c) for c in node.children} or "static" in text_of(node).split()[:2]:
        return (Opaque(span_of(node), text_of(node)),)
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
                return Opaque(span_of(whole), text_of(whole))
            given = given.named_children[0] if given.named_child_count else None
            value = read_expression(given) if given is not None else Number(span_of(node), "0")
        else:
            value = read_expression(given) if given is not None else None
        inner = node.child_by_field_name("declarator")
    while inner is not None and inner.type != "identifier":
        if inner.type == "array_declarator":
            size = inner.child_by_field_name("size")
            sizes.insert(0, Opaque(span_of(inner), "") if size is None else read_expression(size))
        elif inner.type == "pointer_declarator":
            pointer = True
        else:
            return Opaque(span_of(whole), text_of(whole))
        inner = inner.child_by_field_name("declarator")
    return Declare(span_of(whole), kind, text_of(inner), value, tuple(sizes), shared, pointer)


def _expression_statement(node: Node) -> Statement:
    inner = node.named_children[0]
    return _effect(inner, span_of(node))


def _effect(node: Node, span: Span) -> Statement:
    if node.type == "assignment_expression":
        target, value = (node.child_by_field_name(f) for f in ("left", "right"))
        assert target is not None and value is not None
        if value.type != "assignment_expression":
            operator = text_of(node.child_by_field_name("operator"))
            return Assign(span, read_expression(target), operator, read_expression(value))
    elif node.type == "update_expression":
        argument = node.child_by_field_name("argument")
        assert argument is not None
        operator = "+=" if "++" in text_of(node.child_by_field_name("operator")) else "-="
        return Assign(span, read_expression(argument), operator, Number(span, "1"))
    elif node.type == "call_expression":
        return Evaluate(span, read_expression(node))
    return Opaque(span, text_of(node))


def _loop(node: Node) -> Statement:
    """A counted loop, else opaque: one that has no bound, or breaks off."""
    head = for_loop(node)
    body = node.child_by_field_name("body")
    if body is None or any(n.type in _LEAVES for n in walk(body)):
        return Opaque(span_of(node), text_of(node))
    if head is None or not head.alone or head.relation == "!=":
        return _stepped(node, body)
    by = Number(span_of(node), "1") if head.step is None else read_expression(head.step)
    end = next(c.end_byte for c in node.children if c.type == ")")
    return Loop(
        span_of(node), head.variable, read_expression(head.start), read_expression(head.bound), by,
        _block(body), head=(node.start_byte, end), inner=span_of(body), inclusive=head.inclusive,
        kind=head.kind,
    )  # fmt: skip


def _stepped(node: Node, body: Node) -> Statement:
    """A loop that steps otherwise than by adding, such as `s /= 2`; opaque where it is none."""
    opaque = Opaque(span_of(node), text_of(node))
    first, test, step = (
        node.child_by_field_name(f) for f in ("initializer", "condition", "update")
    )
    if first is None or test is None or step is None:
        return opaque
    began = _statements(first) if first.type == "declaration" else (_effect(first, span_of(first)),)
    stepped = _effect(step, span_of(step))
    match began:
        case (Declare(name=variable, value=start, pointer=False),) if start is not None:
            pass
        case (Assign(target=Name(name=variable), operator="=", value=start),):
            pass
        case _:
            return opaque
    if not isinstance(stepped, Assign) or stepped.target != Name(span_of(step), variable):
        return opaque
    test_read = read_expression(test)
    return Stepped(span_of(node), variable, start, test_read, stepped, _block(body))


def _if(node: Node) -> Statement:
    test, then = (node.child_by_field_name(f) for f in ("condition", "consequence"))
    other = node.child_by_field_name("alternative")
    if test is None or then is None or test.named_child_count != 1:
        return Opaque(span_of(node), text_of(node))
    otherwise = tuple(s for c in (other.named_children if other else ()) for s in _statements(c))
    return If(span_of(node), read_expression(test.named_children[0]), _block(then), otherwise)
