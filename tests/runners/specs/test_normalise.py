"""Layouts of one source share a key; sources that differ in a token do not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.c_source.preprocessor import preproc_text
from kernelwright.runners.languages import KernelType
from kernelwright.runners.specs.normalise import source_key

CPP = """\
#include <cstdint>
#ifndef TILE
#define TILE 32
#endif
#define ROUND(x, n) (((x) + (n)-1) / (n))
constexpr int UNROLL = 4;

extern "C" void scale(const float* a, float* out, std::int64_t n) {
    const char* name = "not // a comment";
    #pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < n; i += TILE) {
        float x = 0x1.8p3f * a[i] + 1'000;
        out[i] = name[0] == '/' ? x : x / UNROLL;
    }
}
"""
CUDA = """\
__global__ void __launch_bounds__(128) add(float* __restrict__ a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("membar.gl;" ::: "memory");
    if (i < n) a[i] += 1.0f;
}
void go(float* a, int n) { add<<<(n + 127) / 128, 128>>>(a, n); }
"""
TRITON = """\
import triton

@triton.jit
def add(x, n, BLOCK: triton.language.constexpr):
    i = triton.language.arange(0, BLOCK)
    triton.language.store(x + i, 1.0, mask=i < n)
"""
between_lines = st.sampled_from(["", "   ", "\t", '// a "comment"', "/* of\n two lines */", "\n\n"])


@given(st.lists(between_lines, min_size=CPP.count("\n"), max_size=CPP.count("\n")))
def test_comments_and_blank_lines_between_lines_do_not_change_the_key(extra: list[str]) -> None:
    lines = [f"{line}\n{more}" for line, more in zip(CPP.splitlines(), extra, strict=True)]
    assert source_key("\n".join(lines), "cpp") == source_key(CPP, "cpp")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("32", "64"),
        ("UNROLL = 4", "UNROLL = 8"),
        ("'/'", "'+'"),
        ("not // a", "not // b"),
        ("not // a", "not  // a"),
        ("0x1.8p3f", "0x1.8p4f"),
        ("static", "dynamic"),
        ("(n)-1", "(n)+1"),
        ("i < n", "i <= n"),
        ("const float*", "float*"),
        ("<cstdint>", "<cstddef>"),
        ("#ifndef", "#ifdef"),
    ],
)
def test_any_changed_token_changes_the_key(before: str, after: str) -> None:
    assert before in CPP
    assert source_key(CPP.replace(before, after, 1), "cpp") != source_key(CPP, "cpp")


@given(st.integers(2, 10**9))
def test_a_changed_literal_changes_the_key(value: int) -> None:
    changed = CPP.replace("UNROLL = 4", f"UNROLL = {value}")
    assert (source_key(changed, "cpp") == source_key(CPP, "cpp")) == (value == 4)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("int a=1;int b;", "int a = 1;\n\n\tint   b ;\n"),
        ("#define N 4 // four\nint a;", "#define N   4\nint a;"),
        ("#define N (1 + \\\n  2)\nint a;", "#define N (1 + 2)\nint a;"),
        ("#define N 4\r\n#if N\r\nint a;\r\n#endif\r\n", "#define N 4\n#if N\nint a;\n#endif\n"),
        ("#define N 4 /* a\n b */\nint a;", "#define N 4\nint a;"),
        ("int a /* why */ = 1;", "int a = 1; // why not"),
        ("int a\\\n = 1;", "int a = 1;"),
        ("std::vector<std::vector<int>> v;", "std::vector<std::vector<int> > v;"),
    ],
)
def test_two_layouts_of_one_source_give_one_key(one: str, other: str) -> None:
    assert source_key(one, "cpp") == source_key(other, "cpp")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("#define A\nint a;", "#define A int a;"),
        ("#if A\n-B;\n#endif\n", "#if A - B\n;\n#endif\n"),
        ("#define A (x) x", "#define A(x) x"),
        ("void f(){a = b + +c;}", "void f(){a = b++ + c;}"),
        ('#define U "a  b"\n', '#define U "a b"\n'),
        # the grammar reads from the /* in the string to the end of the comment as one comment
        (
            '#define U "/*"\nint a = 1; /* c */\nint b;',
            '#define U "/*"\nint a = 2; /* c */\nint b;',
        ),
    ],
)
def test_sources_that_mean_different_things_have_different_keys(one: str, other: str) -> None:
    assert source_key(one, "cpp") != source_key(other, "cpp")


def test_cuda_launches_and_inline_assembly_are_read_by_tokens() -> None:
    assert source_key(CUDA.replace("128>>>", " 128 >>>\n"), "cuda") == source_key(CUDA, "cuda")
    assert source_key(CUDA.replace("128>>>", "256>>>"), "cuda") != source_key(CUDA, "cuda")
    assert source_key(CUDA.replace("membar.gl", "membar.cta"), "cuda") != source_key(CUDA, "cuda")


def test_triton_sources_are_compared_as_python() -> None:
    commented = "# a kernel\n" + TRITON.replace("(x, n,", "(\n    x,  # base\n    n,")
    assert source_key(commented, "triton") == source_key(TRITON, "triton")
    assert source_key(TRITON.replace("1.0", "2.0"), "triton") != source_key(TRITON, "triton")


@pytest.mark.parametrize("kernel_type", ["cpp", "cuda", "triton"])
def test_a_text_that_does_not_parse_is_compared_line_by_line(kernel_type: KernelType) -> None:
    broken = "def f(:\n  }} int ((\n"
    assert source_key(broken, kernel_type) == source_key("def f(:  \n  }} int ((\n\n", kernel_type)
    assert source_key(broken, kernel_type) != source_key("def f(:\n }} int ((\n", kernel_type)


@given(st.text(st.characters(), max_size=200), st.sampled_from(["cpp", "cuda", "triton"]))
def test_no_text_makes_it_raise(text: str, kernel_type: KernelType) -> None:
    assert len(source_key(text, kernel_type)) == 16


def test_deep_nesting_does_not_make_it_raise() -> None:
    deep = "int a = " + "(" * 20_000 + "1" + ")" * 20_000 + ";"
    assert source_key(deep, "cpp") == source_key(deep.replace("= (", "=\n("), "cpp")
    assert source_key("x = " + "-" * 5_000 + "1", "triton")


def test_a_preprocessor_line_is_said_without_comments_and_breaks() -> None:
    assert preproc_text(b'  4  /* a */ + \\\n "b // c"  // d') == b'4 + "b // c"'
    assert preproc_text(b"1'000") == b"1'000"
    assert preproc_text(b'"open') is None
