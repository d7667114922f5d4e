"""The driver `anthropic`: a model behind the Messages API, through the official SDK."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...runners import progress
from ...runners.errors import SpecError
from ..applying.sent import SentCandidate
from ..planning.brief import tokens_of
from ..planning.replies import take_reply
from .driver import Asked, Exchange, JsonObject, ModelTool, Request, Returned, T, Task
from .messages_api import KEPT, MessagesApi
from .settings import PlannerSettings

OVERHEAD_TOKENS: Final = 2_000
"""that the service adds to a call with tools; it says some hundreds"""
CONTINUATIONS: Final = 4
"""times that one answer may be cut off and gone on with"""
GO_ON: Final = "Your answer was cut off. Go on exactly where it ends, and repeat nothing of it."
ANSWER_NOW: Final = "You have looked as often as you may. Answer now, with the JSON object alone."


class AnthropicDriver:
    """Asks a model, which may look with our tools before it answers."""

    def __init__(self, settings: PlannerSettings) -> None:
        self._settings = settings
        self._api = MessagesApi(settings)

    def propose(self, asked: Asked, exchange: Exchange) -> tuple[SentCandidate, ...]:
        """See `Driver.propose`. A model that refuses, or gives no usable answer twice, has nothing
        more to give from here; that is told as progress."""
        brief = asked.brief
        kernel, lineage, variant = map(brief.part, ("kernel", "lineage", "variant"))
        prompt = Prompt(kernel, variant, brief.ledger, asked.tools, lineage=lineage)
        return self._read(prompt, exchange, take_reply) or ()

    def perform(self, task: Task[T], exchange: Exchange) -> T | None:
        """See `Driver.perform`."""
        sections = {task.name: tokens_of(task.instructions + task.data)}
        return self._read(Prompt(task.instructions, task.data, sections), exchange, task.read)

    def _read(self, prompt: Prompt, exchange: Exchange, read: Callable[[str], T]) -> T | None:
        """What an answer says, asked for once more where it says nothing usable; None: it never
        does, or was refused."""
        conversation = Conversation(prompt, self._settings)
        for last in (False, True):
            text = self._answer(conversation, exchange)
            if text is None:
                progress.found(f"{self._settings.model} refused to answer this question; {KEPT}")
                return None
            try:
                return read(text)
            except SpecError as error:
                if last:
                    progress.found(
                        f"no usable answer of {self._settings.model}: {error.message}; {KEPT}"
                    )
                conversation.say(f"This could not be used. {error}\nAnswer again, whole.", text)
        return None

    def _answer(self, conversation: Conversation, exchange: Exchange) -> str | None:
        """The text of one answer, with all looks and continuations on the way; None: refused."""
        text, cuts = "", 0
        while True:
            body = conversation.body()
            returned = exchange(conversation.request(body), lambda body=body: self._api.call(body))
            match returned.stop:
                case "refusal":
                    return None
                case "tool_use":
                    if not conversation.look(returned):
                        return text + returned.text
                case "pause_turn":
                    conversation.messages.append(_said_by("assistant", returned.content))
                case "max_tokens" if cuts < CONTINUATIONS:
                    # joined as it is sent back: the model goes on where what it sees ends
                    seen = returned.text.rstrip()
                    cuts, text = cuts + 1, text + seen
                    conversation.say(GO_ON, seen)
                case _:
                    return text + returned.text


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a conversation begins with."""

    stable: str
    """the same from question to question: the system prompt"""
    changing: str
    sections: Mapping[str, int]
    """of all of it, with estimated tokens"""
    tools: Sequence[ModelTool] = ()
    lineage: str = ""
    """the same for a variant and those that come of it: a block of its own, so that a cache that
    was filled for one serves the others"""


@dataclass
class Conversation:
    """The messages of one question; what is stable stands first, and is marked to be cached."""

    prompt: Prompt
    settings: PlannerSettings
    messages: list[JsonObject] = field(default_factory=list[JsonObject])
    looks: int = 0
    _told: int = 0
    """messages that earlier calls held"""

    def __post_init__(self) -> None:
        told = (text for text in (self.prompt.lineage, self.prompt.changing) if text)
        self.messages.append(_said_by("user", tuple(_text(text) | CACHED for text in told)))

    def body(self) -> JsonObject:
        """What a call sends."""
        settings = self.settings
        body: JsonObject = {
            "model": settings.model,
            "max_tokens": settings.max_output,
            "system": [_text(self.prompt.stable) | CACHED],
            "messages": list(self.messages),
        }
        if self.prompt.tools:
            body["tools"] = [_as_tool(tool) for tool in self.prompt.tools]
        if settings.thinking is not None:
            body["thinking"] = {"type": settings.thinking}
        if settings.effort is not None:
            body["output_config"] = {"effort": settings.effort}
        return body

    def request(self, body: JsonObject) -> Request:
        """What is known of the call before it is made."""
        beside = json.dumps(self.messages[1:]) if len(self.messages) > 1 else ""
        first = [] if self._told else [_said_by("system", (_text(self.prompt.stable),))]
        new, self._told = [*first, *self.messages[self._told :]], len(self.messages)
        tools = {"tools": tokens_of(json.dumps(body["tools"]))} if "tools" in body else {}
        return Request(
            model=self.settings.model,
            most_input=len(json.dumps(body).encode()) + OVERHEAD_TOKENS,
            most_output=self.settings.max_output,
            sections={
                **self.prompt.sections,
                **tools,
                **({"conversation": tokens_of(beside)} if beside else {}),
            },
            asked=json.dumps(new, ensure_ascii=False),
        )

    def say(self, words: str, answered: str) -> None:
        """Go on after an answer, of which the text alone is sent back."""
        if seen := answered.rstrip():
            self.messages.append(_said_by("assistant", (_text(seen),)))
        self.messages.append(_said_by("user", (_text(words),)))

    def look(self, returned: Returned) -> bool:
        """Answer the model's calls of tools; False: it was told to answer, and calls again."""
        if self.looks > self.settings.tool_rounds:
            return False
        self.looks += 1
        over = self.looks > self.settings.tool_rounds
        calls = [block for block in returned.content if block["type"] == "tool_use"]
        results = [self._result(call, over=over) for call in calls]
        self.messages.append(_said_by("assistant", returned.content))
        self.messages.append(_said_by("user", (*results, *((_text(ANSWER_NOW),) if over else ()))))
        return True

    def _result(self, call: JsonObject, *, over: bool) -> JsonObject:
        result = {"type": "tool_result", "tool_use_id": call["id"]}
        if over:
            return result | {"content": ANSWER_NOW, "is_error": True}
        tools = {tool.name: tool for tool in self.prompt.tools}
        if call["name"] not in tools:
            known = ", ".join(tools) or "none"
            return result | {"content": f"no such tool; there are: {known}", "is_error": True}
        return result | {"content": tools[call["name"]].run(call["input"])}


CACHED: Final = {"cache_control": {"type": "ephemeral"}}


def _as_tool(tool: ModelTool) -> JsonObject:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _said_by(role: str, content: tuple[JsonObject, ...]) -> JsonObject:
    return {"role": role, "content": list(content)}
