"""The session in whose trace a call is told, where the client names one."""

from sessions_app.selectors.places import known_sessions
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, from_text
from workrail_site.mcp.calling import acting


def check_session(session_id: str | None) -> None:
    """A misspelt one would leave the call in no trace, without a word. The trace itself reads it from the arguments."""
    if session_id is None:
        return
    found, team_id = from_text(Prefix.SESSION, session_id), acting().team_id
    if found is None or not known_sessions(sessions={(team_id, found)}):
        raise InvalidInputError(
            f"Your team has no session {session_id!r}.",
            suggestion="Send an id like sess_… from a reply of another dialect, or leave sessionId out.",
        )
