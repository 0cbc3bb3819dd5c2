"""What no seal tells of a session that a release before has written: one digest of it, which its team's ledger keeps since it was adopted."""

from collections.abc import Mapping
from uuid import UUID

from django.db import connection

# Of what was there when it was adopted: who founded it, its runs with dialect and founder, and what was answered.
_UNTOLD = """
SELECT s.id, 'sha256:' || encode(sha256(convert_to(concat_ws(E'\\n', s.created_by, (
    SELECT string_agg(concat_ws(' ', r.id, r.dialect, r.created_by), E'\\n' ORDER BY r.id)
    FROM sessions_app_run r WHERE r.session_id = s.id AND EXISTS (
        SELECT 1 FROM sessions_app_node n WHERE n.run_id = r.id AND n.parent_id IS NULL AND n.event_index < given.next_index
    )
), (
    SELECT string_agg(concat_ws(' ', a.node_id, encode(a.nonce, 'hex'), a.kind, a.to_node_id, a.event_index,
        encode(sha256(a.reply), 'hex'), a.reply_template, a.keys_generation, a.actor, extract(epoch FROM a.created_at)
    ), E'\\n' ORDER BY a.node_id, a.nonce)
    FROM sessions_app_attempt a WHERE a.session_id = s.id AND a.event_index < given.next_index
)), 'UTF8')), 'hex')
FROM unnest(%s::uuid[], %s::int[]) AS given (id, next_index) JOIN sessions_app_worksession s ON s.id = given.id
"""


def untold_digests(adopted: Mapping[UUID, int]) -> dict[UUID, str]:
    """By session, of up to which event it was adopted."""
    if not adopted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(_UNTOLD, [list(adopted), list(adopted.values())])
        return dict(cursor.fetchall())
