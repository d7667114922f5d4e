"""Parameters baked into sources, and files replaced so that it can be undone."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.errors import AccessError
from kernelwright.tools.parts.baked_parameters import bake
from kernelwright.tools.parts.written_file import write_with_backup


def guarded(name: str, value: int | str, comment: str = "") -> str:
    return f"#ifndef {name}\n#define {name} {value}{comment}\n#endif\n"


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True), st.integers(-9, 4096), max_size=6
    )
)
def test_every_guarded_default_becomes_the_value_and_nothing_else_changes(
    parameters: dict[str, int],
) -> None:
    def source(values: dict[str, int]) -> str:
        return "".join(guarded(name, value) for name, value in values.items()) + "int f();\n"

    baked = bake(source(dict.fromkeys(parameters, 7)), parameters)
    assert baked.source == source(parameters)
    assert baked.values == parameters and baked.flags == {}


def test_a_comment_behind_the_default_and_indented_guards_stay() -> None:
    source = "  # ifndef TILE\n  #  define TILE 8  // of both sizes\n#endif\n"
    assert bake(source, {"TILE": 64}).source == source.replace("8", "64")


@pytest.mark.parametrize(
    "source",
    [
        "int tile = TILE;\n",
        "#define TILE 8\n",
        guarded("TILE", 8) + guarded("TILE", 16),
        guarded("TILE_M", 8),
    ],
)
def test_a_parameter_without_one_guarded_default_is_left_to_the_command_line(source: str) -> None:
    baked = bake(source, {"TILE": 64})
    assert baked.source == source
    assert baked.flags == {"TILE": 64} and baked.values == {}


def test_a_file_is_replaced_with_its_mode_kept_and_undone_byte_for_byte(tmp_path: Path) -> None:
    file = tmp_path / "kernel.cpp"
    file.write_bytes(b"old\r\n")
    file.chmod(0o640)
    written = write_with_backup(file, "new\n")
    assert file.read_text("utf-8") == "new\n" and file.stat().st_mode & 0o777 == 0o640
    assert written.backup is not None and written.backup.name == "kernel.cpp.bak-1"
    written.undo()
    assert file.read_bytes() == b"old\r\n"
    assert [path.name for path in tmp_path.iterdir()] == ["kernel.cpp"]


def test_every_write_has_a_backup_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "kernel.cpp"
    for text in ("one", "two", "three"):
        write_with_backup(file, text)
    found = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert found == {
        "kernel.cpp": "three",
        "kernel.cpp.bak-1": "one",
        "kernel.cpp.bak-2": "two",
    }


def test_a_file_that_was_not_there_is_gone_after_undo(tmp_path: Path) -> None:
    file = tmp_path / "kernel.cpp"
    write_with_backup(file, "new").undo()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match="an existing folder"):
        write_with_backup(tmp_path / "none" / "kernel.cpp", "new")
