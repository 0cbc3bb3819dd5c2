"""Words that are kept, without the keys in them."""

import pytest

from teams_app.engine.errors import InvalidInputError
from teams_app.engine.plain_reading import read_plainly
from teams_app.engine.redaction import hide_keys, read_kept
from tests.flood_play import Work, allowed

OWN = "wr_key_" + "abcdefgh" * 5
OTHER = "ghp_0123456789abcdefABCDEF"
BESIDE = [1, 10**30, -(10**400), 1.5, None, True, "\ud800", "é", [], {}, {"deep": [{"deeper": 1}]}]


@pytest.mark.parametrize("beside", BESIDE)
def test_a_key_is_found_whatever_stands_beside_it(beside):
    kept = read_kept({"a": beside, "b": [{"c": f"use {OTHER}"}], "d": beside})

    assert kept.value == {"a": beside, "b": [{"c": "use [redacted]"}], "d": beside}
    assert kept.hidden == ("b[0].c",)
    with pytest.raises(InvalidInputError) as refused:
        read_kept({"a": beside, "b": [{"c": f"use {OWN}"}]})
    assert refused.value.details["validationErrors"][0]["path"] == "b[0].c"
    assert OWN not in str(refused.value.as_json())


@pytest.mark.parametrize("value", [{OWN: 1}, [OWN], OWN, {"a": {OWN: {}}}])
def test_a_key_as_a_name_or_alone_is_found_too(value):
    with pytest.raises(InvalidInputError) as refused:
        read_kept(value)
    assert OWN not in str(refused.value.as_json())


def test_what_holds_no_key_is_the_same_object():
    value = {"notes": "Looked at the list of tasks.", "n": [1, 2]}

    assert read_kept(value).value is value


MADE = ["0123456789abcdef0123456789abcdef", "aB3dE5gH7jK9mN1pQ3sT", "01234567-89ab-cdef-0123-456789abcdef"]


@pytest.mark.parametrize("value", MADE)
@pytest.mark.parametrize("name", ["apiKey", "github_token", "Client-Secret", "DB_PASSWORD"])
def test_a_value_that_was_made_is_hidden_under_the_name_of_a_secret(name, value):
    kept = read_kept({"context": [{name: value, "id": value}]})

    assert kept.value == {"context": [{name: "[redacted]", "id": value}]}
    assert kept.hidden == (f"context[0].{name}",)


@pytest.mark.parametrize("name", ["stateToken", "session_token", "checkpoint_handle", "password"])
@pytest.mark.parametrize(
    "value", ["st.v1.0123456789abcdefghjkmnpqrstvwxyz", "0123456789abcdefghjkmnpqrstvwxyz0123", "two words"]
)
def test_a_token_of_a_run_and_plain_words_stay_under_any_name(name, value):
    assert read_kept({name: value}).value == {name: value}


LONG_NAME = "%41 " * 20_000
CROWDED = {
    "keys under a long name": lambda count: {LONG_NAME: [OTHER] * count},
    "names in a long name": lambda count: {LONG_NAME: {f"n{at}": OTHER for at in range(count)}},
    "beginnings under a long name": lambda count: {LONG_NAME: ["sk-"] * 10 * count},
}


@pytest.mark.parametrize("crowded", CROWDED)
def test_places_are_told_for_work_in_proportion(crowded):
    few, many = CROWDED[crowded](10), CROWDED[crowded](1_000)
    with Work() as of_few:
        read_kept(few)

    with Work() as work:
        kept = read_kept(many)

    assert len(kept.hidden) <= 12
    assert all(len(place) <= 100 for place in kept.hidden)
    assert work.seconds <= 5 * of_few.seconds + allowed(plain=0, size=0)


@pytest.mark.parametrize("unseen", ["\u200b", "\u200d\u202e", "\u00ad", "\U000e0041\ufeff"])
def test_what_is_not_seen_is_one_piece_however_much_of_it_stands_together(unseen):
    run = unseen * 5_000
    text = f"{run}before ghp_{run}{'a1B2' * 4}{run}{'a1B2' * 5}{run} after{run}"
    plain = read_plainly(text)

    assert len(plain.pieces) == 5
    assert plain.text == f"before ghp_{'a1B2' * 9} after"
    hidden = hide_keys(text)
    assert "a1B2" not in hidden
    assert hidden.startswith(f"{run}before ")
    assert hidden.endswith(f" after{run}")
