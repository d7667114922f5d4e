"""Opening a kernel: its baseline is built, checked and timed; for a kernel whose GPU is not
here, built alone.

The baseline of an autotuned kernel is the best of its own configurations, found here and
outside any search's budget: beating one that its author would not have run proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ..runners import openmp
from ..runners.errors import BaselineRefused
from ..runners.gates import first_failure
from ..runners.model import Comparison, Evaluation, Variant, ordered
from ..runners.progress import report
from ..runners.toolchains import BuildOutcome
from ..runners.wording import unwritten
from ..store.records import KernelRecord, now
from .attempt import Attempt
from .rig.calibration import UNSTEADY
from .rig.open_kernel import OpenKernel
from .rig.rig import Rig
from .scheduling.build_ahead import builders
from .spec_agrees import check_reference
from .way_out import header_missing, state_kept, tolerance_offered

CORRECT = "correct the kernel, its contract or its reference, and open it again"


@dataclass(frozen=True)
class OpenedBaseline:
    """A kernel's record with the attempt at its baseline; `alone`: its times, if it was timed."""

    record: KernelRecord
    attempt: Attempt
    alone: Comparison | None

    @property
    def evaluation(self) -> Evaluation | None:
        """The evaluation of the baseline; None: it was not timed."""
        return None if self.alone is None else self.attempt.as_baseline(self.alone)


def open_baseline(rig: Rig, kernel: OpenKernel) -> OpenedBaseline:
    """Build, check and time the baseline of a kernel.

    Raises BaselineRefused when it does not build or is not right, and what `Rig.attach` does.
    """
    first = kernel.loaded.baseline()
    with ThreadPoolExecutor(1) as builder:
        building = builder.submit(rig.build, kernel, first)  # while the inputs are made
        rig.attach(kernel)
        built = building.result()
    attempt = _first_that_fits(rig, kernel, built)
    _check(attempt, adopt=True)
    notes = list[str]()
    if attempt.found.configurations:
        best = best_configuration(rig, kernel, attempt)
        notes.append(
            f"the baseline is the best of {len(attempt.found.configurations)} autotune "
            f"configurations: {ordered(attempt.found.configurations[0] | best.parameters)}"
        )
        if best != attempt.variant:
            attempt = Attempt(rig, kernel, best, 1)
            _refuse(attempt.screen_and_build(None))
            _check(attempt)
    alone = time_alone(rig, kernel, attempt.variant.variant_id)
    times = alone.median_ms
    kernel.allow(max(times.values()) * 1e-3)
    if kernel.loaded.lifted_reference is not None:
        notes.append(f"the truth: {rig.truth_of(kernel)}")
    if kernel.loaded.environment:
        notes.append(f"timed with OpenMP's variables: {openmp.told(kernel.loaded.environment)}")
    if kernel.loaded.spec.io.deterministic and not kernel.calibration.is_deterministic:
        notes.append(UNSTEADY)
    return OpenedBaseline(_record(kernel, attempt, times, notes), attempt, alone)


def open_untimed(rig: Rig, kernel: OpenKernel) -> OpenedBaseline:
    """Build the baseline of a kernel whose device is not here. Raises BaselineRefused, and
    SpecError for a reference that nobody could call: nothing else would find that here."""
    if kernel.loaded.reference is not None:
        check_reference(kernel.loaded.reference, kernel.loaded.spec)
    attempt = _first_that_fits(rig, kernel, None)
    assert kernel.target is not None
    built_for = f"{kernel.target.name} ({kernel.target.arch})"
    notes = [f"built for {built_for}, not run: {rig.gpus.why_not(kernel.target)}"]
    if attempt.variant != kernel.loaded.baseline():
        notes.append(
            "the first autotune configuration does not fit that GPU; the baseline is the first one "
            f"that does: {ordered(attempt.variant.parameters)}"
        )
    logic = rig.logic(kernel, attempt.variant)
    if logic is not None:
        notes.append(f"logic check {logic.outcome}: {logic.message}")
    return OpenedBaseline(_record(kernel, attempt, {}, notes), attempt, None)


def best_configuration(rig: Rig, kernel: OpenKernel, first: Attempt) -> Variant:
    """The fastest configuration of an autotuned baseline, by pairwise comparison.

    Configurations that do not build, or are wrong, fall out.
    """
    base, best = first.variant, first.variant
    variants = _configured(base, first.found.configurations)

    def build(variant: Variant) -> BuildOutcome:
        return rig.build(kernel, variant)

    with ThreadPoolExecutor(builders()) as pool:
        builds = list(pool.map(build, variants))
    for number, (variant, built) in enumerate(zip(variants, builds, strict=True), 1):
        report(f"autotune configuration {number} of {len(variants)}")
        if variant != best and _beats(rig, kernel, variant, built, best):
            best, variant = variant, best
        if variant != base:
            rig.unload(kernel, variant.variant_id)
    return best


def time_alone(rig: Rig, kernel: OpenKernel, variant_id: str) -> Comparison:
    """The times of a loaded variant. Raises BaselineRefused when it fails meanwhile."""
    found = rig.compare(kernel, kernel.pools, variant_id, ())
    if found.comparison is None:
        failed = first_failure(found.gates)
        assert failed is not None
        raise BaselineRefused(f"the baseline failed while it was timed: {failed.message}")
    kernel.calibration.saw(found.runs)
    return found.comparison


def _first_that_fits(rig: Rig, kernel: OpenKernel, built: BuildOutcome | None) -> Attempt:
    """A built baseline: where the first configuration of an autotuned kernel does not fit the
    GPU, the first one that does, as Triton's own tuner leaves such configurations out.

    `built`: an earlier build of the first one. Raises BaselineRefused.
    """
    attempt = Attempt(rig, kernel, kernel.loaded.baseline(), 1)
    ended = attempt.screen_and_build(built)
    if ended is None:
        return attempt
    for variant in _configured(attempt.variant, attempt.found.configurations):
        other = Attempt(rig, kernel, variant, 1)
        if other.screen_and_build(None) is None:
            return other
    _refuse(ended)
    return attempt


def _check(attempt: Attempt, *, adopt: bool = False) -> None:
    """Refuse a built baseline that does not pass its gates. `adopt`: it may become the truth."""
    rig, kernel = attempt.rig, attempt.kernel
    assert attempt.artifact is not None
    rig.load(kernel, attempt.artifact)
    if adopt:
        rig.adopt(kernel, attempt.variant.variant_id, kernel.all_pools)
    ended = attempt.check()
    _refuse(ended, "" if ended is None else tolerance_offered(kernel.loaded.spec, attempt.runs))


def _refuse(ended: Evaluation | None, way_out: str = "") -> None:
    if ended is not None:
        raise BaselineRefused(
            f"the baseline ended as `{ended.ending}`: {ended.message}",
            next_step="" if "\nNext: " in ended.message else _next(ended, way_out),
        )


def _next(ended: Evaluation, way_out: str) -> str:
    if header := header_missing(ended.message):
        return header
    # errors that a tolerance would take are rounding before they are something that was kept
    ways = (CORRECT + unwritten(ended.message), way_out or state_kept(ended.message))
    return "; or, ".join(filter(None, ways))


def _configured(base: Variant, found: Sequence[Mapping[str, int]]) -> list[Variant]:
    made = [base.model_copy(update={"parameters": {**base.parameters, **c}}) for c in found]
    return list({v.variant_id: v for v in made}.values())


def _beats(
    rig: Rig, kernel: OpenKernel, variant: Variant, built: BuildOutcome, best: Variant
) -> bool:
    attempt = Attempt(rig, kernel, variant, 1)
    if attempt.screen_and_build(built) is not None or attempt.check() is not None:
        return False
    found = rig.compare(kernel, kernel.pools, variant.variant_id, [best.variant_id]).comparison
    ratio = None if found is None else found.over(best.variant_id)
    return ratio is not None and ratio.speedup > 1


def _record(
    kernel: OpenKernel, attempt: Attempt, times: dict[str, float], notes: Sequence[str]
) -> KernelRecord:
    variant_id = attempt.variant.variant_id
    return KernelRecord(
        kernel_id=kernel.kernel_id,
        loaded=kernel.loaded,
        odd_symbols=kernel.odd_symbols,
        baseline=variant_id,
        incumbent=variant_id,
        baseline_ms=times,
        opened_at=now(),
        found_parameters=attempt.found.parameters,
        notes=tuple(notes),
    )
