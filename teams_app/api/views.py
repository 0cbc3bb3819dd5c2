"""Teams, members, keys and the audit log by REST."""

from rest_framework.views import APIView

from teams_app import selectors
from teams_app.api.endpoints import Call, operation, read_id
from teams_app.api.shapes import (
    AuditAnswer,
    AuditQuery,
    InvitationAnswer,
    InvitationBody,
    IssuedInvitationAnswer,
    IssuedKeyAnswer,
    KeyAnswer,
    KeyBody,
    MemberAnswer,
    ResetAnswer,
    RoleBody,
    SetWebhookAnswer,
    TeamAnswer,
    TeamBody,
    TeamChangeBody,
    TeamsAnswer,
    WebhookAnswer,
    WebhookBody,
    WhoamiAnswer,
)
from teams_app.engine.errors import NotFoundError
from teams_app.engine.ids import Prefix
from teams_app.engine.pages import Page
from teams_app.services import invitations, keys, members, resets, teams, webhooks


class WhoamiView(APIView):
    @operation(summary="Who I am here, in which team, and what I may do")
    def get(self, *, call: Call) -> WhoamiAnswer:
        return WhoamiAnswer.of(call.actor)


class TeamsView(APIView):
    @operation(summary="The teams that I am in")
    def get(self, *, call: Call) -> TeamsAnswer:
        return TeamsAnswer(items=[TeamAnswer.of(team) for team in selectors.list_own_teams(actor=call.actor)])

    @operation(summary="Found a team and own it", status=201)
    def post(self, *, call: Call, body: TeamBody) -> TeamAnswer:
        return TeamAnswer.of(teams.found_team(actor=call.actor, name=body.name, now=call.now))


class TeamView(APIView):
    @operation(summary="The team that I act in")
    def get(self, *, call: Call, team: str) -> TeamAnswer:
        _require_own(call, team)
        return TeamAnswer.of(selectors.read_team(actor=call.actor))

    @operation(summary="Rename the team, or say whether tokens answer questions for people. For owners")
    def patch(self, *, call: Call, team: str, body: TeamChangeBody) -> TeamAnswer:
        _require_own(call, team)
        changed = teams.change_team(
            actor=call.actor, name=body.name, tokens_answer_human=body.tokens_answer_human, now=call.now
        )
        return TeamAnswer.of(changed)


class MembersView(APIView):
    @operation(summary="The members of the team")
    def get(self, *, call: Call) -> Page[MemberAnswer]:
        return selectors.list_members(actor=call.actor, page=call.page).map(MemberAnswer.of)


class MemberView(APIView):
    @operation(summary="One member")
    def get(self, *, call: Call, member: str) -> MemberAnswer:
        member_id = read_id(prefix=Prefix.MEMBERSHIP, text=member)
        return MemberAnswer.of(selectors.read_member(actor=call.actor, member_id=member_id))

    @operation(summary="Change the role of a member")
    def patch(self, *, call: Call, member: str, body: RoleBody) -> MemberAnswer:
        member_id = read_id(prefix=Prefix.MEMBERSHIP, text=member)
        changed = members.change_role(actor=call.actor, member_id=member_id, role=body.role, now=call.now)
        return MemberAnswer.of(changed)

    @operation(summary="Remove a member, or leave", status=204)
    def delete(self, *, call: Call, member: str) -> None:
        member_id = read_id(prefix=Prefix.MEMBERSHIP, text=member)
        members.remove_member(actor=call.actor, member_id=member_id, now=call.now)


class PasswordLinkView(APIView):
    @operation(summary="A one-time link by which a member sets a new password, shown this once. For owners", status=201)
    def post(self, *, call: Call, member: str) -> ResetAnswer:
        member_id = read_id(prefix=Prefix.MEMBERSHIP, text=member)
        return ResetAnswer.of(resets.offer_reset(actor=call.actor, member_id=member_id, now=call.now))


class InvitationsView(APIView):
    @operation(summary="The invitations that wait for somebody, the newest first. For owners")
    def get(self, *, call: Call) -> Page[InvitationAnswer]:
        return selectors.list_invitations(actor=call.actor, page=call.page, now=call.now).map(InvitationAnswer.of)

    @operation(summary="Invite somebody; the one-time link is shown this once. For owners", status=201)
    def post(self, *, call: Call, body: InvitationBody) -> IssuedInvitationAnswer:
        issued = invitations.invite(actor=call.actor, username=body.username, role=body.role, now=call.now)
        return IssuedInvitationAnswer.of(issued)


class InvitationView(APIView):
    @operation(summary="Withdraw an invitation. For owners", status=204)
    def delete(self, *, call: Call, invitation: str) -> None:
        invitation_id = read_id(prefix=Prefix.INVITATION, text=invitation)
        invitations.withdraw_invitation(actor=call.actor, invitation_id=invitation_id, now=call.now)


class KeysView(APIView):
    @operation(summary="The agent keys of the team, the newest first")
    def get(self, *, call: Call) -> Page[KeyAnswer]:
        return selectors.list_keys(actor=call.actor, page=call.page).map(KeyAnswer.of)

    @operation(summary="Issue an agent key; its text is shown this once", status=201)
    def post(self, *, call: Call, body: KeyBody) -> IssuedKeyAnswer:
        issued = keys.issue_key(
            actor=call.actor,
            name=body.name,
            scopes=frozenset(body.scopes),
            expires_at=body.expires_at,
            now=call.now,
        )
        return IssuedKeyAnswer.of(issued)


class KeyView(APIView):
    @operation(summary="One agent key")
    def get(self, *, call: Call, key: str) -> KeyAnswer:
        key_id = read_id(prefix=Prefix.KEY, text=key)
        return KeyAnswer.of(selectors.read_key(actor=call.actor, key_id=key_id))


class KeyRevocationView(APIView):
    @operation(summary="Revoke an agent key for good")
    def post(self, *, call: Call, key: str) -> KeyAnswer:
        key_id = read_id(prefix=Prefix.KEY, text=key)
        return KeyAnswer.of(keys.revoke_key(actor=call.actor, key_id=key_id, now=call.now))


class KeyRotationView(APIView):
    represents = KeyView

    @operation(
        summary="Make another key with the same name, rights and length of life, shown this once; the old one goes on for a day",
        status=201,
    )
    def post(self, *, call: Call, key: str) -> IssuedKeyAnswer:
        key_id = read_id(prefix=Prefix.KEY, text=key)
        return IssuedKeyAnswer.of(keys.rotate_key(actor=call.actor, key_id=key_id, now=call.now))


class WebhookView(APIView):
    @operation(summary="Where notices of the team go, and whether the last one was taken. For owners")
    def get(self, *, call: Call) -> WebhookAnswer:
        found = selectors.find_webhook(actor=call.actor)
        if found is None:
            raise NotFoundError("Notices of your team go nowhere.", suggestion="PUT an https URL here to get them.")
        return WebhookAnswer.of(found)

    @operation(summary="Send notices to this https URL; the secret that signs them is shown this once. For owners")
    def put(self, *, call: Call, body: WebhookBody) -> SetWebhookAnswer:
        return SetWebhookAnswer.of(webhooks.set_webhook(actor=call.actor, url=body.url, now=call.now))

    @operation(summary="Send notices nowhere from now on. For owners", status=204)
    def delete(self, *, call: Call) -> None:
        webhooks.remove_webhook(actor=call.actor, now=call.now)


class AuditView(APIView):
    @operation(summary="The audit log of the team, the newest first")
    def get(self, *, call: Call, query: AuditQuery) -> Page[AuditAnswer]:
        found = selectors.list_audit(
            actor=call.actor,
            page=call.page,
            action=query.action,
            target=query.target,
            actor_id=query.actor,
        )
        return found.map(AuditAnswer.of)


def _require_own(call: Call, team: str) -> None:
    if read_id(prefix=Prefix.TEAM, text=team) != call.actor.team_id:
        raise NotFoundError(
            "There is no such team here.",
            suggestion="To act in another of your teams send its id in the header Workrail-Team.",
        )
