"""Inductor's kernels of a module as specs, where no GPU is: each judged by Triton's interpreter."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from tiers import further

from kernelwright.analysis.modules.inductor import inductor_kernels
from kernelwright.runners.interpreter.logic import logic_check
from kernelwright.runners.interpreter.runner import InterpreterRunner
from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.modules.common.messages import ModuleSource
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.tools.programs.operators.inductor import write_inductor_specs

needs_both = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "triton")),
    reason="torch or triton is not installed",
)
MODULE = """
import torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(64)

    def forward(self, x):
        h = self.norm(x)
        return torch.softmax(h * torch.sigmoid(h), -1), (h + 1).relu().sum(0)
"""
CODE = """
# Graph fragment:
#   return %first
one = async_compile.triton('one', '''
@triton_heuristics.pointwise(
    triton_meta={'signature': {'a': '*fp32', 'b': '*fp32', 'xnumel': 'i32', 'XBLOCK': 'constexpr'}},
    inductor_meta={'grid_type': 'GRID'},
)
@triton.jit
def one(a, b, xnumel, XBLOCK: tl.constexpr):
    tl.store(b, tl.load(a))
''', device_str='cuda')

def call(args):
    one.run(arg0_1, buf0, 8, stream=stream0)
"""


@further(
    "tests/tools/programs/test_inductor.py::"
    "test_what_a_kernel_reads_and_writes_is_told_by_the_graphs_names",
    why="all kernels that Inductor writes of a module, each interpreted",
)
@needs_both
def test_every_kernel_agrees_with_the_operators_of_its_part_of_the_graph(tmp_path: Path) -> None:
    (tmp_path / "block.py").write_text(MODULE)
    source = ModuleSource(path=str(tmp_path / "block.py"), name="Block", inputs=("float32[8,64]",))
    found = write_inductor_specs(source, "cpu", tmp_path / "specs")
    assert len(found) == 2 and not any(each.why for each in found)
    runner, oracle = InterpreterRunner(tmp_path), Oracle(tmp_path)
    try:
        for each in found:
            assert each.spec is not None
            loaded = load_file(each.spec, Roots([tmp_path]))
            oracle.open(loaded)
            judged = logic_check(
                loaded,
                loaded.baseline(),
                PROFILES[0][0],
                runner=runner,
                oracle=oracle,
                timeout_s=120.0,
            )
            assert judged.outcome == "passed", judged.message
    finally:
        runner.close()
        oracle.close()


def test_what_a_kernel_reads_and_writes_is_told_by_the_graphs_names() -> None:
    (kernel,) = inductor_kernels(CODE.replace("GRID", "Grid1D"))
    assert [(p.name, p.reads, p.writes) for p in kernel.pointers] == [
        ("a", "arg0_1", None),
        ("b", None, "first"),
    ]
    assert (kernel.numbers, kernel.tiles) == ({"xnumel": 8}, ("XBLOCK",))
    assert kernel.grid == ("cdiv(xnumel, XBLOCK)",)


@pytest.mark.parametrize(
    "changed",
    [
        CODE.replace("GRID", "SplitScanGrid"),
        CODE.replace("GRID", "Grid1D").replace("buf0", "reinterpret_tensor(buf0, (8,), (1,), 0)"),
        CODE.replace("GRID", "Grid1D").replace("tl.load(a)", "tl.load(a) + tl.load(b)"),
    ],
)
def test_kernels_that_a_spec_cannot_say_are_left_out(changed: str) -> None:
    assert inductor_kernels(changed) == ()
