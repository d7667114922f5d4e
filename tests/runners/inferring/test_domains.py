"""A spec that is written from a source proposes which sizes are legal."""

from __future__ import annotations

from kernelwright.runners.loading.completing import draft_of_source
from kernelwright.runners.loading.domains import with_domains, with_usual_numbers

SOURCE = """\
void add(const float* x, float* y, int rows, int cols, int n) {
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < cols; ++j) y[i * cols + j] = x[j];
}
void scale(const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i) y[i] = 2 * x[i];
}
"""


def test_every_size_gets_a_domain_that_a_person_may_correct() -> None:
    found = draft_of_source("scale.cpp", SOURCE, "scale")
    assert found.data["symbols"] == {"n": None}, "what is opened from its source alone has none"
    proposed = with_domains(found)
    assert proposed.data["symbols"] == {"n": {"min": 1, "max": 1 << 26}}
    assert proposed.undecided == found.undecided


def test_a_domain_holds_the_sizes_that_are_known_and_one_that_is_given_stays() -> None:
    found = draft_of_source("scale.cpp", SOURCE, "scale")
    found.data["workloads"] = [{"name": "w", "symbols": {"n": 1 << 28}}]
    assert with_domains(found).data["symbols"]["n"] == {"min": 1, "max": 1 << 28}
    found.data["symbols"] = {"n": {"min": 8, "max": 9}}
    assert with_domains(found).data["symbols"]["n"] == {"min": 8, "max": 9}


def test_a_size_of_what_may_be_a_matrix_is_one_whose_square_is_counted() -> None:
    proposed = with_domains(draft_of_source("add.cpp", SOURCE, "add"))
    assert proposed.data["symbols"]["cols"] == {"min": 1, "max": 1 << 16}


def test_numbers_that_no_source_says_get_usual_ones_by_their_names() -> None:
    source = (
        "void f(const float* x, float* y, float eps, float alpha, int n) "
        "{ for (int i = 0; i < n; ++i) y[i] = alpha / (x[i] + eps); }"
    )
    found, names = with_usual_numbers(draft_of_source("f.cpp", source))
    values = {a["name"]: a["value"] for a in found.data["io"]["arguments"] if "value" in a}
    assert values == {"eps": 1e-5, "alpha": 0.5, "n": "n"}
    assert names == ("eps", "alpha")
    assert not any(".value" in line for line in found.undecided)
