"""One candidate under Triton's interpreter: what the confined child does.

It imports the source, calls its entry once with tensors that lie in the arena, and writes
down how that went. Outputs that the entry returns are copied to where the contract has them.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..capture.autotune import Tuning
from ..capture.calling import Values, bind_call, entry_of, result_tensors
from ..capture.capturing import import_source
from ..capture.device_tensors import DeviceTensors
from ..capture.libraries import load, torch, triton_jit
from ..capture.messages import CaptureRequest
from ..capture.pretend_cuda import install as pretend_cuda
from ..capture.recorder import Recorder
from ..capture.recording_driver import RecordingDriver
from ..capture.source_lines import line_of_the_error
from ..errors import SpecError
from ..model import Record
from ..protocol.shared_arena import Bytes
from ..specs.contract import BoundArgument, BoundContract, bind
from . import accesses, libdevice, logical_words, number_formats, program_order, promises
from .accesses import Buffers
from .pretended_tensors import pretending
from .promises import Promises

REPORT = "report.json"
MAX_DETAIL = 800

QUIRKS = (
    "not supported in interpreter mode",
    "object has no attribute 'create_",
    "must be visible from within jit'd function",
    "Torch not compiled with CUDA enabled",
)
"""What errors say where the interpreter or this torch is at fault, whoever raised them."""

PLAIN_NUMBERS = tuple(f"'{kind}' object has no attribute" for kind in ("int", "float", "bool"))

ReportKind = Literal["", "not_interpreted", "raised", "outside", "promised"]


class Report(Record):
    """How a call went; an empty `kind`: it came back."""

    kind: ReportKind = ""
    """`not_interpreted`: what the interpreter cannot do, which says nothing of the kernel;
    `promised`: the compiler was promised what is not so"""
    detail: str = ""


@dataclass
class _Watch:
    """What is noted while a source runs, whatever it catches."""

    recorder: Recorder
    buffers: Buffers
    promises: Promises
    launches: int = 0


def run_program(request: CaptureRequest, arrays: Mapping[str, Bytes]) -> None:
    """Call the source in the current folder; the report is left beside it.

    `arrays`: the bytes of every array of the contract. Patches this process for good.
    """
    source = Path(request.source_path).resolve()
    contract = bind(request.contract, request.symbols, request.label)
    watch = _Watch(Recorder((), source), Buffers(source), Promises(source))
    _prepare(request, watch)
    report = Report()
    try:
        _call(request, contract, arrays, watch)
        if not watch.launches:
            report = Report(kind="raised", detail="it launched no kernel")
    except BaseException as error:  # the source may raise anything, SystemExit too
        report = describe_failure(error, source)
    if watch.recorder.refusal:
        report = Report(kind="not_interpreted", detail=watch.recorder.refusal)
    elif watch.buffers.outside:
        report = Report(kind="outside", detail=watch.buffers.outside)
    elif watch.promises.broken:
        report = Report(kind="promised", detail=watch.promises.broken)
    Path(REPORT).write_text(report.model_dump_json(), encoding="utf-8")


def _prepare(request: CaptureRequest, watch: _Watch) -> None:
    pretend_cuda(watch.recorder, request.device)
    RecordingDriver(watch.recorder, DeviceTensors(watch.recorder), request.device).install()
    Tuning(request.parameters).install_autotuners()
    number_formats.install()
    libdevice.install()
    logical_words.install()
    accesses.install(watch.buffers)
    program_order.install(watch.recorder.source)
    promises.install(watch.promises)
    function: Any = load("triton.runtime.interpreter").InterpretedFunction
    run: Callable[..., Any] = function.run

    def launch(kernel: Any, *args: Any, warmup: bool, **kwargs: Any) -> Any:
        if warmup:
            watch.recorder.refuse("it asks for a compiled kernel (warmup)")
        watch.launches += 1
        return run(kernel, *args, warmup=warmup, **kwargs)

    def compiled(kernel: Any, *_: Any, **__: Any) -> Any:
        watch.recorder.refuse(f"`{kernel.__name__}` is compiled, not interpreted (Gluon)")

    function.run, triton_jit().JITFunction.run = launch, compiled


def _call(
    request: CaptureRequest,
    contract: BoundContract,
    arrays: Mapping[str, Bytes],
    watch: _Watch,
) -> None:
    tensors = {a.name: _tensor(a, arrays[a.name]) for a in contract.arrays}
    for name, tensor in tensors.items():
        watch.buffers.add(tensor.untyped_storage().data_ptr(), arrays[name].size, name)
    with pretending(watch.recorder, watch.buffers):
        module = import_source(watch.recorder.source)
        values = Values(contract, tensors, request.parameters, request.defines)
        call = bind_call(entry_of(module, request.entry), request.entry, values, request.launch)
        results = result_tensors(call, contract, call.run())
        for name, tensor in results.items():
            if tensor.data_ptr() != tensors[name].data_ptr():
                tensors[name].copy_(tensor)


def _tensor(bound: BoundArgument, data: Bytes) -> Any:
    """A tensor of the contract's shape, strides and dtype over these very bytes."""
    module = torch()
    dtype = getattr(module, bound.argument.dtype)
    return module.from_numpy(data).view(dtype).as_strided(bound.shape, bound.strides)


def describe_failure(error: BaseException, source: Path) -> Report:
    """What an exception says: of the source, or of the interpreter."""
    where, innermost = line_of_the_error(error, source), error
    wrapper: Any = load("triton.runtime.errors").InterpreterError
    while isinstance(innermost, wrapper) and innermost.__cause__ is not None:
        innermost = innermost.__cause__
    where = where or line_of_the_error(innermost, source)
    words = f"{type(innermost).__name__}: {innermost}{where}"[:MAX_DETAIL]
    if isinstance(innermost, SpecError):
        return Report(kind="raised", detail=str(innermost)[:MAX_DETAIL])
    limit = _is_a_limit(innermost, in_kernel=innermost is not error)
    return Report(kind="not_interpreted" if limit else "raised", detail=words)


def _is_a_limit(error: BaseException, *, in_kernel: bool) -> bool:
    """Whether the interpreter is at fault: it says so, or failed itself.

    A check in it that fails (alignment of descriptors, `tl.device_assert`) speaks of the kernel.
    """
    text = str(error)
    if isinstance(error, NotImplementedError) or any(quirk in text for quirk in QUIRKS):
        return True
    if in_kernel and isinstance(error, AttributeError) and text.startswith(PLAIN_NUMBERS):
        return True  # constexprs and what counts a loop are plain numbers here
    if type(error).__module__.startswith("torch._dynamo"):
        return True
    if isinstance(error, AssertionError | MemoryError):
        return False
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and frames[-1].filename.startswith(_own_places())


def _own_places() -> tuple[str, ...]:
    """Where the interpreter's code lies, as Triton has it and as it is mended here."""
    places = ("triton.runtime.interpreter", number_formats.__name__, accesses.__name__)
    return (*(str(load(p).__file__) for p in places), str(Path(load("numpy").__file__).parent))
