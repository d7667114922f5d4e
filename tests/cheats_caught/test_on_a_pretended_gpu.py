"""Cheats in CUDA on a GPU that is not there: defences that need no real one."""

from __future__ import annotations

from collections.abc import Iterator

import page_tiers
import pytest
from pretend_gpu import pretended_gpu
from tiers import cases

from kernelwright.search.session.workbench import Workbench
from kernelwright.server.selftest.cheats import Cheat, catalogue, chosen
from kernelwright.server.selftest.running import attempt, victim_of

PRETENDED = [
    f"cuda/{name}"
    for name in (
        *("no_op", "half_a_grid", "skips_known_pointers", "keeps_results_far_away"),
        *("one_launch_for_two", "overwrites_its_neighbours", "changes_its_input"),
        *("one_too_many", "wild_write", "traps", "works_once_a_setup", "watches_the_clock"),
        "counts_calls_in_its_scratch",
        *("clears_outputs_in_setup", "forgets_to_clear", "fills_its_input"),
        *("shared_memory_race", "shared_memory_taken_for_zero"),
        *("finds_y_behind_x", "borrows_the_guard_band", "reads_before_the_start"),
        *("reads_a_whole_tile", "knows_two_offsets", "writes_between_rows_in_place"),
        *("puts_back_its_neighbour", "puts_back_a_known_byte"),
        *(
            "forgets_the_tail_of_its_vectors",
            "clamps_what_is_usual",
            "asks_what_its_output_held",
            "takes_a_zero_for_an_empty_block",
        ),
        *("knows_the_weight", "reference_answers_for_its_caller"),
    )
]
"""Pages in CUDA that are stopped before their times matter, by nothing that needs a real GPU."""


@pytest.fixture(scope="module")
def pretended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp("pretended")
    with pretended_gpu(folder) as gpu, gpu.workbench(folder / "out", [folder]) as opened:
        yield opened


@cases(
    "cheat",
    chosen(PRETENDED, catalogue()),
    kinds=page_tiers.what_is_asked,
    always=page_tiers.found_something,
    why=page_tiers.WHY,
    ids=lambda cheat: cheat.name,
)
def test_a_cuda_kernel_is_stopped_on_a_pretended_gpu(cheat: Cheat, pretended: Workbench) -> None:
    found = attempt(pretended, victim_of(pretended, cheat.page.victim), cheat)
    assert (found.verdict, found.expected) == ("caught", True), found
