"""What was found is exported, listed and compared from the command line; real builds, few runs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from kernels import with_known_peaks
from typer.testing import CliRunner

from kernelwright.runners.errors import SpecError
from kernelwright.search.outdir.published import PUBLISHED, schema
from kernelwright.search.outdir.report import OutdirReport, outdir_report
from kernelwright.server import cli
from kernelwright.server.terminal.grid import Grid
from kernelwright.store.store import STATE_FILE, Store

pytestmark = pytest.mark.alone
"""Exit statuses say what real times said."""
COMMAND = (sys.executable, "-c", "from kernelwright.server.cli import main; main()")
SOURCE = """\
#ifndef REPEAT
#define REPEAT 64
#endif
void twice(const float* x, float* y, int n) {
  for (int i = 0; i < n; i++) {
    volatile float value = x[i];
    for (int r = 1; r < REPEAT; r++) value = x[i];
    y[i] = 2.0f * value;
  }
}
"""
SPEC: dict[str, Any] = {
    "name": "twice",
    "kernel": {
        "kernel_type": "cpp",
        "source_path": "twice.cpp",
        "metadata": {"kernel_name": "twice"},
    },
    "io": {
        "arguments": [
            {"name": "x", "role": "input", "dtype": "float32", "shape": ["N"]},
            {"name": "y", "role": "output", "dtype": "float32", "shape": ["N"]},
            {"name": "n", "role": "scalar", "dtype": "int32", "value": "N"},
        ],
        "bytes": "8 * N",
        "flops": "N",
    },
    "symbols": {"N": {"max": 65536}},
    "workloads": [{"name": "small", "symbols": {"N": 60000}}],
    "parameters": {"REPEAT": {"values": [64, 1]}},
    "reference": {"source_code": "def reference(x, n):\n    return 2 * x\n"},
}


def kernelwright(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*COMMAND, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def wrote(folder: Path, source: str = SOURCE) -> Path:
    (folder / "twice.cpp").write_text(source, encoding="utf-8")
    (folder / "spec.json").write_text(json.dumps(SPEC), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a kernel, and an outdir of a search that found the one better value."""
    folder = wrote(tmp_path_factory.mktemp("found"))
    options = ("--input", "spec.json", "--budget-builds", "2", "--export-markdown", "found.md")
    with_known_peaks(folder / "out")
    done = kernelwright(folder, "optimize", *options)
    assert done.returncode == 0, done.stderr
    return folder


def told(*arguments: str) -> str:
    done = CliRunner().invoke(cli.app, list(arguments))
    assert done.exit_code == 0, done.output
    return done.output


def test_show_json_holds_all_that_the_outdir_holds_in_the_published_form(found: Path) -> None:
    report = OutdirReport.model_validate_json(told("show", str(found / "out"), "--json"))
    with Store.open(found / "out" / STATE_FILE) as store:
        assert report == outdir_report(store)
    (kernel,) = report.kernels
    assert kernel.improved
    assert kernel.best.parameters == {"REPEAT": 1}
    assert kernel.best.ms.keys() == kernel.baseline_ms.keys() == {"small"}
    assert kernel.searches[0].budget_builds == 2


def test_show_json_of_a_variant_has_its_source_and_its_evaluation(found: Path) -> None:
    (kernel,) = json.loads(told("show", str(found / "out"), "--json"))["kernels"]
    best = kernel["best"]["variant_id"]
    data = json.loads(told("show", str(found / "out"), best, "--json"))
    assert data["source"] == SOURCE
    assert data["evaluation"]["ending"] == "faster"
    assert data["confirmation"]["accepted"]


def test_markdown_has_a_row_for_each_kernel_and_variant(found: Path) -> None:
    page = (found / "found.md").read_text(encoding="utf-8")
    assert "| twice | small " in page
    (kernel,) = json.loads(told("show", str(found / "out"), "--json"))["kernels"]
    assert all(f"| {each['variant_id']} " in page for each in kernel["variants"])


def test_a_winner_is_exported_by_name_with_its_values_as_defaults(found: Path) -> None:
    to = found / "faster.cpp"
    printed = told("export", str(found / "out"), "twice", "--to", str(to))
    assert "#define REPEAT 1\n" in to.read_text(encoding="utf-8")
    assert "now the defaults in the source: REPEAT=1" in printed
    assert "build it with: g++ " in printed
    assert (found / "twice.cpp").read_text(encoding="utf-8") == SOURCE


def test_every_file_that_a_search_wrote_is_as_its_published_schema_says(found: Path) -> None:
    (found / "report.json").write_text(told("show", str(found / "out"), "--json"))
    files = sorted(found.rglob("*.json*"))
    for file in files:
        text = file.read_text(encoding="utf-8")
        lines = text.splitlines() if file.suffix == ".jsonl" else [text]
        for line in lines:
            jsonschema.validate(json.loads(line), schema(file.name))
    assert {p.name for p in files} == set(PUBLISHED)


def test_a_schema_is_asked_for_by_the_name_of_its_file() -> None:
    assert told("schema").split() == list(PUBLISHED)
    printed = json.loads(told("schema", "result"))
    assert printed["$id"] == "kernelwright/result.json/1"
    assert printed == schema("result.json")
    with pytest.raises(SpecError, match="no file is called results") as refused:
        schema("results")
    assert "best_summary.json" in str(refused.value.valid)


def test_exporting_the_baseline_is_refused_and_nothing_is_written(found: Path) -> None:
    with Store.open(found / "out" / STATE_FILE) as store:
        baseline = next(v for v in outdir_report(store).kernels[0].variants if v.is_baseline)
    options = ("out", "twice", baseline.variant_id, "--to", "same.cpp")
    done = kernelwright(found, "export", *options)
    assert done.returncode == 1
    assert "this is the baseline" in done.stderr
    assert not (found / "same.cpp").exists()


def test_an_outdir_compared_with_itself_got_no_worse(found: Path, tmp_path: Path) -> None:
    out, page = str(found / "out"), tmp_path / "page.md"
    assert "no difference" in told("compare", out, out, "--export-markdown", str(page))
    assert "| twice |" in page.read_text(encoding="utf-8")


def test_a_source_that_does_less_is_no_regression_and_one_that_is_wrong_fails(
    tmp_path: Path,
) -> None:
    wrote(tmp_path, SOURCE.replace("REPEAT 64", "REPEAT 1"))
    (tmp_path / "old.cpp").write_text(SOURCE, encoding="utf-8")
    (tmp_path / "spec.json").write_text(json.dumps({**SPEC, "parameters": {}}), encoding="utf-8")
    with_known_peaks(tmp_path / "out")
    better = kernelwright(tmp_path, "regression", "--input", "spec.json", "--before", "old.cpp")
    assert better.returncode == 0, better.stdout + better.stderr
    assert "verdict: not slower" in better.stdout
    wrong = SOURCE.replace("2.0f", "2.1f")
    (tmp_path / "twice.cpp").write_text(wrong, encoding="utf-8")
    failed = kernelwright(tmp_path, "regression", "--input", "spec.json", "--before", "old.cpp")
    assert failed.returncode == 1
    assert "verdict: failed" in failed.stdout


def test_moves_tells_what_fits_and_why_the_rest_does_not_without_a_build(tmp_path: Path) -> None:
    printed = told("moves", "--input", str(wrote(tmp_path) / "spec.json"))
    fits, _, rest = printed.partition("no rule writes these here")
    assert "tune_parameters" in fits
    assert "REPEAT=1" in fits
    assert "softmax_math_fusion: no rule writes it here (no loop calls expf" in rest
    listed = json.loads(told("moves", "--input", str(tmp_path / "spec.json"), "--json"))
    assert {each["method"] for each in listed if each["candidates"]} >= {"tune_parameters"}


def test_a_cell_of_markdown_stays_one_cell() -> None:
    grid = Grid(("a", "b"), (("x | y", "two\nlines"),))
    assert grid.markdown() == "| a | b |\n| --- | --- |\n| x \\| y | two lines |\n"
