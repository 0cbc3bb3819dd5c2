"""What a name of a skill or resource means: in which folders it is looked for, and in which order."""

from collections.abc import Collection

from workflows_app.engine.program import Attachment, Program

META = "meta"


def skill_candidates(
    reference: str, *, own: str, home: str = "", owners: Collection[str] = ()
) -> list[tuple[str, str]]:
    """The (owner, id) pairs to try. `home` is the folder that a borrowed activity came from.

    `wf/id` is that workflow's; a bare id and `group::operation` are looked for in `home`, then in the workflow itself, then
    in `meta`; `wf::group::operation` names a workflow when one of `owners` has its first part as id.
    """
    owner, slash, name = reference.partition("/")
    if slash:
        return [(owner_named(owner, own), name)]
    places = [(place, reference) for place in _places(home, own)]
    first, colons, rest = reference.partition("::")
    if colons and (first in owners or owner_named(first, own) == own):
        places.append((owner_named(first, own), rest))
    return places


def group_candidates(reference: str, group: str, own: str, home: str = "") -> list[tuple[str, str]]:
    """Where a bare name may be an operation of the group that is called like the activity which asks."""
    if not reference or "::" in reference or "/" in reference:
        return []
    return [(place, f"{group}::{reference}") for place in _places(home, own)]


def resource_candidates(reference: str, *, own: str, home: str = "") -> list[tuple[str, str]]:
    """As for skills; `home` is the owner of the skill that asks. What follows `#` is a place within the resource."""
    wanted = reference.partition("#")[0].removesuffix(".md")
    owner, slash, name = wanted.partition("/")
    if slash and owner not in {"resources", ".."}:
        return [(owner_named(owner, own), name.rpartition("/")[2])]
    return [(place, wanted.rpartition("/")[2]) for place in _places(own, home)]


def resource_keys(*, index: str, name: str) -> tuple[str, ...]:
    """What a resource answers to: its number, however it is written, and its name."""
    return (f"#{index.lstrip('0')}", name) if index else (name,)


def wanted_keys(name: str) -> tuple[str, ...]:
    """What a reference asks for, in this order: "1", "01" and "01-guide" name a number, and may be a name as well."""
    number = name.partition("-")[0]
    return (f"#{number.lstrip('0')}", name) if number.isascii() and number.isdigit() else (name,)


def find_skill(*, program: Program, reference: str, home: str = "") -> Attachment | None:
    """The skill that a reference in this program means."""
    held = {(skill.owner, skill.id): skill for skill in program.skills}
    owners = {skill.owner for skill in program.skills}
    candidates = skill_candidates(reference, own=program.id, home=home, owners=owners)
    return next((held[key] for key in candidates if key in held), None)


def find_resource(*, program: Program, reference: str, home: str = "") -> Attachment | None:
    """The resource that a reference in this program means."""
    held: dict[tuple[str, str], Attachment] = {}
    for resource in program.resources:
        for key in resource_keys(index=resource.index, name=resource.id):
            held.setdefault((resource.owner, key), resource)
    candidates = resource_candidates(reference, own=program.id, home=home)
    wanted = ((owner, key) for owner, name in candidates for key in wanted_keys(name))
    return next((held[key] for key in wanted if key in held), None)


def _places(*owners: str) -> list[str]:
    return list(dict.fromkeys(owner for owner in (*owners, META) if owner))


def owner_named(name: str, own: str) -> str:
    """A workflow that was renamed into a namespace still answers to its old name within its own folder."""
    return own if name in {own, own.rpartition(".")[2]} else name
