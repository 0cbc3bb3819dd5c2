"""A folder of activities to a program: what the workflow says, its activities in order, and all that they read."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from workflows_app.engine import names
from workflows_app.engine.activities.activity import Inherited, ReadActivity, read_activity
from workflows_app.engine.activities.body import Surroundings
from workflows_app.engine.activities.definition import Definition, read_definition, untyped
from workflows_app.engine.activities.documents import Document, as_warning
from workflows_app.engine.activities.exits import check_graph, exits_of
from workflows_app.engine.activities.findings import FolderFindings
from workflows_app.engine.activities.folder import (
    ACTIVITIES_FOLDER,
    Folder,
    FolderEntry,
    FolderPart,
    activity_named,
    name_meant,
    sort_files,
)
from workflows_app.engine.activities.fragments import FragmentIndex, fragments_of
from workflows_app.engine.activities.held import HeldDocuments
from workflows_app.engine.activities.library import MAX_NEIGHBOUR_BYTES, Neighbours
from workflows_app.engine.activities.lint import LintPlaces, leads_on, lint
from workflows_app.engine.activities.references import META, owner_named
from workflows_app.engine.activities.resources import Resources, read_rules, read_templates
from workflows_app.engine.activities.shape import FolderShape
from workflows_app.engine.activities.skills import SkillFolder, Skills
from workflows_app.engine.packing import entry_file
from workflows_app.engine.problems import ProblemCode, Severity, WorkflowProblem, no_object
from workflows_app.engine.program import (
    COMPILER_VERSION,
    ConditionMode,
    Family,
    Program,
    Provenance,
    ProvenanceKind,
    Variable,
)
from workflows_app.engine.reading import SharedReading
from workflows_app.engine.source import Compilation, Library, Source, SourceContent


@dataclass(frozen=True, slots=True, kw_only=True)
class _Authored:
    """The document of one activity before it is read. `home` is the folder it was borrowed from, `called` its file's name where the
    id is another.
    """

    id: str
    shape: FolderShape
    artifact_prefix: str = ""
    called: str = ""
    home: str = ""
    source: str = ""
    digest: str = ""


def compile_folder(*, source: Source, library: Library, reading: SharedReading | None = None) -> Compilation:
    """The program of a workflow folder, or what is wrong with it. Reads any bytes and raises nothing. `reading` is shared
    by those that arrive together.
    """
    findings, reading = FolderFindings(strictness=source.strictness), reading or SharedReading()
    document = _entry(source, findings, reading)
    if document is None:
        return Compilation(program=None, workflow_id="", problems=findings.listed())
    shape = FolderShape(document.value, findings=findings, file=document.file)
    neighbours = Neighbours(library=library, strictness=source.strictness, reading=reading)
    fragments = FragmentIndex(
        own=shape.text("id"),
        held=fragments_of(document.value, file=document.file),
        of=neighbours.fragments,
        unpublished=neighbours.unpublished,
    )
    if not shape.text("id"):
        shape.missing("id", severity=Severity.ERROR)
    definition = read_definition(shape, fragments=fragments)
    if definition.id:
        problems = names.check_id(workflow_id=definition.id, origin=source.origin)
        findings.take(replace(problem, file=shape.file) for problem in problems)
    compiler = _Compiler(
        source=source,
        library=library,
        neighbours=neighbours,
        fragments=fragments,
        shape=shape,
        definition=definition,
        findings=findings,
        reading=reading,
    )
    return compiler.compilation()


def _entry(source: Source, findings: FolderFindings, reading: SharedReading) -> Document | None:
    """The object that describes the workflow."""
    path = entry_file(source)
    if path is None:
        message = "The folder has no workflow.toon (or workflow.yaml) at its top."
        findings.add(WorkflowProblem(code=ProblemCode.NO_WORKFLOW, message=message))
        return None
    document, problems = reading.document(data=source.files[path], file=path, strictness=source.strictness)
    findings.take(problems)
    if document is None:
        return None
    if not isinstance(document.value, dict) or not document.value:
        findings.add(no_object(path, "A workflow"))
        return None
    return document


# No workflow can be called so; what lies in its folder is its own all the same.
_UNNAMED = "\0"


class _Compiler:
    """One compilation: the folder, what surrounds it, and what was found wrong so far."""

    def __init__(
        self,
        *,
        source: Source,
        library: Library,
        neighbours: Neighbours,
        fragments: FragmentIndex,
        shape: FolderShape,
        definition: Definition,
        findings: FolderFindings,
        reading: SharedReading,
    ) -> None:
        self._source = source
        self._reading = reading
        self._library = library
        self._neighbours = neighbours
        self._fragments = fragments
        self._shape = shape
        self._definition = definition
        self._findings = findings
        self._folder = sort_files(
            files=source.files,
            owner=definition.id or _UNNAMED,
            entry=shape.file,
            activities_folder=definition.activities_folder,
        )
        shelf = SkillFolder(self._folder, strictness=source.strictness, reading=reading)
        self._skills = Skills(
            own=shelf, shelf_of=self._neighbours.shelf, findings=findings, unpublished=self._neighbours.unpublished
        )
        self._provenance: list[Provenance] = []
        # Activities that cannot be read, their files, and those that are listed and not there.
        self._unread: set[str] = set()
        self._broken: set[str] = set()
        self._missing: set[str] = set()

    def compilation(self) -> Compilation:
        self._findings.take(self._folder.problems)
        self._tell_strays_instead()
        authored = self._activities()
        read = self._read(authored)
        skills, resources, templates = self._attached()
        rules = self._rules()
        program = self._program(read, skills, resources, templates, rules)
        places = LintPlaces(
            workflow=self._shape,
            activities={one.activity.id: one.places for one in read},
            findings=self._findings,
            untyped=self._untyped(read),
            unread=self._neighbours.unread,
        )
        if not self._is_partial:
            self._findings.take(lint(program=program, places=places, workflow_ids=self._library.workflow_ids))
        if self._neighbours.are_too_large:
            message = f"The folders that it refers to have more than {MAX_NEIGHBOUR_BYTES} bytes together."
            self._shape.problem(ProblemCode.TOO_LARGE, "", message, severity=Severity.ERROR)
        broken = self._findings.has_errors
        contents = [held.content for held in (*skills, *resources, *templates)] + ([rules] if rules else [])
        return Compilation(
            program=None if broken else program,
            workflow_id=self._definition.id,
            problems=self._findings.listed(),
            contents=() if broken else _unique(contents),
            unread=self._folder.unread,
        )

    def _tell_strays_instead(self) -> None:
        """A file that is not read, where activities are, above them or in a folder that is nearly called so, may be the one that
        others lead to. One that is listed may be anywhere.
        """
        folder = self._definition.activities_folder
        nearly = f"Did you mean {folder!r}?"
        for problem in self._folder.problems:
            if problem.code is not ProblemCode.UNKNOWN_FILE:
                continue
            file, meant = problem.file, name_meant(problem.file)
            names = [_as_listed(file)]
            if file.startswith(f"{folder}/") or problem.suggestion == nearly or (meant and "/" not in file):
                names.extend({activity_named(file), activity_named(meant)})
            for name in filter(None, names):
                self._findings.tell_instead(name, file=file, code=problem.code)

    @property
    def _is_partial(self) -> bool:
        """Where an activity could not be read, or found, what others say of it is no mistake of theirs."""
        return bool(self._unread or self._missing) or self._shape.is_lost("activities", Severity.WARNING)

    def _is_told_instead(self, name: str) -> bool:
        return self._findings.is_told_instead(name, Severity.ERROR)

    def _untyped(self, read: list[ReadActivity]) -> frozenset[str]:
        inner = (one.places.shape.shape("variables") for one in read)
        of_activities = (name for shape in inner if shape is not None for name in untyped(shape, "writes"))
        return frozenset((*untyped(self._shape, "variables"), *of_activities))

    # Activities

    def _activities(self) -> dict[str, _Authored]:
        """By id: those of the folder by their number, then those that the workflow lists and the folder lacks."""
        found: dict[str, _Authored] = {}
        for entry in self._folder.of(FolderPart.ACTIVITY):
            self._keep(found, self._from_file(entry, home=""))
        for index, listed in enumerate(self._definition.listed):
            place = f"activities[{index}]"
            if isinstance(listed, str):
                self._borrow(found, listed, place)
            elif isinstance(listed, dict):
                shape = self._shape.inner(listed, place)
                self._keep(found, _Authored(id=shape.id(default=f"activity-{index + 1}"), shape=shape))
            else:
                self._shape.problem(ProblemCode.WRONG_TYPE, place, "An activity is an object or the name of a file.")
        self._tell_lent(found)
        if not found and not any(self._folder.of(FolderPart.ACTIVITY)) and not self._definition.listed:
            instead = next(iter(self._findings.told_instead), "")
            message = "The workflow has no activity."
            if not self._findings.is_told_instead(instead, Severity.ERROR):
                self._shape.problem(ProblemCode.MISSING_KEY, "activities", message, severity=Severity.ERROR)
        return found

    def _tell_lent(self, found: dict[str, _Authored]) -> None:
        taken = {authored.source for authored in found.values()}
        for entry in self._folder.of(FolderPart.LENT_ACTIVITY):
            if entry.file not in (taken | self._broken) and entry.name not in self._missing:
                # Who borrows it could not mend it.
                read = self._reading.document(data=entry.data, file=entry.file, strictness=self._source.strictness)
                self._findings.take(as_warning(problem) for problem in read[1])
                message = "The activity is no part of this workflow; others may list it as one of theirs."
                hint = f"List {entry.place[:80]!r} under `activities` where it belongs to this one."
                self._findings.add(
                    WorkflowProblem(
                        code=ProblemCode.UNKNOWN_FILE,
                        message=message,
                        severity=Severity.WARNING,
                        file=entry.file,
                        suggestion=hint,
                    ),
                )

    def _from_file(self, entry: FolderEntry, *, home: str) -> _Authored | None:
        document, problems = self._reading.document(
            data=entry.data, file=entry.file, strictness=self._source.strictness
        )
        self._findings.take(problems)
        if document is None:
            self._unread.add(entry.name)
            self._broken.add(entry.file)
            return None
        if not isinstance(document.value, dict) or not document.value:
            self._unread.add(entry.name)
            self._broken.add(entry.file)
            self._findings.add(no_object(entry.file, "An activity"))
            return None
        shape = FolderShape(document.value, findings=self._findings, file=entry.file)
        said = shape.id(default=entry.name)
        activity_id = entry.name if shape.is_lost("id", Severity.ERROR) else said
        if activity_id != entry.name:
            message = f"The file is called {entry.name[:80]!r}; references go by the id, which is {activity_id!r}."
            shape.warn(ProblemCode.CONFLICTING_KEYS, "id", message, "Call the file by the id, after its number.")
            self._findings.tell_instead(entry.name, file=shape.file, code=ProblemCode.CONFLICTING_KEYS)
        return _Authored(
            id=activity_id,
            shape=shape,
            artifact_prefix=entry.index,
            called="" if entry.name == activity_id else entry.name,
            home=home,
            source=entry.file,
            digest=document.digest,
        )

    def _keep(self, found: dict[str, _Authored], authored: _Authored | None) -> None:
        if authored is None:
            return
        earlier = found.setdefault(authored.id, authored)
        if earlier is not authored:
            message = f"The id {authored.id!r} is that of the activity in {earlier.shape.file}."
            authored.shape.problem(ProblemCode.DUPLICATE_ID, "id", message, severity=Severity.ERROR)

    def _borrow(self, found: dict[str, _Authored], reference: str, place: str) -> None:
        """A file of the folder is there already; one of another workflow comes from the library, unless its id is taken."""
        home, entry = self._listed_file(reference)
        named = activity_named(reference)
        if entry is None:
            # What others say of it is no mistake of theirs.
            self._missing.add(named)
        if entry is None and (lost := self._neighbours.unread(home) if home else ()):
            # Where its activities lie nobody knows.
            self._findings.take_once(lost)
            return
        if entry is None and not home and any(map(self._is_told_instead, (_as_listed(reference), named))):
            return
        if entry is None:
            message = f"No activity file {reference[:80]!r} is in this folder or in another workflow."
            folder = self._neighbours.folder(home) if home else None
            hint = self._neighbours.unpublished(home) or self._unread_there(folder, reference)
            hint = hint or self._findings.hint(
                reference.rpartition("/")[2],
                _file_names(folder or self._folder),
                before="" if folder is None else f"{home}/",
            )
            self._shape.problem(
                ProblemCode.UNKNOWN_ACTIVITY,
                place,
                message,
                severity=Severity.ERROR,
                suggestion=hint,
                tells_of_other=folder is not None,
            )
            return
        if not home and entry.part is FolderPart.ACTIVITY:
            return
        if home and not self._findings.repeat(len(entry.data), file=self._shape.file):
            return
        authored = self._from_file(entry, home=home)
        if authored is None or authored.id in found:
            return
        found[authored.id] = authored
        if home:
            self._provenance.append(
                Provenance(
                    at=authored.id, kind=ProvenanceKind.BORROWED, source=authored.source, digest=authored.digest
                ),
            )

    def _unread_there(self, folder: Folder | None, reference: str) -> str:
        """What to do where the file that is meant lies in another workflow's folder, which is told why it is not read."""
        if folder is None or not self._findings.may_compare(len(folder.problems)):
            return ""
        name = reference.rpartition("/")[2]
        strays = (problem.file for problem in folder.problems if problem.code is ProblemCode.UNKNOWN_FILE)
        found = next((file for file in strays if name in {file.rpartition("/")[2], name_meant(file)}), "")
        return f"{found!r} is there and not read: mend its name, or its folder's, first." if found else ""

    def _listed_file(self, reference: str) -> tuple[str, FolderEntry | None]:
        """The workflow that a listed file is borrowed from, empty for this one, and the file."""
        activities = f"{self._definition.activities_folder}/"
        within = reference.removeprefix("./")
        own = self._folder.named(within.removeprefix(activities))
        if own is not None or within.startswith(activities):
            return "", own
        home, _, rest = reference.removeprefix("../").partition("/")
        if not rest:
            return "", None
        if owner_named(home, self._definition.id) == self._definition.id:
            return "", self._folder.named(rest.removeprefix(activities))
        folder = self._neighbours.folder(home)
        if folder is None:
            return home, None
        return home, folder.named(rest) or folder.named(rest.removeprefix(f"{ACTIVITIES_FOLDER}/"))

    def _read(self, authored: dict[str, _Authored]) -> list[ReadActivity]:
        definition = self._definition
        for reference in (*definition.skill_ids, *definition.inherited_skills):
            self._skills.require(reference, at=self._shape, key="skills")
        exits = {one.id: exits_of(one.shape, definition.graph, one.id) for one in authored.values()}
        if not self._is_partial:
            check_graph(self._shape, definition.graph, exits)
        for_each = sum(len(text) + 1 for text in (*definition.inherited_rules, *definition.inherited_skills))
        if not self._findings.repeat(for_each * len(authored), file=self._shape.file):
            return []
        return [
            read_activity(
                one.shape,
                activity_id=one.id,
                around=Surroundings(
                    skills=self._skills,
                    activity=one.id,
                    activity_ids=frozenset(authored) | self._unread | self._missing,
                    fragments=self._fragments,
                    workflow=definition.id,
                    graph=self._shape.place("graph").inner(one.id[:80]),
                    workflow_ids=self._library.workflow_ids,
                    called=one.called,
                    home=one.home,
                    exits=exits[one.id],
                ),
                inherited=Inherited(
                    rules=definition.inherited_rules,
                    skills=definition.inherited_skills,
                ),
                artifact_prefix=one.artifact_prefix,
            )
            for one in authored.values()
        ]

    # What agents read

    def _attached(self) -> tuple[tuple[HeldDocuments, ...], tuple[HeldDocuments, ...], tuple[HeldDocuments, ...]]:
        """Skills, resources, templates."""
        resources = Resources(
            own=self._folder,
            folder_of=self._neighbours.folder,
            findings=self._findings,
            strictness=self._source.strictness,
            reading=self._reading,
        )
        skills = self._skills.close()
        for skill in skills:
            for index, reference in enumerate(skill.attachment.resources):
                home = skill.attachment.owner
                # What a technique of another folder links to is that folder's matter.
                told = home == self._definition.id or skill.attachment.format != "md"
                resources.refer(reference, file=skill.file, path=f"resources[{index}]", home=home, told=told)
        for index, mode in enumerate(self._definition.modes):
            if mode.resource:
                resources.refer(mode.resource, file=self._shape.file, path=f"modes[{index}].resource")
        templates = read_templates(folder=self._folder, findings=self._findings, reading=self._reading)
        return skills, resources.close(), templates

    def _rules(self) -> SourceContent | None:
        """The folder's own rules, else those that meta has for all."""
        own, problems = read_rules(folder=self._folder, strictness=self._source.strictness, reading=self._reading)
        self._findings.take(
            problem if problem.severity is Severity.WARNING else replace(problem, severity=self._findings.loose)
            for problem in problems
        )
        meta = self._neighbours.folder(META)
        if own is not None or problems or meta is None or self._definition.id == META:
            return own
        shared, problems = read_rules(folder=meta, strictness=self._source.strictness, reading=self._reading)
        self._findings.take(as_warning(problem) for problem in problems)
        if shared is not None:
            self._provenance.append(
                Provenance(at="global_rules", kind=ProvenanceKind.META, source=f"{META}/rules", digest=shared.digest),
            )
        return shared

    # The whole

    def _program(
        self,
        read: list[ReadActivity],
        skills: tuple[HeldDocuments, ...],
        resources: tuple[HeldDocuments, ...],
        templates: tuple[HeldDocuments, ...],
        rules: SourceContent | None,
    ) -> Program:
        definition = self._definition
        program = Program(
            compiler=COMPILER_VERSION,
            family=Family.ACTIVITIES,
            id=definition.id,
            title=definition.title,
            version=definition.version,
            conditions=ConditionMode.STRICT,
            activities=tuple(one.activity for one in read),
            initial_activity=definition.initial_activity or (read[0].activity.id if read else ""),
            description=definition.description,
            author=definition.author,
            tags=definition.tags,
            rules=definition.rules,
            variables=_variables(definition, read),
            modes=definition.modes,
            roles=definition.roles,
            artifact_locations=definition.artifact_locations,
            primary_skill=definition.primary_skill,
            skill_ids=definition.skill_ids,
            skills=tuple(held.attachment for held in skills),
            resources=tuple(held.attachment for held in resources),
            templates=tuple(held.attachment for held in templates),
            global_rules="" if rules is None else rules.digest,
            provenance=tuple(self._provenance),
            extra=definition.extra,
        )
        self._check_beginning(program)
        return program

    def _check_beginning(self, program: Program) -> None:
        initial = self._definition.initial_activity
        known = [activity.id for activity in program.activities]
        if self._is_partial or (initial and initial not in known and self._is_told_instead(initial)):
            return
        if initial and known and initial not in known:
            message = f"The first activity {initial[:80]!r} is not one of the workflow."
            hint = self._findings.hint(initial, known)
            self._shape.problem(
                ProblemCode.UNKNOWN_ACTIVITY, "initialActivity", message, severity=Severity.ERROR, suggestion=hint
            )
        elif not initial and leads_on(program):
            message = f"The workflow does not say where it begins; it begins with {program.initial_activity!r}."
            self._shape.warn(ProblemCode.MISSING_KEY, "initialActivity", message)


def _variables(definition: Definition, read: list[ReadActivity]) -> tuple[Variable, ...]:
    """Those of the workflow, then those that only an activity declares."""
    declared = {variable.name: variable for variable in definition.variables}
    for one in read:
        for variable in one.variables:
            declared.setdefault(variable.name, variable)
    return tuple(declared.values())


def _unique(contents: list[SourceContent]) -> tuple[SourceContent, ...]:
    kept: dict[tuple[str, str], SourceContent] = {}
    for content in contents:
        kept.setdefault((content.kind, content.digest), content)
    return tuple(kept[key] for key in sorted(kept))


def _as_listed(path: str) -> str:
    """A file by its name alone, as no activity can be called."""
    return f"/{path.rpartition('/')[2]}"


def _file_names(folder: Folder) -> Iterator[str]:
    return (entry.place for entry in folder.of(FolderPart.ACTIVITY, FolderPart.LENT_ACTIVITY))
