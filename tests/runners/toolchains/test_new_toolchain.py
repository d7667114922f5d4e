"""A toolchain is added to a copy of the product as README says: one file, and a language for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kernels import REFERENCE, SOURCE, SPEC, with_known_peaks
from new_toolchain import add_a_toolchain
from product_copy import Product, copied

from kernelwright.runners.languages import KERNEL_TYPES

VERSE = f"Bump\n{SOURCE}"
ASK = """
import json
from pathlib import Path

from kernelwright.analysis.prior.signals import of_language
from kernelwright.analysis.spans import source_lines
from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.completing import draft_of_source
from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.runners.screens.source import static_screen
from kernelwright.runners.specs.declared_plan_model import parse_launch
from kernelwright.runners.specs.normalise import source_key
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.applying.apply import apply
from kernelwright.search.moves import MOVES, NotApplicable, State
from kernelwright.search.tuning import tuning_of
from kernelwright.tools.parts.baked_parameters import bake


def said(work):
    try:
        work()
    except (SpecError, ValueError) as error:
        return str(error)


loaded = load_file(Path("spec.json"), Roots([Path.cwd()]))
text, options = loaded.source, BuildOptions(flags=loaded.spec.kernel.flags)
state = State("verse", text, {}, options, loaded.spec)
proposed = {move.id: move.propose(state) for move in MOVES}
other = BuildOptions(flags=("-O2",))
print(json.dumps({
    "schema": KernelSpec.model_json_schema()["$defs"]["Kernel"]["properties"]["kernel_type"],
    "trailing blanks": source_key(text, "verse") == source_key(text + "  \\n", "verse"),
    "other layout": source_key(text, "verse") == source_key(text.replace("    ", " "), "verse"),
    "lines": sorted({line.kind for line in source_lines(text, "verse")}),
    "screen": [f["tier"] for f in static_screen(text, "verse", "bump").evidence["findings"]],
    "signals": len(of_language("verse")),
    "moves": [name for name, found in proposed.items() if not isinstance(found, NotApplicable)],
    "options": said(lambda: apply(Candidate(method="m", options=other), state)),
    "plan": said(lambda: apply(Candidate(method="m", plan={"steps": []}), state)),
    "knob": said(lambda: tuning_of(Candidate(method="m", knobs={"N": [1, 2]}), state)),
    "launch": said(lambda: parse_launch({"grid": [1]}, "verse")),
    "inferred": said(lambda: draft_of_source("bump.verse", text)),
    "baked": bake(text, {"UNROLL": 4}, "verse").flags,
}))
"""


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> Product:
    made = copied(tmp_path_factory.mktemp("product"))
    add_a_toolchain(made)
    write_kernel(made.home)
    return made


def write_kernel(home: Path) -> None:
    kernel: dict[str, Any] = {**SPEC["kernel"], "kernel_type": "verse"}
    kernel["source_path"] = "bump.verse"
    spec = {**SPEC, "kernel": kernel}
    (home / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    (home / "bump.verse").write_text(VERSE, encoding="utf-8")
    (home / "reference.py").write_text(REFERENCE, encoding="utf-8")


@pytest.fixture(scope="module")
def answers(product: Product) -> dict[str, Any]:
    done = product.runs("-c", ASK)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_spec_can_name_it(answers: dict[str, Any]) -> None:
    assert answers["schema"]["enum"] == [*KERNEL_TYPES, "verse"]


def test_a_kernel_in_it_is_opened_and_searched_like_any_other(product: Product) -> None:
    with_known_peaks(product.home / "out")
    start = "from kernelwright.server.cli import main; main()"
    words = ("--input", "spec.json", "--outdir", "out", "--budget-builds", "2", "--no-llm")
    done = product.runs("-c", start, "optimize", *words)
    assert done.returncode in (0, 2), done.stdout + done.stderr
    (variant,) = (product.home / "out" / "kernels" / "bump" / "variants").iterdir()
    assert (variant / "kernel.verse").read_text(encoding="utf-8") == VERSE
    result = json.loads((variant / "result.json").read_text(encoding="utf-8"))
    assert result["ending"] in ("faster", "tie", "slower"), result


def test_its_sources_are_read_line_by_line(answers: dict[str, Any]) -> None:
    assert answers["trailing blanks"] and not answers["other layout"]
    assert answers["lines"] == ["blank", "code"]


def test_what_no_screen_reads_is_for_the_fuller_gates(answers: dict[str, Any]) -> None:
    assert answers["screen"] == ["probe"]


def test_moves_that_need_no_syntax_propose_for_it_and_no_others(answers: dict[str, Any]) -> None:
    assert answers["moves"] == ["tune_parameters"]
    assert answers["signals"] == 0


def test_what_it_does_not_declare_is_said(answers: dict[str, Any]) -> None:
    assert "build options for a verse kernel" in answers["options"]
    assert "a launch plan for a verse kernel" in answers["plan"]
    assert "`N` is no parameter" in answers["knob"]
    assert "what a kernel in Verse takes is not read from its source" in answers["inferred"]
    assert answers["launch"] == "a verse kernel is called, not launched: leave `launch` out"


def test_an_export_leaves_its_source_as_it_is(answers: dict[str, Any]) -> None:
    assert answers["baked"] == {"UNROLL": 4}
