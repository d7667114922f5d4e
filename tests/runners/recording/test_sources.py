"""A recorded kernel of Triton is found in its source by the hash of its machine code."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from kernelwright.runners.recording.reading import read_recordings
from kernelwright.runners.recording.recording import COUNT
from kernelwright.runners.recording.sources import triton_sources
from kernelwright.tools.programs.recorded import report_of


def with_notes(recorded: Path, folder: Path, digest: str | None) -> Path:
    """A copy of a recording beside which Triton noted a kernel; its own where `digest` is None."""
    copied = shutil.copytree(recorded, folder / "copied")
    process = read_recordings(copied / COUNT)[0].folder
    (image,) = (process / "images").iterdir()
    told = digest or hashlib.sha256(image.read_bytes()).hexdigest()
    row = {"name": "slow_scale", "cubin_sha256": told, "file": "/src/k.py", "line": 7}
    more = {"source": "def slow_scale(): ...", "constants": {"BLOCK": "128"}, "num_warps": 4}
    (process / "triton.jsonl").write_text(json.dumps({**row, **more}) + "\n")
    return copied


def test_the_hash_of_the_machine_code_finds_file_and_line(recorded: Path, tmp_path: Path) -> None:
    copied = with_notes(recorded, tmp_path, None)
    (found,) = triton_sources(read_recordings(copied / COUNT)[0]).values()
    assert (found.text, found.constants) == ("def slow_scale(): ...", (("BLOCK", "128"),))
    assert {row.source for row in report_of(copied).kernels} == {"/src/k.py:7"}


def test_a_kernel_of_the_same_name_and_other_code_is_another(
    recorded: Path, tmp_path: Path
) -> None:
    copied = with_notes(recorded, tmp_path, "0" * 64)
    assert triton_sources(read_recordings(copied / COUNT)[0]) == {}
