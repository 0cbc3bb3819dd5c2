"""Teams and their members."""

import pytest

from teams_app.engine.actors import Permission, Role
from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError, PreconditionFailedError
from tests.cast import LATER, NOW, actor_of, audited, play

pytestmark = pytest.mark.django_db


def roles(team):
    from teams_app.models import Membership

    return dict(Membership.objects.filter(team=team).values_list("person__username", "role"))


def test_whoever_founds_a_team_owns_it(house):
    from teams_app.models import Team
    from teams_app.services.teams import found_team

    founded = found_team(actor=house.alice.actor, name="  New team ", now=NOW)

    team = Team.objects.get(pk=founded.id)
    assert founded.name == "New team"
    assert roles(team) == {"alice": "owner"}
    assert audited(team) == ["team.created"]


def test_a_team_is_renamed_and_both_names_are_on_record(house):
    from teams_app.models import AuditEntry
    from teams_app.services.teams import rename_team

    renamed = rename_team(actor=house.alice.actor, name="Rails", now=LATER)

    house.team.refresh_from_db()
    assert (renamed.name, house.team.name) == ("Rails", "Rails")
    assert AuditEntry.objects.get(action="team.renamed").details == {"from": "Alice's team", "to": "Rails"}


def test_renaming_a_team_to_its_own_name_records_nothing(house):
    from teams_app.services.teams import rename_team

    rename_team(actor=house.alice.actor, name="Alice's team", now=LATER)

    assert audited(house.team) == []


def test_a_role_is_changed_and_recorded_with_the_one_before(house):
    from teams_app.models import AuditEntry
    from teams_app.services.members import change_role

    changed = change_role(actor=house.alice.actor, member_id=house.bob.membership.pk, role=Role.AUTHOR, now=NOW)

    assert changed.role is Role.AUTHOR
    assert roles(house.team)["bob"] == "author"
    assert AuditEntry.objects.get().details == {"username": "bob", "from": "operator", "to": "author"}


def test_the_same_role_again_records_nothing(house):
    from teams_app.services.members import change_role

    change_role(actor=house.alice.actor, member_id=house.bob.membership.pk, role=Role.OPERATOR, now=NOW)

    assert audited(house.team) == []


def test_an_owner_removes_a_member(house):
    from teams_app.services.members import remove_member

    remove_member(actor=house.alice.actor, member_id=house.bob.membership.pk, now=NOW)

    assert roles(house.team) == {"alice": "owner"}
    assert audited(house.team) == ["member.removed"]


def test_everybody_may_leave(house):
    from teams_app.services.members import remove_member

    remove_member(actor=house.bob.actor, member_id=house.bob.membership.pk, now=NOW)

    assert roles(house.team) == {"alice": "owner"}


def test_nobody_but_an_owner_removes_another(house):
    from teams_app.services.members import remove_member

    with pytest.raises(ForbiddenError):
        remove_member(actor=house.bob.actor, member_id=house.alice.membership.pk, now=NOW)

    assert roles(house.team) == {"alice": "owner", "bob": "operator"}


def test_the_last_owner_is_neither_demoted_nor_removed(house):
    from teams_app.services.members import change_role, remove_member

    own = house.alice.membership.pk
    with pytest.raises(PreconditionFailedError, match="last owner"):
        change_role(actor=house.alice.actor, member_id=own, role=Role.VIEWER, now=NOW)
    with pytest.raises(PreconditionFailedError, match="last owner"):
        remove_member(actor=house.alice.actor, member_id=own, now=NOW)

    assert roles(house.team)["alice"] == "owner"
    assert audited(house.team) == []


def test_an_owner_leaves_when_there_is_another(house):
    from teams_app.services.members import remove_member

    play("olga", house.team, Role.OWNER)

    remove_member(actor=house.alice.actor, member_id=house.alice.membership.pk, now=NOW)

    assert roles(house.team) == {"bob": "operator", "olga": "owner"}


def test_a_member_of_another_team_is_the_same_as_none(house):
    from uuid import UUID

    from teams_app.services.members import change_role, remove_member

    refusals = []
    for member_id in (house.bob.membership.pk, UUID(int=7)):
        with pytest.raises(NotFoundError) as refused:
            change_role(actor=house.charlie.actor, member_id=member_id, role=Role.OWNER, now=NOW)
        refusals.append(refused.value.as_json())
        with pytest.raises(NotFoundError):
            remove_member(actor=house.charlie.actor, member_id=member_id, now=NOW)

    assert refusals[0] == refusals[1]
    assert roles(house.team)["bob"] == "operator"


@pytest.mark.parametrize("act", ["found", "rename", "change"])
def test_only_an_owner_manages(house, act):
    from teams_app.services import members, teams

    bob = house.bob.actor
    acts = {
        "found": lambda: teams.found_team(actor=bob, name="x", now=NOW),
        "rename": lambda: teams.rename_team(actor=bob, name="x", now=NOW),
        "change": lambda: members.change_role(
            actor=bob,
            member_id=house.bob.membership.pk,
            role=Role.OWNER,
            now=NOW,
        ),
    }

    with pytest.raises(ForbiddenError) as refused:
        acts[act]()

    assert refused.value.details == {"permission": Permission.MANAGE_TEAM.value}
    assert roles(house.team) == {"alice": "owner", "bob": "operator"}
    assert audited(house.team) == []


def test_a_name_that_is_refused_changes_nothing(house):
    from teams_app.services.teams import rename_team

    with pytest.raises(InvalidInputError):
        rename_team(actor=house.alice.actor, name="a\x00b", now=NOW)

    house.team.refresh_from_db()
    assert house.team.name == "Alice's team"


def test_a_person_in_two_teams_acts_with_the_role_of_the_one_that_they_chose(house):
    from teams_app import selectors
    from teams_app.engine.actors import Door

    play("bob", house.other_team, Role.OWNER)

    actor = selectors.person_actor(
        person_id=house.bob.person.pk,
        team_id=house.other_team.pk,
        door=Door.REST,
    )

    assert (actor.team_id, actor.role) == (house.other_team.pk, Role.OWNER)


def test_a_person_who_is_no_longer_active_is_nobody(house):
    from teams_app import selectors
    from teams_app.engine.actors import Door

    house.bob.person.is_active = False
    house.bob.person.save(update_fields=["is_active"])

    with pytest.raises(ForbiddenError):
        selectors.person_actor(person_id=house.bob.person.pk, team_id=None, door=Door.REST)


@pytest.mark.parametrize("role", ["", "admin", "Owner"])
def test_the_table_itself_refuses_an_unknown_role(house, role):
    from django.db import IntegrityError, transaction

    from teams_app.models import Membership

    with pytest.raises(IntegrityError, match="membership_role_known"), transaction.atomic():
        Membership.objects.filter(pk=house.bob.membership.pk).update(role=role)


def test_actors_of_the_cast_are_what_the_selector_would_say(house):
    from teams_app import selectors
    from teams_app.engine.actors import Door

    found = selectors.person_actor(person_id=house.alice.person.pk, team_id=None, door=Door.REST)

    assert found == actor_of(house.alice.membership)
