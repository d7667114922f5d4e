"""Progress of a headless run on stderr: a live view on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ..runners.progress import Listener
from ..runners.toolchains.compilers import nvrtc
from ..runners.wording import speedup_text
from ..search.session.optimize import (
    Answered,
    Began,
    Confirming,
    Event,
    Failed,
    Finished,
    Opened,
    Opening,
    Turn,
)
from ..search.stored.records import SearchProfile, StepReport
from .remaining import Pace, left_text
from .tables import STYLES

SHOWN = 8
SHORT = 8
"""characters of a variant_id; two among the few hundred of a search hardly ever share so many"""
PLAIN: dict[str, Any] = {"markup": False, "highlight": False}
QUIET_S = 5.0
"""A log that said nothing for so long says what is under way; about the patience of a reader."""


class Display(Listener, Protocol):
    """Shows the events of a headless run as they come, and hears of progress between them."""

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


class PlainLines(Display):
    """One line an event and a configuration, for logs; what is under way where it takes long.

    `clock`: seconds.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._clock = stream, clock
        self._said_at = clock()
        self._baseline: str | None = None
        self._pace: Pace | None = None
        self._lock = threading.Lock()

    def show(self, event: Event) -> None:
        """See `Display.show`."""
        with self._lock:
            if isinstance(event, Opened):
                self._baseline = event.kernel.baseline
            left = ""
            if isinstance(event, Began | StepReport):
                self._pace, left = paced(self._pace, event, self._clock())
            for line in lines_of(event, self._baseline, left):
                self._say(line)

    def found(self, message: str) -> None:
        """See `Listener.found`."""
        with self._lock:
            self._say(f"  {message}")

    def report(self, message: str) -> None:
        """See `Listener.report`."""
        with self._lock:
            if self._clock() - self._said_at >= QUIET_S:
                self._say(f"  {message} ...")

    def close(self) -> None:
        """See `Display.close`."""
        self._stream.flush()

    def _say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)
        self._said_at = self._clock()


class LiveView(Display):
    """A few lines that change in place: kernel, baseline, best, builds, newest evaluations, what is
    under way.

    Drawn when there is something new to say and never in between: a thread that redraws would take
    time from the kernels that are being timed.
    """

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
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
        self._now = self._found = ""
        self._baseline: str | None = None
        self._lock = threading.Lock()
        self._builds, self._budget = 0, 1
        self._pace: Pace | None = None
        self._left = ""
        self._newest: deque[StepReport] = deque(maxlen=SHOWN)

    def show(self, event: Event) -> None:
        """See `Display.show`."""
        with self._lock:
            self._show(event)

    def found(self, message: str) -> None:
        """See `Listener.found`."""
        with self._lock:
            self._found = message
            self._redraw()

    def report(self, message: str) -> None:
        """See `Listener.report`."""
        with self._lock:
            self._now = message
            self._redraw()

    def close(self) -> None:
        """See `Display.close`."""
        self._live.stop()

    def _show(self, event: Event) -> None:
        match event:
            case Opening(path):
                self._start(f"{path}: reading it; then its baseline is built, checked and timed")
            case Opened(kernel):
                self._live.console.print(*opening_notes(event), sep="\n", **PLAIN)
                self._baseline = kernel.baseline
                self._head = Text(f"{kernel.loaded.spec.name}  {_baseline(kernel.baseline_ms)}")
                self._now = ""
            case Turn(kernel, _):
                self._start("")
                self._baseline = kernel.baseline
                self._head = Text(f"{kernel.loaded.spec.name}  {_baseline(kernel.baseline_ms)}")
                self._live.console.print(*lines_of(event), sep="\n", **PLAIN)
            case Began(search, _, _):
                self._budget = search.settings.budget_builds
                self._pace, self._left = paced(None, event, self._clock())
                self._now = f"search {search.search_id}"
            case Answered():
                self._now = _answered(event)
            case StepReport():
                self._step(event)
            case Confirming(_, variant_id):
                self._now = f"confirming {variant_id}: fresh seeds, held-out workloads"
            case Finished() | Failed():
                self.close()
                self._live.console.print(*lines_of(event), sep="\n", **PLAIN)
                return
        self._draw()

    def _draw(self) -> None:
        self._live.start()
        self._live.update(self._view(), refresh=True)

    def _redraw(self) -> None:
        """Where the view is on the screen: work that ends after it was closed has its word, too."""
        if self._live.is_started:
            self._live.update(self._view(), refresh=True)

    def _start(self, now: str) -> None:
        self._head, self._best, self._now, self._found = Text(), Text(""), now, ""
        self._builds = 0
        self._newest.clear()

    def _step(self, report: StepReport) -> None:
        self._builds, self._budget, self._found = report.builds, report.budget, ""
        self._pace, self._left = paced(self._pace, report, self._clock())
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
                Text(
                    report.changed + _origin(report, self._baseline),
                    overflow="ellipsis",
                    no_wrap=True,
                ),
            )
        progress = Table.grid(padding=(0, 2))
        progress.add_row(
            ProgressBar(total=self._budget, completed=self._builds, width=30),
            Text(f"{self._builds}/{self._budget} builds"),
            Text(self._left, "dim"),
            self._best,
        )
        found = [Text(self._found)] if self._found else []
        return Group(self._head, progress, table, *found, Text(self._now, "dim"))


def paced(pace: Pace | None, event: Began | StepReport, now: float) -> tuple[Pace | None, str]:
    """The pace of a search after one of its events, and how long it may still take, in words."""
    if isinstance(event, Began):
        return Pace.of(event.search.settings, event.resumed, now), ""
    if pace is None:
        return None, ""
    pace = pace.after(event.builds)
    return pace, left_text(pace.left_s(event.builds, event.budget, now))


def lines_of(event: Event, baseline: str | None = None, left: str = "") -> list[str]:
    """What one event says in plain text. A step from another variant than this one names it.
    `left`: how long the search may still take."""
    match event:
        case Opening(path):
            return [f"{path}: reading it; then its baseline is built, checked and timed"]
        case Opened(kernel, known):
            name = kernel.loaded.spec.name
            head = f"{name}: baseline {_baseline(kernel.baseline_ms)}{_known(known)}"
            return [head, *opening_notes(event)]
        case Turn(kernel, worth):
            return [f"next: {kernel.loaded.spec.name}, {worth.describe()}"]
        case Began(search, resumed, anew):
            verb = "resumed" if resumed else "started"
            verb += " anew: --resume finds no search of this kernel in the outdir" if anew else ""
            if search.stopped:
                verb = f"finished earlier ({search.stopped})"
            budget = search.settings.budget_builds
            return [
                f"search {search.search_id} {verb}: {budget} builds, seed {search.settings.seed}"
            ]
        case Answered():
            return [_answered(event), *(f"  {' '.join(note.split())}" for note in event.notes)]
        case StepReport():
            line = _step_line(event, baseline) + (f" ({left})" if left else "")
            return [line, *_profile_lines(event.profile)]
        case Confirming(_, variant_id):
            return [f"confirming {variant_id}: fresh seeds, held-out workloads, fresh processes"]
        case Finished(_, status, _, _, _):
            return [f"stopped ({status.stopped}): {status.stopped_text}"]
        case Failed(path, error):
            return [f"{path}: {error}"]


def opening_notes(event: Opened) -> list[str]:
    """What should be known of an opening, a line each: how the baseline was chosen and checked,
    what its compiler told, and that rules cannot read it here."""
    read = event.kernel.spec.kernel.language.syntax != "c" or nvrtc.library() is not None
    unread = () if read else (nvrtc.UNREAD,)
    return [f"  {line}" for line in (*event.kernel.notes, *event.facts, *unread)]


def _answered(event: Answered) -> str:
    count = event.candidates
    told = f"{count} candidate{'s' * (count != 1)}" if count else "nothing more to try here"
    return f"answer: {told}; so far {event.spent.describe()}"


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


def _step_line(report: StepReport, baseline: str | None) -> str:
    gained = speedup_text(report.speedup, report.interval)
    said = gained or (report.message.splitlines() or [""])[0][:100]
    made = _short(report.variant_id) + ": " if report.variant_id else ""
    marks = " NEW BEST" * report.became_incumbent + " (known)" * report.duplicate
    change = report.changed or report.detail
    if report.variant_id == report.parent:  # a sweep that came back to where it began
        return (
            f"[{report.builds}/{report.budget}] {report.method} {change}: "
            f"nothing better than {_short(report.parent)}, {said}"
        )
    return (
        f"[{report.builds}/{report.budget}] {report.ending.value}: {report.method} {change}"
        f"{_origin(report, baseline)} -> {made}{said}{marks}"
    )


def _origin(report: StepReport, baseline: str | None) -> str:
    """From where the step went: a value brings one thing to the baseline and another to a state."""
    return "" if baseline in (None, report.parent) else f" from {_short(report.parent)}"


def _short(variant_id: str) -> str:
    return variant_id[:SHORT]
