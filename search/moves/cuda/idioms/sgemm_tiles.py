"""A float matrix product, an element a thread, becomes one of tiles in shared memory and registers.

A thread reads two floats for each multiply-add before; after, 16 floats for 64. Tails are handled
for every size. Sums are added up in the same order along k, as before.
"""

from __future__ import annotations

import math

from .....runners.model import Candidate
from ...shared.affine import Form
from ...shared.base import Move, NotApplicable, Proposals, State
from .parts.facts import Facts, recognised
from .parts.products import Product, read_product
from .parts.writing import clash, launched, rewritten, template

GROUP = 8
TILES = (
    (128, 128, 16, 2, 0.4),
    (128, 128, 8, 2, 0.35),
    (256, 64, 16, 2, 0.2),
    (128, 128, 16, 1, 0.2),
    (128, 64, 16, 3, 0.2),
    (64, 64, 16, 6, 0.15),
)
"""rows, columns, depth, blocks a multiprocessor, prior: 8 x 8 a thread; the first ones move least
from L2, the last ones fill a GPU with small problems"""
SMALL = ((64, 64, 16, 6, 0.4), (64, 64, 8, 8, 0.3), (128, 64, 16, 3, 0.2))
"""for many products of one size: a tile is a whole small one"""
BATCH = """\
    const int matrix = blockIdx.x / (tile_rows * tile_columns);
    a_from += (long long)matrix * m_size * k_size;
    b_from += (long long)matrix * k_size * n_size;
    c_to += (long long)matrix * m_size * n_size;
"""
"""the block's own product among many"""
LOAD = """\
// four neighbours, of which `left` exist; 0 in place of others
__device__ __forceinline__ float4 load_four(const float* from, int left, bool whole) {
    if (whole) return left > 0 ? *reinterpret_cast<const float4*>(from) : make_float4(0, 0, 0, 0);
    return make_float4(left > 0 ? from[0] : 0, left > 1 ? from[1] : 0, left > 2 ? from[2] : 0,
                       left > 3 ? from[3] : 0);
}"""


def _write(state: State) -> Proposals:
    read = recognised(state, read_product, "no matrix product")
    if isinstance(read, NotApplicable):
        return read
    facts, product = read
    if taken := clash(facts, "sgemm.cu"):
        return NotApplicable(taken)
    reason = unfit(facts, product)
    if reason is not None:
        return NotApplicable(reason)
    source = _source(facts, product)
    if isinstance(source, NotApplicable):
        return source
    tiles = TILES if product.batch is None else SMALL
    return tuple(_candidate(facts, product, source, *t[:-1], prior=t[-1]) for t in tiles)


def unfit(facts: Facts, product: Product) -> str | None:
    """Why the template does not do this product; None: it does."""
    arrays = product.left.array, product.right.array, product.output
    types = {facts.arrays[a].dtype for a in arrays}
    if types != {"float32"}:
        return f"tiles for float32 alone, not {', '.join(sorted(types))}"
    if not product.left.k_contiguous or product.right.k_contiguous:
        return "a factor is stored transposed: the tiles are for row-major factors"
    return None


def _source(facts: Facts, product: Product) -> str | NotApplicable:
    sizes = [facts.size_text(size) for size in (product.m, product.n, product.k)]
    if any(size is None for size in sizes):
        return NotApplicable("no argument holds a size of the product")
    m, n, k = sizes
    body = template("sgemm.cu").substitute(
        A=product.left.array,
        B=product.right.array,
        C=product.output,
        M=m,
        N=n,
        K=k,
        A_WHOLE=whole(facts, product.left.array, product.k, f"{k} % 4 == 0"),
        B_WHOLE=whole(facts, product.right.array, product.n, f"{n} % 4 == 0"),
        C_WHOLE=whole(facts, product.output, product.n, f"{n} % 4 == 0"),
        BATCH="" if product.batch is None else BATCH,
        OF_BATCH="" if product.batch is None else " % (tile_rows * tile_columns)",
        INDEX=index_type(facts, product.left.array, product.right.array, product.output),
        EPILOGUE=product.epilogue.function,
    )
    return rewritten(facts, body, "TILE_M / 64 * (TILE_N / 32) * 32, MIN_BLOCKS", LOAD)


def index_type(facts: Facts, *arrays: str) -> str:
    """`int` where every element of these arrays, for every legal size, has a number below 2^31."""
    most = {n: s.max if s else None for n, s in facts.spec.symbols.items()}
    listed = [w.symbols for w in facts.spec.workloads]
    values = {n: max(w[n] for w in listed) if m is None else m for n, m in most.items()}
    for array in arrays:
        shape = facts.shape(array)
        if shape is None or math.prod(size.value(values) for size in shape) >= 1 << 31:
            return "long long"
    return "int"


def whole(facts: Facts, array: str, size: Form, test: str, elements: int = 4) -> str:
    """C++: whether all rows of an array begin at multiples of 16 bytes."""
    if not facts.aligned(array, 16):
        return "false"
    return "true" if facts.multiple_of(size) % elements == 0 else test


def _candidate(facts: Facts, product: Product, source: str, *sizes: int, prior: float) -> Candidate:
    rows, columns, depth, blocks = sizes
    m, n = product.m.text(), product.n.text()
    many = "" if product.batch is None else f" * ({product.batch.text()})"
    defines = {"TILE_M": rows, "TILE_N": columns, "TILE_K": depth, "GROUP": GROUP}
    return Candidate(
        method=MOVE.method,
        detail=f"tiles of {rows} x {columns} x {depth}, 8 x 8 a thread, {blocks} blocks at once",
        source=source,
        plan=launched(
            facts,
            [f"cdiv({m}, TILE_M) * cdiv({n}, TILE_N){many}"],
            ["TILE_M // 64 * (TILE_N // 32) * 32"],
            defines={**defines, "MIN_BLOCKS": blocks},
        ),
        prior=prior,
    )


MOVE = Move(
    id="sgemm_tiles",
    method="register_tiling",
    languages=("cuda",),
    why="A product with an element a thread loads two floats for each multiply-add. Tiles of 128 x "
    "128 in shared memory, and of 8 x 8 in a thread's registers, load 16 for 64. Pays for every "
    "product of float matrices beyond some hundred rows.",
    write=_write,
)
