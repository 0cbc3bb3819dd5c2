"""Every name in the OpenAPI document is explained, with an example, and every header is declared."""

import json
from pathlib import Path

import pytest

DOCUMENT = Path(__file__).parents[2] / "docs" / "contracts" / "openapi.json"


@pytest.fixture(scope="module")
def document():
    return json.loads(DOCUMENT.read_bytes())


def operations(document):
    return [
        (f"{method} {path}", operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
    ]


def properties(document):
    return [
        (f"{name}.{key}", schema)
        for name, component in document["components"]["schemas"].items()
        for key, schema in component.get("properties", {}).items()
    ]


def is_made_of_parts(schema, document):
    """Its parts have examples of their own; and what may be any JSON has none."""
    kinds = schema.get("anyOf", [schema])
    named = [document["components"]["schemas"][kind["$ref"].rpartition("/")[2]] for kind in kinds if "$ref" in kind]
    return (
        any(kind.get("type") in {"object", "array"} for kind in kinds)
        or any("enum" not in component for component in named)
        or not any(kind.keys() & {"$ref", "type", "enum"} for kind in kinds)
    )


def test_every_property_says_what_it_is(document):
    assert [place for place, schema in properties(document) if not schema.get("description")] == []


def test_every_property_has_an_example_or_is_made_of_such(document):
    plain = [(place, schema) for place, schema in properties(document) if not is_made_of_parts(schema, document)]

    assert len(plain) > 300
    assert [place for place, schema in plain if not schema.get("examples")] == []


def test_every_parameter_and_header_says_what_it_is(document):
    without = [
        f"{place}: {parameter['name']}"
        for place, operation in operations(document)
        for parameter in operation.get("parameters", [])
        if "$ref" not in parameter and not parameter.get("description")
    ]

    assert without == []


def test_headers_of_answers_are_declared(document):
    for place, operation in operations(document):
        for status, answer in operation["responses"].items():
            assert {"X-Request-ID", "RateLimit", "RateLimit-Policy"} <= set(answer["headers"]), (place, status)
        assert "Retry-After" in operation["responses"]["default"]["headers"], place


def test_what_is_read_has_a_tag_and_what_is_changed_is_held_to_it(document):
    answered = dict(operations(document))
    run, paused = answered["get /api/v1/runs/{run}"], answered["post /api/v1/runs/{run}/pause"]

    assert "304" in run["responses"]
    assert "ETag" in run["responses"]["200"]["headers"]
    assert "If-None-Match" in [each.get("name") for each in run["parameters"]]
    assert "If-Match" in [each.get("name") for each in paused["parameters"]]
    assert "Idempotency-Key" in [each.get("name") for each in answered["post /api/v1/runs"]["parameters"]]
