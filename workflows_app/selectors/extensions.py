"""What a team has added to the language of its workflows."""

from teams_app.engine.actors import Actor, Permission
from teams_app.engine.errors import NotFoundError
from workflows_app.engine.contracts import BUILT_IN
from workflows_app.engine.values import AliasValue, BindingValue, TeamContractValue
from workflows_app.models import Alias, Binding, TeamContract
from workflows_app.selectors.library import contract_of


def list_contracts(*, actor: Actor) -> tuple[TeamContractValue, ...]:
    """The bundled ones first, then the team's own."""
    actor.require(Permission.READ_WORKFLOWS)
    own = TeamContract.objects.filter(team_id=actor.team_id).order_by("contract_id")
    bundled = tuple(
        TeamContractValue(contract_id=key, contract=BUILT_IN[key], updated_at=None, bundled=True)
        for key in sorted(BUILT_IN)
    )
    return (*bundled, *(contract_value(row) for row in own))


def list_aliases(*, actor: Actor) -> tuple[AliasValue, ...]:
    """The other names that the team has given to workflows, in their order."""
    actor.require(Permission.READ_WORKFLOWS)
    rows = Alias.objects.filter(team_id=actor.team_id).order_by("alias").values_list("alias", "workflow__workflow_id")
    return tuple(AliasValue(alias=alias, workflow_id=workflow_id) for alias, workflow_id in rows)


def read_alias(*, actor: Actor, alias: str) -> AliasValue:
    found = next((each for each in list_aliases(actor=actor) if each.alias == alias), None)
    if found is None:
        raise NotFoundError("There is no such alias in your team.", suggestion="List the aliases.")
    return found


def list_bindings(*, actor: Actor) -> tuple[BindingValue, ...]:
    actor.require(Permission.READ_WORKFLOWS)
    rows = Binding.objects.filter(team_id=actor.team_id).order_by("workflow_id", "slot")
    return tuple(binding_value(row) for row in rows)


def contract_value(row: TeamContract) -> TeamContractValue:
    contract = contract_of(bytes(row.definition))
    return TeamContractValue(contract_id=row.contract_id, contract=contract, updated_at=row.updated_at, bundled=False)


def binding_value(row: Binding) -> BindingValue:
    return BindingValue(workflow_id=row.workflow_id, slot=row.slot, routine=row.routine, updated_at=row.updated_at)
