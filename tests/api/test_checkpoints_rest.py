"""Questions that wait for people, by REST: who reads them, who answers, and what is refused."""

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app.engine.actions import CompleteStep
from sessions_app.engine.runs import Dialect
from sessions_app.models import CheckpointRequest
from sessions_app.services.moves import steered
from sessions_app.services.moves.beginning import Beginning, start_run
from teams_app.engine.ids import Prefix, to_text
from tests import run_cast, run_doors
from tests.activity_folders import activity, checkpoint, folder, step
from tests.cast import Api, audited, issue
from tests.checkpoint_cast import ABOUT, asking, at_question, only_row, publish_folder, relayed, rows
from tests.run_cast import advanced, assert_healthy, start
from tests.run_doors import V1, go_on, signed_in
from tests.workflow_cast import NOW
from workrail_site.dialects.navigation.situations import NAVIGATION

pytestmark = pytest.mark.django_db(transaction=True)

ID = "a" * 26
CHECKPOINTS = f"{V1}/checkpoints"
DECADE_MS = 3650 * 86_400_000


@pytest.fixture
def doors():
    return run_doors.open_doors()


def asked(doors, **fields):
    """The reply of a run that stands at its question; it was asked at NOW."""
    return at_question(doors.desk, context={"goal": "the roof"}, **fields)


def asked_again(doors, workflow_id="team.plan"):
    """The same of another run of a workflow that is published."""
    before = start(doors.desk, workflow_id, context={"goal": "the roof"}).value
    return advanced(doors.desk.agent, before, now=NOW)


def path_of(value, act=""):
    return f"{CHECKPOINTS}/{to_text(Prefix.CHECKPOINT, only_row(value).id)}{act}"


def read(api, value):
    response = api.get(path_of(value))
    assert response.status_code == 200, response.content
    return response.json()


def answer(api, value, option="yes", **body):
    digest = only_row(value).digest
    return api.post(path_of(value, "/answer"), {"option": option, "digest": digest, **body})


def ids(api, query=""):
    response = api.get(f"{CHECKPOINTS}{query}")
    assert response.status_code == 200, response.content
    return [item["run"] for item in response.json()["items"]]


def run_of(value):
    return value["session"]["runId"]


def refused(response, status, code):
    problem = response.json()
    assert (response.status_code, problem["code"]) == (status, code), problem
    assert response["Content-Type"] == "application/problem+json"
    assert problem["details"]["suggestion"]
    return problem


# Reading


def test_a_question_is_read_with_all_that_an_answer_needs(doors):
    value = asked(doors, human=True, dueMs=DECADE_MS)

    told = read(doors.viewer, value)

    row = only_row(value)
    assert told["message"] == "Is the plan for the roof right?"
    assert [(option["id"], option["label"]) for option in told["options"]] == [("yes", "Yes"), ("no", "No")]
    assert (told["authority"], told["state"], told["digest"]) == ("human", "open", row.digest)
    assert (told["run"], told["session"]) == (run_of(value), value["session"]["sessionId"])
    assert datetime.fromisoformat(told["presentedAt"]) == NOW
    assert datetime.fromisoformat(told["dueAt"]) == NOW + timedelta(days=3650)
    assert (told["isOverdue"], told["claimedBy"], told["answer"]) == (False, None, None)
    assert (told["workflowTitle"], told["goal"], told["dialect"]) == ("Plan", "Try it", "rail")


def test_what_the_workflow_says_of_when_it_is_due_goes_before_the_servers_default(doors, settings):
    settings.CHECKPOINT_DUE_MS = 30_000
    its_own = asked(doors, human=True, dueMs=60_000)
    other = {**asking(human=True), **folder(about={**ABOUT, "id": "team.other"})}
    publish_folder(doors.desk, other, "team.other")

    the_servers = asked_again(doors, "team.other")

    assert read(doors.viewer, its_own)["dueAt"] == "2026-11-18T12:01:00Z"
    assert read(doors.viewer, the_servers)["dueAt"] == "2026-11-18T12:00:30Z"


def test_a_question_whose_time_has_passed_is_overdue_until_it_is_answered(doors):
    value = asked(doors, human=True, dueMs=1)
    asked_again(doors)
    CheckpointRequest.objects.exclude(pk=only_row(value).id).update(due_at=None)

    assert read(doors.person, value)["isOverdue"] is True
    assert ids(doors.person, "?overdue=true") == [run_of(value)]
    assert answer(doors.person, value).json()["isOverdue"] is False
    assert ids(doors.person, "?overdue=true") == []


def test_the_list_is_filtered_and_what_is_due_first_comes_first(doors):
    late, soon, never = asked(doors, human=True), asked_again(doors), asked_again(doors)
    now = datetime.now(tz=UTC)
    for value, due_at in ((late, now + timedelta(days=2)), (soon, now + timedelta(days=1))):
        CheckpointRequest.objects.filter(pk=only_row(value).id).update(due_at=due_at)
    doors.person.post(path_of(late, "/claim"))
    answer(doors.person, never)
    names = {run_of(late): "late", run_of(soon): "soon", run_of(never): "never"}

    def found(query, api=doors.person):
        return [names[run] for run in ids(api, query)]

    assert found("") == ["soon", "late", "never"]
    assert found("?state=open") == ["soon", "late"]
    assert found("?state=answered") == ["never"]
    assert found("?authority=human&state=open") == ["soon", "late"]
    assert found("?authority=relayed") == []
    assert found("?mine=true") == ["late"]
    assert found("?mine=true", doors.owner) == []
    assert found("?claimed=true") == ["late"]
    assert found("?state=open&claimed=false") == ["soon"]
    assert found(f"?run={run_of(soon)}") == ["soon"]
    assert found(f"?session={never['session']['sessionId']}") == ["never"]
    assert found("?overdue=true") == []


@pytest.mark.parametrize("limit", [1, 2, 4])
def test_pages_join_without_a_gap_where_some_have_no_time(doors, limit):
    values = [asked(doors, human=True), *(asked_again(doors) for _ in range(4))]
    due_at = datetime.now(tz=UTC) + timedelta(days=1)
    CheckpointRequest.objects.filter(pk__in=[only_row(value).id for value in values[:3]]).update(due_at=due_at)
    whole, found, cursor = ids(doors.viewer), [], ""

    while cursor is not None:
        page = doors.viewer.get(f"{CHECKPOINTS}?limit={limit}{cursor and f'&cursor={cursor}'}").json()
        found.extend(item["run"] for item in page["items"])
        cursor = page["nextCursor"]

    assert found == whole
    assert set(whole) == {run_of(value) for value in values}


def test_a_list_costs_the_same_however_long_it_is(doors):
    asked(doors, human=True)

    def cost():
        with CaptureQueriesContext(connection) as captured:
            assert doors.agent.get(f"{CHECKPOINTS}?state=open").status_code == 200
        return len(captured)

    cost()
    few = cost()
    for _ in range(3):
        asked_again(doors)

    assert (few, cost()) == (2, 2)


@pytest.mark.parametrize(
    "query",
    ["state=waiting", "limit=0", "mine=perhaps", "cursor=cur1.AAAA", "status=open", "state=open&state=answered"],
)
def test_a_query_that_means_nothing_is_refused(doors, query):
    refused(doors.person.get(f"{CHECKPOINTS}?{query}"), 400, "VALIDATION_ERROR")


@pytest.mark.parametrize(
    "path",
    [f"/cp_{ID}", "/mine", f"/run_{ID}", f"?run=run_{ID}", "?run=mine", f"?session=sess_{ID}"],
)
def test_what_is_not_there_is_not_found(doors, path):
    refused(doors.person.get(f"{CHECKPOINTS}{path}"), 404, "NOT_FOUND")


def test_no_reading_hands_out_a_token(doors):
    value = asked(doors, human=True)

    for path in (CHECKPOINTS, path_of(value)):
        body = doors.reader.get(path).content
        assert b"st.v1." not in body
        assert b"ack.v1." not in body


# Acting


def test_a_person_claims_releases_and_answers_and_the_agent_goes_on(doors):
    value = asked(doors, human=True)

    claimed = doors.person.post(path_of(value, "/claim")).json()
    released = doors.owner.post(path_of(value, "/release")).json()
    answered = answer(doors.owner, value, "no", reason="Not before Friday.")

    assert (claimed["claimedBy"], released["claimedBy"]) == (doors.desk.person.id, None)
    assert answered.status_code == 200, answered.content
    told = answered.json()
    assert told["state"] == "answered"
    assert {key: told["answer"][key] for key in ("option", "by", "authority", "door", "reason")} == {
        "option": "no",
        "by": doors.desk.owner.id,
        "authority": "human",
        "door": "rest",
        "reason": "Not before Friday.",
    }
    then = go_on(doors.agent, value, notes="").json()
    assert (then["pending"]["stepId"], then["answered"]["reason"]) == ("again", "Not before Friday.")
    assert audited(doors.desk.team_id)[-3:] == ["checkpoint.claimed", "checkpoint.released", "checkpoint.answered"]
    assert_healthy(value)


def test_an_answer_that_an_agent_passed_on_is_shown_as_that(doors):
    value = asked(doors)

    go_on(doors.agent, value, notes="", output={"artifacts": relayed("yes")})

    given = read(doors.viewer, value)["answer"]
    assert (given["option"], given["authority"], given["by"]) == ("yes", "relayed", key_of(doors))


def key_of(doors):
    return doors.agent.get(f"{V1}/whoami").json()["id"]


ACTS = {
    "claim": ("/claim", None),
    "release": ("/release", None),
    "answer": ("/answer", {"option": "yes", "digest": "sha256:x"}),
}


@pytest.mark.parametrize(("act", "body"), ACTS.values(), ids=ACTS)
def test_no_key_acts_whatever_its_scopes(doors, act, body):
    value = asked(doors, human=True)

    problem = refused(doors.agent.post(path_of(value, act), body), 403, "HUMAN_REQUIRED")

    assert "Studio" in problem["details"]["suggestion"]
    assert (only_row(value).state, only_row(value).claimed_by) == ("open", "")


@pytest.mark.parametrize(("act", "body"), ACTS.values(), ids=ACTS)
def test_a_viewer_reads_and_does_not_act(doors, act, body):
    value = asked(doors, human=True)

    problem = refused(doors.viewer.post(path_of(value, act), body), 403, "FORBIDDEN")

    assert "operator" in problem["details"]["suggestion"]
    assert only_row(value).state == "open"


@pytest.mark.parametrize(("act", "body"), ACTS.values(), ids=ACTS)
def test_another_team_finds_nothing_to_read_or_to_act_on(doors, act, body):
    value = asked(doors, human=True)
    charlie = signed_in(
        replace(doors.desk.owner, id=run_doors.person_text(), name="charlie", team_id=doors.desk.stranger.team_id)
    )

    refused(charlie.get(path_of(value)), 404, "NOT_FOUND")
    refused(charlie.post(path_of(value, act), body), 404, "NOT_FOUND")
    refused(charlie.get(f"{CHECKPOINTS}?run={run_of(value)}"), 404, "NOT_FOUND")
    assert ids(charlie) == []


def test_a_key_without_the_scope_to_read_runs_reads_nothing(doors):
    from django.test import Client

    from teams_app.engine.actors import Scope

    value = asked(doors, human=True)
    key = issue(doors.desk.owner, scopes=frozenset({Scope.TRACES_READ}))
    weak = Api(Client(), Authorization=f"Bearer {key.text}")

    refused(weak.get(CHECKPOINTS), 403, "FORBIDDEN")
    refused(weak.get(path_of(value)), 403, "FORBIDDEN")


@pytest.mark.parametrize("act", ["/claim", "/release", "/answer"])
def test_nothing_acts_on_get(doors, act):
    value = asked(doors, human=True)

    refused(doors.person.get(path_of(value, act)), 405, "METHOD_NOT_ALLOWED")
    assert (only_row(value).state, only_row(value).claimed_by) == ("open", "")


@pytest.mark.parametrize("act", ["/claim", "/release", "/answer"])
def test_a_page_of_somebody_else_cannot_act_with_the_persons_cookie(doors, act):
    from django.test import Client

    value = asked(doors, human=True)
    client = Client(enforce_csrf_checks=True)
    client.force_login(run_doors.enrol(doors.desk.person))

    response = Api(client).post(path_of(value, act), {"option": "yes", "digest": only_row(value).digest})

    refused(response, 403, "CSRF_FAILED")
    assert only_row(value).state == "open"


BODIES = {
    "no option": {"digest": "sha256:x"},
    "no digest": {"option": "yes"},
    "an empty option": {"option": "", "digest": "sha256:x"},
    "a misspelt field": {"option": "yes", "digest": "sha256:x", "raeson": "x"},
    "a long reason": {"option": "yes", "digest": "sha256:x", "reason": "x" * 2001},
    "a reason of no text": {"option": "yes", "digest": "sha256:x", "reason": 7},
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_an_answer_that_is_none_is_refused(doors, body):
    value = asked(doors, human=True)

    refused(doors.person.post(path_of(value, "/answer"), body), 400, "VALIDATION_ERROR")
    assert only_row(value).state == "open"


def test_an_option_that_there_is_not_is_refused_with_those_that_there_are(doors):
    value = asked(doors, human=True)

    problem = refused(answer(doors.person, value, "perhaps"), 409, "OPTION_NOT_FOUND")

    assert problem["details"]["options"] == ["yes", "no"]


def test_an_answer_to_another_text_is_stale(doors):
    value = asked(doors, human=True)
    digest = only_row(value).digest
    go_on(doors.agent, value, context={"goal": "the cellar"})
    before, now = rows(value)

    for row in (before, now):
        path = f"{CHECKPOINTS}/{to_text(Prefix.CHECKPOINT, row.id)}/answer"
        refused(doors.person.post(path, {"option": "yes", "digest": digest}), 409, "CHECKPOINT_STALE")
    assert now.state == "open"


def test_a_second_answer_is_told_who_was_first(doors):
    value = asked(doors, human=True)
    answer(doors.person, value)

    problem = refused(answer(doors.owner, value, "no"), 409, "CHECKPOINT_ANSWERED")

    assert problem["details"]["answeredBy"] == doors.desk.person.id
    refused(doors.owner.post(path_of(value, "/claim")), 409, "CHECKPOINT_ANSWERED")


def test_what_somebody_else_has_claimed_is_neither_claimed_nor_answered(doors):
    value = asked(doors, human=True)
    doors.person.post(path_of(value, "/claim"))

    problem = refused(doors.owner.post(path_of(value, "/claim")), 409, "CHECKPOINT_CLAIMED")

    assert problem["details"]["claimedBy"] == doors.desk.person.id
    refused(answer(doors.owner, value), 409, "CHECKPOINT_CLAIMED")
    assert doors.person.post(path_of(value, "/claim")).status_code == 200


# Runs that are driven by hand


def by_hand(doors, **fields):
    """Where a run driven by hand stands at its question."""
    publish_folder(doors.desk, folder(activity("plan", **fields), activity("redo", steps=[step("again")]), about=ABOUT))
    beginning = Beginning(workflow_id="team.plan", dialect=Dialect.NAVIGATION)
    return start_run(actor=doors.desk.agent, beginning=beginning, now=NOW, entropy=os.urandom, speech=NAVIGATION).value


def situation(doors, value):
    return steered.read_situation(actor=doors.desk.agent, state_token=value["state"], speech=NAVIGATION).value


def test_a_run_driven_by_hand_goes_on_when_a_person_has_answered(doors):
    asks = checkpoint("agreed", required=True, human=True)
    value = by_hand(doors, checkpoints=[asks], steps=[step("work"), step("last")])
    (listed,) = doors.person.get(f"{CHECKPOINTS}?state=open").json()["items"]
    path = f"{CHECKPOINTS}/{listed['id']}/answer"

    before = situation(doors, value)
    answered = doors.person.post(path, {"option": "yes", "digest": listed["digest"]})
    after = situation(doors, value)

    assert (listed["dialect"], before["checkpoint"]["id"]) == ("navigation", "agreed")
    assert (answered.status_code, answered.json()["state"]) == (200, "answered")
    assert after["checkpoint"] is None
    assert after["position"]["step"]["id"] == "work"
    assert [each["action"] for each in after["availableActions"]["required"]] == ["complete_step"]
    done = steered.steer_run(
        actor=doors.desk.agent,
        state_token=after["state"],
        action=CompleteStep(step_id="work"),
        now=datetime.now(tz=UTC),
        entropy=os.urandom,
        speech=NAVIGATION,
    ).value
    assert done["position"]["step"]["id"] == "last"
    assert healthy()


def test_what_a_person_chose_leads_a_run_driven_by_hand_elsewhere(doors):
    asks = checkpoint("agreed", required=True, human=True)
    asks["options"][1]["effect"] = {"transitionTo": "redo"}
    value = by_hand(doors, checkpoints=[asks], steps=[step("work")], transitions=[{"to": "redo"}])
    (listed,) = doors.person.get(f"{CHECKPOINTS}?state=open").json()["items"]

    doors.person.post(f"{CHECKPOINTS}/{listed['id']}/answer", {"option": "no", "digest": listed["digest"]})

    assert situation(doors, value)["position"]["activity"]["id"] == "redo"
    assert healthy()


def test_a_step_driven_by_hand_is_completed_after_its_approval(doors):
    run_cast.published(doors.desk, run_cast.notes_free("ship", requireConfirmation={"kind": "human_approval"}))
    beginning = Beginning(workflow_id="team.sample", dialect=Dialect.NAVIGATION)
    value = start_run(actor=doors.desk.agent, beginning=beginning, now=NOW, entropy=os.urandom, speech=NAVIGATION).value
    waiting = steered.steer_run(
        actor=doors.desk.agent,
        state_token=value["state"],
        action=CompleteStep(step_id="ship"),
        now=datetime.now(tz=UTC),
        entropy=os.urandom,
        speech=NAVIGATION,
    ).value
    (listed,) = doors.person.get(f"{CHECKPOINTS}?state=open").json()["items"]

    doors.person.post(f"{CHECKPOINTS}/{listed['id']}/answer", {"option": "approve", "digest": listed["digest"]})
    after = situation(doors, waiting)

    assert after["complete"] is True
    assert after["answered"]["optionId"] == "approve"
    assert healthy()


def healthy():
    from sessions_app.selectors.integrity import session_ids, verify_session

    return [finding for session_id in session_ids() for finding in verify_session(session_id)] == []
