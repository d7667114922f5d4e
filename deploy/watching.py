"""The operators of PyTorch that a process calls: how often, how long, and their first tensors.

A dispatch mode sees every operator below autograd, those of backward among them, as the kernel in
its place would. Under such a mode nothing is compiled: programs are watched as they run eagerly.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .calls import TENSOR, key_and_tensors
from .reading import Key

ROWS, KEPT = "operators.jsonl", "kept"
FOLDER, KEEP = "KERNELWRIGHT_WATCH", "KERNELWRIGHT_WATCH_KEEP_BYTES"
"""where to write, and how many bytes of tensors a process may keep there"""
FIRST_WRITE = 1024
"""calls after which rows are written, and again at each doubling: a process may end by `_exit`"""
FIRST_OF_A_FORK = 32
"""the same for a process that was forked, as workers are: most of them end so"""


@dataclass(slots=True)
class Seen:
    """Calls that are alike."""

    operator: str
    key: Key
    made: tuple[Any, ...]
    why_not: str
    count: int = 0
    ns: int = 0
    host_ns: int = 0
    """until it returned; on a GPU its work goes on then"""
    kept: str = ""


class Watch:
    """Counts calls by operator and key. `keep_bytes`: of tensors that first calls may keep."""

    def __init__(self, folder: Path, keep_bytes: int = 0) -> None:
        self._torch = importlib.import_module("torch")
        self._folder, self._left = folder, keep_bytes
        self._seen = dict[tuple[str, Key], Seen]()
        self._calls, self._next, self._forked = 0, FIRST_WRITE, False

    def mode(self) -> Any:
        """The dispatch mode that watches, not yet entered."""
        base = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
        handle = self.handle

        def handler(
            _: Any, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            return handle(func, args, kwargs or {})

        return type("Watched", (base,), {"__torch_dispatch__": handler})()

    def handle(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """One call: carried out, and counted. On a GPU it is waited for."""
        key, tensors = key_and_tensors(args, kwargs, self._torch.Tensor)
        name = _name(func)
        seen = self._seen.get((name, key))
        keeps = seen is None and self._left > 0 and not _why_not(func, tensors)
        before = [t.detach().clone() for t in tensors] if keeps else []
        on_gpu = any(t.is_cuda for t in tensors)
        if on_gpu:
            self._torch.cuda.synchronize()
        start = time.perf_counter_ns()
        out = func(*args, **kwargs)
        on_host = time.perf_counter_ns() - start
        if on_gpu:
            self._torch.cuda.synchronize()
        took = time.perf_counter_ns() - start
        if seen is None:
            seen = self._first(func, name, key, tensors, out)
            if before and not seen.why_not:
                self._keep(seen, before, out)
        else:
            seen.ns += took  # the first call has one-time work in it
            seen.host_ns += on_host
        seen.count += 1
        self._calls += 1
        if self._calls >= self._next:
            self._write_again()
        return out

    def _write_again(self) -> None:
        self._next *= 2
        self.write()
        util: Any = sys.modules.get("multiprocessing.util")
        if self._forked and util is not None:  # its processes run these before their `_exit`
            util.Finalize(None, self.write, exitpriority=0)
            self._forked = False

    def _first(self, func: Any, name: str, key: Key, tensors: list[Any], out: Any) -> Seen:
        made = key_and_tensors((out,), {}, self._torch.Tensor)[0]
        found = Seen(name, key, made, _why_not(func, tensors) or _why_not_made(made))
        self._seen[name, key] = found
        return found

    def _keep(self, seen: Seen, before: list[Any], out: Any) -> None:
        results = key_and_tensors((out,), {}, self._torch.Tensor)[1]
        nbytes = sum(t.numel() * t.element_size() for t in (*before, *results))
        if nbytes > self._left:
            return
        self._left -= nbytes
        folder = self._own() / KEPT
        folder.mkdir(mode=0o700, exist_ok=True)
        digest = hashlib.sha256(json.dumps([seen.operator, seen.key]).encode()).hexdigest()
        seen.kept = f"{KEPT}/{digest[:16]}.pt"
        content = {"given": [t.cpu() for t in before], "made": [t.detach().cpu() for t in results]}
        self._torch.save(content, self._own() / seen.kept)
        (self._own() / seen.kept).chmod(0o600)

    def write(self) -> None:
        """What was seen until now, whole."""
        lines = [
            json.dumps(
                {
                    "operator": each.operator, "key": each.key, "made": each.made,
                    "why_not": each.why_not, "count": each.count, "ns": each.ns,
                    "host_ns": each.host_ns, "kept": each.kept,
                }
            )
            for each in self._seen.values()
        ]  # fmt: skip
        if lines:
            new = self._own() / f"{ROWS}.new"
            new.write_text("\n".join(lines) + "\n", encoding="utf-8")
            new.replace(self._own() / ROWS)

    def forget(self) -> None:
        """Nothing was seen: a process that was forked begins anew."""
        self._seen.clear()
        self._calls, self._next, self._forked = 0, FIRST_OF_A_FORK, True

    def _own(self) -> Path:
        folder = self._folder / str(os.getpid())
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder


def watch_process() -> None:
    """Watch this process until its end, as the environment says."""
    watch = Watch(Path(os.environ[FOLDER]), int(os.environ.get(KEEP, "0")))
    atexit.register(watch.write)
    os.register_at_fork(after_in_child=watch.forget)
    mode = watch.mode()
    mode.__enter__()
    _kept_alive.append(mode)


_kept_alive = list[Any]()


def _name(func: Any) -> str:
    schema = func._schema
    return f"{schema.name}.{schema.overload_name}" if schema.overload_name else str(schema.name)


def _why_not(func: Any, tensors: list[Any]) -> str:
    """Why nothing may take an operator's place; empty: something may."""
    schema = func._schema
    if not tensors:
        return "it is given no tensor"
    if schema.is_mutable:
        return "it writes into what it is given"
    if any(each.alias_info is not None for each in schema.returns):
        return "it returns a view of what it is given"
    if not any(str(each.type) == "Tensor" for each in schema.returns):
        return "it returns no tensor"
    if "nondeterministic_seeded" in {str(tag).rpartition(".")[2] for tag in func.tags}:
        return "it draws random numbers"
    return ""


def _why_not_made(made: tuple[Any, ...]) -> str:
    """The same, by what it returned: tensors alone, or several side by side."""
    ((result,), _) = made
    parts = [result] if result[:1] == (TENSOR,) else list(result)
    whole = all(isinstance(each, tuple) and each[:1] == (TENSOR,) for each in parts)
    return "" if whole else "it returns something that is no tensor, such as a result not asked for"
