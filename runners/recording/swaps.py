"""Kernels that take the place of others, as files: what is tried, installed and undone.

Nothing of the program is changed. An installed swap is `installed.json` in the recording's folder
with the machine code beside it, and works in programs that are started by `kernelwright program
run`; where that file is gone, the program is as it was.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import AccessError, SpecError
from ..whole_files import write_whole
from .fronts import Swap
from .recorded import Configuration, Size3

INSTALLED, CODE = "installed.json", "installed"


@dataclass(frozen=True, slots=True)
class Replacement:
    """Machine code for the launches of one recorded configuration, with the launch that it needs.
    It takes the parameters of the original."""

    cubin: Path
    entry: str
    grid: Size3
    block: Size3
    shared: int


def swap_for(c: Configuration, new: Replacement, number: int = 0) -> Swap:
    """What puts it there: for this kernel, this machine code, this geometry, and nothing else.

    Raises AccessError where there is no such file, SpecError where it is no machine code.
    """
    try:
        begun = new.cubin.read_bytes()[:4]
    except OSError as error:
        raise AccessError(f"{new.cubin} cannot be read: {error.strerror}") from error
    if begun != b"\x7fELF":
        raise SpecError(
            f"{new.cubin} is no machine code of a GPU",
            valid="a cubin, as `nvcc -cubin -arch=native` makes it",
        )
    return Swap(
        id=number,
        name=c.function.name,
        image=c.function.image,
        when_grid=c.grid,
        when_block=c.block,
        when_shared=c.shared,
        cubin=new.cubin.absolute(),
        entry=new.entry,
        grid=new.grid,
        block=new.block,
        shared=new.shared,
    )


def install(outdir: Path, swaps: Sequence[Swap], proof: dict[str, Any]) -> Path:
    """Keep swaps with their machine code and what was measured of them. The file that says so."""
    code = outdir / CODE
    code.mkdir(mode=0o700, exist_ok=True)
    rows = list[dict[str, Any]]()
    for swap in swaps:
        image = swap.cubin.read_bytes()
        digest = hashlib.sha256(image).hexdigest()
        kept = write_whole(code / f"{digest[:16]}.cubin", image)
        rows.append({**asdict(swap), "cubin": kept.name, "sha256": digest})
    return write_whole(
        outdir / INSTALLED, json.dumps({"swaps": rows, "proof": proof}, indent=2) + "\n"
    )


def installed(outdir: Path) -> tuple[tuple[Swap, ...], dict[str, Any]]:
    """Swaps that are installed, and what was measured of them; none where none are.

    Raises AccessError where machine code is not what was installed.
    """
    file = outdir / INSTALLED
    if not file.exists():
        return (), {}
    told = json.loads(file.read_text("utf-8"))
    return tuple(_swap(row, outdir / CODE) for row in told["swaps"]), told["proof"]


def roll_back(outdir: Path) -> int:
    """Install nothing; how many swaps were. The program was never changed, so it is as it was."""
    count = len(installed(outdir)[0])
    (outdir / INSTALLED).unlink(missing_ok=True)
    for file in (outdir / CODE).glob("*.cubin"):
        file.unlink()
    return count


def _swap(row: dict[str, Any], code: Path) -> Swap:
    cubin = code / row["cubin"]
    image = cubin.read_bytes() if cubin.exists() else b""
    if hashlib.sha256(image).hexdigest() != row["sha256"]:
        raise AccessError(
            f"the installed machine code {cubin} is not what was proved",
            next_step="`kernelwright program roll-back`, then verify it again",
        )
    when = row["when_grid"]
    return Swap(
        id=row["id"],
        name=row["name"],
        image=row["image"],
        when_grid=None if when is None else _size3(when),
        when_block=_size3(row["when_block"]),
        when_shared=row["when_shared"],
        cubin=cubin.absolute(),
        entry=row["entry"],
        grid=_size3(row["grid"]),
        block=_size3(row["block"]),
        shared=row["shared"],
    )


def _size3(given: Sequence[int]) -> Size3:
    x, y, z = given
    return (x, y, z)
