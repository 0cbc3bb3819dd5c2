"""What each kind of actor may do."""

import itertools
from uuid import UUID

import pytest

from teams_app.engine.actors import (
    ROLE_PERMISSIONS,
    SCOPE_PERMISSIONS,
    Actor,
    ActorKind,
    Door,
    Permission,
    Role,
    Scope,
    person_id_of,
    system_actor,
)
from teams_app.engine.errors import ForbiddenError
from teams_app.engine.ids import Prefix, to_text

TEAM = UUID(int=1)
PERSON = UUID("01a1ee7b-cfef-7a8d-a0ef-27aad03659dd")


def person(role):
    return Actor(
        kind=ActorKind.PERSON,
        id=to_text(Prefix.PERSON, PERSON),
        name="alice",
        team_id=TEAM,
        door=Door.REST,
        role=role,
    )


def key(*scopes):
    return Actor(kind=ActorKind.AGENT_KEY, id="key_x", name="k", team_id=TEAM, door=Door.MCP, scopes=frozenset(scopes))


def test_each_role_may_all_that_the_one_before_it_may():
    roles = list(Role)

    for lower, higher in itertools.pairwise(roles):
        assert ROLE_PERMISSIONS[lower] < ROLE_PERMISSIONS[higher]


def test_every_scope_gives_one_permission():
    assert set(SCOPE_PERMISSIONS) == set(Scope)


def test_a_key_may_only_what_its_scopes_say():
    assert key(Scope.RUNS_READ).may(Permission.READ_RUNS)
    assert not key(Scope.RUNS_READ).may(Permission.DRIVE_RUNS)
    assert not key().may(Permission.READ_TEAM)


def test_no_key_may_answer_publish_manage_or_read_the_audit_log_whatever_its_scopes():
    almighty = key(*Scope)

    for permission in (
        Permission.ANSWER_CHECKPOINTS,
        Permission.PUBLISH_WORKFLOWS,
        Permission.MANAGE_TEAM,
        Permission.READ_AUDIT,
    ):
        assert not almighty.may(permission)


def test_the_system_never_speaks_for_a_person():
    system = system_actor(team_id=TEAM, door=Door.TASK)

    assert system.may(Permission.MANAGE_TEAM)
    assert not system.may(Permission.ANSWER_CHECKPOINTS)


def test_a_person_without_a_role_may_nothing():
    assert not any(person(None).may(permission) for permission in Permission)


def test_a_refused_person_is_told_which_role_may():
    with pytest.raises(ForbiddenError) as refused:
        person(Role.VIEWER).require(Permission.PUBLISH_WORKFLOWS)

    assert "role author" in refused.value.suggestion
    assert refused.value.details == {"permission": "publish_workflows"}


def test_a_refused_key_is_told_which_scope_may():
    with pytest.raises(ForbiddenError) as refused:
        key().require(Permission.READ_RUNS)

    assert "scope runs:read" in refused.value.suggestion


def test_a_key_that_asks_for_what_no_scope_gives_is_sent_to_a_person():
    with pytest.raises(ForbiddenError) as refused:
        key(*Scope).require(Permission.ANSWER_CHECKPOINTS)

    assert "No key can do this" in refused.value.suggestion


def test_the_account_behind_a_person_is_found():
    assert person_id_of(actor=person(Role.VIEWER)) == PERSON


def test_a_key_has_no_account():
    with pytest.raises(ForbiddenError):
        person_id_of(actor=key(*Scope))
