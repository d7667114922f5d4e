"""Rules that rewrite host C++ sources, one file a move."""

from ..shared.base import Move
from . import (
    cache_tiles,
    exact_exp,
    inside_and_rim,
    keep_terms,
    loop_order,
    partial_sums,
    register_tile,
    restrict,
    rows_added_up,
    stream_stores,
    sum_in_register,
    threads,
    unroll,
)

MOVES: tuple[Move, ...] = (
    loop_order.MOVE,
    rows_added_up.MOVE,
    register_tile.MOVE,
    sum_in_register.MOVE,
    cache_tiles.MOVE,
    inside_and_rim.MOVE,
    partial_sums.MOVE,
    exact_exp.MOVE,
    keep_terms.MOVE,
    threads.MOVE,
    restrict.MOVE,
    stream_stores.MOVE,
    unroll.MOVE,
)
