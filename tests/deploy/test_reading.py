"""A folder with a winner is read whole before anything of it is believed, copied or run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from kernelwright.deploy.reading import OPERATOR_JSON, Refused, read_winner
from kernelwright.runners.recording.operators.putting import put_together

CODE = b"\x7fELF, let us say"
HASH = hashlib.sha256(CODE).hexdigest()


def told(**changes: Any) -> dict[str, Any]:
    case: dict[str, Any] = {"label": "o0", "key": [], "made": [], "buffers": {}}
    case["steps"] = [{"file": "a.so", "entry": "run", "parameters": []}]
    whole: dict[str, Any] = {
        "format": 1,
        "operator": "aten::linalg_vector_norm.dim",
        "device": "cpu",
    }
    return whole | {"target": "x", "files": {"a.so": HASH}, "cases": [case]} | changes


def folder(place: Path, content: dict[str, Any]) -> Path:
    place.mkdir()
    (place / "a.so").write_bytes(CODE)
    (place / OPERATOR_JSON).write_text(json.dumps(content))
    return place


def runs(file: str) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"file": file, "entry": "run", "parameters": []}]
    return told(cases=[told()["cases"][0] | {"steps": steps}])


def test_one_as_it_is_written_is_read(tmp_path: Path) -> None:
    found = read_winner(folder(tmp_path / "w", told()))
    assert (found.operator, found.files) == ("aten::linalg_vector_norm.dim", ("a.so",))


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(told(files={"../a.so": HASH}), id="a file above it"),
        pytest.param(told(files={"/tmp/a.so": HASH}), id="a file by its place"),
        pytest.param(told(files={"a.so": HASH[::-1]}), id="another hash"),
        pytest.param(runs("/lib/b.so"), id="a step that runs what has no hash"),
        pytest.param(runs("b.so"), id="a step that runs another file in it"),
        pytest.param(told(operator="../../aten::norm"), id="an operator that leads elsewhere"),
        pytest.param(told(operator="aten::norm/.."), id="an operator that is a path"),
        pytest.param(told(operator=7), id="an operator that is no name"),
        pytest.param(told(files=["a.so"]), id="files without hashes"),
        pytest.param(told(cases=[{}]), id="a case of nothing"),
    ],
)
def test_one_that_leads_elsewhere_is_refused_and_nothing_is_copied(
    tmp_path: Path, content: dict[str, Any]
) -> None:
    winner = folder(tmp_path / "w", content)
    with pytest.raises(Refused):
        put_together(None, winner, tmp_path / "deep" / "er" / "place")
    assert sorted(f.name for f in tmp_path.rglob("*") if f.is_file()) == ["a.so", OPERATOR_JSON]
