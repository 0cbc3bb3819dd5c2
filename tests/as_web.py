"""What doors do, done by the role that serves requests in the team that it serves.

With `WORKRAIL_TESTS_AS_WEB=1` all tests have it so. What a test does by itself, outside of every request, is done by the owner
as ever: both share the test's one connection and transaction, so each statement says as whom it is run.
"""

import os
from contextlib import contextmanager
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from teams_app.services.roles import APP_ROLE, UPKEEP_ROLE
from teams_app.services.row_scope import RowScope, within_scope
from workrail_site.postgres import scoped

ASKED_FOR = "WORKRAIL_TESTS_AS_WEB"


def is_asked_for():
    return os.environ.get(ASKED_FOR, "").strip() not in {"", "0"}


def hold(patch):
    of_scope = scoped.settings_of

    def settings_of(scope):
        return (("role", "none"),) if scope is None else (("role", APP_ROLE), *of_scope(scope))

    patch.setattr(scoped, "settings_of", settings_of)


def grant():
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_roles WHERE rolname = ANY(%s)", [[APP_ROLE, UPKEEP_ROLE]])
        if cursor.fetchone() != (2,):
            pytest.skip("the server has no roles beside the owner")
    call_command("grant_roles", verbosity=0, stdout=StringIO())


@contextmanager
def as_role(role, scope=None):
    """What the process does on a connection of the role, for as long as it lasts."""
    connection.close()
    user, connection.settings_dict["USER"] = connection.settings_dict["USER"], role
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT session_user")
            assert cursor.fetchone() == (role,)
        with within_scope(scope):
            yield
    finally:
        connection.close()
        connection.settings_dict["USER"] = user


def as_web(team_id):
    """As a request that is let in to the team."""
    return as_role(APP_ROLE, RowScope(team=team_id))
