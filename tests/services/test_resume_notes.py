"""What was noted before any workflow began is found again, artifacts are searched, and a wrong id is said to be wrong."""

import os
from datetime import timedelta

import pytest

from sessions_app.engine.obligations import Submission
from sessions_app.engine.resume_signals import ResumeQuery
from sessions_app.engine.runs import ObservationKey
from sessions_app.services.moves import sessions
from sessions_app.services.moves.resume import resume_sessions
from teams_app.engine.errors import InvalidInputError, NotFoundError
from teams_app.engine.ids import Prefix, from_text, to_text
from tests import run_cast
from tests.run_cast import NOW, advance, begin, plain_steps, rehydrate, session_id
from workrail_site.dialects.rail.replies import RAIL
from workrail_site.dialects.rail.resuming import render_text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def noted(desk):
    begun = sessions.start_session(
        actor=desk.agent,
        title="Vestibule lantern",
        observations={ObservationKey.TICKET: "LAMP-77", ObservationKey.GIT_BRANCH: "fix/LAMP-77-flicker"},
        now=NOW,
        entropy=os.urandom,
        speech=RAIL,
    ).value
    sessions.bookmark_session(
        actor=desk.agent,
        session_token=begun["sessionToken"],
        submission=Submission(notes="The quartz capacitor hums."),
        now=NOW + timedelta(minutes=1),
        entropy=os.urandom,
        speech=RAIL,
    )
    return begun["session"]["sessionId"]


def find(desk, *, actor=None, **query):
    return RAIL.say(resume_sessions(actor=actor or desk.agent, query=ResumeQuery(**query)))


QUERIES = {
    "id": lambda named: {"session_id": named},
    "id in the text": lambda named: {"text": f"go on with {named}"},
    "title": lambda _: {"text": "the vestibule lantern"},
    "ticket": lambda _: {"ticket": "LAMP-77"},
    "branch": lambda _: {"git_branch": "fix/LAMP-77-flicker"},
    "words of the notes": lambda _: {"text": "quartz capacitor"},
}


@pytest.mark.parametrize("by", sorted(QUERIES))
def test_notes_of_a_session_without_a_run_are_found(desk, noted, by):
    run_cast.published(desk, *plain_steps(2))
    run_cast.start(desk)

    found = find(desk, **QUERIES[by](noted))

    (session,) = found["sessions"]
    assert (session["sessionId"], session["snippet"]) == (noted, "The quartz capacitor hums.")
    text = render_text(found)
    assert f"\n{session['sessionToken']}" in text
    assert noted in text


def test_the_token_that_it_gives_takes_more_notes_and_the_id_begins_a_run_there(desk, noted):
    (session,) = find(desk, session_id=noted)["sessions"]

    sessions.bookmark_session(
        actor=desk.agent,
        session_token=session["sessionToken"],
        submission=Submission(notes="And it smells."),
        now=NOW + timedelta(minutes=2),
        entropy=os.urandom,
        speech=RAIL,
    )
    run_cast.published(desk, *plain_steps(2))
    value = run_cast.start(desk, session_id=from_text(Prefix.SESSION, noted), now=NOW + timedelta(minutes=3)).value

    recap = rehydrate(desk.agent, value).value["recap"]
    assert [entry["notes"] for entry in recap["entries"]] == ["The quartz capacitor hums.", "And it smells."]
    assert "sessions" not in find(desk, session_id=noted)


def test_notes_on_a_session_after_a_node_are_not_in_the_recap_of_that_node(desk, noted):
    run_cast.published(desk, *plain_steps(2))
    (session,) = find(desk, session_id=noted)["sessions"]
    value = run_cast.start(desk, session_id=from_text(Prefix.SESSION, noted), now=NOW + timedelta(minutes=3)).value
    sessions.bookmark_session(
        actor=desk.agent,
        session_token=session["sessionToken"],
        submission=Submission(notes="Later."),
        now=NOW + timedelta(minutes=4),
        entropy=os.urandom,
        speech=RAIL,
    )

    recap = rehydrate(desk.agent, value).value["recap"]
    assert [entry["notes"] for entry in recap["entries"]] == ["The quartz capacitor hums."]


def test_another_team_finds_none_of_it(desk, noted):
    assert "sessions" not in find(desk, actor=desk.stranger, text="quartz capacitor")
    with pytest.raises(NotFoundError):
        find(desk, actor=desk.stranger, session_id=noted)


def test_artifacts_are_searched(desk):
    value = begin(desk, *plain_steps(3))
    advance(desk.agent, value, "Plain notes.", artifacts=[{"kind": "own.finding", "where": "the carburettor gasket"}])
    for _ in range(3):
        run_cast.start(desk)

    found = find(desk, text="carburettor gasket")["candidates"]

    assert [candidate["runId"] for candidate in found] == [value["session"]["runId"]]
    assert "matched_notes" in found[0]["whyMatched"]


@pytest.mark.parametrize("text", ["gasket", "the chestnut spindle"])
def test_artifacts_of_a_session_without_a_run_are_searched(desk, text):
    begin(desk, *plain_steps(3))
    begun = sessions.start_session(
        actor=desk.agent, title="Notes", observations={}, now=NOW, entropy=os.urandom, speech=RAIL
    ).value
    artifact = {"kind": "own.finding", "where": "gasket", "more": {"deep": ["a chestnut spindle"]}}
    sessions.bookmark_session(
        actor=desk.agent,
        session_token=begun["sessionToken"],
        submission=Submission(artifacts=(artifact,)),
        now=NOW,
        entropy=os.urandom,
        speech=RAIL,
    )

    found = find(desk, text=text)["sessions"]

    assert [each["sessionId"] for each in found] == [begun["session"]["sessionId"]]


NAMES_IN_CODE = [
    "src/parser/lookahead.cpp",
    "dwh.fact_orders",
    "settings.theme.dark",
    "/api/v1/orders/export",
    "a@b.example",
]


@pytest.mark.parametrize("name", NAMES_IN_CODE)
def test_names_of_files_and_tables_are_found_as_they_are_written(desk, name):
    run_cast.published(desk, *plain_steps(3))
    of_run = run_cast.start(desk).value
    advance(desk.agent, of_run, "Plain notes.", artifacts=[{"kind": "own.finding", "where": name}])
    begun = sessions.start_session(
        actor=desk.agent, title="Notes", observations={}, now=NOW, entropy=os.urandom, speech=RAIL
    ).value
    sessions.bookmark_session(
        actor=desk.agent,
        session_token=begun["sessionToken"],
        submission=Submission(artifacts=({"kind": "own.finding", "where": name},)),
        now=NOW,
        entropy=os.urandom,
        speech=RAIL,
    )
    run_cast.start(desk)

    found = find(desk, text=f"what about `{name}`?")

    assert [each["runId"] for each in found["candidates"]] == [of_run["session"]["runId"]]
    assert [each["sessionId"] for each in found["sessions"]] == [begun["session"]["sessionId"]]


def test_parts_of_words_are_found_in_the_newest_notes_of_a_session_as_of_a_run(desk, noted):
    run_cast.published(desk, *plain_steps(2))
    run_cast.start(desk)

    assert [each["sessionId"] for each in find(desk, text="capacit")["sessions"]] == [noted]


def test_an_artifact_of_any_size_is_kept_and_found_by_its_beginning(desk):
    value = begin(desk, *plain_steps(3))
    words = " ".join(f"w{number}" for number in range(20_000))
    advance(desk.agent, value, "Plain notes.", artifacts=[{"a": "carburettor", "kind": "own.big", "text": words}])

    assert find(desk, text="carburettor")["candidates"][0]["runId"] == value["session"]["runId"]


@pytest.mark.parametrize("name", ["run_id", "session_id"])
@pytest.mark.parametrize("text", ["x", "run_", "sess_123", "latest", "🦊", "run_aaaa'; --"])
def test_an_id_that_is_none_is_refused(desk, name, text):
    begin(desk, *plain_steps(2))

    with pytest.raises(InvalidInputError) as refusal:
        find(desk, **{name: text})

    (problem,) = refusal.value.as_json()["details"]["validationErrors"]
    assert problem["path"] == {"run_id": "runId", "session_id": "sessionId"}[name]


@pytest.mark.parametrize(("name", "prefix"), [("run_id", Prefix.RUN), ("session_id", Prefix.SESSION)])
def test_an_id_that_names_nothing_is_said_to(desk, name, prefix):
    value = begin(desk, *plain_steps(2))

    with pytest.raises(NotFoundError):
        find(
            desk, **{name: to_text(prefix, from_text(Prefix.NODE, "node_" + "a" * 26) or session_id(value))[:-1] + "a"}
        )


@pytest.mark.parametrize(
    "query",
    [
        {"text": "sess_" + "a" * 26},
        {"text": f"go on with run_{'a' * 26} please"},
        {"text": "run_nope"},
        {"text": " sess_12-34 "},
        {"workflow_id": "team.nowhere"},
        {"workflow_id": "team.nowhere", "text": "zebra"},
    ],
)
def test_what_is_named_and_not_there_is_not_answered_with_the_latest_runs(desk, query):
    begin(desk, *plain_steps(2))

    with pytest.raises(NotFoundError):
        find(desk, **query)


def test_what_is_named_and_not_there_does_not_hide_what_else_was_asked_for(desk, noted):
    value = begin(desk, *plain_steps(2))

    assert find(desk, text=f"try it, not run_{'a' * 26}")["candidates"][0]["runId"] == value["session"]["runId"]
    assert find(desk, text="quartz capacitor", workflow_id="team.nowhere")["sessions"][0]["sessionId"] == noted


def test_the_right_id_is_found_whatever_is_around_it(desk):
    value = begin(desk, *plain_steps(2))

    named = f"  {value['session']['runId'].upper()} "
    assert find(desk, run_id=named)["candidates"][0]["runId"] == value["session"]["runId"]


# A run that began in a session with notes has them in its recap, and is found by them.


@pytest.mark.parametrize(
    ("submission", "text"),
    [
        (Submission(notes="Where the plum dumplings are."), "plum dumplings"),
        (Submission(artifacts=({"kind": "own.finding", "where": "the chestnut spindle"},)), "chestnut spindle"),
    ],
)
def test_a_run_is_found_by_what_was_noted_on_its_session_before_it_began(desk, noted, submission, text):
    (session,) = find(desk, session_id=noted)["sessions"]
    token = session["sessionToken"]
    sessions.bookmark_session(
        actor=desk.agent, session_token=token, submission=submission, now=NOW, entropy=os.urandom, speech=RAIL
    )
    run_cast.published(desk, *plain_steps(2))
    value = run_cast.start(desk, session_id=from_text(Prefix.SESSION, noted), title="", goal="").value
    for minutes in range(6):
        run_cast.start(desk, now=NOW + timedelta(minutes=minutes + 5))

    (found,) = find(desk, text=text)["candidates"]
    assert (found["runId"], found["whyMatched"]) == (value["session"]["runId"], ["matched_notes"])
    assert text in found["snippet"]


# Words of two signs, as Han, kana and Hangul have them, within a title or beside other words.
@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("修复登录错误", "登录"),
        ("ログイン画面の不具合を直す", "画面"),
        ("Notes of the 会議", "会議"),
        ("결제오류를 고치기", "오류"),
        ("𠮷野家の注文", "𠮷野"),
    ],
)
def test_a_word_of_two_signs_is_found_in_scripts_that_have_such_words(desk, title, text):
    run_cast.published(desk, *plain_steps(2))
    value = run_cast.start(desk, title=title, goal="").value
    bare = sessions.start_session(
        actor=desk.agent, title=title, observations={}, now=NOW, entropy=os.urandom, speech=RAIL
    ).value
    for minutes in range(6):
        run_cast.start(desk, now=NOW + timedelta(minutes=minutes + 5))

    found = find(desk, text=text)

    assert [each["runId"] for each in found["candidates"]] == [value["session"]["runId"]]
    assert [each["sessionId"] for each in found["sessions"]] == [bare["session"]["sessionId"]]


@pytest.mark.parametrize("text", ["unicorns", "登录", "%", "🚀"])
def test_that_no_run_has_what_was_asked_for_is_said_aloud(desk, text):
    begin(desk, *plain_steps(2))

    found = find(desk, text=text)

    assert found["foundNothing"] is True
    assert "No run has what you asked for" in render_text(found)


def test_a_session_with_notes_that_has_what_was_asked_for_is_told_before_runs_that_have_not(desk, noted):
    begin(desk, *plain_steps(2))

    found = find(desk, text="quartz capacitor")
    text = render_text(found)

    assert found["foundNothing"] is True
    assert text.index("# Sessions with notes") < text.index("# No run has what you asked for")


@pytest.mark.parametrize("text", ["", "please resume my session", "sample"])
def test_it_is_not_said_where_nothing_was_asked_for_or_something_was_found(desk, text):
    begin(desk, *plain_steps(2))

    found = find(desk, text=text)

    assert "foundNothing" not in found
    assert "No run has" not in render_text(found)


def test_the_ready_made_call_of_a_session_with_notes_lacks_the_workflow_alone(desk, noted):
    from tests.handover_play import caller

    run_cast.published(desk, *plain_steps(2))
    call = caller("rail", desk.agent)
    (session,) = call("resume_session", query="quartz capacitor")["sessions"]
    assert session["nextCall"]["params"]["workflowId"] == "<workflowId>"

    params = {**session["nextCall"]["params"], "workflowId": "team.sample"}
    assert call(session["nextCall"]["tool"], **params)["session"]["sessionId"] == noted
