"""What a program got from an operator, beside its reference on the same inputs. In the child."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import SpecError
from .common.messages import Recalled
from .common.torch_library import tensors_in, torch
from .forms.base import namespace_of
from .forms.subjects import Loaded, moved

REFERENCE = "reference.py"


def recalled(loaded: Loaded) -> Recalled:
    """Compare. The module's file has `get_outputs`; its reference lies beside it, as
    `reference.py`. Raises SpecError where shapes differ."""
    got = tensors_in(namespace_of(loaded.path)["get_outputs"]())
    reference: Any = namespace_of(loaded.path.with_name(REFERENCE))["reference"]
    code = reference.__code__
    given = dict(zip((f"x{n}" for n in range(len(loaded.inputs))), loaded.inputs, strict=True))
    double = {name: _double(given[name]) for name in code.co_varnames[: code.co_argcount]}
    truth = tensors_in(reference(**double))
    here = tensors_in(loaded.call())
    return Recalled(
        reference=_worst(truth, moved(got, loaded.device)),
        eager=_worst(here, moved(got, loaded.device)),
    )


def _double(tensor: Any) -> Any:
    return tensor.double() if tensor.is_floating_point() else tensor


def _worst(one: Sequence[Any], other: Sequence[Any]) -> float:
    if [t.shape for t in one] != [t.shape for t in other]:
        raise SpecError(
            f"the program got {[list(t.shape) for t in other]}, computed is "
            f"{[list(t.shape) for t in one]}"
        )
    worst = 0.0
    for made, got in zip(one, other, strict=True):
        made, got = made.double(), got.double()
        equal = (made == got) | (made.isnan() & got.isnan())
        scale = got[got.isfinite()].square().mean().sqrt() if got.isfinite().any() else 1.0
        away = torch().where(equal, 0.0, (made - got).abs() / max(float(scale), 1e-30))
        worst = max(worst, float(away.nan_to_num(float("inf")).max()) if away.numel() else 0.0)
    return worst
