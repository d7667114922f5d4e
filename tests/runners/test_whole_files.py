"""Files replaced whole: what readers see meanwhile, and what stays where it fails."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from kernelwright.runners.whole_files import replacing, write_whole

OLD, NEW = "old\n" * 50_000, "new\r\n" * 60_000


def test_a_reader_sees_the_old_text_or_the_new_one_and_nothing_between(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "file", OLD)
    stopped, seen = threading.Event(), set[bytes]()

    def read() -> None:
        while not stopped.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for text in (NEW, OLD) * 20:
        write_whole(path, text)
    stopped.set()
    reader.join()
    assert seen <= {OLD.encode(), NEW.encode()}


def test_of_writers_side_by_side_one_counts_whole_and_none_fails(tmp_path: Path) -> None:
    path, texts = tmp_path / "file", [str(n) * 100_000 for n in range(8)]
    writers = [threading.Thread(target=write_whole, args=(path, text)) for text in texts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert path.read_text() in texts
    assert list(tmp_path.iterdir()) == [path]


def test_what_raises_leaves_the_file_as_it_was_and_nothing_beside_it(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "file", OLD)
    with pytest.raises(ValueError, match="half-way"), replacing(path) as partial:
        partial.write_text("half of it")
        raise ValueError("half-way")
    assert path.read_text() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_take_its_place_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError):
        write_whole(tmp_path / "folder", NEW)
    assert [each.name for each in tmp_path.iterdir()] == ["folder"]


@pytest.mark.parametrize("name", ["k" * 255, "ü" * 127], ids=["of ASCII", "of wider characters"])
def test_a_file_may_have_the_longest_name_that_there_is(tmp_path: Path, name: str) -> None:
    assert write_whole(tmp_path / name, NEW).read_bytes() == NEW.encode()
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_file_that_is_here_for_good_has_the_permissions_it_was_given(tmp_path: Path) -> None:
    model = write_whole(tmp_path / "model", OLD)
    model.chmod(0o751)
    made = write_whole(tmp_path / "made", NEW, durable=True, like=model)
    assert made.stat().st_mode & 0o777 == 0o751
    assert made.read_bytes() == NEW.encode(), "line ends are kept as they are"


def test_a_link_is_replaced_without_a_moment_in_which_there_is_none(tmp_path: Path) -> None:
    link = tmp_path / "best"
    for target in ("first", "second"):
        with replacing(link) as partial:
            partial.symlink_to(target)
        assert str(link.readlink()) == target
