"""Three ways from Python to the CUDA driver: what starting costs, and a launch.

    python benchmarks/driver_bindings.py

Each way runs in fresh processes: seconds to import it, to have a context, and to have run a first
kernel; then microseconds of host time for a launch of a prepared kernel and of a graph with one.
Written to benchmarks/results/driver_bindings.json.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from environment import write

PROCESSES = 5
LAUNCHES = 2000
SOURCE = (
    'extern "C" __global__ void bump(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] += 1; }'
)
WAYS = ("cuda_bindings", "cupy", "ctypes")


def main() -> None:
    """Run every way in turn, PROCESSES times, and write medians."""
    folder = Path("/tmp/driver_bindings")
    folder.mkdir(exist_ok=True)
    (folder / "bump.cu").write_text(SOURCE, encoding="utf-8")
    command = ["nvcc", "-cubin", "-arch=native", "-o", "bump.cubin", "bump.cu"]
    subprocess.run(command, cwd=folder, check=True)
    found: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for _ in range(PROCESSES):
        for way in WAYS:
            argv = [sys.executable, __file__, way, str(folder / "bump.cubin")]
            done = subprocess.run(argv, capture_output=True, text=True, check=True)
            found[way].append(json.loads(done.stdout))
    table = {
        way: {key: round(median(run[key] for run in runs), 6) for key in runs[0]}
        for way, runs in found.items()
    }
    print(json.dumps(table, indent=1))
    print(write("driver_bindings", {"processes": PROCESSES, "launches": LAUNCHES, "ways": table}))


def measure(start: Callable[[], Callable[[], tuple[Any, ...]]], began: float) -> dict[str, float]:
    """`start` imports and returns what makes a context, and (launch, launch_graph, wait)."""
    prepare = start()
    imported = time.perf_counter()
    launch, launch_graph, wait = prepare()
    ready = time.perf_counter()
    launch()
    wait()
    first = time.perf_counter()
    return {
        "import_s": imported - began,
        "context_and_module_s": ready - imported,
        "first_launch_s": first - ready,
        "launch_us": _each(launch, wait),
        "graph_launch_us": _each(launch_graph, wait),
    }


def _each(launch: Callable[[], Any], wait: Callable[[], Any]) -> float:
    """Microseconds of host time, the queue kept short."""
    spent = 0.0
    for _ in range(LAUNCHES // 100):
        began = time.perf_counter()
        for _ in range(100):
            launch()
        spent += time.perf_counter() - began
        wait()
    return spent / (LAUNCHES // 100 * 100) * 1e6


def cuda_bindings(cubin: bytes) -> Callable[[], tuple[Any, ...]]:
    """cuda.bindings.driver, through our own module over it."""
    driver: Any = importlib.import_module("kernelwright.runners.device.cuda_driver.driver")
    modules: Any = importlib.import_module("kernelwright.runners.device.cuda_driver.modules")
    launches: Any = importlib.import_module("kernelwright.runners.device.cuda_driver.launches")
    importlib.import_module("cuda.bindings.driver")

    def prepare() -> tuple[Any, ...]:
        driver.make_current()
        stream = driver.make_stream()
        function = modules.get_function(modules.load_module(cubin), "bump")
        data = driver.allocate(4096)
        params = [data.to_bytes(8, "little"), (32).to_bytes(4, "little")]
        configured = launches.Configuration(function, (1, 1, 1), (32, 1, 1), 0)
        made = launches.PreparedLaunch(configured, params)
        driver.begin_capture(stream)
        made.enqueue(stream)
        graph = driver.end_capture(stream)
        return (
            lambda: made.enqueue(stream),
            lambda: driver.launch_graph(graph, stream),
            driver.synchronize,
        )

    return prepare


def cupy(cubin: bytes) -> Callable[[], tuple[Any, ...]]:
    """cupy.RawModule."""
    library: Any = importlib.import_module("cupy")
    path = Path("/tmp/driver_bindings/bump.cubin")
    assert path.read_bytes() == cubin

    def prepare() -> tuple[Any, ...]:
        function = library.RawModule(path=str(path)).get_function("bump")
        data = library.zeros(1024, dtype=library.float32)
        stream = library.cuda.Stream(non_blocking=True)
        arguments = (data, library.int32(32))

        def launch() -> None:
            function((1,), (32,), arguments, stream=stream)

        stream.use()
        stream.begin_capture()
        launch()
        graph = stream.end_capture()
        return launch, lambda: graph.launch(stream), stream.synchronize

    return prepare


def plain_ctypes(cubin: bytes) -> Callable[[], tuple[Any, ...]]:
    """ctypes on libcuda.so.1, nothing else."""
    cuda = ctypes.CDLL("libcuda.so.1")

    def call(name: str, *args: Any) -> None:
        code = getattr(cuda, name)(*args)
        if code:
            raise RuntimeError(f"{name}: {code}")

    def prepare() -> tuple[Any, ...]:
        context, module, function, stream = (ctypes.c_void_p() for _ in range(4))
        graph, made, data = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64()
        call("cuInit", 0)
        call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        call("cuCtxSetCurrent", context)
        call("cuStreamCreate", ctypes.byref(stream), 1)
        call("cuModuleLoadData", ctypes.byref(module), cubin)
        call("cuModuleGetFunction", ctypes.byref(function), module, b"bump")
        call("cuMemAlloc_v2", ctypes.byref(data), ctypes.c_size_t(4096))
        count = ctypes.c_int(32)
        params = (ctypes.c_void_p * 2)(ctypes.addressof(data), ctypes.addressof(count))

        def launch() -> None:
            call("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, stream, params, None)

        call("cuStreamBeginCapture_v2", stream, 2)
        launch()
        call("cuStreamEndCapture", stream, ctypes.byref(graph))
        call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, ctypes.c_ulonglong(0))
        return launch, lambda: call("cuGraphLaunch", made, stream), lambda: call("cuCtxSynchronize")

    return prepare


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    else:
        began = time.perf_counter()
        image = Path(sys.argv[2]).read_bytes()
        way = {"cuda_bindings": cuda_bindings, "cupy": cupy, "ctypes": plain_ctypes}[sys.argv[1]]
        print(json.dumps(measure(lambda: way(image), began)))
