"""PTX for reading, made in a process of its own that stays: a compilation takes a tenth of a
second, and the start of what compiles several times as much.

Messages in: `{"source", "entry", "defines", "host"}`, `host` for a function of host C++, which is
read as device code of one thread; messages out: `{"ptx", "entry"}`, or `{"failed"}` with the
reason. That process must keep its one thread, as it forks for each compilation.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import cast

from ..errors import KernelwrightError
from ..toolchains.compilers import nvrtc
from ..toolchains.compilers.plain_host import plain_host_ptx
from ..toolchains.compilers.plain_ptx import plain_ptx
from .reading_process import ReadingProcess, answer_all

PATIENCE_S = 90.0
"""beyond which a compilation, which has a limit of its own, is given up"""
KEPT = 256


@lru_cache(maxsize=KEPT)
def compiled_plainly(
    source: str, entry: str, defines: tuple[tuple[str, int | float | str], ...], host: bool = False
) -> tuple[str, str] | str:
    """(PTX, name of the entry in it) of a kernel by its C++ name, or why there is none. For any
    thread; kept by what was asked. `host`: whether it is a function of host C++."""
    if nvrtc.library() is None:
        return nvrtc.UNREAD
    asked = {"source": source, "entry": entry, "defines": dict(defines), "host": host}
    answer = _COMPILER.ask(asked)
    return answer if isinstance(answer, str) else (str(answer["ptx"]), str(answer["entry"]))


_COMPILER = ReadingProcess("plain_compiler", "compiles for reading", PATIENCE_S)


def main() -> None:
    """Compile what is asked for until the channel closes."""
    answer_all(int(sys.argv[1]), nvrtc.preload, _answer)


def _answer(message: Mapping[str, object]) -> dict[str, str]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        try:
            defines = cast("dict[str, int | float | str]", message["defines"])
            source, entry = str(message["source"]), str(message["entry"])
            compile_it = plain_host_ptx if message["host"] else plain_ptx
            made = compile_it(source, entry, Path(folder), defines=defines)
        except KernelwrightError as error:
            return {"failed": str(error)}
    if isinstance(made, tuple):
        return {"ptx": made[0], "entry": made[1]}
    return {"failed": made.message}


if __name__ == "__main__":
    main()
