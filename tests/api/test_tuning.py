"""A kernel and values to choose from are enough; what is missing is said before anything runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernels import with_known_peaks
from numpy.typing import NDArray

import kernelwright
from kernelwright.api.references import function_source
from kernelwright.api.specs import spec_data
from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.completing import draft_of_source
from kernelwright.runners.loading.files import parse_spec

SOURCE = """\
void twice(const float* x, float* y, int n) {
  for (int i = 0; i < n; i++) {
    volatile float value = x[i];
    for (int r = 1; r < REPEAT; r++) value = x[i];
    y[i] = 2.0f * value;
  }
}
"""
OUTSIDE = 2


def reference(x: NDArray[Any], n: int) -> NDArray[Any]:
    return np.multiply(2, x)


def leans_on_others(x: NDArray[Any], n: int) -> NDArray[Any]:
    return OUTSIDE * x


def data(**arguments: Any) -> dict[str, Any]:
    draft = draft_of_source("twice.cpp", SOURCE)
    return spec_data(draft, {"REPEAT": [4, 1]}, arguments, None, "baseline")


def test_a_kernel_with_values_and_a_size_is_tuned_and_confirmed(tmp_path: Path) -> None:
    with_known_peaks(tmp_path / "out")
    found = kernelwright.tune(
        SOURCE,
        {"REPEAT": [64, 1]},
        arguments={"n": 3000},
        reference=reference,
        held_out={"n": 4001},
        outdir=tmp_path / "out",
        budget_builds=3,
        verbose=False,
    )
    assert found.improved, found.told
    assert found.values == {"REPEAT": 1}
    assert found.interval is not None and found.interval[0] <= found.speedup <= found.interval[1]
    assert found.best.held_out_speedup is not None
    assert found.build is not None and found.build.is_file()
    assert found.source == SOURCE


def test_arrays_give_sizes_and_types() -> None:
    spec = parse_spec(data(x=np.zeros(3000, np.float32)))
    assert spec.workloads[0].symbols == {"n": 3000}
    assert spec.parameters["REPEAT"].values == (4, 1)


def test_an_array_of_another_type_than_the_source_says_is_refused() -> None:
    with pytest.raises(SpecError, match="`x` is float32 in the source, the array given is float64"):
        data(x=np.zeros(3000))


def test_sizes_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(SpecError, match=r"`x` has shape \(3000,\), but n = 2999"):
        data(n=2999, x=np.zeros(3000, np.float32))


def test_what_nobody_said_is_asked_for_by_name() -> None:
    with pytest.raises(SpecError, match="say: a value of `n`"):
        data()


def test_an_argument_that_the_kernel_lacks_is_told_with_those_it_has() -> None:
    with pytest.raises(SpecError, match="has no `m`") as refused:
        data(m=3)
    assert refused.value.valid == "x, y, n"


def test_a_reference_goes_along_as_text_with_the_modules_that_it_names() -> None:
    text = function_source(reference)
    home: dict[str, Any] = {}
    exec(text, home)
    assert home["reference"](np.arange(3), 3).tolist() == [0, 2, 4]
    assert "import numpy as np" in text


def test_a_reference_that_leans_on_its_surroundings_is_refused_by_name() -> None:
    with pytest.raises(SpecError, match="uses `OUTSIDE`, which is defined outside of it"):
        function_source(leans_on_others)
    with pytest.raises(SpecError, match="no plain function"):
        function_source(lambda x, n: 2 * x)  # type: ignore[misc]


def test_importing_the_package_loads_nothing_before_it_is_asked_for() -> None:
    script = "import kernelwright, sys; print([m for m in sys.modules if 'kernelwright.' in m])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_every_name_that_the_package_offers_is_there() -> None:
    assert all(getattr(kernelwright, name) is not None for name in kernelwright.__all__)
    assert set(kernelwright.__all__) <= set(dir(kernelwright))
    with pytest.raises(AttributeError, match="has no attribute 'tuna'"):
        getattr(kernelwright, "tuna")  # noqa: B009
