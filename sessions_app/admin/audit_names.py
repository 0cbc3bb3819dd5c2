"""The audit log knows ids of runs and questions; here they get the names that people know them by."""

from collections.abc import Collection, Iterable
from uuid import UUID

from sessions_app.admin import naming
from sessions_app.selectors.checkpoints import read_checkpoints
from sessions_app.selectors.runs import name_runs
from teams_app.admin.team_pages import AuditEntryAdmin
from teams_app.engine.actors import Actor
from teams_app.engine.ids import Prefix, from_text, to_text


class NamedAuditAdmin(AuditEntryAdmin):
    def names_of(self, actor: Actor, targets: Collection[str]) -> dict[str, str]:
        return {**_questions(actor, targets), **_runs(actor, targets)}


def _questions(actor: Actor, targets: Iterable[str]) -> dict[str, str]:
    ids = _ids(Prefix.CHECKPOINT, targets)
    found = read_checkpoints(actor=actor, ids=ids) if ids else ()
    return {to_text(Prefix.CHECKPOINT, value.id): naming.question_name(value) for value in found}


def _runs(actor: Actor, targets: Iterable[str]) -> dict[str, str]:
    ids = _ids(Prefix.RUN, targets)
    found = name_runs(actor=actor, ids=ids) if ids else {}
    return {to_text(Prefix.RUN, run_id): naming.named_run(name) for run_id, name in found.items()}


def _ids(prefix: Prefix, targets: Iterable[str]) -> list[UUID]:
    return [found for text in targets if (found := from_text(prefix, text)) is not None]
