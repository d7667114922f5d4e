"""What tests of CUDA moves share: states from a few words, and variants that are built and run."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from pretend_gpu.harness import PretendedGpu

from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.model import BuildOptions, Candidate, Variant
from kernelwright.runners.plans.plan import Artifact
from kernelwright.runners.protocol.layout import record
from kernelwright.runners.protocol.messages import Check
from kernelwright.runners.protocol.pools import SeedPool
from kernelwright.runners.proxies.runner import DeviceRunner
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.devices import PROFILES, DeviceFacts
from kernelwright.runners.specs.normalise import source_key
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest, Shape
from kernelwright.runners.toolchains.cuda import Cuda
from kernelwright.search.applying.apply import apply
from kernelwright.search.moves import Move, NotApplicable, State

Array = npt.NDArray[Any]
H100 = PROFILES[0][0]


def array(name: str, role: str, *shape: int | str, dtype: str = "float32", **more: Any) -> Any:
    """An argument of a contract."""
    return {"name": name, "role": role, "dtype": dtype, "shape": list(shape), **more}


def scalar(name: str, dtype: str = "int32", value: Any = None) -> Any:
    """A scalar argument, its symbol's value unless another is given."""
    return {
        "name": name,
        "role": "scalar",
        "dtype": dtype,
        "value": name if value is None else value,
    }


def cuda_state(
    source: str,
    entry: str,
    arguments: Sequence[dict[str, Any]],
    launch: dict[str, Any],
    symbols: Mapping[str, Any],
    **more: Any,
) -> State:
    """The state of a source as it was written. `symbols`: their domains; workloads take the
    largest values. `more`: `parameters`, `math`, `defines`."""
    kernel: dict[str, Any] = {"kernel_type": "cuda", "source_code": source}
    largest = {n: d["max"] // d.get("multiple_of", 1) * d.get("multiple_of", 1)
               for n, d in symbols.items()}  # fmt: skip
    spec = KernelSpec.model_validate(
        {
            "name": entry,
            "kernel": {
                **kernel,
                "metadata": {"kernel_name": entry},
                "plan" if "steps" in launch else "launch": launch,
                "defines": more.get("defines", {}),
            },
            "io": {"arguments": list(arguments), "math": more.get("math", "ieee")},
            "symbols": dict(symbols),
            "workloads": [{"name": "largest", "symbols": largest}],
            "parameters": more.get("parameters", {}),
            "reference": "baseline",
        }
    )
    return State("cuda", source, {}, BuildOptions(), spec)


def candidates(move: Move, state: State) -> tuple[Candidate, ...]:
    """What a move proposes; fails with its reason where that is nothing."""
    found = move.propose(state)
    assert not isinstance(found, NotApplicable), found.reason
    return found


def reason(move: Move, state: State) -> str:
    """Why a move proposes nothing; fails where it does."""
    found = move.propose(state)
    assert isinstance(found, NotApplicable), [c.detail for c in found]
    return found.reason


def after(state: State, candidate: Candidate) -> State:
    """The state to which a candidate leads."""
    return apply(candidate, state)


def built(
    state: State, shapes: Sequence[Mapping[str, int]], folder: Path, device: DeviceFacts = H100
) -> BuildOutcome:
    """The state built for shapes `w0`, `w1` ...; nothing is run."""
    folder.mkdir(parents=True, exist_ok=True)
    loaded = LoadedKernel(spec=state.spec, source=state.source, source_name="kernel.cu")
    variant = Variant(
        kernel_id=loaded.kernel_id,
        source=state.source,
        source_key=source_key(state.source, "cuda"),
        plan=None if state.plan is None else dict(state.plan),
        options=state.options,
        parameters=dict(state.parameters),
    )
    named = tuple(Shape(label=f"w{i}", symbols=dict(s)) for i, s in enumerate(shapes))
    request = BuildRequest(kernel=loaded, variant=variant, shapes=named, device=device)
    Cuda().preload()  # or every fork that compiles loads NVRTC
    return Cuda().build(request, folder)


def compiles(state: State, folder: Path) -> str:
    """The PTX of a state that compiles; fails with the compiler's words where it does not."""
    outcome = built(state, [state.spec.workloads[0].symbols], folder)
    assert outcome.artifact is not None, f"{outcome.message}\n{state.source}"
    (ptx,) = [m for m in outcome.artifact.modules if m.kind == "ptx"]
    return (folder / f"{ptx.sha256}.ptx").read_text()


_BITS = {"bfloat16": "uint16"}
"""of types that numpy has not"""


class PretendedLab:
    """Runs states on the pretended GPU and gives their outputs. Close it."""

    def __init__(self, gpu: PretendedGpu, folder: Path) -> None:
        self.gpu, self.folder, self.count = gpu, folder, 0
        self.runner = DeviceRunner(folder, gpu.device)

    def close(self) -> None:
        """Ends the process that runs kernels."""
        self.runner.close()

    def outputs(
        self, state: State, *runs: tuple[Mapping[str, int], Mapping[str, Array]]
    ) -> list[dict[str, Array]]:
        """For each run, sizes and inputs, the outputs and inouts by name, flat.

        Fails where a run was not clean.
        """
        self.count += 1
        name, folder = f"v{self.count}", self.folder / str(self.count)
        outcome = built(state, [symbols for symbols, _ in runs], folder, self.gpu.device)
        assert outcome.artifact is not None, f"{outcome.message}\n{state.source}"
        files = self._twins(state, outcome.artifact, folder)
        self.runner.load(name, files, tuple(outcome.artifact.plans.values()))
        try:
            return [
                self._run(state, name, bind(state.spec.io, symbols, f"w{i}"), inputs)
                for i, (symbols, inputs) in enumerate(runs)
            ]
        finally:
            self.runner.unload(name)

    def _twins(self, state: State, artifact: Artifact, folder: Path) -> dict[str, Path]:
        macros = {n: p.start for n, p in state.spec.parameters.items()} | dict(state.parameters)
        macros |= dict((state.plan or {}).get("defines", {}))
        cubins = [m.sha256 for m in artifact.modules if m.kind == "cubin"]
        files = {sha: folder / f"{sha}.cubin" for sha in cubins}
        for file in files.values():
            flags = [f"-D{n}={v}" for n, v in macros.items()]
            self.gpu.twins.make(file.read_bytes(), state.source, flags)
        return files

    def _run(
        self, state: State, variant: str, bound: BoundContract, inputs: Mapping[str, Array]
    ) -> dict[str, Array]:
        pool = f"{variant}/{bound.label}"
        fd = _inputs_file(bound, inputs)
        self.runner.attach(SeedPool(pool, "k", bound, (0,)), state.spec.io, fd)
        message = Check(variant=variant, pool=pool, slots=(0,), poisons=(0xA5,), timeout_s=20.0)
        results, outputs = self.runner.check(message)
        self.runner.detach(pool)
        data = os.pread(outputs, os.fstat(outputs).st_size, 0)
        os.close(outputs)
        for result in results:  # some plans run again, on what their first run left
            broken = (result.fault, result.overrun, result.changed_inputs, result.touched_gaps)
            assert not any(broken), f"{result}\n{state.source}"
        (_stored,) = [result for result in results if result.stored is not None]
        kinds = {a.name: a.argument.dtype for a in bound.outputs}
        dtypes = {name: np.dtype(_BITS.get(kind, kind)) for name, kind in kinds.items()}
        return {
            place.name: np.frombuffer(
                data[place.offset : place.offset + place.nbytes], dtypes[place.name]
            )
            for place in record(bound.outputs).slots
        }


def _inputs_file(bound: BoundContract, inputs: Mapping[str, Array]) -> int:
    layout = record(bound.inputs)
    memory = np.zeros(max(1, layout.nbytes), dtype=np.uint8)
    for place in layout.slots:
        given = np.ascontiguousarray(inputs[place.name]).view(np.uint8).ravel()
        assert given.size == place.nbytes, place.name
        memory[place.offset : place.offset + place.nbytes] = given
    fd = os.memfd_create("inputs")
    os.write(fd, memory.data)
    return fd
