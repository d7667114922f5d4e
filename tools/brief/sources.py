"""The source of a variant as blocks of a brief: whole, or as what it has that the baseline has not.

The baseline's source is told with every variant of a kernel, in the part that a prompt cache keeps.
"""

from __future__ import annotations

from typing import Final

from ...evaluation.difference import source_diff
from ...runners.model import Variant
from ...runners.specs.spec import KernelSpec
from ...search.planning.brief import code_block, tokens_of

WORTH: Final = 1_000
"""tokens that a diff must save: whoever reads it has to put two texts together"""
SAME: Final = "It is the baseline's, above, unchanged."
BESIDE: Final = (
    "It is the baseline's, above, with this diff. A diff of yours is against the file with it "
    "applied."
)


def whole(spec: KernelSpec, source: str) -> str:
    """A source as code."""
    return code_block(spec.kernel.language.file_name.rpartition(".")[2], source)


def source_blocks(spec: KernelSpec, variant: Variant, baseline: Variant) -> list[str]:
    """A variant's source, whole where a diff against the baseline's would not save `WORTH` tokens
    and half of it; nothing for the baseline itself, which is told before."""
    if variant.variant_id == baseline.variant_id:
        return []
    if variant.source == baseline.source:
        return [SAME]
    text = whole(spec, variant.source)
    diff = as_diff(variant, baseline)
    return [text] if diff is None else [f"{BESIDE}\n{code_block('diff', diff)}"]


def as_diff(variant: Variant, baseline: Variant) -> str | None:
    """The diff that stands for a variant's source; None: it is told whole."""
    diff = source_diff(baseline.source, variant.source, "kernel")
    cost, instead = tokens_of(diff), tokens_of(variant.source)
    return diff if instead - cost >= max(WORTH, instead / 2) else None
