"""The parts of MCP that need no server: documents in pieces, keys that are at hand."""

import re
from datetime import timedelta

import orjson
import pytest
from hypothesis import given, strategies as st

from tests.cast import NOW


@given(texts=st.lists(st.text(max_size=300), min_size=1, max_size=5), room=st.integers(60, 400))
def test_the_pieces_of_documents_make_the_whole_and_every_page_goes_on(texts, room):
    from workrail_site.dialects.rail.library import LibraryDocument, cut_documents

    documents = [LibraryDocument(path=str(place), text=text) for place, text in enumerate(texts)]
    found, position, pages = dict.fromkeys(map(str, range(len(texts))), ""), "0:0", 0
    while position is not None:
        index, begin = map(int, position.split(":"))
        pieces, position = cut_documents(documents, index=index, begin=begin, max_bytes=room)
        for piece in pieces:
            found[piece["path"]] += piece["text"]
        pages += 1
        assert pages < 2_000

    assert list(found.values()) == texts


@pytest.mark.django_db
def test_a_key_is_at_hand_only_after_it_was_proved_and_while_permits_are_left(settings, house):
    from teams_app.engine.actors import Door
    from tests.cast import issue
    from workrail_site import admission

    settings.THROTTLE_ACTOR_PER_MINUTE = 2
    text = issue(house.alice.actor).text
    asked = {"text": text, "door": Door.MCP, "now": NOW + timedelta(seconds=1)}

    before = admission.admit_remembered_key(**asked)
    admitted = admission.admit_key(**asked)
    # A limit of two is leased one by one: nothing is held, so Redis must be asked.
    after = admission.admit_remembered_key(**asked)
    settings.THROTTLE_ACTOR_PER_MINUTE = 0
    free = admission.admit_remembered_key(**asked)
    later = admission.admit_remembered_key(**asked | {"now": NOW + timedelta(seconds=9)})

    assert (before, after, later) == (None, None, None)
    assert free == admitted


def tools():
    from workrail_site.mcp.toolsets import all_servers

    return {f"{dialect}.{tool.name}": tool for dialect, server in all_servers().items() for tool in server.tools()}


def refused(tool, given):
    from teams_app.engine.errors import InvalidInputError
    from workrail_site.mcp.arguments import read_arguments

    with pytest.raises(InvalidInputError) as raised:
        read_arguments(tool=tool.name, model=tool.arguments, schema=tool.schema, given=given)
    return raised.value.as_json()


BEYOND_64_BITS = (2**64, -(2**63) - 1, 10**30)


@pytest.mark.parametrize("number", BEYOND_64_BITS)
def test_a_refusal_is_written_whatever_numbers_stand_in_the_arguments(number):
    shapes = (number, [number], {"n": [{"m": number}]}, f'{{"n": {number}}}', f"[{number}]")
    for tool in tools().values():
        for name in (*tool.schema["properties"], "unknown"):
            for value in shapes:
                assert orjson.dumps(refused(tool, {name: value, "other_unknown": 1}))


def test_a_refusal_never_advises_an_argument_that_the_tool_does_not_have():
    for name, tool in tools().items():
        envelope = refused(tool, {"strange": "x"})

        assert set(envelope["details"]["correctTemplate"]) <= set(tool.schema["properties"]), name
        assert "Known: ." not in envelope["message"], name


@pytest.mark.parametrize("number", [2**64 - 1, -(2**63), *BEYOND_64_BITS])
def test_a_number_is_read_alike_beside_half_a_character(number):
    from workrail_site.mcp.messages import read_json

    whole, half = read_json(b'{"id": %d, "x": "a"}' % number), read_json(b'{"id": %d, "x": "\\udc00"}' % number)

    assert repr(half["id"]) == repr(whole["id"])
    assert orjson.dumps(half["id"])


def test_a_number_beyond_every_double_is_refused_beside_half_a_character_too():
    from workrail_site.mcp.messages import read_json

    for text in ("a", "\\udc00"):
        with pytest.raises(ValueError):  # noqa: PT011  what is no JSON has no words of its own
            read_json(b'{"id": %d, "x": "%s"}' % (10**400, text.encode()))


# What pydantic says of itself, in any of its sentences.
OF_THE_LIBRARY = re.compile(
    r"Input should|should have|should match|Field required|Extra inputs|Value error|instance of|pydantic|_type\b",
    re.IGNORECASE,
)
WRONG = (
    1,
    1.5,
    True,
    [],
    {},
    [1],
    {"a": 1},
    [[]],
    "",
    "x",
    " ",
    "y" * 20_000,
    ["x"] * 2_000,
    -1,
    10**6,
    ["a-b", "a-b"],
    "?" * 5,
)


def test_what_is_wrong_with_an_argument_is_said_in_words_of_ours_whatever_is_wrong():
    told = {}
    for name, tool in tools().items():
        for argument, node in tool.schema["properties"].items():
            inner = [{key: value} for key in node.get("properties", ()) for value in WRONG]
            for value in (*WRONG, *inner, *([each] for each in inner)):
                told |= {(name, said["path"]): said["message"] for said in issues_of(tool, {argument: value})}

    assert len(told) > 100
    assert {place: words for place, words in told.items() if OF_THE_LIBRARY.search(words)} == {}


def issues_of(tool, given):
    from teams_app.engine.errors import InvalidInputError
    from workrail_site.mcp.arguments import read_arguments

    try:
        read_arguments(tool=tool.name, model=tool.arguments, schema=tool.schema, given=given)
    except InvalidInputError as refusal:
        return refusal.details.get("validationErrors", [])
    return []


@pytest.mark.parametrize(
    ("tool", "given", "words"),
    [
        ("session.get_skills", {"session_token": ""}, "At least 1 character is wanted."),
        ("session.get_skills", {"session_token": 7}, "This must be text."),
        ("rail.resume_session", {"query": "y" * 1001}, "At most 1000 characters are taken."),
        ("rail.resume_session", {"observations": 7}, "This must be an object."),
        ("rail.list_workflows", {"limit": 10**6}, "A number of at most 50 is wanted."),
        ("rail.list_workflows", {"tags": "x"}, "This must be a list."),
        (
            "session.respond_checkpoint",
            {"session_token": "s", "checkpoint_id": "c", "auto_advance": "x"},
            "This must be true or false.",
        ),
    ],
)
def test_it_says_what_is_wanted(tool, given, words):
    assert words in [said["message"] for said in issues_of(tools()[tool], given)]
