"""What the server and the process that runs a module hand each other: a job, and lines of results.

The process writes `results.jsonl` a line at a time, so that what it found survives its end. All of
it was written by a process in which the user's code runs: the server reads it as text that may be
wrong, through these models.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ...model import Record
from .graphs import InductorCode, ModuleGraph
from .scores import Scored

JOB, RESULTS = "job.json", "results.jsonl"

ErrorClass = Literal["bit-equal", "fp32 rounding", "TF32", "bf16"]
ERROR_CLASSES: tuple[ErrorClass, ...] = ("bit-equal", "fp32 rounding", "TF32", "bf16")
"""from the strictest to the loosest"""
Precision = Literal["tf32", "bf16"]
Variant = Literal["tf32", "bf16", "channels_last", "channels_last+bf16", "sdpa", "sdpa+bf16"]
"""how an operator was called again, beside the way in which the model calls it"""


class ModuleSource(Record):
    """Which module, and what it is called with."""

    path: str
    """a Python file, or a config of Hugging Face (.json)"""
    name: str = ""
    """the class (or a function that returns the module); empty: the file's form says it"""
    init: dict[str, Any] = Field(default_factory=dict)
    """keyword arguments of the class; not where the file has `get_init_inputs`"""
    inputs: tuple[str, ...] = ()
    """`float32[4,512]`, `int64[4,128]<32000`; not where the file has `get_inputs`"""


class ModuleJob(Record):
    """What the process is to find out."""

    source: ModuleSource
    device: Literal["cpu", "cuda"]
    phases: tuple[str, ...]
    """names of `process.PHASES`"""
    rungs: tuple[tuple[str, ...], ...] = ()
    """steps of each rung in their order; the first rung is `()`, eager; empty: those that apply"""
    allow: tuple[Precision, ...] = ()
    """precisions that the user consents to"""
    batches: tuple[int, ...] = ()
    threads: int | None = None
    """of a CPU; None: as many as torch takes by itself"""
    seed: int = 42
    """before the module is made, and before its inputs are"""
    budget_s: float = 600.0
    """for the ladder: no rung is begun after it"""
    scratch: str
    rivals: tuple[str, ...] = ()
    """files with a ModelNew, for the phase `score`"""
    training: bool = False
    """the module stays in training mode, as KernelBench's harness leaves it"""
    readable: tuple[str, ...]
    """folders that the module's file may read"""


class SubjectFacts(Record):
    """The module as it was made."""

    kind: Literal["subject"] = "subject"
    form: str
    class_name: str
    device: str
    """`cpu`, or the name of the GPU"""
    torch: str
    threads: int
    parameters: int
    parameter_bytes: int
    inputs: tuple[str, ...]
    """`float32[4,512,1024]`"""
    dtype: str
    """of most parameters"""


class EagerTimes(Record):
    """One eager call: wall time, and the host's part of it without waiting for the device."""

    kind: Literal["eager"] = "eager"
    ms: float
    host_ms: float
    peak_bytes: int | None = None
    """`torch.cuda.max_memory_allocated` over one call; None on a CPU"""


class OpRow(Record):
    """One call of an ATen operator in an eager call of the module."""

    n: int
    op: str
    """`aten.addmm`"""
    module: str
    """the path of the innermost module, empty for the whole"""
    line: str = ""
    """`model.py:37`, the innermost line of the user's"""
    us: float
    """time on the device (CPU: of the operator's call), the median of some calls of the module"""
    kernels: tuple[str, ...] = ()
    """kernels that it launched; empty on a CPU"""
    reads: tuple[tuple[int, int, int], ...] = ()
    """storage, offset and bytes of what it reads; a storage has one number as long as it lives"""
    writes: tuple[tuple[int, int, int], ...] = ()
    flops: int = 0
    dtype: str = ""
    """of the first result that has one"""
    from_dtype: str = ""
    """of the first tensor that it was given"""
    shapes: str = ""
    """of the tensors that it was given: `4x512x1024, 1024x4096`"""
    waits: bool = False
    """the host waits for the device here (`item`, `nonzero`, a copy to the host)"""
    uploads: bool = False
    """a tensor of the host is copied to the device"""
    strided: bool = False
    """a plain copy that changes nothing but the order in memory"""
    key: str = ""
    """calls of the same operator at the same shapes and types share it"""

    @property
    def bytes(self) -> int:
        """All that it reads and writes."""
        return sum(b for _, _, b in self.reads) + sum(b for _, _, b in self.writes)


class ModuleRow(Record):
    """One module of the tree, over one call of the whole."""

    path: str
    class_name: str
    calls: int
    parameter_bytes: int
    peak_bytes: int
    """the most bytes of tensors that lived during its calls, parameters and inputs left out"""
    kept_bytes: int
    """what lived after its last call, of what was made within it"""


class Trace(Record):
    """An eager call, operator by operator."""

    kind: Literal["trace"] = "trace"
    ops: tuple[OpRow, ...]
    modules: tuple[ModuleRow, ...]
    unattributed_us: float = 0.0
    """device time of kernels that no operator launched"""


class Roofs(Record):
    """What this machine can do, measured."""

    kind: Literal["roofs"] = "roofs"
    copies: tuple[tuple[int, float], ...]
    """bytes read and written by one copy, and its microseconds: from small to large"""
    peaks: dict[str, float]
    """FLOP/s of a large square product, by type (`float32`, `tf32`, `bfloat16`)"""
    compiled_call_us: float | None = None
    """host time of a compiled call, beside its kernels; None: not measured"""
    compiled_kernel_us: float | None = None
    """host time that each kernel of a compiled call adds"""


class OwnShape(Record):
    """An operator called again at its own shapes, on random values, alone."""

    key: str
    us: float
    """as the model calls it"""
    variants: dict[str, float] = Field(default_factory=dict)
    """microseconds by `Variant`"""


class OwnShapes(Record):
    """All operators that were called again."""

    kind: Literal["own_shapes"] = "own_shapes"
    found: tuple[OwnShape, ...]
    left_out: int = 0
    """keys for which there was no time"""


class Recalled(Record):
    """Outputs that a program got, beside what is computed from the same inputs here: relative to
    the root mean square of what it got, the largest difference of any element."""

    kind: Literal["recalled"] = "recalled"
    reference: float
    """of the reference, in float64"""
    eager: float
    """of the operator itself, in its own type"""


class Break(Record):
    """A place at which `torch.compile` has to end one graph and begin another."""

    reason: str
    line: str


class Breaks(Record):
    """What `torch.compile` makes of the module."""

    kind: Literal["breaks"] = "breaks"
    graphs: int
    found: tuple[Break, ...]


class AttentionSite(Record):
    """Attention written by hand, that `scaled_dot_product_attention` can do."""

    line: str
    shapes: str
    """of queries and keys"""
    causal: bool
    masked: bool
    us: float | None = None
    """measured: one call of SDPA at these shapes"""
    us_bf16: float | None = None


class Attention(Record):
    """What the rewriting finds."""

    kind: Literal["attention"] = "attention"
    found: tuple[AttentionSite, ...]
    refused: tuple[str, ...] = ()
    """softmaxes between two products that it leaves alone, and why"""


class BatchPoint(Record):
    """An eager call with another number of samples."""

    batch: int
    ms: float | None = None
    peak_bytes: int | None = None
    failed: str = ""


class Batches(Record):
    """A sweep over the first dimension of all inputs."""

    kind: Literal["batches"] = "batches"
    points: tuple[BatchPoint, ...]
    why_not: str = ""


class Agreement(Record):
    """Outputs of a rung beside the truth: the model in float64 on the same inputs."""

    rms: float
    """root mean square of the error over that of the truth"""
    worst: float
    """largest error over the root mean square of the truth"""
    bit_equal: bool
    """to the eager outputs"""
    close_1e_4: bool
    """torch.allclose to the eager outputs at 1e-4 both, and 1e-2"""
    close_1e_2: bool


class Planned(Record):
    """The rungs that the ladder is going to have."""

    kind: Literal["planned"] = "planned"
    rungs: tuple[tuple[str, ...], ...]


class RungMade(Record):
    """A rung that runs, and what its outputs are like; or why it does not."""

    kind: Literal["rung"] = "rung"
    steps: tuple[str, ...]
    agreement: Agreement | None = None
    prepared_s: float = 0.0
    """seconds until its first output"""
    peak_bytes: int | None = None
    failed: str = ""
    notes: tuple[str, ...] = ()


class RungTimes(Record):
    """Blocks in turns: one median a block and rung."""

    kind: Literal["times"] = "times"
    rungs: tuple[tuple[str, ...], ...]
    blocks_ms: tuple[tuple[float, ...], ...]
    """by rung"""
    truth: str
    """`float64`, or why the eager outputs were taken for it"""


class Progress(Record):
    """What is under way."""

    kind: Literal["progress"] = "progress"
    word: str


class PhaseFailed(Record):
    """A phase that came to nothing."""

    kind: Literal["failed"] = "failed"
    phase: str
    words: str


Line = Annotated[
    SubjectFacts
    | EagerTimes
    | Trace
    | Roofs
    | OwnShapes
    | Recalled
    | Breaks
    | Attention
    | Batches
    | Planned
    | RungMade
    | RungTimes
    | ModuleGraph
    | InductorCode
    | Scored
    | Progress
    | PhaseFailed,
    Field(discriminator="kind"),
]
