"""What a contract says of a kernel's indices: what divides them, that a bound is not negative."""

from __future__ import annotations

import re

from .....runners.specs.spec import KernelSpec
from ...shared.affine import Form
from ...shared.affine_cpp import form_of
from ...shared.sizes import divisor_of, divisor_of_form
from .per_element import PerElement
from .reading import CudaKernel


def is_multiple(form: Form | None, by: int, kernel: CudaKernel, spec: KernelSpec) -> bool:
    """Whether an index or size is a multiple of `by` for every legal size."""

    def divisor(name: str) -> int:
        return divisor_of(kernel.scalars[name], spec) if name in kernel.scalars else 1

    return form is not None and divisor_of_form(form, divisor) % by == 0


def count_of(element: PerElement) -> Form | None:
    """The number of elements over the kernel's parameters, where it is surely not negative: sums
    of products of what the contract counts. None: it is something else."""
    bound = form_of(element.bound, lambda name: _size(name, element))
    if bound is None or any(factor < 0 for _, factor in bound.terms):
        return None
    values = (str(element.kernel.scalars[name]) for name in bound.names)
    return bound if all(re.fullmatch(r"[\w\s*+()]+", value) for value in values) else None


def _size(name: str, element: PerElement) -> Form | None:
    if name in element.known.values:
        return form_of(element.known.values[name], lambda n: _size(n, element))
    return Form.name(name) if name in element.kernel.scalars else None
