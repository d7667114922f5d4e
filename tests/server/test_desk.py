"""The desk of a server: what it opens, and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.server.work.desk import Desk


@pytest.mark.parametrize(("name", "hidden"), [(".kernelwright", True), ("out", False)])
def test_the_state_within_a_project_is_hidden_from_git(
    name: str, hidden: bool, tmp_path: Path
) -> None:
    desk = Desk(tmp_path / name, [tmp_path], ())
    desk.opened()
    desk.close()
    ignoring = tmp_path / name / ".gitignore"
    assert ignoring.exists() == hidden
    assert not hidden or ignoring.read_text("utf-8") == "*\n"
