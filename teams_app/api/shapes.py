"""What the endpoints of this app are sent and answer."""

from datetime import datetime
from typing import Annotated, Any

import msgspec

from teams_app.api.endpoints import PageQuery, Shape
from teams_app.engine.actors import Actor, ActorKind, Door, Permission, Role, Scope, TokenScope
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import NAME_CHARACTERS, USERNAME_CHARACTERS
from teams_app.engine.values import (
    AuditValue,
    DeliveryValue,
    InvitationValue,
    IssuedInvitation,
    IssuedKey,
    IssuedReset,
    KeyValue,
    MemberValue,
    SetWebhook,
    TeamValue,
    WebhookValue,
)
from teams_app.engine.webhooks import MAX_URL_CHARACTERS, DeliveryState, NoticeKind
from teams_app.services.addresses import join_address, reset_address

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_CHARACTERS)]
Username = Annotated[str, msgspec.Meta(min_length=1, max_length=USERNAME_CHARACTERS)]
Moment = Annotated[datetime, msgspec.Meta(tz=True)]
ShortText = Annotated[str, msgspec.Meta(max_length=128)]


class TeamBody(Shape, frozen=True):
    name: Name


class TeamChangeBody(Shape, frozen=True):
    """What is left out stays as it is. `tokensAnswerHuman`: whether a person's token answers what asks for a person."""

    name: Name | None = None
    tokens_answer_human: bool | None = None


class InvitationBody(Shape, frozen=True):
    username: Username
    role: Role


class RoleBody(Shape, frozen=True):
    role: Role


class KeyBody(Shape, frozen=True):
    name: Name
    scopes: Annotated[list[Scope], msgspec.Meta(min_length=1, max_length=len(Scope))]
    expires_at: Moment | None = None


class WebhookBody(Shape, frozen=True):
    url: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_URL_CHARACTERS)]


Kinds = Annotated[list[NoticeKind], msgspec.Meta(min_length=1, max_length=len(NoticeKind))]


class EndpointBody(WebhookBody, frozen=True):
    """`kinds` are the notices that are sent there; without them all are."""

    kinds: Kinds = msgspec.field(default_factory=lambda: list(NoticeKind))


class EndpointKindsBody(Shape, frozen=True):
    kinds: Kinds


class AuditQuery(PageQuery, frozen=True):
    action: ShortText | None = None
    target: ShortText | None = None
    actor: ShortText | None = None


class TeamAnswer(Shape, frozen=True):
    id: str
    name: str
    created_at: Moment
    tokens_answer_human: bool

    @staticmethod
    def of(value: TeamValue) -> "TeamAnswer":
        return TeamAnswer.taken(value, id=to_text(Prefix.TEAM, value.id))


class TeamsAnswer(Shape, frozen=True):
    items: list[TeamAnswer]


class GrantAnswer(Shape, frozen=True):
    """The token by which a person acts, and whether it answers questions that ask for a person."""

    id: str
    name: str
    scopes: list[TokenScope]
    answers_human: bool


class WhoamiAnswer(Shape, frozen=True):
    """`token` is there when a person acts by a token and has not signed in."""

    kind: ActorKind
    id: str
    name: str
    team: str
    door: Door
    role: Role | None
    scopes: list[Scope]
    permissions: list[Permission]
    token: GrantAnswer | None

    @staticmethod
    def of(actor: Actor) -> "WhoamiAnswer":
        return WhoamiAnswer.taken(
            actor,
            team=to_text(Prefix.TEAM, actor.team_id),
            scopes=sorted(actor.scopes),
            permissions=[permission for permission in Permission if actor.may(permission)],
            token=_grant_of(actor),
        )


class MemberAnswer(Shape, frozen=True):
    id: str
    person: str
    username: str
    role: Role
    created_at: Moment

    @staticmethod
    def of(value: MemberValue) -> "MemberAnswer":
        return MemberAnswer.taken(
            value, id=to_text(Prefix.MEMBERSHIP, value.id), person=to_text(Prefix.PERSON, value.person_id)
        )


class InvitationAnswer(Shape, frozen=True):
    id: str
    username: str
    role: Role
    invited_by: str
    created_at: Moment
    expires_at: Moment

    @staticmethod
    def of(value: InvitationValue) -> "InvitationAnswer":
        return InvitationAnswer.taken(value, id=to_text(Prefix.INVITATION, value.id), invited_by=value.inviter_name)


class IssuedInvitationAnswer(Shape, frozen=True):
    """`link` is shown this once: whoever opens it may join. It is a path when the server does not know its own address."""

    invitation: InvitationAnswer
    link: str

    @staticmethod
    def of(value: IssuedInvitation) -> "IssuedInvitationAnswer":
        return IssuedInvitationAnswer(invitation=InvitationAnswer.of(value.invitation), link=join_address(value.link))


class ResetAnswer(Shape, frozen=True):
    """`link` is shown this once: whoever opens it sets the password. A path, as in an invitation."""

    username: str
    expires_at: Moment
    link: str

    @staticmethod
    def of(value: IssuedReset) -> "ResetAnswer":
        return ResetAnswer(
            username=value.reset.username, expires_at=value.reset.expires_at, link=reset_address(value.link)
        )


class KeyAnswer(Shape, frozen=True):
    """`person` is who connected it by signing in; null for a key that an owner issued."""

    id: str
    name: str
    prefix: str
    scopes: list[Scope]
    person: str | None
    created_at: Moment
    expires_at: Moment | None
    last_used_at: Moment | None
    revoked_at: Moment | None

    @staticmethod
    def of(value: KeyValue) -> "KeyAnswer":
        return KeyAnswer.taken(
            value,
            id=to_text(Prefix.KEY, value.id),
            scopes=sorted(value.scopes),
            person=None if value.person_id is None else to_text(Prefix.PERSON, value.person_id),
        )


class IssuedKeyAnswer(Shape, frozen=True):
    """`text` is the key itself, shown this once."""

    key: KeyAnswer
    text: str

    @staticmethod
    def of(value: IssuedKey) -> "IssuedKeyAnswer":
        return IssuedKeyAnswer(key=KeyAnswer.of(value.key), text=value.text)


class AuditAnswer(Shape, frozen=True):
    id: str
    at: Moment
    actor_kind: ActorKind
    actor: str
    actor_name: str
    door: Door
    action: str
    target: str
    request_id: str
    details: dict[str, Any]

    @staticmethod
    def of(value: AuditValue) -> "AuditAnswer":
        return AuditAnswer.taken(
            value, id=to_text(Prefix.AUDIT, value.id), actor=value.actor_id, details=dict(value.details)
        )


class WebhookAnswer(Shape, frozen=True):
    """`failure` is why the last notice was not taken; null when it was."""

    url: str
    set_at: Moment
    delivered_at: Moment | None
    failed_at: Moment | None
    failure: str | None

    @staticmethod
    def of(value: WebhookValue) -> "WebhookAnswer":
        return WebhookAnswer.taken(value, failure=value.failure or None)


class SetWebhookAnswer(Shape, frozen=True):
    """`secret` signs every notice. It is shown this once."""

    webhook: WebhookAnswer
    secret: str

    @staticmethod
    def of(value: SetWebhook) -> "SetWebhookAnswer":
        return SetWebhookAnswer(webhook=WebhookAnswer.of(value.webhook), secret=value.secret)


class EndpointAnswer(Shape, frozen=True):
    """`failure` is why the last notice was not taken; null when it was. One that is switched off is not called."""

    id: str
    url: str
    kinds: list[NoticeKind]
    set_at: Moment
    delivered_at: Moment | None
    failed_at: Moment | None
    failure: str | None
    switched_off_at: Moment | None

    @staticmethod
    def of(value: WebhookValue) -> "EndpointAnswer":
        return EndpointAnswer.taken(
            value, id=to_text(Prefix.ENDPOINT, value.id), kinds=list(value.kinds), failure=value.failure or None
        )


class EndpointsAnswer(Shape, frozen=True):
    items: list[EndpointAnswer]


class AddedEndpointAnswer(Shape, frozen=True):
    """`secret` signs every notice. It is shown this once."""

    endpoint: EndpointAnswer
    secret: str

    @staticmethod
    def of(value: SetWebhook) -> "AddedEndpointAnswer":
        return AddedEndpointAnswer(endpoint=EndpointAnswer.of(value.webhook), secret=value.secret)


class DeliveryAnswer(Shape, frozen=True):
    """`notice` is the same for every delivery of one notice, wherever and however often it is sent."""

    id: str
    endpoint: str
    notice: str
    kind: NoticeKind
    state: DeliveryState
    tries: int
    created_at: Moment
    next_try_at: Moment | None
    delivered_at: Moment | None
    failure: str | None

    @staticmethod
    def of(value: DeliveryValue) -> "DeliveryAnswer":
        return DeliveryAnswer.taken(
            value,
            id=to_text(Prefix.DELIVERY, value.id),
            endpoint=to_text(Prefix.ENDPOINT, value.endpoint_id),
            notice=str(value.notice_id),
            failure=value.failure or None,
        )


def _grant_of(actor: Actor) -> GrantAnswer | None:
    grant = actor.token
    if grant is None:
        return None
    return GrantAnswer(id=grant.id, name=grant.name, scopes=sorted(grant.scopes), answers_human=grant.answers_human)
