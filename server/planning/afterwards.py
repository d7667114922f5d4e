"""What whoever plans is asked once a search has stopped: what new names of methods mean, and what a
long memory comes to. Rules have an answer to both, so that nothing hangs on it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files
from typing import TYPE_CHECKING

from ...runners import progress
from ...runners.errors import BudgetSpent, PlannerFailed
from ...runners.wording import shortened
from ...search.digest import taught
from ...search.drivers.driver import Driver, T, Task
from ...search.drivers.settings import PlannerSettings
from ...search.housekeeping.grouping import Grouping, is_long, read_groups
from ...search.housekeeping.grouping import asked_data as asked_of_lines
from ...search.housekeeping.relabel import asked_data as asked_of_names
from ...search.housekeeping.relabel import known_methods, read_labels, to_classify
from ...search.session.exchanges import Exchanges
from ...search.stored.experience import regraph_of
from ...search.stored.naming import say
from ...search.stored.recalling import groups_of, recall
from ...store.lessons import put_grouping
from ...store.records import now

if TYPE_CHECKING:
    from ...search.memory import Lesson
    from ...search.stored.records import SearchRecord
    from ...store.store import Store

DETAIL = 300
"""characters of what was said of a candidate"""


class Housekeeping:
    """Asks one driver, for one search."""

    def __init__(
        self, store: Store, driver: Driver, settings: PlannerSettings, search: SearchRecord
    ) -> None:
        self._store, self._driver, self._settings = store, driver, settings
        self._kernel_id, self._search_id = search.kernel_id, search.search_id

    def do(self) -> None:
        """Both, as far as there is something to ask; what comes to nothing is told as progress, and
        stays as rules have it."""
        if self._settings.housekeeping is False:
            return
        for what, ask in (
            ("names of methods", self._names),
            ("groups of the memory", self._memory),
        ):
            try:
                ask()
            except (BudgetSpent, PlannerFailed) as error:
                progress.found(f"{what} stay as rules have them: {error.message}")

    def _names(self) -> None:
        graph, lessons = regraph_of(self._store), recall(self._store, self._kernel_id).lessons
        ours = [each for each in lessons if each.search_id == self._search_id]
        asked = to_classify(graph, (each.method for each in ours))
        if not asked:
            return
        known = known_methods(graph, asked)
        data = asked_of_names(known, {name: _said_of(name, ours) for name in asked})
        read = partial(read_labels, names=asked, known=known, time=now())
        labels = self._perform(Task("relabel", instructions("relabel"), data, read))
        if labels:
            say(self._store, labels)
            progress.found(
                f"names of methods: {'; '.join(f'{x.name} is {x.into}' for x in labels)}"
            )

    def _memory(self) -> None:
        lines = taught(recall(self._store, self._kernel_id).lessons)
        if not is_long(lines, groups_of(self._store, self._kernel_id)):
            return
        read = partial(read_groups, lines=lines)
        task = Task("compact", instructions("compact"), asked_of_lines(lines), read)
        groups = self._perform(task)
        if groups is None:
            return
        by = " ".join(self._settings.command) or self._settings.model
        made = Grouping(kernel_id=self._kernel_id, by=by, time=now(), groups=groups)
        with self._store.transaction() as writer:
            put_grouping(writer, self._kernel_id, made)
        progress.found(f"memory: {len(lines)} lines put in short, {len(groups)} groups")

    def _perform(self, task: Task[T]) -> T | None:
        exchanges = Exchanges(self._store, self._search_id, task.ticket, self._settings)
        return self._driver.perform(task, exchanges)


@cache
def instructions(task: str) -> str:
    """What is asked in a task."""
    place = files("kernelwright.search.housekeeping").joinpath(f"{task}.md")
    return place.read_text(encoding="utf-8").rstrip("\n")


def _said_of(name: str, lessons: list[Lesson]) -> str:
    said: Iterator[str] = (each.detail for each in lessons if each.method == name and each.detail)
    return shortened(next(said, ""), DETAIL)
