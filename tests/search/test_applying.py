"""A candidate applied to a state: diffs that models write, parameters, and compiler flags."""

from __future__ import annotations

import difflib
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.files import MAX_SOURCE
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.runners.plans.launch_in_force import launch_fields
from kernelwright.runners.specs.spec import KernelSpec, Parameter
from kernelwright.search.applying import diffs
from kernelwright.search.applying.apply import apply
from kernelwright.search.applying.diffs import apply_diff
from kernelwright.search.moves import MOVES, NotApplicable, State
from kernelwright.search.moves.shared.live_parameters import live_parameters

SOURCE = """\
#define TILE 32

void scale(const float* a, float* out, int n) {
    for (int i = 0; i < n; ++i) {
        float x = a[i];
        x = x * 2.0f;
        out[i] = x;
    }
}

void other(float* out, int n) {
    for (int i = 0; i < n; ++i) {
        out[i] = 0.0f;
    }
}
"""
WANTED = SOURCE.replace("x = x * 2.0f;", "x = x + x;")
GOOD = """\
--- a/kernel.cpp
+++ b/kernel.cpp
@@ -4,5 +4,5 @@
     for (int i = 0; i < n; ++i) {
         float x = a[i];
-        x = x * 2.0f;
+        x = x + x;
         out[i] = x;
     }
"""


def state(source: str = SOURCE, math: str = "ieee", **kernel: Any) -> State:
    spec = KernelSpec.model_validate(
        {
            "name": "scale",
            "kernel": {"kernel_type": "cpp", "source_code": source}
            | {"metadata": {"kernel_name": "scale"}}
            | kernel,
            "io": {
                "arguments": [{"name": "out", "role": "output", "dtype": "float32", "shape": [8]}],
                "math": math,
            },
            "workloads": [{"name": "w", "symbols": {}}],
            "parameters": {
                "BLOCK_X": {"values": [8, 16, 32]},
                "BLOCK_Y": {"values": [8, 16], "default": 16},
            },
            "constraints": ["BLOCK_X * BLOCK_Y <= 256"],
            "reference": "baseline",
        }
    )
    return State(spec.kernel.kernel_type, source, {"BLOCK_X": 16}, BuildOptions(), spec)


def candidate(**parts: Any) -> Candidate:
    return Candidate(method="by hand", **parts)


def flags(*names: str) -> Candidate:
    return candidate(options=BuildOptions(flags=names))


def test_a_full_source_replaces_the_source_and_leaves_the_rest() -> None:
    after = apply(candidate(source=WANTED), state())
    assert after.source == WANTED
    assert after.parameters == {"BLOCK_X": 16, "BLOCK_Y": 16}
    assert after.options == state().options and after.spec == state().spec


DAMAGED = {
    "good": GOOD,
    "wrong hunk counts": GOOD.replace("-4,5 +4,5", "-4,9 +4,2"),
    "wrong line numbers": GOOD.replace("-4,5 +4,5", "-1,5 +1,5"),
    "no line numbers": GOOD.replace("@@ -4,5 +4,5 @@", "@@ ... @@"),
    "other indentation and wrong counts": GOOD.replace("         ", " \t").replace(
        ",5 @@", ",7 @@"
    ),
    "a stale context line": GOOD.replace("float x = a[i];", "float x = a[i] + 1;"),
    "other names of the file": GOOD.replace("a/kernel.cpp", "/etc/passwd").replace("b/kernel", "x"),
    "no header": GOOD.split("\n", 2)[2],
    "fences and prose": f"Sure:\n```diff\n{GOOD}```\nIt adds in place of multiplying.\n",
    "lost blanks": GOOD.replace("\n         out[i]", "\nout[i]"),
    "no newline at the end": GOOD.rstrip("\n"),
    "header of git": "diff --git a/k b/k\nindex 1..2 100644\n" + GOOD,
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_diff_still_does_what_it_says(name: str, tmp_path: Path) -> None:
    after = apply(candidate(diff=DAMAGED[name]), state(), tmp_path).source
    assert "".join(after.split()).replace("+1;", ";") == "".join(WANTED.split())
    assert after.count("x = x + x;") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_diffs_apply_without_git_and_patch_too(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diffs, "APPLIERS", ())
    assert apply_diff(SOURCE, DAMAGED[name]) == WANTED


def test_several_hunks_are_applied_and_two_equal_places_are_told_by_the_line() -> None:
    diff = """\
@@ -1,2 +1,2 @@
-#define TILE 32
+#define TILE 64

@@ -12,3 +12,4 @@
     for (int i = 0; i < n; ++i) {
+        // second
         out[i] = 0.0f;
"""
    after = apply_diff(SOURCE, diff)
    assert after == SOURCE.replace("32", "64").replace(
        "        out[i] = 0", "        // second\n        out[i] = 0"
    )


def test_lines_that_the_diff_does_not_know_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diffs, "APPLIERS", ())
    newer = SOURCE.replace("        x = x * 2", "        x += 1;\n        x = x * 2")
    assert apply_diff(newer, GOOD) == newer.replace("x = x * 2.0f;", "x = x + x;")


def test_a_source_without_a_last_newline_is_changed_at_its_end() -> None:
    diff = "@@ -1,2 +1,2 @@\n int a;\n-int b;\n\\ No newline at end of file\n+int c;\n"
    assert apply_diff("int a;\nint b;", diff) == "int a;\nint c;\n"


def test_a_hunk_that_fits_nowhere_is_named_with_the_nearest_lines() -> None:
    stale = f"""{GOOD}\
@@ -40,3 +40,3 @@
     for (int i = 0; i < n; ++i) {{
-        out[i] = 1.5f;
+        out[i] = 2;
     }}
"""
    with pytest.raises(SpecError) as error:
        apply(candidate(diff=stale), state())
    assert "hunk 2 of 2 (@@ -40,3 +40,3 @@)" in error.value.message
    assert "   13 |         out[i] = 0.0f;" in error.value.message
    assert "whole file" in error.value.next_step


@pytest.mark.parametrize("context", [1, 2, 3])
def test_a_hunk_that_only_adds_lines_is_not_put_where_none_of_its_context_is(context: int) -> None:
    around = [f" foo({i});\n" for i in range(2 * context)]
    diff = "".join(["@@ -3 +3 @@\n", *around[:context], "+bar();\n", *around[context:]])
    with pytest.raises(SpecError, match="hunk 1 of 1"):
        apply_diff(SOURCE, diff)


@pytest.mark.parametrize(
    ("diff", "message"),
    [
        (GOOD + GOOD.replace("kernel.cpp", "other.cpp"), "changes 2 files"),
        ("replace x by y", "no hunk"),
        ("@@ -3,0 +4,1 @@\n+int a;\n", "no place"),
        (GOOD.replace("x = x + x;", "x = x * 2.0f;"), "changes nothing"),
    ],
)
def test_diffs_that_cannot_be_meant_are_refused(diff: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        apply(candidate(diff=diff), state())


def test_a_repository_around_the_scratch_folder_does_not_matter(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "deep").mkdir()
    assert apply_diff(SOURCE, GOOD, tmp_path / "deep") == WANTED


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_diff_made_by_difflib_gives_the_other_text(data: st.DataObject) -> None:
    lines = st.lists(st.sampled_from(["a;", "  b;", "c", "", "}"]), min_size=4, max_size=12)
    one = ["begin", *data.draw(lines), "end"]
    two = ["begin", *data.draw(lines), "end"]
    diff = "\n".join(difflib.unified_diff(one, two, "k", "k", lineterm="")) + "\n"
    if one != two:
        assert apply_diff("\n".join(one) + "\n", diff) == "\n".join(two) + "\n"


def test_parameters_are_merged_into_those_of_the_state() -> None:
    after = apply(candidate(parameters={"BLOCK_Y": 8}), state())
    assert after.parameters == {"BLOCK_X": 16, "BLOCK_Y": 8}
    assert after.source == SOURCE


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"BLOK_X": 8}, ["`BLOK_X`", "did you mean `BLOCK_X`?", "Valid: BLOCK_X, BLOCK_Y"]),
        ({"BLOCK_X": 12}, ["BLOCK_X=12", "Valid: 8, 16, 32"]),
        ({"BLOCK_X": 32}, ["BLOCK_X=32 BLOCK_Y=16", "`BLOCK_X * BLOCK_Y <= 256`"]),
    ],
)
def test_a_wrong_parameter_is_refused_with_what_is_valid(
    parameters: dict[str, int], words: list[str]
) -> None:
    with pytest.raises(SpecError) as error:
        apply(candidate(parameters=parameters), state())
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("", "entry function"),
        ("int f();", "entry function"),
        ("scale" * MAX_SOURCE, "1 MiB"),
        ("src/scale.cpp\n", "`src/scale.cpp` is one word, as a path would be"),
    ],
)
def test_a_source_without_the_entry_too_large_or_a_path_is_refused(
    source: str, message: str
) -> None:
    with pytest.raises(SpecError, match=message):
        apply(candidate(source=source), state())


def test_a_plan_is_refused_where_there_is_none() -> None:
    with pytest.raises(SpecError, match="launch plan for a cpp kernel"):
        apply(candidate(plan={}), state())


def test_a_plan_brings_its_own_sizes_in_place_of_tuned_ones() -> None:
    kernel: dict[str, Any] = {"kernel_type": "cuda", "launch": {"grid": 1, "block": 128}}
    start = state(**kernel)
    found = {"block_x": Parameter(values=(128, 256, 512), default=128)}
    spec = start.spec.model_copy(update={"parameters": {**start.spec.parameters, **found}})
    tuned = replace(
        start, spec=spec, parameters={"BLOCK_X": 8, "block_x": 512}, found=frozenset(found)
    )
    after = apply(candidate(plan={"grid": 1, "block": 256}), tuned).parameters
    assert after["BLOCK_X"] == 8 and "block_x" not in after
    both = candidate(plan={"grid": 1, "block": 256}, parameters={"block_x": 512})
    assert apply(both, tuned).parameters["block_x"] == 512


TRITON: dict[str, Any] = {
    "kernel_type": "triton",
    "launch": {"grid": ["BLOCK_X"], "constexprs": {"TILE": 64}, "num_warps": 4},
}


def test_a_launch_replaces_that_of_a_triton_spec_whole() -> None:
    plan = {"grid": ["BLOCK_X", 2]}
    after = apply(candidate(plan=plan), state(**TRITON))
    assert after.plan == plan and launch_fields(after.spec.kernel, after.plan) == plan
    assert live_parameters(replace(after, source="")) == {"BLOCK_X"}


def test_a_launch_brings_its_own_warps_in_place_of_tuned_ones_where_it_changes_them() -> None:
    start = state(**TRITON)
    found = {n: Parameter(values=(2, 4, 8)) for n in ("num_warps", "num_stages")}
    spec = start.spec.model_copy(update={"parameters": {**start.spec.parameters, **found}})
    chosen = {"num_warps": 8, "num_stages": 2}
    tuned = replace(start, spec=spec, parameters=chosen, found=frozenset(found))
    for warps, kept in ((4, chosen), (2, {"num_stages": 2})):
        after = apply(candidate(plan={"grid": [1], "num_warps": warps}), tuned).parameters
        assert {n: v for n, v in after.items() if n in found} == kept


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ({"grid": 1, "block": 64}, "`block` belongs to a launch of a cuda kernel"),
        ({"gird": 1}, "did you mean `grid`"),
        ({"grid": ["n +"]}, "`n \\+` is not an expression"),
        ({}, "grid: required, and missing"),
    ],
)
def test_a_plan_that_is_no_launch_of_a_triton_kernel_is_refused(
    plan: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpecError, match=message) as error:
        apply(candidate(plan=plan), state(**TRITON))
    assert "a whole kernel.launch in place of the spec's" in str(error.value)


def test_a_plan_is_refused_where_a_triton_source_launches() -> None:
    with pytest.raises(SpecError, match="that its source launches"):
        apply(candidate(plan={"grid": 1}), state(kernel_type="triton"))


ALLOWED = """
-O0 -O1 -O2 -O3 -march=native -march=x86-64-v4 -mtune=skylake -mavx2 -mno-avx512f -msse4.2 -mfma
-mprefer-vector-width=512 -mcpu=neoverse-v1 -msve-vector-bits=256 -funroll-loops
-fno-unroll-loops -fno-math-errno -fno-trapping-math -fopenmp -fopenmp-simd -ftree-vectorize
-fvect-cost-model=unlimited -fomit-frame-pointer -falign-loops=32 -ffp-contract=fast -flto
-std=c++17 -std=c++20 -std=gnu++23 -DNAME -DNAME=4 -DUSE=float -Wall -Wno-unused-variable
-pthread -fno-exceptions -fstrict-aliasing -fprefetch-loop-arrays -fwhole-program
""".split()
FORBIDDEN = """
-fplugin=x.so -fplugin-arg-x-y=z -fpass-plugin=x.so -fdump-tree-all -fsave-optimization-record
-fprofile-use=/tmp/p -fprofile-generate -fauto-profile=p -fuse-ld=gold -finstrument-functions
-fsanitize=address -fno-sanitize=all -ftest-coverage -fstack-usage -fcallgraph-info
-fopt-info=file -fmodules-cache-path=x -fcrash-diagnostics-dir=x -ftime-trace=x -frandom-seed=1
-Wl,-z,now -Wa,-a=x -Wp,-MD,x -B/tmp -B. -I. -I/usr -L/tmp -lm -ofile -o -xc -x @file
@/etc/passwd -wrapper -specs=x --specs=x -include -imacros -isystem -iquote. -nostdinc -E -S -c
-M -MD -MF -save-temps -pipe -shared -static -rdynamic -Xlinker -Xclang -Xassembler -mllvm
-mllvm=-load -mlink-builtin-bitcode -T -z -u -g -p -pg --sysroot=/ -D -DX=a(b) -DX=a/b
-DBLOCK_X=8 -U__x -std=c++17/../x -march=a/b -falign-loops=/x -O9 -Os/ -foffload=x
-fpch-preprocess -fpre-include=x kernel.c /etc/passwd -
""".split()
FAST = """
-Ofast -ffast-math -funsafe-math-optimizations -fassociative-math -freciprocal-math
-ffinite-math-only -fno-signed-zeros -fcx-limited-range -fno-honor-nans -ffp-model=fast
-fsingle-precision-constant -mrecip -mrecip=all -mlow-precision-div
-fdenormal-fp-math=preserve-sign
""".split()


@pytest.mark.parametrize("flag", ALLOWED)
def test_flags_of_code_generation_are_allowed(flag: str) -> None:
    assert apply(flags("-O3", flag), state()).options.flags == ("-O3", flag)


@pytest.mark.parametrize("flag", [*FORBIDDEN, "", "-O3 -ffast-math", "-O3\n", "-fwrapv\x00"])
@pytest.mark.parametrize("math", ["ieee", "fast"])
def test_flags_that_do_more_than_generate_code_are_refused(flag: str, math: str) -> None:
    with pytest.raises(SpecError) as error:
        apply(flags("-O3", flag), state(math=math))
    assert f"`{flag}`" in error.value.message
    assert error.value.valid


@pytest.mark.parametrize("flag", FAST)
def test_fast_math_and_its_parts_need_a_contract_that_says_fast(flag: str) -> None:
    assert apply(flags(flag), state(math="fast")).options.flags == (flag,)
    for math in ("ieee", "tf32"):
        with pytest.raises(SpecError, match=f"`{math}`"):
            apply(flags(flag), state(math=math))


def test_flags_that_the_spec_itself_names_are_allowed() -> None:
    own = state(flags=["-O2", "-lm"])
    assert apply(flags("-O3", "-lm"), own).options.flags == ("-O3", "-lm")


def test_a_misspelled_flag_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(SpecError, match="did you mean `-funroll-loops`"):
        apply(flags("-funrol-loops"), state())


@pytest.mark.parametrize("compiler", ["/bin/sh", "cc1plus", "g++ -x", ""])
def test_only_known_compilers_are_called(compiler: str) -> None:
    with pytest.raises(SpecError, match="compiler"):
        apply(candidate(options=BuildOptions(compiler=compiler)), state())


@pytest.mark.parametrize("math", ["ieee", "fast"])
def test_whatever_a_move_proposes_can_be_applied(math: str) -> None:
    start = state(SOURCE.replace("2.0f", "TILE"), math)
    answers = [move.propose(start) for move in MOVES]
    fitting = [a for a in answers if not isinstance(a, NotApplicable)]
    assert len(fitting) >= 3
    for proposals in fitting:
        for proposal in proposals:
            assert apply(proposal, start) != start


@pytest.mark.skipif(shutil.which("g++") is None, reason="asks the compiler itself")
def test_the_compiler_takes_the_flags_that_the_moves_propose(tmp_path: Path) -> None:
    (tmp_path / "k.cpp").write_text(SOURCE)
    start = state(math="fast")
    every: list[str] = []
    for move in MOVES:
        proposals = move.propose(start)
        for c in () if isinstance(proposals, NotApplicable) else proposals:
            if c.options and c.options.compiler in (None, "g++"):
                every += c.options.flags or ()
    done = subprocess.run(
        ["g++", *dict.fromkeys(every), "-fsyntax-only", "-Werror", "k.cpp"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


LAUNCH = "def run(x):\n    scale[(1,)](x, num_warps={})\n"


def triton_state(warps: int, parameters: dict[str, int]) -> State:
    """A Triton kernel whose launch says how many warps, and whose toolchain found that."""
    found = {"num_warps": Parameter(values=(1, 2, 4, 8), default=4)}
    start = state()
    spec = start.spec.model_copy(update={"parameters": found})
    return replace(
        start,
        kernel_type="triton",
        source=LAUNCH.format(warps),
        spec=spec,
        parameters=parameters,
        found=frozenset(found),
    )


def test_what_nobody_set_of_the_found_parameters_is_left_to_the_source() -> None:
    after = apply(candidate(source=LAUNCH.format(8)), triton_state(4, {}))
    assert dict(after.parameters) == {}


def test_a_new_source_with_launch_options_of_its_own_replaces_tuned_ones() -> None:
    after = apply(candidate(source=LAUNCH.format(8)), triton_state(4, {"num_warps": 2}))
    assert dict(after.parameters) == {}


def test_a_new_source_with_the_same_launch_options_keeps_tuned_ones() -> None:
    source = LAUNCH.format(4) + "    return x\n"
    after = apply(candidate(source=source), triton_state(4, {"num_warps": 2}))
    assert dict(after.parameters) == {"num_warps": 2}
