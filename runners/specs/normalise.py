"""One key for all layouts of a source: comments, blanks and line breaks left out.

Two candidates that differ in layout alone are one variant; the search meets them in one node.
"""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..c_source.parsing import parse_cpp
from ..c_source.preprocessor import CONTINUED, preproc_text
from ..languages import KernelType, Syntax, language_of

if TYPE_CHECKING:
    from tree_sitter import Node, Tree

KEY_LENGTH = 16
WHOLE = frozenset({"string_literal", "raw_string_literal", "char_literal", "preproc_arg"})


def source_key(source: str, kernel_type: KernelType) -> str:
    """Hash of the source's tokens: 16 hexadecimal digits; equal for two layouts of one source.

    C++ and CUDA: the leaves of the tree-sitter-cuda tree without comments. Triton: the
    Python syntax tree. A text that does not parse, or whose syntax is not known, is hashed line
    by line, trailing blanks left out. Never raises.
    """
    text = source.encode("utf-8", "surrogatepass")
    read = _PARTS.get(language_of(kernel_type).syntax)
    parts = None if read is None else read(text)
    return _digest(_lines(text) if parts is None else parts)


def _python(source: bytes) -> list[tuple[str, bytes]] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape sequence is for the builder to tell
            dump = ast.dump(ast.parse(source.decode("utf-8", "surrogatepass")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return [("python", dump.encode("utf-8", "surrogatepass"))]


def _leaves(source: bytes) -> list[tuple[str, bytes]] | None:
    """(type, text) of every leaf but comments; None when the source does not parse."""
    tree = parse_cpp(source)
    if tree.root_node.has_error:
        return None
    parts: list[tuple[str, bytes]] = []
    end = 0
    for node in _tokens(tree):
        # the grammar has tokens without a node: their text must count as well
        if between := CONTINUED.sub(b"", source[end : node.start_byte]).strip():
            parts.append(("", between))
        end = node.end_byte
        if node.type == "comment":
            continue
        text = source[node.start_byte : end]
        if node.type == "preproc_arg":
            said = preproc_text(text)
            if said is None:
                return None
            text = said
        parts.append((node.type.strip(), text if node.type in WHOLE else text.strip()))
    return parts


_PARTS: Mapping[Syntax, Callable[[bytes], list[tuple[str, bytes]] | None]] = {
    "c": _leaves,
    "python": _python,
}


def _tokens(tree: Tree) -> Iterator[Node]:
    """The leaves in order, literals and preprocessor lines whole, by cursor: no recursion."""
    cursor = tree.walk()
    while True:
        node = cursor.node
        assert node is not None
        whole = node.type in WHOLE
        if not whole and cursor.goto_first_child():
            continue
        if whole or node.child_count == 0:
            yield node
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _lines(text: bytes) -> Iterator[tuple[str, bytes]]:
    return (("line", line.rstrip()) for line in text.rstrip().split(b"\n"))


def _digest(parts: Iterable[tuple[str, bytes]]) -> str:
    """Lengths go in with the texts, so that no two streams read alike."""
    digest = hashlib.sha256()
    for kind, text in parts:
        digest.update(f"{kind} {len(text)} ".encode())
        digest.update(text)
    return digest.hexdigest()[:KEY_LENGTH]
