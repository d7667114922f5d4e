"""Host C++ kernels as people write them."""

from __future__ import annotations

from host_harness import HostKernel, array, scalar

MATMUL = HostKernel(
    "matmul",
    """\
// C = A B.
void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    for (int i = 0; i < M; ++i) {
        for (int j = 0; j < N; ++j) {
            float sum = 0.0f;  // of products
            for (int k = 0; k < K; ++k) sum += A[i * K + k] * B[k * N + j];
            C[i * N + j] = sum;
        }
    }
}
""",
    (
        array("A", "input", "M", "K"),
        array("B", "input", "K", "N"),
        array("C", "output", "M", "N"),
        *map(scalar, "MNK"),
    ),
    (
        {"M": 24, "N": 64, "K": 16},
        {"M": 9, "N": 37, "K": 5},
        {"M": 3, "N": 5, "K": 7},
        {"M": 1, "N": 1, "K": 1},
        {"M": 17, "N": 33, "K": 1},
    ),
)
MEMORY_SUM = HostKernel(
    "matmul",
    """\
void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            C[i * N + j] = 0.0f;
            for (int k = 0; k < K; k++) {
                C[i * N + j] += A[i * K + k] * B[k * N + j];
            }
        }
    }
}
""",
    MATMUL.arguments,
    MATMUL.sizes,
)
IKJ = HostKernel(
    "matmul",
    """\
void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) C[i * N + j] = 0.0f;
        for (int k = 0; k < K; k++)
            for (int j = 0; j < N; j++) C[i * N + j] = C[i * N + j] + A[i * K + k] * B[k * N + j];
    }
}
""",
    MATMUL.arguments,
    MATMUL.sizes,
)
WRITTEN_OUT = HostKernel(
    "spread",
    """\
void spread(const float* x, float* out, int rows, int n) {
    float total = 0.5f, most = x[0];
    long count = 0;
    for (int r = 0; r < rows; r++) {
        for (int i = 0; i < n; i++) {
            total = x[r * n + i] + total - 0.25f;
            most = x[r * n + i] > most ? x[r * n + i] : most;
            if (x[r * n + i] > 0.0f) count = count + 1;
        }
    }
    out[0] = total;
    out[1] = most;
    out[2] = count;
}
""",
    (
        array("x", "input", "R", "N"),
        array("out", "output", "3"),
        scalar("rows", "R"),
        scalar("n", "N"),
    ),
    ({"R": 9, "N": 37}, {"R": 1, "N": 1}, {"R": 131, "N": 3}),
)
COLUMN_SUMS = HostKernel(
    "column_sums",
    """\
void column_sums(const float* x, float* sums, int rows, int cols) {
    for (int j = 0; j < cols; ++j) {
        for (int i = 0; i < rows; ++i) sums[j] += x[i * cols + j];
    }
}
""",
    (
        array("x", "input", "R", "N"),
        array("sums", "inout", "N"),
        scalar("rows", "R"),
        scalar("cols", "N"),
    ),
    ({"R": 9, "N": 40}, {"R": 1, "N": 1}),
)
BOUNDS = HostKernel(
    "bounds",
    """\
void bounds(const float* x, float* y, int rows, int n) {
    for (int r = 0; r <= rows - 1; r += 1) {
        float total = 0.0f, half = 0.0f, lowest = 1e9f;
        for (int i = 1; i <= n - 2; ++i) total += x[r * n + i];
        for (int i = 0; i < n / 2; ++i) half = half + x[r * n + i];
        for (int i = n > 2 ? 1 : 0; n > i; i++) {
            lowest = lowest < x[r * n + i] ? lowest : x[r * n + i];
        }
        for (int i = 0; i <= n - 1; ++i) {
            y[r * n + i] = total - half + lowest + (i >= n - 1 ? 0.5f : x[r * n + i + 1]);
        }
    }
}
""",
    (
        array("x", "input", "R", "N"),
        array("y", "output", "R", "N"),
        scalar("rows", "R"),
        scalar("n", "N"),
    ),
    ({"R": 3, "N": 101}, {"R": 1, "N": 1}, {"R": 2, "N": 2}, {"R": 2, "N": 3}, {"R": 1, "N": 67}),
)
GEMM = HostKernel(
    "gemm",
    """\
#include <cstddef>

void gemm(const float* a, const float* b, float* c, int rows, int cols, int inner, float alpha,
          float beta) {
    for (size_t r = 0; r < (size_t)rows; r++)
        for (size_t col = 0; col < (size_t)cols; col++) {
            const size_t at = r * cols + col;
            double acc = 0;
            for (size_t k = 0; k < (size_t)inner; k++)
                acc = acc + (double)a[r * inner + k] * b[k * cols + col];
            c[at] = alpha * acc + beta * c[at];
        }
}
""",
    (
        array("a", "input", "M", "K"),
        array("b", "input", "K", "N"),
        array("c", "inout", "M", "N"),
        scalar("rows", "M"),
        scalar("cols", "N"),
        scalar("inner", "K"),
        scalar("alpha", 0.5, "float32"),
        scalar("beta", 2.0, "float32"),
    ),
    ({"M": 24, "N": 64, "K": 16}, {"M": 9, "N": 19, "K": 5}, {"M": 1, "N": 1, "K": 1}),
)
STENCIL = HostKernel(
    "heat",
    """\
void heat(const float* u, float* out, int H, int W, float alpha) {
    for (int j = 0; j < W; ++j) {
        for (int i = 0; i < H; ++i) {
            const int north = i > 0 ? i - 1 : i;
            const int south = i < H - 1 ? i + 1 : i;
            const int west = j > 0 ? j - 1 : j;
            const int east = j < W - 1 ? j + 1 : j;
            const float centre = u[i * W + j];
            out[i * W + j] = centre + alpha * (u[north * W + j] + u[south * W + j] +
                                               u[i * W + west] + u[i * W + east] - 4.0f * centre);
        }
    }
}
""",
    (
        array("u", "input", "H", "W"),
        array("out", "output", "H", "W"),
        *map(scalar, "HW"),
        scalar("alpha", 0.125, "float32"),
    ),
    ({"H": 20, "W": 30}, {"H": 1, "W": 9}, {"H": 7, "W": 2}, {"H": 1, "W": 1}, {"H": 3, "W": 3}),
)
BLUR = HostKernel(
    "blur",
    """\
void blur(const float* image, float* result, int height, int width) {
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            float total = 0.0f;
            int count = 0;
            for (int dy = -1; dy <= 1; dy++) {
                for (int dx = -1; dx <= 1; dx++) {
                    int yy = y + dy;
                    int xx = x + dx;
                    if (yy >= 0 && yy < height && xx >= 0 && xx < width) {
                        total += image[yy * width + xx];
                        count++;
                    }
                }
            }
            result[y * width + x] = total / count;
        }
    }
}
""",
    (
        array("image", "input", "H", "W"),
        array("result", "output", "H", "W"),
        scalar("height", "H"),
        scalar("width", "W"),
    ),
    ({"H": 12, "W": 19}, {"H": 1, "W": 5}, {"H": 6, "W": 1}, {"H": 2, "W": 2}),
)
EDGES = HostKernel(
    "edges",
    """\
#include <algorithm>

void edges(const float* in, float* out, int n) {
    for (int i = 0; i < n; ++i) {
        if (i == 0 || i == n - 1) {
            out[i] = in[i];
        } else {
            const float left = in[std::max(i - 1, 0)], right = in[std::min(i + 1, n - 1)];
            out[i] = 0.25f * left + 0.5f * in[i] + 0.25f * right;
        }
    }
}
""",
    (array("in", "input", "n"), array("out", "output", "n"), scalar("n")),
    ({"n": 40}, {"n": 1}, {"n": 2}, {"n": 3}),
)
SOFTMAX = HostKernel(
    "softmax",
    """\
#include <cmath>

void softmax(const float* x, float* y, int R, int N) {
    for (int i = 0; i < R; ++i) {
        float largest = x[i * N];
        for (int j = 1; j < N; ++j) {
            if (x[i * N + j] > largest) largest = x[i * N + j];
        }
        double sum = 0.0;
        for (int j = 0; j < N; ++j) sum += std::exp(x[i * N + j] - largest);
        for (int j = 0; j < N; ++j) {
            y[i * N + j] = std::exp(x[i * N + j] - largest) / static_cast<float>(sum);
        }
    }
}
""",
    (array("x", "input", "R", "N"), array("y", "output", "R", "N"), scalar("R"), scalar("N")),
    ({"R": 3, "N": 100}, {"R": 2, "N": 1}, {"R": 5, "N": 32}, {"R": 1, "N": 33}),
)
ROW_POINTERS = HostKernel(
    "softmax",
    """\
#include <math.h>

static float row_max(const float* row, int n) {
    float m = row[0];
    for (int i = 1; i < n; i++) m = fmaxf(m, row[i]);
    return m;
}

extern "C" void softmax(const float* in, float* out, int rows, int n) {
    for (int r = 0; r < rows; r++) {
        const float* x = in + r * n;
        float* y = &out[r * n];
        float m = x[0];
        for (int i = 1; i < n; i++) m = x[i] > m ? x[i] : m;
        float total = 0;
        for (int i = 0; i < n; i++) {
            y[i] = expf(x[i] - m);
            total += y[i];
        }
        for (int i = 0; i < n; i++) y[i] /= total;
    }
}
""",
    (
        array("in", "input", "R", "N"),
        array("out", "output", "R", "N"),
        scalar("rows", "R"),
        scalar("n", "N"),
    ),
    ({"R": 3, "N": 100}, {"R": 2, "N": 1}, {"R": 4, "N": 31}),
)
TRANSPOSE = HostKernel(
    "transpose",
    """\
void transpose(const float* in, float* out, int rows, int cols) {
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < cols; ++j)
            out[j * rows + i] = in[i * cols + j];
}
""",
    (
        array("in", "input", "H", "W"),
        array("out", "output", "W", "H"),
        scalar("rows", "H"),
        scalar("cols", "W"),
    ),
    ({"H": 40, "W": 70}, {"H": 1, "W": 33}, {"H": 33, "W": 1}),
)
NORM = HostKernel(
    "rmsnorm",
    """\
#include <cmath>

void rmsnorm(const float* x, const float* gain, float* y, int rows, int n) {
    for (int i = 0; i < rows; ++i) {
        float squares = 0.0f, lowest = 1e30f;
        for (int j = 0; j < n; ++j) {
            const float value = x[i * n + j];
            squares += value * value;
            lowest = std::min(lowest, value);
        }
        const float scale = 1.0f / std::sqrt(squares / n + 1e-6f);
        for (int j = 0; j < n; ++j) y[i * n + j] = x[i * n + j] * scale * gain[j] + lowest * 0.0f;
    }
}
""".replace("#include <cmath>", "#include <algorithm>\n#include <cmath>"),
    (
        array("x", "input", "R", "N"),
        array("gain", "input", "N"),
        array("y", "output", "R", "N"),
        scalar("rows", "R"),
        scalar("n", "N"),
    ),
    ({"R": 3, "N": 100}, {"R": 2, "N": 1}, {"R": 4, "N": 32}),
)
GELU = HostKernel(
    "bias_silu",
    """\
#include <cmath>

static float silu(float v) { return v / (1.0f + expf(-v)); }

void bias_silu(const float* x, const float* bias, float* y, long rows, long cols) {
    for (long i = 0; i < rows; ++i)
        for (long j = 0; j < cols; ++j) {
            long at = i * cols + j;
            y[at] = silu(x[at] + bias[j]);
        }
}
""",
    (
        array("x", "input", "R", "N"),
        array("bias", "input", "N"),
        array("y", "output", "R", "N"),
        scalar("rows", "R", "int64"),
        scalar("cols", "N", "int64"),
    ),
    ({"R": 3, "N": 100}, {"R": 2, "N": 1}),
)
SUM = HostKernel(
    "total",
    """\
void total(const float* x, float* out, int n) {
    float s = 0.f;
    for (int i = 0; i < n; ++i) s += x[i];
    out[0] = s;
}
""",
    (array("x", "input", "n"), array("out", "output", "1"), scalar("n")),
    ({"n": 1000}, {"n": 1}, {"n": 31}, {"n": 32}),
)
HISTOGRAM = HostKernel(
    "histogram",
    """\
void histogram(const int* values, int* bins, int n) {
    for (int i = 0; i < n; ++i) bins[values[i]]++;
}
""",
    (
        array("values", "input", "n", dtype="int32"),
        array("bins", "inout", "8", dtype="int32"),
        scalar("n"),
    ),
    ({"n": 100}, {"n": 1}),
)
KEYS = HostKernel(
    "keys",
    """\
void keys(const int* key, const int* amount, int* total, int keys, int rows, int n) {
    for (int k = 0; k < keys; ++k) total[k] = 0;
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < n; ++j) {
            const int place = (key[i * n + j] * 7 + j) % keys;
            total[place] = total[place] + amount[i * n + j];
        }
    }
}
""",
    (
        array("key", "input", "R", "N", dtype="int32"),
        array("amount", "input", "R", "N", dtype="int32"),
        array("total", "output", "K", dtype="int32"),
        scalar("K"),
        scalar("R"),
        scalar("N"),
    ),
    ({"K": 9, "R": 7, "N": 40}, {"K": 2, "R": 1, "N": 8}),
)
RECURRENCE = HostKernel(
    "recurrence",
    """\
void recurrence(const float* x, float* y, int rows, int n) {
    for (int i = 0; i < rows; ++i) {
        y[i * n] = x[i * n];
        for (int k = 1; k < n; ++k) y[i * n + k] = x[i * n + k] + 0.5f * y[i * n + k - 1];
    }
}
""",
    (
        array("x", "input", "R", "N"),
        array("y", "output", "R", "N"),
        scalar("R"),
        scalar("N"),
    ),
    ({"R": 7, "N": 40}, {"R": 1, "N": 1}),
)
SCAN = HostKernel(
    "scan",
    """\
void scan(const float* x, float* y, int rows, int n) {
    for (int i = 0; i < rows; ++i) {
        float running = 0.0f;
        for (int j = 0; j < n; ++j) {
            running += x[i * n + j];
            y[i * n + j] = running;
        }
    }
}
""",
    (
        array("x", "input", "R", "N"),
        array("y", "output", "R", "N"),
        scalar("rows", "R"),
        scalar("n", "N"),
    ),
    ({"R": 3, "N": 50}, {"R": 1, "N": 1}),
)
SMOOTH = HostKernel(
    "smooth",
    """\
void smooth(float* x, int n) {
    for (int i = 1; i < n; ++i) x[i] = 0.5f * (x[i] + x[i - 1]);
}
""",
    (array("x", "inout", "n"), scalar("n")),
    ({"n": 50}, {"n": 1}),
)
DISTANCES = HostKernel(
    "distances",
    """\
void distances(const float* p, const float* q, float* d, int n, int m, int dims) {
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < m; ++j) {
            float c = 0;
            for (int k = 0; k < dims; ++k) {
                float diff = p[i * dims + k] - q[k * m + j];
                c += diff * diff;
            }
            d[i * m + j] = c;
        }
    }
}
""",
    (
        array("p", "input", "n", "k"),
        array("q", "input", "k", "m"),
        array("d", "output", "n", "m"),
        scalar("n"),
        scalar("m"),
        scalar("dims", "k"),
    ),
    ({"n": 16, "m": 40, "k": 3}, {"n": 9, "m": 33, "k": 2}, {"n": 1, "m": 1, "k": 1}),
)
KERNELS = (
    *(MEMORY_SUM, IKJ, WRITTEN_OUT, COLUMN_SUMS, BOUNDS),
    *(MATMUL, GEMM, STENCIL, BLUR, EDGES, SOFTMAX, ROW_POINTERS, TRANSPOSE, NORM, GELU),
    *(SUM, HISTOGRAM, KEYS, RECURRENCE, SCAN, SMOOTH, DISTANCES),
)
