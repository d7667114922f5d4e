"""What a winner costs to be called on this host: measured once, and kept for all recordings."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from ....deploy.host_code import processor
from ...whole_files import write_whole
from ..library import library_folder
from ..running import run_program

LIMIT_S = 120.0
NOTED = "call-cost.json"
"""in a recording: as it was when it was made"""


@dataclass(frozen=True, slots=True)
class CallCost:
    """Microseconds of a call on the host, whatever its kernel takes (`deploy/cost.py`)."""

    operator_us: float
    """of a small operator of PyTorch"""
    winner_us: float
    """with a winner in its place"""
    elsewhere_us: float
    """that a winner leaves to PyTorch"""
    wait_us: float
    """on a GPU, from the return of a call until its kernel, which does nothing, was waited for"""


def noted_cost(recording: Path) -> CallCost | None:
    """What a recording holds; None: it was not measured."""
    return _read(recording / NOTED)


def note_cost(recording: Path, device: str) -> None:
    """Write it into a recording whose operators run on `device` (`cpu`, `cuda`)."""
    found = call_cost(device, recording / "call-cost-output")
    if found is not None:
        write_whole(recording / NOTED, json.dumps(asdict(found)) + "\n")


def call_cost(device: str, scratch: Path) -> CallCost | None:
    """Of this host, from what is kept, or measured in a process of its own; None: this Python has
    no torch, or torch no such device."""
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        return None
    file = library_folder() / f"call-cost-{_key(device)}.json"
    found = _read(file)
    if found is None:
        command = (sys.executable, "-P", "-m", "kernelwright.deploy.cost", device)
        ran = run_program(
            command, folder=Path("/"), scratch=scratch, environment={}, timeout_s=LIMIT_S
        )
        if ran.failed:
            return None
        write_whole(file, ran.stdout)
        found = _read(file)
    return found


def _read(file: Path) -> CallCost | None:
    try:
        return CallCost(**json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _key(device: str) -> str:
    """Of the processor, the Python and torch in it, and the loader as it is."""
    from importlib.metadata import version

    from .... import deploy

    digest = hashlib.sha256(f"{processor()} {sys.version} {version('torch')} {device}".encode())
    for source in sorted(Path(deploy.__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]
