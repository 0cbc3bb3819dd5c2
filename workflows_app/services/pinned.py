"""Programs that a run is pinned to and that no workflow here may have: they are kept under their hash, and never offered."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
from django.db.models import Exists, OuterRef

from teams_app.engine.actors import Actor, ActorKind, Permission
from teams_app.engine.errors import ForbiddenError
from workflows_app.engine import canonical
from workflows_app.engine.program import program_from_bytes
from workflows_app.engine.source import SourceContent, named_words
from workflows_app.models import (
    Blob,
    Content as ContentRow,
    Program as ProgramRow,
    ProgramContent,
    Revision,
    RevisionFile,
    Variant,
)
from workflows_app.selectors.programs import StoredContent
from workflows_app.services.storing import store_program


def keep_program(*, actor: Actor, program: bytes, contents: Iterable[StoredContent], now: datetime) -> str:
    """Store the program under the hash of its bytes; returns the hash. Nothing is published by it.

    Whoever brings a program decides what agents are told, as whoever publishes one does.
    """
    actor.require(Permission.PUBLISH_WORKFLOWS)
    workflow_hash = canonical.digest(program)
    attached = [_content(content) for content in contents]
    store_program(program=program_from_bytes(program), workflow_hash=workflow_hash, contents=attached, now=now)
    return workflow_hash


def _content(stored: StoredContent) -> SourceContent:
    """It is kept for all teams under its name: nothing comes in that is not named."""
    document = None if stored.document is None else msgspec.json.decode(stored.document.encode())
    text = named_words(digest=stored.digest, text=stored.text, document=document)
    return SourceContent(kind=stored.kind, digest=stored.digest, text=text, document=document)


def unclaimed_programs(*, actor: Actor, most: int) -> list[str]:
    """Those that no revision and no variant has; only runs may be pinned to them."""
    _require_system(actor)
    of_revisions = Revision.objects.filter(program_id=OuterRef("pk"))
    of_variants = Variant.objects.filter(program_id=OuterRef("pk"))
    rows = ProgramRow.objects.filter(~Exists(of_revisions), ~Exists(of_variants)).order_by("pk")
    return list(rows.values_list("pk", flat=True)[:most])


def forget_programs(*, actor: Actor, hashes: Sequence[str]) -> list[str]:
    """Delete those of them that still nobody has, with what nothing else attaches. Called inside a transaction."""
    _require_system(actor)
    of_revisions = Revision.objects.filter(program_id=OuterRef("pk"))
    of_variants = Variant.objects.filter(program_id=OuterRef("pk"))
    rows = ProgramRow.objects.select_for_update(of=("self",)).filter(~Exists(of_revisions), ~Exists(of_variants))
    gone = list(rows.filter(pk__in=hashes).order_by("pk").values_list("pk", flat=True))
    attached = list(ProgramContent.objects.filter(program_id__in=gone).values_list("content_id", flat=True))
    ProgramContent.objects.filter(program_id__in=gone).delete()
    ProgramRow.objects.filter(pk__in=gone).delete()
    elsewhere = ProgramContent.objects.filter(content_id=OuterRef("pk"))
    ContentRow.objects.filter(~Exists(elsewhere), pk__in=attached).delete()
    return gone


def forget_files(*, actor: Actor, most: int) -> list[str]:
    """Delete files of sources that no revision has; returns their digests. Called inside a transaction."""
    _require_system(actor)
    of_revisions = RevisionFile.objects.filter(blob_id=OuterRef("pk"))
    rows = Blob.objects.select_for_update(of=("self",)).filter(~Exists(of_revisions)).order_by("pk")
    gone = list(rows.values_list("pk", flat=True)[:most])
    Blob.objects.filter(pk__in=gone).delete()
    return gone


def claimed_files(*, actor: Actor, digests: Sequence[str]) -> list[str]:
    """Those of them that a revision has."""
    _require_system(actor)
    found = RevisionFile.objects.filter(blob_id__in=digests).order_by("blob_id")
    return list(found.values_list("blob_id", flat=True).distinct())


def _require_system(actor: Actor) -> None:
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Programs are kept by the server.", suggestion="Run the command on the server.")
