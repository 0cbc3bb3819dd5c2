"""States that no node refers to: what deleted sessions have left, until it is collected, or what somebody has put there."""

from collections.abc import Iterator

from django.db import connection

from sessions_app.engine.log import HealthReason
from sessions_app.selectors.integrity import Finding

# A hash of what is referred to, made once: the index of nodes does not lead with the team.
_UNREFERENCED = """
SELECT s.team_id, count(*), min(s.digest), count(*) FILTER (WHERE 'sha256:' || encode(sha256(s.data), 'hex') <> s.digest), EXISTS (
    SELECT 1 FROM sessions_app_ledgerentry d WHERE d.team_id = s.team_id AND d.kind = 'deleted'
)
FROM sessions_app_snapshot s
WHERE NOT EXISTS (SELECT 1 FROM sessions_app_node n WHERE n.team_id = s.team_id AND n.snapshot_digest = s.digest)
GROUP BY s.team_id ORDER BY s.team_id
"""


def unreferenced_snapshots() -> Iterator[Finding]:
    """In a team that has deleted nothing there is none. Bytes are those of the digest, whoever refers to it."""
    with connection.cursor() as cursor:
        cursor.execute(_UNREFERENCED)
        found = cursor.fetchall()
    for team_id, count, first, spoilt, has_deleted in found:
        told = f"{count} snapshots, {first} first, are of no node"
        if spoilt:
            message = f"{told}, and {spoilt} of them have other bytes than their digests say."
            yield Finding(session_id=None, team_id=team_id, reason=HealthReason.DIGEST_MISMATCH.value, message=message)
        if not has_deleted:
            message = f"{told}, and the team has deleted no session that could have left them."
            yield Finding(session_id=None, team_id=team_id, reason="unreferenced_snapshot", message=message)
