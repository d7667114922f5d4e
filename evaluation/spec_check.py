"""All that can be known of a spec before its kernel is opened: `kernelwright spec --check`."""

from __future__ import annotations

from pathlib import Path

import psutil

from ..runners.errors import SpecError
from ..runners.loading.files import LoadedKernel
from ..runners.oracle.oracle import Oracle
from .rig.gpus import Gpus
from .rig.open_kernel import open_state
from .rig.rig import Rig
from .spec_agrees import check_memory, check_reference, check_scalars
from .way_out import header_missing


def check_cheaply(loaded: LoadedKernel) -> None:
    """Sizes against types and memory, arguments against the reference. Raises SpecError."""
    check_memory(loaded.spec, psutil.virtual_memory().total)
    check_scalars(loaded.spec)
    if loaded.reference is not None:
        check_reference(loaded.reference, loaded.spec)


def check_spec(loaded: LoadedKernel, scratch: Path) -> None:
    """Sizes against types and memory, the reference loaded, the kernel compiled; nothing of the
    kernel runs. Raises SpecError, ReferenceFailed, and what building does."""
    check_cheaply(loaded)
    rig = Rig(scratch / "modules", scratch, Gpus(scratch))
    oracle = Oracle(scratch)
    try:
        target = rig.gpus.target(loaded)  # refuses a GPU that nobody knows
        if loaded.reference is not None:
            oracle.open(loaded)
        built = rig.build(open_state(loaded, None, target), loaded.baseline())
    finally:
        oracle.close()
        rig.close()
    if built.artifact is None:
        raise SpecError(
            f"the kernel does not build: {built.message}", next_step=header_missing(built.message)
        )
