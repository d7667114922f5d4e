"""PTX and machine code of a variant's kernels, built and listed when they are asked for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...analysis.ptx import Module as PtxModule
from ...analysis.ptx import read_ptx
from ...analysis.sass import read_sass
from ...analysis.spans import KernelCode, SourceLine, join, source_lines, text_lines
from ...runners.errors import SpecError
from ...runners.plans.plan import Module, module_name
from ...runners.wording import cut
from ...store.variants import artifact_record

if TYPE_CHECKING:
    from ...runners.plans.plan import Artifact, LaunchPlan
    from ...store.records import KernelRecord, VariantRecord
    from ..bench import Bench


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a variant is built from."""

    name: str
    texts: tuple[str, ...]
    """its lines, without their ends"""
    lines: tuple[SourceLine, ...]


@dataclass(frozen=True, slots=True)
class Launched:
    """A kernel that a variant launches for one workload, as it was built."""

    entry: str
    workload: str
    threads: int
    """of all its launches in one run"""
    cubin: bytes
    ptx: str
    sass: str | None
    """the listing; None: there is no disassembler, or nobody asked for it"""

    def code(self, ptx: PtxModule) -> KernelCode:
        """Its machine code beside its PTX, which was read. Raises SpecError."""
        return join(self.entry, ptx, read_sass(self.cubin, self.sass))


def launched_kernels(
    bench: Bench, variant_id: str, workload: str | None, kernel: str | None, *, listed: bool
) -> tuple[Launched, ...]:
    """The kernels that a variant launches for one workload, in the order of its plan; of one name
    alone, where one is given. `listed`: with a listing, where there is a disassembler.

    Raises HandleUnknown; SpecError for host code, a variant that does not build, a workload that is
    not there or not shown, and a kernel that is not launched.
    """
    record = bench.evaluator.variant(variant_id)
    opened = bench.evaluator.kernel(record.variant.kernel_id)
    artifact = built_artifact(bench, variant_id, listed=listed)
    label = _workload(opened, workload)
    plan = artifact.plans[label]
    entries = {(each.entry, each.sha256): None for each in plan.kernels}
    if kernel is not None and kernel not in {entry for entry, _ in entries}:
        names = ", ".join(dict.fromkeys(entry for entry, _ in entries))
        raise SpecError(f"{variant_id} launches no kernel `{kernel}` for {label}", valid=names)
    return tuple(
        _launched(bench, artifact, plan, entry, sha256)
        for entry, sha256 in entries
        if kernel in (None, entry)
    )


def built_artifact(bench: Bench, variant_id: str, *, listed: bool = False) -> Artifact:
    """Machine code and launches of a GPU variant, built now where it was not; its modules lie in
    `modules/` of the state folder. `listed`: with a listing, where there is a disassembler.

    Raises HandleUnknown, and SpecError for host code and for a variant that does not build.
    """
    record = bench.evaluator.variant(variant_id)
    language = bench.evaluator.kernel(record.variant.kernel_id).spec.kernel.language
    if not language.on_gpu:
        raise SpecError(
            f"{variant_id} is {language.title}: it has no PTX and no machine code of a GPU",
            next_step=f"inspect what variant, id {variant_id}, part build says what its build told",
        )
    return _built(bench, record, listed=listed)


def code_of_variant(
    bench: Bench, variant_id: str, workload: str | None, kernel: str | None
) -> tuple[KernelCode, ...]:
    """PTX and machine code of these kernels; raises as `launched_kernels` does."""
    found = launched_kernels(bench, variant_id, workload, kernel, listed=True)
    return tuple(each.code(read_ptx(each.ptx)) for each in found)


def file_of_variant(bench: Bench, variant_id: str, name: str | None) -> SourceFile:
    """A source file of a variant; None: the kernel's own. Raises HandleUnknown, SpecError."""
    variant = bench.evaluator.variant(variant_id).variant
    loaded = bench.evaluator.kernel(variant.kernel_id).loaded
    files = {**loaded.files, loaded.source_name: variant.source}
    chosen = loaded.source_name if name is None else name
    if chosen not in files:
        raise SpecError(f"{variant_id} has no file `{chosen}`", valid=", ".join(files))
    text = files[chosen]
    lines = source_lines(text, loaded.spec.kernel.kernel_type)
    return SourceFile(chosen, tuple(text_lines(text)), lines)


def _workload(kernel: KernelRecord, wanted: str | None) -> str:
    names = [w.name for w in kernel.spec.workloads if not w.held_out]
    if wanted is not None and wanted not in names:
        raise SpecError(f"no workload `{wanted}`", valid=", ".join(names))
    return names[0] if wanted is None else wanted


def _built(bench: Bench, record: VariantRecord, *, listed: bool) -> Artifact:
    variant_id = record.variant.variant_id
    outcome = bench.evaluator.build(record)
    if outcome.artifact is None:
        raise SpecError(
            f"{variant_id} does not build, so it has no code: {cut(outcome.message, 800)}",
            next_step="correct it and call compile_variant",
        )
    if listed:
        bench.evaluator.list_code(variant_id)
    return artifact_record(bench.store, variant_id).artifact


def _launched(
    bench: Bench, artifact: Artifact, plan: LaunchPlan, entry: str, sha256: str
) -> Launched:
    texts = {m.kind: _content(bench, m) for m in artifact.modules if m.of == sha256}
    (cubin,) = (m for m in artifact.modules if m.sha256 == sha256 and m.kind == "cubin")
    if "ptx" not in texts:
        raise SpecError(f"the build of {artifact.variant_id} kept no PTX of `{entry}`")
    return Launched(
        entry=entry,
        workload=plan.label,
        threads=_threads(plan, entry, sha256),
        cubin=_content(bench, cubin),
        ptx=texts["ptx"].decode("utf-8", "replace"),
        sass=texts["sass"].decode("utf-8", "replace") if "sass" in texts else None,
    )


def _threads(plan: LaunchPlan, entry: str, sha256: str) -> int:
    blocks = {k.id: k.block for k in plan.kernels if (k.entry, k.sha256) == (entry, sha256)}
    launches = [each for each in plan.launches if each.launch in blocks]
    return sum(math.prod((*each.grid, *blocks[each.launch])) for each in launches)


def _content(bench: Bench, module: Module) -> bytes:
    return (bench.outdir / "modules" / module_name(module)).read_bytes()
