"""Our own kernels on the device (support.cu), as functions."""

from __future__ import annotations

import struct
from pathlib import Path

from . import driver
from .driver import HostWords, Stream
from .launches import PreparedLaunch

PTX = Path(__file__).with_name("support.ptx")
THREADS = 256
QUIET_NS = 100_000
"""Between what prepares a sample and the sample: less, and short kernels scatter more."""
HOLD_NS = 2_000_000_000
"""A held stream goes on by itself after this long; the sample is then marked as disturbed."""
GO, EXPIRED, MARK = range(3)
"""Words that host and device share: released up to, held too long, last step done."""


class Support:
    """The kernels on one stream. Tables are device addresses, with their number of rows."""

    def __init__(self, stream: Stream, keys: tuple[int, int]) -> None:
        self._stream, self._keys = stream, keys
        module = driver.load_module(PTX.read_bytes() + b"\0")
        names = ("move", "read_all", "hold", "mark", "guards", "digest", "gather", "gaps")
        self._functions = {name: driver.get_function(module, name) for name in names}
        self._shared = HostWords(3)
        self._held = 0
        self._multiprocessors = driver.device_attribute("MULTIPROCESSOR_COUNT")
        self._flushed = 2 * driver.device_attribute("L2_CACHE_SIZE") + 4
        self._flushed = -(-self._flushed // 4096) * 4096
        self._flush_memory = driver.allocate(self._flushed)

    def move(self, table: int, rows: int) -> None:
        """Copies and fills."""
        self._launch("move", (rows, 1, 1), _words(table))

    def guards(self, table: int, rows: int, found: int) -> None:
        """Where guard bands are damaged, into `found` (two words a row's result)."""
        self._launch("guards", (rows, 1, 1), _words(table, found))

    def digest(self, table: int, rows: int, results: int) -> None:
        """Adds to `results` (two words each), which begin as zeros."""
        self._launch("digest", (rows, 1, 1), _words(table, *self._keys, results))

    def gather(self, table: int, rows: int) -> None:
        """Strided arrays, made dense."""
        self._launch("gather", (4 * self._multiprocessors, rows, 1), _words(table))

    def gaps(self, table: int, rows: int, found: int) -> None:
        """Counts damaged bytes between elements into `found` (one word a row's result)."""
        self._launch("gaps", (4 * self._multiprocessors, rows, 1), _words(table, found))

    def flush_cache(self) -> None:
        """Nothing of what was there before is in L2 afterwards, and no line of it is dirty."""
        fill = driver.Memset(self._flush_memory, 4, 42, self._flushed // 4, 4)
        fill.enqueue(self._stream)
        params = _words(self._flush_memory, self._flushed // 16, self._shared.address(EXPIRED))
        self._launch("read_all", (8 * self._multiprocessors, 1, 1), params)

    def hold(self) -> int:
        """Keep the stream until `release`; a number for `expired`."""
        self._held += 1
        params = [
            *_words(self._shared.address(GO)),
            struct.pack("<I", self._held),
            *_words(QUIET_NS, HOLD_NS, self._shared.address(EXPIRED)),
        ]
        self._launch("hold", (1, 1, 1), params, threads=1)
        return self._held

    def release(self) -> None:
        """Let the stream go on."""
        self._shared.words[GO] = self._held

    def expired(self, number: int) -> bool:
        """Whether a hold ended by itself, or one after it did."""
        return int(self._shared.words[EXPIRED]) >= number

    def mark(self, number: int) -> None:
        """Write a number where the host sees it even after the context is lost."""
        params = [*_words(self._shared.address(MARK)), struct.pack("<I", number)]
        self._launch("mark", (1, 1, 1), params, threads=1)

    @property
    def marked(self) -> int:
        """The last number marked."""
        return int(self._shared.words[MARK])

    def _launch(
        self, name: str, grid: tuple[int, int, int], params: list[bytes], threads: int = THREADS
    ) -> None:
        if grid[0] and grid[1]:
            made = PreparedLaunch(self._functions[name], grid, (threads, 1, 1), 0, params)
            made.enqueue(self._stream)


def _words(*numbers: int) -> list[bytes]:
    return [struct.pack("<Q", number) for number in numbers]
