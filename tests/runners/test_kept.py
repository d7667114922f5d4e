"""What records keep of texts: never more than a reader reads."""

from __future__ import annotations

from kernelwright.runners.kept import KEPT_CHARS
from kernelwright.runners.model import BuildFacts, Ending, Evaluation, GateResult
from kernelwright.runners.toolchains import BuildOutcome

LONG = "n" * 900_000
ROOM = 40
"""characters in which it is said how many are missing"""


def test_a_message_of_any_record_is_kept_up_to_a_length_and_says_what_is_missing() -> None:
    evaluation = Evaluation(
        evaluation_id="v/1",
        variant_id="v",
        kernel_id="k",
        ending=Ending.rejected,
        tier="native",
        message=LONG,
        build=BuildFacts(compiler="c", command="c", seconds=1.0, warnings=(LONG,)),
        gates=(GateResult(gate="g", outcome="failed", message=LONG),),
    )
    assert evaluation.message.endswith(f"{len(LONG) - KEPT_CHARS} more characters")
    assert len(evaluation.model_dump_json()) < 4 * (KEPT_CHARS + ROOM)
    assert len(BuildOutcome(message=LONG).message) < KEPT_CHARS + ROOM


def test_texts_within_evidence_are_cut_and_numbers_stay() -> None:
    found = {"findings": [{"name": LONG, "line": 3}], "share": 0.5}
    kept = GateResult(gate="g", outcome="note", evidence=found).evidence
    assert len(kept["findings"][0]["name"]) < KEPT_CHARS + ROOM
    assert (kept["findings"][0]["line"], kept["share"]) == (3, 0.5)
