"""Builds of what will probably be asked for next, on cores that have nothing else to do.

A guess that was wrong costs processor time and nothing else: nothing of it is written down.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from ...runners.errors import KernelwrightError
from ...runners.model import Variant
from ...runners.toolchains import BuildOutcome

MOST_KEPT = 256
"""outcomes that nobody has asked for yet; those made last"""


def builders() -> int:
    """How many builds run side by side: one core is left to whoever launches on a GPU."""
    return max(1, len(os.sched_getaffinity(0)) - 1)


class BuildAhead:
    """Builds what it was last wished for, in that order, in threads that end when all is built.

    Whoever wants an outcome that is under way asks the builder for the same build and gets it.
    """

    def __init__(self, build: Callable[[Variant], BuildOutcome], workers: int) -> None:
        self._build, self._workers = build, workers
        self._lock = threading.Lock()
        self._wishes: dict[str, Variant] = {}
        self._made: OrderedDict[str, BuildOutcome] = OrderedDict()
        self._under_way: set[str] = set()

    def wish(self, variants: Sequence[Variant]) -> None:
        """Build these; earlier wishes that nobody has begun with are dropped."""
        with self._lock:
            done = self._made.keys() | self._under_way
            self._wishes = {v.variant_id: v for v in variants if v.variant_id not in done}
            free = self._workers - len(self._under_way)
            first = [self._begin() for _ in range(min(free, len(self._wishes)))]
        for variant in first:
            threading.Thread(
                target=self._work, args=(variant,), name="build ahead", daemon=True
            ).start()

    def take(self, variant_id: str) -> BuildOutcome | None:
        """An outcome, once; None: it is not built, and no longer waits to be."""
        with self._lock:
            self._wishes.pop(variant_id, None)
            return self._made.pop(variant_id, None)

    def close(self) -> None:
        """Wish for nothing any more."""
        with self._lock:
            self._wishes.clear()

    def _begin(self) -> Variant:
        variant_id = next(iter(self._wishes))
        self._under_way.add(variant_id)
        return self._wishes.pop(variant_id)

    def _work(self, variant: Variant | None) -> None:
        while variant is not None:
            outcome = None
            try:
                outcome = self._build(variant)
            except KernelwrightError:
                pass  # whoever asks for this build in earnest is told
            finally:
                variant = self._ended(variant, outcome)

    def _ended(self, variant: Variant, outcome: BuildOutcome | None) -> Variant | None:
        """Keep what was built; the next wish."""
        with self._lock:
            self._under_way.discard(variant.variant_id)
            if outcome is not None:
                self._made[variant.variant_id] = outcome
                while len(self._made) > MOST_KEPT:
                    self._made.popitem(last=False)
            return self._begin() if self._wishes else None
