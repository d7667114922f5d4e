"""What lies beside a variant's source: `control.json`, `result.json` and the logs; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from ...runners.model import Ending, Evaluation
from ...runners.toolchains.build_line import BuildLine
from ...runners.wording import speedup_text
from ...store.records import Confirmation, Figure, KernelRecord, VariantRecord, shapes_of
from .formats import BuildControl, ConfirmedInBrief, ControlFile, OpenedBaseline, ResultFile


def control(kernel: KernelRecord, record: VariantRecord, line: BuildLine | None) -> ControlFile:
    """All that makes the variant, beside its source."""
    spec, variant = kernel.loaded.spec.kernel, record.variant
    return ControlFile(
        kernel_id=kernel.kernel_id,
        variant_id=variant.variant_id,
        parent=record.parent,
        method=record.method,
        detail=record.detail,
        kernel_type=spec.kernel_type,
        entry=spec.metadata.kernel_name,
        parameters=variant.parameters,
        options=variant.options,
        environment=kernel.loaded.environment,
        build=None if line is None else BuildControl(**asdict(line)),
        plan=variant.plan,
    )


def result(
    evaluation: Evaluation | None,
    confirmation: Confirmation | None,
    baseline_ms: Mapping[str, float] | None,
) -> ResultFile | OpenedBaseline | None:
    """The evaluation with what the winner's gates found; `baseline_ms`: of the baseline alone.
    None where nothing is known."""
    times = None if baseline_ms is None else dict(baseline_ms)
    if evaluation is None:
        return None if times is None else OpenedBaseline(median_ms=times)
    facts = {name: getattr(evaluation, name) for name in Evaluation.model_fields}
    return ResultFile(**facts, median_ms=times, confirmation=confirmation)


def in_brief(found: Confirmation) -> ConfirmedInBrief:
    """What a summary says of the winner's gates."""
    return ConfirmedInBrief(
        accepted=found.accepted,
        right=found.right,
        message=found.message,
        rests_on=shapes_of(found),
    )


def logs(evaluation: Evaluation) -> dict[str, str]:
    """Texts by the names of their files. What was built has a `build.log`; what ran a `stdout.log`,
    empty where it printed nothing; `stderr.log` where somebody had to say something."""
    found = {"build.log": build_log(evaluation), "stderr.log": _messages(evaluation)}
    kept = {name: text for name, text in found.items() if text}
    return kept | ({"stdout.log": evaluation.printed} if _ran(evaluation) else {})


def build_log(evaluation: Evaluation) -> str:
    """What was called to build it, with what, how long each part took, and what was said."""
    built = evaluation.build
    if built is None:
        failed = evaluation.ending is Ending.build_failed
        return evaluation.message + "\n" if failed else ""
    used = ", ".join(f"{tool} {version}" for tool, version in sorted(built.versions.items()))
    parts = ", ".join(f"{part} {seconds:.3g} s" for part, seconds in built.stages.items())
    lines = [built.command, f"{built.compiler}: {built.seconds:.3g} s"]
    lines += [f"with {used}"] if used else []
    lines += [parts] if parts else []
    return "".join(line + "\n" for line in [*lines, *built.warnings])


def speed(told: Figure, is_baseline: bool) -> str:
    """What `build.sh` says of the variant that it builds."""
    if is_baseline:
        return "the baseline"
    gained = speedup_text(told.speedup, told.interval) or "not measured"
    confirmed = ", confirmed" if told.confirmed else ""
    return f"built so it was timed: {gained} the baseline{confirmed}"


def _ran(evaluation: Evaluation) -> bool:
    return "check" in evaluation.seconds or evaluation.comparison is not None


def _messages(evaluation: Evaluation) -> str:
    """What the compiler, or the program that failed, had to say."""
    lines = list(evaluation.build.warnings) if evaluation.build is not None else []
    if not evaluation.ending.measured:
        lines.append(evaluation.message)
    return "".join(line + "\n" for line in lines)
