"""People name runs and sessions: the log keeps each name, and nothing else of the work changes."""

import os
from dataclasses import replace

import pytest

from sessions_app.models import Run, WorkSession
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.people import naming
from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError
from tests import run_cast
from tests.run_cast import advanced, plain_steps, published, run_id, session_id, soon, start

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def begun(desk):
    published(desk, *plain_steps(2))
    return start(desk, goal="Mend the checkout").value


def named():
    from teams_app.models import AuditEntry

    return sorted(AuditEntry.objects.filter(action__endswith=".renamed").values_list("action", flat=True))


def rename(actor, value, name, *, what="run"):
    when = {"now": soon(5), "entropy": os.urandom}
    if what == "run":
        return naming.rename_run(actor=actor, run_id=run_id(value), name=name, **when)
    return naming.rename_session(actor=actor, session_id=session_id(value), name=name, **when)


def test_names_are_kept_by_the_log_and_the_store_is_sound(desk):
    value = begun(desk)
    run = Run.objects.get()
    rename(desk.person, value, "  The   checkout ")
    rename(desk.person, value, "Quartz", what="session")

    now = Run.objects.get()
    assert (now.name, now.goal, WorkSession.objects.get().title) == ("The checkout", "Mend the checkout", "Quartz")
    assert (now.last_activity_at, now.tip_node_id) == (run.last_activity_at, run.tip_node_id)
    assert verify_session(session_id(value)) == []
    assert named() == ["run.renamed", "session.renamed"]
    assert advanced(desk.agent, value)


def test_a_name_that_the_log_does_not_tell_is_found(desk):
    value = begun(desk)
    rename(desk.person, value, "One")
    Run.objects.update(name="Two")
    WorkSession.objects.update(title="Three")

    assert len(verify_session(session_id(value))) == 2


def test_the_same_name_again_is_not_recorded_again(desk):
    value = begun(desk)
    for _ in range(2):
        rename(desk.person, value, "One")
        rename(desk.person, value, "Two", what="session")

    assert named() == ["run.renamed", "session.renamed"]


@pytest.mark.parametrize(
    "name", ["\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\U0001f469\u200d\U0001f4bb at work"]
)
def test_what_joins_letters_and_emoji_belongs_to_a_name(desk, name):
    rename(desk.person, begun(desk), name)

    assert Run.objects.get().name == name


@pytest.mark.parametrize("name", ["", "   ", "x" * 257, "\u200d", "a\x00b", "a\u202eb"])
@pytest.mark.parametrize("what", ["run", "session"])
def test_what_is_no_name_is_refused(desk, name, what):
    with pytest.raises(InvalidInputError):
        rename(desk.person, begun(desk), name, what=what)


@pytest.mark.parametrize("what", ["run", "session"])
def test_only_who_steers_runs_names_them_and_only_their_own(desk, what):
    value = begun(desk)
    with pytest.raises(ForbiddenError):
        rename(desk.viewer, value, "One", what=what)
    with pytest.raises(NotFoundError):
        rename(replace(desk.person, team_id=desk.stranger.team_id), value, "One", what=what)


def test_by_rest_people_rename_what_they_read_and_agents_are_refused():
    from tests import run_doors
    from tests.run_doors import V1, begin_run

    doors = run_doors.open_doors()
    value = begin_run(doors)["session"]
    run, session = f"{V1}/runs/{value['runId']}", f"{V1}/sessions/{value['sessionId']}"
    told = [doors.person("PATCH", place, {"name": f"Named {place[8:12]}"}).status_code for place in (run, session)]
    read = [doors.agent.get(run).json()["run"], doors.agent.get(session).json()]
    by_others = [
        (api("PATCH", place, {"name": "Other"}).status_code)
        for place in (run, session)
        for api in (doors.agent, doors.viewer)
    ]

    assert told == [204, 204]
    assert [read[0]["name"], read[0]["goal"], read[1]["title"]] == ["Named runs", "Try it", "Named sess"]
    assert by_others == [403] * 4
    assert {doors.stranger("PATCH", place, {"name": "Other"}).status_code for place in (run, session)} <= {403, 404}
    assert [doors.person("PATCH", run, body).status_code for body in ({}, {"name": ""}, {"name": "a\x1bb"})] == [
        400
    ] * 3


def test_a_name_by_rest_holds_only_for_what_was_read():
    from tests import run_doors
    from tests.run_doors import V1, begin_run

    doors = run_doors.open_doors()
    run = f"{V1}/runs/{begin_run(doors)['session']['runId']}"
    seen = {"If-Match": doors.person.get(run)["ETag"]}

    named = [doors.person("PATCH", run, {"name": name}, **seen).status_code for name in ("One", "Two")]

    assert named == [204, 412]
    assert doors.person.get(run).json()["run"]["name"] == "One"
