"""Whoever owns the database and not the key plants something in history: each planting is found, and named for what it is."""

import os
import random
from datetime import timedelta

import orjson
import pytest
from django.db import connection, transaction

from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.runs import ObservationKey
from sessions_app.models import Event, Gap
from sessions_app.services.people import gaps, naming, preferences
from sessions_app.services.upkeep import ledger
from sessions_app.services.upkeep.verification import every_finding
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.services import audit_chain
from teams_app.services.audit import record_audit
from teams_app.services.audit_chain import verify_audits
from tests import logs, run_cast
from tests.checkpoint_cast import answer, at_question, only_row, publish_folder
from tests.engine_play import NEVER_STOP
from tests.handover_cast import WORKFLOW, begun, child_files, triggering
from tests.run_cast import NOW, advanced, begin, bookmark, session_id
from tests.step_documents import step
from workflows_app.engine import canonical
from workflows_app.engine.program import RiskPolicy
from workflows_app.selectors import programs

pytestmark = pytest.mark.django_db

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)
FALSE = "sha256:" + "7" * 64


# Read by agents beside their steps.
ATTACHED = {
    "skills/00-planning.yaml": b"# Words of the author.\nid: planning\nversion: 1.0.0\ncapability: Plan a piece of work\n",
    "resources/00-guide.md": b"Do it well.",
}


class World:
    """Two teams with all that can be written, entered in their ledgers. Releases before wrote the logs of all sessions but `packed`."""

    def __init__(self):
        self.desk = desk = run_cast.make_desk()
        value = begin(desk, step("first-step"), step("next-step"), preferences=NEVER_STOP)
        branch = {ObservationKey.GIT_BRANCH: "main"}
        again = run_cast.start(desk, session_id=session_id(value), observations=branch, preferences=NEVER_STOP).value
        bookmark(desk.agent, again, artifacts=[{"kind": "own.b", "n": 1.5}])
        advanced(desk.agent, advanced(desk.agent, again, ""), "All done.")
        self.session = session_id(value)
        self.packed = session_id(advanced(desk.agent, run_cast.start(desk).value, "All done."))
        self.asked = session_id(self._answered())
        publish_folder(desk, triggering() | ATTACHED, WORKFLOW)
        publish_folder(desk, child_files(), "team.child")
        begun(desk)
        for action in ("thing.made", "thing.changed", "thing.removed"):
            with transaction.atomic():
                record_audit(
                    actor=desk.owner, action=action, target="thing", now=NOW, details={"why": "a test", "n": 1}
                )
        for each in (self.session, self.asked):
            logs.spread(each)
        self.enter()

    def enter(self):
        ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(hours=3))

    def _answered(self):
        value = at_question(self.desk, authority="human")
        answer(self.desk.person, only_row(value), reason="Because the plan is right.")
        return value


class AdoptedWorld(World):
    """The same, as a release before has written it that sealed nothing."""

    def enter(self):
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            for table in GUARDED:
                cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
            cursor.execute("UPDATE sessions_app_event SET seal = NULL")
            cursor.execute("UPDATE sessions_app_worksession SET head_seal = ''")
            cursor.execute("UPDATE teams_app_auditentry SET number = NULL, digest = '', seal = ''")
            cursor.execute("DELETE FROM teams_app_audithead")
            for table in GUARDED:
                cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")
        super().enter()
        record_audit(actor=self.desk.owner, action="thing.done", target="thing", now=NOW, details={})


def sql(statement, **parameters):
    def plant(world):
        given = {
            "session": world.session,
            "asked": world.asked,
            "packed": world.packed,
            "false": FALSE,
            "team": world.desk.team_id,
            "stranger": world.desk.stranger.team_id,
        }
        with connection.cursor() as cursor:
            cursor.execute(statement, given | parameters)
            assert cursor.rowcount != 0, statement

    return plant


def packed(change, *, keeps_digest=False):
    """The last row of a log in packs gets other events, chained anew within it."""

    def plant(world):
        row = Event.objects.filter(session_id=world.packed).order_by("-index")[0]
        assert row.count > 1
        logs.rewrite(row, change, keeps_digest=keeps_digest)

    return plant


def other_words(bodies):
    changed = [body.replace(b"All done.", b"All good.") for body in bodies]
    assert changed != bodies
    return changed


def rewritten(world):
    """The reason that a person gave is another one, and the whole chain is computed anew, as whoever knows the code can do."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT index, body FROM sessions_app_event WHERE session_id = %s ORDER BY index", [world.asked])
        before = "sha256:" + "0" * 64
        for index, body in cursor.fetchall():
            envelope = orjson.loads(bytes(body))
            envelope["previousDigest"] = before
            if envelope["kind"] == "checkpoint_answered":
                envelope["data"]["reason"] = "Because I was told to."
            changed = canonical.canonical_bytes(envelope)
            before = canonical.digest(changed)
            cursor.execute(
                "UPDATE sessions_app_event SET body = %s, digest = %s WHERE session_id = %s AND index = %s",
                [changed, before, world.asked, index],
            )
        cursor.execute("UPDATE sessions_app_worksession SET head_digest = %s WHERE id = %s", [before, world.asked])
        cursor.execute(
            "UPDATE sessions_app_checkpointrequest SET reason = 'Because I was told to.' WHERE session_id = %s",
            [world.asked],
        )


def truncated(world):
    """The last transition is undone in every table, with its seal."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT index FROM sessions_app_event WHERE session_id = %s AND seal IS NOT NULL ORDER BY index DESC LIMIT 2",
            [world.session],
        )
        _, keep = (row[0] for row in cursor.fetchall())
        for table, column in (
            ("event", "index"),
            ("node", "event_index"),
            ("output", "event_index"),
            ("attempt", "event_index"),
        ):
            cursor.execute(
                f"DELETE FROM sessions_app_{table} WHERE session_id = %s AND {column} > %s", [world.session, keep]
            )
        cursor.execute(
            """UPDATE sessions_app_worksession s SET next_event_index = e.index + 1, head_digest = e.digest
               FROM sessions_app_event e WHERE e.session_id = s.id AND s.id = %s AND e.index = %s""",
            [world.session, keep],
        )


def gone(world):
    for table in ("event", "run", "node", "output", "attempt", "gap", "checkpointrequest", "handle"):
        with connection.cursor() as cursor:
            cursor.execute(f"DELETE FROM sessions_app_{table} WHERE session_id = %s", [world.session])
    sql("DELETE FROM sessions_app_worksession WHERE id = %(session)s")(world)


def forged(world):
    """A session that nobody began, with a chain that is right."""
    with connection.cursor() as cursor:
        columns = "title, parent_id, git_branch, git_head_sha, repository, ticket, autonomy, risk_policy, created_by"
        cursor.execute(
            f"""INSERT INTO sessions_app_worksession (id, team_id, next_event_index, head_digest, head_seal, created_at,
                last_activity_at, {columns})
                SELECT ('0199' || substr(md5('x'), 1, 8) || '7000800000000000000' || '1')::uuid, team_id, next_event_index,
                head_digest, head_seal, created_at, last_activity_at, {columns}
                FROM sessions_app_worksession WHERE id = %s""",
            [world.session],
        )


def each(*plants):
    def plant(world):
        for one in plants:
            one(world)

    return plant


def later(*plants):
    """Then the server goes on: it enters what it finds in the ledgers, and somebody does something that the audit log tells."""

    def plant(world):
        each(*plants)(world)
        ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(hours=4), whole=True)
        record_audit(actor=world.desk.owner, action="thing.made", target="other", now=NOW, details={})

    return plant


def unsealed(world):
    """A session that nobody entered yet is one that a release before might have written: then it may say anything."""
    with connection.cursor() as cursor:
        new = [session_id(run_cast.start(world.desk).value)]
        cursor.execute("UPDATE sessions_app_event SET seal = NULL WHERE session_id = %s", new)
        cursor.execute("UPDATE sessions_app_worksession SET head_seal = '' WHERE id = %s", new)


def not_in_the_ledger(world):
    """The last session that was entered is deleted, with the end of the ledger that tells of it."""
    last = "(SELECT max(number) FROM sessions_app_ledgerentry WHERE team_id = %(team)s)"
    with connection.cursor() as cursor:
        of_last = f"SELECT session_id FROM sessions_app_ledgerentry WHERE team_id = %(team)s AND number = {last}"
        cursor.execute(of_last, {"team": world.desk.team_id})
        session, (world.session,) = world.session, cursor.fetchone()
    gone(world)
    world.session = session
    sql(f"DELETE FROM sessions_app_ledgerentry WHERE team_id = %(team)s AND number = {last}")(world)
    sql(
        f"""UPDATE sessions_app_ledger l SET next_number = e.number + 1, head_digest = e.digest
        FROM sessions_app_ledgerentry e WHERE e.team_id = l.team_id AND l.team_id = %(team)s AND e.number = {last}"""
    )(world)
    run_cast.start(world.desk)


def more_audited(world):
    """After the audit log was entered in the ledger of the installation."""
    for action in ("thing.given", "thing.taken"):
        record_audit(actor=world.desk.owner, action=action, target="thing", now=NOW, details={})


def adopted_anew(world):
    """Entries from before there were seals, counted as the server would have counted them."""
    end = audit_chain.adopted_end(world.desk.team_id)
    sql(
        "UPDATE teams_app_audithead SET adopted = %(adopted)s, adopted_digest = %(digest)s WHERE team_id = %(team)s",
        adopted=end.adopted,
        digest=end.adopted_digest,
    )(world)


PACK = "UPDATE sessions_app_event SET {} WHERE session_id = %(packed)s AND index = (SELECT max(index) FROM sessions_app_event WHERE session_id = %(packed)s)"
EVENT = "UPDATE sessions_app_event SET {} WHERE session_id = %(session)s AND index = 3"
ATTEMPT = "UPDATE sessions_app_attempt SET {} WHERE session_id = %(session)s"
RUN = "UPDATE sessions_app_run SET {} WHERE session_id = %(session)s"
SESSION = "UPDATE sessions_app_worksession SET {} WHERE id = %(session)s"
NODE = "UPDATE sessions_app_node SET {} WHERE session_id = %(session)s AND parent_id IS NOT NULL"
OUTPUT = "UPDATE sessions_app_output SET {} WHERE session_id = %(session)s"
GAP = "UPDATE sessions_app_gap SET {} WHERE session_id = %(session)s"
ASKED = "UPDATE sessions_app_checkpointrequest SET {} WHERE session_id = %(asked)s"
HANDLE = "UPDATE sessions_app_handle SET {}"
CONTENT = "UPDATE workflows_app_content SET {} WHERE id IN (SELECT content_id FROM workflows_app_programcontent)"
AUDIT = "UPDATE teams_app_auditentry SET {} WHERE action = 'thing.changed'"
LEDGER = "UPDATE sessions_app_ledgerentry SET {} WHERE session_id = %(session)s"
NO_AUDIT_HEAD = sql("DELETE FROM teams_app_audithead WHERE team_id = %(team)s")
NO_AUDIT = each(NO_AUDIT_HEAD, sql("DELETE FROM teams_app_auditentry WHERE team_id = %(team)s"))
UNSEALED_AUDIT = sql(
    "UPDATE teams_app_auditentry SET number = NULL, digest = '', seal = '', actor_id = 'per_other' WHERE team_id = %(team)s"
)
NO_INSTALLATION = each(
    sql("DELETE FROM sessions_app_ledgerentry WHERE team_id = '00000000-0000-0000-0000-000000000000'"),
    sql("DELETE FROM sessions_app_ledger WHERE team_id = '00000000-0000-0000-0000-000000000000'"),
)

AS_NEW = sql(
    "UPDATE sessions_app_ledger SET entered_until = 'epoch' WHERE team_id = '00000000-0000-0000-0000-000000000000'"
)
LAST_AUDITED = "(SELECT max(number) FROM teams_app_auditentry WHERE team_id = %(team)s)"
AUDIT_CUT = each(
    sql(f"DELETE FROM teams_app_auditentry WHERE team_id = %(team)s AND number = {LAST_AUDITED}"),
    sql(f"""UPDATE teams_app_audithead h SET next_number = a.number + 1, digest = a.digest FROM teams_app_auditentry a
        WHERE a.team_id = h.team_id AND h.team_id = %(team)s AND a.number = {LAST_AUDITED}"""),
)
OLD_AUDITED = sql("""INSERT INTO teams_app_auditentry (id, team_id, at, actor_kind, actor_id, actor_name, door, action, target, request_id, details)
    SELECT gen_random_uuid(), team_id, at, actor_kind, actor_id, actor_name, door, action, target, request_id, details
    FROM teams_app_auditentry WHERE action = 'thing.made'""")
NO_KEY = "UPDATE {} SET seal = 'deadbeef.' || substr(seal, 10) WHERE team_id = %(team)s"

PLANTINGS = {
    # What a session is
    "a session is deleted with all its rows": (gone, "session_gone"),
    "the row of a session is deleted": (sql("DELETE FROM sessions_app_worksession WHERE id = %(session)s"), "session_row_gone"),
    "a session is forged": (forged, "session_not_entered"),
    "another title": (sql(SESSION.format("title = 'Other'")), "column_mismatch"),
    "another team of the session": (sql(SESSION.format("team_id = gen_random_uuid()")), "column_mismatch"),
    "another founder of the session": (sql(SESSION.format("created_by = 'key_other'")), "column_mismatch"),
    "another birth of the session": (sql(SESSION.format("created_at = created_at - interval '1 day'")), "column_mismatch"),
    "an earlier activity": (sql(SESSION.format("last_activity_at = created_at - interval '1 day'")), "column_mismatch"),
    "another parent": (sql(SESSION.format("parent_id = gen_random_uuid()")), "column_mismatch"),
    "another branch": (sql(SESSION.format("git_branch = 'other'")), "stale_projection"),
    "other preferences": (sql(SESSION.format("risk_policy = 'aggressive'")), "stale_projection"),
    "another head": (sql(SESSION.format("head_digest = %(false)s")), "head_mismatch"),
    "no seal of the head": (sql(SESSION.format("head_seal = ''")), "seal_missing"),
    "the seal of another head": (sql(SESSION.format("head_seal = (SELECT head_seal FROM sessions_app_worksession WHERE id = %(asked)s)")), "seal_broken"),
    "a seal of a made-up key": (sql(SESSION.format("head_seal = 'deadbeef.' || substr(head_seal, 10)")), "seal_key_unknown"),
    # The log
    "a chain is rewritten with a person's reason in it": (rewritten, "seal_broken"),
    "the tail is cut off": (truncated, "seal_broken"),
    "an event is deleted": (sql("DELETE FROM sessions_app_event WHERE session_id = %(session)s AND index = 3"), "non_contiguous_indices"),
    "the last event is deleted": (sql("DELETE FROM sessions_app_event WHERE session_id = %(session)s AND index = (SELECT max(index) FROM sessions_app_event WHERE session_id = %(session)s)"), "head_mismatch"),
    "all events are deleted": (sql("DELETE FROM sessions_app_event WHERE session_id = %(session)s"), "head_mismatch"),
    "other bytes of an event": (sql(EVENT.format("body = convert_to(replace(convert_from(body, 'UTF8'), '\"v\":1', '\"v\": 1'), 'UTF8')")), "digest_mismatch"),
    "another kind of an event": (sql(EVENT.format("kind = 'context_set'")), "column_mismatch"),
    "another dedupe of an event": (sql(EVENT.format("dedupe = 'other'")), "column_mismatch"),
    "another team of an event": (sql(EVENT.format("team_id = gen_random_uuid()")), "column_mismatch"),
    "another id of an event": (sql(EVENT.format("event_id = gen_random_uuid()")), "column_mismatch"),
    "another run of an event": (sql(EVENT.format("run_id = gen_random_uuid()")), "column_mismatch"),
    "another node of an event": (sql(EVENT.format("node_id = gen_random_uuid()")), "column_mismatch"),
    "another time of an event": (sql(EVENT.format("created_at = created_at + interval '1 hour'")), "column_mismatch"),
    "an event of another session": (sql("UPDATE sessions_app_event SET session_id = %(asked)s, index = 999, dedupe = 'moved' WHERE session_id = %(session)s AND index = 3"), "non_contiguous_indices"),
    "no seal of a transition": (sql("UPDATE sessions_app_event SET seal = NULL WHERE session_id = %(session)s AND seal IS NOT NULL"), "seal_missing"),
    "another actor of a transition": (sql("UPDATE sessions_app_event SET seal = replace(seal, 'key_', 'kez_') WHERE session_id = %(session)s AND seal LIKE '%%key_%%'"), "seal_broken"),
    "a seal that is none": (sql("UPDATE sessions_app_event SET seal = 'x' WHERE session_id = %(session)s AND seal IS NOT NULL"), "seal_broken"),
    # A log in packs
    "other words in a pack": (packed(other_words, keeps_digest=True), "digest_mismatch"),
    "other words in a pack with its digest": (packed(other_words), "head_mismatch"),
    "an event is taken out of a pack": (packed(lambda bodies: [*bodies[:1], *bodies[2:]]), "unreadable"),
    "two events of a pack change places": (packed(lambda bodies: [bodies[1], bodies[0], *bodies[2:]]), "digest_mismatch"),
    "another spelling in a pack": (packed(lambda bodies: [body.replace(b'"v":1', b'"v": 1') for body in bodies]), "head_mismatch"),
    "a pack is cut": (sql(PACK.format("body = substr(body, 1, length(body) - 9)")), "unreadable"),
    "something behind a pack": (sql(PACK.format("body = body || 'x'::bytea")), "unreadable"),
    "a pack of an unknown form": (sql(PACK.format("body = set_byte(body, 0, 2)")), "unreadable"),
    "a pack is said to hold more": (sql(PACK.format("count = count + 1")), "unreadable"),
    "a pack is deleted": (sql("DELETE FROM sessions_app_event WHERE session_id = %(packed)s AND index = (SELECT min(index) FROM sessions_app_event WHERE session_id = %(packed)s)"), "non_contiguous_indices"),
    "a pack stands elsewhere": (sql(PACK.format("index = index + 1")), "non_contiguous_indices"),
    "a pack of another team": (sql(PACK.format("team_id = gen_random_uuid()")), "column_mismatch"),
    "a pack of another time": (sql(PACK.format("created_at = created_at + interval '1 hour'")), "column_mismatch"),
    "a kind beside a pack": (sql(PACK.format("kind = 'context_set'")), "column_mismatch"),
    "a run beside a pack": (sql(PACK.format("run_id = gen_random_uuid()")), "column_mismatch"),
    "a pack of another session": (sql(PACK.format("session_id = %(asked)s, index = 999")), "head_mismatch"),
    "no seal of a pack": (sql(PACK.format("seal = NULL")), "seal_missing"),
    "another actor of a pack": (sql(PACK.format("seal = replace(seal, 'key_', 'kez_')")), "seal_broken"),
    # What was answered
    "another recorded reply": (sql(ATTEMPT.format("reply = convert_to('{}', 'UTF8')")), "reply_changed"),
    "another template of a reply": (sql(ATTEMPT.format("reply_template = reply_template + 1")), "reply_changed"),
    "another nonce": (sql(ATTEMPT.format("nonce = decode('0011223344556677', 'hex')") + " AND nonce = (SELECT max(nonce) FROM sessions_app_attempt WHERE session_id = %(session)s)"), "reply_changed"),
    "another actor of an attempt": (sql(ATTEMPT.format("actor = 'per_other'")), "reply_changed"),
    "another time of an attempt": (sql(ATTEMPT.format("created_at = created_at + interval '1 minute'")), "column_mismatch"),
    "another team of an attempt": (sql(ATTEMPT.format("team_id = gen_random_uuid()")), "column_mismatch"),
    "the attempts are deleted": (sql("DELETE FROM sessions_app_attempt WHERE session_id = %(session)s"), "reply_missing"),
    "an attempt is forged": (sql("""INSERT INTO sessions_app_attempt (node_id, nonce, kind, team_id, session_id, to_node_id, event_index, reply, reply_template, keys_generation, actor, created_at)
        SELECT node_id, decode('8877665544332211', 'hex'), kind, team_id, session_id, to_node_id, event_index, reply, reply_template, keys_generation, actor, created_at
        FROM sessions_app_attempt WHERE session_id = %(session)s LIMIT 1"""), "reply_unknown"),
    # Runs and nodes
    "a run is deleted": (sql("DELETE FROM sessions_app_run WHERE session_id = %(session)s"), "missing_row"),
    "another goal": (sql(RUN.format("goal = 'Other'")), "stale_projection"),
    "another status": (sql(RUN.format("status = 'in_progress', completed_at = NULL")), "stale_projection"),
    "another workflow": (sql(RUN.format("workflow_id = 'team.other'")), "stale_projection"),
    "another title of the workflow": (sql(RUN.format("workflow_title = 'Other'")), "stale_projection"),
    "another program": (sql(RUN.format("workflow_hash = %(false)s")), "stale_projection"),
    "another dialect": (sql(RUN.format("dialect = 'lookup'")), "seal_broken"),
    "another team of a run": (sql(RUN.format("team_id = gen_random_uuid()")), "column_mismatch"),
    "another founder of a run": (sql(RUN.format("created_by = 'key_other'")), "column_mismatch"),
    "another start of a run": (sql(RUN.format("started_at = started_at - interval '1 day'")), "column_mismatch"),
    "another activity of a run": (sql(RUN.format("last_activity_at = last_activity_at + interval '1 day'")), "column_mismatch"),
    "a node is deleted": (sql("DELETE FROM sessions_app_node WHERE session_id = %(session)s AND parent_id IS NOT NULL"), "missing_row"),
    "another way to a node": (sql(NODE.format("edge_cause = 'non_tip_advance'")), "stale_projection"),
    "another time of a node": (sql(NODE.format("created_at = created_at + interval '1 hour'")), "column_mismatch"),
    "another state of a node": (sql("UPDATE sessions_app_snapshot SET data = convert_to('{}', 'UTF8')"), "digest_mismatch"),
    "a state is copied into another team": (sql("INSERT INTO sessions_app_snapshot SELECT %(stranger)s, digest, data FROM sessions_app_snapshot WHERE team_id = %(team)s LIMIT 1"), "unreferenced_snapshot"),
    "a state is copied into a team that is none": (sql("INSERT INTO sessions_app_snapshot SELECT gen_random_uuid(), digest, data FROM sessions_app_snapshot LIMIT 1"), "unreferenced_snapshot"),
    "a state that nothing refers to has other bytes": (sql("INSERT INTO sessions_app_snapshot VALUES (%(team)s, %(false)s, 'x'::bytea)"), "digest_mismatch"),
    "a state is deleted": (sql("DELETE FROM sessions_app_snapshot"), "missing_row"),
    "another program under the same hash": (
        sql("ALTER TABLE workflows_app_program DROP CONSTRAINT program_named_by_content; UPDATE workflows_app_program SET data = 'x'"),
        "program_unsound",
    ),
    # What a program attaches, which agents are shown
    "other words of a resource": (sql(CONTENT.format("text = 'Other'") + " AND document IS NULL"), "content_unsound"),
    "other words of a document": (sql(CONTENT.format("text = '# Other' || chr(10) || text") + " AND document IS NOT NULL"), "content_unsound"),
    "another document behind the same words": (sql(CONTENT.format("document = '{}'::bytea") + " AND kind = 'skill'"), "content_unsound"),
    "a document that is none": (sql(CONTENT.format("document = 'x'::bytea") + " AND kind = 'skill'"), "content_unsound"),
    "a text has lost its document": (sql(CONTENT.format("document = NULL") + " AND kind = 'skill'"), "content_unsound"),
    "a skill is said to be a template": (sql(CONTENT.format("kind = 'template'") + " AND kind = 'skill'"), "content_unsound"),
    "a content is deleted": (each(sql("DELETE FROM workflows_app_programcontent"), sql("DELETE FROM workflows_app_content")), "content_unsound"),
    "a content is of no program": (sql("DELETE FROM workflows_app_programcontent"), "content_unsound"),
    "a second content of one name": (
        sql("""ALTER TABLE workflows_app_content DROP CONSTRAINT content_once;
        INSERT INTO workflows_app_content (id, digest, kind, text, document) SELECT '00000000-0000-0000-0000-000000000001', digest, kind, 'Other', document
        FROM workflows_app_content WHERE kind = 'skill' LIMIT 1"""),
        "content_unsound",
    ),
    # Outputs, gaps, questions, holders
    "other notes": (sql(OUTPUT.format("body = 'Other', sha256 = 'sha256:' || encode(sha256('Other'), 'hex')")), "stale_projection"),
    "notes are deleted": (sql("DELETE FROM sessions_app_output WHERE session_id = %(session)s"), "missing_row"),
    "another kind of an artifact": (sql(OUTPUT.format("artifact_kind = 'own.c'") + " AND channel = 'artifact'"), "stale_projection"),
    "another time of notes": (sql(OUTPUT.format("created_at = created_at + interval '1 hour'")), "column_mismatch"),
    "a gap is deleted": (sql("DELETE FROM sessions_app_gap WHERE session_id = %(session)s"), "missing_row"),
    "another category of a gap": (sql(GAP.format("category = 'unexpected'")), "stale_projection"),
    "another who answered": (sql(ASKED.format("answered_by = 'per_other'")), "stale_projection"),
    "another reason of an answer": (sql(ASKED.format("reason = 'Other'")), "stale_projection"),
    "another time of an answer": (sql(ASKED.format("answered_at = answered_at - interval '1 hour'")), "stale_projection"),
    "another authority": (sql(ASKED.format("authority = 'relayed'")), "stale_projection"),
    "a question is deleted": (sql("DELETE FROM sessions_app_checkpointrequest WHERE session_id = %(asked)s"), "missing_row"),
    "another agent that holds a token": (sql(HANDLE.format("agent_id = 'other'")), "stale_projection"),
    "a holder is deleted": (sql("DELETE FROM sessions_app_handle"), "missing_row"),
    # The audit log
    "an entry of the audit log is deleted": (sql("DELETE FROM teams_app_auditentry WHERE action = 'thing.changed'"), "audit_gap"),
    "the last entry of the audit log is deleted": (sql("DELETE FROM teams_app_auditentry WHERE number = (SELECT max(number) FROM teams_app_auditentry)"), "audit_truncated"),
    "the audit log is emptied": (sql("DELETE FROM teams_app_auditentry"), "audit_truncated"),
    "another actor in the audit log": (sql(AUDIT.format("actor_id = 'per_other'")), "audit_changed"),
    "another name in the audit log": (sql(AUDIT.format("actor_name = 'Other'")), "audit_changed"),
    "another deed in the audit log": (sql(AUDIT.format("action = 'thing.blessed'")), "audit_changed"),
    "another target in the audit log": (sql(AUDIT.format("target = 'other'")), "audit_changed"),
    "another time in the audit log": (sql(AUDIT.format("at = at - interval '1 hour'")), "audit_changed"),
    "other details in the audit log": (sql(AUDIT.format("details = '{\"why\": \"no test\", \"n\": 1}'")), "audit_changed"),
    "another door in the audit log": (sql(AUDIT.format("door = 'cli'")), "audit_changed"),
    "an entry is taken out of the chain": (sql(AUDIT.format("number = NULL")), "audit_gap"),
    "an old entry is forged": (OLD_AUDITED, "audit_adopted_changed"),
    "where the audit log ends is moved": (sql("UPDATE teams_app_audithead SET next_number = next_number - 1"), "audit_seal"),
    "where the audit log ends is deleted": (sql("DELETE FROM teams_app_audithead"), "audit_head_gone"),
    "the audit log is removed with where it ends": (NO_AUDIT, "audit_head_gone"),
    "the audit log is removed, and goes on": (later(NO_AUDIT), "audit_not_as_entered"),
    "the audit log is made one from before there were seals": (each(NO_AUDIT_HEAD, UNSEALED_AUDIT), "audit_head_gone"),
    "the audit log is made one from before there were seals, and goes on": (
        later(NO_AUDIT_HEAD, sql("DELETE FROM teams_app_auditentry WHERE team_id = %(team)s AND action = 'thing.changed'"), UNSEALED_AUDIT),
        "audit_not_as_entered",
    ),
    # The ledgers
    "an entry of the ledger is deleted": (sql("DELETE FROM sessions_app_ledgerentry WHERE team_id = %(team)s AND number = (SELECT min(number) FROM sessions_app_ledgerentry WHERE team_id = %(team)s)"), "ledger_gap"),
    "an entry of the ledger tells of another head": (sql(LEDGER.format("head_digest = %(false)s")), "ledger_changed"),
    "an entry of the ledger says deleted": (sql(LEDGER.format("kind = 'deleted'")), "ledger_changed"),
    "where a ledger ends is moved": (sql("UPDATE sessions_app_ledger SET next_number = next_number - 1 WHERE team_id = %(team)s"), "ledger_truncated"),
    "where a ledger ends is deleted": (sql("DELETE FROM sessions_app_ledger WHERE team_id = %(team)s"), "ledger_gone"),
    "a whole ledger is deleted": (sql("""WITH one AS (DELETE FROM sessions_app_ledger WHERE team_id = %(team)s)
        DELETE FROM sessions_app_ledgerentry WHERE team_id = %(team)s"""), "ledger_gone"),
    "the ledger of the installation is deleted": (NO_INSTALLATION, "ledger_gone"),
    "the ledger of the installation is deleted, and begun anew": (later(NO_INSTALLATION), "ledger_unknown"),
    "a session is forged that a release before might have written, for a new ledger": (
        later(NO_INSTALLATION, forged, sql("UPDATE sessions_app_worksession SET head_seal = '' WHERE id::text LIKE '0199%%'")),
        "session_not_entered",
    ),
    # The server goes on from an end that is not its own, and seals anew
    "a session is forged that a release before might have written, for a ledger that is said to be new": (later(unsealed, AS_NEW), "seal_missing"),
    "a ledger is said to be new": (later(AS_NEW), "ledger_seal"),
    "a session is deleted with the end of the ledger that tells of it": (later(not_in_the_ledger), "ledger_seal"),
    "where a ledger goes on is of a made-up key": (later(sql(NO_KEY.format("sessions_app_ledger")), not_in_the_ledger), "ledger_seal"),
    "the end of the audit log is cut off, and it goes on": (later(more_audited, AUDIT_CUT), "audit_seal"),
    "where the audit log goes on is of a made-up key": (later(more_audited, sql(NO_KEY.format("teams_app_audithead")), AUDIT_CUT), "audit_seal"),
    "where the audit log goes on has no seal": (later(more_audited, sql("UPDATE teams_app_audithead SET seal = ''"), AUDIT_CUT), "audit_seal"),
    "old entries of the audit log are forged and counted, and it goes on": (later(OLD_AUDITED, adopted_anew), "audit_seal"),
}  # fmt: skip
GUARDED = ("sessions_app_event", "sessions_app_ledgerentry", "teams_app_auditentry")


def found_after(plant, world):
    """What is found once it is planted, by a process that has read nothing before; the planting is undone."""
    programs.clear_caches()
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
            # An advance before it in this transaction has set a short one, and Postgres may look after the table just now.
            cursor.execute("SET LOCAL lock_timeout = '60s'")
            for table in GUARDED:
                cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        plant(world)
        found = list(every_finding())
        transaction.set_rollback(True)
    return found


def test_history_that_nobody_touched_is_whole():
    World()

    assert [str(finding) for finding in every_finding()] == []


def test_every_planting_is_found_and_named():
    world = World()
    assert len(PLANTINGS) >= 55

    missed = {}
    for name, (plant, reason) in PLANTINGS.items():
        found = found_after(plant, world)
        if reason not in {finding.reason for finding in found}:
            missed[name] = [str(finding) for finding in found]

    assert missed == {}
    assert [str(finding) for finding in every_finding()] == []


def test_every_planting_is_still_found_when_the_server_has_gone_on():
    """Upkeep and whoever does something seal anew where chains end: that makes nothing true that was not."""
    world = World()

    assert found_after(later(more_audited), world) == []
    assert [name for name, (plant, _) in PLANTINGS.items() if not found_after(later(plant), world)] == []


SECOND = """
INSERT INTO teams_app_auditentry (id, team_id, at, actor_kind, actor_id, actor_name, door, action, target, request_id, details, number, digest, seal)
SELECT {id}, team_id, at, actor_kind, actor_id, actor_name, door, 'thing.blessed', target, request_id, details, number, digest, seal
FROM teams_app_auditentry WHERE team_id = %s AND number = %s
"""
FIRST_AND_LAST = "00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff"


def faults(world):
    return [fault.reason for team_id, found in verify_audits() for fault in found if team_id == world.desk.team_id]


@pytest.mark.parametrize("id_", FIRST_AND_LAST)
def test_a_second_entry_of_a_number_is_found_wherever_the_log_is_read_on(monkeypatch, id_):
    """The role that serves requests may add entries; a long log is read in portions."""
    world = World()
    monkeypatch.setattr(audit_chain, "_ENTRIES_AT_ONCE", 2)
    monkeypatch.setattr(audit_chain, "_SHORT", 0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT next_number FROM teams_app_audithead WHERE team_id = %s", [world.desk.team_id])
        (entries,) = cursor.fetchone()
    assert entries > 4
    assert faults(world) == []

    unfound = []
    for number in range(entries):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(SECOND.format(id=f"'{id_}'"), [world.desk.team_id, number])
            if not faults(world):
                unfound.append(number)
            transaction.set_rollback(True)

    assert unfound == []


# They change a seal, or a place in a chain, where there is none.
OF_SEALS = {
    "the tail is cut off",
    "the seal of another head",
    "no seal of a transition",
    "another actor of a transition",
    "a seal that is none",
    "no seal of a pack",
    "another actor of a pack",
    "an entry is taken out of the chain",
}


def test_every_planting_is_found_in_what_a_release_before_has_written_once_it_is_adopted():
    world = AdoptedWorld()
    assert [str(finding) for finding in every_finding()] == []

    missed = [name for name, (plant, _) in PLANTINGS.items() if name not in OF_SEALS and not found_after(plant, world)]

    assert missed == []
    for column in ("digest", "seal"):
        unnumbered = sql(f"UPDATE teams_app_auditentry SET {column} = 'x' WHERE number IS NULL")
        assert {finding.reason for finding in found_after(unnumbered, world)} == {"audit_adopted_changed"}


# The log alone, by somebody who owns the database: fifty times, anywhere in it.
TAMPERINGS = 50
NAMED = {
    "changed": {"digest_mismatch"},
    "changed with its digest": {"broken_chain", "head_mismatch"},
    "deleted": {"non_contiguous_indices", "head_mismatch"},
    "reordered": {"broken_chain", "non_contiguous_indices"},
    "cut off": {"head_mismatch"},
    "cut off with the head": {"seal_broken", "ledger_mismatch", "missing_row"},
}


def tampering(kind, at, chance, rows):
    """`rows` are index, body and digest of the events, in order, each in a row of its own."""
    index, body, _ = rows[at]

    def tamper(world):
        of = "WHERE session_id = %s AND index"
        with connection.cursor() as cursor:
            match kind:
                case "changed" | "changed with its digest":
                    place = chance.randrange(len(body) - 1)
                    other = body[:place] + bytes([body[place] ^ 1]) + body[place + 1 :]
                    digest = canonical.digest(other) if kind.endswith("digest") else rows[at][2]
                    change = f"UPDATE sessions_app_event SET body = %s, digest = %s {of} = %s"
                    cursor.execute(change, [other, digest, world.session, index])
                case "deleted":
                    cursor.execute(f"DELETE FROM sessions_app_event {of} = %s", [world.session, index])
                case "reordered":
                    low = min(at, len(rows) - 2)
                    for old, new in ((low, 9999), (low + 1, low), (9999, low + 1)):
                        move = f"UPDATE sessions_app_event SET index = %s {of} = %s"
                        cursor.execute(move, [new, world.session, old])
                case "cut off" | "cut off with the head":
                    cursor.execute(f"DELETE FROM sessions_app_event {of} >= %s", [world.session, max(index, 1)])
                    if kind.endswith("head"):
                        head = (
                            "UPDATE sessions_app_worksession SET next_event_index = %s, head_digest = %s WHERE id = %s"
                        )
                        last = rows[max(index, 1) - 1]
                        cursor.execute(head, [last[0] + 1, last[2], world.session])

    return tamper


def test_whatever_is_done_to_stored_events_is_found_and_named_at_the_tail_too():
    world, chance = World(), random.Random(20261118)
    with connection.cursor() as cursor:
        columns = "SELECT index, body, digest FROM sessions_app_event WHERE session_id = %s ORDER BY index"
        cursor.execute(columns, [world.session])
        rows = [(index, bytes(body), digest) for index, body, digest in cursor.fetchall()]
    kinds = [kind for _ in range(TAMPERINGS) for kind in NAMED][:TAMPERINGS]
    missed = {}
    for number, kind in enumerate(kinds):
        # The first of each kind is at the tail.
        at = chance.randrange(len(rows)) if number >= len(NAMED) else len(rows) - 1
        found = found_after(tampering(kind, at, chance, rows), world)
        told = {finding.reason for finding in found if finding.session_id == world.session}
        if not told & NAMED[kind]:
            missed[number, kind] = [str(finding) for finding in found]
    assert missed == {}
    assert [str(finding) for finding in every_finding()] == []


CUT = """
WITH keep AS (SELECT index, digest, created_at FROM sessions_app_event WHERE session_id = %(session)s ORDER BY index DESC OFFSET 1 LIMIT 1),
events AS (DELETE FROM sessions_app_event e USING keep WHERE e.session_id = %(session)s AND e.index > keep.index),
nodes AS (DELETE FROM sessions_app_node n USING keep WHERE n.session_id = %(session)s AND n.event_index > keep.index),
outputs AS (DELETE FROM sessions_app_output o USING keep WHERE o.session_id = %(session)s AND o.event_index > keep.index),
attempts AS (DELETE FROM sessions_app_attempt a USING keep WHERE a.session_id = %(session)s AND a.event_index > keep.index),
runs AS (
    UPDATE sessions_app_run r SET last_activity_at = keep.created_at, tip_node_id = (
        SELECT n.id FROM sessions_app_node n WHERE n.run_id = r.id AND n.event_index <= keep.index ORDER BY n.event_index DESC LIMIT 1
    ) FROM keep WHERE r.session_id = %(session)s
)
UPDATE sessions_app_worksession s SET next_event_index = keep.index + 1, head_digest = keep.digest, last_activity_at = keep.created_at
FROM keep WHERE s.id = %(session)s
"""
LEFT = {
    "its own": None,
    "none": "''",
    "one of another session": "(SELECT max(head_seal) FROM sessions_app_worksession WHERE id <> %(session)s)",
    "one of a made-up key": "'deadbeef.' || substr(head_seal, 10)",
    "words": "'a b  c'",
}


def moved_on(desk, value, way):
    """What agents and people may do in the session, each with a write of its own."""
    of = session_id(value)
    match way:
        case "advance":
            advanced(desk.agent, value, "Other words.")
        case "bookmark":
            bookmark(desk.agent, value)
        case "another run":
            run_cast.start(desk, session_id=of)
        case "name":
            naming.rename_session(actor=desk.person, session_id=of, name="Another", now=NOW, entropy=os.urandom)
        case "preferences":
            preferences.set_session_preferences(
                actor=desk.person,
                session_id=of,
                change=PreferenceChange(risk_policy=RiskPolicy.AGGRESSIVE),
                now=NOW,
                entropy=os.urandom,
            )
        case "gap":
            gap = Gap.objects.filter(session_id=of).order_by("event_index")[0]
            gaps.resolve_gap(actor=desk.owner, gap_id=gap.pk, summary="Settled.", now=NOW, entropy=os.urandom)


@pytest.mark.parametrize("left", LEFT)
@pytest.mark.parametrize("way", ["advance", "bookmark", "another run", "name", "preferences", "gap"])
def test_a_session_that_goes_on_from_where_it_was_cut_is_told(way, left):
    """By whoever did not keep the seal that stood there then."""
    world = World()
    desk = world.desk
    value = advanced(desk.agent, run_cast.start(desk, preferences=NEVER_STOP).value, "")
    ledger.enter_sessions(actor=SYSTEM, now=NOW + timedelta(hours=3), whole=True)
    advanced(desk.agent, value, "What was said.")
    assert list(every_finding()) == []

    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE sessions_app_event DISABLE TRIGGER USER")
        cursor.execute(CUT, {"session": session_id(value)})
        if LEFT[left] is not None:
            other = f"UPDATE sessions_app_worksession SET head_seal = {LEFT[left]} WHERE id = %(session)s"
            cursor.execute(other, {"session": session_id(value)})
    moved_on(desk, value, way)
    moved_on(desk, value, "another run")

    found = {finding.reason for finding in every_finding() if finding.session_id == session_id(value)}
    assert found & {"seal_broken", "seal_key_unknown"}
