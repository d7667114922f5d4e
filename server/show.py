"""`kernelwright show`: what an outdir holds, without starting anything."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..evaluation.difference import source_diff
from ..runners.errors import HandleUnknown, SpecError
from ..runners.model import Evaluation
from ..runners.whole_files import write_whole
from ..search.outdir.overview import searches, variants
from ..search.outdir.report import kernel_report, outdir_report, report_of, state_file
from ..search.session.exchanges import Costs, costs_of
from ..search.stored.records import SearchRecord
from ..store.evaluations import confirmation_of, evaluation_of, figure_of
from ..store.handles import find
from ..store.kernels import kernel_record, kernel_records
from ..store.records import Confirmation
from ..store.searches import search_record
from ..store.store import Store
from ..store.variants import variant_record
from .tables import gate_table, kernel_table, search_table, variant_table
from .terminal.grid import console
from .terminal.reports import markdown

NOTHING_YET = (
    "no kernel was opened here yet: `optimize` was stopped before its baseline was built, checked "
    "and timed; the same call begins with that, also with --resume"
)


def show_handle(outdir: Path, handle: str) -> None:
    """Print tables of the state folder, or of one kernel, variant or search in it.

    Raises AccessError when there is no state, and HandleUnknown.
    """
    with Store.open(state_file(outdir)) as store:
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


def show_json(outdir: Path, handle: str) -> None:
    """Print the state folder, or one kernel or variant of it, as JSON (`outdir/report.py`).

    A variant has its source, evaluation and confirmation besides. Raises AccessError when there is
    no state, HandleUnknown, and SpecError for a search, which lies in the JSON of its kernel.
    """
    with Store.open(state_file(outdir)) as store:
        if not handle:
            print(outdir_report(store).model_dump_json(indent=2))
            return
        kind, whole = find(store, handle)
        if kind == "kernel":
            print(kernel_report(store, kernel_record(store, whole)).model_dump_json(indent=2))
        elif kind == "variant":
            print(json.dumps(_variant_data(store, whole), indent=2))
        else:
            raise SpecError(
                f"{whole} is a search: --json tells kernels and variants",
                next_step=f"show {outdir} KERNEL --json has its searches; search_state.json "
                "beside its variants has their steps",
            )


def write_markdown(outdir: Path, to: Path) -> None:
    """Write the tables of a state folder as Markdown. Raises AccessError when there is none."""
    write_whole(to, markdown(report_of(outdir)))


def _variant_data(store: Store, variant_id: str) -> dict[str, Any]:
    record = variant_record(store, variant_id)
    report = kernel_report(store, kernel_record(store, record.variant.kernel_id))
    told = next(each for each in report.variants if each.variant_id == variant_id)
    evaluation, confirmation = evaluation_of(store, variant_id), confirmation_of(store, variant_id)
    return {
        "kernel_id": report.kernel_id,
        **told.model_dump(mode="json"),
        "source": record.variant.source,
        "evaluation": None if evaluation is None else evaluation.model_dump(mode="json"),
        "confirmation": None if confirmation is None else confirmation.model_dump(mode="json"),
    }


def show_brief(outdir: Path, kernel: str, variant: str, as_json: bool) -> None:
    """Print what a planner is told of a variant of a kernel, as Markdown or as JSON.

    `variant`: an id or its beginning, baseline or incumbent. Raises AccessError, HandleUnknown,
    SpecError.
    """
    from ..search.session.workbench import Workbench
    from ..tools.brief.assemble import brief_of
    from ..tools.parts.describing import resolve_variant

    state_file(outdir)
    with Workbench(outdir, [outdir]) as bench:
        kind, kernel_id = find(bench.store, kernel)
        if kind != "kernel":
            raise HandleUnknown(f"`{kernel}` is a {kind}", valid="with --brief, a kernel")
        names = ("baseline", "incumbent")
        whole = variant if variant in names else find(bench.store, variant)[1]
        record = resolve_variant(bench, bench.evaluator.kernel(kernel_id), whole)
        brief = brief_of(bench, record.variant.variant_id)
    print(brief.model_dump_json(indent=2) if as_json else brief.markdown())


def _show_all(store: Store) -> None:
    known = kernel_records(store)
    if not known:
        print(NOTHING_YET)
        return
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
