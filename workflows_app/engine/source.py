"""What goes into a compilation and what comes out: plain values, no files, no rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from workflows_app.engine import canonical
from workflows_app.engine.problems import Severity, WorkflowProblem
from workflows_app.engine.program import Contract, Program


class SourceFormat(StrEnum):
    STEPS_JSON = "steps_json"
    ACTIVITY_FOLDER = "activity_folder"


class Origin(StrEnum):
    """Who brings the workflow; only the bundled library may use the namespace `wr`."""

    BUNDLED = "bundled"
    TEAM = "team"
    PROJECT = "project"
    REMOTE = "remote"


class Strictness(StrEnum):
    """STRICT is what we write ourselves; LEGACY reads what older readers let pass, and warns of each such place."""

    STRICT = "strict"
    LEGACY = "legacy"


class StepsSchema(StrEnum):
    """The schema versions of step workflows. The first compares strictly in conditions, the second leniently."""

    V0_0_1 = "0.0.1"
    V0_3_0 = "0.3.0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A workflow as authored. STEPS_JSON has exactly one file; a folder has paths relative to its root.

    `schema` says which schema a step workflow was written for; a `$schema` in the document itself goes before it.
    """

    format: SourceFormat
    files: Mapping[str, bytes]
    origin: Origin = Origin.TEAM
    strictness: Strictness = Strictness.STRICT
    schema: StepsSchema | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """All that a workflow may refer to. `routines` are parsed documents by the name behind `wr.templates.routine.`;
    `folders` are other activity workflows by id (`meta` among them); `bindings` choose a routine for an extension slot.
    `routine_ids` are the ids of the routines where they are known without their documents.
    """

    routines: Mapping[str, Any] = field(default_factory=dict)
    folders: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    contracts: Mapping[str, Contract] = field(default_factory=dict)
    bindings: Mapping[str, str] = field(default_factory=dict)
    workflow_ids: frozenset[str] = frozenset()
    routine_ids: frozenset[str] | None = None


class ContentKind(StrEnum):
    SKILL = "skill"
    RESOURCE = "resource"
    TEMPLATE = "template"
    RULES = "rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceContent:
    """The content behind an `Attachment` of the program: `document` is parsed (skills, rules), `text` is as authored."""

    kind: ContentKind
    digest: str
    text: str
    document: Any = None

    @classmethod
    def of_document(cls, *, kind: ContentKind, text: str, document: Any, digest: str) -> "SourceContent":
        """`digest` is of the document. Agents are shown either, and whoever has the same digest shares a content: it is of both."""
        both = canonical.digest(text.encode()) if document is None else _digest_of_both(text, digest)
        return cls(kind=kind, digest=both, text=text, document=document)


def is_named_by_content(*, digest: str, text: str, document: Any = None) -> bool:
    """Whether the digest is of this content. Compilers before the fourth have left the text of a document out of it."""
    if document is None:
        return canonical.digest(text.encode()) == digest
    of_document = canonical.canonical_digest(document)
    return digest in {of_document, _digest_of_both(text, of_document)}


def named_words(*, digest: str, text: str, document: Any) -> str:
    """The text where the digest is of it. Where a compiler before the fourth has named the document alone, any words may stand there:
    then those of the document, of which the digest is as well.
    """
    if document is None or digest == _digest_of_both(text, canonical.canonical_digest(document)):
        return text
    return canonical.canonical_bytes(document).decode()


def _digest_of_both(text: str, of_document: str) -> str:
    """No text has a NUL: none passes for a document."""
    return canonical.digest(f"\0{canonical.digest(text.encode())}{of_document}".encode())


def attached_to(program: Program) -> frozenset[tuple[str, ContentKind]]:
    """All that a program attaches, by digest and kind."""
    held = {
        ContentKind.SKILL: program.skills,
        ContentKind.RESOURCE: program.resources,
        ContentKind.TEMPLATE: program.templates,
    }
    attached = {(each.digest, kind) for kind, items in held.items() for each in items}
    return frozenset(attached | ({(program.global_rules, ContentKind.RULES)} if program.global_rules else set()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """Either a program with warnings, or problems of which at least one is an error. Never both missing. `unread` are the files
    that nobody reads.
    """

    program: Program | None
    workflow_id: str
    problems: tuple[WorkflowProblem, ...]
    contents: tuple[SourceContent, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def errors(self) -> tuple[WorkflowProblem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[WorkflowProblem, ...]:
        return tuple(problem for problem in self.problems if problem.severity is Severity.WARNING)
