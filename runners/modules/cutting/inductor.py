"""What Inductor makes of a call: its Python with Triton's kernels, and the graph behind it.

Nothing of it is compiled or run. On a CPU Inductor is told to write Triton's kernels all the same,
for a GPU that is not there. In the child.
"""

from __future__ import annotations

from typing import Any

from ...errors import SpecError
from ..common.graphs import InductorCode, ModuleGraph
from ..common.torch_library import load, tensors_in, torch
from ..forms.subjects import Loaded
from .graph import record


class _Enough(Exception):
    """The code is written; what would compile it is not begun."""


class _NoGpu:
    """What Triton is told of the machine: a GPU of capability 9.0, on which nothing runs."""

    def get_current_target(self) -> Any:
        """As a driver says it."""
        return load("triton.backends.compiler").GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self) -> Any:
        """Where tensors lie."""
        return torch().device("cpu")

    def get_current_device(self) -> int:
        """The first."""
        return 0


def inductor_code(loaded: Loaded) -> InductorCode:
    """The code of one call without gradients. Raises SpecError where Inductor writes none, or more
    than one graph."""
    written, graphs = list[str](), list[ModuleGraph]()

    def keep_code(code: str) -> None:
        written.append(code)
        raise _Enough

    def keep_graph(graph: Any) -> None:
        nodes = [each for each in graph.nodes if each.op != "output"]
        given = {n.name: f"input {i}" for i, n in enumerate(_placeholders(nodes))}
        records = tuple(record(each, given, {}) for each in nodes)
        graphs.append(ModuleGraph(nodes=records, outputs=(), one_output=False))

    config, lowering = load("torch._inductor.config"), load("torch._inductor.graph").GraphLowering
    wanted: dict[str, Any] = {"force_disable_caches": True, "compile_threads": 1}
    wanted["post_grad_custom_post_pass"] = keep_graph
    if loaded.device == "cpu":
        wanted["cpu_backend"] = "triton"
        load("triton.runtime").driver.set_active(_NoGpu())
    lowering.save_output_code = staticmethod(keep_code)
    try:
        with config.patch(wanted), torch().no_grad():
            torch().compile(loaded.model, fullgraph=True)(*loaded.inputs)
    except Exception as error:  # Inductor wraps ours into one of its own
        if not written:
            lines = str(error).strip().splitlines() or [""]
            raise SpecError(
                f"Inductor writes no code for it: {type(error).__name__}: {lines[0][:300]}",
                next_step="its forward has to be one graph",
            ) from error
    finally:
        lowering.save_output_code = None
    if len(written) != 1 or len(graphs) != 1 or not tensors_in(loaded.inputs):
        raise SpecError(f"Inductor made {len(written)} graphs of the module", valid="one")
    return InductorCode(code=written[0], graph=graphs[0])


def _placeholders(nodes: list[Any]) -> list[Any]:
    return [each for each in nodes if each.op == "placeholder"]
