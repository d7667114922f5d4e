"""Flags of the host's compiler: which are proposed where, and that their order says nothing."""

from __future__ import annotations

import platform
import shutil
from itertools import permutations

import pytest
from small_states import proposed, state

from kernelwright.runners.model import BuildOptions
from kernelwright.runners.toolchains.host_cpp import DEFAULT_FLAGS
from kernelwright.search.moves.every_language.compiler_flags import MOVE as COMPILER_FLAGS


def test_flags_are_added_to_the_flags_that_the_state_is_built_with() -> None:
    found = {c.detail: c.options for c in proposed(COMPILER_FLAGS.propose(state()))}
    assert found["-funroll-loops"] == BuildOptions(flags=(*DEFAULT_FLAGS, "-funroll-loops"))
    lower = found["-O2"]
    assert lower and lower.flags and "-O2" in lower.flags and "-O3" not in lower.flags
    spec_flags = state(kernel={"flags": ["-O2", "-DX"]})
    found = {c.detail: c.options for c in proposed(COMPILER_FLAGS.propose(spec_flags))}
    assert found["-funroll-loops"] == BuildOptions(flags=("-O2", "-DX", "-funroll-loops"))
    assert "-O2" not in found


def test_flags_are_the_same_variant_in_whatever_order_they_were_added() -> None:
    def added(*details: str) -> BuildOptions:
        options = BuildOptions(flags=DEFAULT_FLAGS)
        for detail in details:
            found = proposed(COMPILER_FLAGS.propose(state(options=options)))
            (options,) = [c.options for c in found if c.detail == detail and c.options]
        return options

    details = ("-fno-trapping-math", "-funroll-loops", "-O2")
    ways = {added(*way).flags for way in permutations(details)}
    assert len(ways) == 1
    assert set(details) <= set(ways.pop() or ())


@pytest.mark.parametrize(
    ("body", "heeds"),
    [
        ("out[0] = std::sqrt(x[0]);", True),
        ("out[0] = powf(x[0], 3);", True),
        ("out[0] = x[0] * x[1];", False),
        ("out[0] = std::max(x[0], expected);", False),
    ],
)
def test_no_errno_is_proposed_where_a_function_of_math_h_is_called(body: str, heeds: bool) -> None:
    found = proposed(COMPILER_FLAGS.propose(state(source=f"void f() {{ {body} }}")))
    assert ("-fno-math-errno" in {c.detail for c in found}) == heeds


def test_fast_math_is_proposed_only_where_the_contract_says_fast() -> None:
    ieee = proposed(COMPILER_FLAGS.propose(state()))
    fast = proposed(COMPILER_FLAGS.propose(state(io={"math": "fast"})))
    assert not any("fast-math" in c.detail or "associative" in c.detail for c in ieee)
    assert fast[0].detail == "-ffast-math"
    assert {c.detail for c in fast} > {c.detail for c in ieee}


def test_vector_width_is_for_x86_and_one_width_replaces_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wide = BuildOptions(flags=("-O3", "-mprefer-vector-width=512"))
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    found = {c.detail: c.options for c in proposed(COMPILER_FLAGS.propose(state(options=wide)))}
    assert found["-mprefer-vector-width=256"] == BuildOptions(
        flags=("-O3", "-mprefer-vector-width=256")
    )
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    assert not any("width" in c.detail for c in proposed(COMPILER_FLAGS.propose(state())))


def test_the_other_compiler_is_proposed_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = {"g++", "clang++"}

    def which(name: str) -> str | None:
        return f"/usr/bin/{name}" if name in here else None

    monkeypatch.setattr(shutil, "which", which)
    found = {c.detail: c.options for c in proposed(COMPILER_FLAGS.propose(state()))}
    assert found["g++ -> clang++"] == BuildOptions(compiler="clang++", flags=DEFAULT_FLAGS)
    back = state(options=BuildOptions(compiler="clang++"))
    assert "clang++ -> g++" in {c.detail for c in proposed(COMPILER_FLAGS.propose(back))}
    here.remove("clang++")
    assert not any("->" in c.detail for c in proposed(COMPILER_FLAGS.propose(state())))
