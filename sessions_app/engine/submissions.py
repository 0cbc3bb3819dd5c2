"""What an agent hands in, read once for every door: how much of it there may be, and that each artifact names its kind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sessions_app.engine.findings import Artifact
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.normal_forms import SEEN
from workflows_app.engine import canonical

MAX_ARTIFACTS = 20
MAX_ARTIFACT_BYTES = 64 * 1024
MAX_ARTIFACT_KIND_CHARACTERS = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What an agent hands in with an acknowledgement. Artifacts are JSON objects with a `kind`."""

    notes: str = ""
    artifacts: tuple[Artifact, ...] = ()
    context: Mapping[str, Any] | None = None

    @property
    def is_empty(self) -> bool:
        return not (self.notes.strip() or self.artifacts or self.context)

    @property
    def digest(self) -> str:
        return canonical.digest(canonical.canonical_bytes(self.as_json()))

    def as_json(self) -> dict[str, Any]:
        artifacts = [dict(artifact) for artifact in self.artifacts]
        return {"notes": self.notes.strip(), "artifacts": artifacts, "context": dict(self.context or {})}


NOTHING = Submission()


def place_for(name: str) -> str:
    """What stands in a ready-made call where a value goes. Handed in as it stands it says nothing."""
    return f"<{name}>"


# Where notes go.
NOTES_PLACEHOLDER = place_for("what you did, what you found, what is next")
MEMORY_PLACEHOLDER = place_for("what should be remembered")
ANY_NOTES_PLACEHOLDER = place_for("notes")
_PLACES_OF_NOTES = frozenset({NOTES_PLACEHOLDER, MEMORY_PLACEHOLDER, ANY_NOTES_PLACEHOLDER})


def said_in(notes: str) -> str:
    """The notes; nothing where they are the place for them, or nobody sees anything of them."""
    return "" if notes.strip() in _PLACES_OF_NOTES or not SEEN.search(notes) else notes


def not_filled_in(artifact: Artifact) -> tuple[str, ...]:
    """The keys that hold their places still, of the artifact and of the objects in it."""
    return tuple(dict.fromkeys(_not_filled_in(artifact)))


def _not_filled_in(value: Any) -> Iterator[str]:
    match value:
        case Mapping():
            for key, inner in value.items():
                if inner in (place_for(key), [place_for(key)]):
                    yield key
                else:
                    yield from _not_filled_in(inner)
        case list():
            for inner in value:
                yield from _not_filled_in(inner)
        case _:
            pass


def read_submission(
    *,
    notes: str = "",
    artifacts: Sequence[Artifact] = (),
    context: Mapping[str, Any] | None = None,
    place: str = "artifacts",
) -> Submission:
    """Notes of any length (the log keeps what it keeps of them) and artifacts within the limits. `place` is the argument in which
    the artifacts came.

    Raises InvalidInputError, which says the place and the measure of everything that is wrong.
    """
    issues = list(_issues(artifacts, place))
    if issues:
        raise InvalidInputError(
            f"The artifacts cannot be recorded: {issues[0]['path']}: {issues[0]['message']}",
            suggestion=f"Nothing was recorded. Mend {place}, and make the same call again.",
            details={
                "validationErrors": issues,
                "maxArtifacts": MAX_ARTIFACTS,
                "maxArtifactBytes": MAX_ARTIFACT_BYTES,
            },
        )
    said = None if context is None else {name: value for name, value in context.items() if value != place_for(name)}
    return Submission(notes=said_in(notes), artifacts=tuple(artifacts), context=said)


def _issues(artifacts: Sequence[Artifact], place: str) -> Iterator[dict[str, str]]:
    if len(artifacts) > MAX_ARTIFACTS:
        words = f"There are {len(artifacts)} artifacts; at most {MAX_ARTIFACTS} are taken at once."
        yield {"path": place, "message": words}
        return
    for index, artifact in enumerate(artifacts):
        message = _wrong_with(artifact)
        if message:
            yield {"path": f"{place}[{index}]", "message": message}


def _wrong_with(artifact: Artifact) -> str:
    kind = artifact.get("kind")
    if not isinstance(kind, str) or not kind.strip():
        return 'An artifact is an object that names its kind: {"kind": "…", …}.'
    if len(kind) > MAX_ARTIFACT_KIND_CHARACTERS:
        return f"The kind is longer than {MAX_ARTIFACT_KIND_CHARACTERS} characters."
    try:
        size = len(canonical.canonical_bytes(dict(artifact)))
    except canonical.NotCanonicalError as error:
        return f"The artifact of kind {kind!r} is no plain JSON: {error}"
    if size > MAX_ARTIFACT_BYTES:
        return f"The artifact of kind {kind!r} has {size} bytes; at most {MAX_ARTIFACT_BYTES} are taken."
    return ""
