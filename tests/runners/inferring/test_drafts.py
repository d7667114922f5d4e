"""Drafts of specs, filled in: by random sources, from the command line, in `open_kernel`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from drafts import HOST, INDEX, load
from hypothesis import given, settings
from hypothesis import strategies as st
from python_sources import INNER, JIT, WRAPPER
from typer.testing import CliRunner

from kernelwright.runners.dtypes import DTYPES
from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.completing import OPEN, Draft, draft_of_source
from kernelwright.runners.loading.files import Roots, load_data, parse_spec
from kernelwright.runners.specs.io_contract import Argument
from kernelwright.runners.specs.text import written
from kernelwright.search.session.workbench import Workbench
from kernelwright.server import cli
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel


def filled(value: Any, size: int, dtype: str, role: str, field: str = "") -> Any:
    """A draft as a user completes it: every `?` by something that belongs there."""
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value).items()
        return {k: filled(v, size, dtype, role, k) for k, v in fields}
    if isinstance(value, list):
        return [filled(v, size, dtype, role, field) for v in cast(list[Any], value)]
    if value != OPEN:
        return value
    return {"dtype": dtype, "role": role, "value": 1}.get(field, size)


TYPES = ["float", "double", "int", "long long", "__half", "float4", "Thing", "bool", "unsigned"]
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,6}", fullmatch=True)
STATEMENTS: list[Callable[[str, str], str]] = [
    lambda p, n: f"{p}[i] = 1;",
    lambda p, n: f"if (i < {n}) {p}[i] += 2;",
    lambda p, n: f"{p}[i * {n}] = {p}[0];",
    lambda p, n: f"use({p}, {n});",
    lambda p, n: f"atomicAdd({p} + {n}, 1);",
    lambda p, n: f"float* q = {p} + i; *q = {n};",
    lambda p, n: "",
]


@st.composite
def c_sources(draw: st.DrawFn) -> tuple[str, str]:
    """A CUDA or C++ file with a kernel of random parameters that does something with them."""
    names = draw(st.lists(NAMES, min_size=2, max_size=5, unique=True))
    names = [f"{n}_" if n in RESERVED else n for n in names]
    parts = [f"{draw(st.sampled_from(TYPES))}* {names[0]}"]
    for name in names[1:]:
        star = draw(st.sampled_from(["", "*", " const*", "**", "&"]))
        parts.append(f"{draw(st.sampled_from(TYPES))}{star} {name}")
    chosen = draw(st.lists(st.sampled_from(STATEMENTS), max_size=3))
    body = " ".join(s(draw(st.sampled_from(names)), draw(st.sampled_from(names))) for s in chosen)
    suffix = draw(st.sampled_from(["cu", "cpp"]))
    head = "__global__ void" if suffix == "cu" else "void"
    return f"k.{suffix}", f"{head} k({', '.join(parts)}) {{ {INDEX} {body} }}"


RESERVED = {
    "if",
    "do",
    "for",
    "int",
    "asm",
    "new",
    "try",
    "i",
    "q",
    "bool",
    "case",
    "long",
    "char",
} | {
    *("auto", "else", "enum", "goto", "this", "true", "void", "and", "or", "not", "xor", "use"),
    *("bitor", "break", "catch", "class", "const", "false", "float", "or_eq", "short", "throw"),
    *("union", "using", "while", "double", "sizeof", "signed", "static", "struct", "return"),
    *("switch", "typeid", "public", "inline", "extern", "delete", "export", "friend", "and_eq"),
    *("not_eq", "xor_eq", "bitand", "compl", "typedef", "virtual", "wchar_t", "mutable", "private"),
    *("default", "alignas", "alignof", "nullptr", "concept", "co_await"),
}


@settings(max_examples=60, deadline=None)
@given(
    made=c_sources(),
    size=st.integers(1, 1024),
    dtype=st.sampled_from(["float32", "int32", "float64"]),
)
def test_a_draft_with_its_places_filled_in_always_loads(
    made: tuple[str, str], size: int, dtype: str
) -> None:
    name, source = made
    try:
        found = draft_of_source(name, source)
    except SpecError as error:
        assert "no argument that it could write" in error.message
        return
    _check_that_it_loads(found, source, size, dtype)


@settings(max_examples=30, deadline=None)
@given(
    names=st.lists(NAMES.map(lambda n: f"a_{n}"), min_size=2, max_size=6, unique=True),
    actions=st.lists(
        st.tuples(st.sampled_from(["load", "store", "atomic_add", "none"]), st.integers(0, 5)),
        max_size=4,
    ),
    block=st.sampled_from(["BLOCK", "GROUP_M", "ROWS"]),
    wrapped=st.booleans(),
    size=st.integers(1, 512),
)
def test_a_triton_draft_with_its_places_filled_in_always_loads(
    names: list[str], actions: list[tuple[str, int]], block: str, wrapped: bool, size: int
) -> None:
    lines = [
        f"    tl.{what}({names[at % len(names)]} + tl.program_id(0) * {block}, 1)"
        for what, at in actions
        if what != "none"
    ]
    listed = ", ".join(names)
    source = f"@triton.jit\ndef k({listed}, {block}: tl.constexpr):\n    pass\n" + "\n".join(lines)
    if wrapped:
        source += f"\n\ndef w({listed}):\n    out = torch.empty_like({names[0]})\n"
        source += f"    k[(1,)]({listed}, {block}=8)\n    return out\n"
    try:
        found = draft_of_source("k.py", source)
    except SpecError as error:
        assert "no argument that it could write" in error.message
        return
    _check_that_it_loads(found, source, size, "float32")


def _check_that_it_loads(found: Draft, source: str, size: int, dtype: str) -> None:
    data = filled(found.data, size, dtype, "output")
    open_places = json.dumps(found.data).count(f'"{OPEN}"')
    placed = [line for line in found.undecided if line.partition(":")[0].count(".")]
    assert len(placed) == open_places
    del data["kernel"]["source_path"]
    data["kernel"]["source_code"] = source
    spec = load(data)
    assert all(isinstance(a, Argument) for a in spec.io.arguments)
    assert parse_spec(json.loads(written(data))) == spec


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=60),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=9), inner),
    )
)
def test_the_written_form_is_the_same_json(data: object) -> None:
    assert json.loads(written(data)) == data


def test_every_dtype_that_c_types_give_is_one_of_ours() -> None:
    text = ", ".join(f"const {kind}* p{at}" for at, kind in enumerate(TYPES))
    found = draft_of_source(
        "k.cu", f"__global__ void k({text}, float* out) {{ {INDEX} out[i]=1; }}"
    )
    assert {a["dtype"] for a in found.data["io"]["arguments"]} <= {*DTYPES, OPEN}


@pytest.mark.parametrize(
    ("name", "source", "chosen"),
    [
        ("k.cu", f"__global__ void k(float* p, float f, int n) {{ {INDEX} p[i * n] = f; }}", []),
        ("scale.cpp", HOST, []),
        ("add.py", JIT, []),
        ("wrapped.py", INNER + WRAPPER, []),
        ("wrapped.py", INNER + WRAPPER, ["--kernel", "kernel"]),
    ],
    ids=["cuda", "cpp", "triton", "wrapper", "chosen"],
)
def test_spec_infer_prints_a_spec_that_loads_once_filled_in(
    tmp_path: Path, name: str, source: str, chosen: list[str]
) -> None:
    (tmp_path / name).write_text(source, encoding="utf-8")
    result = CliRunner().invoke(cli.app, ["spec", "--infer", str(tmp_path / name), *chosen])
    assert result.exit_code == 0
    printed = json.loads(result.stdout)
    places = [line for line in result.stderr.splitlines() if line.startswith("  ")]
    assert len(places) == result.stdout.count(f'"{OPEN}"') > 0
    data = filled(printed, 64, "float32", "output")
    assert load_data(data, tmp_path, Roots([tmp_path])).source == source


def test_a_function_that_others_of_a_program_call_is_named_and_drafted() -> None:
    source = (
        "void scale(const float* x, float* y, int n)\n"
        "{ for (int i = 0; i < n; i++) y[i] = 2 * x[i]; }\n"
        "void step(float* y, const float* x, int n) { scale(x, y, n); }\n"
        "void reset(float* y) { y[0] = 0; }\n"
        "int main(void) { return 0; }\n"
    )
    found = draft_of_source("train.c", source, "scale")
    shapes = [a.get("shape") for a in found.data["io"]["arguments"]]
    assert shapes == [["n"], ["n"], None]
    with pytest.raises(SpecError, match="--kernel scale") as refused:
        draft_of_source("train.c", source)
    assert "step, reset; called by these: scale" in str(refused.value)


def test_spec_takes_one_wish_at_a_time(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("", encoding="utf-8")
    result = CliRunner().invoke(cli.app, ["spec", "--schema", "--infer", str(tmp_path / "k.cu")])
    assert result.exit_code == 1
    assert "give one of" in result.stderr


def test_open_kernel_opens_a_source_that_says_everything_and_refuses_others(tmp_path: Path) -> None:
    text = "void k(const float x[64], float y[64]) { for (int i = 0; i < 64; i++) y[i] = x[i]; }"
    (tmp_path / "k.cpp").write_text(text, encoding="utf-8")
    (tmp_path / "scale.cpp").write_text(HOST, encoding="utf-8")
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        opened = open_kernel(bench, OpenKernelArguments(source_path="k.cpp"))
        assert opened.entry == "void k(const float* x, float* y)"
        with pytest.raises(SpecError, match="does not say all of a spec"):
            open_kernel(bench, OpenKernelArguments(source_path="scale.cpp", entry="scale"))


def test_open_kernel_takes_a_source_and_its_entry_but_no_entry_of_a_spec() -> None:
    OpenKernelArguments(source_path="k.cu", entry="k")
    with pytest.raises(ValueError, match="`entry` and `goal` go with source_path"):
        OpenKernelArguments(spec_path="spec.json", entry="k")
    with pytest.raises(ValueError, match="exactly one of spec_path, spec, source_path"):
        OpenKernelArguments(spec_path="spec.json", source_path="k.cu")
