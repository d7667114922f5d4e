"""`kernelwright optimize`: drives the headless run, shows it, and stops it cleanly."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ..runners.progress import listening
from ..search.outdir.overview import variants
from ..search.session.inputs.ordering import check_weights, read_weights
from ..search.session.inputs.spec_files import find_specs
from ..search.session.optimize import Event, Failed, Finished
from ..search.session.optimize import optimize as search_all
from ..search.session.workbench import Workbench
from ..search.settings import Settings
from .live import display
from .load import load_told
from .planning.answering import Answerer
from .planning.options import RULES, PlannerOptions
from .reports import PAGE, write_report
from .tables import result_text, variant_table
from .terminal.grid import console

PROGRAM = "kernelwright"
TABLE_LINES = 12
IMPROVED, FAILED, NOTHING_GAINED, SOME_FAILED = 0, 1, 2, 3


class Stopped(BaseException):
    """A signal asks us to end. No Exception, so that nothing on the way takes it for a failure."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


@dataclass(frozen=True, slots=True)
class Headless:
    """What the user asked for."""

    input: Path
    outdir: Path
    further_roots: tuple[Path, ...]
    """folders that may be read beside the input's own and the one that we are called in"""
    settings: Settings
    resume: bool
    new_budget: int | None = None
    """of a search that is resumed"""
    gpus: tuple[str, ...] = ()
    planner: PlannerOptions = RULES
    weights: Path | None = None
    """a file of weights by kernel, over those of the specs"""

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders that specs may read files from."""
        own = self.input if self.input.is_dir() else self.input.parent
        return own, Path.cwd(), *self.further_roots


def run(wanted: Headless) -> int:
    """Search every spec; returns the exit status. Raises KernelwrightError."""
    progress = None
    try:
        with stopped_by_signals():
            specs = find_specs(wanted.input, wanted.outdir)
            weights = {} if wanted.weights is None else read_weights(wanted.weights)
            check_weights(weights, specs)
            quiet, load = load_told()
            if not quiet:
                print(f"load: {load}", file=sys.stderr)
            progress = display()
            with Workbench(wanted.outdir, wanted.roots, wanted.gpus) as bench:
                ended = list[Event]()
                answering = _answering(bench, wanted)
                events = search_all(
                    bench,
                    specs,
                    wanted.settings,
                    resume=wanted.resume,
                    new_budget=wanted.new_budget,
                    answering=answering,
                    weights=weights,
                )
                # A signal may come while an event is shown: the run must end before its store does.
                with closing(events), listening(progress):
                    for event in events:
                        progress.show(event)
                        if isinstance(event, Finished | Failed):
                            ended.append(event)
                            _report(bench, event)
            say_what_failed(ended)
            return exit_status(ended)
    except Stopped as stopped:
        if progress is not None:
            progress.close()
        say_how_to_resume(stopped, wanted)
        return 128 + stopped.number
    finally:
        if progress is not None:
            progress.close()


def _answering(bench: Workbench, wanted: Headless) -> Answerer | None:
    """Who answers, where rules do not plan. Raises PlannerFailed where it cannot."""
    chosen = wanted.planner
    return None if chosen.driver is None else Answerer(bench, chosen.driver, chosen.settings)


def exit_status(ended: list[Event]) -> int:
    """1 if every spec failed, 3 if some did, else 0 if any kernel improved, else 2."""
    failed = [event for event in ended if isinstance(event, Failed)]
    if failed:
        return FAILED if len(failed) == len(ended) else SOME_FAILED
    improved = any(isinstance(event, Finished) and event.improved for event in ended)
    return IMPROVED if improved else NOTHING_GAINED


def say_what_failed(ended: list[Event]) -> None:
    """Which of several specs came to nothing, once more where nobody has to look for it."""
    failed = [event for event in ended if isinstance(event, Failed)]
    if failed and len(ended) > 1:
        print(f"{len(failed)} of {len(ended)} specs failed:", file=sys.stderr)
        for event in failed:
            print(f"  {event.path}: {event.error.message}", file=sys.stderr, flush=True)


@contextmanager
def stopped_by_signals() -> Generator[None]:
    """Within the block the first SIGINT or SIGTERM raises Stopped; a second ends us at once."""

    def first(number: int, _: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, second)
        raise Stopped(number)

    def second(number: int, _: FrameType | None) -> None:
        # The children are tied to us: the system ends them with us.
        os._exit(128 + number)

    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, first) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _report(bench: Workbench, event: Finished | Failed) -> None:
    if isinstance(event, Finished):
        console().print(variant_table(variants(bench.store, event.kernel), TABLE_LINES))
        _, folder = write_report(bench, event.kernel.kernel_id)
        print(f"{result_text(event)}\nreport: {folder / PAGE}", flush=True)


def say_how_to_resume(stopped: Stopped, wanted: Headless) -> None:
    """Print the command that goes on with a search that was stopped."""
    # as it was called: a virtual environment's folder may not be on PATH
    program = sys.argv[0] if Path(sys.argv[0]).name == PROGRAM else PROGRAM
    command = [program, "optimize", "--input", str(wanted.input)]
    command += ["--outdir", str(wanted.outdir), "--resume"]
    for root in wanted.further_roots:
        command += ["--root", str(root)]
    if wanted.weights is not None:
        command += ["--weights", str(wanted.weights)]
    if wanted.gpus:
        command += ["--gpus", ",".join(wanted.gpus)]
    command += wanted.planner.words()
    print(
        f"stopped by {stopped}; what was found is kept in {wanted.outdir}\n"
        f"go on with: {shlex.join(command)}",
        file=sys.stderr,
        flush=True,
    )
