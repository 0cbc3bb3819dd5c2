"""Two at once, each with a connection of its own, meeting at the line that closes the race."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import transaction

from teams_app.engine.actors import NO_TEAM, Door, Role, Scope, system_actor
from teams_app.engine.errors import ForbiddenError, WorkrailError
from teams_app.engine.webhooks import NoticeKind
from tests.cast import LATER, NOW, audited, issue, play

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 5


def together(*calls):
    """Runs each call in a thread of its own, all from one starting line; gives back results and refusals."""
    from django.db import connections

    line = threading.Barrier(len(calls))

    def run(call):
        try:
            line.wait(timeout=10)
            return call()
        except WorkrailError as refusal:
            return refusal
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as threads:
        return list(threads.map(run, calls))


def refused(results):
    return [result for result in results if isinstance(result, WorkrailError)]


def owners(team):
    from teams_app.models import Membership

    return Membership.objects.filter(team=team, role="owner").count()


def test_two_owners_who_demote_each_other_leave_one(house):
    from teams_app.services.members import change_role

    olga = play("olga", house.team, Role.OWNER)
    for _ in range(ROUNDS):
        for player in (house.alice, olga):
            player.membership.role = "owner"
            player.membership.save(update_fields=["role"])

        results = together(
            lambda: change_role(actor=house.alice.actor, member_id=olga.membership.pk, role=Role.VIEWER, now=NOW),
            lambda: change_role(actor=olga.actor, member_id=house.alice.membership.pk, role=Role.VIEWER, now=NOW),
        )

        assert len(refused(results)) == 1
        assert owners(house.team) == 1


def test_two_owners_who_leave_at_once_leave_one(house):
    from teams_app.services.members import remove_member

    olga = play("olga", house.team, Role.OWNER)

    results = together(
        lambda: remove_member(actor=house.alice.actor, member_id=house.alice.membership.pk, now=NOW),
        lambda: remove_member(actor=olga.actor, member_id=olga.membership.pk, now=NOW),
    )

    assert len(refused(results)) == 1
    assert owners(house.team) == 1


def test_one_link_that_is_used_twice_at_once_makes_one_member(house):
    from teams_app.models import Membership, Person
    from teams_app.services.invitations import accept_with_new_account, invite

    link = invite(actor=house.alice.actor, username="dora", role=Role.VIEWER, now=NOW).link

    results = together(
        *[
            lambda n=n: accept_with_new_account(
                link=link, password=f"correct horse battery {n}", door=Door.STUDIO, now=NOW
            )
            for n in range(4)
        ]
    )

    assert len(refused(results)) == 3
    assert Person.objects.filter(username="dora").count() == 1
    assert Membership.objects.filter(person__username="dora").count() == 1
    assert audited(house.team) == ["member.invited", "member.joined"]


def test_two_invitations_of_one_name_at_once_leave_one_link_that_works(house):
    from teams_app import selectors
    from teams_app.services.invitations import invite

    issued = together(
        *[lambda: invite(actor=house.alice.actor, username="dora", role=Role.VIEWER, now=NOW) for _ in range(4)]
    )

    assert len([each for each in issued if selectors.find_invitation(link=each.link, now=NOW)]) == 1


def test_two_teams_that_invite_one_new_name_end_with_one_account(house):
    from teams_app.models import Person
    from teams_app.services.invitations import accept_with_new_account, invite

    links = [
        invite(actor=actor, username="dora", role=Role.VIEWER, now=NOW).link
        for actor in (house.alice.actor, house.charlie.actor)
    ]

    results = together(
        *[
            lambda link=link: accept_with_new_account(link=link, password=link[-20:], door=Door.STUDIO, now=NOW)
            for link in links
        ]
    )

    assert len(refused(results)) == 1
    assert Person.objects.filter(username="dora").count() == 1


def test_a_key_that_is_revoked_twice_at_once_is_on_record_once(house):
    from teams_app.services.keys import revoke_key

    issued = issue(house.alice.actor)

    revoked = together(*[lambda: revoke_key(actor=house.alice.actor, key_id=issued.key.id, now=NOW) for _ in range(4)])

    assert len({key.revoked_at for key in revoked}) == 1
    assert audited(house.team) == ["key.issued", "key.revoked"]


def test_workers_that_find_the_same_expired_keys_tell_of_each_once(house):
    from teams_app.services.keys import record_expiries

    for number in range(20):
        issue(house.alice.actor, expires_at=LATER, name=f"key {number}")

    counts = together(*[lambda: record_expiries(now=LATER) for _ in range(4)])

    assert sum(counts) + record_expiries(now=LATER) == 20
    assert audited(house.team).count("key.expired") == 20


def test_two_starters_make_one_first_team(db):
    from teams_app.models import AgentKey, Person, Team
    from teams_app.services.first_run import prepare_first_run

    actor = system_actor(team_id=NO_TEAM, door=Door.CLI)

    done = together(*[lambda: prepare_first_run(actor=actor, now=NOW) for _ in range(3)])

    assert [run.created for run in done].count(True) == 1
    assert (Team.objects.count(), Person.objects.count(), AgentKey.objects.count()) == (1, 1, 1)


def test_noting_the_last_use_waits_for_nobody(house):
    from django.db import transaction

    from teams_app.models import AgentKey
    from teams_app.services.keys import authenticate_key

    issued = issue(house.alice.actor)

    with transaction.atomic():
        AgentKey.objects.select_for_update().get()
        (actor,) = together(lambda: authenticate_key(text=issued.text, door=Door.REST, now=NOW))

    assert actor.team_id == house.team.pk
    assert AgentKey.objects.get().last_used_at is None


def test_threads_together_get_exactly_the_limit(db):
    from teams_app.engine.errors import RateLimitedError
    from workrail_site.throttle import spend

    def one():
        try:
            spend(bucket="raced", limit=20, now=NOW)
        except RateLimitedError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as threads:
        through = sum(threads.map(lambda _: one(), range(100)))

    assert through <= 20


def demoted(house, olga):
    from teams_app.services.members import change_role

    change_role(actor=house.alice.actor, member_id=olga.membership.pk, role=Role.AUTHOR, now=NOW)


def removed(house, olga):
    from teams_app.services.members import remove_member

    remove_member(actor=house.alice.actor, member_id=olga.membership.pk, now=NOW)


def acts_of_an_owner(house, settings):
    """Each that leaves something behind for others, or cannot be undone."""
    from teams_app.services import endings, invitations, keys, members, resets, teams, webhooks

    settings.PUBLIC_URL = "https://rails.example.com"
    key, bob = issue(house.alice.actor).key.id, house.bob.membership.pk
    url = "https://hooks.example.com/a"
    webhooks.set_webhook(actor=house.alice.actor, url=url, now=NOW)
    endpoint, kinds = house.team.pk, [NoticeKind.RUN_STARTED]
    invited = invitations.invite(actor=house.alice.actor, username="dora", role=Role.VIEWER, now=NOW).invitation.id
    return {
        "invite": partial(invitations.invite, username="mallory", role=Role.OWNER),
        "withdraw": partial(invitations.withdraw_invitation, invitation_id=invited),
        "reset": partial(resets.offer_reset, member_id=bob),
        "promote": partial(members.change_role, member_id=bob, role=Role.OWNER),
        "remove": partial(members.remove_member, member_id=bob),
        "issue": partial(keys.issue_key, name="k", scopes=frozenset(Scope), expires_at=None),
        "rotate": partial(keys.rotate_key, key_id=key),
        "revoke": partial(keys.revoke_key, key_id=key),
        "rename": partial(teams.change_team, name="Another name"),
        "tokens": partial(teams.change_team, tokens_answer_human=True),
        "set": partial(webhooks.set_webhook, url=url),
        "add": partial(webhooks.add_endpoint, url=url, kinds=kinds),
        "choose": partial(webhooks.choose_notices, endpoint_id=endpoint, kinds=kinds),
        "unset": webhooks.remove_webhook,
        "end": transaction.atomic(partial(endings.close_team, name=house.team.name)),
    }


ACTS = (
    "invite",
    "withdraw",
    "reset",
    "promote",
    "remove",
    "issue",
    "rotate",
    "revoke",
    "rename",
    "tokens",
    "set",
    "add",
)


@pytest.mark.parametrize("ceases", [demoted, removed])
@pytest.mark.parametrize("act", [*ACTS, "choose", "unset", "end"])
def test_what_an_owner_began_before_they_ceased_to_be_one_is_not_done_after(house, settings, act, ceases):
    """They were let in as an owner, and waited for the lock; the act comes after what took their role."""
    olga = play("olga", house.team, Role.OWNER)
    acts = acts_of_an_owner(house, settings)
    assert set(acts) == {*ACTS, "choose", "unset", "end"}
    ceases(house, olga)
    before = audited(house.team)

    with pytest.raises(ForbiddenError):
        acts[act](actor=olga.actor, now=NOW)

    assert audited(house.team) == before


def test_an_owner_who_is_demoted_while_they_invite_leaves_no_invitation(house):
    from teams_app.services.invitations import invite

    olga = play("olga", house.team, Role.OWNER)
    for _ in range(ROUNDS):
        olga.membership.role = "owner"
        olga.membership.save(update_fields=["role"])
        together(
            lambda: demoted(house, olga),
            *(partial(invite, actor=olga.actor, username=f"m{n}", role=Role.OWNER, now=NOW) for n in range(3)),
        )

        assert not open_links_of(house.team, olga)


def open_links_of(team, player):
    from teams_app.selectors import open_invitations

    return open_invitations(team_id=team.pk).filter(invited_by=player.actor.id).exists()


@pytest.mark.parametrize("way", ["link", "join"])
def test_what_a_password_gets_is_got_before_it_is_changed_or_not_at_all(house, way):
    """The old one is proved, and then the new one is set: what is got by a password ends with it, or is refused."""
    from django.db import OperationalError, connection, connections

    from teams_app.engine.sign_on import Identity
    from teams_app.models import SignOnIdentity
    from teams_app.services.invitations import accept_with_account, invite
    from teams_app.services.passwords import change_password
    from teams_app.services.sign_on import link_account

    old, new = "correct horse battery", "another good one"
    house.bob.person.set_password(old)
    house.bob.person.save(update_fields=["password"])
    charlie = house.charlie.actor
    link = invite(actor=charlie, username="bob", role=Role.VIEWER, now=NOW).link
    identity = Identity(issuer="https://id.example", subject="mallory", username="mallory", groups=frozenset())
    changed = []

    def change():
        try:
            connections["default"].cursor().execute("SET lock_timeout = '300ms'")
            change_password(actor=house.bob.actor, old=old, new=new, now=NOW)
        except OperationalError:
            return False
        else:
            return True
        finally:
            connections.close_all()

    def beside(execute, sql, params, many, context):
        is_got = str(sql).startswith("INSERT INTO") and ("signonidentity" in str(sql) or "membership" in str(sql))
        if is_got and not changed:
            changed.append(threads.submit(change).result())
        return execute(sql, params, many, context)

    with ThreadPoolExecutor(1) as threads, connection.execute_wrapper(beside):
        if way == "link":
            link_account(identity=identity, username="bob", password=old, door=Door.STUDIO, now=NOW)
        else:
            accept_with_account(link=link, password=old, door=Door.STUDIO, now=NOW)

    assert changed == [False]
    change()
    assert not SignOnIdentity.objects.exists()
