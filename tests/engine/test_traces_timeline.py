"""Timelines, their drawing, trace tokens and the words of `get_trace`, as functions of calls alone."""

from datetime import UTC, datetime, timedelta

import orjson
import pytest
from hypothesis import given, strategies as st

from sessions_app.engine.runs import Dialect
from sessions_app.engine.tokens import MAX_TOKEN_CHARACTERS, Keyring, TokenBadSignatureError, TokenInvalidFormatError
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import uuid7
from traces_app.engine.calls import TraceCall, TraceOutcome, as_span, outcome_of
from traces_app.engine.drawing import WIDTH, draw, told
from traces_app.engine.reading import MAX_EVENTS_BYTES, TraceReading, TraceSource, merged
from traces_app.engine.spans import Stretch, mint_trace_token, read_trace_token
from traces_app.engine.timeline import timeline_of

BORN = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)
BORN_MS = int(BORN.timestamp() * 1000)
RUN = uuid7(unix_ms=BORN_MS, random=bytes(10))
OTHER = uuid7(unix_ms=BORN_MS, random=b"\1" * 10)
SESSION = uuid7(unix_ms=BORN_MS, random=b"\2" * 10)
RING = Keyring(current=b"k" * 32)


def call(at_s, *, lasted_ms=10, number=0, **fields):
    started_at = BORN + timedelta(seconds=at_s)
    ended_ms = BORN_MS + int(at_s * 1000) + lasted_ms
    return TraceCall(
        **{
            "id": uuid7(unix_ms=ended_ms, random=number.to_bytes(10, "big")),
            "session_id": SESSION,
            "run_id": RUN,
            "workflow_id": "team.plan",
            "dialect": Dialect.SESSION,
            "tool": "next_activity",
            "actor_id": "key_1",
            "actor_name": "an agent",
            "agent_id": "worker-1",
            "activity": "one",
            "step_key": "one@0::plan",
            "started_at": started_at,
            "duration_us": lasted_ms * 1000,
            "outcome": TraceOutcome.OK,
            **fields,
        }
    )


def refused(at_s, **fields):
    return call(at_s, outcome=TraceOutcome.REFUSED, error_code="TOKEN_BAD_SIGNATURE", **fields)


# Outcomes and events


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        ("", TraceOutcome.OK),
        ("NOT_FOUND", TraceOutcome.REFUSED),
        ("INTERNAL_ERROR", TraceOutcome.FAILED),
        ("SERVICE_UNAVAILABLE", TraceOutcome.FAILED),
    ],
)
def test_only_what_is_our_fault_is_a_failure(code, outcome):
    assert outcome_of(error_code=code) is outcome


def test_an_event_has_the_fields_of_the_original():
    assert list(as_span(call(1))) == ["traceId", "spanId", "name", "ts", "ms", "s", "wf", "act", "aid"]
    assert as_span(call(1.5, lasted_ms=12)) | {"traceId": "", "spanId": ""} == {
        "traceId": "",
        "spanId": "",
        "name": "next_activity",
        "ts": int(BORN.timestamp()) + 1,
        "ms": 12.0,
        "s": "ok",
        "wf": "team.plan",
        "act": "one",
        "aid": "worker-1",
    }


def test_an_event_tells_its_error_and_its_warnings_only_when_there_are_any():
    warned = call(1, warnings=({"code": "steps_missing", "message": "leaves out 'a'"},))

    assert as_span(refused(1))["err"] == "TOKEN_BAD_SIGNATURE"
    assert as_span(refused(1))["s"] == "error"
    assert as_span(warned)["vw"] == ["leaves out 'a'"]


# Timelines


def test_calls_in_a_row_in_one_activity_are_one_span():
    calls = [call(0), call(5, lasted_ms=30), refused(7), call(9, activity="two"), call(11)]

    (lane,) = timeline_of(calls=calls).lanes

    assert [(span.label, span.calls, span.refusals) for span in lane.spans] == [
        ("one", 3, 1),
        ("two", 1, 0),
        ("one", 1, 0),
    ]
    assert lane.spans[0].duration == timedelta(seconds=7, milliseconds=10)
    assert lane.spans[0].busy_us == 50_000


def test_each_run_has_a_lane_in_the_order_of_first_calls():
    calls = [call(3), call(1, run_id=OTHER, workflow_id="team.other"), call(0, run_id=None, workflow_id="")]

    assert [lane.workflow_id for lane in timeline_of(calls=calls).lanes] == ["", "team.other", "team.plan"]


def test_a_minute_without_a_call_is_a_gap():
    (lane,) = timeline_of(calls=[call(0), call(50), call(111)]).lanes

    assert [gap.duration for gap in lane.gaps] == [timedelta(seconds=60, milliseconds=990)]


def test_a_long_call_beside_short_ones_leaves_no_gap():
    (lane,) = timeline_of(calls=[call(0, lasted_ms=300_000), call(10), call(290)]).lanes

    assert lane.gaps == ()


def test_where_there_are_no_activities_the_step_gives_the_name():
    (lane,) = timeline_of(calls=[call(0, activity="", step_key="outer@0::write")]).lanes

    assert lane.spans[0].label == "write"


def test_no_calls_are_a_timeline_without_lanes():
    assert timeline_of(calls=[]).lanes == ()
    assert draw(timeline_of(calls=[])).bars == ()


@given(
    st.lists(st.tuples(st.floats(0, 1e6), st.integers(0, 600_000), st.sampled_from(["one", "two", ""])), max_size=30)
)
def test_every_call_is_in_exactly_one_span_and_every_bar_in_the_drawing(made):
    calls = [call(at, lasted_ms=ms, activity=name, number=number) for number, (at, ms, name) in enumerate(made)]

    timeline = timeline_of(calls=calls)

    assert sum(span.calls for lane in timeline.lanes for span in lane.spans) == len(calls)
    for bar in draw(timeline).bars:
        assert 0 <= float(bar.x) <= WIDTH
        assert float(bar.x) + float(bar.width) <= WIDTH + 2


def test_the_drawing_marks_the_worst_that_happened():
    failed = call(200, activity="three", outcome=TraceOutcome.FAILED, error_code="INTERNAL_ERROR")
    calls = [call(0), call(100, activity="two", warnings=({"code": "x", "message": "y"},)), failed, refused(300)]

    marks = [bar.mark.value for bar in draw(timeline_of(calls=calls)).bars]

    assert marks == ["gap", "gap", "gap", "calls", "warned", "failed", "refused"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0124, "12 ms"), (4.2, "4.2 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")]
)
def test_a_duration_is_told_as_people_say_it(seconds, text):
    assert told(timedelta(seconds=seconds)) == text


# Trace tokens


def token(since_s=0.0, until_s=60.0, run_id=RUN):
    return mint_trace_token(
        keyring=RING, run_id=run_id, since=BORN + timedelta(seconds=since_s), until=BORN + timedelta(seconds=until_s)
    )


def test_a_trace_token_is_short_and_names_its_stretch():
    text = token(5, 65.25)

    assert text.startswith("tr.v1.")
    assert len(text) <= MAX_TOKEN_CHARACTERS
    assert read_trace_token(keyring=RING, text=text) == Stretch(
        run_id=RUN, from_ms=BORN_MS + 5_000, until_ms=BORN_MS + 65_250
    )


def test_the_same_stretch_has_the_same_token():
    assert token(1, 2) == token(1, 2)


def test_a_trace_token_is_read_through_what_chats_do_to_text():
    assert read_trace_token(keyring=RING, text=f"  `{token().upper()}`\n").run_id == RUN


def test_no_character_of_a_trace_token_can_be_changed():
    text = token()
    for index in range(len("tr.v1."), len(text)):
        other = "0" if text[index] != "0" else "1"
        with pytest.raises((TokenBadSignatureError, TokenInvalidFormatError)):
            read_trace_token(keyring=RING, text=text[:index] + other + text[index + 1 :])


def test_a_token_of_another_kind_names_no_stretch():
    with pytest.raises(TokenInvalidFormatError):
        read_trace_token(keyring=RING, text=token().replace("tr.", "st."))


def test_a_token_of_a_retired_key_is_still_read():
    later = Keyring(current=b"n" * 32, retired=(b"k" * 32,))

    assert read_trace_token(keyring=later, text=token()).run_id == RUN


def test_a_stranger_key_signs_nothing():
    with pytest.raises(WorkrailError):
        read_trace_token(keyring=Keyring(current=b"x" * 32), text=token())


def test_moments_before_the_run_or_beyond_the_token_are_held_in_its_bounds():
    stretch = read_trace_token(keyring=RING, text=token(-100, 60 * 60 * 24 * 365 * 100))

    assert stretch.from_ms == BORN_MS
    assert stretch.until_ms == BORN_MS + 2**40 - 1


def test_stretches_that_follow_one_another_hold_each_call_once():
    first, second = (read_trace_token(keyring=RING, text=token(*part)) for part in ((0, 10), (10, 20)))
    ids = [call(at).id for at in (0, 9.98, 9.99, 10, 19.98)]

    assert [[one.first_id <= row < one.end_id for one in (first, second)] for row in ids] == [
        [True, False],
        [True, False],
        [False, True],
        [False, True],
        [False, True],
    ]


def test_stretches_in_a_row_are_asked_for_as_one():
    one, two, three = (Stretch(run_id=RUN, from_ms=at, until_ms=at + 10) for at in (0, 10, 25))
    foreign = Stretch(run_id=OTHER, from_ms=5, until_ms=8)

    assert merged([three, two, foreign, one]) == (Stretch(run_id=RUN, from_ms=0, until_ms=20), three, foreign)


# Readings


def test_a_reading_of_the_log_says_so():
    reading = TraceReading(session_id=SESSION, source=TraceSource.LOG, event_count=1, calls=[call(1)])

    assert reading.as_json() == {
        "traceId": as_span(call(1))["traceId"],
        "source": "log",
        "event_count": 1,
        "events": [as_span(call(1))],
        "tracing_enabled": True,
    }


def test_a_reading_that_is_too_long_keeps_the_newest_and_counts_the_rest():
    calls = [call(at, warnings=({"message": "w" * 200},) * 5, number=at) for at in range(300)]

    told_json = TraceReading(session_id=SESSION, source=TraceSource.TOKENS, event_count=300, calls=calls).as_json()

    assert len(orjson.dumps(told_json)) <= MAX_EVENTS_BYTES + 500
    assert told_json["events"][-1] == as_span(calls[-1])
    assert told_json["omitted"] == 300 - len(told_json["events"]) > 0
    assert "tracing_enabled" not in told_json
