"""Resuming stays quick however many sessions there are: every lookup goes by an index, and reads no more than its cap."""

from datetime import timedelta

import pytest
from django.db import connection

from sessions_app.engine.resume_signals import ResumeQuery, read_signals
from sessions_app.selectors import resume_lookups as lookups
from sessions_app.selectors.resume_lookups import Finds
from sessions_app.services.moves.resume import resume_sessions
from teams_app.engine.ids import Prefix, to_text
from tests.as_web import as_web, grant
from tests.resume_rows import NEEDLE, write_sessions
from tests.workflow_cast import NOW, make_cast
from workrail_site.dialects.rail.replies import RAIL

# A search sets its transaction to read only, which Postgres allows only at the outermost.
pytestmark = pytest.mark.django_db(transaction=True)


def crowd(sessions):
    """A key of a team with so many sessions, and the words of their rows."""
    agent = make_cast().agent
    started_at = NOW - timedelta(hours=sessions + 1)
    return agent, write_sessions(team_id=agent.team_id, count=sessions, started_at=started_at)


def needle():
    from sessions_app.models import Run

    return Run.objects.get(goal=NEEDLE.goal)


def plan_of(sql, parameters):
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (COSTS OFF) {sql}", parameters)
        return "\n".join(row[0] for row in cursor.fetchall())


def statements(agent):
    """Every statement of a search with the indexes that it must go by."""
    signals = read_signals(
        ResumeQuery(
            text="the flaky checkout unicorns",
            run_id=to_text(Prefix.RUN, needle().id),
            session_id=to_text(Prefix.SESSION, needle().session_id),
            git_branch=NEEDLE.branch,
            git_head_sha=NEEDLE.sha[:9],
            ticket=NEEDLE.ticket,
        ),
    )
    words = ("session_title_letters", "run_goal_letters", "output_notes_words")
    keys = ("sessions_app_run_pkey", "sessions_app_worksession_pkey")
    tiers = [
        (lookups.by_name(signals), (*keys, "session_ticket", "session_head_sha", "session_branch")),
        (lookups.among_newest(lookups.whole_choice(signals)), ("session_active", "run_active", "output_recent_notes")),
        (lookups.among_all(lookups.whole_choice(signals), finds=frozenset(Finds)), words),
        (lookups.among_all(lookups.partial_choices(signals), finds=frozenset(Finds)), words),
    ]
    for chosen, indexes in tiers:
        yield lookups.statement_of(chosen), {"team": agent.team_id, **lookups.parameters_of(chosen)}, indexes
    for sql, index in (
        (lookups.OF_ROWS, "run_of_session"),
        (lookups.NEWEST, "run_active"),
        (lookups.NEWEST_OF_REPOSITORY, "session_repository_active"),
        (lookups.OF_WORKFLOW, "run_workflow_active"),
        (lookups.WORKFLOWS, "run_workflow_active"),
        (lookups.ON_BRANCH, "sessions_app_node_pkey"),
        (lookups.ON_SESSION, "sessions_app_run_pkey"),
        (lookups.TIPS, "output_of_branch"),
    ):
        yield sql, parameters_of_needle(agent), (index,)


def parameters_of_needle(agent):
    from sessions_app.models import Output

    run = needle()
    return {
        "team": agent.team_id,
        "runs": [run.id],
        "sessions": [run.session_id],
        "notes": list(Output.objects.filter(run_id=run.id).values_list("id", flat=True)),
        "tips": [run.tip_node_id],
        "repository": NEEDLE.repository,
        "workflow": run.workflow_id,
        "ancestors": 100,
        "most": 40,
    }


def test_every_statement_of_a_search_goes_by_an_index():
    """As Postgres plans it by itself, with nothing forbidden to it, for the role that serves requests."""
    agent, _ = crowd(10_000)
    asked = list(statements(agent))

    grant()
    with as_web(agent.team_id):
        plans = [(plan_of(sql, parameters), indexes) for sql, parameters, indexes in asked]

    assert [plan for plan, _ in plans if "Seq Scan" in plan] == []
    assert [plan for plan, indexes in plans if not all(index in plan for index in indexes)] == []


def test_one_among_thousands_is_found_by_whatever_names_it():
    agent, _ = crowd(2000)
    queries = [
        ResumeQuery(ticket=NEEDLE.ticket),
        ResumeQuery(git_branch=NEEDLE.branch),
        ResumeQuery(git_head_sha=NEEDLE.sha[:9]),
        ResumeQuery(text="the flaky checkout after a payment retry"),
        ResumeQuery(text="idempotency guard lease"),
        ResumeQuery(text="a payment is tried again at checkout"),
        ResumeQuery(repository=NEEDLE.repository),
    ]

    found = [RAIL.say(resume_sessions(actor=agent, query=query))["candidates"][0]["runId"] for query in queries]

    assert found == [to_text(Prefix.RUN, needle().id)] * len(queries)


def test_a_word_that_nearly_everybody_uses_names_the_newest():
    agent, rows = crowd(2000)

    found = RAIL.say(resume_sessions(actor=agent, query=ResumeQuery(text=rows.words[0])))

    hours_ago = [(NOW.timestamp() - candidate["lastModifiedMs"] / 1000) / 3600 for candidate in found["candidates"]]
    assert len(hours_ago) == 5
    assert max(hours_ago) < 500
    assert (found["totalEligible"], found["totalEligibleIsBounded"]) == (200, True)
