"""The oracle finds whatever is wrong with a session; the rows that the log tells of are made again from it."""

import os
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from msgspec import structs

from sessions_app.engine.drafts import session_draft
from sessions_app.engine.log import Head, seal
from sessions_app.engine.runs import ObservationKey
from sessions_app.engine.state import Preferences
from sessions_app.selectors.integrity import verify_session
from sessions_app.selectors.standings import birth_date
from sessions_app.services.moves import sessions
from sessions_app.services.people import gaps
from sessions_app.services.people.preferences import set_session_preferences, set_team_preferences
from sessions_app.services.upkeep import ledger, tables
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError
from teams_app.engine.ids import Prefix, to_text, uuid7
from tests import logs, run_cast
from tests.engine_play import AGGRESSIVE, NEVER_STOP, STOP_ON_USER
from tests.run_cast import NOW, advanced, assert_healthy, begin, bookmark, events, run_id, session_id
from tests.step_documents import step
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def ended(desk):
    """A run with everything in it: gaps, notes, artifacts, a bookmark, an observation."""
    value = begin(desk, step("first-step"), step("next-step"), preferences=NEVER_STOP)
    again = run_cast.start(
        desk, session_id=session_id(value), observations={ObservationKey.GIT_BRANCH: "main"}, preferences=NEVER_STOP
    ).value
    bookmark(desk.agent, again, artifacts=[{"kind": "own.b", "n": 1.5}])
    then = advanced(desk.agent, again, "", artifacts=[{"kind": "own.a", "text": "é"}])
    return advanced(desk.agent, then, "All done.")


def model(name):
    from sessions_app import models

    return getattr(models, name)


def reasons(value):
    return {finding.reason for finding in verify_session(session_id(value))}


def rebuild(value):
    return tables.rebuild_projections(actor=SYSTEM, session_id=session_id(value))


def run_rows(value):
    return model("Run").objects.filter(pk=run_id(value))


DAMAGE = {
    "status": lambda value: run_rows(value).update(status="in_progress", completed_at=None),
    "completed": lambda value: run_rows(value).update(completed_at=None),
    "tip": lambda value: run_rows(value).update(tip_node_id=uuid4()),
    "branch": lambda value: model("WorkSession").objects.update(git_branch="elsewhere"),
    "autonomy": lambda value: model("WorkSession").objects.update(autonomy="full_auto_stop_on_user_deps"),
    "risk policy": lambda value: model("WorkSession").objects.update(risk_policy="aggressive"),
    "output gone": lambda value: model("Output").objects.filter(channel="recap").delete(),
    "artifact changed": lambda value: model("Output").objects.filter(channel="artifact").update(body="{}"),
    "output added": lambda value: _copied("Output"),
    "output moved": lambda value: model("Output").objects.update(to_node_id=None),
    "gap gone": lambda value: model("Gap").objects.all().delete(),
    "gap closed": lambda value: model("Gap").objects.update(resolved_by_id=uuid4()),
    "node changed": lambda value: model("Node").objects.update(autonomy="guided"),
    "gap softened": lambda value: model("Gap").objects.update(severity="info"),
}


def _copied(name):
    row = model(name).objects.order_by("id").first()
    row.id = uuid4()
    row.save(force_insert=True)


def test_a_session_that_nobody_touched_is_healthy_and_a_rebuild_changes_nothing(ended):
    assert_healthy(ended)
    assert rebuild(ended) == 0


@pytest.mark.parametrize("damage", sorted(DAMAGE))
def test_a_row_that_differs_from_the_log_is_found_and_made_again(ended, damage):
    DAMAGE[damage](ended)

    assert reasons(ended) <= {"stale_projection", "missing_row"}
    assert reasons(ended)
    assert rebuild(ended) > 0
    assert_healthy(ended)


@pytest.mark.parametrize("other", [{"title": "Other"}, {"parent_id": UUID(int=7)}], ids=["title", "parent"])
def test_what_the_log_says_of_the_session_itself_is_written_again(ended, other):
    model("WorkSession").objects.update(**other)

    assert reasons(ended) == {"column_mismatch"}
    assert rebuild(ended) == 1
    assert_healthy(ended)


BEYOND = {
    "a node gone": (lambda: model("Node").objects.order_by("event_index").last().delete(), "missing_row"),
    "a snapshot gone": (lambda: model("Snapshot").objects.all().delete(), "missing_row"),
    "a snapshot changed": (lambda: model("Snapshot").objects.update(data=b"{}"), "digest_mismatch"),
    "an attempt astray": (lambda: model("Attempt").objects.update(to_node_id=uuid4()), "orphan_row"),
    "a run gone": (lambda: model("Run").objects.all().delete(), "missing_row"),
    "the head moved": (lambda: model("WorkSession").objects.update(head_digest="sha256:" + "1" * 64), "head_mismatch"),
    "the head shortened": (lambda: model("WorkSession").objects.update(next_event_index=3), "head_mismatch"),
}


@pytest.mark.parametrize("damage", sorted(BEYOND))
def test_what_the_log_alone_cannot_mend_is_found(ended, damage):
    spoil, reason = BEYOND[damage]
    spoil()

    assert reason in reasons(ended)


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("DELETE FROM sessions_app_event WHERE session_id = %s AND index = 3", "non_contiguous_indices"),
        (
            """UPDATE sessions_app_event
               SET body = convert_to(replace(convert_from(body, 'UTF8'), 'All done.', 'All good.'), 'UTF8')
               WHERE session_id = %s AND convert_from(body, 'UTF8') LIKE '%%All done.%%'""",
            "digest_mismatch",
        ),
        ("UPDATE sessions_app_event SET kind = 'context_set' WHERE session_id = %s AND index = 0", "column_mismatch"),
    ],
)
def test_whoever_changes_the_log_past_its_guard_is_found(ended, statement, reason):
    logs.spread(session_id(ended))
    assert reasons(ended) == set()
    assert logs.without_guard(statement, [session_id(ended)]) > 0

    assert reason in reasons(ended)


def other_words(bodies):
    return [body.replace(b"All done.", b"All good.") for body in bodies]


@pytest.mark.parametrize(("keeps_digest", "reason"), [(True, "digest_mismatch"), (False, "head_mismatch")])
def test_whoever_packs_other_events_is_found(ended, keeps_digest, reason):
    last = model("Event").objects.filter(session_id=session_id(ended)).order_by("-index")[0]
    logs.rewrite(last, other_words, keeps_digest=keeps_digest)

    assert reason in reasons(ended)


def test_upkeep_is_the_servers(ended, desk):
    with pytest.raises(ForbiddenError):
        tables.rebuild_projections(actor=desk.owner, session_id=session_id(ended))


# What a session begins its runs with


def baseline_of(value):
    row = model("WorkSession").objects.get(pk=session_id(value))
    return row.autonomy, row.risk_policy


def forget_baseline():
    model("WorkSession").objects.update(autonomy="guided", risk_policy="conservative")


def test_what_a_session_began_with_is_made_again_from_the_event_that_begins_it(desk):
    set_team_preferences(actor=desk.owner, change=NEVER_STOP, now=NOW)
    value = begin(desk, step("first-step"))
    noted = sessions.start_session(
        actor=desk.agent, title="Notes", observations={}, now=NOW, entropy=os.urandom, speech=RAIL
    ).value
    set_team_preferences(actor=desk.owner, change=STOP_ON_USER, now=NOW)
    forget_baseline()

    assert [rebuild(at) for at in (value, noted)] == [1, 1]
    assert baseline_of(value) == baseline_of(noted) == ("full_auto_never_stop", "conservative")
    assert_healthy(value)


def test_what_a_person_changed_it_to_is_made_again_from_the_last_change(desk):
    value = begin(desk, step("first-step"), preferences=STOP_ON_USER)
    for change in (NEVER_STOP, AGGRESSIVE):
        set_session_preferences(
            actor=desk.person, session_id=session_id(value), change=change, now=NOW, entropy=os.urandom
        )
    forget_baseline()

    assert rebuild(value) == 1
    assert baseline_of(value) == ("full_auto_never_stop", "aggressive")


def test_a_session_whose_first_event_does_not_tell_it_keeps_what_its_row_says(desk):
    """As a release before wrote it."""
    team, born = desk.team_id, uuid7(unix_ms=int(NOW.timestamp() * 1000), random=os.urandom(10))
    draft = session_draft(session_id=born, title="Old", parent_id=None, baseline=Preferences())
    sealed = seal(
        drafts=[structs.replace(draft, data={"title": "Old"})],
        session_id=born,
        head=Head(),
        event_ids=[uuid4()],
        timestamp_ms=int(NOW.timestamp() * 1000),
    )
    model("WorkSession").objects.create(
        id=born,
        team_id=team,
        title="Old",
        next_event_index=1,
        head_digest=sealed.head.digest,
        autonomy="full_auto_never_stop",
        risk_policy="balanced",
        created_by=desk.agent.id,
        created_at=NOW,
        last_activity_at=NOW,
    )
    _insert(team, born, sealed.events[0])
    ledger.enter_sessions(actor=SYSTEM, now=NOW)
    value = {"session": {"sessionId": to_text(Prefix.SESSION, born)}}

    assert_healthy(value)
    assert rebuild(value) == 0
    assert baseline_of(value) == ("full_auto_never_stop", "balanced")


def _insert(team_id, born, event):
    model("Event").objects.create(
        born_on=birth_date(born),
        session_id=born,
        index=event.index,
        team_id=team_id,
        event_id=event.event_id,
        kind=event.kind.value,
        dedupe=event.dedupe,
        body=event.body,
        digest=event.digest,
        created_at=NOW,
    )


# Closing a gap


def close(desk, gap_id, summary="The notes were supplied.", *, actor=None):
    gaps.resolve_gap(
        actor=actor or desk.person,
        gap_id=gap_id,
        summary=summary,
        now=NOW + timedelta(minutes=9),
        entropy=os.urandom,
    )


def gap_of(value):
    return model("Gap").objects.filter(run_id=run_id(value), severity="critical").get()


def test_a_gap_that_is_closed_completes_the_run_without_it(desk, ended):
    completed_at = run_rows(ended).get().completed_at
    assert run_rows(ended).get().status == "complete_with_gaps"

    close(desk, gap_of(ended).id)

    assert (run_rows(ended).get().status, run_rows(ended).get().completed_at) == ("complete", completed_at)
    assert gap_of(ended).resolved_by_id is not None
    said = events(ended, "gap_recorded")[-1]["data"]
    assert said["resolution"] == {"kind": "resolves", "resolvesGapId": f"gap_{gap_of(ended).id.hex}"}
    assert_healthy(ended)


def test_closing_it_again_writes_nothing(desk, ended):
    close(desk, gap_of(ended).id)
    before = len(events(ended))

    close(desk, gap_of(ended).id, "Once more.")

    assert len(events(ended)) == before


def test_a_run_with_another_gap_stays_as_it_is(desk):
    value = begin(desk, step("first-step"), step("next-step"), preferences=NEVER_STOP)
    end = advanced(desk.agent, advanced(desk.agent, value, ""), "")
    first, second = model("Gap").objects.order_by("event_index")

    close(desk, first.id)
    assert run_rows(end).get().status == "complete_with_gaps"

    close(desk, second.id)
    assert run_rows(end).get().status == "complete"
    assert_healthy(end)


def test_a_gap_of_a_run_on_its_way_can_be_closed_before_its_end(desk):
    value = begin(desk, step("first-step"), step("next-step"), preferences=NEVER_STOP)
    then = advanced(desk.agent, value, "")
    close(desk, gap_of(then).id)

    assert run_rows(then).get().status == "in_progress"
    assert run_rows(advanced(desk.agent, then)).get().status == "complete"
    assert_healthy(then)


def test_only_people_who_steer_close_gaps_of_their_team(desk, ended):
    gap_id = gap_of(ended).id

    for actor in (desk.agent, desk.viewer):
        with pytest.raises(ForbiddenError):
            close(desk, gap_id, actor=actor)
    with pytest.raises(NotFoundError):
        close(desk, uuid4())
    with pytest.raises(InvalidInputError):
        close(desk, gap_id, " ")
    with pytest.raises(InvalidInputError):
        close(desk, gap_id, "x" * 600)
