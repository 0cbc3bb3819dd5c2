"""Copies of a session with ids, chain and seals of their own: many events that verify, without hours of calls."""

import os
from uuid import UUID

import orjson
from django.conf import settings
from django.db import connection

from sessions_app.engine import deflation, seals
from sessions_app.engine.log import GENESIS, Head
from sessions_app.engine.seals import SealedTransition
from sessions_app.selectors.standings import birth_date, kept_reply
from teams_app.engine.ids import Prefix, birth_ms, from_text, to_text, uuid7
from teams_app.engine.seals import to_us
from workflows_app.engine import canonical

_TABLES = ("sessions_app_run", "sessions_app_node", "sessions_app_output", "sessions_app_attempt")
_PREFIXES = {Prefix.SESSION, Prefix.RUN, Prefix.NODE, Prefix.EVENT, Prefix.ATTEMPT}


class _Names:
    """A new id for each old one, in both spellings."""

    def __init__(self):
        self.known = {}

    def id(self, old):
        if old not in self.known:
            self.known[old] = uuid7(unix_ms=birth_ms(old), random=os.urandom(10))
        return self.known[old]

    def value(self, old):
        return self.id(old) if isinstance(old, UUID) else old

    def text(self, old):
        prefix = next((each for each in _PREFIXES if old.startswith(f"{each.value}_")), None)
        found = from_text(prefix, old) if prefix else None
        return to_text(prefix, self.id(found)) if found else old


def write_copies(session_id, *, count):
    """The number of events that were written. Attempts are copied with what they were answered."""
    rows = _read(session_id)
    return sum(_write(rows, _Names()) for _ in range(count))


def _read(session_id):
    found = {}
    with connection.cursor() as cursor:
        for table in (*_TABLES, "sessions_app_event", "sessions_app_worksession"):
            key = "id" if table.endswith("worksession") else "session_id"
            order = " ORDER BY index" if table.endswith("event") else ""
            cursor.execute(f"SELECT * FROM {table} WHERE {key} = %s{order}", [session_id])
            names = [column.name for column in cursor.description]
            found[table] = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            for row in found[table]:
                # Postgres makes it.
                row.pop("activity_window", None)
    return found


def _renamed(value, names):
    match value:
        case dict():
            return {key: _renamed(each, names) for key, each in value.items()}
        case list():
            return [_renamed(each, names) for each in value]
        case str():
            return ":".join(_output(part, names) for part in value.split(":"))
        case _:
            return value


def _output(text, names):
    if text.startswith("out_"):
        head, _, tail = text.rpartition("_")
        return f"{head}_{names.id(UUID(hex=tail)).hex}"
    return names.text(text)


def _write(rows, names):
    session = {
        key: names.value(value) if key == "id" else value for key, value in rows["sessions_app_worksession"][0].items()
    }
    keep = {"team_id"}
    copies = {table: [_row(row, names, keep) for row in rows[table]] for table in _TABLES}
    attempts = {row["event_index"]: row for row in copies["sessions_app_attempt"]}
    head, first, events = Head(next_index=0, digest=GENESIS), 0, []
    for row in rows["sessions_app_event"]:
        bodies, digests = [], []
        for old in deflation.unpack(bytes(row["body"]), count=row["count"]):
            body = _renamed(orjson.loads(old), names) | {"previousDigest": head.digest}
            bodies.append(canonical.canonical_bytes(body))
            head = Head(next_index=head.next_index + 1, digest=canonical.digest(bodies[-1]))
            digests.append(head.digest)
        made = _row(row, names, keep) | {"body": deflation.pack(bodies, digests), "digest": head.digest}
        made |= {"born_on": birth_date(session["id"])}
        if row["seal"] is not None:
            made["seal"] = _seal(session, first, head, row, attempts.get(first), rows)
            first = head.next_index
        events.append(made)
    seal = seals.seal_head(settings.SEAL_KEYS, session_id=session["id"], team_id=session["team_id"], head=head)
    copies["sessions_app_worksession"] = [session | {"head_digest": head.digest, "head_seal": seal}]
    copies["sessions_app_event"] = events
    for table, made in copies.items():
        _copy(table, made)
    return head.next_index


def _row(row, names, keep):
    return {key: value if key in keep else names.value(value) for key, value in row.items()}


def _seal(session, first, head, row, attempt, rows):
    import hashlib

    read = seals.read_seal(row["seal"])
    digests = (
        []
        if attempt is None
        else [
            seals.attempt_digest(
                node_id=attempt["node_id"],
                nonce=bytes(attempt["nonce"]),
                kind=attempt["kind"],
                to_node_id=attempt["to_node_id"],
                reply_sha256=hashlib.sha256(kept_reply(bytes(attempt["reply"]))).hexdigest(),
                reply_template=attempt["reply_template"],
                keys_generation=attempt["keys_generation"],
                actor=attempt["actor"],
            )
        ]
    )
    transition = SealedTransition(
        session_id=session["id"],
        team_id=session["team_id"],
        first=first,
        last=head,
        at_us=to_us(row["created_at"]),
        actor=read.actor,
        dialect=rows["sessions_app_run"][0]["dialect"] if first == 0 else "",
        attempts=digests,
    )
    return seals.seal_transition(settings.SEAL_KEYS, transition)


def _copy(table, made):
    if not made:
        return
    columns = ", ".join(made[0])
    with connection.cursor() as cursor, cursor.copy(f"COPY {table} ({columns}) FROM STDIN") as copy:
        for row in made:
            copy.write_row(tuple(row.values()))
