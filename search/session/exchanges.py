"""Calls to whoever plans: kept before anything is made of them, paid for once, within budget."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pydantic import Field

from ...runners.errors import BudgetSpent, PlannerFailed
from ...runners.model import Record
from ...store.exchanges import append_exchange, exchange_rows
from ...store.records import now
from ...store.store import Store
from ..drivers.driver import BROKEN, Interrupted, Request, Returned, Usage
from ..drivers.prices import by_section, cost, worst_cost
from ..drivers.settings import PlannerSettings

LONGEST_PAUSE_S: Final = 60.0


class ExchangeRecord(Record):
    """One call as the store keeps it."""

    time: str
    search_id: str
    ticket: str
    model: str = ""
    asked: str = ""
    """what was said in it, as `Request.asked`"""
    returned: Returned
    usd: Decimal | None = None
    """what it cost; None: nobody knows"""
    sections: dict[str, int] = Field(default_factory=dict[str, int])
    """tokens of its input by section of the brief; they add up to all of its input"""


class Spent(Record):
    """What the calls of a search cost, all together or those of one model."""

    calls: int = 0
    usage: Usage = Usage()
    usd: Decimal = Decimal(0)
    unpriced: int = 0
    """calls whose cost nobody knows; they are not in `usd`"""

    def plus(self, call: ExchangeRecord) -> Spent:
        """With one more call."""
        here, more = self.usage, call.returned.usage or Usage()
        return Spent(
            calls=self.calls + 1,
            usage=Usage(
                input=here.input + more.input,
                cache_write=here.cache_write + more.cache_write,
                cache_read=here.cache_read + more.cache_read,
                output=here.output + more.output,
            ),
            usd=self.usd + (call.usd or 0),
            unpriced=self.unpriced + (call.usd is None),
        )

    def describe(self) -> str:
        """`4 calls, 12,034 tokens (9,000 from the cache), $0.0312`."""
        usage = self.usage
        cached = f" ({usage.cache_read:,} from the cache)" if usage.cache_read else ""
        counted = f", {usage.total:,} tokens{cached}" if usage.total else ""
        dollars = f", ${self.usd.normalize():f}" if self.unpriced < self.calls else ""
        return f"{self.calls} call{'s' * (self.calls != 1)}{counted}{dollars}"


class Costs(Record):
    """The account of a search's calls."""

    all: Spent = Spent()
    by_model: dict[str, Spent] = Field(default_factory=dict[str, Spent])
    by_section: dict[str, int] = Field(default_factory=dict[str, int])
    """tokens of input"""


def calls_of(store: Store, search_id: str) -> list[ExchangeRecord]:
    """Every call of a search, the first made first."""
    return [ExchangeRecord.model_validate(row) for row in exchange_rows(store, search_id)]


def account(calls: Iterable[ExchangeRecord]) -> Costs:
    """What calls cost: in all, by model, and their input by section of the brief."""
    whole, models = Spent(), defaultdict[str, Spent](Spent)
    sections = defaultdict[str, int](int)
    for call in calls:
        whole = whole.plus(call)
        models[call.model] = models[call.model].plus(call)
        for name, tokens in call.sections.items():
            sections[name] += tokens
    return Costs(all=whole, by_model=dict(models), by_section=dict(sections))


def costs_of(store: Store, search_id: str) -> Costs:
    """What a search's calls cost (`account`)."""
    return account(calls_of(store, search_id))


@dataclass
class Exchanges:
    """The calls for one question (`Exchange`). What was answered before is given again, in order;
    `pause` waits before an interrupted call is made again."""

    store: Store
    search_id: str
    ticket: str
    settings: PlannerSettings
    pause: Callable[[float], None] = time.sleep

    def __post_init__(self) -> None:
        rows = exchange_rows(self.store, self.search_id, self.ticket)
        known = (ExchangeRecord.model_validate(row).returned for row in rows)
        self._known = [each for each in known if each.stop != BROKEN]

    def __call__(self, request: Request, call: Callable[[], Returned]) -> Returned:
        """See `Exchange`."""
        if self._known:
            return self._known.pop(0)
        for attempt in range(self.settings.retries + 1):
            self._allow(request)
            try:
                returned = call()
            except Interrupted as error:
                if error.returned is not None:
                    self._keep(request, error.returned)
                if attempt == self.settings.retries:
                    raise PlannerFailed(
                        f"{error}, {attempt + 1} times",
                        next_step="nothing is lost: go on with --resume when it answers again; "
                        "planner rules needs nobody",
                    ) from error
                pause = self.settings.backoff_s * 2**attempt
                self.pause(min(error.wait_s or pause, LONGEST_PAUSE_S))
            else:
                self._keep(request, returned)
                return returned
        raise AssertionError("the last attempt raises")

    def _allow(self, request: Request) -> None:
        """Raises BudgetSpent where the call could cost more than is left."""
        budget, most = self.settings, request.most_input + request.most_output
        if budget.budget_usd is None and budget.budget_tokens is None:
            return
        if not request.model:
            raise PlannerFailed(
                "nobody counts what this planner costs, so that no budget can hold",
                next_step="leave --budget-usd and --budget-tokens out, or use planner anthropic",
            )
        spent = costs_of(self.store, self.search_id).all
        if budget.budget_tokens is not None and spent.usage.total + most > budget.budget_tokens:
            raise BudgetSpent(
                f"{spent.usage.total:,} of {budget.budget_tokens:,} tokens are spent, and the next "
                f"call could take {most:,}",
                next_step="go on with --resume and a larger --budget-tokens",
            )
        if budget.budget_usd is not None:
            worst = worst_cost(request)
            if spent.usd + worst > budget.budget_usd:
                raise BudgetSpent(
                    f"${spent.usd:.4f} of ${budget.budget_usd} are spent, and the next call could "
                    f"cost ${worst:.4f}",
                    next_step="go on with --resume and a larger --budget-usd",
                )

    def _keep(self, request: Request, returned: Returned) -> None:
        usage, model = returned.usage, returned.model or request.model
        read = 0 if usage is None else usage.total - usage.output
        record = ExchangeRecord(
            time=now(),
            search_id=self.search_id,
            ticket=self.ticket,
            model=model,
            asked=request.asked,
            returned=returned,
            usd=None if usage is None else cost(model, usage),
            sections=by_section(read, request.sections),
        )
        with self.store.transaction() as writer:
            number = len(exchange_rows(self.store, self.search_id)) + 1
            append_exchange(writer, self.search_id, self.ticket, number, record)
