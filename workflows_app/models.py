"""Tables of what may be done: workflows, their revisions, and what revisions are made of, by content.

A row of no team is of the bundled library: every team sees it, nobody edits it. Rows that are named by their digest belong
to nobody; the only way to one leads over a revision, and a revision has a team.
"""

from typing import ClassVar, Generic, TypeVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVector
from django.db import models
from django.db.models import Case, F, Func, Q, Value, When
from django.db.models.functions import Concat

from teams_app.engine.actors import ActorKind
from teams_app.engine.names import NAME_CHARACTERS
from workflows_app.engine.names import MAX_ID_CHARS
from workflows_app.engine.program import Family, WorkflowKind
from workflows_app.engine.safe_paths import MAX_PATH_CHARS
from workflows_app.engine.source import ContentKind, Origin, SourceFormat, StepsSchema, Strictness
from workflows_app.engine.values import WorkflowState

DIGEST_CHARACTERS = 71
PATH_CHARACTERS = MAX_PATH_CHARS
SLOT_CHARACTERS = 64
MESSAGE_CHARACTERS = 500
TITLE_CHARACTERS = 200
SEARCH_CONFIG = "english"

_SEGMENT = "[a-z][a-z0-9_-]*"
_NAMESPACED = rf"^{_SEGMENT}\.{_SEGMENT}$"
_BUNDLED = rf"^(wr\.{_SEGMENT}|[a-z0-9_-]+)$"
_ALIAS = rf"^({_SEGMENT}\.{_SEGMENT}|[a-z0-9_-]+)$"
_CONTRACT = rf"^{_SEGMENT}\.contracts\.{_SEGMENT}$"
_RESERVED = "wr."

_ACTOR_KINDS = [kind.value for kind in ActorKind]


def _sha256_of(field: str) -> Concat:
    hexadecimal = Func(
        Func(F(field), function="sha256", output_field=models.BinaryField()),
        Value("hex"),
        function="encode",
        output_field=models.TextField(),
    )
    return Concat(Value("sha256:"), hexadecimal, output_field=models.TextField())


# Namespace, then workflows before routines, then the id. A space sorts before every character of an id.
_ORDER_KEY = Concat(
    Case(
        When(
            workflow_id__contains=".",
            then=Func(F("workflow_id"), Value("."), Value(1), function="split_part", output_field=models.TextField()),
        ),
        default=Value(""),
        output_field=models.TextField(),
    ),
    Case(
        When(kind=WorkflowKind.WORKFLOW.value, then=Value(" 0 ")), default=Value(" 1 "), output_field=models.TextField()
    ),
    F("workflow_id"),
    output_field=models.TextField(),
)


class Blob(models.Model):
    """One file of a source, byte for byte. The database itself holds that the name is the digest."""

    digest = models.CharField(primary_key=True, max_length=DIGEST_CHARACTERS)
    data = models.BinaryField()

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(digest=_sha256_of("data")), name="blob_named_by_content"),
        ]

    def __str__(self) -> str:
        return self.digest


class Content(models.Model):
    """A skill, resource, template or rules as a program attaches it. `document` is JSON text in the author's order."""

    id = models.UUIDField(primary_key=True)
    digest = models.CharField(max_length=DIGEST_CHARACTERS)
    kind = models.CharField(max_length=16)
    text = models.TextField()
    document = models.BinaryField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["digest", "kind"], name="content_once"),
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in ContentKind]), name="content_kind_known"
            ),
            models.CheckConstraint(condition=Q(digest__regex="^sha256:[0-9a-f]{64}$"), name="content_digest_form"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.digest}"


_Kind = TypeVar("_Kind", bound=Content)


class _OfKind(models.Manager[_Kind], Generic[_Kind]):
    def __init__(self, kind: ContentKind) -> None:
        super().__init__()
        self._kind = kind

    def get_queryset(self) -> models.QuerySet[_Kind]:
        return super().get_queryset().filter(kind=self._kind.value)


class Skill(Content):
    objects: ClassVar[_OfKind["Skill"]] = _OfKind(ContentKind.SKILL)  # type: ignore[assignment]  # the plugin infers Self

    class Meta:
        proxy = True


class Resource(Content):
    objects: ClassVar[_OfKind["Resource"]] = _OfKind(ContentKind.RESOURCE)  # type: ignore[assignment]  # the plugin infers Self

    class Meta:
        proxy = True


class Template(Content):
    objects: ClassVar[_OfKind["Template"]] = _OfKind(ContentKind.TEMPLATE)  # type: ignore[assignment]  # the plugin infers Self

    class Meta:
        proxy = True


class Program(models.Model):
    """Compiled bytes under their own digest: written once, never changed, shared by all that compile to them."""

    workflow_hash = models.CharField(primary_key=True, max_length=DIGEST_CHARACTERS)
    data = models.BinaryField()
    compiler = models.PositiveIntegerField()
    created_at = models.DateTimeField()
    contents = models.ManyToManyField(Content, related_name="programs", through="ProgramContent")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(workflow_hash=_sha256_of("data")), name="program_named_by_content"),
        ]

    def __str__(self) -> str:
        return self.workflow_hash


class ProgramContent(models.Model):
    """That a program is never there without what it attaches."""

    id = models.UUIDField(primary_key=True)
    program = models.ForeignKey(Program, on_delete=models.PROTECT, related_name="+", db_index=False)
    content = models.ForeignKey(Content, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["program", "content"], name="program_content_once"),
        ]

    def __str__(self) -> str:
        return f"{self.program_id} {self.content_id}"


class Workflow(models.Model):
    """The columns that describe it are copied from the published revision, or from the latest while none is published."""

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey("teams_app.Team", null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    workflow_id = models.CharField(max_length=MAX_ID_CHARS, db_collation="C")
    kind = models.CharField(max_length=16)
    family = models.CharField(max_length=16)
    state = models.CharField(max_length=16)
    title = models.CharField(max_length=TITLE_CHARACTERS)
    description = models.TextField(blank=True)
    version = models.CharField(max_length=64, blank=True)
    tags = ArrayField(models.CharField(max_length=64), default=list, blank=True)
    search_text = models.TextField()
    latest_number = models.PositiveIntegerField()
    error_count = models.PositiveIntegerField()
    warning_count = models.PositiveIntegerField()
    published = models.ForeignKey("Revision", null=True, blank=True, on_delete=models.PROTECT, related_name="+")
    forked_from = models.CharField(max_length=MAX_ID_CHARS + 16, blank=True)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    order_key = models.GeneratedField(
        expression=_ORDER_KEY, output_field=models.TextField(db_collation="C"), db_persist=True
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["team", "workflow_id"], nulls_distinct=False, name="workflow_id_unique_per_team"
            ),
            # Also what keeps a team from shadowing the bundled library: the two forms have no id in common.
            models.CheckConstraint(
                condition=Q(team__isnull=True, workflow_id__regex=_BUNDLED)
                | (Q(team__isnull=False, workflow_id__regex=_NAMESPACED) & ~Q(workflow_id__startswith=_RESERVED)),
                name="workflow_id_of_its_library",
            ),
            models.CheckConstraint(
                condition=Q(kind__in=[kind.value for kind in WorkflowKind]), name="workflow_kind_known"
            ),
            models.CheckConstraint(
                condition=Q(family__in=[item.value for item in Family]), name="workflow_family_known"
            ),
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in WorkflowState]), name="workflow_state_known"
            ),
            models.CheckConstraint(
                condition=Q(state=WorkflowState.PUBLISHED.value, published__isnull=False)
                | (~Q(state=WorkflowState.PUBLISHED.value) & Q(published__isnull=True)),
                name="workflow_published_has_revision",
            ),
            models.CheckConstraint(condition=Q(latest_number__gte=1), name="workflow_has_a_revision"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["team", "order_key"], name="workflow_list"),
            GinIndex(fields=["team", "tags"], name="workflow_tags"),
            GinIndex(SearchVector("search_text", config=SEARCH_CONFIG), name="workflow_words"),
            GinIndex(fields=["search_text"], opclasses=["gin_trgm_ops"], name="workflow_letters"),
        ]

    def __str__(self) -> str:
        return self.workflow_id


class Revision(models.Model):
    """A source as authored and what the compiler said of it. Nothing changes in it but when it was last published."""

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey("teams_app.Team", null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="revisions", db_index=False)
    number = models.PositiveIntegerField()
    format = models.CharField(max_length=16)
    origin = models.CharField(max_length=16)
    strictness = models.CharField(max_length=16)
    schema = models.CharField(max_length=16, blank=True)
    version = models.CharField(max_length=64, blank=True)
    source_digest = models.CharField(max_length=DIGEST_CHARACTERS)
    program = models.ForeignKey(Program, null=True, on_delete=models.PROTECT, related_name="revisions")
    problems = models.JSONField()
    error_count = models.PositiveIntegerField()
    warning_count = models.PositiveIntegerField()
    message = models.CharField(max_length=MESSAGE_CHARACTERS, blank=True)
    author_kind = models.CharField(max_length=16)
    author_id = models.CharField(max_length=64)
    author_name = models.CharField(max_length=NAME_CHARACTERS)
    created_at = models.DateTimeField()
    published_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["workflow", "number"], name="revision_number_once"),
            # What the migration's foreign key points at: the published revision is one of the workflow's own.
            models.UniqueConstraint(fields=["workflow", "id"], name="revision_of_workflow"),
            models.CheckConstraint(condition=Q(number__gte=1), name="revision_number_positive"),
            models.CheckConstraint(
                condition=Q(error_count=0, program__isnull=False) | Q(error_count__gt=0, program__isnull=True),
                name="revision_program_or_errors",
            ),
            models.CheckConstraint(
                condition=Q(published_at__isnull=True) | Q(program__isnull=False), name="revision_published_runs"
            ),
            models.CheckConstraint(
                condition=Q(format__in=[item.value for item in SourceFormat]), name="revision_format_known"
            ),
            models.CheckConstraint(
                condition=Q(origin__in=[item.value for item in Origin]), name="revision_origin_known"
            ),
            models.CheckConstraint(
                condition=Q(strictness__in=[item.value for item in Strictness]), name="revision_strictness_known"
            ),
            models.CheckConstraint(
                condition=Q(schema__in=["", *(item.value for item in StepsSchema)]), name="revision_schema_known"
            ),
            models.CheckConstraint(
                condition=Q(team__isnull=True, origin=Origin.BUNDLED.value)
                | (Q(team__isnull=False) & ~Q(origin=Origin.BUNDLED.value)),
                name="revision_bundled_of_no_team",
            ),
            models.CheckConstraint(condition=Q(author_kind__in=_ACTOR_KINDS), name="revision_author_kind_known"),
        ]
        indexes: ClassVar = [models.Index(fields=["team", "workflow", "-number"], name="revision_list")]

    def __str__(self) -> str:
        return f"revision {self.number}"


class RevisionFile(models.Model):
    id = models.UUIDField(primary_key=True)
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="files", db_index=False)
    path = models.CharField(max_length=PATH_CHARACTERS, db_collation="C")
    blob = models.ForeignKey(Blob, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["revision", "path"], name="revision_file_once"),
        ]

    def __str__(self) -> str:
        return self.path


class Alias(models.Model):
    """Another name for a workflow, its own or a bundled one. An id always wins over an alias."""

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey("teams_app.Team", on_delete=models.PROTECT, related_name="+", db_index=False)
    alias = models.CharField(max_length=MAX_ID_CHARS, db_collation="C")
    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="aliases")
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "aliases"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["team", "alias"], name="alias_once_per_team"),
            models.CheckConstraint(
                condition=Q(alias__regex=_ALIAS) & ~Q(alias__startswith=_RESERVED), name="alias_form"
            ),
        ]

    def __str__(self) -> str:
        return self.alias


class TeamContract(models.Model):
    """An output contract of a team. `definition` is canonical JSON; programs embed it as it is when they are compiled."""

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey("teams_app.Team", on_delete=models.PROTECT, related_name="+", db_index=False)
    contract_id = models.CharField(max_length=2 * MAX_ID_CHARS, db_collation="C")
    definition = models.BinaryField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["team", "contract_id"], name="contract_once_per_team"),
            models.CheckConstraint(
                condition=Q(contract_id__regex=_CONTRACT) & ~Q(contract_id__startswith=_RESERVED),
                name="contract_id_form",
            ),
        ]

    def __str__(self) -> str:
        return self.contract_id


class Binding(models.Model):
    """Which routine a team puts into an extension slot; `workflow_id` empty means in every workflow."""

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey("teams_app.Team", on_delete=models.PROTECT, related_name="+", db_index=False)
    workflow_id = models.CharField(max_length=MAX_ID_CHARS, blank=True, db_collation="C")
    slot = models.CharField(max_length=SLOT_CHARACTERS, db_collation="C")
    routine = models.CharField(max_length=2 * MAX_ID_CHARS)
    updated_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["team", "workflow_id", "slot"], name="binding_once_per_slot"),
        ]

    def __str__(self) -> str:
        return f"{self.workflow_id}:{self.slot}"


class Variant(models.Model):
    """A published revision as it compiles under a team's bindings; without one the revision's own program runs."""

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey("teams_app.Team", on_delete=models.PROTECT, related_name="+", db_index=False)
    revision = models.ForeignKey(Revision, on_delete=models.PROTECT, related_name="variants")
    program = models.ForeignKey(Program, on_delete=models.PROTECT, related_name="variants")
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["team", "revision"], name="variant_once_per_revision"),
        ]

    def __str__(self) -> str:
        return f"{self.team_id} {self.revision_id}"
