"""What decorators of a Triton kernel decide when it is launched, so that a grid may name it."""

from __future__ import annotations

from collections.abc import Callable

from ..inferring.triton_signature import decided_at_launch
from ..specs.declared_plan_model import TritonLaunch
from ..specs.spec import KernelSpec


def at_launch(spec: KernelSpec, read: Callable[[str], str] | None) -> frozenset[str]:
    """Constants that decorators of the entry, such as an autotuner, decide at its launch."""
    kernel = spec.kernel
    if not isinstance(kernel.launch, TritonLaunch):
        return frozenset()
    source = kernel.source_code
    if source is None and read is not None and kernel.source_path is not None:
        source = read(kernel.source_path)
    entry = kernel.metadata.kernel_name
    return frozenset() if source is None else decided_at_launch(source, entry)
