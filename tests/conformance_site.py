"""The product's own door to MCP with the tools, resources and prompts that the official conformance suite asks for behind it.

The suite has no key to send, so the one in CONFORMANCE_KEY is put on each of its requests.
"""

import base64
import hmac
import os

import mcp_types as t
from django.conf import settings
from mcp.server import Server
from mcp.shared.exceptions import MCPError

import workrail_site.asgi  # noqa: F401  it sets Django up
from workrail_site.mcp.mounts import Mounts

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WAV = base64.b64encode(
    b"RIFF$\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00@\x1f\x00\x00@\x1f\x00\x00\x01\x00\x08\x00data\x00\x00\x00\x00"
).decode()
NOTHING = {"type": "object", "properties": {}}
SCHEMA_2020 = {
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


def text(words):
    return {"type": "text", "text": words}


EMBEDDED = {
    "type": "resource",
    "resource": {
        "uri": "test://embedded-resource",
        "mimeType": "text/plain",
        "text": "This is an embedded resource content.",
    },
}
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
CONTENTS = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [EMBEDDED],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        {
            "type": "resource",
            "resource": {
                "uri": "test://mixed-content-resource",
                "mimeType": "application/json",
                "text": '{"test":"data","value":123}',
            },
        },
    ],
    "json_schema_2020_12_tool": [text("Read.")],
}
STATIC = {
    "test://static-text": {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    "test://static-binary": {"mimeType": "image/png", "blob": PNG},
}
PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


def form(message, properties, required=()):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


async def list_tools(_context, _params):
    named = [*CONTENTS, "test_error_handling", *ASKING]
    tools = [
        {
            "name": name,
            "description": f"For the scenario {name}",
            "inputSchema": SCHEMAS.get(name, NOTHING),
        }
        for name in named
    ]
    return t.ListToolsResult.model_validate({"tools": tools})


async def call_tool(context, params):
    if params.name == "test_error_handling":
        return result([text("This tool intentionally returns an error for testing")], is_error=True)
    if params.name in ASKING:
        return await ASKING[params.name](context, params)
    if params.name not in CONTENTS:
        raise MCPError(code=-32602, message=f"Unknown tool: {params.name}")
    return result(CONTENTS[params.name])


def result(content, *, is_error=False):
    return t.CallToolResult.model_validate({"content": content, "isError": is_error})


def asked(requests, state=None):
    return t.InputRequiredResult.model_validate({"inputRequests": requests, "requestState": state})


async def ask_name(_context, params):
    said = (params.input_responses or {}).get("user_name")
    if said is None:
        return asked({"user_name": form("What is your name?", {"name": {"type": "string"}}, ["name"])})
    return result([text(f"Hello, {(said.content or {}).get('name', 'nobody')}!")])


SAMPLING = {
    "method": "sampling/createMessage",
    "params": {"messages": [{"role": "user", "content": text("What is the capital of France?")}], "maxTokens": 100},
}
ROOTS = {"method": "roots/list"}
OK = form("Shall it be?", {"ok": {"type": "boolean"}}, ["ok"])


def sealed(words):
    return f"{words}.{hmac.digest(b'fixture', words.encode(), 'sha256').hex()}"


def opened(state):
    words = (state or "").partition(".")[0]
    if state != sealed(words):
        raise MCPError(code=-32602, message="The request state is not ours")
    return words


def asking(requests, state=None):
    """Asks once, and is content with whatever comes."""

    async def ask(_context, params):
        return result([text("Thank you.")]) if params.input_responses else asked(requests, state)

    return ask


async def ask_with_state(_context, params):
    if not params.input_responses:
        return asked({"confirm": OK}, sealed("asked"))
    return result([text(f"state-ok: {opened(params.request_state)}")])


async def ask_twice(_context, params):
    if not params.input_responses:
        return asked({"first": form("Your name?", {"name": {"type": "string"}}, ["name"])}, sealed("first"))
    if opened(params.request_state) == "first":
        return asked({"second": form("Your colour?", {"color": {"type": "string"}}, ["color"])}, sealed("second"))
    return result([text("Thank you, twice.")])


async def ask_what_the_client_can(context, params):
    if params.input_responses:
        return result([text("Thank you.")])
    able = context.session.client_capabilities
    requests = {"sample": SAMPLING} if able.sampling is not None else {}
    return asked(requests | ({"confirm": OK} if able.elicitation is not None else {}))


async def need_sampling(context, _params):
    able = context.session.client_capabilities
    if able is None or able.sampling is None:
        raise MCPError(
            code=t.MISSING_REQUIRED_CLIENT_CAPABILITY,
            message="This needs sampling",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return result([text("There.")])


async def with_header(_context, _params):
    return result([text("Read.")])


ASKING = {
    "test_input_required_result_elicitation": ask_name,
    "test_input_required_result_sampling": asking({"sample": SAMPLING}),
    "test_input_required_result_list_roots": asking({"roots": ROOTS}),
    "test_input_required_result_multiple_inputs": asking(
        {"sample": SAMPLING, "roots": ROOTS, "confirm": OK}, sealed("several")
    ),
    "test_input_required_result_request_state": ask_with_state,
    "test_input_required_result_tampered_state": ask_with_state,
    "test_input_required_result_multi_round": ask_twice,
    "test_input_required_result_capabilities": ask_what_the_client_can,
    "test_missing_capability": need_sampling,
    "test_x_mcp_header": with_header,
}
SCHEMAS = {
    "json_schema_2020_12_tool": SCHEMA_2020,
    "test_x_mcp_header": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
        "required": ["region"],
    },
}


async def list_resources(_context, _params):
    listed = [
        {"uri": uri, "name": uri.removeprefix("test://"), "mimeType": held["mimeType"]} for uri, held in STATIC.items()
    ]
    return t.ListResourcesResult.model_validate({"resources": listed})


async def list_templates(_context, _params):
    template = {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}
    return t.ListResourceTemplatesResult.model_validate({"resourceTemplates": [template]})


async def read_resource(context, params):
    uri = str(params.uri)
    if uri in STATIC:
        return t.ReadResourceResult.model_validate({"contents": [{"uri": uri, **STATIC[uri]}]})
    if uri.startswith("test://template/"):
        number = uri.removeprefix("test://template/").partition("/")[0]
        told = f'{{"id":"{number}","templateTest":true,"data":"Data for ID: {number}"}}'
        held = {"uri": uri, "mimeType": "application/json", "text": told}
        return t.ReadResourceResult.model_validate({"contents": [held]})
    code = -32602 if context.protocol_version == "2026-07-28" else -32002
    raise MCPError(code=code, message="Resource not found", data={"uri": uri})


async def list_prompts(_context, _params):
    listed = [
        {
            "name": name,
            "description": f"For the scenario {name}",
            "arguments": [{"name": each, "required": True} for each in arguments],
        }
        for name, arguments in PROMPTS.items()
    ]
    return t.ListPromptsResult.model_validate({"prompts": listed})


async def get_prompt(_context, params):
    given = params.arguments or {}
    if params.name == "test_input_required_result_prompt" and not params.input_responses:
        return asked({"context": form("Which context?", {"context": {"type": "string"}}, ["context"])})
    match params.name:
        case "test_input_required_result_prompt":
            said = [text("With that context.")]
        case "test_simple_prompt":
            said = [text("This is a simple prompt for testing.")]
        case "test_prompt_with_arguments":
            said = [text(f"Prompt with arguments: arg1='{given.get('arg1')}', arg2='{given.get('arg2')}'")]
        case "test_prompt_with_embedded_resource":
            held = {
                "uri": given.get("resourceUri", ""),
                "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            }
            said = [{"type": "resource", "resource": held}, text("Please process the embedded resource above.")]
        case "test_prompt_with_image":
            said = [IMAGE, text("Please analyze the image above.")]
        case name:
            raise MCPError(code=-32602, message=f"Unknown prompt: {name}")
    return t.GetPromptResult.model_validate({"messages": [{"role": "user", "content": each} for each in said]})


async def complete(_context, _params):
    return t.CompleteResult(completion=t.Completion(values=["paris", "park", "party"], total=3, has_more=False))


class Fixture:
    def directly(self, *, workers):
        """All by the SDK."""

    def for_sdk(self, *, workers):
        return Server(
            "conformance",
            version="1",
            on_list_tools=list_tools,
            on_call_tool=call_tool,
            on_list_resources=list_resources,
            on_list_resource_templates=list_templates,
            on_read_resource=read_resource,
            on_list_prompts=list_prompts,
            on_get_prompt=get_prompt,
            on_completion=complete,
            get_tool_input_schema=lambda name: SCHEMAS.get(name, NOTHING),
        )


class WithKey:
    def __init__(self, mounted):
        self._mounted = mounted

    async def __call__(self, scope, receive, send):
        if scope["type"] == "http":
            key = f"Bearer {os.environ['CONFORMANCE_KEY']}".encode()
            scope = {**scope, "headers": [*scope["headers"], (b"authorization", key)]}
        await self._mounted(scope, receive, send)


application = WithKey(Mounts({"rail": Fixture()}, threads=2, max_body_bytes=settings.MAX_BODY_BYTES))
