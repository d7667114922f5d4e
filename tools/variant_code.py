"""PTX and machine code of a variant's kernels, built and listed when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..analysis.ptx import read_ptx
from ..analysis.sass import read_sass
from ..analysis.spans import KernelCode, SourceLine, join, source_lines, text_lines
from ..runners.errors import SpecError
from ..runners.plans.plan import Module, module_name
from .describing import cut
from .records import ArtifactRecord

if TYPE_CHECKING:
    from ..runners.plans.plan import Artifact
    from .records import KernelRecord, VariantRecord
    from .workbench import Workbench


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that a variant is built from."""

    name: str
    texts: tuple[str, ...]
    """its lines, without their ends"""
    lines: tuple[SourceLine, ...]


def code_of_variant(
    bench: Workbench, variant_id: str, workload: str | None, kernel: str | None
) -> tuple[KernelCode, ...]:
    """The kernels that a variant launches for one workload, in the order of its plan; of one name
    alone, where one is given.

    Raises HandleUnknown; SpecError for host code, a variant that does not build, a workload that is
    not there or not shown, and a kernel that is not launched.
    """
    record = bench.evaluator.variant(variant_id)
    opened = bench.evaluator.kernel(record.variant.kernel_id)
    if opened.spec.kernel.kernel_type == "cpp":
        raise SpecError(
            f"{variant_id} is host C++: it has no PTX and no machine code of a GPU",
            next_step=f"inspect what variant, id {variant_id}, part build says what its build told",
        )
    label = _workload(opened, workload)
    artifact = _listed(bench, record)
    launched = {(each.entry, each.sha256): None for each in artifact.plans[label].kernels}
    if kernel is not None and kernel not in {entry for entry, _ in launched}:
        names = ", ".join(dict.fromkeys(entry for entry, _ in launched))
        raise SpecError(f"{variant_id} launches no kernel `{kernel}` for {label}", valid=names)
    return tuple(
        _code(bench, artifact, entry, sha256)
        for entry, sha256 in launched
        if kernel in (None, entry)
    )


def file_of_variant(bench: Workbench, variant_id: str, name: str | None) -> SourceFile:
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


def _listed(bench: Workbench, record: VariantRecord) -> Artifact:
    """The artifact of a variant, with listings where there is a disassembler."""
    variant_id = record.variant.variant_id
    outcome = bench.evaluator.build(record)
    if outcome.artifact is None:
        raise SpecError(
            f"{variant_id} does not build, so it has no code: {cut(outcome.message, 800)}",
            next_step="correct it and call compile_variant",
        )
    bench.evaluator.list_code(variant_id)
    return bench.store.require_record("artifacts", variant_id, ArtifactRecord).artifact


def _code(bench: Workbench, artifact: Artifact, entry: str, sha256: str) -> KernelCode:
    beside = {m.kind: m for m in artifact.modules if m.of == sha256}
    (cubin,) = (m for m in artifact.modules if m.sha256 == sha256 and m.kind == "cubin")
    if "ptx" not in beside:
        raise SpecError(f"the build of {artifact.variant_id} kept no PTX of `{entry}`")
    texts = _texts(bench, beside)
    sass = read_sass(_content(bench, cubin), texts.get("sass"))
    return join(entry, read_ptx(texts["ptx"]), sass)


def _texts(bench: Workbench, modules: Mapping[str, Module]) -> dict[str, str]:
    return {k: _content(bench, m).decode("utf-8", "replace") for k, m in modules.items()}


def _content(bench: Workbench, module: Module) -> bytes:
    return (bench.outdir / "modules" / module_name(module)).read_bytes()
