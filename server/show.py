"""`kernelwright show`: what an outdir holds, without starting anything."""

from __future__ import annotations

import json
from pathlib import Path

from ..evaluation.difference import source_diff
from ..runners.errors import AccessError, HandleUnknown
from ..runners.model import Evaluation
from ..search.outdir.overview import searches, variants
from ..search.session.exchanges import Costs, costs_of
from ..search.stored.records import SearchRecord
from ..store.evaluations import confirmation_of, evaluation_of, figure_of
from ..store.handles import find
from ..store.kernels import kernel_record, kernel_records
from ..store.records import Confirmation
from ..store.searches import search_record
from ..store.store import STATE_FILE, Store
from ..store.variants import variant_record
from .tables import console, gate_table, kernel_table, search_table, variant_table


def show_handle(outdir: Path, handle: str) -> None:
    """Print tables of the state folder, or of one kernel, variant or search in it.

    Raises AccessError when there is no state, and HandleUnknown.
    """
    with Store.open(require_state(outdir)) as store:
        if not handle:
            _show_all(store)
            return
        kind, whole = find(store, handle)
        if kind == "kernel":
            _show_kernel(store, whole)
        elif kind == "search":
            search = search_record(store, whole, SearchRecord)
            console().print(search_table([search]))
            _show_costs(costs_of(store, whole))
            _show_kernel(store, search.kernel_id)
        else:
            _show_variant(store, whole)


def show_brief(outdir: Path, kernel: str, variant: str, as_json: bool) -> None:
    """Print what a planner is told of a variant of a kernel, as Markdown or as JSON.

    `variant`: an id or its beginning, baseline or incumbent. Raises AccessError, HandleUnknown,
    SpecError.
    """
    from ..search.session.workbench import Workbench
    from ..tools.brief.assemble import brief_of
    from ..tools.parts.describing import resolve_variant

    require_state(outdir)
    with Workbench(outdir, [outdir]) as bench:
        kind, kernel_id = find(bench.store, kernel)
        if kind != "kernel":
            raise HandleUnknown(f"`{kernel}` is a {kind}", valid="with --brief, a kernel")
        names = ("baseline", "incumbent")
        whole = variant if variant in names else find(bench.store, variant)[1]
        record = resolve_variant(bench, bench.evaluator.kernel(kernel_id), whole)
        brief = brief_of(bench, record.variant.variant_id)
    print(brief.model_dump_json(indent=2) if as_json else brief.markdown())


def require_state(outdir: Path) -> Path:
    """The state file of a folder. Raises AccessError where there is none."""
    path = outdir / STATE_FILE
    if not path.is_file():
        raise AccessError(
            f"{outdir} holds no {STATE_FILE}",
            valid="the --outdir of an earlier `optimize`, or a project's .kernelwright",
        )
    return path


def _show_all(store: Store) -> None:
    known = kernel_records(store)
    console().print(kernel_table([(k, figure_of(store, k.incumbent)) for k in known]))
    console().print(search_table([s for k in known for s in searches(store, k.kernel_id)]))


def _show_costs(costs: Costs) -> None:
    """What the answers to a search's questions cost: in all, by model, by section of the brief."""
    if not costs.all.calls:
        return
    print(f"answers: {costs.all.describe()}")
    for model, spent in costs.by_model.items():
        print(f"  {model or 'a program'}: {spent.describe()}")
    sections = sorted(costs.by_section.items(), key=lambda each: -each[1])
    if told := ", ".join(f"{name} {tokens:,}" for name, tokens in sections if tokens):
        print(f"  tokens of their input by section: {told}")


def _show_kernel(store: Store, kernel_id: str) -> None:
    kernel = kernel_record(store, kernel_id)
    console().print(kernel_table([(kernel, figure_of(store, kernel.incumbent))]))
    console().print(search_table(searches(store, kernel_id)))
    console().print(variant_table(variants(store, kernel)))


def _show_variant(store: Store, variant_id: str) -> None:
    record = variant_record(store, variant_id)
    kernel = kernel_record(store, record.variant.kernel_id)
    lines = [line for line in variants(store, kernel) if line.variant_id == variant_id]
    console().print(variant_table(lines))
    name = kernel.loaded.spec.kernel.language.file_name
    if record.parent is not None:
        parent = variant_record(store, record.parent)
        diff = source_diff(parent.variant.source, record.variant.source, name)
        print(f"--- difference from its parent {record.parent}:\n{diff or 'same source'}")
    print(f"--- {name}:\n{record.variant.source}")
    evaluation = evaluation_of(store, variant_id)
    if evaluation is not None:
        _show_evaluation(evaluation, confirmation_of(store, variant_id))


def _show_evaluation(evaluation: Evaluation, confirmation: Confirmation | None) -> None:
    """Gates as tables, and all but their evidence and the times of single blocks as JSON."""
    print(f"--- gates:\n{evaluation.message}")
    console().print(gate_table(evaluation.gates))
    if confirmation is not None:
        print(f"--- gates of the winner:\n{confirmation.message}")
        console().print(gate_table(confirmation.gates))
    told = evaluation.model_dump(mode="json", exclude_none=True, exclude={"gates", "message"})
    for workload in told.get("comparison", {}).get("workloads", ()):
        workload.pop("blocks_ms")
    print("--- evaluation, without evidence and single blocks, which its result.json holds:")
    print(json.dumps(told, indent=2))
