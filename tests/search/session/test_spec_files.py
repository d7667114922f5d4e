"""Of several specs, those that cannot be opened are told before the first is searched."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import lift
import pytest

from kernelwright.runners.errors import AccessError, KernelwrightError, SpecError
from kernelwright.runners.loading.files import Roots
from kernelwright.search.session.inputs.spec_files import find_specs, refused_ahead
from kernelwright.search.session.optimize import Failed, Opening, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings

NO_FILE = {"source_path": "nowhere.py"}
NO_NAME = {"source_code": "def reference(x): return x"}


def saved(folder: Path, name: str, data: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        ({"kernel": {}, "io": {}}, SpecError, "workloads"),
        (lift.spec(reference=NO_FILE), AccessError, "nowhere.py"),
        (lift.spec(reference=NO_NAME), SpecError, "takes no `n`"),
    ],
)
def test_what_reading_tells_is_known_ahead(
    tmp_path: Path, data: object, kind: type[KernelwrightError], said: str
) -> None:
    bad, good = saved(tmp_path, "bad.json", data), saved(tmp_path, "good.json", lift.spec())
    refused = refused_ahead([good, bad], Roots([tmp_path]))
    assert list(refused) == [bad]
    assert isinstance(refused[bad], kind) and said in str(refused[bad])


def test_specs_that_cannot_be_opened_are_told_before_the_first_search(tmp_path: Path) -> None:
    saved(tmp_path, "a.json", lift.spec())
    last = saved(tmp_path, "z.json", {"kernel": {}, "io": {}})
    specs = find_specs(tmp_path, tmp_path / "out")
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        with closing(optimize(bench, specs, Settings(budget_builds=1))) as events:
            first, second = next(events), next(events)
    assert isinstance(first, Failed) and first.path == last
    assert isinstance(second, Opening) and second.path.name == "a.json"


def test_a_folder_without_specs_is_told_with_what_was_looked_at(tmp_path: Path) -> None:
    saved(tmp_path, "control.json", {"parameters": {}})
    (tmp_path / "half.json").write_text('{"kernel":')
    with pytest.raises(AccessError) as refused:
        find_specs(tmp_path, tmp_path / "out")
    assert "(looked at control.json, half.json)" in str(refused.value)
    assert "two or more of the fields io, kernel, workloads" in str(refused.value)
