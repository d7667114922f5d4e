"""What models answer with, taken as they mean it: other names of fields, fences and prose around
code, a diff beside a source, words in place of code."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from kernelwright.runners.errors import SpecError
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.applying.apply import apply
from kernelwright.search.applying.sent import SentCandidate, bare_code, renamed, settled
from kernelwright.search.moves import State
from kernelwright.server.protocol.arguments import read_arguments
from kernelwright.tools.compile_variant import CompileVariantArguments
from kernelwright.tools.search_step import SearchStepArguments

SOURCE = """\
#define TILE 32

void scale(const float* a, float* out, int n) {
    for (int i = 0; i < n; ++i) {
        float x = a[i];
        x = x * 2.0f;
        out[i] = x;
    }
}
"""
WANTED = SOURCE.replace("x = x * 2.0f;", "x = x + x;")
GOOD = """\
@@ -5,3 +5,3 @@
         float x = a[i];
-        x = x * 2.0f;
+        x = x + x;
         out[i] = x;
"""


def state(source: str = SOURCE) -> State:
    kernel = {"kernel_type": "cpp", "source_code": source, "metadata": {"kernel_name": "scale"}}
    out = {"name": "out", "role": "output", "dtype": "float32", "shape": [8]}
    spec = KernelSpec.model_validate(
        {"name": "scale", "kernel": kernel, "io": {"arguments": [out]}}
        | {"workloads": [{"name": "w", "symbols": {}}], "reference": "baseline"}
    )
    return State("cpp", source, {}, BuildOptions(), spec)


def made(**fields: Any) -> Candidate:
    sent = SentCandidate(**renamed({"method": "by_hand", **fields}))
    return sent.settled(SOURCE)[0]


@pytest.mark.parametrize("name", ["source", "code", "full_source"])
def test_a_source_comes_under_any_of_its_names(name: str) -> None:
    assert made(**{name: WANTED}).source == WANTED
    given = {"kernel_id": "k", name: WANTED}
    arguments = read_arguments("compile_variant", CompileVariantArguments, given)
    assert arguments.source == WANTED


def test_a_name_of_ours_goes_before_others_that_mean_the_same() -> None:
    sent = made(source=WANTED, code="no", detail="shifts", think="a long story", why="fast")
    assert sent.source == WANTED and sent.detail == "shifts"


@pytest.mark.parametrize("name", ["think", "why"])
def test_what_a_model_thinks_is_kept_as_a_short_memo(name: str) -> None:
    found = made(source=WANTED, **{name: "an add\n  is one cycle, " + "really, " * 200}).detail
    assert found.startswith("an add is one cycle, ") and len(found) < 440


def test_an_update_of_the_launch_is_parameters_and_plan() -> None:
    found = made(launch_update={"BLOCK": 128, "num_warps": 8, "grid": ["n"], "shared": 64})
    assert found.parameters == {"BLOCK": 128, "num_warps": 8}
    assert found.plan == {"grid": ["n"], "shared": 64}
    nested = made(launch_update={"parameters": {"BLOCK": 64}}, parameters={"TILE": 8})
    assert nested.parameters == {"BLOCK": 64, "TILE": 8} and nested.plan is None


def test_what_an_update_says_to_the_compiler_is_options() -> None:
    found = made(launch_update={"flags": ["-O3"], "TILE": 8})
    assert found.options is not None and found.options.flags == ("-O3",)
    assert found.parameters == {"TILE": 8}


def test_an_update_that_is_no_number_is_refused_by_its_name() -> None:
    with pytest.raises(ValidationError, match="num_warps"):
        made(launch_update={"num_warps": "many"})


@pytest.mark.parametrize(
    "text",
    [
        f"```cpp\n{SOURCE}```",
        f"\n  ```\n{SOURCE}```\n",
        f"Here is the faster kernel. It adds:\n\n```c++\n{SOURCE}```\nIt saves a multiply.\n",
        f"```sh\nmake\n```\nand then\n```cpp\n{SOURCE}```\n",
        f"```cpp\n{SOURCE}",
    ],
)
def test_fences_and_prose_around_code_are_left_out(text: str) -> None:
    assert bare_code(text) == SOURCE


@pytest.mark.parametrize(
    "text",
    [SOURCE, f'"""Use it so:\n```\nx = 1\n```\n"""\n{SOURCE}', f"// ```\n{SOURCE}// ```\n"],
)
def test_fences_within_code_stay(text: str) -> None:
    assert bare_code(text) == text


def test_a_fenced_diff_fits() -> None:
    assert apply(made(diff=f"Change one line:\n```diff\n{GOOD}```\n"), state()).source == WANTED


def test_of_a_diff_and_a_source_the_diff_counts_where_it_fits() -> None:
    sent = SentCandidate(method="by_hand", source="void scale() {}", diff=GOOD)
    found, said = sent.settled(SOURCE)
    assert (found.source, found.diff) == (None, GOOD) and "diff was used" in said


def test_of_a_diff_that_does_not_fit_and_a_source_the_source_counts_and_is_told() -> None:
    unfit = "@@ -1,2 +1,2 @@\n while (nothing_like_it) {\n-    wholly(other);\n+    another();\n"
    sent = SentCandidate(method="by_hand", source=WANTED, diff=unfit)
    (found,), (note,) = settled([sent], SOURCE)
    assert (found.source, found.diff) == (WANTED, None)
    assert note.startswith("by_hand: the source was used: the diff does not fit")


def test_an_answer_to_a_question_takes_candidates_as_models_write_them() -> None:
    candidate = {"method": "m", "code": WANTED, "options": {"flags": ["-O3"]}}
    given = {"search_id": "s1", "ticket": "t1", "candidates": [candidate]}
    answered = read_arguments("search_step", SearchStepArguments, given)
    assert answered.candidates is not None and answered.candidates[0].source == WANTED


def test_a_candidate_that_changes_nothing_is_refused() -> None:
    with pytest.raises(ValidationError, match="needs source, diff, plan"):
        SentCandidate(method="by_hand", detail="I would do nothing")


@pytest.mark.parametrize(
    "line",
    [
        "// ... rest unchanged",
        "    // ...",
        "/* ... existing code ... */",
        "# … rest of the kernel as before",
        "// rest of the code remains unchanged",
        "// (the rest of the function is the same)",
        "// existing code here",
        "# same as before",
        "// ... other code here ...",
    ],
)
def test_words_in_place_of_code_are_refused_with_their_line(line: str) -> None:
    with pytest.raises(SpecError, match=r"line 2 of the source.* stands for code"):
        apply(made(source=f"#define TILE 32\n{line}\n{WANTED}"), state())


@pytest.mark.parametrize(
    "line",
    [
        "// the rest of a row is read by the tail loop",
        "// keeps a, b, ... in registers",
        "out[i] = x;  // ... the same",
        "// unchanged values stay in the cache",
        "#include <cmath>",
        "// code",
    ],
)
def test_comments_that_say_something_else_stay(line: str) -> None:
    assert apply(made(source=f"{line}\n{WANTED}"), state()).source.startswith(line)


def test_words_that_the_source_had_before_are_nobodys_fault() -> None:
    before = state(source=f"// ... rest unchanged\n{SOURCE}")
    apply(made(source=f"// ... rest unchanged\n{WANTED}"), before)
