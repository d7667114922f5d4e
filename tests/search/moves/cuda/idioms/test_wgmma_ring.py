"""The ring of stages of the wgmma product, as a model in which every order of events may happen.

One producer and the eight warps of two consumers go through several tiles as the kernel does;
copies arrive and products read their operands at any time between issue and wait, each warp for
itself. Barriers are those of the PTX ISA (`mbarrier`): a phase ends when all arrivals are in and no
bytes are outstanding, and a wait for a parity passes while the phase of the other parity goes on.
What the model does by hand is asked of the source as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from idiom_sources import TENSOR

from kernelwright.search.moves import NotApplicable
from kernelwright.search.moves.cuda.idioms import MOVES

MOVE = next(move for move in MOVES if move.id == "hgemm_wgmma")
WARPS, LOADS = 8, 2
Piece = tuple[int, int]
"""tile and step"""
Event = Iterator[None]
"""what one agent does; at each yield any other may go on"""


@dataclass
class Barrier:
    """An mbarrier; loads that are outstanding stand for their bytes."""

    arrivals: int
    pending: int = 0
    outstanding: int = 0
    phase: int = 0

    def arrive(self, expected: int = 0) -> None:
        self.pending += 1
        self.outstanding += expected
        self.settle()

    def complete(self) -> None:
        self.outstanding -= 1
        self.settle()

    def settle(self) -> None:
        assert self.pending <= self.arrivals and self.outstanding >= 0
        if self.pending == self.arrivals and self.outstanding == 0:
            self.pending, self.phase = 0, self.phase + 1

    def passes(self, parity: int) -> bool:
        return self.phase % 2 != parity


@dataclass
class Ring:
    """Stages with what lies in them, a part a load, and who reads them."""

    stages: int
    work: tuple[Piece, ...]
    content: dict[int, list[Piece | None]] = field(default_factory=dict[int, list[Piece | None]])
    readers: dict[int, int] = field(default_factory=dict[int, int])
    flying: list[tuple[int, int, Piece]] = field(default_factory=list[tuple[int, int, Piece]])
    summed: list[tuple[int, Piece]] = field(default_factory=list[tuple[int, Piece]])

    def __post_init__(self) -> None:
        self.full = [Barrier(1) for _ in range(self.stages)]
        self.empty = [Barrier(WARPS) for _ in range(self.stages)]

    def places(self) -> Iterator[tuple[int, int, Piece]]:
        """Stage and parity of the round, for each piece of work."""
        for at, piece in enumerate(self.work):
            yield at % self.stages, at // self.stages % 2, piece

    def producer(self) -> Event:
        for stage, parity, piece in self.places():
            while not self.empty[stage].passes(parity ^ 1):
                yield
            self.full[stage].arrive(LOADS)
            for part in range(LOADS):
                yield
                assert not self.readers.get(stage), "overwritten while it is read"
                self.content.setdefault(stage, [None] * LOADS)[part] = None
                self.flying.append((stage, part, piece))

    def copies(self, random: Random) -> Event:
        while True:
            yield
            if self.flying:
                stage, part, piece = self.flying.pop(random.randrange(len(self.flying)))
                self.content[stage][part] = piece
                self.full[stage].complete()

    def consumer(self, number: int) -> Event:
        before: tuple[int, Piece] | None = None
        for stage, parity, piece in self.places():
            while not self.full[stage].passes(parity):
                yield
            assert self.content[stage] == [piece] * LOADS
            self.readers[stage] = self.readers.get(stage, 0) + 1
            yield
            first = piece[1] == 0
            if first and before is not None:
                raise AssertionError("a tile begins while sums of the one before are under way")
            if before is not None:  # wait_group 1
                self.read(number, *before)
                yield
                self.empty[before[0]].arrive()
            before = (stage, piece)
            if piece == self.last_of(piece[0]):  # wait_group 0
                yield
                self.read(number, *before)
                self.empty[stage].arrive()
                before = None

    def last_of(self, tile: int) -> Piece:
        return max(piece for piece in self.work if piece[0] == tile)

    def read(self, number: int, stage: int, piece: Piece) -> None:
        assert self.content[stage] == [piece] * LOADS
        self.readers[stage] -= 1
        self.summed.append((number, piece))


@given(
    stages=st.integers(2, 6), tiles=st.integers(1, 4), steps=st.integers(1, 9), seed=st.integers()
)
def test_every_step_is_multiplied_once_and_nothing_is_overwritten_before(
    stages: int, tiles: int, steps: int, seed: int
) -> None:
    random = Random(seed)
    work = tuple((tile, step) for tile in range(tiles) for step in range(steps))
    ring = Ring(stages, work)
    agents = [ring.producer(), ring.copies(random), *map(ring.consumer, range(WARPS))]
    weights = [random.choice((1, 5, 20)) for _ in agents]  # some are slow
    for _ in range(200_000):
        if len(ring.summed) == WARPS * len(work):
            break
        next(random.choices(agents, weights)[0], None)
    for number in range(WARPS):
        assert [piece for own, piece in ring.summed if own == number] == list(work)
    assert not ring.flying and not any(ring.readers.values())


@pytest.mark.parametrize("what", TENSOR)
def test_the_source_waits_and_arrives_as_the_model_does(what: str) -> None:
    found = MOVE.propose(TENSOR[what].state())
    assert not isinstance(found, NotApplicable), found.reason
    for candidate in found:
        assert candidate.source is not None
        code = re.sub(r"//[^\n]*", "", candidate.source)
        calls = re.findall(
            r"barrier_(?:init|wait|expect|arrive)\((?:full|empty|bar)[^;]*;|tensor_load\(a_tile"
            r"|advance\(\);|commit_group|wait_group\.sync\.aligned \d",
            code,
        )
        assert calls == [
            "barrier_init(full + 8 * s, 1);",
            "barrier_init(empty + 8 * s, 4 * WGMMA_CONSUMERS);",
            "barrier_wait(empty + 8 * stage, round ^ 1);",
            "barrier_expect(bar, WGMMA_A_BYTES + WGMMA_B_BYTES);",
            *["tensor_load(a_tile"] * LOADS,
            "advance();",
            "barrier_wait(full + 8 * stage, round);",
            "commit_group",
            "wait_group.sync.aligned 1",
            "barrier_arrive(empty + 8 * before);",
            "advance();",
            "wait_group.sync.aligned 0",
            "barrier_arrive(empty + 8 * before);",
        ]
        assert code.count("if (lane == 0) barrier_arrive") == 2


def test_a_gpu_gets_a_block_a_multiprocessor() -> None:
    state = TENSOR["fp16"].state()
    profile = state.spec.device_profile.model_copy(update={"gpu_name": "H100 PCIe"})
    spec = state.spec.model_copy(update={"device_profile": profile})
    for given_spec, blocks in ((state.spec, 132), (spec, 114)):
        found = MOVE.propose(replace(state, spec=given_spec))
        assert not isinstance(found, NotApplicable)
        for candidate in found:
            assert candidate.plan is not None
            assert f"min({blocks}, " in candidate.plan["steps"][0]["grid"][0]


def test_a_parameter_that_would_be_hidden_before_it_is_read_is_refused() -> None:
    source = TENSOR["fp16"]
    found = MOVE.propose(source.state(re.sub(r"\bM\b", "m_size", source.text)))
    assert isinstance(found, NotApplicable) and "`m_size`" in found.reason
