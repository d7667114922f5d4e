"""What a Triton source launches, for reading: each launch with what it hands over, and its kernel
in TTIR, Triton's own first form. Nothing is compiled further, and integers are not specialised: a
size that happens to be 1 stays a parameter.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from ..errors import SpecError
from ..model import Record
from ..specs.contract import bind
from .autotune import Tuning
from .calling import Values, bind_call, entry_of, result_tensors
from .capturing import MAX_MESSAGE, failure, import_source, prepare
from .device_tensors import DeviceTensors
from .libraries import load, torch, triton_jit
from .messages import CaptureRequest
from .recorder import Recorder
from .recording_driver import RecordingDriver
from .surroundings import unnamed
from .torch_modes import watching

INT32 = range(-(1 << 31), 1 << 31)


class Handed(Record):
    """A value that a launch gives for a parameter of its kernel."""

    name: str
    kind: Literal["array", "int", "float", "bool", "constant"]
    type: str = ""
    """as Triton writes it: `*fp32`, `i32`; of constants of the compilation nothing"""
    array: str = ""
    """the argument of the contract whose memory it is; empty: other memory"""
    value: int | float | None = None
    """of a number; None for a constant that is none"""


class ReadLaunch(Record):
    """One launch."""

    kernel: str
    grid: tuple[int, int, int]
    handed: tuple[Handed, ...]
    """in the kernel's order"""
    ttir: str


class Launches(Record):
    """All launches of one call, or why it cannot be told."""

    launches: tuple[ReadLaunch, ...] = ()
    fills: int = 0
    """of memory, by the source itself"""
    refusal: str = ""


def read_launches(request: CaptureRequest) -> Launches:
    """Call a source once for one shape, without a GPU, and return what it launches.

    As `capture`: runs in this process, in its current folder, and patches torch and Triton for
    good, so call it once, in a child. It never raises for what the source does.
    """
    source = Path(request.source_path).resolve()
    try:
        contract = bind(request.contract, request.symbols, request.label)
    except SpecError as error:
        return Launches(refusal=str(error))
    recorder = Recorder((a.name for a in contract.arguments), source)
    tensors = DeviceTensors(recorder)
    driver = RecordingDriver(recorder, tensors, request.device)
    noted = list[ReadLaunch]()
    try:
        prepare(request, recorder, driver, Tuning(request.parameters))
        triton_jit().JITFunction.run = _noting(noted, tensors, frozenset(request.as_values))
        with watching(tensors), unnamed():
            module = import_source(source)
            recorder.end_import()
            arrays = {a.name: tensors.argument(a) for a in contract.arrays}
            values = Values(contract, arrays, request.parameters, request.defines)
            call = bind_call(entry_of(module, request.entry), request.entry, values, request.launch)
            results = result_tensors(call, contract, call.run())
            places = {name: tensors.place(tensor) for name, tensor in results.items()}
    except BaseException as error:  # the source may raise anything, SystemExit too
        return Launches(refusal=(recorder.refusal or failure(error, source)[0])[:MAX_MESSAGE])
    if recorder.refusal:
        return Launches(refusal=recorder.refusal[:MAX_MESSAGE])
    names = {p.buffer.name: name for name, p in places.items() if p.offset == 0}
    known = names | {a.name: a.name for a in contract.arrays}
    launches = tuple(_with_arrays(each, known) for each in noted)
    return Launches(launches=launches, fills=len(recorder.steps))


def _with_arrays(launch: ReadLaunch, known: Mapping[str, str]) -> ReadLaunch:
    """With arguments of the contract in place of buffers."""
    handed = tuple(
        h.model_copy(update={"array": known.get(h.array, "")}) if h.kind == "array" else h
        for h in launch.handed
    )
    return launch.model_copy(update={"handed": handed})


def _noting(noted: list[ReadLaunch], tensors: DeviceTensors, as_values: frozenset[str]) -> Any:
    """What takes the place of `JITFunction.run`. `as_values`: as `CaptureRequest` has them."""

    def run(kernel: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> None:
        _, _, target, backend, binder = kernel.device_caches[0]
        bound, _, _ = binder(*args, **kwargs)
        handed = tuple(_handed(p, bound[p.name], tensors, as_values) for p in kernel.params)
        sizes: Any = grid(bound) if callable(grid) else grid
        x, y, z = (*map(int, sizes), 1, 1)[:3]
        text = _ttir(kernel, handed, bound, target, backend)
        name = kernel.fn.__name__
        noted.append(ReadLaunch(kernel=name, grid=(x, y, z), handed=handed, ttir=text))

    return run


def _handed(
    parameter: Any, value: Any, tensors: DeviceTensors, as_values: frozenset[str]
) -> Handed:
    name: str = parameter.name
    constant = parameter.is_constexpr and name not in as_values
    if constant or value is None:
        number = value if isinstance(value, int | float) else None
        return Handed(name=name, kind="constant", value=number)
    if isinstance(value, torch().Tensor):
        kind = load("triton._utils").type_canonicalisation_dict[str(value.dtype).split(".")[-1]]
        place = tensors.place(value)
        owner = "" if place.offset else place.buffer.name
        return Handed(name=name, kind="array", type=f"*{kind}", array=owner)
    if isinstance(value, bool):
        return Handed(name=name, kind="bool", type="u1", value=int(value))
    if isinstance(value, int):
        width = 32 if value in INT32 else 64
        return Handed(name=name, kind="int", type=f"i{width}", value=value)
    if isinstance(value, float):
        return Handed(name=name, kind="float", type="fp32", value=value)
    raise SpecError(f"`{name}` is handed a {type(value).__name__}, which is not read")


def _ttir(
    kernel: Any, handed: tuple[Handed, ...], bound: Mapping[str, Any], target: Any, backend: Any
) -> str:
    """The kernel in TTIR. Raises what Triton's compiler raises."""
    ir: Any = load("triton._C.libtriton").ir
    signature = {h.name: h.type or "constexpr" for h in handed}
    constants = {(n,): bound[h.name] for n, h in enumerate(handed) if not h.type}
    source = load("triton.compiler").ASTSource(fn=kernel, signature=signature, constexprs=constants)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    helpers = backend.get_codegen_implementation(options), backend.get_module_map()
    module = source.make_ir(target, options, *helpers, context)
    return str(backend.make_ttir(module, {}, options, target.arch))
