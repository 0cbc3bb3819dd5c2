"""What an agent sees around it: branch, commit, repository, ticket. Given at the start or later, kept as events."""

import hashlib
from collections.abc import Collection, Mapping
from uuid import UUID

from sessions_app.engine.log import EventDraft, EventKind
from sessions_app.engine.runs import ObservationKey
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, to_text

MAX_CHARACTERS = {
    ObservationKey.GIT_BRANCH: 256,
    ObservationKey.GIT_HEAD_SHA: 64,
    ObservationKey.REPOSITORY: 512,
    ObservationKey.TICKET: 128,
}


def check_observations(observations: Mapping[ObservationKey, str]) -> None:
    for key, value in observations.items():
        most = MAX_CHARACTERS[key]
        if not value.strip() or len(value) > most or not value.isprintable():
            message = f"The observation {key.value} is empty, longer than {most} characters, or not one line of text."
            first, *more = key.value.split("_")
            path = f"observations.{first}{''.join(part.title() for part in more)}"
            raise InvalidInputError(
                message,
                suggestion="Send it as git or the tracker prints it, or leave it out.",
                details={
                    "key": key.value,
                    "maxCharacters": most,
                    "validationErrors": [{"path": path, "message": message}],
                },
            )


def may_come_back(*, observations: Mapping[ObservationKey, str], current: Mapping[ObservationKey, str]) -> bool:
    """Whether a value takes the place of another one: only then may the log have told it before."""
    return any(current.get(key) and current[key] != value for key, value in observations.items())


def observation_drafts(
    *,
    session_id: UUID,
    observations: Mapping[ObservationKey, str],
    current: Mapping[ObservationKey, str],
    known: Collection[str] = (),
) -> list[EventDraft]:
    """What the agent sees around it now, and did not see before. `known` are the observations that the log holds already:
    a value that comes back after another one is a further event.
    """
    return [
        EventDraft(
            kind=EventKind.OBSERVATION_RECORDED,
            dedupe=_observation_name(session_id, key, value, known),
            data={"key": key.value, "value": value, "confidence": "high"},
        )
        for key, value in observations.items()
        if current.get(key) != value
    ]


def _observation_name(session_id: UUID, key: ObservationKey, value: str, known: Collection[str]) -> str:
    digest = hashlib.sha256(value.encode("utf-8")).hexdigest()[:16]
    name = f"{EventKind.OBSERVATION_RECORDED.value}:{to_text(Prefix.SESSION, session_id)}:{key.value}:{digest}"
    times = sum(1 for said in known if said == name or said.startswith(f"{name}:"))
    return f"{name}:{times}" if times else name
