"""The capture itself: import a source, call its entry, and write down what its first call does."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import random
import sys
from pathlib import Path
from typing import Any

from ..errors import KernelwrightError, SpecError
from ..plans.plan import Fill, LaunchPlan, Module
from ..specs.contract import BoundContract, bind
from . import compiled
from .assembling import assemble
from .autotune import Tuning
from .calling import Values, bind_call, entry_of, options_by_expression, result_tensors
from .device_tensors import DeviceTensors
from .further_calls import check_further_calls, trace, written
from .libraries import load, torch
from .messages import CaptureRequest, CaptureResult, FailureKind
from .pretend_cuda import install
from .recorder import Recorder
from .recording_driver import RecordingDriver
from .source_lines import line_of_the_error
from .surroundings import become_plain, unnamed
from .torch_modes import watching

MODULE_NAME = "kernel_source"
MAX_MESSAGE = 4000
NO_MODULE = (
    "files of your own belong into kernel.files; libraries into the Python environment that runs "
    "kernelwright"
)


def capture(request: CaptureRequest) -> CaptureResult:
    """Run a source once for one shape, without a GPU, and return its launch plan.

    Runs in this process, in its current folder, and patches torch, Triton and threads for
    good: call it once, in a child. Files of the result are left in the current folder. It never
    raises for what the source does: `refusal` says what was wrong.
    """
    source, folder = Path(request.source_path).resolve(), Path.cwd()  # the source may change it
    tuning = Tuning(request.parameters)
    try:
        contract = bind(request.contract, request.symbols, request.label)
    except SpecError as error:
        return CaptureResult(refusal=str(error), kind="refused")
    recorder = Recorder((a.name for a in contract.arguments), source)
    tensors = DeviceTensors(recorder)
    driver = RecordingDriver(recorder, tensors, request.device)
    prepare(request, recorder, driver, tuning)
    plan, why, kind = None, "", ""
    try:
        plan = _plan(request, contract, recorder, driver, tensors)
    except BaseException as error:  # the source may raise anything, SystemExit too
        why, kind = failure(error, source)
    if recorder.refusal:
        plan, why, kind = None, recorder.refusal, "refused"
    return CaptureResult(
        plan=plan,
        modules=() if plan is None else _write_modules(plan, recorder, driver, folder),
        entries={} if plan is None else {k.id: driver.entries[k.id] for k in plan.kernels},
        tried=tuning.tried,
        refusal=why[:MAX_MESSAGE],
        kind=kind,
        warnings=tuple(tuning.warnings),
        **_tunables(request, tuning),
    )


def prepare(
    request: CaptureRequest, recorder: Recorder, driver: RecordingDriver, tuning: Tuning
) -> None:
    """The pretended GPU, in a Python that looks like any; for good."""
    sys.dont_write_bytecode = True
    become_plain()
    install(recorder, request.device)
    driver.install()
    compiled.install()
    tuning.install()


def _plan(
    request: CaptureRequest,
    contract: BoundContract,
    recorder: Recorder,
    driver: RecordingDriver,
    tensors: DeviceTensors,
) -> LaunchPlan:
    seed = int.from_bytes(os.urandom(4), "little")
    _draw_from(seed)
    with watching(tensors), unnamed():
        module = import_source(recorder.source)
        recorder.end_import()
        arrays = {a.name: tensors.argument(a) for a in contract.arrays}
        values = Values(contract, arrays, request.parameters, request.defines)
        call = bind_call(entry_of(module, request.entry), request.entry, values, request.launch)

        def run() -> Any:
            _draw_from(seed + 1)
            return call.run()

        results = result_tensors(call, contract, run())
        plan = assemble(contract, recorder, tuple(driver.kernels.values()), results, tensors)
        first = trace(recorder, tensors, results)
        return cleared_once(
            plan, check_further_calls(call, run, contract, recorder, tensors, first)
        )


def cleared_once(plan: LaunchPlan, fills: frozenset[tuple[str, str]]) -> LaunchPlan:
    """The plan with those fills of its own memory in its setup, before anything is launched."""
    own = {b.name for b in plan.buffers if b.role == "scratch"} - {o.buffer for o in plan.outputs}
    moved = [
        step
        for step in plan.steps
        if isinstance(step, Fill) and step.fill in own and (step.fill, written(step)) in fills
    ]
    steps = tuple(step for step in plan.steps if step not in moved)
    return plan.model_copy(update={"setup": (*plan.setup, *moved), "steps": steps})


def _draw_from(seed: int) -> None:
    """Numbers that nobody can foresee, so that two captures tell, and the same in each call."""
    random.seed(seed)
    load("numpy").random.seed(seed % 2**32)
    torch().manual_seed(seed)


def import_source(source: Path) -> Any:
    """The source as a module; files beside it can be imported too."""
    sys.path.insert(0, str(source.parent))
    spec = importlib.util.spec_from_file_location(MODULE_NAME, source)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module
    spec.loader.exec_module(module)
    return module


def failure(error: BaseException, source: Path) -> tuple[str, FailureKind]:
    """What the source raised, in words, and its kind."""
    where = line_of_the_error(error, source)
    if isinstance(error, KernelwrightError):
        return str(error), "refused"
    errors, compiler = load("triton.runtime.errors"), load("triton.compiler.errors")
    name = type(error).__name__
    if isinstance(error, errors.OutOfResources):
        return f"the kernel does not fit: {error}{where}", "does_not_fit"
    if isinstance(error, errors.PTXASError | compiler.CompilationError):
        cause = f"\n{error.__cause__}" if str(error.__cause__) not in f"{error}None" else ""
        return f"the kernel does not compile: {name}: {error}{cause}{where}", "does_not_compile"
    if _raised_by_the_compiler(error):
        return f"the kernel does not compile: {name}: {error}{where}", "does_not_compile"
    advice = f"\nNext: {NO_MODULE}" if isinstance(error, ImportError) else ""
    return f"the source raised {name}: {error}{where}{advice}", "raised"


def _raised_by_the_compiler(error: BaseException) -> bool:
    compiler, step = str(load("triton.compiler.compiler").__file__), error.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename == compiler:
            return True
        step = step.tb_next
    return False


def _tunables(request: CaptureRequest, tuning: Tuning) -> dict[str, Any]:
    try:
        found = tuning.discovered()
        given = options_by_expression(request.launch, request.parameters)
        kept = {name: p for name, p in found.items() if name not in given}
        return {"parameters": kept, "configurations": tuning.configurations()}
    except SpecError:
        return {}  # already the refusal: the autotuner was used


def _write_modules(
    plan: LaunchPlan, recorder: Recorder, driver: RecordingDriver, folder: Path
) -> tuple[Module, ...]:
    """The files that the plan names, and PTX to read."""
    found = list[Module]()
    for sha256 in dict.fromkeys(kernel.sha256 for kernel in plan.kernels):
        found.append(_write(folder, driver.cubins[sha256], "cubin"))
        found.append(_write(folder, driver.ptx[sha256].encode(), "ptx", of=sha256))
    for sha256 in dict.fromkeys(b.sha256 for b in plan.buffers if b.sha256):
        found.append(_write(folder, recorder.files[sha256], "bin"))
    return tuple(found)


def _write(folder: Path, content: bytes, kind: Any, of: str | None = None) -> Module:
    sha256 = hashlib.sha256(content).hexdigest()
    (folder / f"{sha256}.{kind}").write_bytes(content)
    return Module(sha256=sha256, kind=kind, nbytes=len(content), of=of)
