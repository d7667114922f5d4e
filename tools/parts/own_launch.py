"""How a variant is launched, where that is not how its kernel's spec says."""

from __future__ import annotations

from typing import Any

from ...runners.loading.files import LoadedKernel
from ...runners.model import Variant
from ...runners.plans.launch_in_force import launch_fields


def own_launch(loaded: LoadedKernel, variant: Variant) -> dict[str, Any] | None:
    """The variant's plan; None where it has none, or that of the spec."""
    known = (None, loaded.baseline().plan, launch_fields(loaded.spec.kernel, None))
    return None if variant.plan in known else variant.plan
