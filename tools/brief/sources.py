"""The source of a variant as blocks of a brief: whole, or as what it has that another has not.

A prompt cache keeps two sources from question to question: the baseline's, for every variant of a
kernel, and a rewrite's, for the variants that come of it. What lies near one of them is told by its
diff, so that a rewrite is paid for once, however many variants are asked about that it led to.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...evaluation.difference import source_diff
from ...runners.model import Variant
from ...runners.specs.spec import KernelSpec
from ...search.planning.brief import code_block, tokens_of

WORTH: Final = 1_000
"""tokens that a diff must save: whoever reads it has to put two texts together"""
SAME: Final = "It is that of {}, above, unchanged."
BESIDE: Final = (
    "It is that of {}, above, with this diff. A diff of yours is against the file with it applied."
)


def whole(spec: KernelSpec, source: str) -> str:
    """A source as code."""
    return code_block(spec.kernel.language.file_name.rpartition(".")[2], source)


def told_beside(lineage: Sequence[Variant]) -> Variant:
    """The variant whose source stands above, and beside which that of the last one is told.

    `lineage`: from the baseline on. The baseline where a diff against it is short, or nothing could
    be saved; else the rewrite that the last one comes of; else it is such a rewrite itself.
    """
    baseline, *later = lineage
    above = baseline
    for variant in later:
        if not _long(variant) or _near(variant, baseline):
            above = baseline
        elif not _near(variant, above):
            above = variant
    return above


def source_blocks(spec: KernelSpec, variant: Variant, above: Variant) -> list[str]:
    """A variant's source beside the one that stands above, whole where no diff can stand for it;
    nothing for that one itself."""
    if variant.variant_id == above.variant_id:
        return []
    if variant.source == above.source:
        return [SAME.format(above.variant_id)]
    text = whole(spec, variant.source)
    diff = as_diff(variant, above)
    told = BESIDE.format(above.variant_id)
    return [text] if diff is None else [f"{told}\n{code_block('diff', diff)}"]


def as_diff(variant: Variant, above: Variant) -> str | None:
    """The diff that stands for a variant's source; None: it would not save `WORTH` tokens and half
    of the source, which is told whole."""
    if not _long(variant):
        return None
    diff = source_diff(above.source, variant.source, "kernel")
    cost, instead = tokens_of(diff), tokens_of(variant.source)
    return diff if instead - cost >= max(WORTH, instead / 2) else None


def _near(variant: Variant, above: Variant) -> bool:
    return variant.source == above.source or as_diff(variant, above) is not None


def _long(variant: Variant) -> bool:
    """A diff can save `WORTH` tokens at all."""
    return tokens_of(variant.source) >= WORTH
