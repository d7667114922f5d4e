"""Results of builds on disk, found again by what went into them.

An entry is a folder named by the hash of the request (source, files, shapes, device, options) and
of our own code; it holds `manifest.json` and the modules, and counts while the compilers and
headers that it names have not changed. Only the server writes entries, after it has checked them:
no build child sees this folder.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from ..model import Record, content_hash
from ..plans.plan import module_name
from ..toolchains.base import BuildOutcome, BuildRequest

VARIABLE = "COMPILE_CACHE_DIR"
MANIFEST = "manifest.json"
MAX_ENTRIES = 4096
"""of some 200 KiB each; beyond it, the quarter that was not used for longest is removed"""
HASHED_BYTES = 4 << 20
"""larger files (compilers) are told apart by size and time of change"""
MAX_DEPENDENCIES = 8192
_numbers = itertools.count(1)


def cache_folder(modules: Path) -> Path:
    """The one that COMPILE_CACHE_DIR names, else one beside the folder of modules."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else modules.parent / "compile_cache"


class Manifest(Record):
    """An entry: the outcome, and what each file was like that it depends on."""

    outcome: BuildOutcome
    dependencies: dict[str, str]


class CompileCache:
    """The entries of one folder; several servers may share it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def find(self, request: BuildRequest) -> tuple[BuildOutcome, Path] | None:
        """The outcome of an equal build, and the folder of its modules; None: build it."""
        entry = self.folder / request_key(request)
        try:
            manifest = Manifest.model_validate_json((entry / MANIFEST).read_bytes())
            if any(fingerprint(p) != known for p, known in manifest.dependencies.items()):
                return None
            os.utime(entry)
        except (OSError, ValidationError):  # not there, just removed, or of another version
            return None
        return manifest.outcome, entry

    def keep(self, request: BuildRequest, outcome: BuildOutcome, folder: Path) -> None:
        """Add a build that succeeded and names what it depends on; its modules lie in `folder`.

        Raises OSError where the cache cannot be written to.
        """
        if outcome.artifact is None or not outcome.dependencies:
            return
        known = {path: fingerprint(path) for path in outcome.dependencies[:MAX_DEPENDENCIES]}
        if len(known) < len(set(outcome.dependencies)) or None in known.values():
            return
        partial = self.folder / f".{os.getpid()}.{next(_numbers)}"
        partial.mkdir(parents=True)
        try:
            for module in outcome.artifact.modules:
                shutil.copyfile(folder / module_name(module), partial / module_name(module))
            manifest = Manifest(
                outcome=outcome, dependencies={p: k for p, k in known.items() if k is not None}
            )
            (partial / MANIFEST).write_text(manifest.model_dump_json(), encoding="utf-8")
            self._put(partial, self.folder / request_key(request))
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        self._prune()

    def _put(self, partial: Path, entry: Path) -> None:
        """Replace an entry that no longer counts; losing a race to another server is fine."""
        if entry.exists():
            gone = partial.with_name(partial.name + ".old")
            with suppress(FileNotFoundError):
                entry.rename(gone)
            shutil.rmtree(gone, ignore_errors=True)
        with suppress(OSError):
            partial.rename(entry)

    def _prune(self) -> None:
        entries = [p for p in self.folder.iterdir() if not p.name.startswith(".")]
        if len(entries) > MAX_ENTRIES:
            entries.sort(key=_used)
            for entry in entries[: len(entries) // 4]:
                shutil.rmtree(entry, ignore_errors=True)


def _used(entry: Path) -> float:
    try:
        return entry.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def request_key(request: BuildRequest) -> str:
    """The name of an entry: equal for requests that must give equal artifacts."""
    content = request.model_dump(mode="json", exclude={"timeout_s": True, "device": {"uuid"}})
    return content_hash([_own_code(), content], 64)


def fingerprint(path: str) -> str | None:
    """What a file is like; None for what is no regular file, whose content nobody can vouch for."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > HASHED_BYTES:
            return f"{status.st_size} bytes of {status.st_mtime_ns}"
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None


@cache
def _own_code() -> str:
    """What our own toolchains are like: another version of them may build another artifact."""
    folder = Path(__file__).resolve().parents[1]
    files = sorted(p for p in folder.rglob("*.py"))
    return content_hash([[str(p.relative_to(folder)), *_state(p)] for p in files])


def _state(path: Path) -> Sequence[int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns
