"""Our own kernels on the device (support.cu), as functions."""

from __future__ import annotations

import re
import secrets
import struct
import time
from pathlib import Path

from .cuda_driver import driver, modules
from .cuda_driver.code import LOCAL_BYTES
from .cuda_driver.driver import HostWords, Stream
from .cuda_driver.launches import Configuration, PreparedLaunch
from .cuda_driver.modules import Function
from .tables import PLAUSIBLE

PTX = Path(__file__).with_name("support.ptx")
KERNELS = (
    *("move", "read_all", "hold", "mark", "scrub", "scrub_local"),
    *("guards", "digest", "gather", "gaps"),
)
THREADS = 256
QUIET_NS = 100_000
"""Between what prepares a sample and the sample: less, and short kernels scatter more."""
HOLD_NS = 2_000_000_000
"""A held stream goes on by itself after this long; the sample is then marked as disturbed."""
HOST_WORDS = 1024
"""a page, so that what else the driver keeps in it is nobody's to write"""
GO, EXPIRED, MARK = range(3)
"""Words that host and device share: let go, held too long, last step done; all others stay 0."""
FLUSH_BYTES = 2 << 20
"""what the flush memory is a multiple of: whole pages of the device, none of which is left out"""
_FRAME = re.compile(rf"(__local_depot\d+\[){LOCAL_BYTES}(?=\])")
SCRUB_PATTERN = secrets.choice(PLAUSIBLE) * 0x01010101
FLUSH_PATTERN = secrets.choice(PLAUSIBLE) * 0x01010101
"""of shared memory, registers and caches after what ran before"""
PREPARED = 256
"""launches kept ready"""


class Support:
    """The kernels on one stream. Tables are device addresses, with their number of rows. `keys`:
    two of digests, and that of guard bands; nobody else knows them."""

    def __init__(self, stream: Stream, keys: tuple[int, int, int]) -> None:
        self._stream, self._keys, self._guard_key = stream, keys[:2], keys[2]
        module = modules.load_module(PTX.read_bytes() + b"\0")
        self._functions = {name: modules.get_function(module, name) for name in KERNELS}
        self._prepared: dict[tuple[object, ...], PreparedLaunch] = {}
        self._shared = HostWords(HOST_WORDS)
        self._token = self._held_since = self._marked = 0
        self._multiprocessors = driver.device_attribute("MULTIPROCESSOR_COUNT")
        cache = driver.device_attribute("L2_CACHE_SIZE")
        self._flushed = -(-(2 * cache + 4) // FLUSH_BYTES) * FLUSH_BYTES
        self._flush_memory = driver.allocate(self._flushed)
        threads = driver.device_attribute("MAX_THREADS_PER_MULTIPROCESSOR")
        self._resident = self._multiprocessors * threads // THREADS
        self._local: dict[int, Function] = {LOCAL_BYTES: self._functions["scrub_local"]}
        self._block_shared = driver.device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        scrub = self._functions["scrub"]
        modules.prefer_shared(scrub)
        modules.set_function_attribute(scrub, modules.MAX_DYNAMIC_SHARED, self._block_shared)

    def move(self, table: int, rows: int) -> None:
        """Copies and fills."""
        self._launch("move", (rows, 1, 1), _words(table, self._guard_key))

    def guards(self, table: int, rows: int, found: int) -> None:
        """Where memory is not as it was filled, into `found` (two words a row's result)."""
        self._launch("guards", (rows, 1, 1), _words(table, self._guard_key, found))

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
        fill = driver.Memset(self._flush_memory, 4, FLUSH_PATTERN, self._flushed // 4, 4)
        fill.enqueue(self._stream)
        params = _words(self._flush_memory, self._flushed // 16, self._shared.address(EXPIRED))
        self._launch("read_all", (8 * self._multiprocessors, 1, 1), params)

    def scrub(self) -> None:
        """Nothing that an earlier launch left is in shared memory or registers afterwards. Every
        block takes a multiprocessor for itself, so that each gets one."""
        params = [struct.pack("<I", self._block_shared // 4), struct.pack("<I", SCRUB_PATTERN)]
        grid = (2 * self._multiprocessors, 1, 1)
        self._launch("scrub", grid, params, shared=self._block_shared)

    def scrub_local(self, nbytes: int) -> None:
        """Nothing that an earlier launch left is in the local memory of any thread, as far as code
        reaches that has so much of it: all threads that the device can hold run at once."""
        size = -(-nbytes // LOCAL_BYTES) * LOCAL_BYTES
        if size not in self._local:
            image = _FRAME.sub(rf"\g<1>{size}", PTX.read_text(encoding="ascii"))
            module = modules.load_module(image.encode() + b"\0")
            self._local[size] = modules.get_function(module, "scrub_local")
        params = [struct.pack("<I", size // 4), struct.pack("<I", SCRUB_PATTERN)]
        grid = (self._resident, 1, 1)
        configured = Configuration(self._local[size], grid, (THREADS, 1, 1), 0)
        PreparedLaunch(configured, params).enqueue(self._stream)

    def hold(self) -> None:
        """Keep the stream until `release`."""
        self._token = _another(self._token)
        params = [
            *_words(self._shared.address(GO)),
            struct.pack("<I", self._token),
            *_words(QUIET_NS, HOLD_NS, self._shared.address(EXPIRED)),
        ]
        self._held_since = time.monotonic_ns()
        self._launch("hold", (1, 1, 1), params, threads=1, keep=False)

    def release(self) -> bool:
        """Let the stream go on; whether it may have gone on by itself before."""
        self._shared.words[GO] = self._token
        return time.monotonic_ns() - self._held_since > HOLD_NS // 2

    def mark(self, number: int) -> None:
        """Write a number where the host sees it even after the context is lost."""
        self._marked = number
        params = [*_words(self._shared.address(MARK)), struct.pack("<I", number)]
        self._launch("mark", (1, 1, 1), params, threads=1)

    @property
    def marked(self) -> int:
        """The last number marked."""
        return int(self._shared.words[MARK])

    def words_are_ours(self) -> bool:
        """Whether the words shared with the device hold what only we have written, once all work
        is done; they do again now."""
        words = self._shared.words
        wanted = {GO: (self._token,), EXPIRED: (0, self._token), MARK: (self._marked,)}
        ours = all(int(words[at]) in valid for at, valid in wanted.items())
        ours = ours and not words[len(wanted) :].any()
        words[:] = 0
        words[GO], words[MARK] = self._token, self._marked
        return ours

    def _launch(
        self,
        name: str,
        grid: tuple[int, int, int],
        params: list[bytes],
        *,
        threads: int = THREADS,
        shared: int = 0,
        keep: bool = True,
    ) -> None:
        if not (grid[0] and grid[1]):
            return
        key = (name, grid, *params)
        made = self._prepared.get(key)
        if made is None:
            configured = Configuration(self._functions[name], grid, (threads, 1, 1), shared)
            made = PreparedLaunch(configured, params)
            if keep:
                if len(self._prepared) >= PREPARED:
                    self._prepared.clear()
                self._prepared[key] = made
        made.enqueue(self._stream)


def _another(token: int) -> int:
    """A number that no one can foresee: not 0, and not the last one."""
    while True:
        drawn = secrets.randbits(32)
        if drawn not in (0, token):
            return drawn


def _words(*numbers: int) -> list[bytes]:
    return [struct.pack("<Q", number) for number in numbers]
