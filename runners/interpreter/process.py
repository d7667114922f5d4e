"""The interpreter's process: it has torch and Triton imported, and forks for every run.

Triton decides when it is imported whether kernels are interpreted, so this process is started
with TRITON_INTERPRET=1. It fills an arena with values, lets a confined fork call the candidate
there, and reads what the fork has left: no candidate ever runs in this process itself, nor sees
another one.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ..capture.libraries import load
from ..collecting import nothing_collected
from ..processes.channel import Answer, Channel, serve
from ..processes.confined import Bounds, ConfinedFork, python_folders
from ..processes.source_files import write_sources
from ..protocol.arena_values import InputPool, collect, fill
from ..protocol.layout import arena
from ..protocol.messages import Check, Pool, RunResult
from ..protocol.outputs import OutputKey, OutputMemory, OutputSink
from ..protocol.shared_arena import ArenaStock, Bytes, SharedArena
from .messages import Program
from .program import REPORT, Report, run_program

MAX_REPORT_BYTES = 1 << 16


class Interpreter:
    """Keeps pools and programs; one method a message."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._pools: dict[str, InputPool] = {}
        self._messages: dict[str, Pool] = {}
        self._programs: dict[str, Program] = {}
        self._memory = OutputMemory()
        self._arenas = ArenaStock()

    def pool(self, message: Pool, fd: int) -> None:
        """Take over the inputs of a shape; a pool of the same name is replaced."""
        self._memory.forget(lambda key: key.pool == message.pool)
        self._pools[message.pool] = InputPool.of(message, fd)
        self._messages[message.pool] = message

    def drop_pool(self, pool: str) -> None:
        """Forget the inputs of a shape."""
        self._memory.forget(lambda key: key.pool == pool)
        self._pools.pop(pool, None)
        self._messages.pop(pool, None)

    def prepare(self, program: Program) -> None:
        """Make a variant known."""
        self._programs[program.variant] = program

    def unload(self, variant: str) -> None:
        """Forget a variant."""
        self._programs.pop(variant, None)
        self._memory.forget(lambda key: key.variant == variant)

    def check(self, message: Check) -> tuple[list[RunResult], int]:
        """Run once for each slot and poison, each in a fork of its own; as `Runner.check`."""
        pool = self._pools[message.pool]
        sink = OutputSink(pool.outputs, message.known, self._memory)
        layout = arena(pool.contract, 1, barely_aligned=message.placement == "barely")
        shared, results = self._arenas.take(layout), list[RunResult]()
        for slot, poison in zip(message.slots, message.poisons, strict=True):
            fill(shared, pool, 0, slot, poison)
            fault = self._run(message, shared)
            key = OutputKey(message.variant, message.pool, slot)
            found = collect(shared, pool, 0, key, poison, sink)
            if fault is not None:
                found = _faulted(slot, poison, *fault)
            results.append(found)
            if fault is not None:
                break
        return results, sink.close()

    def _run(self, message: Check, shared: SharedArena) -> tuple[str, str] | None:
        """The kind and the words of a fault; None when the call came back."""
        folder = self._scratch / "interpreted"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        program, shape = self._programs[message.variant], self._messages[message.pool]
        request = program.request.model_copy(
            update={"symbols": shape.symbols, "label": shape.label}
        )
        write_sources(folder, {**program.files, program.request.source_path: program.source})
        arrays: dict[str, Bytes] = {
            s.name: shared.memory[s.offset : s.offset + s.nbytes] for s in shared.layout.slots
        }
        fork = ConfinedFork(
            lambda: run_program(request, arrays),
            folder=folder,
            log=folder / "log.txt",
            bounds=Bounds(wall_s=message.timeout_s),
            read=python_folders(),
        )
        ended = fork.wait()
        if ended.timed_out:
            return "timed_out", ended.words
        report = None if ended.returncode else _report(folder / REPORT)
        if report is None:
            return "crashed", f"its process ended: {ended.words}"
        return (report.kind, report.detail) if report.kind else None


def _faulted(slot: int, poison: int, kind: str, words: str) -> RunResult:
    """A fault; words of the kernel's own exceptions could hold what it was given."""
    if kind in ("timed_out", "not_interpreted"):
        return RunResult(slot=slot, poison=poison, fault_kind=kind, fault=words)
    fault = "it failed under the interpreter"
    return RunResult(slot=slot, poison=poison, fault_kind=kind, fault=fault, said=words)


def _report(path: Path) -> Report | None:
    """What a fork wrote, which is not to be trusted; None when it is no report."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(fd, "rb") as file:
        text = file.read(MAX_REPORT_BYTES)
    try:
        return Report.model_validate_json(text)
    except ValidationError:
        return None


def main() -> None:
    """Serve messages until the channel closes: argv is CHANNEL_FD SCRATCH."""
    channel = Channel.from_fd(int(sys.argv[1]))
    with nothing_collected():  # else every fork walks through all of torch, and copies its pages
        for name in ("torch", "triton", "triton.language", "triton.runtime.interpreter"):
            load(name)
        gc.collect()
    interpreter = Interpreter(Path(sys.argv[2]))
    serve(channel, partial(_answer, interpreter))


def _answer(interpreter: Interpreter, message: dict[str, Any], fds: list[int]) -> Answer:
    body = message.get("body")
    match message["verb"]:
        case "pool":
            interpreter.pool(Pool.model_validate(body), fds[0])
        case "drop pool":
            interpreter.drop_pool(str(body))
        case "load":
            interpreter.prepare(Program.model_validate(body))
        case "unload":
            interpreter.unload(str(body))
        case "check":
            results, fd = interpreter.check(Check.model_validate(body))
            return {"results": [r.model_dump(mode="json") for r in results]}, [fd]
        case verb:
            raise ValueError(f"the interpreter knows no `{verb}`")
    return {}, []


if __name__ == "__main__":
    main()
