"""What a kernel finds of earlier launches on this GPU, beside memory that our tables look at.

Usage: python benchmarks/siege_facts.py

Local memory with and without `scrub_local`, the number of the grid, code that writes to itself, and
whether a plan ends while a kernel before its last one still works. Writes
benchmarks/results/siege_facts.json.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from environment import write

from kernelwright.runners.device.cuda_driver import driver, modules
from kernelwright.runners.device.cuda_driver.faults import DriverFault
from kernelwright.runners.device.cuda_driver.launches import (
    PROGRAMMATIC,
    Configuration,
    PreparedLaunch,
)
from kernelwright.runners.device.support import Support
from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.runners.toolchains.compilers.cuda_job import Compiled, CudaJob

SOURCE = r"""
extern "C" __global__ void stack_small(unsigned* out, int n) {
    volatile unsigned deep[64];
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, seen = deep[n % 64];
    deep[n % 64] = 0x51515151u;
    if (seen == 0x51515151u) atomicAdd(out, 1u);
}
extern "C" __global__ void stack_large(unsigned* out, int n) {
    volatile unsigned deep[3000];
    const unsigned seen = deep[n % 3000];
    deep[n % 3000] = 0x51515151u;
    if (seen == 0x51515151u) atomicAdd(out, 1u);
}
extern "C" __global__ void grid_number(unsigned long long* out, int) {
    unsigned long long number;
    asm volatile("mov.u64 %0, %gridid;" : "=l"(number));
    *out = number;
}
__device__ __noinline__ int answer(int n) { return n + 1; }
extern "C" __global__ void writes_code(unsigned long long* out, int n) {
    int (*volatile call)(int) = answer;
    unsigned long long* code = reinterpret_cast<unsigned long long*>(call);
    out[1] = code[0];
    code[0] = code[0];
    *out = call(n);
}
extern "C" __global__ void slow(unsigned* out, int n) {
    asm volatile("griddepcontrol.launch_dependents;");
    const long long from = clock64();
    while (clock64() - from < 2000000) {}
    out[blockIdx.x] = n;
}
extern "C" __global__ void quick(unsigned*, int) {}
"""
THREADS, BLOCKS = 256, 1056


class Lab:
    """The kernels above, one stream, and a buffer that they write to."""

    def __init__(self, arch: str) -> None:
        self.stream = driver.make_stream()
        self.support = Support(self.stream, (1, 2, 3))
        self.out = driver.allocate(1 << 20)
        self._module = modules.load_module(_built(arch))

    def launch(self, name: str, n: int = 5, blocks: int = 1, **attributes: int) -> None:
        """One launch; `pdl=1`: it may begin before what is before it has ended."""
        chosen = [(PROGRAMMATIC, (1,))] if attributes.get("pdl") else []
        function = modules.get_function(self._module, name)
        threads = THREADS if blocks > 1 else 1
        made = Configuration(function, (blocks, 1, 1), (threads, 1, 1), 0, chosen)
        params = [struct.pack("<Q", self.out), struct.pack("<i", n)]
        PreparedLaunch(made, params).enqueue(self.stream)

    def words(self, count: int, kind: str = "<u4") -> Sequence[int]:
        """The first words of the buffer, once all is done."""
        size = np.dtype(kind).itemsize * count
        return driver.fetch(self.stream, self.out, size).view(kind).tolist()

    def clear(self) -> None:
        """The buffer holds zeros."""
        driver.Memset(self.out, 4, 0, 1 << 10, 4).enqueue(self.stream)


def _built(arch: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "k.cu").write_text(SOURCE, encoding="utf-8")
        names = "stack_small stack_large grid_number writes_code slow quick".split()
        job = CudaJob(
            folder=place,
            source="k.cu",
            flags=(),
            include_dirs=(),
            arch=arch,
            entries=tuple(names),
            symbols=(),
            timeout_s=60.0,
        )
        built = nvrtc.compile_cuda(job)
        assert isinstance(built, Compiled), built
        return built.cubin


def _left(lab: Lab, name: str, scrubbed: int) -> int:
    """Threads that find what an earlier launch left. `scrubbed`: bytes overwritten between."""
    lab.launch(name, blocks=BLOCKS)
    lab.clear()
    if scrubbed:
        lab.support.scrub_local(scrubbed)
    lab.launch(name, blocks=BLOCKS)
    return lab.words(1)[0]


def _overlapping(lab: Lab) -> dict[str, Any]:
    """Whether the end of a plan is that of its last kernel alone: one that waits for nothing."""
    found = dict[str, Any]()
    for how in ("stream", "graph"):
        lab.clear()
        marks = [driver.make_event() for _ in range(2)]
        if how == "graph":
            driver.begin_capture(lab.stream)
        else:
            driver.record(marks[0], lab.stream)
        lab.launch("slow", 7)
        lab.launch("quick", pdl=1)
        if how == "graph":
            graph = driver.end_capture(lab.stream, keep=True)
            assert graph is not None
            driver.record(marks[0], lab.stream)
            driver.launch_graph(graph, lab.stream)
        driver.record(marks[1], lab.stream)
        while not driver.is_done(marks[1]):
            pass
        at_the_end = int(driver.download(lab.out, 4).view("<u4")[0])
        driver.synchronize()
        later = lab.words(1)[0]
        ms = driver.elapsed_ms(marks[0], marks[1])
        found[how] = {"milliseconds": round(ms, 4), "at its end": at_the_end, "later": later}
    return found


def main() -> None:
    """All facts, printed and written."""
    driver.make_current()
    major = driver.device_attribute("COMPUTE_CAPABILITY_MAJOR")
    minor = driver.device_attribute("COMPUTE_CAPABILITY_MINOR")
    lab, found = Lab(f"sm_{major}{minor}"), dict[str, Any]()
    for name, nbytes in (("stack_small", 1024), ("stack_large", 12288)):
        found[name] = {"left": _left(lab, name, 0), "left after scrub": _left(lab, name, nbytes)}
    numbers = list[int]()
    for _ in range(4):
        lab.launch("grid_number")
        numbers.append(lab.words(1, "<u8")[0])
    found["grid numbers"] = numbers
    found["plans that overlap"] = _overlapping(lab)
    try:
        lab.launch("writes_code")
        found["code"] = {"answer": lab.words(2, "<u8"), "written": True}
    except DriverFault as fault:
        found["code"] = {"written": False, "fault": fault.name}
    for name, value in found.items():
        print(f"{name}: {value}")
    print(write("siege_facts", {"facts": found, "threads": THREADS * BLOCKS}))


if __name__ == "__main__":
    main()
