"""What happened in two weeks: each story is one run, told by who does what and how many minutes pass in between."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sessions_app.engine.actions import CompleteStep, TakeTransition
from sessions_app.engine.decisions import PreferenceChange
from sessions_app.engine.runs import Dialect, ObservationKey
from workflows_app.engine.program import Autonomy
from workrail_site.demo.agents import Agent, answer, open_question
from workrail_site.demo.clock import Clock, Story
from workrail_site.demo.team import Cast

_NEVER_STOP = PreferenceChange(autonomy=Autonomy.NEVER_STOP)
_MORE = "The test of the other currency is there now, and it is green."
_ROLLBACK = "\n\nRollback: `deploy --to previous`, which took 40 s last time. The on-call person watches the totals."


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """`ends_at` is the step at which the story is left: what is there now."""

    agent: str
    goal: str
    ticket: str
    cause: str
    files: Sequence[str]
    risk: str = "high"
    ends_at: str = ""
    forgets_rollback: bool = False
    sent_back: str = ""
    vague_first: bool = False
    second_way: bool = False
    waits: float = 25
    preferences: PreferenceChange | None = None


def hotfix(cast: Cast, clock: Clock, fix: Fix) -> Story:
    agent = Agent(actor=cast.agents[fix.agent], clock=clock)
    observed = {
        ObservationKey.TICKET: fix.ticket,
        ObservationKey.GIT_BRANCH: f"fix/{fix.ticket.lower()}",
        ObservationKey.REPOSITORY: "billing",
    }
    agent.start(
        "team.hotfix",
        fix.goal,
        context={"report": fix.goal, "watched": "the totals of new invoices"},
        preferences=fix.preferences,
        observed=observed,
    )
    yield 4
    agent.go(
        f"## Reproduced\n\n{fix.goal}.\n\n```\n$ pytest tests/test_totals.py -q\n1 failed in 0.41s\nexit 1\n```",
        context={"symptom": fix.goal},
    )
    yield 9
    if fix.ends_at == "find-cause":
        return
    if fix.vague_first:
        agent.go("It must be somewhere near; I will look closer.")
        yield 6
        if fix.ends_at == "blocked":
            return
    agent.go(
        f"The cause is `{fix.cause}`: it rounds each line before it adds them up. It should add first.",
        context={"files": list(fix.files), "risk": fix.risk},
    )
    before_files = dict(agent.value)
    for index, name in enumerate(fix.files):
        yield 5
        agent.go(
            f"Changed `{name}` and added a test that failed before.\n\n"
            f"```diff\n--- a/{name}\n+++ b/{name}\n@@ -14 +14 @@\n-    return sum(round(line) for line in lines)\n"
            f"+    return round(sum(lines))\n```\n\n```\n$ pytest -q\n{118 + index} passed in 3.2s\nexit 0\n```"
        )
        if fix.ends_at == "fix-one":
            return
    if fix.second_way:
        yield from _another_way(agent, before_files, fix)
    if fix.risk == "high":
        yield 3
        agent.bookmark("Both files are changed, and the suite is green. The risk is next.")
        agent.go("A total could differ by one cent from what was shown before. The totals of the day would show it.")
    yield 2
    yield from _release(cast, clock, agent, fix)


def _another_way(agent: Agent, held: Mapping[str, Any], fix: Fix) -> Story:
    """The agent goes back and tries something else; the first way stays, and is gone on with."""
    first = dict(agent.value)
    yield 7
    agent.come_back(held)
    yield 4
    agent.go(
        f"Tried a decimal type in `{fix.files[0]}` instead. It is slower by a third, and it changes the interface:\n\n"
        "```\n$ pytest -q\n4 failed, 114 passed in 4.9s\nexit 1\n```"
    )
    yield 5
    agent.value = first


def _release(cast: Cast, clock: Clock, agent: Agent, fix: Fix) -> Story:
    """The agent shows what it has, and a person decides: some fixes go back once."""
    shown = f"The diff touches {len(fix.files)} file(s). The suite: 119 passed, exit 0."
    if fix.forgets_rollback:
        agent.go(shown)
        yield 4
    if not fix.forgets_rollback or agent.lacks_something:
        agent.go(shown + _ROLLBACK, artifacts=[{"kind": "diff", "text": _diff(fix)}])
    if fix.ends_at == "release":
        return
    yield fix.waits
    if fix.sent_back:
        _decide(cast, clock, agent, "send_back", fix.sent_back)
        yield 12
        agent.go(f"{shown} {_MORE}{_ROLLBACK}")
        yield fix.waits / 2
    _decide(cast, clock, agent, "approve", "The diff is small, and the suite has run.")
    yield 3
    agent.go(shown + _ROLLBACK)
    yield 2
    if fix.ends_at == "ship":
        return
    agent.go("```\n$ deploy billing\nreleased in 38 s\nexit 0\n```")
    yield 16
    if fix.ends_at == "watch":
        return
    agent.go(
        "Watched the totals for 15 minutes: 212 invoices, none off by a cent.",
        artifacts=[{"kind": "demo.watch", "invoices": 212, "wrong": 0}],
    )


def _diff(fix: Fix) -> str:
    """What is to be released, as a reader of changes wants it: a hunk for each file, and a test."""
    hunks = [
        f"--- a/{name}\n+++ b/{name}\n@@ -14,3 +14,3 @@ def total(lines)\n     lines = list(lines)\n"
        "-    return sum(round(line) for line in lines)\n+    return round(sum(lines))\n \n"
        for name in fix.files
    ]
    test = f"tests/test_{fix.ticket.lower().replace('-', '_')}.py"
    hunks.append(
        f"--- /dev/null\n+++ b/{test}\n@@ -0,0 +1,3 @@\n+def test_the_total_is_rounded_once():\n"
        '+    lines = [Money("1.005")] * 3\n+    assert total(lines) == Money("3.02")\n'
    )
    return "".join(hunks)


def _decide(cast: Cast, clock: Clock, agent: Agent, option: str, reason: str) -> None:
    answer(actor=cast.operator, run_id=agent.run_id, option=option, reason=reason, clock=clock)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    agent: str
    number: str
    wants: str
    customers: str
    severity: int
    stops_at: int = 4
    forgets: bool = False
    preferences: PreferenceChange | None = None


def triage(cast: Cast, clock: Clock, ticket: Ticket) -> Story:
    agent = Agent(actor=cast.agents[ticket.agent], clock=clock)
    agent.start(
        "team.triage",
        f"{ticket.number}: {ticket.wants}",
        context={"ticket": ticket.number},
        observed={ObservationKey.TICKET: ticket.number},
        preferences=ticket.preferences,
    )
    notes = [
        f"The customer wants this: {ticket.wants}.",
        f"Customers: {ticket.customers}. They can work around it by exporting again.",
        "Duplicates: none that are open.",
        "Sent to the people who own the export, with the two log lines that matter.",
    ]
    for index, text in enumerate(notes[: ticket.stops_at]):
        yield 2 + index
        if index == 1 and ticket.forgets:
            agent.go("It touches several customers.")
            yield 3
            if not agent.is_blocked:
                continue
        agent.go(text, context={"severity": ticket.severity} if index == 1 else None)


def release(cast: Cast, clock: Clock, build: str, *, choice: str = "", waits: float = 50) -> Story:
    """A release driven by hand, which has the build checked by a run of its own."""
    agent = Agent(actor=cast.agents["claude-ci"], clock=clock, dialect=Dialect.NAVIGATION)
    agent.begin_by_hand("team.release", {"build": build})
    agent.is_called(f"Release {build}", workflow_id="team.release", by=cast.operator)
    yield 6
    agent.act(CompleteStep(step_id="collect"))
    yield 8
    agent.act(CompleteStep(step_id="notes"))
    yield 1
    yield from _check(cast, clock, agent, build)
    agent.act(CompleteStep(step_id="suite"))
    yield 1
    agent.act(CompleteStep(step_id="decide"))
    asked = open_question(actor=cast.operator, dialect=Dialect.NAVIGATION, clock=clock)
    if not choice or asked is None:
        return
    yield waits
    answer(
        actor=cast.operator,
        run_id=asked.run_id,
        option=choice,
        reason="The notes say what people have to do."
        if choice != "hold"
        else "The smoke test of the last one is red.",
        clock=clock,
    )
    yield 4
    agent.look()
    if choice == "hold":
        steps = ["tickets", "lessons"]
    else:
        agent.act(TakeTransition(activity_id="ship"))
        steps = ["deploy", "smoke", "announce", "", "tickets", "lessons"]
    for step_id in steps:
        yield 5
        agent.act(CompleteStep(step_id=step_id) if step_id else TakeTransition(activity_id="wrap-up"))


def _check(cast: Cast, clock: Clock, parent: Agent, build: str) -> Story:
    """The run that the release triggers. Until it is complete the release waits."""
    offered = [each for each in parent.value["availableActions"]["optional"] if each["action"] == "nav_start"]
    if not offered:
        return
    child = Agent(actor=cast.agents["cursor-web"], clock=clock, dialect=Dialect.NAVIGATION)
    child.begin_by_hand(offered[0]["workflow"], offered[0]["initial_variables"])
    child.is_called(f"Check build {build}", workflow_id=offered[0]["workflow"], by=cast.operator)
    yield 12
    child.act(CompleteStep(step_id="run"))
    yield 3
    child.act(CompleteStep(step_id="sort"))
    yield 1
    parent.look()


def lost(cast: Cast, clock: Clock) -> Story:
    """An agent that mistypes a name."""
    agent = Agent(actor=cast.agents["cursor-web"], clock=clock)
    agent.look_around()
    yield 1
    agent.start("team.triage", "SUP-909: a receipt for each payment", context={"ticket": "SUP-909"})


FIXES = (
    Fix(agent="billing-agent", goal="Invoice totals are off by one cent", ticket="BILL-1204", cause="billing/totals.py:14", files=("billing/totals.py", "billing/rounding.py"), second_way=True, ends_at="release"),
    Fix(agent="billing-agent", goal="Credit notes show the wrong currency sign", ticket="BILL-1207", cause="billing/notes.py:88", files=("billing/notes.py",), ends_at="release"),
    Fix(agent="claude-ci", goal="The nightly import stops at an empty line", ticket="IMP-331", cause="importer/reader.py:41", files=("importer/reader.py",), vague_first=True, ends_at="blocked"),
    Fix(agent="cursor-web", goal="Signing in by link answers 500 for some people", ticket="AUTH-77", cause="auth/links.py:23", files=("auth/links.py", "auth/sessions.py", "auth/views.py"), ends_at="fix-one"),
    Fix(agent="billing-agent", goal="A refund is booked twice when the page is reloaded", ticket="BILL-1198", cause="billing/refunds.py:52", files=("billing/refunds.py",), ends_at="watch", waits=20, sent_back="Show the test of a second currency, too."),
    Fix(agent="claude-ci", goal="Report names hold the time of the server", ticket="REP-12", cause="reports/names.py:9", files=("reports/names.py",), risk="low", ends_at="find-cause"),
)  # fmt: skip

DONE_FIXES = (
    Fix(agent="claude-ci", goal="The export leaves out the last minute of the day", ticket="REP-9", cause="reports/export.py:31", files=("reports/export.py",), vague_first=True),
    Fix(agent="billing-agent", goal="Sums in the footer ignore discounts", ticket="BILL-1181", cause="billing/footer.py:12", files=("billing/footer.py", "billing/discounts.py"), forgets_rollback=True, waits=140),
    Fix(agent="cursor-web", goal="The address form loses the second line", ticket="WEB-410", cause="web/forms.py:77", files=("web/forms.py",), risk="low", waits=12),
    Fix(agent="billing-agent", goal="Dunning letters go out on Sundays", ticket="BILL-1189", cause="billing/dunning.py:19", files=("billing/dunning.py",), second_way=True, waits=45, sent_back="Is there a test for a holiday that falls on a Monday?"),
    Fix(agent="claude-ci", goal="The health page is red after a restart", ticket="OPS-58", cause="ops/health.py:8", files=("ops/health.py",), risk="low", preferences=_NEVER_STOP),
    Fix(agent="cursor-web", goal="Search finds nothing with an accent", ticket="WEB-422", cause="web/search.py:64", files=("web/search.py", "web/fold.py"), forgets_rollback=True, waits=200),
    Fix(agent="billing-agent", goal="Two invoices get one number at midnight", ticket="BILL-1193", cause="billing/numbers.py:5", files=("billing/numbers.py",), vague_first=True, waits=18),
)  # fmt: skip

TICKETS = (
    Ticket(agent="support-agent", number="SUP-880", wants="an export with the VAT number", customers="3", severity=3),
    Ticket(agent="support-agent", number="SUP-884", wants="to sign in with the new address", customers="1", severity=2),
    Ticket(agent="support-agent", number="SUP-889", wants="the invoice in English", customers="about 40", severity=3, forgets=True),
    Ticket(agent="support-agent", number="SUP-891", wants="to know why the total changed", customers="12", severity=1),
    Ticket(agent="support-agent", number="SUP-897", wants="two users with one mailbox", customers="1", severity=4, forgets=True, preferences=_NEVER_STOP),
    Ticket(agent="support-agent", number="SUP-902", wants="reminders that do not go to spam", customers="7", severity=2),
    Ticket(agent="support-agent", number="SUP-906", wants="the list of all payments as a file", customers="2", severity=3),
    Ticket(agent="support-agent", number="SUP-911", wants="a refund for a double payment", customers="1", severity=1, stops_at=2),
    Ticket(agent="support-agent", number="SUP-912", wants="to change the billing day", customers="5", severity=3, forgets=True, stops_at=1),
)  # fmt: skip
