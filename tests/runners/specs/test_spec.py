"""What a spec must say: every mistake is answered with the field and what is valid there."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kernelwright.runners.dtypes import DTYPES
from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.files import parse_spec
from kernelwright.runners.specs.spec import KernelSpec

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*/*.json"))
SPEC: dict[str, Any] = {
    "name": "scale",
    "kernel": {
        "kernel_type": "cpp",
        "source_code": "void scale(const float* x, float* y, int n);",
        "metadata": {"kernel_name": "scale"},
    },
    "io": {
        "arguments": [
            {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
            {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
            {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
        ]
    },
    "symbols": {"n": {"min": 1, "max": 4096}},
    "workloads": [{"name": "big", "symbols": {"n": 4096}}],
    "parameters": {"TILE": {"values": [8, 16, 32], "default": 16}},
    "constraints": ["TILE <= 32"],
    "reference": {"source_code": "def reference(x): return 2 * x"},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The spec with one field set; numbers in the path index lists."""
    data = copy.deepcopy(SPEC)
    node: Any = data
    *way, last = path.split(".")
    for part in way:
        node = node[int(part)] if part.isdigit() else node[part]
    node[int(last) if last.isdigit() else last] = value
    return data


def without(path: str) -> dict[str, Any]:
    data = changed(path, None)
    node: Any = data
    *way, last = path.split(".")
    for part in way:
        node = node[int(part)] if part.isdigit() else node[part]
    del node[last]
    return data


def refusal(data: object) -> str:
    with pytest.raises(SpecError) as caught:
        parse_spec(data)
    return str(caught.value)


def test_the_spec_of_these_tests_is_valid() -> None:
    spec = parse_spec(SPEC)
    assert spec.parameters["TILE"].start == 16
    assert spec.io.arguments[0].filled.kind == "randn"


UNKNOWN = [
    ("kernl", "`kernel`"),
    ("io.argumnts", "`arguments`"),
    ("io.arguments.0.shap", "`shape`"),
    ("io.arguments.1.tolerence", "`tolerance`"),
    ("symbols.n.mn", "`min`"),
    ("workloads.0.wieght", "`weight`"),
    ("parameters.TILE.defualt", "`default`"),
    ("reference.source_pth", "`source_path`"),
    ("kernel.metadata.kernel_nme", "`kernel_name`"),
]


@pytest.mark.parametrize(("path", "meant"), UNKNOWN)
def test_a_misspelt_field_is_named_by_its_path_with_the_one_that_was_meant(
    path: str, meant: str
) -> None:
    assert f"\n  {path}: unknown field; did you mean {meant}?" in refusal(changed(path, 1))


def test_a_misspelt_field_of_an_init_and_of_strides_beside_it_is_found() -> None:
    data = changed("io.arguments.0.init", {"kind": "randn", "scal": 2})
    data["io"]["arguments"][0]["strides"] = [1]
    assert "io.arguments.0.init.scal: unknown field; did you mean `scale`?" in refusal(data)


def test_an_unknown_field_like_no_other_lists_the_known_ones() -> None:
    text = refusal(changed("workloads.0.zzz", 1))
    assert "workloads.0.zzz: unknown field; known here: held_out, name, symbols, weight" in text


def test_a_field_of_a_part_that_stands_beside_it_is_answered_with_the_part() -> None:
    said = refusal(changed("flags", ["-O3"]))
    assert 'flags: unknown field; it goes into `kernel`: {"kernel": {"flags": "..."}}' in said


@pytest.mark.parametrize("path", ["tolerance", "io.rtol", "io.arguments.1.rtol"])
def test_tolerances_of_earlier_tools_are_answered_with_todays_way(path: str) -> None:
    said = refusal(changed(path, 1e-3))
    assert f'{path}: unknown field; an output says what is accepted as "tolerance": ' in said
    assert "did you mean" not in said


def test_an_unknown_dtype_is_answered_with_the_likely_one_and_all_valid_ones() -> None:
    text = refusal(changed("io.arguments.0.dtype", "fp32"))
    assert "io.arguments.0.dtype: did you mean `float32`?" in text
    assert '(given: "fp32")' in text
    assert all(name in text for name in DTYPES)


WRONG: list[tuple[str, Any, str]] = [
    ("kernel.kernel_type", "opencl", "kernel.kernel_type: known here: triton, cuda, cpp"),
    ("io.arguments.0.role", "inputs", "io.arguments.0.role: did you mean `input`?"),
    ("io.arguments.0.init", "rand", "io.arguments.0.init.kind: did you mean `randn`?"),
    ("io.arguments.0.shape", [3.5], "shape.0: must be a whole number or a text (given: 3.5)"),
    ("io.arguments.0.shape", [[1]], "shape.0: must be a whole number or a text (given: a list)"),
    ("io.arguments.0.shape", "n", 'io.arguments.0.shape: must be a list (given: "n")'),
    ("io.arguments.0.shape", [], "`x` needs a shape; a single number is shape [1]"),
    ("io.arguments.0.shape", [1] * 40, "io.arguments.0.shape: the list should have at most 16"),
    ("io.arguments.0.strides", [1, 2], "`x` has 1 sizes, 2 strides"),
    ("io.arguments.0.value", 3, "`x` is an array: give `init`, not `value`"),
    ("io.arguments.0.align", 24, "align of `x` must be a power of two"),
    ("io.arguments.0.align", 0, "io.arguments.0.align: should be greater than or equal to 1"),
    ("io.arguments.0.name", "1x", "io.arguments.0.name: a name is letters"),
    ("io.arguments.0.name", "y", "io: argument names occur twice: y"),
    ("io.arguments.1.init", "randn", "output `y` is undefined on entry"),
    ("io.arguments.1.role", "input", "nothing could be checked"),
    ("io.arguments.2.value", None, "scalar `n` needs `value`"),
    ("io.arguments.2.shape", ["n"], "scalar `n` has a value, no shape"),
    ("io.arguments.0.tolerance", {"factor": math.inf}, "should be a finite number"),
    ("io.arguments.0.tolerance", {"floor": -1}, "should be greater than or equal to 0"),
    ("io.arguments.0.init", {"kind": "file"}, "init `file` needs `path`"),
    ("io.arguments.0.init", {"kind": "uniform", "low": 2}, "needs low < high"),
    ("io.arguments.0.init", {"kind": "randint", "high": 2.5}, "needs whole numbers"),
    ("io.arguments", [], "io.arguments: the list should have at least 1 item"),
    (
        "kernel.flags",
        "-O1 -g",
        'kernel.flags: must be a list, such as ["-O1", "-g"] (given: "-O1 -g")',
    ),
    ("symbols", {"1n": {"max": 3}}, "symbols.1n: a name is letters"),
    ("symbols.n", {"min": 5, "max": 7, "multiple_of": 8}, "symbols.n: no multiple of"),
    ("workloads", [], "workloads: the list should have at least 1 item"),
    ("workloads.0.symbols", {}, "workload `big` binds [], symbols are ['n']"),
    ("workloads.0.symbols.m", 3, "workload `big` binds ['m', 'n'], symbols are ['n']"),
    ("workloads.0.symbols.n", 5000, "workload `big`: n = 5000 is outside its domain (1..4096"),
    ("workloads.0.symbols.n", 0, "n = 0 is outside its domain"),
    ("workloads.0.symbols.n", "x", "workloads.0.symbols.n: should be a valid integer"),
    ("workloads.0.weight", 0, "workloads.0.weight: should be greater than 0"),
    ("workloads.0.weight", math.inf, "workloads.0.weight: should be a finite number"),
    ("workloads.0.held_out", True, "every workload is held out"),
    ("parameters.TILE.values", [], "parameters.TILE.values: the list should have at least 1"),
    ("parameters.TILE.values", [16, 16], "parameters.TILE: a value is listed twice"),
    ("parameters.TILE.default", 9, "parameters.TILE: default 9 is not among the values"),
    ("parameters.n", {"values": [1]}, "both a symbol and a parameter: n"),
    ("constraints", ["TIEL < 3"], "constraints: `TIEL` is not declared (known: TILE)"),
    ("constraints", ["n < 3"], "constraints: `n` is not declared (known: TILE)"),
    ("io.arguments.0.shape", ["TILE"], "io.arguments.x: `TILE` is not declared (known: n)"),
    ("io.bytes", "8 * m", "io.bytes: `m` is not declared (known: n)"),
    ("reference", 5, "reference: must be an object or a text (given: 5)"),
    ("reference", {}, "reference: give exactly one of source_code and source_path"),
    ("kernel.source_path", "a.cpp", "kernel: give exactly one of source_code and source_path"),
    ("kernel.defines", {"A": [1]}, "kernel.defines.A: must be a text or a whole number"),
    ("kernel.metadata", {}, "kernel.metadata.kernel_name: required, and missing"),
    ("name", "a/../b", "name: a name is letters"),
    ("io", 3, "io: must be an object (given: 3)"),
    ("kernel.source_code", "\ud800", "half a surrogate pair"),
]


@pytest.mark.parametrize(("path", "value", "words"), WRONG)
def test_a_wrong_value_is_named_with_what_would_be_right(path: str, value: Any, words: str) -> None:
    assert words in refusal(changed(path, value))


EVIL = [
    "__import__('os').system('true')",
    "open('/etc/passwd')",
    "n.real",
    "[n][0]",
    "(lambda: n)()",
    "f'{n}'",
]


@pytest.mark.parametrize("text", EVIL)
@pytest.mark.parametrize("path", ["io.arguments.0.shape", "io.arguments.2.value", "io.flops"])
def test_expressions_that_call_or_look_things_up_are_refused_as_the_spec_is_read(
    path: str, text: str
) -> None:
    message = refusal(changed(path, [text] if path.endswith("shape") else text))
    assert "is not allowed here; valid: numbers, names" in message


@pytest.mark.parametrize("path", ["name", "kernel", "io", "workloads", "reference"])
def test_what_is_missing_is_named(path: str) -> None:
    assert f"\n  {path}: required, and missing" in refusal(without(path))


@pytest.mark.parametrize(
    ("data", "kind"), [([1], "a list"), ("{}", '"{}"'), (3, "3"), (None, "null")]
)
def test_a_spec_that_is_no_object_is_told_what_it_is(data: object, kind: str) -> None:
    assert f"a spec is a JSON object, this is {kind}" in refusal(data)


def test_every_problem_is_listed_once_and_the_next_step_is_given() -> None:
    data = changed("io.arguments.0.dtype", "f32")
    data["workloads"][0]["weight"] = -1
    data["reference"] = {"source_pth": "a.py"}
    lines = refusal(data).splitlines()
    assert lines[0] == "the spec is not valid:"
    assert [line.split(":")[0].strip() for line in lines[1:-1]] == [
        "io.arguments.0.dtype",
        "workloads.0.weight",
        "reference.source_pth",
    ]
    assert lines[-1].startswith("Next: kernelwright spec --schema")


def test_long_values_are_cut_in_messages() -> None:
    assert len(refusal(changed("io.arguments.0.dtype", "f" * 100_000))) < 1000


def test_two_workloads_cannot_have_one_name() -> None:
    assert "same name" in refusal(changed("workloads", SPEC["workloads"] * 2))


def test_a_refused_spec_leaves_the_data_as_it_was() -> None:
    data = changed("io.arguments.0.dtype", "fp32")
    before = copy.deepcopy(data)
    refusal(data)
    assert data == before


def test_a_reference_may_be_a_path_or_the_baseline() -> None:
    assert parse_spec(changed("reference", "baseline")).reference == "baseline"
    by_path = parse_spec(changed("reference", "reference.py")).reference
    assert by_path == parse_spec(changed("reference", {"source_path": "reference.py"})).reference


@pytest.mark.parametrize(
    ("dtype", "kind", "high"), [("int32", "randint", 10), ("bool", "randint", 2)]
)
def test_integers_are_filled_with_small_numbers_unless_told_otherwise(
    dtype: str, kind: str, high: int
) -> None:
    spec = parse_spec(changed("io.arguments.0.dtype", dtype))
    assert (spec.io.arguments[0].filled.kind, spec.io.arguments[0].filled.high) == (kind, high)


@cache
def schema() -> Any:
    """A validator of the published one, made once; that it is one is a test of its own."""
    return jsonschema.Draft202012Validator(KernelSpec.model_json_schema())


def test_the_published_schema_is_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(KernelSpec.model_json_schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: "/".join(p.parts[-2:]))
def test_the_published_schema_accepts_the_examples(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    schema().validate(data)
    parse_spec(data)


SHORT_FORMS: list[Callable[[], dict[str, Any]]] = [
    lambda: changed("reference", "baseline"),
    lambda: changed("reference", "reference.py"),
    lambda: changed("io.arguments.0.init", "zeros"),
    lambda: changed("io.arguments.0.init", {"kind": "zeros"}),
    lambda: changed("symbols.n", None),
]


@pytest.mark.parametrize("make", SHORT_FORMS)
def test_what_the_reader_accepts_in_short_the_schema_accepts_as_well(
    make: Callable[[], dict[str, Any]],
) -> None:
    parse_spec(make())
    schema().validate(make())


def test_the_schema_refuses_what_the_reader_refuses_by_form() -> None:
    for path, _ in UNKNOWN:
        with pytest.raises(jsonschema.ValidationError):
            schema().validate(changed(path, 1))


@pytest.mark.parametrize(
    ("said", "meant"), [("float", "float32"), ("half", "float16"), ("int", "int32")]
)
def test_types_are_known_by_their_names_in_c(said: str, meant: str) -> None:
    assert f"did you mean `{meant}`?" in refusal(changed("io.arguments.0.dtype", said))
