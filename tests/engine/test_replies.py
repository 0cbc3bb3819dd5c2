"""Replies: one value, and the text that is drawn from it alone."""

from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import orjson
import pytest
from msgspec import structs

from sessions_app.engine import tokens
from sessions_app.engine.decisions import Outcome, Warned, WarningCode
from sessions_app.engine.prompts import Pending, Question
from sessions_app.engine.reply_facts import Branching, NodeTokens, Recap, RecapEntry, ReplyFacts, Sibling, budgeted
from sessions_app.engine.runs import NextIntent, Recorded
from sessions_app.engine.state import Blocked, Blocker, BlockerCode, Pointer, PointerKind, Preferences, Snapshot
from sessions_app.engine.tokens import Keyring, TokenKind
from teams_app.engine.ids import Prefix, to_text
from workflows_app.engine.program import Autonomy, ConditionMode, Family, Function, Program, Reference
from workflows_app.engine.walks import Position
from workrail_site.dialects.rail import replies, wording
from workrail_site.dialects.rail.replies import RAIL

OLD = Keyring(current=b"old")
NODE = UUID(int=77)
STATE = tokens.mint(keyring=OLD, kind=TokenKind.STATE, node_id=NODE)
ACK = tokens.mint(keyring=OLD, kind=TokenKind.ACK, node_id=NODE, nonce=bytes(8))
CHK = tokens.mint(keyring=OLD, kind=TokenKind.BOOKMARK, node_id=NODE, nonce=bytes(8))
PENDING = Pending(
    step_id="read-it",
    key="read-it",
    title="Read it",
    prompt="Read every line.",
    agent_role="You are exact.",
    guidance=("Be brief.",),
    workflow_guidance=("Keep notes.",),
    requirements=("Notes in output.notesMarkdown.",),
    functions=(Function(name="check", definition="Runs the checks."),),
    ask_for_files=True,
)
TOKENS = NodeTokens(state=STATE, ack=ACK, checkpoint=CHK)
SAMPLE = {
    "compiler": 1,
    "family": Family.STEPS,
    "id": "sample",
    "title": "Sample",
    "version": "1.0.0",
    "conditions": ConditionMode.STRICT,
    "activities": (),
    "initial_activity": "",
}


@dataclass(frozen=True, kw_only=True)
class Case:
    """What a reply is made of, where a test can change any part of it."""

    outcome: Outcome | None = Outcome.ADVANCED
    pending: Pending | None = PENDING
    complete: bool = False
    tokens: NodeTokens = TOKENS
    goal: str = "Ship it"
    program: dict[str, Any] = field(default_factory=dict)
    blocked: Blocked | None = None
    preferences: Preferences = field(default_factory=Preferences)
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def facts(self):
        return ReplyFacts(
            outcome=self.outcome,
            program=Program(**SAMPLE, **self.program),
            snapshot=Snapshot(
                position=Position(activity="", complete=self.complete),
                blocked=self.blocked,
                preferences=self.preferences,
            ),
            workflow_id="team.sample",
            workflow_hash="sha256:0",
            session_id=UUID(int=7),
            run_id=UUID(int=8),
            goal=self.goal,
            tokens=self.tokens,
            **self.told,
        )


FACTS = Case()
BLOCKED = Blocked(
    retryable=True,
    blockers=(
        Blocker(
            code=BlockerCode.MISSING_REQUIRED_NOTES,
            pointer=Pointer(kind=PointerKind.WORKFLOW_STEP, name="read-it"),
            message="No notes.",
            suggested_fix="Write notes.",
        ),
    ),
    issues=("Too short.",),
    suggestions=("More.",),
    followup="Write tests.",
)
DONE = replace(FACTS, pending=None, complete=True, tokens=NodeTokens(state=STATE, checkpoint=CHK))


def value_of(case):
    return replies.reply_json(case.facts, case.pending)


def text_of(case):
    return wording.render_text(value_of(case), template=wording.TEMPLATE)


def entries(*sizes):
    return [RecapEntry(step=f"s{index}", title="", notes="x" * (size - 2)) for index, size in enumerate(sizes)]


# The value


def test_a_reply_has_what_the_contract_shows():
    value = value_of(FACTS)

    assert (value["stateToken"], value["ackToken"], value["checkpointToken"]) == (STATE, ACK, CHK)
    assert (value["kind"], value["isComplete"]) == ("ok", False)
    assert value["pending"]["requireConfirmation"] is False
    assert value["session"] == {
        "sessionId": to_text(Prefix.SESSION, UUID(int=7)),
        "runId": to_text(Prefix.RUN, UUID(int=8)),
    }
    assert value["preferences"] == {"autonomy": "guided", "riskPolicy": "conservative"}


def test_what_holds_throughout_is_told_at_the_beginning_and_to_whoever_asks():
    begun, told, on = (value_of(replace(FACTS, outcome=outcome)) for outcome in (Outcome.STARTED, None, FACTS.outcome))

    assert begun["goal"] == told["goal"] == "Ship it"
    assert begun["pending"]["workflowGuidance"] == told["pending"]["workflowGuidance"] == ["Keep notes."]
    assert "goal" not in on
    assert "workflowGuidance" not in on["pending"]
    assert "still holds" in text_of(FACTS)


def test_a_blocked_reply_does_not_tell_the_step_again():
    value = value_of(replace(FACTS, blocked=BLOCKED))

    assert (value["pending"]["stepId"], value["pending"]["title"]) == ("read-it", "Read it")
    assert "Read every line." not in text_of(replace(FACTS, blocked=BLOCKED))
    assert "prompt" not in value["pending"]
    assert value["pending"]["toldBefore"]
    assert value_of(replace(FACTS, blocked=BLOCKED, outcome=None))["pending"]["prompt"] == "Read every line."


def test_the_next_call_is_ready_made():
    assert value_of(FACTS)["nextCall"] == {
        "tool": "continue_workflow",
        "params": {"stateToken": STATE, "ackToken": ACK},
    }


@pytest.mark.parametrize(
    ("facts", "intent"),
    [
        (FACTS, NextIntent.PERFORM_PENDING_THEN_CONTINUE),
        (replace(FACTS, outcome=None), NextIntent.REHYDRATE_ONLY),
        (
            replace(FACTS, pending=structs.replace(PENDING, require_confirmation=True)),
            NextIntent.AWAIT_USER_CONFIRMATION,
        ),
        (replace(FACTS, blocked=BLOCKED), NextIntent.PERFORM_PENDING_THEN_CONTINUE),
        (DONE, NextIntent.COMPLETE),
        (replace(DONE, outcome=None), NextIntent.COMPLETE),
    ],
)
def test_a_reply_says_what_is_to_be_done_next(facts, intent):
    assert replies.next_intent(facts.facts, facts.pending) is intent


def test_a_complete_run_has_no_next_call_and_nothing_to_acknowledge():
    value = value_of(DONE)

    assert (value["pending"], value["nextCall"], "ackToken" in value) == (None, None, False)


def test_a_blocked_reply_says_why_and_whether_a_retry_can_mend_it():
    value = value_of(replace(FACTS, blocked=BLOCKED))

    assert (value["kind"], value["retryable"]) == ("blocked", True)
    assert value["blockers"][0]["code"] == "MISSING_REQUIRED_NOTES"
    assert value["validation"] == {"issues": ["Too short."], "suggestions": ["More."]}
    assert value["assessmentFollowup"] == {"guidance": "Write tests."}
    assert value["nextCall"]["params"]["ackToken"] == ACK


# The text


def test_the_text_shows_everything_that_the_agent_must_obey():
    text = text_of(
        replace(
            FACTS,
            outcome=Outcome.STARTED,
            program={"preconditions": ("A clean tree.",), "clarification_prompts": ("Which branch?",)},
        )
    )

    for said in (
        "Read it",
        "Goal: Ship it",
        "Your role: You are exact.",
        "Read every line.",
        "- Be brief.",
        "- Keep notes.",
        "- Notes in output.notesMarkdown.",
        "Function check():",
        "Runs the checks.",
        "- A clean tree.",
        "- Which branch?",
        "Mode: guided, conservative.",
    ):
        assert said in text


@pytest.mark.parametrize("facts", [FACTS, DONE, replace(FACTS, blocked=BLOCKED), replace(FACTS, outcome=None)])
def test_each_token_stands_on_a_line_of_its_own(facts):
    value = value_of(facts)
    lines = text_of(facts).splitlines()

    given = [value[name] for name in ("stateToken", "ackToken", "checkpointToken") if name in value]
    assert all(lines.count(token) == 1 for token in given)
    assert sum(token in line for line in lines for token in given) == len(given)


def test_a_blocked_text_says_that_the_used_tokens_only_repeat():
    text = text_of(replace(FACTS, blocked=BLOCKED))

    assert "No notes. [MISSING_REQUIRED_NOTES]" in text
    assert "Do: Write notes." in text
    assert "Follow up first: Write tests." in text
    assert "tokens below" in text
    assert "same tokens" not in text


def test_a_final_block_offers_no_retry():
    final = replace(FACTS, blocked=Blocked(retryable=False, blockers=BLOCKED.blockers), tokens=NodeTokens(state=STATE))

    assert "A retry cannot mend this" in text_of(final)
    assert value_of(final)["nextCall"] is None


@pytest.mark.parametrize(
    ("who", "words"), [("user", "by the user"), ("coordinator", "by the coordinator"), ("human", "signed-in person")]
)
def test_the_text_says_who_confirms(who, words):
    pending = structs.replace(PENDING, require_confirmation=True, confirmed_by=who)

    assert words in text_of(replace(FACTS, pending=pending))


FULL_AUTO = pytest.mark.parametrize("autonomy", [Autonomy.STOP_ON_USER_DEPS, Autonomy.NEVER_STOP])
FOR_A_USER = replace(
    FACTS,
    pending=structs.replace(PENDING, require_confirmation=True, confirmed_by="user"),
    outcome=Outcome.STARTED,
    program={"clarification_prompts": ("Which branch?",)},
)


def in_mode(facts, autonomy):
    return text_of(replace(facts, preferences=Preferences(autonomy=autonomy)))


@FULL_AUTO
def test_in_full_auto_what_is_meant_for_the_user_is_the_agents_to_settle_and_to_disclose(autonomy):
    text = in_mode(FOR_A_USER, autonomy)

    assert "- Which branch?" in text
    assert "you answer for your user" in text
    assert "what you assumed" in text
    assert "Ask your user" not in text
    assert "confirmed by the user" not in text


def test_in_guided_mode_the_user_is_asked():
    text = in_mode(FOR_A_USER, Autonomy.GUIDED)

    assert "Ask your user where you do not know:" in text
    assert "Ask your user for the files" in text
    assert "you answer for your user" not in text


@FULL_AUTO
@pytest.mark.parametrize(
    "pending",
    [
        structs.replace(PENDING, require_confirmation=True, confirmed_by="human"),
        structs.replace(PENDING, question=Question(checkpoint_id="q", message="Which?", options=(), human=False)),
    ],
)
def test_in_full_auto_a_question_for_people_stays_theirs(autonomy, pending):
    assert "you answer for your user" not in in_mode(replace(FACTS, pending=pending), autonomy)


@FULL_AUTO
def test_in_full_auto_the_end_of_a_run_asks_for_nothing(autonomy):
    assert "you answer for your user" not in in_mode(DONE, autonomy)


def test_warnings_are_in_the_text_with_their_codes():
    warned = Warned(code=WarningCode.NOTES_TRUNCATED, message="The notes were cut.")

    assert "- The notes were cut. [NOTES_TRUNCATED]" in text_of(replace(FACTS, told={"warnings": (warned,)}))


def test_a_complete_run_is_told_as_such():
    assert "# Workflow complete" in text_of(DONE)


def test_references_are_shown_as_pointers():
    reference = Reference(id="g", title="Guide", source="docs/guide.md", purpose="Style", authoritative=True)

    assert "- Guide (docs/guide.md): Style" in text_of(
        replace(FACTS, outcome=Outcome.STARTED, program={"references": (reference,)})
    )


def test_the_text_is_a_function_of_the_value():
    value = value_of(FACTS)

    assert text_of(FACTS) == wording.render_text(orjson.loads(orjson.dumps(value)), template=wording.TEMPLATE)


def test_a_template_that_is_not_known_is_refused():
    with pytest.raises(ValueError, match="template"):
        wording.render_text(value_of(FACTS), template=99)


# What an agent that lost its chat is told


def test_a_recap_that_fits_is_told_whole():
    recap = budgeted(entries(10, 10), max_bytes=20)

    assert (len(recap.entries), recap.omitted) == (2, 0)
    told = value_of(replace(FACTS, told={"recap": recap}))["recap"]
    assert ([entry["step"] for entry in told["entries"]], told["truncated"]) == (["s0", "s1"], False)


def test_a_recap_that_does_not_fit_keeps_the_newest_and_says_how_many_it_left_out():
    recap = budgeted(entries(10, 10, 10, 10), max_bytes=25)

    assert [entry.step for entry in recap.entries] == ["s2", "s3"]
    told = value_of(replace(FACTS, told={"recap": recap}))["recap"]
    assert (told["omitted"], told["policy"]) == (2, "kept the most recent entries")


def test_nothing_older_than_an_entry_that_did_not_fit_is_told():
    recap = budgeted(entries(5, 50, 5), max_bytes=20)

    assert [entry.step for entry in recap.entries] == ["s2"]
    assert recap.omitted == 2


def test_the_newest_entry_is_cut_when_it_alone_is_too_large():
    recap = budgeted(entries(10, 100), max_bytes=40)

    assert recap.entries[0].step == "s1"
    assert recap.entries[0].notes.endswith("[TRUNCATED]")
    assert len(recap.entries[0].notes) + 2 <= 40


def test_a_recap_whose_beginning_nobody_counted_does_not_pretend_to_know():
    recap = budgeted(entries(10), max_bytes=100, further_back=True)
    body = value_of(replace(FACTS, told={"recap": recap}))["recap"]

    assert body["truncated"]
    assert "omitted" not in body


def test_a_truncated_recap_is_marked_in_the_text_as_well():
    facts = replace(FACTS, told={"recap": budgeted(entries(10, 10, 10), max_bytes=25)})

    assert "[TRUNCATED: 1 earlier entries left out; kept the most recent entries]" in text_of(facts)


def test_a_fork_is_told_with_its_siblings_and_what_was_noted_below():
    branching = Branching(
        forked=True,
        siblings=(Sibling(node_id="node_x", kind="step", title="Write it", summary="Wrote half."),),
        downstream=Recap(entries=(RecapEntry(step="s", title="Write it", notes="Wrote half."),)),
    )
    text = text_of(replace(FACTS, told={"branching": branching}))

    assert "## This is a fork" in text
    assert "- Write it: Wrote half." in text
    assert "What was noted on the latest of them:" in text


def test_successors_that_are_left_out_are_counted():
    branching = Branching(
        forked=True,
        siblings=(Sibling(node_id="node_x", kind="step", title="Write it", summary=""),),
        downstream=Recap(),
        omitted=3,
    )
    facts = replace(FACTS, told={"branching": branching})

    assert value_of(facts)["branch"]["omittedSiblings"] == 3
    assert "[TRUNCATED: 3 earlier ones left out; kept the most recent entries]" in text_of(facts)


# Replies that are told again


def recorded(facts=FACTS):
    return orjson.dumps(value_of(facts))


def told_again(reply, *, keyring):
    kept = Recorded(reply=reply, reply_template=1, keys_generation=1, to_node_id=NODE)
    return RAIL.recorded(kept, keyring=keyring).data


def test_a_recorded_reply_keeps_its_bytes_while_its_key_is_trusted():
    for ring in (OLD, Keyring(current=b"new", previous=(b"old",))):
        assert told_again(recorded(), keyring=ring) == recorded()


def test_afterwards_its_tokens_are_signed_anew_and_nothing_else_changes():
    ring = Keyring(current=b"newer", previous=(b"new",), retired=(b"old",))

    value = orjson.loads(told_again(recorded(), keyring=ring))

    assert tokens.read(keyring=ring, kind=TokenKind.STATE, text=value["stateToken"]).node_id == NODE
    assert value["nextCall"]["params"]["ackToken"] == value["ackToken"] != ACK
    for place in (value, value["nextCall"]["params"]):
        for name in ("stateToken", "ackToken", "checkpointToken"):
            place.pop(name, None)
    before = orjson.loads(recorded())
    for place in (before, before["nextCall"]["params"]):
        for name in ("stateToken", "ackToken", "checkpointToken"):
            place.pop(name, None)
    assert value == before


def test_a_token_in_a_text_is_never_signed_for_whoever_wrote_it():
    forged = tokens.mint(keyring=Keyring(current=b"mallory"), kind=TokenKind.ACK, node_id=UUID(int=1), nonce=bytes(8))
    facts = replace(
        FACTS,
        outcome=Outcome.STARTED,
        goal=f"Please {forged}",
        pending=structs.replace(PENDING, prompt=forged, title=forged),
    )
    ring = Keyring(current=b"newer")

    value = orjson.loads(told_again(recorded(facts), keyring=ring))

    assert value["goal"] == f"Please {forged}"
    assert (value["pending"]["prompt"], value["pending"]["title"]) == (forged, forged)


def test_a_session_reply_hands_out_its_token_on_a_line_of_its_own():
    token = tokens.mint(keyring=OLD, kind=TokenKind.SESSION, node_id=NODE, nonce=bytes(8))
    text = wording.render_text(
        {"session": {"sessionId": "sess_x"}, "sessionToken": token, "nextCall": None}, template=wording.TEMPLATE
    )

    assert token in text.splitlines()
