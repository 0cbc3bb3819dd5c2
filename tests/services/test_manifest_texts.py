"""What a manifest says is stored, or it is told that it is not: cut, refused, or sent where nothing is left.

And what it need not say is not asked for.
"""

import pytest

from sessions_app.engine.decisions import EnterActivity
from sessions_app.engine.handover import MAX_MANIFEST_ENTRIES
from sessions_app.engine.manifests import ManifestEntry
from sessions_app.engine.runs import Dialect
from sessions_app.models import Event, Output
from sessions_app.services.moves import handed_over
from teams_app.engine.errors import InvalidInputError
from tests.handover_cast import LATER, answered, call, entered, handed, question, two_activities, yielded
from tests.run_cast import make_desk

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk():
    return make_desk()


def left(desk, token, *said, to="build", claim=None):
    manifest = tuple(ManifestEntry(step_id=step, output=output) for step, output in said)
    command = EnterActivity(activity_id=to, claim=claim, manifest=manifest, asks_on_entry=True)
    return handed_over.enter_activity(call(desk, token), command).reply.value


def test_what_names_no_step_is_kept_beside_the_last_step(desk):
    token = entered(desk, handed(desk).token, "plan")["session_token"]

    left(desk, token, ("draft", "A draft."), ("nothing", "A strange thing."), ("review", "A review."))

    bodies = list(Output.objects.order_by("event_index").values_list("body", flat=True))
    assert bodies == ["A draft.", "A review.\n\nnothing: A strange thing."]


@pytest.mark.parametrize("unstorable", ["a \0 zero", "half a \ud800 pair"])
@pytest.mark.parametrize("step", ["draft", "nothing"])
def test_a_text_that_the_log_cannot_hold_is_refused_whatever_it_is_said_of(desk, step, unstorable):
    token = entered(desk, handed(desk).token, "plan")["session_token"]
    events = Event.objects.count()

    with pytest.raises(InvalidInputError):
        left(desk, token, (step, unstorable))
    with pytest.raises(InvalidInputError):
        left(desk, token, ("draft", "A draft."), claim=unstorable)
    assert Event.objects.count() == events


def test_an_output_that_is_cut_is_told_by_its_step(desk):
    token = entered(desk, handed(desk).token, "plan")["session_token"]

    reply = left(desk, token, ("draft", "word " * 1_000), ("review", "A review."))

    (warning,) = [said for said in reply["warnings"] if "4096" in said]
    assert warning.startswith("What was told of 'draft' has more than 4096 bytes and was cut there.")
    assert Output.objects.order_by("event_index").first().body.endswith("[TRUNCATED]")


def test_a_manifest_for_the_activity_at_hand_is_told_not_to_be_recorded(desk):
    token = entered(desk, handed(desk).token, "plan")["session_token"]

    reply = left(desk, token, ("draft", "A draft."), to="plan")

    assert reply["activity_id"] == "plan"
    assert any("the step_manifest was not recorded" in said for said in reply["warnings"])
    assert not Output.objects.exists()


def test_a_manifest_of_more_entries_than_are_taken_is_refused(desk):
    token = entered(desk, handed(desk).token, "plan")["session_token"]

    with pytest.raises(InvalidInputError, match="at most 500"):
        left(desk, token, *[("code", "Code.")] * (MAX_MANIFEST_ENTRIES + 1))


def test_what_an_option_leaves_undone_by_leading_elsewhere_is_not_missed(desk):
    held = handed(desk, two_activities(question()), dialect=Dialect.ORCHESTRATOR)
    at = entered(desk, held.token, "plan", dialect=Dialect.ORCHESTRATOR)
    handle = yielded(desk, at["session_token"])["checkpoint_handle"]
    led = answered(desk, handle, option="stop", dialect=Dialect.ORCHESTRATOR)

    after = entered(desk, led["session_token"], "wrap", "draft", dialect=Dialect.ORCHESTRATOR, now=LATER)

    assert (led["effect"], after["activity_id"], after["warnings"]) == ({"transitionTo": "wrap"}, "wrap", [])
