"""How many tokens briefs have: the first of a kernel, and later ones beyond what a cache keeps.

    python benchmarks/brief_sizes.py [--result FILE]

Two generated kernels of 200 lines, a chain of terms as host C++ and as CUDA, and three short CUDA
kernels, of which the later variants are those written by hand in `ladders/`: other sources from
first line to last. Rules search the host kernel; of the others variants are built and not timed, so
that no GPU is needed, and their briefs have no profile and no source lines with samples: with one
`bound` and `lines` have up to 3,200 tokens. Tokens are counted as the product does, bytes of UTF-8
over 3, rounded up (`search/planning/brief.py`), as no service is asked. What is cached of a later
brief are the sections that are the same for every variant, which are the system prompt (the tools,
which stand before it, are too), and the source of a rewrite, which is counted apart, once for all
briefs that hold it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from environment import RESULTS, ROOT, write

from kernelwright.search.outdir.overview import variants
from kernelwright.search.planning.brief import Brief, tokens_of
from kernelwright.search.session.optimize import Opened, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.server.planning.answering import looking_tools
from kernelwright.tools.brief.assemble import brief_of
from kernelwright.tools.compile_variant import CompileVariantArguments, compile_variant
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel
from kernelwright.tools.propose_moves import ProposeMovesArguments, propose_moves

LINES = 200
LADDERS = {"sgemm": "gemm", "softmax": "softmax", "rmsnorm": "rmsnorm"}
KERNELS = ROOT / "benchmarks" / "kernels"


def main() -> None:
    """Open, build or search, count, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--builds", type=int, default=4)
    parser.add_argument("--result", type=Path, default=RESULTS / "brief_sizes.json")
    asked = parser.parse_args()
    rows = list(counted(asked.builds))
    with tempfile.TemporaryDirectory() as folder, Workbench(Path(folder), []) as bench:
        looks = tools(bench)
    result = {"counted": "bytes of UTF-8 over 3, rounded up", "tools": looks, "kernels": rows}
    print(json.dumps(result, indent=1))
    print(f"written to {write('brief_sizes', result, asked.result)}")


def counted(builds: int) -> Iterator[dict[str, Any]]:
    """A row a kernel."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Workbench(Path(folder) / "out", [Path(folder)]) as bench,
    ):
        spec, kernel_id = written(Path(folder)), ""
        for event in optimize(bench, [spec], Settings(budget_builds=builds)):
            if isinstance(event, Opened):
                kernel_id = event.kernel.kernel_id
        yield sizes(bench, "chain, host C++", kernel_id)
    with (
        tempfile.TemporaryDirectory() as folder,
        Workbench(Path(folder) / "out", [Path(folder)]) as bench,
    ):
        kernel_id = opened(bench, written(Path(folder), cuda=True))
        ready = propose_moves(bench, ProposeMovesArguments(kernel_id=kernel_id, limit=1)).moves
        for handle in [each.candidates[0].ready for each in ready if each.candidates][:builds]:
            compile_variant(bench, CompileVariantArguments(kernel_id=kernel_id, ready=handle))
        yield sizes(bench, "chain, CUDA", kernel_id)
    for ladder, kernel in LADDERS.items():
        with tempfile.TemporaryDirectory() as folder, Workbench(Path(folder), [KERNELS]) as bench:
            kernel_id = opened(bench, KERNELS / kernel / "cuda.json")
            climbed(bench, kernel_id, sorted((ROOT / "benchmarks/ladders" / ladder).glob("*.cu")))
            yield sizes(bench, f"{ladder}, CUDA", kernel_id)


def opened(bench: Workbench, spec: Path) -> str:
    """The kernel's id; its baseline is built."""
    return open_kernel(bench, OpenKernelArguments(spec_path=str(spec))).kernel_id


def climbed(bench: Workbench, kernel_id: str, steps: Sequence[Path]) -> None:
    """Build each step on the one before it."""
    base = "baseline"
    for step in steps:
        source = step.read_text(encoding="utf-8")
        asked = CompileVariantArguments(kernel_id=kernel_id, base=base, source=source)
        base = compile_variant(bench, asked).variant_id


def sizes(bench: Workbench, kernel: str, kernel_id: str) -> dict[str, Any]:
    """Tokens of the first brief by section, of rewrites, which a cache is filled with once each,
    and of the largest later brief beyond the cache."""
    record = bench.evaluator.kernel(kernel_id)
    first = brief_of(bench, record.baseline)
    known = [each for each in variants(bench.store, record) if not each.is_baseline]
    briefs = [brief_of(bench, each.variant_id) for each in known]
    rewrites = {s.text: s.tokens for each in briefs for s in each.sections if s.name == "rewrite"}
    later = sorted(briefs, key=beyond)
    return {
        "kernel": kernel,
        "lines": len(record.loaded.source.splitlines()),
        "first": first.tokens,
        "first_by_section": first.ledger,
        "later": len(later),
        "rewrites_cached_once": sorted(rewrites.values()),
        "later_beyond_the_cache": [beyond(each) for each in later],
        "largest_by_section": {
            s.name: s.tokens for s in later[-1].sections if s.same_for == "variant"
        },
    }


def beyond(brief: Brief) -> int:
    """Tokens that no cache keeps from variant to variant."""
    return sum(each.tokens for each in brief.sections if each.same_for == "variant")


def tools(bench: Workbench) -> dict[str, int]:
    """Tokens of the tools that a model may look with: by where kernels run."""
    return {
        side: tokens_of(json.dumps([[t.name, t.description, t.schema] for t in looks]))
        for side, looks in (
            ("host", looking_tools(bench, on_gpu=False)),
            ("gpu", looking_tools(bench, on_gpu=True)),
        )
    }


def written(folder: Path, *, cuda: bool = False) -> Path:
    """The kernel, its reference and its spec."""
    body = "".join(
        f"        const float t{n} = x[i] * {1 + n / 64:.6f}f + t{n - 1} * 0.5f;\n"
        for n in range(1, LINES - 9)
    )
    head = (
        "void chain(const float* x, float* y, std::int32_t n) {\n"
        "    for (int i = 0; i < n; ++i) {\n"
    )
    if cuda:
        head = (
            'extern "C" __global__ void chain(const float* x, float* y, int n) {\n'
            "    const int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) {\n"
        )
    include = "" if cuda else "#include <cstdint>\n\n"
    source = (
        f"{include}// A chain of terms, written out as generators write it.\n"
        f"{head}        const float t0 = x[i];\n{body}        y[i] = t{LINES - 10};\n    }}\n}}\n"
    )
    name = "chain.cu" if cuda else "chain.cpp"
    terms = [1 + n / 64 for n in range(1, LINES - 9)]
    (folder / name).write_text(source, encoding="utf-8")
    (folder / "reference.py").write_text(
        f"TERMS = {[round(t, 6) for t in terms]}\n\n\ndef reference(x, n):\n    t = x\n"
        "    for term in TERMS:\n        t = x * term + t * 0.5\n    return t\n",
        encoding="utf-8",
    )
    spec = {
        "name": "chain",
        "kernel": {
            "kernel_type": "cuda" if cuda else "cpp",
            "source_path": name,
            "metadata": {"kernel_name": "chain"},
            **({"launch": {"grid": ["cdiv(n, 256)"], "block": [256]}} if cuda else {}),
        },
        "io": {
            "arguments": [
                {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
                {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ]
        },
        "symbols": {"n": {"min": 1, "max": 100000}},
        "workloads": [{"name": "usual", "symbols": {"n": 20000}}],
        "reference": "reference.py",
    }
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    return folder / "spec.json"


if __name__ == "__main__":
    main()
