"""Which module is being called: hooks on all of them, and what each call does to memory."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ..common.messages import ModuleRow


@dataclass
class _Seen:
    class_name: str
    parameter_bytes: int
    calls: int = 0
    peak: int = 0
    kept: int = 0


class ModuleTree:
    """The stack of modules under way, and rows of all that were called."""

    def __init__(self, model: Any, live: Callable[[], int] = lambda: 0) -> None:
        self._model, self._live = model, live
        self._stack: list[tuple[str, int]] = []
        self._seen: dict[str, _Seen] = {}

    @property
    def innermost(self) -> str:
        """The path of the module under way; empty for the whole."""
        return self._stack[-1][0] if self._stack else ""

    def look(self) -> None:
        """Note the bytes that live now with every module under way."""
        live = self._live()
        for path, _ in self._stack:
            seen = self._seen[path]
            seen.peak = max(seen.peak, live)

    def rows(self) -> tuple[ModuleRow, ...]:
        """The modules that were called, in the order of their first call."""
        return tuple(
            ModuleRow(
                path=path,
                class_name=seen.class_name,
                calls=seen.calls,
                parameter_bytes=seen.parameter_bytes,
                peak_bytes=max(0, seen.peak),
                kept_bytes=seen.kept,
            )
            for path, seen in self._seen.items()
        )

    @contextmanager
    def hooked(self) -> Generator[None]:
        """Watch every module while the body runs. A module that is shared bears its first path."""
        handles = list[Any]()
        for path, module in self._model.named_modules():
            handles.append(module.register_forward_pre_hook(self._entering(path)))
            handles.append(module.register_forward_hook(self._leaving, always_call=True))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _entering(self, path: str) -> Callable[..., None]:
        def enter(module: Any, _: Any) -> None:
            if path not in self._seen:
                own = sum(p.numel() * p.element_size() for p in module.parameters())
                self._seen[path] = _Seen(type(module).__name__, own)
            self._seen[path].calls += 1
            self._stack.append((path, self._live()))
            self.look()

        return enter

    def _leaving(self, *_: Any) -> None:
        path, before = self._stack.pop()
        self._seen[path].kept = self._live() - before
