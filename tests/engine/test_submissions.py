"""What an agent hands in: how much of it there may be, and where the refusal points."""

import pytest

from sessions_app.engine.submissions import MAX_ARTIFACT_BYTES, MAX_ARTIFACTS, read_submission
from teams_app.engine.errors import InvalidInputError


def issues_of(*artifacts):
    with pytest.raises(InvalidInputError) as refused:
        read_submission(artifacts=artifacts)
    return refused.value.details["validationErrors"]


def sized(size):
    """An artifact of exactly so many bytes."""
    empty = len(b'{"kind":"a","text":""}')
    return {"kind": "a", "text": "x" * (size - empty)}


def test_what_is_within_the_limits_is_handed_on_as_it_is():
    artifacts = [sized(MAX_ARTIFACT_BYTES), *[{"kind": "a"}] * (MAX_ARTIFACTS - 1)]

    read = read_submission(notes="n", artifacts=artifacts, context={"a": None})

    assert (read.notes, list(read.artifacts), read.context) == ("n", artifacts, {"a": None})


def test_one_byte_or_one_artifact_more_is_refused():
    assert issues_of(sized(MAX_ARTIFACT_BYTES + 1))[0]["path"] == "artifacts[0]"
    assert issues_of(*[{"kind": "a"}] * (MAX_ARTIFACTS + 1))[0]["path"] == "artifacts"


def test_every_artifact_that_is_wrong_is_named():
    wrong = issues_of({}, {"kind": "a"}, {"kind": " "}, {"kind": 7}, {"kind": "k" * 129})

    assert [issue["path"] for issue in wrong] == [f"artifacts[{index}]" for index in (0, 2, 3, 4)]


def test_an_artifact_without_a_canonical_form_is_refused_and_not_a_defect():
    assert "no plain JSON" in issues_of({"kind": "a", "number": 10**400})[0]["message"]
