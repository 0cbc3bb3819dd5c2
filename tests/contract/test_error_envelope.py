"""Every refusal of the house has one form, and whether to try again is one of three words."""

import importlib
import pkgutil

import pytest

from teams_app.engine.errors import RetryKind, WorkrailError

ROOMS = ("teams_app", "workflows_app", "sessions_app", "traces_app")


def refusals():
    """Every class of refusal that the apps declare, once all of their modules have been imported."""
    for room in ROOMS:
        package = importlib.import_module(room)
        for module in pkgutil.walk_packages(package.__path__, f"{room}."):
            if ".management." not in module.name and ".migrations" not in module.name:
                importlib.import_module(module.name)
    found, waiting = [], [WorkrailError]
    while waiting:
        kind = waiting.pop()
        waiting.extend(kind.__subclasses__())
        if hasattr(kind, "code"):
            found.append(kind)
    return found


def raised(kind, **fields):
    error = kind.__new__(kind)
    WorkrailError.__init__(error, "No.", suggestion="Do this.", **fields)
    return error


def test_whether_to_try_again_is_a_closed_set():
    assert {kind.value for kind in RetryKind} == {"not_retryable", "retryable_immediate", "retryable_after_ms"}


def test_every_refusal_is_data_of_one_form():
    kinds = refusals()
    assert len(kinds) > 20

    for kind in kinds:
        envelope = raised(kind, details={"a": 1}).as_json()
        assert set(envelope) == {"code", "message", "retry", "details"}, kind
        assert envelope["details"] == {"a": 1, "suggestion": "Do this."}, kind
        assert envelope["retry"]["kind"] in set(RetryKind), kind


def test_to_try_again_later_says_when_and_nothing_else_does():
    for kind in refusals():
        retry = raised(kind).as_json()["retry"]
        is_later = retry["kind"] == "retryable_after_ms"
        assert set(retry) == ({"kind", "afterMs"} if is_later else {"kind"}), kind
        assert not is_later or retry["afterMs"] > 0, kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("TOKEN_INVALID_FORMAT", "not_retryable"),
        ("TOKEN_UNSUPPORTED_VERSION", "not_retryable"),
        ("TOKEN_BAD_SIGNATURE", "not_retryable"),
        ("TOKEN_SCOPE_MISMATCH", "not_retryable"),
        ("TOKEN_UNKNOWN_NODE", "not_retryable"),
        ("TOKEN_SESSION_LOCKED", "retryable_after_ms"),
        ("SESSION_NOT_HEALTHY", "not_retryable"),
    ],
)
def test_of_the_tokens_only_a_locked_session_is_tried_again(code, kind):
    (found,) = [each for each in refusals() if each.code == code and "code" in vars(each)]

    assert raised(found).as_json()["retry"]["kind"] == kind
