"""Times of calls in this process: on a device alone, as the host spends them, and as a user waits.

Timed sections hold the device's lock of this user, so that no other process of ours times beside
them; the lock is a descriptor, opened before the process was confined.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from statistics import median
from typing import Any

from .torch_library import synchronise, torch

IN_GRAPH = 10
"""calls in one captured graph: gaps between launches do not count then"""
FEWEST, SECONDS = 5, 0.05


class Clock:
    """The clock of one device."""

    def __init__(self, device: str, lock_fd: int | None = None) -> None:
        self.device, self._lock = device, lock_fd

    @contextmanager
    def alone(self) -> Generator[None]:
        """Nobody else of ours times on this device while the body runs."""
        if self._lock is None:
            yield
            return
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def wall_ms(self, call: Callable[[], Any], seconds: float = SECONDS) -> float:
        """Milliseconds of one call as somebody waits for its result: the median of samples."""
        each = self._once(call)
        times = max(1, int(0.01 / max(each, 1e-7)))
        samples, end = list[float](), time.perf_counter() + seconds
        while len(samples) < FEWEST or time.perf_counter() < end:
            samples.append(self.sample_ms(call, times))
        return median(samples)

    def sample_ms(self, call: Callable[[], Any], times: int) -> float:
        """Milliseconds of one call, the mean of so many one after the other."""
        synchronise(self.device)
        start = time.perf_counter()
        for _ in range(times):
            call()
        synchronise(self.device)
        return (time.perf_counter() - start) * 1e3 / times

    def host_ms(self, call: Callable[[], Any], samples: int = 7) -> float:
        """Milliseconds until the call returns, with an empty queue before it: on a CPU, all."""
        taken = list[float]()
        for _ in range(samples):
            synchronise(self.device)
            start = time.perf_counter()
            call()
            taken.append((time.perf_counter() - start) * 1e3)
        synchronise(self.device)
        return median(taken)

    def device_us(self, call: Callable[[], Any]) -> float:
        """Microseconds on the device alone: on a GPU from a captured graph of some calls, where
        they can be captured."""
        call()
        if self.device == "cpu":
            return self.wall_ms(call, 0.02) * 1e3
        try:
            replay = captured(lambda: [call() for _ in range(IN_GRAPH)])
        except RuntimeError:  # it waits for the device, or allocates in a way that cannot be kept
            torch().cuda.synchronize()
            return self._between_events(call, 1)
        return self._between_events(replay, IN_GRAPH)

    def _between_events(self, call: Callable[[], Any], of: int) -> float:
        cuda = torch().cuda
        call()
        samples = list[float]()
        for _ in range(FEWEST):
            first, last = (cuda.Event(enable_timing=True) for _ in range(2))
            first.record()
            call()
            last.record()
            cuda.synchronize()
            samples.append(first.elapsed_time(last) * 1e3 / of)
        return median(samples)

    def _once(self, call: Callable[[], Any]) -> float:
        call()
        synchronise(self.device)
        start = time.perf_counter()
        call()
        synchronise(self.device)
        return time.perf_counter() - start


def captured(call: Callable[[], Any]) -> Callable[[], None]:
    """A CUDA graph of the call, as its replay. Raises RuntimeError where it cannot be captured."""
    cuda = torch().cuda
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        call()
    cuda.current_stream().wait_stream(side)
    graph = cuda.CUDAGraph()
    with cuda.graph(graph):
        kept = call()

    def replay(_: Any = kept) -> None:
        graph.replay()

    return replay


def open_lock(path: str) -> int | None:
    """The descriptor of a lock's file; None where it cannot be had."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return None
