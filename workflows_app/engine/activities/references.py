"""What a name of a skill or resource means: in which folders it is looked for, and in which order."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec.structs import replace

from workflows_app.engine.program import Activity, Attachment, Item, Loop, Program, Step, walk_items

META = "meta"
# Of a workflow that names none: how a session is carried, and how an activity is done.
PROTOCOLS = ("session-protocol", "execute-activity")
_ENDING = re.compile(r"\.(?:md|json|ya?ml|toon)\Z", re.IGNORECASE)


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
    wanted = reference.partition("#")[0]
    owner, slash, name = wanted.partition("/")
    if slash and owner not in {"resources", ".."}:
        return [(owner_named(owner, own), name.rpartition("/")[2])]
    return [(place, wanted.rpartition("/")[2]) for place in _places(own, home)]


def resource_keys(*, index: str, name: str) -> tuple[str, ...]:
    """What a resource answers to: its number, however it is written, and its name."""
    return (f"#{index.lstrip('0')}", name) if index else (name,)


def resources_by_key(resources: Iterable[Attachment]) -> dict[str, Attachment]:
    """What each of one workflow answers to: its number, the name of its file, and its id where that is another one. Of two that
    answer to one, the first does, and a file before an id.
    """
    listed = tuple(resources)
    found: dict[str, Attachment] = {}
    for item in listed:
        for key in resource_keys(index=item.index, name=item.file_name or item.id):
            found.setdefault(key, item)
    for item in listed:
        found.setdefault(item.id, item)
    return found


def find_among(resources: Iterable[Attachment], name: str) -> Attachment | None:
    """What this name means among the resources of one workflow."""
    return _found_by(resources_by_key(resources), name)


def resource_names(resources: Iterable[Attachment]) -> dict[Attachment, str]:
    """By what each is found among these: its number, where none before it has that too, else the name of its file, or its id."""
    listed = tuple(resources)
    keys = resources_by_key(listed)
    return {item: next((name for name in _names(item) if _found_by(keys, name) == item), item.id) for item in listed}


def _names(item: Attachment) -> Iterator[str]:
    return filter(None, (item.index, item.file_name, item.id))


def _found_by(keys: Mapping[str, Attachment], name: str) -> Attachment | None:
    return next((keys[key] for key in wanted_keys(name) if key in keys), None)


def wanted_keys(name: str) -> tuple[str, ...]:
    """What a reference asks for, in this order: "1", "01" and "01-guide" name a number, and may be a name as well; a file may be
    named with its ending.
    """
    number = _ENDING.sub("", name).partition("-")[0]
    names = dict.fromkeys((name, _ENDING.sub("", name)))
    return (f"#{number.lstrip('0')}", *names) if number.isascii() and number.isdigit() else tuple(names)


class SkillNames:
    """What names of skills mean in one program, and by which name each of them is read there."""

    def __init__(self, program: Program) -> None:
        self._own = program.id
        self._held = {(skill.owner, skill.id): skill for skill in program.skills}
        self._owners = {skill.owner for skill in program.skills}

    def find(self, reference: str, *, home: str = "") -> Attachment | None:
        candidates = skill_candidates(reference, own=self._own, home=home, owners=self._owners)
        return next((self._held[key] for key in candidates if key in self._held), None)

    def name_of(self, skill: Attachment, *, said: str = "", taken: Collection[str] = ()) -> str:
        """The shortest that leads to this very skill from wherever in the program one asks; `said` goes before the others, and
        what is `taken` is no name. Empty where nothing leads there.
        """
        names = (said, skill.id, f"{skill.owner}::{skill.id}", f"{skill.owner}/{skill.id}")
        return next((name for name in names if name and name not in taken and self.find(name) == skill), "")

    def read_as(self, reference: str, *, home: str = "", taken: Collection[str] = ()) -> str:
        """The name for what a reference means in an activity of `home`; as it stands where it leads nowhere."""
        if not home and reference not in taken:
            return reference
        found = self.find(reference, home=home)
        return (self.name_of(found, said=reference, taken=taken) if found else "") or reference


def find_skill(*, program: Program, reference: str, home: str = "") -> Attachment | None:
    """The skill that a reference in this program means."""
    return SkillNames(program).find(reference, home=home)


def skill_names(program: Program) -> list[str]:
    """By what each skill of the program is read there."""
    names = SkillNames(program)
    return sorted({names.name_of(skill) or skill.id for skill in program.skills})


def lent_name(program: Program, name: str) -> tuple[str, str]:
    """The workflow that this program has skills of and the name begins with, and the name there; both empty where it begins with
    none.
    """
    owners = {skill.owner for skill in program.skills} - {program.id}
    for sign in ("/", "::"):
        owner, found, rest = name.partition(sign)
        if found and owner in owners:
            return owner, rest
    return "", ""


def named_for_all(program: Program, activity: Activity) -> Activity:
    """The activity with its skills by names that read them from wherever they are asked for, not from within it alone. The ids of
    its steps are no such names, since a step is asked for by them.
    """
    names = SkillNames(program)
    steps = {item.id for item in walk_items(activity.body) if isinstance(item, Step)}
    home = activity.borrowed_from

    def item_named(item: Item) -> Item:
        if isinstance(item, Loop):
            return replace(item, body=tuple(map(item_named, item.body)))
        return replace(item, skill=names.read_as(item.skill, home=home)) if isinstance(item, Step) else item

    whole = tuple(names.read_as(name, home=home, taken=steps) for name in activity.supporting_skills)
    primary = names.read_as(activity.primary_skill, home=home, taken=steps)
    body = tuple(map(item_named, activity.body)) if home else activity.body
    return replace(activity, primary_skill=primary, supporting_skills=whole, body=body)


def leading_skills(program: Program) -> tuple[str, ...]:
    """What the workflow names for whoever leads it, beside its primary skill and what carries a session of every workflow."""
    known = {program.primary_skill, *PROTOCOLS}
    return tuple(dict.fromkeys(name for name in program.skill_ids if name and name not in known))


def readable_leading_skills(program: Program) -> tuple[str, ...]:
    """Those that the program has."""
    names = SkillNames(program)
    return tuple(name for name in leading_skills(program) if names.find(name) is not None)


def find_resource(*, program: Program, reference: str, home: str = "") -> Attachment | None:
    """The resource that a reference in this program means."""
    for owner, name in resource_candidates(reference, own=program.id, home=home):
        found = find_among((resource for resource in program.resources if resource.owner == owner), name)
        if found is not None:
            return found
    return None


def _places(*owners: str) -> list[str]:
    return list(dict.fromkeys(owner for owner in (*owners, META) if owner))


def owner_named(name: str, own: str) -> str:
    """A workflow that was renamed into a namespace still answers to its old name within its own folder."""
    return own if name in {own, own.rpartition(".")[2]} else name
