"""Requests that their callers have named: each is begun once, and answered again what it was answered.

The name is taken before the work, and the answer is kept behind it. What broke off in between is not begun again by that name:
nobody knows any more how far it came.

An answer may hold what is shown once, so it is sealed with the name, which is kept nowhere: who reads the table reads no answer.
"""

import hashlib
import os
from collections.abc import Sequence
from datetime import datetime, timedelta

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import QuerySet

from teams_app.engine.actors import Actor, ActorKind
from teams_app.engine.errors import ForbiddenError, RequestKeyReusedError, RequestUnsettledError, WorkrailError
from teams_app.engine.named_requests import REQUEST_KEY, request_id_of
from teams_app.models import NamedRequest
from teams_app.services import storage

KEPT = timedelta(days=1)
_NONCE_BYTES = 12


@transaction.atomic(durable=True)
def take_name(*, actor: Actor, name: str, asked: bytes, now: datetime) -> bytes | None:
    """What the request was answered before; None where it is to be begun. Of two at once the second is told to wait."""
    # The primary key is the lock: of two that bring the same name one makes the row.
    row, is_new = NamedRequest.objects.get_or_create(
        id=request_id_of(team_id=actor.team_id, actor_id=actor.id, name=name),
        defaults={"team_id": actor.team_id, "asked": asked, "created_at": now},
    )
    if is_new:
        return None
    if bytes(row.asked) != asked:
        raise RequestKeyReusedError(
            f"This {REQUEST_KEY} named a request with another body; nothing was begun.",
            suggestion="Send the body as it was, or another key for another request.",
        )
    answer = None if row.answer is None else open_answer(bytes(row.answer), keys=_keys(), name=name)
    if answer is None:
        raise RequestUnsettledError(
            f"The request of this {REQUEST_KEY} is under way, or it broke off.",
            suggestion="Send it again in a moment. If it is still so, look for what it begins, and use another key.",
        )
    return answer


def keep_answer(*, actor: Actor, name: str, answer: bytes) -> None:
    sealed = seal_answer(answer, key=settings.TOKEN_KEY, name=name, nonce=os.urandom(_NONCE_BYTES))
    with transaction.atomic(durable=True):
        _rows(actor, name).update(answer=sealed)
    storage.charge(team_id=actor.team_id, stored_bytes=len(sealed))


def give_name_back(*, actor: Actor, name: str, error: Exception) -> None:
    """After what has begun nothing for sure: a refusal, or what the database itself has refused. Of anything else nobody
    knows, so its name stays taken.
    """
    is_undone = isinstance(error, DatabaseError) and getattr(error.__cause__, "sqlstate", None) is not None
    if not is_undone and not isinstance(error, WorkrailError):
        return
    with transaction.atomic(durable=True):
        _rows(actor, name).delete()


def forget_old(*, actor: Actor, now: datetime) -> int:
    """Take requests off the record after their time; returns how many."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Only the system forgets requests.", suggestion="Wait for its day.")
    count, _ = NamedRequest.objects.filter(created_at__lt=now - KEPT).delete()
    return count


def _rows(actor: Actor, name: str) -> QuerySet[NamedRequest]:
    named = request_id_of(team_id=actor.team_id, actor_id=actor.id, name=name)
    return NamedRequest.objects.filter(team_id=actor.team_id, pk=named)


def _keys() -> list[bytes]:
    return [key for key in (settings.TOKEN_KEY, settings.TOKEN_KEY_PREVIOUS) if key is not None]


def seal_answer(answer: bytes, *, key: bytes, name: str, nonce: bytes) -> bytes:
    return nonce + _cipher(key, name).encrypt(nonce, answer, None)


def open_answer(sealed: bytes, *, keys: Sequence[bytes], name: str) -> bytes | None:
    """None when none of the keys is that with which it was sealed."""
    for key in keys:
        try:
            return _cipher(key, name).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], None)
        except InvalidTag:
            continue
    return None


def _cipher(key: bytes, name: str) -> AESGCM:
    person = b"named request"
    return AESGCM(
        hashlib.blake2b(name.encode("utf-8", "surrogatepass"), key=key, person=person, digest_size=32).digest()
    )
