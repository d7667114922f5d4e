"""The two watches over torch: calls from Python, and every operator that really runs.

A call is answered as a GPU's tensor would answer (`device`, `data_ptr`), or carried out on the
meta device. An operator on device data is allowed when it is a view, an allocation or a fill;
any other one would be a kernel that the plan does not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from .device_tensors import DeviceTensors, on_device
from .libraries import load, torch
from .recorder import Recorder

READS = frozenset(
    "item tolist numpy cpu __bool__ __int__ __float__ __index__ __array__ __complex__ nonzero "
    "argwhere masked_select allclose equal is_nonzero unique _local_scalar_dense".split()
)
ALLOCATION = re.compile(r"(new_)?(empty|zeros|ones|full)(_like|_strided|_permuted)?")
FILLS = ("zero_", "fill_")


@contextmanager
def watching(tensors: DeviceTensors) -> Generator[None]:
    """Both watches, while the source is imported and called."""
    with ExitStack() as stack:
        operators, calls = Operators(tensors), Calls(tensors)
        stack.enter_context(_mode("torch.utils._python_dispatch", "Dispatch", operators.handle))
        stack.enter_context(_mode("torch.overrides", "Function", calls.handle))
        yield


def _mode(module: str, kind: str, handle: Callable[..., Any]) -> AbstractContextManager[Any]:
    def handler(
        _: Any, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        return handle(func, args, dict(kwargs or {}))

    base = getattr(load(module), f"Torch{kind}Mode")
    return type(f"Watched{kind}s", (base,), {f"__torch_{kind.lower()}__": handler})()


class Calls:
    """Calls of torch functions and tensor methods, before torch looks at devices."""

    def __init__(self, tensors: DeviceTensors) -> None:
        module = torch()
        self._tensors, self._recorder = tensors, tensors.recorder
        self._meta, device = module.device("meta"), module.device("cuda", 0)
        self._answers: dict[Any, Callable[[Any], Any]] = {
            module.Tensor.device.__get__: lambda tensor: device,
            module.Tensor.is_cuda.__get__: lambda tensor: True,
            module.Tensor.get_device: lambda tensor: 0,
            module.Tensor.data_ptr: tensors.address,
        }

    def handle(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """One call."""
        module, name = torch(), getattr(func, "__name__", "")
        if func is module.device:  # a name alone; what is made with it comes by here as well
            return func(*args, **kwargs)
        touched = on_device((args, kwargs))
        if touched:
            if func in self._answers:
                return self._answers[func](args[0])
            if name in READS:
                self._recorder.refuse(
                    f"host program: the wrapper reads device data (Tensor.{name})"
                )
        args, kwargs = moved((args, kwargs), self._recorder, "meta")
        if func in (module.Tensor.cuda, module.Tensor.to):
            args = (args[0], *map(self._device_by_number, args[1:]))
        if func == module.Tensor.cuda:
            return args[0].to(self._meta)
        if touched and func == module.Tensor.__setitem__ and isinstance(args[2], int | float):
            return args[0][args[1]].fill_(args[2])
        if touched and func == module.Tensor.new_tensor:
            kwargs = {"dtype": args[0].dtype, "device": self._meta} | kwargs
            return self._made_of_data(module.tensor, args[1:], kwargs)
        if name in ("tensor", "as_tensor", "asarray"):
            return self._made_of_data(func, args, kwargs)
        return func(*args, **kwargs)

    def _device_by_number(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, int):
            return value
        if value != 0:
            self._recorder.refuse(f"host program: second device cuda:{value}")
        return self._meta

    def _made_of_data(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """On the host first: its data are known there, and a copy makes them a constant."""
        device = kwargs.pop("device", None)
        made = func(*args, **kwargs)
        return made.to(self._meta) if device == self._meta else made


class Operators:
    """Operators, wherever they were called from."""

    def __init__(self, tensors: DeviceTensors) -> None:
        self._tensors, self._recorder = tensors, tensors.recorder

    def handle(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """One operator."""
        args, kwargs = moved((args, kwargs), self._recorder, "meta")
        name = str(func._schema.name).split("::")[1]
        allocates = ALLOCATION.fullmatch(name)
        if on_device((args, kwargs)):
            to_host = name == "_to_copy" and str(kwargs.get("device", "meta")) == "cpu"
            if name in READS or to_host:
                self._recorder.refuse(f"host program: the wrapper reads device data ({name})")
            if not (func.is_view or allocates or name in FILLS):
                self._recorder.refuse(
                    f"host program: torch operator {name} runs on the device; write it as a kernel"
                )
        result = func(*args, **kwargs)
        if on_device(result) and not func.is_view:
            self._made(name, allocates, result, args, kwargs)
        return result

    def _made(
        self, name: str, allocates: re.Match[str] | None, result: Any, args: Any, kwargs: Any
    ) -> None:
        if allocates:
            self._tensors.scratch(result)
            if allocates[2] != "empty":
                given = kwargs.get("fill_value", args[-1])
                self._tensors.fill(result, {"zeros": 0, "ones": 1}.get(allocates[2], given))
        elif name in FILLS:
            self._tensors.fill(result, args[1] if len(args) > 1 else 0)
        elif name == "_to_copy":
            self._tensors.upload(result, args[0])
        else:
            self._recorder.refuse(
                f"host program: torch operator {name} makes a device tensor; write it as a kernel"
            )


def moved(
    value: tuple[Any, dict[str, Any]], recorder: Recorder, place: str
) -> tuple[Any, dict[str, Any]]:
    """Arguments with `cuda` and `cuda:0` replaced by another device; a second GPU is refused."""
    module = torch()

    def one(leaf: Any) -> Any:
        if not isinstance(leaf, (str, module.device)) or str(leaf).split(":")[0] != "cuda":
            return leaf
        if str(leaf) not in ("cuda", "cuda:0"):
            recorder.refuse(f"host program: second device {leaf}")
        return module.device(place)

    args, kwargs = load("torch.utils._pytree").tree_map(one, value)
    if isinstance(kwargs.get("device"), int):
        kwargs["device"] = one(f"cuda:{kwargs['device']}")
    return args, kwargs
