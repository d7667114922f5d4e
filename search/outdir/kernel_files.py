"""Files of the outdir, for people, editors and scripts: `<outdir>/kernels/<name>/...`.

The SQLite file is the truth and every file here follows from it. Only `events.jsonl` is
appended as things happen. Files are replaced whole, so a reader never sees half of one.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ...evaluation.difference import changed_between, source_diff
from ...runners import openmp
from ...runners.toolchains.build_line import BuildLine, build_line, script
from ...runners.whole_files import replacing, write_whole
from ...store.evaluations import confirmation_of, evaluation_of, figure, figure_of
from ...store.kernels import kernel_record, kernels_named
from ...store.records import KernelRecord, VariantRecord
from ...store.searches import search_record
from ...store.store import Store
from ...store.variants import known_artifact, variant_record, variants_by_id
from ..stored.graph import graph_of
from ..stored.records import SearchRecord
from .events import append_events
from .formats import BestSummary
from .regraph_files import publish
from .search_state import search_state
from .side_by_side import baseline_beside, candidate_ms
from .trace import SearchTrace, trace
from .variant_texts import control, in_brief, logs, result, speed

EVERY_S = 10.0
"""A search may end a step many times a second; its files are not rewritten more often."""
REGRAPH_S = 60.0
"""What follows from all transitions is worked out anew no more often, until a search stops."""

JsonObject = dict[str, Any]


class KernelFiles:
    """Writes the files of kernels in one outdir. Safe to share between threads."""

    def __init__(
        self, store: Store, outdir: Path, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._outdir = outdir
        self._clock = clock
        self._last: dict[str, float] = {}
        self._regraph = float("-inf")
        self._folders: dict[str, Path] = {}
        self._settled: set[str] = set()
        self._lock = threading.Lock()

    def folder(self, kernel_id: str) -> Path:
        """`kernels/<name>`; a later kernel of the same name lies under its kernel_id."""
        if kernel_id not in self._folders:
            name = kernel_record(self._store, kernel_id).loaded.spec.name
            first = kernels_named(self._store, name)[0]
            chosen = name if first == kernel_id else kernel_id
            self._folders[kernel_id] = self._outdir / "kernels" / chosen
        return self._folders[kernel_id]

    def append(self, kernel_id: str, event: str, facts: JsonObject) -> None:
        """One more line of `events.jsonl`: time, event and facts."""
        self.append_all(kernel_id, [{"event": event, **facts}])

    def append_all(self, kernel_id: str, events: Iterable[JsonObject]) -> None:
        """More lines of it, each with its `event`."""
        append_events(self.folder(kernel_id), events)

    def write_if_due(self, kernel_id: str, search_id: str | None = None) -> bool:
        """`write`, unless the kernel's files were written less than `EVERY_S` ago."""
        if self._clock() - self._last.get(kernel_id, float("-inf")) < EVERY_S:
            return False
        self.write(kernel_id, search_id)
        return True

    def write(self, kernel_id: str, search_id: str | None = None) -> Path:
        """Bring all files of a kernel up to date, with one search's state and trace, and what the
        outdir keeps of ReGraph (`regraph_files.publish`).

        Returns the kernel's folder. Raises HandleUnknown.
        """
        with self._lock:
            kernel, folder = kernel_record(self._store, kernel_id), self.folder(kernel_id)
            variants = variants_by_id(self._store, kernel_id)
            for record in variants.values():
                self._write_variant(kernel, record, variants, folder)
            _write_json(folder / "kernel.json", kernel.loaded)
            best = self._best(kernel)
            _point(folder / "best", _place(kernel, best.variant.variant_id))
            _write_json(folder / "best_summary.json", self._summary(kernel, best, variants))
            if search_id is not None:
                search = search_record(self._store, search_id, SearchRecord)
                self._write_search(kernel, search, variants, folder)
                whole = search.stopped is not None or self._clock() - self._regraph >= REGRAPH_S
                publish(self._store, self._outdir, whole=whole)
                self._regraph = self._clock() if whole else self._regraph
            self._last[kernel_id] = self._clock()
            return folder

    def _best(self, kernel: KernelRecord) -> VariantRecord:
        """The incumbent, or the baseline where the incumbent was found wrong in the end."""
        found = confirmation_of(self._store, kernel.incumbent)
        best = kernel.baseline if found is not None and not found.right else kernel.incumbent
        return variant_record(self._store, best)

    def _write_variant(
        self,
        kernel: KernelRecord,
        record: VariantRecord,
        variants: dict[str, VariantRecord],
        folder: Path,
    ) -> None:
        variant_id = record.variant.variant_id
        target = folder / _place(kernel, variant_id)
        settled = variant_id in self._settled - {kernel.incumbent, kernel.baseline}
        if settled and (target / "control.json").is_file():
            return
        evaluation = evaluation_of(self._store, variant_id)
        source = kernel.loaded.spec.kernel.language.file_name
        _write(target / source, record.variant.source)
        line = self._build_line(kernel, record, target)
        _write_json(target / "control.json", control(kernel, record, line))
        if record.parent in variants:
            diff = source_diff(
                variants[record.parent].variant.source, record.variant.source, source
            )
            if diff:
                _write(target / "candidate.diff", diff)
        self._write_listings(variant_id, target)
        told = result(
            evaluation,
            confirmation_of(self._store, variant_id),
            kernel.baseline_ms if variant_id == kernel.baseline else None,
        )
        if evaluation is not None:
            for name, text in logs(evaluation).items():
                _write(target / name, text)
        if told is not None:
            _write_json(target / "result.json", told)
        if variant_id == kernel.baseline or (evaluation is not None and evaluation.ending.final):
            self._settled.add(variant_id)

    def _build_line(
        self, kernel: KernelRecord, record: VariantRecord, target: Path
    ) -> BuildLine | None:
        """How to build the variant where it lies, which is written beside it as `build.sh`."""
        loaded, variant_id = kernel.loaded, record.variant.variant_id
        known = known_artifact(self._store, variant_id)
        compiler = None if known is None else known.facts.command.split()[0]
        files = self.folder(kernel.kernel_id) / "files"
        line = build_line(
            loaded,
            record.variant,
            source=loaded.spec.kernel.language.file_name,
            files=os.path.relpath(files, target),
            compiler=compiler,
        )
        if line is None:
            return None
        for name, text in loaded.files.items():
            _write(files / name, text)
        told = speed(figure_of(self._store, variant_id), variant_id == kernel.baseline)
        _write(target / "build.sh", script(line, openmp.told(loaded.environment), told))
        return line

    def _write_listings(self, variant_id: str, target: Path) -> None:
        """Machine code of a GPU variant with its PTX, and SASS where it was asked for
        (`Evaluator.list_code`); several modules are numbered."""
        known = known_artifact(self._store, variant_id)
        modules = () if known is None else known.artifact.modules
        for kind in ("cubin", "ptx", "sass"):
            same = [m for m in modules if m.kind == kind]
            for number, module in enumerate(same):
                kept = self._outdir / "modules" / f"{module.sha256}.{kind}"
                if kept.is_file():
                    suffix = f".{number}" if number else ""
                    _write_bytes(target / f"kernel{suffix}.{kind}", kept.read_bytes())

    def _summary(
        self, kernel: KernelRecord, best: VariantRecord, variants: dict[str, VariantRecord]
    ) -> BestSummary:
        variant_id = best.variant.variant_id
        evaluation = evaluation_of(self._store, variant_id)
        found = confirmation_of(self._store, variant_id)
        baseline = variants[kernel.baseline].variant
        told = figure(evaluation, found)
        compared = None if evaluation is None else evaluation.comparison
        compared = compared if found is None or found.visible is None else found.visible
        return BestSummary(
            kernel_id=kernel.kernel_id,
            variant_id=variant_id,
            is_baseline=variant_id == kernel.baseline,
            files=str(_place(kernel, variant_id)),
            speedup=1.0 if evaluation is None else told.speedup,
            interval=told.interval,
            confirmed=bool(told.confirmed),
            speedup_in_the_search=None if evaluation is None else evaluation.speedup,
            baseline_ms=dict(kernel.baseline_ms),
            beside_ms=baseline_beside(compared, kernel.baseline),
            best_ms=candidate_ms(compared),
            changed=changed_between(baseline, best.variant),
            method=best.method,
            parameters=best.variant.parameters,
            options=best.variant.options,
            confirmation=None if found is None else in_brief(found),
        )

    def _write_search(
        self,
        kernel: KernelRecord,
        search: SearchRecord,
        variants: dict[str, VariantRecord],
        folder: Path,
    ) -> None:
        graph = graph_of(self._store, search.search_id)
        source = kernel.loaded.spec.kernel.language.file_name
        state = search_state(search, graph, variants, lambda v: _place(kernel, v) / source)
        _write_json(folder / "search_state.json", state)
        confirmation = confirmation_of(self._store, kernel.incumbent)
        _write(
            folder / "trace.md", trace(SearchTrace(kernel, search, graph, variants, confirmation))
        )


def _place(kernel: KernelRecord, variant_id: str) -> Path:
    """Where a variant's files lie, from the kernel's folder."""
    return Path("baseline") if variant_id == kernel.baseline else Path("variants") / variant_id


def _write_json(path: Path, value: BaseModel) -> None:
    text = json.dumps(value.model_dump(mode="json"), indent=2, ensure_ascii=False)
    _write(path, text + "\n")


def _write(path: Path, text: str) -> None:
    _write_bytes(path, text.encode())


def _write_bytes(path: Path, data: bytes) -> None:
    """Replace a file whole, unless it says the same already."""
    if not (path.is_file() and path.read_bytes() == data):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, data)


def _point(link: Path, target: Path) -> None:
    """Let a relative link point to `target`, without a moment in which there is none."""
    if link.is_symlink() and link.readlink() == target:
        return
    with replacing(link) as partial:
        partial.symlink_to(target)
