"""What a client can read of a kernel that fails says nothing of the values on secret seeds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lift
import numpy as np
import pytest

from kernelwright.runners.errors import ReferenceFailed
from kernelwright.runners.gates.checking import Checker
from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.model import Ending, Evaluation
from kernelwright.runners.oracle.inputs import make_inputs
from kernelwright.runners.protocol.pools import PUBLIC_SEED, SeedPool
from kernelwright.search.session.workbench import Workbench

TINY = re.compile(r"\d(?:\.\d+)?e-(?:19|2\d)")
"""Numbers about the inputs' scale, of which nothing else in an evaluation is."""
SCALE = 1e-21
SUMS = """
void lift(const float* x, float* y, int n) {
    double sum = 0;
    for (int r = 0; r < 3; ++r) {
        sum = 0;
        for (int i = 0; i < n; ++i) { volatile float kept = x[i]; sum += kept; }
    }
    y[0] = float(sum);
}
"""
PROBES = {
    "does nothing": ("", "return;", Ending.wrong),
    "writes zero": ("", "y[0] = 0; return;", Ending.wrong),
    "is off by a known amount": ("", f"n /= 2; y[0] = {SCALE}f; return;", Ending.wrong),
    "fails where a value says": (
        "",
        "y[0] = x[0] > 0 ? x[1] : x[2]; return;",
        Ending.wrong,
    ),
    "prints what it knows": (
        "#include <cstdio>\n#include <cstdlib>\n",
        'double s = 0; for (int i = 0; i < n; ++i) s += x[i]; std::fprintf(stderr, "%.9g", s);'
        " volatile int* volatile gone = nullptr; *gone = 1;",
        Ending.launch_failed,
    ),
    "prints a line of what it knows and goes on": (
        "#include <cstdio>\n",
        'std::printf("x[0] is %.9g\\n", x[0]);',
        Ending.tie,
    ),
    "throws what it knows": (
        "#include <stdexcept>\n#include <string>\n#include <cstdio>\n",
        'char t[40]; std::snprintf(t, 40, "%.9g", x[0]); throw std::runtime_error(t);',
        Ending.launch_failed,
    ),
}


def short(number: Any) -> str:
    """A number to six digits, without its sign."""
    return f"{abs(float(number)):.6g}"


@dataclass(frozen=True)
class Watched:
    """A kernel that sums tiny numbers, and every pool of inputs that is made for it."""

    bench: Workbench
    kernel: LoadedKernel
    pools: Sequence[SeedPool]

    def tried(self, above: str, line: str) -> tuple[Evaluation, str]:
        """A candidate's evaluation, and all that a client could read of it."""
        source = above + SUMS.replace("    double sum = 0;\n", f"    {line}\n    double sum = 0;\n")
        found = self.bench.evaluator.evaluate(lift.variant(self.kernel, source))
        files = [p for p in self.bench.outdir.rglob("*") if p.is_file() and p.suffix != ".so"]
        kept = [p.read_bytes().decode("latin-1") for p in files]
        return found, "\n".join([found.model_dump_json(), *kept])

    def of_public_seeds(self) -> set[str]:
        """What inputs and outputs of the public seed hold."""
        found = {short(SCALE)}
        for pool in self.pools:
            if pool.public:
                (x,) = make_inputs(pool.contract, PUBLIC_SEED).values()
                found |= {*map(short, x), short(x.astype(np.float64).sum())}
        return found


@pytest.fixture(scope="module")
def watched(bench: Workbench) -> Iterator[Watched]:
    pools, attach = list[SeedPool](), Checker.attach

    def noted(checker: Checker, pool: SeedPool, contract: Any) -> None:
        pools.append(pool)
        attach(checker, pool, contract)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checker, "attach", noted)
        kernel = load(
            bench.outdir.parent, "def reference(x, n):\n    return x.sum(keepdims=True)\n"
        )
        bench.evaluator.open(kernel)
        yield Watched(bench, kernel, pools)


def load(folder: Path, reference: str) -> LoadedKernel:
    """A sum of tiny numbers: of its one output a few right guesses would be enough."""
    data = lift.spec()
    x, y, n = data["io"]["arguments"]
    arguments = [{**x, "init": {"kind": "randn", "scale": SCALE}}, {**y, "shape": [1]}, n]
    data["kernel"]["source_code"] = SUMS
    return lift.load(
        folder,
        kernel=data["kernel"],
        io={"arguments": arguments},
        workloads=[{"name": "usual", "symbols": {"n": 512}}],
        parameters={},
        reference={"source_code": reference},
    )


@pytest.mark.parametrize("what", PROBES)
def test_nothing_is_told_of_secret_values_to_a_kernel_that(what: str, watched: Watched) -> None:
    above, line, ending = PROBES[what]
    found, readable = watched.tried(above, line)
    assert found.ending == ending or (ending.measured and found.ending.measured), found.message
    assert {short(number) for number in TINY.findall(readable)} <= watched.of_public_seeds()


def test_what_a_kernel_prints_is_told_of_the_public_seed(watched: Watched) -> None:
    above, line, _ = PROBES["prints a line of what it knows and goes on"]
    found, _ = watched.tried(above, line)
    (x,) = make_inputs(watched.pools[0].contract, PUBLIC_SEED).values()
    assert found.printed == f"x[0] is {float(x[0]):.9g}\n"


def test_where_and_by_how_much_a_kernel_is_wrong_is_told_of_the_public_seed(
    watched: Watched,
) -> None:
    found, _ = watched.tried("", "y[0] = x[0]; return;")
    (failed,) = (gate for gate in found.gates if gate.outcome == "failed")
    (x,) = make_inputs(watched.pools[0].contract, PUBLIC_SEED).values()
    assert f"y[0]: {x[0]:.9g}, not " in failed.message
    assert float(failed.evidence["expected_value"]) == pytest.approx(x.astype(float).sum(), 1e-6)
    assert "on the public seed" in failed.message


def test_what_is_wrong_on_secret_seeds_alone_is_told_without_place_or_size(
    watched: Watched,
) -> None:
    (x,) = make_inputs(watched.pools[0].contract, PUBLIC_SEED).values()
    found, _ = watched.tried("", f"if (x[0] != {float(x[0])!r}f) {{ y[0] = 0; return; }}")
    assert found.ending == Ending.wrong
    assert "`y` is wrong (on the public seed it does not" in found.message
    assert "error" not in found.message


def test_a_reference_that_fails_says_what_it_says_of_the_public_seed(bench: Workbench) -> None:
    body = "def reference(x, n):\n    raise ValueError(float(x.sum()))\n"
    loaded = load(bench.outdir.parent, body)
    with pytest.raises(ReferenceFailed) as caught:
        bench.evaluator.open(loaded)
    x = make_inputs_of(loaded)
    assert str(float(x.astype(np.float64).sum())) in caught.value.message


def make_inputs_of(loaded: LoadedKernel) -> Any:
    """The values of `x` on the public seed."""
    from kernelwright.runners.specs.contract import workload_contracts

    (x,) = make_inputs(workload_contracts(loaded.spec)[0], PUBLIC_SEED).values()
    return x
