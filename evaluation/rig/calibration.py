"""What is known of a kernel's baseline that its candidates' gates are measured by.

Found when it is first needed, and kept as long as the kernel is open here.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...runners.errors import ExpressionError, SpecError
from ...runners.gates import Run
from ...runners.gates.incumbent import gives_several_results
from ...runners.gates.physics import Floors, floors
from ...runners.specs.contract import BoundContract, workload_contracts
from ...runners.specs.devices import DeviceFacts
from ...runners.specs.gate_shapes import gate_shapes
from ...runners.specs.spec import KernelSpec

UNSTEADY = (
    "the baseline is not deterministic (the same input gave different bits), so candidates are "
    "not asked to be: `deterministic: false` in the contract would say so"
)


@dataclass
class Calibration:
    """The baseline's own limits."""

    is_deterministic: bool = True
    not_asked: dict[str, str] = field(default_factory=dict[str, str])
    """by trial (a shape, a kind of stress): why the baseline does not hold in it"""
    held: set[str] = field(default_factory=set[str])
    """trials of other values in which the baseline was seen to hold"""
    shapes: tuple[BoundContract, ...] | None = None
    """the further legal shapes, once they were drawn"""
    _floors: Floors | None = None

    def saw(self, baseline: Sequence[Run]) -> None:
        """Take in runs of the baseline."""
        self.is_deterministic = self.is_deterministic and not gives_several_results(baseline)

    def gate_shapes(
        self, spec: KernelSpec, known: Mapping[str, int] | None
    ) -> tuple[BoundContract, ...]:
        """The further legal shapes of the kernel beside its workloads and the `known` odd one."""
        if self.shapes is None:
            self.shapes = gate_shapes(spec, secrets.randbits(32), [known] if known else [])
        return self.shapes

    def floors(self, spec: KernelSpec, target: DeviceFacts | None) -> Floors:
        """The physics floors of all workloads."""
        if self._floors is None:
            every = (*workload_contracts(spec), *workload_contracts(spec, held_out=True))
            try:
                self._floors = floors(spec.io, every, target)
            except (ExpressionError, SpecError) as error:
                self._floors = Floors(missing=error.message)
        return self._floors
