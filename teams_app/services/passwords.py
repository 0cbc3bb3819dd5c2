"""What a password must be, and the one place where it is set."""

from datetime import datetime
from typing import ClassVar
from uuid import UUID

from django.contrib.auth.hashers import (
    Argon2PasswordHasher,
    BasePasswordHasher,
    PBKDF2PasswordHasher,
    check_password,
    make_password,
)
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction

from teams_app.engine.actors import Actor, Door, person_id_of
from teams_app.engine.errors import InvalidInputError
from teams_app.engine.normal_forms import only_seen
from teams_app.engine.passwords import holds_name, in_one_form, read_as_seen
from teams_app.models import PasswordReset, Person, SignOnIdentity
from teams_app.services.row_scope import within_person
from teams_app.services.sign_ins import record_in_teams


class _OneForm(BasePasswordHasher):
    """Hashes a password in one form of its letters. One that was set before is known as it is typed, too."""

    as_typed: ClassVar[BasePasswordHasher]

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        """Takes as long as `verify`, so that the time does not tell that there is nobody of a name."""
        more = () if iterations is None else (iterations,)
        *typed, known = _forms_of(password)
        for each in typed:
            self.as_typed.encode(each, salt, *more)
        return self.as_typed.encode(known, salt, *more)

    def verify(self, password: str, encoded: str) -> bool:
        return any(self.as_typed.verify(each, encoded) for each in reversed(_forms_of(password)))


class Argon2OfOneForm(_OneForm, Argon2PasswordHasher):
    as_typed = Argon2PasswordHasher()


class Pbkdf2OfOneForm(_OneForm, PBKDF2PasswordHasher):
    as_typed = PBKDF2PasswordHasher()


def _forms_of(password: str) -> tuple[str, ...]:
    """As it was typed, where that is another; the one that counts comes last."""
    known = in_one_form(password)
    return (known,) if known == password else (password, known)


class NameInPassword:
    """A validator in the form that Django's settings ask for."""

    def validate(self, password: str, user: Person | None = None) -> None:
        if user is not None and holds_name(password=password, username=user.username):
            raise ValidationError(self.get_help_text(), code="password_holds_name")

    def get_help_text(self) -> str:
        return "The password holds the login name or a part of it."


def require_good_password(*, username: str, password: str) -> None:
    try:
        for each in dict.fromkeys((password, only_seen(password), read_as_seen(password))):
            validate_password(each, user=Person(username=username))
    except ValidationError as error:
        raise InvalidInputError(
            " ".join(error.messages),
            suggestion="Choose a longer password that is not in a list of common ones and does not hold the login name.",
        ) from None


def is_password_of(*, person: Person | None, password: str) -> bool:
    """Takes as long when there is no such person, so that nobody learns it from the time."""
    if person is None or not person.is_active:
        make_password(password)
        return False
    return check_password(password, person.password)


def find_proved(*, username: str, password: str) -> Person | None:
    """The account of that name, if that is its password. It is held until the transaction of the caller ends: what is got by a
    password is got before that is changed, or not at all.
    """
    person = Person.objects.filter(username=username).first()
    if not is_password_of(person=person, password=password) or person is None:
        return None
    # Not held while the password is looked at, which takes its time, also for whoever guesses.
    held = Person.objects.select_for_update(no_key=True).order_by("pk")
    return held.filter(pk=person.pk, password=person.password, is_active=True).first()


def is_password_of_account(*, person_id: UUID | None, password: str) -> bool:
    found = None if person_id is None else Person.objects.filter(pk=person_id).first()
    return is_password_of(person=found, password=password)


@transaction.atomic(durable=True)
def change_password(*, actor: Actor, old: str, new: str, now: datetime) -> None:
    """The person's own. Whoever is signed in elsewhere with the old one is signed out."""
    # The row is the lock: of two changes at once the second one finds its old password gone.
    person = Person.objects.select_for_update(no_key=True).get(pk=person_id_of(actor=actor))
    if not is_password_of(person=person, password=old):
        raise InvalidInputError("That is not your password.", suggestion="Type the one that you signed in with.")
    set_password(person=person, password=new, door=actor.door, now=now)
    record_in_teams(person_id=person.pk, action="password.changed", door=actor.door, now=now)


def set_password(*, person: Person, password: str, door: Door, now: datetime) -> None:
    """Inside the caller's transaction. What was got by the old one ends with it: links for a new password that were not used,
    and the accounts of a provider that were linked.
    """
    require_good_password(username=person.username, password=password)
    person.password = make_password(password)
    person.save(update_fields=["password"])
    withdraw_resets(person=person, now=now)
    unlinked, _ = SignOnIdentity.objects.filter(person=person).delete()
    if unlinked:
        record_in_teams(person_id=person.pk, action="person.unlinked", door=door, now=now)


def withdraw_resets(*, person: Person, now: datetime) -> None:
    """Inside the caller's transaction: of whichever team the links are."""
    unused = PasswordReset.objects.filter(person=person, used_at__isnull=True, withdrawn_at__isnull=True)
    with within_person(person.pk):
        unused.update(withdrawn_at=now)
