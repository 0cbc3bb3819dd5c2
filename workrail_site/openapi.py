"""The OpenAPI document, made from the annotations of the endpoints.

DRF Spectacular walks the routes and writes the frame; bodies, queries and answers are msgspec structs, which it does not
know, so their schemas come from msgspec here.
"""

import json
import re
from functools import cache
from typing import Any

import msgspec
from csp.decorators import csp_update
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent

from teams_app.api.endpoints import Download, Listing, Operation, holds_seen, operation_of
from teams_app.engine.named_requests import REQUEST_KEY
from workrail_site import openapi_words
from workrail_site.admission import TEAM_HEADER
from workrail_site.errors import PROBLEM_JSON, Problem

_REFERENCE = "#/components/schemas/{name}"
_JSON = "application/json"
_TEAM_PARAMETER = "WorkrailTeam"
# What msgspec calls a Listing of one type.
_LISTING = re.compile(r"\bListing_(\w+)_\b")
_TEXT: dict[str, Any] = {"type": "string"}
_HEADERS: dict[str, Any] = {
    "ETag": {"description": "What If-None-Match and If-Match are compared with", "schema": _TEXT},
    "RateLimit": {"description": "What is left of the limits: `r` requests for `t` seconds", "schema": _TEXT},
    "RateLimit-Policy": {"description": "The limits: `q` requests in `w` seconds", "schema": _TEXT},
    "Retry-After": {"description": "Seconds until it is worth to try again", "schema": {"type": "integer"}},
    "X-Request-ID": {"description": "Under which the line of the request stands in the log", "schema": _TEXT},
}
_OF_EVERY_ANSWER = ("RateLimit", "RateLimit-Policy", "X-Request-ID")
_READ = {
    "If-None-Match": "The ETag of what you have: where nothing has changed the answer is 304",
    "If-Match": "The ETag of what you have read: where it has changed nothing is done, and the answer is 412 or 409",
    REQUEST_KEY: "A UUID that you make for this one request: again, it is answered what it was",
}
_WORD = re.compile(r"[A-Za-z0-9]+")


class EndpointSchema(AutoSchema):
    """An endpoint without `@operation` is not ours and stays out of the document."""

    def is_excluded(self) -> bool:
        return self._operation() is None

    def get_operation(self, path: str, path_regex: str, path_prefix: str, method: str, registry: Any) -> Any:
        self.path, self.path_regex, self.path_prefix, self.method = path, path_regex, path_prefix, method
        self.registry = registry
        found = self._operation()
        return None if found is None else self._document(found)

    def _operation(self) -> Operation | None:
        return operation_of(getattr(self.view, (self.method or "").lower(), None))

    def _document(self, found: Operation) -> dict[str, Any]:
        document: dict[str, Any] = {
            "operationId": operation_id(method=self.method, path=self.path),
            "summary": found.summary,
            "tags": [self.path.removeprefix("/api/v1/").partition("/")[0]],
            "security": self._one_of_the_ways_in(),
            "responses": self._responses(found),
        }
        self.registry.register_on_missing(_team_header())
        team = {"$ref": f"#/components/parameters/{_TEAM_PARAMETER}"}
        headers = [_header(name) for name in self._headers_read(found)]
        document["parameters"] = [*_path_parameters(found), *self._query_parameters(found), team, *headers]
        if found.body is not None:
            content = {_JSON: {"schema": self._schema(found.body)}}
            document["requestBody"] = {"required": True, "content": content}
        return document

    def _one_of_the_ways_in(self) -> list[dict[str, Any]]:
        """The library writes both into one entry, which would ask for both at once."""
        return [{name: []} for ways in self.get_auth() for name in ways]

    def _responses(self, found: Operation) -> dict[str, Any]:
        answer: dict[str, Any] = {"description": found.summary}
        if found.answer is Download:
            answer["content"] = {media_type: {} for media_type in found.files}
        elif found.answer is not None:
            shape = found.answer if found.item is None else Listing[found.item]  # type: ignore[name-defined]  # a type made while running
            answer["content"] = {_JSON: {"schema": self._schema(shape)}}
        tag = ("ETag",) if self._is_tagged(found) else ()
        answer["headers"] = _headers(*tag)
        refused = {
            "description": "A refusal",
            "headers": _headers("Retry-After"),
            "content": {PROBLEM_JSON: {"schema": self._schema(Problem)}},
        }
        unchanged = {"description": "It is still as If-None-Match says", "headers": _headers(*tag)}
        return {
            str(found.status): answer,
            **({"304": unchanged} if self._is_tagged(found) else {}),
            "default": refused,
        }

    def _is_tagged(self, found: Operation) -> bool:
        return self.method == "GET" and found.answer is not Download

    def _headers_read(self, found: Operation) -> tuple[str, ...]:
        if self._is_tagged(found):
            return ("If-None-Match", *found.headers)
        held = ("If-Match",) if self.method != "GET" and holds_seen(self.view, found) else ()
        named = (REQUEST_KEY,) if found.is_begun_once else ()
        return (*held, *named, *found.headers)

    def _query_parameters(self, found: Operation) -> list[dict[str, Any]]:
        fields = msgspec.structs.fields(found.query)
        return [
            {
                "in": "query",
                "name": field.encode_name,
                "description": openapi_words.PARAMETERS.get(field.encode_name, ("", ""))[0],
                "required": field.required,
                "schema": _without_null(self._schema(field.type)),
            }
            for field in fields
        ]

    def _schema(self, shape: Any) -> dict[str, Any]:
        """The schema of a type; the structs that it names become components."""
        (schema,), components = msgspec.json.schema_components((shape,), ref_template=_REFERENCE)
        for name, component in components.items():
            self.registry.register_on_missing(_component(name, component))
        return schema


class KeyOrSessionSchema(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # its metaclass registers it
    target_class = "workrail_site.rest.KeyOrSession"
    name = ["agentKey", "session"]  # noqa: RUF012  the library's own form

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, Any]]:  # noqa: ARG002  the library's form
        return [
            {
                "type": "http",
                "scheme": "bearer",
                "description": "An agent key, wr_key_…, or a person's token, wr_pat_…",
            },
            {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": "A person who has signed in."},
        ]


def sort_components(result: dict[str, Any], generator: Any, request: Any, public: Any) -> dict[str, Any]:  # noqa: ARG001  a hook's form
    """A stable file: the order of imports must not move a line of it."""
    components = result.get("components", {})
    schemas = components.get("schemas", {})
    components["headers"] = _HEADERS
    for schema in schemas.values():
        for name, property_ in schema.get("properties", {}).items():
            schema["properties"][name] = openapi_words.explain(name, property_, schemas)
    for kind in components:
        components[kind] = dict(sorted(components[kind].items()))
    return result


@cache
def document() -> bytes:
    """The whole document, as it is served and as it is committed."""
    found = SchemaGenerator().get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # the library's own
    text = _LISTING.sub(r"\1Page", json.dumps(found, indent=2, ensure_ascii=False))
    return text.encode() + b"\n"


@require_safe
def schema(_request: HttpRequest) -> HttpResponse:
    return HttpResponse(document(), content_type="application/json")


# The page's own stylesheet draws its icons from data: addresses. Nothing else is loosened for it.
@csp_update({"img-src": ["data:"]})
@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    return render(request, "api_docs.html")


def operation_id(*, method: str, path: str) -> str:
    """`get_runs_by_run` of GET /api/v1/runs/{run}."""
    words = _WORD.findall(path.removeprefix("/api/v1/").replace("{", "by_"))
    return "_".join([method.lower(), *words])


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query leaves out what it does not ask for; it has no way to write null."""
    kinds = [kind for kind in schema.get("anyOf", []) if kind != {"type": "null"}]
    rest = {name: value for name, value in schema.items() if name not in {"anyOf", "default"}}
    return {**kinds[0], **rest} if len(kinds) == 1 else schema


def _component(name: str, schema: dict[str, Any]) -> ResolvedComponent:
    kind = ResolvedComponent.SCHEMA
    return ResolvedComponent(name=name, type=kind, object=name, schema=schema)  # type: ignore[no-untyped-call]  # the library's own


def _team_header() -> ResolvedComponent:
    header = {
        "in": "header",
        "name": TEAM_HEADER,
        "required": False,
        "description": "The id of the team in which to act. Who has signed in and is in several teams must name one "
        "(TEAM_REQUIRED). A key or a token is of one team and needs none; another team's id is refused (NOT_FOUND).",
        "schema": {"type": "string", "pattern": "^team_[a-z2-7]{26}$"},
    }
    kind = ResolvedComponent.PARAMETER
    return ResolvedComponent(name=_TEAM_PARAMETER, type=kind, object=_TEAM_PARAMETER, schema=header)  # type: ignore[no-untyped-call]  # the library's own


def _headers(*more: str) -> dict[str, Any]:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in sorted({*_OF_EVERY_ANSWER, *more})}


def _header(name: str) -> dict[str, Any]:
    return {"in": "header", "name": name, "description": _READ[name], "required": False, "schema": _TEXT}


def _path_parameters(found: Operation) -> list[dict[str, Any]]:
    return [
        {
            "in": "path",
            "name": name,
            "description": openapi_words.PARAMETERS.get(name, ("", ""))[0],
            "required": True,
            "schema": {"type": "string"},
        }
        for name in found.path
    ]
