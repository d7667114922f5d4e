"""What the conformance suite expects of a server beside the protocol: tools, prompts, resources.

The product has none of these. They are a server of their own; `server.py` answers for
them beside everything that the application has.
"""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any, Final

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Audio, Context, Image
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.shared.exceptions import MCPError
from mcp_types import (
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)
from mcp_types import Tool as ToolOnWire

Told = Context[None, Any]
PIXEL: Final = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
"""a picture of one pixel"""
SILENCE: Final = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0D\xac\0\0\x88X\1\0\2\0\x10\0data\0\0\0\0"
"""a sound of no samples"""
PAUSE_S: Final = 0.05
RICH_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADER_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
SCHEMAS: Final = {
    "json_schema_2020_12_tool": RICH_SCHEMA,
    "test_custom_headers": HEADER_SCHEMA,
}
"""of tools whose schema is what is tested; no Python signature says it"""

fixtures: MCPServer[None] = MCPServer("conformance-fixtures", log_level="WARNING")


def as_listed(tool: ToolOnWire) -> ToolOnWire:
    """A tool of the fixtures with the schema that the suite asks for."""
    schema = SCHEMAS.get(tool.name)
    return tool if schema is None else tool.model_copy(update={"input_schema": schema})


def embedded(uri: str, mime: str, text: str) -> EmbeddedResource:
    """A resource within a result."""
    return EmbeddedResource(
        type="resource", resource=TextResourceContents(uri=uri, mime_type=mime, text=text)
    )


@fixtures.tool()
def test_simple_text() -> str:
    """Returns a text."""
    return "This is a simple text response for testing."


@fixtures.tool()
def test_image_content() -> Image:
    """Returns a picture."""
    return Image(data=PIXEL, format="png")


@fixtures.tool()
def test_audio_content() -> Audio:
    """Returns a sound."""
    return Audio(data=SILENCE, format="wav")


@fixtures.tool()
def test_embedded_resource() -> EmbeddedResource:
    """Returns a resource."""
    return embedded(
        "test://embedded-resource", "text/plain", "This is an embedded resource content."
    )


@fixtures.tool()
def test_multiple_content_types() -> list[str | Image | EmbeddedResource]:
    """Returns a text, a picture and a resource."""
    data = json.dumps({"test": "data", "value": 123})
    return [
        "Multiple content types test:",
        Image(data=PIXEL, format="png"),
        embedded("test://mixed-content-resource", "application/json", data),
    ]


@fixtures.tool()
def test_error_handling() -> str:
    """Always fails."""
    raise ToolError("This tool intentionally returns an error for testing")


@fixtures.tool()
async def test_tool_with_logging(context: Told) -> str:
    """Sends three log messages."""
    for said in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.log("info", said)  # pyright: ignore[reportDeprecated]
        await anyio.sleep(PAUSE_S)
    return "three messages were sent"


@fixtures.tool()
async def test_logging_tool(context: Told) -> str:
    """Sends a log message to who asked for any."""
    await context.log("info", "only where a level was given")  # pyright: ignore[reportDeprecated]
    return "done"


@fixtures.tool()
async def test_tool_with_progress(context: Told) -> str:
    """Reports progress three times."""
    for progress in (0, 50, 100):
        await context.report_progress(progress, 100)
        await anyio.sleep(PAUSE_S)
    return "100 of 100"


@fixtures.tool()
async def test_trigger_tool_change(context: Told) -> str:
    """Says that the list of tools has changed."""
    await context.notify_tools_changed()
    return "told"


@fixtures.tool()
async def test_trigger_prompt_change(context: Told) -> str:
    """Says that the list of prompts has changed."""
    await context.notify_prompts_changed()
    return "told"


@fixtures.tool()
async def test_reconnection(context: Told) -> str:
    """Closes the stream of its own request, and answers after that."""
    await context.close_sse_stream()
    await anyio.sleep(PAUSE_S)
    return "answered after the stream was closed"


@fixtures.tool()
def json_schema_2020_12_tool(name: str = "") -> str:
    """Has a schema with keywords of JSON Schema 2020-12."""
    return name


@fixtures.tool()
def test_custom_headers(region: str) -> str:
    """Has an argument that is sent as a header as well."""
    return region


@fixtures.tool()
def test_missing_capability(context: Told) -> str:
    """Needs a client that can sample."""
    known = context.client_capabilities
    if known is None or known.sampling is None:
        raise MCPError(
            code=MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="this tool needs a client with the capability sampling",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return "it can"


@fixtures.tool()
async def test_sampling(prompt: str, context: Told) -> str:
    """Asks the client's model (2025-11-25 and before)."""
    asked = CreateMessageRequestParams(messages=[said(prompt)], max_tokens=100)
    found: CreateMessageResult = await context.session.create_message(  # pyright: ignore[reportDeprecated]
        messages=asked.messages, max_tokens=asked.max_tokens
    )
    return f"LLM response: {text_of(found.content)}"


@fixtures.tool()
async def test_elicitation(message: str, context: Told) -> str:
    """Asks the user (2025-11-25 and before)."""
    described = {"username": "User's response", "email": "User's email address"}
    properties = {k: {"type": "string", "description": v} for k, v in described.items()}
    found = await asked_of_user(context, message, properties, list(properties))
    return f"User response: action: {found.action}, content: {json.dumps(found.content)}"


@fixtures.tool()
async def test_elicitation_sep1034_defaults(context: Told) -> str:
    """Asks the user with defaults of each primitive type."""
    status = {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}
    properties: dict[str, dict[str, Any]] = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": status,
        "verified": {"type": "boolean", "default": True},
    }
    return completed(await asked_of_user(context, "Please review the defaults", properties))


@fixtures.tool()
async def test_elicitation_sep1330_enums(context: Told) -> str:
    """Asks the user with each form of an enumeration."""
    options = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"{w} Option"} for n, w in enumerate(WORDS, 1)]
    choices = [{"const": f"value{n}", "title": f"{w} Choice"} for n, w in enumerate(WORDS, 1)]
    properties: dict[str, dict[str, Any]] = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": choices}},
    }
    return completed(await asked_of_user(context, "Please choose", properties))


WORDS: Final = ("First", "Second", "Third")


def said(text: str) -> SamplingMessage:
    """What a user says to a model."""
    return SamplingMessage(role="user", content=TextContent(type="text", text=text))


def text_of(content: object) -> str:
    """The text of what a model answered."""
    return content.text if isinstance(content, TextContent) else repr(content)


async def asked_of_user(
    context: Told, message: str, properties: dict[str, Any], required: list[str] | None = None
) -> ElicitResult:
    """What the user answered to a form."""
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    asked = ElicitRequestFormParams(message=message, requested_schema=schema)
    return await context.session.elicit_form(
        asked.message, asked.requested_schema, related_request_id=context.request_id
    )


def completed(found: ElicitResult) -> str:
    """The answer as the suite wants it told."""
    return f"Elicitation completed: action={found.action}, content={json.dumps(found.content)}"


@fixtures.resource("test://static-text", mime_type="text/plain", description="A text")
def static_text() -> str:
    """A text."""
    return "This is the content of the static text resource."


@fixtures.resource("test://static-binary", mime_type="image/png", description="A picture")
def static_binary() -> bytes:
    """A picture."""
    return PIXEL


@fixtures.resource("test://watched-resource", mime_type="text/plain", description="Subscribed to")
def watched_resource() -> str:
    """Subscribed to."""
    return "It stays as it is."


@fixtures.resource(
    "test://template/{id}/data", mime_type="application/json", description="By a name"
)
def template(id: str) -> str:
    """By a name."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


@fixtures.prompt()
def test_simple_prompt() -> str:
    """A prompt without arguments."""
    return "This is a simple prompt for testing."


@fixtures.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """A prompt with two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@fixtures.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:
    """A prompt with a resource in it."""
    found = embedded(resourceUri, "text/plain", "Embedded resource content for testing.")
    text = TextContent(type="text", text="Please process the embedded resource above.")
    return [UserMessage(each) for each in (found, text)]


@fixtures.prompt()
def test_prompt_with_image() -> list[UserMessage]:
    """A prompt with a picture in it."""
    picture = Image(data=PIXEL, format="png").to_image_content()
    text = TextContent(type="text", text="Please analyze the image above.")
    return [UserMessage(each) for each in (picture, text)]
