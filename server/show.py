"""`kernelwright show`: what an outdir holds, without starting anything."""

from __future__ import annotations

import json
from pathlib import Path

from ..evaluation.difference import source_diff
from ..runners.errors import AccessError
from ..runners.model import Evaluation
from ..search.outdir.overview import searches, variants
from ..search.stored.records import SearchRecord
from ..store.evaluations import confirmation_of, evaluation_of
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
    path = outdir / STATE_FILE
    if not path.is_file():
        raise AccessError(
            f"{outdir} holds no {STATE_FILE}",
            valid="the --outdir of an earlier `optimize`, or a project's .kernelwright",
        )
    with Store.open(path) as store:
        if not handle:
            _show_all(store)
            return
        kind, whole = find(store, handle)
        if kind == "kernel":
            _show_kernel(store, whole)
        elif kind == "search":
            search = search_record(store, whole, SearchRecord)
            console().print(search_table([search]))
            _show_kernel(store, search.kernel_id)
        else:
            _show_variant(store, whole)


def _show_all(store: Store) -> None:
    known = kernel_records(store)
    console().print(kernel_table([(k, evaluation_of(store, k.incumbent)) for k in known]))
    console().print(search_table([s for k in known for s in searches(store, k.kernel_id)]))


def _show_kernel(store: Store, kernel_id: str) -> None:
    kernel = kernel_record(store, kernel_id)
    console().print(kernel_table([(kernel, evaluation_of(store, kernel.incumbent))]))
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
