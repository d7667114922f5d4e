"""The suite's tools that answer with a question first, and go on when it comes back answered
(SEP-2322, 2026-07-28)."""

from __future__ import annotations

from typing import Any

from fixtures import Told, fixtures, said, text_of
from mcp_types import (
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
)

Answered = str | InputRequiredResult


def form(message: str, field: str, kind: str = "string") -> ElicitRequest:
    """A question to the user with one field."""
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def sample(text: str, tokens: int) -> CreateMessageRequest:
    """A question to the client's model."""
    return CreateMessageRequest(
        params=CreateMessageRequestParams(messages=[said(text)], max_tokens=tokens)
    )


def asks(state: str | None = None, **questions: Any) -> InputRequiredResult:
    """The questions, by the keys that their answers come back with."""
    return InputRequiredResult(input_requests=questions, request_state=state)


def field(context: Told, key: str, name: str) -> str | None:
    """A field of the user's answer; None: there is no such answer."""
    found = (context.input_responses or {}).get(key)
    if not isinstance(found, ElicitResult) or found.content is None:
        return None
    value = found.content.get(name)
    return None if value is None else str(value)


NAME = form("What is your name?", "name")


@fixtures.tool(structured_output=False)
def test_input_required_result_elicitation(context: Told) -> Answered:
    """Asks for a name."""
    name = field(context, "user_name", "name")
    return asks(user_name=NAME) if name is None else f"Hello, {name}!"


@fixtures.tool(structured_output=False)
def test_input_required_result_sampling(context: Told) -> Answered:
    """Asks a model."""
    found = (context.input_responses or {}).get("capital_question")
    if not isinstance(found, CreateMessageResult):
        return asks(capital_question=sample("What is the capital of France?", 100))
    return text_of(found.content)


@fixtures.tool(structured_output=False)
def test_input_required_result_list_roots(context: Told) -> Answered:
    """Asks for the client's roots."""
    found = (context.input_responses or {}).get("client_roots")
    if not isinstance(found, ListRootsResult):
        return asks(client_roots=ListRootsRequest(params=None))
    return "roots: " + ", ".join(str(root.uri) for root in found.roots)


@fixtures.tool(structured_output=False)
def test_input_required_result_request_state(context: Told) -> Answered:
    """Asks to confirm, with a state that comes back."""
    if context.request_state != "confirming" or field(context, "confirm", "ok") is None:
        return asks("confirming", confirm=form("Please confirm", "ok", "boolean"))
    return "state-ok"


@fixtures.tool(structured_output=False)
def test_input_required_result_tampered_state(context: Told) -> Answered:
    """Asks to confirm; the SDK seals the state, and refuses one that was changed."""
    return test_input_required_result_request_state(context)


@fixtures.tool(structured_output=False)
def test_input_required_result_multiple_inputs(context: Told) -> Answered:
    """Asks user, model and client at once."""
    answers = context.input_responses or {}
    if not {"user_name", "greeting", "client_roots"} <= answers.keys():
        return asks(
            "several",
            user_name=NAME,
            greeting=sample("Generate a greeting", 50),
            client_roots=ListRootsRequest(params=None),
        )
    return f"Hello, {field(context, 'user_name', 'name')}"


@fixtures.tool(structured_output=False)
def test_input_required_result_multi_round(context: Told) -> Answered:
    """Asks twice, one after the other."""
    step, _, name = (context.request_state or "").partition(":")
    if step == "2" and (color := field(context, "step2", "color")) is not None:
        return f"{name} likes {color}"
    if step == "1" and (told := field(context, "step1", "name")) is not None:
        return asks(f"2:{told}", step2=form("Step 2: What is your favorite color?", "color"))
    return asks("1:", step1=form("Step 1: What is your name?", "name"))


@fixtures.tool(structured_output=False)
def test_input_required_result_capabilities(context: Told) -> Answered:
    """Asks what the client said that it can answer, and no more."""
    known = context.client_capabilities
    questions: dict[str, Any] = {}
    if known is not None and known.sampling is not None:
        questions["greeting"] = sample("Generate a greeting", 50)
    if known is not None and known.elicitation is not None:
        questions["user_name"] = NAME
    return asks(**questions) if questions else "this client can be asked nothing"


@fixtures.tool(structured_output=False)
def test_streaming_elicitation(context: Told) -> Answered:
    """Asks in its result, and never by a request of its own."""
    return test_input_required_result_elicitation(context)


@fixtures.prompt()
def test_input_required_result_prompt(context: Told) -> Answered:
    """A prompt that asks for its context."""
    told = field(context, "user_context", "context")
    if told is None:
        return asks(user_context=form("What context should the prompt use?", "context"))
    return f"In the context of {told}"
