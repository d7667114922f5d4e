"""Host tensors that say they are on a GPU, for wrappers that write `device="cuda"`.

Torch's operators run on the host as they are: what a wrapper computes with them is right or
wrong here as well. Whether a launch plan can hold them is not asked here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from ..capture.libraries import load, torch
from ..capture.recorder import Recorder
from ..capture.torch_modes import moved
from .accesses import Buffers


@contextmanager
def pretending(recorder: Recorder, buffers: Buffers) -> Generator[None]:
    """While active, `cuda` means the host, and every tensor that is made is a known buffer."""
    module = torch()
    tensor, cuda = module.Tensor, module.device("cuda", 0)
    answers: dict[Any, Callable[[Any], Any]] = {
        tensor.device.__get__: lambda _: cuda,
        tensor.is_cuda.__get__: lambda _: True,
        tensor.is_cpu.__get__: lambda _: False,
        tensor.get_device: lambda _: 0,
        tensor.cuda: lambda this: this,
        tensor.pin_memory: lambda this: this,
    }

    def handler(
        _: Any, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func in answers:
            return answers[func](args[0])
        if func is module.device:  # a name alone; what is made with it comes by here as well
            return func(*args, **dict(kwargs or {}))
        args, named = on_host((args, dict(kwargs or {})), recorder)
        result = func(*args, **named)
        if isinstance(result, tensor):
            buffers.add_tensor(result)
        return result

    _default_devices_on_host(recorder)
    base: Any = load("torch.overrides").TorchFunctionMode
    with type("Pretending", (base,), {"__torch_function__": handler})():
        yield


def _default_devices_on_host(recorder: Recorder) -> None:
    """`set_default_device` and `with torch.device`: torch asks them after every other mode."""
    context: Any = load("torch.utils._device").DeviceContext
    plain: Callable[..., None] = context.__init__

    def init(this: Any, device: Any) -> None:
        plain(this, on_host(((device,), {}), recorder)[0][0])

    context.__init__ = init


def on_host(value: tuple[Any, dict[str, Any]], recorder: Recorder) -> tuple[Any, dict[str, Any]]:
    """Arguments with `cuda` and `cuda:0` replaced by the host, nothing pinned."""
    args, kwargs = moved(value, recorder, "cpu")
    kwargs.pop("pin_memory", None)
    return args, kwargs
