"""Long sessions through the public workflows of two generations, by the tools alone, in both dialects of whole activities."""

import re
from pathlib import Path

import pytest
import time_machine
from django.utils import timezone

from sessions_app.models import Run
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.upkeep.tables import rebuild_projections
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests import run_cast
from tests.activity_play import Habits, OrchestratorWalk, SessionWalk
from tests.handover_play import caller
from tests.workflow_cast import NOW, publish
from workflows_app.engine.source import Origin, Strictness
from workflows_app.selectors.bundled import read_folder
from workflows_app.services.bundled import load_bundled
from workflows_app.services.importing import ImportOptions, import_files

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
FOLDERS = ("meta", "work-package", "work-packages")
SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)
# Of the session these are no calls: two need none, and what reads the trace is not in it.
UNTRACED = ("discover", "list_workflows", "get_trace")

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not CORPUS.is_dir(), reason="the corpus is not beside the checkout"),
]

# A first attempt fails its validation, a second one its review; what is found out is nowhere told to the server.
LEARNS = {
    "validate": [{"validation_passed": False}, {"validation_passed": True}],
    "strategic-review": [{"review_passed": False}, {"review_passed": True}],
    "assumptions-review": [{"needs_comprehension": False}],
}

# Skills that steps name and that nobody has.
ABSENT = {
    "navigation": {"completion": "the folder does not have it"},
    "orchestrator": {
        "portfolio-analysis": "of the workflow prism, which is not in the corpus",
        "prism/structural-analysis": "the same",
    },
}

DISMISSED = r"Checkpoint '({})' was dismissed on your word: the server knows nothing of "
FOUND_OUT = "the condition asks for what only the agent can find out in the workspace"
# What is warned of, by its words, and why it is in order.
WARNINGS = {
    ("session", "navigation"): {
        DISMISSED.format(
            "branch-check|pr-check|platform-selection|jira-project-selection|issue-type-selection|issue-review"
        ): FOUND_OUT,
        r"'validation_passed == true' does not hold with the variables of this run": FOUND_OUT,
    },
    ("session", "orchestrator"): {
        DISMISSED.format("jira-project-selection|github-issue-missing|post-summary-review"): FOUND_OUT,
        DISMISSED.format(
            "review-mode-detection|review-pr-reference|ticket-completeness|review-summary-approval"
        ): "whether an existing change is reviewed is a mode that nobody has set",
    },
    ("orchestrator", "navigation"): {
        r"'validation_passed == true' does not hold with the variables of this run": FOUND_OUT,
    },
    ("orchestrator", "orchestrator"): {},
}
CALLS = {
    ("session", "navigation"): 197,
    ("session", "orchestrator"): 364,
    ("orchestrator", "navigation"): 311,
    ("orchestrator", "orchestrator"): 459,
}
WALKS = {"session": SessionWalk, "orchestrator": OrchestratorWalk}


@pytest.fixture
def clock():
    with time_machine.travel(timezone.now(), tick=False) as moved:
        yield moved


@pytest.fixture
def desk(transactional_db, clock):
    load_bundled(actor=SYSTEM, now=timezone.now())
    return run_cast.make_desk()


def bring_in(desk, generation):
    """The folders of that generation as the team's own, published."""
    root = CORPUS / generation / "workflows"
    files = {f"{name}/{path}": data for name in FOLDERS for path, data in read_folder(root / name).items()}
    options = ImportOptions(origin=Origin.PROJECT, strictness=Strictness.LEGACY, rename=True)
    imported = import_files(actor=desk.person, files=files, options=options, now=NOW)
    for saved in imported.workflows:
        publish(desk.person, saved.revision.workflow_id, saved.revision.number)
    return {saved.revision.workflow_id.rpartition(".")[2]: saved.revision.workflow_id for saved in imported.workflows}


def walk_in(desk, clock, dialect, generation):
    habits = Habits(
        learns=LEARNS,
        missing_skills=frozenset(ABSENT[generation]),
        dispatches_at="trigger-workflow",
    )
    return WALKS[dialect](caller(dialect, desk.agent), clock, habits)


def assert_runs_ended(count):
    runs = list(Run.objects.all())
    assert [run.status for run in runs] == ["complete"] * count
    for run in runs:
        assert [str(finding) for finding in verify_session(run.session_id)] == []
        assert rebuild_projections(actor=SYSTEM, session_id=run.session_id) == 0


@pytest.mark.parametrize(("dialect", "generation"), CALLS)
def test_a_work_package_is_done_from_its_issue_to_its_end_without_an_error(desk, clock, dialect, generation):
    workflow_id = bring_in(desk, generation)["work-package"]
    walk = walk_in(desk, clock, dialect, generation)

    last = walk.drive(workflow_id)

    assert last["status"] == "completed"
    assert walk.calls.total() == CALLS[dialect, generation]
    assert set(walk.refused) == set(ABSENT[generation])
    expected = WARNINGS[dialect, generation]
    said = [message for _, message in walk.warnings]
    assert [message for message in said if not any(re.match(words, message) for words in expected)] == []
    assert [words for words in expected if not any(re.match(words, message) for message in said)] == []
    told = walk.of_session("get_trace")
    untraced = sum(walk.calls[tool] for tool in UNTRACED)
    assert told["event_count"] == walk.calls.total() - untraced
    assert_runs_ended(1)


def test_an_initiative_waits_for_each_of_the_work_packages_that_it_dispatches(desk, clock):
    workflow_id = bring_in(desk, "orchestrator")["work-packages"]
    walk = walk_in(desk, clock, "orchestrator", "orchestrator")

    walk.drive(workflow_id)

    assert len(walk.children) == 2
    assert walk.calls.total() + sum(child.calls.total() for child in walk.children) > 500
    walks = [walk, *walk.children]
    assert len(walks) == 3
    assert [said for each in walks for _, said in each.warnings] == []
    assert_runs_ended(3)
