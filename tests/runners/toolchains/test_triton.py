"""Triton kernels become cubins and plans without a GPU, and their Python can do nothing else."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from triton_adds import ADD, WRAPPER, artifact_of, request_of, spec

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.building.compile_cache import VARIABLE
from kernelwright.runners.errors import ToolchainMissing
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.plans.plan import ScalarParam
from kernelwright.runners.processes.process_table import process_table
from kernelwright.runners.processes.sandbox import landlock_abi
from kernelwright.runners.processes.seccomp import has_seccomp
from kernelwright.runners.toolchains import BuildOutcome, toolchain_for
from kernelwright.runners.toolchains.triton_jit import TritonJit

pytestmark = pytest.mark.skipif(
    TritonJit().missing() is not None, reason=str(TritonJit().missing())
)
confinable = pytest.mark.skipif(
    not has_seccomp() or landlock_abi() < 3, reason="no seccomp filters or no landlock here"
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the module's builder keeps what it built."""
    return tmp_path_factory.mktemp("triton") / "compile_cache"


@pytest.fixture(scope="module")
def builder(cache: Path) -> Iterator[Builder]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, str(cache))
        made = Builder(cache.parent / "modules", cache.parent / "scratch")
        yield made
        made.close()


@pytest.fixture(scope="module")
def three(builder: Builder) -> BuildOutcome:
    """The launch of `add` for three shapes."""
    return builder.build(request_of(spec(ADD, "add"), ("main", "odd", "one")))


def test_a_jit_function_with_a_launch_is_built_with_facts_and_listings(
    builder: Builder, three: BuildOutcome
) -> None:
    artifact = artifact_of(three)
    plan = artifact.plans["main"]
    assert (artifact.target, plan.launches[0].grid, plan.kernels[0].block) == (
        "sm_90a",
        (8, 1, 1),
        (128, 1, 1),
    )
    assert {m.kind for m in artifact.modules} == {"cubin", "ptx"}
    listings = builder.list_code(artifact)
    assert {(m.kind, m.of) for m in listings} == {("sass", m.sha256) for m in artifact.loaded}
    for module in (*artifact.modules, *listings):
        assert builder.module_path(module).stat().st_size == module.nbytes
    assert three.facts is not None
    first = three.facts.kernels[0]
    assert (first.entry, first.threads, first.spill_bytes) == ("add", 128, 0)
    assert first.registers and first.instructions
    assert three.facts.versions.keys() == {"triton", "torch", "python", "ptxas"}


def test_sizes_that_triton_specialises_for_get_machine_code_of_their_own(
    three: BuildOutcome,
) -> None:
    plans = artifact_of(three).plans
    code = {label: plan.kernels[0].sha256 for label, plan in plans.items()}
    assert len(set(code.values())) == 3
    scalars = {
        label: [p.raw for p in plan.launches[0].params if isinstance(p, ScalarParam)]
        for label, plan in plans.items()
    }
    assert scalars == {"main": ["00100000"], "odd": ["01100000"], "one": []}
    assert three.facts is not None
    assert {label for k in three.facts.kernels for label in k.shapes} == {"main", "odd", "one"}


def test_equal_sizes_share_their_machine_code(builder: Builder) -> None:
    outcome = builder.build(request_of(spec(WRAPPER, "run"), ("main", "main")[:1]))
    assert len(artifact_of(outcome).loaded) == 1


def test_what_a_contract_does_not_promise_is_not_assumed(
    builder: Builder, three: BuildOutcome
) -> None:
    loose = artifact_of(builder.build(request_of(spec(ADD, "add", align=4))))
    ptx = {
        name: builder.module_path(next(m for m in a.modules if m.kind == "ptx")).read_text()
        for name, a in (("tight", artifact_of(three)), ("loose", loose))
    }
    assert "ld.global.v4" in ptx["tight"]
    assert "ld.global.v4" not in ptx["loose"]


def test_a_wrapper_is_built(builder: Builder, three: BuildOutcome) -> None:
    artifact = artifact_of(builder.build(request_of(spec(WRAPPER, "run"))))
    assert [b.name for b in artifact.plans["main"].buffers] == ["x", "y", "out"]
    assert artifact.plans["main"].launches[0].grid == (8, 1, 1)


HALVES = """
import triton
import triton.language as tl

@triton.jit
def add(x, y, out, most, HALF: tl.constexpr = 64):
    i = (2 * tl.program_id(0) + tl.program_id(1)) * HALF + tl.arange(0, HALF)
    tl.store(out + i, tl.load(x + i, i < most) + tl.load(y + i, i < most), i < most)
"""


def test_a_variant_is_launched_as_its_own_plan_says(builder: Builder, three: BuildOutcome) -> None:
    """Over a constant that has its value in the source alone, with a size handed over."""
    plan = {"grid": ["cdiv(n, 2 * HALF)", 2], "constexprs": {"most": "n"}, "num_warps": 2}
    request = request_of(spec(ADD, "add"), ("main", "odd"), source=HALVES, plan=plan)
    plans = artifact_of(builder.build(request)).plans
    grids = {label: each.launches[0].grid for label, each in plans.items()}
    assert grids == {"main": (32, 2, 1), "odd": (33, 2, 1)}
    assert plans["main"].kernels[0].block == (64, 1, 1)
    assert artifact_of(three).plans["main"].launches[0].grid == (8, 1, 1)


def test_a_parameter_that_the_plan_names_is_followed(builder: Builder) -> None:
    data = spec(ADD, "add", parameters={"PARTS": {"values": [1, 2]}})
    plan = {"grid": ["cdiv(n, BLOCK)"], "constexprs": {"BLOCK": "1024 // PARTS"}}
    grids = [
        artifact_of(builder.build(request_of(data, plan=plan, parameters={"PARTS": parts})))
        .plans["main"]
        .launches[0]
        .grid
        for parts in (1, 2)
    ]
    assert grids == [(4, 1, 1), (8, 1, 1)]


def test_parameters_found_in_a_source_can_be_set(builder: Builder, three: BuildOutcome) -> None:
    assert {"num_warps", "num_stages"} <= three.parameters.keys()
    wide = builder.build(request_of(spec(ADD, "add"), parameters={"num_warps": 8}))
    assert artifact_of(wide).plans["main"].kernels[0].block == (256, 1, 1)


def test_configurations_of_autotune_are_found(builder: Builder) -> None:
    tuned = WRAPPER.replace(
        "@triton.jit",
        "@triton.autotune([triton.Config({'BLOCK': b}, num_warps=4) for b in (256, 512)], ['n'])\n"
        "@triton.jit",
    )
    grid = "(lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),))"
    tuned = tuned.replace("(triton.cdiv(x.numel(), 512),)", grid).replace(", BLOCK=512", "")
    data = spec(tuned, "run")
    outcome = builder.build(request_of(data))
    assert [c["BLOCK"] for c in outcome.configurations] == [256, 512]
    assert outcome.parameters["BLOCK"].values == (256, 512)
    assert artifact_of(outcome).plans["main"].launches[0].grid == (16, 1, 1)


def test_equal_machine_code_has_one_hash(builder: Builder) -> None:
    def code_hash(source: str) -> str:
        return artifact_of(builder.build(request_of(spec(source, "add")))).code_hash

    renamed = ADD.replace("i < n", "keep").replace(
        "    tl.store", "    keep = i < n  # inside\n    tl.store"
    )
    assert code_hash(renamed) == code_hash(ADD)
    assert code_hash(ADD.replace(") + tl.load(y", ") - tl.load(y")) != code_hash(ADD)


FAILS = {
    "a syntax error": (ADD.replace("x, y, out", "x y, out"), "add", "line 6"),
    "a missing import": ("import a_module_of_nobody\n" + ADD, "add", "a_module_of_nobody"),
    "a mistake in the kernel": (ADD.replace("tl.load(y", "tl.lode(y"), "add", "'lode'"),
    "a kernel that does not fit": (
        WRAPPER.replace("BLOCK=512)", "BLOCK=512, num_warps=64)"),
        "run",
        "does not fit",
    ),
    "a wrapper that raises": (
        WRAPPER.replace("    out =", "    None.x\n    out ="),
        "run",
        "None.x",
    ),
    "a crash": (
        WRAPPER.replace("    out =", "    __import__('os').abort()\n    out ="),
        "run",
        "SIG",
    ),
    "an early exit": (
        WRAPPER.replace("    out =", "    __import__('os')._exit(0)\n    out ="),
        "run",
        "ended without a result",
    ),
}


@pytest.mark.parametrize("what", FAILS)
def test_a_source_that_does_not_build_says_why(builder: Builder, what: str) -> None:
    source, entry, words = FAILS[what]
    outcome = builder.build(request_of(spec(source, entry)))
    assert outcome.artifact is None
    assert words in outcome.message
    assert not outcome.rejected and not outcome.timed_out
    assert "build-" not in outcome.message, "the name of a private folder tells nobody anything"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        ({"grid": ["cdiv(n, BLOK)"]}, ["the launch's grid: `BLOK` is not a known name", "BLOCK"]),
        (
            {"grid": [8], "block": [128]},
            ["`block` belongs to a launch of a cuda kernel", "a whole"],
        ),
    ],
)
def test_a_plan_that_launches_nothing_is_rejected_with_what_is_valid(
    builder: Builder, plan: dict[str, Any], words: list[str]
) -> None:
    source = ADD.replace("constexpr)", "constexpr = 512)")
    outcome = builder.build(request_of(spec(ADD, "add"), source=source, plan=plan))
    assert outcome.rejected or outcome.artifact is None
    assert [word for word in words if word not in outcome.message] == []


REJECTED: dict[str, tuple[str, dict[str, Any], str]] = {
    "work of torch on the device": (
        WRAPPER.replace("return out", "return out + 1"),
        {},
        "torch operator add",
    ),
    "numbers drawn at random": (
        ADD.replace("y, out", "y, out, a").replace("tl.load(y + i, i < n)", "a")
        + "\ndef run(x, y, out, n):\n    import random\n"
        "    add[(8,)](x, y, out, random.random(), n, BLOCK=512)\n",
        {},
        "not deterministic: step 0, argument a: 0.",
    ),
    "a compiler's flags": (WRAPPER, {"options": BuildOptions(flags=("-O3",))}, "no flags"),
    "a plan where the source launches": (
        WRAPPER,
        {"plan": {"grid": [1]}},
        "that its source launches",
    ),
}


@pytest.mark.parametrize("what", REJECTED)
def test_what_is_no_plan_is_rejected_with_the_reason(builder: Builder, what: str) -> None:
    source, changes, words = REJECTED[what]
    outcome = builder.build(request_of(spec(source, "run"), **changes))
    assert outcome.rejected and outcome.artifact is None
    assert words in outcome.message


def test_a_shape_that_fails_is_named(builder: Builder) -> None:
    picky = WRAPPER.replace("    out =", "    assert x.numel() % 2 == 0\n    out =")
    outcome = builder.build(request_of(spec(picky, "run"), ("main", "odd")))
    assert outcome.message.startswith("shape `odd`: ")


def test_an_endless_wrapper_is_killed_with_all_it_started(builder: Builder) -> None:
    endless = WRAPPER.replace(
        "    out =", "    import subprocess\n    subprocess.run(['sleep', '1234'])\n    out ="
    )
    outcome = builder.build(request_of(spec(endless, "run"), timeout_s=1.0))
    assert outcome.timed_out
    assert "did not end within 1 s" in outcome.message
    assert not [pid for pid in process_table() if "sleep\x001234" in command(pid)]


def command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


OUTSIDE = {
    "opening a socket": "__import__('socket').socket()",
    "writing a file": "open('{outside}', 'w')",
    "writing beside its folder": "open('../outcome.json', 'w')",
    "reading a file": "open('{inside}')",
    "signalling": "__import__('os').kill(__import__('os').getppid(), 0)",
}


@confinable
@pytest.mark.parametrize("what", OUTSIDE)
def test_the_python_of_a_candidate_is_kept_from(
    builder: Builder, tmp_path: Path, what: str
) -> None:
    (tmp_path / "inside").write_text("secret")
    attempt = OUTSIDE[what].format(outside=tmp_path / "outside", inside=tmp_path / "inside")
    source = WRAPPER.replace("    out =", f"    {attempt}\n    out =")
    outcome = builder.build(request_of(spec(source, "run")))
    assert outcome.artifact is None
    assert "PermissionError" in outcome.message
    assert not (tmp_path / "outside").exists()


def test_a_build_is_found_again_by_another_server_unless_it_was_damaged(
    builder: Builder, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = request_of(spec("# a build of its own\n" + ADD, "add"))
    before = set(cache.glob("*"))
    first = builder.build(request)
    monkeypatch.setenv(VARIABLE, str(cache))
    other = Builder(tmp_path / "modules", tmp_path / "scratch")
    found = other.build(request)
    module = artifact_of(found).modules[0]
    assert found.facts == first.facts
    assert other.module_path(module).stat().st_size == module.nbytes
    assert not list((tmp_path / "scratch").iterdir()), "nothing was started to build it"
    (entry,) = set(cache.glob("*")) - before
    (code,) = entry.glob("*.cubin")
    code.write_bytes(bytes(10))
    again = builder.build(request)
    assert again.facts != first.facts  # it took another time
    assert artifact_of(again).code_hash == artifact_of(first).code_hash


def test_the_process_that_forks_builds_keeps_one_thread(three: BuildOutcome) -> None:
    rows = process_table().values()
    ours = [r.pid for r in rows if r.parent == os.getpid() and "building.zygote" in command(r.pid)]
    assert ours
    for pid in ours:
        assert len(os.listdir(f"/proc/{pid}/task")) == 1


def always(value: str | None) -> Callable[[str], str | None]:
    return lambda name: value


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(importlib.util, "find_spec", always(None))
        with pytest.raises(ToolchainMissing, match=r"triton and torch not installed.*\[triton"):
            toolchain_for("triton")
    monkeypatch.setattr(importlib.metadata, "version", always("4.0.0"))
    assert "Triton 4.0.0 is installed" in (TritonJit().missing() or "")
