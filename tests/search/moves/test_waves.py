"""Tiles by what the busiest multiprocessor has to do."""

from __future__ import annotations

from kernelwright.search.moves.shared.lifted.waves import busiest_area

MANY = 132


def test_one_tile_too_many_for_the_device_is_a_whole_wave_more() -> None:
    assert busiest_area((512, 128 * 12, 128 * 11), (128, 128), MANY) == 128 * 128
    assert busiest_area((512, 128 * 12 + 1, 128 * 11), (128, 128), MANY) == 2 * 128 * 128


def test_half_a_tile_at_the_edge_counts_whole_and_a_batch_has_tiles_of_its_own() -> None:
    assert busiest_area((512, 64, 64), (128, 128), MANY) == 128 * 128
    assert busiest_area((512, 64, 64, 5, 2 * MANY), (128, 128), MANY) == 10 * 128 * 128


def test_blocks_that_share_a_tile_count_each() -> None:
    few = (8192, 512, 512)
    assert busiest_area(few, (128, 128), MANY, parts=8) == busiest_area(few, (128, 128), MANY)
    assert busiest_area(few, (128, 128), MANY, parts=16) == 2 * 128 * 128
