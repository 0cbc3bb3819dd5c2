"""A token is a name and no permission: it is checked with its team, its step and each of its characters."""

from dataclasses import replace

import pytest
from django.db import transaction

from sessions_app.engine.tokens import (
    SessionNotHealthyError,
    TokenBadSignatureError,
    TokenInvalidFormatError,
    TokenScopeMismatchError,
    TokenUnknownNodeError,
    TokenUnsupportedVersionError,
)
from sessions_app.services.moves.beginning import Beginning, start_run
from teams_app.engine.actors import Scope
from teams_app.engine.errors import ForbiddenError, NotFoundError
from tests import run_cast
from tests.run_cast import advance, advanced, begin, bookmark, events, plain_steps, rehydrate, words_of
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db

ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
SAME = {"o": "0", "i": "1", "l": "1"}
REFUSALS = (TokenInvalidFormatError, TokenBadSignatureError, TokenUnsupportedVersionError)


@pytest.fixture
def desk():
    return run_cast.make_desk()


def altered(text):
    """Every text that differs in one character and does not mean the same."""
    head = text.index(".v1.") + 4
    for place, char in enumerate(text):
        for other in ALPHABET:
            if other != char and not (place >= head and SAME.get(other, other) == char):
                yield text[:place] + other + text[place + 1 :]


@pytest.mark.parametrize("which", ["stateToken", "ackToken"])
def test_an_ack_with_any_character_altered_is_refused_and_leaves_no_trace(desk, which):
    value = begin(desk, *plain_steps(2))
    before = len(events(value))

    for text in altered(value[which]):
        with pytest.raises(REFUSALS):
            advance(desk.agent, {**value, which: text})

    assert len(events(value)) == before


def test_a_checkpoint_token_with_any_character_altered_is_refused(desk):
    value = begin(desk, *plain_steps(2))

    for text in altered(value["checkpointToken"]):
        with pytest.raises(REFUSALS):
            bookmark(desk.agent, {**value, "checkpointToken": text})


@pytest.mark.parametrize("spoil", [str.upper, "`{}`".format, " {}\n".format, "\u200b{}".format, '"{}"'.format])
def test_what_a_chat_does_to_tokens_is_read_past(desk, spoil):
    value = begin(desk, *plain_steps(2))
    spoilt = {**value, "stateToken": spoil(value["stateToken"]), "ackToken": spoil(value["ackToken"])}

    assert advance(desk.agent, spoilt).data == advance(desk.agent, value).data


def test_a_token_of_another_team_is_one_of_nobody(desk):
    value = begin(desk, *plain_steps(2))
    before = len(events(value))

    for use in (advance, bookmark):
        with pytest.raises(TokenUnknownNodeError) as theirs:
            use(desk.stranger, value)
        assert value["session"]["runId"] not in str(theirs.value.as_json())

    assert len(events(value)) == before


def test_a_replay_is_not_told_to_another_team(desk):
    value = begin(desk, *plain_steps(2))
    advance(desk.agent, value)

    with pytest.raises(TokenUnknownNodeError):
        advance(desk.stranger, value)


def test_another_teams_session_is_no_place_to_start_in(desk):
    value = begin(desk, *plain_steps(2))
    stranger = replace(desk.person, team_id=desk.stranger.team_id)
    run_cast.published(replace(desk, person=stranger, agent=desk.stranger), *plain_steps(2), workflow_id="their.sample")

    with pytest.raises(NotFoundError):
        run_cast.start(desk, "their.sample", actor=desk.stranger, session_id=run_cast.session_id(value))


def test_tokens_of_two_steps_do_not_go_together(desk):
    value = begin(desk, *plain_steps(3))
    then = advanced(desk.agent, value)

    for mixed in ({**then, "stateToken": value["stateToken"]}, {**value, "stateToken": then["stateToken"]}):
        with pytest.raises(TokenScopeMismatchError) as refusal:
            advance(desk.agent, mixed)
        assert "nextCall" in refusal.value.suggestion


def test_tokens_of_two_runs_do_not_go_together(desk):
    run_cast.published(desk, *plain_steps(2))
    one, other = run_cast.start(desk).value, run_cast.start(desk).value

    with pytest.raises(TokenScopeMismatchError):
        advance(desk.agent, {**one, "ackToken": other["ackToken"]})
    with pytest.raises(TokenScopeMismatchError):
        bookmark(desk.agent, {**one, "checkpointToken": other["checkpointToken"]})


def test_a_checkpoint_token_belongs_to_its_step(desk):
    value = begin(desk, *plain_steps(3))
    then = advanced(desk.agent, value)
    before = len(events(value))

    for mixed in ({**then, "stateToken": value["stateToken"]}, {**value, "stateToken": then["stateToken"]}):
        with pytest.raises(TokenScopeMismatchError):
            bookmark(desk.agent, mixed)

    assert len(events(value)) == before


def test_each_token_is_taken_only_for_what_it_is(desk):
    value = begin(desk, *plain_steps(2))

    with pytest.raises(TokenInvalidFormatError, match="This is the checkpoint token"):
        advance(desk.agent, {**value, "ackToken": value["checkpointToken"]})
    with pytest.raises(TokenInvalidFormatError, match="This is the ack token"):
        bookmark(desk.agent, {**value, "checkpointToken": value["ackToken"]})


def test_a_token_of_a_step_that_is_gone_is_unknown(desk):
    from sessions_app.models import Node

    value = begin(desk, *plain_steps(2))
    Node.objects.all().delete()

    with pytest.raises(TokenUnknownNodeError) as refusal:
        advance(desk.agent, value)
    assert "the run again" in refusal.value.suggestion


@pytest.mark.parametrize(
    ("scope", "use"),
    [(Scope.RUNS_READ, advance), (Scope.RUNS_READ, bookmark), (Scope.RUNS_WRITE, rehydrate)],
)
def test_a_key_does_only_what_its_scopes_say(desk, scope, use):
    value = begin(desk, *plain_steps(2))

    with pytest.raises(ForbiddenError):
        use(replace(desk.agent, scopes=frozenset({scope})), value)


def test_a_viewer_drives_no_run(desk):
    value = begin(desk, *plain_steps(2))

    for use in (advance, bookmark):
        with pytest.raises(ForbiddenError):
            use(desk.viewer, value)


def test_a_state_that_was_changed_in_the_table_is_not_acted_on(desk):
    from sessions_app.models import Snapshot

    value = begin(desk, *plain_steps(2), context={"amount": 10})
    row = Snapshot.objects.get()
    Snapshot.objects.filter(digest=row.digest).update(data=bytes(row.data).replace(b'"amount":10', b'"amount":99'))

    with pytest.raises(SessionNotHealthyError) as refusal:
        advance(desk.agent, value)

    assert refusal.value.as_json()["retry"] == {"kind": "not_retryable"}


def test_a_reply_prints_each_token_on_a_line_of_its_own(desk):
    run_cast.published(desk, *plain_steps(2))

    reply = run_cast.start(desk)

    lines = words_of(reply).splitlines()
    assert [lines.count(reply.value[name]) for name in ("stateToken", "ackToken", "checkpointToken")] == [1, 1, 1]
    assert all(len(reply.value[name]) <= 64 for name in ("stateToken", "ackToken", "checkpointToken"))


def test_clock_and_randomness_are_the_callers(desk):
    """The same of both give the same reply, whenever it is."""
    run_cast.published(desk, *plain_steps(2))
    beginning = Beginning(workflow_id="team.sample", goal="Try it")

    def started():
        numbers = iter(range(1000))
        with transaction.atomic():
            reply = start_run(
                actor=desk.agent,
                beginning=beginning,
                now=run_cast.NOW,
                entropy=lambda count: next(numbers).to_bytes(count, "big"),
                speech=RAIL,
            )
            transaction.set_rollback(True)
        return reply.data

    assert started() == started()
