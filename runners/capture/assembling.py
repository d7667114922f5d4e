"""From what was recorded to a launch plan: outputs found, unused buffers and fills left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import SpecError
from ..plans.plan import (
    Fill,
    Launch,
    LaunchPlan,
    Param,
    PlanBuffer,
    PlanKernel,
    PlanOutput,
    ScalarParam,
    argument_buffers,
    contract_outputs,
)
from ..specs.contract import BoundArgument, BoundContract
from .device_tensors import DeviceTensors
from .recorder import Place, Recorder

USUAL_ALIGN = 16
"""what machine code may have been specialised for in a buffer that the wrapper allocated"""


def assemble(
    contract: BoundContract,
    recorder: Recorder,
    kernels: Sequence[PlanKernel],
    results: Mapping[str, Any],
    tensors: DeviceTensors,
) -> LaunchPlan:
    """The plan of one call; `results`: returned tensors by output, laid out as the contract says.

    Raises SpecError when nothing was launched or a result lies where no output may lie.
    """
    launches = [s for s in recorder.steps if isinstance(s, Launch)]
    if not launches:
        raise SpecError("the wrapper launched no kernel")
    places = {name: tensors.place(tensor) for name, tensor in results.items()}
    renamed = dict[str, str]()
    outputs = list[PlanOutput]()
    arguments = {a.name: a for a in contract.arrays}
    for own, bound in zip(contract_outputs(contract), contract.outputs, strict=True):
        if own.name not in places:
            outputs.append(own)
            continue
        place = places[own.name]
        _check_place(bound, place, arguments)
        if _becomes_the_argument(bound, place, recorder, renamed):
            renamed[place.buffer.name] = own.name
        changed = {"buffer": place.buffer.name, "offset": place.offset}
        outputs.append(own.model_copy(update=changed))
    used = used_buffers(recorder, (o.buffer for o in outputs))
    plan = LaunchPlan(
        label=contract.label,
        kernels=tuple(k for k in kernels if k.id in {s.launch for s in launches}),
        buffers=_buffers(contract, recorder, used, renamed),
        setup=tuple(f for f in recorder.setup if f.fill in used),
        steps=tuple(s for s in recorder.steps if isinstance(s, Launch) or s.fill in used),
        outputs=tuple(outputs),
    )
    return _with_names(plan, renamed)


def _check_place(
    bound: BoundArgument, place: Place, arguments: Mapping[str, BoundArgument]
) -> None:
    buffer = place.buffer
    if buffer.role == "const":
        raise SpecError(
            f"output `{bound.name}` lies in a constant, which is uploaded once, not for every run",
            valid="a tensor from torch.empty, torch.zeros or torch.full",
        )
    if buffer.role != "argument":
        return
    owner = arguments[buffer.name]
    if owner.argument.role == "input":
        raise SpecError(
            f"output `{bound.name}` comes back inside the input `{owner.name}`",
            valid=f"an own tensor; if `{owner.name}` is changed in place, declare it `inout`",
        )


def _becomes_the_argument(
    bound: BoundArgument,
    place: Place,
    recorder: Recorder,
    renamed: Mapping[str, str],
) -> bool:
    """Whether a buffer that the wrapper allocated can be the output's own from the start."""
    whole = place.offset == 0 and place.buffer.nbytes == bound.nbytes
    fits = place.buffer.role == "scratch" and bound.argument.align >= USUAL_ALIGN
    prepared = {fill.fill for fill in recorder.setup}
    free = bound.argument.role == "output" and place.buffer.name not in {*renamed, *prepared}
    return whole and fits and free and bound.name not in _named(recorder.steps, recorder.setup)


def _named(steps: Sequence[Launch | Fill], setup: Sequence[Fill]) -> frozenset[str]:
    """The buffers that steps touch."""
    params = (p for s in steps if isinstance(s, Launch) for p in s.params)
    fills = (s for s in (*steps, *setup) if isinstance(s, Fill))
    pointed = (p.buffer for p in params if not isinstance(p, ScalarParam) and p.buffer)
    return frozenset(pointed) | {f.fill for f in fills}


def used_buffers(recorder: Recorder, outputs: Iterable[str]) -> frozenset[str]:
    """The buffers that a launch or an output needs; a fill alone is no reason to keep one.

    `outputs`: the buffers in which they lie.
    """
    launches = [s for s in recorder.steps if isinstance(s, Launch)]
    arguments = {b.name for b in recorder.buffers if b.role == "argument"}
    used = _named(launches, ()) | frozenset(outputs) | arguments
    while True:
        reached = {p.buffer for b in recorder.buffers if b.name in used for p in b.pointers}
        if reached <= used:
            return used
        used |= reached


def _buffers(
    contract: BoundContract, recorder: Recorder, used: frozenset[str], renamed: Mapping[str, str]
) -> tuple[PlanBuffer, ...]:
    own = {b.name for b in argument_buffers(contract)}
    found = (b for b in recorder.buffers if b.name in used - own and b.name not in renamed)
    return (*argument_buffers(contract), *found)


def _with_names(plan: LaunchPlan, renamed: Mapping[str, str]) -> LaunchPlan:
    """The plan with buffers under the names of the arguments that they have become."""

    def name(old: str) -> str:
        return renamed.get(old, old)

    def step(old: Launch | Fill) -> Launch | Fill:
        if isinstance(old, Fill):
            return old.model_copy(update={"fill": name(old.fill)})
        return old.model_copy(update={"params": tuple(map(param, old.params))})

    def param(old: Param) -> Param:
        if isinstance(old, ScalarParam) or old.buffer is None:
            return old
        return old.model_copy(update={"buffer": name(old.buffer)})

    def buffer(old: PlanBuffer) -> PlanBuffer:
        pointers = (p.model_copy(update={"buffer": name(p.buffer)}) for p in old.pointers)
        return old.model_copy(update={"pointers": tuple(pointers)})

    return plan.model_copy(
        update={
            "buffers": tuple(map(buffer, plan.buffers)),
            "setup": tuple(map(step, (s for s in plan.setup if isinstance(s, Fill)))),
            "steps": tuple(map(step, (s for s in plan.steps if isinstance(s, (Launch, Fill))))),
            "outputs": tuple(o.model_copy(update={"buffer": name(o.buffer)}) for o in plan.outputs),
        }
    )
