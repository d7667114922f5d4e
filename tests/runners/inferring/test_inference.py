"""Specs without `io`: completed where the source leaves no doubt, else refused with a draft."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from drafts import HOST, INDEX, LAUNCH, cuda, load

from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.completing import OPEN, draft_of_source, entries, kernel_kind
from kernelwright.runners.loading.files import Roots, load_source
from kernelwright.runners.specs.spec import KernelSpec

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted(
    p for p in ROOT.glob("examples/*/*.json") if "kernel" in json.loads(p.read_text())
)
VECTOR_ADD = r"""
{"name": "vector_add_cuda", "kernel": {"kernel_type": "cuda", "source_code":
"extern \"C\" __global__ void kernel(float* a, float* b, float* c, int n){ int i = blockIdx.x*blockDim.x+threadIdx.x; if (i < n) c[i] = a[i] + b[i]; }",
"metadata": {"kernel_name": "kernel"}, "invocation_example": "", "io": {"launch": {"grid": {"x": 256,
"y": 1, "z": 1}, "block": {"x": 256, "y": 1, "z": 1}}}}, "device_profile": {"gpu_name": "H100",
"arch": "sm_90"}}
"""  # noqa: E501


def vector_add(**kernel: Any) -> dict[str, Any]:
    data = json.loads(VECTOR_ADD)
    data["kernel"] |= kernel
    return data


def refused(data: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The refusal of a spec: the text about what is undecided, and the draft in it."""
    with pytest.raises(SpecError) as caught:
        load(data)
    text, _, draft = caught.value.message.partition(f"`{OPEN}` where you decide:\n")
    assert "kernelwright spec --infer SOURCE" in caught.value.next_step
    return text, json.loads(draft)


def roles(spec: KernelSpec) -> dict[str, str]:
    return {a.name: a.role for a in spec.io.arguments}


def role_of(parameters: str, body: str, name: str = "p") -> str:
    """The role of a pointer parameter in a kernel of that body, which also writes `out`."""
    text = f"__global__ void k({parameters}, float* out) {{ {INDEX} out[i] = 1; {body} }}"
    found = draft_of_source("k.cu", text).data["io"]["arguments"]
    return next(a["role"] for a in found if a["name"] == name)


def test_a_spec_with_the_source_and_the_launch_alone_is_completed() -> None:
    spec = load(json.loads(VECTOR_ADD))
    assert roles(spec) == {"a": "input", "b": "input", "c": "output", "n": "scalar"}
    assert [a.dtype for a in spec.io.arguments] == ["float32"] * 3 + ["int32"]
    assert [a.shape for a in spec.io.arguments] == [("n",)] * 3 + [()]
    assert spec.workloads[0].name == "default"
    assert spec.workloads[0].symbols == {"n": 256 * 256}
    assert spec.reference == "baseline"
    assert spec.device_profile.arch == "sm_90"


def test_the_older_place_of_the_launch_means_the_same_as_todays() -> None:
    old = json.loads(VECTOR_ADD)
    new = json.loads(VECTOR_ADD)
    new["kernel"]["launch"] = new["kernel"].pop("io")["launch"]
    assert load(old) == load(new)
    assert load(vector_add(launch=old["kernel"]["io"]["launch"])) == load(new)


def test_two_launches_that_differ_are_refused() -> None:
    with pytest.raises(SpecError, match=r"kernel\.launch and kernel\.io\.launch differ"):
        load(vector_add(launch=LAUNCH))


def test_arguments_in_the_older_place_are_sent_to_todays() -> None:
    with pytest.raises(SpecError) as caught:
        load(vector_add(io={"arguments": []}))
    assert "`io` beside `kernel`" in caught.value.valid


def test_a_spec_with_io_is_never_completed() -> None:
    data: dict[str, Any] = vector_add() | {"io": {"arguments": []}}
    with pytest.raises(SpecError, match=r"reference: required, and missing"):
        load(data)


def test_what_the_user_gave_is_kept() -> None:
    given: dict[str, Any] = {
        "symbols": {"n": {"min": 1, "max": 5000}},
        "workloads": [{"name": "small", "symbols": {"n": 1000}}],
        "reference": {"source_code": "def reference(a, b, n): return a + b"},
    }
    spec = load(vector_add() | given)
    assert [(w.name, w.symbols) for w in spec.workloads] == [("small", {"n": 1000})]
    assert spec.symbols["n"] is not None and spec.symbols["n"].max == 5000
    assert spec.reference != "baseline"


@pytest.mark.parametrize(
    ("body", "role"),
    [
        ("float v = p[i];", "input"),
        ("", "input"),
        ("p[i] = 1;", "output"),
        ("*(p + i) = 1;", "output"),
        ("p[i] += 1;", "inout"),
        ("p[i]++;", "inout"),
        ("--p[i];", "inout"),
        ("p[i] = p[i] * 2;", "inout"),
        ("atomicAdd(&p[i], 1.0f);", "inout"),
        ("atomicMax((int*)p, 1);", "inout"),
        ("reinterpret_cast<float4*>(p)[i] = make_float4(0, 0, 0, 0);", "output"),
        ("((float4*)p)[i].x = 1;", "output"),
        ("float4 v = *reinterpret_cast<const float4*>(&p[4 * i]);", "input"),
        ("float* q = p + i; *q = 1;", "output"),
        ("auto q = p; auto* r = q; r[i] = 1;", "output"),
        ("float* q; q = i ? p : nullptr; q[i] = 1;", "output"),
        ("float& v = p[i]; v = 3;", "output"),
        ("for (float* q = p; q < p + 4; ++q) *q++ = 1;", "output"),
        ("float v = __ldg(p + i);", "input"),
        ("__stcs(&p[i], 1.0f);", "output"),
        ("if (p != nullptr) return;", "input"),
        ("helper(p);", OPEN),
        ("helper(&p[i]);", OPEN),
        ("swap(p[i], p[i + 1]);", OPEN),
        ("struct S { float* q; } s; s.q = p;", OPEN),
        ("size_t where = (size_t)p;", OPEN),
        ('asm volatile("st.global.f32 [%0], 0;" :: "l"(p));', OPEN),
        ("memcpy(p, q, 4);", "output"),
    ],
)
def test_stores_through_a_pointer_decide_its_role(body: str, role: str) -> None:
    assert role_of("float* p", body) == role


def test_a_function_that_takes_a_reference_may_store_through_it() -> None:
    text = (
        "__device__ void add(float& x) { x += 1; }\n"
        f"__global__ void k(float* p, float* q) {{ {INDEX} add(p[i]); q[i] = sqrtf(q[i]); }}"
    )
    first, second = draft_of_source("k.cu", text, "k").data["io"]["arguments"]
    assert (first["role"], second["role"]) == (OPEN, "inout")


def test_const_pointers_are_inputs_wherever_they_go() -> None:
    assert role_of("const float* p", "helper(p);") == "input"


@pytest.mark.parametrize(
    ("declared", "dtype"),
    [
        ("const float* __restrict__ p", "float32"),
        ("double const* p", "float64"),
        ("const __half* p", "float16"),
        ("const __nv_bfloat16* p", "bfloat16"),
        ("const unsigned* p", "uint32"),
        ("const unsigned long long int* p", "uint64"),
        ("const long long* p", "int64"),
        ("const std::uint8_t* p", "uint8"),
        ("const char* p", "int8"),
        ("const short int p[16]", "int16"),
        ("const bool* p", "bool"),
        ("const double2* p", "float64"),
        ("const T* p", OPEN),
        ("float** p", OPEN),
        ("const void* p", OPEN),
    ],
)
def test_element_types_come_from_the_c_types(declared: str, dtype: str) -> None:
    text = f"__global__ void k({declared}, float* out) {{ {INDEX} out[i] = 1; }}"
    assert draft_of_source("k.cu", text).data["io"]["arguments"][0]["dtype"] == dtype


@pytest.mark.parametrize(
    ("parameters", "body", "shape"),
    [
        ("float* p, int n", "if (i < n) p[i] = 1;", ("n",)),
        ("float* p, unsigned n", "if (i >= n) return; p[i] = 1;", ("n",)),
        ("float* p, size_t num_elements", "p[i] = 1;", ("num_elements",)),
        ("float4* p, int n", "if (n > i) p[i].x = 1;", ("4 * n",)),
        ("float* p, int n", "if (i < n) ((float2*)p)[i] = {};", ("2 * n",)),
        ("float* p", "p[i] = 1;", (1024,)),
        ("float* p", "if (i < 1000) p[i] = 1;", (1000,)),
        ("float* p", "if (i < 100000) p[i] = 1;", (1024,)),
        ("float* p, int n", "int j = i; if (j < n) p[(size_t)j] = 1;", ("n",)),
        ("float* p, int lambda", "if (i < lambda) p[i] = 1;", ("lambda_",)),
    ],
)
def test_arrays_indexed_by_the_thread_have_as_many_elements(
    parameters: str, body: str, shape: tuple[int | str, ...]
) -> None:
    spec = load(cuda(f"__global__ void k({parameters}) {{ {INDEX} {body} }}"))
    assert spec.io.arguments[0].shape == shape
    assert list(spec.workloads[0].symbols.values()) == [1024] * len(spec.symbols)


@pytest.mark.parametrize(
    ("parameters", "body", "line"),
    [
        ("float* p, int m, int n", "if (i < n) p[i] = m;", "symbols.m: the value of `m`"),
        ("float* p, float alpha, int n", "if (i < n) p[i] = alpha;", "alpha.value: a number"),
        ("float* p, bool flag, int n", "if (i < n) p[i] = flag;", "flag.value: a number"),
        ("float* p, int n", "p[threadIdx.x * n + blockIdx.x] = 1;", "p.shape: its sizes"),
        ("float* p, int n", "if (i < n) p[i + 1] = 1;", "p.shape: its sizes"),
        ("float* p, int n", "for (; i < n; i += 8) p[i] = 1;", "p.shape: its sizes"),
        ("float* p, int n", "if (i < n / 4) p[i] = 1;", "the thread is limited by n / 4"),
        ("float* p, int n", "if (i <= n) p[i] = 1;", "the thread is limited by <= n"),
        ("float* p, int n", "n -= 1; if (i < n) p[i] = 1;", "symbols.n: the value of `n`"),
        ("float* p, int factor", "p[i] = factor;", "nothing says which integer"),
        ("float* p, int n", "if (i < n) p[(unsigned char)i] = 1;", "p.shape: its sizes"),
        ("float* p, int n", "if (i < n) store(p);", "goes to the function `store`"),
        ("float* p, int n", "float v = p[i];", "p.role: input, output or inout (no store"),
        ("Thing* p, int n", "if (i < n) p[i] = {};", "`Thing*` is no type"),
        ("float* p, Thing t, int n", "if (i < n) p[i] = 1;", "t.dtype: "),
        ("float* p, int n", "if (i < n) p[i] = ((;", "unreadable"),
    ],
)
def test_what_the_source_leaves_open_is_refused_and_marked(
    parameters: str, body: str, line: str
) -> None:
    text, draft = refused(cuda(f"__global__ void k({parameters}) {{ {INDEX} {body} }}"))
    assert line in text
    assert f'"{OPEN}"' in json.dumps(draft)


@pytest.mark.parametrize(
    "launch",
    [
        {"grid": [8, 8], "block": [128]},
        {"grid": ["cdiv(n, 128)"], "block": [128]},
        {"grid": {"x": 8}, "block": {"x": 16, "y": 8}},
    ],
)
def test_a_launch_that_is_not_along_one_axis_in_numbers_gives_no_size(launch: object) -> None:
    text, draft = refused(
        cuda(f"__global__ void k(float* p, int n) {{ {INDEX} if (i < n) p[i] = 1; }}", launch)
    )
    assert "workloads.default.symbols.n" in text
    assert draft["workloads"][0]["symbols"] == {"n": OPEN}
    assert draft["kernel"]["launch"] == launch


def test_a_template_is_refused_with_the_reason() -> None:
    source = f"template <typename T> __global__ void k(T* p) {{ {INDEX} p[i] = 1; }}"
    text, draft = refused(cuda(source))
    assert "`k` is a template" in text
    assert draft["io"]["arguments"][0]["dtype"] == OPEN


def test_a_kernel_without_anything_to_write_to_is_refused() -> None:
    with pytest.raises(SpecError, match="no argument that it could write a result to"):
        load(cuda("__global__ void k(const float* p, int n) {}"))


def test_an_entry_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(SpecError) as caught:
        load(cuda("__global__ void other(float* p) {} __global__ void more(float* p) {}"))
    assert caught.value.valid == "other, more"


def test_atomics_on_floats_are_said_not_to_be_deterministic_and_start_from_zero() -> None:
    source = f"__global__ void k(float* p) {{ {INDEX} atomicAdd(&p[i], 1.0f); }}"
    spec = load(cuda(source))
    assert not spec.io.deterministic
    assert spec.io.arguments[0].filled.kind == "zeros"
    assert load(cuda(source.replace("float*", "int*"))).io.deterministic


def test_long_sources_are_not_repeated_in_a_refusal() -> None:
    source = "// " + "x" * 5000 + f"\n__global__ void k(float* p, int n) {{ {INDEX} f(p); }}"
    _, draft = refused(cuda(source))
    assert draft["kernel"]["source_code"] == f"({len(source)} characters, as given)"


def test_a_source_nested_too_deeply_is_refused_not_crashed_on() -> None:
    source = f"__global__ void k(float* p) {{ {INDEX} p[i] = {'(' * 20000}1{')' * 20000}; }}"
    with pytest.raises(SpecError):
        load(cuda(source.replace("p[i]", f"p[{'(' * 20000}i{')' * 20000}]")))


def test_a_launch_is_written_where_each_thread_has_its_element() -> None:
    found = draft_of_source(
        "k.cu", f"__global__ void k(float* p, int n) {{ {INDEX} if (i < n) p[i] = 1; }}"
    )
    assert found.data["kernel"]["launch"] == {"grid": ["cdiv(n, 256)"], "block": [256]}
    assert [line.partition(":")[0] for line in found.undecided] == ["workloads.default.symbols.n"]


def test_host_functions_have_sizes_from_plain_loops() -> None:
    assert entries(HOST, "cpp") == ("scale",)
    found = draft_of_source("scale.cpp", HOST)
    arguments = {a["name"]: a for a in found.data["io"]["arguments"]}
    assert arguments["x"] == {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]}
    assert arguments["y"]["role"] == "output"
    assert arguments["factor"]["value"] == OPEN
    assert "launch" not in found.data["kernel"]


def test_a_file_whose_sizes_are_all_written_down_opens_by_itself(tmp_path: Path) -> None:
    (tmp_path / "part.hpp").write_text("#define N 64\n", encoding="utf-8")
    text = '#include "part.hpp"\n#include "cuda.h"\nvoid k(const float x[64], float y[64]) {'
    source = tmp_path / "k.cpp"
    source.write_text(text + "for (int i = 0; i < 64; i++) y[i] = x[i]; }", encoding="utf-8")
    kernel = load_source(source, Roots([tmp_path]))
    assert roles(kernel.spec) == {"x": "input", "y": "output"}
    assert kernel.source_path == str(source)
    assert list(kernel.files) == ["part.hpp"]


def test_a_file_that_leaves_something_open_is_refused_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "scale.cpp").write_text(HOST, encoding="utf-8")
    with pytest.raises(SpecError) as caught:
        load_source(tmp_path / "scale.cpp", Roots([tmp_path]))
    assert "kernelwright spec --infer scale.cpp" in caught.value.next_step
    assert "save it beside scale.cpp" in caught.value.next_step


@pytest.mark.parametrize("name", ["a.txt", "a", "a.ptx"])
def test_other_files_are_refused_with_the_suffixes_that_are_known(name: str) -> None:
    with pytest.raises(SpecError) as caught:
        kernel_kind(name)
    assert ".cu" in caught.value.valid


@pytest.mark.parametrize("name", ["empty.cu", "empty.cpp", "empty.py"])
def test_a_file_without_a_kernel_is_refused(name: str) -> None:
    with pytest.raises(SpecError, match="no kernel found"):
        draft_of_source(name, "\n")


def test_of_several_kernels_one_has_to_be_named() -> None:
    two = "__global__ void f(float* p) { *p = 1; } __global__ void g(float* p) { *p = 1; }"
    with pytest.raises(SpecError) as caught:
        draft_of_source("two.cu", two)
    assert caught.value.valid == "f, g"
    assert "--kernel f" in caught.value.next_step
    assert draft_of_source("two.cu", two, "g").data["kernel"]["metadata"]["kernel_name"] == "g"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: f"{p.parent.name}/{p.name}")
def test_no_example_is_read_otherwise_than_its_spec_says(path: Path) -> None:
    spec = json.loads(path.read_text(encoding="utf-8"))
    source = path.parent / spec["kernel"]["source_path"]
    text, entry = source.read_text(encoding="utf-8"), spec["kernel"]["metadata"]["kernel_name"]
    found = {
        a["name"]: a for a in draft_of_source(source.name, text, entry).data["io"]["arguments"]
    }
    for argument in spec["io"]["arguments"]:
        inferred = found.get(argument["name"], argument)
        # what only atomics write is inout to the source alone; a plan may fill it first
        added = inferred.get("init") == "zeros"
        assert inferred["role"] in (OPEN, argument["role"]) or added
        assert inferred["dtype"] in (OPEN, argument["dtype"])
