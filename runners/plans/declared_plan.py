"""From what a spec or candidate declares to launch plans: every expression a number.

`declared_plan` finds what is launched, `resolve` makes the plan of one shape. Kernels keep the
C++ names of the declaration until `with_code` gives them those of the machine code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from ..dtypes import DTYPES
from ..errors import SpecError
from ..specs.contract import BoundContract, workload_contracts
from ..specs.declared_plan_model import (
    TRITON_OPTIONS,
    CudaLaunch,
    DeclaredPlan,
    FillStep,
    LaunchStep,
    SetStep,
    TritonLaunch,
)
from ..specs.expressions import Number, names_in
from ..specs.problems import explain_problems
from ..specs.spec import Kernel, KernelSpec
from .declared_params import DECLARE_BUFFER, Scope, make_param, make_record
from .plan import (
    Fill,
    Launch,
    LaunchPlan,
    PlanBuffer,
    PlanKernel,
    SetSymbol,
    Step,
    argument_buffers,
    contract_outputs,
)
from .plan_check import check_plan

BLOCK_NAMES = ("block_x", "block_y", "block_z")
_WORD = re.compile(r"\b[A-Za-z_]\w*\b")


def declared_plan(kernel: Kernel, plan: Mapping[str, Any] | None = None) -> DeclaredPlan:
    """What a CUDA kernel launches: a variant's own `plan` (a plan, or one launch), else the spec's.

    Raises SpecError listing every field at fault, or when nothing is declared.
    """
    if plan is None:
        declared = kernel.plan or kernel.launch
    else:
        declared = _parse(plan)
    if isinstance(declared, DeclaredPlan):
        return declared
    if not isinstance(declared, CudaLaunch):
        raise SpecError(
            "nothing says how this CUDA kernel is launched",
            valid='kernel.launch {"grid": [...], "block": [...]}, or kernel.plan with steps',
            next_step="kernelwright spec --schema prints every field with its meaning",
        )
    fields = {name: getattr(declared, name) for name in declared.model_fields_set - {"entry"}}
    entry = declared.entry or kernel.metadata.kernel_name
    return DeclaredPlan(steps=(LaunchStep(launch=entry, **fields),))


def _parse(plan: Mapping[str, Any]) -> DeclaredPlan | CudaLaunch:
    model = DeclaredPlan if "steps" in plan or "grid" not in plan else CudaLaunch
    try:
        return model.model_validate(dict(plan))
    except ValidationError as error:
        lines = "\n".join(f"  {line}" for line in explain_problems(error, model))
        raise SpecError(
            f"the plan is not valid:\n{lines}",
            valid='{"steps": [...]} as kernel.plan, or {"grid", "block", ...} as kernel.launch',
        ) from error


def check_declared(spec: KernelSpec, at_launch: frozenset[str] = frozenset()) -> None:
    """Resolve what a spec declares for each of its workloads, with every parameter at its default.
    `at_launch`: constants that decorators of a Triton kernel decide when it is launched.

    Raises SpecError with the step and the field at fault.
    """
    kernel = spec.kernel
    values = {name: parameter.start for name, parameter in spec.parameters.items()}
    contracts = (*workload_contracts(spec), *workload_contracts(spec, held_out=True))
    if kernel.language.planned:
        plan = declared_plan(kernel)
        for contract in contracts:
            resolve(plan, contract, values)
    elif isinstance(kernel.launch, TritonLaunch):
        for contract in contracts:
            _check_triton(kernel.launch, contract, values, at_launch)


def _check_triton(
    launch: TritonLaunch,
    contract: BoundContract,
    values: Mapping[str, int],
    at_launch: frozenset[str],
) -> None:
    scope = Scope.of(f"launch, workload {contract.label}", contract, values)
    made: dict[str, Number] = {
        name: scope.number(f"constexprs.{name}", text) for name, text in launch.constexprs.items()
    }
    open_names = at_launch - launch.constexprs.keys()
    x, y, z = (1 if names_in(size) & open_names else size for size in launch.grid)
    scope.inner(made).axes("grid", (x, y, z))
    for field in TRITON_OPTIONS:
        text = getattr(launch, field)
        if text is not None and scope.whole(field, text) < 1:
            raise SpecError(f"{scope.where}, {field}: `{text}`", valid="1 or more")


def resolve(plan: DeclaredPlan, contract: BoundContract, values: Mapping[str, int]) -> LaunchPlan:
    """The plan of one shape, checked; `values` of parameters by name, machine code not known yet.

    Raises SpecError with the step and the field at fault.
    """
    _check_defines(plan, contract, values)
    scope = Scope.of(f"plan {contract.label}", contract, {**values, **plan.defines})
    buffers = _buffers(plan, contract, scope)
    kernels: dict[tuple[object, ...], PlanKernel] = {}
    # kernels first: sets name them
    launches = {
        number: _launch(step, contract, scope.at(f"step {number}"), buffers, kernels)
        for number, step in enumerate(plan.steps)
        if isinstance(step, LaunchStep)
    }
    setup = tuple(
        _other(step, scope.at(f"setup {number}"), buffers, kernels)
        for number, step in enumerate(plan.setup)
    )
    steps = tuple(
        launches[number]
        if isinstance(step, LaunchStep)
        else _other(step, scope.at(f"step {number}"), buffers, kernels)
        for number, step in enumerate(plan.steps)
    )
    made = LaunchPlan(
        label=contract.label,
        kernels=tuple(kernels.values()),
        buffers=tuple(buffers.values()),
        setup=setup,
        steps=steps,
        outputs=contract_outputs(contract),
    )
    check_plan(made, contract)
    return made


def _check_defines(plan: DeclaredPlan, contract: BoundContract, values: Mapping[str, int]) -> None:
    taken = {*contract.symbols, *values, *(a.name for a in contract.arguments), *BLOCK_NAMES}
    if both := sorted(taken & plan.defines.keys()):
        raise SpecError(
            f"plan {contract.label}, defines: `{both[0]}` has a meaning already",
            valid="names of your own, beside symbols, parameters, arguments and block_x",
        )


def _buffers(plan: DeclaredPlan, contract: BoundContract, scope: Scope) -> dict[str, PlanBuffer]:
    buffers = {buffer.name: buffer for buffer in argument_buffers(contract)}
    taken = [a.name for a in contract.arguments]
    for name, declared in plan.buffers.items():
        at = scope.at(f"buffers.{name}")
        if name in taken:
            raise SpecError(f"{at.where}: an argument has this name", valid="another name")
        if declared.nbytes is not None:
            nbytes = at.whole("nbytes", declared.nbytes)
        else:
            assert declared.dtype is not None and declared.shape is not None
            nbytes = DTYPES[declared.dtype].itemsize
            for size in declared.shape:
                nbytes *= at.whole("shape", size)
        buffers[name] = make_record(
            at.where, PlanBuffer, name=name, role="scratch", nbytes=nbytes, align=declared.align
        )
    return buffers


def _launch(
    step: LaunchStep,
    contract: BoundContract,
    scope: Scope,
    buffers: Mapping[str, PlanBuffer],
    kernels: dict[tuple[object, ...], PlanKernel],
) -> Launch:
    block = scope.axes("block", step.block)
    inner = scope.inner(dict(zip(BLOCK_NAMES, block, strict=True)))
    entry = instantiated(step.launch, inner.integers)
    inner = inner.at(f"`{entry}`")
    shared = inner.whole("shared", step.shared)
    cluster = None if step.cluster is None else inner.axes("cluster", step.cluster)
    grid = inner.axes("grid", step.grid)
    if cluster and any(g % c for g, c in zip(grid, cluster, strict=True)):
        raise SpecError(f"{inner.where}: grid {grid}", valid=f"multiples of its cluster {cluster}")
    key = (entry, block, shared, cluster, step.cooperative, step.pdl)
    if key not in kernels:
        kernels[key] = make_record(
            inner.where,
            PlanKernel,
            id=f"k{len(kernels)}",
            entry=entry,
            sha256="",
            block=block,
            shared=shared,
            cluster=cluster,
            cooperative=step.cooperative,
            pdl=step.pdl,
        )
    args = [a.name for a in contract.arguments] if step.args is None else step.args
    params = tuple(
        make_param(arg, inner.at(f"args[{number}]"), contract, buffers)
        for number, arg in enumerate(args)
    )
    return Launch(launch=kernels[key].id, grid=grid, params=params)


def instantiated(entry: str, names: Mapping[str, int]) -> str:
    """A C++ name with the parameters among its template arguments as numbers: `f<TILE>`, `f<8>`."""
    name, bracket, arguments = entry.partition("<")
    filled = _WORD.sub(lambda word: str(names.get(word[0], word[0])), arguments)
    return name.strip() + bracket + filled


def _other(
    step: FillStep | SetStep,
    scope: Scope,
    buffers: Mapping[str, PlanBuffer],
    kernels: Mapping[tuple[object, ...], PlanKernel],
) -> Fill | SetSymbol:
    if isinstance(step, FillStep):
        offset, nbytes = _range(step.fill, step.offset, step.nbytes, scope, buffers)
        return make_record(
            scope.where, Fill, fill=step.fill, offset=offset, nbytes=nbytes, pattern=step.pattern
        )
    scope = scope.at(f"set {step.set}")
    known = {kernel.entry: kernel.id for kernel in kernels.values()}
    entry = next(iter(known)) if step.kernel is None else instantiated(step.kernel, scope.integers)
    if entry not in known:
        raise SpecError(f"{scope.where}: no step launches `{entry}`", valid=", ".join(known))
    fields: dict[str, object] = {"symbol": step.set, "kernel": known[entry]}
    if step.buffer is not None:
        offset, nbytes = _range(step.buffer, step.offset, step.nbytes, scope, buffers)
        fields |= {"buffer": step.buffer, "buffer_offset": offset, "nbytes": nbytes}
    else:
        raw = step.raw if step.raw is not None else _packed(step, scope)
        fields |= {"raw": raw, "nbytes": len(raw) // 2}
    return make_record(scope.where, SetSymbol, **fields)


def _packed(step: SetStep, scope: Scope) -> str:
    values = step.value if isinstance(step.value, tuple) else (step.value,)
    return "".join(
        scope.packed(step.set, step.dtype, value).raw for value in values if value is not None
    )


def _range(
    name: str,
    offset: int | str,
    nbytes: int | str | None,
    scope: Scope,
    buffers: Mapping[str, PlanBuffer],
) -> tuple[int, int]:
    """Offset and number of bytes, by default to the end of the buffer."""
    start = scope.whole("offset", offset)
    whole = buffers[scope.known("buffer", name, buffers, DECLARE_BUFFER)].nbytes
    size = whole - start if nbytes is None else scope.whole("nbytes", nbytes)
    if start < 0 or size < 1:
        raise SpecError(
            f"{scope.where}: {size} bytes from byte {start} of `{name}`",
            valid=f"at least one byte of its {whole}",
        )
    return start, size


def with_code(
    plan: LaunchPlan, sha256: str, entries: Mapping[str, str], symbols: Mapping[str, str]
) -> LaunchPlan:
    """The plan with the names that the machine code has for kernels and variables."""
    kernels = tuple(
        k.model_copy(update={"entry": entries[k.entry], "sha256": sha256}) for k in plan.kernels
    )

    return plan.model_copy(
        update={
            "kernels": kernels,
            "setup": tuple(_lowered(step, symbols) for step in plan.setup),
            "steps": tuple(_lowered(step, symbols) for step in plan.steps),
        }
    )


def _lowered(step: Step, symbols: Mapping[str, str]) -> Step:
    if isinstance(step, SetSymbol):
        return step.model_copy(update={"symbol": symbols[step.symbol]})
    return step
