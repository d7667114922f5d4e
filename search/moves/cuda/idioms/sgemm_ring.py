"""A float matrix product whose tiles are copied past registers, into a ring in shared memory.

A thread computes 8 x 16 elements: it reads 24 floats of shared memory for 128 multiply-adds, where
8 x 8 read 16 for 64 (`sgemm_tiles`). Sums are added up in the same order along k, as before.
"""

from __future__ import annotations

from .....runners.model import Candidate
from ...shared.base import Move, NotApplicable, Proposals, State
from .parts.facts import Facts, recognised
from .parts.products import Product, read_product
from .parts.writing import clash, launched, rewritten, template
from .sgemm_tiles import BATCH, GROUP, index_type, unfit, whole

TILES = (
    (256, 128, 16, 3, 1, 0.3),
    (128, 128, 16, 3, 2, 0.3),
    (128, 256, 16, 3, 1, 0.15),
    (128, 128, 8, 4, 2, 0.15),
)
"""rows, columns, depth, tiles in the ring, blocks a multiprocessor, prior. All registers of a
multiprocessor are taken by 256 threads: of one block, which moves least from L2, or of two, of
which one computes while the other waits at its barrier. Behind `sgemm_tiles`: on an H200 the best
of these beat those by 2 % at 2048 cubed, once tuned, and by nothing before; at a size that is no
multiple of four they lost."""
SMALL = ((64, 64, 16, 3, 8, 0.25), (64, 64, 8, 4, 8, 0.2), (128, 64, 16, 3, 4, 0.15))
"""for many products of one size: a warp does a whole small one, while others wait for theirs"""
THREADS = "TILE_M / 64 * (TILE_N / 64) * 32"


def _write(state: State) -> Proposals:
    read = recognised(state, read_product, "no matrix product")
    if isinstance(read, NotApplicable):
        return read
    facts, product = read
    if taken := clash(facts, "sgemm_ring.cu"):
        return NotApplicable(taken)
    if (why := unfit(facts, product)) is not None:
        return NotApplicable(why)
    source = _source(facts, product)
    if isinstance(source, NotApplicable):
        return source
    tiles = TILES if product.batch is None else SMALL
    return tuple(_candidate(facts, product, source, *t[:-1], prior=t[-1]) for t in tiles)


def _source(facts: Facts, product: Product) -> str | NotApplicable:
    m, n, k = (facts.size_text(size) for size in (product.m, product.n, product.k))
    if m is None or n is None or k is None:
        return NotApplicable("no argument holds a size of the product")
    left, right = product.left.array, product.right.array
    wholes = {
        whole(facts, left, product.k, f"{k} % 4 == 0"),
        whole(facts, right, product.n, f"{n} % 4 == 0"),
    }
    body = template("sgemm_ring.cu").substitute(
        A=left,
        B=right,
        C=product.output,
        M=m,
        N=n,
        K=k,
        AB_WHOLE=" && ".join(sorted(wholes)),
        C_WHOLE=whole(facts, product.output, product.n, f"{n} % 4 == 0"),
        BATCH="" if product.batch is None else BATCH,
        OF_BATCH="" if product.batch is None else " % (tile_rows * tile_columns)",
        INDEX=index_type(facts, left, right, product.output),
        EPILOGUE=product.epilogue.function,
    )
    return rewritten(facts, body, f"{THREADS}, MIN_BLOCKS", "#include <cuda_pipeline.h>")


def _candidate(facts: Facts, product: Product, source: str, *sizes: int, prior: float) -> Candidate:
    rows, columns, depth, ring, blocks = sizes
    many = "" if product.batch is None else f" * ({product.batch.text()})"
    tiles = {"TILE_M": rows, "TILE_N": columns, "TILE_K": depth, "RING": ring}
    told = f"tiles of {rows} x {columns} x {depth} in a ring of {ring}, 8 x 16 a thread"
    return Candidate(
        method=MOVE.method,
        detail=f"{told}, {blocks} blocks at once",
        source=source,
        plan=launched(
            facts,
            [f"cdiv({product.m.text()}, TILE_M) * cdiv({product.n.text()}, TILE_N){many}"],
            [THREADS.replace("/", "//")],
            shared="RING * (TILE_M * (TILE_K + 4) + TILE_K * TILE_N) * 4",
            defines={**tiles, "GROUP": GROUP, "MIN_BLOCKS": blocks},
        ),
        prior=prior,
    )


MOVE = Move(
    id="sgemm_ring",
    method="register_tiling",
    languages=("cuda",),
    why="Tiles come by cp.async, which takes no registers, so a thread can hold 8 x 16 elements: "
    "nine of ten instructions of the loop multiply and add; with 8 x 8 and loads through registers "
    "eight do. Pays a little, for large products whose sizes are multiples of the tiles.",
    write=_write,
)
