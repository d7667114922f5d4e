"""The shapes at which a source is called for reading: small, legal, and of different sizes, so that
what a number stands for can be told from its values."""

from __future__ import annotations

from ......runners.capture.messages import CaptureRequest
from ......runners.plans.launch_in_force import launch_fields
from ......runners.specs.devices import PROFILES
from ......runners.specs.spec import KernelSpec
from ....shared.base import State

WANTED = (37, 53, 71, 29, 61, 43, 83, 19)
"""of which each symbol takes another one at each shape"""
SCALES = (1, 1, 16)
"""of the shapes: the last is large enough for several tiles each way"""


def requests_of(state: State) -> list[CaptureRequest]:
    """What the reader is asked for: the source's call at each shape, with the state's values."""
    return [_request(state, symbols) for symbols in _shapes(state.spec)]


def at_workloads(state: State) -> list[CaptureRequest]:
    """The same at the sizes of workloads, by which an entry may choose among its kernels."""
    return [_request(state, dict(each.symbols)) for each in state.spec.workloads]


def _request(state: State, symbols: dict[str, int]) -> CaptureRequest:
    spec = state.spec
    return CaptureRequest(
        source_path="kernel_module.py",
        entry=spec.kernel.metadata.kernel_name,
        contract=spec.io,
        symbols=symbols,
        label="read",
        device=PROFILES[0][0],
        parameters=state.chosen,
        launch=launch_fields(spec.kernel, state.plan),
        defines=spec.kernel.defines,
    )


def _shapes(spec: KernelSpec) -> list[dict[str, int]]:
    made = list[dict[str, int]]()
    listed = any(domain is None for domain in spec.symbols.values())
    many = max(len(SCALES), len(spec.workloads)) if listed else len(SCALES)
    for shape in range(many):
        scale = SCALES[shape % len(SCALES)]
        symbols = dict(spec.workloads[shape % len(spec.workloads)].symbols)
        for at, (name, domain) in enumerate(spec.symbols.items()):
            if domain is None:
                continue
            step = domain.multiple_of
            wanted = max(domain.min, (WANTED[(at + shape) % len(WANTED)] + 2 * shape) * scale)
            if wanted > domain.max:  # a small domain has different sizes too
                wanted = domain.min + wanted % (domain.max - domain.min + 1)
            symbols[name] = min(-(-wanted // step) * step, domain.max // step * step)
        if symbols not in made:
            made.append(symbols)
    return made
