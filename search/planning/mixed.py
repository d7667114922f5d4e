"""The planner `mixed`: rules until they stop paying, then whoever answers, then rules around that.

Rules cost nothing and an answer does, so an answer is asked for when the last evaluations brought
no new incumbent (`Context.paying`; how many, `Settings.change_over` says), where rules have nothing
to propose, and where a variant failed: rules mend nothing. Once an answer becomes the incumbent
rules go first again: they sweep the parameters and constants of what it brought.
"""

from __future__ import annotations

from dataclasses import replace

from .planner import Context, PlannerRun, question_from
from .rules import rules_planner

ALL = 10**6
"""candidates: what rules have left where nobody else has anything to say"""


def mixed_planner(context: Context) -> PlannerRun:
    """Candidates of rules, or a question; after an empty answer all that rules have left."""
    mends = not context.statistics.ending.measured
    if not mends and not context.answered and context.paying:
        ruled = yield from rules_planner(context)
        if ruled:
            return ruled
    reply = yield question_from(context)
    if reply.candidates or mends:
        return reply.candidates
    return (yield from rules_planner(replace(context, wanted=ALL)))
