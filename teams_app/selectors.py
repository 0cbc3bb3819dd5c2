"""Reads of this app. Each filters by the actor's team: another team's row is the same as none."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import connection, transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import Now
from django.utils.crypto import constant_time_compare

from teams_app.engine.actors import SYSTEM_ID, Actor, ActorKind, Door, Permission, Role, Scope, TokenScope, person_id_of
from teams_app.engine.errors import ForbiddenError, NotFoundError, TeamRequiredError
from teams_app.engine.ids import Prefix, from_text, to_text
from teams_app.engine.keys import digest_of
from teams_app.engine.links import is_link
from teams_app.engine.pages import Page, PageRequest, cut_page
from teams_app.engine.seats import Seat
from teams_app.engine.values import (
    AuditValue,
    DeliveryValue,
    InvitationValue,
    KeyValue,
    MemberValue,
    ResetValue,
    TeamValue,
    TokenValue,
    WebhookValue,
)
from teams_app.engine.webhooks import DeliveryState, NoticeKind
from teams_app.models import (
    AgentKey,
    AuditEntry,
    Endpoint,
    Invitation,
    Membership,
    NoticeDelivery,
    PasswordReset,
    Person,
    PersonalToken,
    Team,
)

# A function of the database: they are of many teams, and the role that serves requests sees one at a time.
_SEATS = "SELECT * FROM workrail_members(%s::uuid[], %s::uuid[])"
_TEAMS_LOOKED_AT = 1_000
_MOST_NAMED = 200


@contextmanager
def one_state() -> Iterator[None]:
    """Reads of several statements that must fit together: one state of the tables, and nothing can be written.

    Must be the outermost transaction: Postgres sets this before the first statement or not at all.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def person_actor(*, person_id: UUID, team_id: UUID | None, door: Door) -> Actor:
    """A signed-in person in the team that they chose, or in their only one."""
    found = [row for row in _memberships(person_id) if team_id in {None, row.team_id}]
    if not found:
        raise _no_team(team_id)
    if len(found) > 1:
        raise TeamRequiredError(
            "You are in several teams, and this request names none of them.",
            suggestion="Send the header Workrail-Team with the id of one of your teams.",
            details={"teams": [{"id": to_text(Prefix.TEAM, row.team_id), "name": row.team.name} for row in found]},
        )
    return actor_of_membership(membership=found[0], door=door)


def person_teams(*, person_id: UUID, team_id: UUID | None, door: Door) -> tuple[Actor, list[TeamValue]] | None:
    """A signed-in person in the team that they chose, if they are still in it, else in the first that they joined; with every
    team of theirs by name. One query.
    """
    found = sorted(_memberships(person_id), key=lambda row: row.team_id != team_id)
    if not found:
        return None
    by_name = sorted(found, key=lambda row: (row.team.name, row.team_id))
    return actor_of_membership(membership=found[0], door=door), [team_value(row.team) for row in by_name]


def seats_left(*, asked: Collection[Seat]) -> frozenset[Seat]:
    """Those of them that are held as they were, by people who may sign in and have not been signed out. Three queries."""
    with connection.cursor() as cursor:
        cursor.execute(_SEATS, [[seat.person_id for seat in asked], [seat.team_id for seat in asked]])
        held = set(cursor.fetchall())
    sessions = Session.objects.filter(pk__in={seat.session_key for seat in asked}, expire_date__gt=Now()).order_by("pk")
    signed_in = {row.pk: row.get_decoded() for row in sessions}
    people = Person.objects.in_bulk({seat.person_id for seat in asked})
    return frozenset(
        seat
        for seat in asked
        if (seat.person_id, seat.team_id, seat.role) in held
        and _is_of(signed_in.get(seat.session_key, {}), people[seat.person_id])
    )


def _is_of(session: Mapping[str, Any], person: Person) -> bool:
    """As Django reads it with each request: a new password ends what was begun by the old one."""
    proof = str(session.get(HASH_SESSION_KEY, ""))
    return session.get(SESSION_KEY) == str(person.pk) and constant_time_compare(proof, person.get_session_auth_hash())


def list_own_teams(*, actor: Actor) -> list[TeamValue]:
    """Every team of a person; a key has one, and so has a token."""
    actor.require(Permission.READ_TEAM)
    if actor.kind is not ActorKind.PERSON or actor.token is not None:
        return [read_team(actor=actor)]
    teams = Team.objects.filter(memberships__person_id=person_id_of(actor=actor)).order_by("name", "id")
    return [team_value(row) for row in teams]


def read_team(*, actor: Actor) -> TeamValue:
    actor.require(Permission.READ_TEAM)
    return team_value(Team.objects.get(pk=actor.team_id))


def find_team(*, actor: Actor, named: str) -> TeamValue:
    """For the command line, which is of no team: the team with that id or name, or the only one when nothing is named."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Only the command line looks through all teams.", suggestion="Read your own team.")
    rows = list(Team.objects.filter(ended_at__isnull=True).order_by("name", "id")[:_TEAMS_LOOKED_AT])
    found = [row for row in rows if named in {"", row.name, to_text(Prefix.TEAM, row.pk)}]
    if len(found) == 1:
        return team_value(found[0])
    shown = ", ".join(f"{row.name} ({to_text(Prefix.TEAM, row.pk)})" for row in (found or rows)[:10])
    raise NotFoundError(
        f"{len(found)} teams are called {named!r}." if named else f"There are {len(rows)} teams.",
        suggestion=f"Name one with --team: {shown}." if shown else "Run ./workrail up once: it makes the first team.",
    )


def every_team(*, actor: Actor) -> list[TeamValue]:
    """For the command line: those that have not ended."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Only the command line looks through all teams.", suggestion="Read your own team.")
    return [team_value(row) for row in Team.objects.filter(ended_at__isnull=True).order_by("name", "id")]


def find_team_of(*, actor: Actor, username: str) -> TeamValue:
    """For the command line: a team in which somebody is, the first that they joined."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Only the command line looks through all teams.", suggestion="Read your own team.")
    found = (
        Membership.objects.filter(person__username=username).select_related("team").order_by("created_at", "id").first()
    )
    if found is None:
        raise NotFoundError(
            f"{username} is in no team.", suggestion="./workrail members list --team NAME shows who is."
        )
    return team_value(found.team)


def find_first_owner(*, actor: Actor, without: str = "") -> Actor:
    """For the command line: the owner who has been one for longest, in the oldest team. Teams of the name `without` do not count."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Only the command line looks through all teams.", suggestion="Read your own team.")
    owners = Membership.objects.filter(role=Role.OWNER.value).exclude(team__name=without)
    row = owners.select_related("person").order_by("team_id", "id").first()
    if row is None:
        raise NotFoundError("There is no team yet.", suggestion="Run ./workrail up once: it makes the first team.")
    return actor_of_membership(membership=row, door=Door.STUDIO)


def taken_usernames(*, actor: Actor, names: Collection[str]) -> frozenset[str]:
    """For the command line: those of the names that have an account."""
    if actor.kind is not ActorKind.SYSTEM:
        raise ForbiddenError("Only the command line looks through all accounts.", suggestion="List your own members.")
    return frozenset(Person.objects.filter(username__in=names).values_list("username", flat=True))


def list_members(*, actor: Actor, page: PageRequest) -> Page[MemberValue]:
    actor.require(Permission.READ_TEAM)
    rows = Membership.objects.filter(team_id=actor.team_id).select_related("person").order_by("id")
    if page.after is not None:
        rows = rows.filter(pk__gt=UUID(page.after))
    return cut_page(
        rows=rows[: page.limit + 1],
        limit=page.limit,
        value_of=member_value,
        position_of=lambda row: str(row.pk),
    )


def read_member(*, actor: Actor, member_id: UUID) -> MemberValue:
    actor.require(Permission.READ_TEAM)
    row = Membership.objects.filter(team_id=actor.team_id, pk=member_id).select_related("person").first()
    if row is None:
        raise NotFoundError("There is no such member.", suggestion="List the members of your team.")
    return member_value(row)


def list_invitations(*, actor: Actor, page: PageRequest, now: datetime) -> Page[InvitationValue]:
    """Those that somebody can still accept, the newest first."""
    actor.require(Permission.MANAGE_TEAM)
    rows = open_invitations(team_id=actor.team_id).filter(expires_at__gt=now).order_by("-id")
    if page.after is not None:
        rows = rows.filter(pk__lt=UUID(page.after))
    return cut_page(
        rows=rows[: page.limit + 1],
        limit=page.limit,
        value_of=invitation_value,
        position_of=lambda row: str(row.pk),
    )


def find_invitation(*, link: str, now: datetime) -> InvitationValue | None:
    """For whoever holds the link, which is the proof."""
    row = live_invitation(link=link, now=now)
    return None if row is None else invitation_value(row)


def find_reset(*, link: str, now: datetime) -> ResetValue | None:
    """As `find_invitation`."""
    row = live_reset(link=link, now=now)
    return None if row is None else reset_value(row)


def open_invitations(*, team_id: UUID) -> QuerySet[Invitation]:
    """Neither accepted nor withdrawn; some may have expired."""
    rows = Invitation.objects.filter(team_id=team_id, accepted_at__isnull=True, withdrawn_at__isnull=True)
    return rows.select_related("team")


def live_invitation(*, link: str, now: datetime, lock: bool = False) -> Invitation | None:
    rows = Invitation.objects.select_related("team").filter(accepted_at__isnull=True, withdrawn_at__isnull=True)
    rows = rows.select_for_update(no_key=True, of=("self",)) if lock else rows
    return rows.filter(digest=digest_of(link), expires_at__gt=now).first() if is_link(link) else None


def live_reset(*, link: str, now: datetime, lock: bool = False) -> PasswordReset | None:
    """Not when the person has left the team since, whether or not they came back, or has joined another: then its owner no
    longer answers for them.
    """
    rows = PasswordReset.objects.select_related("team", "person")
    rows = rows.filter(used_at__isnull=True, withdrawn_at__isnull=True, expires_at__gt=now)
    rows = rows.select_for_update(no_key=True, of=("self",)) if lock else rows
    row = rows.filter(digest=digest_of(link)).first() if is_link(link) else None
    return row if row is not None and _is_still_theirs(row) else None


def _is_still_theirs(row: PasswordReset) -> bool:
    mine = Membership.objects.filter(person_id=row.person_id, person__is_active=True)
    alone = row.offered_by == SYSTEM_ID or not mine.exclude(team_id=row.team_id).exists()
    return alone and mine.filter(team_id=row.team_id, created_at__lte=row.created_at).exists()


def name_actors(*, actor: Actor, ids: Iterable[str]) -> dict[str, str]:
    """How people and keys of the team are called, by the ids under which they act; who is not of the team has none."""
    actor.require(Permission.READ_TEAM)
    wanted = frozenset(ids)
    people = [found for text in wanted if (found := from_text(Prefix.PERSON, text)) is not None]
    keys = [found for text in wanted if (found := from_text(Prefix.KEY, text)) is not None]
    if not people and not keys:
        return {}
    members = Membership.objects.filter(team_id=actor.team_id, person_id__in=people)
    own_keys = AgentKey.objects.filter(team_id=actor.team_id, pk__in=keys)
    rows = members.values_list(Value(Prefix.PERSON.value), "person_id", "person__username").union(
        own_keys.values_list(Value(Prefix.KEY.value), "pk", "name"), all=True
    )
    return {to_text(Prefix(prefix), id_): name for prefix, id_, name in rows}


def actors_named(*, actor: Actor, text: str) -> tuple[str, ...]:
    """The ids of the people and keys of the team whose name holds the text. One query."""
    actor.require(Permission.READ_TEAM)
    members = Membership.objects.filter(team_id=actor.team_id, person__username__icontains=text)
    own_keys = AgentKey.objects.filter(team_id=actor.team_id, name__icontains=text)
    rows = members.values_list(Value(Prefix.PERSON.value), "person_id").union(
        own_keys.values_list(Value(Prefix.KEY.value), "pk"), all=True
    )
    return tuple(to_text(Prefix(prefix), id_) for prefix, id_ in rows[:_MOST_NAMED])


def find_webhook(*, actor: Actor) -> WebhookValue | None:
    """For owners: the address of a chat server is often a secret of its own."""
    actor.require(Permission.MANAGE_TEAM)
    row = Endpoint.objects.filter(team_id=actor.team_id, pk=actor.team_id).order_by("pk").first()
    return None if row is None else webhook_value(row)


def list_endpoints(*, actor: Actor) -> list[WebhookValue]:
    """All of them: there are few."""
    actor.require(Permission.MANAGE_TEAM)
    return [webhook_value(row) for row in Endpoint.objects.filter(team_id=actor.team_id).order_by("set_at", "id")]


def read_endpoint(*, actor: Actor, endpoint_id: UUID) -> WebhookValue:
    actor.require(Permission.MANAGE_TEAM)
    row = Endpoint.objects.filter(team_id=actor.team_id, pk=endpoint_id).order_by("pk").first()
    if row is None:
        raise no_endpoint()
    return webhook_value(row)


def list_deliveries(*, actor: Actor, endpoint_id: UUID, page: PageRequest) -> Page[DeliveryValue]:
    """What was sent, or is to be sent, to an address: the newest first."""
    endpoint = read_endpoint(actor=actor, endpoint_id=endpoint_id)
    rows = NoticeDelivery.objects.filter(team_id=actor.team_id, endpoint_id=endpoint.id)
    if page.after is not None:
        rows = rows.filter(pk__lt=UUID(page.after))
    return cut_page(
        rows=rows.order_by("-id")[: page.limit + 1],
        limit=page.limit,
        value_of=delivery_value,
        position_of=lambda row: str(row.pk),
    )


def no_endpoint() -> NotFoundError:
    return NotFoundError(
        "Your team has no such address of notices.", suggestion="List the addresses of your team for their ids."
    )


def list_keys(*, actor: Actor, page: PageRequest) -> Page[KeyValue]:
    """The newest first."""
    actor.require(Permission.READ_TEAM)
    rows = AgentKey.objects.filter(team_id=actor.team_id).order_by("-id")
    if page.after is not None:
        rows = rows.filter(pk__lt=UUID(page.after))
    return cut_page(
        rows=rows[: page.limit + 1],
        limit=page.limit,
        value_of=key_value,
        position_of=lambda row: str(row.pk),
    )


def read_key(*, actor: Actor, key_id: UUID) -> KeyValue:
    actor.require(Permission.READ_TEAM)
    row = AgentKey.objects.filter(team_id=actor.team_id, pk=key_id).first()
    if row is None:
        raise NotFoundError("There is no such key.", suggestion="List the keys of your team.")
    return key_value(row)


def list_tokens(*, actor: Actor, page: PageRequest) -> Page[TokenValue]:
    """One's own, the newest first; for owners those of all members."""
    rows = visible_tokens(actor=actor).order_by("-id")
    if page.after is not None:
        rows = rows.filter(pk__lt=UUID(page.after))
    return cut_page(
        rows=rows[: page.limit + 1],
        limit=page.limit,
        value_of=token_value,
        position_of=lambda row: str(row.pk),
    )


def read_token(*, actor: Actor, token_id: UUID) -> TokenValue:
    row = visible_tokens(actor=actor).filter(pk=token_id).first()
    if row is None:
        raise no_token()
    return token_value(row)


def visible_tokens(*, actor: Actor) -> QuerySet[PersonalToken]:
    rows = PersonalToken.objects.filter(team_id=actor.team_id)
    return rows if actor.may(Permission.MANAGE_TEAM) else rows.filter(person_id=person_id_of(actor=actor))


def no_token() -> NotFoundError:
    return NotFoundError("There is no such token.", suggestion="List your tokens.")


def list_audit(
    *,
    actor: Actor,
    page: PageRequest,
    action: str | None = None,
    target: str | None = None,
    actor_id: str | None = None,
) -> Page[AuditValue]:
    """The newest first."""
    actor.require(Permission.READ_AUDIT)
    asked = {"action": action, "target": target, "actor_id": actor_id}
    rows = _audit_rows(actor).filter(**{name: value for name, value in asked.items() if value is not None})
    if page.after is not None:
        rows = rows.filter(pk__lt=UUID(page.after))
    return cut_page(
        rows=rows[: page.limit + 1],
        limit=page.limit,
        value_of=audit_value,
        position_of=lambda row: str(row.pk),
    )


def _audit_rows(actor: Actor) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(team_id=actor.team_id).order_by("-id")


def team_value(row: Team) -> TeamValue:
    return TeamValue(id=row.pk, name=row.name, created_at=row.created_at, tokens_answer_human=row.tokens_answer_human)


def member_value(row: Membership) -> MemberValue:
    return MemberValue(
        id=row.pk,
        team_id=row.team_id,
        person_id=row.person_id,
        username=row.person.username,
        role=Role(row.role),
        created_at=row.created_at,
    )


def invitation_value(row: Invitation) -> InvitationValue:
    return InvitationValue(
        id=row.pk,
        team_id=row.team_id,
        team_name=row.team.name,
        username=row.username,
        role=Role(row.role),
        inviter_name=row.inviter_name,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )


def reset_value(row: PasswordReset) -> ResetValue:
    return ResetValue(team_name=row.team.name, username=row.person.username, expires_at=row.expires_at)


def key_value(row: AgentKey) -> KeyValue:
    return KeyValue(
        id=row.pk,
        team_id=row.team_id,
        name=row.name,
        prefix=row.prefix,
        scopes=frozenset(Scope(scope) for scope in row.scopes),
        created_at=row.created_at,
        person_id=row.person_id,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )


def token_value(row: PersonalToken) -> TokenValue:
    return TokenValue(
        id=row.pk,
        team_id=row.team_id,
        person_id=row.person_id,
        name=row.name,
        prefix=row.prefix,
        scopes=frozenset(TokenScope(scope) for scope in row.scopes),
        created_at=row.created_at,
        expires_at=row.expires_at,
        last_used_at=row.last_used_at,
        revoked_at=row.revoked_at,
    )


def webhook_value(row: Endpoint) -> WebhookValue:
    return WebhookValue(
        id=row.pk,
        url=row.url,
        kinds=tuple(NoticeKind(kind) for kind in row.kinds),
        set_at=row.set_at,
        delivered_at=row.delivered_at,
        failed_at=row.failed_at,
        failure=row.failure,
        switched_off_at=row.switched_off_at,
    )


def delivery_value(row: NoticeDelivery) -> DeliveryValue:
    return DeliveryValue(
        id=row.pk,
        endpoint_id=row.endpoint_id,
        notice_id=row.notice_id,
        kind=NoticeKind(row.kind),
        state=DeliveryState(row.state),
        tries=row.tries,
        created_at=row.created_at,
        next_try_at=row.next_try_at,
        delivered_at=row.delivered_at,
        failure=row.failure,
    )


def audit_value(row: AuditEntry) -> AuditValue:
    return AuditValue(
        id=row.pk,
        at=row.at,
        actor_kind=ActorKind(row.actor_kind),
        actor_id=row.actor_id,
        actor_name=row.actor_name,
        door=Door(row.door),
        action=row.action,
        target=row.target,
        request_id=row.request_id,
        details=row.details,
    )


def _memberships(person_id: UUID) -> QuerySet[Membership]:
    mine = Membership.objects.filter(person_id=person_id, person__is_active=True)
    return mine.select_related("team", "person").order_by("id")


def membership_actor(*, person_id: UUID, team_id: UUID, door: Door) -> Actor | None:
    """The person in that team, if they are in it still and their account is in use."""
    row = _memberships(person_id).filter(team_id=team_id).first()
    return None if row is None else actor_of_membership(membership=row, door=door)


def actor_of_membership(*, membership: Membership, door: Door) -> Actor:
    return Actor(
        kind=ActorKind.PERSON,
        id=to_text(Prefix.PERSON, membership.person_id),
        name=membership.person.username,
        team_id=membership.team_id,
        door=door,
        role=Role(membership.role),
    )


def _no_team(asked: UUID | None) -> ForbiddenError | NotFoundError:
    if asked is not None:
        return NotFoundError("There is no such team.", suggestion="GET /api/v1/teams lists your teams.")
    return ForbiddenError("You are in no team.", suggestion="Ask an owner of a team to invite you.")


def mail_wish_of(*, actor: Actor) -> tuple[str, tuple[str, ...]]:
    """The e-mail address of whoever acts, and the notices of this team that they get there. One query."""
    actor.require(Permission.READ_TEAM)
    row = Membership.objects.filter(team_id=actor.team_id, person_id=person_id_of(actor=actor))
    found = row.select_related("person", "mail_wish").first()
    if found is None:
        return "", ()
    wish = getattr(found, "mail_wish", None)
    return found.person.email, tuple(wish.kinds) if wish else ()
