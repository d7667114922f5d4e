"""The fenced examples of skills, and their compilation for sm_90a; no GPU is needed.

A line `becomes: WORDS` in a comment of an example says what its PTX must contain. A Triton kernel
follows a line `# compile: x=*fp32, n=i32:16, BLOCK=1024, num_warps=4`: types of what is passed
(`:16`: divisible by 16, as pointers always are), and values of constants and options. After a
comma it may go on in the next line of comment.
"""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.runners.toolchains.compilers.cuda_job import toolkit
from kernelwright.runners.toolchains.compilers.nvrtc import room
from kernelwright.skills.catalogue import Skill, catalogue

ARCH = "sm_90a"
LANGUAGES = {"cuda", "triton", "python", "text"}
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_BECOMES = re.compile(r"(?:#|//) becomes: (.+)")


@dataclass(frozen=True)
class Example:
    """One fenced block of a page."""

    skill: str
    line: int
    """of the page, where its text begins"""
    language: str
    text: str

    @property
    def name(self) -> str:
        """For reports of tests, and for files."""
        return f"{self.skill}-{self.line}"

    @property
    def becomes(self) -> tuple[str, ...]:
        """What its PTX must contain."""
        return tuple(found.strip() for found in _BECOMES.findall(self.text))


def examples_of(skill: Skill) -> list[Example]:
    """Every fenced block of a page."""
    text = skill.text()
    return [
        Example(skill.id, text.count("\n", 0, found.start(2)) + 1, found[1], found[2])
        for found in _FENCED.finditer(text)
    ]


def examples(*languages: str) -> list[Example]:
    """The blocks of all pages in these languages."""
    found = (each for skill in catalogue() for each in examples_of(skill))
    return [each for each in found if each.language in languages]


def headers() -> list[Path]:
    """Folders of CUDA's headers; empty where no toolkit is installed."""
    root = toolkit()
    found = [] if root is None else [root / "include", root / "include" / "cccl"]
    return [folder for folder in found if folder.is_dir()]


def ptx_of_cuda(example: Example) -> str:
    """Raises AssertionError with the compiler's words for an example that it refuses or warns of.

    It is assembled as well, so that ptxas has its say.
    """
    nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")
    _, program = nvrtc.nvrtcCreateProgram(
        example.text.encode(), f"{example.name}.cu".encode(), 0, None, None
    )
    options = [f"--gpu-architecture={ARCH}", "--std=c++17", *(f"-I{f}" for f in headers())]
    encoded = [option.encode() for option in options]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(encoded), encoded)
    log = room(nvrtc.nvrtcGetProgramLogSize(program)[1])
    nvrtc.nvrtcGetProgramLog(program, log)
    said = log.replace(b"\0", b"").strip().decode("utf-8", "replace")
    assert int(status) == 0 and not said, said
    ptx = room(nvrtc.nvrtcGetPTXSize(program)[1])
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(program)
    return ptx.rstrip(b"\0").decode()


def compile_triton(given: Iterable[Example], folder: Path) -> dict[str, dict[str, str]]:
    """The same for some examples; `folder` takes their sources and what Triton caches."""
    for example in given:
        (folder / f"{example.name}.py").write_text(example.text, encoding="utf-8")
    script = Path(__file__).with_name("skill_triton.py")
    done = subprocess.run(
        [sys.executable, script, folder], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads((folder / "compiled.json").read_text(encoding="utf-8"))
