"""Credentials that do not hold, each in its own way. Making them deactivates Bob, who is one of those whose credential it was."""

from datetime import timedelta

from django.utils import timezone

from teams_app.engine.actors import TokenScope
from teams_app.models import AgentKey, Person, PersonalToken
from teams_app.services.keys import revoke_key
from teams_app.services.tokens import issue_token, revoke_token
from tests.cast import issue

# What may be told of a credential that was good once; all others are told one thing.
CODES = {"a revoked key": "KEY_REVOKED", "a key past its end": "KEY_EXPIRED"}


def bad_bearers(house):
    """By what is wrong with each; None where no credential is sent."""
    owner, now = house.alice.actor, timezone.now()
    revoked, late = issue(owner, name="revoked"), issue(owner, name="late", expires_at=now + timedelta(days=1))
    revoke_key(actor=owner, key_id=revoked.key.id, now=now)
    AgentKey.objects.filter(pk=late.key.id).update(
        created_at=now - timedelta(days=2), expires_at=now - timedelta(days=1)
    )
    ends = now + timedelta(days=9)
    gone, past, left = (
        issue_token(actor=owner, name=name, scopes=frozenset(TokenScope), expires_at=ends, now=now)
        for name in ("a", "b", "c")
    )
    revoke_token(actor=owner, token_id=gone.token.id, now=now)
    PersonalToken.objects.filter(pk=past.token.id).update(
        created_at=now - timedelta(days=2), expires_at=now - timedelta(days=1)
    )
    PersonalToken.objects.filter(pk=left.token.id).update(person=house.bob.person)
    Person.objects.filter(pk=house.bob.person.pk).update(is_active=False)
    good = issue(owner).text
    return {
        "nothing": None,
        "no key": "nonsense",
        "an empty key": "",
        "a forged key": good[:-4] + "zzzz",
        "a key of nobody": "wr_key_" + "a" * 40,
        "a forged token": gone.text[:-4] + "zzzz",
        "a revoked token": gone.text,
        "a token past its end": past.text,
        "a token of somebody deactivated": left.text,
        "a revoked key": revoked.text,
        "a key past its end": late.text,
    }
