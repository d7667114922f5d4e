"""The tools as methods of Python: typed results, waited for, refused in words."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from kernels import FASTER, tiny_kernel, with_known_peaks

import kernelwright

SCRIPT = Path(__file__).parents[2] / "examples" / "script.py"


def test_a_kernel_is_opened_built_and_looked_at_with_typed_results(tmp_path: Path) -> None:
    tiny_kernel(tmp_path)
    with_known_peaks(tmp_path / ".kernelwright")
    with kernelwright.Kernelwright(tmp_path) as kw:
        opened = kw.open_kernel(spec_path="spec.json")
        assert opened.workloads[0].symbols == {"n": 8192}
        built = kw.compile_variant(kernel_id=opened.kernel_id, options=FASTER)
        assert built.ok and kw.propose_moves(kernel_id=opened.kernel_id).moves
        facts = kw.inspect("variant", id=built.variant_id).facts
        assert facts and facts["kernel_id"] == opened.kernel_id
        with pytest.raises(kernelwright.KernelwrightError, match="did you mean `spec_path`"):
            kw.open_kernel(spec_pth="spec.json")


def test_the_example_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_kernel(tmp_path)
    with_known_peaks(tmp_path / "out" / "script")
    monkeypatch.chdir(tmp_path)
    loaded = importlib.util.spec_from_file_location("example_script", SCRIPT)
    assert loaded is not None and loaded.loader is not None
    script = importlib.util.module_from_spec(loaded)
    loaded.loader.exec_module(script)
    script.main(tmp_path / "spec.json")
    assert "by hand: " in (told := capsys.readouterr().out) and "incumbent: v" in told
