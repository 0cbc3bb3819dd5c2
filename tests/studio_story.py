"""A team in the middle of its work, for the tests that look at pages: runs that wait, are stuck, go on, and are done."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from django.utils import timezone

from sessions_app.models import CheckpointRequest
from tests import run_doors
from tests.activity_folders import activity, checkpoint, folder, step as folder_step, workflow as about
from tests.cast import issue
from tests.checkpoint_cast import publish_folder
from tests.run_cast import advanced, bookmark, published, rehydrate, run_id, start
from tests.step_documents import loop, step

RELEASE_NOTES = """## Cause

Each line was rounded before the sum, so an invoice with three or more lines could be off by one cent (`billing/tax.py:118`).

## Change

- Tax is summed exactly and rounded **once**, at the total.
- `Invoice.total` and the PDF now call the same function.

## Tested

412 tests passed, 9 of them new. All 214 invoices were computed again on a copy.
"""
ROLLBACK = """
## Rollback

Deploy the image before, then run `scripts/rollback_4127.sql`. It takes 4 s and touches no paid invoice.
"""
DIFF = """--- a/billing/tax.py
+++ b/billing/tax.py
@@ -112,5 +112,3 @@ def tax_of(invoice)
 def tax_of(invoice: Invoice) -> Money:
-    total = Money(0)
-    for line in invoice.lines:
-        total += round_cents(line.net * line.rate)
-    return total
+    exact = sum((line.net * line.rate for line in invoice.lines), Decimal(0))
+    return Money(round_cents(exact))
--- /dev/null
+++ b/tests/test_tax.py
@@ -0,0 +1,3 @@
+def test_three_lines_are_rounded_once():
+    invoice = invoice_of("1.005", "1.005", "1.005")
+    assert invoice.total == Money("3.02")
"""


@dataclass(frozen=True, kw_only=True)
class Story:
    """`doors` has people signed in; the rest are replies of the runs, by what they are about."""

    doors: run_doors.Doors
    hotfix: dict[str, Any]
    reconcile: dict[str, Any]
    retry: dict[str, Any]
    triage: dict[str, Any]
    done: dict[str, Any]


def ago(minutes):
    return timezone.now() - timedelta(minutes=minutes)


def tell(doors=None):
    """Builds it through the services. About fifty calls."""
    doors = doors or run_doors.open_doors()
    desk = doors.desk
    agent = _agent(desk, "claude-ci")
    other = _agent(desk, "cursor-web")
    _publish(desk)
    return Story(
        doors=doors,
        hotfix=_hotfix(desk, agent, other),
        reconcile=_reconcile(desk, _agent(desk, "data-agent")),
        retry=_retry(desk, agent),
        triage=_triage(desk, _agent(desk, "support-agent")),
        done=_done(desk, other),
    )


def owner_of(story):
    return run_doors.enrol(story.doors.desk.owner)


def question_of(value):
    return CheckpointRequest.objects.filter(run_id=run_id(value)).order_by("-event_index").first()


def _agent(desk, name):
    key = issue(desk.owner, name=name).key
    from teams_app.engine.ids import Prefix, to_text

    return replace(desk.agent, id=to_text(Prefix.KEY, key.id), name=name)


def _titled(step_id, title, prompt="", **fields):
    return step(step_id, title=title, prompt=prompt or f"{title}. Write down what you found.", **fields)


def _publish(desk):
    published(
        desk,
        _titled("reproduce", "Reproduce the error"),
        _titled("cause", "Find the cause", "Find the cause of {{ticket}} and name the files that have to change."),
        loop(
            "fix-each",
            [_titled("fix-one", "Fix one file: {{file}}", "Fix {{file}} and show the run of its test.")],
            type="forEach",
            items="files",
            itemVar="file",
        ),
        _titled("risk", "Write down the risk", "Say what could go wrong when {{files}} is released."),
        _titled("plan", "Plan the release"),
        _titled(
            "release",
            "Release the fix to production",
            "Release the fix. A person approves it first.",
            requireConfirmation={"kind": "human_approval"},
        ),
        _titled("ship", "Ship it"),
        workflow_id="team.hotfix",
        name="Hotfix",
    )
    published(
        desk,
        _titled("read", "Read the bank file"),
        _titled("match", "Match the bank file"),
        _titled("book", "Book the difference"),
        workflow_id="team.reconcile",
        name="Data repair",
    )
    published(
        desk,
        *[_titled(f"step-{n}", f"Part {n} of the work") for n in range(1, 7)],
        workflow_id="team.delivery",
        name="Feature delivery",
    )
    question = checkpoint(
        "severity",
        message="How bad is it: low, high or critical? The customer was shown a refund twice.",
        options=[
            {
                "id": "low",
                "label": "Low",
                "description": "It waits for the next release.",
                "effect": {"setVariable": {"on": "low"}},
            },
            {
                "id": "high",
                "label": "High",
                "description": "It is mended this week.",
                "effect": {"setVariable": {"on": "high"}},
            },
            {
                "id": "critical",
                "label": "Critical",
                "description": "The person on call is told now.",
                "effect": {"setVariable": {"on": "critical"}},
            },
        ],
        dueMs=3 * 60 * 60 * 1000,
    )
    publish_folder(
        desk,
        folder(
            activity(
                "triage",
                checkpoints=[question],
                steps=[{"id": "ask", "name": "How bad is it?", "checkpoint": "severity"}, folder_step("answer")],
            ),
            about=about(
                id="team.triage", description="Sorts a ticket.", initialActivity="triage", title="Ticket triage"
            ),
        ),
        "team.triage",
    )


def _hotfix(desk, agent, other):
    value = start(
        desk, "team.hotfix", actor=agent, goal="Hotfix the invoice total", context={"ticket": "PAY-4127"}, now=ago(64)
    ).value
    value = advanced(agent, value, "Invoice 20931: 119.99 instead of 120.00", now=ago(62))
    files = {"files": ["billing/tax.py", "billing/total.py", "tests/test_tax.py"], "risk": "high"}
    cause = advanced(agent, value, "`billing/tax.py:118` rounds each line before the sum", context=files, now=ago(58))
    value = cause
    for minute, name in zip((50, 46, 42), files["files"], strict=True):
        value = advanced(agent, value, f"{name}: its test passes.", now=ago(minute))
    bookmark(agent, value, "All files fixed, tests green", now=ago(40))
    risk = advanced(
        agent,
        value,
        "**Could go wrong:** paid invoices are rounded again.\n\n**Noticed by:** the alert `tax_total`.",
        now=ago(35),
    )
    aside = rehydrate(other, risk).value
    advanced(other, aside, "With a flag, off for every team", now=ago(33))
    value = advanced(agent, risk, "At once, with a script for the way back", now=ago(31))
    return advanced(
        agent, value, RELEASE_NOTES, artifacts=[{"kind": "team.diff", "title": "Diff", "diff": DIFF}], now=ago(21)
    )


def _reconcile(desk, agent):
    value = start(desk, "team.reconcile", actor=agent, goal="Reconcile October payouts", now=ago(180)).value
    value = advanced(agent, value, "Read 1,204 rows.", now=ago(60))
    return advanced(agent, value, "", now=ago(26))


def _retry(desk, agent):
    value = start(desk, "team.delivery", actor=agent, goal="Retry failed webhooks with backoff", now=ago(52)).value
    for minute in (40, 22, 9):
        value = advanced(agent, value, f"Done at minute {minute}.", now=ago(minute))
    return value


def _triage(desk, agent):
    value = start(desk, "team.triage", actor=agent, goal="SUP-2291 Refund shown twice", now=ago(44)).value
    return advanced(agent, value, now=ago(31)) if value["pending"].get("checkpoint") is None else value


def _done(desk, agent):
    value = start(desk, "team.delivery", actor=agent, goal="Receipt in the wrong language", now=ago(300)).value
    for minute in range(290, 230, -10):
        value = advanced(agent, value, "As asked.", now=ago(minute))
    return value


def node_text(value, key):
    """The id of the node at which that step is pending, as pages name it."""
    from sessions_app.models import Node
    from teams_app.engine.ids import Prefix, to_text

    return to_text(Prefix.NODE, Node.objects.filter(run_id=run_id(value), pending_key=key, kind="step").first().id)
