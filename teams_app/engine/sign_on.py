"""What a provider of identities tells of a person, and which roles follow from their groups."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from teams_app.engine.actors import Role
from teams_app.engine.ids import Prefix, from_text
from teams_app.engine.names import USERNAME_CHARACTERS, fold_username
from teams_app.engine.normal_forms import normalised

MAX_CLAIM_CHARACTERS = 256
_NOT_IN_NAMES = re.compile(r"[^a-z0-9._@+-]+")
_ORDER = list(Role)

# Group, then team, then the role that a member of the group has there.
GroupRoles = Mapping[str, Mapping[UUID, Role]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Issuer and subject name a person for good; the rest may change, and finds nobody."""

    issuer: str
    subject: str
    username: str
    groups: frozenset[str]


def read_group_roles(text: str) -> GroupRoles:
    """`{"admins": {"team_…": "owner"}}`. Raises ValueError for anything else."""
    found = json.loads(text) if text else {}
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004  whoever reads the environment waits for one kind
    return {str(group): _roles_of(teams) for group, teams in found.items()}


def _roles_of(teams: object) -> dict[UUID, Role]:
    if not isinstance(teams, dict):
        raise ValueError("a group has no object of teams")  # noqa: TRY004  as above
    return {_team_of(team): Role(role) for team, role in teams.items()}


def _team_of(text: str) -> UUID:
    team_id = from_text(Prefix.TEAM, text)
    if team_id is None:
        raise ValueError(f"{text} is no id of a team")
    return team_id


def roles_for(*, groups: Iterable[str], group_roles: GroupRoles) -> dict[UUID, Role]:
    """In each team the highest of the roles that the groups give."""
    wanted: dict[UUID, Role] = {}
    for group in groups:
        for team_id, role in group_roles.get(group, {}).items():
            wanted[team_id] = max(role, wanted.get(team_id, role), key=_ORDER.index)
    return wanted


def teams_of(*, group_roles: GroupRoles) -> frozenset[UUID]:
    return frozenset(team_id for teams in group_roles.values() for team_id in teams)


def login_name_of(*, given: str) -> str:
    """The name as a login name, or empty where nothing is left of it."""
    plain = normalised("NFKD", given).encode("ascii", "ignore").decode()
    return _NOT_IN_NAMES.sub("-", fold_username(plain)).strip("._@+-")[:USERNAME_CHARACTERS]
