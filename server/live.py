"""Progress of a headless run on stderr: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections import deque
from typing import Protocol, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..tools.optimize import Began, Confirming, Event, Failed, Finished, Opened, Opening
from ..tools.search_records import SearchProfile, StepReport
from ..tools.trace import speedup_text
from .tables import STYLES

SHOWN = 8


class Display(Protocol):
    """Shows the events of a headless run as they come."""

    def show(self, event: Event) -> None:
        """Take in one event."""
        ...

    def close(self) -> None:
        """Leave the terminal as it was; may be called again."""
        ...


def display(stream: TextIO | None = None) -> Display:
    """The display that suits a stream (stderr)."""
    chosen = sys.stderr if stream is None else stream
    console = Console(file=chosen)
    return LiveView(console) if console.is_terminal else PlainLines(chosen)


class PlainLines:
    """One line an event, for logs."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, event: Event) -> None:
        """See `Display.show`."""
        for line in lines_of(event):
            print(line, file=self._stream, flush=True)

    def close(self) -> None:
        """See `Display.close`."""
        self._stream.flush()


class LiveView:
    """A few lines that change in place: kernel, baseline, best, builds, newest evaluations.

    Drawn once an event and never in between: a thread that redraws would take time from
    the kernels that are being timed.
    """

    def __init__(self, console: Console) -> None:
        # What goes to stdout is not this view's business: it may be a file.
        self._live = Live(
            console=console,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._head = Text()
        self._best = Text("")
        self._now = ""
        self._builds, self._budget = 0, 1
        self._newest: deque[StepReport] = deque(maxlen=SHOWN)

    def show(self, event: Event) -> None:
        """See `Display.show`."""
        match event:
            case Opening(path):
                self._start(f"{path}: building, checking and timing the baseline")
            case Opened(kernel, _):
                self._head = Text(f"{kernel.loaded.spec.name}  {_baseline(kernel.baseline_ms)}")
                self._now = ""
            case Began(search, _):
                self._budget = search.settings.budget_builds
                self._now = f"search {search.search_id}"
            case StepReport():
                self._step(event)
            case Confirming(_, variant_id):
                self._now = f"confirming {variant_id}: fresh seeds, held-out workloads"
            case Finished() | Failed():
                self.close()
                self._live.console.print(*lines_of(event), sep="\n", markup=False, highlight=False)
                return
        self._live.start()
        self._live.update(self._view(), refresh=True)

    def close(self) -> None:
        """See `Display.close`."""
        self._live.stop()

    def _start(self, now: str) -> None:
        self._head, self._best, self._now = Text(), Text(""), now
        self._builds = 0
        self._newest.clear()

    def _step(self, report: StepReport) -> None:
        self._builds, self._budget = report.builds, report.budget
        self._now = " ".join(_profile_lines(report.profile)) or self._now
        self._newest.append(report)
        if report.became_incumbent:
            self._best = Text(f"best {speedup_text(report.speedup, report.interval)}", "bold green")
            self._best.append(f"  {report.changed}", "default")

    def _view(self) -> Group:
        table = Table.grid(padding=(0, 2))
        for report in self._newest:
            style = STYLES.get(report.ending.value, "red")
            table.add_row(
                Text(str(report.step), "dim"),
                Text(report.ending.value, style),
                Text(speedup_text(report.speedup, report.interval)),
                Text(report.method, "dim"),
                Text(report.changed, overflow="ellipsis", no_wrap=True),
            )
        progress = Table.grid(padding=(0, 2))
        progress.add_row(
            ProgressBar(total=self._budget, completed=self._builds, width=30),
            Text(f"{self._builds}/{self._budget} builds"),
            self._best,
        )
        return Group(self._head, progress, table, Text(self._now, "dim"))


def lines_of(event: Event) -> list[str]:
    """What one event says in plain text."""
    match event:
        case Opening(path):
            return [f"{path}: building, checking and timing the baseline"]
        case Opened(kernel, known):
            name = kernel.loaded.spec.name
            return [f"{name}: baseline {_baseline(kernel.baseline_ms)}{_known(known)}"]
        case Began(search, resumed):
            verb = "resumed" if resumed else "started"
            if search.stopped:
                verb = f"finished earlier ({search.stopped})"
            budget = search.settings.budget_builds
            return [
                f"search {search.search_id} {verb}: {budget} builds, seed {search.settings.seed}"
            ]
        case StepReport():
            return [_step_line(event), *_profile_lines(event.profile)]
        case Confirming(_, variant_id):
            return [f"confirming {variant_id}: fresh seeds, held-out workloads, fresh processes"]
        case Finished(_, status, _, _, _):
            return [f"stopped ({status.stopped}): {status.stopped_text}"]
        case Failed(path, error):
            return [f"{path}: {error}"]


def _known(known: bool) -> str:
    return " (known from an earlier run)" if known else ""


def _baseline(times: dict[str, float]) -> str:
    return ", ".join(f"{name} {ms:.4g} ms" for name, ms in times.items()) or "not timed"


def _profile_lines(profile: SearchProfile | None) -> list[str]:
    if profile is None:
        return []
    if profile.failed:
        return [f"no profiles: {profile.failed}"]
    found = ", ".join(profile.findings) or "no findings"
    return [f"profile of {profile.variant_id}: {profile.bottleneck}; {found}"]


def _step_line(report: StepReport) -> str:
    gained = speedup_text(report.speedup, report.interval)
    said = gained or (report.message.splitlines() or [""])[0][:100]
    marks = " NEW BEST" * report.became_incumbent + " (known)" * report.duplicate
    change = report.changed or report.detail
    return (
        f"[{report.builds}/{report.budget}] {report.ending.value}: {report.method} {change}"
        f" -> {said}{marks}"
    )
