"""The verb `compile_variant`: a candidate applied and built, nothing of it run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from ..evaluation.difference import changed_between
from ..evaluation.evidence.built_facts import occupancies
from ..runners.model import BuildOptions, Candidate, Ending, KernelFacts, Record, Variant
from ..runners.screens.source import static_screen
from ..runners.wording import cut
from ..search.applying.sent import SentCandidate, renamed
from ..store.evaluations import twin_of
from ..store.records import VariantRecord
from ..store.variants import is_variant
from .base import Tool, WorkArguments
from .parts.calls import call
from .parts.describing import advice, resolve_variant, visible_kernels

if TYPE_CHECKING:
    from ..runners.toolchains import BuildOutcome
    from ..search.session.workbench import Workbench
    from ..store.records import KernelRecord


MOST_FINDINGS = 5


class CompileVariantArguments(WorkArguments):
    """A candidate: any of source, diff, plan, parameters, options, applied to a base."""

    kernel_id: str
    base: str = "incumbent"
    """what the candidate changes: a variant_id, incumbent or baseline"""
    ready: str | None = None
    """handle of a candidate of propose_moves for this base, in place of all others"""
    source: str | None = None
    """the whole new file; beside a diff, for where that does not fit"""
    diff: str | None = None
    """unified diff against the base's source; line numbers need not be exact"""
    plan: dict[str, Any] | None = None
    """launched in place of the spec's: CUDA {"grid", "block", ...} or {"steps": [...]}, Triton
    {"grid", "constexprs", ...}"""
    parameters: dict[str, int] | None = None
    """values that change; the others stay as in the base"""
    options: BuildOptions | None = None
    """in place of the base's"""
    method: str = Field(default="by_hand", min_length=1, max_length=200)
    """the idea: an id of propose_moves, or a word or two"""
    detail: str = ""
    """what exactly was changed"""

    @classmethod
    def as_named(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """`code` is the source, `why` the detail, and so on (`renamed`)."""
        return renamed(given)

    @model_validator(mode="after")
    def _ready_comes_alone(self) -> CompileVariantArguments:
        own = (self.source, self.diff, self.plan, self.parameters, self.options)
        if self.ready is not None and any(part is not None for part in own):
            raise ValueError("a ready-made candidate comes alone: leave out what it would change")
        return self


class CompiledVariant(Record):
    """What became of a build."""

    ok: bool
    variant_id: str
    changed: str
    """against the base"""
    used: str | None = None
    """where a diff and a source were given: which of them, and why"""
    ending: Ending | None = None
    """build_failed, rejected or timed_out where ok is false; else of an earlier evaluation"""
    diagnostics: str | None = None
    compiler: str | None = None
    warnings: tuple[str, ...] = ()
    code_bytes: int | None = None
    kernels: tuple[KernelFacts, ...] = ()
    """GPU kernels: registers, spills, shared memory; `shapes` says for which workloads, and `odd`
    is the gates' own shape"""
    occupancy: tuple[str, ...] = ()
    """GPU kernels and their shapes: blocks that fit on a multiprocessor, and what limits them"""
    findings: tuple[str, ...] = ()
    """GPU kernels: what launch plan, compiler and PTX tell without a run, what matters most first;
    the skill behind it"""
    touches_hot_region: str | None = None
    """whether the base's hot region changed, where a profile of it is kept: by the lines before the
    build (`no, by its lines`: said while it builds, too), else by PTX"""
    logic: str | None = None
    """Triton where no GPU is: what the interpreter says of the logic at a small shape"""
    build_seconds: float | None = None
    known: bool = False
    """this very variant was built or evaluated before"""
    same_code_as: str | None = None
    """a variant whose machine code is the same: its times are shared"""
    advice: str
    next: tuple[str, ...] = ()
    """calls that can be made as they stand"""


def compile_variant(bench: Workbench, arguments: CompileVariantArguments) -> CompiledVariant:
    """Build a candidate and say what the compiler says, and what rules find without a run.

    Give any of source, diff, plan, parameters and options, or `ready` alone. A build that fails is
    an answer: ok is false, diagnostics hold the errors. Then call time_variant with the variant_id;
    or let search_step keep account of what was tried. Takes 0.3 to 5 s.
    Example: {"kernel_id": "softmax-1a2b3c4d", "parameters": {"UNROLL": 8}}
    """
    from ..search.stored.hot_regions import HotRegions

    kernel = bench.evaluator.kernel(arguments.kernel_id)
    base = resolve_variant(bench, kernel, arguments.base)
    candidate, used = _candidate(kernel, base, arguments)
    variant = base.variant if candidate is None else _variant(kernel, base.variant, candidate)
    changed = changed_between(base.variant, variant) or "nothing"
    known = is_variant(bench.store, variant.variant_id)
    spec = kernel.loaded.spec.kernel
    screen = static_screen(
        variant.source, spec.kernel_type, spec.metadata.kernel_name, kernel.loaded.spec.io
    )
    if screen.outcome == "failed":
        return _failed(variant, changed, known, Ending.rejected, screen.message, used)
    record = VariantRecord(
        variant=variant,
        parent=base.variant.variant_id,
        method=arguments.method if candidate is None else candidate.method,
        detail=arguments.detail if candidate is None else candidate.detail,
    )
    hot = HotRegions(bench, kernel)
    touches = None if candidate is None else hot.announced(base.variant.variant_id, candidate)
    outcome = bench.evaluator.build(record)
    if outcome.artifact is None:
        failed = _failed(variant, changed, known, _ending(outcome), outcome.message, used)
        return failed.model_copy(update={"touches_hot_region": touches})
    built = _built(bench, kernel, variant, changed, known, outcome)
    logic = bench.evaluator.logic(record)
    said = None if logic is None else cut(f"{logic.outcome}: {logic.message}", 800)
    if touches is None and candidate is not None:
        touches = hot.touched(base.variant.variant_id, variant.variant_id)
    return built.model_copy(
        update={"logic": said, "used": used or None, "touches_hot_region": touches}
    )


def _candidate(
    kernel: KernelRecord, base: VariantRecord, arguments: CompileVariantArguments
) -> tuple[Candidate | None, str]:
    """None: the base itself; and what was made of a diff beside a source."""
    from .parts.ready_made import ready_made

    if arguments.ready is not None:
        return ready_made(kernel, base, arguments.ready), ""
    wanted: dict[str, Any] = {
        "source": arguments.source,
        "diff": arguments.diff,
        "plan": arguments.plan,
        "parameters": arguments.parameters,
        "options": arguments.options,
    }
    if all(value is None for value in wanted.values()):
        return None, ""
    sent = SentCandidate(method=arguments.method, detail=arguments.detail, **wanted)
    return sent.settled(base.variant.source)


def _variant(kernel: KernelRecord, base: Variant, candidate: Candidate) -> Variant:
    from ..search.stored.variants import variant_from

    return variant_from(kernel, base, candidate)


def _failed(
    variant: Variant, changed: str, known: bool, ending: Ending, message: str, used: str
) -> CompiledVariant:
    return CompiledVariant(
        ok=False,
        variant_id=variant.variant_id,
        changed=changed,
        used=used or None,
        ending=ending,
        diagnostics=cut(message, 3000),
        known=known,
        advice=advice(ending),
        next=(call("propose_moves", kernel_id=variant.kernel_id),),
    )


def _built(
    bench: Workbench,
    kernel: KernelRecord,
    variant: Variant,
    changed: str,
    known: bool,
    outcome: BuildOutcome,
) -> CompiledVariant:
    assert outcome.artifact is not None and outcome.facts is not None
    variant_id, facts = variant.variant_id, outcome.facts
    code = outcome.artifact.code_hash
    same = twin_of(bench.store, kernel.kernel_id, code, variant_id)
    evaluation = bench.evaluator.evaluation(variant_id)
    kernels = visible_kernels(facts.kernels, kernel.spec.workloads)
    following = (call("time_variant", variant_id=variant_id),)
    told = "time it: the checks come first"
    if not bench.gpus.runs(kernel.loaded):
        told = "it is timed where its GPU is; here there is what the compiler says"
        following = (call("inspect", what="variant", id=variant_id, part="build"),)
    if same is not None:
        told = f"same machine code as {same}, so it is as fast; try a change the compiler sees"
    elif evaluation is not None and evaluation.ending.final:
        known_advice = advice(evaluation.ending, evaluation.gates)
        told = f"evaluated before ({cut(evaluation.message, 300)}); {known_advice}"
    return CompiledVariant(
        ok=True,
        variant_id=variant_id,
        changed=changed,
        ending=None if evaluation is None else evaluation.ending,
        compiler=facts.compiler,
        warnings=tuple(cut(w, 200) for w in facts.warnings[:5]),
        code_bytes=facts.code_bytes,
        kernels=kernels,
        occupancy=occupancies(bench, kernel, kernels),
        findings=_findings(bench, kernel, variant_id),
        build_seconds=round(facts.seconds, 2),
        known=known,
        same_code_as=same,
        advice=cut(told, 800),
        next=following,
    )


def _findings(bench: Workbench, kernel: KernelRecord, variant_id: str) -> tuple[str, ...]:
    """Static findings on the first visible workload, a line each."""
    if not kernel.spec.kernel.language.on_gpu:
        return ()
    from ..evaluation.evidence.static_findings import static_findings

    workload = next(w.name for w in kernel.spec.workloads if not w.held_out)
    unrun = static_findings(bench, variant_id, workload)
    if unrun is None:
        return ()
    several = len({launch.kernel for launch in unrun.profile.launches}) > 1
    told = [
        f"{each.rule} ({each.severity}, static)"
        f"{f' {each.kernel}' if several and each.kernel else ''}: {each.text}; skill {each.skill}"
        for each in unrun.found.ranked[:MOST_FINDINGS]
    ]
    return (*told, *unrun.unread)


def _ending(outcome: BuildOutcome) -> Ending:
    if outcome.timed_out:
        return Ending.timed_out
    return Ending.rejected if outcome.rejected else Ending.build_failed


TOOL = Tool(
    name="compile_variant",
    title="Build a candidate",
    run=compile_variant,
    arguments=CompileVariantArguments,
    result=CompiledVariant,
    search_hint="build, compile a change or diff of a kernel; registers, spills, occupancy, "
    "compiler errors",
    read_only=False,
    work=True,
)
