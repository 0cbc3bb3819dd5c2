"""What distributing by team (docs/scaling.md) asks of the schema: whose each row is, and by what its indexes are led."""

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db

OF_OTHERS = ("django_", "auth_", "oauth2_provider_")
# One copy for all teams: named by their content, accounts, or the parts of a row that has a team.
WITHOUT_A_TEAM = {
    "sessions_app_bundlepart",
    "sessions_app_tokenkey",
    "teams_app_mailwish",
    "teams_app_person",
    "teams_app_signonidentity",
    "teams_app_team",
    "workflows_app_blob",
    "workflows_app_content",
    "workflows_app_program",
    "workflows_app_programcontent",
    "workflows_app_revisionfile",
}
# Those that came with the server belong to every team.
SHARED_TOO = {"workflows_app_revision", "workflows_app_workflow"}
# The queues of the workers, who work for all teams; no call waits for them.
OF_WORKERS = {
    "agent_key_unrecorded_expiry",
    "announcement_order",
    "bundle_job_expiry",
    "bundle_job_open",
    "checkpoint_untold",
    "delivery_due",
    "mail_due",
}

_TABLES = """
SELECT c.relname, a.attname IS NOT NULL, coalesce(a.attnotnull, false)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'team_id' AND NOT a.attisdropped
WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p') AND NOT c.relispartition
"""
_INDEXES = """
SELECT i.relname, (SELECT a.attname FROM pg_attribute a WHERE a.attrelid = t.oid AND a.attnum = x.indkey[0])
FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class t ON t.oid = x.indrelid
WHERE t.relname = ANY(%s) AND NOT x.indisunique AND NOT t.relispartition
"""
_COUNTED = """
SELECT table_name FROM information_schema.columns
WHERE table_schema = current_schema() AND (column_default LIKE 'nextval%%' OR is_identity = 'YES') AND table_name = ANY(%s)
"""


def asked(statement, *parameters):
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()


@pytest.fixture
def tables():
    """Ours: whether they have a team, and whether each row has."""
    return {name: (has, always) for name, has, always in asked(_TABLES) if not name.startswith(OF_OTHERS)}


def test_every_row_has_a_team_but_for_what_all_share(tables):
    assert {name for name, (has, _) in tables.items() if not has} == WITHOUT_A_TEAM
    assert {name for name, (has, always) in tables.items() if has and not always} == SHARED_TOO


def test_an_index_is_led_by_the_team_or_by_what_belongs_to_one(tables):
    """An id of ours leads to one team: a row that is found by it is found on the machine of that team."""
    of_teams = [name for name, (_, always) in tables.items() if always]
    strange = {
        (name, leads)
        for name, leads in asked(_INDEXES, of_teams)
        if leads is not None and not leads.endswith("_id") and name not in OF_WORKERS and not name.endswith("_like")
    }
    assert strange == set()


def test_no_call_counts_anything_for_all_teams(tables):
    """Ids are made by whoever writes, so that machines need not agree on the next one."""
    of_teams = [name for name, (has, _) in tables.items() if has]
    assert asked(_COUNTED, of_teams) == []
