"""Tables of who: people, teams, memberships, agent keys, and the audit log."""

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from teams_app.engine.actors import ActorKind, Door, Role, Scope, TokenScope
from teams_app.engine.keys import DIGEST_BYTES
from teams_app.engine.named_requests import ASKED_BYTES
from teams_app.engine.names import NAME_CHARACTERS, USERNAME_CHARACTERS, fold_username
from teams_app.engine.webhooks import MAX_URL_CHARACTERS, DeliveryState, NoticeKind, TeamWork

_DIGEST_CHARACTERS = 71
_SEAL_CHARACTERS = 64
_ROLES = [role.value for role in Role]
_SCOPES = [scope.value for scope in Scope]
_TOKEN_SCOPES = [scope.value for scope in TokenScope]
_NOTICES = [kind.value for kind in NoticeKind]
_DOORS = [door.value for door in Door]
_ACTOR_KINDS = [kind.value for kind in ActorKind]


class PersonManager(BaseUserManager["Person"]):
    """What Django's sign-in asks for: a person by their name, which is stored folded."""

    def get_by_natural_key(self, username: str | None) -> "Person":
        return super().get_by_natural_key(fold_username(username or ""))


class Person(AbstractBaseUser):
    """An account. It may do nothing by itself: what it may do is told by its memberships, one team at a time."""

    id = models.UUIDField(primary_key=True)
    username = models.CharField(max_length=USERNAME_CHARACTERS, unique=True)
    email = models.EmailField(blank=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField()

    USERNAME_FIELD = "username"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    objects = PersonManager()

    class Meta:
        verbose_name_plural = "people"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(username__regex=r"^[a-z0-9][a-z0-9._@+-]*$"), name="person_username_form"
            ),
        ]

    def __str__(self) -> str:
        return self.username


class Team(models.Model):
    id = models.UUIDField(primary_key=True)
    name = models.CharField(max_length=NAME_CHARACTERS)
    created_at = models.DateTimeField()
    # Whether a person's token answers questions that ask for a person.
    tokens_answer_human = models.BooleanField(default=False, db_default=False)
    # From then on nobody acts in it; what it had is gone when it is emptied, and the row stays for its audit log.
    ended_at = models.DateTimeField(null=True)
    emptied_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(name__regex=r"^\S(.*\S)?$"), name="team_name_trimmed"),
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="memberships")
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="memberships")
    role = models.CharField(max_length=16, choices=[(role.value, role.value) for role in Role])
    created_at = models.DateTimeField()
    # It came by a group of the provider that signs people in, and follows that group.
    by_sign_on = models.BooleanField(default=False, db_default=False)

    class Meta:
        verbose_name = "member"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["team", "person"], name="membership_once_per_team"),
            models.CheckConstraint(condition=Q(role__in=_ROLES), name="membership_role_known"),
        ]

    def __str__(self) -> str:
        return f"{self.person} in {self.team}"


class SignOnIdentity(models.Model):
    """As whom a provider of identities knows a person. Nothing else of the provider's leads to an account."""

    id = models.UUIDField(primary_key=True)
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="identities")
    issuer = models.CharField(max_length=256)
    subject = models.CharField(max_length=256)
    created_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "sign-on identities"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="sign_on_identity_once"),
        ]

    def __str__(self) -> str:
        return f"{self.subject} of {self.issuer}"


class Invitation(models.Model):
    """A role that waits for a person. Whether the name has an account already is asked when they accept, not before."""

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="invitations")
    username = models.CharField(max_length=USERNAME_CHARACTERS)
    role = models.CharField(max_length=16, choices=[(role.value, role.value) for role in Role])
    digest = models.BinaryField(max_length=DIGEST_BYTES, unique=True)
    invited_by = models.CharField(max_length=64)
    inviter_name = models.CharField(max_length=NAME_CHARACTERS)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(role__in=_ROLES), name="invitation_role_known"),
            models.CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="invitation_expires_after_birth"),
            models.CheckConstraint(
                condition=Q(accepted_at__isnull=True) | Q(withdrawn_at__isnull=True), name="invitation_one_end"
            ),
            models.UniqueConstraint(
                fields=["team", "username"],
                condition=Q(accepted_at__isnull=True, withdrawn_at__isnull=True),
                name="invitation_open_once",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["team", "-id"], name="invitation_list")]

    def __str__(self) -> str:
        return self.username


class PasswordReset(models.Model):
    """A one-time link by which a person of the team sets a new password."""

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="password_resets")
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="password_resets")
    digest = models.BinaryField(max_length=DIGEST_BYTES, unique=True)
    offered_by = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="password_reset_expires_after_birth"
            ),
            models.UniqueConstraint(
                fields=["person"],
                condition=Q(used_at__isnull=True, withdrawn_at__isnull=True),
                name="password_reset_open_once",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["team", "-id"], name="password_reset_list")]

    def __str__(self) -> str:
        return f"a new password for {self.person_id}"


class Endpoint(models.Model):
    """Where notices of a team are sent, and which. The secret signs them; it is shown once. The one that is named as its
    team is the team's main one.
    """

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="endpoints")
    url = models.CharField(max_length=MAX_URL_CHARACTERS)
    kinds = ArrayField(models.CharField(max_length=32))
    secret = models.CharField(max_length=64)
    set_at = models.DateTimeField()
    delivered_at = models.DateTimeField(null=True)
    failed_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=512, blank=True)
    failing_since = models.DateTimeField(null=True)
    switched_off_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "address of notices"
        verbose_name_plural = "addresses of notices"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(url__startswith="https://"), name="endpoint_is_https"),
            models.CheckConstraint(condition=Q(kinds__contained_by=_NOTICES, kinds__len__gt=0), name="endpoint_kinds"),
        ]

    def __str__(self) -> str:
        return f"notices of {self.team_id}"


class NoticeDelivery(models.Model):
    """A notice on its way to one address: what waits is sent when its time has come, and tried again."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    notice_id = models.UUIDField()
    kind = models.CharField(max_length=32)
    body = models.BinaryField()
    state = models.CharField(max_length=16)
    tries = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    next_try_at = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=512, blank=True)

    class Meta:
        verbose_name = "delivery"
        verbose_name_plural = "deliveries"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=_NOTICES), name="delivery_kind_known"),
            models.CheckConstraint(
                condition=Q(state=DeliveryState.WAITING.value, next_try_at__isnull=False)
                | Q(state__in=[DeliveryState.DELIVERED.value, DeliveryState.GIVEN_UP.value], next_try_at__isnull=True),
                name="delivery_waits_for_a_time",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["next_try_at"], name="delivery_due", condition=Q(next_try_at__isnull=False)),
            models.Index(fields=["endpoint", "-id"], name="delivery_of_endpoint"),
            models.Index(fields=["team_id", "-id"], name="delivery_list"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"


class WorkTurn(models.Model):
    """Until when it counts that a worker was asked for this, and that one is at it: of each team one is enough."""

    pk = models.CompositePrimaryKey("team_id", "work")
    team_id = models.UUIDField()
    work = models.CharField(max_length=16)
    asked_until = models.DateTimeField(null=True)
    held_until = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(work__in=[each.value for each in TeamWork]), name="work_turn_known"),
        ]

    def __str__(self) -> str:
        return f"{self.work} of {self.team_id}"


class MailWish(models.Model):
    """Of which notices a member wants an e-mail. It goes with the membership."""

    membership = models.OneToOneField(Membership, on_delete=models.CASCADE, primary_key=True, related_name="mail_wish")
    kinds = ArrayField(models.CharField(max_length=32))
    chosen_at = models.DateTimeField()

    class Meta:
        verbose_name = "wish for mails"
        verbose_name_plural = "wishes for mails"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kinds__contained_by=_NOTICES, kinds__len__gt=0), name="mail_wish_kinds"),
        ]

    def __str__(self) -> str:
        return " ".join(self.kinds)


class NoticeMail(models.Model):
    """One e-mail about a notice to one person, as far as it has come."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    person = models.ForeignKey(Person, on_delete=models.CASCADE, related_name="+", db_index=False)
    notice_id = models.UUIDField()
    kind = models.CharField(max_length=32)
    subject = models.CharField(max_length=200)
    text = models.TextField()
    state = models.CharField(max_length=16)
    tries = models.PositiveSmallIntegerField(default=0)
    created_at = models.DateTimeField()
    next_try_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    failure = models.CharField(max_length=512, blank=True)

    class Meta:
        verbose_name = "mail"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(kind__in=_NOTICES), name="mail_kind_known"),
            models.CheckConstraint(
                condition=Q(state=DeliveryState.WAITING.value, next_try_at__isnull=False)
                | Q(state__in=[DeliveryState.DELIVERED.value, DeliveryState.GIVEN_UP.value], next_try_at__isnull=True),
                name="mail_waits_for_a_time",
            ),
            models.UniqueConstraint(fields=["person", "notice_id"], name="mail_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["next_try_at"], name="mail_due", condition=Q(next_try_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.state}"


class AgentKey(models.Model):
    """A key is shown once; here is its digest, and enough of its beginning to recognise it.

    One with a `person` was never shown to anybody: it stands for a client that the person connected by signing in, and lasts
    as long as they are in the team.
    """

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="agent_keys")
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="connections", null=True, blank=True)
    name = models.CharField(max_length=NAME_CHARACTERS)
    prefix = models.CharField(max_length=32, unique=True)
    digest = models.BinaryField(max_length=DIGEST_BYTES)
    scopes = ArrayField(models.CharField(max_length=32))
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    expiry_recorded_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(scopes__len__gt=0), name="agent_key_has_scopes"),
            models.CheckConstraint(condition=Q(scopes__contained_by=_SCOPES), name="agent_key_scopes_known"),
            models.CheckConstraint(
                condition=Q(expires_at__isnull=True) | Q(expires_at__gt=F("created_at")),
                name="agent_key_expires_after_birth",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["team", "-id"], name="agent_key_list"),
            models.Index(
                fields=["expires_at"],
                name="agent_key_unrecorded_expiry",
                condition=Q(expires_at__isnull=False, expiry_recorded_at__isnull=True, revoked_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return self.prefix


class PersonalToken(models.Model):
    """By it a person acts in one team without signing in. It is shown once; here is its digest."""

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="personal_tokens", db_index=False)
    person = models.ForeignKey(Person, on_delete=models.PROTECT, related_name="personal_tokens")
    name = models.CharField(max_length=NAME_CHARACTERS)
    prefix = models.CharField(max_length=32, unique=True)
    digest = models.BinaryField(max_length=DIGEST_BYTES)
    scopes = ArrayField(models.CharField(max_length=32), blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = "token"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(scopes__contained_by=_TOKEN_SCOPES), name="personal_token_scopes_known"),
            models.CheckConstraint(
                condition=Q(expires_at__gt=F("created_at")), name="personal_token_expires_after_birth"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["team", "-id"], name="personal_token_list")]

    def __str__(self) -> str:
        return self.name


class AuditEntry(models.Model):
    """Who did what to which row through which door. A trigger refuses UPDATE and DELETE."""

    id = models.UUIDField(primary_key=True)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="audit_entries")
    at = models.DateTimeField()
    actor_kind = models.CharField(max_length=16, choices=[(kind.value, kind.value) for kind in ActorKind])
    actor_id = models.CharField(max_length=64)
    actor_name = models.CharField(max_length=NAME_CHARACTERS)
    door = models.CharField(max_length=16, choices=[(door.value, door.value) for door in Door])
    action = models.CharField(max_length=64)
    target = models.CharField(max_length=128)
    request_id = models.CharField(max_length=64, blank=True)
    details = models.JSONField()
    # The place in the team's chain; none where a release before that wrote it.
    number = models.PositiveIntegerField(null=True)
    digest = models.CharField(max_length=_DIGEST_CHARACTERS, blank=True, db_default="")
    seal = models.CharField(max_length=_SEAL_CHARACTERS, blank=True, db_default="")

    class Meta:
        verbose_name_plural = "audit log"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(actor_kind__in=_ACTOR_KINDS), name="audit_actor_kind_known"),
            models.CheckConstraint(condition=Q(door__in=_DOORS), name="audit_door_known"),
            models.CheckConstraint(condition=Q(action__regex=r"^[a-z_]+\.[a-z_]+$"), name="audit_action_form"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["team", "-id"], name="audit_list"),
            models.Index(fields=["team", "number"], name="audit_chain", condition=Q(number__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target}"


class TeamStorage(models.Model):
    """About how much a team has stored. Processes add to it now and then; a task measures it once a day."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, primary_key=True, related_name="+")
    stored_bytes = models.BigIntegerField()
    measured_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "team storage"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(stored_bytes__gte=0), name="team_storage_is_no_debt"),
        ]

    def __str__(self) -> str:
        return f"{self.stored_bytes} bytes"


class AuditHead(models.Model):
    """Where a team's audit log ends. Its row is the lock of whoever adds an entry."""

    team = models.OneToOneField(Team, on_delete=models.PROTECT, primary_key=True, related_name="+")
    next_number = models.PositiveIntegerField()
    digest = models.CharField(max_length=_DIGEST_CHARACTERS)
    # Entries that were there before anything was sealed, and the digest of all of them.
    adopted = models.PositiveIntegerField()
    adopted_digest = models.CharField(max_length=_DIGEST_CHARACTERS)
    # With the ends before it whose seals did not hold when it went on from them.
    seal = models.TextField()

    def __str__(self) -> str:
        return f"{self.next_number} entries of {self.team_id}"


class NamedRequest(models.Model):
    """A request that its caller has named, so that it is begun once: what it asked for, and its answer, sealed with the name."""

    id = models.UUIDField(primary_key=True)
    team_id = models.UUIDField()
    asked = models.BinaryField(max_length=ASKED_BYTES)
    answer = models.BinaryField(null=True)
    created_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.id)
