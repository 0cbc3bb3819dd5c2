"""What every test room shares. The servers themselves come from `workrail_site.local.pytest_plugin`."""

import gc
from functools import cache
from pathlib import Path

import pytest
import redis

from tests.turns import turn_of

pytest_plugins = ("tests.cast",)
_turns = pytest.StashKey[Path]()


def pytest_collection_finish():
    """Little of what was imported and collected is ever garbage: looking through it as often as usual takes a twentieth of the run."""
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    with turn_of(item, _folder_of_turns(item.config)):
        return (yield)


def _folder_of_turns(config):
    """One for all processes of a run: each of xdist has a folder of its own within that of the run."""
    if _turns not in config.stash:
        own = config._tmp_path_factory.getbasetemp()
        config.stash[_turns] = own.parent if hasattr(config, "workerinput") else own
    return config.stash[_turns]


@pytest.fixture(scope="session")
def redis_of_process():
    from django.conf import settings

    with redis.Redis.from_url(settings.REDIS_URL) as client:
        yield client


@pytest.fixture
def redis_client(redis_of_process):
    """The Redis of this process, empty before and after: throttles and caches of one test must not meet another's."""
    redis_of_process.flushdb()
    yield redis_of_process
    redis_of_process.flushdb()


@pytest.fixture(autouse=True)
def _no_calls_of_other_tests(request):
    """Calls that wait to be traced are of the test that made them. The next one would write them, when it reads a trace."""
    is_marked = request.node.get_closest_marker("django_db") is not None
    if is_marked or "db" in request.fixturenames or "transactional_db" in request.fixturenames:
        from traces_app.services.recording import recorder

        with recorder._writing:
            recorder._buffer.clear()
            recorder._buffered_bytes = 0


@pytest.fixture(autouse=True)
def _clean_redis(request):
    """Whoever gets the database gets an empty Redis as well: what remembers keys there outlives a rollback."""
    if "db" in request.fixturenames or "transactional_db" in request.fixturenames:
        request.getfixturevalue("redis_client")


@pytest.fixture(scope="session", autouse=True)
def _quickly_emptied():
    """What a test wrote for good is removed by us: see `tests.emptying`."""
    from django.db import connections
    from django.test import TransactionTestCase

    from tests.emptying import empty_tables

    def _fixture_teardown(case):
        for alias in case._databases_names(include_mirrors=False):
            empty_tables(connections[alias])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", _fixture_teardown)
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_read_once():
    """Every client of httpx reads all certificates of the machine, also one that never speaks TLS."""
    from httpx._transports import default

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default, "create_ssl_context", cache(default.create_ssl_context))
        yield


@pytest.fixture(scope="session")
def _compiler():
    from tests.compiled_once import CompiledOnce
    from workflows_app.services import compiling

    with pytest.MonkeyPatch.context() as patch:
        compiler = CompiledOnce()
        patch.setattr(compiling, "compile_source", compiler)
        yield compiler


@pytest.fixture(autouse=True)
def _sources_are_compiled_once(request, _compiler):
    _compiler.is_off = "monkeypatch" in request.fixturenames


@pytest.fixture(scope="session", autouse=True)
def _no_limit_of_a_door():
    """A door limits the statements of its process when it is imported. A test that imports it goes on filling tables."""
    from workrail_site import patience

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patience, "limit_statements", lambda **_limits: None)
        yield


@pytest.fixture(scope="session", autouse=True)
def _rest_answers_as_declared():
    from tests import declared_answers

    with pytest.MonkeyPatch.context() as patch:
        declared_answers.hold(patch)
        yield


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup, django_db_blocker):
    from tests import as_web

    if not as_web.is_asked_for():
        yield
        return
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patch:
        as_web.grant()
        as_web.hold(patch)
        yield


@pytest.fixture(autouse=True)
def _in_no_request():
    """What a test lets in by itself does not outlive it."""
    from teams_app.services.row_scope import within_scope

    with within_scope(None):
        yield


@pytest.fixture
def board(tmp_path, monkeypatch):
    """A server of somebody else, whose certificate is trusted here."""
    from tests.notice_board import NoticeBoard

    opened = NoticeBoard(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(opened.certificate))
    yield opened
    opened.close()
