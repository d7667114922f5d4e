"""SASS listings of cubins: what the GPU executes, with lines of source and PTX, for reading.

They cost as much as a build, and no gate reads them: they are made for those kernels alone of
which somebody wants to read (`Builder.list_code`). Without a disassembler there are none.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from ...machine_code.cubin import is_new_abi
from ...plans.plan import Module
from ...processes.confined import Bounds, ConfinedFork, run_all

TOOL = "nvdisasm"
FLAGS = ("-c", "-g", "-gi", "-gp", "-ndf")
"""code only; lines of source, inlined calls, lines of PTX; no guesses at branch targets"""
BOUNDS = Bounds(wall_s=10, memory_bytes=4 << 30, file_bytes=64 << 20, processes=4)
_PRIVATE = re.compile(rb'"[^"\n]*/build-\d+/(?:work/)?')
"""the folder of a build in the name of a source file (`builder.py` names the folders)"""


def disassembler(image: bytes) -> Path | None:
    """The `nvdisasm` for a cubin, None where there is none.

    One of CUDA 12 and one of CUDA 13 read each other's files with less: Triton's own comes
    first for what Triton's assembler wrote, the toolkit's for newer code.
    """
    bundled, others = list(_bundled()), list(_installed())
    order = [*others, *bundled] if is_new_abi(image) else [*bundled, *others]
    return next((tool for tool in order if os.access(tool, os.X_OK)), None)


def _bundled() -> Iterator[Path]:
    """Triton brings one along; looking for it does not import Triton."""
    found = importlib.util.find_spec("triton")
    if found is not None and found.origin is not None:
        yield Path(found.origin).parent / "backends" / "nvidia" / "bin" / TOOL


def _installed() -> Iterator[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        if root := os.environ.get(variable):
            yield Path(root) / "bin" / TOOL
    if found := shutil.which(TOOL):
        yield Path(found)
    yield Path("/usr/local/cuda/bin") / TOOL
    for place in filter(None, sys.path):
        yield from sorted(Path(place).glob(f"nvidia/cu*/bin/{TOOL}"))


def sass_modules(cubins: Sequence[Module], folder: Path) -> dict[str, Module]:
    """Disassemble each `<sha256>.cubin` of `folder` into a module beside it, by its hash.

    One that cannot be disassembled is left out. For a build child, which has one thread: the
    disassembler runs confined, since what it reads may come from a candidate.
    """
    scratch = folder / "listings"
    scratch.mkdir(exist_ok=True)
    tools = {m.sha256: disassembler(_code(m, folder).read_bytes()) for m in cubins}
    jobs = [(m, tool) for m in cubins if (tool := tools[m.sha256]) is not None]
    ends = run_all([partial(_start, tool, m, folder, scratch) for m, tool in jobs])
    found = dict[str, Module]()
    for (module, _), ended in zip(jobs, ends, strict=True):
        text = _PRIVATE.sub(b'"', (scratch / module.sha256).read_bytes())
        if ended.returncode == 0 and text.strip():
            sha256 = hashlib.sha256(text).hexdigest()
            (folder / f"{sha256}.sass").write_bytes(text)
            found[module.sha256] = Module(
                sha256=sha256, kind="sass", nbytes=len(text), of=module.sha256
            )
    shutil.rmtree(scratch)
    return found


def _code(cubin: Module, folder: Path) -> Path:
    return folder / f"{cubin.sha256}.cubin"


def _start(tool: Path, cubin: Module, folder: Path, scratch: Path) -> ConfinedFork:
    code = _code(cubin, folder)

    def body() -> None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.execv(tool, [str(tool), *FLAGS, str(code)])

    return ConfinedFork(
        body,
        folder=scratch,
        log=scratch / cubin.sha256,
        bounds=BOUNDS,
        read=[tool.resolve().parent, code],
    )
