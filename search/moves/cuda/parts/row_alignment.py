"""When the rows of a kernel's arrays begin at whole vectors, as far as the contract leaves it open.

The test is one for all threads of the grid where it can be. What it decides then costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd

from .....runners.specs.spec import KernelSpec
from ...shared.affine import Form, Monomial
from ...shared.affine_cpp import form_of
from .lanes import rest_text
from .per_element import PerElement
from .sizes import is_multiple

DEPTH = 8
"""names behind names that are followed"""


def aligned_when(
    forms: Iterable[Form], lanes: int, element: PerElement, spec: KernelSpec
) -> tuple[str, ...]:
    """Tests in C that, all together, make every form a multiple of `lanes`; none: each is already.

    A form whose every product has a parameter of the kernel, `row * cols`, is tested by that,
    `cols % 4 == 0`, which is uniform over the grid. Others are tested as they are, which at least
    all threads of a row do alike.
    """
    tests = dict[str, None]()
    for form in forms:
        known = _expanded(form, element)
        products = [
            (names, factor)
            for names, factor in known.terms
            if not is_multiple(Form(((names, factor),)), lanes, element.kernel, spec)
        ]
        uniform = [_uniform(monomial, factor, lanes, element) for monomial, factor in products]
        if all(uniform):
            tests.update(dict.fromkeys(test for test in uniform if test))
        else:
            tests[f"({rest_text(form)}) % {lanes} == 0"] = None
    return tuple(tests)


def _uniform(monomial: Monomial, factor: int, lanes: int, element: PerElement) -> str | None:
    """When the parameters in a product make it a multiple, whatever else is in it."""
    scalars = element.kernel.scalars.keys() - element.known.changed
    names = [name for name in monomial if name in scalars]
    if not names:
        return None
    needed = lanes // gcd(lanes, factor)
    if len(names) == 1:
        return f"{names[0]} % {needed} == 0"
    # remainders first: the sizes alone may have a product that the kernel computes in a wider type
    return f"{' * '.join(f'({name} % {needed})' for name in names)} % {needed} == 0"


def _expanded(form: Form, element: PerElement, depth: int = DEPTH) -> Form:
    """With what stands behind local names: of `start` it may be `row * cols`."""
    behind = {n: element.known.values[n] for n in form.names if n in element.known.values}
    found = {n: form_of(value, Form.name) for n, value in behind.items()}
    known = {n: value for n, value in found.items() if value is not None}
    if not known or depth == 0:
        return form
    return _expanded(form.substitute(known), element, depth - 1)
