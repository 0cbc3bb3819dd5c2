"""Values within values, as deep as a body may be long: each tool and prompt refuses them in words, or takes them for a text."""

import json

import pytest

from tests.activity_folders import folder, workflow
from tests.checkpoint_cast import publish_folder
from tests.mcp.test_tool_floods import answered, caller, tools  # noqa: F401  a fixture
from tests.run_cast import make_desk

pytestmark = pytest.mark.django_db

# Just beyond what is kept; beyond what is written at once, and read at once; beyond what Python walks.
LEVELS = [65, 480, 1_020, 100_000]


def lists(levels):
    value = []
    for _ in range(levels - 1):
        value = [value]
    return value


def objects(levels):
    value = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize("name", sorted(tools()))
def test_a_tool_refuses_arguments_that_nest_too_deep(caller, name):  # noqa: F811  the fixture
    tool = tools()[name]
    for argument, asked in {**tool.schema["properties"], "unknown": {}}.items():
        for levels in (65, 480, 5_000):
            for given in (lists(levels), objects(levels)):
                assert answered(tool, {argument: given})["code"] == "VALIDATION_ERROR", (argument, levels)
        if asked.get("type") in {"array", "object"}:
            for levels in LEVELS:
                for text in ("[" * levels + "]" * levels, '{"a":' * levels + "1" + "}" * levels):
                    assert answered(tool, {argument: text}).get("code") != "INTERNAL_ERROR", (argument, levels)


@pytest.mark.parametrize("levels", LEVELS)
def test_a_prompt_takes_json_that_nests_too_deep_for_a_text(levels):
    from workrail_site.dialects.offers.prompts import get_prompt

    desk = make_desk()
    parts = {"name": "parts", "type": "array", "required": False}
    publish_folder(desk, folder(about=workflow(variables=[parts])))
    text = "[" * levels + "]" * levels

    told = get_prompt(actor=desk.agent, dialect="rail", name="team.plan", arguments={"parts": text})

    assert json.dumps(text) in told["messages"][0]["content"]["text"]
