"""What server and runner say to each other. The words are the same for every tier."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ..model import Conditions, Record
from ..plans.plan import LaunchPlan
from ..specs.contract import BoundContract, bind
from ..specs.io_contract import Contract

Given = Literal["", "ready", "late"]
"""When calls of a sample get their values: before it begins; or in the midst of it, each right
before it begins, where its buffers held the same until then (`ready`), or another seed's
(`late`)."""


Placement = Literal["pages", "barely", "end", "start", "anywhere"]
"""Where buffers of a checked run lie. In one arena, between guard bands: at the start of pages, or
aligned no better than promised (`barely`). Or each in memory of its own with nothing mapped around
it, so that it ends where that ends (`end`, as near as the promised alignment lets it), begins where
that begins (`start`), or lies at a place that is drawn; order and distances are drawn, too."""
UNPLACED = "unplaced"
"""the kind of fault of a run that could not be placed so: it says nothing of the variant"""
WALLED: tuple[Placement, ...] = ("end", "start", "anywhere")


class Pool(Record):
    """The inputs of one workload; the values come in a file descriptor beside the message."""

    pool: str
    contract: Contract
    symbols: dict[str, int]
    label: str
    slots: int

    def bound(self) -> BoundContract:
        """The contract with the workload's numbers in it."""
        return bind(self.contract, self.symbols, self.label)


class Load(Record):
    """A variant: its machine code and its plans."""

    variant: str
    modules: dict[str, str]
    """paths by hash"""
    plans: tuple[LaunchPlan, ...]
    environment: dict[str, str] = Field(default_factory=dict[str, str])
    """of processes that run host code, beside what every one has"""


class Check(Record):
    """Run once for each (slot, poison), in a fresh process, and hand over what came out."""

    variant: str
    pool: str
    slots: tuple[int, ...]
    poisons: tuple[int, ...]
    """words, see `patterns.py`"""
    placement: Placement = "pages"
    timeout_s: float
    known: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    """digests of outputs that need not be handed over, by slot"""


class Block(Record):
    """Timed samples: each round runs every side once, in its order."""

    pool: str
    rounds: tuple[tuple[str, ...], ...]
    calls: dict[str, int]
    """calls of one sample, by variant; each call has buffers and values of its own"""
    poison: int
    timeout_s: float
    known: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    reload: bool = False
    """load every side's machine code anew first: two loads of the same code differ a little"""
    hot: bool = False
    """times with caches as a call before left them, to be told beside the others; a runner that
    cannot take them gives no samples"""
    placed: int | None = None
    """a seed: buffers lie in memory of their own for this block, at offsets that are drawn by it
    and that the declared alignment allows (`layout.placed_arena`), alike for all sides; None: where
    they always do. A GPU's runner leaves them there"""
    cycle: int = 0
    """after how many calls of a sample its seeds come again, at least 1: code that looks for the
    outputs of an earlier call is faster so than on seeds of which no two are equal (`calls` below
    the number of seeds). 0: when all of the pool's have come"""
    hidden: tuple[tuple[int, ...], ...] = ()
    """by round: seeds that calls at drawn places get in place of their own. No other call of the
    block has one of them, so all that lies beside such a call is as it always is"""
    early: bool = False
    """a GPU takes one more sample of each side, whose outputs are looked at early and whose time is
    not; nowhere but where values lie ready, and are those of seeds that come once"""
    given: Given = ""
    """not `""`: code that works for later calls is wrong where values come late, or slower if it
    looks twice. Calls are so few that what buffers hold until then are seeds of their own."""


class RunResult(Record):
    """What one run left behind. With a fault, nothing else is known."""

    slot: int
    poison: int
    fault: str = ""
    fault_kind: str = ""
    said: str = ""
    """what the code itself chose of a fault: what it printed, its exit status, an address. It may
    hold what the code was given, so it is told of a public seed alone"""
    printed: str = ""
    """what it printed in a checked run, the beginning; told of a public seed alone as well"""
    overrun: str = ""
    changed_inputs: tuple[str, ...] = ()
    touched_gaps: tuple[str, ...] = ()
    digest: str = ""
    late: bool = False
    """its outputs changed behind the event that told its end"""
    again: bool = False
    """a run on the state that the one before it had left"""
    drifted: tuple[str, ...] = ()
    """buffers that setup fills, which further calls on the same values leave otherwise each time"""
    stored: int | None = None
    """place in the outputs file; None: the server knows this output"""
    busy_s: float = 0.0
    """seconds that the device worked for a checked run; 0: not known"""


class SideTimes(Record):
    """The samples of one side in one block: nanoseconds a call, in the order measured."""

    variant: str
    nanoseconds: tuple[float, ...] = ()
    disturbed: tuple[float, ...] = ()
    """share of each sample in which the variant was ready to run and something else did"""
    crowded: bool = False
    """it had more threads than cores: what else ran was itself, but for `BlockResult.others_s`"""
    results: tuple[RunResult, ...] = ()
    fault: str = ""
    fault_kind: str = ""


class BlockResult(Record):
    """One block: every side's samples, or the first side that faulted, alone."""

    sides: tuple[SideTimes, ...]
    conditions: Conditions = Conditions()
    busy_s: float = 0.0
    """seconds that the device worked for it, restoring and looking included; 0: not known"""
    seconds: float = 0.0
    """that it took; 0: not known"""
    others_s: float = 0.0
    """core seconds that other programs had meanwhile, on a host; see `native/others.py`"""
