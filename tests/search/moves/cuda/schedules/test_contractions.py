"""Contractions written anew in tiles: products in every layout, batches, distances, epilogues."""

from __future__ import annotations

from math import ceil
from typing import Any

import pytest
from cuda_moves import PretendedLab, array, candidates, cuda_state, reason, scalar
from scheduled import written_beside
from tiers import cases

from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.schedules.contraction_schedule import MOVE

pytestmark = pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")

HEAD = (
    'extern "C" __global__ void f(const float* a, const float* b, const float* w, float* c, int m,'
    " int n, int p) "
)
_IJ = (
    "int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;"
    " if (i >= m || j >= n) return;"
)
_K = "float s = 0; for (int k = 0; k < p; ++k)"
TWO = {"grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16]}
FLAT = {"grid": ["cdiv(m * n, 256)"], "block": [256]}
SPELLED: dict[str, tuple[str, dict[str, Any], tuple[str, ...], tuple[str, ...]]] = {
    "a product": (
        f"{{ {_IJ} {_K} s += a[i * p + k] * b[k * n + j]; c[i * n + j] = s; }}",
        TWO, ("m", "p"), ("p", "n"),
    ),
    "the second factor transposed, scaled, with a bias by columns": (
        f"{{ {_IJ} const float* u = a + i * p; const float* v = b + j * p; {_K}"
        " s += u[k] * v[k]; c[i * n + j] = fmaxf(0.5f * s + w[j], 0.0f); }",
        TWO, ("m", "p"), ("n", "p"),
    ),
    "the first factor transposed, a thread a place of one dimension, added to what is there": (
        "{ int e = blockIdx.x * blockDim.x + threadIdx.x; if (e >= m * n) return;"
        f" int i = e / n, j = e % n; {_K} s += a[k * m + i] * b[k * n + j]; c[e] = w[j] + s; }}",
        FLAT, ("p", "m"), ("p", "n"),
    ),
    "squared distances": (
        f"{{ {_IJ} {_K} {{ float d = a[i * p + k] - b[j * p + k]; s += d * d; }}"
        " c[i * n + j] = sqrtf(s); }",
        TWO, ("m", "p"), ("n", "p"),
    ),
    "the shortest way over one more place": (
        f"{{ {_IJ} float s = 3e38f; for (int k = 0; k < p; ++k)"
        " s = fminf(s, a[i * p + k] + b[k * n + j]); c[i * n + j] = s; }",
        TWO, ("m", "p"), ("p", "n"),
    ),
    "weights along what is summed": (
        f"{{ {_IJ} {_K} s += a[i * p + k] * w[k % n] * b[k * n + j]; c[i * n + j] = s; }}",
        TWO, ("m", "p"), ("p", "n"),
    ),
    "a sum that stays in memory": (
        f"{{ {_IJ} c[i * n + j] = w[j]; for (int k = 0; k < p; ++k)"
        " c[i * n + j] += a[i * p + k] * b[k * n + j]; }",
        TWO, ("m", "p"), ("p", "n"),
    ),
}  # fmt: skip
SHAPES = [{"m": 37, "n": 45, "p": 19}, {"m": 16, "n": 132, "p": 32}, {"m": 131, "n": 17, "p": 3}]


def product_state(
    body: str,
    launch: dict[str, Any],
    left: tuple[str, ...],
    right: tuple[str, ...],
    to: tuple[str, ...] = ("m", "n"),
    head: str = HEAD,
    largest: tuple[int, int, int] = (4096, 4096, 4096),
    role: str = "output",
) -> State:
    arguments = [
        array("a", "input", *left),
        array("b", "input", *right),
        array("w", "input", "n"),
        array("c", role, *to),
        *(scalar(name) for name in ("m", "n", "p")),
    ]
    symbols = {name: {"max": size} for name, size in zip("mnp", largest, strict=True)}
    return cuda_state(head + body, "f", arguments, launch, symbols)


@cases(
    "spelling",
    SPELLED,
    why="further kernels that the move writes anew, each run beside its original",
)
def test_what_is_written_gives_what_the_kernel_gives(spelling: str, lab: PretendedLab) -> None:
    state = product_state(*SPELLED[spelling])
    written_beside(lab, MOVE, state, SHAPES, most=3, near=1e-4)


@cases(
    "spelling",
    [
        "the first factor transposed, a thread a place of one dimension, added to what is there",
        "the shortest way over one more place",
    ],
    why="a further spelling",
)
def test_blocks_share_long_sums_of_few_tiles(spelling: str, lab: PretendedLab) -> None:
    state = product_state(*SPELLED[spelling], largest=(256, 256, 16384))
    (first,) = written_beside(
        lab, MOVE, state, [*SHAPES, {"m": 20, "n": 33, "p": 400}], most=1, near=1e-3
    )
    assert first.plan is not None
    assert first.plan["defines"]["K_PARTS"] > 1
    assert len(first.plan["steps"]) == 2


def test_tiles_are_as_many_as_keep_all_multiprocessors_at_work() -> None:
    def tile(*largest: int) -> tuple[int, int]:
        """Its area, and the blocks that there are of it."""
        state = product_state(*SPELLED["a product"], largest=largest)  # type: ignore[arg-type]
        plan = candidates(MOVE, state)[0].plan
        assert plan is not None
        now = plan["defines"]
        rows, columns = (
            ceil(s / now[t]) for s, t in zip(largest[:2], ("TILE_M", "TILE_N"), strict=True)
        )
        return now["TILE_M"] * now["TILE_N"], rows * columns * now.get("K_PARTS", 1)

    (large, many), (small, few) = tile(4096, 4096, 512), tile(1024, 1024, 512)
    assert large > small
    assert many > few > 100, "an H100 has 132 multiprocessors"


def test_a_batch_of_products_has_blocks_of_its_own_for_each(lab: PretendedLab) -> None:
    body = (
        f"{{ {_IJ} int q = blockIdx.z; {_K} s += a[(q * m + i) * p + k] * b[(q * n + j) * p + k];"
        " c[(q * m + i) * n + j] = s; }"
    )
    launch = {"grid": ["cdiv(n, 16)", "cdiv(m, 16)", 3], "block": [16, 16]}
    state = product_state(body, launch, ("3", "m", "p"), ("3", "n", "p"), ("3", "m", "n"))
    written_beside(lab, MOVE, state, SHAPES[:2], near=1e-4)


@cases(
    "deep",
    [16384, 4096],
    why="sums that no blocks share",
)
def test_what_was_there_is_scaled_and_added_to(deep: int, lab: PretendedLab) -> None:
    body = (
        f"{{ {_IJ} {_K} s += a[i * p + k] * b[k * n + j];"
        " c[i * n + j] = 1.5f * s - 0.5f * c[i * n + j]; }"
    )
    most = (256, 256, deep) if deep > 4096 else (deep, deep, deep)
    state = product_state(body, TWO, ("m", "p"), ("p", "n"), largest=most, role="inout")
    shapes = [*SHAPES, {"m": 20, "n": 33, "p": 400}]
    (first,) = written_beside(lab, MOVE, state, shapes, most=1, near=1e-3)
    assert first.plan is not None and len(first.plan["steps"]) == (2 if deep > 4096 else 1)


def test_a_fold_over_what_was_there_is_no_contraction_of_it() -> None:
    body = f"{{ {_IJ} {_K} s += a[i * p + k] * b[k * n + j] * c[i * n + j]; c[i * n + j] = s; }}"
    state = product_state(body, TWO, ("m", "p"), ("p", "n"), role="inout")
    assert "more than one value" in reason(MOVE, state)


def test_a_sum_that_hangs_on_columns_alone_is_no_contraction() -> None:
    body = f"{{ {_IJ} {_K} s += b[k * n + j]; c[i * n + j] = s; }}"
    told = reason(MOVE, product_state(body, TWO, ("m", "p"), ("p", "n")))
    assert "does not hang on rows and on columns" in told


def test_how_far_a_sum_goes_may_not_hang_on_the_place() -> None:
    body = (
        f"{{ {_IJ} float s = 0; for (int k = 0; k <= i; ++k) s += a[i * p + k] * b[k * n + j];"
        " c[i * n + j] = s; }"
    )
    told = reason(MOVE, product_state(body, TWO, ("m", "p"), ("p", "n")))
    assert "hangs on the place" in told


def test_a_product_that_scales_and_adds_to_memory_is_written_in_tiles(lab: PretendedLab) -> None:
    body = (
        f"{{ {_IJ} c[i * n + j] *= 0.25f; for (int k = 0; k < p; ++k)"
        " c[i * n + j] += 2.0f * a[i * p + k] * b[k * n + j]; }"
    )
    state = product_state(body, TWO, ("m", "p"), ("p", "n"), role="inout")
    written_beside(lab, MOVE, state, SHAPES[:1], most=1)
