"""The logic check: a Triton kernel against its reference without a GPU, at a small shape."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..gates import FIRST_SET, Run, first_failure, is_right
from ..gates.checking import Checker
from ..languages import language_of
from ..loading.files import LoadedKernel
from ..model import GateResult, Variant
from ..oracle.oracle import Oracle
from ..protocol.pools import SeedPool, draw
from ..specs.contract import small_shape
from ..specs.devices import DeviceFacts
from .runner import InterpreterRunner, interpreter_missing

GATE = "logic_check"
LOGIC_ONLY = "logic only: under Triton's interpreter on the CPU, not machine code"
NO_SMALL_SHAPE = (
    "no legal shape is small enough to be interpreted: a symbol without a domain has the sizes of "
    'workloads alone; say which are legal, as in "rows": {"min": 1, "max": 65536}'
)
SEEDS = 2
RUN_S = 20.0
"""The longest that one run may take; a small shape takes a fraction of a second."""


def logic_check(
    loaded: LoadedKernel,
    variant: Variant,
    device: DeviceFacts,
    *,
    runner: InterpreterRunner,
    oracle: Oracle,
    timeout_s: float = RUN_S,
) -> GateResult:
    """Run a variant under the interpreter on two fresh seeds and have its outputs judged.

    The oracle must have the kernel open. `skipped` says what could not be interpreted: then
    nothing is known. A failure names in its evidence the `gate` that found it, and the shape.
    Without a reference, what the baseline computes is the truth. Raises ProcessLost and
    ReferenceFailed.
    """
    why = _unsuited(loaded)
    shape = None if why else small_shape(loaded.spec)
    if shape is None:
        return _skipped(why or NO_SMALL_SHAPE)
    pool = draw(loaded.kernel_id, shape, name="logic", slots=SEEDS)
    checker = Checker(runner, oracle)
    checker.attach(pool, loaded.spec.io)
    started, baseline = time.monotonic(), loaded.baseline()
    variants = [variant]
    if loaded.reference is None and baseline.variant_id != variant.variant_id:
        variants.insert(0, baseline)
    result = _skipped("nothing was run")
    for each in variants:
        runner.prepare(each, loaded, device)
        try:
            adopt = loaded.reference is None and each is variants[0]
            runs = checker.check(
                each.variant_id,
                pool,
                range(SEEDS),
                timeout_s=timeout_s,
                placement="barely",
                adopt=adopt,
            )
        finally:
            runner.unload(each.variant_id)
        result = judge_runs(runs, pool)
        if result.outcome != "passed" and each is not variant:
            return _skipped(f"the baseline is the truth, and of it: {result.message}")
    seconds = round(time.monotonic() - started, 3)
    return result.model_copy(update={"evidence": {**result.evidence, "seconds": seconds}})


def judge_runs(runs: Sequence[Run], pool: SeedPool) -> GateResult:
    """The gates of the first set over runs under the interpreter, as one result."""
    for run in runs:
        if run.result.fault_kind == "not_interpreted":
            return _skipped(f"the interpreter cannot do this: {run.result.fault}")
        if run.result.fault_kind == "timed_out":
            return _skipped(
                f"{run.result.fault}: an endless loop, or more than the interpreter can do"
            )
    symbols = dict(pool.contract.symbols)
    at = ", ".join(f"{name} = {size}" for name, size in symbols.items()) or "the only shape"
    failed = first_failure([gate(runs) for gate in FIRST_SET[:-1]])
    if failed is None:
        right = is_right(runs)
        evidence = {**right.evidence, "symbols": symbols}
        message = f"at {at}: {right.message} ({LOGIC_ONLY})"
        return GateResult(gate=GATE, outcome="passed", message=message, evidence=evidence)
    outside = any(run.result.fault_kind == "outside" for run in runs)
    found_by = "stays_in_its_buffers" if outside else failed.gate
    return GateResult(
        gate=GATE,
        outcome="failed",
        message=f"at {at}, {failed.message} ({LOGIC_ONLY})",
        evidence={**failed.evidence, "gate": found_by, "symbols": symbols},
    )


def _unsuited(loaded: LoadedKernel) -> str | None:
    kind = loaded.spec.kernel.kernel_type
    if not language_of(kind).interpreted:
        return f"only Triton kernels are interpreted, this one is {kind}"
    return interpreter_missing()


def _skipped(why: str) -> GateResult:
    return GateResult(gate=GATE, outcome="skipped", message=why)
