"""What a name of a skill or resource means: in which folders it is looked for, and in which order."""

from collections.abc import Collection

from workflows_app.engine.program import Attachment, Program

META = "meta"


def skill_candidates(
    reference: str, *, own: str, home: str = "", owners: Collection[str] = ()
) -> list[tuple[str, str]]:
    """The (owner, id) pairs to try. `home` is the folder that a borrowed activity came from.

    `wf/id` is that workflow's; a bare id and `group::operation` are looked for in the workflow itself, then in `home`, then
    in `meta`; `wf::group::operation` names a workflow when one of `owners` has its first part as id.
    """
    owner, slash, name = reference.partition("/")
    if slash:
        return [(_owner(owner, own), name)]
    places = [(place, reference) for place in _places(own, home)]
    first, colons, rest = reference.partition("::")
    if colons and (first in owners or _owner(first, own) == own):
        places.append((_owner(first, own), rest))
    return places


def resource_candidates(reference: str, *, own: str, home: str = "") -> list[tuple[str, str]]:
    """As for skills; `home` is the owner of the skill that asks. What follows `#` is a place within the resource."""
    wanted = reference.partition("#")[0].removesuffix(".md")
    owner, slash, name = wanted.partition("/")
    if slash and owner not in {"resources", ".."}:
        return [(_owner(owner, own), name.rpartition("/")[2])]
    return [(place, wanted.rpartition("/")[2]) for place in _places(own, home)]


def same_resource(attachment: Attachment, name: str) -> bool:
    """A reference is an index, the name of the file with its index, or the id; "0", "00" and "000" are one index."""
    number = name.partition("-")[0]
    if (
        attachment.index
        and number.isascii()
        and number.isdigit()
        and number.lstrip("0") == attachment.index.lstrip("0")
    ):
        return True
    return name == attachment.id


def find_skill(*, program: Program, reference: str, home: str = "") -> Attachment | None:
    """The skill that a reference in this program means."""
    held = {(skill.owner, skill.id): skill for skill in program.skills}
    owners = {skill.owner for skill in program.skills}
    candidates = skill_candidates(reference, own=program.id, home=home, owners=owners)
    return next((held[key] for key in candidates if key in held), None)


def find_resource(*, program: Program, reference: str, home: str = "") -> Attachment | None:
    """The resource that a reference in this program means."""
    for owner, name in resource_candidates(reference, own=program.id, home=home):
        for resource in program.resources:
            if resource.owner == owner and same_resource(resource, name):
                return resource
    return None


def _places(own: str, home: str) -> list[str]:
    return list(dict.fromkeys(place for place in (own, home, META) if place))


def _owner(name: str, own: str) -> str:
    """A workflow that was renamed into a namespace still answers to its old name within its own folder."""
    return own if name in {own, own.rpartition(".")[2]} else name
