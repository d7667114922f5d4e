"""Prints what the driver says of this machine's GPUs, as JSON (`probing.Probed`).

`python -m kernelwright.runners.device.presence.probe`; run as a child, since it loads the driver.
"""

from __future__ import annotations

from ...errors import KernelwrightError
from ...specs.devices import DeviceFacts
from ..cuda_driver import driver
from .probing import Probed

ARCH_SPECIFIC = 90
"""from here on a GPU has instructions of its own, which compilers reach by the suffix `a`"""


def facts(index: int) -> DeviceFacts:
    """One GPU, by its index among those that the driver shows. Raises DriverFault."""

    def attribute(name: str) -> int:
        return driver.device_attribute(name, index)

    capability = 10 * attribute("COMPUTE_CAPABILITY_MAJOR") + attribute("COMPUTE_CAPABILITY_MINOR")
    return DeviceFacts(
        name=driver.device_name(index),
        arch=f"sm_{capability}" + ("a" if capability >= ARCH_SPECIFIC else ""),
        sm_count=attribute("MULTIPROCESSOR_COUNT"),
        shared_per_block=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
        shared_per_sm=attribute("MAX_SHARED_MEMORY_PER_MULTIPROCESSOR"),
        registers_per_sm=attribute("MAX_REGISTERS_PER_MULTIPROCESSOR"),
        threads_per_sm=attribute("MAX_THREADS_PER_MULTIPROCESSOR"),
        l2_bytes=attribute("L2_CACHE_SIZE"),
        memory_bytes=driver.device_memory(index),
        clock_khz=attribute("CLOCK_RATE"),
        memory_clock_khz=attribute("MEMORY_CLOCK_RATE"),
        memory_bus_bits=attribute("GLOBAL_MEMORY_BUS_WIDTH"),
        uuid=driver.device_uuid(index),
    )


def probe() -> Probed:
    """All GPUs, or why there are none."""
    try:
        found = tuple(facts(index) for index in range(driver.device_count()))
    except KernelwrightError as error:
        return Probed(why_none=error.message)
    return Probed(devices=found, why_none="" if found else "the driver sees no GPU")


if __name__ == "__main__":
    print(probe().model_dump_json())
