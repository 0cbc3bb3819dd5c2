"""Tokens of people: made by oneself, never more than one's role, and refused alike whatever is wrong with them."""

import unicodedata
from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from teams_app.engine.actors import ROLE_PERMISSIONS, ActorKind, Door, Permission, Role, TokenScope
from teams_app.engine.errors import (
    ForbiddenError,
    HumanRequiredError,
    InvalidInputError,
    NotFoundError,
    PreconditionFailedError,
    UnauthenticatedError,
)
from teams_app.engine.names import unseen_in
from tests.cast import LATER, NOW, audited, issue, play
from tests.engine.test_teams_names import DECEIVING, JOINED, OF_OTHER_SCRIPTS

pytestmark = pytest.mark.django_db
EVERY = frozenset(TokenScope)
MONTH = NOW + timedelta(days=30)


def make(actor, *, scopes=EVERY, name="laptop", expires_at=MONTH, now=NOW):
    from teams_app.services.tokens import issue_token

    return issue_token(actor=actor, name=name, scopes=scopes, expires_at=expires_at, now=now)


def own_scopes(role):
    from teams_app.engine.actors import TOKEN_SCOPE_PERMISSIONS

    return frozenset(scope for scope, given in TOKEN_SCOPE_PERMISSIONS.items() if given & ROLE_PERMISSIONS[role])


def by(issued, *, now=NOW, door=Door.REST):
    from teams_app.services.tokens import authenticate_token

    return authenticate_token(text=issued if isinstance(issued, str) else issued.text, door=door, now=now)


def end(actor, issued, *, now=NOW):
    from teams_app.services.tokens import revoke_token

    return revoke_token(actor=actor, token_id=issued.token.id, now=now)


def allow(actor, *, allowed=True):
    from teams_app.services.teams import change_team

    change_team(actor=actor, tokens_answer_human=allowed, now=NOW)


def test_a_token_is_stored_as_a_digest_and_never_as_itself(house):
    from teams_app.models import AuditEntry, PersonalToken

    issued = make(house.alice.actor)

    stored = repr([PersonalToken.objects.values().get(), AuditEntry.objects.values().get()])
    assert issued.text.startswith("wr_pat_")
    assert issued.text not in stored
    assert issued.text[15:] not in stored
    assert audited(house.team) == ["token.issued"]


def test_by_a_token_its_person_acts_in_its_team_and_is_marked(house):
    actor = by(make(house.alice.actor, scopes=frozenset({TokenScope.PUBLISH})))

    assert (actor.kind, actor.id, actor.name) == (ActorKind.PERSON, house.alice.actor.id, "alice")
    assert (actor.team_id, actor.role, actor.way) == (house.team.pk, Role.OWNER, "token")
    assert actor.token.name == "laptop"
    assert not actor.is_human


@pytest.mark.parametrize(("role", "scope"), list(product(Role, TokenScope)))
def test_a_token_may_what_its_scope_gives_and_its_person_has(house, role, scope):
    dora = play("dora", house.team, Role.OWNER)
    issued = make(dora.actor, scopes=frozenset({scope}))
    dora.membership.role = role.value
    dora.membership.save(update_fields=["role"])

    actor = by(issued)

    may = {permission for permission in Permission if actor.may(permission)}
    assert may <= ROLE_PERMISSIONS[role]
    assert may >= ROLE_PERMISSIONS[Role.VIEWER]
    assert Permission.DRIVE_RUNS not in may
    assert (Permission.MANAGE_TEAM in may) is (role is Role.OWNER and scope is TokenScope.MANAGE)


def test_a_token_without_scopes_only_reads(house):
    actor = by(make(house.alice.actor, scopes=frozenset()))

    assert {permission for permission in Permission if actor.may(permission)} == ROLE_PERMISSIONS[Role.VIEWER]


def test_nobody_makes_a_token_beyond_their_role(house):
    with pytest.raises(ForbiddenError, match="publish, manage"):
        make(house.bob.actor)

    assert make(house.bob.actor, scopes=own_scopes(Role.OPERATOR)).token.scopes == {TokenScope.ANSWER}


def test_a_token_a_key_and_the_system_make_no_token(house):
    from teams_app.engine.actors import system_actor
    from teams_app.services.keys import authenticate_key

    token = by(make(house.alice.actor))
    key = authenticate_key(text=issue(house.alice.actor).text, door=Door.REST, now=NOW)

    with pytest.raises(HumanRequiredError):
        make(token, scopes=frozenset())
    for actor in (key, system_actor(team_id=house.team.pk, door=Door.CLI)):
        with pytest.raises(ForbiddenError):
            make(actor, scopes=frozenset())


@pytest.mark.parametrize("expires_at", [NOW, NOW - timedelta(days=1), NOW + timedelta(days=367)])
def test_a_token_ends_and_not_before_it_begins(house, expires_at):
    with pytest.raises(InvalidInputError, match="A token ends within 366 days"):
        make(house.alice.actor, expires_at=expires_at)


def test_there_are_only_so_many_tokens_of_one_person(house, monkeypatch):
    from teams_app.services import tokens

    monkeypatch.setattr(tokens, "MAX_LIVE_TOKENS", 2)
    first = make(house.alice.actor)
    make(house.alice.actor)

    with pytest.raises(PreconditionFailedError):
        make(house.alice.actor)
    end(house.alice.actor, first)

    assert make(house.alice.actor)


def revoked(house, issued):
    end(house.bob.actor, issued)


def expired(house, issued):
    from teams_app.models import PersonalToken

    PersonalToken.objects.update(created_at=NOW - timedelta(days=2), expires_at=NOW)


def deactivated(house, issued):
    house.bob.person.is_active = False
    house.bob.person.save(update_fields=["is_active"])


def removed(house, issued):
    from teams_app.services.members import remove_member

    remove_member(actor=house.alice.actor, member_id=house.bob.membership.pk, now=NOW)


def back_again(house, issued):
    removed(house, issued)
    play("bob", house.team, Role.OPERATOR)


@pytest.mark.parametrize("ended", [revoked, expired, deactivated, removed, back_again])
def test_whatever_ended_a_token_it_is_refused_in_the_same_words_as_one_that_never_was(house, ended):
    issued = make(house.bob.actor, scopes=frozenset())
    by(issued)
    ended(house, issued)

    refusals = []
    for text in (issued.text, "wr_pat_" + "a" * 40, "wr_pat_", "\ud800", issued.text[:-1] + "2", issued.text + "a"):
        with pytest.raises(UnauthenticatedError) as refused:
            by(text)
        refusals.append(refused.value.as_json())

    assert all(refusal == refusals[0] for refusal in refusals)


def test_one_revokes_ones_own_and_an_owner_anybodys(house):
    from teams_app import selectors
    from teams_app.engine.pages import PageRequest

    of_alice, of_bob = make(house.alice.actor), make(house.bob.actor, scopes=frozenset())

    for stranger, issued in ((house.bob, of_alice), (house.charlie, of_alice), (house.charlie, of_bob)):
        with pytest.raises(NotFoundError):
            end(stranger.actor, issued)
        with pytest.raises(NotFoundError):
            selectors.read_token(actor=stranger.actor, token_id=issued.token.id)
    mine = selectors.list_tokens(actor=house.bob.actor, page=PageRequest()).items
    assert [token.id for token in mine] == [of_bob.token.id]
    assert len(selectors.list_tokens(actor=house.alice.actor, page=PageRequest()).items) == 2

    assert end(house.alice.actor, of_bob, now=NOW).revoked_at == NOW
    assert end(house.bob.actor, of_bob, now=LATER).revoked_at == NOW
    assert audited(house.team) == ["token.issued", "token.issued", "token.revoked"]


def test_a_token_without_the_scope_to_manage_revokes_itself_alone(house):
    this, other = (make(house.alice.actor, scopes=frozenset({TokenScope.ANSWER})) for _ in range(2))
    actor = by(this)

    with pytest.raises(NotFoundError):
        end(actor, other)

    assert end(actor, this).revoked_at == NOW


def test_a_token_makes_no_person_and_never_says_what_tokens_may_answer(house):
    """Or whoever holds one could become a person, and answer as such."""
    from teams_app.services.invitations import invite
    from teams_app.services.resets import offer_reset

    actor = by(make(house.alice.actor))
    acts = [
        lambda: invite(actor=actor, username="dora", role=Role.OWNER, now=NOW),
        lambda: offer_reset(actor=actor, member_id=house.bob.membership.pk, now=NOW),
        lambda: allow(actor),
    ]

    for act in acts:
        with pytest.raises(HumanRequiredError, match="Only a signed-in person may"):
            act()

    house.team.refresh_from_db()
    assert house.team.tokens_answer_human is False
    assert audited(house.team) == ["token.issued"]


def test_a_token_without_the_scope_to_manage_takes_nobody_out_its_person_neither(house):
    from teams_app.services.members import remove_member

    actor = by(make(house.bob.actor, scopes=frozenset({TokenScope.ANSWER})))

    with pytest.raises(ForbiddenError):
        remove_member(actor=actor, member_id=house.bob.membership.pk, now=NOW)


@pytest.mark.django_db(transaction=True)
def test_what_is_done_by_a_token_is_marked_in_the_audit_log(house):
    from teams_app.models import AuditEntry
    from teams_app.services.audit_chain import verify_team_audit

    issued = make(house.alice.actor)
    issue(by(issued))

    told = AuditEntry.objects.get(action="key.issued")
    assert (told.actor_kind, told.actor_name) == ("person", "alice")
    assert told.details["by"] == "token"
    assert told.details["by_name"] == "laptop"
    assert told.details["by_id"].startswith("pat_")
    assert list(verify_team_audit(actor=house.alice.actor)) == []


def test_only_an_owner_says_whether_tokens_answer_for_people_and_it_holds_at_once(house):
    token = make(house.bob.actor, scopes=frozenset({TokenScope.ANSWER}))

    with pytest.raises(ForbiddenError):
        allow(house.bob.actor)
    assert not by(token).is_human
    allow(house.alice.actor)
    allow(house.alice.actor)
    assert by(token).is_human
    allow(house.alice.actor, allowed=False)
    assert not by(token).is_human

    assert audited(house.team) == ["token.issued", "team.tokens_allowed", "team.tokens_disallowed"]


def test_a_token_reads_of_its_own_team_alone(house):
    from teams_app import selectors

    play("alice", house.other_team, Role.VIEWER)
    signed_in = house.alice.actor

    by_token = by(make(signed_in))

    assert len(selectors.list_own_teams(actor=signed_in)) == 2
    assert [team.id for team in selectors.list_own_teams(actor=by_token)] == [house.team.pk]


def test_the_last_use_is_noted_at_most_once_a_minute(house):
    from teams_app.models import PersonalToken

    issued = make(house.alice.actor)
    noted = []
    for seconds in (0, 59, 61):
        by(issued, now=NOW + timedelta(seconds=seconds))
        noted.append(PersonalToken.objects.get().last_used_at)

    assert noted == [NOW, NOW, NOW + timedelta(seconds=61)]


def test_the_table_itself_refuses_scopes_that_are_not_there(house):
    from django.db import IntegrityError, transaction

    from teams_app.models import PersonalToken

    make(house.alice.actor)

    with pytest.raises(IntegrityError, match="personal_token_scopes_known"), transaction.atomic():
        PersonalToken.objects.update(scopes=["everything"])


def test_whoever_signed_in_is_human_and_whoever_came_otherwise_is_not(house):
    assert house.alice.actor.is_human
    assert not replace(house.alice.actor, kind=ActorKind.AGENT_KEY).is_human
    assert not replace(house.alice.actor, kind=ActorKind.SYSTEM).is_human


def connect(actor, name="Editor"):
    from teams_app.engine.actors import Scope
    from teams_app.services.connections import Client, connect_client

    client = Client(client_id="editor", name=name, goes_to="http://127.0.0.1/", resource="http://testserver/mcp")
    return connect_client(actor=actor, client=client, scopes=frozenset({Scope.RUNS_READ}), now=NOW)


@pytest.mark.parametrize("way_in", [make, connect])
@pytest.mark.parametrize("leaves", ["bob", "alice"])
def test_who_leaves_at_the_moment_makes_no_way_in_that_would_wait_for_their_return(house, way_in, leaves):
    """`bob` was let in before he left, or was taken out; what he asked for then comes to its turn after that."""
    from teams_app.models import AgentKey, PersonalToken
    from teams_app.services.members import remove_member

    bob = house.bob.actor
    remove_member(actor=getattr(house, leaves).actor, member_id=house.bob.membership.pk, now=NOW)

    with pytest.raises(ForbiddenError, match="not in this team any more"):
        way_in(bob, **({"scopes": own_scopes(Role.OPERATOR)} if way_in is make else {}))

    assert not PersonalToken.objects.exists()
    assert not AgentKey.objects.exists()


@pytest.mark.parametrize(
    "name",
    [
        *JOINED,
        *OF_OTHER_SCRIPTS,
        *DECEIVING,
        "x" * 99 + "\u0639\u200c\u0631",
        "\U0001f3f4\U000e0067" * 50,
        "<b>\u202e",
        "",
    ],
)
def test_a_client_of_any_name_is_connected_and_words_keep_their_letters(house, name):
    from teams_app.models import AgentKey

    key = AgentKey.objects.get(pk=connect(house.alice.actor, name=name))

    assert key.name.endswith(" of alice")
    assert unseen_in(key.name) == ""
    if name in OF_OTHER_SCRIPTS[2:] + JOINED[:4]:
        assert key.name == f"{unicodedata.normalize('NFC', name)} of alice"
