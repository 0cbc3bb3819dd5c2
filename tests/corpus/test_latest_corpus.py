"""The newest public folders are imported together, compile in strict, and are walked through every dialect to the end."""

from pathlib import Path

import pytest

from sessions_app.engine.runs import Dialect, RunStatus
from sessions_app.models import Run
from sessions_app.selectors.integrity import verify_session
from tests.automatic_scripts import automatic_script
from tests.matrix_play import DIALECTS, item_of, read_log, steps_of, story_of
from tests.run_cast import make_desk
from tests.workflow_cast import NOW, publish
from workflows_app.engine.activities.references import find_skill, named_for_all
from workflows_app.engine.problems import ProblemCode, Severity
from workflows_app.engine.program import Step, walk_items
from workflows_app.engine.source import Origin
from workflows_app.selectors.handed_out import HandedOut, read_attachment
from workflows_app.selectors.sources import read_program
from workflows_app.services.importing import ImportOptions, import_files

LATEST = Path(__file__).resolve().parents[2].parent / "shared" / "corpus" / "latest" / "workflows"
NAMES = sorted(path.name for path in LATEST.glob("*/")) if LATEST.is_dir() else []

# A loop of `meta` goes on until the worker names no further activity. Navigation has no place for what an agent learns.
KNOWN = {
    "meta": {
        "client_initial_activity": "plan",
        "worker_result": {"result_type": "activity_complete", "next_activity_id": None},
    },
    "work-package": {"needs_comprehension": False, "review_passed": True},
    "remediate-vuln": {"needs_comprehension": False, "review_passed": True},
}

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not LATEST.is_dir(), reason="the public corpus is not beside the checkout"),
]


def imported(desk):
    files = {path.relative_to(LATEST).as_posix(): path.read_bytes() for path in LATEST.rglob("*") if path.is_file()}
    options = ImportOptions(origin=Origin.PROJECT, rename=True)
    return import_files(actor=desk.person, files=files, options=options, now=NOW)


def test_all_of_them_compile_in_strict_and_strays_are_told():
    done = imported(make_desk())
    problems = {saved.workflow.workflow_id: saved.revision.problems for saved in done.workflows}
    assert sorted(problems) == sorted(f"project.{name}" for name in NAMES)
    assert [p for found in problems.values() for p in found if p.severity == Severity.ERROR] == []
    assert set(done.ignored) == {"LICENSE", "README.md", "section-framing-triage.json"}
    # What the six name and none of them is: the eleven others.
    missing = [p.message for found in problems.values() for p in found if p.code == ProblemCode.UNKNOWN_SKILL]
    assert all("prism" in message for message in missing)


def test_each_skill_is_read_by_the_name_that_replies_give_it_with_what_it_inherits():
    desk = make_desk()
    imported(desk)
    for name in NAMES:
        publish(desk.person, f"project.{name}")
    for name in NAMES:
        program = read_program(actor=desk.person, workflow_id=f"project.{name}")
        for activity in program.activities:
            for said, meant in zip(named_in(named_for_all(program, activity)), named_in(activity), strict=True):
                found = find_skill(program=program, reference=meant, home=activity.borrowed_from)
                assert found is None or read_by(desk, program, said).attachment == found
    push = read_by(
        desk, read_program(actor=desk.person, workflow_id="project.remediate-vuln"), "manage-git::push-commits"
    )
    assert [each.name for each in push.inherited] == ["work-package::TECHNIQUE", "work-package::manage-git"]


def named_in(activity):
    steps = [item.skill for item in walk_items(activity.body) if isinstance(item, Step) and item.skill]
    return [name for name in (activity.primary_skill, *activity.supporting_skills, *steps) if name]


def read_by(desk, program, name):
    """The skill, when all that it inherits is read by the names that are told with it."""
    read = read_attachment(actor=desk.person, workflow_id=program.id, held=HandedOut.SKILLS, name=name)
    for each in read.inherited:
        base = read_attachment(actor=desk.person, workflow_id=program.id, held=HandedOut.SKILLS, name=each.name)
        assert each.rules in base.text
        assert base.attachment.owner.rpartition(".")[2] == read.attachment.owner.rpartition(".")[2]
    return read


@pytest.mark.parametrize("dialect", DIALECTS)
def test_each_is_walked_through_every_dialect(dialect):
    desk = make_desk()
    imported(desk)
    for name in NAMES:
        walk(desk, name, dialect)


def walk(desk, name, dialect):
    workflow_id = f"project.{name}"
    publish(desk.person, workflow_id)
    program = read_program(actor=desk.person, workflow_id=workflow_id)
    learning = dialect is not Dialect.NAVIGATION
    script = automatic_script(program, knows=KNOWN.get(name), learning=learning)

    run, _ = DIALECTS[dialect](desk, workflow_id, program, script)

    done = steps_of(story_of(program, script))
    # Navigation waits for no optional step, so the log does not say that it was its turn.
    told = [deed.key for deed in done if learning or item_of(program, deed).required]
    assert (name, read_log(run, program).keys) == (name, told)
    assert Run.objects.get(pk=run.pk).status == RunStatus.COMPLETE
    assert [str(finding) for finding in verify_session(run.session_id)] == []
