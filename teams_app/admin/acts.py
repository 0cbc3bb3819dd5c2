"""The acts of this app's Studio pages, and their forms. Each makes one call of a service."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.exceptions import BadRequest
from django.urls import reverse
from django.utils import timezone

from teams_app.admin import words
from teams_app.admin.pages import Act, Done, Order, Secret
from teams_app.engine.actors import USUAL_SCOPES, Actor, Permission, Role, Scope
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.names import NAME_CHARACTERS, USERNAME_CHARACTERS
from teams_app.engine.values import IssuedKey
from teams_app.engine.webhooks import MAX_URL_CHARACTERS, NoticeKind
from teams_app.models import AgentKey
from teams_app.selectors import mail_wish_of
from teams_app.services import deliveries, invitations, keys, mails, members, resets, teams, webhooks
from teams_app.services.addresses import join_address, reset_address

_ROLES = [(role.value, words.hinted(name, may)) for role, (name, may) in words.ROLES.items()]
_NOTICES = [(kind.value, said) for kind, said in words.NOTICES.items()]
_SCOPES = [(scope.value, words.hinted(may, hint)) for scope, (may, hint) in words.SCOPES.items()]
_NEVER = "never"
ENDS = [("30", "in 30 days"), ("90", "in 90 days"), ("365", "in a year"), (_NEVER, "never")]


class NameForm(forms.Form):
    name = forms.CharField(max_length=NAME_CHARACTERS)


class WebhookForm(forms.Form):
    url = forms.CharField(
        max_length=MAX_URL_CHARACTERS,
        label="URL",
        widget=forms.URLInput(attrs={"size": 80}),
        help_text="Such as https://chat.example.com/hooks/abc. It must be reached over the Internet.",
    )


class EndpointForm(WebhookForm):
    kinds = forms.MultipleChoiceField(choices=_NOTICES, label="Notices", widget=forms.CheckboxSelectMultiple)


class KindsForm(forms.Form):
    kinds = forms.MultipleChoiceField(choices=_NOTICES, label="Notices", widget=forms.CheckboxSelectMultiple)


class MailsForm(forms.Form):
    email = forms.EmailField(
        required=False, label="Your e-mail address", help_text="It is yours in every team, and only you see it."
    )
    kinds = forms.MultipleChoiceField(
        required=False,
        choices=_NOTICES,
        label="Send me a mail when",
        widget=forms.CheckboxSelectMultiple,
    )


class MemberForm(forms.Form):
    username = forms.CharField(max_length=USERNAME_CHARACTERS, label="Login name")
    role = forms.ChoiceField(choices=_ROLES, widget=forms.RadioSelect, initial=Role.OPERATOR.value)


class RoleForm(forms.Form):
    role = forms.ChoiceField(choices=_ROLES, widget=forms.RadioSelect)


class KeyForm(forms.Form):
    name = forms.CharField(
        max_length=NAME_CHARACTERS, label="Name of the agent", help_text="What will use it, and where."
    )
    scopes = forms.MultipleChoiceField(
        choices=_SCOPES,
        label="It may",
        widget=forms.CheckboxSelectMultiple,
        initial=[scope.value for scope in USUAL_SCOPES],
    )
    ends = forms.ChoiceField(choices=ENDS, label="It ends", initial="90")


def _found(order: Order) -> Done:
    team = teams.found_team(actor=order.actor, name=order.values["name"], now=order.now)
    return Done(message=f"The team {team.name} was founded. Choose it at the top to work in it.")


def _rename(order: Order) -> Done:
    team = teams.rename_team(actor=order.actor, name=order.values["name"], now=order.now)
    return Done(message=f"The team is now called {team.name}.")


def _add_endpoint(order: Order) -> Done:
    done = webhooks.add_endpoint(actor=order.actor, url=order.values["url"], kinds=_kinds(order), now=order.now)
    hint = "Whoever receives the notices checks with it that they come from here. It cannot be shown again."
    return Done(message="Notices are sent there.", secret=Secret(label="Secret", text=done.secret, hint=hint))


def _choose_notices(order: Order) -> Done:
    webhooks.choose_notices(actor=order.actor, endpoint_id=row_id_of(order), kinds=_kinds(order), now=order.now)
    return Done(message="These notices are sent there from now on.")


def _switch_on(order: Order) -> Done:
    webhooks.switch_on(actor=order.actor, endpoint_id=row_id_of(order), now=order.now)
    return Done(message="Notices are sent there again.")


def _remove_endpoint(order: Order) -> Done:
    webhooks.remove_endpoint(actor=order.actor, endpoint_id=row_id_of(order), now=order.now)
    return Done(message="Nothing is sent there any more.")


def _redeliver(order: Order) -> Done:
    deliveries.redeliver(actor=order.actor, delivery_id=row_id_of(order), now=order.now)
    return Done(message="The notice is sent again.")


def _kinds(order: Order) -> list[NoticeKind]:
    return [NoticeKind(kind) for kind in order.values["kinds"]]


def _set_webhook(order: Order) -> Done:
    done = webhooks.set_webhook(actor=order.actor, url=order.values["url"], now=order.now)
    hint = "Whoever receives the notices checks with it that they come from here. It cannot be shown again."
    return Done(message="Notices are sent there.", secret=Secret(label="Secret", text=done.secret, hint=hint))


def _remove_webhook(order: Order) -> Done:
    webhooks.remove_webhook(actor=order.actor, now=order.now)
    return Done(message="Notices are sent nowhere now.")


def _invite(order: Order) -> Done:
    username, role = order.values["username"], Role(order.values["role"])
    issued = invitations.invite(actor=order.actor, username=username, role=role, now=order.now)
    hint = "Whoever opens it may join. Give it to them by a safe way; it works once, within 7 days, and is not shown again."
    secret = Secret(label="Link", text=join_address(issued.link), hint=hint)
    return Done(message=f"{issued.invitation.username} is invited.", secret=secret)


def _choose_mails(order: Order) -> Done:
    kinds = _kinds(order)
    mails.choose_mails(actor=order.actor, email=order.values["email"], kinds=kinds, now=order.now)
    said = "You get these notices by e-mail from now on." if kinds else "You get no notices by e-mail."
    return Done(message=said, url=reverse("admin:teams_app_membership_act_notices"))


def _mails_now(actor: Actor) -> Mapping[str, Any]:
    email, kinds = mail_wish_of(actor=actor)
    return {"email": email, "kinds": list(kinds)}


def _withdraw(order: Order) -> Done:
    invitations.withdraw_invitation(actor=order.actor, invitation_id=row_id_of(order), now=order.now)
    return Done(message="The invitation is withdrawn.")


def _offer_reset(order: Order) -> Done:
    issued = resets.offer_reset(actor=order.actor, member_id=row_id_of(order), now=order.now)
    hint = "Whoever opens it sets the password. It works once, within 24 hours, and is not shown again."
    secret = Secret(label="Link", text=reset_address(issued.link), hint=hint)
    return Done(message=f"A link for a new password of {issued.reset.username}.", secret=secret)


def _change_role(order: Order) -> Done:
    role = Role(order.values["role"])
    member = members.change_role(actor=order.actor, member_id=row_id_of(order), role=role, now=order.now)
    return Done(message=f"{member.username} is {words.ROLES[member.role][0].lower()} now.")


def _remove(order: Order) -> Done:
    members.remove_member(actor=order.actor, member_id=row_id_of(order), now=order.now)
    return Done(message="The member was removed.")


def _ending(order: Order) -> datetime | None:
    ends = order.values["ends"]
    return None if ends == _NEVER else order.now + timedelta(days=int(ends))


def _issue(order: Order) -> Done:
    issued = keys.issue_key(
        actor=order.actor,
        name=order.values["name"],
        scopes=frozenset(Scope(scope) for scope in order.values["scopes"]),
        expires_at=_ending(order),
        now=order.now,
    )
    return _shown_once(issued, f"The key {issued.key.name} was issued.")


def _shown_once(issued: IssuedKey, message: str) -> Done:
    hint = "Copy it now: it is kept nowhere and cannot be shown again."
    secret = Secret(label="Agent key", text=issued.text, hint=hint, is_key=True)
    url = reverse("admin:teams_app_agentkey_change", args=(issued.key.id,))
    return Done(message=message, secret=secret, url=url)


def _rotate(order: Order) -> Done:
    issued = keys.rotate_key(actor=order.actor, key_id=row_id_of(order), now=order.now)
    return _shown_once(issued, f"The key {issued.key.name} was made anew. The old one ends within a day.")


def _may_be_rotated(_actor: Actor, row: AgentKey) -> bool:
    """As the service says it."""
    ends = timezone.now() + keys.ROTATION_GRACE
    return row.person_id is None and row.revoked_at is None and (row.expires_at is None or row.expires_at > ends)


def _revoke(order: Order) -> Done:
    key = keys.revoke_key(actor=order.actor, key_id=row_id_of(order), now=order.now)
    return Done(message=f"The key {key.prefix} is revoked.")


def row_id_of(order: Order) -> UUID:
    if order.row_id is None:
        raise BadRequest("this act is of a row")
    return order.row_id


FOUND_TEAM = Act(
    slug="found",
    label="Found another team",
    question="You will be its owner.",
    needs=Permission.MANAGE_TEAM,
    run=_found,
    form=NameForm,
    on_row=False,
)
RENAME_TEAM = Act(
    slug="rename",
    label="Rename",
    question="The name is shown to all its members and agents.",
    needs=Permission.MANAGE_TEAM,
    run=_rename,
    form=NameForm,
    initial=lambda row: {"name": row.name},
)
SET_WEBHOOK = Act(
    slug="webhook",
    label="Send notices",
    question="When a question for a person is asked, a notice with a link to the Studio is sent to this address.",
    needs=Permission.MANAGE_TEAM,
    run=_set_webhook,
    form=WebhookForm,
)
ADD_ENDPOINT = Act(
    slug="add",
    label="Add an address",
    question="The notices that you choose are sent there, signed with a secret that is shown to you once.",
    needs=Permission.MANAGE_TEAM,
    run=_add_endpoint,
    form=EndpointForm,
    on_row=False,
    is_main=True,
)
CHOOSE_NOTICES = Act(
    slug="notices",
    label="Choose notices",
    question="Only these are sent to the address from now on.",
    needs=Permission.MANAGE_TEAM,
    run=_choose_notices,
    form=KindsForm,
    initial=lambda row: {"kinds": row.kinds},
)
SWITCH_ON_ENDPOINT = Act(
    slug="switch-on",
    label="Switch on",
    question="The address is called again, and what waited for it is sent.",
    needs=Permission.MANAGE_TEAM,
    run=_switch_on,
    offered=lambda _actor, row: row.switched_off_at is not None,
)
REMOVE_ENDPOINT = Act(
    slug="remove",
    label="Remove",
    question="Nothing is sent there any more, and what was sent is forgotten.",
    needs=Permission.MANAGE_TEAM,
    run=_remove_endpoint,
    is_stop=True,
)
REDELIVER = Act(
    slug="again",
    label="Send again",
    question="The same notice is sent to the same address once more.",
    needs=Permission.MANAGE_TEAM,
    run=_redeliver,
)
REMOVE_WEBHOOK = Act(
    slug="no-webhook",
    label="Send no notices",
    question="Nobody is told any more when a question for a person is asked.",
    needs=Permission.MANAGE_TEAM,
    run=_remove_webhook,
)
INVITE = Act(
    slug="invite",
    is_main=True,
    label="Invite",
    question="They get a link, set their own password, and are in the team with this role when they accept.",
    needs=Permission.MANAGE_TEAM,
    run=_invite,
    form=MemberForm,
    on_row=False,
)
CHOOSE_MAILS = Act(
    slug="notices",
    label="Your notices",
    submit="Save",
    question="Of what happens in this team you are told by e-mail, with a link to where it stands.",
    needs=Permission.READ_TEAM,
    run=_choose_mails,
    form=MailsForm,
    begins=_mails_now,
    details=lambda _actor, _row: {
        "sends_mail": bool(settings.EMAIL_HOST),
        "zone": timezone.get_current_timezone_name(),
    },
    template="studio/notices.html",
    on_row=False,
    is_quiet=True,
)
WITHDRAW = Act(
    slug="withdraw",
    label="Withdraw",
    question="The link that was handed out does not work any more.",
    needs=Permission.MANAGE_TEAM,
    run=_withdraw,
)
OFFER_RESET = Act(
    slug="password-link",
    label="Reset the password",
    question="You get a link to hand to them. The password that they have holds until they set a new one.",
    needs=Permission.MANAGE_TEAM,
    run=_offer_reset,
)
CHANGE_ROLE = Act(
    slug="role",
    label="Change role",
    question="The new role holds from their next request on.",
    needs=Permission.MANAGE_TEAM,
    run=_change_role,
    form=RoleForm,
    initial=lambda row: {"role": row.role},
)
REMOVE_MEMBER = Act(
    slug="remove",
    is_stop=True,
    label="Remove",
    question="They lose access to this team at once. Their account and what they did stay.",
    needs=Permission.READ_TEAM,
    run=_remove,
    offered=lambda actor, row: actor.may(Permission.MANAGE_TEAM) or actor.id == to_text(Prefix.PERSON, row.person_id),
)
ISSUE_KEY = Act(
    slug="issue",
    label="Make a key",
    question="An agent that has the key may do what its scopes say, in this team.",
    needs=Permission.MANAGE_TEAM,
    run=_issue,
    form=KeyForm,
    on_row=False,
)
ROTATE_KEY = Act(
    slug="rotate",
    label="Rotate",
    question="A new key with the same name and rights is made and shown once. The old one goes on for a day, or until it is revoked.",
    needs=Permission.MANAGE_TEAM,
    run=_rotate,
    offered=_may_be_rotated,
)
REVOKE_KEY = Act(
    slug="revoke",
    is_stop=True,
    label="Revoke",
    question="Whoever uses this key is refused from now on. It cannot be undone.",
    needs=Permission.MANAGE_TEAM,
    run=_revoke,
)
DISCONNECT = Act(
    slug="disconnect",
    is_stop=True,
    label="Revoke",
    question="The client that you connected is refused from now on. It can ask to be connected again.",
    needs=Permission.READ_TEAM,
    run=_revoke,
    offered=lambda actor, row: row.person_id is not None and actor.id == to_text(Prefix.PERSON, row.person_id),
)
