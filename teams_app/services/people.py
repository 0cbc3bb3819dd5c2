"""The account that the first run makes. Every other one is made by the person who accepts an invitation."""

import secrets
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.hashers import make_password

from teams_app.engine.names import read_username
from teams_app.models import Person
from teams_app.services.ids import new_id

_PASSWORD_BYTES = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAccount:
    """`password` is there once, when the account was made."""

    person_id: UUID
    username: str
    password: str | None


def find_or_create_account(*, username: str, now: datetime) -> PersonAccount:
    """For a service that is already in a transaction. Two at once end with one account: the name is unique."""
    name = read_username(username)
    found = Person.objects.filter(username=name).first()
    if found is not None:
        return PersonAccount(person_id=found.pk, username=name, password=None)
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    person, created = Person.objects.get_or_create(
        username=name,
        defaults={"id": new_id(now=now), "password": make_password(password), "created_at": now},
    )
    return PersonAccount(person_id=person.pk, username=name, password=password if created else None)
