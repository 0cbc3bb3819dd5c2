"""Any workflow through any dialect: the same agent leaves the same nodes, notes and answers behind."""

import shutil

import pytest

from sessions_app.engine.runs import Dialect, RunStatus
from sessions_app.models import Run
from sessions_app.selectors.integrity import verify_session
from sessions_app.services.upkeep.tables import rebuild_projections
from teams_app.engine.actors import NO_TEAM, Door, system_actor
from tests.matrix_play import DIALECTS, Script, notes_of, read_log, steps_of, story_of, visits_of
from tests.run_cast import make_desk
from tests.workflow_cast import NOW
from workflows_app.engine.program import Gate, Loop, walk_items
from workflows_app.selectors.bundled import BUNDLED_ROOT, read_bundled
from workflows_app.services.bundled import load_bundled
from workflows_app.services.compiling import compile_with

pytestmark = pytest.mark.django_db

SYSTEM = system_actor(team_id=NO_TEAM, door=Door.CLI)
PAIR = ["one", "two"]

# With these every loop runs, and every step of a workflow is done but those of `LEFT_OUT`.
SCRIPTS = {
    "meta": Script(),
    "work-package": Script(
        knows={
            "requirement_questions": PAIR,
            "research_questions": PAIR,
            "tasks": PAIR,
            "feedback_threads": PAIR,
            "current_task": "one",
            "current_thread": "one",
        },
        chooses={"risk": "high", "plan-approval": "revise", "triage": "fix"},
    ),
    "work-packages": Script(knows={"areas": PAIR, "packages": PAIR, "package_brief": {"goal": "one"}}),
    "wr.bug-investigation": Script(knows={"fixRequested": True}),
    "wr.code-review": Script(knows={"findings": PAIR, "postReview": True}),
    "wr.database-migration": Script(
        knows={"liveRun": True, "phases": PAIR, "rowsRemaining": 7},
        learns={
            "rehearsal-gate": {"rehearsalPassed": True},
            "run-phase": {"rowsRemaining": 7},
            "look-once": {"rowsRemaining": 0},
        },
    ),
    "wr.dependency-upgrade": Script(knows={"upgrades": PAIR, "upgradeReason": "security"}),
    "wr.documentation": Script(learns={"follow-literally": {"docWorks": True}}),
    "wr.feature-delivery": Script(knows={"slices": PAIR, "size": "large", "userVisible": True}),
    "wr.incident-response": Script(learns={"apply-and-measure": {"impactStopped": True}}),
    "wr.refactoring": Script(knows={"moves": PAIR, "publicSurface": True}),
    "wr.research": Script(knows={"subQuestions": PAIR, "stakes": "high"}),
    "wr.test-writing": Script(
        knows={"behaviours": PAIR, "flakyCount": 1},
        learns={"steady-one": {"flakyCount": 0}},
    ),
    "wr.ticket-writing": Script(knows={"tickets": PAIR, "fileTickets": True}),
    "wr.workflow-authoring": Script(
        knows={"paths": PAIR, "problemCount": 1},
        learns={"repair-once": {"problemCount": 0}, "independent-reading": {"readVerdict": "approved"}},
    ),
}
# What other answers lead to; the two activities of `meta` are entered by whoever comes back or closes, and by no transition.
LEFT_OUT = {
    "meta": {
        "choose-another",
        *("find-run", "read-position", "compare-workspace", "decide-entry", "reconcile", "continue-run"),
        *("check-completion", "collect-evidence", "decide-closing", "write-summary", "hand-over"),
    },
    "work-package": {"record-exclusion", "fix-failures", "name-known-failures", "mark-ready", "deliver-review"},
    "work-packages": {"define-follow-ups"},
    "wr.code-review": {"read-alone"},
}


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """`library(id)`: a folder with the bundled workflow and what it is compiled with, and its program."""
    made = {}

    def make(workflow_id):
        if workflow_id not in made:
            root = _copied(tmp_path_factory.mktemp("library"), workflow_id)
            bundled = read_bundled(root=root)
            program = compile_with(source=bundled.sources[workflow_id], library=bundled.library).program
            made[workflow_id] = (root, program)
        return made[workflow_id]

    return make


def _copied(root, workflow_id):
    if not workflow_id.startswith("wr."):
        shutil.copytree(BUNDLED_ROOT / "activities", root / "activities")
        return root
    (root / "steps").mkdir()
    shutil.copy(BUNDLED_ROOT / "steps" / f"{workflow_id.removeprefix('wr.')}.json", root / "steps")
    shutil.copytree(BUNDLED_ROOT / "routines", root / "routines")
    return root


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("workflow_id", SCRIPTS)
def test_a_workflow_leaves_the_same_log_whichever_dialect_leads_it(library, workflow_id, dialect):
    root, program = library(workflow_id)
    load_bundled(actor=SYSTEM, now=NOW, root=root)
    desk, script = make_desk(), SCRIPTS[workflow_id]
    story = story_of(program, script)
    steps = steps_of(story)

    run, warnings = DIALECTS[dialect](desk, workflow_id, program, script)

    told = read_log(run, program)
    assert told.keys == [deed.key for deed in steps]
    assert told.notes == {deed.key: [notes_of(program, deed)] for deed in steps}
    assert told.answers == (at_once(program, story) if dialect in ASKS_AT_ONCE else as_they_come(story))
    assert warnings == []
    assert Run.objects.get(pk=run.pk).status == RunStatus.COMPLETE
    assert [str(finding) for finding in verify_session(run.session_id)] == []
    assert rebuild_projections(actor=SYSTEM, session_id=run.session_id) == 0


# Its contract asks whatever an activity requires when that is entered, also what the way through it never comes to, and asks
# it once, however often the work comes by.
ASKS_AT_ONCE = {Dialect.SESSION}


def as_they_come(story):
    return [(deed.item, deed.option) for deed in story if deed.option]


def at_once(program, story):
    asked = []
    for deeds in visits_of(story):
        given = {deed.item: deed.option for deed in deeds if deed.option}
        required = [each.id for each in program.activity(deeds[0].activity).checkpoints if each.required]
        asked += [(name, given.get(name, "")) for name in required]
    return asked


@pytest.mark.parametrize("workflow_id", SCRIPTS)
def test_a_script_comes_to_every_step_that_it_says(library, workflow_id):
    _, program = library(workflow_id)
    items = [item for activity in program.activities for item in walk_items(activity.body)]

    done = {deed.item for deed in steps_of(story_of(program, SCRIPTS[workflow_id]))}

    left = {item.id for item in items if not isinstance(item, Gate | Loop)} - done
    assert left == LEFT_OUT.get(workflow_id, set())


def test_every_bundled_workflow_has_a_script():
    steps = {f"wr.{path.stem}" for path in (BUNDLED_ROOT / "steps").glob("*.json")}
    folders = {path.name for path in (BUNDLED_ROOT / "activities").iterdir()}

    assert set(SCRIPTS) == steps | folders
