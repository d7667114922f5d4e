"""What a job writes down of itself while it runs, and where it hears that it is to end."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import BaseModel

from ...runners import progress
from ...store.job_rows import change_job
from ...store.jobs import JobRecord
from ...store.store import JsonObject, Store
from .cancelling import Cancelling


class Recorder(progress.Listener):
    """Writes what a tool reports into its job's record, and says whether it is to end."""

    def __init__(
        self,
        store: Store,
        record: JobRecord,
        cancelling: Cancelling,
        turn_is_over: Callable[[], bool],
    ) -> None:
        self._store, self._job_id, self._cancelling = store, record.job_id, cancelling
        self._turn_is_over, self._begun = turn_is_over, False
        self.so_far = record.so_far
        self._found = ""

    def report(self, message: str) -> None:
        """Beside what was found last, which whoever looks now and then would miss."""
        known = f"{self._found}; now " if self._found else ""
        update(self._store, self._job_id, {"progress": known + message})

    def found(self, message: str) -> None:
        self._found = message
        update(self._store, self._job_id, {"progress": message})

    def cancelled(self) -> bool:
        return self._cancelling.asked

    def checkpoint(self, arguments: BaseModel, so_far: BaseModel | None) -> None:
        if so_far is not None:
            self.so_far = kept(so_far)
        change = {"arguments": dumped(arguments), "so_far": self.so_far}
        update(self._store, self._job_id, change)
        if self._begun and self._turn_is_over():
            raise progress.GaveWay
        self._begun = True  # each turn does at least what lies between two of these

    def earlier(self) -> JsonObject | None:
        return self.so_far


def kept(result: BaseModel) -> JsonObject:
    return result.model_dump(mode="json", exclude_none=True)


def dumped(arguments: BaseModel) -> JsonObject:
    return arguments.model_dump(mode="json", exclude={"wait_s"}, exclude_none=True)


def update(store: Store, job_id: str, change: JsonObject) -> None:
    with store.transaction() as writer:
        change_job(writer, job_id, lambda value: {**(value or {}), **change})
