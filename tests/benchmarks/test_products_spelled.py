"""Products in unusual spellings: legal specs whose reference says what numpy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelwright.runners.loading.files import parse_spec
from kernelwright.runners.specs.contract import bind


def test_every_spec_is_legal_and_its_reference_has_the_shape_of_what_is_written(
    script: Callable[[str], Any],
) -> None:
    sizes = {"m": 6, "n": 6, "k": 5}
    for name, each in script("products_spelled").SPELLED.items():
        spec = parse_spec(each.spec("f"))
        bound = bind(spec.io, sizes, "small")
        given = {a.name: np.ones(a.shape) for a in bound.inputs}
        known = dict[str, Any]()
        exec(spec.reference.source_code, known)  # pyright: ignore
        found = known["reference"](*given.values(), **sizes)
        assert found.shape == bound.outputs[0].shape, name
