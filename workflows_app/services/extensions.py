"""What a team adds to the language of its workflows: other names, output contracts, routines in extension slots."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Count, Sum
from django.db.models.functions import Coalesce, Length

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import InvalidInputError, NotFoundError, PreconditionFailedError
from teams_app.services.audit import record_audit
from teams_app.services.ids import new_id
from teams_app.services.storage import refuse_beyond
from workflows_app.engine import canonical
from workflows_app.engine.contracts import check_artifact, check_schema
from workflows_app.engine.names import MAX_ID_CHARS, RESERVED_NAMESPACE, is_legacy, is_namespaced
from workflows_app.engine.problems import did_you_mean
from workflows_app.engine.program import Contract
from workflows_app.engine.values import BindingValue, TeamContractValue
from workflows_app.models import Alias, Binding, TeamContract, Workflow
from workflows_app.selectors.extensions import binding_value, contract_value
from workflows_app.selectors.workflows import find_workflow, visible_workflows
from workflows_app.services.compiling import problem_details
from workflows_app.services.turns import hold_names
from workflows_app.services.variants import refresh_variants, slots_of

# Of one team. All contracts are read whenever something is compiled.
MAX_ALIASES = MAX_BINDINGS = 2_000
MAX_CONTRACTS = 500
MAX_CONTRACTS_BYTES = 4 * 1024 * 1024
MAX_CONTRACT_BYTES = 64 * 1024
MAX_KIND_CHARS = 128
MAX_SUMMARY_CHARS = 500

# Addresses of the REST door that are no workflow.
_TAKEN_WORDS = frozenset({"validate", "import", "contracts", "bindings", "aliases"})

# No workflow or alias is called so.
_CONTRACTS = "/contracts"

_CONTRACT_ID = re.compile(r"[a-z][a-z0-9_-]*\.contracts\.[a-z][a-z0-9_-]*")
_KIND = re.compile(r"[a-z][a-z0-9_-]*\.[a-z][a-z0-9_.-]*")
_SLOT = re.compile(r"[a-z][a-z0-9_-]{0,63}")


def set_alias(*, actor: Actor, alias: str, workflow_id: str, now: datetime) -> str:
    """From now on the alias leads to that workflow, whose id is given back.

    It decides what a start by that name runs, so a key may not set it.
    """
    actor.require(Permission.PUBLISH_WORKFLOWS)
    with transaction.atomic(durable=True):
        hold_names(team_id=actor.team_id, names=[alias])
        row = find_workflow(actor, workflow_id)
        point_alias(actor=actor, alias=alias, row=row, now=now)
        return row.workflow_id


def point_alias(*, actor: Actor, alias: str, row: Workflow, now: datetime) -> None:
    """Inside the caller's transaction, which holds the alias."""
    _check_alias(actor, alias)
    others = Alias.objects.filter(team_id=actor.team_id).exclude(alias=alias)
    refuse_beyond(held=others.count(), most=MAX_ALIASES, what="other names of workflows")
    Alias.objects.update_or_create(
        team_id=actor.team_id,
        alias=alias,
        defaults={"workflow": row},
        create_defaults={"id": new_id(now=now), "workflow": row, "created_at": now},
    )
    record_audit(
        actor=actor, action="alias.set", target=alias, now=now, details={"alias": alias, "workflowId": row.workflow_id}
    )


def alias_is_free(*, actor: Actor, alias: str) -> bool:
    """No workflow that the team sees and no alias of the team is called so."""
    named = Alias.objects.filter(team_id=actor.team_id, alias=alias)
    return (
        alias not in _TAKEN_WORDS
        and not named.exists()
        and not visible_workflows(actor).filter(workflow_id=alias).exists()
    )


def remove_alias(*, actor: Actor, alias: str, now: datetime) -> None:
    actor.require(Permission.PUBLISH_WORKFLOWS)
    with transaction.atomic(durable=True):
        hold_names(team_id=actor.team_id, names=[alias])
        count, _ = Alias.objects.filter(team_id=actor.team_id, alias=alias[:MAX_ID_CHARS]).delete()
        if not count:
            raise NotFoundError("There is no such alias in your team.", suggestion="Read the workflow for its aliases.")
        record_audit(actor=actor, action="alias.removed", target=alias, now=now)


def register_contract(
    *,
    actor: Actor,
    contract_id: str,
    artifact_kind: str,
    schema: Mapping[str, Any],
    example: Mapping[str, Any],
    summary: str,
    now: datetime,
) -> TeamContractValue:
    """New, or in the place of the one with that id. Programs that exist keep what they were compiled with."""
    actor.require(Permission.EDIT_WORKFLOWS)
    contract = Contract(artifact_kind=artifact_kind, schema=dict(schema), example=dict(example), summary=summary)
    _check_contract(contract_id, contract)
    definition = _definition(contract)
    with transaction.atomic(durable=True):
        # Of two that register at once one waits here, and counts what the other has registered.
        hold_names(team_id=actor.team_id, names=[_CONTRACTS])
        _refuse_more_contracts(actor, contract_id, definition)
        row, _ = TeamContract.objects.update_or_create(
            team_id=actor.team_id,
            contract_id=contract_id,
            defaults={"definition": definition, "updated_at": now},
            create_defaults={
                "id": new_id(now=now),
                "definition": definition,
                "created_at": now,
                "updated_at": now,
            },
        )
        details = {"contractId": contract_id, "digest": canonical.digest(definition)}
        record_audit(actor=actor, action="contract.registered", target=contract_id, now=now, details=details)
    return contract_value(row)


def remove_contract(*, actor: Actor, contract_id: str, now: datetime) -> None:
    """Programs that exist keep what they were compiled with; what asks for it does not compile any more."""
    actor.require(Permission.EDIT_WORKFLOWS)
    with transaction.atomic(durable=True):
        hold_names(team_id=actor.team_id, names=[_CONTRACTS])
        count, _ = TeamContract.objects.filter(team_id=actor.team_id, contract_id=contract_id).delete()
        if not count:
            raise NotFoundError("There is no such contract of your team.", suggestion="List the contracts.")
        record_audit(actor=actor, action="contract.removed", target=contract_id, now=now)


def bind_slot(*, actor: Actor, workflow_id: str, slot: str, routine: str, now: datetime) -> BindingValue:
    """Puts a routine into an extension slot of one workflow, or of every one that has it when `workflow_id` is empty.

    Published programs of the team change with it at once, for runs that start from now on; one that would not compile
    refuses the binding.
    """
    actor.require(Permission.PUBLISH_WORKFLOWS)
    if not _SLOT.fullmatch(slot):
        raise InvalidInputError(
            "A slot is a name like `deep_review`.",
            suggestion="Read the extension points of the workflow's program.",
        )
    with transaction.atomic(durable=True):
        wanted = _published_routine(actor, routine)
        rows = _locked(_rows_with_slot(actor, workflow_id, slot))
        named = rows[0].workflow_id if workflow_id else ""
        others = Binding.objects.filter(team_id=actor.team_id).exclude(workflow_id=named, slot=slot)
        refuse_beyond(held=others.count(), most=MAX_BINDINGS, what="routines in extension slots")
        row, _ = Binding.objects.update_or_create(
            team_id=actor.team_id,
            workflow_id=named,
            slot=slot,
            defaults={"routine": wanted, "updated_at": now},
            create_defaults={"id": new_id(now=now), "routine": wanted, "updated_at": now},
        )
        broken = refresh_variants(team_id=actor.team_id, rows=rows, now=now)
        if broken:
            # Nothing of a refused binding is to stay: raising takes it back.
            first = next(iter(broken))
            raise InvalidInputError(
                f"{first!r} does not compile with {wanted!r} in the slot {slot!r}.",
                suggestion="Correct the workflow, or name another routine.",
                details={"workflowId": first, **problem_details(broken[first])},
            )
        details = {"workflowId": named, "slot": slot, "routine": wanted}
        record_audit(actor=actor, action="binding.set", target=slot, now=now, details=details)
    return binding_value(row)


def unbind_slot(*, actor: Actor, workflow_id: str, slot: str, now: datetime) -> None:
    """Back to the routine that the workflow itself names."""
    actor.require(Permission.PUBLISH_WORKFLOWS)
    with transaction.atomic(durable=True):
        rows = _locked(_rows_with_slot(actor, workflow_id, slot))
        named = rows[0].workflow_id if workflow_id else ""
        count, _ = Binding.objects.filter(team_id=actor.team_id, workflow_id=named, slot=slot).delete()
        if not count:
            raise NotFoundError("There is no such binding in your team.", suggestion="List the bindings.")
        refresh_variants(team_id=actor.team_id, rows=rows, now=now)
        details = {"workflowId": named, "slot": slot}
        record_audit(actor=actor, action="binding.removed", target=slot, now=now, details=details)


def _check_alias(actor: Actor, alias: str) -> None:
    if not (is_namespaced(alias) or is_legacy(alias)) or alias.startswith(f"{RESERVED_NAMESPACE}."):
        raise InvalidInputError(
            "An alias has the form of an id, old or new, and is not in the namespace wr.",
            suggestion="Use small letters, digits, `_` and `-`, with at most one dot.",
        )
    if alias in _TAKEN_WORDS:
        raise InvalidInputError(f"{alias!r} means something else here.", suggestion="Choose another alias.")
    if visible_workflows(actor).filter(workflow_id=alias).exists():
        raise PreconditionFailedError(
            f"{alias!r} is the id of a workflow; an id always goes before an alias.",
            suggestion="Choose an alias that no workflow has as its id.",
        )


def _check_contract(contract_id: str, contract: Contract) -> None:
    if not _CONTRACT_ID.fullmatch(contract_id) or len(contract_id) > 2 * MAX_ID_CHARS:
        raise InvalidInputError("A contract's id is `namespace.contracts.name`.", suggestion="Say team.contracts.name.")
    if contract_id.startswith(f"{RESERVED_NAMESPACE}."):
        raise InvalidInputError("The namespace wr is reserved.", suggestion="Use a namespace of your own.")
    if not _KIND.fullmatch(contract.artifact_kind) or len(contract.artifact_kind) > MAX_KIND_CHARS:
        raise InvalidInputError("An artifact's kind is `namespace.name`.", suggestion="Say team.finding, for example.")
    if len(contract.summary) > MAX_SUMMARY_CHARS:
        raise InvalidInputError(f"The summary is longer than {MAX_SUMMARY_CHARS} characters.", suggestion="Shorten it.")
    wrong = check_schema(contract.schema)
    if wrong is not None:
        raise InvalidInputError(f"The schema is not one: {wrong}", suggestion="Send a JSON Schema of draft 2020-12.")
    issues = check_artifact(contract, contract.example)
    if issues:
        raise InvalidInputError(
            f"The example does not satisfy the schema: {issues[0]}",
            suggestion="Correct the example: agents are shown it as the way to do it.",
            details={"issues": list(issues)},
        )


def _definition(contract: Contract) -> bytes:
    try:
        definition = canonical.canonical_bytes(
            {
                "artifact_kind": contract.artifact_kind,
                "schema": contract.schema,
                "example": contract.example,
                "summary": contract.summary,
            },
        )
    except canonical.NotCanonicalError as error:
        raise InvalidInputError(f"The contract cannot be stored: {error}", suggestion="Send plain JSON.") from error
    if len(definition) > MAX_CONTRACT_BYTES:
        raise InvalidInputError(
            f"The contract has {len(definition)} bytes; {MAX_CONTRACT_BYTES} is the most.", suggestion="Shorten it."
        )
    return definition


def _refuse_more_contracts(actor: Actor, contract_id: str, definition: bytes) -> None:
    others = TeamContract.objects.filter(team_id=actor.team_id).exclude(contract_id=contract_id)
    held = others.aggregate(contracts=Count("pk"), characters=Coalesce(Sum(Length("definition")), 0))
    refuse_beyond(held=held["contracts"], most=MAX_CONTRACTS, what="output contracts")
    if held["characters"] + len(definition) > MAX_CONTRACTS_BYTES:
        raise PreconditionFailedError(
            f"The output contracts of your team would have more than {MAX_CONTRACTS_BYTES} bytes together.",
            suggestion="Shorten the schema, or remove a contract that is not needed any more.",
        )


def _published_routine(actor: Actor, routine: str) -> str:
    row = find_workflow(actor, routine)
    if row.published is not None:
        return row.workflow_id
    raise PreconditionFailedError(
        f"{row.workflow_id!r} is {row.state}, and a slot leads to something that runs.",
        suggestion="Publish it first, or name another routine.",
    )


def _rows_with_slot(actor: Actor, workflow_id: str, slot: str) -> list[Workflow]:
    """Published workflows that have the slot; the one that was named must be among them."""
    if workflow_id:
        named = find_workflow(actor, workflow_id)
        slots = slots_of(named.published) if named.published else frozenset()
        if slot in slots:
            return [named]
        raise NotFoundError(
            f"{named.workflow_id!r} has no published slot {slot!r}.",
            suggestion=did_you_mean(slot, slots) or "It has no slots.",
        )
    published = visible_workflows(actor).filter(published__isnull=False).select_related("published")
    rows = [row for row in published.order_by("order_key") if row.published and slot in slots_of(row.published)]
    if rows:
        return rows
    raise NotFoundError(f"No published workflow has a slot {slot!r}.", suggestion="Read the extension points of one.")


def _locked(rows: list[Workflow]) -> list[Workflow]:
    """Two bindings of one workflow at once: the second compiles after the first, and sees it."""
    keys = [row.pk for row in rows]
    locked = Workflow.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=keys)
    return list(locked.select_related("published").order_by("pk"))
