"""What a storm finds: replies that differ, notes that are not there or there twice, defects, and an unsound store."""

import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from workrail_site.storms import storm
from workrail_site.storms.callers import RailByRest, StormCall
from workrail_site.storms.storm import StormReport

CALL = StormCall(path="/api/v1/runs/continue", body={"stateToken": "st"}, note="Agent 0 did 1.")


class Door:
    """Answers in order what it is given: a status with a body, or nothing, which is a lost connection."""

    def __init__(self):
        self.answers, self.bodies = [], []
        door = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                door.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                answer = door.answers.pop(0) if len(door.answers) > 1 else door.answers[0]
                if answer is None:
                    self.close_connection = True
                    return
                status, value = answer
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server.server_address[1]


@pytest.fixture
def door():
    opened = Door()
    yield opened
    opened.server.shutdown()
    opened.server.server_close()


@pytest.fixture
def caller(door):
    made = RailByRest(name="Agent 0", port=door.port, key="wr_key_x", chance=random.Random(1))
    # Each call comes once, unless the test says otherwise.
    made.chance = random.Random(3)
    yield made
    made.hang_up()


class Stored:
    """What the judge is told of the store."""

    def __init__(self, notes, unsound=""):
        self._notes, self._unsound = notes, unsound

    def notes(self):
        return self._notes

    def unsound(self):
        return self._unsound


def judged(stored, *callers):
    report = StormReport(seed=1)
    storm._judge(stored, report, callers, lambda _: None)
    storm._add_up(report, callers)
    return report


def test_a_call_is_repeated_as_it_was_until_it_is_answered(door, caller):
    door.answers = [
        None,
        (503, {"code": "SERVICE_UNAVAILABLE"}),
        (423, {"code": "TOKEN_SESSION_LOCKED"}),
        (200, {"a": 1}),
    ]

    told = caller.insist(CALL)

    assert told.value == {"a": 1}
    assert caller.ledger.failures == 3
    assert len(set(door.bodies)) == 1


def test_what_was_answered_and_is_there_once_is_no_finding(door, caller):
    door.answers = [(200, {"a": 1})]
    caller.insist(CALL)

    report = judged(Stored({CALL.note: 1}), caller)

    assert (report.findings, report.answered) == ([], 1)
    assert caller._connection is None


@pytest.mark.parametrize(("count", "said"), [(0, "was lost"), (2, "recorded 2 times")])
def test_what_was_answered_and_is_not_there_once_is_found(door, caller, count, said):
    door.answers = [(200, {"a": 1})]
    caller.insist(CALL)

    report = judged(Stored({CALL.note: count} if count else {}), caller)

    assert any(said in finding for finding in report.findings)


def test_a_repeated_call_that_is_answered_otherwise_is_found(door, caller):
    door.answers = [(200, {"a": 1}), (200, {"a": 2})]
    caller.insist(CALL)

    report = judged(Stored({CALL.note: 1}), caller)

    assert any("answered otherwise" in finding for finding in report.findings)


def test_a_refusal_a_defect_and_an_unsound_store_are_found(door, caller):
    door.answers = [(500, {"code": "INTERNAL_ERROR"}), (404, {"code": "TOKEN_UNKNOWN_NODE"})]
    caller.insist(CALL)

    report = judged(Stored({}, unsound="sess_x: broken_chain"), caller)

    told = " ".join(report.findings)
    assert "INTERNAL_ERROR" in told
    assert "TOKEN_UNKNOWN_NODE" in told
    assert "broken_chain" in told
