"""The interpreter as the server sees it: a runner that takes sources and times nothing."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType

from ..capture.messages import CaptureRequest
from ..errors import KernelwrightError
from ..forking.starting import start_python
from ..loading.files import LoadedKernel
from ..model import Variant
from ..plans.launch_in_force import launch_fields
from ..plans.plan import LaunchPlan
from ..processes.process import Child, Limits, clean_environment
from ..protocol.messages import Block, BlockResult
from ..proxies.process_runner import ProcessRunner
from ..specs.devices import DeviceFacts
from .messages import Program


def interpreter_missing() -> str | None:
    """Why this machine cannot interpret Triton kernels, in words; None when it can."""
    missing = [name for name in ("torch", "triton") if find_spec(name) is None]
    return f"{' and '.join(missing)} not installed" if missing else None


class InterpreterRunner(ProcessRunner):
    """Triton kernels on host memory, for their logic: one process, a fork a run.

    Does the checks of a `Runner`; `prepare` takes the place of `load`.
    """

    def prepare(self, variant: Variant, kernel: LoadedKernel, device: DeviceFacts) -> None:
        """Make a variant known as source. `device`: what its wrapper is told of the GPU.

        Raises SpecError for a plan that is no launch of it.
        """
        spec = kernel.spec
        request = CaptureRequest(
            source_path=kernel.source_name,
            entry=spec.kernel.metadata.kernel_name,
            contract=spec.io,
            symbols={},
            label="",
            device=device,
            parameters=variant.parameters,
            launch=launch_fields(spec.kernel, variant.plan),
            defines=spec.kernel.defines,
        )
        program = Program(
            variant=variant.variant_id, request=request, source=variant.source, files=kernel.files
        )
        self._keep(variant.variant_id, program)

    def load(
        self,
        variant_id: str,
        modules: Mapping[str, Path],
        plans: tuple[LaunchPlan, ...],
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Refused: it runs sources. Raises KernelwrightError."""
        raise KernelwrightError(
            f"the interpreter runs sources, not the machine code of `{variant_id}`",
            next_step="call prepare with the variant",
        )

    def block(self, message: Block) -> tuple[BlockResult, int]:
        """Refused: what it takes says nothing of a GPU. Raises KernelwrightError."""
        raise KernelwrightError(
            "the interpreter is not for timing", next_step="time on a machine with a GPU"
        )

    def rest(self) -> None:
        """Nothing to end: every run has a process of its own."""

    def _start(self) -> Child:
        settings = {
            "TRITON_INTERPRET": "1",
            "TRITON_CACHE_DIR": str(self._scratch / "interpreter-cache"),
            "PYTHONDONTWRITEBYTECODE": "1",
            # a process that forks must have one thread
            **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        }
        return start_python(
            "kernelwright.runners.interpreter.process",
            (str(self._scratch),),
            name="interpreter",
            scratch=self._scratch,
            environment=clean_environment(self._scratch, settings),
            limits=Limits(),
        )
