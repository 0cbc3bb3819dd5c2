"""As whom a measurement comes to the database: as in production, by the role that serves requests, whom the row policies bind."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from teams_app.engine.actors import Actor
from teams_app.services.roles import APP_ROLE
from teams_app.services.row_scope import within_team

_MAY_SERVE = """
SELECT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = %s AND has_table_privilege(oid, 'sessions_app_run', 'SELECT'))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Of a role of the database."""

    user: str
    password: str = ""


def serving_login() -> Login:
    """The web's role, where the server has it, `grant_roles` was run, and its password is known if one is asked for; else the owner."""
    password = str(settings.ROLE_PASSWORDS.get(APP_ROLE, ""))
    owner = Login(user=str(connection.settings_dict["USER"]), password=str(connection.settings_dict["PASSWORD"]))
    may_log_in = bool(password) or not owner.password
    return Login(user=APP_ROLE, password=password) if may_log_in and _may_serve(APP_ROLE) else owner


def _may_serve(role: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(_MAY_SERVE, [role])
        return bool(cursor.fetchone()[0])


@contextmanager
def serving(actor: Actor) -> Iterator[None]:
    """What this process does is done as at a door that has let the actor in. Its other connections are closed first."""
    login, of_process = serving_login(), connection.settings_dict
    before = Login(user=of_process["USER"], password=of_process["PASSWORD"])
    _log_in(login)
    try:
        with within_team(actor.team_id):
            yield
    finally:
        _log_in(before)


def _log_in(login: Login) -> None:
    """From the next connection on, in every thread: they share these settings."""
    connection.close()
    connection.settings_dict.update(USER=login.user, PASSWORD=login.password)
