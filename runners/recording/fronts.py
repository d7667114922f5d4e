"""The environment in which a program is recorded, or runs with kernels replaced.

Two fronts see the same launches: `cupti` is loaded by the driver and tells times and all machine
code; `shim` is loaded before the driver and may put kernels in the place of others. Children of a
program inherit its variables and are recorded by themselves.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..errors import DeviceMissing, ToolchainMissing
from ..whole_files import write_whole
from .library import Libraries, built_libraries, driver_link, library_folder, real_driver
from .recorded import Size3

Front = Literal["cupti", "shim"]
PYTHON_SIDE = Path(__file__).with_name("python_side")
PREFIX = "KERNELWRIGHT_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a run is to keep, within which limits."""

    most_launch_bytes: int = 1 << 30
    """of one kept launch; beyond them it is told that it was not kept"""
    most_bytes: int = 8 << 30
    """of all kept launches together"""
    operators: bool = False
    """number PyTorch's operators; eager programs only"""
    exact_sizes: bool = False
    """PyTorch's tensors each in memory of their own, so that the driver knows their sizes"""
    shadow: int = 0
    """launches of each replacement that both run, the original's results staying; 0: it takes
    its place"""
    times: bool = True


@dataclass(frozen=True, slots=True)
class Request:
    """A launch to be kept: the first of its configuration from `ordinal` on."""

    label: str
    ordinal: int
    """among the launches of functions of this name, from 1"""
    grid: Size3
    block: Size3
    shared: int
    scalars: str
    """hexadecimal; `-` takes any"""
    name: str


@dataclass(frozen=True, slots=True)
class Swap:
    """A kernel in the place of another, for one configuration of it."""

    id: int
    name: str
    image: str
    """the file of the machine code that it replaces, as recordings call it; empty: any"""
    when_grid: Size3 | None
    """None: any geometry"""
    when_block: Size3
    when_shared: int
    cubin: Path
    entry: str
    grid: Size3
    block: Size3
    shared: int


def choose_front(libraries: Libraries, wanted: Front | None = None) -> Front:
    """CUPTI where it is there, unless another is wanted. Raises ToolchainMissing for one that is
    not."""
    if wanted == "cupti" and libraries.record is None:
        raise ToolchainMissing(
            f"no times can be recorded: {libraries.why_not}",
            next_step="install the CUDA toolkit's CUPTI, or record with --front shim: counts alone",
        )
    return wanted or ("cupti" if libraries.record is not None else "shim")


def environment_for(
    front: Front,
    recording: Path,
    asked: Asked,
    requests: Sequence[Request] = (),
    swaps: Sequence[Swap] = (),
    libraries: Libraries | None = None,
) -> dict[str, str]:
    """Variables that a program is started with. `recording`: the folder to write to; request and
    swap files are laid beside what is recorded. Raises ToolchainMissing and DeviceMissing."""
    libraries = libraries or built_libraries()
    recording.mkdir(parents=True, exist_ok=True, mode=0o700)
    recording.chmod(0o700)
    made = {
        "RECORDING": str(recording),
        "MOST_LAUNCH_BYTES": str(asked.most_launch_bytes),
        "MOST_BYTES": str(asked.most_bytes),
        "OPERATORS": str(int(asked.operators)),
        "SHADOW": str(asked.shadow),
        "TIMES": str(int(asked.times)),
    }
    if requests:
        made["SNAPSHOTS"] = str(_written(recording / "requests.txt", map(_request_row, requests)))
    if swaps:
        made["REPLACEMENTS"] = str(_written(recording / "swaps.txt", map(_swap_row, swaps)))
    environment = {PREFIX + name: value for name, value in made.items()}
    environment["PYTHONPATH"] = _before(str(PYTHON_SIDE), "PYTHONPATH")
    if asked.exact_sizes:
        environment["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
    return environment | _loaded(front, libraries)


def _loaded(front: Front, libraries: Libraries) -> dict[str, str]:
    if front == "cupti":
        assert libraries.record is not None
        return {
            "CUDA_INJECTION64_PATH": str(libraries.record),
            PREFIX + "CUPTI": str(libraries.cupti),
        }
    driver = real_driver()
    if driver is None:
        raise DeviceMissing(
            "there is no NVIDIA driver here (libcuda.so.1): no program runs on a GPU",
            next_step="record on the machine that has the GPU",
        )
    links = driver_link(library_folder(), driver)
    return {
        "LD_PRELOAD": _before(str(libraries.shim), "LD_PRELOAD"),
        "LD_LIBRARY_PATH": _before(str(links), "LD_LIBRARY_PATH"),
        PREFIX + "REAL_CUDA": str(driver),
        PREFIX + "SHIM": str(libraries.shim),
    }


def _before(first: str, variable: str) -> str:
    others = os.environ.get(variable)
    return f"{first}:{others}" if others else first


def _written(path: Path, lines: Iterable[str]) -> Path:
    return write_whole(path, "".join(f"{line}\n" for line in lines))


def _size(size: Size3) -> str:
    return " ".join(map(str, size))


def _request_row(r: Request) -> str:
    fields = (r.label, r.ordinal, _size(r.grid), _size(r.block), r.shared, r.scalars or "-", r.name)
    return "\t".join(map(str, fields))


def _swap_row(s: Swap) -> str:
    when = "-" if s.when_grid is None else _size(s.when_grid)
    place = (s.id, s.name, s.image, when, _size(s.when_block), s.when_shared)
    new = (s.cubin, s.entry, _size(s.grid), _size(s.block), s.shared)
    return "\t".join(map(str, (*place, *new)))
