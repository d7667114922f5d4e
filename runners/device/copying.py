"""How fast the device copies its own memory: the bandwidth that kernels are compared with."""

from __future__ import annotations

import time
from itertools import pairwise

from .cuda_driver import driver
from .cuda_driver.driver import Stream

LARGEST, LEAST = 2 << 30, 64 << 20
COPIES = 20


def copy_bandwidth(stream: Stream) -> float:
    """Bytes read and bytes written a second, by the best of COPIES copies of up to 2 GiB."""
    nbytes = min(LARGEST, max(LEAST, driver.free_memory() // 8))
    source, target = driver.allocate(nbytes), driver.allocate(nbytes)
    try:
        driver.Memset(source, 4, 0x12345678, nbytes // 4, 4).enqueue(stream)
        marks = [driver.make_event() for _ in range(COPIES + 1)]
        for mark in marks:
            driver.record(mark, stream)
            driver.copy(stream, target, source, nbytes)
        done = driver.make_event(timed=False)
        driver.record(done, stream)
        while not driver.is_done(done):
            time.sleep(0.001)
        best = min(driver.elapsed_ms(a, b) for a, b in pairwise(marks))
        for event in (*marks, done):
            driver.destroy_event(event)
    finally:
        driver.free(source)
        driver.free(target)
    return 2 * nbytes / (best * 1e-3)
