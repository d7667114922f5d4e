"""An operator that a program was seen to call, as the spec of a kernel."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....analysis.modules.lowering.cutting import Cut, Kernel, cut
from ....analysis.modules.lowering.reference import reference_text
from ....analysis.programs.calls import calls_of, why_no_gain
from ....analysis.programs.operator_module import RECORDED, module_text
from ....runners.errors import AccessError, SpecError
from ....runners.modules.common.graphs import ModuleGraph
from ....runners.modules.common.messages import ModuleJob, ModuleSource, PhaseFailed, Recalled
from ....runners.modules.recalling import REFERENCE
from ....runners.modules.running import Found, run_job
from ....runners.recording.operators.call_cost import noted_cost
from ....runners.recording.operators.composition import Composition, Part, write_composition
from ....runners.recording.operators.seen import (
    SeenOperator,
    SeenOperators,
    operators_of,
)
from ....runners.recording.recording import COUNT
from ....runners.whole_files import write_whole
from ...parts.kernelbench.specs import FILES, CutSpec, bytes_of, entry_name, write_spec
from ...parts.models.asked import gpu_uuid
from .several_shapes import CutAt, Shapes, several_shapes, write_for_all

MODULE_FILE = "operator_call.py"
TIMEOUT_S = 600.0
CLOSE = 1e-3
"""of the root mean square of what the program got: further away a reference is another operator"""


@dataclass(frozen=True, slots=True)
class OpenedOperator:
    """Where the specs lie, one for each kernel, and what is to be known of them."""

    specs: tuple[Path, ...]
    workloads: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def spec(self) -> Path:
        """The first."""
        return self.specs[0]


def open_operator(outdir: Path, label: str, to: Path, *, alone: bool = False) -> OpenedOperator:
    """Write the specs of a recorded operator into a new folder: for each kernel that it takes a
    plain one to start from, and the operators of ATen that it stands for as its reference. All of
    them together are compared with what the program got. Calls that are alike but for the sizes of
    their tensors become workloads of one spec, where one kernel can be written for all of them;
    `alone`: never, and its own sizes are constants of the kernel.

    Raises KernelwrightError in a sentence for what no kernel is written for.
    """
    found = operators_of(outdir / COUNT)
    seen = found.labelled(label)
    if seen.why_not:
        raise SpecError(f"{label} ({seen.operator}) cannot be replaced: {seen.why_not}")
    if seen.kept is None:
        raise AccessError(
            f"the tensors of {label} were not kept", next_step="record the program with --keep"
        )
    if to.exists() and any(to.iterdir()):
        raise AccessError(f"{to} is not empty", next_step="name a new folder")
    text = module_text(seen)
    uuid = gpu_uuid(seen.device, (), outdir)
    to.mkdir(parents=True, exist_ok=True, mode=0o700)
    shutil.copyfile(seen.kept, to / RECORDED)
    (to / RECORDED).chmod(0o600)
    module = write_whole(to / MODULE_FILE, text)
    parts = cut(_graph(module, seen, uuid))
    kernels = _kernels(parts, seen)
    given = {n.name: int(n.given.split()[1]) for n in parts.nodes.values() if n.given}
    write_whole(to / REFERENCE, reference_text(parts, parts.outputs, tuple(given)))
    close = _recalled(module, seen, uuid)
    made = _specs(parts, kernels, seen, to)
    write_composition(outdir, label, _composition(parts, made, given))
    shapes = None if alone else several_shapes(seen, parts, found, _cut_at(uuid))
    calls = (seen,) if shapes is None else _for_all(shapes, made, kernels, outdir, given)
    scope = _only(seen) if len(calls) == 1 else _all(calls)
    notes = (close, *_no_gain(outdir, seen, found), scope, *_several(made))
    return OpenedOperator(
        tuple(each.spec for each in made), tuple(each.label for each in calls), notes
    )


def _for_all(
    shapes: Shapes,
    made: Sequence[CutSpec],
    kernels: Sequence[Kernel],
    outdir: Path,
    given: Mapping[str, int],
) -> tuple[SeenOperator, ...]:
    """The calls that the specs stand for: all, where each of the kernels can be written for all."""
    language = "cuda" if shapes.calls[0].device == "cuda" else "cpp"
    before = [
        {
            f: f.read_bytes()
            for f in (
                each.spec,
                each.spec.with_name("reference.py"),
                each.spec.with_name(FILES[language]),
            )
        }
        for each in made
    ]
    together = zip(made, kernels, strict=True)
    if not all(write_for_all(each, kernel, language, shapes) for each, kernel in together):
        for files in before:
            for file, content in files.items():
                write_whole(file, content)
        return shapes.calls[:1]
    for each, parts in zip(shapes.calls, shapes.cuts, strict=True):
        write_composition(outdir, each.label, _composition(parts, made, given))
    return shapes.calls


def _cut_at(uuid: str | None) -> CutAt:
    """Cuts an operator at given shapes of its tensors, in a folder that is gone afterwards."""

    def made(seen: SeenOperator, sizes: Sequence[Sequence[int]]) -> Cut:
        with tempfile.TemporaryDirectory(prefix="kernelwright-operator-") as folder:
            module = write_whole(Path(folder) / MODULE_FILE, module_text(seen, sizes))
            return cut(_graph(module, seen, uuid))

    return made


def _specs(
    parts: Cut, kernels: Sequence[Kernel], seen: SeenOperator, to: Path
) -> tuple[CutSpec, ...]:
    """A lone kernel's spec lies in the folder itself, each of several in one of its own."""
    language = "cuda" if seen.device == "cuda" else "cpp"
    workload = {"name": seen.label, "weight": float(seen.count)}
    name = kernel_name(seen)
    if len(kernels) == 1:
        return (write_spec(parts, kernels[0], name, language, to, workload),)
    return tuple(
        write_spec(parts, each, f"{name}_{n}", language, to / f"{name}_{n}", workload)
        for n, each in enumerate(kernels)
    )


def _composition(parts: Cut, made: Sequence[CutSpec], given: Mapping[str, int]) -> Composition:
    written = [each.kernel.name for each in made]
    return Composition(
        tuple(Part(m.written.entry, m.written.reads, m.kernel.name) for m in made),
        given,
        parts.outputs,
        {name: bytes_of(parts.nodes[name]) for name in written},
    )


def _several(made: Sequence[CutSpec]) -> tuple[str, ...]:
    if len(made) == 1:
        return ()
    inputs = " ".join(f"--input {each.spec}" for each in made)
    return (
        f"it takes {len(made)} kernels: search all of them (kernelwright optimize {inputs}); "
        "they are exported together",
    )


def kernel_name(seen: SeenOperator) -> str:
    """What the kernel of an operator is called: never as a function of C, which `exp` is."""
    return entry_name(f"aten_{seen.operator.partition('::')[2]}")


def _graph(module: Path, seen: SeenOperator, uuid: str | None) -> ModuleGraph:
    found = _asked(module, seen, uuid, "graph")
    graph = found.one(ModuleGraph)
    if graph is None:
        failed = found.one(PhaseFailed)
        raise SpecError(failed.words if failed else f"the graph of {seen.operator} was not told")
    return graph


def _kernels(parts: Cut, seen: SeenOperator) -> list[Kernel]:
    """Raises SpecError where not every value is a kernel's, or a result is no value of its own."""
    kernels = [step for step in parts.steps if isinstance(step, Kernel)]
    left = [step.why for step in parts.steps if not isinstance(step, Kernel)]
    if left:
        raise SpecError(
            f"{seen.operator} is not written as a kernel: {left[0]}",
            next_step="write a spec with a kernel of yours",
        )
    written = {each.name for each in kernels}
    apart = len(set(parts.outputs)) == len(parts.outputs) == len(seen.made)
    if not kernels or not apart or not written.issuperset(parts.outputs):
        raise SpecError(
            f"{seen.operator} returns {len(seen.made)} results that are not each a kernel's own",
            next_step="write a spec with a kernel of yours",
        )
    return kernels


def _recalled(module: Path, seen: SeenOperator, uuid: str | None) -> str:
    """What is told of the reference. Raises SpecError where it is not what the program got."""
    found = _asked(module, seen, uuid, "recalled")
    told, failed = found.one(Recalled), found.one(PhaseFailed)
    if told is None:
        raise SpecError(
            "the reference cannot be compared with what the program got: "
            + (failed.words if failed else " ".join(found.lost))
        )
    if not told.reference <= CLOSE:
        raise SpecError(
            f"the reference of {seen.operator} is {told.reference:.2g} away from what the program "
            f"got (the operator itself here {told.eager:.2g}): it would judge wrongly",
            next_step="write a spec with a reference of yours",
        )
    return (
        f"in float64 the reference is {told.reference:.2g} away from what the program got, of its "
        f"root mean square; the operator itself, called again here, {told.eager:.2g}"
    )


def _no_gain(outdir: Path, seen: SeenOperator, found: SeenOperators) -> tuple[str, ...]:
    """That a search for it is for nothing, where that is known before."""
    why = why_no_gain(seen, found, calls_of(found, noted_cost(outdir)))
    return (f"no kernel in its place makes the program faster: {why}",) if why else ()


def _only(seen: SeenOperator) -> str:
    return (
        f"the spec is for these shapes alone, of {seen.count} calls: others stay PyTorch's. Its "
        "inputs are drawn as the program's are spread"
    )


def _all(calls: Sequence[SeenOperator]) -> str:
    return (
        f"the spec is for {len(calls)} shapes ({', '.join(each.label for each in calls)}), "
        "weighted by their calls, with sizes as symbols and one shape of no call held out; --alone "
        "writes one for this shape alone, its sizes constants. Inputs are drawn as its own are "
        "spread"
    )


def _asked(module: Path, seen: SeenOperator, uuid: str | None, phase: str) -> Found:
    """What the process of the module says, its files gone afterwards."""
    scratch = Path(tempfile.mkdtemp(prefix="kernelwright-module-"))
    try:
        job = ModuleJob(
            source=ModuleSource(path=str(module.resolve())),
            device="cuda" if seen.device == "cuda" else "cpu",
            phases=(phase,),
            scratch=str(scratch),
            readable=(str(module.resolve().parent),),
        )
        return run_job(job, uuid=uuid, timeout_s=TIMEOUT_S)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
