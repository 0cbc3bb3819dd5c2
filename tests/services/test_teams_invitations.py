"""How people come into a team, and how they get a new password: by one-time links, and by their own doing only."""

from dataclasses import replace
from datetime import timedelta

import pytest

from teams_app.engine.actors import Door, Role
from teams_app.engine.errors import ForbiddenError, InvalidInputError, NotFoundError, PreconditionFailedError
from teams_app.engine.pages import PageRequest
from tests.cast import LATER, NOW, audited, play

pytestmark = pytest.mark.django_db

GOOD = "correct horse battery"


def invite(house, username="dora", role=Role.VIEWER, now=NOW):
    from teams_app.services.invitations import invite as ask

    return ask(actor=house.alice.actor, username=username, role=role, now=now)


def join_new(link, password=GOOD, now=LATER):
    from teams_app.services.invitations import accept_with_new_account

    return accept_with_new_account(link=link, password=password, door=Door.STUDIO, now=now)


def join_known(link, password=GOOD, now=LATER):
    from teams_app.services.invitations import accept_with_account

    return accept_with_account(link=link, password=password, door=Door.STUDIO, now=now)


def offer(house, player=None, now=NOW):
    from teams_app.services.resets import offer_reset

    return offer_reset(actor=house.alice.actor, member_id=(player or house.bob).membership.pk, now=now)


def reset(link, password=GOOD, now=LATER):
    from teams_app.services.resets import reset_password

    return reset_password(link=link, password=password, door=Door.STUDIO, now=now)


def give_password(player, password=GOOD):
    player.person.set_password(password)
    player.person.save(update_fields=["password"])


def roles(team):
    from teams_app.models import Membership

    return dict(Membership.objects.filter(team=team).values_list("person__username", "role"))


def people():
    from teams_app.models import Person

    return set(Person.objects.values_list("username", "password"))


def test_an_invitation_changes_nothing_for_anybody_until_it_is_accepted(house):
    before = people(), roles(house.team)

    invite(house, "dora")
    invite(house, "charlie")

    assert (people(), roles(house.team)) == before
    assert audited(house.team) == ["member.invited", "member.invited"]


def test_the_answer_does_not_tell_which_names_exist(house):
    there, nowhere = invite(house, "charlie"), invite(house, "nobody-of-that-name")

    def shape(issued):
        value = issued.invitation
        return value.role, value.team_name, value.inviter_name, value.expires_at, len(issued.link)

    assert shape(there) == shape(nowhere)


def test_a_new_person_sets_their_own_password_and_is_in(house):
    from teams_app.models import AuditEntry, Person

    joined = join_new(invite(house, " Dora ", Role.AUTHOR).link)

    person = Person.objects.get(username="dora")
    assert person.check_password(GOOD)
    assert (joined.person_id, joined.member.role) == (person.pk, Role.AUTHOR)
    assert roles(house.team)["dora"] == "author"
    entry = AuditEntry.objects.get(action="member.joined")
    assert (entry.actor_name, entry.details["invited_by"]) == ("dora", "alice")


def test_a_person_with_an_account_proves_it_and_keeps_their_password(house):
    give_password(house.charlie)
    before = people()

    join_known(invite(house, "charlie").link)

    assert people() == before
    assert roles(house.team)["charlie"] == "viewer"


def no_more_an_owner(house, bob, way):
    """Bob was made an owner by Alice, and is none any more; he leaves by himself, or she sees to it."""
    from teams_app.services.members import change_role, remove_member
    from teams_app.services.sign_on import _keep_role

    member = house.bob.membership.pk
    if way in {"put out by groups", "demoted by groups"}:
        house.team.memberships.filter(pk=member).update(by_sign_on=True)
        _keep_role(house.bob.person, house.team, Role.AUTHOR if "demoted" in way else None, Door.STUDIO, NOW)
    elif way == "demoted":
        change_role(actor=house.alice.actor, member_id=member, role=Role.AUTHOR, now=NOW)
    else:
        remove_member(actor=bob if way == "left" else house.alice.actor, member_id=member, now=NOW)


@pytest.mark.parametrize("way", ["removed", "demoted", "left", "put out by groups", "demoted by groups"])
def test_what_an_owner_has_handed_out_holds_no_longer_than_they_are_one(house, way):
    from teams_app.services.invitations import invite as ask
    from teams_app.services.members import change_role
    from teams_app.services.resets import offer_reset

    change_role(actor=house.alice.actor, member_id=house.bob.membership.pk, role=Role.OWNER, now=NOW)
    bob = replace(house.bob.actor, role=Role.OWNER)
    back = ask(actor=bob, username="bob-again", role=Role.OWNER, now=NOW)
    member = join_new(invite(house, "dora").link).member
    taken = offer_reset(actor=bob, member_id=member.id, now=NOW)
    kept = invite(house, "erin")

    no_more_an_owner(house, bob, way)

    with pytest.raises(NotFoundError):
        join_new(back.link)
    with pytest.raises(NotFoundError):
        reset(taken.link, "another good password")
    assert join_new(kept.link).member.username == "erin"


def test_an_invitation_ends_when_the_person_is_let_in_in_another_way(house):
    """Else whoever is put out of the team would come back by it, in a role that they never had."""
    from teams_app.services.members import remove_member
    from teams_app.services.sign_on import _keep_role

    dora = play("dora", house.other_team, Role.VIEWER)
    give_password(dora)
    link, other = invite(house, "dora", Role.OWNER).link, invite(house, "erin").link

    _keep_role(dora.person, house.team, Role.VIEWER, Door.STUDIO, NOW)
    member = house.team.memberships.get(person=dora.person)
    remove_member(actor=house.alice.actor, member_id=member.pk, now=NOW)

    with pytest.raises(NotFoundError):
        join_known(link)
    assert "dora" not in roles(house.team)
    assert join_new(other).member.username == "erin"


def test_a_link_for_a_new_password_does_not_come_back_with_its_person(house):
    from teams_app.services.members import remove_member

    give_password(house.bob)
    link = offer(house).link
    remove_member(actor=house.alice.actor, member_id=house.bob.membership.pk, now=NOW)
    join_known(invite(house, "bob").link)

    with pytest.raises(NotFoundError):
        reset(link, "a password of somebody else")


def test_whoever_holds_the_link_of_a_name_that_exists_cannot_take_it_over(house):
    give_password(house.charlie)
    before = people()
    link = invite(house, "charlie").link

    refusals = []
    for attempt in (lambda: join_new(link), lambda: join_known(link, "a wrong password 1")):
        with pytest.raises(InvalidInputError) as refused:
            attempt()
        refusals.append(refused.value.as_json())

    assert people() == before
    assert refusals[0] == refusals[1]
    assert "charlie" not in roles(house.team)


def test_signed_in_already_is_proof_enough_of_the_name_that_was_invited_and_of_no_other(house):
    from teams_app.services.invitations import accept_signed_in

    link = invite(house, "charlie").link

    with pytest.raises(InvalidInputError):
        accept_signed_in(link=link, person_id=house.bob.person.pk, door=Door.STUDIO, now=LATER)
    accept_signed_in(link=link, person_id=house.charlie.person.pk, door=Door.STUDIO, now=LATER)

    assert roles(house.team)["charlie"] == "viewer"


def test_an_account_that_was_closed_joins_nothing(house):
    give_password(house.charlie)
    house.charlie.person.is_active = False
    house.charlie.person.save(update_fields=["is_active"])

    with pytest.raises(InvalidInputError):
        join_known(invite(house, "charlie").link)


@pytest.mark.parametrize("end", ["used", "withdrawn", "replaced", "expired", "foreign", "none"])
def test_a_link_works_once_in_time_and_while_it_is_wanted(house, end):
    from teams_app.services.invitations import withdraw_invitation

    issued = invite(house)
    link, now = issued.link, LATER
    match end:
        case "used":
            join_new(link)
        case "withdrawn":
            withdraw_invitation(actor=house.alice.actor, invitation_id=issued.invitation.id, now=NOW)
        case "replaced":
            invite(house)
        case "expired":
            now = NOW + timedelta(days=7)
        case "foreign":
            link = offer(house).link
        case "none":
            link = "wr_link_" + "a" * 40
    before = people(), roles(house.team)

    with pytest.raises(NotFoundError):
        join_new(link, now=now)

    assert (people(), roles(house.team)) == before


def test_of_a_link_only_the_digest_is_kept(house):
    from teams_app.models import AuditEntry, Invitation, PasswordReset

    links = [invite(house).link, offer(house).link]

    kept = repr([list(table.objects.values()) for table in (Invitation, PasswordReset, AuditEntry)])
    assert not [link for link in links if link in kept]


def test_a_member_is_not_invited_again(house):
    with pytest.raises(PreconditionFailedError, match="already"):
        invite(house, "bob", Role.OWNER)

    assert audited(house.team) == []


def test_there_is_a_most_of_open_invitations(house, monkeypatch):
    from teams_app.services import invitations

    monkeypatch.setattr(invitations, "_MOST_OPEN", 2)
    invite(house, "one")
    invite(house, "two")

    with pytest.raises(PreconditionFailedError, match="open"):
        invite(house, "three")
    invite(house, "two")
    invite(house, "three", now=NOW + timedelta(days=8))


@pytest.mark.parametrize("act", ["invite", "withdraw", "list", "reset"])
def test_only_an_owner_invites_and_resets(house, act):
    from teams_app import selectors
    from teams_app.services import invitations, resets

    bob, issued = house.bob.actor, invite(house)
    acts = {
        "invite": lambda: invitations.invite(actor=bob, username="eve", role=Role.OWNER, now=NOW),
        "withdraw": lambda: invitations.withdraw_invitation(actor=bob, invitation_id=issued.invitation.id, now=NOW),
        "list": lambda: selectors.list_invitations(actor=bob, page=PageRequest(), now=NOW),
        "reset": lambda: resets.offer_reset(actor=bob, member_id=house.alice.membership.pk, now=NOW),
    }

    with pytest.raises(ForbiddenError):
        acts[act]()

    assert audited(house.team) == ["member.invited"]


def test_another_team_sees_and_ends_no_invitation(house):
    from teams_app import selectors
    from teams_app.services.invitations import withdraw_invitation

    issued = invite(house)
    charlie = house.charlie.actor

    assert selectors.list_invitations(actor=charlie, page=PageRequest(), now=NOW).items == ()
    with pytest.raises(NotFoundError):
        withdraw_invitation(actor=charlie, invitation_id=issued.invitation.id, now=NOW)
    join_new(issued.link)


def test_the_invitations_that_are_listed_are_those_that_can_be_accepted(house):
    from teams_app import selectors

    join_new(invite(house, "gone").link)
    invite(house, "old", now=NOW - timedelta(days=8))
    invite(house, "dora")

    listed = selectors.list_invitations(actor=house.alice.actor, page=PageRequest(), now=NOW).items

    assert [each.username for each in listed] == ["dora"]


def test_a_forgotten_password_is_set_anew_by_its_person_with_a_link_of_an_owner(house):
    give_password(house.bob, "the one before it")
    issued = offer(house)
    house.bob.person.refresh_from_db()
    assert house.bob.person.check_password("the one before it")

    assert reset(issued.link) == "bob"

    house.bob.person.refresh_from_db()
    assert house.bob.person.check_password(GOOD)
    assert audited(house.team) == ["password.reset_offered", "password.reset"]


@pytest.mark.parametrize("end", ["used", "replaced", "expired", "left", "joined elsewhere", "changed", "closed"])
def test_a_link_for_a_new_password_works_once_in_time_and_for_a_person_of_this_team_alone(house, end):
    from teams_app.services.passwords import change_password

    give_password(house.bob, "the one before it")
    link, now = offer(house).link, LATER
    match end:
        case "used":
            reset(link)
        case "replaced":
            offer(house)
        case "expired":
            now = NOW + timedelta(hours=24)
        case "left":
            house.bob.membership.delete()
        case "joined elsewhere":
            play("bob", house.other_team, Role.VIEWER)
        case "changed":
            change_password(actor=house.bob.actor, old="the one before it", new="one that he chose", now=NOW)
        case "closed":
            house.bob.person.is_active = False
            house.bob.person.save(update_fields=["is_active"])
    before = people()

    with pytest.raises(NotFoundError):
        reset(link, "a password of somebody else", now=now)

    assert people() == before


def test_an_owner_does_not_become_somebody_of_another_team_by_resetting_their_password(house):
    play("bob", house.other_team, Role.OWNER)

    with pytest.raises(ForbiddenError, match="another team"):
        offer(house)

    assert audited(house.team) == []


def test_whoever_runs_the_server_resets_the_password_of_anybody(house):
    from teams_app.engine.actors import system_actor
    from teams_app.services.resets import offer_reset

    play("bob", house.other_team, Role.OWNER)
    actor = system_actor(team_id=house.team.pk, door=Door.CLI)

    reset(offer_reset(actor=actor, member_id=house.bob.membership.pk, now=NOW).link)

    assert audited(house.other_team) == ["password.reset"]


# Blanks of every width, what is shown as a blank, and what is not shown at all.
UNSEEN = " \t\u00a0\u1680\u2003\u202f\u205f\u2028\u2800\u3000\u3164\uffa0\u115f\u200b\u2060\u00ad\ufeff\ufe0f\ufff9\x01\x7f\x85\U0001d159\U000e0041"


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("dora", "i am dora of kansas"),
        ("dora", "I-AM-DORA-OF-KANSAS"),
        ("dora", "i am ｄｏｒａ of kansas"),
        ("dora", "i am dóra of kansas"),
        ("dora.gale@example.com", "a gale from the east"),
        ("dora", "short"),
        ("dora", "password1234"),
        ("dora", "ｐａｓｓｗｏｒｄ１２３４"),
        ("dora", "pass\u200bword1234"),
        ("dora", "short" + "\u200b" * 20),
        ("dora", "\ufdfa" * 11),
        *(("dora", unseen * 13) for unseen in UNSEEN),
        *(("dora", f"{unseen * 6}b7{unseen * 6}") for unseen in UNSEEN),
        *(("dora", unseen.join("pq7short")) for unseen in UNSEEN),
        ("dora", "".join(UNSEEN)),
        ("dora", "\ufdfa" * 11 + " "),
        ("dora", "i am d\u200bora of kansas"),
        ("dora", "i am d\u043er\u0430 of kansas"),
    ],
)
def test_a_password_that_is_weak_or_holds_the_name_is_refused_and_the_link_is_still_good(house, username, password):
    link = invite(house, username).link

    with pytest.raises(InvalidInputError):
        join_new(link, password)

    join_new(link)


def test_a_person_changes_their_own_password_with_the_one_that_they_have(house):
    from teams_app.services.passwords import change_password

    give_password(house.bob, "the one before it")
    play("bob", house.other_team, Role.VIEWER)

    with pytest.raises(InvalidInputError):
        change_password(actor=house.bob.actor, old="a wrong one 12345", new=GOOD, now=NOW)
    change_password(actor=house.bob.actor, old="the one before it", new=GOOD, now=NOW)

    house.bob.person.refresh_from_db()
    assert house.bob.person.check_password(GOOD)
    assert (audited(house.team), audited(house.other_team)) == (["password.changed"], ["password.changed"])


def test_a_refused_sign_in_of_a_name_that_nobody_has_is_told_to_nobody(house):
    from teams_app.models import AuditEntry
    from teams_app.services.sign_ins import record_refused_sign_in

    record_refused_sign_in(username="nobody", address="10.0.0.1", door=Door.STUDIO, now=NOW)
    record_refused_sign_in(username="ＢＯＢ", address="10.0.0.1", door=Door.STUDIO, now=NOW)

    (entry,) = AuditEntry.objects.all()
    assert (entry.action, entry.actor_name) == ("person.sign_in_refused", "Workrail")
    assert entry.details == {"username": "bob", "address": "10.0.0.1"}
