"""The server's side of building: requests go to the zygote, modules come into one folder."""

from __future__ import annotations

import itertools
import shutil
import threading
import time
from collections.abc import Generator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import KernelwrightError, ProcessLost, SpecError
from ..forking.starting import start_python
from ..loading.headers import require_unchanged
from ..plans.plan import Artifact, Module, module_name
from ..processes.disk_room import full, writing
from ..processes.killed import AGAIN, KILLED, last_error, was_killed
from ..processes.process import Child, Limits, clean_environment
from ..processes.process_table import is_stopped
from ..toolchains import BuildOutcome, BuildRequest, toolchain_for
from ..toolchains.artifact_check import checked_artifact, read_module
from ..whole_files import replacing
from .compile_cache import CompileCache, cache_folder, request_key
from .zygote import LISTING_S, OUTCOME, Listings

PATIENCE_S = 180.0
"""beyond a build's own limit: until torch and Triton are read from a cold disk"""
LOOK_S = 1.0
SEND_S = 30.0
ENDING_S = 1.0
"""until a zygote whose channel is closed has ended"""
LOG = "build_process.log"


class Builder:
    """Builds variants, as many at once as it is asked to from different threads.

    `modules` keeps machine code by its hash; `scratch` holds a private folder a build,
    removed when the build is over. Builds that were done before are found in the folder that
    COMPILE_CACHE_DIR names, else in one beside `modules`.
    """

    def __init__(self, modules: Path, scratch: Path) -> None:
        self._modules, self._scratch = modules, scratch
        modules.mkdir(parents=True, exist_ok=True)
        scratch.mkdir(parents=True, exist_ok=True)
        self._cache = CompileCache(cache_folder(modules))
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._zygote: Child | None = None
        self._waiting: dict[int, tuple[Child, Future[None]]] = {}
        self._under_way: dict[tuple[str, float], Future[BuildOutcome]] = {}
        """by `request_key` and what they may take"""

    def build(self, request: BuildRequest) -> BuildOutcome:
        """Build and wait; of equal requests at the same time one is built, for all who ask.

        Raises ToolchainMissing, SpecError when headers have changed since the kernel was opened,
        or ProcessLost when our own child broke.
        """
        toolchain_for(request.kernel.spec.kernel.kernel_type)
        if request.kernel.include_hashes:  # kernels opened by an older version have none
            require_unchanged(request.kernel.include_dirs, request.kernel.include_hashes)
        key, own = (request_key(request), request.timeout_s), Future[BuildOutcome]()
        with self._lock:
            first = self._under_way.setdefault(key, own)
        if first is not own:
            return first.result()
        try:
            own.set_result(self._known(request) or self._built(request))
        except BaseException as error:
            own.set_exception(error)
        finally:
            with self._lock:
                del self._under_way[key]
        return own.result()

    def list_code(self, artifact: Artifact) -> tuple[Module, ...]:
        """SASS of the artifact's machine code, kept as its other modules are; what cannot be
        disassembled here is left out. Raises ProcessLost."""
        cubins = [m for m in artifact.modules if m.kind == "cubin"]
        if not cubins:
            return ()
        with self._folder() as (number, folder):
            for module in cubins:
                shutil.copyfile(self.module_path(module), folder / module_name(module))
            message = {"list": [m.model_dump(mode="json") for m in cubins]}
            text = self._answer(number, folder, message, LISTING_S)
            found = Listings.model_validate_json(text).modules
            for module in found:
                read_module(folder / module_name(module), module)
                self._keep(folder / module_name(module), module)
            return found

    def _known(self, request: BuildRequest) -> BuildOutcome | None:
        """The outcome of an equal build; None when there is none, or its entry is damaged."""
        started = time.monotonic()
        found = self._cache.find(request)
        if found is None:
            return None
        try:
            outcome = self._accepted(request, *found)
        except (OSError, SpecError):
            return None
        return outcome.model_copy(update={"seconds": time.monotonic() - started})

    def _built(self, request: BuildRequest) -> BuildOutcome:
        with self._folder() as (number, folder):
            message = {"request": request.model_dump(mode="json")}
            text = self._answer(number, folder, message, request.timeout_s)
            try:
                outcome = self._accepted(request, BuildOutcome.model_validate_json(text), folder)
            except SpecError as error:
                return BuildOutcome(message=str(error), rejected=True)
            if outcome.lost:
                raise ProcessLost(outcome.message, next_step=AGAIN)
            return self._cached(request, outcome, folder)

    def _cached(self, request: BuildRequest, outcome: BuildOutcome, folder: Path) -> BuildOutcome:
        """The outcome, kept for later builds; a cache that cannot be written to is a warning."""
        try:
            self._cache.keep(request, outcome, folder)
        except OSError as error:
            assert outcome.facts is not None
            told = f"not kept in the compile cache ({self._cache.folder}): {error.strerror}"
            facts = outcome.facts.model_copy(update={"warnings": (*outcome.facts.warnings, told)})
            return outcome.model_copy(update={"facts": facts})
        return outcome

    @contextmanager
    def _folder(self) -> Generator[tuple[int, Path]]:
        """A number and a private folder for one child; the folder is removed in the end."""
        number = next(self._numbers)
        folder = self._scratch / f"build-{number}"
        shutil.rmtree(folder, ignore_errors=True)
        with writing(self._scratch, "a build"):
            folder.mkdir(parents=True)
        try:
            yield number, folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _accepted(self, request: BuildRequest, outcome: BuildOutcome, folder: Path) -> BuildOutcome:
        """The outcome with its artifact checked and its modules kept. Raises SpecError."""
        if outcome.artifact is None:
            return outcome
        tier = request.kernel.spec.kernel.language.tier
        artifact = checked_artifact(request, outcome.artifact, folder, tier)
        for module in artifact.modules:
            self._keep(folder / module_name(module), module)
        return outcome.model_copy(update={"artifact": artifact})

    def module_path(self, module: Module) -> Path:
        """Where the machine code of a module lies."""
        return self._modules / module_name(module)

    def close(self) -> None:
        """End the zygote and all builds; waiting callers get ProcessLost."""
        with self._lock:
            zygote, self._zygote = self._zygote, None
        if zygote is not None:
            zygote.close()

    def _keep(self, built: Path, module: Module) -> None:
        target = self.module_path(module)
        if not target.exists():
            with writing(self._modules, "machine code"):
                self._modules.mkdir(parents=True, exist_ok=True)
                with replacing(target) as partial:  # builds of equal code may end side by side
                    shutil.copyfile(built, partial)

    def _answer(
        self, number: int, folder: Path, message: Mapping[str, object], timeout_s: float
    ) -> str:
        """What a child of the zygote left as its outcome."""
        zygote, future = self._submit(number, {"build": number, "folder": str(folder), **message})
        deadline = time.monotonic() + timeout_s + PATIENCE_S
        while not wait([future], timeout=LOOK_S).done:
            stopped = is_stopped(zygote.pid)
            if stopped or time.monotonic() > deadline:
                zygote.close()
                why = "it was stopped from outside (SIGSTOP)" if stopped else "it did not answer"
                raise _broken(why)
        future.result()
        return (folder / OUTCOME).read_text(encoding="utf-8")

    def _submit(self, number: int, message: dict[str, Any]) -> tuple[Child, Future[None]]:
        future: Future[None] = Future()
        with self._lock:
            zygote = self._running_zygote()
            self._waiting[number] = zygote, future
            try:
                zygote.channel.send(message, timeout=SEND_S)
            except TimeoutError as error:  # the channel is closed: its reader tells all who wait
                zygote.kill()
                raise _broken("it does not read what it is sent") from error
            except ProcessLost as error:  # its reader may have told all who waited before this one
                self._waiting.pop(number, None)
                zygote.wait(ENDING_S)
                returncode = None if zygote.killed else zygote.poll()
                raise self._ended(zygote, returncode, error.message) from error
        return zygote, future

    def _running_zygote(self) -> Child:
        if self._zygote is None or not self._zygote.usable:
            if self._zygote is not None:
                self._zygote.kill()  # its reader tells who still waits for it
            self._zygote = start_python(
                "kernelwright.runners.building.zygote",
                name="zygote",
                scratch=self._scratch,
                environment=clean_environment(self._scratch),
                limits=Limits(),
            )
            reader = threading.Thread(
                target=self._read, args=(self._zygote,), name="builder", daemon=True
            )
            reader.start()
        return self._zygote

    def _read(self, zygote: Child) -> None:
        """Hand each answer to the caller who waits for it, until the zygote ends."""
        try:
            while True:
                message, _ = zygote.channel.receive()
                _, future = self._waiting.pop(int(message.get("done") or message["failed"]))
                if "done" in message:
                    future.set_result(None)
                elif message["no_room"]:
                    future.set_exception(full(self._scratch, "what a build writes"))
                else:
                    returncode, why = message["returncode"], str(message["why"])
                    future.set_exception(self._ended(zygote, returncode, why))
        except (KernelwrightError, OSError) as error:
            with self._lock:  # another zygote may be at work already, with builds of its own
                own = [n for n, (asked, _) in self._waiting.items() if asked is zygote]
                futures = [self._waiting.pop(number)[1] for number in own]
            zygote.wait(ENDING_S)
            zygote.close()
            returncode = None if zygote.killed else zygote.poll()
            for future in futures:
                future.set_exception(self._ended(zygote, returncode, str(error)))

    def _ended(self, zygote: Child, returncode: int | None, why: str) -> ProcessLost:
        """Of a build, or of the zygote with all its builds; None: it was ended by us."""
        if returncode is None:
            return _broken(why)
        if was_killed(returncode):
            return ProcessLost(f"the build {KILLED}", next_step=AGAIN)
        said = zygote.stderr_text().strip()
        log = self._modules.parent / LOG
        kept = ""
        with suppress(OSError):
            log.write_text(said + "\n", encoding="utf-8")
            kept = f"all that it said: {log}"
        return _broken("; ".join(filter(None, (why, last_error(said), kept))))


def _broken(why: str) -> ProcessLost:
    return ProcessLost(
        f"the build process failed: {why}", next_step="try again: the builder starts anew"
    )
