"""A reference that wants what lies beside it is told where that has to go."""

from __future__ import annotations

import pytest

from kernelwright.runners.errors import ReferenceFailed
from kernelwright.runners.oracle.arrays import NUMPY
from kernelwright.runners.oracle.references import Reference

MODULE, FILE = "a reference is one file", "a reference opens no files"


@pytest.mark.filterwarnings("ignore:can't resolve package")  # where the reference stands alone
@pytest.mark.parametrize(
    ("line", "said", "named"),
    [
        ("from helper_beside import f", MODULE, "from `helper_beside` into it"),
        ("import no_such_package.part", MODULE, "from `no_such_package` into it"),
        ("from .neighbour import f", MODULE, "from its neighbours into it"),
        ("import numpy; t = numpy.load('table.npy')", FILE, "into the reference: table.npy"),
        ("t = open(__file__)", FILE, '"kind": "file"'),
    ],
)
def test_a_reference_that_lacks_a_neighbour_is_told_what_to_do(
    line: str, said: str, named: str
) -> None:
    with pytest.raises(ReferenceFailed, match="does not load") as refused:
        Reference(f"{line}\ndef reference(x): return x", NUMPY, "ieee")
    assert refused.value.next_step.startswith(said) and named in refused.value.next_step


@pytest.mark.parametrize("line", ["x = 1 / 0", "from numpy import no_such_function"])
def test_a_reference_that_errs_by_itself_is_told_nothing_of_neighbours(line: str) -> None:
    with pytest.raises(ReferenceFailed, match="does not load") as refused:
        Reference(line, NUMPY, "ieee")
    assert refused.value.next_step == ""
