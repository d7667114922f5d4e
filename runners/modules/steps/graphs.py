"""One CUDA graph of the whole call: the host launches once, however many kernels there are."""

from __future__ import annotations

from typing import Any

from .base import Callee, Step, always, mapped, torch

WARM_UPS = 3


def apply(model: Callee, inputs: tuple[Any, ...]) -> Callee:
    """The call captured at these shapes; others go to the module as it is. Raises RuntimeError for
    a module that waits for the device (`.item()`, `nonzero`, a copy to the host)."""
    return Captured(model, inputs)


class Captured:
    """A captured call: inputs are copied to where the graph reads, outputs from where it writes."""

    def __init__(self, model: Callee, inputs: tuple[Any, ...]) -> None:
        self.model, self._cuda = model, torch().cuda
        self._given = mapped(inputs, lambda t: t.clone())
        side = self._cuda.Stream()
        side.wait_stream(self._cuda.current_stream())
        with self._cuda.stream(side), torch().no_grad():
            for _ in range(WARM_UPS):
                model(*self._given)
        self._cuda.current_stream().wait_stream(side)
        self._graph = self._cuda.CUDAGraph()
        with self._cuda.graph(self._graph), torch().no_grad():
            self._out = model(*self._given)
        self._shapes = _shapes(inputs)

    def __call__(self, *given: Any) -> Any:
        """Replay, where shapes and types are those that were captured."""
        if _shapes(given) != self._shapes:
            return self.model(*given)
        for mine, theirs in zip(_tensors(self._given), _tensors(given), strict=True):
            mine.copy_(theirs)
        self._graph.replay()
        return mapped(self._out, lambda t: t.clone())


def _tensors(values: Any) -> list[Any]:
    found = list[Any]()
    mapped(values, found.append)
    return found


def _shapes(values: Any) -> list[Any]:
    return [(t.shape, t.dtype, t.device) for t in _tensors(values)]


STEP = Step(
    name="graphs",
    title="one CUDA graph of the whole call",
    kind="runtime",
    effect="captures",
    error_class="bit-equal",
    apply=apply,
    why_not=always,
    undo="call the module that it captured (`.model`)",
    devices=("cuda",),
)
