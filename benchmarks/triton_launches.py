"""Triton's own launches of an example, for `triton_bit_equality.py`; usage: ... REQUEST.json

Runs in a process of its own, as the only one that knows torch and Triton. It reads commands
line by line: `run` writes the outputs to .npy files, `block` answers with nanoseconds a call.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

from kernelwright.runners.capture.calling import Values, bind_call, entry_of, result_tensors
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.io_contract import Contract

HOLD_CYCLES = 2_000_000  # 1 ms, longer than flush and graph take to be queued
OPTIONS = ("num_warps", "num_stages")


class Launches:
    """One kernel with tensors of its own for each call of a sample."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._request = request
        self._folder = Path(request["folder"])
        contract = Contract.model_validate(request["contract"])
        self._contract = bind(contract, request["symbols"], request["label"])
        self._module = _load(Path(request["source"]))
        self._entry = entry_of(self._module, request["entry"])
        self._launch = _with_options(request["launch"], request["parameters"])
        _only_configuration(self._module, request["parameters"])
        l2_bytes = int(self._torch.cuda.get_device_properties(0).L2_cache_size)
        self._evictor = self._torch.empty(2 * l2_bytes // 4, device="cuda")
        self._read = self._torch.empty(1, device="cuda")
        self._sets = [self._tensors() for _ in range(request["calls"])]
        self._graph = self._captured()

    def run(self) -> dict[str, Any]:
        """One launch on fresh outputs, which are written as `<name>.npy`."""
        numpy: Any = importlib.import_module("numpy")
        for name, tensor in self._call(self._tensors()).items():
            numpy.save(self._folder / f"{name}.npy", tensor.cpu().numpy())
        return {}

    def block(self, samples: int) -> dict[str, Any]:
        """Nanoseconds a call of some samples, each behind a flush of L2 and a held queue."""
        cuda, events = self._torch.cuda, list[tuple[Any, Any]]()
        for _ in range(samples):
            start, end = (cuda.Event(enable_timing=True) for _ in range(2))
            self._evictor.zero_()
            self._torch.sum(self._evictor, dim=0, keepdim=True, out=self._read)
            cuda._sleep(HOLD_CYCLES)
            start.record()
            self._graph.replay()
            end.record()
            events.append((start, end))
        cuda.synchronize()
        return {"ns": [s.elapsed_time(e) * 1e6 / len(self._sets) for s, e in events]}

    def _tensors(self) -> dict[str, Any]:
        made: dict[str, Any] = {}
        numpy: Any = importlib.import_module("numpy")
        for bound in self._contract.arrays:
            dtype = getattr(self._torch, bound.argument.dtype)
            made[bound.name] = self._torch.empty(bound.shape, dtype=dtype, device="cuda")
        for bound in self._contract.inputs:
            values = numpy.load(self._folder / f"{bound.name}.npy")
            made[bound.name].copy_(self._torch.from_numpy(values))
        return made

    def _call(self, tensors: dict[str, Any]) -> dict[str, Any]:
        values = Values(self._contract, tensors, self._request["parameters"])
        call = bind_call(self._entry, self._request["entry"], values, self._launch)
        returned = result_tensors(call, self._contract, call.run())
        return {b.name: returned.get(b.name, tensors[b.name]) for b in self._contract.outputs}

    def _captured(self) -> Any:
        """A graph of one call on each set; everything is compiled before."""
        self._call(self._sets[0])
        self._torch.cuda.synchronize()
        graph = self._torch.cuda.CUDAGraph()
        with self._torch.cuda.graph(graph):
            for tensors in self._sets:
                self._call(tensors)
        return graph


def main() -> None:
    """Answer commands until the input ends."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    launches = Launches(request)
    for line in sys.stdin:
        command = line.split()
        done = launches.run() if command[0] == "run" else launches.block(int(command[1]))
        print(json.dumps(done), flush=True)


def _load(source: Path) -> Any:
    sys.path.insert(0, str(source.parent))
    return importlib.import_module(source.stem)


def _with_options(
    launch: dict[str, Any] | None, parameters: dict[str, int]
) -> dict[str, Any] | None:
    """The launch with the options that are tunable parameters of the spec."""
    if launch is None:
        return None
    return {**launch, **{o: parameters[o] for o in OPTIONS if o in parameters}}


def _only_configuration(module: Any, parameters: dict[str, int]) -> None:
    """Leave every autotuner the one configuration that the plan was built with."""
    members: dict[str, Any] = module.__dict__
    for member in members.values():
        configs: list[Any] | None = getattr(member, "configs", None)
        if configs is not None:
            member.configs = [c for c in configs if _values(c).items() <= parameters.items()][:1]


def _values(config: Any) -> dict[str, int]:
    return {**config.kwargs, **{o: getattr(config, o) for o in OPTIONS}}


if __name__ == "__main__":
    main()
