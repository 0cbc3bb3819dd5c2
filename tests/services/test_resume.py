"""Resuming in a new chat: which runs are named, by what, and that they are named at their tip."""

import os

import pytest

from sessions_app.engine.resume_signals import ResumeQuery
from sessions_app.engine.runs import ObservationKey
from sessions_app.models import Event, Node, Output
from sessions_app.services.moves import sessions
from sessions_app.services.moves.resume import resume_sessions
from teams_app.engine.errors import ForbiddenError, NotFoundError
from tests import run_cast
from tests.run_cast import advance, advanced, bookmark, plain_steps, published, rehydrate, soon, start
from tests.step_documents import step
from tests.workflow_cast import NOW
from workflows_app.services import extensions
from workrail_site.dialects.rail.replies import RAIL

# A search sets its transaction to read only, which Postgres allows only at the outermost.
pytestmark = pytest.mark.django_db(transaction=True)

SEEN = {
    ObservationKey.GIT_BRANCH: "fix/SHOP-17-checkout",
    ObservationKey.GIT_HEAD_SHA: "9f1c2ab34de56f7890ab12cd34ef567890abcdef",
    ObservationKey.REPOSITORY: "https://git.example.org/shop/storefront",
    ObservationKey.TICKET: "SHOP-17",
}


@pytest.fixture
def desk():
    desk = run_cast.make_desk()
    published(desk, *plain_steps(4))
    return desk


@pytest.fixture
def wanted(desk):
    """The run that is looked for, among others that it must not be taken for."""
    start(desk, goal="Write the release notes", title="Release notes", now=soon(1))
    value = start(
        desk, goal="Find out why payments time out", title="Flaky checkout", observations=SEEN, now=soon(2)
    ).value
    start(desk, goal="Upgrade the date library", title="Dependency upgrade", now=soon(3))
    return value


def find(actor, **query):
    return RAIL.say(resume_sessions(actor=actor, query=ResumeQuery(**query)))["candidates"]


def runs_of(candidates):
    return [candidate["runId"] for candidate in candidates]


@pytest.mark.parametrize(
    ("query", "why", "confidence"),
    [
        ({"ticket": "shop-17"}, "matched_ticket", "strong"),
        ({"text": "go on with SHOP-17"}, "matched_ticket", "strong"),
        ({"git_head_sha": "9f1c2ab"}, "matched_head_sha", "strong"),
        ({"git_branch": "fix/shop-17-checkout"}, "matched_branch", "strong"),
        ({"git_branch": "fix/SHOP-17"}, "matched_branch_prefix", "medium"),
        ({"git_branch": "fix/SHOP-17-checkout-retry"}, "matched_branch_prefix", "medium"),
        ({"text": "resume my session about the flaky checkout"}, "matched_title", "medium"),
        ({"text": "why do payments time out"}, "matched_title", "medium"),
        ({"text": "flaky unicorns"}, "matched_title_partly", "weak"),
    ],
)
def test_a_run_is_found_by_what_names_it(desk, wanted, query, why, confidence):
    found = find(desk.agent, **query)

    assert found[0]["runId"] == wanted["session"]["runId"]
    assert found[0]["whyMatched"][0] == why
    assert found[0]["confidence"] == confidence


def test_a_run_is_found_by_its_id_alone(desk, wanted):
    found = find(desk.agent, run_id=wanted["session"]["runId"], text="release notes")

    assert runs_of(found) == [wanted["session"]["runId"]]


def test_a_session_is_found_by_its_id_with_each_of_its_runs(desk, wanted):
    again = start(desk, session_id=run_cast.session_id(wanted), now=soon(9)).value

    found = find(desk.agent, session_id=wanted["session"]["sessionId"])

    assert runs_of(found) == [again["session"]["runId"], wanted["session"]["runId"]]


def test_a_run_is_found_by_its_notes(desk, wanted):
    advance(desk.agent, wanted, notes="The dispatcher releases a stale lease twice.", now=soon(4))

    found = find(desk.agent, text="the stale leases of the dispatcher")

    assert found[0]["runId"] == wanted["session"]["runId"]
    assert found[0]["whyMatched"] == ["matched_notes"]
    assert found[0]["snippet"] == "The dispatcher releases a stale lease twice."


def test_notes_of_a_bookmark_are_notes_of_the_run(desk, wanted):
    bookmark(desk.agent, wanted, notes="Quarantined the idempotency guard.", now=soon(4))

    found = find(desk.agent, text="idempotency guard quarantine")

    assert runs_of(found)[0] == wanted["session"]["runId"]
    assert "matched_notes" in found[0]["whyMatched"]


def test_notes_of_a_branch_that_was_left_do_not_name_the_run(desk, wanted):
    advance(desk.agent, wanted, notes="Suspected the idempotency guard.", now=soon(4))
    back = rehydrate(desk.agent, wanted).value
    advance(desk.agent, back, notes="It was the stale lease.", now=soon(5))

    left = find(desk.agent, text="idempotency guard")
    taken = find(desk.agent, text="stale lease")

    assert all("matched_notes" not in candidate["whyMatched"] for candidate in left)
    assert taken[0]["whyMatched"] == ["matched_notes"]
    assert taken[0]["snippet"] == "It was the stale lease."


def test_notes_that_others_stand_for_do_not_name_the_run(desk):
    strict = step(
        "check",
        notesOptional=False,
        validationCriteria=[{"type": "contains", "value": "verdict", "message": "Say it."}],
    )
    published(desk, strict, *plain_steps(1), workflow_id="team.strict")
    value = start(desk, "team.strict", now=soon(1)).value
    blocked = advanced(desk.agent, value, notes="Suspected the idempotency guard.", now=soon(2))
    assert blocked["kind"] == "blocked"
    advance(desk.agent, blocked, notes="The verdict: a stale lease.", now=soon(3))

    assert all("matched_notes" not in found["whyMatched"] for found in find(desk.agent, text="idempotency guard"))
    assert find(desk.agent, text="stale lease")[0]["whyMatched"] == ["matched_notes"]


def test_a_run_is_found_by_its_workflow(desk, wanted):
    published(desk, *plain_steps(1), workflow_id="team.bug-investigation")
    value = start(desk, "team.bug-investigation", goal="", title="Another", now=soon(1)).value

    by_id = find(desk.agent, workflow_id="team.bug-investigation")
    by_words = find(desk.agent, text="my bug investigation")

    assert runs_of(by_id)[0] == runs_of(by_words)[0] == value["session"]["runId"]
    assert by_id[0]["whyMatched"] == ["matched_workflow_id"]


@pytest.mark.parametrize("query", [{"workflow_id": "team.former"}, {"text": "go on with team.former"}])
def test_a_run_is_found_by_another_name_of_its_workflow(desk, wanted, query):
    published(desk, *plain_steps(1), workflow_id="team.other")
    meant = start(desk, "team.other").value
    extensions.set_alias(actor=desk.person, alias="team.former", workflow_id="team.other", now=NOW)

    found = find(desk.agent, **query)

    assert found[0]["runId"] == meant["session"]["runId"]
    assert "matched_workflow_id" in found[0]["whyMatched"]


def test_without_anything_to_go_by_the_latest_by_the_clock_come_first(desk):
    """The number of a run's events says how long it is: it must not pass for how recent it is."""
    long_ago = start(desk, goal="Old and long", now=soon(1)).value
    for minute in range(2, 5):
        long_ago = advanced(desk.agent, long_ago, now=soon(minute))
    lately = start(desk, goal="New and short", now=soon(60)).value

    found = find(desk.agent)

    assert runs_of(found) == [lately["session"]["runId"], long_ago["session"]["runId"]]
    assert [candidate["whyMatched"] for candidate in found] == [["recent_activity"]] * 2
    assert found[0]["lastModifiedMs"] == int(soon(60).timestamp() * 1000)


def test_the_same_repository_comes_first(desk, wanted):
    found = find(desk.agent, repository="https://git.example.org/shop/storefront")

    assert runs_of(found)[0] == wanted["session"]["runId"]
    assert found[0]["whyMatched"] == ["matched_repository"]


def test_what_is_complete_comes_after_what_is_not(desk):
    published(desk, *plain_steps(1), workflow_id="team.short")
    open_run = start(desk, "team.short", title="Flaky checkout", now=soon(1)).value
    done = advanced(desk.agent, start(desk, "team.short", title="Flaky checkout", now=soon(2)).value, now=soon(3))

    found = find(desk.agent, text="flaky checkout")

    assert runs_of(found) == [open_run["session"]["runId"], done["session"]["runId"]]
    assert [candidate["isComplete"] for candidate in found] == [False, True]


def test_at_most_five_are_named(desk):
    for minute in range(7):
        start(desk, title="Flaky checkout", now=soon(minute))

    reply = RAIL.say(resume_sessions(actor=desk.agent, query=ResumeQuery(text="flaky checkout")))

    assert len(reply["candidates"]) == 5
    assert (reply["totalEligible"], reply["totalEligibleIsBounded"]) == (7, False)


def test_a_candidate_is_the_tip_of_its_run_and_can_be_gone_on_from(desk, wanted):
    second = advanced(desk.agent, wanted, notes="Looked around.", now=soon(4))

    (candidate,) = find(desk.agent, ticket="SHOP-17")
    again = rehydrate(desk.agent, candidate["nextCall"]["params"]).value

    assert candidate["pendingStepId"] == second["pending"]["stepId"] == "step-1"
    assert candidate["stateToken"] == second["stateToken"]
    assert again["pending"] == second["pending"]
    assert advanced(desk.agent, again, now=soon(5))["pending"]["stepId"] == "step-2"


def test_after_a_fork_the_branch_last_worked_on_is_named_and_once(desk, wanted):
    advance(desk.agent, wanted, notes="One way.", now=soon(4))
    other = advanced(desk.agent, rehydrate(desk.agent, wanted).value, notes="Another way.", now=soon(5))

    found = find(desk.agent, ticket="SHOP-17")

    assert [candidate["stateToken"] for candidate in found] == [other["stateToken"]]


def test_what_was_observed_later_counts(desk):
    value = start(desk, title="Another", now=soon(1)).value
    sessions.observe(
        actor=desk.agent,
        session_id=run_cast.session_id(value),
        observations={ObservationKey.TICKET: "OPS-9"},
        now=soon(2),
        entropy=os.urandom,
    )

    assert runs_of(find(desk.agent, ticket="OPS-9")) == [value["session"]["runId"]]


def test_another_team_finds_nothing_even_by_id(desk, wanted):
    assert find(desk.stranger, ticket="SHOP-17", text="flaky checkout") == []
    with pytest.raises(NotFoundError):
        find(desk.stranger, run_id=wanted["session"]["runId"], ticket="SHOP-17", text="flaky checkout")


def test_a_key_that_may_not_read_runs_is_refused(desk):
    from dataclasses import replace

    with pytest.raises(ForbiddenError):
        find(replace(desk.agent, scopes=frozenset()), text="anything")


def test_a_search_writes_nothing(desk, wanted):
    before = [model.objects.count() for model in (Event, Node, Output)]
    again = find(desk.agent, text="flaky checkout")

    assert find(desk.agent, text="flaky checkout") == again
    assert [model.objects.count() for model in (Event, Node, Output)] == before


@pytest.mark.parametrize(
    "text", ["%_\\", "''; drop", "a & | ! <-> :*", "'", '"', "(", "漢字 テスト", "x" * 5000, "é" * 400, "-", "_ _"]
)
def test_signs_in_a_query_are_letters_and_nothing_else(desk, wanted, text):
    assert isinstance(find(desk.agent, text=text, git_branch=text, ticket=text), list)
    with pytest.raises(NotFoundError):
        find(desk.agent, workflow_id=text)


def test_a_branch_of_signs_is_found_as_it_stands_and_no_other(desk):
    value = start(desk, observations={ObservationKey.GIT_BRANCH: "fix/100%_x"}, now=soon(1)).value
    start(desk, observations={ObservationKey.GIT_BRANCH: "fix/100-and-x"}, now=soon(2))

    assert runs_of(find(desk.agent, git_branch="fix/100%_x")) == [value["session"]["runId"]]
