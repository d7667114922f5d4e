"""The syntax tree of a source."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Tree


@lru_cache(maxsize=8)  # inference, screens and some thirty moves ask for the same one
def parse_cpp(source: bytes) -> Tree:
    """The syntax tree of C++ or CUDA C++; errors are nodes in it (`root_node.has_error`).

    Callers share it: nobody edits it.
    """
    from tree_sitter import Parser

    return Parser(_language()).parse(source)


@lru_cache(maxsize=1)
def _language() -> Language:
    import tree_sitter_cuda
    from tree_sitter import Language

    return Language(tree_sitter_cuda.language())
