"""The pretended GPU around a test: environment of the children, twins of what is built."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from kernelwright.evaluation.rig import gpus
from kernelwright.runners.building import builder, reading_process
from kernelwright.runners.building.builder import Builder
from kernelwright.runners.device.presence.probing import Probed, probe_devices
from kernelwright.runners.plans.declared_plan import declared_plan
from kernelwright.runners.processes import start
from kernelwright.runners.proxies.runner import DeviceRunner
from kernelwright.runners.specs.devices import DeviceFacts
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest

from .twins import HERE, Twins

if TYPE_CHECKING:
    from kernelwright.search.session.workbench import Workbench

PASSED_ON = frozenset(
    "PYTHONPATH PRETEND_GPU_TWINS PRETEND_GPU_MEMORY PRETEND_GPU_COUNT PRETEND_GPU_NVML".split()
)
NVML = "nvml.json"


@dataclass
class PretendedGpu:
    """What tests ask of it, within `pretended_gpu`."""

    folder: Path
    twins: Twins

    @cached_property
    def devices(self) -> tuple[DeviceFacts, ...]:
        """All, as the probe of the product finds them."""
        probed = probed_once(self.folder / "probe")
        assert probed.devices, probed.why_none
        return probed.devices

    @property
    def device(self) -> DeviceFacts:
        """The first one."""
        return self.devices[0]

    def tell_nvml(
        self, sm_mhz: int = 1980, celsius: int = 45, reasons: int = 0, strangers: Sequence[int] = ()
    ) -> None:
        """What NVML says from now on. `reasons`: its bits; `strangers`: pids that compute there."""
        state = {"sm_mhz": sm_mhz, "celsius": celsius, "reasons": reasons}
        partial = self.folder / "nvml.part"
        partial.write_text(json.dumps({**state, "strangers": list(strangers)}), encoding="utf-8")
        partial.rename(self.folder / NVML)

    def device_runner(self, scratch: Path) -> DeviceRunner:
        """A runner on it; every cubin that it is to load needs a twin (`Twins.make`)."""
        scratch.mkdir(parents=True, exist_ok=True)
        return DeviceRunner(scratch, self.device)

    def workbench(self, outdir: Path, roots: Sequence[Path]) -> Workbench:
        """A workbench whose builds get their twins by themselves."""
        from kernelwright.search.session.workbench import Workbench  # whoever needs a runner alone

        return Workbench(outdir, roots)


_PROBED: dict[tuple[str | None, ...], Probed] = {}
"""by what a pretended driver goes by"""
_DRIVER = ("PRETEND_GPU_TWINS", "PRETEND_GPU_MEMORY", "PRETEND_GPU_COUNT", "CUDA_VISIBLE_DEVICES")


def probed_once(scratch: Path) -> Probed:
    """As `probe_devices`, which starts a process: one for all pretended GPUs that are alike."""
    key = tuple(map(os.environ.get, _DRIVER))
    found = _PROBED.get(key) or probe_devices(scratch)
    if found.devices:
        _PROBED[key] = found
    return found


@contextmanager
def pretended_gpu(
    folder: Path, *, twins: Path | None = None, memory: int = 256 << 20, count: int = 1
) -> Generator[PretendedGpu]:
    """Within it, children of this process see `count` GPUs of `memory` bytes, and no real one.

    `twins`: where compiled twins are kept; where PRETEND_GPU_TWINS says unless given, so that all
    tests of a session share them, or else beside `folder`.
    """
    shared = os.environ.get("PRETEND_GPU_TWINS")
    made = Twins(twins or (Path(shared) if shared else folder.parent / "pretended_twins"))
    made.make_driver()
    environment = {
        "PYTHONPATH": _before(str(HERE / "shadow"), os.environ.get("PYTHONPATH")),
        "LD_LIBRARY_PATH": _before(str(made.folder), os.environ.get("LD_LIBRARY_PATH")),
        "PRETEND_GPU_TWINS": str(made.folder),
        "PRETEND_GPU_MEMORY": str(memory),
        "PRETEND_GPU_COUNT": str(count),
        "PRETEND_GPU_NVML": str(folder / NVML),
    }
    with ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, environment))
        os.environ.pop("CUDA_VISIBLE_DEVICES", None)  # mock.patch.dict brings it back
        allowed = start.PASSED_ON | PASSED_ON
        stack.enter_context(mock.patch.object(start, "PASSED_ON", allowed))
        stack.enter_context(mock.patch.object(gpus, "probe_devices", probed_once))
        stack.enter_context(mock.patch.object(Builder, "build", _observed(made)))
        for compiles in (builder, reading_process):
            stack.enter_context(mock.patch.object(compiles, "clean_environment", _real_bindings))
        gpu = PretendedGpu(folder, made)
        gpu.tell_nvml()
        yield gpu


def _real_bindings(home: Path) -> dict[str, str]:
    """For processes that compile and run nothing: NVRTC's binding wants the real driver's beside,
    and without it every build would be nvcc's, of several times the cost."""
    return {n: v for n, v in start.clean_environment(home).items() if n != "PYTHONPATH"}


def _before(first: str, others: str | None) -> str:
    return f"{first}:{others}" if others else first


def _observed(twins: Twins):
    """`Builder.build`, after which every cubin of a CUDA kernel has its twin."""
    build = Builder.build

    def observed(self: Builder, request: BuildRequest) -> BuildOutcome:
        outcome = build(self, request)
        if outcome.artifact is not None and request.kernel.spec.kernel.kernel_type == "cuda":
            defines = _defines(request)
            for module in outcome.artifact.modules:
                if module.kind == "cubin":
                    image = self.module_path(module).read_bytes()
                    twins.make(image, request.variant.source, defines, files=request.kernel.files)
        return outcome

    return observed


def _defines(request: BuildRequest) -> list[str]:
    """The macros of a build; as `cuda_request` has them."""
    spec, variant = request.kernel.spec, request.variant
    macros = {name: variant.parameters.get(name, p.start) for name, p in spec.parameters.items()}
    flags = variant.options.flags or spec.kernel.flags or ()
    own = [flag for flag in flags if flag.startswith("-D")]
    planned = declared_plan(spec.kernel, variant.plan).defines
    return [*own, *(f"-D{n}={v}" for n, v in {**spec.kernel.defines, **macros, **planned}.items())]
