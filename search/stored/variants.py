"""Between candidates and variants: what a candidate makes of a variant, and its name in words."""

from __future__ import annotations

from functools import lru_cache

from ...runners.languages import KernelType
from ...runners.model import BuildOptions, Candidate, Variant, ordered
from ...runners.specs.normalise import source_key
from ...store.records import KernelRecord
from ..applying.apply import apply
from ..moves import canonical_method
from ..moves.shared.base import State


def state_of(kernel: KernelRecord, variant: Variant) -> State:
    """A variant as moves and candidates see it."""
    spec = kernel.spec
    return State(
        kernel_type=spec.kernel.kernel_type,
        source=variant.source,
        parameters=variant.parameters,
        options=variant.options,
        spec=spec,
        plan=variant.plan,
        found=frozenset(kernel.found_parameters) - frozenset(kernel.loaded.spec.parameters),
        files=kernel.loaded.files,
    )


def variant_from(kernel: KernelRecord, base: Variant, candidate: Candidate) -> Variant:
    """The variant that a candidate makes of a base. Raises SpecError when it makes none."""
    state = apply(candidate, state_of(kernel, base))
    return Variant(
        kernel_id=kernel.kernel_id,
        source=state.source,
        source_key=base.source_key
        if state.source == base.source
        else _source_key(state.source, state.kernel_type),
        plan=None if state.plan is None else dict(state.plan),
        options=state.options,
        parameters=dict(state.parameters),
    )


@lru_cache(maxsize=64)
def _source_key(source: str, kernel_type: KernelType) -> str:
    """It takes a parse, and what is built ahead comes again to be evaluated."""
    return source_key(source, kernel_type)


def changed(candidate: Candidate) -> str:
    """What a candidate changes, in a few words."""
    parts = list[str]()
    if candidate.source is not None or candidate.diff is not None:
        parts.append("source")
    if candidate.parameters:
        parts.append(ordered(candidate.parameters))
    if candidate.options is not None:
        parts.append(_options(candidate.options))
    if candidate.plan is not None:
        parts.append("plan")
    if candidate.knobs is not None:
        parts.append(f"tuned {', '.join(candidate.knobs)}")
    return ", ".join(parts)


def _options(options: BuildOptions) -> str:
    words = [options.compiler] if options.compiler else []
    return " ".join([*words, *(options.flags or ())]) or "default options"


def named(candidate: Candidate) -> Candidate:
    """A client's candidate under a canonical method name; its own words stay in the detail."""
    method = canonical_method(candidate.method)
    detail = candidate.detail or ("" if method == candidate.method else candidate.method)
    return candidate.model_copy(update={"method": method, "detail": detail})
