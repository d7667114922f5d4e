"""What is wrong with a spec is told before its kernel is opened, with what to write instead."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lift
import psutil
import pytest

from kernelwright.evaluation.spec_agrees import check_memory
from kernelwright.evaluation.spec_check import check_cheaply, check_spec
from kernelwright.evaluation.way_out import header_missing
from kernelwright.runners.errors import KernelwrightError, ReferenceFailed, SpecError
from kernelwright.search.session.workbench import Workbench


def refused(folder: Path, **changes: Any) -> str:
    with pytest.raises(SpecError) as found:
        check_cheaply(lift.load(folder, **changes))
    return str(found.value)


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        ("def reference(x, n:\n", "the reference does not parse, line 1"),
        ("def truth(x, n):\n    return x\n", "Valid: def reference(x, n)"),
        ("def reference(x):\n    return x\n", "it takes no `n`, which the contract gives it"),
        ("def reference(x, n, y):\n    return x\n", "it wants `y`, which is no input or scalar"),
        ("def reference(x, /, n):\n    return x\n", "`x` cannot be given by its name"),
    ],
)
def test_a_reference_that_cannot_be_called_is_refused_unrun(
    tmp_path: Path, reference: str, told: str
) -> None:
    assert told in refused(tmp_path, reference={"source_code": reference})


@pytest.mark.parametrize(
    "reference",
    [
        "def reference(**given):\n    return 2 * given['x'] + 1\n",
        "def reference(x, n, rate=2, *, more=1):\n    return rate * x + more\n",
        "reference = lambda x, n: 2 * x + 1\n",
        "if True:\n    def reference(x, n):\n        return x\nreference\n",
    ],
)
def test_a_reference_that_can_be_called_is_none_of_our_business(
    tmp_path: Path, reference: str
) -> None:
    check_cheaply(lift.load(tmp_path, reference={"source_code": reference}))


def test_an_argument_that_is_a_word_of_python_is_told_with_the_way_round(tmp_path: Path) -> None:
    io = lift.spec()["io"]
    io["arguments"][0]["name"] = "in"
    wanted: dict[str, Any] = {"io": io, "reference": {"source_code": "def reference(n): ...\n"}}
    told = refused(tmp_path, **wanted)
    assert "`in` is a word of Python" in told and 'others["in"]' in told
    assert "def reference(n, **others)" in told


def test_a_size_that_a_scalar_cannot_hold_is_told_with_the_symbols(tmp_path: Path) -> None:
    told = refused(tmp_path, symbols={"n": {"min": 1, "max": 3_000_000_000}})
    assert "io.arguments.n" in told and "n = 3000000000" in told and "wider dtype" in told


def test_a_shape_beyond_memory_is_one_sentence_before_anything_is_allocated(
    tmp_path: Path, bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = lift.load(tmp_path)
    check_memory(small.spec, 1 << 30)
    with pytest.raises(SpecError, match=r"`usual` is too large .* 0.000447 GiB of 9.31e-10"):
        check_memory(small.spec, 1)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(total=1))
    with pytest.raises(SpecError, match="smaller symbols"):
        bench.evaluator.open(small)


def test_the_check_loads_the_reference_and_compiles_the_kernel(tmp_path: Path) -> None:
    check_spec(lift.load(tmp_path), tmp_path / "scratch")
    missing = "import no_such_module\ndef reference(x, n):\n    return x\n"
    with pytest.raises(ReferenceFailed, match="no_such_module"):
        check_spec(lift.load(tmp_path, reference={"source_code": missing}), tmp_path / "scratch")
    kernel = lift.spec()["kernel"]
    broken = {**kernel, "source_code": lift.SOURCE.replace("2.0f *", "2.0f * missing *")}
    with pytest.raises(KernelwrightError, match="missing"):
        check_spec(lift.load(tmp_path, kernel=broken), tmp_path / "scratch")
    foreign = {**kernel, "source_code": '#include "my.h"\n' + lift.SOURCE}
    with pytest.raises(SpecError, match=r'kernel.files: \["my.h"\]'):
        check_spec(lift.load(tmp_path, kernel=foreign), tmp_path / "scratch")


@pytest.mark.parametrize(
    "said",
    [
        "t.cpp:1:10: fatal error: sub/my.h: No such file or directory",
        "t.cpp:1:10: fatal error: 'sub/my.h' file not found",
        't.cu(1): catastrophic error: cannot open source file "sub/my.h"',
    ],
)
def test_a_header_that_was_not_found_is_told_with_the_field_that_names_it(said: str) -> None:
    assert 'kernel.files: ["sub/my.h"]' in header_missing(said)
    assert header_missing("t.cpp:1:10: error: expected ';'") == ""
