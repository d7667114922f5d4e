"""Profiles of variants: made once and kept beside the state, or read from a user's report."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ..runners.errors import ProfileFailed, SpecError
from ..runners.model import Record, content_hash
from ..runners.profiling.model import Profile
from .describing import cut
from .progress import report as tell

if TYPE_CHECKING:
    from ..runners.plans.plan import Artifact, LaunchPlan
    from .workbench import Workbench

FOLDER = "profiles"


class KeptProfile(Record):
    """What lies beside a report, so that it need not be read again."""

    full: bool
    """with everything that ncu can collect"""
    profile: Profile


@dataclass(frozen=True, slots=True)
class Profiled:
    """A profile and its report."""

    profile: Profile
    report: Path


def workload_of(bench: Workbench, variant_id: str, wanted: str | None) -> str:
    """The visible workload of that name; None: the first. Raises HandleUnknown; SpecError for one
    that is not there, and for host code."""
    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    if kernel.spec.kernel.kernel_type == "cpp":
        raise SpecError(
            f"{variant_id} is host C++, which ncu does not profile",
            next_step=f"inspect what variant, id {variant_id} tells its times and headroom",
        )
    names = visible(bench, variant_id)
    if wanted is not None and wanted not in names:
        raise SpecError(f"no workload `{wanted}`", valid=", ".join(names))
    return names[0] if wanted is None else wanted


def visible(bench: Workbench, variant_id: str) -> tuple[str, ...]:
    """The workloads of a variant that are not held out. Raises HandleUnknown."""
    kernel = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id)
    return tuple(w.name for w in kernel.spec.workloads if not w.held_out)


def profile_variant(
    bench: Workbench, variant_id: str, workload: str, *, full: bool, again: bool
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
    return Profiled(kept.profile, report)


def kept_profile(bench: Workbench, variant_id: str, workload: str) -> Profile | None:
    """The profile that an earlier call made; None where there is none. Nothing is run."""
    kept = _kept(_report(bench, variant_id, workload))
    return None if kept is None else kept.profile


def import_profile(bench: Workbench, path: str) -> Profiled:
    """The profile in a report beneath the allowed roots, of whatever it is.

    Raises AccessError, ToolchainMissing, ProfileFailed.
    """
    report = bench.roots.file(path, bench.roots.folders[0])
    return Profiled(read(bench, report), report)


def import_for_variant(bench: Workbench, path: str, variant_id: str, workload: str) -> Profiled:
    """The profile in a report made elsewhere of this variant; kept as if it had been made here,
    unless one is kept. Raises as `import_profile`, and where it is of other kernels or launches."""
    found = bench.roots.file(path, bench.roots.folders[0])
    plans = _built(bench, variant_id).plans
    profile = read(bench, found, entries_of(plans.values()))
    _check_launches(profile, plans, visible(bench, variant_id), workload)
    report = _report(bench, variant_id, workload)
    if _kept(report) is None:
        report.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found, report)
        _keep(report, KeptProfile(full=False, profile=profile))
    return Profiled(profile, found)


def read(
    bench: Workbench,
    report: Path,
    expected: Collection[str] = (),
    instances: Collection[str] = (),
) -> Profile:
    """A report, read now."""
    from ..runners.profiling.reading import read_profile

    return read_profile(report, bench.outdir / FOLDER, expected, instances)


def entries_of(plans: Iterable[LaunchPlan]) -> tuple[str, ...]:
    """The kernels that plans launch, as the machine code calls them."""
    return tuple(dict.fromkeys(kernel.entry for plan in plans for kernel in plan.kernels))


def _check_launches(
    profile: Profile, plans: Mapping[str, LaunchPlan], visible: Sequence[str], workload: str
) -> None:
    """Raises ProfileFailed where a launch of a report is none of the workload's; the error names
    the visible workload that it is of, where there is one."""
    from ..runners.profiling.fitting import launched, misfit

    wrong = misfit(profile, plans[workload])
    if not wrong:
        return
    of_another = next((name for name in visible if not misfit(profile, plans[name])), None)
    alone = "profile it here (leave report out), or read the report alone (leave variant_id out)"
    raise ProfileFailed(
        f"the report is of another launch than those for workload `{workload}`: {wrong}",
        valid=launched(plans[workload]),
        next_step=(
            f"give the report of this variant, {alone}"
            if of_another is None
            else f"it is of workload `{of_another}`: name that one"
        ),
    )


def _built(bench: Workbench, variant_id: str) -> Artifact:
    """What became of a variant that builds. Raises SpecError."""
    outcome = bench.evaluator.build(bench.evaluator.variant(variant_id))
    if outcome.artifact is None:
        raise SpecError(
            f"{variant_id} does not build: {cut(outcome.message, 800)}",
            next_step="correct it and call compile_variant",
        )
    return outcome.artifact


def _report(bench: Workbench, variant_id: str, workload: str) -> Path:
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
