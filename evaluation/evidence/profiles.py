"""Profiles of variants: made once and kept beside the state, or read from a user's report."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ...runners.errors import ProfileFailed, SpecError
from ...runners.model import Record, content_hash
from ...runners.profiling.model import Profile
from ...runners.progress import report as tell
from ...runners.wording import cut

if TYPE_CHECKING:
    from ...runners.plans.plan import Artifact, LaunchPlan
    from ..bench import Bench

FOLDER = "profiles"


class KeptProfile(Record):
    """What lies beside a report, so that it need not be read again."""

    full: bool
    """with everything that ncu can collect"""
    profile: Profile
    places: tuple[int, ...] | None = None
    """of its launches in the report; None: all of them"""


@dataclass(frozen=True, slots=True)
class Profiled:
    """A profile and its report."""

    profile: Profile
    report: Path
    places: tuple[int, ...] | None = None
    """of its launches in the report; None: all of them"""


def workload_of(bench: Bench, variant_id: str, wanted: str | None) -> str:
    """The visible workload of that name; None: the first. Raises HandleUnknown; SpecError for one
    that is not there, and for host code."""
    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    language = kernel.spec.kernel.language
    if not language.on_gpu:
        raise SpecError(
            f"{variant_id} is {language.title}, which ncu does not profile",
            next_step=f"inspect what variant, id {variant_id} tells its times and headroom",
        )
    names = visible(bench, variant_id)
    if wanted is not None and wanted not in names:
        raise SpecError(f"no workload `{wanted}`", valid=", ".join(names))
    return names[0] if wanted is None else wanted


def visible(bench: Bench, variant_id: str) -> tuple[str, ...]:
    """The workloads of a variant that are not held out. Raises HandleUnknown."""
    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    return tuple(w.name for w in kernel.spec.workloads if not w.held_out)


def profile_variant(
    bench: Bench, variant_id: str, workload: str, *, full: bool, again: bool
) -> Profiled:
    """The profile of a variant: an earlier one where it holds what is asked for.

    Raises SpecError for one that does not build; DeviceMissing, ToolchainMissing, ProfileFailed.
    """
    report = _report(bench, variant_id, workload)
    kept = None if again else _kept(report)
    if kept is None or (full and not kept.full):
        _built(bench, variant_id)
        report.parent.mkdir(parents=True, exist_ok=True)
        tell("profile")
        made = bench.evaluator.profile(variant_id, workload, report, full=full)
        kept = KeptProfile(full=full, profile=made)
        _keep(report, kept)
    return Profiled(kept.profile, report, kept.places)


def kept_profile(bench: Bench, variant_id: str, workload: str) -> Profile | None:
    """The profile that an earlier call made; None where there is none. Nothing is run."""
    kept = _kept(_report(bench, variant_id, workload))
    return None if kept is None else kept.profile


def import_profile(bench: Bench, path: str) -> Profiled:
    """The profile in a report beneath the allowed roots, of whatever it is.

    Raises AccessError, ToolchainMissing, ProfileFailed.
    """
    report = bench.roots.file(path, bench.roots.folders[0])
    return Profiled(read(bench, report), report)


def import_for_variant(bench: Bench, path: str, variant_id: str, workload: str) -> Profiled:
    """The profile in a report made elsewhere of the launches that are this variant's; kept as if it
    had been made here, unless one is kept. Raises as `import_profile`, and where none is."""
    found = bench.roots.file(path, bench.roots.folders[0])
    whole = read(bench, found)
    plans = _built(bench, variant_id).plans
    places = _places(whole, plans, visible(bench, variant_id), workload)
    profile = whole if places is None else _narrowed(whole, places)
    report = _report(bench, variant_id, workload)
    if _kept(report) is None:
        report.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found, report)
        _keep(report, KeptProfile(full=False, profile=profile, places=places))
    return Profiled(profile, found, places)


def with_instances(bench: Bench, profiled: Profiled, metric: str) -> Profile:
    """A profile, read anew with the instances of a metric."""
    whole = read(bench, profiled.report, [metric])
    return whole if profiled.places is None else _narrowed(whole, profiled.places)


def read(bench: Bench, report: Path, instances: Collection[str] = ()) -> Profile:
    """A report, read now."""
    from ...runners.profiling.reading import read_profile

    return read_profile(report, bench.outdir / FOLDER, instances=instances)


def _narrowed(whole: Profile, places: Sequence[int]) -> Profile:
    own = tuple(whole.launches[place] for place in places)
    return whole.model_copy(update={"launches": own})


def _places(
    profile: Profile, plans: Mapping[str, LaunchPlan], visible: Sequence[str], workload: str
) -> tuple[int, ...] | None:
    """Which launches of a report are the workload's; None: all.

    Raises ProfileFailed where none is; the error names the visible workload that one is of.
    """
    from ...runners.profiling.fitting import launched, launches_of, misfit

    places = launches_of(plans[workload], profile)
    if places:
        return None if len(places) == len(profile.launches) else places
    of_another = next((name for name in visible if launches_of(plans[name], profile)), None)
    alone = "profile it here (leave report out), or read the report alone (leave variant_id out)"
    raise ProfileFailed(
        f"no launch in the report is one for workload `{workload}`: "
        f"{misfit(profile, plans[workload])}",
        valid=launched(plans[workload]),
        next_step=(
            f"give the report of this variant, {alone}"
            if of_another is None
            else f"it is of workload `{of_another}`: name that one"
        ),
    )


def _built(bench: Bench, variant_id: str) -> Artifact:
    """What became of a variant that builds. Raises SpecError."""
    outcome = bench.evaluator.build(bench.evaluator.variant(variant_id))
    if outcome.artifact is None:
        raise SpecError(
            f"{variant_id} does not build: {cut(outcome.message, 800)}",
            next_step="correct it and call compile_variant",
        )
    return outcome.artifact


def _report(bench: Bench, variant_id: str, workload: str) -> Path:
    """Names of workloads are the user's own, and no names of files."""
    return bench.outdir / FOLDER / f"{variant_id}.{content_hash(workload)}.ncu-rep"


def _keep(report: Path, kept: KeptProfile) -> None:
    _beside(report).write_text(kept.model_dump_json(), encoding="utf-8")


def _beside(report: Path) -> Path:
    return report.with_suffix(".json")


def _kept(report: Path) -> KeptProfile | None:
    """What an earlier call kept; None where a part of it is gone, or of another version."""
    try:
        kept = KeptProfile.model_validate_json(_beside(report).read_bytes())
    except (OSError, ValidationError):
        return None
    return kept if report.exists() else None
