"""What an agent sees around it: branch, commit, repository, ticket. Given at the start or later, kept as events."""

import hashlib
from collections.abc import Mapping
from uuid import UUID

from sessions_app.engine.log import EventDraft, EventKind
from sessions_app.engine.runs import ObservationKey
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import unseen_in
from teams_app.engine.normal_forms import trimmed

MAX_CHARACTERS = {
    ObservationKey.GIT_BRANCH: 256,
    ObservationKey.GIT_HEAD_SHA: 64,
    ObservationKey.REPOSITORY: 512,
    ObservationKey.TICKET: 128,
}


def check_observations(observations: Mapping[ObservationKey, str]) -> None:
    for key, value in observations.items():
        most = MAX_CHARACTERS[key]
        unseen = unseen_in(value[:most])
        if unseen or not trimmed(value) or len(value) > most:
            message = f"The observation {key.value} is empty, or longer than {most} characters."
            if unseen:
                message = f"The observation {key.value} holds the character {unseen}, which nobody sees."
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


def observation_drafts(
    *,
    session_id: UUID,
    observations: Mapping[ObservationKey, str],
    current: Mapping[ObservationKey, str],
    next_index: int,
) -> list[EventDraft]:
    """What the agent sees around it now, and did not see before. What takes the place of another value may have been seen before
    that one: its event is named after its place in the log as well, since to look for earlier ones would be to read the log.
    """
    return [
        EventDraft(
            kind=EventKind.OBSERVATION_RECORDED,
            dedupe=_observation_name(session_id, key, value) + (f":{next_index}" if current.get(key) else ""),
            data={"key": key.value, "value": value, "confidence": "high"},
        )
        for key, value in observations.items()
        if current.get(key) != value
    ]


def _observation_name(session_id: UUID, key: ObservationKey, value: str) -> str:
    digest = hashlib.sha256(value.encode("utf-8")).hexdigest()[:16]
    return f"{EventKind.OBSERVATION_RECORDED.value}:{to_text(Prefix.SESSION, session_id)}:{key.value}:{digest}"
