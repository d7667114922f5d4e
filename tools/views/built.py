"""What `inspect` shows of what was made of a variant: its PTX and machine code, and its profile.

Nothing is built or measured for it: what is missing says which verb makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ...runners.errors import AccessError
from ..parts.calls import call
from .view import Parts, View

if TYPE_CHECKING:
    from ...evaluation.bench import Bench

HOST_ONLY = "has no PTX: it is host C++\n"


def _variant_ptx(bench: Bench, variant_id: str) -> View:
    return _listing(bench, variant_id, "ptx")


def _variant_sass(bench: Bench, variant_id: str) -> View:
    return _listing(bench, variant_id, "sass")


def _listing(bench: Bench, variant_id: str, kind: Literal["ptx", "sass"]) -> View:
    """The texts that were kept of a build, one after the other."""
    from ...runners.plans.plan import module_name
    from ...store.variants import known_artifact

    variant = bench.evaluator.variant(variant_id).variant
    language = bench.evaluator.kernel(variant.kernel_id).spec.kernel.language
    known = known_artifact(bench.store, variant_id)
    if language.tier == "native":
        return f"{variant_id} {HOST_ONLY}"
    modules = () if known is None else tuple(m for m in known.artifact.modules if m.kind == kind)
    if not modules:
        made = call("ptx_for_source_span", variant_id=variant_id, start=1, part=kind)
        return f"no {kind.upper()} of {variant_id} is kept; this makes it: {made}\n"
    texts = list[str]()
    for module in modules:
        try:
            path = bench.outdir / "modules" / module_name(module)
            texts.append(path.read_text("utf-8", errors="replace"))
        except OSError as error:
            raise AccessError(
                f"the {kind.upper()} of {variant_id} cannot be read: {error.strerror}",
                next_step=call("compile_variant", kernel_id=variant.kernel_id, base=variant_id),
            ) from error
    return "\n".join(texts)


def _variant_profile(bench: Bench, variant_id: str) -> View:
    """What profilers counted of its launches, by workload."""
    from ...evaluation.evidence.profiles import kept_profile, visible

    found = {w: kept_profile(bench, variant_id, w) for w in visible(bench, variant_id)}
    kept = {w: p.model_dump(mode="json", exclude_none=True) for w, p in found.items() if p}
    if not kept:
        made = call("ncu_summary", variant_id=variant_id)
        return f"no profile of {variant_id} is kept; a GPU kernel gets one by: {made}\n"
    return kept


BUILT: Parts = {"ptx": _variant_ptx, "sass": _variant_sass, "profile": _variant_profile}
