"""The languages that kernels are written in: what sets one apart from the others, as data.

A new one is a value in `LANGUAGES` and the file in `toolchains` that it names. No module asks which
language a kernel is written in: it asks for one of these facts, or looks into a table of its own
room, by `syntax` or by kernel type, that says what holds for a language which it does not list.
Nothing heavy is loaded here, as specs are read with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from .errors import ToolchainMissing
from .model import Tier

Syntax = Literal["c", "python", "text"]
"""How sources are read: as C++ with CUDA's words, as Python, or line by line."""
LaunchForm = Literal["cuda", "triton"]
"""What `kernel.launch` of a spec looks like."""


@dataclass(frozen=True, kw_only=True)
class Language:
    """One language of kernels."""

    kernel_type: str
    """as specs call it"""
    title: str
    """as people call it"""
    suffixes: tuple[str, ...]
    """of its source files; a source without a file gets the first"""
    tier: Tier
    """what runs beside the clock"""
    toolchain: str
    """the module of `toolchains` that builds it"""
    syntax: Syntax = "text"
    launch: LaunchForm | None = None
    """None: its kernels are called, not launched"""
    planned: bool = False
    """whether a spec or candidate declares what is launched: a launch, or a plan of several"""
    launches_itself: bool = False
    """whether its launches stand in the source, with values for what the toolchain finds in them"""
    interpreted: bool = False
    """whether Triton's interpreter runs it without a GPU"""
    stem: str = "kernel"
    """of the file that holds a variant's source in the outdir"""

    @property
    def on_gpu(self) -> bool:
        """Whether its code runs on a GPU."""
        return self.tier == "device"

    @property
    def file_name(self) -> str:
        """Of the file that holds a variant's source in the outdir."""
        return self.stem + self.suffixes[0]

    @property
    def macros(self) -> bool:
        """Whether parameters reach a source as macros (`-DTILE=32`), not with its launch."""
        return self.syntax == "c"


LANGUAGES: Mapping[str, Language] = {
    each.kernel_type: each
    for each in (
        Language(
            kernel_type="triton",
            title="Triton",
            suffixes=(".py",),
            tier="device",
            toolchain="triton_jit",
            syntax="python",
            launch="triton",
            launches_itself=True,
            interpreted=True,
            stem="kernel_module",
        ),
        Language(
            kernel_type="cuda",
            title="CUDA",
            suffixes=(".cu", ".cuh"),
            tier="device",
            toolchain="cuda",
            syntax="c",
            launch="cuda",
            planned=True,
        ),
        Language(
            kernel_type="cpp",
            title="host C++",
            suffixes=(".cpp", ".cc", ".cxx", ".c"),
            tier="native",
            toolchain="host_cpp",
            syntax="c",
        ),
    )
}
"""By kernel type, in the order of the published schema."""
KERNEL_TYPES: tuple[str, ...] = tuple(LANGUAGES)

if TYPE_CHECKING:
    KernelType = str
else:
    KernelType = Literal[KERNEL_TYPES]
"""For pydantic one of `KERNEL_TYPES`; for type checkers a text, as they cannot look into the
table: a test asks that what moves and methods name stands there."""


def language_of(kernel_type: str) -> Language:
    """The language of a kernel type. Raises ToolchainMissing."""
    found = LANGUAGES.get(kernel_type)
    if found is None:
        raise ToolchainMissing(
            f"no toolchain builds `{kernel_type}` kernels", valid=", ".join(KERNEL_TYPES)
        )
    return found
