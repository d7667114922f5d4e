"""Loaded by every Python process of a recorded program, before its own code.

Writes beside the recording of the process, a JSON line each:
  triton.jsonl     every kernel of Triton, compiled or taken from its cache: source, signature,
                   constants, hash of the machine code, by which launches find it
  arguments.jsonl  the first calls of each: shapes, strides and types of its tensors
  operators.jsonl  with KERNELWRIGHT_OPERATORS=1 every operator of PyTorch, by the number that kept
                   launches carry (eager programs: under such a mode nothing is compiled)

No launch hooks are used: with one, Inductor launches its kernels in another way than without.
"""

# pyright: basic
from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import sys
import threading

FOLDER = os.environ.get("KERNELWRIGHT_RECORDING", "")
MOST_CALLS, MOST_OPERATORS = 2, 50_000
_lock, _files, _calls = threading.Lock(), {}, {}


def _write(kind, row):
    with _lock:
        if (os.getpid(), kind) not in _files:
            folder = os.path.join(FOLDER, str(os.getpid()))
            os.makedirs(folder, mode=0o700, exist_ok=True)
            name = os.path.join(folder, f"{kind}.jsonl")
            fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            _files[os.getpid(), kind] = os.fdopen(fd, "w", buffering=1)
        _files[os.getpid(), kind].write(json.dumps(row, default=str) + "\n")


def _tensor(value):
    return {
        "address": value.data_ptr(),
        "shape": list(value.shape),
        "strides": list(value.stride()),
        "dtype": str(value.dtype).removeprefix("torch."),
    }


def _told(value):
    if hasattr(value, "data_ptr") and hasattr(value, "stride"):
        return _tensor(value)
    if hasattr(value, "base") and hasattr(value, "block_shape"):
        return {"descriptor": _tensor(value.base), "block": list(value.block_shape)}
    return value if isinstance(value, int | float | bool | str | None) else repr(value)[:200]


def _compiled(src, metadata, metadata_group, cache_hit):
    function = getattr(src, "fn", None)
    named = metadata if isinstance(metadata, dict) else metadata._asdict()
    cubin = next((path for name, path in metadata_group.items() if name.endswith(".cubin")), None)
    image = b""
    if cubin:
        with open(cubin, "rb") as file:
            image = file.read()
    code = getattr(getattr(function, "fn", None), "__code__", None)
    return {
        "name": named.get("name"),
        "cubin_sha256": hashlib.sha256(image).hexdigest(),
        "num_warps": named.get("num_warps"),
        "num_stages": named.get("num_stages"),
        "num_ctas": named.get("num_ctas"),
        "shared": named.get("shared"),
        "signature": {str(k): str(v) for k, v in getattr(src, "signature", {}).items()},
        "constants": {str(k): repr(v) for k, v in getattr(src, "constants", {}).items()},
        "arg_names": list(getattr(function, "arg_names", ())),
        "file": getattr(code, "co_filename", None),
        "line": getattr(code, "co_firstlineno", None),
        "source": "".join(getattr(function, "raw_src", ())),
        "cache_hit": cache_hit,
    }


def _on_knobs(module):
    before = module.compilation.listener

    def listener(*, src, metadata, metadata_group, times, cache_hit):
        if before is not None:
            given = {"src": src, "metadata": metadata, "metadata_group": metadata_group}
            before(**given, times=times, cache_hit=cache_hit)
        try:
            _write("triton", _compiled(src, metadata, metadata_group, cache_hit))
        except (
            Exception
        ) as error:  # a recording that lacks a source is better than a broken program
            _write("python_errors", {"listener": repr(error)})

    module.compilation.listener = listener


def _on_jit(module):
    run = module.JITFunction.run

    def wrapped(self, *args, grid, warmup, **kwargs):
        kernel = run(self, *args, grid=grid, warmup=warmup, **kwargs)
        count = _calls[self._fn_name] = _calls.get(self._fn_name, 0) + 1
        if count <= MOST_CALLS and not warmup:
            given = {**dict(zip(self.arg_names, args, strict=False)), **kwargs}
            row = {"how": "triton", "name": self._fn_name, "hash": getattr(kernel, "hash", None)}
            _write("arguments", {**row, "given": {k: _told(v) for k, v in given.items()}})
        return kernel

    module.JITFunction.run = wrapped


def _on_heuristics(module):
    run = module.CachingAutotuner.run

    def wrapped(self, *args, **kwargs):
        out = run(self, *args, **kwargs)
        count = _calls[id(self)] = _calls.get(id(self), 0) + 1
        if count <= MOST_CALLS:
            launcher = self.launchers[0] if len(self.launchers) == 1 else None
            names = list(self.fn.arg_names)
            _write(
                "arguments",
                {
                    "how": "inductor",
                    "name": self.fn.__name__,
                    "file": getattr(self, "filename", None),
                    "hash": getattr(launcher, "cache_hash", None),
                    "config": str(getattr(launcher, "config", None)),
                    "given": {k: _told(v) for k, v in zip(names, args, strict=False)},
                    "written": list(getattr(self, "mutated_arg_names", None) or ()),
                },
            )
        return out

    module.CachingAutotuner.run = wrapped


def _native():
    import ctypes

    for variable in ("CUDA_INJECTION64_PATH", "KERNELWRIGHT_SHIM"):
        if path := os.environ.get(variable):
            return ctypes.CDLL(path).kernelwright_operator
    return None


def _on_torch(module):
    if os.environ.get("KERNELWRIGHT_OPERATORS") != "1":
        return
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    number_next = _native()

    class Operators(TorchDispatchMode):
        seen = 0

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            Operators.seen += 1
            number = Operators.seen
            if number_next:
                number_next(number)
            out = func(*args, **(kwargs or {}))
            if number_next:
                number_next(0)
            if number <= MOST_OPERATORS:
                leaves = tree_leaves((args, kwargs))
                tensors = [_tensor(t) for t in leaves if hasattr(t, "data_ptr") and t.is_cuda]
                made = [t for t in tree_leaves(out) if hasattr(t, "data_ptr") and t.is_cuda]
                if tensors or made:
                    row = {"operator": number, "name": str(func), "given": tensors}
                    _write("operators", {**row, "made": [_tensor(t) for t in made]})
            return out

    module.kernelwright_operators = mode = Operators()  # as long as torch lives
    mode.__enter__()


_HOOKS = {
    "triton.knobs": _on_knobs,
    "triton.runtime.jit": _on_jit,
    "torch._inductor.runtime.triton_heuristics": _on_heuristics,
    "torch": _on_torch,
}


class _Finder(importlib.abc.MetaPathFinder):
    """Lets each module of `_HOOKS` be loaded as it is, and its hook look at it afterwards."""

    def find_spec(self, name, path=None, target=None):
        if name not in _HOOKS:
            return None
        hook, spec = _HOOKS.pop(name), importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            try:
                hook(module)
            except Exception as error:
                _write("python_errors", {"hook": name, "error": repr(error)})

        spec.loader.exec_module = exec_module
        return spec


def _next_sitecustomize():
    """The environment's own, which ours stands in front of."""
    here = os.path.dirname(os.path.abspath(__file__))
    for folder in sys.path:
        file = os.path.join(folder, "sitecustomize.py")
        if os.path.abspath(folder or ".") != here and os.path.exists(file):
            spec = importlib.util.spec_from_file_location("_next_sitecustomize", file)
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module(importlib.util.module_from_spec(spec))
            return


if FOLDER and __name__ == "sitecustomize":
    sys.meta_path.insert(0, _Finder())
    _next_sitecustomize()
