"""Pictures of a profile as files: of a variant, and of the baseline before it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ...evaluation.evidence.evidence import facts_for, measured_ms, timed_roofline
from ...evaluation.evidence.headroom import known_peaks
from ...evaluation.evidence.profiles import kept_profile
from ...runners.errors import KernelwrightError, ToolchainMissing
from ...runners.model import content_hash
from .png import png

if TYPE_CHECKING:
    from ...analysis.pictures.roofline import Timed
    from ...evaluation.bench import Bench
    from ...runners.limits.limits import Peaks
    from ...runners.profiling.model import KernelProfile, Profile
    from ...store.records import KernelRecord

Picture = Literal["roofline", "stalls"]
FOLDER = "pictures"


@dataclass(frozen=True)
class Drawn:
    """Where a picture lies: as SVG, and as PNG or why it does not."""

    svg: Path
    png: Path | None
    why_no_png: str = ""


def draw(
    bench: Bench,
    picture: Picture,
    profile: Profile | None,
    variant_id: str | None,
    workload: str | None,
) -> Drawn:
    """Write a picture and say where; a former one of the same subject is replaced.

    `profile`: of the variant, or of a report; None: there are no counters, and a roofline is of
    declared work and measured time. The baseline is drawn beside a variant where as much is known
    of it. Raises KernelwrightError for what cannot be drawn, with what is missing.
    """
    if picture == "stalls":
        svg = _stalls(bench, profile, variant_id, workload)
    else:
        svg = _roofline(bench, profile, variant_id, workload)
    subject = variant_id or content_hash(None if profile is None else profile.model_dump())
    place = bench.outdir / FOLDER / f"{subject}.{content_hash(workload)}.{picture}.svg"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(svg, encoding="utf-8")
    image = place.with_suffix(".png")
    try:
        image.write_bytes(png(svg))
    except ToolchainMissing as error:
        image.unlink(missing_ok=True)
        return Drawn(place, None, str(error))
    return Drawn(place, image)


def _stalls(
    bench: Bench, profile: Profile | None, variant_id: str | None, workload: str | None
) -> str:
    from ...analysis.pictures.stalls import StallChart, bars, stalls_svg

    if profile is None:
        raise KernelwrightError(
            "what warps wait for is counted by ncu, and there are no counters",
            valid="picture roofline, of the measured time",
            next_step="give a report that was made elsewhere, or profile where ncu works",
        )
    longest = _longest(profile)
    drawn = [bars(variant_id or "the report", longest)]
    baseline, before = _before(bench, variant_id, workload)
    if baseline is not None and before is not None:
        drawn.insert(0, bars(f"baseline {baseline}", _longest(before)))
    return stalls_svg(
        StallChart(title=_title(longest.name, workload, longest.device), runs=tuple(drawn))
    )


def _roofline(
    bench: Bench, profile: Profile | None, variant_id: str | None, workload: str | None
) -> str:
    from ...analysis.pictures.roofline import chart, roofline_svg

    if variant_id is None or workload is None:
        raise KernelwrightError(
            "a report does not say which operations its kernels must do",
            valid="variant_id beside report; or picture stalls",
            next_step="open_kernel with io.flops in the spec, and give its variant_id",
        )
    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    runs = [(variant_id, variant_id, profile)]
    baseline, before = _before(bench, variant_id, workload)
    if baseline is not None and _device(before) == _device(profile):
        runs.insert(0, (f"baseline {baseline}", baseline, before))
    measured = all(workload in measured_ms(bench, kernel, each) for _, each, _ in runs)
    peaks = _peaks(bench, kernel, None if measured else _device(profile))
    drawn = [
        timed
        for label, each, its in runs
        if (timed := _timed(bench, kernel, label, each, workload, its, peaks, measured))
    ]
    if not drawn:
        raise KernelwrightError(
            f"{variant_id} has neither a measured time nor counters",
            next_step="time_variant, or ncu_summary where ncu works",
        )
    device = _device(profile) if peaks is None else peaks.device
    title = _title(kernel.loaded.spec.name, workload, device or "")
    return roofline_svg(chart(title, drawn, peaks))


def _timed(
    bench: Bench,
    kernel: KernelRecord,
    label: str,
    variant_id: str,
    workload: str,
    profile: Profile | None,
    peaks: Peaks | None,
    measured: bool,
) -> Timed | None:
    """One run; None where nothing says how long it takes. Both runs have times of one kind."""
    from ...analysis.levels import levels
    from ...analysis.pictures.roofline import Timed

    work = facts_for(kernel, workload).work
    milliseconds = measured_ms(bench, kernel, variant_id).get(workload) if measured else None
    seconds = None if milliseconds is None else milliseconds / 1e3
    note = "measured"
    if seconds is None and profile is not None:
        times = [launch.nanoseconds for launch in profile.launches]
        known = [time for time in times if time is not None]
        seconds = sum(known) / 1e9 if known and len(known) == len(times) else None
        note = "under ncu"
    if not seconds:
        return None
    roofs = levels(profile, work, timed_roofline(bench, kernel, variant_id, workload, peaks))
    return Timed(label, work, seconds, roofs, note)


def _before(
    bench: Bench, variant_id: str | None, workload: str | None
) -> tuple[str | None, Profile | None]:
    """The baseline of a variant, and its kept profile; None for a baseline itself."""
    if variant_id is None or workload is None:
        return None, None
    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    if kernel.baseline == variant_id:
        return None, None
    return kernel.baseline, kept_profile(bench, kernel.baseline, workload)


def _peaks(bench: Bench, kernel: KernelRecord, device: str | None) -> Peaks | None:
    """The peaks of the GPU that the times are of; None where they are not known. `device`: the one
    that ncu counted on, which a report made elsewhere may name; None: the kernel's own."""
    from ...runners.limits.gpu_limits import gpu_peaks
    from ...runners.specs.devices import facts_of

    own = bench.gpus.target(kernel.loaded)
    if device is None or own is None or own.name == device:
        return known_peaks(bench, kernel)
    other = facts_of(device)
    return None if other is None else gpu_peaks(other, kernel.loaded.spec.io, None)


def _device(profile: Profile | None) -> str | None:
    """The GPU that was counted on, by its name; None: there are no counters."""
    return None if profile is None else _longest(profile).device


def _longest(profile: Profile) -> KernelProfile:
    return max(profile.launches, key=lambda each: each.nanoseconds or 0.0)


def _title(name: str, workload: str | None, device: str) -> str:
    return ", ".join(part for part in (name, workload, device) if part)
