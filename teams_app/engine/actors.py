"""Who acts. Every service and selector takes an `Actor`; there is no default one."""

from dataclasses import dataclass, replace
from enum import StrEnum
from uuid import UUID

from teams_app.engine.errors import ForbiddenError, HumanRequiredError
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


# What an agent needs that drives runs.
USUAL_SCOPES = (Scope.WORKFLOWS_READ, Scope.RUNS_READ, Scope.RUNS_WRITE)


class TokenScope(StrEnum):
    """What a person's token may do beside reading: never more than their role."""

    ANSWER = "answer"
    PUBLISH = "publish"
    MANAGE = "manage"


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

# Agents drive runs, with keys of their own: no token does.
TOKEN_SCOPE_PERMISSIONS: dict[TokenScope, frozenset[Permission]] = {
    TokenScope.ANSWER: _OPERATOR - _VIEWER - {Permission.DRIVE_RUNS},
    TokenScope.PUBLISH: _AUTHOR - _OPERATOR,
    TokenScope.MANAGE: _OWNER - _AUTHOR,
}


def scopes_within(role: Role) -> frozenset[Scope]:
    """What an agent may that acts for somebody with this role: nothing that they may not."""
    return frozenset(scope for scope, given in SCOPE_PERMISSIONS.items() if given <= ROLE_PERMISSIONS[role])


# No scope gives these to a key, and the system never speaks for a person.
_PEOPLE_ONLY = frozenset({Permission.ANSWER_CHECKPOINTS})


# What an answer says of a person who acted by a token, in the place of the door.
BY_TOKEN = "token"  # noqa: S105  a word, and no secret


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenGrant:
    """The token by which a person acts. `answers_human` is what their team says of all tokens."""

    id: str
    name: str
    scopes: frozenset[TokenScope]
    answers_human: bool

    def may(self, permission: Permission) -> bool:
        return permission in _VIEWER or any(permission in TOKEN_SCOPE_PERMISSIONS[scope] for scope in self.scopes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """One actor in one team through one door. `role` is a person's, `scopes` a key's; the system has neither.

    `token` is there when a person acts by a token of theirs, and not when they have signed in.
    """

    kind: ActorKind
    id: str
    name: str
    team_id: UUID
    door: Door
    role: Role | None = None
    scopes: frozenset[Scope] = frozenset()
    token: TokenGrant | None = None

    @property
    def way(self) -> str:
        """What an answer keeps of how the actor came: the door, or that it was by a token."""
        return self.door.value if self.token is None else BY_TOKEN

    @property
    def is_human(self) -> bool:
        """Whether their word is the word of a person where only that counts."""
        return self.kind is ActorKind.PERSON and (self.token is None or self.token.answers_human)

    def by_token(self, token: TokenGrant) -> "Actor":
        return replace(self, token=token)

    def may(self, permission: Permission) -> bool:
        match self.kind:
            case ActorKind.SYSTEM:
                return permission not in _PEOPLE_ONLY
            case ActorKind.PERSON:
                allowed = self.token is None or self.token.may(permission)
                return allowed and self.role is not None and permission in ROLE_PERMISSIONS[self.role]
            case ActorKind.AGENT_KEY:
                return any(permission in SCOPE_PERMISSIONS[scope] for scope in self.scopes)

    def require(self, permission: Permission) -> None:
        if self.may(permission):
            return
        raise ForbiddenError(
            f"{self.name} may not {permission.value.replace('_', ' ')}.",
            suggestion=_how_to_get(self, permission),
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


def require_present(*, actor: Actor, to_do: str) -> None:
    """For what makes people or their tokens, and says what tokens may: no token does it, or it could become a person."""
    if actor.token is not None:
        raise HumanRequiredError(
            f"Only a signed-in person may {to_do}; no token does, whatever its scopes.",
            suggestion="Do it in the Studio, signed in.",
        )


def _how_to_get(actor: Actor, permission: Permission) -> str:
    kind = actor.kind
    if actor.token is not None and not actor.token.may(permission):
        return _token_that_may(permission)
    scope = next((scope for scope, given in SCOPE_PERMISSIONS.items() if permission in given), None)
    if kind is ActorKind.AGENT_KEY and scope is not None:
        return f"Ask an owner of the team for a key with the scope {scope.value}."
    role = next(role for role in Role if permission in ROLE_PERMISSIONS[role])
    if kind is ActorKind.AGENT_KEY:
        return f"No key can do this: a person with the role {role.value} does it in the Studio or by REST."
    return f"Ask an owner of the team for the role {role.value}."


def _token_that_may(permission: Permission) -> str:
    scope = next((scope for scope, given in TOKEN_SCOPE_PERMISSIONS.items() if permission in given), None)
    if scope is None:
        return "No token can do this: agents do it with a key, and people signed in."
    return f"Make a token with the scope {scope.value} in the Studio, if your role has it."
