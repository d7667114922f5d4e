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
    found = needed_part(SOURCE, "k")
    for word in ("Point;", "factor =", "SCALED }", "T twice", "operator+", "void k(", "std;"):
        assert word in found
    for word in ("Held", "lib_handle_t", "thrice", "std::map", "void other"):
        assert word not in found


def test_lines_keep_their_numbers() -> None:
    assert needed_part(SOURCE, "k").count("\n") == SOURCE.count("\n")


def test_each_branch_of_the_preprocessor_keeps_what_is_needed() -> None:
    source = "#ifdef A\ntypedef double real;\nint gone;\n#else\ntypedef float real;\n#endif\n"
    found = needed_part(source + "__global__ void k(real* y) { }\n", "k")
    assert "double real" in found and "float real" in found and "gone" not in found
