"""Which rows the roles of the database see: the second wall behind the filters of our own queries.

The role that serves requests sees the rows of one team, which `row_scope` names; without a name it sees none. A table with a
column `team_id` goes by it, whoever makes the table. What else there is, is named here with its rule, or left open with the
reason. The role of upkeep works for all teams and sees all. The owner is bound by nothing: it migrates, and runs commands.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

from django.db import connection, transaction
from psycopg import sql

# Each is read once in a statement, and not again for each row.
_TEAM = "(SELECT NULLIF(current_setting('workrail.team', true), '')::uuid)"
_PERSON = "(SELECT NULLIF(current_setting('workrail.person', true), '')::uuid)"
_PROOF = "(SELECT decode(NULLIF(current_setting('workrail.proof', true), ''), 'hex'))"
_OWN = f"team_id = {_TEAM}"
_PROVED = f"digest = {_PROOF}"
_LOCK_MS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRule:
    """What may be seen, and what may be written; the same where nothing is said."""

    seen: str
    written: str = ""


def _of(table: str, column: str, *, key: str) -> str:
    """Of the row that this one hangs on."""
    return f"EXISTS (SELECT 1 FROM {table} owner WHERE owner.id = {column} AND owner.{key} = {_TEAM})"  # noqa: S608  constants


def _named_by(table: str, column: str, condition: str) -> str:
    return f"(SELECT found.{column} FROM {table} found WHERE found.{condition})"  # noqa: S608  as above


# Rows of no team are of the bundled library: whoever is in a team reads them, and nobody changes them here.
_OF_LIBRARY = RowRule(seen=f"{_OWN} OR (team_id IS NULL AND {_TEAM} IS NOT NULL)", written=_OWN)
# Named by their digest, and shared: the way to one leads over a revision or a run, which have a team.
_BY_CONTENT = RowRule(seen=f"{_TEAM} IS NOT NULL")

RULES: Mapping[str, RowRule] = {
    "teams_app_team": RowRule(
        seen=(
            f"id = {_TEAM} OR id IN {_named_by('teams_app_membership', 'team_id', f'person_id = {_PERSON}')}"
            f" OR id IN {_named_by('teams_app_invitation', 'team_id', _PROVED)}"
            f" OR id IN {_named_by('teams_app_passwordreset', 'team_id', _PROVED)}"
            f" OR id IN {_named_by('teams_app_personaltoken', 'team_id', _PROVED)}"
        ),
        written=f"id = {_TEAM}",
    ),
    "teams_app_membership": RowRule(
        seen=(
            f"{_OWN} OR person_id = {_PERSON}"
            f" OR person_id IN {_named_by('teams_app_passwordreset', 'person_id', _PROVED)}"
        ),
        written=_OWN,
    ),
    # A connected client has no text of its key: it is found by the id, which its token stands for.
    "teams_app_agentkey": RowRule(seen=f"{_OWN} OR {_PROVED} OR (person_id IS NOT NULL AND uuid_send(id) = {_PROOF})"),
    "teams_app_personaltoken": RowRule(seen=f"{_OWN} OR {_PROVED}"),
    "teams_app_invitation": RowRule(seen=f"{_OWN} OR {_PROVED}"),
    # A new password ends the links that other teams made for the person.
    "teams_app_passwordreset": RowRule(seen=f"{_OWN} OR {_PROVED} OR person_id = {_PERSON}"),
    "teams_app_mailwish": RowRule(seen=_of("teams_app_membership", "membership_id", key="team_id")),
    "workflows_app_workflow": _OF_LIBRARY,
    "workflows_app_revision": _OF_LIBRARY,
    "workflows_app_revisionfile": RowRule(
        # As far as the revision is seen itself.
        seen="EXISTS (SELECT 1 FROM workflows_app_revision owner WHERE owner.id = revision_id)",
        written=_of("workflows_app_revision", "revision_id", key="team_id"),
    ),
    "workflows_app_program": _BY_CONTENT,
    "workflows_app_programcontent": _BY_CONTENT,
    "workflows_app_content": _BY_CONTENT,
    "workflows_app_blob": _BY_CONTENT,
    # The Studio writes to the audit log of the team, and never here.
    "django_admin_log": RowRule(seen="false"),
    "sessions_app_bundlepart": RowRule(seen=_of("sessions_app_bundlejob", "job_id", key="team_id")),
}

_OF_ACCOUNTS = "an account is of no team: it signs in before any is known"
_OF_SIGN_ON = (
    "the library's own: found by the digest of a code or token, or by the id of a client; it names a key, and no team"
)
_OF_DJANGO = "says what tables and permissions there are, and nothing of anybody"
# Without a policy, each for a reason.
OPEN: Mapping[str, str] = {
    "teams_app_person": _OF_ACCOUNTS,
    "teams_app_signonidentity": _OF_ACCOUNTS,
    "django_session": "found by its random key alone, before anybody is signed in",
    "sessions_app_tokenkey": "salts of the signing keys of the installation: worth nothing without the secret of the server",
    "oauth2_provider_application": _OF_SIGN_ON,
    "oauth2_provider_accesstoken": _OF_SIGN_ON,
    "oauth2_provider_refreshtoken": _OF_SIGN_ON,
    "oauth2_provider_grant": _OF_SIGN_ON,
    "oauth2_provider_idtoken": _OF_SIGN_ON,
    "oauth2_provider_devicegrant": _OF_SIGN_ON,
    "auth_group": _OF_DJANGO,
    "auth_group_permissions": _OF_DJANGO,
    "auth_permission": _OF_DJANGO,
    "django_content_type": _OF_DJANGO,
    "django_migrations": _OF_DJANGO,
}

_COLUMNS = """
SELECT c.relname, bool_or(a.attname = 'team_id') FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
AND a.attnum > 0 AND NOT a.attisdropped GROUP BY c.relname ORDER BY c.relname
"""
_HELD = """
SELECT c.relrowsecurity, coalesce(array_agg(p.polname::text ORDER BY p.polname) FILTER (WHERE p.oid IS NOT NULL), '{}')
FROM pg_class c LEFT JOIN pg_policy p ON p.polrelid = c.oid WHERE c.oid = %s::regclass GROUP BY c.relrowsecurity
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Policy:
    """Its name says what it is, so that one that is as it should be is left alone: making it waits for the table."""

    role: str
    command: str
    rows: str

    @property
    def name(self) -> str:
        return f"{self.role}_{self.command.lower()}_{sha256(self.rows.encode()).hexdigest()[:12]}"


def rule_of(table: str, *, has_team: bool) -> RowRule | None:
    """None where rows are open. A table that nobody has thought of shows nothing."""
    if table in OPEN:
        return None
    return RULES.get(table) or RowRule(seen=_OWN if has_team else "false")


def keep_policies(*, bound: str, free: Iterable[str]) -> None:
    """Every table as it is told here, for the role that is bound to a team and for those that see all. Safe to run twice, and
    to interrupt: each table is changed whole or not at all, and one that is as it should be is not locked.
    """
    everything = [_Policy(role=role, command="ALL", rows="true") for role in free]
    with connection.cursor() as cursor:
        cursor.execute(_COLUMNS)
        tables: list[tuple[str, bool]] = cursor.fetchall()
    for table, has_team in tables:
        rule = rule_of(table, has_team=has_team)
        if rule is not None:
            _keep(table, [*_bound_policies(bound, rule), *everything])


def _bound_policies(role: str, rule: RowRule) -> Iterator[_Policy]:
    if rule.written:
        yield _Policy(role=role, command="SELECT", rows=rule.seen)
    yield _Policy(role=role, command="ALL", rows=rule.written or rule.seen)


def _keep(table: str, wanted: list[_Policy]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_HELD, [f'"{table}"'])
        is_on, found = cursor.fetchone()
    held, names = set(found), {policy.name for policy in wanted}
    if is_on and held == names:
        return
    where = sql.Identifier(table)
    with transaction.atomic():
        _run(sql.SQL("SET LOCAL lock_timeout = {}").format(sql.Literal(_LOCK_MS)))
        for name in held - names:
            _run(sql.SQL("DROP POLICY {} ON {}").format(sql.Identifier(name), where))
        for policy in (each for each in wanted if each.name not in held):
            _run(
                sql.SQL("CREATE POLICY {} ON {} FOR {} TO {} USING ({})").format(
                    sql.Identifier(policy.name),
                    where,
                    sql.SQL(policy.command),
                    sql.Identifier(policy.role),
                    sql.SQL(policy.rows),
                )
            )
        if not is_on:
            _run(sql.SQL("ALTER TABLE {} ENABLE ROW LEVEL SECURITY").format(where))


def _run(statement: sql.Composed) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement.as_string())
