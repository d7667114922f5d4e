"""Who works on which device: one thread at a time, and nobody's processes when there is no work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...runners.model import Tier
from ..rig.open_kernel import HOST

IDLE_S: Mapping[Tier, float] = {"device": 60.0, "native": 600.0}
"""After so long the processes of a device end: on a GPU for whoever wants to time there, on the
host for the memory they hold. The next request starts them again."""


@dataclass
class _Device:
    """A device with its lock; what is beside it changes only under the lock."""

    name: str
    lock: threading.RLock = field(default_factory=threading.RLock)
    depth: int = 0
    ended: float = 0.0
    timer: threading.Timer | None = None


class DeviceQueues:
    """A turn a device: its holder has runner and oracle of that device to himself.

    `pause` ends the processes of a device. It is called with the turn held, once nobody has had
    a turn for as long as `patience` says, by tier.
    """

    def __init__(
        self, pause: Callable[[str], None], patience: Mapping[Tier, float] = IDLE_S
    ) -> None:
        self._pause, self._patience = pause, patience
        self._devices: dict[str, _Device] = {}
        self._guard = threading.Lock()

    @contextmanager
    def turn(self, name: str) -> Generator[None]:
        """One thread's turn at a device (`host`, or a GPU's UUID); the same thread may nest."""
        device = self._device(name)
        with device.lock:
            device.depth += 1
            try:
                yield
            finally:
                device.depth -= 1
                if device.depth == 0:
                    device.ended = time.monotonic()
                    if device.timer is None:
                        self._look(device)

    def close(self) -> None:
        """Look after nothing any more, until there is work again."""
        with self._guard:
            devices = list(self._devices.values())
        for device in devices:
            timer, device.timer = device.timer, None
            if timer is not None:
                timer.cancel()

    def _device(self, name: str) -> _Device:
        with self._guard:
            return self._devices.setdefault(name, _Device(name))

    def _look(self, device: _Device) -> None:
        with device.lock:
            device.timer = None
            patience = self._patience["native" if device.name == HOST else "device"]
            left = device.ended + patience - time.monotonic()
            if left <= 0:
                self._pause(device.name)
                return
            device.timer = threading.Timer(left, self._look, (device,))
            device.timer.daemon = True
            device.timer.start()


class KeyedLocks:
    """Locks by name, made when they are asked for: one thread at a time for each name."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.RLock, int]] = {}

    @contextmanager
    def at(self, name: str) -> Generator[None]:
        """Wait for whoever is at the same name."""
        with self._guard:
            lock, users = self._locks.get(name, (threading.RLock(), 0))
            self._locks[name] = (lock, users + 1)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                lock, users = self._locks.pop(name)
                if users > 1:
                    self._locks[name] = (lock, users - 1)
