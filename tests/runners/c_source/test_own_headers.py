"""Files that a source includes from beside it."""

from __future__ import annotations

from kernelwright.runners.c_source.own_headers import quoted, with_headers

SOURCE = """\
#include <cstdio>
#include "sizes.h"
// #include "gone.h"
#include "parts/kernels.cuh"
int main() { return N; }
"""
FILES = {
    "sizes.h": "#define N 4",
    "parts/kernels.cuh": '#include "../sizes.h"\n#include "real.h"\n__global__ void k(real* y);\n',
    "parts/real.h": "typedef float real;\n",
}


def test_quoted_files_are_told_in_order_and_comments_are_not_read() -> None:
    assert quoted(SOURCE) == ("sizes.h", "parts/kernels.cuh")


def test_each_file_stands_once_where_it_is_included_first_with_what_it_includes() -> None:
    whole = with_headers(SOURCE, FILES)
    assert whole.splitlines() == [
        "#include <cstdio>",
        "#define N 4",
        '// #include "gone.h"',
        "",
        "typedef float real;",
        "__global__ void k(real* y);",
        "int main() { return N; }",
    ]


def test_a_file_that_is_not_known_stays_an_include() -> None:
    assert with_headers('#include "a.h"\n', {"b.h": ""}) == '#include "a.h"\n'


def test_files_that_include_each_other_end() -> None:
    rounds = {"a.h": '#include "b.h"\nint a;', "b.h": '#include "a.h"\nint b;'}
    assert with_headers('#include "a.h"\n', rounds).split() == ["int", "b;", "int", "a;"]
