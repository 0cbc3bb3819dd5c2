"""A line of the log is one line, whatever stands in it, and says the same in both forms."""

import io
import json
import logging

import pytest
import structlog
from django.core.exceptions import SuspiciousOperation

from workrail_site.log import configure, log_settings
from workrail_site.request_line import tell_request


@pytest.fixture
def line_of():
    """What is written for an event, by the formatter that the settings name."""

    def write(event, *, json_lines):
        made = dict(log_settings(json_lines=json_lines, level="INFO", secrets=())["formatters"]["workrail"])
        formatter = made.pop("()")(**made)
        record = logging.LogRecord("workrail.request", logging.INFO, "", 0, event, (), None)
        record._name = "info"
        out = io.StringIO()
        handler = logging.StreamHandler(out)
        handler.setFormatter(formatter)
        handler.emit(record)
        return out.getvalue()

    return write


EVENTS = {
    "plain": {"event": "request", "path": "/mcp/rail", "status": 200},
    "half a character": {"event": "request", "path": "/\udc80"},
    "a long number": {"event": "request", "size": 2**70},
    "a line end": {"event": "request", "path": "/a\nFAKE level=error"},
    "a blank": {"event": "request", "path": "/a b=1"},
    "an event with a line end": {"event": "request\nFAKE level=error"},
    "a defect": {"event": "unhandled_error", "exception": "Traceback …\nValueError"},
}


@pytest.mark.parametrize("event", EVENTS.values(), ids=EVENTS)
def test_each_event_is_one_line_of_json(line_of, event):
    line = line_of({"level": "info", "at": "2026-11-18T10:00:00Z", **event}, json_lines=True)

    assert line.count("\n") == 1
    assert event.items() <= json.loads(line).items()


@pytest.mark.parametrize("name", [name for name in EVENTS if name != "a defect"])
def test_nobody_writes_a_line_of_the_log_by_a_line_end_of_their_own(line_of, name):
    line = line_of({"level": "info", "at": "2026-11-18T10:00:00Z", **EVENTS[name]}, json_lines=False)

    assert line.count("\n") == 1
    assert line.startswith("2026-11-18T10:00:00Z [info     ] request")


# Names of loggers that Django makes of what it refuses, and what it quotes of the request.
REFUSED = {
    "TooManyFieldsSent": "The number of GET/POST parameters exceeded settings.DATA_UPLOAD_MAX_NUMBER_FIELDS.",
    "DisallowedHost": "Invalid HTTP_HOST header: 'a b'.",
    "DisallowedModelAdminToField": f"The field a\x00\nFAKE {'1.' * 3_000} cannot be referenced.",
}


@pytest.mark.parametrize("json_lines", [False, True])
@pytest.mark.parametrize("kind", REFUSED)
def test_what_django_refuses_of_a_request_is_one_short_line_without_a_traceback(kind, json_lines):
    made = dict(log_settings(json_lines=json_lines, level="INFO", secrets=())["formatters"]["workrail"])
    formatter = made.pop("()")(**made)
    error = SuspiciousOperation(REFUSED[kind])
    record = logging.LogRecord(f"django.security.{kind}", logging.ERROR, "", 0, REFUSED[kind], (), None)
    record.exc_info = (type(error), error, None)

    line = formatter.format(record)

    assert "\n" not in line
    assert "SuspiciousOperation" not in line
    assert len(line) < 500
    assert kind in line


def test_a_value_with_a_blank_is_told_from_two(line_of):
    assert "path='/a b=1'" in line_of(EVENTS["a blank"], json_lines=False)


@pytest.fixture
def events():
    """What reaches a handler of the log, as the formatter gets it."""
    found = []

    class Keeping(logging.Handler):
        def emit(self, record):
            found.append(record)

    handler, logger = Keeping(), logging.getLogger("workrail.request")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield found
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.mark.parametrize("is_quiet", [False, True])
def test_the_line_of_a_request_is_what_structlog_would_make_of_it(events, is_quiet):
    configure(log_settings(json_lines=True, level="DEBUG", secrets=()))
    structlog.contextvars.clear_contextvars()
    structlog.contextvars.bind_contextvars(request_id="request-1", actor="key_1", door="mcp")
    said = {"method": "POST", "path": "/mcp/rail", "status": 200}

    tell_request(**said, seconds=0.0123, is_quiet=is_quiet)
    usual = structlog.get_logger("workrail.request")
    (usual.debug if is_quiet else usual.info)("request", **said, duration_ms=12.3)

    ours, theirs = events
    assert [*ours.msg] == [*theirs.msg]
    assert ours.msg | {"at": ""} == theirs.msg | {"at": ""}
    assert (ours.levelno, ours.name, ours._name) == (theirs.levelno, theirs.name, theirs._name)


def test_a_request_below_the_level_leaves_no_line(events):
    logging.getLogger("workrail.request").setLevel(logging.WARNING)

    tell_request(method="GET", path="/healthz", status=200, seconds=0.1)

    assert events == []
