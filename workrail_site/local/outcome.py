"""What the preparation hands to the starter, in one line, without the starter having to load Django."""

import json
from dataclasses import asdict, dataclass

_MARKER = "workrail-prepared "


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandOutcome:
    """The password and the key exist only here and on the screen; empty unless this was the first run."""

    created: bool
    team: str
    username: str
    password: str = ""
    key: str = ""
    studio_path: str = "/"

    def as_line(self) -> str:
        return _MARKER + json.dumps(asdict(self))


def read_outcome(line: str) -> CommandOutcome | None:
    if not line.startswith(_MARKER):
        return None
    return CommandOutcome(**json.loads(line.removeprefix(_MARKER)))
