"""Kept launches replayed in processes of their own, whatever they do there: values come back."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ...processes.process import Limits, clean_environment, spawner
from ...whole_files import write_whole
from .kept import KeptLaunch
from .replay import Other

WORKER = "kernelwright.runners.recording.replaying.worker"
A_LAUNCH_S = 60.0
START_S = 60.0
WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Role:
    """What a launch does with a buffer."""

    role: str
    """`input`, `output`, `inout`, `not looked at`, or `unknown` where its poison broke the run:
    it holds addresses or indices"""
    written: int = 0
    """bytes"""
    first: int = 0
    last: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Replayed:
    """A kept launch run outside its program."""

    kept: KeptLaunch
    failed: str = ""
    """why it could not be run; empty: it was"""
    differing: tuple[int, ...] = ()
    """bytes of each buffer that are not what the program had"""
    variables: int = 0
    noise: int = 0
    """bytes in which two replays differ from each other"""
    written: int = 0
    """bytes that the launch changed in the program"""
    moved: int = 0
    """buffers that could not lie at their own addresses"""
    cold_us: float | None = None
    warm_us: float | None = None
    roles: tuple[Role, ...] = ()

    @property
    def equal(self) -> bool:
        """Every byte of every buffer and variable is what the program had."""
        return not self.failed and not sum(self.differing) and not self.variables

    @property
    def verdict(self) -> str:
        """In words, why not where it is not equal."""
        if self.failed:
            return f"not run: {self.failed}"
        if self.equal:
            return "equal bit for bit"
        differing = sum(self.differing)
        if self.noise:
            return (
                f"does not repeat itself: {differing} bytes are not the program's, and two replays "
                f"differ in {self.noise} (sums in no order, or a random state)"
            )
        if self.variables:
            return f"keeps state in variables of its module: {self.variables} bytes are others"
        return f"{differing} of {self.written} bytes that it wrote are not the program's"


@dataclass
class _Progress:
    """What is known of a launch so far, and where to go on."""

    kept: KeptLaunch
    rows: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    roles: dict[int, Role] = field(default_factory=dict[int, Role])
    poisons: int = -1
    done: bool = False


def replay_launches(
    launches: Sequence[KeptLaunch],
    scratch: Path,
    *,
    relocate: bool = False,
    roles: bool = False,
    runs: int = 0,
    other: Other | None = None,
    wait_s: float = WAIT_S,
) -> tuple[Replayed, ...]:
    """Run every launch again, on the GPU that this process is given.

    `roles`: find what each buffer is to it; `runs`: timed launches, cold and as many warm;
    `other`: machine code in the place of the recorded one. What a launch breaks is told with it.
    """
    progress = {str(each.file): _Progress(each) for each in launches}
    options = {
        "relocate": relocate,
        "roles": roles,
        "runs": runs,
        "wait_s": wait_s,
        "other": None if other is None else _told(other),
    }
    scratch.mkdir(parents=True, exist_ok=True)
    while open_ones := [p for p in progress.values() if not p.done]:
        before = [_state(p) for p in open_ones]
        why = _work(open_ones, progress, options, scratch)
        if before == [_state(p) for p in open_ones]:  # it did not even begin: so would the next
            _give_up(open_ones[0], why)
    return tuple(_replayed(p) for p in progress.values())


def _work(
    open_ones: Sequence[_Progress],
    progress: Mapping[str, _Progress],
    options: Mapping[str, Any],
    scratch: Path,
) -> str:
    """One process over what is open, as far as it comes. How it ended."""
    items = [
        {
            "file": str(p.kept.file),
            "compare": "compared" not in p.rows,
            "from_buffer": max(p.roles, default=-1) + 1,
        }
        for p in open_ones
    ]
    job = write_whole(scratch / "replay-job.json", json.dumps({"items": items, **options}))
    environment = clean_environment(scratch)
    with spawner().start(  # CUDA does not start in a PID namespace: not supervised
        [sys.executable, "-P", "-m", WORKER, str(job)],
        name="replay",
        scratch=scratch,
        environment=environment,
        limits=Limits(wall_s=START_S + A_LAUNCH_S * len(items)),
    ) as child:
        while child.wait() is None:
            pass
        for line in child.stdout_text(1 << 24).splitlines():
            if line.startswith("{"):
                _take(progress, json.loads(line))
        ending = child.describe_end()
        said = child.stderr_text(2000).strip().splitlines()
    _after(open_ones)
    return ending + (f": {said[-1]}" if said else "")


def _take(progress: Mapping[str, _Progress], row: Mapping[str, Any]) -> None:
    p, event = progress[row["file"]], row["event"]
    if event == "done":
        p.done = True
    elif event == "poisons":
        p.poisons = row["buffer"]
    elif event == "role":
        told = {
            name: row[name] for name in ("role", "written", "first", "last", "why") if name in row
        }
        p.roles[row["buffer"]] = Role(**told)
    else:
        p.rows[event] = row


def _after(open_ones: Sequence[_Progress]) -> None:
    """A launch that a process ended over: its poison broke it, or the launch itself did."""
    for p in open_ones:
        if p.done or "compared" not in p.rows:
            p.done = p.done or "failed" in p.rows
            continue
        if p.poisons >= 0 and p.poisons not in p.roles:
            why = "poison in it breaks the launch: it holds addresses or indices"
            p.roles[p.poisons] = Role("unknown", why=why)
            p.rows.pop("failed", None)
            p.done = p.poisons + 1 >= len(p.kept.buffers)


def _state(p: _Progress) -> tuple[bool, int, int]:
    return p.done, len(p.rows), len(p.roles)


def _give_up(p: _Progress, why: str) -> None:
    p.rows.setdefault("failed", {"why": f"the process that replays it ended with {why}"})
    p.done = True


def _told(other: Other) -> dict[str, Any]:
    return {
        "image": os.fspath(other.image),
        "entry": other.entry,
        "grid": other.grid,
        "block": other.block,
        "shared": other.shared,
    }


def _replayed(p: _Progress) -> Replayed:
    found = Replayed(p.kept)
    if failed := p.rows.get("failed"):
        return replace(found, failed=str(failed["why"]))
    if row := p.rows.get("compared"):
        found = replace(
            found,
            differing=tuple(row["differing"]),
            variables=row["variables"],
            noise=row["noise"],
            written=row["written"],
            moved=row["moved"],
        )
    if row := p.rows.get("timed"):
        found = replace(found, cold_us=row["cold_us"], warm_us=row["warm_us"])
    return replace(found, roles=tuple(p.roles[index] for index in sorted(p.roles)))
