"""People and agents meet at one question on a real database: one answer counts, and nothing is lost."""

import os
from datetime import timedelta

import pytest

from sessions_app.engine.checkpoints import CheckpointAnsweredError, CheckpointClaimedError
from sessions_app.services.moves.runs import change_preferences
from sessions_app.services.people import checkpoints
from tests import run_cast
from tests.checkpoint_cast import SOON, answer, asking, only_row, publish_folder, relayed
from tests.crews import hiring
from tests.engine_play import NEVER_STOP
from tests.run_cast import NOW, advance, advanced, assert_healthy, events, rehydrate, run_id, start
from workrail_site.dialects.rail.replies import RAIL

pytestmark = pytest.mark.django_db(transaction=True)

ROUNDS = 15


@pytest.fixture
def desk():
    return run_cast.make_desk()


crew = pytest.fixture(hiring)


def asked(desk):
    before = start(desk, "team.plan", context={"goal": "the roof"}).value
    return advanced(desk.agent, before, now=NOW)


def refused(results, kind):
    return [result for result in results if isinstance(result, kind)]


def given(results):
    return [result for result in results if not isinstance(result, Exception)]


def people_on_record(desk):
    from teams_app.models import AuditEntry

    rows = AuditEntry.objects.filter(team_id=desk.team_id, action="checkpoint.answered")
    return rows.count()


def answers(value):
    return events(value, "checkpoint_answered")


def test_of_people_who_answer_at_once_one_is_heard_and_the_others_are_told_who(desk, crew):
    publish_folder(desk, asking(human=True))
    hands = crew(4)

    for number in range(1, ROUNDS + 1):
        value = asked(desk)
        row = only_row(value)
        results = hands.race(
            lambda row=row: answer(desk.person, row, "yes"),
            lambda row=row: answer(desk.owner, row, "no"),
            lambda row=row: answer(desk.person, row, "no"),
            lambda row=row: answer(desk.owner, row, "yes"),
        )

        row = only_row(value)
        assert (len(given(results)), len(refused(results, CheckpointAnsweredError))) == (1, 3), results
        assert {refusal.details["answeredBy"] for refusal in refused(results, CheckpointAnsweredError)} == {
            row.answered_by
        }
        assert (len(answers(value)), people_on_record(desk)) == (1, number)
        assert answers(value)[0]["data"]["optionId"] == row.option_id
        assert_healthy(value)


def test_of_people_who_claim_at_once_one_has_it(desk, crew):
    publish_folder(desk, asking(human=True))
    hands = crew(2)

    for _ in range(ROUNDS):
        row = only_row(asked(desk))
        results = hands.race(
            *[
                lambda row=row, who=who: checkpoints.claim_checkpoint(actor=who, request_id=row.id, now=SOON)
                for who in (desk.person, desk.owner)
            ]
        )

        (claimed,) = given(results)
        (refusal,) = refused(results, CheckpointClaimedError)
        assert refusal.details["claimedBy"] == claimed.claimed_by


def test_an_answer_never_passes_over_a_claim_that_was_made_before_it(desk, crew):
    publish_folder(desk, asking(human=True))
    hands = crew(2)

    for _ in range(ROUNDS):
        value = asked(desk)
        row = only_row(value)
        claimed, answered = hands.race(
            lambda row=row: checkpoints.claim_checkpoint(actor=desk.owner, request_id=row.id, now=SOON),
            lambda row=row: answer(desk.person, row),
        )

        kinds = (type(claimed).__name__, type(answered).__name__)
        assert kinds in {
            ("CheckpointValue", "CheckpointClaimedError"),
            ("CheckpointAnsweredError", "CheckpointValue"),
        }, kinds
        assert_healthy(value)


def test_an_agent_that_acknowledges_while_a_person_answers_goes_on_or_is_blocked_and_nothing_is_lost(desk, crew):
    publish_folder(desk, asking(human=True))
    hands = crew(4)

    for _ in range(ROUNDS):
        value = asked(desk)
        row = only_row(value)
        others = [rehydrate(desk.agent, value).value for _ in range(2)]
        _, *replies = hands.race(
            lambda row=row: answer(desk.person, row),
            lambda at=value: advance(desk.agent, at, "First words."),
            *[lambda at=at: advance(desk.agent, at, "Other words.") for at in others],
        )

        assert refused(replies, Exception) == []
        assert only_row(value).state == "answered"
        assert len(answers(value)) == 1
        for reply in replies:
            told = reply.value
            then = told if told["kind"] != "blocked" else advanced(desk.agent, told, "Again.")
            assert then["pending"]["stepId"] == "work"
        blocked = sum(1 for reply in replies if reply.value["kind"] == "blocked")
        assert sum(notes in {"First words.", "Other words."} for notes in noted(value)) == blocked
        assert_healthy(value)


def noted(value):
    return [event["data"]["payload"]["notesMarkdown"] for event in events(value, "node_output_appended")]


def test_of_a_relayed_answer_and_a_persons_one_counts_and_both_know_which(desk, crew):
    publish_folder(desk, asking())
    hands = crew(2)

    for _ in range(ROUNDS):
        value = asked(desk)
        row = only_row(value)
        by_person, by_agent = hands.race(
            lambda row=row: answer(desk.person, row, "no"),
            lambda at=value: advance(desk.agent, at, artifacts=relayed("yes")),
        )

        row = only_row(value)
        assert len(answers(value)) == 1
        if row.answered_as == "human":
            assert (by_person.option_id, by_agent.value["pending"]["stepId"]) == ("no", "again")
        else:
            assert isinstance(by_person, CheckpointAnsweredError)
            assert by_agent.value["pending"]["stepId"] == "work"
        assert_healthy(value)


def test_whatever_happens_at_a_question_at_once_leaves_a_healthy_log(desk, crew):
    publish_folder(desk, asking(human=True))
    hands = crew(5)

    for _ in range(ROUNDS):
        value = asked(desk)
        row = only_row(value)
        again = rehydrate(desk.agent, value).value
        results = hands.race(
            lambda row=row: answer(desk.person, row),
            lambda row=row: checkpoints.claim_checkpoint(actor=desk.person, request_id=row.id, now=SOON),
            lambda row=row: checkpoints.release_checkpoint(actor=desk.owner, request_id=row.id, now=SOON),
            lambda at=again: advance(desk.agent, at, "", context={"goal": "the cellar"}),
            lambda at=value: change_preferences(
                actor=desk.owner,
                run_id=run_id(at),
                change=NEVER_STOP,
                now=SOON + timedelta(seconds=1),
                entropy=os.urandom,
                speech=RAIL,
            ),
        )

        unexpected = {type(result).__name__ for result in results if isinstance(result, Exception)} - {
            "CheckpointAnsweredError",
            "CheckpointStaleError",
        }
        assert unexpected == set(), results
        assert len(answers(value)) <= 1
        assert_healthy(value)
