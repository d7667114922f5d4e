"""What a toolchain is: one language's way from source to artifact.

A new one is a file beside this one with a `TOOLCHAIN` in it, and a language in `LANGUAGES` that
names the file.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Protocol

from pydantic import Field

from ..kept import Message
from ..loading.files import LoadedKernel
from ..model import BuildFacts, Record, Variant
from ..plans.plan import Artifact
from ..specs.devices import DeviceFacts
from ..specs.spec import Parameter


class Shape(Record):
    """A binding of the contract's symbols for which a plan is wanted."""

    label: str
    symbols: dict[str, int]


class BuildRequest(Record):
    """Everything a build child is told."""

    kernel: LoadedKernel
    variant: Variant
    shapes: tuple[Shape, ...] = Field(min_length=1)
    device: DeviceFacts | None = None
    """the GPU to build for; None: host code"""
    timeout_s: float = 120.0

    @property
    def sources(self) -> dict[str, str]:
        """The variant's source and the files beside it, by name."""
        return {**self.kernel.files, self.kernel.source_name: self.variant.source}


class BuildOutcome(Record):
    """An artifact with its facts, or a message that says why there is none."""

    artifact: Artifact | None = None
    facts: BuildFacts | None = None
    message: Message = ""
    """for people: the compiler's own words, trimmed to what matters"""
    timed_out: bool = False
    rejected: bool = False
    """the request itself is not legal (a plan, an option), the compiler was not asked"""
    lost: bool = False
    """the build itself was disturbed (killed from outside, no room on disk): the message says
    nothing of the variant"""
    parameters: dict[str, Parameter] = Field(default_factory=dict[str, Parameter])
    """what can be tuned beside the spec's own parameters; found in source and launches"""
    configurations: tuple[dict[str, int], ...] = ()
    """the author's own choices for autotuning: of these the first one was built, or did not fit"""
    dependencies: tuple[str, ...] = ()
    """absolute paths of all files that decided the result beside the request: compilers, headers;
    empty: the result is not kept for other builds (`building/compile_cache.py`)"""
    seconds: float = 0.0


class Stopwatch:
    """Seconds of the parts of a build, one after the other."""

    def __init__(self) -> None:
        self.started = self._last = time.monotonic()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """The part that ends now."""
        now = time.monotonic()
        self.laps[name] = round(now - self._last, 4)
        self._last = now

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self.started


class Toolchain(Protocol):
    """One language's way from source to artifact."""

    name: str

    def missing(self) -> str | None:
        """Why this machine cannot build with it, in words; None when it can."""
        ...

    def preload(self) -> None:
        """Load what is slow to load, in the process whose forks build; it must start no thread."""
        ...

    def build(self, request: BuildRequest, folder: Path) -> BuildOutcome:
        """Build in a private folder; modules are left there as `<sha256>.<kind>`.

        `request.variant.parameters` may hold names of `BuildOutcome.parameters` too.

        Runs in a single-threaded child that may be killed at any moment.
        """
        ...
