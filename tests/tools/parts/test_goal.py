"""What a sentence says of a kernel's call, and what is still asked after it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.files import Roots
from kernelwright.tools.parts.goal import as_named, load_with_goal, numbers_in

SCALE = """\
void scale(const float* x, float* y, float a, int n) {
    for (int i = 0; i < n; ++i) y[i] = a * x[i];
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "scale.cpp"
    path.write_text(SCALE, "utf-8")
    return path


def test_numbers_are_read_however_they_are_written() -> None:
    goal = "make it 2x faster for n = 4,000,000, a is -0.5, m: 4_096 and eps=1e-6, please"
    assert numbers_in(goal) == {"n": 4_000_000, "a": -0.5, "m": 4096, "eps": 1e-6}


@pytest.mark.parametrize(
    ("goal", "wanted", "found"),
    [
        ("n = 4", ["N"], {"n": 4, "N": 4}),
        ("n = 4 and N = 8", ["N"], {"n": 4, "N": 8}),
        ("n = 4", ["n", "N"], {"n": 4}),
        ("Rows = 4", ["rows", "ROWS"], {"Rows": 4}),
    ],
)
def test_a_name_in_other_letters_is_taken_where_it_can_be_one_alone(
    goal: str, wanted: list[str], found: dict[str, int]
) -> None:
    assert as_named(numbers_in(goal), wanted) == found


def test_a_source_and_a_sentence_make_a_kernel(source: Path) -> None:
    roots = Roots([source.parent])
    loaded = load_with_goal(source, roots, None, "faster for n = 4,096 where a is 2.5")
    assert [w.symbols for w in loaded.spec.workloads] == [{"n": 4096}]
    (scalar,) = [a for a in loaded.spec.io.arguments if a.name == "a"]
    assert scalar.model_dump()["value"] == 2.5


def test_what_the_sentence_leaves_open_is_asked_for_in_a_sentence(source: Path) -> None:
    with pytest.raises(SpecError) as caught:
        load_with_goal(source, Roots([source.parent]), None, "faster, and m = 3")
    assert "call again with a goal that says `n = NUMBER, a = NUMBER`" in str(caught.value)
    with pytest.raises(SpecError, match=r"`a = NUMBER`"):
        load_with_goal(source, Roots([source.parent]), None, "faster for n = 4096")
