"""What a usual run (`make test`) leaves out has a usual neighbour, and never found something."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import page_tiers
import pytest
from tiers import FOUND, cases, further

ROOT = Path(__file__).parents[2]
FILES = sorted(ROOT.glob("tests/**/test_*.py"))
LIBRARY = "tests/cheats_caught"
COLLECTED = (
    *(sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", "thorough"),
    *("-p", "no:cacheprovider", "-p", "no:xdist"),
)


def whole_tests_left_out() -> dict[str, set[str]]:
    """Each test that is marked by `further`, with the usual ones that it names."""
    texts = {f.relative_to(ROOT): f.read_text(encoding="utf-8") for f in FILES}
    return {
        f"{file}::{test}": names
        for file, text in texts.items()
        if "@further(" in text
        for test, names in further_in(text)
    }


def further_in(text: str) -> Iterator[tuple[str, set[str]]]:
    """The tests of a file that are marked by `further`, and what each names."""
    tests = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    for test in tests:
        for mark in test.decorator_list:
            match mark:
                case ast.Call(func=ast.Name(id="further"), args=named):
                    yield test.name, {ast.literal_eval(each) for each in named}
                case _:
                    pass


def test_no_case_that_found_something_and_none_that_stands_for_others_is_left_out() -> None:
    whole = whole_tests_left_out()
    standing = set[str]().union(*whole.values())
    assert not standing & whole.keys()
    done = subprocess.run(
        [*COLLECTED, LIBRARY, *FOUND, *standing],
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr  # 4: a test is not there
    left_out = [line for line in done.stdout.splitlines() if "::" in line]
    assert len(left_out) > 50
    told = {f"/{name}]" for name in page_tiers.tried_attacks()}
    assert not [each for each in left_out if any(each.endswith(name) for name in told)]
    assert not [each for each in left_out if any(each.startswith(test) for test in FOUND)]


def marks(decorator: pytest.MarkDecorator) -> dict[Any, bool]:
    """Whether each case of a family is left out."""
    return {param.values: bool(param.marks) for param in decorator.args[1]}


def test_the_first_case_of_each_kind_is_usual_and_what_found_something() -> None:
    family = cases(
        ("word", "size"),
        [("sum", 1), ("sum", 2), ("dot", 1), ("dot", 3)],
        kinds=lambda word, size: [word],
        always=lambda word, size: size == 3,
        why="further sizes",
    )
    assert marks(family) == {
        ("sum", 1): False,
        ("sum", 2): True,
        ("dot", 1): False,
        ("dot", 3): False,
    }


def test_a_case_is_usual_where_any_of_its_kinds_is_new() -> None:
    family = cases("steps", ["ab", "ba", "bc"], kinds=list, why="further orders")
    assert marks(family) == {("ab",): False, ("ba",): True, ("bc",): False}


def test_a_family_without_a_case_to_leave_out_is_refused() -> None:
    with pytest.raises(ValueError, match="every case of word is usual"):
        cases("word", ["one", "two"], kinds=lambda word: [word], why="none")


def test_a_whole_test_is_left_out_only_where_usual_ones_stand_for_it() -> None:
    with pytest.raises(ValueError, match="name a usual test"):
        further(why="its own subject")
    text = '@further("tests/a.py::test_b", why="more")\ndef test_c(): ...\ndef test_d(): ...\n'
    assert list(further_in(text)) == [("test_c", {"tests/a.py::test_b"})]


def test_what_a_case_was_marked_with_stays() -> None:
    skipped = pytest.param("two", id="second", marks=pytest.mark.gpu)
    family = cases("word", ["one", skipped], why="a further one")
    (_, second) = family.args[1]
    assert second.id == "second"
    assert [mark.name for mark in second.marks] == ["gpu", "thorough"]
