"""Names that a rewritten kernel brings: none that its source knows, in macros and comments too."""

from __future__ import annotations

import re

from .reading import CudaKernel

_WORD = re.compile(r"[A-Za-z_]\w*")


def free_names(kernel: CudaKernel, *wanted: str) -> tuple[str, ...]:
    """The names, each with underscores behind it where the source or the plan has it already."""
    defined = {*kernel.plan.defines, *kernel.plan.buffers}
    taken = {*_WORD.findall(kernel.text.decode("utf-8", "replace")), *defined}
    found = list[str]()
    for name in wanted:
        while name in taken:
            name += "_"
        taken.add(name)
        found.append(name)
    return tuple(found)
