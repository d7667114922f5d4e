"""A PyTorch module runs in a process of its own: what comes back, and what becomes of bad ones."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from small_modules import BLOCK, run_file, run_text
from tiers import cases

from kernelwright.runners.errors import ProcessLost, SpecError
from kernelwright.runners.modules.common.messages import (
    Attention,
    EagerTimes,
    PhaseFailed,
    RungMade,
    RungTimes,
    SubjectFacts,
    Trace,
)
from kernelwright.runners.modules.running import Found

pytestmark = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")
DIES_WHEN_TRACED = """
import os, torch
class Model(torch.nn.Module):
    def forward(self, x):
        if torch.compiler.is_compiling():
            os.abort()
        return x + 1
def get_inputs(): return [torch.ones(4)]
def get_init_inputs(): return []
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Found:
    folder = tmp_path_factory.mktemp("block")
    phases = ("eager", "trace", "attention", "ladder")
    return run_text(folder, BLOCK, *phases, rungs=((), ("sdpa",), ("bf16",)), allow=("bf16",))


def test_a_module_is_told_with_its_weights_and_inputs(found: Found) -> None:
    subject = found.one(SubjectFacts)
    assert subject is not None
    assert (subject.form, subject.class_name) == ("KernelBench", "Model")
    assert subject.parameters == 32 * 96 + 96 + 2 * 32
    assert subject.inputs == ("float32[2,24,32]",)


def test_a_call_takes_time(found: Found) -> None:
    eager = found.one(EagerTimes)
    assert eager is not None
    assert 0 < eager.host_ms
    assert eager.peak_bytes is None


def test_operators_have_bytes_flops_modules_and_lines(found: Found) -> None:
    trace = found.one(Trace)
    assert trace is not None
    product = next(op for op in trace.ops if op.op == "aten.addmm")
    assert product.module == "attention.qkv"
    assert product.line.startswith("model.py:")
    assert product.flops == 2 * 48 * 32 * 96
    assert product.bytes == 4 * (48 * 32 + 32 * 96 + 96 + 48 * 96)
    assert not [op for op in trace.ops if op.op in ("aten.view", "aten.permute", "aten.transpose")]


def test_where_the_host_waits_for_the_device_is_told(found: Found) -> None:
    trace = found.one(Trace)
    assert trace is not None
    (waiting,) = [op for op in trace.ops if op.waits]
    assert waiting.op == "aten._local_scalar_dense"
    lines = BLOCK.splitlines()
    assert "float(x[0, 0, 0])" in lines[int(waiting.line.split(":")[1]) - 1]


def test_modules_have_peaks_of_what_lives_while_they_run(found: Found) -> None:
    trace = found.one(Trace)
    assert trace is not None
    rows = {row.path: row for row in trace.modules}
    assert list(rows) == ["", "norm", "attention", "attention.qkv"]
    assert rows[""].peak_bytes >= rows["attention"].peak_bytes >= 4 * 48 * 96
    assert rows["norm"].kept_bytes >= 4 * 48 * 32
    assert rows["attention"].parameter_bytes == 4 * (32 * 96 + 96)


def test_attention_by_hand_is_found_with_its_mask(found: Found) -> None:
    attention = found.one(Attention)
    assert attention is not None
    (site,) = attention.found
    assert (site.causal, site.masked) == (True, False)
    assert site.shapes == "2x2x24x16, 2x2x24x16"


def test_rungs_are_compared_with_float64_and_timed_in_turns(found: Found) -> None:
    made = {each.steps: each for each in found.all(RungMade)}
    assert all(each.agreement is not None and not each.failed for each in made.values())
    eager, sdpa, half = (made[steps].agreement for steps in ((), ("sdpa",), ("bf16",)))
    assert eager is not None and sdpa is not None and half is not None
    assert eager.bit_equal and eager.rms < 1e-6
    assert sdpa.rms < 1e-6 and sdpa.close_1e_4
    assert 1e-4 < half.rms < 2e-2 and not half.close_1e_4
    times = found.one(RungTimes)
    assert times is not None
    assert times.truth == "float64"
    assert times.rungs == ((), ("sdpa",), ("bf16",))
    assert len({len(blocks) for blocks in times.blocks_ms}) == 1


def test_a_rung_that_takes_the_process_down_fails_alone(tmp_path: Path) -> None:
    rungs = ((), ("compile",), ("threads",))
    found = run_text(tmp_path, DIES_WHEN_TRACED, "ladder", rungs=rungs)
    made = {each.steps: each for each in found.all(RungMade)}
    assert "took the process down" in made["compile",].failed
    assert not made["threads",].failed
    assert len(found.lost) == 1 and "SIGABRT" in found.lost[0]
    times = found.one(RungTimes)
    assert times is not None and times.rungs == ((), ("threads",))


@cases(
    ("text", "words"),
    [
        ("import torch\n", "defines no module"),
        ("import torch\nclass M(torch.nn.Module): pass\n", "nothing says what"),
        ("raise RuntimeError('no weights')\n", "RuntimeError at model.py:1: no weights"),
        ("open('configurator.py')\n", "kernelwright record --front torch -- python model.py"),
        (
            "import torch\nclass Sizes: pass\nclass M(torch.nn.Module):\n"
            "    def __init__(self, sizes): super().__init__()\n",
            '{"ARGUMENT": {"Sizes": {}}}',
        ),
    ],
    why="further reasons, each in a process that loads torch",
)
def test_a_file_that_makes_no_module_is_refused_with_the_reason(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(SpecError, match=re.escape(words)):
        run_text(tmp_path, text, "eager")


def test_a_file_that_ends_the_process_is_told(tmp_path: Path) -> None:
    with pytest.raises(ProcessLost, match="before it was made"):
        run_text(tmp_path, "import os\nos.abort()\n", "eager")


def test_a_class_is_made_with_its_arguments_and_called_with_given_inputs(tmp_path: Path) -> None:
    path = tmp_path / "layers.py"
    path.write_text(
        "import torch\n"
        "class Inner(torch.nn.Linear): pass\n"
        "class Outer(torch.nn.Module):\n"
        "    def __init__(self, width):\n"
        "        super().__init__()\n"
        "        self.inner = Inner(width, width)\n"
        "        self.table = torch.nn.Embedding(50, width)\n"
        "    def forward(self, x, words): return self.inner(x) + self.table(words)\n",
        encoding="utf-8",
    )
    source = {"init": {"width": 8}, "inputs": ("float32[3,8]", "int64[3]<50")}
    found = run_file(path, "trace", source=source)
    subject = found.one(SubjectFacts)
    assert subject is not None
    assert (subject.class_name, subject.form) == ("Outer", "class and inputs")
    assert subject.inputs == ("float32[3,8]", "int64[3]")
    assert not found.all(PhaseFailed)


def test_the_outermost_class_is_found_and_given_an_object_of_a_class_of_its_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "layers.py"
    path.write_text(
        "import torch\n"
        "class Sizes:\n"
        "    def __init__(self, width, depth=2): self.width, self.depth = width, depth\n"
        "class Inner(torch.nn.Linear): pass\n"
        "class Outer(torch.nn.Module):\n"
        "    def __init__(self, sizes):\n"
        "        super().__init__()\n"
        "        made = [Inner(sizes.width, sizes.width) for _ in range(sizes.depth)]\n"
        "        self.layers = torch.nn.Sequential(*made)\n"
        "    def forward(self, x): return self.layers(x)\n",
        encoding="utf-8",
    )
    source = {"init": {"sizes": {"Sizes": {"width": 8}}}, "inputs": ("float32[3,8]",)}
    subject = run_file(path, "eager", source=source).one(SubjectFacts)
    assert subject is not None
    assert (subject.class_name, subject.parameters) == ("Outer", 2 * (8 * 8 + 8))


def test_a_module_reads_and_writes_nothing_that_is_not_its_own(tmp_path: Path) -> None:
    secret = tmp_path / "elsewhere" / "secret"
    secret.parent.mkdir()
    secret.write_text("x", encoding="utf-8")
    folder = tmp_path / "model"
    folder.mkdir()
    text = f"open({str(secret)!r}, 'a')\n"
    with pytest.raises(SpecError, match=r"PermissionError|defines no module") as caught:
        run_text(folder, text, "eager")
    if "PermissionError" not in str(caught.value):
        pytest.skip("this kernel has no landlock")
