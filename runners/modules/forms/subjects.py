"""A module made from its source, on its device, with the facts on it. In the child."""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...errors import SpecError
from ..common.messages import ModuleJob, SubjectFacts
from ..common.torch_library import dtype_name, mapped, tensors_in, torch
from . import FORMS
from .base import namespace_of


@dataclass(frozen=True)
class Loaded:
    """A module on its device, and what it is called with there."""

    model: Any
    inputs: tuple[Any, ...]
    device: str
    form: str
    path: Path
    """of the user's file"""

    def call(self) -> Any:
        """One eager call, without gradients."""
        with torch().no_grad():
            return self.model(*self.inputs)


def load_subject(job: ModuleJob) -> Loaded:
    """Make the module and its inputs, and move them to the device, in evaluation mode
    unless it is to be in training mode.

    Raises SpecError for a source that does not say enough, and whatever the user's code raises.
    """
    path = Path(job.source.path)
    names = namespace_of(path)
    form = next((f for f in FORMS if f.recognises(job.source, names)), None)
    if form is None:
        raise SpecError(
            f"{path.name} is neither Python nor a config", valid="a .py file, or a config.json"
        )
    made = form.make(job.source, names, job.seed, job.device)
    if not tensors_in(made.inputs):
        raise SpecError(
            "no input of the module is a tensor", next_step="give one as inputs (--input)"
        )
    model = made.model.to(job.device).train(job.training)
    return Loaded(model, moved(made.inputs, job.device), job.device, form.name, path)


def moved(values: Any, device: str) -> Any:
    """Tensors of a nest on a device; the rest as it is."""
    return mapped(values, lambda tensor: tensor.to(device))


def in_float64(loaded: Loaded) -> Loaded:
    """A copy in float64, floating-point inputs too: what outputs are compared with."""
    model, double = copy.deepcopy(loaded.model).double(), torch().float64
    return Loaded(model, cast(loaded.inputs, double), loaded.device, loaded.form, loaded.path)


def cast(values: Any, dtype: Any) -> Any:
    """Floating-point tensors of a nest in another type; the rest as it is."""
    return mapped(values, lambda t: t.to(dtype) if t.is_floating_point() else t)


def facts_of(loaded: Loaded) -> SubjectFacts:
    """What is told of it before anything is run."""
    module = torch()
    parameters = list(loaded.model.parameters())
    kinds = Counter[str]()
    for each in parameters:
        kinds[dtype_name(each.dtype)] += each.numel()
    on_gpu = loaded.device == "cuda"
    first = next(t for t in tensors_in(loaded.inputs))
    return SubjectFacts(
        form=loaded.form,
        class_name=type(loaded.model).__name__,
        device=module.cuda.get_device_name(0) if on_gpu else "cpu",
        torch=module.__version__,
        threads=module.get_num_threads(),
        parameters=sum(p.numel() for p in parameters),
        parameter_bytes=sum(p.numel() * p.element_size() for p in parameters),
        inputs=tuple(described(t) for t in tensors_in(loaded.inputs)),
        dtype=kinds.most_common(1)[0][0] if kinds else dtype_name(first.dtype),
    )


def described(tensor: Any) -> str:
    """`float32[4,512]`."""
    return f"{dtype_name(tensor.dtype)}[{','.join(map(str, tensor.shape))}]"
