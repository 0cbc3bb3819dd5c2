"""THE table of errors is total, and its forms are those of the contracts."""

import importlib
import json
import pkgutil
import re

import pytest

from teams_app.engine.errors import RetryKind, WorkrailError

ROOMS = ["teams_app", "workflows_app", "sessions_app", "traces_app", "workrail_site"]


@pytest.fixture(scope="module")
def errors():
    """Every class of refusal that can be raised, once every module of the house has been imported.

    A family has no code of its own and is there to be caught.
    """
    from workrail_site.errors import all_errors

    for room in ROOMS:
        package = importlib.import_module(room)
        for module in pkgutil.walk_packages(package.__path__, f"{room}."):
            if ".management.commands." not in module.name and not module.name.endswith(".pytest_plugin"):
                importlib.import_module(module.name)
    return [error for error in dict.fromkeys(all_errors()) if hasattr(error, "code")]


def with_codes(errors):
    return [error for error in errors if "code" in vars(error)]


def said_of(error):
    """The docstring of the class or of the family that it stands in."""
    own = error.__mro__[: error.__mro__.index(WorkrailError)]
    return next((kind.__doc__ for kind in own if kind.__doc__), None)


def test_every_code_is_written_in_capitals(errors):
    assert errors
    assert [error.code for error in errors if not re.fullmatch(r"[A-Z]+(?:_[A-Z]+)*", error.code)] == []


def test_an_error_without_a_code_is_a_family(errors):
    from workrail_site.errors import all_errors

    assert [error for error in all_errors() if not hasattr(error, "code") and not error.__subclasses__()] == []


def test_every_code_has_a_row(errors):
    from workrail_site.errors import ERRORS

    assert {error.code for error in errors} - set(ERRORS) == set()


def test_no_row_is_dead(errors):
    from workrail_site.errors import ERRORS

    assert set(ERRORS) - {error.code for error in errors} == set()


def test_no_code_is_declared_twice(errors):
    codes = [error.code for error in with_codes(errors)]

    assert sorted(codes) == sorted(set(codes))


def test_the_table_and_the_class_agree_on_trying_again(errors):
    from workrail_site.errors import ERRORS

    assert {error.code: error.default_retry for error in with_codes(errors)} == {
        code: row.retry for code, row in ERRORS.items()
    }


def test_every_error_says_in_its_docstring_when_it_happens(errors):
    assert [error.__name__ for error in with_codes(errors) if not said_of(error)] == []


def test_every_status_is_one_of_a_refusal():
    from workrail_site.errors import ERRORS

    assert {row.status for row in ERRORS.values()} <= {
        400,
        401,
        403,
        404,
        405,
        406,
        408,
        409,
        412,
        410,
        413,
        415,
        422,
        423,
        429,
        500,
        503,
    }


def test_the_problem_of_an_error_holds_the_whole_envelope(errors):
    import msgspec

    from workrail_site.errors import ERRORS, problem_of

    for kind in errors:
        error = kind.__new__(kind)
        WorkrailError.__init__(error, "No.", suggestion="Do this.", details={"a": 1})
        problem = json.loads(msgspec.json.encode(problem_of(error=error, instance="/x", request_id="r")))
        envelope = error.as_json()

        assert problem["status"] == ERRORS[kind.code].status
        assert problem["detail"] == envelope["message"]
        assert {name: problem[name] for name in ("code", "retry", "details")} == {
            name: envelope[name] for name in ("code", "retry", "details")
        }


def test_an_error_that_may_be_tried_again_later_says_when(errors):
    from workrail_site.errors import ERRORS

    later = [row for row in ERRORS.values() if row.retry.kind is RetryKind.AFTER_MS]

    assert later
    assert all(row.retry.after_ms for row in later)
