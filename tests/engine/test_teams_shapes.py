"""Typed bodies, and the words of their refusals."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

import msgspec
import pytest

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.shapes import read_query, read_shape


class Colour(StrEnum):
    RED = "red"


class Inner(msgspec.Struct, forbid_unknown_fields=True):
    depth: int = 0


class Body(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    display_name: Annotated[str, msgspec.Meta(max_length=5)]
    colour: Colour = Colour.RED
    inner: list[Inner] = []


class Shade(StrEnum):
    LIGHT = "light"
    DARK = "dark"


class Closed(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    shade_of: Shade = Shade.DARK
    perhaps: Shade | None = None
    many: list[Shade] = []
    by_name: dict[str, Shade] = {}
    said: Literal["dark", "light"] = "dark"
    told: Annotated[Shade | None, msgspec.Meta(description="Which.")] = None
    inner: list["Closed"] = []
    either: Shade | int = 1
    at: datetime | None = None


class Empty(msgspec.Struct, forbid_unknown_fields=True):
    pass


def refusal(value, shape=Body):
    with pytest.raises(InvalidInputError) as refused:
        read_shape(value, shape)
    return refused.value


def test_a_good_body_becomes_its_type():
    assert read_shape({"displayName": "a", "inner": [{"depth": 2}]}, Body) == Body(display_name="a", inner=[Inner(2)])


def test_an_unknown_field_is_refused_with_the_one_that_was_meant():
    refused = refusal({"displayNam": "a"})

    assert "'displayNam'" in refused.message
    assert refused.suggestion == "Did you mean 'displayName'?"


def test_an_unknown_field_like_no_other_is_refused_with_the_list_of_fields():
    assert refusal({"displayName": "a", "zzz": 1}).suggestion == (
        "Leave it out. The fields are: colour, depth, displayName, inner."
    )


def test_an_unknown_field_of_an_empty_body_says_that_there_are_none():
    assert refusal({"x": 1}, Empty).suggestion == "Leave it out. This takes no fields."


def test_a_misspelt_field_inside_is_named_with_its_place():
    refused = refusal({"displayName": "a", "inner": [{"dept": 1}]})

    assert refused.details["path"] == "$.inner[0]"
    assert refused.suggestion == "Did you mean 'depth'?"


def test_a_missing_field_is_named():
    refused = refusal({})

    assert refused.message == "The field 'displayName' is missing."
    assert refused.suggestion == "Send 'displayName'."


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"displayName": 1}, "$.displayName"),
        ({"displayName": "too long"}, "$.displayName"),
        ({"displayName": "a", "colour": "blue"}, "$.colour"),
        ({"displayName": "a", "inner": [{"depth": True}]}, "$.inner[0].depth"),
        ({"displayName": "a", "inner": {}}, "$.inner"),
        ([], "$"),
        (None, "$"),
        ("text", "$"),
        (7, "$"),
    ],
)
def test_a_wrong_type_is_refused_with_its_place(value, path):
    assert refusal(value).details["path"] == path


@pytest.mark.parametrize(
    "value",
    [
        {"shadeOf": "drak"},
        {"shadeOf": 1},
        {"shadeOf": ""},
        {"perhaps": "drak"},
        {"many": ["dark", "drak"]},
        {"byName": {"a.b": "drak"}},
        {"said": "drak"},
        {"told": "drak"},
        {"inner": [{"perhaps": "drak"}]},
        {"inner": [{"inner": [{"many": ["drak"]}]}]},
    ],
)
def test_a_word_that_is_not_one_of_those_that_there_are_is_refused_with_them(value):
    assert refusal(value, Closed).suggestion == "Send one of: dark, light."


def test_a_word_of_a_query_that_is_not_one_of_those_that_there_are_is_refused_with_them():
    for name in ("shadeOf", "perhaps", "said"):
        with pytest.raises(InvalidInputError) as refused:
            read_query({name: "drak"}, Closed)
        assert refused.value.suggestion == "Send one of: dark, light."


@pytest.mark.parametrize("value", [{"many": "dark"}, {"inner": "x"}, {"either": "drak"}, {"at": "drak"}, {"byName": 1}])
def test_no_words_are_named_where_anything_else_may_stand(value):
    assert refusal(value, Closed).suggestion.startswith("Correct $")


def test_a_query_is_read_leniently():
    assert read_query({"depth": "3"}, Inner) == Inner(3)


def test_a_body_is_not_read_leniently():
    with pytest.raises(InvalidInputError):
        read_shape({"depth": "3"}, Inner)
