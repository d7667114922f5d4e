"""Files of the outdir, for people, editors and scripts: `<outdir>/kernels/<name>/...`.

The SQLite file is the truth and every file here follows from it. Only `events.jsonl` is
appended as things happen. Files are replaced whole, so a reader never sees half of one.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...evaluation.difference import changed_between, source_diff
from ...runners import openmp
from ...runners.model import Ending, Evaluation
from ...runners.toolchains.build_line import BuildLine, build_line, script
from ...runners.whole_files import replacing, write_whole
from ...runners.wording import speedup_text
from ...store.evaluations import confirmation_of, evaluation_of, figure, figure_of
from ...store.kernels import kernel_record, kernels_named
from ...store.records import Confirmation, Figure, KernelRecord, VariantRecord, now, shapes_of
from ...store.searches import search_record
from ...store.store import Store
from ...store.variants import known_artifact, variant_record, variants_by_id
from ..stored.graph import graph_of
from ..stored.records import SearchRecord
from .regraph_files import publish
from .search_state import search_state
from .trace import SearchTrace, trace

EVERY_S = 10.0
"""A search may end a step many times a second; its files are not rewritten more often."""

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
        line = json.dumps({"time": now(), "event": event, **facts}) + "\n"
        folder = self.folder(kernel_id)
        folder.mkdir(parents=True, exist_ok=True)
        # One write to a file opened for appending: lines of two processes do not mix.
        fd = os.open(folder / "events.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(fd, line.encode())
        finally:
            os.close(fd)

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
            _write_json(folder / "kernel.json", kernel.loaded.model_dump(mode="json"))
            best = self._best(kernel)
            _point(folder / "best", _place(kernel, best.variant.variant_id))
            _write_json(folder / "best_summary.json", self._summary(kernel, best, variants))
            if search_id is not None:
                search = search_record(self._store, search_id, SearchRecord)
                self._write_search(kernel, search, variants, folder)
                publish(self._store, self._outdir, stopped=search.stopped is not None)
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
        if variant_id in self._settled - {kernel.incumbent, kernel.baseline}:
            return
        target = folder / _place(kernel, variant_id)
        evaluation = evaluation_of(self._store, variant_id)
        source = kernel.loaded.spec.kernel.language.file_name
        _write(target / source, record.variant.source)
        line = self._build_line(kernel, record, target)
        _write_json(target / "control.json", _control(kernel, record, line))
        if record.parent in variants:
            diff = source_diff(
                variants[record.parent].variant.source, record.variant.source, source
            )
            if diff:
                _write(target / "candidate.diff", diff)
        self._write_listings(variant_id, target)
        result: JsonObject = {}
        if variant_id == kernel.baseline:
            result = {"median_ms": kernel.baseline_ms}
        if evaluation is not None:
            result |= _result(evaluation, confirmation_of(self._store, variant_id))
            if messages := _messages(evaluation):
                _write(target / "stderr.log", messages)
            if said := _build_log(evaluation):
                _write(target / "build.log", said)
        if result:
            _write_json(target / "result.json", result)
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
        told = _speed(figure_of(self._store, variant_id), variant_id == kernel.baseline)
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
    ) -> JsonObject:
        variant_id = best.variant.variant_id
        evaluation = evaluation_of(self._store, variant_id)
        confirmation = confirmation_of(self._store, variant_id)
        baseline = variants[kernel.baseline].variant
        told = figure(evaluation, confirmation)
        return {
            "kernel_id": kernel.kernel_id,
            "variant_id": variant_id,
            "is_baseline": variant_id == kernel.baseline,
            "files": str(_place(kernel, variant_id)),
            "speedup": 1.0 if evaluation is None else told.speedup,
            "interval": told.interval,
            "confirmed": bool(told.confirmed),
            "speedup_in_the_search": None if evaluation is None else evaluation.speedup,
            "baseline_ms": kernel.baseline_ms,
            "changed": changed_between(baseline, best.variant),
            "method": best.method,
            "parameters": best.variant.parameters,
            "options": best.variant.options.model_dump(mode="json"),
            "confirmation": None if confirmation is None else _confirmed(confirmation),
        }

    def _write_search(
        self,
        kernel: KernelRecord,
        search: SearchRecord,
        variants: dict[str, VariantRecord],
        folder: Path,
    ) -> None:
        graph = graph_of(self._store, search.search_id)
        state = search_state(search, graph, variants, lambda v: _place(kernel, v))
        _write_json(folder / "search_state.json", state)
        confirmation = confirmation_of(self._store, kernel.incumbent)
        _write(
            folder / "trace.md", trace(SearchTrace(kernel, search, graph, variants, confirmation))
        )


def _place(kernel: KernelRecord, variant_id: str) -> Path:
    """Where a variant's files lie, from the kernel's folder."""
    return Path("baseline") if variant_id == kernel.baseline else Path("variants") / variant_id


def _speed(told: Figure, is_baseline: bool) -> str:
    if is_baseline:
        return "the baseline"
    gained = speedup_text(told.speedup, told.interval) or "not measured"
    confirmed = ", confirmed" if told.confirmed else ""
    return f"built so it was timed: {gained} the baseline{confirmed}"


def _control(kernel: KernelRecord, record: VariantRecord, line: BuildLine | None) -> JsonObject:
    """All that makes the variant, beside its source. `build`: flags and macros as they were, what
    `options` leaves to the spec or to us included."""
    spec, variant = kernel.loaded.spec.kernel, record.variant
    return {
        "kernel_id": kernel.kernel_id,
        "variant_id": variant.variant_id,
        "parent": record.parent,
        "method": record.method,
        "detail": record.detail,
        "kernel_type": spec.kernel_type,
        "entry": spec.metadata.kernel_name,
        "parameters": variant.parameters,
        "options": variant.options.model_dump(mode="json"),
        "environment": kernel.loaded.environment,
        "build": None if line is None else asdict(line),
        "plan": variant.plan,
    }


def _result(evaluation: Evaluation, confirmation: Confirmation | None) -> JsonObject:
    result = evaluation.model_dump(mode="json")
    if confirmation is not None:
        result["confirmation"] = confirmation.model_dump(mode="json")
    return result


def _confirmed(confirmation: Confirmation) -> JsonObject:
    told = confirmation.model_dump(mode="json", include={"accepted", "right", "message"})
    return {**told, "rests_on": shapes_of(confirmation)}


def _build_log(evaluation: Evaluation) -> str:
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


def _messages(evaluation: Evaluation) -> str:
    """What the compiler, or the program that failed, had to say."""
    lines = list(evaluation.build.warnings) if evaluation.build is not None else []
    if not evaluation.ending.measured:
        lines.append(evaluation.message)
    return "".join(line + "\n" for line in lines)


def _write_json(path: Path, value: JsonObject) -> None:
    _write(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


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
