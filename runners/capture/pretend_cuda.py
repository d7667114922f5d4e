"""`torch.cuda` as a wrapper finds it: one device with the facts of the target, no streams."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

from ..specs.devices import DeviceFacts
from .libraries import load, torch
from .recorder import Recorder

REFUSED = (
    "Stream", "ExternalStream", "Event", "CUDAGraph", "graph", "make_graphed_callables", "stream",
    "set_stream",
)  # fmt: skip


def install(recorder: Recorder, device: DeviceFacts) -> None:
    """Patch `torch.cuda` and threads of this process, for good."""
    cuda: Any = torch().cuda
    major, minor = divmod(device.capability, 10)
    stream = SimpleNamespace(
        cuda_stream=0, synchronize=always(None), device=torch().device("cuda", 0)
    )
    properties = SimpleNamespace(**device_properties(device))

    def device_zero(index: Any = 0, *_: Any) -> Any:
        if str(index) not in ("0", "None", "cuda", "cuda:0", "-1"):
            recorder.refuse(f"host program: second device {index}")
        return nullcontext()

    answers: dict[str, Any] = {
        "_lazy_init": None,
        "is_available": True,
        "is_initialized": True,
        "current_device": 0,
        "device_count": 1,
        "synchronize": None,
        "empty_cache": None,
        "current_stream": stream,
        "default_stream": stream,
        "device_of": nullcontext(),
        "get_device_name": device.name,
        "get_device_capability": (major, minor),
        "get_device_properties": properties,
        "is_bf16_supported": major >= 8,
        "mem_get_info": (device.memory_bytes, device.memory_bytes),
    }
    for name, answer in answers.items():
        setattr(cuda, name, always(answer))
    cuda.device = cuda.set_device = device_zero

    def refuse_streams(*_: Any, **__: Any) -> Any:
        recorder.refuse("host program: streams, events and graphs")

    def refuse_thread(*_: Any, **__: Any) -> Any:
        recorder.refuse("host program: a second thread")

    for name in REFUSED:
        setattr(cuda, name, refuse_streams)
    threading.Thread.start = refuse_thread
    load("torch.library").wrap_triton = _same


def device_properties(device: DeviceFacts) -> dict[str, Any]:
    """What `torch.cuda.get_device_properties` would hold."""
    major, minor = divmod(device.capability, 10)
    return {
        "name": device.name,
        "major": major,
        "minor": minor,
        "multi_processor_count": device.sm_count,
        "total_memory": device.memory_bytes,
        "warp_size": 32,
        "regs_per_multiprocessor": device.registers_per_sm,
        "max_threads_per_multi_processor": device.threads_per_sm,
        "shared_memory_per_block": 49152,
        "shared_memory_per_block_optin": device.shared_per_block,
        "shared_memory_per_multiprocessor": device.shared_per_sm,
        "L2_cache_size": device.l2_bytes,
        "clock_rate": device.clock_khz,
        "memory_clock_rate": device.memory_clock_khz,
        "memory_bus_width": device.memory_bus_bits,
        "is_integrated": 0,
        "is_multi_gpu_board": 0,
    }


def always(answer: Any) -> Callable[..., Any]:
    """A function that takes anything and returns this."""

    def function(*_: Any, **__: Any) -> Any:
        return answer

    return function


def _same(kernel: Any) -> Any:
    return kernel
