"""The driver `command`: any program that reads a question as JSON on stdin and prints an answer."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from ...runners.errors import KernelwrightError, PlannerFailed, SpecError
from ...runners.processes.process import Limits, run_limited
from ...runners.processes.start import clean_environment
from ...runners.wording import cut
from ..applying.sent import SentCandidate
from ..planning.brief import tokens_of
from ..planning.replies import MOST_BYTES, read_reply, take_reply
from .driver import Asked, Exchange, JsonObject, Request, Returned, T, Task
from .settings import PlannerSettings

MEND = "mend it and go on with --resume; planner rules needs nobody"
FORMAT = 1
"""of the question; a change that a program would notice raises it"""


class CommandDriver:
    """Runs the program once a question, and once more if nothing of its answer can be used."""

    def __init__(self, settings: PlannerSettings) -> None:
        if not settings.command:
            raise PlannerFailed(
                "the planner command has no command",
                valid='--command "python3 my_planner.py"',
            )
        self._settings = settings

    def propose(self, asked: Asked, exchange: Exchange) -> tuple[SentCandidate, ...]:
        """See `Driver.propose`."""
        request = Request(sections=asked.brief.ledger, asked=asked.brief.text)
        return take_reply(self._answer(question_of(asked), request, exchange, read_reply))

    def perform(self, task: Task[T], exchange: Exchange) -> T | None:
        """See `Driver.perform`; a program that was made for candidates is not asked."""
        if not self._settings.housekeeping:
            return None
        asked = {
            "format": FORMAT,
            "task": task.name,
            "instructions": task.instructions,
            "data": json.loads(task.data),
        }
        request = Request(sections={task.name: tokens_of(task.data)}, asked=task.data)
        return task.read(self._answer(asked, request, exchange, task.read))

    def _answer(
        self,
        question: JsonObject,
        request: Request,
        exchange: Exchange,
        read: Callable[[str], object],
    ) -> str:
        """An answer that can be read, asked for once more where one cannot. Raises PlannerFailed
        where none can."""
        try:
            returned = exchange(request, lambda: self._run(question, read))
        except SpecError as error:
            again = {**question, "refused": str(error)}
            try:
                returned = exchange(request, lambda: self._run(again, read))
            except SpecError as repeated:
                raise PlannerFailed(
                    f"{self._name} gave no usable answer twice: {repeated.message}",
                    valid=repeated.valid,
                    next_step=MEND,
                ) from repeated
        return returned.text

    @property
    def _name(self) -> str:
        return Path(self._settings.command[0]).name

    def _run(self, question: JsonObject, read: Callable[[str], object]) -> Returned:
        """What the program prints. Raises PlannerFailed, and SpecError where that is no answer: one
        that cannot be used is not kept, as the program may be mended."""
        folder = Path(tempfile.mkdtemp(prefix="kernelwright-command-"))
        try:
            returned = self._run_in(folder, question)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        read(returned.text)
        return returned

    def _run_in(self, folder: Path, question: JsonObject) -> Returned:
        asked = folder / "question.json"
        asked.write_text(json.dumps(question), encoding="utf-8")
        names = [name for name in self._settings.command_env if name in os.environ]
        limits = Limits(wall_s=self._settings.timeout_s, file_bytes=64 << 20)
        try:
            done = run_limited(
                self._settings.command,
                scratch=folder,
                environment=clean_environment(folder, {name: os.environ[name] for name in names}),
                limits=limits,
                stdin=asked,
                text_bytes=2 * MOST_BYTES,
            )
        except KernelwrightError as error:
            raise PlannerFailed(error.message, next_step="name another --command") from error
        if done.returncode != 0:
            said = cut(done.stderr.strip(), 600)
            raise PlannerFailed(
                f"{self._name}: {done.ending}{f': {said}' if said else ''}",
                next_step=MEND,
            )
        return Returned(content=({"type": "text", "text": done.stdout},))


def question_of(asked: Asked) -> JsonObject:
    """The question as a program reads it: the brief by section and as Markdown, and the facts that
    it is about."""
    question = asked.question
    return {
        "format": FORMAT,
        "kernel_id": asked.brief.kernel_id,
        "search_id": question.search_id,
        "variant_id": question.variant_id,
        "wanted": question.wanted,
        "source": question.source,
        "parameters": question.parameters,
        "options": question.options.model_dump(mode="json"),
        "plan": question.plan,
        "speedup": question.speedup,
        "ending": question.ending.value,
        "brief": asked.brief.markdown(),
        "sections": [each.model_dump(mode="json") for each in asked.brief.sections],
    }
