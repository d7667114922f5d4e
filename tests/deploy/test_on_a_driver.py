"""A winner's launches and fills through a driver: the pretended one, which runs on the host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pretend_program import PretendedProgram

SCRIPT = """
import ctypes, struct, sys
from pathlib import Path
from kernelwright.deploy.machine_code import MachineCode
from kernelwright.deploy.reading import Parameter, Refused, Step, Winner

image = Path(sys.argv[1])
driver = ctypes.CDLL("libcuda.so.1")
driver.cuInit(0)
driver.cuCtxSetCurrent(ctypes.c_void_p(8))
memory = ctypes.c_uint64()
driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(64))
floats = (ctypes.c_float * 16)(*range(16))
driver.cuMemcpyHtoD_v2(memory, floats, ctypes.c_size_t(64))
winner = Winner(image.parent, "aten::x", "cuda", "sm_90", (image.name,), (), {})
code = MachineCode(winner, None)
count = Parameter(dtype="int32", raw=struct.pack("<i", 4))
halved = Step(image.name, "in_place", (Parameter(buffer="x", offset=16), count))
zeroed = Step("", "", (Parameter(buffer="x", offset=48),), pattern=b"\\0", nbytes=8)
for step in (halved, zeroed):
    code.step(step, {"x": 0})([memory.value], ctypes.c_void_p(), 0)
driver.cuMemcpyDtoH_v2(floats, memory, ctypes.c_size_t(64))
print(list(floats))
try:
    code.step(Step(image.name, "absent", (count,)), {})([], ctypes.c_void_p(), 0)
except Refused as error:
    print(error)
"""
WITHIN_TORCH = """
import contextlib, ctypes, struct, sys
from pathlib import Path
from types import SimpleNamespace
from kernelwright.deploy.machine_code import MachineCode
from kernelwright.deploy.reading import Buffer, Case, Parameter, Step, Winner

image = Path(sys.argv[1])
driver = ctypes.CDLL("libcuda.so.1")
driver.cuInit(0)
memory, context = ctypes.c_uint64(), ctypes.c_void_p()
driver.cuMemAlloc_v2(ctypes.byref(memory), ctypes.c_size_t(16))
floats = (ctypes.c_float * 4)(*range(4))
driver.cuMemcpyHtoD_v2(memory, floats, ctypes.c_size_t(16))
cuda = SimpleNamespace(
    get_device_capability=lambda device: capability,
    current_device=lambda: 0,
    device=lambda device: contextlib.nullcontext(),
    current_stream=lambda device: SimpleNamespace(cuda_stream=0),
)
given = SimpleNamespace(data_ptr=lambda: memory.value, get_device=lambda: 0)
count = Parameter(dtype="int32", raw=struct.pack("<i", 4))
step = Step(image.name, "in_place", (Parameter(buffer="x"), count))
case = Case("o0", (), (), {"x": Buffer("input", 0)}, (step,))
for target in sys.argv[2:]:
    winner = Winner(image.parent, "aten::x", "cuda", target, (image.name,), (case,), {})
    for capability in ((8, 0), (9, 0), (10, 0)):
        run = MachineCode(winner, SimpleNamespace(cuda=cuda)).prepare(case)
        driver.cuCtxSetCurrent(None)  # as in a thread of autograd that has called nothing yet
        ran = run([given], [memory.value]) is not None
        driver.cuCtxGetCurrent(ctypes.byref(context))
        print(target, capability, ran, bool(context.value))
driver.cuMemcpyDtoH_v2(floats, memory, ctypes.c_size_t(16))
print(list(floats))
"""


def test_code_runs_on_the_compute_capability_that_it_was_built_for_and_in_a_new_thread(
    program: PretendedProgram,
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHIN_TORCH, str(Path(program.fast)), "sm_90a", "sm_90", "sm_100a"],
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, numbers = ran.stdout.splitlines()
    assert [line for line in lines if line.endswith("True True")] == [
        "sm_90a (9, 0) True True",
        "sm_90 (9, 0) True True",
        "sm_100a (10, 0) True True",
    ]
    assert all(line.endswith(("True True", "False False")) for line in lines)
    values = [0.0, 1.0, 2.0, 3.0]
    for _ in range(3):
        values = [value * 0.5 + 1 for value in values]
    assert numbers == str(values)


def test_a_kernel_is_launched_in_the_middle_of_a_buffer_and_part_of_it_is_filled(
    program: PretendedProgram,
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(Path(program.fast))],
        capture_output=True,
        text=True,
        check=True,
    )
    numbers, refused = ran.stdout.splitlines()
    first = [0.0, 1.0, 2.0, 3.0, 3.0, 3.5, 4.0, 4.5]
    assert numbers == str([*first, 8.0, 9.0, 10.0, 11.0, 0.0, 0.0, 14.0, 15.0])
    assert refused.startswith("cuModuleGetFunction returned ")
