"""Which instance of a kernel template a spec is for: the one that the file launches."""

from __future__ import annotations

import pytest

from kernelwright.runners.inferring.cpp_inference import Surroundings
from kernelwright.runners.inferring.readers import source_kernel
from kernelwright.runners.inferring.signature import SourceKernel

KERNEL = """\
template <{head}>
__global__ void axpy(const T* x, T* y, {of} a, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}}
"""


def read(source: str, entry: str = "") -> SourceKernel:
    found = source_kernel(Surroundings(source, entry=entry), "axpy", "cuda")
    assert found is not None
    return found


def instance(found: SourceKernel) -> object:
    return (found.launch or {}).get("entry")


@pytest.mark.parametrize(
    ("head", "of", "host", "name", "dtype"),
    [
        ("typename T", "T", "void go(float* x, float* y, int n) { axpy<float><<<n / 64, 64>>>"
         "(x, y, 2.0f, n); }", "axpy<float>", "float32"),
        ("class T, typename S", "S", "void go(const double* p, double* q, int n) {"
         " axpy<<<n / 64, 64>>>(p, q, 2.0f, n); }", "axpy<double, float>", "float64"),
        ("typename T, int BLOCK = 128", "T", "void go(int n) { float *p, *q; cudaMalloc(&p, 4 * n);"
         " axpy<<<n / 64, 64>>>(p, q, 1.f, n); }", "axpy<float, 128>", "float32"),
        ("typename T, int BLOCK", "T", "constexpr int WIDE = 2 * 128;\nvoid go(void* p, int n) {"
         " axpy<double, WIDE><<<n / WIDE, WIDE>>>((const double*)p, (double*)p, 1.0, n); }",
         "axpy<double, 256>", "float64"),
        ("typename T", "T", "template <typename U> void go(U* x, U* y, int n) {"
         " axpy<U><<<n / 64, 64>>>(x, y, U(2), n); }\nint main() { go<double>(0, 0, 4); }",
         "axpy<double>", "float64"),
        ("typename scalar_t, typename T = scalar_t", "T", "void go(Tensor t) {"
         " AT_DISPATCH_FLOATING_TYPES(t.scalar_type(), \"go\", ([&] { axpy<scalar_t, scalar_t>"
         "<<<1, 64>>>(t.data_ptr<scalar_t>(), t.data_ptr<scalar_t>(), 1, 2); })); }",
         "axpy<float, float>", "float32"),
    ],
    ids=["written", "deduced", "a default", "a constant and casts", "by a host template",
         "for each type by PyTorch"],
)  # fmt: skip
def test_the_instance_that_is_launched_is_read(
    head: str, of: str, host: str, name: str, dtype: str
) -> None:
    found = read(KERNEL.format(head=head, of=of) + host)
    assert instance(found) == name
    assert {a.name: a.dtype for a in found.arguments}["y"] == dtype
    assert not found.notes


def test_an_instance_that_the_spec_names_is_read_in_place_of_the_launched_one() -> None:
    source = KERNEL.format(head="typename T", of="T")
    source += "void go(float* x, float* y, int n) { axpy<float><<<1, 64>>>(x, y, 2.0f, n); }"
    assert {a.name: a.dtype for a in read(source, "axpy<double>").arguments}["x"] == "float64"


@pytest.mark.parametrize(
    "host",
    ["", "template <typename U> void go(U* x, U* y, int n) { axpy<U><<<1, 64>>>(x, y, U(2), n); }"],
    ids=["no launch", "a host template that nobody calls"],
)
def test_where_the_file_does_not_say_it_the_choice_is_left(host: str) -> None:
    found = read(KERNEL.format(head="typename T", of="T") + host)
    assert instance(found) is None
    assert found.notes == ("`axpy` is a template: an instance has to be chosen",)


def test_a_template_of_any_number_of_types_is_left() -> None:
    source = KERNEL.format(head="typename T, typename... Rest", of="T")
    assert (
        instance(read(source + "void go(float* x) { axpy<float><<<1, 64>>>(x, x, 2, 1); }")) is None
    )
