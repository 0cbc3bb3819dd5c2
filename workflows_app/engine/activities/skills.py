"""Skills: documents of a folder, or Markdown techniques; found by name here, in the home of a borrowed activity, or in meta."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import Any

from teams_app.engine.closest import is_one_slip
from workflows_app.engine.activities.documents import (
    MARKDOWN,
    Document,
    as_warning,
)
from workflows_app.engine.activities.findings import FolderFindings
from workflows_app.engine.activities.folder import TECHNIQUE_CONTRACT, Folder, FolderEntry, FolderPart, order_of_index
from workflows_app.engine.activities.held import HeldDocuments
from workflows_app.engine.activities.references import META, group_candidates, skill_candidates
from workflows_app.engine.activities.shape import FolderShape
from workflows_app.engine.activities.techniques import inherits, read_technique, rules_technique
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem, no_object
from workflows_app.engine.program import Attachment
from workflows_app.engine.reading import SharedReading
from workflows_app.engine.source import ContentKind, SourceContent, Strictness

# What skills say, and of those the words that another may be nearly: what else stands in a skill is its author's matter.
_SAID = (
    *("version", "title", "name", "description", "protocol", "operations", "tools", "inputs", "output", "outputs"),
    *("rules", "errors", "resources", "resource"),
)
_FREE = frozenset(("id", "capability", "roles"))
_MOST_COMPARED = 50


class SkillFolder:
    """The skills of one folder. Each is read once, when it is first asked for."""

    def __init__(self, folder: Folder, *, strictness: Strictness, reading: SharedReading) -> None:
        self.owner = folder.owner
        self._strictness = strictness
        self._reading = reading
        self._entries: dict[str, FolderEntry] = {}
        self._twins: list[WorkflowProblem] = []
        self._read: dict[str, tuple[HeldDocuments | None, tuple[WorkflowProblem, ...]]] = {}
        for entry in folder.of(FolderPart.SKILL, FolderPart.TECHNIQUE):
            kept = self._entries.setdefault(entry.name, entry)
            if kept is not entry:
                self._twins.append(_twin(entry, kept))

    def names(self) -> Iterable[str]:
        return self._entries.keys()

    def has(self, name: str) -> bool:
        return name in self._entries

    def file_of(self, name: str) -> str:
        return self._entries[name].file

    def get(self, name: str) -> HeldDocuments | None:
        return self._look(name)[0]

    def rules(self, name: str) -> HeldDocuments | None:
        """Some rules of a technique, as `technique::rule` or `technique::beginning-of-its-rules` asks for them."""
        base, colons, rule = name.rpartition("::")
        entry = self._entries.get(base) if colons else None
        held = self.get(base) if entry is not None and entry.suffix == MARKDOWN else None
        return None if held is None else rules_technique(of=held, name=name, rule=rule)

    def all(self) -> Iterator[tuple[str, HeldDocuments]]:
        for name in self._entries:
            held = self.get(name)
            if held is not None:
                yield name, held

    def problems(self) -> Iterator[WorkflowProblem]:
        """What was wrong with the files read so far, and with those that nobody will read."""
        yield from self._twins
        for _, problems in self._read.values():
            yield from problems

    def _look(self, name: str) -> tuple[HeldDocuments | None, tuple[WorkflowProblem, ...]]:
        if name not in self._entries:
            return None, ()
        if name not in self._read:
            self._read[name] = self._load(self._entries[name])
        return self._read[name]

    def _load(self, entry: FolderEntry) -> tuple[HeldDocuments | None, tuple[WorkflowProblem, ...]]:
        if entry.suffix == MARKDOWN:
            text, problems = self._reading.markdown(data=entry.data, file=entry.file)
            if text is None:
                return None, problems
            contracts = self._contracts(entry)
            read = partial(read_technique, entry=entry, text=text, owner=self.owner, contracts=contracts)
            return self._reading.once((entry, self.owner, *contracts), read), problems
        document, problems = self._reading.document(data=entry.data, file=entry.file, strictness=self._strictness)
        if document is None:
            return None, problems
        if not isinstance(document.value, dict):
            return None, (*problems, no_object(entry.file, "A skill"))
        held, told = _skill(entry, document, document.value, self.owner, self._strictness)
        return held, (*problems, *told)

    def _contracts(self, entry: FolderEntry) -> list[str]:
        """The techniques whose inputs and rules this one inherits: those of its group and of the whole folder."""
        groups = entry.name.split("::")[:-1]
        names = [TECHNIQUE_CONTRACT, *("::".join(groups[: depth + 1]) for depth in range(len(groups)))]
        return [name for name in names if name != entry.name and name in self._entries]


class Skills:
    """All skills that a workflow can refer to, and which of them it did."""

    def __init__(
        self,
        *,
        own: SkillFolder,
        shelf_of: Callable[[str], SkillFolder | None],
        findings: FolderFindings,
        unpublished: Callable[[str], str],
    ) -> None:
        self._own = own
        self._shelf_of = shelf_of
        self._findings = findings
        self._unpublished = unpublished
        self._asked: dict[SkillFolder, None] = {}
        self._others: dict[tuple[str, str], HeldDocuments] = {}

    def named(self, reference: str, *, group: str, home: str = "") -> str:
        """A bare name is first that of a technique in the group which is called like the activity."""
        found = (
            (self._shelf(owner), name) for owner, name in group_candidates(reference, group, self._own.owner, home)
        )
        return next((name for shelf, name in found if shelf is not None and shelf.has(name)), reference)

    def find(self, reference: str, *, home: str = "") -> HeldDocuments | None:
        """The skill. What was asked of another folder becomes part of the program."""
        for shelf, name in self._places(reference, home):
            held = shelf.get(name)
            if held is not None:
                if shelf is not self._own:
                    self._lend(shelf, name, held)
                return held
        return self._rules(reference, home)

    def _lend(self, shelf: SkillFolder, name: str, held: HeldDocuments) -> None:
        """With what it inherits: the rules that hold for it are those of the day it was lent."""
        self._others[shelf.owner, name] = held
        for inherited in inherits(held):
            found = shelf.get(inherited)
            if found is not None:
                self._others[shelf.owner, inherited] = found

    def _rules(self, reference: str, home: str) -> HeldDocuments | None:
        for shelf, name in self._candidates(reference, home):
            held = shelf.rules(name)
            if held is not None:
                self._lend(shelf, name, held)
                return held
        return None

    def require(
        self, reference: str, *, at: FolderShape, key: str, home: str = "", is_told: bool = False
    ) -> HeldDocuments | None:
        """As `find`; a reference that leads nowhere is a warning at its place, since the skill may come later. One to a file of another
        folder that cannot be read is none: that file is told of, and nobody mends it here. Nor is one of which it `is_told` why it
        leads nowhere.
        """
        held = self.find(reference, home=home)
        broken = None if held is not None else self._broken(reference, home)
        if broken is not None and broken[0] is self._own:
            message, hint = f"The skill {reference[:80]!r} cannot be read.", f"Mend {broken[1]}."
            at.warn(ProblemCode.UNKNOWN_SKILL, key, message, hint)
        elif held is None and broken is None and not is_told:
            self._tell_unknown(reference, at=at, key=key, home=home)
        return held

    def _tell_unknown(self, reference: str, *, at: FolderShape, key: str, home: str) -> None:
        """Compared with the names of the folder that it names, and with its own where it names none."""
        owner, mark, name = _parted(reference)
        shelf = self._shelf(owner) if mark else None
        absent = self._unpublished(owner)
        is_named = shelf is not None or mark == "/" or "." in owner or bool(absent)
        if shelf is not None:
            hint = self._findings.hint(name, shelf.names(), before="" if shelf is self._own else f"{owner}{mark}")
        elif is_named:
            hint = absent
        else:
            hint = self._findings.hint(reference, *self._names(home))
        place = f"in the folder of {owner!r}" if is_named else f"in this workflow or in {META!r}"
        at.problem(
            ProblemCode.UNKNOWN_SKILL,
            key,
            f"No skill {reference[:80]!r} is {place}.",
            severity=Severity.WARNING,
            suggestion=hint,
            tells_of_other=(home if shelf is None else shelf.owner) not in {"", self._own.owner, META},
        )

    def close(self) -> tuple[HeldDocuments, ...]:
        """Every skill that belongs into the program, in order; tells what was wrong with the files that were read.

        A file that cannot be read is a warning, as a skill that is missing is: the steps that name one of this folder say so as well.
        """
        meta = self._shelf(META)
        held = {(self._own.owner, name): found for name, found in self._own.all()}
        held.update(((META, name), found) for name, found in (meta.all() if meta is not None else ()))
        held.update(self._others)
        for shelf in dict.fromkeys((self._own, *([meta] if meta is not None else []), *self._asked)):
            self._findings.take(as_warning(problem) for problem in shelf.problems())
        return tuple(sorted(held.values(), key=self._order))

    def _places(self, reference: str, home: str) -> Iterator[tuple[SkillFolder, str]]:
        """The shelves that have a file of the name, in the order in which they count."""
        for shelf, name in self._candidates(reference, home):
            if shelf.has(name):
                self._asked[shelf] = None
                yield shelf, name

    def _candidates(self, reference: str, home: str) -> Iterator[tuple[SkillFolder, str]]:
        first = reference.partition("::")[0]
        owners = (first,) if "::" in reference and self._shelf(first) else ()
        for owner, name in skill_candidates(reference, own=self._own.owner, home=home, owners=owners):
            shelf = self._shelf(owner)
            if shelf is not None:
                yield shelf, name

    def _broken(self, reference: str, home: str) -> tuple[SkillFolder, str] | None:
        """The file that has this name, or that of the technique of which rules are asked for, and cannot be read; with its shelf."""
        found = next(((shelf, shelf.file_of(name)) for shelf, name in self._places(reference, home)), None)
        base = reference.rpartition("::")[0]
        if found is not None or not base:
            return found
        of = ((shelf, shelf.file_of(name)) for shelf, name in self._places(base, home) if shelf.get(name) is None)
        return next(of, None)

    def _shelf(self, owner: str) -> SkillFolder | None:
        return self._own if owner == self._own.owner else self._shelf_of(owner)

    def _names(self, home: str) -> Iterator[Iterable[str]]:
        lender = self._shelf(home) if home else None
        if lender is not None:
            yield lender.names()
        yield self._own.names()
        meta = self._shelf(META)
        if meta is not None:
            yield meta.names()

    def _order(self, held: HeldDocuments) -> tuple[bool, str, int, str]:
        attachment = held.attachment
        foreign = attachment.owner != self._own.owner
        return (foreign, attachment.owner, order_of_index(attachment.index), attachment.id)


def _parted(reference: str) -> tuple[str, str, str]:
    """The folder that a reference may name, the mark behind it, and the name there."""
    mark = "/" if "/" in reference else "::"
    owner, found, name = reference.partition(mark)
    return (owner, mark, name) if found else ("", "", reference)


def _skill(
    entry: FolderEntry, document: Document, value: Mapping[str, Any], owner: str, strictness: Strictness
) -> tuple[HeldDocuments, tuple[WorkflowProblem, ...]]:
    findings = FolderFindings(strictness=strictness)
    shape = FolderShape(value, findings=findings, file=entry.file)
    if shape.text("id", default=entry.name) != entry.name:
        message = f"The file is called {entry.name!r}; references go by that name."
        shape.warn(ProblemCode.CONFLICTING_KEYS, "id", message)
    capability = shape.text("capability", required=True)
    _tell_slips(shape, value)
    content = SourceContent.of_document(
        kind=ContentKind.SKILL, text=document.text, document=document.value, digest=document.digest
    )
    attachment = Attachment(
        id=entry.name,
        digest=content.digest,
        owner=owner,
        index=entry.index,
        version=shape.text("version"),
        title=shape.text("title") or shape.text("name"),
        summary=capability,
        format=entry.suffix.removeprefix("."),
        resources=_resources(value),
    )
    return HeldDocuments(attachment=attachment, content=content, file=entry.file), findings.listed()


def _tell_slips(shape: FolderShape, value: Mapping[str, Any]) -> None:
    """A key that is nearly one of those that skills have, and which is not there. One of many, or many for one, are other words."""
    missed = [key for key in _SAID if key not in value]
    for key in islice((key for key in value if key not in _FREE and key not in _SAID), _MOST_COMPARED):
        meant = next(
            (each for each in missed if is_one_slip(key, each) and f"{each}s" != key and f"{key}s" != each), ""
        )
        if meant:
            message = f"The key {key!r} is not known in a skill; agents read it, and nothing else does."
            shape.warn(ProblemCode.UNKNOWN_KEY, key, message, f"Did you mean {meant!r}?")


def _resources(value: Mapping[str, Any]) -> tuple[str, ...]:
    """`resources` is a list of references; the first generation has one under `resource`."""
    listed = value.get("resources")
    named = listed if isinstance(listed, list) else [value.get("resource")]
    return tuple(dict.fromkeys(word for word in map(_word, named) if word))


def _word(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return ""
    return str(value)


def _twin(entry: FolderEntry, kept: FolderEntry) -> WorkflowProblem:
    return WorkflowProblem(
        code=ProblemCode.DUPLICATE_ID,
        message=f"The skill {entry.name!r} is read from {kept.file}; this file is not read.",
        severity=Severity.WARNING,
        file=entry.file,
    )
