"""What selectors and services of this app hand out: plain values, never rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from teams_app.engine.actors import ActorKind, Door, Role, Scope, TokenScope
from teams_app.engine.webhooks import DeliveryState, NoticeKind


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamValue:
    id: UUID
    name: str
    created_at: datetime
    tokens_answer_human: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberValue:
    id: UUID
    team_id: UUID
    person_id: UUID
    username: str
    role: Role
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class InvitationValue:
    id: UUID
    team_id: UUID
    team_name: str
    username: str
    role: Role
    inviter_name: str
    created_at: datetime
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedInvitation:
    """The only value that ever holds the text of the link; it is shown once and kept nowhere."""

    invitation: InvitationValue
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetValue:
    """`username` is shown to whoever holds the link: it is theirs."""

    team_name: str
    username: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedReset:
    """As `IssuedInvitation`, for a forgotten password."""

    reset: ResetValue
    link: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyValue:
    id: UUID
    team_id: UUID
    name: str
    prefix: str
    scopes: frozenset[Scope]
    created_at: datetime
    # Who connected it by signing in; nobody for a key that an owner issued.
    person_id: UUID | None
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedKey:
    """The only value that ever holds the text of a key; it is shown once and kept nowhere."""

    key: KeyValue
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenValue:
    id: UUID
    team_id: UUID
    person_id: UUID
    name: str
    prefix: str
    scopes: frozenset[TokenScope]
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """As `IssuedKey`, for a person's token."""

    token: TokenValue
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookValue:
    """`failure` is why the last notice was not taken, if it was not."""

    id: UUID
    url: str
    kinds: tuple[NoticeKind, ...]
    set_at: datetime
    delivered_at: datetime | None
    failed_at: datetime | None
    failure: str
    switched_off_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetWebhook:
    """The only value that ever holds the secret."""

    webhook: WebhookValue
    secret: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryValue:
    id: UUID
    endpoint_id: UUID
    notice_id: UUID
    kind: NoticeKind
    state: DeliveryState
    tries: int
    created_at: datetime
    next_try_at: datetime | None
    delivered_at: datetime | None
    failure: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditValue:
    id: UUID
    at: datetime
    actor_kind: ActorKind
    actor_id: str
    actor_name: str
    door: Door
    action: str
    target: str
    request_id: str
    details: Mapping[str, Any]
