"""What an owner has handed out, invitations and links for passwords of others, holds no longer than they are one; an invitation
no longer than its person is outside.
"""

from datetime import datetime
from uuid import UUID

from teams_app.engine.ids import Prefix, to_text
from teams_app.models import PasswordReset
from teams_app.selectors import open_invitations


def withdraw_links_of(*, team_id: UUID, person_id: UUID, now: datetime) -> dict[str, str]:
    """Inside the transaction in which they cease to be an owner; told as the audit log tells it."""
    theirs = to_text(Prefix.PERSON, person_id)
    invited = open_invitations(team_id=team_id).filter(invited_by=theirs).update(withdrawn_at=now)
    offered = PasswordReset.objects.filter(
        team_id=team_id, offered_by=theirs, used_at__isnull=True, withdrawn_at__isnull=True
    )
    # A link for themselves is held by whoever sets a password by it, who then looks for this membership.
    withdrawn = invited + offered.exclude(person_id=person_id).update(withdrawn_at=now)
    return {"links_withdrawn": str(withdrawn)} if withdrawn else {}


def withdraw_invitations_of(*, team_id: UUID, username: str, now: datetime) -> dict[str, str]:
    """Inside the transaction in which somebody is let in in another way: by one that is left they could come back when they are
    put out, in another role.
    """
    withdrawn = open_invitations(team_id=team_id).filter(username=username).update(withdrawn_at=now)
    return {"links_withdrawn": str(withdrawn)} if withdrawn else {}
