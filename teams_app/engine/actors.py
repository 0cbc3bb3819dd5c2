"""Who acts. Every service and selector takes an `Actor`; there is no default one."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from teams_app.engine.errors import ForbiddenError
from teams_app.engine.ids import Prefix, from_text


class ActorKind(StrEnum):
    PERSON = "person"
    AGENT_KEY = "agent_key"
    SYSTEM = "system"


class Door(StrEnum):
    REST = "rest"
    MCP = "mcp"
    STUDIO = "studio"
    CLI = "cli"
    TASK = "task"


class Role(StrEnum):
    """What a person may do in a team, from least to most."""

    VIEWER = "viewer"
    OPERATOR = "operator"
    AUTHOR = "author"
    OWNER = "owner"


class Scope(StrEnum):
    """What an agent key may do. A key never answers a checkpoint that asks for a human."""

    WORKFLOWS_READ = "workflows:read"
    WORKFLOWS_WRITE = "workflows:write"
    RUNS_READ = "runs:read"
    RUNS_WRITE = "runs:write"
    TRACES_READ = "traces:read"
    TEAM_READ = "team:read"


class Permission(StrEnum):
    READ_WORKFLOWS = "read_workflows"
    # All steps of a workflow before they come: source, program, outline, differences.
    READ_INTERNALS = "read_internals"
    EDIT_WORKFLOWS = "edit_workflows"
    PUBLISH_WORKFLOWS = "publish_workflows"
    READ_RUNS = "read_runs"
    DRIVE_RUNS = "drive_runs"
    STEER_RUNS = "steer_runs"
    ANSWER_CHECKPOINTS = "answer_checkpoints"
    READ_TRACES = "read_traces"
    READ_TEAM = "read_team"
    READ_AUDIT = "read_audit"
    MANAGE_TEAM = "manage_team"


_VIEWER = frozenset(
    {
        Permission.READ_WORKFLOWS,
        Permission.READ_INTERNALS,
        Permission.READ_RUNS,
        Permission.READ_TRACES,
        Permission.READ_TEAM,
    },
)
_OPERATOR = _VIEWER | {Permission.DRIVE_RUNS, Permission.STEER_RUNS, Permission.ANSWER_CHECKPOINTS}
_AUTHOR = _OPERATOR | {Permission.EDIT_WORKFLOWS, Permission.PUBLISH_WORKFLOWS}
_OWNER = _AUTHOR | {Permission.READ_AUDIT, Permission.MANAGE_TEAM}

ROLE_PERMISSIONS: dict[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEWER,
    Role.OPERATOR: _OPERATOR,
    Role.AUTHOR: _AUTHOR,
    Role.OWNER: _OWNER,
}

SCOPE_PERMISSIONS: dict[Scope, frozenset[Permission]] = {
    Scope.WORKFLOWS_READ: frozenset({Permission.READ_WORKFLOWS}),
    Scope.WORKFLOWS_WRITE: frozenset({Permission.EDIT_WORKFLOWS, Permission.READ_INTERNALS}),
    Scope.RUNS_READ: frozenset({Permission.READ_RUNS}),
    Scope.RUNS_WRITE: frozenset({Permission.DRIVE_RUNS}),
    Scope.TRACES_READ: frozenset({Permission.READ_TRACES}),
    Scope.TEAM_READ: frozenset({Permission.READ_TEAM}),
}

# No scope gives these to a key, and the system never speaks for a person.
_PEOPLE_ONLY = frozenset({Permission.ANSWER_CHECKPOINTS})


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """One actor in one team through one door. `role` is a person's, `scopes` a key's; the system has neither."""

    kind: ActorKind
    id: str
    name: str
    team_id: UUID
    door: Door
    role: Role | None = None
    scopes: frozenset[Scope] = frozenset()

    def may(self, permission: Permission) -> bool:
        match self.kind:
            case ActorKind.SYSTEM:
                return permission not in _PEOPLE_ONLY
            case ActorKind.PERSON:
                return self.role is not None and permission in ROLE_PERMISSIONS[self.role]
            case ActorKind.AGENT_KEY:
                return any(permission in SCOPE_PERMISSIONS[scope] for scope in self.scopes)

    def require(self, permission: Permission) -> None:
        if self.may(permission):
            return
        raise ForbiddenError(
            f"{self.name} may not {permission.value.replace('_', ' ')}.",
            suggestion=_how_to_get(self.kind, permission),
            details={"permission": permission.value},
        )


# The team of an actor that founds one, before there is any.
NO_TEAM = UUID(int=0)
SYSTEM_ID = "system"


def system_actor(*, team_id: UUID, door: Door) -> Actor:
    return Actor(kind=ActorKind.SYSTEM, id=SYSTEM_ID, name="Workrail", team_id=team_id, door=door)


def person_id_of(*, actor: Actor) -> UUID:
    """The account of the person who acts; a key or the system has none and is refused."""
    person_id = from_text(Prefix.PERSON, actor.id) if actor.kind is ActorKind.PERSON else None
    if person_id is None:
        raise ForbiddenError("Only a person may do this.", suggestion="Sign in to the Studio, or use REST signed in.")
    return person_id


def _how_to_get(kind: ActorKind, permission: Permission) -> str:
    scope = next((scope for scope, given in SCOPE_PERMISSIONS.items() if permission in given), None)
    if kind is ActorKind.AGENT_KEY and scope is not None:
        return f"Ask an owner of the team for a key with the scope {scope.value}."
    role = next(role for role in Role if permission in ROLE_PERMISSIONS[role])
    if kind is ActorKind.AGENT_KEY:
        return f"No key can do this: a person with the role {role.value} does it in the Studio or by REST."
    return f"Ask an owner of the team for the role {role.value}."
