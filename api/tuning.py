"""Kernels made faster by a call: from a source with values to choose from, or from a spec."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from ..runners.errors import KernelwrightError, SpecError
from ..runners.languages import LANGUAGES
from ..runners.loading.completing import Draft, draft_of_source
from ..runners.loading.files import LoadedKernel, Roots, draft_of_file, load_data, load_file
from ..runners.progress import Listener, listening
from ..search.outdir.report import kernel_report
from ..search.session.optimize import Failed, Finished
from ..search.session.optimize import optimize as search_all
from ..search.session.workbench import Workbench
from ..search.settings import Settings
from ..server.live import Display, display
from ..server.tables import result_text
from ..store.variants import variant_record
from .found import Found
from .references import Reference, reference_data
from .specs import Given, Json, Values, spec_data


def tune(
    source: str | Path,
    values: Values | None = None,
    *,
    arguments: Mapping[str, Given],
    reference: Reference | None = None,
    kernel_name: str | None = None,
    language: str = "cpp",
    held_out: Mapping[str, int] | None = None,
    spec: Mapping[str, Any] | None = None,
    outdir: str | Path = "out",
    budget_builds: int = 50,
    budget_seconds: float | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    gpus: Sequence[str] = (),
    verbose: bool = True,
) -> Found:
    """Search for a faster variant of a kernel, by its values and by what rules can rewrite.

    `source`: a file (.cpp, .cu, .py), or the text itself, of `language`. `values`: by macro (C++,
    CUDA) or constexpr (Triton) what may be chosen; the first is the baseline's. `arguments`: what a
    call is handed, by name; numbers give sizes, arrays their shape and dtype. Gates draw values of
    their own. `reference`: a file, its text, or a function `reference(**arguments)` with numpy;
    None: the baseline is the truth. `held_out`: sizes that only the winner is judged on. `spec`:
    fields that go over those that were found in the source, such as `symbols` with the domains of
    sizes. The others are those of `kernelwright optimize`; `verbose` tells on stderr what happens.

    Raises KernelwrightError: for arguments that do not fit, and a baseline that does not build or
    is not right.
    """
    folder, draft = _drafted(source, kernel_name, language)
    made = spec_data(draft, values or {}, arguments, held_out, reference_data(reference))
    chosen = _settings(budget_builds, budget_seconds, seed, settings)
    loaded = load_data({**made, **(spec or {})}, folder, Roots([folder, Path.cwd()]))
    return _search(loaded, Path(outdir), chosen, gpus, verbose, folder)


def optimize(
    spec: str | Path | Mapping[str, Any],
    *,
    outdir: str | Path = "out",
    budget_builds: int = 50,
    budget_seconds: float | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
    gpus: Sequence[str] = (),
    verbose: bool = True,
) -> Found:
    """Search by a spec: its file, or its data, whose paths start at the current folder.

    Raises KernelwrightError, as `tune` does.
    """
    chosen = _settings(budget_builds, budget_seconds, seed, settings)
    if isinstance(spec, str | Path):
        folder = Path(spec).resolve().parent
        loaded = load_file(Path(spec), Roots([folder, Path.cwd()]))
    else:
        folder = Path.cwd()
        loaded = load_data(dict(spec), folder, Roots([folder]))
    return _search(loaded, Path(outdir), chosen, gpus, verbose, folder)


def infer(source: str | Path, kernel_name: str | None = None, language: str = "cpp") -> Json:
    """A spec as far as a source tells it, `?` where only its author knows; with domains of sizes,
    which are a proposal. Raises KernelwrightError where it holds no kernel."""
    from ..runners.loading.domains import with_domains
    from ..tools.parts.lifted_draft import with_lift

    draft = _drafted(source, kernel_name, language)[1]
    is_text = not isinstance(source, Path) and "\n" in source
    text = source if is_text else Path(source).read_text(encoding="utf-8", errors="replace")
    data = with_domains(with_lift(draft, str(text))).data
    return json.loads(json.dumps(data))


def _drafted(source: str | Path, entry: str | None, language: str) -> tuple[Path, Draft]:
    """The folder that paths start at, and what the source says."""
    if isinstance(source, Path) or "\n" not in source:
        file = Path(source).resolve()
        return file.parent, draft_of_file(file, Roots([file.parent, Path.cwd()]), entry)
    known = {each.kernel_type: each for each in LANGUAGES.values()}
    if language not in known:
        raise SpecError(f"`{language}` is no language of a kernel", valid=", ".join(known))
    draft = draft_of_source(f"kernel{known[language].suffixes[0]}", source, entry)
    kernel = {k: v for k, v in draft.data["kernel"].items() if k != "source_path"}
    data = {**draft.data, "kernel": {**kernel, "source_code": source}}
    return Path.cwd(), Draft(data, draft.undecided)


def _settings(
    builds: int, seconds: float | None, seed: int, further: Mapping[str, Any] | None
) -> Settings:
    from ..server.options.assignments import settings_from

    given = {"budget_builds": builds, "budget_seconds": seconds, "seed": seed}
    return settings_from({**given, **(further or {})}, ())


def _search(
    loaded: LoadedKernel,
    outdir: Path,
    settings: Settings,
    gpus: Sequence[str],
    verbose: bool,
    folder: Path,
) -> Found:
    shown: Display = display() if verbose else _Silent()
    try:
        with Workbench(outdir, [folder, Path.cwd()], gpus) as bench:
            events = search_all(bench, [loaded], settings)
            with closing(events), listening(shown):
                for event in events:
                    shown.show(event)
                    if isinstance(event, Failed):
                        raise event.error
                    if isinstance(event, Finished):
                        return _found(bench, event, outdir)
    finally:
        shown.close()
    raise KernelwrightError("the search ended without a result", next_step="report this")


def _found(bench: Workbench, ended: Finished, outdir: Path) -> Found:
    kernel = kernel_report(bench.store, bench.evaluator.kernel(ended.kernel.kernel_id))
    source = variant_record(bench.store, kernel.best.variant_id).variant.source
    return Found(kernel, source, result_text(ended), ended.folder, outdir)


class _Silent(Display, Listener):
    """Shows nothing."""

    def show(self, event: object) -> None:
        """Nothing."""

    def report(self, message: str) -> None:
        """Nothing."""

    def found(self, message: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""
