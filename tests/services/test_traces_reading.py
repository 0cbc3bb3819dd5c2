"""The trace in the tables: where calls belong, who may read them, what tokens name, and how long all of it is kept."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.db.utils import IntegrityError

from sessions_app.engine.runs import Dialect
from teams_app.engine.actors import NO_TEAM, Door, Scope, system_actor
from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError
from teams_app.engine.ids import Prefix, to_text, uuid7
from teams_app.engine.pages import PageRequest
from tests.run_cast import begin, make_desk, notes_free, run_id, session_id, start
from tests.trace_calls import at_ms, made, rows, write
from tests.workflow_cast import NOW
from traces_app.engine.calls import TraceOutcome
from traces_app.models import TraceEvent
from traces_app.services import reading
from traces_app.services.retention import keep_traces
from traces_app.services.writing import Noted

pytestmark = pytest.mark.django_db

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.TASK)
UNKNOWN = uuid7(unix_ms=1, random=bytes(10))


@pytest.fixture
def desk():
    return make_desk()


@pytest.fixture
def reply(desk):
    return begin(desk, notes_free("plan"), notes_free("work"))


def minute(number):
    """Minutes after the beginning of the run."""
    return NOW + timedelta(minutes=number)


def on_run(desk, reply, tool="continue_workflow", *, at=1, **fields):
    fields = {"arguments": {"stateToken": reply["stateToken"]}, **fields}
    return made(fields.pop("actor", desk.agent), tool, ended_ns=at_ms(minute(at)), **fields)


def tools_of(page):
    return [call.tool for call in page.items]


# Where a call belongs


def test_a_call_belongs_to_the_run_that_its_reply_names(desk, reply):
    write(made(desk.agent, "start_workflow", reply=reply))

    (row,) = rows()
    assert (row.session_id, row.run_id, row.workflow_id) == (session_id(reply), run_id(reply), "team.sample")


def test_a_refused_call_belongs_to_the_run_whose_token_it_brought(desk, reply):
    write(on_run(desk, reply, error_code="TOKEN_SCOPE_MISMATCH"))

    (row,) = rows()
    assert (row.session_id, row.run_id, row.step_key) == (session_id(reply), run_id(reply), "plan")
    assert (row.outcome, row.error_code) == ("refused", "TOKEN_SCOPE_MISMATCH")


def test_the_token_of_another_team_gives_a_call_no_place(desk, reply):
    write(on_run(desk, reply, actor=desk.stranger, error_code="TOKEN_UNKNOWN_NODE"))

    (row,) = rows()
    assert (row.team_id, row.session_id, row.run_id, row.workflow_id) == (desk.stranger.team_id, None, None, "")


def test_the_session_that_a_call_names_is_looked_up_in_the_team(desk, reply):
    named = {"sessionId": reply["session"]["sessionId"]}

    write(
        made(desk.agent, "start_workflow", arguments=named, error_code="NOT_FOUND"),
        made(desk.stranger, "start_workflow", arguments=named, error_code="NOT_FOUND"),
    )

    assert {row.team_id: row.session_id for row in rows()} == {
        desk.team_id: session_id(reply),
        desk.stranger.team_id: None,
    }


def test_a_call_of_no_session_is_kept_with_its_team(desk):
    write(made(desk.agent, "list_workflows", arguments={"search": "review"}))

    (row,) = rows()
    assert (row.team_id, row.session_id, row.arguments) == (desk.team_id, None, {"search": "review"})


def test_what_a_dialect_notes_comes_before_what_the_words_say(desk, reply):
    noted = Noted(
        session_id=session_id(reply),
        run_id=run_id(reply),
        agent_id="worker-2",
        activity="first",
        step_key="first@0::plan",
        warnings=({"code": "steps_missing", "message": "leaves out 'a'"},),
    )

    write(made(desk.agent, "next_activity", dialect=Dialect.SESSION, arguments={"agent_id": "worker-1"}, noted=noted))

    (row,) = rows()
    assert (row.session_id, row.run_id, row.workflow_id) == (session_id(reply), run_id(reply), "team.sample")
    assert (row.agent_id, row.activity, row.step_key) == ("worker-2", "first", "first@0::plan")
    assert row.warnings == [{"code": "steps_missing", "message": "leaves out 'a'"}]


def test_the_activity_of_a_folder_is_told_from_the_place_before_the_call(desk):
    from tests.workflow_cast import FOLDER, publish
    from workflows_app.engine.source import Source, SourceFormat
    from workflows_app.services import workflows

    source = Source(format=SourceFormat.ACTIVITY_FOLDER, files=FOLDER)
    workflows.create_workflow(actor=desk.person, source=source, message="", now=NOW)
    publish(desk.person, "team.folder")
    reply = start(desk, "team.folder").value

    write(on_run(desk, reply))

    (row,) = rows()
    assert (row.activity, row.step_key) == ("first", "first@0::plan-approved")


def test_a_row_tells_when_who_and_under_which_request(desk):
    moment = datetime(2026, 11, 18, 12, 0, 1, 250_000, tzinfo=UTC)

    write(made(desk.agent, ended_ns=at_ms(moment), duration_ns=250_000_000, request_id="req-1"))

    (row,) = rows()
    assert row.started_at == moment - timedelta(milliseconds=250)
    assert (row.duration_us, row.actor_id, row.actor_name) == (250_000, desk.agent.id, desk.agent.name)
    assert row.request_id == "req-1"


def test_no_secret_of_a_call_reaches_the_table(desk, reply):
    arguments = {"stateToken": reply["stateToken"], "ackToken": reply["ackToken"], "context": {"password": "hunter2"}}

    write(made(desk.agent, arguments=arguments))

    text = str(rows()[0].arguments)
    assert not any(secret in text for secret in (reply["stateToken"], reply["ackToken"], "hunter2"))


def test_calls_that_end_in_one_millisecond_stay_in_their_order(desk):
    tools = [f"tool-{number}" for number in range(5_000)]

    write(*(made(desk.agent, tool, ended_ns=at_ms(NOW)) for tool in tools))

    assert [row.tool for row in rows()] == tools


def test_what_text_cannot_hold_does_not_keep_a_call_from_the_trace(desk):
    write(made(desk.agent, arguments={"a\x00": "b\x00\ud800", "agent_id": "x\x00"}))

    assert rows()[0].agent_id == "x\ufffd"


@pytest.mark.parametrize("change", ["UPDATE traces_app_traceevent SET tool = 'x'", "DELETE FROM traces_app_traceevent"])
def test_a_row_is_neither_changed_nor_deleted(desk, change):
    write(made(desk.agent))

    with pytest.raises(IntegrityError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(change)


# Reading


def test_a_trace_is_read_in_pages_the_oldest_first(desk, reply):
    write(*(on_run(desk, reply, f"tool-{number}", at=number) for number in range(5)))
    seen, after = [], None
    while True:
        page = reading.read_run_trace(actor=desk.viewer, run_id=run_id(reply), page=PageRequest(after=after, limit=2))
        seen += tools_of(page)
        after = page.next_position
        if after is None:
            break

    assert seen == [f"tool-{number}" for number in range(5)]


def test_a_session_holds_the_calls_of_its_runs(desk, reply):
    other = start(desk, session_id=session_id(reply)).value
    write(on_run(desk, reply, "one"), on_run(desk, other, "two", at=2), made(desk.agent, "elsewhere"))

    page = reading.read_session_trace(actor=desk.viewer, session_id=session_id(reply), page=PageRequest())

    assert tools_of(page) == ["one", "two"]


def test_a_page_costs_two_queries(desk, reply, django_assert_num_queries):
    write(*(on_run(desk, reply, at=number) for number in range(60)))

    with django_assert_num_queries(2):
        reading.read_run_trace(actor=desk.viewer, run_id=run_id(reply), page=PageRequest())
    with django_assert_num_queries(2):
        reading.read_session_trace(actor=desk.viewer, session_id=session_id(reply), page=PageRequest())


@pytest.mark.parametrize("ask", ["run", "session", "timeline", "get_trace"])
def test_what_another_team_did_is_not_found(desk, reply, ask):
    write(on_run(desk, reply))
    calls = {
        "run": lambda actor: reading.read_run_trace(actor=actor, run_id=run_id(reply), page=PageRequest()),
        "session": lambda actor: reading.read_session_trace(
            actor=actor, session_id=session_id(reply), page=PageRequest()
        ),
        "timeline": lambda actor: reading.read_run_timeline(actor=actor, run_id=run_id(reply)),
        "get_trace": lambda actor: reading.get_trace(actor=actor, session_id=session_id(reply)),
    }

    calls[ask](desk.agent)
    with pytest.raises(NotFoundError):
        calls[ask](desk.stranger)


def test_a_key_without_the_scope_reads_no_trace(desk, reply):
    driver = replace(desk.agent, scopes=frozenset({Scope.RUNS_WRITE}))

    with pytest.raises(ForbiddenError):
        reading.get_trace(actor=driver, session_id=session_id(reply))


def test_a_timeline_is_made_of_the_newest_calls(desk, reply, monkeypatch):
    monkeypatch.setattr(reading, "MAX_TIMELINE_CALLS", 3)
    write(*(on_run(desk, reply, at=number) for number in range(5)))

    timeline = reading.read_run_timeline(actor=desk.viewer, run_id=run_id(reply))

    assert (timeline.calls, timeline.is_cut) == (3, True)
    assert timeline.ended_at == minute(4)


# get_trace


def token_of(reply, since, until):
    return reading.trace_token_of(run_id=run_id(reply), since=minute(since), until=minute(until))


def told(desk, reply, *tokens, **fields):
    found = reading.get_trace(actor=desk.agent, session_id=session_id(reply), trace_tokens=tokens, **fields)
    return found.as_json()


def names(answer):
    return [event["name"] for event in answer["events"]]


def test_without_tokens_the_trace_of_the_session_is_told_from_the_log(desk, reply):
    write(on_run(desk, reply, "one", at=1), on_run(desk, reply, "two", at=2))

    answer = told(desk, reply)

    assert (answer["source"], answer["event_count"], names(answer)) == ("log", 2, ["one", "two"])
    assert answer["traceId"] == reply["session"]["sessionId"]
    assert answer["events"][0]["spanId"] == to_text(Prefix.TRACE, rows()[0].pk)


def test_the_trace_of_one_run_leaves_out_the_other_runs_of_the_session(desk, reply):
    other = start(desk, session_id=session_id(reply)).value
    write(on_run(desk, reply, "one"), on_run(desk, other, "two", at=2))

    assert names(told(desk, reply, run_id=run_id(other))) == ["two"]


def test_get_trace_does_not_tell_of_itself(desk, reply):
    write(on_run(desk, reply, "get_trace"), on_run(desk, reply, "next_activity", at=2))

    assert names(told(desk, reply)) == ["next_activity"]


def test_tokens_tell_what_was_called_between_transitions(desk, reply):
    write(*(on_run(desk, reply, f"at-{number}", at=number) for number in range(1, 7)))

    answer = told(desk, reply, token_of(reply, 0, 2), token_of(reply, 4, 6))

    assert (answer["source"], names(answer)) == ("tokens", ["at-1", "at-4", "at-5"])
    assert "token_errors" not in answer


def test_a_token_given_twice_tells_its_calls_once(desk, reply):
    write(on_run(desk, reply, at=1))

    assert told(desk, reply, token_of(reply, 0, 2), token_of(reply, 0, 2))["event_count"] == 1


def test_a_bad_token_is_told_beside_what_the_good_ones_name(desk, reply):
    write(on_run(desk, reply, "one", at=1))
    good = token_of(reply, 0, 2)
    edited = good[:-1] + ("0" if good[-1] != "0" else "1")

    answer = told(desk, reply, edited, good, "nonsense", reply["stateToken"])

    assert names(answer) == ["one"]
    assert [error["code"] for error in answer["token_errors"]] == [
        "TOKEN_BAD_SIGNATURE",
        "TOKEN_INVALID_FORMAT",
        "TOKEN_INVALID_FORMAT",
    ]
    assert edited not in str(answer)


def test_a_token_of_another_teams_run_is_the_same_as_one_of_no_run(desk, reply):
    """The original resolved the tokens of any session."""
    write(on_run(desk, reply, at=1))
    unknown = reading.trace_token_of(run_id=UNKNOWN, since=NOW, until=minute(5))
    theirs = begin(
        replace(desk, agent=desk.stranger, person=replace(desk.owner, team_id=desk.stranger.team_id)),
        notes_free("plan"),
        workflow_id="their.own",
    )

    answer = told(desk, reply, token_of(reply, 0, 5), unknown, token_of(theirs, 0, 5))

    assert answer["event_count"] == 1
    assert [(error["code"], error["message"]) for error in answer["token_errors"]] == [
        ("TOKEN_UNKNOWN_NODE", "This trace token names no run of your team.")
    ] * 2


def test_a_reading_by_tokens_costs_three_queries_however_many_there_are(desk, reply, django_assert_num_queries):
    write(*(on_run(desk, reply, at=number) for number in range(1, 21)))
    tokens = [token_of(reply, number, number + 1) for number in range(20)]
    reading.get_trace(actor=desk.agent, session_id=session_id(reply), trace_tokens=tokens)

    with django_assert_num_queries(3):
        answer = told(desk, reply, *tokens)

    assert answer["event_count"] == 19


def test_too_many_tokens_are_refused(desk, reply):
    with pytest.raises(InvalidInputError):
        told(desk, reply, *["x"] * 501)


def test_a_long_trace_tells_its_newest_calls_and_counts_the_rest(desk, reply):
    write(*(on_run(desk, reply, f"tool-{number}", at=number / 1000) for number in range(700)))

    answer = told(desk, reply)

    assert answer["event_count"] == 700
    assert names(answer)[-1] == "tool-699"
    assert answer["omitted"] == 700 - len(answer["events"])


# Keeping


def partitions():
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'traces_app_traceevent_2%%' AND relkind = 'r' ORDER BY 1"
        )
        return [row[0] for row in cursor.fetchall()]


def test_calls_beyond_their_time_are_deleted_and_younger_ones_kept(desk, settings):
    settings.TRACE_DAYS = 30
    now = datetime(2031, 5, 20, tzinfo=UTC)
    for days, tool in ((31, "old"), (29, "young")):
        write(made(desk.agent, tool, ended_ns=at_ms(now - timedelta(days=days))))

    kept = keep_traces(actor=SYSTEM, now=now)

    assert kept.deleted_calls == 1
    assert [row.tool for row in rows()] == ["young"]


def test_months_ahead_are_made_once(desk):
    now = datetime(2031, 5, 20, tzinfo=UTC)

    first, second = keep_traces(actor=SYSTEM, now=now), keep_traces(actor=SYSTEM, now=now)

    assert first.made == tuple(f"traces_app_traceevent_2031_{month:02}" for month in (5, 6, 7, 8))
    assert (second.made, second.dropped) == ((), ())


def test_a_month_that_is_over_is_dropped_with_its_calls(desk, settings):
    settings.TRACE_DAYS = 90
    keep_traces(actor=SYSTEM, now=datetime(2031, 5, 20, tzinfo=UTC))
    write(made(desk.agent, "in may", ended_ns=at_ms(datetime(2031, 5, 31, tzinfo=UTC))))

    early = keep_traces(actor=SYSTEM, now=datetime(2031, 8, 29, tzinfo=UTC))
    late = keep_traces(actor=SYSTEM, now=datetime(2031, 8, 30, tzinfo=UTC))

    assert "traces_app_traceevent_2031_05" not in early.dropped
    assert (late.dropped, late.deleted_calls, rows()) == (("traces_app_traceevent_2031_05",), 0, [])


def test_a_month_whose_calls_came_first_stays_in_the_default_partition(desk):
    now = datetime(2031, 5, 20, tzinfo=UTC)
    write(made(desk.agent, "early", ended_ns=at_ms(now)))

    kept = keep_traces(actor=SYSTEM, now=now)

    assert "traces_app_traceevent_2031_05" not in kept.made
    assert [row.tool for row in rows()] == ["early"]


def test_the_default_partition_is_never_dropped(desk):
    keep_traces(actor=SYSTEM, now=datetime(2099, 1, 1, tzinfo=UTC))

    write(made(desk.agent, "still"))
    assert TraceEvent.objects.count() == 1
    assert partitions()


def test_nobody_but_the_server_clears_the_trace(desk):
    with pytest.raises(ForbiddenError):
        keep_traces(actor=desk.owner, now=NOW)


def test_the_task_is_found_by_its_name(desk):
    from celery import signature

    from traces_app import jobs
    from workrail_site.celery import app

    assert jobs.KEEP_TRACES in {entry["task"] for entry in app.conf.beat_schedule.values()}
    signature(jobs.KEEP_TRACES, app=app).apply_async()


def test_outcomes_in_the_table_are_those_of_the_engine(desk):
    write(made(desk.agent), made(desk.agent, error_code="NOT_FOUND"), made(desk.agent, error_code="INTERNAL_ERROR"))

    assert {row.outcome for row in rows()} == {outcome.value for outcome in TraceOutcome}
