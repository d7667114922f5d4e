"""What of a file a kernel needs."""

from __future__ import annotations

from kernelwright.runners.c_source.needed_part import needed_part

SOURCE = """\
#include <vector>
#define SCALE(v) (factor * twice(v))
using namespace std;
typedef struct { float x, y; } Point;
struct Held { std::vector<int> all; };
static lib_handle_t handle;
__constant__ float factor = 3.0f;
enum Kind { PLAIN, SCALED };
namespace parts {
template <typename T> __device__ T twice(T v) { return v + v; }
template <typename T> __device__ T thrice(T v) { return v + v + v; }
}
using parts::twice;
std::map<int, int> table = {{1, 2}};
__device__ Point operator+(Point a, Point b) { return {a.x + b.x, a.y + b.y}; }
__global__ void other(Held* h) { }
__global__ void k(Point* p, float* y, Kind kind) { y[0] = kind == SCALED ? SCALE(p->x) : 0; }
"""


def test_what_is_named_stays_with_what_that_names_and_the_rest_goes() -> None:
    found = needed_part(SOURCE, "k", frozenset())
    for word in ("Point;", "factor =", "SCALED }", "T twice", "operator+", "void k(", "std;"):
        assert word in found
    for word in ("Held", "lib_handle_t", "thrice", "std::map", "void other"):
        assert word not in found


def test_lines_keep_their_numbers() -> None:
    assert needed_part(SOURCE, "k", frozenset({"vector"})).count("\n") == SOURCE.count("\n")


def test_each_branch_of_the_preprocessor_keeps_what_is_needed() -> None:
    source = "#ifdef A\ntypedef double real;\nint gone;\n#else\ntypedef float real;\n#endif\n"
    found = needed_part(source + "__global__ void k(real* y) { }\n", "k", frozenset())
    assert "double real" in found and "float real" in found and "gone" not in found


def test_a_header_for_c_too_hides_nothing_behind_it() -> None:
    source = (
        '#ifdef __cplusplus\nextern "C" {\n#endif\nvoid timer(void);\nextern "C" void tick(void);\n'
        "#ifdef __cplusplus\n}\n#endif\n#define ON __device__\nON float half_of(float v) "
        "{ return v / 2; }\n__global__ void k(float* y) { y[0] = half_of(y[0]); }\n"
    )
    found = needed_part(source, "k", frozenset())
    assert (
        "void k(" in found
        and "half_of(float v)" in found
        and not {"timer", "tick"} & {*found.split()}
    )
    assert "extern" not in found


def test_headers_that_are_not_there_are_left_out() -> None:
    source = "#include <math.h>\n#include <map>\n__global__ void k(float* y) { }\n"
    found = needed_part(source, "k", frozenset({"math.h"}))
    assert "<math.h>" in found and "<map>" not in found
