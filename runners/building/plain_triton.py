"""What Triton sources launch and their kernels as TTIR, for reading, by a process of its own that
stays: loading torch and Triton takes seconds, and calling a source a fraction of one.

Messages in: `{"source", "files", "requests"}`, files by name with their texts, a request for each
shape (`CaptureRequest`); messages out: `{"launches"}` (`Launches` as JSON, in order), or
`{"failed"}` with the reason. That process keeps its one thread: the source's Python runs in
confined forks of it.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, cast

from ..capture.launches import Launches, read_launches
from ..capture.messages import CaptureRequest
from ..processes.confined import Bounds, ConfinedFork, python_folders, read_left, run_all
from ..processes.killed import last_error
from ..processes.source_files import write_sources
from ..toolchains import triton_jit
from ..toolchains.triton_captures import private_folders
from .reading_process import ReadingProcess, answer_all

PATIENCE_S = 90.0
"""beyond which an answer, which has a limit of its own, is given up"""
CALL_S = 20.0
"""of one call of a source"""
MOST_BYTES = 8 << 20
KEPT = 256


@lru_cache(maxsize=KEPT)
def launched_plainly(
    source: str, requests: tuple[str, ...], files: tuple[tuple[str, str], ...] = ()
) -> tuple[Launches, ...] | str:
    """What a source launches at each shape, or why it cannot be told. For any thread; kept by what
    was asked. `requests`: `CaptureRequest` as JSON, with one and the same `source_path`; `files`:
    names and texts of what it imports beside it."""
    if why := triton_jit.TOOLCHAIN.missing():
        return why
    answer = _READER.ask({"source": source, "files": dict(files), "requests": [*requests]})
    if isinstance(answer, str):
        return answer
    return tuple(Launches.model_validate(each) for each in answer["launches"])


_READER = ReadingProcess("plain_triton", "reads Triton sources", PATIENCE_S)


def main() -> None:
    """Read what is asked for until the channel closes."""
    answer_all(int(sys.argv[1]), triton_jit.preload, _answer)


def _answer(message: Mapping[str, Any]) -> dict[str, Any]:
    requests = [CaptureRequest.model_validate_json(each) for each in message["requests"]]
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder, logs = Path(name) / "work", Path(name) / "logs"
        for made in (folder, logs):
            made.mkdir()
        texts = cast("Mapping[str, str]", message["files"])
        write_sources(folder, {**texts, requests[0].source_path: str(message["source"])})
        forks = [partial(_fork, each, n, folder, logs) for n, each in enumerate(requests)]
        found = list[Any]()
        for number, ended in enumerate(run_all(forks)):
            try:
                left = read_left(folder / f"{number}.json", MOST_BYTES)
                found.append(json.loads(left))
            except (OSError, ValueError):
                said = (logs / f"{number}.log").read_text(encoding="utf-8", errors="replace")
                return {"failed": f"its Python {ended.words} {last_error(said)}".strip()}
    return {"launches": found}


def _fork(request: CaptureRequest, number: int, folder: Path, logs: Path) -> ConfinedFork:
    def body() -> None:
        private_folders(folder)
        found = read_launches(request)
        (folder / f"{number}.json").write_text(found.model_dump_json(), encoding="utf-8")

    return ConfinedFork(
        body,
        folder=folder,
        log=logs / f"{number}.log",
        bounds=Bounds(wall_s=CALL_S),
        read=python_folders(),
    )


if __name__ == "__main__":
    main()
