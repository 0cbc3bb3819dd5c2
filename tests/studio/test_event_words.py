"""The log as people read it: each kind of event is a sentence, and no word of the tables reaches them."""

import pytest

from sessions_app.admin.event_words import event_words
from sessions_app.admin.places import ShownPlaces
from sessions_app.engine.log import EventKind

PLACES = ShownPlaces(titles={"fix-all": "Title of fix-all", "fix-one": "Fix one file", "plan": "Plan the release"})


@pytest.mark.parametrize("kind", EventKind)
def test_every_kind_of_event_is_a_sentence_even_when_it_holds_nothing(kind):
    said = event_words(kind, {}, PLACES)

    assert said[0].isupper()
    assert kind.value not in said
    assert kind.value.replace("_", " ") not in said.lower()


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        (EventKind.RUN_STARTED, {"goal": "Ship it"}, "The run began: Ship it"),
        (EventKind.NODE_CREATED, {"nodeKind": "step", "pending": "files@2::fix-one"}, "Reached “Fix one file”"),
        (EventKind.NODE_CREATED, {"nodeKind": "blocked_attempt", "pending": "plan"}, "Blocked at “Plan the release”"),
        (EventKind.NODE_CREATED, {"nodeKind": "step", "pending": ""}, "Reached the end"),
        (EventKind.ADVANCE_RECORDED, {"outcome": {"kind": "blocked"}}, "What was handed in was refused"),
        (EventKind.CONTEXT_SET, {"delta": {"b": 1, "a": 2}}, "Variables set: a, b"),
        (
            EventKind.DECISION_TRACE_APPENDED,
            {"entries": [{"summary": "Next is plan.", "refs": {"stepId": "plan"}}]},
            "Next is “Plan the release”.",
        ),
        (
            EventKind.DECISION_TRACE_APPENDED,
            {"entries": [{"summary": "Left loop fix-all after 3 rounds.", "refs": {"loopId": "fix-all"}}]},
            "Left loop “Title of fix-all” after 3 rounds.",
        ),
        (EventKind.CHECKPOINT_ANSWERED, {"optionId": "send_back", "reason": "Why?"}, "Answered: Send back, “Why?”"),
        (
            EventKind.PREFERENCES_CHANGED,
            {"effective": {"autonomy": "full_auto_never_stop", "riskPolicy": "balanced"}},
            "The mode is full auto that never stops, balanced",
        ),
    ],
)
def test_an_event_is_told_with_titles_and_not_with_ids(kind, data, said):
    assert event_words(kind, data, PLACES) == said
