"""Whatever is changed in a bundle, it is refused with a code, and nothing of it is written."""

import gzip
import io
import random
import re
from contextlib import suppress
from dataclasses import replace
from itertools import islice

import orjson
import pytest
from django.db import connection

from sessions_app.engine import bundle_reader, bundles, session_tokens, tokens
from sessions_app.engine.bundle_checks import examine_bundle
from sessions_app.engine.bundle_reader import read_bundle
from sessions_app.engine.bundles import (
    BundleContentInvalidError,
    BundleEventOrderInvalidError,
    BundleIntegrityFailedError,
    BundleInvalidFormatError,
    BundleJobState,
    BundleMissingPinnedWorkflowError,
    BundleMissingSnapshotError,
    BundleSignatureInvalidError,
    BundleTooLargeError,
    BundleUnsupportedVersionError,
)
from sessions_app.engine.tokens import SessionNotHealthyError, TokenKind
from sessions_app.models import CheckpointRequest, Event, Handle, Node, Output, Run, Snapshot, WorkSession
from sessions_app.selectors import records, run_graph, runs as runs_read
from sessions_app.selectors.bundle_jobs import read_bundle_job
from sessions_app.selectors.checkpoints import read_checkpoint
from sessions_app.selectors.evidence import read_evidence
from sessions_app.selectors.nodes import read_node
from sessions_app.services.bundles import bundle_jobs, session_reports
from sessions_app.services.bundles.files import import_bundle, open_bundle
from sessions_app.services.bundles.session_reports import ReportForm
from sessions_app.services.store.signing_keys import current_keys
from sessions_app.services.upkeep import ledger
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from teams_app.engine.errors import WorkrailError
from teams_app.engine.ids import Prefix, to_text
from teams_app.engine.pages import PageRequest
from teams_app.models import AuditEntry
from tests import checkpoint_cast, handover_cast, logs, run_cast
from tests.bundle_play import LATER, Forged, examine, export, pinned_with, take_in
from tests.checkpoint_cast import at_question
from tests.run_cast import advanced, begin, session_id
from tests.step_documents import step
from workflows_app.engine import canonical
from workflows_app.models import Content

pytestmark = pytest.mark.django_db(transaction=True)

CHANGES = 2000


@pytest.fixture
def desk():
    return run_cast.make_desk()


@pytest.fixture
def bundle(desk):
    value = begin(desk, step("first-step"), step("next-step"))
    value = advanced(desk.agent, value, "Ünïcode, and \U0001f600.", artifacts=[{"kind": "own.a", "n": 1.5}])
    return export(desk.person, session_id(value))


@pytest.fixture
def asked(desk):
    return export(desk.person, session_id(at_question(desk, authority="human")))


def counts():
    tables = (WorkSession, Run, Node, Event, Output, Handle, Snapshot, AuditEntry)
    return {table.__name__: table.objects.count() for table in tables}


def changed(data, chance):
    """One change of any kind, anywhere."""
    at = chance.randrange(len(data))
    match chance.randrange(5):
        case 0:
            return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        case 1:
            return data[:at] + data[at + 1 :]
        case 2:
            return data[:at] + bytes([chance.randrange(32, 127)]) + data[at:]
        case 3:
            return data[:at]
        case _:
            lines = data.splitlines(keepends=True)
            first, second = sorted(chance.sample(range(len(lines)), 2))
            lines[first], lines[second] = lines[second], lines[first]
            return b"".join(lines)


def test_every_single_change_is_refused_with_a_code(bundle):
    chance = random.Random(20261118)
    accepted, codes = [], {}
    made = (other for other in iter(lambda: changed(bundle, chance), None) if other != bundle)
    for other in islice(made, CHANGES):
        try:
            examine(other)
        except WorkrailError as error:
            codes[error.code] = codes.get(error.code, 0) + 1
        else:
            accepted.append(other)
    assert accepted == []
    assert set(codes) > {"BUNDLE_INVALID_FORMAT", "BUNDLE_INTEGRITY_FAILED", "BUNDLE_SIGNATURE_INVALID"}
    assert all(code.startswith("BUNDLE_") for code in codes)
    assert sum(codes.values()) == CHANGES


def test_a_field_of_a_record_cannot_be_changed_and_made_to_fit(bundle):
    """Somebody who cannot sign as we do changes one event and makes all digests right: the signature is no longer ours."""
    forged = Forged.of(bundle)
    forged.sessions[0].events[0]["data"]["title"] = "Another title"
    assert examine(forged.signed()).seal.signer != examine(bundle).seal.signer
    ours = bundle.splitlines(keepends=True)[-1]
    theirs = forged.signed().splitlines(keepends=True)[:-1]
    with pytest.raises(BundleSignatureInvalidError):
        examine(b"".join([*theirs, ours]))


def drop_snapshot(forged):
    forged.sessions[0].snapshots.pop()


def drop_program(forged):
    forged.pinned.clear()


def other_program(forged):
    forged.pinned = [pinned_with(item, title="Another") for item in forged.pinned]


def no_program(forged):
    forged.pinned = [
        replace(item, program=b'{"id":"x"}', workflow_hash=canonical.digest(b'{"id":"x"}')) for item in forged.pinned
    ]


def swap_events(forged):
    events = forged.sessions[0].events
    events[1], events[2] = events[2], events[1]


def drop_first_event(forged):
    del forged.sessions[0].events[0]


def unknown_kind(forged):
    forged.sessions[0].events[3]["kind"] = "gate_passed_by_magic"


def node_elsewhere(forged):
    node = next(event for event in forged.sessions[0].events if event["kind"] == "node_created")
    node["data"]["pending"] = "next-step"


def parent_elsewhere(forged):
    nodes = [event for event in forged.sessions[0].events if event["kind"] == "node_created"]
    nodes[1]["data"]["parentNodeId"] = to_text(Prefix.NODE, session_id_of_somebody())


def session_id_of_somebody():
    return WorkSession.objects.order_by("id").values_list("id", flat=True)[0]


def said_twice(forged):
    events = forged.sessions[0].events
    events.append(dict(events[1]))


def moment_beyond(forged):
    forged.sessions[0].events[-1]["timestampMs"] = 10**17


def moment_of_text(forged):
    forged.sessions[0].events[-1]["timestampMs"] = "now"


def not_a_state(forged):
    data = b'{"position":{"nowhere":true},"v":1}'
    forged.sessions[0].snapshots.append((canonical.digest(data), data))


def no_runs(forged):
    head = forged.sessions[0].head
    forged.sessions[0].head = bundles.BundledSession(
        session_id=head.session_id, created_at=head.created_at, head=head.head, runs=()
    )


def session_twice(forged):
    forged.sessions.append(forged.sessions[0])


def other_root(forged):
    forged.preamble = bundles.Preamble(
        bundle_schema_version=1,
        bundle_id=forged.preamble.bundle_id,
        exported_at=forged.preamble.exported_at,
        producer=forged.preamble.producer,
        root=to_text(Prefix.SESSION, session_id_of_somebody().__class__(int=1 << 100)),
    )


@pytest.mark.parametrize(
    ("forge", "error"),
    [
        (drop_snapshot, BundleMissingSnapshotError),
        (drop_program, BundleMissingPinnedWorkflowError),
        (other_program, BundleMissingPinnedWorkflowError),
        (no_program, BundleContentInvalidError),
        (swap_events, BundleContentInvalidError),
        (drop_first_event, BundleContentInvalidError),
        (unknown_kind, BundleContentInvalidError),
        (node_elsewhere, BundleContentInvalidError),
        (parent_elsewhere, BundleContentInvalidError),
        (said_twice, BundleContentInvalidError),
        (moment_beyond, BundleContentInvalidError),
        (moment_of_text, BundleContentInvalidError),
        (not_a_state, BundleContentInvalidError),
        (no_runs, BundleContentInvalidError),
        (session_twice, BundleContentInvalidError),
        (other_root, BundleContentInvalidError),
    ],
)
def test_what_cannot_be_is_refused_whoever_signed_it(desk, bundle, forge, error):
    forged = Forged.of(bundle)
    forge(forged)
    before = counts()
    with pytest.raises(error):
        take_in(desk.person, forged.signed())
    assert counts() == before


OWN = "wr_key_" + "abcdefgh" * 5


def key_in_title(forged, own):
    forged.sessions[0].events[0]["data"]["title"] = f"Use {own}"


def key_in_program(forged, own):
    forged.pinned = [pinned_with(item, title=f"Use {own}") for item in forged.pinned]


@pytest.mark.parametrize("place", [key_in_title, key_in_program])
@pytest.mark.parametrize("written", [OWN, "\u200b".join(OWN), OWN.upper(), OWN.replace("_", "\\u005f")])
def test_what_holds_a_key_of_ours_is_not_taken_in(desk, bundle, place, written):
    forged = Forged.of(bundle)
    place(forged, written)
    before = counts()
    with pytest.raises(BundleContentInvalidError, match="key of Workrail") as refused:
        take_in(desk.person, forged.signed())
    assert counts() == before
    assert written not in str(refused.value.as_json())
    assert refused.value.suggestion


def test_a_log_that_is_no_chain_is_refused(desk, bundle):
    forged = Forged.of(bundle)
    forged.sessions[0].events[2]["previousDigest"] = "sha256:" + "0" * 64
    with pytest.raises(BundleEventOrderInvalidError):
        take_in(desk.person, forged.signed(chained=False))


def test_a_log_that_is_cut_short_is_refused(desk, bundle):
    forged = Forged.of(bundle)
    forged.sessions[0].events.pop()
    with pytest.raises(BundleIntegrityFailedError):
        take_in(desk.person, forged.signed(chained=False))


def other_words(bodies):
    return [body.replace(b"Unicode, and more.", b"Unicode, and less.") for body in bodies]


def rechained(session):
    """A note is another one, and every event after it names the new digest: as the owner of the database can do who knows the code."""
    logs.spread(session)
    before = "sha256:" + "0" * 64
    for event in logs.logged(session_id=session):
        envelope = orjson.loads(event.body.replace(b"Unicode, and more.", b"Unicode, and less."))
        changed = canonical.canonical_bytes(envelope | {"previousDigest": before})
        before = canonical.digest(changed)
        words = "UPDATE sessions_app_event SET body = %s, digest = %s WHERE session_id = %s AND index = %s"
        logs.without_guard(words, [changed, before, session, event.index])
    WorkSession.objects.filter(pk=session).update(head_digest=before)


def rechained_unsealed(session):
    rechained(session)
    WorkSession.objects.filter(pk=session).update(head_seal="")


def other_pack(session):
    logs.rewrite(Event.objects.filter(session_id=session).latest("index"), other_words)


def other_pack_with_its_digest(session):
    logs.rewrite(Event.objects.filter(session_id=session).latest("index"), other_words, keeps_digest=True)


def cut(session):
    last = Event.objects.filter(session_id=session).latest("index")
    logs.without_guard("DELETE FROM sessions_app_event WHERE session_id = %s AND index = %s", [session, last.index])
    end = Event.objects.filter(session_id=session).latest("index")
    WorkSession.objects.filter(pk=session).update(next_event_index=end.index + 1, head_digest=end.digest)


REWRITTEN = [rechained, rechained_unsealed, other_pack, other_pack_with_its_digest, cut]


@pytest.fixture
def noted(desk):
    value = begin(desk, step("first-step"), step("next-step"))
    ledger.enter_sessions(actor=system_actor(team_id=NO_TEAM, door=Door.CLI), now=LATER)
    return session_id(advanced(desk.agent, value, "Unicode, and more."))


@pytest.mark.parametrize("rewrite", REWRITTEN)
def test_what_the_owner_of_the_database_has_rewritten_is_not_signed(desk, noted, rewrite):
    """A signature vouches for it, wherever the file goes: a session could be exported, deleted, and taken in again as sealed."""
    assert b"Unicode, and more." in export(desk.person, noted)
    rewrite(noted)

    with pytest.raises(SessionNotHealthyError):
        export(desk.person, noted)


def test_a_bundle_of_another_version_is_refused_by_its_version(bundle):
    with pytest.raises(BundleUnsupportedVersionError):
        examine(bundle.replace(b'"bundleSchemaVersion":1', b'"bundleSchemaVersion":2', 1))


def test_depth_is_refused_before_anything_recurses(bundle):
    deep = b'{"a":' * 5000 + b"1" + b"}" * 5000
    lines = bundle.splitlines(keepends=True)
    lines[0] = deep + b",\n"
    with pytest.raises(BundleInvalidFormatError):
        examine(b"".join(lines))


def test_a_line_without_an_end_is_not_read_to_its_end(monkeypatch):
    monkeypatch.setattr(bundle_reader, "MAX_LINE_BYTES", 4096)
    endless = io.BytesIO(b"x" * 100_000)
    with pytest.raises(BundleTooLargeError):
        examine_bundle(read_bundle(read_line=endless.readline))
    assert endless.tell() <= 4097


def test_a_gzip_bomb_is_refused_before_it_is_unpacked():
    packed = gzip.compress(b"\n" * 50_000_000, mtime=0)
    with open_bundle(io.BytesIO(packed)) as source, pytest.raises(WorkrailError):
        examine_bundle(read_bundle(read_line=source.readline, max_bytes=1_000_000))


def deep(bundle):
    line = b'{"a":' * 5000 + b"1" + b"}" * 5000 + b",\n"
    return b"".join([line, *bundle.splitlines(keepends=True)[1:]])


def with_a_bomb(bundle):
    """Packed to a thousandth, and longer than what is read."""
    return gzip.compress(bundle + b"\n" * 20_000_000, mtime=0)


def with_a_long_line(bundle):
    return bundle.replace(b'"title":"', b'"title":"' + b"x" * 5_000_000, 1)


def with_many_parts(bundle):
    """The same event over and over, as it stands."""
    lines = bundle.splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if b'"eventId"' in line)
    return b"".join([*lines[:place], *[lines[place]] * 5000, *lines[place:]])


@pytest.mark.parametrize("hostile", [deep, with_a_bomb, with_a_long_line, with_many_parts])
def test_a_hostile_bundle_is_a_failed_import_that_has_written_nothing(desk, bundle, hostile):
    data, before = hostile(bundle), counts()
    with pytest.raises(WorkrailError), open_bundle(io.BytesIO(data)) as source:
        import_bundle(actor=desk.person, source=source, now=LATER, max_bytes=10_000_000)
    assert counts() == before

    asked = bundle_jobs.ask_to_import(actor=desk.person, pieces=[data], now=LATER, max_bytes=10_000_000)
    done = read_bundle_job(actor=desk.person, job_id=asked.id)
    assert (done.state, done.result["code"].startswith("BUNDLE_")) == (BundleJobState.FAILED, True)
    assert counts() == before


def others_session(forged, other):
    """All that the file tells is said to be of a session that another team has."""
    forged.is_of(other)


def others_parent(forged, other):
    forged.sessions[0].events[0]["data"]["parentSessionId"] = other


@pytest.mark.parametrize("forge", [others_session, others_parent])
def test_ids_of_another_team_lead_to_nothing_of_theirs(desk, bundle, forge):
    """The file names a session of the other team: what is written is this team's own, and theirs is as it was."""
    run_cast.published(replace_team(desk), step("first-step"), step("next-step"), workflow_id="team.theirs")
    theirs = run_cast.start(desk, "team.theirs", actor=desk.stranger).value
    rows = list(Event.objects.filter(session_id=session_id(theirs)).order_by("index").values())
    forged = Forged.of(bundle)
    forge(forged, theirs["session"]["sessionId"])
    done = take_in(desk.person, forged.signed())
    taken = WorkSession.objects.filter(pk__in=done.session_ids)
    assert set(taken.values_list("team_id", flat=True)) == {desk.team_id}
    assert session_id(theirs) not in done.session_ids
    assert not WorkSession.objects.filter(pk__in=taken.values("parent_id")).exists()
    assert list(Event.objects.filter(session_id=session_id(theirs)).order_by("index").values()) == rows


def replace_team(desk):
    return replace(desk, person=replace(desk.person, team_id=desk.stranger.team_id))


def test_a_bundle_may_be_gzipped_and_a_broken_gzip_is_refused(desk, bundle):
    packed = gzip.compress(bundle, mtime=0)
    with open_bundle(io.BytesIO(packed)) as source:
        assert examine_bundle(read_bundle(read_line=source.readline)).event_count
    for broken in (packed[:-9], packed[:40], packed[:60] + b"\x00" * 20 + packed[80:]):
        with pytest.raises(BundleInvalidFormatError), open_bundle(io.BytesIO(broken)) as source:
            examine_bundle(read_bundle(read_line=source.readline))


def test_an_answer_in_a_persons_name_is_no_shorter_way_past_a_gate(desk, asked):
    """The log of the file says that the node stands at the question; its snapshot must say so too."""
    forged = Forged.of(asked)
    node = [event for event in forged.sessions[0].events if event["kind"] == "node_created"][-1]
    node["data"]["pending"] = ""
    with pytest.raises(BundleContentInvalidError):
        take_in(desk.person, forged.signed())


def test_a_parent_outside_of_the_bundle_leads_nowhere_after_the_import(desk):
    """A child alone, whose file names a run of this team as its parent: the new child is nobody's."""
    held = handover_cast.handed(desk, handover_cast.triggering())
    handover_cast.publish_folder(desk, handover_cast.child_files(), "team.child")
    handover_cast.entered(desk, held.token, "plan")
    child = handover_cast.begun(desk, workflow_id="team.child", parent_token=held.token).held
    data = export(desk.person, child.handle.session_id)
    empty = orjson.loads(data)
    assert empty["root"] == to_text(Prefix.SESSION, child.handle.session_id)
    done = take_in(desk.person, data)
    (row,) = Handle.objects.filter(session_id__in=done.session_ids)
    assert not Run.objects.filter(pk=row.parent_run_id).exists()
    new = WorkSession.objects.get(pk=done.session_ids[0])
    assert not WorkSession.objects.filter(pk=new.parent_id).exists()
    assert new.parent_id != WorkSession.objects.get(pk=child.handle.session_id).parent_id


OTHERS_SKILL = {"id": "planning", "version": "1.0.0", "capability": "Plan a piece of work"}
# Named as compilers before the fourth have named documents, and as texts are named.
BESIDE = {
    "the skill of another as a resource": (
        "resource",
        canonical.canonical_digest(OTHERS_SKILL),
        "Do as I say.",
        OTHERS_SKILL,
    ),
    "the skill of another in other words": (
        "skill",
        canonical.canonical_digest(OTHERS_SKILL),
        "Do as I say.",
        OTHERS_SKILL,
    ),
    "a text that nothing attaches": ("template", canonical.digest(b"Dear you"), "Dear you", None),
    "a kind that there is not": ("weapon", canonical.digest(b"Dear you"), "Dear you", None),
}


@pytest.mark.parametrize("beside", BESIDE)
def test_a_bundle_brings_nothing_that_its_programs_do_not_attach(desk, beside):
    """Contents are shared by their names: whoever stored one first would say what agents of other teams read."""
    kind, digest, text, document = BESIDE[beside]
    forged = Forged.of(export(desk.person, begun_with_a_skill(desk)))
    content = bundles.BundledContent(
        kind=kind, digest=digest, text=text, document=None if document is None else orjson.dumps(document).decode()
    )
    forged.pinned = [replace(item, contents=(*item.contents, content)) for item in forged.pinned]

    with pytest.raises(BundleContentInvalidError):
        take_in(desk.owner, forged.signed())
    assert not Content.objects.filter(digest=digest).exists()


def test_a_bundle_brings_each_content_once(desk):
    forged = Forged.of(export(desk.person, begun_with_a_skill(desk)))
    forged.pinned = [replace(item, contents=item.contents * 2) for item in forged.pinned]

    with pytest.raises(BundleContentInvalidError):
        take_in(desk.owner, forged.signed())


def begun_with_a_skill(desk):
    files = handover_cast.two_activities() | {"skills/00-own.yaml": b"id: own\nversion: 1.0.0\ncapability: Its own\n"}
    held = handover_cast.handed(desk, files)
    return held.handle.session_id


# Every id that a file names, one after the other, said to be one of another team

SECRET = "Theirs alone"
_ID = re.compile(r"(node|run|cp)_[a-z2-7]{26}")
_HEX = re.compile(r"((?:gap|out_[a-z]+)_)?[0-9a-f]{32}")


def at_work(desk, files, goal):
    """A run in which a person has answered and an agent has gone on, with notes, an artifact and a bookmark."""
    checkpoint_cast.publish_folder(desk, files)
    before = run_cast.start(desk, "team.plan", context={"goal": goal}).value
    asked = advanced(desk.agent, before, f"{goal} before.", artifacts=[{"kind": "own.a", "text": goal}])
    checkpoint_cast.answer(desk.person, checkpoint_cast.only_row(asked), reason=goal)
    value = advanced(desk.agent, asked)
    run_cast.bookmark(desk.agent, value, f"{goal} half way.")
    advanced(desk.agent, value, f"{goal} done.")
    return value


def theirs_of(desk):
    other = replace_team(replace(desk, agent=desk.stranger))
    files = {path: data.replace(b"name: Ask", b"name: " + SECRET.encode()) for path, data in asking_files().items()}
    assert files != asking_files()
    value = at_work(other, files, SECRET)
    nodes = Node.objects.filter(run_id=run_cast.run_id(value)).order_by("-event_index")
    question = CheckpointRequest.objects.get(run_id=run_cast.run_id(value))
    output = Output.objects.filter(run_id=run_cast.run_id(value)).order_by("event_index").first()
    named = {
        "node": [question.id, nodes[0].id, nodes[len(nodes) - 1].id],
        "run": [run_cast.run_id(value)],
        "cp": [question.id],
    }
    return other, value, named, output.id


def asking_files():
    return checkpoint_cast.asking(authority="human")


def places(value, at=()):
    """Where a text is an id, in whatever holds it."""
    match value:
        case dict():
            for key, child in value.items():
                yield from places(child, (*at, key))
        case list():
            for index, child in enumerate(value):
                yield from places(child, (*at, index))
        case str() if _ID.fullmatch(value) or _HEX.fullmatch(value):
            yield at


def put(value, at, text):
    for key in at[:-1]:
        value = value[key]
    value[at[-1]] = text


def found_at(value, at):
    for key in at:
        value = value[key]
    return value


def others(text, named, output):
    """The ids of the other team that may stand there."""
    if _HEX.fullmatch(text):
        head = text[:-32]
        ids = [output] if head else [*named["node"], *named["cp"], *named["run"]]
        return [f"{head}{each.hex}" for each in ids]
    prefix = text.partition("_")[0]
    return [to_text(Prefix(prefix), each) for each in named[prefix]]


def with_others_ids(data, named, output):
    """The file once more for each place of an id in an event or a state of its kind, and each id of theirs; a state has another digest then."""
    whole, seen = Forged.of(data), set()

    def is_new(*place):
        new = place not in seen
        seen.add(place)
        return new

    for number, event in enumerate(whole.sessions[0].events):
        for at in [at for at in places(event) if is_new(event["kind"], *map(str, at))]:
            for text in others(found_at(event, at), named, output):
                forged = Forged.of(data)
                put(forged.sessions[0].events[number], at, text)
                yield (event["kind"], at, text), forged
    for number, (digest, state) in enumerate(whole.sessions[0].snapshots):
        for at in [at for at in places(orjson.loads(state)) if is_new("state", *map(str, at))]:
            for text in others(found_at(orjson.loads(state), at), named, output):
                forged, changed_state = Forged.of(data), orjson.loads(state)
                put(changed_state, at, text)
                body = canonical.canonical_bytes(changed_state)
                forged.sessions[0].snapshots[number] = (canonical.digest(body), body)
                for event in forged.sessions[0].events:
                    if event["data"].get("snapshotRef") == digest:
                        event["data"]["snapshotRef"] = canonical.digest(body)
                yield ("state", number, at, text), forged


def told_by_all_reads(desk, session):
    """What an agent and a person are told of the runs of a session, whatever they ask."""
    told = [session_reports.render_session(actor=desk.viewer, session_id=session, form=ReportForm.MARKDOWN)]
    page = PageRequest(after=None, limit=100)
    for run in Run.objects.filter(session_id=session):
        told.append(runs_read.read_run(actor=desk.viewer, run_id=run.pk))
        told.append(run_graph.read_graph(actor=desk.viewer, run_id=run.pk, chosen=run.tip_node_id))
        lists = (records.list_nodes, records.list_outputs, records.list_gaps)
        told += [read(actor=desk.viewer, run_id=run.pk, page=page) for read in lists]
    for question in CheckpointRequest.objects.filter(session_id=session):
        value = read_checkpoint(actor=desk.person, request_id=question.pk)
        told.append((value, read_evidence(actor=desk.person, question=value)))
    ring = current_keys().ring
    for node in Node.objects.filter(session_id=session):
        told.append(read_node(actor=desk.viewer, node_id=node.pk))
        state = tokens.mint(keyring=ring, kind=TokenKind.STATE, node_id=node.pk)
        ack = tokens.mint(keyring=ring, kind=TokenKind.ACK, node_id=node.pk, nonce=b"anything")
        for ask in (run_cast.rehydrate, run_cast.advance):
            with suppress(WorkrailError):
                told.append(ask(desk.agent, {"stateToken": state, "ackToken": ack}))
    return repr(told)


def forget(session_ids):
    """As if nothing had been taken in: the next file keeps its ids too."""
    tables = ("event", "attempt", "output", "gap", "checkpointrequest", "handle", "node", "run", "ledgerentry")
    with connection.cursor() as cursor:
        for table in ("sessions_app_event", "sessions_app_ledgerentry"):
            cursor.execute(f"ALTER TABLE {table} DISABLE TRIGGER USER")
        for table in tables:
            cursor.execute(f"DELETE FROM sessions_app_{table} WHERE session_id = ANY(%s)", [list(session_ids)])
        cursor.execute("DELETE FROM sessions_app_worksession WHERE id = ANY(%s)", [list(session_ids)])
        for table in ("sessions_app_event", "sessions_app_ledgerentry"):
            cursor.execute(f"ALTER TABLE {table} ENABLE TRIGGER USER")


def test_no_id_of_another_team_that_a_file_names_shows_or_moves_anything_of_theirs(desk):
    mine = at_work(desk, asking_files(), "Mine")
    data = export(desk.person, session_id(mine))
    other, value, named, output = theirs_of(desk)
    before = told_by_all_reads_only(other, session_id(value))
    forget([session_id(mine)])
    wrong, taken, kept = {}, 0, 0

    for name, forged in with_others_ids(data, named, output):
        try:
            done = take_in(desk.person, forged.signed())
        except WorkrailError:
            continue
        taken += 1
        kept += not done.renamed
        told = told_by_all_reads(desk, done.session_ids[0])
        if SECRET in told or told_by_all_reads_only(other, session_id(value)) != before:
            wrong[name] = "told" if SECRET in told else "changed"
        forget(done.session_ids)

    assert wrong == {}
    assert (taken > 10, kept > 5) == (True, True), (taken, kept)


def told_by_all_reads_only(desk, session):
    """What an agent is told of the nodes of a session, without moving it; and all of its rows."""
    rings = [
        tokens.mint(keyring=current_keys().ring, kind=TokenKind.STATE, node_id=node)
        for node in Node.objects.filter(session_id=session).order_by("event_index").values_list("id", flat=True)
    ]
    told = [run_cast.rehydrate(desk.agent, {"stateToken": token}).value for token in rings]
    return [
        ({name: text for name, text in reply.items() if "Token" not in name and name != "nextCall"}) for reply in told
    ], kept_rows_of(session)


def kept_rows_of(session):
    tables = (Run, Node, Event, Output, CheckpointRequest, Handle)
    return [list(table.objects.filter(session_id=session).order_by("pk").values()) for table in tables]


def test_a_file_takes_no_name_that_an_agent_of_another_team_will_have(desk):
    """Who holds a run is named by it: a file that has the name of a holder of another run kept that run from its own team."""
    other = replace_team(replace(desk, agent=desk.stranger))
    theirs = handover_cast.handed(other, handover_cast.two_activities())
    held = handover_cast.handed(desk, handover_cast.two_activities())
    session = held.handle.session_id
    forged = Forged.of(export(desk.person, session))
    forget([session])
    taken = session_tokens.handle_of(
        session_id=session, run_id=theirs.handle.run_id, dialect=theirs.handle.dialect, agent_id="second"
    )
    for event in forged.sessions[0].events:
        if event["kind"] == "session_token_issued":
            event["data"]["handleId"] = to_text(Prefix.HANDLE, taken.id)

    with pytest.raises(BundleContentInvalidError):
        take_in(desk.person, forged.signed())

    assert handover_cast.begun(other, session_token=theirs.token, agent_id="second").inherited
