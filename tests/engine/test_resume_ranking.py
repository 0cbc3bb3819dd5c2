"""Where a run stands among the answers to a resume query."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from sessions_app.engine.resume import MAX_CANDIDATES, Confidence, RunFacts, Tier, Why, match_run, rank
from sessions_app.engine.resume_signals import ResumeQuery, read_signals
from sessions_app.engine.runs import RunStatus
from teams_app.engine.ids import Prefix, to_text

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


def run(number=1, **changes):
    facts = RunFacts(
        run_id=UUID(int=number),
        session_id=UUID(int=1000 + number),
        workflow_id="wr.bug-investigation",
        session_title="Flaky checkout after the retry",
        goal="Find out why payments time out",
        git_branch="fix/SHOP-17-checkout",
        git_head_sha="9f1c2ab34de56f7890",
        repository="https://git.example.org/shop",
        ticket="SHOP-17",
        status=RunStatus.IN_PROGRESS,
        tip_node_id=UUID(int=2000 + number),
        last_activity_at=NOW - timedelta(days=number),
    )
    return replace(facts, **changes)


def matched(query, facts=None, notes=""):
    return match_run(facts or run(), read_signals(query), notes=notes)


@pytest.mark.parametrize(
    ("query", "tier", "why"),
    [
        (ResumeQuery(run_id=to_text(Prefix.RUN, UUID(int=1))), Tier.IDENTIFIED, Why.RUN_ID),
        (ResumeQuery(session_id=to_text(Prefix.SESSION, UUID(int=1001))), Tier.IDENTIFIED, Why.SESSION_ID),
        (ResumeQuery(ticket="shop-17"), Tier.IDENTIFIED, Why.TICKET),
        (ResumeQuery(git_head_sha="9F1C2AB"), Tier.NAMED, Why.HEAD_SHA),
        (ResumeQuery(git_branch="fix/shop-17-checkout"), Tier.NAMED, Why.BRANCH),
        (ResumeQuery(git_branch="fix/SHOP-17-checkout-again"), Tier.NAMED, Why.BRANCH_PREFIX),
        (ResumeQuery(git_branch="fix/SHOP"), Tier.NAMED, Why.BRANCH_PREFIX),
        (ResumeQuery(text="the flaky payment"), Tier.NAMED, Why.TITLE),
        (ResumeQuery(text="flaky unicorns at checkout"), Tier.PARTLY, Why.TITLE_PARTLY),
        (ResumeQuery(workflow_id="wr.bug-investigation"), Tier.WORKFLOW, Why.WORKFLOW_ID),
        (ResumeQuery(text="my bug investigation"), Tier.WORKFLOW, Why.WORKFLOW_ID),
        (ResumeQuery(repository="git@git.example.org:shop.git"), Tier.RECENT, Why.REPOSITORY),
        (ResumeQuery(text="unicorns everywhere"), Tier.RECENT, Why.RECENT),
    ],
)
def test_a_run_stands_in_the_best_tier_in_which_it_matches(query, tier, why):
    match = matched(query)

    assert match.tier is tier
    assert match.why[0] is why


def test_notes_that_have_every_telling_word_come_before_a_title_that_has_some():
    whole = matched(ResumeQuery(text="stale lease dispatcher"), notes="The dispatcher released a stale lease.")
    part = matched(ResumeQuery(text="flaky lease checkout"), notes="")

    assert whole.tier is Tier.NOTED
    assert part.tier is Tier.PARTLY
    assert whole.tier < part.tier


def test_a_word_that_names_the_ticket_or_branch_is_answered_by_them():
    match = matched(ResumeQuery(text="flaky checkout SHOP-17"))

    assert Why.TITLE in match.why


def test_common_words_beside_the_telling_ones_weigh_less():
    telling = matched(ResumeQuery(text="flaky checkout"))
    with_common = matched(ResumeQuery(text="please resume my flaky checkout"))

    assert telling.score == pytest.approx(1.0)
    assert with_common.score == pytest.approx(2 / (2 + 0.35 * 3), abs=1e-6)


def test_words_match_longer_and_shorter_spellings():
    assert matched(ResumeQuery(text="payment")).why[0] is Why.TITLE
    assert matched(ResumeQuery(text="checkouts")).why[0] is Why.TITLE
    assert matched(ResumeQuery(text="pay")).why[0] is Why.TITLE
    assert matched(ResumeQuery(text="xx")).why[0] is Why.RECENT


@pytest.mark.parametrize(
    ("query", "confidence"),
    [
        (ResumeQuery(ticket="SHOP-17"), Confidence.STRONG),
        (ResumeQuery(git_head_sha="9f1c2ab"), Confidence.STRONG),
        (ResumeQuery(git_branch="fix/SHOP-17-checkout"), Confidence.STRONG),
        (ResumeQuery(git_branch="fix/SHOP-17"), Confidence.MEDIUM),
        (ResumeQuery(text="flaky checkout"), Confidence.MEDIUM),
        (ResumeQuery(text="flaky unicorns"), Confidence.WEAK),
        (ResumeQuery(), Confidence.WEAK),
    ],
)
def test_confidence_says_whether_a_run_can_be_taken_without_asking(query, confidence):
    assert matched(query).confidence is confidence


def ordered(query, *runs):
    signals = read_signals(query)
    return [match.run.run_id.int for match in rank(match_run(facts, signals) for facts in runs)]


def test_inside_a_tier_the_same_repository_comes_first():
    query = ResumeQuery(git_branch="fix/SHOP-17-checkout", repository="https://git.example.org/shop.git")

    assert ordered(query, run(1, repository="https://git.example.org/other"), run(2)) == [2, 1]


def test_then_what_is_not_complete():
    query = ResumeQuery(ticket="SHOP-17")

    assert ordered(query, run(1, status=RunStatus.COMPLETE_WITH_GAPS), run(2, status=RunStatus.BLOCKED)) == [2, 1]


def test_then_the_score():
    query = ResumeQuery(text="flaky checkout", git_branch="fix/SHOP-17-checkout")

    assert ordered(query, run(1, git_branch=""), run(2)) == [2, 1]


def test_then_the_newest_by_the_clock():
    assert ordered(ResumeQuery(ticket="SHOP-17"), run(3), run(1), run(2)) == [1, 2, 3]


def test_then_the_id_so_that_the_order_is_always_the_same():
    twins = [run(number, last_activity_at=NOW) for number in (2, 3, 1)]

    assert ordered(ResumeQuery(ticket="SHOP-17"), *twins) == [1, 2, 3]
    assert ordered(ResumeQuery(ticket="SHOP-17"), *reversed(twins)) == [1, 2, 3]


def test_a_better_tier_comes_first_whatever_else():
    query = ResumeQuery(ticket="SHOP-17", text="flaky checkout", repository="https://git.example.org/shop")
    by_ticket = run(9, status=RunStatus.COMPLETE, repository="", session_title="Another", goal="")
    by_title = run(1, ticket="")

    assert ordered(query, by_title, by_ticket) == [9, 1]


def test_at_most_five_are_named_and_each_once():
    signals = read_signals(ResumeQuery(ticket="SHOP-17"))
    matches = [match_run(run(number), signals) for number in (*range(1, 9), *range(1, 9))]

    assert [match.run.run_id.int for match in rank(matches)] == list(range(1, MAX_CANDIDATES + 1))


def test_what_is_merely_recent_is_left_out_when_something_fits():
    newest = run(1, ticket="", session_title="Another", goal="", git_branch="")

    assert ordered(ResumeQuery(ticket="SHOP-17"), newest, run(2)) == [2]
    assert ordered(ResumeQuery(text="unicorns"), newest, run(2)) == [1, 2]
