"""Rules alone on host C++ kernels, with and without the schedules that are written from lifts.

    python benchmarks/host_schedules.py [--only NAME ...] [--seconds 20] [--builds 20]

`UNSEEN` were written when the schedules were done, and before any of them was read by one; they
are spelled with typedefs, templates, macros, helpers and stepped pointers. Each search
runs in a process of its own. Result: results/host_schedules.json."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from environment import environment
from host_beginners import HostKernel

RESULT = Path(__file__).parent / "results" / "host_schedules.json"

COVARIANCE = """\
typedef float real;
#define AT(m, i, j) (m)[(size_t)(i) * d + (j)]
#include <cstddef>

void covariance(const real* data, const real* mean, real* cov, int n, int d) {
    for (int a = 0; a < d; ++a)
        for (int b = 0; b < d; ++b) {
            real s = 0;
            for (int i = 0; i < n; ++i)
                s += (AT(data, i, a) - mean[a]) * (AT(data, i, b) - mean[b]);
            cov[a * d + b] = s / (n - 1);
        }
}
"""
STANDARDIZE = """\
#include <cmath>

template <typename T>
static T mean_of(const T* p, int count, int stride) {
    T s = 0;
    for (int i = 0; i < count; ++i, p += stride) s += *p;
    return s / count;
}

void standardize(const float* x, float* y, int rows, int cols) {
    for (int c = 0; c < cols; ++c) {
        const float m = mean_of(x + c, rows, cols);
        for (int r = 0; r < rows; ++r) y[r * cols + c] = x[r * cols + c] - m;
    }
}
"""
LOGITS = """\
#include <algorithm>
#include <cmath>

void log_softmax(const float* in, float* out, int rows, int n) {
    for (int r = 0; r < rows; ++r) {
        const float* p = in + (long)r * n;
        float* q = out + (long)r * n;
        float most = p[0];
        for (int i = 1; i < n; ++i) most = std::max(most, p[i]);
        float sum = 0;
        for (int i = 0; i < n; ++i) sum += std::exp(p[i] - most);
        const float shift = most + std::log(sum);
        for (int i = 0; i < n; ++i) q[i] = p[i] - shift;
    }
}
"""
HEADS = """\
void split_heads(const float* x, float* y, int tokens, int heads, int width) {
    const float* from = x;
    for (int t = 0; t < tokens; ++t)
        for (int h = 0; h < heads; ++h)
            for (int w = 0; w < width; ++w) y[((long)h * width + w) * tokens + t] = *from++;
}
"""
LAYER = """\
static inline float relu(float v) { return v > 0 ? v : 0; }

void dense(const float* x, const float* weight, const float* bias, float* y, int batch, int from,
           int to) {
    for (int b = 0; b < batch; ++b)
        for (int o = 0; o < to; ++o) {
            float s = bias[o];
            for (int i = 0; i < from; ++i) s += x[b * from + i] * weight[o * from + i];
            y[b * to + o] = relu(s);
        }
}
"""
DISTANCES = """\
#include <cstddef>

void nearest(const double* points, const double* centers, double* least, int n, int k, int d) {
    for (size_t i = 0; i < (size_t)n; ++i) {
        double best = 1e300;
        for (size_t c = 0; c < (size_t)k; ++c) {
            double s = 0;
            for (size_t j = 0; j < (size_t)d; ++j) {
                const double t = points[i * d + j] - centers[c * d + j];
                s += t * t;
            }
            if (s < best) best = s;
        }
        least[i] = best;
    }
}
"""
GESUMMV = """\
void two_matvecs(const double* A, const double* B, const double* x, double* y, int n) {
    for (int i = 0; i < n; ++i) y[i] = 0;
    for (int j = 0; j < n; ++j)
        for (int i = 0; i < n; ++i) y[i] += 1.5 * A[i * n + j] * x[j] + 0.5 * B[i * n + j] * x[j];
}
"""
EMBED = """\
void embed(const int* token, const float* table, const float* position, float* out, int tokens,
           int words, int width) {
    if (words < 1) return;
    for (int w = 0; w < width; ++w)
        for (int t = 0; t < tokens; ++t)
            out[t * width + w] = table[token[t] * width + w] + position[t * width + w];
}
"""
F, D = "float32", "float64"
UNSEEN = (
    HostKernel(
        "covariance",
        COVARIANCE,
        (
            ("data", "input", F, ("n", "d")),
            ("mean", "input", F, ("d",)),
            ("cov", "output", F, ("d", "d")),
        ),
        ("n", "d"),
        {"n": 2000, "d": 160},
    ),
    HostKernel(
        "standardize",
        STANDARDIZE,
        (("x", "input", F, ("rows", "cols")), ("y", "output", F, ("rows", "cols"))),
        ("rows", "cols"),
        {"rows": 2000, "cols": 1500},
    ),
    HostKernel(
        "log_softmax",
        LOGITS,
        (("in", "input", F, ("rows", "n")), ("out", "output", F, ("rows", "n"))),
        ("rows", "n"),
        {"rows": 600, "n": 2000},
    ),
    HostKernel(
        "split_heads",
        HEADS,
        (
            ("x", "input", F, ("tokens", "heads", "width")),
            ("y", "output", F, ("heads", "width", "tokens")),
        ),
        ("tokens", "heads", "width"),
        {"tokens": 2048, "heads": 16, "width": 64},
    ),
    HostKernel(
        "dense",
        LAYER,
        (
            ("x", "input", F, ("batch", "from_")),
            ("weight", "input", F, ("to", "from_")),
            ("bias", "input", F, ("to",)),
            ("y", "output", F, ("batch", "to")),
        ),
        ("batch", "from_", "to"),
        {"batch": 128, "from_": 768, "to": 512},
    ),
    HostKernel(
        "nearest",
        DISTANCES,
        (
            ("points", "input", D, ("n", "d")),
            ("centers", "input", D, ("k", "d")),
            ("least", "output", D, ("n",)),
        ),
        ("n", "k", "d"),
        {"n": 8000, "k": 64, "d": 48},
    ),
    HostKernel(
        "two_matvecs",
        GESUMMV,
        (
            ("A", "input", D, ("n", "n")),
            ("B", "input", D, ("n", "n")),
            ("x", "input", D, ("n",)),
            ("y", "output", D, ("n",)),
        ),
        ("n",),
        {"n": 1200},
    ),
    HostKernel(
        "embed",
        EMBED,
        (
            ("token", "input", "int32", ("tokens",)),
            ("table", "input", F, ("words", "width")),
            ("position", "input", F, ("tokens", "width")),
            ("out", "output", F, ("tokens", "width")),
        ),
        ("tokens", "words", "width"),
        {"tokens": 3000, "words": 5000, "width": 512},
        {"token": {"kind": "randint", "low": 0, "high": 3}},
    ),
)
DRIVER = """\
import sys
from kernelwright.search import moves
from kernelwright.search.planning import rules

if sys.argv.pop(1) == "without":
    rules.MOVES = tuple(m for m in moves.MOVES if m not in moves.host_schedules.MOVES)
sys.argv[0] = "kernelwright"
from kernelwright.server.cli import main
main()
"""


def main() -> None:
    """Search each kernel both ways and write what was confirmed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--builds", type=int, default=20)
    asked = parser.parse_args()
    rows = list[dict[str, Any]]()
    for kernel in UNSEEN:
        if asked.only and kernel.name not in asked.only:
            continue
        row: dict[str, Any] = {"kernel": kernel.name}
        for way in ("without", "with"):
            row[way] = _searched(kernel, way, asked.seconds, asked.builds)
            print(kernel.name, way, row[way], flush=True)
        rows.append(row)
        told = {"environment": environment(), "builds": asked.builds, "seconds": asked.seconds}
        RESULT.write_text(json.dumps({**told, "kernels": _with_kept(rows)}, indent=1) + "\n")


def _with_kept(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What this run found, and of other kernels what an earlier one did."""
    new = {row["kernel"]: row for row in rows}
    old: list[dict[str, Any]] = json.loads(RESULT.read_text())["kernels"] if RESULT.exists() else []
    found = {**{row["kernel"]: row for row in old}, **new}
    return [found[kernel.name] for kernel in UNSEEN if kernel.name in found]


def _searched(kernel: HostKernel, way: str, seconds: int, builds: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder, "spec.json")
        spec.write_text(json.dumps(kernel.spec))
        command = ["optimize", "--input", str(spec), "--outdir", f"{folder}/out"]
        limits = ["--budget-builds", str(builds), "--budget-seconds", str(seconds)]
        done = subprocess.run(
            [sys.executable, "-c", DRIVER, way, *command, *limits],
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "NO_COLOR": "1"},
            timeout=20 * seconds + 300,
        )
        summary = Path(folder, "out", "kernels", kernel.name, "best", "control.json")
        found: dict[str, Any] = {"exit": done.returncode}
        lines = [line for line in done.stdout.splitlines() if line.startswith(f"{kernel.name}: ")]
        found["told"] = lines[-1].strip() if lines else (done.stderr or done.stdout)[-300:]
        if summary.exists():
            found["method"] = json.loads(summary.read_text()).get("method")
        return found


if __name__ == "__main__":
    main()
