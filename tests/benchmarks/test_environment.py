"""What a benchmark writes names no folder of the machine that it ran on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def test_a_file_of_the_checkout_is_named_from_its_root(
    script: Callable[[str], Any], tmp_path: Path
) -> None:
    module = script("environment")
    program = module.ROOT / "benchmarks" / "kernels" / "recorded" / "decoder.py"
    written = module.write("any", {"command": ["python", str(program)]}, tmp_path / "any.json")
    found = json.loads(written.read_text(encoding="utf-8"))
    assert found["command"] == ["python", "benchmarks/kernels/recorded/decoder.py"]
    assert "environment" in found
