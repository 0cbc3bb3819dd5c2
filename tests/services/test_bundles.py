"""A session leaves as a file and comes back as itself: on this server under new ids, on another one under its own."""

import os
from dataclasses import replace
from datetime import timedelta

import orjson
import pytest
from django.db import connection

from sessions_app.engine.actions import CompleteStep
from sessions_app.engine.bundles import BundleUntrustedSignerError
from sessions_app.engine.runs import Dialect, ObservationKey
from sessions_app.models import CheckpointRequest, Run, WorkSession
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.bundles.signing import own_signers
from sessions_app.services.expiry.deletion import delete_session
from sessions_app.services.moves import runs
from sessions_app.services.upkeep.ledger import enter_sessions
from sessions_app.services.upkeep.verification import verify_all
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError, NotFoundError
from teams_app.models import AuditEntry
from tests import handover_cast, logs, run_cast, trigger_play
from tests.bundle_play import Forged, examine, export, ids_in, take_in, told
from tests.checkpoint_cast import answer, at_question
from tests.emptying import empty_tables
from tests.engine_play import NEVER_STOP
from tests.run_cast import NOW, advanced, begin, bookmark, events, session_id
from tests.step_documents import step
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def half_done(desk):
    """Gaps, notes, artifacts, bookmarks, an observation, three runs, one with a fork, one blocked, and a step that waits."""
    value = begin(desk, step("first-step"), step("next-step"), preferences=NEVER_STOP)
    again = run_cast.start(
        desk, session_id=session_id(value), observations={ObservationKey.GIT_BRANCH: "main"}, preferences=NEVER_STOP
    ).value
    bookmark(desk.agent, again, artifacts=[{"kind": "own.b", "n": 1.5}])
    advanced(desk.agent, value)
    advanced(desk.agent, run_cast.rehydrate(desk.agent, value).value, "A branch of its own.")
    blocked = advanced(desk.agent, run_cast.start(desk, session_id=session_id(value)).value, "")
    assert blocked["blockers"]
    bookmark(desk.agent, run_cast.rehydrate(desk.agent, blocked).value, "Why it is blocked.")
    return advanced(desk.agent, again, "", artifacts=[{"kind": "own.a", "text": "é"}])


def assert_sound(done):
    assert [str(finding) for each in done.session_ids for finding in verify_session(each)] == []


def assert_entered():
    """A session that was born long ago is in the ledger of the team that has taken it in."""
    system = system_actor(team_id=NO_TEAM, door=Door.TASK)
    enter_sessions(actor=system, now=run_cast.NOW + timedelta(days=3))
    assert [str(finding) for finding in verify_all(actor=system)] == []


def there_and_back(desk, session):
    """The import of the export, after both were compared."""
    data = export(desk.person, session)
    done = take_in(desk.person, data)
    assert done.renamed
    assert_sound(done)
    again = export(desk.person, done.session_ids[0])
    assert told(again) == told(data)
    assert ids_in(again) & ids_in(data) == set()
    return done


def run_of(done, workflow_id):
    return next(run for run in done.runs if run.workflow_id == workflow_id)


def elsewhere(data):
    """The same bundle on a server that has nothing yet."""
    empty_tables(connection)
    desk = run_cast.make_desk()
    return desk, take_in(desk.owner, data)


def test_a_run_of_the_rail_goes_on_where_it_stood(desk, half_done):
    done = there_and_back(desk, session_id(half_done))
    before = run_cast.rehydrate(desk.agent, half_done).value
    places = {each["pending"]["stepId"]: each for each in (look(desk, run) for run in done.runs) if each["pending"]}
    assert before["pending"]["stepId"] in places
    last = advanced(desk.agent, places["next-step"], "All done.")
    assert last["isComplete"]
    assert_sound(done)
    assert {run.dialect for run in done.runs} == {Dialect.RAIL.value}


def test_a_child_whose_parent_stays_behind_is_taken_in_whole(desk):
    trigger_play.publish_all(desk)
    trigger_play.triggered(desk, trigger_play.start(desk, ticket="T-1"))
    child = Run.objects.get(workflow_id="team.child").session_id

    done = there_and_back(desk, child)

    assert len(done.session_ids) == 1
    assert not WorkSession.objects.filter(pk=WorkSession.objects.get(pk=done.session_ids[0]).parent_id).exists()


def look(desk, run):
    return runs.rehydrate_run(actor=desk.agent, state_token=run.state_token, entropy=os.urandom, speech=RAIL).value


def test_a_question_that_waits_for_a_person_waits_again_and_is_answered(desk):
    value = at_question(desk, authority="human")
    done = there_and_back(desk, session_id(value))
    row = CheckpointRequest.objects.get(session_id=done.session_ids[0])
    answer(desk.person, row)
    assert look(desk, done.runs[0])["pending"]["stepId"] == "work"
    assert_sound(done)


def test_a_run_driven_by_hand_takes_the_run_that_it_waits_for_with_it(desk):
    trigger_play.publish_all(desk)
    parent = trigger_play.start(desk, ticket="T-1")
    trigger_play.triggered(desk, parent)
    session = Run.objects.get(workflow_id="team.parent").session_id
    done = there_and_back(desk, session)
    assert len(done.session_ids) == 2
    child = trigger_play.complete(desk, run_of(done, "team.child").state_token, "do", "end")
    assert child["success"]
    goes_on = trigger_play.look(desk, run_of(done, "team.parent").state_token)
    assert trigger_play.act(desk, goes_on["state"], CompleteStep(step_id="draft"))["success"]
    assert_sound(done)


@pytest.mark.parametrize("dialect", [Dialect.SESSION, Dialect.ORCHESTRATOR])
def test_a_run_that_is_handed_over_goes_on_by_a_new_session_token(desk, dialect):
    held = handover_cast.handed(desk, dialect=dialect)
    first = handover_cast.entered(desk, held.token, "plan", dialect=dialect)
    assert first
    done = there_and_back(desk, held.handle.session_id)
    (token,) = done.runs[0].session_tokens
    value = handover_cast.entered(desk, token, "build", "draft", "review", dialect=dialect)
    assert value
    assert_sound(done)


def test_on_a_server_that_has_not_seen_it_a_session_keeps_its_ids_and_its_chain(desk, half_done):
    log = events(half_done)
    heads = list(WorkSession.objects.values_list("id", "head_digest"))
    data = export(desk.person, session_id(half_done))
    new_desk, done = elsewhere(data)
    assert not done.renamed
    assert events(half_done) == log
    assert list(WorkSession.objects.values_list("id", "head_digest")) == heads
    assert_sound(done)
    assert_entered()
    assert told(export(new_desk.owner, session_id(half_done))) == told(data)
    pending = {each["pending"]["stepId"]: each for each in (look(new_desk, run) for run in done.runs)}
    assert advanced(new_desk.agent, pending["next-step"], "Done.")["isComplete"]


def test_a_session_that_is_taken_in_long_after_its_birth_is_entered_in_the_ledger_at_once(desk, half_done):
    data = export(desk.person, session_id(half_done))
    empty_tables(connection)
    new_desk = run_cast.make_desk()
    system = system_actor(team_id=NO_TEAM, door=Door.TASK)
    enter_sessions(actor=system, now=run_cast.NOW + timedelta(days=3))

    assert not take_in(new_desk.person, data).renamed

    enter_sessions(actor=system, now=run_cast.NOW + timedelta(days=6))
    assert [str(finding) for finding in verify_all(actor=system)] == []


def test_a_bundle_names_no_token_and_no_key(desk, half_done):
    text = export(desk.person, session_id(half_done)).decode()
    for secret in ("st.v1.", "ack.v1.", "chk.v1.", "ses.v1.", "wr_key_"):
        assert secret not in text


def test_two_imports_of_one_bundle_are_two_sessions(desk, half_done):
    data = export(desk.person, session_id(half_done))
    first, second = take_in(desk.person, data), take_in(desk.person, data)
    assert first.session_ids != second.session_ids
    assert_sound(first)
    assert_sound(second)


def test_ids_of_another_team_are_not_taken(desk, half_done):
    """Somebody of another team brings our bundle: they get sessions of their own, and ours are as they were."""
    before = events(half_done)
    data = export(desk.person, session_id(half_done))
    done = take_in(other_owner(desk), data)
    assert done.renamed
    assert set(WorkSession.objects.filter(pk__in=done.session_ids).values_list("team_id", flat=True)) == {
        desk.stranger.team_id
    }
    assert events(half_done) == before
    assert logs.count_events(team_id=desk.stranger.team_id) == done.events


def other_owner(desk):
    return replace(desk.owner, team_id=desk.stranger.team_id, id="per_stranger")


def test_only_people_who_may_publish_import_and_only_the_team_exports(desk, half_done):
    data = export(desk.viewer, session_id(half_done))
    for actor in (desk.agent, desk.viewer):
        with pytest.raises(ForbiddenError):
            take_in(actor, data)
    with pytest.raises(NotFoundError):
        export(other_owner(desk), session_id(half_done))


def test_an_import_is_audited_with_its_signer(desk, half_done):
    done = take_in(desk.person, export(desk.person, session_id(half_done)))
    entry = AuditEntry.objects.get(action="session.imported")
    assert entry.details["signer"] == own_signers()[0] == done.signer
    assert entry.details["ownSigner"] is True


def test_where_signers_are_named_only_theirs_is_imported(desk, half_done, settings):
    data = export(desk.person, session_id(half_done))
    foreign = Forged.of(data).signed()
    settings.BUNDLE_SIGNERS = ("somebody-else",)
    assert take_in(desk.person, data).signer == own_signers()[0]
    with pytest.raises(BundleUntrustedSignerError):
        take_in(desk.person, foreign)
    settings.BUNDLE_SIGNERS = (examine(foreign).seal.signer,)
    assert take_in(desk.person, foreign).signer != own_signers()[0]


def test_the_same_session_is_written_as_the_same_bytes(desk, half_done):
    assert export(desk.person, session_id(half_done)) == export(desk.viewer, session_id(half_done))


def test_a_bundle_is_json_with_a_digest_for_each_part(desk, half_done):
    value = orjson.loads(export(desk.person, session_id(half_done)))
    assert value["bundleSchemaVersion"] == 1
    assert [each["path"].partition("/")[0] for each in value["integrity"]["entries"]][:2] == [
        "preamble",
        "pinnedWorkflows",
    ]
    assert value["sessions"][0]["events"][0]["kind"] == "session_created"


@pytest.mark.parametrize("how", ["deleted", "there"])
def test_a_session_is_carried_from_one_team_into_another(desk, half_done, how):
    """The role that serves requests sees no ledger of another team: what was deleted there keeps its ids here."""
    from tests.as_web import as_web, grant

    grant()
    enter_sessions(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=NOW)
    data = export(desk.person, session_id(half_done))
    if how == "deleted":
        delete_session(actor=desk.owner, session_id=session_id(half_done), reason="It goes to the others.", now=NOW)
    other = replace(desk.owner, team_id=desk.stranger.team_id)
    with as_web(other.team_id):
        done = take_in(other, data)

    assert done.renamed == (how == "there")
    assert_sound(done)
    assert [str(each) for each in verify_all(actor=system_actor(team_id=NO_TEAM, door=Door.CLI))] == []
