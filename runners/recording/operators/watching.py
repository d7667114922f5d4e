"""A program run with its operators counted, on any machine that has torch."""

from __future__ import annotations

from pathlib import Path

from ....deploy.watching import FOLDER, KEEP
from ...errors import KernelwrightError
from ..recording import COUNT, Program, note, start_recording
from ..running import Ran, run_program
from .python_side import before_others
from .seen import SeenOperators, seen_operators

TORCH = "torch"
"""the front, as recordings name it"""


def record_operators(
    program: Program, outdir: Path, keep_bytes: int = 0
) -> tuple[SeenOperators, Ran]:
    """Run a program and count PyTorch's operators; keep the tensors of first calls up to
    `keep_bytes`. Replaces an earlier recording of the folder.

    Raises KernelwrightError, in a sentence, where no operator was seen.
    """
    start_recording(outdir, program)
    (outdir / COUNT).mkdir(mode=0o700)
    ran = run_program(
        program.command,
        folder=program.folder,
        scratch=outdir / f"{COUNT}-output",
        environment=before_others({FOLDER: str(outdir / COUNT), KEEP: str(keep_bytes)}),
        timeout_s=program.timeout_s,
        echo=program.echo,
        stdin=program.stdin,
    )
    note(outdir, program, front=TORCH, ran=ran)
    found = seen_operators(outdir / COUNT)
    if found is None:
        raise KernelwrightError(
            f"the program ended with {ran.ending} and called no operator of PyTorch"
            + (f"\n{ran.stderr[-2000:]}" if ran.failed else ""),
            next_step="look whether it is this command that starts Python, and whether that is "
            "started without -S, -I or -E",
        )
    return found, ran
