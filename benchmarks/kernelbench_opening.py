"""Which of KernelBench's problems open, and why others do not; no GPU is needed.

    python benchmarks/kernelbench_opening.py PROBLEMS... [--numbers 1-20,41-88] [--seconds 60]
        [--steps cut,built,right] [--to FILE]

PROBLEMS are files or folders of KernelBench (`level1`), which is not part of this repository. Each
is opened in a process of its own, three times:

  cut     at its own sizes, of shapes alone (torch's meta device): kernels, and what stays ATen's
  built   all its CUDA kernels, by NVRTC for sm_90a
  right   at small sizes (every size of the file above 16 becomes 16, or 17 where it is odd), drawn
          by a seed: the text of each CUDA kernel run thread by thread on the host, calls of ATen
          between them, the results compared with the module's own within 1e-4. Products are kernels
          here whatever their size. Where the module does not run at small sizes, it is not judged.

Nothing is timed. Written to benchmarks/results/kernelbench_opening.json as each ends.
"""

from __future__ import annotations

import argparse
import ast
import ctypes
import importlib
import json
import multiprocessing
import resource
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

from environment import RESULTS, write

from kernelwright.analysis.modules.lowering.cutting import Call, Cut, Kernel, cut
from kernelwright.analysis.modules.lowering.libraries import AS_IT_LIES, CONVOLUTION, OF_LIBRARY
from kernelwright.analysis.modules.lowering.loops import written
from kernelwright.analysis.modules.lowering.reference import line
from kernelwright.runners.modules.common.messages import ModuleSource
from kernelwright.runners.modules.cutting.graph import graph_of
from kernelwright.runners.modules.forms.base import namespace_of
from kernelwright.runners.modules.forms.kernelbench import FORM
from kernelwright.runners.modules.forms.subjects import Loaded

NAME, ARCH, SEED = "kernelbench_opening", "sm_90a", 42
STEPS = ("cut", "built", "right")
SMALL, CLOSE, THREADS = 16, 1e-4, 64
MOST_BYTES = 12 << 30
"""of a problem's process"""
LONGEST = 6
"""times its seconds of a processor that a problem may last"""
HOST = """#include <cmath>
using std::fmaxf; using std::fminf;
struct Place { unsigned x, y, z; };
static Place blockIdx, blockDim, threadIdx;
#define __global__
"""
"""what a plain CUDA kernel needs of its language where its threads run one after another"""


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser()
    parser.add_argument("problems", type=Path, nargs="+")
    parser.add_argument("--numbers", default="", help="of problems in a folder: 1-20,41")
    parser.add_argument("--seconds", type=int, default=60, help="of a processor, a problem")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--to", type=Path, default=RESULTS / f"{NAME}.json")
    given = parser.parse_args()
    importlib.import_module("torch.export")  # once, for all that are forked
    found = dict[str, Any]()
    for file in files_of(given.problems, numbers_of(given.numbers)):
        found[f"{file.parent.name}/{file.stem}"] = told = in_a_process(
            file, given.seconds, given.steps
        )
        write(NAME, {"problems": found}, given.to)
        print(f"{file.parent.name} {file.stem[:48]:48} {line_of(told)}", flush=True)
    print(table(found))


def numbers_of(text: str) -> set[int] | None:
    """`1-3,7` as numbers; None: all."""
    found = set[int]()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found |= set(range(int(first), int(last or first) + 1))
    return found or None


def files_of(places: Sequence[Path], numbers: set[int] | None) -> list[Path]:
    """The problems that were named, those of folders by their numbers."""
    found = list[Path]()
    for each in places:
        inside = [f for f in each.glob("*.py") if f.stem.split("_")[0].isdigit()]
        inside.sort(key=lambda f: int(f.stem.split("_")[0]))
        wanted = [f for f in inside if numbers is None or int(f.stem.split("_")[0]) in numbers]
        found += wanted if each.is_dir() else [each]
    return [each.resolve() for each in found]


def in_a_process(file: Path, seconds: int, steps: str) -> dict[str, Any]:
    """What comes of a problem; it is ended where it takes longer."""
    with tempfile.TemporaryDirectory() as scratch:
        facts = Path(scratch) / "facts.json"
        context = multiprocessing.get_context("fork")  # torch is imported once
        child = context.Process(
            target=of_problem, args=(file, Path(scratch), facts, steps, seconds)
        )
        child.start()
        child.join(LONGEST * seconds)
        if child.is_alive():
            child.kill()
            child.join()
        told: dict[str, Any] = json.loads(facts.read_text("utf-8")) if facts.exists() else {}
    if child.exitcode and child.exitcode < 0:
        told["ended"] = f"ended by {signal.Signals(-child.exitcode).name}, {seconds} s are allowed"
    return told


def of_problem(file: Path, scratch: Path, facts: Path, steps: str, seconds: int) -> None:
    """The three steps, told one by one."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    import torch

    torch.set_num_threads(1)
    told = dict[str, Any]()

    def tell(step: str, does: Any) -> None:
        try:
            told[step] = does()
        except Exception as error:  # whatever a problem's code, the tracer or a compiler raise
            told[step] = {"failed": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
        facts.write_text(json.dumps(told), encoding="utf-8")

    tell("cut", lambda: cut_at_its_sizes(file, scratch))
    if told["cut"].get("kernels") and "built" in steps:
        tell("built", lambda: {"bytes": built((scratch / "kernels.cu").read_text("utf-8"))})
    if "right" in steps:
        tell("right", lambda: judged_small(file, scratch))


def cut_at_its_sizes(file: Path, scratch: Path) -> dict[str, Any]:
    """Its kernels' source, and what stays ATen's by reason."""
    import torch

    with torch.device("meta"):
        loaded = loaded_from(file)
    parts = cut(graph_of(loaded, looked_at=False), libraries=True)
    kernels = [step for step in parts.steps if isinstance(step, Kernel)]
    texts = [written(parts, k, f"kernel_{n}", "cuda").source for n, k in enumerate(kernels)]
    (scratch / "kernels.cu").write_text("\n".join(texts), encoding="utf-8")
    left = Counter(step.why for step in parts.steps if isinstance(step, Call))
    left = {why: n for why, n in left.items() if why != AS_IT_LIES and "getitem" not in why}
    return {"kernels": len(kernels), "left": left}


def loaded_from(file: Path) -> Loaded:
    """The module in training mode, as their harness leaves it, and its inputs."""
    made = FORM.make(ModuleSource(path=str(file)), namespace_of(file), SEED, "cpu")
    return Loaded(made.model.train(), made.inputs, "cpu", FORM.name, file)


def built(source: str) -> int:
    """Bytes of the machine code. Raises RuntimeError with what NVRTC said."""
    nvrtc: Any = importlib.import_module("cuda.bindings.nvrtc")
    _, program = nvrtc.nvrtcCreateProgram(source.encode(), b"kernels.cu", 0, [], [])
    (failed,) = nvrtc.nvrtcCompileProgram(program, 1, [f"--gpu-architecture={ARCH}".encode()])
    if failed != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        log = b" " * size
        nvrtc.nvrtcGetProgramLog(program, log)
        raise RuntimeError(log.decode().strip()[:250])
    return int(nvrtc.nvrtcGetCUBINSize(program)[1])


def judged_small(file: Path, scratch: Path) -> dict[str, Any]:
    """How far the results of the kernels are from the module's own, at small sizes."""
    import torch

    small = scratch / file.name
    small.write_text(with_small_sizes(file.read_text("utf-8")), encoding="utf-8")
    loaded = loaded_from(small)
    try:
        loaded_from(small).call()
    except Exception as error:
        words = " ".join(f"{type(error).__name__}: {error}".split())
        return {"not judged": f"the module itself fails at small sizes: {words[:200]}"}
    graph = graph_of(loaded)
    parts = cut(graph)
    with torch.no_grad():
        found = computed(parts, loaded, scratch)
        wanted = loaded_from(small).call()
    wanted = [wanted] if graph.one_output else list(wanted)
    results = [found[name] for name in parts.outputs[: len(wanted)]]
    away = [distance(one, other) for one, other in zip(results, wanted, strict=True)]
    close = [torch.allclose(a, b, CLOSE, CLOSE) for a, b in zip(results, wanted, strict=True)]
    kernels = sum(isinstance(step, Kernel) for step in parts.steps)
    return {"kernels": kernels, "close": all(close), "away": max(away)}


def distance(one: Any, other: Any) -> float:
    """The largest difference of two results."""
    if one.shape != other.shape:
        return float("inf")
    return float((one.double() - other.double()).abs().nan_to_num(0.0).max())


def with_small_sizes(text: str) -> str:
    """Every number of the file's own assignments (not of its classes) above 16 as 16 or 17."""
    tree = ast.parse(text)
    for statement in tree.body:
        if not isinstance(statement, ast.Assign):
            continue
        for node in ast.walk(statement.value):
            if isinstance(node, ast.Constant) and type(node.value) is int and node.value > SMALL:
                node.value = SMALL + node.value % 2
    return ast.unparse(tree)


def computed(parts: Cut, loaded: Loaded, scratch: Path) -> dict[str, Any]:
    """All stored values of a call, step by step."""
    import torch

    model, values = loaded.model, dict[str, Any]()
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for node in parts.nodes.values():
        kind, _, where = node.given.partition(" ")
        if kind:
            value = loaded.inputs[int(where)] if kind == "input" else state[where]
            values[node.name] = value.contiguous() if isinstance(value, torch.Tensor) else value
    kernels = [step for step in parts.steps if isinstance(step, Kernel)]
    made = {k.name: written(parts, k, f"kernel_{n}", "cuda") for n, k in enumerate(kernels)}
    library = on_the_host([each.source for each in made.values()], len(made), scratch)
    for step in parts.steps:
        node = parts.nodes[step.name]
        if isinstance(step, Call):
            scope = {**values, "torch": torch}
            exec(line(node), scope)
            one = scope[step.name]
            values[step.name] = one.contiguous() if isinstance(one, torch.Tensor) else one
            continue
        kernel = made[step.name]
        out = torch.empty(node.shape or (), dtype=getattr(torch, node.dtype))
        given = [values[name].data_ptr() for name in kernel.reads] + [out.data_ptr()]
        blocks = -(-prod(node.shape or ()) // THREADS)
        getattr(library, f"run_{kernel.entry}")(*map(ctypes.c_void_p, given), ctypes.c_int(blocks))
        values[step.name] = out
    return values


def on_the_host(sources: Sequence[str], count: int, scratch: Path) -> Any:
    """The kernels as functions that run their threads one after another."""
    if not count:
        return None
    callers = list[str]()
    for source in sources:
        head = source[source.index("void kernel_") + 5 : source.index(") {") + 1]
        entry, _, listed = head.partition("(")
        names = [each.split()[-1].lstrip("*") for each in listed.rstrip(")").split(", ")]
        callers.append(
            f'extern "C" void run_{entry}({listed.rstrip(")")}, int blocks) {{ blockDim.x = '
            f"{THREADS}; for (blockIdx.x = 0; blockIdx.x < (unsigned)blocks; ++blockIdx.x) "
            f"for (threadIdx.x = 0; threadIdx.x < {THREADS}; ++threadIdx.x) "
            f"{entry}({', '.join(names)}); }}"
        )
    text, built_as = scratch / "kernels.cpp", scratch / "kernels.so"
    text.write_text("\n".join([HOST, *sources, *callers]), encoding="utf-8")
    flags = ["-O1", "-w", "-shared", "-fPIC", "-std=c++17", "-o", str(built_as)]
    done = subprocess.run(["g++", *flags, str(text)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[:300])
    return ctypes.CDLL(str(built_as))


def line_of(told: Mapping[str, Any]) -> str:
    """What came of one problem."""
    return "; ".join(filter(None, (ending_of(told), right_of(told))))


def ending_of(told: Mapping[str, Any]) -> str:
    """How far it opened."""
    parts = told.get("cut", {})
    if "failed" in parts or not parts:
        return f"refused: {parts.get('failed', told.get('ended', ''))[:140]}"
    left = ", ".join(f"{n} x {why}" for why, n in parts["left"].items())
    if not parts["kernels"]:
        return f"no kernel: {left[:140]}"
    whole = f"{parts['kernels']} kernels" + (f", left: {left[:120]}" if left else "")
    failed = told.get("built", {}).get("failed")
    return f"not built: {failed[:140]}" if failed else whole


def right_of(told: Mapping[str, Any]) -> str:
    """What the small sizes said."""
    right = told.get("right", {})
    if not right and "ended" not in told:
        return ""
    if "failed" in right or "not judged" in right:
        return f"small: {right.get('failed', right.get('not judged', ''))[:100]}"
    if not right:
        return f"small: {told.get('ended', '')}"
    return f"small: {right['kernels']} kernels {'right' if right['close'] else 'WRONG'}"


def table(found: Mapping[str, Mapping[str, Any]]) -> str:
    """Problems by level and by what came of them; reasons for what stays ATen's."""
    lines, reasons = list[str](), Counter[str]()
    for level in sorted({name.partition("/")[0] for name in found}):
        own = [told for name, told in found.items() if name.startswith(f"{level}/")]
        kinds = Counter(kind_of(each) for each in own)
        small = Counter(right_of(each).split()[-1] for each in own if each.get("right"))
        told = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
        lines.append(f"{level}: {len(own)} problems: {told}")
        lines.append(f"  at small sizes: {small['right']} right, {small['WRONG']} wrong")
        for each in own:
            reasons.update(each.get("cut", {}).get("left", {}).keys())
    lines += [f"  {n:3} problems: {why}" for why, n in reasons.most_common(30)]
    return "\n".join(lines)


def kind_of(told: Mapping[str, Any]) -> str:
    """Refused, not built, all kernels, some, or none: by what it computes."""
    parts = told.get("cut", {})
    if "kernels" not in parts:
        return "refused"
    if "failed" in told.get("built", {}):
        return "not built"
    if not parts["kernels"]:
        library = all(why in (OF_LIBRARY, CONVOLUTION) for why in parts["left"])
        return "a library's work alone" if library else "without a kernel"
    return "partly ATen's" if parts["left"] else "all kernels"


if __name__ == "__main__":
    main()
