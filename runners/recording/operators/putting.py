"""Winners in a program's operators: what a run with them is started with, installed and undone.

Nothing of the program is changed. What is installed lies in the recording's folder, a folder for
each operator, and works in programs that are started by `kernelwright program run`, or with the
variables that `environment_with` says.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ....deploy.aten import USES
from ....deploy.reading import OPERATOR_JSON, Refused, read_winner
from ...errors import AccessError
from ...whole_files import write_whole
from ..recording import Program
from ..running import run_program
from .python_side import before_others

INSTALLED, PLACE = "installed-operators", "KERNELWRIGHT_DEPLOY"


def environment_with(folder: Path) -> dict[str, str]:
    """Variables that put the winners of a folder in place."""
    return before_others({PLACE: str(folder)})


@dataclass(frozen=True, slots=True)
class OperatorSides:
    """Without: what is installed already, or nothing. With: the winners of `new` besides."""

    new: Path
    operator: str
    """whose uses count"""
    before: Path | None = None

    def environment(self, place: Path, replaced: bool) -> dict[str, str]:
        """With winners, or as the program runs by itself."""
        folder = self.new if replaced else self.before
        place.mkdir(parents=True, mode=0o700, exist_ok=True)
        return {} if folder is None else environment_with(folder) | {USES: str(place)}

    def used(self, place: Path) -> tuple[int, list[str]]:
        """As each process told at its end, and what it refused."""
        told = [json.loads(file.read_text("utf-8")) for file in place.glob("*.json")]
        error = place / "output" / "program.stderr"
        lines = error.read_text("utf-8", "replace").splitlines() if error.is_file() else []
        notes = [line for line in lines if line.startswith("kernelwright: ")]
        return sum(int(each.get(self.operator, 0)) for each in told), notes


def folder_name(operator: str) -> str:
    """Of an operator's winner: `aten.linalg_vector_norm`."""
    return operator.replace("::", ".")


def put_together(installed: Path | None, winner: Path, place: Path) -> Path:
    """A folder with what is installed and a winner: its cases stand before those of the same
    operator that are there. Raises Refused."""
    read_winner(winner)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True, mode=0o700)
    for folder in winners_in(installed):
        shutil.copytree(folder, place / folder.name)
    told = json.loads((winner / OPERATOR_JSON).read_text("utf-8"))
    home = place / folder_name(told["operator"])
    home.mkdir(mode=0o700, exist_ok=True)
    for name in told["files"]:
        shutil.copyfile(winner / name, home / name)
    there = home / OPERATOR_JSON
    if there.is_file():
        was = json.loads(there.read_text("utf-8"))
        new = {json.dumps(each["key"]) for each in told["cases"]}
        kept = [each for each in was["cases"] if json.dumps(each["key"]) not in new]
        told = {**told, "cases": [*told["cases"], *kept], "files": was["files"] | told["files"]}
    write_whole(there, json.dumps(told, indent=1) + "\n")
    read_winner(home)
    return place


def winners_in(folder: Path | None) -> list[Path]:
    """The folders of winners in a folder."""
    return [] if folder is None else sorted(f.parent for f in folder.glob(f"*/{OPERATOR_JSON}"))


def install_operators(outdir: Path, tried: Path, operator: str, proof: dict[str, Any]) -> Path:
    """Keep the folder that was tried, with what was measured of it."""
    home = outdir / INSTALLED
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(tried, home)
    file = home / folder_name(operator) / OPERATOR_JSON
    told = json.loads(file.read_text("utf-8"))
    write_whole(file, json.dumps({**told, "proof": proof}, indent=1) + "\n")
    return home


def installed_operators(outdir: Path) -> tuple[Path | None, dict[str, dict[str, Any]]]:
    """The folder that is installed, and by operator what was measured. Raises AccessError where a
    file is not what was proved."""
    home = outdir / INSTALLED
    if not home.is_dir():
        return None, {}
    try:
        winners = [read_winner(folder) for folder in winners_in(home)]
    except Refused as error:
        raise AccessError(
            str(error), next_step="`kernelwright program roll-back`, then verify it again"
        ) from error
    return home, {each.operator: dict(each.proof) for each in winners}


def run_with_operators(program: Program, outdir: Path) -> int:
    """Run the program once with what is installed, its output passed on; its exit status."""
    home, _ = installed_operators(outdir)
    ran = run_program(
        program.command,
        folder=program.folder,
        scratch=outdir / "run" / "output",
        environment={} if home is None else environment_with(home),
        timeout_s=program.timeout_s,
        echo=program.echo,
        stdin=program.stdin,
    )
    return ran.returncode


def roll_back_operators(outdir: Path) -> int:
    """Install nothing; how many operators had a winner."""
    home = outdir / INSTALLED
    count = len(winners_in(home))
    shutil.rmtree(home, ignore_errors=True)
    return count
