"""Every ATen operator of one call: what it reads and writes, its FLOPs, and who asked for it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..common.torch_library import dtype_name, load, tensors_in, torch
from .storages import Place, Storages
from .tree import ModuleTree

WAITING = frozenset(
    "aten._local_scalar_dense aten.nonzero aten.masked_select aten.is_nonzero aten.equal "
    "aten._unique2 aten.unique_dim aten.unique_consecutive".split()
)
"""operators whose result has a size or value that the host must know: it waits for the device"""
COPIES = frozenset({"aten.clone", "aten.copy_", "aten._to_copy", "aten.contiguous"})
DEEPEST = 60
"""frames that are looked at for a line of the user's"""


@dataclass(frozen=True)
class Recipe:
    """An operator call that can be made again: tensors by shape, strides and type."""

    func: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass(frozen=True)
class TensorSpec:
    """A tensor of a recipe."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: Any


@dataclass
class Seen:
    """One operator call; times are added later."""

    op: str
    module: str
    line: str
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]
    flops: int
    dtype: str
    from_dtype: str
    shapes: str
    waits: bool
    uploads: bool
    strided: bool
    key: str
    view: bool
    us: list[float] = field(default_factory=list[float])
    kernels: tuple[str, ...] = ()


class Operators:
    """Watches one call. `seen` has every operator, views among them, in order."""

    def __init__(self, tree: ModuleTree, storages: Storages, path: Path) -> None:
        self.seen: list[Seen] = []
        self.recipes: dict[str, Recipe] = {}
        self._tree, self._storages, self._file = tree, storages, str(path)
        self._folder = str(path.parent)
        self._registry = load("torch.utils.flop_counter").flop_registry

    def handle(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """One operator: carried out, and noted."""
        before = tensors_in((args, kwargs))
        reads = tuple(dict.fromkeys(self._storages.place(t) for t in before))
        out = func(*args, **kwargs)
        after = tensors_in(out)
        writes = tuple(dict.fromkeys(self._storages.place(t) for t in after))
        self._tree.look()
        name = str(func.overloadpacket)
        view = _is_view(func, reads, writes)
        flops = self._flops(func, args, kwargs, out)
        key = _key(name, args, kwargs)
        if flops and key not in self.recipes:
            self.recipes[key] = Recipe(func, _specs(args), _specs(kwargs))
        dtypes = [dtype_name(t.dtype) for t in (*after[:1], *before[:1])]
        given, made = dtypes[-1] if before else "", dtypes[0] if after else ""
        self.seen.append(
            Seen(
                op=name,
                module=self._tree.innermost,
                line=self._line(),
                reads=() if view else reads,
                writes=() if view else writes,
                flops=flops,
                dtype=made,
                from_dtype=given,
                shapes=", ".join("x".join(map(str, t.shape)) or "1" for t in before),
                waits=name in WAITING or _to_host(before, after) or _by_mask(name, args),
                uploads=_from_host(before, after),
                strided=name in COPIES and given == made and len(before) > 0,
                key=key,
                view=view,
            )
        )
        return out

    def _flops(self, func: Any, args: Any, kwargs: dict[str, Any], out: Any) -> int:
        count = self._registry.get(func.overloadpacket)
        if count is None:
            return 0
        try:
            return int(count(*args, **kwargs, out_val=out))
        except Exception:  # a formula of torch's that does not take these arguments
            return 0

    def _line(self) -> str:
        """The innermost line of the user's file, else of a file in its folder."""
        frame, nearest = sys._getframe(2), ""  # pyright: ignore[reportPrivateUsage]
        for _ in range(DEEPEST):
            name = frame.f_code.co_filename
            if name == self._file:
                return f"{Path(name).name}:{frame.f_lineno}"
            if not nearest and name.startswith(self._folder) and "site-packages" not in name:
                nearest = f"{Path(name).name}:{frame.f_lineno}"
            if frame.f_back is None:
                break
            frame = frame.f_back
        return nearest


def dispatching(handle: Callable[[Any, Any, dict[str, Any]], Any]) -> AbstractContextManager[Any]:
    """A dispatch mode that gives every operator to `handle`."""

    def handler(
        _: Any, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return handle(func, args, dict(kwargs or {}))

    base = load("torch.utils._python_dispatch").TorchDispatchMode
    return type("Watched", (base,), {"__torch_dispatch__": handler})()


def _is_view(func: Any, reads: tuple[Place, ...], writes: tuple[Place, ...]) -> bool:
    """Whether it makes another look at what is there, and moves nothing."""
    if func.is_view or str(func.overloadpacket) == "aten._unsafe_view":
        return True
    if func.namespace != "aten":
        return False
    same = bool(writes) and {w[0] for w in writes} <= {r[0] for r in reads}
    return same and not func._schema.is_mutable


def _to_host(before: list[Any], after: list[Any]) -> bool:
    on_device = any(t.device.type == "cuda" for t in before)
    return on_device and any(t.device.type == "cpu" for t in after)


def _from_host(before: list[Any], after: list[Any]) -> bool:
    """A number of the host (a tensor without dimensions) travels with the launch."""
    on_host = any(t.device.type == "cpu" and t.dim() > 0 for t in before)
    return on_host and any(t.device.type == "cuda" for t in after)


def _by_mask(name: str, args: Any) -> bool:
    """Indexing by a mask has to count the mask first."""
    if name not in ("aten.index", "aten.index_put", "aten.index_put_"):
        return False
    return any(t.dtype == torch().bool for t in tensors_in(args[1]))


def _specs(value: Any) -> Any:
    """Arguments with a `TensorSpec` in place of every tensor."""
    tensor = torch().Tensor

    def one(leaf: Any) -> Any:
        if isinstance(leaf, tensor):
            return TensorSpec(tuple(leaf.shape), tuple(leaf.stride()), leaf.dtype)
        return leaf

    return load("torch.utils._pytree").tree_map(one, value)


def _key(name: str, args: Any, kwargs: dict[str, Any]) -> str:
    """The operator, the shapes, strides and types of its tensors, and its other arguments."""
    parts = [name]
    for leaf in load("torch.utils._pytree").tree_leaves((args, kwargs)):
        if isinstance(leaf, torch().Tensor):
            parts.append(f"{dtype_name(leaf.dtype)}{list(leaf.shape)}{list(leaf.stride())}")
        else:
            parts.append(str(leaf))
    return " ".join(parts)
