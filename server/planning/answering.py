"""Who answers the questions of a headless run: a driver, with the brief and tools to look with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from ...runners.errors import KernelwrightError
from ...runners.wording import cut
from ...search.applying.sent import SentCandidate
from ...search.drivers.driver import Asked, ModelTool
from ...search.drivers.drivers import DRIVERS, DriverName
from ...search.drivers.settings import PlannerSettings
from ...search.session.exchanges import Exchanges
from ...tools import TOOLS
from ...tools.base import Tool
from ...tools.brief.assemble import brief_of
from .afterwards import Housekeeping

if TYPE_CHECKING:
    from ...search.session.session import SearchSession
    from ...search.session.workbench import Workbench
    from ...search.stored.records import NeedsCandidates

LOOKS: Final[Mapping[str, bool]] = {
    "inspect": False,
    "region_dag": True,
    "ptx_for_source_span": True,
    "ncu_summary": True,
}
"""tools that a model may look with; true: of GPU kernels alone"""
LONGEST: Final = 12_000
"""characters of what one look tells; it says how much is missing"""


class Answerer:
    """Answers questions of one workbench's searches by one driver (`Answering`)."""

    def __init__(self, bench: Workbench, planner: DriverName, settings: PlannerSettings) -> None:
        self._bench = bench
        self.planner: DriverName = planner
        self.settings = settings
        self._driver = DRIVERS[planner](settings)

    def answer(self, session: SearchSession, needed: NeedsCandidates) -> tuple[SentCandidate, ...]:
        """See `Answering.answer`."""
        question, bench = needed.question, self._bench
        kernel = bench.evaluator.kernel(session.record.kernel_id)
        tools = looking_tools(bench, on_gpu=kernel.spec.kernel.language.on_gpu)
        asked = Asked(brief_of(bench, question.variant_id, question), question, tools)
        exchange = Exchanges(bench.store, session.search_id, needed.ticket, self.settings)
        return self._driver.propose(asked, exchange)

    def afterwards(self, session: SearchSession) -> None:
        """See `Answering.afterwards`."""
        Housekeeping(self._bench.store, self._driver, self.settings, session.record).do()


def looking_tools(bench: Workbench, *, on_gpu: bool) -> Sequence[ModelTool]:
    """Our tools that build no candidate and time nothing, as a model is given them."""
    return [
        ModelTool(
            name=tool.name,
            description=tool.description,
            schema=tool.arguments.model_json_schema(),
            run=partial(look, bench, tool),
        )
        for tool in TOOLS
        if tool.name in LOOKS and (on_gpu or not LOOKS[tool.name])
    ]


def look(bench: Workbench, tool: Tool[Any, Any], arguments: Mapping[str, Any]) -> str:
    """What a tool tells, as JSON that is cut where it is long; or what was wrong."""
    run: Callable[..., Any] = tool.run
    try:
        result = run(bench, tool.arguments.model_validate(arguments))
    except ValidationError as error:
        wrong = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:5])
        return f"these arguments are not valid: {'; '.join(wrong)}"
    except KernelwrightError as error:
        return str(error)
    told = result.model_dump(mode="json", exclude_none=True)
    return cut(json.dumps(told, ensure_ascii=False), LONGEST)
